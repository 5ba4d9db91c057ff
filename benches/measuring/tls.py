"""What encryption costs: the same work by the same server with nothing encrypted, the login alone, everything by TLS 1.2, and everything
by TLS 1.3 as of TDS 8.0. The levels take turns, and which one begins changes from run to run.

The clients are on the same machine and encrypt as well, so seconds are the price of both ends. The server's own price is its processor time.
"""

import json
import os

from peers import PASSWORD, ROOT, output_of

from .bench import GB, Line, Row
from .server import serving

EXAMPLES = ROOT / "target" / "release" / "examples"
OFF = "off"
LEVELS = {OFF: "nothing encrypted", "login": "the login alone", "on": "TLS 1.2", "strict": "TLS 1.3 (TDS 8.0)"}
KEYS = 100_000
# By work: the greatest ratio to what takes place unencrypted.
READS, READS_OF_MANY, COMMITS, BULK, LOGINS = (
    "point reads, one client",
    "point reads, 8 clients",
    "commits, 8 clients",
    "bulk load, packets of 8,000 bytes",
    "logins, two clients",
)
GOALS = {READS: 1.10, READS_OF_MANY: 1.10, COMMITS: 1.10, BULK: 1.20, LOGINS: None}
READ = "select amount from account where id = @key"
COMMIT = "update account set amount = amount + 1 where id = @key"


def create(server):
    server.run("create database peers on (name = peers, filename = 'd:\\tls.mdf', size = 400MB) "
               "log on (name = peers_log, filename = 'l:\\tls.ldf', size = 1000MB)")
    server.run("alter database peers set recovery simple")
    server.run(
        "use peers create table account (id int primary key, amount bigint not null) "
        f"set nocount on declare @i int = 0 begin tran while @i < {KEYS} begin set @i += 1 insert account values (@i, 0) end commit "
        "create table loaded (id int not null, amount bigint not null, name varchar(100) not null) checkpoint"
    )


def seconds_of(program, level, *arguments):
    command = [EXAMPLES / program, "--encrypt", level, *arguments]
    return json.loads(output_of(command, env={**os.environ, "MSSQL_SA_PASSWORD": PASSWORD}))["seconds"]


def works(bench, server):
    """Each work's program and arguments, by its name."""
    reads, commits = bench.size(20_000, 200), bench.size(6_000, 50)
    rows, logins = bench.size(400_000, 2_000), bench.size(300, 10)
    return {
        READS: ("load", server.port, "peers", 1, reads, KEYS, READ),
        READS_OF_MANY: ("load", server.port, "peers", 8, reads // 2, KEYS, READ),
        COMMITS: ("load", server.port, "peers", 8, commits, KEYS, COMMIT),
        BULK: ("bulk", server.port, "peers", "loaded", rows, bench.size(100_000, 1_000)),
        LOGINS: ("logins", server.port, "login", 2, logins),
    }


def measure(bench, found):
    bench.need_space(3 * GB, "a database to load")
    with serving(bench, bench.room("tls"), sql_version="2022") as server:
        create(server)
        found.facts["logins"] = int(works(bench, server)[LOGINS][-1])
        for turn in range(bench.runs):
            for name, (program, *arguments) in works(bench, server).items():
                for level in list(LEVELS) if turn % 2 == 0 else list(LEVELS)[::-1]:
                    if name == BULK:
                        server.run("use peers truncate table loaded checkpoint")
                    processor_s = server.cpu_seconds()[0]
                    found.add(f"{name} {level}", seconds_of(program, level, *arguments))
                    found.add(f"{name} {level}: processor", server.cpu_seconds()[0] - processor_s)
            bench.progress(f"run {turn + 1}")


def judge(found):
    lines = []
    for name, goal in GOALS.items():
        base = f"{name} {OFF}"
        for level, words in LEVELS.items():
            series = f"{name} {level}"
            if level == OFF or not found.has(series, base):
                continue
            measured = f"{found.text(series, 's', words)}; {found.text(base, 's', LEVELS[OFF])}"
            # A short work may take less than the clock's tick.
            clocked = found.has(f"{series}: processor", f"{base}: processor") and found.median(f"{base}: processor") > 0
            if clocked:
                processor = found.ratio_text(f"{series}: processor", f"{base}: processor")
                measured += f"; processor time of the server {processor} times as much"
            if name == LOGINS:
                rate = found.facts["logins"] / found.median(series)
                measured += f"; {rate:,.0f} logins a second"
            wanted = "no goal: the price of a handshake" if goal is None else f"at most {goal:.2f} times as long"
            met = None if goal is None else found.ratio(series, base) <= goal
            lines.append(Line(f"{name}: {words}", wanted, measured, found.ratio_text(series, base), met))
    return lines


ROW = Row("tls", "point reads, commits, bulk load and logins: nothing, the login, or everything encrypted", measure, judge, 10, 30)
