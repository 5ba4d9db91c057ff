"""The page's work on this build and another one, by turns: seconds by the server's clock and processor time of the server.

Both servers run all the time, each on databases of its own that were made the same way; the build that begins changes from round to round.
For the doubling each runs alone: two tables of 51 million rows leave neither the memory that it has on a machine of its own.
The questions are asked of smaller tables than the page's, so that ten rounds are a matter of minutes.
"""

from contextlib import contextmanager
from functools import partial

import comparison
from workloads import WORKLOADS

from . import orders
from .bench import GB, Line, Row
from .queries import FILMS, SHOP, TPCH, Asked
from .server import Server, remember

THIS, OTHER = "this", "other"
WORK = ["update-loop", "update-8-clients", "update-64-clients", "point-select", "wide-insert", "wide-update", "wide-delete"]
ALONE = "doubling"
QUESTIONS = {"shop": (SHOP, 0.3), "TPC-H": (TPCH, 0.1), "films": (FILMS, 0.2)}
# Beyond this a median is said to be slower, where the spread of the runs does not explain it.
NOISE = 1.03


@contextmanager
def both(bench):
    """A server of each build, started."""
    sides = []
    try:
        for name, program in ((THIS, None), (OTHER, bench.other_build)):
            server = Server(bench.room(name), sql_version="2022")
            server.program = program or server.program
            server.name = name
            server.start()
            sides.append(server)
        yield sides
    finally:
        for server in sides:
            remember(bench, server)
            server.stop()


def add(found, work, server, seconds, before):
    found.add(f"{work} seconds {server.name}", seconds)
    found.add(f"{work} processor {server.name}", server.cpu_seconds()[0] - before)


def measure_workload(bench, found, name, sides):
    workload = WORKLOADS[name]
    comparison.prepare(workload, sides)
    for turn in range(bench.runs + 1):
        for server in sides if turn % 2 == 0 else sides[::-1]:
            for script in workload.scripts[server.dialect].reset:
                server.run(script)
            before = server.cpu_seconds()[0]
            seconds = comparison.timed_run(workload, server)
            # The first round warms caches.
            if turn:
                add(found, name, server, seconds, before)
    bench.progress(name)


def measure_alone(bench, found, name):
    """A workload in which only one server is up at a time, on a new folder each."""
    workload = WORKLOADS[name]
    builds = [(THIS, None), (OTHER, bench.other_build)]
    for turn in range(bench.runs):
        for label, program in builds if turn % 2 == 0 else builds[::-1]:
            server = Server(bench.room(label), sql_version="2022")
            server.program = program or server.program
            server.name = label
            server.start()
            try:
                comparison.prepare(workload, [server])
                for script in workload.scripts[server.dialect].reset:
                    server.run(script)
                before = server.cpu_seconds()[0]
                add(found, name, server, comparison.timed_run(workload, server), before)
            finally:
                # Nobody needs the table any more, and a clean stop would write it.
                server.kill()
                bench.room(label)
        bench.progress(f"round {turn + 1} of {name}")


def measure_questions(bench, found, about, sides):
    questions, scale = QUESTIONS[about]
    scale = bench.size(scale, questions.quick_scale)
    asked = [Asked(server, orders.VLFLAB) for server in sides]
    for engine in asked:
        engine.peer.run("if db_id('questions') is not null drop database questions")
        engine.prepare(questions.prepare(scale))
    for turn in range(bench.runs):
        for engine in asked if turn % 2 == 0 else asked[::-1]:
            before, seconds = engine.peer.cpu_seconds()[0], 0.0
            for name in questions.names:
                answer, _ = engine.answer(questions.ask(name, scale))
                seconds += answer
                found.add(f"{about}: {name} seconds {engine.peer.name}", answer)
            add(found, f"all of {about}", engine.peer, seconds, before)
        bench.progress(f"round {turn + 1} of {about}")


def measure(bench, found):
    bench.need_space(bench.size(30, 12) * GB, "databases of two builds")
    errors = []
    every = len(bench.workloads) == len(WORKLOADS)

    def attempt(work):
        try:
            work()
        except (RuntimeError, StopIteration, OSError) as error:
            errors.append(str(error)[-300:])
            bench.progress(errors[-1])

    chosen = [name for name in WORK if name in bench.workloads]
    if chosen or every:
        with both(bench) as sides:
            for name in chosen:
                attempt(partial(measure_workload, bench, found, name, sides))
            for about in QUESTIONS if every else []:
                attempt(partial(measure_questions, bench, found, about, sides))
    if ALONE in bench.workloads:
        attempt(partial(measure_alone, bench, found, ALONE))
    if errors:
        raise RuntimeError("; ".join(errors))


def judge(found):
    lines = []
    for series in found.series:
        if not series.endswith(f" {THIS}"):
            continue
        ours, base = series, series.removesuffix(THIS) + OTHER
        if not found.has(ours, base):
            continue
        ratio = found.ratio(ours, base)
        # Slower beyond the spread: this build's best run is worse than the other's median.
        slower = ratio > NOISE and min(found.values(ours)) > found.median(base)
        measured = f"{found.text(ours, 's', 'this:')}; {found.text(base, 's', 'other:')}"
        lines.append(Line(series.removesuffix(f" {THIS}"), "not slower beyond the spread", measured, found.ratio_text(ours, base), not slower))
    return lines


ROW = Row("builds", "this build and --other-build take turns at the work of the page, processor time too", measure, judge, 120, 60)
