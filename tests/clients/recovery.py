"""The recovery experiment by hand, with a client that is not ours: fill the log to error 9002 under an open transaction,
count its VLFs, shut down at once, start again, look.

Two configurations, as in the experiment: a log that grew by 1 MB steps, and one made at its full size.
"""

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

from harness import PASSWORD, Report, Server, equal

SCRIPTS = Path(__file__).resolve().parent / "recovery"
LIMIT_MB = 24
SECONDS_MAX = 60
# SQL Server 2005's rules: creations and growths of up to 64 MB make 4 VLFs each.
CONFIGURATIONS = [("grown by 1 MB", "1MB", 4 * LIMIT_MB), ("made at once", f"{LIMIT_MB}MB", 4)]


def batches(script):
    return [batch for batch in re.split(r"(?im)^go\s*$", script) if batch.strip()]


class FreeTds:
    """`bsqldb` for the scripts, `tsql` for the connection that stays open."""

    def __init__(self, server):
        self.server = server
        self.held = None

    def script(self, text, database="master"):
        environment = {**os.environ, "TDSPORT": str(self.server.port), "TDSVER": "7.4"}
        command = ["bsqldb", "-S", "127.0.0.1", "-U", "sa", "-P", PASSWORD, "-D", database, "-t", "|"]
        done = subprocess.run(command, input=text, env=environment, capture_output=True, text=True, timeout=240)
        return done.stdout, done.stderr

    def hold(self, text):
        # Unbuffered: its answer is waited for while it stays connected.
        command = ["stdbuf", "-o0", "tsql", "-H", "127.0.0.1", "-p", str(self.server.port), "-U", "sa", "-P", PASSWORD, "-o", "q"]
        self.held = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.held.stdin.write(text + "\nselect 'transaction ' + 'held'\ngo\n")
        self.held.stdin.flush()
        silence = threading.Timer(SECONDS_MAX, self.held.kill)
        silence.start()
        said = []
        for line in self.held.stdout:
            said.append(line)
            if "transaction held" in line:
                silence.cancel()
                return
        raise AssertionError(f"the second connection is not there: {said}")

    def error(self, text):
        """Runs a script that must end in an error; number and text."""
        out, err = self.script(text)
        found = re.search(r"Msg (\d+)", err) or re.search(r"Msg (\d+)", out)
        assert found, (out, err)
        return int(found.group(1)), " ".join((err + out).split())

    def rows(self, query, database):
        out, err = self.script(query + "\ngo\n", database)
        lines = [line for line in out.splitlines() if line.strip()]
        assert lines and not re.search(r"Msg \d+, Level 1[1-9]", err), (out, err)
        return [[cell.strip() for cell in line.split("|")] for line in lines]

    def shut_down(self):
        self.script("shutdown with nowait\ngo\n")

    def close(self):
        if self.held:
            self.held.kill()
            self.held.wait()
            self.held.stdin.close()
            self.held.stdout.close()


class MssqlPython:
    """Microsoft's driver for Python."""

    def __init__(self, server):
        self.server = server
        self.held = None

    def connect(self):
        import mssql_python

        text = f"Server=127.0.0.1,{self.server.port};UID=sa;PWD={{{PASSWORD}}};Encrypt=no;TrustServerCertificate=yes;"
        return mssql_python.connect(text, autocommit=True)

    def run(self, connection, text):
        for batch in batches(text):
            cursor = connection.cursor()
            cursor.execute(batch)
            while cursor.nextset():
                pass
            cursor.close()

    def script(self, text):
        connection = self.connect()
        self.run(connection, text)
        connection.close()
        return "", ""

    def hold(self, text):
        self.held = self.connect()
        self.run(self.held, text)

    def error(self, text):
        try:
            self.script(text)
        except Exception as failure:  # noqa: BLE001: the driver's own class
            number = re.search(r"\b9002\b", str(failure))
            full = "transaction log for database 'recovery' is full" in str(failure)
            return (9002 if number or full else 0), str(failure)
        raise AssertionError("no error")

    def rows(self, query, database):
        connection = self.connect()
        cursor = connection.cursor()
        cursor.execute(f"use {database}")
        cursor.execute(query)
        found = [[str(cell) for cell in row] for row in cursor.fetchall()]
        connection.close()
        return found

    def shut_down(self):
        connection = self.connect()
        try:
            connection.cursor().execute("shutdown with nowait")
        except Exception as failure:  # noqa: BLE001: the connection is gone, which is the point
            assert "9002" not in str(failure), failure

    def close(self):
        self.held = None


def experiment(kind, log_size, vlf_count):
    with Server(sql_version="2005") as server:
        client = kind(server)
        try:
            fill_and_shut_down(server, client, log_size, vlf_count)
        finally:
            client.close()


def fill_and_shut_down(server, client, log_size, vlf_count):
    setup = (SCRIPTS / "setup.sql").read_text()
    out, err = client.script(setup.format(log_size=log_size, log_limit=f"{LIMIT_MB}MB"))
    assert "Level 16" not in err + out, (out, err)
    client.hold((SCRIPTS / "hold.sql").read_text())
    number, text = client.error((SCRIPTS / "fill.sql").read_text())
    equal(number, 9002, text)
    # No log backup was tried since the transaction began, so that is the reason known (SQL Server docs, log_reuse_wait).
    assert "'LOG_BACKUP'" in text, text
    equal(len(client.rows("dbcc loginfo ('recovery')", "master")), vlf_count, "VLFs")
    log_bytes = (server.folder / "l" / "recovery" / "recovery.ldf").stat().st_size
    equal(log_bytes, LIMIT_MB << 20, "bytes of the log file")
    equal(client.rows("select name from sys.databases where log_reuse_wait_desc = 'LOG_BACKUP' and database_id > 4", "master"), [["recovery"]])
    before = client.rows("select id, counter, left(payload, 1) from filled", "recovery")
    assert int(before[0][1]) > LIMIT_MB * 20, before
    client.shut_down()
    server.wait_for_end()
    client.close()
    restarted(server, client, before, vlf_count)


def restarted(server, client, before, vlf_count):
    server.start()
    equal(client.rows("select id, counter, left(payload, 1) from filled", "recovery"), before, "committed updates")
    equal(client.rows("select count(*) from sys.objects where name = 'never_committed'", "recovery"), [["0"]])
    equal(len(client.rows("dbcc loginfo ('recovery')", "master")), vlf_count, "VLFs after recovery")
    log = server.recovered_log("recovery")
    for words in (
        "Starting up database 'recovery'",
        "transactions rolled forward in database 'recovery'",
        "transactions rolled back in database 'recovery'",
        "Recovery completed for database recovery",
    ):
        assert words in log, f"the error log has no {words!r}:\n{log}"
    assert re.search(r"analysis \d+ ms, redo \d+ ms, undo \d+ ms", log), log
    # The log is free again once the open transaction is gone.
    client.script("backup log recovery to disk = 'd:\\recovery\\recovery-2.bak'\ngo\n")
    client.script("use recovery\ngo\nupdate filled set counter = -1\ngo\n")
    equal(client.rows("select counter from filled", "recovery"), [["-1"]])
    equal(client.rows("dbcc checkdb ('recovery') with no_infomsgs select 'sound'", "master")[-1], ["sound"])


def main():
    kind = {"freetds": FreeTds, "mssql-python": MssqlPython}[sys.argv[1]]
    report = Report(f"recovery by {sys.argv[1]}")
    for name, log_size, vlf_count in CONFIGURATIONS:
        report.check(f"log {name}: {vlf_count} VLFs", experiment, kind, log_size, vlf_count)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
