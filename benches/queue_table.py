#!/usr/bin/env python3
"""A table used as a queue: sessions insert rows at one end and delete them at the other. Whether its pages stay, and how fast it goes beside
PostgreSQL.

    benches/queue_table.py                   8 sessions, 5 turns of 60 s for each engine: about 11 minutes of a quiet machine
    benches/queue_table.py --alone --seconds 600 --turns 1    vlflab alone, ten minutes: pages
    benches/queue_table.py --seconds 2 --turns 2      shows that it works
    VLFLAB=path benches/queue_table.py       another binary than target/release/vlflab

A session inserts a row and commits, then deletes the first row that no other session has locked (READPAST, SKIP LOCKED) and commits, again and
again. For vlflab it is a loop on the server; for PostgreSQL pgbench with prepared statements, since a procedure that commits is slower there: its
snapshots keep dead rows from being passed over. The table begins with 10,000 rows of 400 bytes, so that its size is constant. PostgreSQL has its
default autovacuum. The engines take turns; the one whose turn it is not stays up, idle.

A line for each turn: pairs of insert and delete a second, and the pages of the table, looked at ten times a turn. At the end the median of the
ratios of pairs of turns with the least and the largest. The goals: a median of at least 1.0, and no look after the first fifth that finds more
than twice the pages of that fifth's last look. The exit code is 1 where a goal is missed. Every turn ends with a count of the rows: other rows
than vlflab's sessions say that they have left are an error."""

import argparse
import os
import re
import shutil
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))

from peers import PASSWORD, PostgreSql, Vlflab, output_of  # noqa: E402: the folder above is looked up first.

ROWS = 10_000
LOOKS = 10
PAGES_TIMES_MAX = 2.0
RATIO_MIN = 1.0

VLFLAB_PREPARE = [
    "create database work on (name = work, filename = 'work.mdf', size = 64MB, filegrowth = 64MB) "
    "log on (name = work_log, filename = 'work_log.ldf', size = 1024MB)",
    "alter database work set recovery simple",
    "use work create table queue (id bigint identity primary key, payload char(400) not null)",
    f"use work insert queue (payload) select 'begin' from generate_series(1, {ROWS})",
]
VLFLAB_WORK = """set nocount on
declare @until datetime2 = dateadd(second, {seconds}, sysdatetime()), @inserted int = 0, @deleted int = 0
while sysdatetime() < @until
begin
    insert queue (payload) values ('work')
    ;with oldest as (select top (1) id from queue with (rowlock, updlock, readpast) order by id) delete oldest
    set @deleted += @@rowcount
    set @inserted += 1
end
select @inserted, @deleted"""
VLFLAB_PAGES = "set nocount on select sum(reserved_page_count) from sys.dm_db_partition_stats where object_id = object_id('queue')"

POSTGRESQL_PREPARE = f"""
create table queue (id bigserial primary key, payload char(400) not null);
insert into queue (payload) select 'begin' from generate_series(1, {ROWS});
"""
POSTGRESQL_WORK = """insert into queue (payload) values ('work');
delete from queue where id = (select id from queue order by id limit 1 for update skip locked);
"""
POSTGRESQL_PAGES = "select pg_total_relation_size('queue') / 8192"
COUNT = "select count(*) from queue"


class Ours:
    name = "vlflab"

    def __init__(self, folder):
        self.peer = Vlflab(folder)

    def begin(self):
        self.peer.start()
        for script in VLFLAB_PREPARE:
            self.peer.run(script)

    def work(self, sessions, seconds):
        """Rows inserted and deleted."""
        command = [self.peer.program, "sql", "-S", f"127.0.0.1,{self.peer.port}", "-P", PASSWORD, "-d", "work", "-W", "-h", "-1", "-b", "-Q"]
        command = [str(part) for part in [*command, VLFLAB_WORK.format(seconds=seconds)]]
        with ThreadPoolExecutor(sessions) as pool:
            answers = list(pool.map(output_of, [command] * sessions))
        counts = [[int(number) for number in re.findall(r"\d+", answer)] for answer in answers]
        return sum(inserted for inserted, _ in counts), sum(deleted for _, deleted in counts)

    def pages(self):
        return int(self.peer.run(VLFLAB_PAGES, "work"))

    def rows(self):
        return int(self.peer.run(f"set nocount on {COUNT}", "work"))


class Theirs:
    name = "postgresql"

    def __init__(self, folder):
        self.peer = PostgreSql(folder)

    def begin(self):
        self.peer.start()
        self.peer.run(POSTGRESQL_PREPARE)

    def work(self, sessions, seconds):
        """Rows inserted and deleted: pgbench knows transactions, and the table what they have left."""
        script = self.peer.folder.parent / "work.sql"
        script.write_text(POSTGRESQL_WORK)
        before = self.rows()
        command = [*self.peer.client("pgbench"), "-n", "-M", "prepared", "-c", sessions, "-j", min(sessions, 2), "-T", seconds, "-f", script]
        printed = output_of([*command, "postgres"])
        inserted = int(re.search(r"actually processed: (\d+)", printed).group(1))
        return inserted, before + inserted - self.rows()

    def pages(self):
        return int(self.peer.run(POSTGRESQL_PAGES))

    def rows(self):
        return int(self.peer.run(COUNT))


def turn(side, sessions, seconds):
    """Pairs a second, and what each look has found."""
    before, begin, looks = side.rows(), time.monotonic(), []
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(side.work, sessions, seconds)
        for look in range(LOOKS):
            time.sleep(max(0.0, begin + seconds * (look + 1) / LOOKS - time.monotonic() - 0.2))
            looks.append(side.pages())
        inserted, deleted = work.result()
    if side.rows() != before + inserted - deleted:
        raise RuntimeError(f"{side.name}: {side.rows()} rows, {before} before, {inserted} inserted, {deleted} deleted")
    return deleted / seconds, looks


def flat(looks):
    first = looks[: max(1, len(looks) // 5)]
    return max(looks) <= PAGES_TIMES_MAX * first[-1]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=8)
    parser.add_argument("--seconds", type=int, default=60, help="of a turn (default 60)")
    parser.add_argument("--turns", type=int, default=5, help="of each engine (default 5)")
    parser.add_argument("--alone", action="store_true", help="without PostgreSQL")
    parser.add_argument("--folder", type=Path, default=Path("/var/tmp"), help="where the databases go (default /var/tmp)")
    return parser.parse_args()


def measured(asked, sides):
    rates, looks = {side.name: [] for side in sides}, {side.name: [] for side in sides}
    for number in range(asked.turns):
        for side in sides if number % 2 == 0 else sides[::-1]:
            rate, found = turn(side, asked.sessions, asked.seconds)
            rates[side.name].append(rate)
            looks[side.name] += found
            print(f"turn {number + 1} {side.name:10} {rate:8,.0f} pairs a second; pages {' '.join(map(str, found))}", flush=True)
    return rates, looks


def judge(rates, looks):
    is_flat = flat(looks["vlflab"])
    print(f"pages of vlflab: {min(looks['vlflab'])} to {max(looks['vlflab'])}: {'flat' if is_flat else 'NOT flat'}")
    if "postgresql" not in rates:
        return is_flat
    ratios = [ours / theirs for ours, theirs in zip(rates["vlflab"], rates["postgresql"])]
    median = statistics.median(ratios)
    verdict = "met" if median >= RATIO_MIN else "MISSED"
    print(f"vlflab's rate to PostgreSQL's: median {median:.2f} ({min(ratios):.2f} to {max(ratios):.2f}), goal {RATIO_MIN:g}: {verdict}")
    return is_flat and median >= RATIO_MIN


def main():
    asked = arguments()
    folder = Path(tempfile.mkdtemp(prefix="vlflab-queue-", dir=asked.folder))
    folder.chmod(0o755)
    sides, begun = [Ours(folder)] + ([] if asked.alone else [Theirs(folder)]), []
    try:
        for side in sides:
            side.begin()
            begun.append(side)
        is_good = judge(*measured(asked, sides))
        checked = sides[0].peer.run("dbcc checkdb (work) with no_infomsgs").strip()
        if checked:
            sys.exit(checked)
    finally:
        for side in begun:
            side.peer.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
