"""Questions asked of tables here and of PostgreSQL, one core each: the multiples of its times.

Three sets: a shop's tables (`orders`), those of the decision support benchmark TPC-H (`tpch`), and those of a film database in the shape of
the Join Order Benchmark (`films`). Both engines answer from memory. Each
question is asked three times in a row and its best time counts, from the client's sending it to the client's having all rows; then the
other engine is asked. The answers have to be the same rows, numbers within a millionth: an average has more digits there than here.
"""

import math
import re
import statistics
from contextlib import contextmanager
from dataclasses import dataclass

from peers import PASSWORD, PostgreSql, output_of

from . import film_questions, films, orders, tpch
from .bench import GB, Line, Row, number
from .server import Server, remember

REPEATS = 3
GOAL_GEOMETRIC = 1.0
CHAIN_SECONDS_MAX = 1.0
SECONDS_MAX = 60
OURS = "set nocount on select 'at', datediff_big(microsecond, '2020-01-01', sysdatetime())"
THEIRS = "select 'at', (extract(epoch from clock_timestamp()) * 1000000)::bigint"


@dataclass(frozen=True)
class Questions:
    """A set of questions: how their tables are made at a scale, and the questions by name."""

    about: str
    prepare: object
    ask: object
    names: list
    ratio_max: float
    quick_scale: float
    space_gb: int


SHOP = Questions("a shop's tables", orders.prepare, lambda name, scale: orders.QUERIES[name], list(orders.QUERIES), 1.5, 0.01, 6)
TPCH = Questions("the tables of TPC-H at scale 1", tpch.prepare, tpch.query, list(tpch.QUERIES), 3.0, 0.02, 10)
FILMS = Questions(
    "a film database, in the shape of the Join Order Benchmark",
    films.prepare,
    lambda name, scale: film_questions.QUERIES[name],
    list(film_questions.QUERIES),
    3.0,
    0.02,
    6,
)


class Asked:
    """One engine with the tables."""

    def __init__(self, peer, dialect):
        self.peer = peer
        self.dialect = dialect

    def prepare(self, statements):
        statements = [self.dialect.text(statement) for statement in statements]
        if self.is_ours():
            self.peer.run("create database questions")
            self.peer.run("alter database questions set recovery simple")
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
        command = [self.peer.program, "sql", "-S", f"127.0.0.1,{self.peer.port}", "-P", PASSWORD, "-d", "questions"]
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


def is_same(ours, theirs):
    """Whether two answers are the same rows. A number is the same within a millionth of it, or the last digit of an average."""
    if len(ours) != len(theirs):
        return False
    fields = [(left.split("|"), right.split("|")) for left, right in zip(ours, theirs)]
    return all(len(left) == len(right) and all(map(is_same_value, left, right)) for left, right in fields)


def is_same_value(left, right):
    if left.strip() == right.strip():
        return True
    try:
        return math.isclose(float(left), float(right), rel_tol=1e-6, abs_tol=2e-6)
    except ValueError:
        return False


def measure_round(bench, found, questions, scale, engines):
    """Every question once, of one engine after the other."""
    for name in questions.names:
        answers = {}
        for engine in engines:
            try:
                seconds, rows = engine.answer(questions.ask(name, scale))
            except Exception as error:  # The other questions are still wanted.
                found.facts.setdefault("unanswered", {})[f"{name}, {engine.peer.name}"] = str(error)[-300:]
                bench.progress(f"{name}, {engine.peer.name}: {str(error)[-300:]}")
                continue
            answers[engine.peer.name] = rows
            found.add(f"{name} seconds {engine.peer.name}", seconds)
            bench.progress(f"{name}, {engine.peer.name}: {seconds * 1000:.2f} ms, {len(rows)} rows")
        if len(answers) == 2 and not is_same(*answers.values()):
            found.facts.setdefault("different answers", []).append(name)
            bench.progress(f"{name}: DIFFERENT ANSWERS {[rows[:3] for rows in answers.values()]}")


@contextmanager
def filled(bench, questions, scale):
    """Both engines with the tables of a set of questions, as long as they are wanted."""
    bench.need_space(bench.size(questions.space_gb, 1) * GB, f"{questions.about} in two engines")
    folder = bench.room("questions")
    ours, theirs = Server(folder), PostgreSql(folder)
    if reason := theirs.missing():
        raise RuntimeError(reason)
    engines = [Asked(ours, orders.VLFLAB), Asked(theirs, orders.POSTGRESQL)]
    started = []
    try:
        for engine in engines:
            engine.peer.start()
            started.append(engine.peer)
            bench.progress(f"filling {engine.peer.name}")
            engine.prepare(questions.prepare(scale))
        yield engines
    finally:
        for peer in started:
            if peer is ours:
                remember(bench, peer)
            peer.stop()


def measure(bench, found, questions):
    scale = bench.size(1.0, questions.quick_scale)
    with filled(bench, questions, scale) as engines:
        for _ in range(bench.runs):
            measure_round(bench, found, questions, scale, engines)
    if "different answers" in found.facts:
        raise RuntimeError(f"different answers: {', '.join(found.facts['different answers'])}")


def judge(found, questions):
    lines, ratios = [], []
    goal = f"at most {questions.ratio_max:g} of PostgreSQL's time"
    for name in questions.names:
        ours, theirs = f"{name} seconds vlflab", f"{name} seconds postgresql"
        if not found.has(theirs):
            continue
        if not found.has(ours):
            lines.append(Line(name, goal, found.text(theirs, "s", "PostgreSQL"), "", False, "no answer"))
            continue
        ratio = found.ratio(ours, theirs)
        ratios.append(ratio)
        measured = f"{found.text(ours, 's', 'vlflab')}; {found.text(theirs, 's', 'PostgreSQL')}"
        if name == f"chain of {orders.CHAIN_TABLES} tables":
            is_met, goal_here = found.median(ours) < CHAIN_SECONDS_MAX, f"under {CHAIN_SECONDS_MAX:g} s"
        else:
            is_met, goal_here = ratio <= questions.ratio_max, goal
        lines.append(Line(name, goal_here, measured, found.ratio_text(ours, theirs), is_met))
    if ratios:
        mean = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))
        work = f"geometric mean of {len(ratios)} questions"
        lines.append(Line(work, f"at most {GOAL_GEOMETRIC:g} of PostgreSQL's", number(mean), number(mean), mean <= GOAL_GEOMETRIC))
    return lines


def row_of(name, questions, seconds_fixed, seconds_per_run):
    return Row(
        name,
        f"questions to {questions.about}, beside PostgreSQL's answers",
        lambda bench, found: measure(bench, found, questions),
        lambda found: judge(found, questions),
        seconds_fixed,
        seconds_per_run,
    )


ROW = row_of("queries", SHOP, 120, 60)
TPCH_ROW = row_of("tpch", TPCH, 240, 180)
FILMS_ROW = row_of("films", FILMS, 120, 240)
