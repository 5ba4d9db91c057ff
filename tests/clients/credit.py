"""The growth experiment by hand, with clients that are not ours: FreeTDS's bsqldb and Microsoft's JDBC driver.

The sample is made, restored, its charges doubled again and again while the log grows by 1 MB, and every answer on the way is
compared with what the arithmetic of rows, pages and virtual log files allows. A small one with scripts of our own always
runs. The published scripts themselves, unmodified and from 1.6 to 51.2 million rows, run where they lie in the folder
`shared/acceptance` beside this repository and VLFLAB_PUBLISHED=1 asks for them.
"""

import os
import re
import sys
from pathlib import Path

from harness import Report, Server, equal
from published import folder
from scripts import clients

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE / "credit"
MB = 1 << 20
# The restored log: 400 MB in 15 VLFs.
LOG_MB = 400
LOG_VLFS = 15


def kilobytes(text):
    found = re.fullmatch(r"(\d+) KB", text)
    assert found, text
    return int(found.group(1))


def check_space(rows_before, rows_after, answers):
    """sp_spaceused at the start and at the end."""
    begin, end = (rows[0] for rows in answers.having("reserved"))
    for found, expected in ((begin, rows_before), (end, rows_after)):
        equal((found["name"], int(found["rows"])), ("charge", expected), "rows of charge")
        parts = sum(kilobytes(found[part]) for part in ("data", "index_size", "unused"))
        equal(parts, kilobytes(found["reserved"]), "data, index and unused KB")
        # A charge takes 47 bytes in SQL Server; here the key lies beside the row as well.
        assert 47 <= kilobytes(found["data"]) * 1024 / expected < 70, found
    return kilobytes(end["reserved"])


def check_log(sql_version, answers):
    """The VLFs before and after are those that the size of the log predicts on this version of SQL Server."""
    begin, end = answers.having("FSeqNo")
    equal(len(begin), LOG_VLFS, "VLFs at the start")
    file_bytes = 8192 + sum(int(vlf["FileSize"]) for vlf in end)
    equal(file_bytes % MB, 0, "bytes of the log file beyond whole MB")
    growths = file_bytes // MB - LOG_MB
    # Growths of 1 MB: 4 VLFs each up to SQL Server 2012, then 1 where 1 MB is less than an eighth of the log.
    equal(len(end), LOG_VLFS + growths * (4 if sql_version == "2012" else 1), "VLFs at the end")
    offset = 8192
    for vlf in end:
        equal(int(vlf["StartOffset"]), offset, "where a VLF begins")
        offset += int(vlf["FileSize"])
    return growths, len(end)


def check_files(answers, name, size, available, growths, reserved_kb):
    """Sizes of the two files, before and after."""
    begin, end = answers.having(size)
    for rows in (begin, end):
        equal([row[name] for row in rows], ["CreditData", "CreditLog"], "files")
        for row in rows:
            assert 0 <= float(row[available]) <= float(row[size]), row
    equal([float(row[size]) for row in begin], [1000, LOG_MB], "MB of the files at the start")
    equal(float(end[1][size]), LOG_MB + growths, "MB of the log at the end")
    data_mb = float(end[0][size])
    equal(data_mb, max(1000, round(data_mb)), "whole MB of data")
    assert data_mb * 1024 >= reserved_kb, (data_mb, reserved_kb)
    return data_mb


def check_waits(answers):
    """Shares of the waits: ordered, adding up, not beyond 100 but for rounding."""
    (waits,) = answers.having("running_pct")
    assert waits, "no waits"
    total = 0
    previous = 100.0
    for wait in waits:
        share, running = float(wait["pct"]), float(wait["running_pct"])
        assert 0 <= share <= previous + 0.001, waits
        total += share
        previous = share
        assert abs(running - total) < 0.011, waits
    assert 98.9 <= total <= 100.2, waits
    equal(len({wait["wait_type"] for wait in waits}), len(waits), "names of waits")
    return waits


def small(run, sql_version):
    with Server(sql_version=sql_version, sample_options=["--charge-rows", "16000"]) as server:
        run(server, (SCRIPTS / "prepare.sql").read_text())
        answers = run(server, (SCRIPTS / "double.sql").read_text())
        reserved = check_space(16_000, 64_000, answers)
        growths, _ = check_log(sql_version, answers)
        check_files(answers, "name", "size_mb", "used_mb", growths, reserved)
        waits = check_waits(answers)
        assert "WAITFOR" in {wait["wait_type"] for wait in waits}, waits
        said = [line for line in answers.messages if line.startswith("round")]
        equal([re.sub(r"\d+ ms", "N ms", line) for line in said], ["round 1 done in N ms", "round 2 done in N ms"])
        run(server, (SCRIPTS / "clean_up.sql").read_text())
        restored = run(server, "use Credit\ngo\nselect count(*) as charges, max(charge_no) as last from charge\ngo\n")
        equal(restored.having("charges"), [[{"charges": "16000", "last": "416000"}]])


def published(run, sql_version):
    scripts = folder()
    with Server(sql_version=sql_version, sample_options=[]) as server:
        prepared = run(server, (scripts / "000-listing-1.sql").read_text())
        for words in ("RESTORE DATABASE successfully processed", "BACKUP DATABASE successfully processed", "100 percent processed"):
            assert any(words in line for line in prepared.messages), (words, prepared.messages)
        answers = run(server, (scripts / "000-listing-2.sql").read_text())
        reserved = check_space(1_600_000, 51_200_000, answers)
        growths, vlfs = check_log(sql_version, answers)
        data_mb = check_files(answers, "File Name", "Total Size in MB", "Available Space In MB", growths, reserved)
        waits = check_waits(answers)
        loops = [re.fullmatch(r"Loop (\d) done in (\d+) seconds", line) for line in answers.messages if line.startswith("Loop")]
        equal([int(loop.group(1)) for loop in loops], [1, 2, 3, 4, 5], "loops")
        seconds = [int(loop.group(2)) for loop in loops]
        equal(seconds, sorted(seconds), "seconds since the start")
        ((total,),) = answers.having("Total Elapsed Time (sec)")
        assert seconds[-1] <= int(total["Total Elapsed Time (sec)"]) <= seconds[-1] + 1, (seconds, total)
        run(server, (scripts / "000-listing-3.sql").read_text())
        restored = run(server, "use Credit\ngo\nselect count(*) as charges, max(charge_no) as last from charge\ngo\n")
        equal(restored.having("charges"), [[{"charges": "1600000", "last": "2000000"}]])
        print(
            f"note: {run.__name__} {sql_version}: loops done after {seconds} s, log {LOG_MB + growths} MB, "
            f"{vlfs} VLFs, data {data_mb:.0f} MB, waits "
            + ", ".join(f"{wait['wait_type']} {wait['pct']}" for wait in waits)
        )


def main():
    report = Report("credit")
    kinds = clients("credit")
    for name, run in kinds:
        for sql_version in ("2012", "2022"):
            report.check(f"small by {name} as {sql_version}", small, run, sql_version)
    if not folder():
        print("skip credit, published scripts: there is no folder shared/acceptance beside this repository")
    elif os.environ.get("VLFLAB_PUBLISHED") != "1":
        print("skip credit, published scripts: they make 6 GB of data and log; VLFLAB_PUBLISHED=1 runs them")
    else:
        for (name, run), sql_version in zip(kinds, ("2012", "2019")):
            report.check(f"published scripts by {name} as {sql_version}", published, run, sql_version)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
