"""How cost grows with size: clients, rows, VLFs, log bytes. One run each; `draw` makes the chart.

Every series is a list of pairs, size and cost. Restarts and log backups share their fills: a fill begins after a checkpoint and
a log backup, so what is replayed, or backed up, is that fill.
"""

import os
import time

from workloads import Load, doubling
from workloads.accounts import PREPARE, ROWS as KEYS, UPDATE

from . import restart, vlfs
from .bench import GB, MB, Line, Row
from .server import Server, remember, serving

CLIENTS = (1, 2, 4, 8, 16, 32, 64)
DOUBLINGS = 9
# Making the table writes more log than 1,000 VLFs of 256 KB hold.
VLF_COUNTS = (16, 2_000, 10_000)
LOG_MB = (100, 512, 1_024, 2_048, 5_120)


def clients(bench, found):
    commits = bench.size(40_000, 2_000)
    with serving(bench, bench.room("scaling"), sql_version="2022") as server:
        for script in PREPARE["vlflab"]:
            server.run(script)
        os.sync()
        for count in CLIENTS:
            load = Load(count, commits // count, KEYS, {"vlflab": f"{UPDATE} @key"})
            # The first warms this number of sessions.
            server.load(Load(count, commits // count // 10, KEYS, load.statements))
            found.add("commit us by clients", (count, server.load(load) * 1e6 / (commits // count * count)))
            bench.progress(f"{count} clients: {found.values('commit us by clients')[-1][1]:.1f} us per commit")


def doublings(bench, found):
    first = bench.size(100_000, 1_000)
    scripts = doubling.WORKLOADS["doubling"].scripts["vlflab"]
    with serving(bench, bench.room("scaling"), sql_version="2022") as server:
        for script in scripts.prepare:
            server.run(script)
        for script in scripts.reset:
            server.run(script.replace(f"top ({doubling.ROWS})", f"top ({first})"))
        for power in range(DOUBLINGS):
            rows = first * 2**power
            seconds = server.timed(doubling.double("charge_dt + 30"), "peers")
            found.add("row ns by rows", (rows, seconds * 1e9 / rows))
            bench.progress(f"{rows:,} rows doubled: {seconds * 1e9 / rows:.0f} ns per row")


def start_ups(bench, found):
    """Kill to first query, and the discovery of VLFs in it, by number of VLFs."""
    for count in (*VLF_COUNTS, bench.vlfs) if not bench.quick else VLF_COUNTS[:2]:
        bench.need_space(max(vlfs.log_mb(count), vlfs.FEW_LOG_MB_MIN) * MB + 2 * GB, f"{count:,} VLFs")
        server = Server(bench.room("scaling"), sql_version="2012")
        server.start()
        try:
            vlfs.create(server, count, vlfs.FEW_LOG_MB_MIN)
            server.run(f"use peers {vlfs.STATEMENTS['INSERT']}")
            server.kill()
            os.sync()
            seconds = server.restarted("select count(*) from wide", "peers")
            found.add("first query ms by VLFs", (count, seconds * 1e3))
            bench.progress(f"{count:,} VLFs: first query after {seconds * 1e3:.0f} ms")
            remember(bench, server)
        finally:
            server.stop()


def log_volumes(bench, found):
    """Restart by bytes of log since the last checkpoint, and log backup, as shipped and with all of the log to replay."""
    sizes = LOG_MB if not bench.quick else (16, 64)
    bench.need_space((2 * sizes[-1] + bench.size(6_000, 1_000)) * MB, "logs to replay and to back up")
    for name in (restart.SHIPPED, restart.WHOLE):
        server = Server(bench.room("scaling"), sql_version="2012")
        server.start()
        try:
            restart.create(server, sizes[-1] * MB, name == restart.WHOLE)
            for megabytes in sizes:
                server.run("use crash checkpoint backup log crash to disk = 'nul'")
                if not restart.crash(server, megabytes * MB):
                    raise RuntimeError(f"there was log for {megabytes:,} MB without any update")
                os.sync()
                first, recovered = restart.restart(server)
                found.add(f"recovered s by log MB, {name}", (megabytes, recovered))
                found.add(f"first query s by log MB, {name}", (megabytes, first))
                bench.progress(f"{name}, {megabytes:,} MB: first query {first:.2f} s, recovered {recovered:.2f} s")
                if name == restart.SHIPPED:
                    seconds = server.timed("backup log crash to disk = 'd:\\log.bak' with init")
                    backed_up_mb = next(server.folder.rglob("log.bak")).stat().st_size / MB
                    if backed_up_mb < megabytes:
                        raise RuntimeError(f"the log backup of {megabytes:,} MB took {backed_up_mb:,.0f} MB")
                    found.add("log backup s by log MB", (megabytes, seconds))
                    bench.progress(f"log backup of {megabytes:,} MB: {seconds:.2f} s")
        finally:
            remember(bench, server)
            server.stop()


def measure(bench, found):
    for part in (clients, doublings, log_volumes, start_ups):
        begin = time.monotonic()
        part(bench, found)
        bench.progress(f"{part.__name__}: {time.monotonic() - begin:.0f} s")


def judge(found):
    """One line of the ends of every series; there are no goals but the flatness that the chart shows."""
    lines = []
    for name, points in found.series.items():
        measured = ", ".join(f"{size:,}: {cost:,.3g}" for size, cost in points)
        lines.append(Line(f"scaling: {name}", "chart", measured, f"{points[-1][1] / points[0][1]:.2f} from end to end"))
    return lines


ROW = Row("scaling", "cost against size, for the chart", measure, judge, 230, 0)
