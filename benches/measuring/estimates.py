"""How good estimates are: the q-error of the operators of the questions of TPC-H and of the films, here and in PostgreSQL.

The q-error of an operator is how many times more rows it gave than were expected, or were expected than it gave; both are taken of one
execution and as at least one row. What is expected and what came is read from STATISTICS XML here and from EXPLAIN ANALYZE there. Counted
are operators that decide how many rows there are, and those that ran:

    access       one table, its conditions included; what fetches rows for it is part of it
    join         by its kind, and by the number of tables below it
    aggregate

What only passes rows on (sorts, hash tables of one side, materialized rows) would count an error twice and is left out.
"""

import json
import math
import re
import statistics
import xml.etree.ElementTree as xml

from .bench import Line, Row
from .queries import FILMS, TPCH, filled

SCALES = {"TPC-H": (TPCH, 0.2), "films": (FILMS, 1.0)}
TABLE_BANDS = ((2, "2 tables joined"), (3, "3 tables joined"), (4, "4 tables joined"), (6, "5 and 6 tables joined"), (99, "7 and more tables joined"))
TAIL = 0.95
SHOWPLAN = "{http://schemas.microsoft.com/sqlserver/2004/07/showplan}"
OUR_JOINS = {"Nested Loops": "nested loops", "Hash Match": "hash join", "Merge Join": "merge join"}
THEIR_JOINS = {"Nested Loop": "nested loops", "Hash Join": "hash join", "Merge Join": "merge join"}


class Counted:
    """The operators of plans: what each was expected to give and gave in one execution."""

    def __init__(self):
        # (kind, tables below, expected rows, rows)
        self.operators = []

    def add(self, kind, tables, expected, rows, executions):
        if executions:
            self.operators.append((kind, tables, expected, rows / executions))


def q_error(expected, rows):
    expected, rows = max(expected, 1.0), max(rows, 1.0)
    return max(expected / rows, rows / expected)


def count_ours(operator, counted):
    """The tables below an operator of a plan in XML."""
    physical, logical = operator.get("PhysicalOp"), operator.get("LogicalOp")
    own = [child for child in operator if child.tag not in (f"{SHOWPLAN}OutputList", f"{SHOWPLAN}RunTimeInformation")]
    inputs = [below for child in own for below in inputs_of(child)]
    threads = operator.findall(f"{SHOWPLAN}RunTimeInformation/{SHOWPLAN}RunTimeCountersPerThread")
    rows = sum(int(thread.get("ActualRows")) for thread in threads)
    executions = max((int(thread.get("ActualExecutions")) for thread in threads), default=0)
    figures = (float(operator.get("EstimateRows")), rows, executions)
    is_fetch = len(inputs) == 2 and inputs[1].get("PhysicalOp") in ("Key Lookup", "RID Lookup")
    if is_fetch or not inputs:
        is_table = operator.get("TableCardinality") is not None or is_fetch
        if is_table:
            counted.add("access", 1, *figures)
        return int(is_table)
    tables = sum(count_ours(below, counted) for below in inputs)
    if "Join" in logical and physical in OUR_JOINS:
        counted.add(OUR_JOINS[physical], tables, *figures)
    elif "Aggregate" in logical:
        counted.add("aggregate", tables, *figures)
    return tables


def inputs_of(element):
    """The operators directly below."""
    if element.tag == f"{SHOWPLAN}RelOp":
        return [element]
    return [below for child in element for below in inputs_of(child)]


def count_theirs(operator, counted):
    """The tables below an operator of PostgreSQL's."""
    kind, executions = operator["Node Type"], operator["Actual Loops"]
    figures = (operator["Plan Rows"], operator["Actual Rows"] * executions, executions)
    if "Relation Name" in operator:
        counted.add("access", 1, *figures)
        return 1
    tables = sum(count_theirs(below, counted) for below in operator.get("Plans", []))
    if kind in THEIR_JOINS:
        counted.add(THEIR_JOINS[kind], tables, *figures)
    elif kind == "Aggregate":
        counted.add("aggregate", tables, *figures)
    return tables


def our_plan(engine, statement, counted):
    printed = engine.ask(["set statistics xml on", statement])
    for plan in re.findall(r"<ShowPlanXML.*?</ShowPlanXML>", printed, re.DOTALL):
        for root in xml.fromstring(plan).iter(f"{SHOWPLAN}QueryPlan"):
            for operator in root.findall(f"{SHOWPLAN}RelOp"):
                count_ours(operator, counted)


def their_plan(engine, statement, counted):
    printed = engine.ask([f"explain (analyze, timing off, format json) {statement}"])
    plans = json.loads(printed[printed.index("[") : printed.rindex("]") + 1])
    count_theirs(plans[0]["Plan"], counted)


def bands_of(kind, tables):
    """What an operator counts for."""
    if kind in ("access", "aggregate"):
        return [kind]
    band = next(name for most, name in TABLE_BANDS if tables <= most)
    return [kind, band] if tables > 1 else [kind]


def measure(bench, found):
    for name, (questions, scale) in SCALES.items():
        scale = bench.size(scale, questions.quick_scale)
        with filled(bench, questions, scale) as engines:
            for question in questions.names:
                for engine in engines:
                    counted = Counted()
                    statement = engine.dialect.text(questions.ask(question, scale))
                    try:
                        (our_plan if engine.is_ours() else their_plan)(engine, statement, counted)
                        if not counted.operators:
                            raise RuntimeError("no operator was counted")
                    except Exception as error:  # The other questions are still wanted.
                        found.facts.setdefault("unanswered", {})[f"{name} {question}, {engine.peer.name}"] = str(error)[-300:]
                        bench.progress(f"{name} {question}, {engine.peer.name}: {str(error)[-300:]}")
                        continue
                    note(bench, found, (name, question, engine.peer.name), counted)


def note(bench, found, source, counted):
    """Keeps the q-errors of one plan by what its operators count for, and tells the worst."""
    name, question, engine = source
    worst = (1.0, "")
    for kind, tables, expected, rows in counted.operators:
        error = q_error(expected, rows)
        worst = max(worst, (error, f"{kind} of {tables}: {expected:.1f} expected, {rows:.1f} came"))
        for band in bands_of(kind, tables):
            found.add(f"{name}: {band} {engine}", error)
    bench.progress(f"{name} {question}, {engine}: at worst {worst[0]:.1f} ({worst[1]})")


def tail_of(errors):
    """The 95th percentile: the least that so many are at most."""
    ranked = sorted(errors)
    return ranked[max(math.ceil(TAIL * len(ranked)) - 1, 0)]


def judge(found):
    kinds = ["access", "nested loops", "hash join", "merge join", "aggregate", *[name for _, name in TABLE_BANDS]]
    lines = []
    for name in SCALES:
        for kind in kinds:
            texts = []
            for engine, called in (("vlflab", "vlflab"), ("postgresql", "PostgreSQL")):
                errors = found.values(f"{name}: {kind} {engine}")
                if errors:
                    texts.append(f"{called} {statistics.median(errors):.2f}, {tail_of(errors):,.1f} of {len(errors)}")
            if texts:
                lines.append(Line(f"q-error, {name}: {kind}", "-", f"{'; '.join(texts)} (median, 95th percentile)"))
    return lines


ROW = Row("estimates", "q-error of the operators of TPC-H and of the films, beside PostgreSQL's", measure, judge, 600, 0)
