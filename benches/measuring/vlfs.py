"""The same work in a log of 16 VLFs and in one of 126,399, native policy, SQL Server 2012's layout.

Each database lies in a server of its own, so that a start opens one of them. The logs are as full as each other and none wraps
within a round, so both write to space that was reserved and not yet written. A round restores both databases, works in
them by turns, backs up their logs, kills and starts both servers.
"""

import os

from workloads import wide_rows

from .bench import GB, MB, Line, Row
from .server import Server, remember

FEW = 16
FEW_LOG_MB_MIN = 1_025  # Above 1 GB a new log has 16 VLFs.
FEW_LOG_MB_MAX = 4_096  # More than twice what a round writes.
VLFS_PER_MB = 4  # What growth by 1 MB makes.
STEPS = ("INSERT", "UPDATE", "DELETE")
STATEMENTS = {"INSERT": wide_rows.INSERT, "UPDATE": wide_rows.UPDATE, "DELETE": wide_rows.DELETE}
WORK_REPEATED_MAX = 3  # In each round, as long as the log has room for it without growth.
WORK_LOG_MB = 330
GROW = """set nocount on
declare @mb int = 1, @statement varchar(200)
while @mb < {megabytes}
begin
    set @mb += 1
    set @statement = 'alter database peers modify file (name = peers_log, size = ' + cast(@mb as varchar(10)) + 'MB)'
    exec (@statement)
end"""


def log_mb(vlfs):
    return -(-vlfs // VLFS_PER_MB)


def create(server, vlfs, few_mb):
    """A database whose log has so many VLFs and whose table `wide` is empty, and its full backup."""
    megabytes = few_mb if vlfs == FEW else 1
    server.run(
        "create database peers on (name = peers, filename = 'd:\\peers.mdf', size = 1000MB) "
        f"log on (name = peers_log, filename = 'l:\\peers.ldf', size = {megabytes}MB, filegrowth = 1MB)"
    )
    if vlfs != FEW:
        server.run(GROW.format(megabytes=vlfs // VLFS_PER_MB))
        if vlfs % VLFS_PER_MB:
            kilobytes = vlfs * 1024 // VLFS_PER_MB
            server.run(f"alter database peers modify file (name = peers_log, size = {kilobytes}KB)")
    prepared = wide_rows.PREPARE["vlflab"]
    for script in prepared[next(i for i, text in enumerate(prepared) if "create table letters" in text) : -1]:
        server.run(script)
    found = server.number("select count(*) from sys.dm_db_log_info(db_id('peers'))")
    if found != vlfs:
        raise RuntimeError(f"the log has {found:,} VLFs and not {vlfs:,}")
    server.run("use peers checkpoint backup database peers to disk = 'd:\\full.bak' with init")


def work(server, found, label):
    """INSERT, UPDATE and DELETE, each after a checkpoint, so that nothing is left to write from before."""
    for step in STEPS:
        server.run("use peers checkpoint")
        found.add(f"{step} {label}", server.timed(STATEMENTS[step], "peers"))
    left = server.number("select count(*) from wide", "peers")
    if left:
        raise RuntimeError(f"{left} rows are left after DELETE")
    server.run("use peers truncate table wide")


def round_of(sides, found, repeats):
    for label, server in sides:
        os.sync()
        restore = "restore database peers from disk = 'd:\\full.bak' with replace"
        found.add(f"restore {label}", server.timed(restore))
    os.sync()
    for repeat in range(repeats):
        for label, server in sides if repeat % 2 == 0 else sides[::-1]:
            work(server, found, label)
    for label, server in sides:
        server.run("use peers checkpoint")
        os.sync()
        found.add(f"log backup {label}", server.timed("backup log peers to disk = 'd:\\log.bak' with init"))
    for label, server in sides:
        server.run(f"use peers {wide_rows.INSERT}")
        server.kill()
        os.sync()
        found.add(f"start-up {label}", server.restarted("select count(*) from wide", "peers"))


def measure(bench, found):
    many = bench.size(bench.vlfs, min(bench.vlfs, 2_000))
    few_mb = min(max(log_mb(many), FEW_LOG_MB_MIN), FEW_LOG_MB_MAX)
    bench.need_space((log_mb(many) + few_mb) * MB + 5 * GB, f"logs of {many:,} and {FEW} VLFs")
    found.facts.update(vlfs=many, few=FEW, many_log_mb=log_mb(many), few_log_mb=few_mb)
    repeats = max(1, min(WORK_REPEATED_MAX, log_mb(many) // WORK_LOG_MB))
    sides = []
    try:
        for label, vlfs in ((str(FEW), FEW), (str(many), many)):
            server = Server(bench.room(f"vlfs-{label}"), sql_version="2012")
            server.start()
            sides.append((label, server))
            bench.progress(f"creating {vlfs:,} VLFs")
            create(server, vlfs, few_mb)
        for turn in range(bench.runs):
            round_of(sides if turn % 2 == 0 else sides[::-1], found, repeats)
            shown = (f"{step} {number}" for step in ("restore", *STEPS, "log backup", "start-up") for number, _ in sides)
            bench.progress(f"round {turn + 1}: " + ", ".join(f"{name} {found.values(name)[-1]:.3f}" for name in shown))
    finally:
        for _, server in sides:
            remember(bench, server)
            server.stop()


def judge(found):
    few, many = str(FEW), str(found.facts.get("vlfs"))
    lines = []
    for step in (*STEPS, "log backup", "restore"):
        names = f"{step} {many}", f"{step} {few}"
        if found.has(*names):
            measured = f"{found.text(names[1], 's', f'{few} VLFs:')}; {found.text(names[0], 's', f'{int(many):,} VLFs:')}"
            ratio = found.ratio(*names)
            lines.append(Line(f"VLF count: {step}", "at most 1.05", measured, found.ratio_text(*names), ratio <= 1.05))
    names = f"start-up {many}", f"start-up {few}"
    if found.has(*names):
        measured = f"{found.text(names[1], 's', f'{few} VLFs:')}; {found.text(names[0], 's', f'{int(many):,} VLFs:')}"
        more_ms = (found.median(names[0]) - found.median(names[1])) * 1e3
        lines.append(
            Line("VLF count: kill to first query", "at most +50 ms", measured, f"{more_ms:+.0f} ms", more_ms <= 50)
        )
    return lines


ROW = Row("vlfs", "the same work with 16 and with 126,399 VLFs (needs 43 GB)", measure, judge, 60, 22)
