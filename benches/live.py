#!/usr/bin/env python3
"""What the live page costs the commits: the server's processor time for a commit while its stream is read, and while it is not.

    benches/live.py                   20 pairs of 100,000 commits each; a quiet machine, about 5 minutes
    benches/live.py --pairs 2 --commits 2000    shows that it works, measures nothing
    VLFLAB=path benches/live.py       another binary than target/release/vlflab

One server with --web serves everything. A pair is the same loop of commits twice, once while curl reads the stream of events and once without a
reader; which of them is first takes turns. Processor time is that of the whole process, all its threads, as the kernel counts it (10 ms steps:
a loop takes a second or more). Before the first pair the loop runs once unmeasured.

Prints a line for each pair, then the median of the ratios with the least and the largest. The goal is 1.03; the exit code is 1 above it, and 2 if
the stream brought nothing, so that nothing was measured."""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("VLFLAB", str(ROOT / "target/release/vlflab"))
PASSWORD = "What the page costs 1"
RATIO_MAX = 1.03
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")

PREPARE = """create database talk on (name = talk, filename = 'talk.mdf', size = 64MB)
    log on (name = talk_log, filename = 'talk_log.ldf', size = 64MB, filegrowth = 64MB)
alter database talk set recovery simple
"""
TABLE = "create table counters (id int primary key, n bigint not null) insert counters values (1, 0), (2, 0), (3, 0)"
LOOP = """set nocount on declare @i int = 0
while @i < {commits} begin update counters set n = n + 1 where id = 1 set @i += 1 end"""


class Server:
    """A server with a live page, in a folder, with more options."""

    def __init__(self, folder, *options):
        command = [PROGRAM, "serve", "--web", "--port", "0", "--data", str(folder), "--max-server-memory", "256", *options]
        environment = {**os.environ, "MSSQL_SA_PASSWORD": PASSWORD}
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=environment)
        self.address = self.page = None
        while not (self.address and self.page):
            line = self.process.stdout.readline()
            if not line:
                sys.exit("the server did not start")
            if "Server=" in line:
                self.address = line.split("Server=")[1].split(";")[0]
            if "http://" in line:
                self.page = "http://" + line.split("http://")[1].split()[0].rstrip(".,")

    def run(self, text, database="master"):
        command = [PROGRAM, "sql", "-S", self.address, "-d", database, "-b", "-Q", text]
        done = subprocess.run(command, env={**os.environ, "SQLCMDPASSWORD": PASSWORD}, text=True, capture_output=True)
        if done.returncode != 0:
            sys.exit(f"{text}\n{done.stdout}{done.stderr}")

    def processor_s(self):
        """Of the process so far, user and system time."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return sum(int(field) for field in fields[11:13]) / TICKS_PER_SECOND

    def stream(self):
        """The address of the events."""
        before, token = self.page.split("?", 1)
        return f"{before.rstrip('/')}/events?{token}"

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Reader:
    """curl, which reads the stream into a file."""

    def __init__(self, server, kept):
        self.kept = kept
        command = ["curl", "--silent", "--no-buffer", "--output", str(kept), server.stream()]
        self.process = subprocess.Popen(command)
        until = time.monotonic() + 10
        # It has begun when the state of the logs is there.
        while not (kept.exists() and kept.stat().st_size > 0):
            if self.process.poll() is not None or time.monotonic() > until:
                sys.exit(f"curl reads nothing from {server.stream()}")
            time.sleep(0.02)
        self.first_bytes = kept.stat().st_size

    def stop(self):
        """Answers how many bytes came while it was read."""
        read = self.kept.stat().st_size - self.first_bytes
        self.process.terminate()
        self.process.wait()
        self.kept.unlink()
        return read


def loop_us(server, commits):
    """Microseconds of processor time for each commit."""
    before = server.processor_s()
    server.run(LOOP.format(commits=commits), "talk")
    return (server.processor_s() - before) * 1e6 / commits


def read_us(server, commits, folder):
    """The same while curl reads, and how many bytes it has read."""
    reader = Reader(server, folder / "events")
    spent = loop_us(server, commits)
    return spent, reader.stop()


def measure(server, pairs, commits, folder):
    ratios, streamed = [], 0
    for number in range(pairs):
        if number % 2:
            alone = loop_us(server, commits)
            read, read_bytes = read_us(server, commits, folder)
        else:
            read, read_bytes = read_us(server, commits, folder)
            alone = loop_us(server, commits)
        if alone == 0:
            sys.exit("too few commits: they took no processor time that is counted")
        ratios.append(read / alone)
        streamed += read_bytes
        print(f"pair {number + 1:2}: read {read:7.1f} us, not read {alone:7.1f} us a commit; ratio {ratios[-1]:.3f}; {read_bytes:,} bytes", flush=True)
    return ratios, streamed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--commits", type=int, default=100_000, help="commits in each loop")
    asked = parser.parse_args()
    if not shutil.which("curl"):
        sys.exit("curl is not installed (Debian: apt-get install curl)")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="vlflab-live-", dir=os.environ.get("VLFLAB_DIR")))
    server = Server(folder / "data")
    try:
        server.run(PREPARE)
        server.run(TABLE, "talk")
        loop_us(server, asked.commits)
        ratios, streamed = measure(server, asked.pairs, asked.commits, folder)
    finally:
        server.stop()
        shutil.rmtree(folder)
    median = statistics.median(ratios)
    verdict = "met" if median <= RATIO_MAX else "MISSED"
    print(f"median {median:.3f} ({min(ratios):.3f} .. {max(ratios):.3f}, n = {len(ratios)}); goal at most {RATIO_MAX}: {verdict}")
    if streamed == 0:
        print("the stream brought nothing while the commits ran: nothing was measured")
        return 2
    return 0 if median <= RATIO_MAX else 1


if __name__ == "__main__":
    sys.exit(main())
