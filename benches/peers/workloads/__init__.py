"""What is measured. A workload says, for each peer, how to prepare, what is timed, and how the work done is checked.

A timed script prints the microseconds it took by its server's clock. To add a workload, write a module beside this one and
add its entry to WORKLOADS; to add a peer, add its scripts to the workloads and its class to peers.py.
"""

import time
from dataclasses import dataclass, field


@dataclass
class Scripts:
    """One peer's share of a workload."""

    prepare: list
    # Prints microseconds; None where the workload's load is what is timed.
    timed: object
    # Prints one number.
    check: object
    # Run before each timed run, outside the time.
    reset: list = field(default_factory=list)


@dataclass
class Load:
    """One prepared statement from several clients at once, with a key drawn at random for each execution."""

    clients: int
    repeats: int
    keys: int
    statements: dict


@dataclass
class Workload:
    """What every peer does the same."""

    title: str
    # What is counted: "commit", "row", ...
    unit: str
    count: int
    scripts: dict
    # What `check` prints after so many timed runs.
    expected: object
    load: object = None
    # The goal: our rate over that of the best of `against`.
    goal: float = 1.0
    against: tuple = ("postgresql", "mariadb", "sqlite")
    # Runs where one takes minutes; more can be asked for.
    runs: int = 5


def timed_sqlite(work):
    """A script for SQLite that does `work(connection)` and prints the microseconds it took."""

    def script(connection):
        begin = time.monotonic_ns()
        work(connection)
        return (time.monotonic_ns() - begin) // 1000

    return script


def sqlite_number(query):
    """A script for SQLite that prints one number."""
    return lambda connection: connection.execute(query).fetchone()[0]


def timed_vlflab(statements):
    """A batch that prints the microseconds of its statements."""
    return (
        "use peers\nset nocount on\ndeclare @begin datetime2 = sysdatetime(), @i int = 0\n"
        f"{statements}\nselect datediff(microsecond, @begin, sysdatetime())"
    )


def timed_postgresql(statements):
    """The same for psql."""
    return (
        "select extract(epoch from clock_timestamp()) as begin \\gset\n"
        f"{statements};\nselect round((extract(epoch from clock_timestamp()) - :begin) * 1000000);"
    )


def timed_mariadb(statements):
    """The same for the mariadb client."""
    return f"set @begin = sysdate(6);\n{statements};\nselect timestampdiff(microsecond, @begin, sysdate(6));"


from . import accounts, doubling, wide_rows  # noqa: E402: they need the classes above.

WORKLOADS = {**accounts.WORKLOADS, **wide_rows.WORKLOADS, **doubling.WORKLOADS}
