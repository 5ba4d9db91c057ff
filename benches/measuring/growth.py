"""Commit latency of 8 clients while the log grows again and again, and in a log that was large from the start.

Every commit inserts a row of 7,000 characters, so that there are enough growths for the slowest thousandth of the commits to
be among them. Both logs write to space never written before.
"""

import json
import os

from peers import PASSWORD, output_of

from .bench import GB, MB, Line, Row
from .server import serving

CLIENTS = 8
GROWTH_MB = 32
SIDES = {"grown before": ("2048MB", "0"), "growing": (f"{GROWTH_MB}MB", f"{GROWTH_MB}MB")}
INSERT = "insert row (picked, filler) values (@key, replicate('x', 7000))"


def create(server, size, growth):
    server.run("if db_id('growth') is not null drop database growth")
    server.run(
        "create database growth on (name = growth, filename = 'd:\\growth.mdf', size = 800MB) "
        f"log on (name = growth_log, filename = 'l:\\growth.ldf', size = {size}, filegrowth = {growth})"
    )
    server.run(
        "use growth create table row (id int identity primary key, picked int not null, filler varchar(8000) not null) "
        "backup database growth to disk = 'nul' checkpoint"
    )


def latencies(server, commits):
    command = [server.load_program, server.port, "growth", CLIENTS, commits // CLIENTS, 1_000_000, INSERT]
    return json.loads(output_of(command, env={**os.environ, "MSSQL_SA_PASSWORD": PASSWORD}))


def measure(bench, found):
    commits = bench.size(40_000, 4_000)
    bench.need_space(4 * GB, "the log that grows")
    found.facts.update(commits=commits, growth_mb=GROWTH_MB, clients=CLIENTS)
    with serving(bench, bench.room("growth")) as server:
        for turn in range(bench.runs):
            for name in list(SIDES) if turn % 2 == 0 else list(SIDES)[::-1]:
                create(server, *SIDES[name])
                os.sync()
                found_now = latencies(server, commits)
                for percentile in ("p50_us", "p99_us", "p999_us", "max_us"):
                    found.add(f"{percentile} {name}", found_now[percentile])
                log_bytes = server.number("select cast(size as bigint) * 8192 from sys.database_files where type = 1", "growth")
                if name == "growing":
                    found.add("growths", log_bytes // (GROWTH_MB * MB) - 1)
                bench.progress(f"run {turn + 1}, {name}: {found_now}, log of {log_bytes / MB:,.0f} MB")


def judge(found):
    names = "p999_us growing", "p999_us grown before"
    if not found.has(*names):
        return []
    measured = f"{found.text(names[1], 'us', 'p99.9 without growth')}; {found.text(names[0], 'us', 'growing')}"
    measured += f"; p50 {found.median('p50_us grown before'):.0f} and {found.median('p50_us growing'):.0f} us"
    growths = f"{found.median('growths'):.0f} growths of {found.facts['growth_mb']} MB"
    work = f"log growth while {CLIENTS} clients commit ({found.facts['commits']:,} commits, {growths})"
    return [Line(work, "p99.9 at most 2x", measured, found.ratio_text(*names), found.ratio(*names) <= 2)]


ROW = Row("growth", "commit latency of 8 clients while the log grows", measure, judge, 5, 10)
