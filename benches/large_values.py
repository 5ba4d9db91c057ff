#!/usr/bin/env python3
"""Long values that do not compress, written and read by a client: varbinary(max) beside PostgreSQL's bytea with STORAGE EXTERNAL, in turns.

    benches/large_values.py                    1, 10, 100 and 500 MB, 5 turns of each engine and size; 10 quiet minutes, 12 GB
    benches/large_values.py --megabytes 1,10 --turns 2    shows that it works
    VLFLAB=path benches/large_values.py        another binary than target/release/vlflab

The clients are C libraries under Python: Microsoft's ODBC driver by pyodbc, libpq by psycopg with binary parameters. A turn of a size inserts
that many values, each a parameter of one statement that commits by itself, and reads each with one SELECT; what came back is compared outside
the time. Between turns rows are deleted, vacuumed and checkpointed, outside of the time too. A size has as many values as make 200 MB, at least
one.

A line for each size: megabytes a second of both, the median of the ratios of pairs of turns, with the least and the largest. The goal is a ratio
of 1.0 for writing and for reading, at each size; the exit code is 1 where one is missed. Needs pyodbc, psycopg and what tests/clients has
installed for Microsoft's driver."""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / folder) for folder in ("benches/peers", "tests/clients")]

import psycopg  # noqa: E402: the folders above are looked up first.
import pyodbc  # noqa: E402

import odbc  # noqa: E402
from peers import PASSWORD, PostgreSql, Vlflab  # noqa: E402

BYTES_OF_A_TURN = 200_000_000
RATIO_MIN = 1.0
MB = 1_000_000


class Ours:
    name = "vlflab"

    def __init__(self, folder):
        self.peer = Vlflab(folder)
        self.session = None

    def begin(self):
        self.peer.start()
        self.peer.run(
            "create database work on (name = work, filename = 'work.mdf', size = 1200MB, filegrowth = 64MB) "
            "log on (name = work_log, filename = 'work_log.ldf', size = 1500MB, filegrowth = 64MB) "
            "alter database work set recovery simple"
        )
        odbc.configure()
        text = f"Driver={odbc.library('msodbcsql18')};Server=127.0.0.1,{self.peer.port};Database=work;UID=sa;PWD={PASSWORD};Encrypt=no;"
        self.session = pyodbc.connect(text, autocommit=True)
        self.session.execute("create table long_values (id int not null primary key, v varbinary(max) not null)")

    def write(self, number, value):
        with self.session.cursor() as cursor:
            cursor.setinputsizes([None, (pyodbc.SQL_VARBINARY, 0, 0)])
            cursor.execute("insert long_values (id, v) values (?, ?)", number, value)

    def read(self, number):
        with self.session.cursor() as cursor:
            return cursor.execute("select v from long_values where id = ?", number).fetchone()[0]

    def clear(self):
        self.session.execute("delete long_values")
        self.session.execute("checkpoint")

    def end(self):
        if self.session:
            self.session.close()
        self.peer.stop()


class Theirs:
    name = "postgresql"

    def __init__(self, folder):
        self.peer = PostgreSql(folder)
        self.session = None

    def begin(self):
        self.peer.start()
        self.session = psycopg.connect(f"host=127.0.0.1 port={self.peer.port} user={self.peer.user} dbname=postgres", autocommit=True)
        self.session.execute("create table long_values (id int not null primary key, v bytea not null)")
        self.session.execute("alter table long_values alter v set storage external")

    def write(self, number, value):
        self.session.execute("insert into long_values (id, v) values (%b, %b)", (number, value))

    def read(self, number):
        return self.session.execute("select v from long_values where id = %s", (number,), binary=True).fetchone()[0]

    def clear(self):
        for statement in ("delete from long_values", "vacuum long_values", "checkpoint"):
            self.session.execute(statement)

    def end(self):
        if self.session:
            self.session.close()
        self.peer.stop()


def turn(side, values):
    """Seconds of writing and of reading them all."""
    begin = time.monotonic()
    for number, value in enumerate(values):
        side.write(number, value)
    written = time.monotonic()
    found = [side.read(number) for number in range(len(values))]
    read = time.monotonic()
    if found != values:
        sys.exit(f"{side.name}: other bytes came back")
    side.clear()
    return written - begin, read - written


def measured(sides, megabytes, turns):
    count = max(1, BYTES_OF_A_TURN // (megabytes * MB))
    values = [os.urandom(megabytes * MB) for _ in range(count)]
    seconds = {side.name: [] for side in sides}
    # The first turn makes files as large as they have to be.
    for number in range(turns + 1):
        for side in sides if number % 2 == 0 else sides[::-1]:
            found = turn(side, values)
            if number:
                seconds[side.name].append(found)
    total = count * megabytes
    is_good = True
    for place, what in enumerate(("written", "read")):
        ours, theirs = ([pair[place] for pair in seconds[side.name]] for side in sides)
        ratios = [their / our for our, their in zip(ours, theirs)]
        median = statistics.median(ratios)
        verdict = "met" if median >= RATIO_MIN else "MISSED"
        is_good &= median >= RATIO_MIN
        print(
            f"{count} of {megabytes} MB {what}: {total / statistics.median(ours):.0f} MB/s, PostgreSQL {total / statistics.median(theirs):.0f} MB/s; "
            f"ratio {median:.2f} ({min(ratios):.2f} to {max(ratios):.2f}), goal {RATIO_MIN:g}: {verdict}",
            flush=True,
        )
    return is_good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", default="1,10,100,500", help="sizes of a value (default %(default)s)")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=Path("/var/tmp"), help="where the databases go (default /var/tmp)")
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="vlflab-long-values-", dir=asked.folder))
    folder.chmod(0o755)
    sides, begun = [Ours(folder), Theirs(folder)], []
    try:
        for side in sides:
            side.begin()
            begun.append(side)
        found = [measured(sides, int(size), asked.turns) for size in asked.megabytes.split(",")]
        print(f"most memory vlflab had resident: {sides[0].peer.resident_mb_max():,.0f} MB")
    finally:
        for side in begun:
            side.end()
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if all(found) else 1


if __name__ == "__main__":
    sys.exit(main())
