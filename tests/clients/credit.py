"""The growth experiment by hand, with clients that are not ours: FreeTDS's bsqldb and Microsoft's JDBC driver.

The sample is made, restored, its charges doubled again and again while the log grows by 1 MB, and every answer on the way is
compared with what the arithmetic of rows, pages and virtual log files allows. A small one with scripts of our own always
runs. The published scripts themselves, unmodified and from 1.6 to 51.2 million rows, run where they lie in the folder
`shared/acceptance` beside this repository and VLFLAB_PUBLISHED=1 asks for them.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from harness import PASSWORD, TOOLS, Report, Server, equal
from published import folder

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE / "credit"
SECONDS_MAX = 3000
MB = 1 << 20
# The restored log: 400 MB in 15 VLFs.
LOG_MB = 400
LOG_VLFS = 15


class Answers:
    """What a script brought back: result sets as (columns, rows), and texts of messages."""

    def __init__(self):
        self.sets = []
        self.messages = []

    def having(self, column):
        """The rows, as dictionaries, of every result set that has this column."""
        return [[dict(zip(columns, row)) for row in rows] for columns, rows in self.sets if column in columns]


def by_freetds(server, script):
    environment = {**os.environ, "TDSPORT": str(server.port), "TDSVER": "7.4"}
    command = ["bsqldb", "-S", "127.0.0.1", "-U", "sa", "-P", PASSWORD, "-t", "|", "-h"]
    done = subprocess.run(command, input=script, env=environment, capture_output=True, text=True, timeout=SECONDS_MAX)
    answers = Answers()
    lines = done.stdout.splitlines()
    for number, line in enumerate(lines):
        if re.fullmatch(r"-[-|]*", line):
            answers.sets[-1:] = [([cell.strip() for cell in lines[number - 1].split("|")], [])]
        elif number + 1 < len(lines) and re.fullmatch(r"-[-|]*", lines[number + 1]):
            answers.sets.append(None)
        else:
            answers.sets[-1][1].append([cell.strip() for cell in line.split("|")])
    assert not re.search(r"Msg \d+, Level 1[1-9]", done.stderr), done.stderr
    answers.messages = [line.strip() for line in done.stderr.splitlines()]
    return answers


def by_jdbc(server, script):
    file = server.folder / "script.sql"
    file.write_text(script)
    command = ["java", "-cp", TOOLS / "mssql-jdbc.jar", HERE / "Script.java", server.port, PASSWORD, file]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=SECONDS_MAX)
    answers = Answers()
    for line in done.stdout.splitlines():
        kind, *fields = line.split("\t")
        if kind == "columns":
            answers.sets.append((fields, []))
        elif kind == "row":
            answers.sets[-1][1].append([field.strip() for field in fields])
        else:
            answers.messages.append(fields[1])
    equal(done.returncode, 0, f"{done.stdout[-700:]} {done.stderr[-700:]}")
    return answers


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
        check_waits(answers)
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
    kinds = [("FreeTDS", by_freetds)]
    if shutil.which("java") and (TOOLS / "mssql-jdbc.jar").exists():
        kinds.append(("mssql-jdbc", by_jdbc))
    else:
        print("skip credit by mssql-jdbc: it is not installed")
    for name, run in kinds:
        for sql_version in ("2012", "2022"):
            report.check(f"small by {name} as {sql_version}", small, run, sql_version)
    if not folder():
        print("skip credit, published scripts: there is no folder shared/acceptance beside this repository")
    elif os.environ.get("VLFLAB_PUBLISHED") != "1":
        print("skip credit, published scripts: they make 8 GB of data and log; VLFLAB_PUBLISHED=1 runs them")
    else:
        for (name, run), sql_version in zip(kinds, ("2012", "2019")):
            report.check(f"published scripts by {name} as {sql_version}", published, run, sql_version)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
