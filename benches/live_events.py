#!/usr/bin/env python3
"""Whether the live page keeps up: many events a second for minutes, read by curl and by a browser, none lost and none out of order.

    benches/live_events.py                    10 minutes, at least 60 events a second
    benches/live_events.py --minutes 0.2      shows that it works
    VLFLAB=path benches/live_events.py        another binary than target/release/vlflab

Sessions change a row and run CHECKPOINT, each in a small database of its own, so that VLFs are entered, freed and checkpoints taken all the time. The
server numbers its events from 1 on without gaps. curl reads the stream into a file; where Playwright and Chromium are there, the page is open in it
as well. At the end:

- the numbers in curl's file follow one another, up to the last one, and no frame says that events were skipped
- the page has the same last events, in the same order
- memory is flat: the server's resident size and the page's heap after each minute, the last against that at two fifths of the time (the page keeps
  20,000 events to go back to, which are there by then)

Ends with 1 if one of these does not hold or if there were fewer events than asked for."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from live import PASSWORD, PROGRAM, Reader, Server

SESSIONS = 6
FLAT_MAX = 1.15
CREATE = """create database d{n} on (name = d{n}, filename = 'd{n}.mdf', size = 8MB)
    log on (name = d{n}_log, filename = 'd{n}_log.ldf', size = 2MB, filegrowth = 1MB)
alter database d{n} set recovery simple
"""
TABLE = "create table t (id int primary key, filler char(4000)) insert t values (1, 'x')"
LOOP = """set nocount on declare @end datetime2 = dateadd(second, {seconds}, sysdatetime())
while sysdatetime() < @end
begin
    update t set filler = replicate('y', id + 1)
    checkpoint
    waitfor delay '00:00:00.050'
end"""


def frames(path):
    """The frames in curl's file."""
    kind = None
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("event: "):
                kind = line[7:].strip()
            elif line.startswith("data: ") and line.endswith("\n") and kind == "frame":
                yield json.loads(line[6:])


def resident_mb(pid):
    pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


class Page:
    """The page in Chromium."""

    def __init__(self, address):
        from playwright.sync_api import sync_playwright

        self.driver = sync_playwright().start()
        self.browser = self.driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"])
        self.page = self.browser.new_page(viewport={"width": 1280, "height": 900}, bypass_csp=True)
        self.page.goto(address)
        self.page.wait_for_function("state.session !== null")
        self.devtools = self.page.context.new_cdp_session(self.page)

    def heap_mb(self):
        """What lives on its heap, once it is collected."""
        self.devtools.send("HeapProfiler.collectGarbage")
        return self.devtools.send("Runtime.getHeapUsage")["usedSize"] / 2**20

    def numbers(self):
        """The numbers of the events that it has."""
        self.page.wait_for_timeout(1000)
        return self.page.evaluate("state.session.world.events.map((event) => event.number).filter((number) => number > 0)")

    def close(self):
        self.browser.close()
        self.driver.stop()


def open_page(address):
    try:
        return Page(address)
    except (ImportError, TypeError) as error:
        print(f"no browser: {error}; the stream is read by curl alone")
        return None


def watch(server, page, seconds):
    """Server's and page's memory, MB, once a minute or six times."""
    begun, figures = time.monotonic(), []
    every = min(60, seconds / 6)
    while time.monotonic() - begun < seconds - every / 2:
        time.sleep(every)
        figures.append((resident_mb(server.process.pid), page.heap_mb() if page else 0))
        print(f"{time.monotonic() - begun:5.0f} s: server {figures[-1][0]:.1f} MB, page {figures[-1][1]:.1f} MB", flush=True)
    return figures


def verdicts(numbers, skipped, in_page, figures, seconds, rate_min):
    """What has to hold, each with whether it does."""
    first, last = numbers[0], numbers[-1]
    yield f"{len(numbers):,} events, {len(numbers) / seconds:.1f} a second", len(numbers) / seconds >= rate_min
    yield f"numbers {first} to {last} without a gap, in order", numbers == list(range(first, last + 1))
    yield f"{skipped} frames skipped events", skipped == 0
    if in_page is not None:
        # It was open first, so it may have events that curl has not.
        both = min(len(in_page), len(numbers))
        yield f"the page has the last {both:,} of them, in order", both > 0 and in_page[-both:] == numbers[-both:]
    for what, of in (("server", 0), ("page", 1)):
        early, late = figures[2 * len(figures) // 5][of], figures[-1][of]
        if early:
            yield f"{what}: {early:.1f} MB early, {late:.1f} MB at the end", late <= early * FLAT_MAX + 2


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--rate", type=float, default=60, help="events a second that are asked for")
    asked = parser.parse_args()
    seconds = asked.minutes * 60
    folder = pathlib.Path(tempfile.mkdtemp(prefix="vlflab-events-", dir=os.environ.get("VLFLAB_DIR")))
    server, page = Server(folder / "data"), None
    try:
        for n in range(SESSIONS):
            server.run(CREATE.format(n=n))
            server.run(TABLE, f"d{n}")
        page = open_page(server.page)
        reader = Reader(server, folder / "events")
        environment = {**os.environ, "SQLCMDPASSWORD": PASSWORD}
        command = [PROGRAM, "sql", "-S", server.address, "-b", "-Q", LOOP.format(seconds=seconds)]
        sessions = [subprocess.Popen([*command, "-d", f"d{n}"], env=environment) for n in range(SESSIONS)]
        figures = watch(server, page, seconds)
        if any(session.wait() for session in sessions):
            sys.exit("a session ended with an error")
        time.sleep(2)
        in_page = page.numbers() if page else None
        reader.process.terminate()
        reader.process.wait()
        read = list(frames(folder / "events"))
    finally:
        if page:
            page.close()
        server.stop()
        shutil.rmtree(folder)
    numbers = [event["number"] for frame in read for event in frame.get("events", []) if event.get("number")]
    skipped = sum(1 for frame in read if frame.get("skipped"))
    missed = 0
    for said, holds in verdicts(numbers, skipped, in_page, figures, seconds, asked.rate):
        missed += not holds
        print(("ok     " if holds else "MISSED ") + said)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
