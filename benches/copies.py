#!/usr/bin/env python3
"""What CREATE DATABASE ... AS COPY OF takes: copies of one database, one after another, each written, checkpointed and dropped.

    benches/copies.py                        1,000 copies of 1 GB; a quiet machine, 2 GB of disk
    benches/copies.py --megabytes 16 --copies 10    shows that it works
    VLFLAB=path benches/copies.py            another binary than target/release/vlflab

One server, one session: the milliseconds are those of the statement on the server's clock. Prints a line for every tenth part of the copies: median,
99 of 100 and most, the server's resident memory, and the bytes that its folder takes. The goal is a median of 50 ms, memory and disk flat; the exit
code is 1 above 50 ms, or when the last tenth takes more memory or disk than the first by a tenth."""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

from live import PASSWORD, PROGRAM, Server

MEDIAN_MS_MAX = 50
FLAT_MAX = 1.1
CREATE = """create database source on (name = source, filename = 'source.mdf', size = {megabytes}MB, filegrowth = 64MB)
    log on (name = source_log, filename = 'source_log.ldf', size = 64MB, filegrowth = 64MB)
alter database source set recovery simple
"""
FILL = """set nocount on
create table t (a int not null primary key, b char(8000) not null)
insert t select value, 'filler' from generate_series(1, {rows})
checkpoint
"""
ROUND = """set nocount on
declare @round int = 0, @begin datetime2
declare @took table (round int, us bigint)
while @round < {copies}
begin
    set @begin = sysdatetime()
    create database copy as copy of source
    insert @took values (@round, datediff(microsecond, @begin, sysdatetime()))
    update top (10) copy.dbo.t set b = 'changed'
    exec copy.sys.sp_executesql N'checkpoint'
    drop database copy
    set @round += 1
end
select us from @took order by round
"""


def disk_mb(folder):
    """What the files of a folder take on disk."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file()) / 2**20


def resident_mb(pid):
    pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def made(server, copies):
    """Milliseconds of each statement."""
    command = [PROGRAM, "sql", "-S", server.address, "-h", "-1", "-W", "-b", "-Q", ROUND.format(copies=copies)]
    done = subprocess.run(command, env={**os.environ, "SQLCMDPASSWORD": PASSWORD}, text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}{done.stderr}")
    return [int(line) / 1e3 for line in done.stdout.split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--copies", type=int, default=1000)
    asked = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="vlflab-copies-", dir=os.environ.get("VLFLAB_DIR")))
    server = Server(folder / "data")
    took, sizes = [], []
    try:
        server.run(CREATE.format(megabytes=asked.megabytes))
        # A row takes a page; some pages are maps.
        server.run(FILL.format(rows=asked.megabytes * 120), "source")
        for part in range(10):
            of_part = sorted(made(server, max(1, asked.copies // 10)))
            took += of_part
            sizes.append((resident_mb(server.process.pid), disk_mb(folder)))
            print(
                f"{len(took):5} copies: median {statistics.median(of_part):.1f} ms, 99 % {of_part[len(of_part) * 99 // 100]:.1f}, "
                f"most {of_part[-1]:.1f}; memory {sizes[-1][0]:.0f} MB, disk {sizes[-1][1]:.0f} MB",
                flush=True,
            )
    finally:
        server.stop()
        shutil.rmtree(folder)
    median = statistics.median(took)
    is_flat = all(last <= first * FLAT_MAX for first, last in zip(sizes[0], sizes[-1]))
    verdict = "met" if median <= MEDIAN_MS_MAX and is_flat else "MISSED"
    print(f"{len(took)} copies: median {median:.1f} ms, goal {MEDIAN_MS_MAX}; memory and disk {'flat' if is_flat else 'NOT flat'}: {verdict}")
    return 0 if verdict == "met" else 1


if __name__ == "__main__":
    sys.exit(main())
