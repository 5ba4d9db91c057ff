"""The DML experiment by hand: wide rows inserted, updated and deleted under a log of many small VLFs and under one of few.

The slow database's log is made in five steps, the fast one's at once. A small pair always runs; the published size (50,000
rows; 75 MB in steps of 15 MB, and 8 GB), with the published table and statements unmodified, runs where they lie in the folder
`shared/acceptance` beside this repository and VLFLAB_PUBLISHED=1 asks for it.
"""

import os
import sys
import time
from pathlib import Path

from harness import Report, Server, equal
from published import folder
from scripts import clients

SCRIPTS = Path(__file__).resolve().parent / "dml"
# Version 2008: 4 VLFs for a creation or growth of up to 64 MB, 16 above 1 GB.
VERSION = "2008"
DATABASES = ("Presentation_slow", "Presentation_fast")


class Sizes:
    def __init__(self, rows, step_mb, fast_mb, fast_vlfs):
        self.rows, self.step_mb, self.fast_mb, self.fast_vlfs = rows, step_mb, fast_mb, fast_vlfs


SMALL = Sizes(rows=1000, step_mb=2, fast_mb=64, fast_vlfs=4)
PUBLISHED = Sizes(rows=50_000, step_mb=15, fast_mb=8192, fast_vlfs=16)


def vlfs(run, server, database):
    (rows,) = run(server, f"dbcc loginfo('{database}')\ngo\n").having("FSeqNo")
    return rows


def one(run, server, query):
    ((row,),) = run(server, query + "\ngo\n").having("answer")
    return row["answer"]


def experiment(run, table, statements, sizes):
    with Server(sql_version=VERSION) as server:
        setup = (SCRIPTS / "setup.sql").read_text()
        steps = [f"{sizes.step_mb * step}MB" for step in range(1, 6)]
        run(server, setup.format(database=DATABASES[0], first=steps[0], step=steps[0]))
        for size in steps[1:]:
            run(server, f"alter database {DATABASES[0]} modify file (name = 'log', size = {size})\ngo\n")
        run(server, setup.format(database=DATABASES[1], first=f"{sizes.fast_mb}MB", step="64MB"))
        slow, fast = (vlfs(run, server, database) for database in DATABASES)
        equal((len(slow), len(fast)), (20, sizes.fast_vlfs), "VLFs")
        # Each growth has a create LSN of its own, by which tools tell growths apart.
        equal(len({vlf["CreateLSN"] for vlf in slow}), 5, "create LSNs")
        fill = (SCRIPTS / "fill.sql").read_text()
        for database in DATABASES:
            for name in ("vlftab", "vlftab_source"):
                run(server, f"use {database}\ngo\n" + table.replace("vlftab", name) + "\ngo\n")
            run(server, fill.format(database=database, rows=sizes.rows))
        work(run, server, statements, sizes)


def swapped(statements):
    """The same statements with the databases exchanged, whatever the case of their names."""
    out = statements
    for word in ("_fast", "_Fast"):
        out = out.replace(word, "_other")
    return out.replace("_slow", "_fast").replace("_other", "_slow")


def work(run, server, statements, sizes):
    """Updates and inserts in one database, deletes in the other, then the other way round."""
    seconds = []
    rows = {database: sizes.rows for database in DATABASES}
    for script, written, emptied in ((statements, *reversed(DATABASES)), (swapped(statements), *DATABASES)):
        begin = time.monotonic()
        answers = run(server, script + "\ngo\n")
        seconds.append(time.monotonic() - begin)
        if answers.counts:
            equal(answers.counts, [rows[written], sizes.rows, rows[emptied]], "rows affected")
        lower = f"select count(*) as answer from {written}..vlftab where ascii(comment) = ascii('c')"
        # The rows just inserted are copies of the source, in lower case.
        equal(int(one(run, server, lower)), sizes.rows, "rows in lower case")
        rows[written] += sizes.rows
        rows[emptied] = 0
    for database in DATABASES:
        equal(int(one(run, server, f"select count(*) as answer from {database}..vlftab")), rows[database], database)
        run(server, f"dbcc checkdb ('{database}') with no_infomsgs\ngo\n")
    grown = vlfs(run, server, DATABASES[0])
    equal((len(grown) - 20) % 4, 0, "VLFs of whole growths")
    print(f"note: dml {run.__name__}, {sizes.rows} rows: {seconds[0]:.1f} s and {seconds[1]:.1f} s, {len(grown)} VLFs at the end")


def main():
    report = Report("dml")
    kinds = clients("dml")
    own = [(SCRIPTS / name).read_text() for name in ("table.sql", "statements.sql")]
    for name, run in kinds:
        report.check(f"small by {name}", experiment, run, *own, SMALL)
    if not folder():
        print("skip dml, published statements: there is no folder shared/acceptance beside this repository")
    elif os.environ.get("VLFLAB_PUBLISHED") != "1":
        print("skip dml, published statements: they need a log of 8 GB; VLFLAB_PUBLISHED=1 runs them")
    else:
        published = [(folder() / name).read_text() for name in ("002-table.sql", "002-statements.sql")]
        for name, run in kinds:
            report.check(f"published statements by {name}", experiment, run, *published, PUBLISHED)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
