"""Runs a T-SQL script with FreeTDS's bsqldb or Microsoft's JDBC driver and gives everything that came back."""

import functools
import os
import re
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

from harness import PASSWORD, TOOLS, equal, java_program

HERE = Path(__file__).resolve().parent
SECONDS_MAX = 3000


class Answers:
    """What a script brought back: result sets as (columns, rows), and texts of messages."""

    def __init__(self):
        self.sets = []
        self.messages = []
        # Rows affected, where the client tells them of every statement.
        self.counts = []

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


@functools.cache
def jdbc_program():
    """One machine runs all scripts, for its start and the driver's take longer than a short script. It ends with its input.

    What it writes beside its answers goes into a file: `run.py` waits for the end of every program that holds a check's output.
    """
    command = [*java_program(HERE / "Script.java", TOOLS / "mssql-jdbc.jar"), PASSWORD]
    beside = tempfile.TemporaryFile("w+", errors="replace")
    program = subprocess.Popen(
        [str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=beside, text=True
    )
    return program, beside


def by_jdbc(server, script):
    file = server.folder / "script.sql"
    file.write_text(script)
    program, beside = jdbc_program()
    print(server.port, file, sep="\t", file=program.stdin, flush=True)
    answers, errors = Answers(), []
    # A script without an end takes the machine with it.
    limit = threading.Timer(SECONDS_MAX, program.kill)
    limit.start()
    try:
        for line in program.stdout:
            kind, *fields = line.rstrip("\n").split("\t")
            if kind == "columns":
                answers.sets.append((fields, []))
            elif kind == "row":
                answers.sets[-1][1].append([field.strip() for field in fields])
            elif kind == "count":
                answers.counts.append(int(fields[0]))
            elif kind == "message":
                answers.messages.append(fields[1])
            elif kind == "error":
                errors.append(fields)
            else:
                equal((kind, errors), ("end", []), "how the script ended")
                return answers
    finally:
        limit.cancel()
    # The next script has a machine of its own.
    jdbc_program.cache_clear()
    beside.seek(0)
    raise AssertionError(f"the program ended with {program.wait()}: {beside.read()[-700:]}")


def clients(test):
    """The clients there are, by name; says which is missing."""
    kinds = [("FreeTDS", by_freetds)]
    if shutil.which("java") and (TOOLS / "mssql-jdbc.jar").exists():
        kinds.append(("mssql-jdbc", by_jdbc))
    else:
        print(f"skip {test} by mssql-jdbc: it is not installed")
    return kinds
