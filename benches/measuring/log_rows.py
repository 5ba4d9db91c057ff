"""The log against the disk's own rates: bytes while rows are loaded, and commits of one session."""

import os

from comparison import number_in, timed_run
from workloads import accounts, wide_rows

from .bench import GB, MB, Line, Row
from .disk import durable_writes, scratch, sequential_writes
from .server import prepare_wide_rows, serving

IN_FLIGHT = (1, 8)
CPU_LIMITED = 0.85  # A thread busy for so much of the time had no more to give.


def load_once(server):
    """One timed INSERT of the wide rows: seconds, log bytes, processor time of all and of the busiest thread."""
    for script in wide_rows.EMPTY["vlflab"]:
        server.run(script)
    server.run("use peers checkpoint")
    os.sync()
    log_before = server.log_written("peers")[1]
    all_before = server.cpu_seconds()[0]
    with server.watching_threads() as threads:
        seconds = server.timed(wide_rows.INSERT, "peers")
    log_bytes = server.log_written("peers")[1] - log_before
    return seconds, log_bytes, server.cpu_seconds()[0] - all_before, max(threads.values())


def measure_log_write(bench, found):
    file_bytes = bench.size(2 * GB, 128 * MB)
    bench.need_space(file_bytes + bench.size(10, 4) * GB, "wide rows and a file to write")
    with serving(bench, bench.room("log-write"), sql_version="2022") as server:
        prepare_wide_rows(bench, server)
        load_once(server)
        for turn in range(bench.runs):
            with scratch(bench.folder, file_bytes) as descriptor:
                for in_flight in IN_FLIGHT:
                    rate = sequential_writes(descriptor, file_bytes, in_flight)
                    found.add(f"disk MB/s, {in_flight} in flight", rate)
            seconds, log_bytes, cpu, busiest = load_once(server)
            found.add("log MB/s", log_bytes / MB / seconds)
            found.add("cores busy", cpu / seconds)
            found.add("busiest thread, cores", min(busiest / seconds, 1.0))
            bench.progress(
                f"run {turn + 1}: {log_bytes / MB:.0f} MB of log in {seconds:.3f} s, {cpu / seconds:.2f} cores, busiest thread "
                f"{busiest / seconds:.2f}, disk {rate:,.0f} MB/s"
            )


def judge_log_write(found):
    disk = f"disk MB/s, {IN_FLIGHT[-1]} in flight"
    if not found.has("log MB/s", disk):
        return []
    share = found.ratio("log MB/s", disk)
    busiest = found.median("busiest thread, cores")
    measured = "; ".join(found.text(f"disk MB/s, {count} in flight", "MB/s", f"disk, {count} in flight") for count in IN_FLIGHT)
    measured = f"{found.text('log MB/s', 'MB/s', 'log')}; {measured}; cores busy {found.median('cores busy'):.2f} of "
    measured += f"{os.cpu_count()}, busiest thread {busiest:.0%} of one"
    limited = busiest >= CPU_LIMITED or found.median("cores busy") >= CPU_LIMITED * os.cpu_count()
    note = "" if share >= 0.7 else "the processor is the limit" if limited else "neither the disk nor one thread is used up"
    work = f"sequential log write while {wide_rows.ROWS:,} wide rows are inserted"
    goal = "at least 0.70 of the disk's writes, or processor-bound"
    return [Line(work, goal, measured, found.ratio_text("log MB/s", disk), share >= 0.7 or limited, note)]


def measure_update_rate(bench, found):
    workload = accounts.WORKLOADS["update-loop"]
    file_bytes = 256 * MB
    count = bench.size(20_000, 500)
    bench.need_space(3 * GB, "the loop of updates")
    with serving(bench, bench.room("update-rate"), sql_version="2022") as server:
        for script in workload.scripts["vlflab"].prepare:
            server.run(script)
        timed_run(workload, server)
        for turn in range(bench.runs):
            writes_before, bytes_before = server.log_written("peers")
            seconds = timed_run(workload, server)
            writes, log_bytes = (b - a for a, b in zip((writes_before, bytes_before), server.log_written("peers")))
            # Whole blocks of 4 KB, as the disk wants them.
            write_bytes = max(4096, round(log_bytes / writes / 4096) * 4096)
            with scratch(bench.folder, file_bytes, os.O_DSYNC) as descriptor:
                rate = durable_writes(descriptor, file_bytes, write_bytes, count)
                small = durable_writes(descriptor, file_bytes, 4096, count) if write_bytes != 4096 else rate
            found.add("commits/s", workload.count / seconds)
            found.add("durable writes/s of the log's size", rate)
            found.add("durable writes/s of 4 KB", small)
            found.add("log write bytes", log_bytes / writes)
            found.add("commits per log write", workload.count / writes)
            bench.progress(f"run {turn + 1}: {workload.count / seconds:,.0f} commits/s, disk {rate:,.0f} of {write_bytes} bytes")
        done = number_in(server.run(workload.scripts["vlflab"].check))
        if done != workload.expected(bench.runs + 1):
            raise RuntimeError(f"{done} updates done")


def judge_update_rate(found):
    disk = "durable writes/s of the log's size"
    if not found.has("commits/s", disk):
        return []
    share = found.ratio("commits/s", disk)
    measured = f"{found.text('commits/s', '/s', 'commits')}; {found.text(disk, '/s', 'durable writes')} of "
    measured += f"{found.median('log write bytes'):,.0f} bytes as the log's; of 4 KB {found.median('durable writes/s of 4 KB'):,.0f} /s"
    work = f"{accounts.UPDATES:,} committed updates in one session against the disk"
    return [Line(work, "at least 0.85 of the disk's write+flush rate", measured, found.ratio_text("commits/s", disk), share >= 0.85)]


LOG_WRITE = Row("log-write", "log bytes of a bulk load against the disk", measure_log_write, judge_log_write, 12, 4)
UPDATE_RATE = Row("update-rate", "one session's commits against the disk's durable writes", measure_update_rate, judge_update_rate, 6, 9)
