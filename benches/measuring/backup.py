"""Full backup and log backup through the server, against the disk's reads and one core's zstd.

The database has 2 GB of wide rows; every run loads them anew, so that every log backup has as much log to read. Their texts
are random letters that do not repeat within the reach of a compressor. Backups go to files on the same disk. Compressed, the
measure is zstd of the command line on one core, with pages of this database in pieces as large as the backup's.
"""

import random
import re
import shutil
import string
import subprocess

from workloads import wide_rows

from .bench import GB, MB, Line, Row
from .disk import scratch, sequential_reads
from .server import prepare_wide_rows, serving

IN_FLIGHT = 8
ZSTD_LEVEL = 1  # As BACKUP ... WITH COMPRESSION has it.
SAMPLE_MB = 64
TEXTS = 1_000  # 5 MB of them; what is compressed in one piece is 1 MB.
TEXTS_PER_STATEMENT = 20  # A statement is an argument of the client, at most 128 KB.
KINDS = {
    "full backup": "backup database peers to disk = 'd:\\full.bak' with init",
    "log backup": "backup log peers to disk = 'd:\\log.bak' with init",
    "compressed full backup": "backup database peers to disk = 'd:\\small.bak' with init, compression",
}


def vary(server):
    """Other texts in the table that the wide rows are copied from."""
    draw = random.Random(11)
    server.run("use peers truncate table source truncate table letters")
    for first in range(0, TEXTS, TEXTS_PER_STATEMENT):
        numbers = range(first, first + TEXTS_PER_STATEMENT)
        rows = ", ".join(f"({number}, '{''.join(draw.choices(string.ascii_lowercase, k=5_000))}')" for number in numbers)
        server.run(f"use peers insert into letters values {rows}")
    server.run("use peers " + wide_rows.FILL.replace(f"n % {wide_rows.TEXTS}", f"n % {TEXTS}"))


def load(server, times):
    """So many times the wide rows in an empty table, written to the data file: MB of data and MB of log."""
    for script in wide_rows.EMPTY["vlflab"]:
        server.run(script)
    written = server.log_written("peers")[1]
    for _ in range(times):
        server.run(f"use peers {wide_rows.INSERT}")
    server.run("use peers checkpoint")
    written = server.log_written("peers")[1] - written
    pages = server.number("select sum(allocated_extent_page_count) from sys.dm_db_file_space_usage", "peers")
    return pages / 128, written / MB


def zstd_rate(bench, found, data_file, middle_mb):
    """MB/s of one core's zstd on pages from the middle of the rows; nothing where there is no zstd."""
    if not shutil.which("zstd"):
        found.facts["zstd"] = "zstd is not installed (Debian: apt-get install zstd)"
        return
    sample = bench.folder / "pages"
    with open(data_file, "rb") as pages, open(sample, "wb") as copy:
        pages.seek(middle_mb * MB)
        copy.write(pages.read(SAMPLE_MB * MB))
    printed = subprocess.run(["zstd", f"-b{ZSTD_LEVEL}", f"-B{MB}", "-i1", sample], capture_output=True, text=True, check=True)
    rates = re.findall(r"([0-9.]+) MB/s", (printed.stdout + printed.stderr).replace("\r", "\n"))
    if len(rates) < 2:
        raise RuntimeError(f"zstd printed no rates: {printed.stdout[-200:]}")
    # The last two are of packing and unpacking; zstd counts 10^6 bytes.
    found.add("one core's zstd", float(rates[-2]) * 1e6 / MB)


def measure(bench, found):
    times = bench.size(5, 1)
    bench.need_space(bench.size(14, 5) * GB, "the database and its backups")
    with serving(bench, bench.room("backup"), sql_version="2022") as server:
        prepare_wide_rows(bench, server, data_mb=3_000, log_mb=4_000)
        vary(server)
        data_file = next(path for path in server.folder.rglob("peers.mdf"))
        for turn in range(bench.runs):
            data_mb, log_mb = load(server, times)
            with scratch(bench.folder, bench.size(1024, 64) * MB) as descriptor:
                found.add("disk reads", sequential_reads(descriptor, bench.size(1024, 64) * MB, IN_FLIGHT))
            zstd_rate(bench, found, data_file, int(data_mb / 2))
            for kind, statement in KINDS.items():
                seconds = server.timed(statement)
                found.add(kind, (log_mb if kind == "log backup" else data_mb) / seconds)
            last = ", ".join(f"{name} {values[-1]:,.0f} MB/s" for name, values in found.series.items())
            bench.progress(f"run {turn + 1}: {data_mb:,.0f} MB of pages, {log_mb:,.0f} MB of log: {last}")
        found.facts.update(data_mb=data_mb, log_mb=log_mb)


def judge(found):
    lines = []
    for kind in KINDS:
        base, goal = ("one core's zstd", 2.0) if kind.startswith("compressed") else ("disk reads", 0.7)
        if not found.has(kind):
            continue
        size = found.facts.get("log_mb" if kind == "log backup" else "data_mb", 0)
        if not found.has(base):
            lines.append(Line(f"{kind}, {size:,.0f} MB", "", found.text(kind, "MB/s"), "", None, found.facts.get(base, "no base")))
            continue
        measured = f"{found.text(kind, 'MB/s')}; {found.text(base, 'MB/s')}"
        if base != "disk reads":
            # Where the disk cannot deliver twice what one core packs, the disk is the limit.
            disk_share = found.ratio(kind, "disk reads")
            measured += f"; {disk_share:.2f} of disk reads"
            met = found.ratio(kind, base) >= goal or disk_share >= 0.7
            about = f"at least {goal:g}x {base}, or 0.70 of the disk's reads"
        else:
            met, about = found.ratio(kind, base) >= goal, f"at least {goal:g} of the disk's reads"
        lines.append(Line(f"{kind}, {size:,.0f} MB", about, measured, found.ratio_text(kind, base), met))
    return lines


ROW = Row("backup", "full and log backups against the disk and zstd", measure, judge, 15, 14)
