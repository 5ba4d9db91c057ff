"""Committed updates of 8 KB in a log made at once and in logs that grow by 1, 16 and 64 MB, in turns.

Every log writes to space never used before. The order of the layouts moves on by one with each run.
"""

import os

from .bench import GB, MB, Line, Row
from .server import serving

AT_ONCE = "made at once"
STEPS_MB = (1, 16, 64)
GOAL = 1.05


def layouts(total_mb):
    made = {AT_ONCE: (total_mb, 0)}
    return made | {f"by {step} MB": (step, step) for step in STEPS_MB}


def create(server, size_mb, growth_mb):
    server.run("if db_id('steps') is not null drop database steps")
    server.run(
        "create database steps on (name = steps, filename = 'd:\\steps.mdf', size = 16MB) "
        f"log on (name = steps_log, filename = 'l:\\steps.ldf', size = {size_mb}MB, filegrowth = {growth_mb}MB)"
    )
    server.run(
        "use steps create table row (id int not null, filler char(8000) not null) "
        "insert row values (1, 'a') backup database steps to disk = 'nul' checkpoint"
    )


def updates(count):
    """Each round is two commits whose records hold the 8,000 characters before and after."""
    return (
        "declare @a char(8000) = replicate('a', 8000), @b char(8000) = replicate('b', 8000), @i int = 0 "
        f"while @i < {count // 2} begin update row set filler = @b update row set filler = @a set @i += 1 end"
    )


def measure(bench, found):
    log_mb = bench.size(1_200, 64)
    found.facts.update(log_mb=log_mb)
    bench.need_space(4 * GB, "the log that grows by steps")
    with serving(bench, bench.room("steps")) as server:
        create(server, 64, 0)
        before = server.log_written("steps")[1]
        server.timed(updates(400), "steps")
        count = round(400 * log_mb * MB / (server.log_written("steps")[1] - before))
        found.facts.update(commits=count)
        names = list(layouts(log_mb))
        for turn in range(bench.runs):
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                create(server, *layouts(log_mb * 5 // 4 + 64)[name])
                os.sync()
                writes_before, bytes_before = server.log_written("steps")
                seconds = server.timed(updates(count), "steps")
                writes, log_bytes = (b - a for a, b in zip((writes_before, bytes_before), server.log_written("steps")))
                growths = server.number(
                    "select cntr_value from sys.dm_os_performance_counters where counter_name = 'Log Growths' and instance_name = 'steps'"
                )
                found.add(f"s {name}", seconds)
                found.add(f"growths {name}", growths)
                bench.progress(f"run {turn + 1}, {name}: {seconds:.2f} s, {writes:,} writes of {log_bytes / MB:,.0f} MB, {growths} growths")


def judge(found):
    lines = []
    for name in list(layouts(0))[1:]:
        ours, base = f"s {name}", f"s {AT_ONCE}"
        if not found.has(ours, base):
            continue
        measured = f"{found.text(base, 's', AT_ONCE)}; {found.text(ours, 's', name)}"
        work = f"{found.facts['commits']:,} commits of 8 KB in a log that grows {name}, {found.median(f'growths {name}'):.0f} growths"
        lines.append(Line(work, f"at most {GOAL} of {AT_ONCE}", measured, found.ratio_text(ours, base), found.ratio(ours, base) <= GOAL))
    return lines


ROW = Row("steps", "commits in a log that grows by 1, 16 and 64 MB beside one made at once", measure, judge, 5, 10)
