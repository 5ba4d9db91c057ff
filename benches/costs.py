#!/usr/bin/env python3
"""What `vlflab advise` and `vlflab plan` say a log costs, beside what it costs: 8 layouts on this disk.

    benches/costs.py                  8 layouts, up to 10,000 VLFs; a quiet machine, about 10 minutes, 8 GB of disk
    benches/costs.py --quick          small logs: shows that everything works, measures nothing
    benches/costs.py --disk FILE      priced on this disk instead of one that is probed first
    VLFLAB=path benches/costs.py      another binary than target/release/vlflab

A server of SQL Server 2012's rules under the classic policy gets a database for each layout. Then, in this order:

1. the disk of the folder is probed, and a device fitted to it
2. each log is grown, by ALTER DATABASE, and the seconds counted that the growths wait for the operating system: zeros, flushes, sizes (the server's
   own account, sys.dm_os_wait_stats); a price is of the disk, and has nothing of the statement's parsing and of its own commit
3. `advise` is asked what a restart costs, `plan` what the growths and a backup of the full log cost, both before anything of it is measured
4. each log is filled and backed up to NUL, which reads all of it
5. the server is killed and started again; its error log says how long it looked for the VLFs of each database

Prints a line for each figure: named, range, measured, ratio. A figure below 10 ms is too short to tell. Ends with 1 if one that is long enough
is off by more than a quarter, whether or not its range holds what was measured."""

import argparse
import csv
import io
import os
import pathlib
import re
import shutil
import signal
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


def measure(server, layouts, disk):
    """Named and measured figures: (layout, VLFs, what, typical, fast, slow, measured)."""
    rows, data = [], server.folder / "data"
    grown = {}
    for name, first, steps in layouts:
        most = first + sum(times * step for times, step in steps)
        server.run(
            f"create database {name} on (name = {name}, filename = '{name}.mdf', size = 8MB) "
            f"log on (name = {name}_log, filename = '{name}.ldf', size = {first}MB, maxsize = {most}MB)\n"
            f"alter database {name} set recovery full"
        )
        grown[name] = sum(float(server.run(GROW.format(name=name, first=first, times=times, by=step))) / 1e3 for times, step in steps)
        server.run(f"backup database {name} to disk = 'NUL'")
    advice = server.advice(disk)
    for name, first, steps in layouts:
        most = first + sum(times * step for times, step in steps)
        vlfs, typical, (fast, slow) = advice[name]
        plan = priced(data / f"{name}.ldf", most + 1, disk)
        if steps:
            rows.append((name, vlfs, "growths", *plan["growths"], grown[name]))
        used = float(server.run(FILL, name)) / (most * 2**20)
        backup = [seconds * used for seconds in plan["log_backup"]]
        rows.append((name, vlfs, "log backup", *backup, float(server.run(BACKUP.format(name=name))) / 1e6))
        rows.append((name, vlfs, "restart", typical, fast, slow, None))
    server.kill()
    server.start()
    found = discoveries(server.folder, [name for name, _, _ in layouts])
    return [(*row[:6], found[row[0]] if row[6] is None else row[6]) for row in rows]


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


def report(rows):
    """The table; how many figures are far off, and how many of these their ranges hold."""
    print("| layout | VLFs | what | named, s | range | measured, s | ratio | within 25 % |\n|---|---|---|---|---|---|---|---|")
    far = held_far = 0
    for name, vlfs, what, typical, fast, slow, measured in rows:
        cells = [name, f"{vlfs:,.0f}", what, shown(typical), f"{shown(fast)} to {shown(slow)}", shown(measured)]
        if max(typical, measured) < TOLD_S:
            cells += ["-", "too short to tell"]
        else:
            ratio = typical / max(measured, 1e-6)
            near, held = abs(ratio - 1) <= NEAR, fast <= measured <= slow
            far += not near
            held_far += held and not near
            cells += [f"{ratio:.2f}", "yes" if near else ("in its range" if held else "no")]
        print("| " + " | ".join(cells) + " |")
    return far, held_far


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--disk")
    parser.add_argument("--folder", help="where the server lies [default: a temporary folder]")
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="vlflab-costs-", dir=options.folder))
    server = Server(folder / "server")
    try:
        disk = options.disk or folder / "probed-disk.toml"
        if not options.disk:
            space = ["--space", "256"] if options.quick else []
            subprocess.run([PROGRAM, "disks", "probe", str(folder), "--out", str(disk), *space], check=True, stdout=sys.stderr)
        server.start()
        far, held_far = report(measure(server, QUICK if options.quick else LAYOUTS, disk))
        if far and not options.quick:
            sys.exit(f"{far} figures are off by more than {NEAR:.0%}; the ranges of {held_far} of them hold what was measured")
    finally:
        if server.process:
            server.kill()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
