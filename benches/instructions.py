#!/usr/bin/env python3
"""What statements cost in instructions, by Valgrind's count: this build, with row versions off and on, beside another build.

    benches/instructions.py                              this build, with row versions off and on
    benches/instructions.py --other-build FILE           another build beside it
    benches/instructions.py --statements update,select   some of the statements
    benches/instructions.py --off --rounds 1 --other-build FILE   only what the goal beside another build needs, each batch once: on a busy machine
    VLFLAB=path benches/instructions.py                  another binary than target/release/vlflab

A machine that others use makes seconds and processor time of the same work differ by a tenth and more; instructions of one build differed by two in
a hundred between runs: a commit waits for the disk in more or fewer steps. Each server runs under callgrind, which the distribution has (valgrind).
Every statement is run twice as often in one batch as in another, three times each (--rounds). What the cheapest of the long batches took more than the
cheapest of the short ones is divided by the repetitions more: the begin of a batch and the login are no part of it. Only the session's thread
counts, since those in the background wake up by the clock, and Valgrind makes a batch take many times as long.

The goals: with versions off no statement takes more than 2 % above the other build; with READ_COMMITTED_SNAPSHOT, and with
ACCELERATED_DATABASE_RECOVERY, an update takes at most 15 % above the same build without. The exit code is 1 where one is missed."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = Path(os.environ.get("VLFLAB", ROOT / "target/release/vlflab")).absolute()
PASSWORD = "Instructions of a statement 1"
START_S_MAX = 300
ROUNDS = 3
OFF_MAX, ON_MAX = 1.02, 1.15
# What keeps versions of rows, by the names of the sides.
ON = {"rcsi": "read_committed_snapshot", "adr": "accelerated_database_recovery ="}

PREPARE = [
    "create database work on (name = work, filename = 'work.mdf', size = 256MB) log on (name = work_log, filename = 'work_log.ldf', size = 512MB)",
    "alter database work set recovery simple",
    # Statistics that become due would fall on one batch or the other.
    "alter database work set auto_update_statistics off",
]
TABLES = """use work set nocount on
create table account (id int not null primary key, amount int not null, filler char(100) not null)
create table wide (id int not null, comment varchar(8000) not null, name varchar(20) not null, born date not null)
create table target (id int not null primary key, v int not null, f char(20) not null)
create index by_v on target (v)
insert account select value, 0, 'x' from generate_series(1, 10000)
insert wide select value, replicate('letters ', 600), 'some name', '2001-02-03' from generate_series(1, 2000)
insert target select value, value % 100, 'x' from generate_series(1, 10000)
create table filled (id int not null, comment varchar(8000) not null, name varchar(20) not null, born date not null)
create table inserted_rows (id int identity primary key, v int not null, f char(20) not null)
checkpoint"""


def loop(statement):
    """A statement once for each repetition."""
    return lambda times: f"declare @i int = 0 while @i < {times} begin set @i += 1 {statement} end"


# Name, a batch of so many repetitions, how many, whether it is an update.
STATEMENTS = {
    "update": (loop("update account set amount = amount + 1 where id = 1 + @i % 10000"), 2000, True),
    "update of an indexed column": (loop("update target set v = v + 1 where id = 1 + @i % 10000"), 1000, True),
    "select": (loop("declare @a int = (select amount from account where id = 1 + @i % 10000)"), 3000, False),
    "insert": (loop("insert inserted_rows (v, f) values (@i, 'x')"), 1000, False),
    "delete": (
        lambda times: f"declare @first int = (select min(id) from inserted_rows) {loop('delete inserted_rows where id = @first + @i - 1')(times)}",
        500,
        False,
    ),
    "update of every row, a row": (lambda times: f"update top ({times}) account set amount = amount + 1", 4000, True),
    "wide insert, a row": (lambda times: f"insert filled select top ({times}) id, comment, name, born from wide", 800, False),
    "wide update, a row": (lambda times: f"update top ({times}) wide set comment = upper(comment)", 400, True),
    "wide delete, a row": (lambda times: f"delete top ({times}) from filled", 300, False),
    "scan with a sum, a row": (lambda times: f"declare @s bigint = (select sum(v) from (select top ({times}) v from target order by id) t)", 4000, False),
    "join, a row": (
        lambda times: f"declare @s bigint = (select sum(a.amount + t.v) from (select top ({times}) id, v from target) t join account a on a.id = t.id)",
        4000,
        False,
    ),
}


class Server:
    """A build under callgrind, on a folder of its own."""

    def __init__(self, name, program, folder, settings=()):
        self.name, self.program, self.folder = name, program, folder
        self.settings, self.dumps = settings, 0
        folder.mkdir()

    def start(self):
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={self.folder}/callgrind", "--separate-threads=yes", str(self.program)]
        command += ["serve", "--data", str(self.folder / "data"), "--port", "0", "--until-stdin-closes", "--max-server-memory", "256"]
        environment = {**os.environ, "MSSQL_SA_PASSWORD": PASSWORD}
        self.errors = open(self.folder / "valgrind.log", "w")
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True
        )
        for line in self.process.stdout:
            ready = re.search(r"Server=127\.0\.0\.1,(\d+);", line)
            if ready:
                self.port = int(ready.group(1))
                break
        else:
            raise RuntimeError(f"{self.name} ended with {self.process.wait()}: {(self.folder / 'valgrind.log').read_text()[-500:]}")
        for statement in (*PREPARE, *(f"alter database work set {setting} on" for setting in self.settings), TABLES):
            self.run(statement)

    def run(self, script):
        command = [str(PROGRAM), "sql", "-S", f"127.0.0.1,{self.port}", "-P", PASSWORD, "-b", "-l", "300", "-Q", script]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{self.name}: {script[:200]}: {(done.stdout + done.stderr)[-400:]}")

    def counted(self, script):
        """The instructions of a batch, with its login: those of the session's thread, which has the most of all."""
        self.control("--zero")
        self.run(f"use work set nocount on {script}")
        self.control("--dump")
        self.dumps += 1
        deadline = time.monotonic() + START_S_MAX
        while True:
            # The totals are the last line of a file, which is written whole; the file of the whole process comes last.
            files = list(self.folder.glob(f"callgrind.{self.dumps}-*"))
            totals = [re.findall(r"^totals: (\d+)", file.read_text(errors="replace"), re.MULTILINE) for file in files]
            if files and all(totals):
                return max(int(total[-1]) for total in totals)
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.folder} has no totals of dump {self.dumps}")
            time.sleep(0.1)

    def control(self, command):
        subprocess.run(["callgrind_control", command, str(self.process.pid)], check=True, capture_output=True)

    def stop(self):
        self.process.kill()
        self.process.wait(60)
        self.errors.close()


def of_one(server, name, rounds):
    """Instructions of one repetition."""
    batch, times, _ = STATEMENTS[name]
    # Plans, pages and maps are there from then on.
    server.counted(batch(times))
    # A checkpoint, or a file that grows, only adds.
    few = min(server.counted(batch(times)) for _ in range(rounds))
    many = min(server.counted(batch(2 * times)) for _ in range(rounds))
    return (many - few) / times


def measured(name, program, folder, names, rounds, settings=()):
    """What one build takes of every statement."""
    server = Server(name, program, folder, settings)
    try:
        server.start()
        found = {}
        for statement in names:
            found[statement] = of_one(server, statement, rounds)
            print(f"{name}: {statement}: {found[statement]:,.0f}", file=sys.stderr, flush=True)
        return found
    finally:
        server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--other-build", type=Path, metavar="FILE")
    parser.add_argument("--off", action="store_true", help="with row versions off alone")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="COUNT", help="how often each batch is run")
    parser.add_argument("--statements", default="", metavar="NAMES", help="beginnings of their names, with commas")
    asked = parser.parse_args()
    for needed in ("valgrind", "callgrind_control"):
        if not shutil.which(needed):
            sys.exit(f"{needed} is not installed: apt-get install valgrind")
    wanted = [name for name in STATEMENTS if name.startswith(tuple(asked.statements.split(",")))]
    if not wanted:
        parser.error(f"there is no statement {asked.statements!r}: {', '.join(STATEMENTS)}")
    folder = Path(tempfile.mkdtemp(prefix="vlflab-instructions-", dir="/var/tmp"))
    try:
        sides = {"off": measured("off", PROGRAM, folder / "off", wanted, asked.rounds)}
        for side, setting in () if asked.off else ON.items():
            sides[side] = measured(side, PROGRAM, folder / side, wanted, asked.rounds, [setting])
        if asked.other_build:
            sides["other"] = measured("other", asked.other_build.absolute(), folder / "other", wanted, asked.rounds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(judged(sides, wanted))


def judged(sides, wanted):
    """Prints the table; 1 where a goal is missed."""
    has_other = "other" in sides
    on = [side for side in ON if side in sides]
    titles = ["statement", "instructions"] + ["beside the other build"] * has_other + [ON[side].removesuffix(" =").upper() for side in on]
    print("| " + " | ".join(titles) + " |")
    print("|---|" + "--:|" * (len(titles) - 1))
    missed = 0
    for name in wanted:
        off = sides["off"][name]
        cells = [f"{off:,.0f}"]
        if has_other:
            ratio = off / sides["other"][name]
            missed += ratio > OFF_MAX
            cells.append(f"{ratio:.3f}")
        for side in on:
            ratio = sides[side][name] / off
            missed += STATEMENTS[name][2] and ratio > ON_MAX
            cells.append(f"{ratio:.3f}")
        print(f"| {name} | " + " | ".join(cells) + " |")
    print("met: yes" if missed == 0 else f"met: no, {missed} above their goals")
    return int(missed > 0)


if __name__ == "__main__":
    main()
