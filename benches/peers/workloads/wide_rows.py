"""50,000 rows of about 5,000 characters: inserted from another table, all updated, all deleted; each statement commits once.

The text is random letters, so that no compression helps. Before each timed run the table is brought to the state
that the statement starts from, outside the time. PEERS_WIDE_ROWS sets another number of rows, in tens of thousands.
"""

import os
import random

from . import Scripts, Workload, sqlite_number, timed_mariadb, timed_postgresql, timed_sqlite, timed_vlflab

ROWS = int(os.environ.get("PEERS_WIDE_ROWS", "50000"))
# Texts of 4,000 to 5,999 letters, generated once and repeated over the rows.
TEXTS = 100


def texts():
    draw = random.Random(7)
    return ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=4000 + 20 * number)) for number in range(TEXTS)]


def insert_texts():
    return [f"insert into letters values ({number}, '{text}')" for number, text in enumerate(texts())]


COLUMNS = "id int not null, comment varchar(8000) not null, name varchar(20) not null, born date not null"
INSERT = "insert into wide select id, comment, name, born from source"
UPDATE = "update wide set comment = upper(comment)"
DELETE = "delete from wide"
FILL = (
    f"insert into source select n, comment, 'some name', '2001-02-03' from (select d1.n + 10 * d2.n + 100 * d3.n + 1000 * d4.n "
    f"+ 10000 * d5.n as n from digits d1, digits d2, digits d3, digits d4, digits d5 where d5.n < {ROWS // 10000}) numbers, "
    f"letters where letters.id = n % {TEXTS}"
)
DIGITS = "insert into digits values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)"

PREPARE = {
    "vlflab": [
        "if db_id('peers') is not null drop database peers",
        "create database peers on (name = peers, filename = 'd:\\peers.mdf', size = 1500MB) "
        "log on (name = peers_log, filename = 'l:\\peers.ldf', size = 8000MB)",
        f"use peers create table letters (id int not null, comment varchar(8000) not null) create table source ({COLUMNS}) "
        f"create table wide ({COLUMNS}) create table digits (n int not null) {DIGITS}",
        *[f"use peers {statement}" for statement in insert_texts()],
        f"use peers {FILL}",
        "use peers backup database peers to disk = 'd:\\peers.bak' with init checkpoint",
    ],
    "postgresql": [
        "drop table if exists letters, source, wide, digits;"
        f"create table letters (id int not null, comment varchar(8000) not null); create table source ({COLUMNS});"
        f"create table wide ({COLUMNS}); create table digits (n int not null); {DIGITS};",
        ";\n".join(insert_texts()),
        FILL.replace("'2001-02-03'", "date '2001-02-03'"),
        "checkpoint",
    ],
    "mariadb": [
        "drop table if exists letters, source, wide, digits;"
        f"create table letters (id int not null, comment varchar(8000) not null); create table source ({COLUMNS});"
        f"create table wide ({COLUMNS}); create table digits (n int not null); {DIGITS};",
        ";\n".join(insert_texts()),
        FILL,
    ],
    "sqlite": [
        "".join(f"drop table if exists {name};" for name in ("letters", "source", "wide", "digits"))
        + f"create table letters (id int not null, comment text not null); create table source ({COLUMNS});"
        f"create table wide ({COLUMNS}); create table digits (n int not null); {DIGITS};",
        "begin;" + ";\n".join(insert_texts()) + ";commit;",
        FILL,
    ],
}
EMPTY = {
    "vlflab": ["use peers truncate table wide", "use peers backup log peers to disk = 'nul' checkpoint"],
    "postgresql": ["truncate table wide", "checkpoint"],
    "mariadb": ["truncate table wide"],
    "sqlite": ["delete from wide", "pragma wal_checkpoint(truncate)"],
}
FILLED = {
    name: [*statements, f"use peers {INSERT} checkpoint" if name == "vlflab" else INSERT]
    for name, statements in EMPTY.items()
}


def workload(statement, reset, check, goal):
    """One statement; `check` is a count that is ROWS after it."""
    return Workload(
        title=f"{statement.split()[0].upper()} of {ROWS:,} rows of about 5,000 characters in one statement",
        unit="row",
        count=ROWS,
        expected=lambda runs: ROWS,
        goal=goal,
        scripts={
            "vlflab": Scripts(PREPARE["vlflab"], timed_vlflab(statement), f"use peers set nocount on {check}", reset["vlflab"]),
            "postgresql": Scripts(PREPARE["postgresql"], timed_postgresql(statement), check, reset["postgresql"]),
            "mariadb": Scripts(PREPARE["mariadb"], timed_mariadb(statement), check, reset["mariadb"]),
            "sqlite": Scripts(
                PREPARE["sqlite"],
                timed_sqlite(lambda connection: connection.execute(statement)),
                sqlite_number(check),
                reset["sqlite"],
            ),
        },
    )


WORKLOADS = {
    "wide-insert": workload(INSERT, EMPTY, "select count(*) from wide", 1.5),
    "wide-update": workload(UPDATE, FILLED, "select count(*) from wide where substring(comment, 1, 1) <> ''", 1.5),
    "wide-delete": workload(DELETE, FILLED, f"select {ROWS} - count(*) from wide", 1.0),
}
