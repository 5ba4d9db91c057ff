"""Questions asked of a shop's tables, here and of PostgreSQL, one core each: the multiples of its times.

Both answer from memory. Each question is asked three times in a row and its best time counts, from the client's sending it to the
client's having all rows; then the other engine is asked. The answers have to be the same rows.
"""

import math
import re
import statistics

from peers import PASSWORD, PostgreSql, output_of

from . import orders
from .bench import GB, Line, Row, number
from .server import Server, remember

REPEATS = 3
GOAL = 1.5
GOAL_GEOMETRIC = 1.0
CHAIN_SECONDS_MAX = 1.0
SECONDS_MAX = 60
OURS = "set nocount on select 'at', datediff_big(microsecond, '2020-01-01', sysdatetime())"
THEIRS = "select 'at', (extract(epoch from clock_timestamp()) * 1000000)::bigint"


class Shop:
    """One engine with the tables."""

    def __init__(self, peer, dialect):
        self.peer = peer
        self.dialect = dialect

    def prepare(self, scale):
        statements = [self.dialect.text(statement) for statement in orders.prepare(scale)]
        if self.is_ours():
            self.peer.run("create database orders")
            self.peer.run("alter database orders set recovery simple")
            self.peer.run("exec sp_configure 'show advanced options', 1 reconfigure exec sp_configure 'max degree of parallelism', 1 reconfigure")
        for statement in statements:
            self.ask([statement])
        self.ask(["checkpoint"] if self.is_ours() else ["vacuum analyze", "checkpoint"])

    def is_ours(self):
        return isinstance(self.peer, Server)

    def ask(self, statements):
        """What the statements print, each a batch of one session."""
        script = self.dialect.separator.join(statements) + self.dialect.separator
        if not self.is_ours():
            return self.peer.run(f"set max_parallel_workers_per_gather = 0; set jit = off; set statement_timeout = '{SECONDS_MAX}s';\n\\pset null NULL\n{script}")
        path = self.peer.folder / "queries.sql"
        path.write_text(script)
        command = [self.peer.program, "sql", "-S", f"127.0.0.1,{self.peer.port}", "-P", PASSWORD, "-d", "orders"]
        return output_of([*command, "-W", "-h", "-1", "-s", "|", "-b", "-i", path], timeout=REPEATS * SECONDS_MAX)

    def answer(self, query):
        """The seconds of the best of some runs, and the rows."""
        statement = self.dialect.text(query)
        clock = OURS if self.is_ours() else THEIRS
        printed = self.ask([clock, *[f"{statement}{self.dialect.separator}{clock}"] * REPEATS])
        moments = [int(moment) for moment in re.findall(r"^at\|(\d+)$", printed, re.MULTILINE)]
        seconds = [(end - begin) / 1e6 for begin, end in zip(moments, moments[1:])]
        if len(seconds) != REPEATS:
            raise RuntimeError(f"{len(seconds)} of {REPEATS} runs were answered: {printed[:300]}")
        last = re.split(r"^at\|\d+$", printed, flags=re.MULTILINE)[-2]
        rows = sorted(line.strip().removesuffix(".0000000") for line in last.splitlines() if line.strip() and not line.startswith("("))
        return min(seconds), rows

def measure_round(bench, found, shops):
    """Every question once, of one engine after the other."""
    for name, query in orders.QUERIES.items():
        answers = {}
        for shop in shops:
            try:
                seconds, rows = shop.answer(query)
            except Exception as error:  # The other questions are still wanted.
                found.facts.setdefault("unanswered", {})[f"{name}, {shop.peer.name}"] = str(error)[:200]
                bench.progress(f"{name}, {shop.peer.name}: {str(error)[:200]}")
                continue
            answers[shop.peer.name] = rows
            found.add(f"{name} seconds {shop.peer.name}", seconds)
            bench.progress(f"{name}, {shop.peer.name}: {seconds * 1000:.2f} ms")
        if len(answers) == 2 and len({tuple(rows) for rows in answers.values()}) > 1:
            found.facts.setdefault("different answers", []).append(name)
            bench.progress(f"{name}: DIFFERENT ANSWERS {[rows[:3] for rows in answers.values()]}")


def measure(bench, found):
    bench.need_space(bench.size(6, 1) * GB, "a shop's tables in two engines")
    folder = bench.room("queries")
    ours, theirs = Server(folder), PostgreSql(folder)
    if reason := theirs.missing():
        raise RuntimeError(reason)
    shops = [Shop(ours, orders.VLFLAB), Shop(theirs, orders.POSTGRESQL)]
    started = []
    try:
        for shop in shops:
            shop.peer.start()
            started.append(shop.peer)
            bench.progress(f"filling {shop.peer.name}")
            shop.prepare(bench.size(1.0, 0.01))
        for _ in range(bench.runs):
            measure_round(bench, found, shops)
    finally:
        for peer in started:
            if peer is ours:
                remember(bench, peer)
            peer.stop()
    if "different answers" in found.facts:
        raise RuntimeError(f"different answers: {', '.join(found.facts['different answers'])}")


def judge(found):
    lines, ratios = [], []
    for name in orders.QUERIES:
        ours, theirs = f"{name} seconds vlflab", f"{name} seconds postgresql"
        if not found.has(theirs):
            continue
        if not found.has(ours):
            lines.append(Line(name, f"at most {GOAL} of PostgreSQL's time", found.text(theirs, "s", "PostgreSQL"), "", False, "no answer"))
            continue
        ratio = found.ratio(ours, theirs)
        ratios.append(ratio)
        measured = f"{found.text(ours, 's', 'vlflab')}; {found.text(theirs, 's', 'PostgreSQL')}"
        if name == f"chain of {orders.CHAIN_TABLES} tables":
            seconds = found.median(ours)
            lines.append(Line(name, f"under {CHAIN_SECONDS_MAX:g} s", measured, found.ratio_text(ours, theirs), seconds < CHAIN_SECONDS_MAX))
        else:
            lines.append(Line(name, f"at most {GOAL} of PostgreSQL's time", measured, found.ratio_text(ours, theirs), ratio <= GOAL))
    if ratios:
        mean = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))
        work = f"geometric mean of {len(ratios)} questions"
        lines.append(Line(work, f"at most {GOAL_GEOMETRIC} of PostgreSQL's", number(mean), number(mean), mean <= GOAL_GEOMETRIC))
    return lines


ROW = Row("queries", "joins, groups, sorts and searches beside PostgreSQL's", measure, judge, 120, 60)
