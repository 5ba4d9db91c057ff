"""FreeTDS's command line clients, `bsqldb` and `tsql`, in every protocol version they speak."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import ENCRYPT, FAILED_COMMIT, Report, equal

PORT = os.environ["VLFLAB_PORT"]
PASSWORD = os.environ["VLFLAB_PASSWORD"]
if ENCRYPT:
    configuration = Path(tempfile.mkdtemp()) / "freetds.conf"
    configuration.write_text("[global]\nencryption = require\n")
    os.environ["FREETDSCONF"] = str(configuration)


def bsqldb(script, database="clients"):
    """Runs a script; its output, its messages and its exit code."""
    environment = {**os.environ, "TDSPORT": PORT, "TDSVER": "7.4"}
    command = ["bsqldb", "-S", "127.0.0.1", "-U", "sa", "-P", PASSWORD, "-D", database, "-t", "|", "-h"]
    done = subprocess.run(command, input=script, env=environment, capture_output=True, text=True, timeout=60)
    return done.stdout, done.stderr, done.returncode


def tsql(lines, version="7.4", password=PASSWORD):
    """Feeds lines to tsql; all of its output."""
    command = ["tsql", "-H", "127.0.0.1", "-p", PORT, "-U", "sa", "-P", password, "-D", "clients", "-o", "fq"]
    environment = {**os.environ, "TDSVER": version}
    done = subprocess.run(command, input=lines, env=environment, capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr


def connects():
    for version in ("7.1", "7.2", "7.3", "7.4"):
        assert "six times seven|42" in tsql("select 'six times seven|' + cast(6 * 7 as varchar(10))\ngo\n", version), version


def wrong_password():
    assert "Msg 18456" in tsql("select 1\ngo\n", password="wrong")


def batches():
    out, err, code = bsqldb(
        "if object_id('freetds') is not null drop table freetds\ngo\n"
        "create table freetds (a int identity not null, b char(10) not null, c decimal(9, 2) null)\ngo\n"
        "insert freetds values ('one', 1.5)\ninsert freetds values ('two', null)\ngo\n"
        "select a, b, c from freetds order by a\nselect count(*) from freetds\nselect replicate('m', 500)\ngo\n"
    )
    equal(code, 0, err)
    cells = [[cell.strip() for cell in line.split("|")] for line in out.splitlines() if line.strip()]
    for expected in (["1", "one", "1.50"], ["2", "two", "NULL"], ["2"]):
        assert expected in cells, (expected, out, err)


def errors():
    out = tsql("select 1\n\nselect * from absent\ngo\nraiserror('mine', 16, 5)\ngo\nprint 'said'\ngo\nselect 1/0\ngo\n")
    for expected in ("Msg 208 (severity 16, state 1)", "Line 3", "Msg 50000 (severity 16, state 5)", "said", "Msg 8134"):
        assert expected in out, (expected, out)


def copies_in_bulk():
    """freebcp: out and in again, identity kept, a hint."""
    bsqldb(
        "drop table if exists freetds_bulk\ngo\n"
        "create table freetds_bulk (id int identity not null primary key, n varchar(40) null default 'none', d decimal(9, 2) null, t datetime null,"
        " i bigint not null)\ngo\n"
        "drop table if exists freetds_copy\ngo\n"
        "create table freetds_copy (id int not null primary key, n varchar(40) null, d decimal(9, 2) null, t datetime null, i bigint not null)\ngo\n"
    )
    folder = tempfile.mkdtemp(prefix="freebcp-")
    try:
        text, copy = os.path.join(folder, "rows.txt"), os.path.join(folder, "copy.txt")
        with open(text, "w", encoding="ascii") as file:
            for row in range(1, 1001):
                name = "" if row % 2 else f"name {row}"
                file.write(f"{row * 2},{name},1.25,2026-01-02 03:04:05.123,{row}\n")
        freebcp("freetds_bulk", "in", text, "-c", "-t", ",", "-E", "-b", "300")
        freebcp("freetds_bulk", "out", copy, "-c", "-t", ",")
        freebcp("freetds_copy", "in", copy, "-c", "-t", ",", "-h", "TABLOCK, ORDER (id ASC)")
        query = "select 'rows', count(*), count(n), sum(d), max(id), sum(i) from {}\ngo\n"
        for table, names in (("freetds_bulk", "1000"), ("freetds_copy", "1000")):
            out, err, _ = bsqldb(query.format(table))
            last = [cell.strip() for cell in out.strip().splitlines()[-1].split("|")]
            equal(last, ["rows", "1000", names, "1250.00", "2000", "500500"], err)
    finally:
        shutil.rmtree(folder)


def freebcp(table, direction, file, *options):
    command = ["freebcp", f"clients.dbo.{table}", direction, file, "-S", f"127.0.0.1:{PORT}", "-U", "sa", "-P", PASSWORD]
    done = subprocess.run(command + list(options), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "1000 rows copied" in done.stdout, (done.stdout, done.stderr)


def dies():
    """The client is killed in mid-statement: its transaction is rolled back and its locks released."""
    bsqldb("if object_id('held') is not null drop table held\ngo\ncreate table held (a int)\ngo\n")
    command = ["tsql", "-H", "127.0.0.1", "-p", PORT, "-U", "sa", "-P", PASSWORD, "-D", "clients", "-o", "fq"]
    client = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    client.stdin.write("begin tran insert held values (1) waitfor delay '00:01:00' commit\ngo\n")
    client.stdin.flush()
    waiting = "set nocount on set lock_timeout 0 select 'rows', count(*) from held"
    begin = time.monotonic()
    while "1222" not in bsqldb(waiting + "\ngo\n")[1]:
        assert time.monotonic() - begin < 20, "the first client holds no lock"
    client.kill()
    client.wait()
    begin = time.monotonic()
    while "1222" in bsqldb(waiting + "\ngo\n")[1]:
        assert time.monotonic() - begin < 20, "the lock of a client that is gone is still held"
    out, err, _ = bsqldb(waiting + "\ngo\n")
    last = out.strip().splitlines()[-1]
    equal([cell.strip() for cell in last.split("|")], ["rows", "0"], err)


def failed_commit():
    out = tsql("begin tran insert victim.dbo.committed values (1)\ngo\ncommit\ngo\n")
    assert "Msg 9001" in out and "'victim'" in out, out


def main():
    report = Report("freetds")
    if FAILED_COMMIT:
        report.check(FAILED_COMMIT, failed_commit)
        return 1 if report.failed else 0
    report.check("connects in 7.1 to 7.4", connects)
    report.check("is refused with a wrong password", wrong_password)
    report.check("runs batches", batches)
    report.check("is told errors with line and state", errors)
    report.check("copies in bulk", copies_in_bulk)
    report.check("dies and its locks are released", dies)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
