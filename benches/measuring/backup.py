"""Full backup and log backup through the server, against the disk's reads and one core's zstd.

The database has 2 GB of the rows of `sales`; every run loads them anew, so that every log backup has as much log to read.
Backups go to files on the same disk, and to NUL: that is their reading side alone, as when a backup goes to another disk. Beside
the disk's reads stands what it reads while it writes as much, with as many transfers of the same size in flight as a backup has: a
backup to the same disk cannot be faster than that. Compressed, the measure is zstd of the command line on one core, with pages of
this database in pieces as large as the backup's.
"""

import re
import shutil
import subprocess

from . import sales
from .bench import GB, MB, Line, Row
from .disk import copying, reserved, scratch, sequential_reads
from .server import serving

IN_FLIGHT = 8
BACKUP_READS_IN_FLIGHT = 4
BACKUP_WRITES_IN_FLIGHT = 4
ZSTD_LEVEL = 1  # As BACKUP ... WITH COMPRESSION has it.
SAMPLE_MB = 64
READS, CEILING, ZSTD = "disk reads", "disk reads while it writes as much", "one core's zstd"
READ_SHARE_MIN = 0.7
# The log backups to NUL leave the log to the last one.
KINDS = {
    "full backup": "backup database shop to disk = 'd:\\full.bak' with init",
    "full backup to NUL": "backup database shop to disk = 'NUL' with copy_only",
    "log backup to NUL": "backup log shop to disk = 'NUL' with copy_only",
    "log backup": "backup log shop to disk = 'd:\\log.bak' with init",
    "compressed full backup": "backup database shop to disk = 'd:\\small.bak' with init, compression",
}


def prepare(bench, server):
    server.run(
        f"create database shop on (name = shop, filename = 'd:\\shop.mdf', size = {bench.size(3_000, 300)}MB) "
        f"log on (name = shop_log, filename = 'l:\\shop.ldf', size = {bench.size(4_000, 400)}MB)"
    )
    for batch in sales.prepare():
        server.run(f"use shop {batch}")
    server.run("backup database shop to disk = 'NUL'")


def load(server, times):
    """So many times the sample in an empty table, written to the data file: MB of data and MB of log."""
    server.run(f"use shop {sales.EMPTY} checkpoint backup log shop to disk = 'NUL' checkpoint")
    for _ in range(times):
        server.run(f"use shop {sales.INSERT}")
    server.run("use shop checkpoint")
    pages = server.number("select sum(allocated_extent_page_count) from sys.dm_db_file_space_usage", "shop")
    log_bytes = server.number("select log_space_in_bytes_since_last_backup from sys.dm_db_log_space_usage", "shop")
    return pages / 128, log_bytes / MB


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
    text = (printed.stdout + printed.stderr).replace("\r", "\n")
    rates, ratios = re.findall(r"([0-9.]+) MB/s", text), re.findall(r"\(x([0-9.]+)\)", text)
    if len(rates) < 2 or not ratios:
        raise RuntimeError(f"zstd printed no rates: {printed.stdout[-200:]}")
    # The last two are of packing and unpacking; zstd counts 10^6 bytes.
    found.add(ZSTD, float(rates[-2]) * 1e6 / MB)
    found.facts["zstd_ratio"] = float(ratios[-1])


def disk_rates(bench, found):
    file_bytes = bench.size(1_024, 64) * MB
    with scratch(bench.folder, file_bytes) as source:
        found.add(READS, sequential_reads(source, file_bytes, IN_FLIGHT))
        with reserved(bench.folder, "disk-copy", file_bytes) as target:
            found.add(CEILING, copying(source, target, file_bytes, BACKUP_READS_IN_FLIGHT, BACKUP_WRITES_IN_FLIGHT))


def measure(bench, found):
    times = bench.size(80, 3)
    bench.need_space(bench.size(16, 3) * GB, "the database and its backups")
    with serving(bench, bench.room("backup"), sql_version="2022") as server:
        prepare(bench, server)
        data_file = next(path for path in server.folder.rglob("shop.mdf"))
        for turn in range(bench.runs):
            data_mb, log_mb = load(server, times)
            disk_rates(bench, found)
            zstd_rate(bench, found, data_file, int(data_mb / 2))
            for kind, statement in KINDS.items():
                cpu_before = server.cpu_seconds()[0]
                seconds = server.timed(statement)
                found.add(f"{kind}: cores busy", (server.cpu_seconds()[0] - cpu_before) / seconds)
                found.add(kind, (log_mb if kind.startswith("log") else data_mb) / seconds)
            last = ", ".join(f"{name} {values[-1]:,.4g}" for name, values in found.series.items())
            bench.progress(f"run {turn + 1}: {data_mb:,.0f} MB of pages, {log_mb:,.0f} MB of log: {last}")
        found.facts.update(data_mb=data_mb, log_mb=log_mb)


def judge_kind(found, kind):
    """A line of one sort of backup."""
    size = found.facts.get("log_mb" if kind.startswith("log") else "data_mb", 0)
    work = f"{kind}, {size:,.0f} MB"
    compressed = kind.startswith("compressed")
    base = ZSTD if compressed else READS
    if not found.has(base):
        return Line(work, "", found.text(kind, "MB/s"), "", None, found.facts.get("zstd", "no base"))
    measured = f"{found.text(kind, 'MB/s')}; {found.text(base, 'MB/s')}"
    goal, met = f"at least {READ_SHARE_MIN:g} of the disk's reads", found.ratio(kind, base) >= READ_SHARE_MIN
    if compressed:
        # Where the disk cannot deliver twice what one core packs, the disk is the limit.
        goal = f"at least 2x {base}, or {READ_SHARE_MIN:g} of the disk's reads"
        met = found.ratio(kind, base) >= 2 or found.ratio(kind, READS) >= READ_SHARE_MIN
        measured += f" (packs to 1/{found.facts.get('zstd_ratio', 1):.1f}); {found.ratio(kind, READS):.2f} of {READS}"
    elif "NUL" not in kind and found.has(CEILING):
        measured += f"; {found.ratio(kind, CEILING):.2f} of {found.text(CEILING, 'MB/s')}"
    if found.has(f"{kind}: cores busy"):
        measured += f"; {found.median(f'{kind}: cores busy'):.1f} cores busy"
    return Line(work, goal, measured, found.ratio_text(kind, base), met)


def judge(found):
    return [judge_kind(found, kind) for kind in KINDS if found.has(kind)]


ROW = Row("backup", "full and log backups against the disk and zstd", measure, judge, 15, 22)
