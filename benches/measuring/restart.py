"""Restart after a crash with 5 GB of active log and an open transaction: ours, and PostgreSQL with the same volume.

A log is filled once by the same updates on both (10,000 rows of 8,000 characters, 100 updates to a commit, another transaction
open); the processes are killed, and the folder is kept as an image. Each run starts from a copy of it that is out of the page cache.
Ours starts as shipped, where indirect checkpoints leave little to redo, and with `recovery interval` configured, where all
of the log is read and applied.
"""

import shutil
import subprocess
import time

from peers import PASSWORD, PostgreSql, output_of

from . import postgresql_restart as postgresql
from .bench import GB, MB, Line, Row
from .disk import forget_cached
from .server import Server, remember

ROWS = 10_000
SHIPPED, WHOLE = "as shipped", "recovery interval 60"
CREATE = [
    "create database crash on (name = crash, filename = 'd:\\crash.mdf', size = 200MB) "
    "log on (name = crash_log, filename = 'l:\\crash.ldf', size = {log_mb}MB, filegrowth = 256MB)",
    "use crash create table page_writer (id int not null primary key, update_count int not null, payload char(8000) not null) "
    "create table held (id int not null)",
    f"use crash set nocount on declare @i int = 0 begin tran while @i < {ROWS} begin set @i += 1 "
    "insert page_writer values (@i, 0, 'i') end commit",
    "use crash backup database crash to disk = 'nul' with init checkpoint backup log crash to disk = 'nul'",
]
FILL = f"""set nocount on
declare @n int = 0, @end int, @odd char(8000) = replicate('o', 8000), @even char(8000) = replicate('e', 8000)
while (select log_space_in_bytes_since_last_backup from sys.dm_db_log_space_usage) < {{log_bytes}}
begin
    begin tran
    set @end = @n + 100
    while @n < @end
    begin
        set @n += 1
        if (@n / {ROWS}) % 2 = 0
            update page_writer set update_count = @n, payload = @odd where id = 1 + @n * 7 % {ROWS}
        else
            update page_writer set update_count = @n, payload = @even where id = 1 + @n * 7 % {ROWS}
    end
    commit
end
select @n"""
HOLD = "begin transaction insert held values (1) waitfor delay '10:00:00'"
RECOVERED = "exec sp_readerrorlog 0, 1, 'Recovery completed for database crash'"
RECOVERY_SECONDS_MAX = 300


def hold(server):
    """A client whose transaction stays open."""
    command = [server.program, "sql", "-S", f"127.0.0.1,{server.port}", "-P", PASSWORD, "-d", "crash", "-Q", HOLD]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    client = subprocess.Popen([str(part) for part in command], **quiet)
    until = time.monotonic() + 30
    while not server.number("select count(*) from held with (nolock)", "crash"):
        if time.monotonic() > until:
            raise RuntimeError("the transaction did not begin")
        time.sleep(0.05)
    return client


def create(server, log_bytes, whole):
    if whole:
        server.run("exec sp_configure 'show advanced options', 1 reconfigure")
        server.run("exec sp_configure 'recovery interval (min)', 60 reconfigure")
    for script in CREATE:
        server.run(script.format(log_mb=log_bytes // MB + max(512, log_bytes // MB // 5)))


def crash(server, log_bytes):
    """Fills the log beside an open transaction and kills the server: updates done.

    The log is counted from the last log backup. The space in use would not do: it begins with a VLF, and half of one can be more
    than the whole fill.
    """
    client = hold(server)
    updates = server.number(FILL.format(log_bytes=log_bytes), "crash")
    server.kill()
    client.kill()
    client.wait()
    return updates


def restart(server):
    """Seconds to the first query and to the end of recovery."""
    begin = time.monotonic()
    first = server.restarted("select count(*) from page_writer where id = 1", "crash")
    while "Recovery completed" not in server.run(RECOVERED):
        if time.monotonic() - begin > RECOVERY_SECONDS_MAX:
            raise RuntimeError("recovery does not end")
        time.sleep(0.005)
    recovered = time.monotonic() - begin
    rows, held = (server.number(f"select count(*) from {table}", "crash") for table in ("page_writer", "held"))
    if (rows, held) != (ROWS, 0):
        raise RuntimeError(f"after recovery there are {rows} rows and {held} of the open transaction")
    return first, recovered


def from_image(image, folder):
    """A copy of the image in the folder's place, out of the page cache."""
    shutil.rmtree(folder, ignore_errors=True)
    output_of(["cp", "-a", "--reflink=auto", image, folder])
    forget_cached(folder)


def measure_ours(bench, found, name, log_bytes):
    server = Server(bench.room("restart"), sql_version="2012")
    image = server.folder.with_name("image")
    server.start()
    try:
        create(server, log_bytes, name == WHOLE)
        bench.progress(f"{name}: filling {log_bytes / GB:.1f} GB of log")
        begin = time.monotonic()
        updates = crash(server, log_bytes)
        found.add(f"fill s, {name}", time.monotonic() - begin)
        bench.progress(f"{name}: {updates:,} updates in {found.values(f'fill s, {name}')[-1]:.1f} s")
        server.folder.rename(image)
        for turn in range(bench.runs):
            from_image(image, server.folder)
            first, recovered = restart(server)
            found.add(f"first query s, {name}", first)
            found.add(f"recovered s, {name}", recovered)
            bench.progress(f"{name}, run {turn + 1}: first query {first:.2f} s, recovered {recovered:.2f} s")
            remember(bench, server)
            server.kill()
    finally:
        server.stop()
        shutil.rmtree(server.folder.parent)


def measure(bench, found):
    log_bytes = bench.size(5 * GB, 64 * MB)
    found.facts.update(log_bytes=log_bytes)
    bench.need_space(bench.size(24, 3) * GB, f"{log_bytes / GB:.2f} GB of log, its images and copies")
    for name in (SHIPPED, WHOLE):
        measure_ours(bench, found, name, log_bytes)
    peer = PostgreSql(bench.room("restart"))
    if peer.missing():
        found.facts["postgresql"] = peer.missing()
        bench.progress(f"PostgreSQL is left out: {peer.missing()}")
        return
    try:
        postgresql.measure(bench, found, peer, log_bytes, ROWS, from_image)
    finally:
        shutil.rmtree(peer.folder.parent)


def judge(found):
    lines = []
    volume = f"{found.facts.get('log_bytes', 0) / GB:.2g} GB of active log and an open transaction"
    if found.has(f"first query s, {SHIPPED}"):
        first = f"first query s, {SHIPPED}"
        measured = found.text(first, "s", SHIPPED + ":")
        if found.has(f"first query s, {WHOLE}"):
            measured += "; " + found.text(f"first query s, {WHOLE}", "s", WHOLE + ":")
        lines.append(Line(f"kill to first query, {volume}", "under 1 s", measured, "", found.median(first) < 1))
    if not found.has(f"recovered s, {SHIPPED}"):
        return lines
    redo = "postgresql redo s"
    for name in (SHIPPED, WHOLE):
        ours = f"recovered s, {name}"
        if not found.has(ours):
            continue
        work, goal = f"full recovery, {name}, {volume}", "at least 2x faster than PostgreSQL's redo"
        measured = found.text(ours, "s", "ours")
        if not found.has(redo):
            lines.append(Line(work, goal, measured, "", None, found.facts.get("postgresql", "PostgreSQL was not measured")))
            continue
        measured += f"; {found.text(redo, 's', 'PostgreSQL redo')} of {found.facts['postgresql_wal_bytes'] / GB:.2f} GB"
        measured += f"; {found.text('postgresql first query s', 's', 'to its first query')}"
        lines.append(Line(work, goal, measured, f"{found.ratio(redo, ours):.1f}", found.ratio(redo, ours) >= 2))
    return lines


ROW = Row("restart", "restart with 5 GB of active log, ours and PostgreSQL's (needs 24 GB)", measure, judge, 160, 40)
