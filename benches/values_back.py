#!/usr/bin/env python3
"""Whether the pages of long values come back: a million values of 20 KB loaded, each updated to another length, deleted, and loaded again.

    benches/values_back.py                    1,000,000 values of 20 KB: 26 GB of disk for data, some GB of log
    benches/values_back.py --values 20000     shows that it works
    VLFLAB_DIR=folder benches/values_back.py  where the database goes; VLFLAB=path another binary

The values are text that repeats itself, so that a folder on a file system that compresses, or on a compressed disk in memory, needs little.
Statements take 10,000 values each and commit. A line behind each step: its seconds, the pages of the large values that the table has reserved,
the size of the data file, memory. DBCC CHECKDB runs behind each step. The exit code is 1 if an update takes a tenth more pages than the load, if
1 page in 100 stays when everything is deleted, or if the second load makes the file longer."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from copies import resident_mb
from live import PASSWORD, PROGRAM, Server

CREATE = """create database work on (name = work, filename = 'work.mdf', size = 64MB, filegrowth = 256MB)
    log on (name = work_log, filename = 'work_log.ldf', size = 1024MB, filegrowth = 256MB)
alter database work set recovery simple
"""
TABLE = "create table t (id int not null primary key, v varchar(max) not null)"
VALUE = "replicate(convert(varchar(max), '{letter}' + right('0000000' + convert(varchar(10), {id}), 7) + '{letter}'), {bytes} / 9 + id % 100)"
PART = 10_000
IN_PARTS = """set nocount on declare @i int = 0
while @i < {values} begin {statement} set @i += {part} end
checkpoint"""
STEPS = [
    ("loaded", "insert t select value, " + VALUE.replace("id % 100", "value % 100") + " from generate_series(@i + 1, @i + {part})"),
    ("updated", "update t set v = " + VALUE + " where id > @i and id <= @i + {part}"),
    ("deleted", "delete t where id > @i and id <= @i + {part}"),
    ("loaded", "insert t select value, " + VALUE.replace("id % 100", "value % 100") + " from generate_series(@i + 1, @i + {part})"),
    ("deleted", "delete t"),
]
SETTLED_SECONDS_MAX = 120


def told(server, query):
    command = [PROGRAM, "sql", "-S", server.address, "-d", "work", "-W", "-h", "-1", "-b", "-Q", f"set nocount on {query}"]
    done = subprocess.run(command, env={**os.environ, "SQLCMDPASSWORD": PASSWORD}, text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}{done.stderr}")
    return done.stdout.strip()


def pages(server):
    return int(told(server, "select sum(lob_reserved_page_count) from sys.dm_db_partition_stats where object_id = object_id('t')"))


def settled(server, most):
    """The pages, once the server has given back what it gives back by itself in the background."""
    until = time.monotonic() + SETTLED_SECONDS_MAX
    while (found := pages(server)) > most and time.monotonic() < until:
        time.sleep(0.5)
    return found


def step(server, number, asked):
    what, statement = STEPS[number]
    letter, identifier = "ab"[number % 2], "value" if what == "loaded" else "id"
    length = asked.bytes + (600 if what == "updated" else 0)
    statement = statement.format(letter=letter, id=identifier, bytes=length, part=PART)
    begin = time.monotonic()
    told(server, IN_PARTS.format(values=asked.values if "@i" in statement else 1, statement=statement, part=PART))
    return time.monotonic() - begin


def rows_are_right(server, number, asked):
    """Each value has the length and both ends that the step gave it."""
    if STEPS[number][0] == "deleted":
        return told(server, "select count(*) from t") == "0"
    letter, length = "ab"[number % 2], asked.bytes + (600 if STEPS[number][0] == "updated" else 0)
    right = f"len(v) = 9 * ({length} / 9 + id % 100) and left(v, 1) = '{letter}' and substring(v, 2, 7) = id and right(v, 1) = '{letter}'"
    return told(server, f"select count(*) from t where {right}") == str(asked.values)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--values", type=int, default=1_000_000)
    parser.add_argument("--bytes", type=int, default=20_000)
    asked = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="vlflab-values-", dir=os.environ.get("VLFLAB_DIR")))
    server = Server(folder / "data")
    found, wrong = [], []
    try:
        server.run(CREATE)
        server.run(TABLE, "work")
        for number, (what, _) in enumerate(STEPS):
            seconds = step(server, number, asked)
            kept = settled(server, found[0][0] // 100 if what == "deleted" else 10**12)
            if not rows_are_right(server, number, asked):
                wrong.append(f"step {number + 1}: other values")
            if checked := told(server, "dbcc checkdb (work) with no_infomsgs"):
                wrong.append(f"step {number + 1}: {checked}")
            file_mb = int(told(server, "select size from sys.database_files where file_id = 1")) / 128
            found.append((kept, file_mb))
            memory_mb = resident_mb(server.process.pid)
            print(f"{what:8} in {seconds:5.0f} s: {kept:9,} pages of values, file {file_mb:8,.0f} MB, memory {memory_mb:.0f} MB", flush=True)
    finally:
        server.stop()
        shutil.rmtree(folder)
    loaded, updated, deleted, again, last = found
    if updated[0] > 1.1 * loaded[0] or max(deleted[0], last[0]) > loaded[0] // 100 or again[1] > updated[1]:
        wrong.append("pages do not come back")
    print("\n".join(wrong) or "all pages come back: met")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
