"""Our server as a row uses it: timed statements, crashes, what it used of processor and memory."""

import os
import re
import threading
import time
from contextlib import contextmanager
from pathlib import Path

from comparison import number_in
from peers import Vlflab, status_mb
from workloads import wide_rows

WATCH_SECONDS = 0.02
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
CPU_FIELDS = slice(11, 13)  # Of /proc/*/stat behind the name: user and system time.


def ticks(stat):
    """Processor time of a process or thread, from the text of its stat file."""
    fields = stat.rsplit(")", 1)[1].split()
    return sum(int(field) for field in fields[CPU_FIELDS])


class Server(Vlflab):
    """One server and its folder."""

    stopped = True

    def number(self, query, database="master"):
        return number_in(self.run(f"set nocount on {query}", database))

    def timed(self, statements, database="master"):
        """Seconds of the statements by the server's clock."""
        script = (
            "set nocount on declare @begin datetime2 = sysdatetime()\n"
            f"{statements}\nselect datediff(microsecond, @begin, sysdatetime())"
        )
        return number_in(self.run(script, database)) / 1e6

    def restarted(self, query, database):
        """Seconds from the start of the process to the answer to its first query."""
        begin = time.monotonic()
        self.start()
        self.run(query, database)
        return time.monotonic() - begin

    def cpu_seconds(self):
        """Processor time so far: of the process, and of each thread."""
        process = Path(f"/proc/{self.process.pid}")
        threads = {}
        for task in (process / "task").iterdir():
            try:
                threads[task.name] = ticks((task / "stat").read_text()) / TICKS_PER_SECOND
            except (OSError, IndexError):
                continue  # It ended meanwhile.
        return ticks((process / "stat").read_text()) / TICKS_PER_SECOND, threads

    @contextmanager
    def watching_threads(self):
        """Yields what will hold the processor seconds that each thread has used meanwhile, threads that come and go included."""
        used, first, over = {}, {}, threading.Event()

        def watch():
            is_last = False
            while not is_last:
                is_last = over.wait(WATCH_SECONDS)
                for thread, spent in self.cpu_seconds()[1].items():
                    # A thread that was not there at the first look has begun at zero.
                    used[thread] = spent - first.get(thread, 0)

        first.update(self.cpu_seconds()[1])
        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            yield used
        finally:
            over.set()
            watcher.join()

    def resident_mb(self):
        """What is resident at the moment, MB."""
        return status_mb(self.process.pid, "VmRSS")

    def log_written(self, database):
        """Writes to the log file of a database and their bytes, since the server started."""
        counts = self.run(
            "set nocount on select num_of_writes, num_of_bytes_written "
            f"from sys.dm_io_virtual_file_stats(db_id('{database}'), 2)"
        )
        return tuple(int(count) for count in re.search(r"(\d+)\s+(\d+)", counts).groups())

    def kill(self):
        self.stopped = True
        super().kill()
        self.process.stdin.close()
        self.process.stdout.close()

    def start(self):
        self.stopped = False
        super().start()

    def stop(self):
        if not self.stopped:
            self.stopped = True
            super().stop()


@contextmanager
def serving(bench, folder, sql_version="2012"):
    """A server that is stopped in the end; its memory is remembered for the table."""
    server = Server(folder, sql_version=sql_version)
    server.start()
    try:
        yield server
    finally:
        remember(bench, server)
        server.stop()


def remember(bench, server):
    """Keeps the memory of a server that runs; one that has ended, of itself or by an interruption, has none to show."""
    if not server.stopped and server.process.poll() is None:
        bench.remember_memory(server.resident_mb_max())


def prepare_wide_rows(bench, server):
    """The tables of the wide rows, in a database of their size, or of a small one for `--quick`."""
    for script in wide_rows.PREPARE["vlflab"]:
        script = script.replace("size = 1500MB", f"size = {bench.size(1_500, 900)}MB")
        server.run(script.replace("size = 8000MB", f"size = {bench.size(8_000, 1_500)}MB"))
