"""How long plans take to be made: the questions of all sets, and a point read, parsed, bound and planned and not executed.

Each text is sent many times under NOEXEC, each time with a name and a comment that no other text of the server has, and plans that are kept
are thrown away before each round, so that none is found; what a constant takes in the same way is subtracted: the way to the server and
back. Statistics are there before the first is timed.
"""

import itertools
import re
import statistics

from . import orders
from .bench import GB, Line, Row
from .queries import FILMS, OURS, SHOP, TPCH, Asked
from .server import Server, remember

TIMES = 20
WAYS = 5
SCALE = 0.05
POINT = "select o_totalprice as price<place> from orders where o_orderkey = 7"
WORST_MS_MAX = 1_000
PLACES = itertools.count()


def another(statement):
    """The statement as no text was written yet."""
    place = next(PLACES)
    return f"{statement.replace('<place>', str(place))} -- {place}"


def planned(asked, statement):
    """Milliseconds of one plan."""
    begin, end = "set noexec on", "set noexec off"
    texts = [another(statement) for _ in range(TIMES)]
    printed = asked.ask(["dbcc freeproccache", begin, another(statement), end, OURS, begin, *texts, end, OURS])
    moments = [int(moment) for moment in re.findall(r"^at\|(\d+)$", printed, re.MULTILINE)]
    if len(moments) != 2:
        raise RuntimeError(f"not planned: {printed[:300]}")
    return (moments[1] - moments[0]) / 1_000 / TIMES


def measure(bench, found):
    bench.need_space(GB, "the tables of three sets of questions, small")
    scale = bench.size(SCALE, 0.01)
    for questions in (SHOP, TPCH, FILMS):
        server = Server(bench.room(f"planning {questions.about}"))
        server.start()
        try:
            asked = Asked(server, orders.VLFLAB)
            asked.prepare(questions.prepare(scale))
            texts = {name: asked.dialect.text(questions.ask(name, scale)) for name in questions.names}
            if questions is TPCH:
                texts["point read"] = POINT
            for _ in range(bench.runs):
                way = min(planned(asked, "select 1 as one<place>") for _ in range(WAYS))
                for name, text in texts.items():
                    found.add(f"{name} ms", max(planned(asked, text) - way, 0.0))
        finally:
            remember(bench, server)
            server.stop()


def judge(found):
    point = "point read ms"
    medians = {name: found.median(name) for name in found.series if name != point}
    lines = [Line("planning a point read", "-", found.text(point, "ms", ""))] if found.has(point) else []
    if medians:
        worst = max(medians, key=medians.get)
        middle = statistics.median(medians.values())
        lines.append(Line(f"planning, median of {len(medians)} questions", "-", f"{middle:.2f} ms"))
        goal = f"under {WORST_MS_MAX} ms"
        lines.append(Line(f"planning, worst: {worst[:-3]}", goal, found.text(worst, "ms", ""), "", medians[worst] < WORST_MS_MAX))
    return lines


ROW = Row("planning", "how long plans take to be made", measure, judge, 120, 30)
