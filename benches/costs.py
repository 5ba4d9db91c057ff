#!/usr/bin/env python3
"""What `vlflab advise` and `vlflab plan` say a log costs, beside what it costs: 8 layouts on this disk.

    benches/costs.py                  8 layouts, up to 10,000 VLFs, five rounds; a quiet machine, about 15 minutes, 9 GB of disk
    benches/costs.py --rounds 1       one round
    benches/costs.py --quick          small logs: shows that everything works, measures nothing
    benches/costs.py --disk FILE      priced on this disk instead of one that is probed
    VLFLAB=path benches/costs.py      another binary than target/release/vlflab

In each round a server of SQL Server 2012's rules under the classic policy gets a database for each layout. A rented disk changes its speed within
minutes, so that the disk is probed anew ahead of each mechanism: a device is fitted to it, and `plan` or `advise` names the
price on that disk beside what is measured, in this order:

1. growths: each log is grown, by ALTER DATABASE, and the seconds counted that the growths wait for the operating system: zeros, flushes, sizes (the
   server's own account, sys.dm_os_wait_stats); a price is of the disk, and has nothing of the statement's parsing and of its own commit
2. log backups: each log, filled, is backed up to NUL, which reads all of it
3. restart: the server is killed and started again; its error log says how long it looked for the VLFs of each database

Prints a line for each figure of each round: named, range, measured, ratio; then for each figure the median of its rounds' ratios. A figure below
10 ms is too short to tell. Ends with 1 if a median of one that is long enough in most rounds is off by more than a quarter."""

import argparse
import csv
import io
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("VLFLAB", str(ROOT / "target/release/vlflab"))
PASSWORD = "What a log costs 1"
NEAR = 0.25
TOLD_S = 0.01

# Name, MB at creation, steps as (how many, MB each).
LAYOUTS = [
    ("made_at_once", 1024, []),
    ("by_256", 256, [(4, 256)]),
    ("by_64", 64, [(15, 64)]),
    ("by_16", 16, [(63, 16)]),
    ("by_1_to_256", 1, [(255, 1)]),
    ("by_1_to_512", 1, [(511, 1)]),
    ("by_1_to_1250", 1, [(1249, 1)]),
    ("by_1_to_2500", 1, [(2499, 1)]),
]
QUICK = [(name, min(first, 16), [(min(times, 8), min(step, 8)) for times, step in steps]) for name, first, steps in LAYOUTS]

GROWTH_WAITS_MS = """(select sum(wait_time_ms) from sys.dm_os_wait_stats where wait_type in
        ('PREEMPTIVE_OS_WRITEFILEGATHER', 'PREEMPTIVE_OS_FLUSHFILEBUFFERS', 'PREEMPTIVE_OS_FILEOPS'))"""
GROW = f"""set nocount on
declare @waited bigint = {GROWTH_WAITS_MS}
declare @step int = 1, @statement varchar(200)
while @step <= {{times}}
begin
    set @statement = 'alter database {{name}} modify file (name = {{name}}_log, size = ' + cast({{first}} + @step * {{by}} as varchar(10)) + 'MB)'
    exec (@statement)
    set @step += 1
end
select {GROWTH_WAITS_MS} - isnull(@waited, 0)
"""
FILL = """set nocount on
create table filler (n int identity primary key, c char(7000) not null default 'x')
begin try
    while 1 = 1
        insert into filler default values
end try
begin catch
    if error_number() <> 9002 throw
end catch
select used_log_space_in_bytes from sys.dm_db_log_space_usage
"""
BACKUP = """set nocount on
declare @begin datetime2 = sysdatetime()
backup log {name} to disk = 'NUL'
select datediff(microsecond, @begin, sysdatetime())
"""
VERDICT = re.compile(r"^\s+(\w+)\s.*?([\d,]+) VLFs?: (\S+) s at a restart on \S+ \(([^)]*)\)", re.MULTILINE)
DISCOVERY = re.compile(r"Recovery completed for database (\w+) .*discovery (\d+) ms of")


class Server:
    """A server of ours in a folder, started and killed at will."""

    def __init__(self, folder):
        self.folder = folder
        self.process = None
        self.address = None

    def start(self):
        command = [PROGRAM, "serve", "--port", "0", "--data", str(self.folder), "--max-server-memory", "512"]
        if not self.folder.exists():
            command += ["--sql-version", "2012", "--log-policy", "classic"]
        environment = {**os.environ, "MSSQL_SA_PASSWORD": PASSWORD}
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=environment)
        line = self.process.stdout.readline()
        if "Server=" not in line:
            sys.exit(f"the server did not start: {line}")
        self.address = line.split("Server=")[1].split(";")[0]

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def run(self, text, database="master"):
        command = [PROGRAM, "sql", "-S", self.address, "-d", database, "-h", "-1", "-W", "-b", "-Q", text]
        done = subprocess.run(command, env={**os.environ, "SQLCMDPASSWORD": PASSWORD}, text=True, capture_output=True)
        if done.returncode != 0:
            sys.exit(f"{text}\n{done.stdout}{done.stderr}")
        return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""

    def advice(self, disk):
        """By database: VLFs, typical seconds of a restart, and their range, as `advise` prints them."""
        command = [PROGRAM, "advise", "-S", self.address, "--disk", str(disk)]
        done = subprocess.run(command, env={**os.environ, "MSSQL_PASSWORD": PASSWORD}, text=True, capture_output=True)
        found = VERDICT.findall(done.stdout)
        return {name: (number(vlfs), number(seconds), span(text)) for name, vlfs, seconds, text in found}


def number(text):
    return float(text.replace(",", "").replace("<", ""))


def span(text):
    """`4.00 - 30.1` or one figure, as two."""
    ends = [number(each) for each in text.split(" - ")]
    return ends[0], ends[-1]


def priced(log, megabytes, disk):
    """By mechanism: typical seconds and range of the log as it is, as `plan` prices it."""
    command = [PROGRAM, "plan", "--sql-version", "2012", "--from", str(log), "--target-size", f"{megabytes}MB", "--disk", str(disk), "--format", "csv"]
    done = subprocess.run(command, text=True, capture_output=True, check=True)
    rows = csv.DictReader(io.StringIO(done.stdout[done.stdout.index("disk,thing") :]))
    columns = ["as_it_is_typical_s", "as_it_is_fast_s", "as_it_is_slow_s"]
    return {row["thing"]: [float(row[column]) for column in columns] for row in rows if row[columns[0]]}


class Disk:
    """The disk of a folder as it is at this moment, or one that is given."""

    def __init__(self, folder, given, quick):
        self.folder, self.given, self.quick = folder, given, quick

    def probed(self):
        """Probes it, and answers the file that describes it."""
        if self.given:
            return self.given
        path = self.folder / "probed-disk.toml"
        path.unlink(missing_ok=True)
        space = ["--space", "256"] if self.quick else []
        command = [PROGRAM, "disks", "probe", str(self.folder), "--out", str(path), *space]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return path


def size_max_mb(layout):
    """Megabytes of a log when it has grown."""
    _, first, steps = layout
    return first + sum(times * step for times, step in steps)


def create(server, layout):
    name, first, _ = layout
    server.run(
        f"create database {name} on (name = {name}, filename = '{name}.mdf', size = 8MB) "
        f"log on (name = {name}_log, filename = '{name}.ldf', size = {first}MB, maxsize = {size_max_mb(layout)}MB)\n"
        f"alter database {name} set recovery full"
    )


def growths(server, layouts, disk):
    """Grows the logs. A price is of a log as it has grown, so that it is named behind the growth, with the disk that was probed ahead of it."""
    path = disk.probed()
    rows = []
    for layout in layouts:
        name, first, steps = layout
        measured = sum(float(server.run(GROW.format(name=name, first=first, times=times, by=step))) / 1e3 for times, step in steps)
        if steps:
            plan = priced(server.folder / "data" / f"{name}.ldf", size_max_mb(layout) + 1, path)
            rows.append((name, "growths", *plan["growths"], measured))
    return rows


def backups(server, layouts, disk):
    """Fills the logs and backs them up."""
    used = {}
    for layout in layouts:
        server.run(f"backup database {layout[0]} to disk = 'NUL'")
        used[layout[0]] = float(server.run(FILL, layout[0])) / (size_max_mb(layout) * 2**20)
    path = disk.probed()
    rows = []
    for layout in layouts:
        name = layout[0]
        plan = priced(server.folder / "data" / f"{name}.ldf", size_max_mb(layout) + 1, path)
        named = [seconds * used[name] for seconds in plan["log_backup"]]
        rows.append((name, "log backup", *named, float(server.run(BACKUP.format(name=name))) / 1e6))
    return rows


def restarts(server, layouts, disk):
    """Kills the server and starts it again. Answers the VLFs by database too."""
    advice = server.advice(disk.probed())
    server.kill()
    server.start()
    found = discoveries(server.folder, [name for name, _, _ in layouts])
    rows = [(name, "restart", advice[name][1], *advice[name][2], found[name]) for name, _, _ in layouts]
    return rows, {name: advice[name][0] for name, _, _ in layouts}


def measure(server, layouts, disk):
    """Named and measured figures of a round: (layout, what, typical, fast, slow, measured), and the VLFs by layout."""
    for layout in layouts:
        create(server, layout)
    rows = growths(server, layouts, disk) + backups(server, layouts, disk)
    restarted, vlfs = restarts(server, layouts, disk)
    return rows + restarted, vlfs


def discoveries(folder, names):
    """Seconds of discovery by database, from the error log of this start; waits until the last database is recovered."""
    begin = time.monotonic()
    while True:
        found = {name: int(ms) / 1e3 for name, ms in DISCOVERY.findall((folder / "log" / "ERRORLOG").read_text())}
        if all(name in found for name in names):
            return found
        if time.monotonic() - begin > 600:
            sys.exit("recovery has not ended in ten minutes")
        time.sleep(0.2)


def shown(seconds):
    return f"{seconds:,.1f}" if seconds >= 10 else f"{seconds:.3f}"


def report(rows, vlfs):
    """The table of a round. Answers the ratio of each figure that is long enough to tell: by (layout, what)."""
    print("\n| layout | VLFs | what | named, s | range | measured, s | ratio |\n|---|---|---|---|---|---|---|")
    ratios = {}
    for name, what, typical, fast, slow, measured in rows:
        cells = [name, f"{vlfs[name]:,.0f}", what, shown(typical), f"{shown(fast)} to {shown(slow)}", shown(measured)]
        if max(typical, measured) < TOLD_S:
            cells.append("too short to tell")
        else:
            ratios[name, what] = typical / max(measured, 1e-6)
            cells.append(f"{ratios[name, what]:.2f}")
        print("| " + " | ".join(cells) + " |", flush=True)
    return ratios


def medians(rounds):
    """The table of what is long enough to tell in most rounds; how many of these are far off."""
    print("\n| layout | what | ratios | median | within 25 % |\n|---|---|---|---|---|")
    far = 0
    for name, what in sorted({key for ratios in rounds for key in ratios}, key=lambda key: key[::-1]):
        ratios = [ratios[name, what] for ratios in rounds if (name, what) in ratios]
        if 2 * len(ratios) <= len(rounds):
            continue
        median = statistics.median(ratios)
        near = abs(median - 1) <= NEAR
        far += not near
        print(f"| {name} | {what} | {', '.join(f'{ratio:.2f}' for ratio in ratios)} | {median:.2f} | {'yes' if near else 'no'} |")
    return far


def one_round(options, number):
    """Everything once, on a server of its own. Another layout is the first in each round, for a host reads faster what was written last."""
    layouts = QUICK if options.quick else LAYOUTS
    first = number * 3 % len(layouts)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="vlflab-costs-", dir=options.folder))
    server = Server(folder / "server")
    try:
        server.start()
        rows, vlfs = measure(server, layouts[first:] + layouts[:first], Disk(folder, options.disk, options.quick))
        print(f"\nround {number + 1}")
        return report(rows, vlfs)
    finally:
        if server.process:
            server.kill()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--disk")
    parser.add_argument("--folder", help="where the server lies [default: a temporary folder]")
    options = parser.parse_args()
    far = medians([one_round(options, number) for number in range(options.rounds)])
    if far and not options.quick:
        sys.exit(f"the median of {far} figures is off by more than {NEAR:.0%}")


if __name__ == "__main__":
    main()
