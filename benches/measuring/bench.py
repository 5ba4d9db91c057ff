"""What rows have in common: the choice of sizes, the series they fill, the lines of the table.

A row measures into a `Found`, which keeps every single figure as soon as it is known, and is judged from it afterwards. So an
interrupted or failed row still shows what it has.
"""

import os
import platform
import shutil
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from peers import CACHE_MB

MB = 1 << 20
GB = 1 << 30
MEMORY_SLACK_MB = 200


@dataclass
class Line:
    """One line of the table; `met` is None where there is nothing to judge."""

    work: str
    goal: str
    measured: str
    ratio: str = ""
    met: object = None
    note: str = ""

    def markdown(self):
        verdict = {True: "met", False: "**MISSED**", None: "-"}[self.met]
        note = f" ({self.note})" if self.note else ""
        return f"| {self.work} | {self.goal} | {self.measured} | {self.ratio} | {verdict}{note} |"


class Found:
    """Every figure of a row, by the name of its series, in the order of the runs."""

    def __init__(self, series=None, facts=None):
        self.series = series or {}
        self.facts = facts or {}

    def add(self, name, value):
        self.series.setdefault(name, []).append(value)

    def values(self, name):
        return self.series.get(name, [])

    def median(self, name):
        return statistics.median(self.series[name])

    def has(self, *names):
        return all(self.series.get(name) for name in names)

    def text(self, name, unit, label=None):
        """`label 0.342 s (0.338 .. 0.361, n = 5)`."""
        values = self.series[name]
        spread = f" ({number(min(values))} .. {number(max(values))}, n = {len(values)})" if len(values) > 1 else " (one run)"
        return f"{name if label is None else label} {number(statistics.median(values))} {unit}{spread}"

    def ratio(self, ours, base):
        return self.median(ours) / self.median(base)

    def ratio_text(self, ours, base):
        """The ratio of the medians, and the least and greatest of the ratios of runs side by side."""
        pairs = [a / b for a, b in zip(self.values(ours), self.values(base)) if b]
        spread = f" ({min(pairs):.2f} .. {max(pairs):.2f})" if len(pairs) > 1 else ""
        return f"{self.ratio(ours, base):.3f}{spread}"


def number(value):
    """Three digits that mean something."""
    for limit, digits in ((100, 0), (10, 1), (1, 2), (0.1, 3)):
        if abs(value) >= limit:
            return f"{value:,.{digits}f}"
    return f"{value:.4f}"


@dataclass
class Row:
    """A row of the table."""

    name: str
    about: str
    measure: object
    judge: object
    # How long it takes: once, and for each run.
    seconds_fixed: float
    seconds_per_run: float

    def seconds(self, bench):
        return 5 if bench.quick else self.seconds_fixed + self.seconds_per_run * bench.runs


@dataclass
class Bench:
    """Where and how much is measured."""

    folder: Path
    runs: int = 5
    quick: bool = False
    vlfs: int = 126_399
    workloads: list = field(default_factory=list)
    clean_build: bool = False
    # Another build of this engine, for the row `beside`.
    other_build: object = None
    # Figures by row, kept from the start of the row on.
    found: dict = field(default_factory=dict)
    # The most memory a server had resident, MB, by row.
    memory_mb: dict = field(default_factory=dict)
    row: str = ""
    began: float = field(default_factory=time.monotonic)

    def size(self, full, quick):
        """A size at full scale and for `--quick`."""
        return quick if self.quick else full

    def progress(self, text):
        print(f"  {time.monotonic() - self.began:6.0f} s  {self.row}: {text}", file=sys.stderr, flush=True)

    def room(self, name):
        """An empty folder, which is gone when the row is over."""
        path = self.folder / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        path.chmod(0o755)
        return path

    def need_space(self, wanted_bytes, what):
        """Raises where the disk has too little room; 2 GB are left to others."""
        free = shutil.disk_usage(self.folder).free
        self.progress(f"{what} needs {wanted_bytes / GB:.1f} GB, {free / GB:.1f} GB are free")
        if free < wanted_bytes + 2 * GB:
            raise RuntimeError(f"{what} needs {wanted_bytes / GB:.1f} GB and 2 GB to spare, {free / GB:.1f} GB are free")

    def remember_memory(self, resident_mb):
        self.memory_mb[self.row] = max(resident_mb, self.memory_mb.get(self.row, 0))


def judge_memory(memory_mb, limit_mb=CACHE_MB + MEMORY_SLACK_MB):
    """The line about memory, from the most that every row's servers had."""
    if not memory_mb:
        return []
    worst = max(memory_mb, key=memory_mb.get)
    each = ", ".join(f"{name} {resident:,.0f}" for name, resident in memory_mb.items())
    most = memory_mb[worst]
    return [
        Line(
            f"memory: most resident (VmHWM) with max server memory {CACHE_MB:,} MB",
            f"at most {limit_mb:,} MB in every row",
            f"{each} MB",
            f"{most / limit_mb:.3f}",
            most <= limit_mb,
        )
    ]


def machine(folder):
    """What is measured on, in words."""
    model = next(
        (line.split(":", 1)[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), platform.processor()
    )
    memory = next((int(line.split()[1]) >> 10 for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), 0)
    mount = max(
        (line.split() for line in _lines("/proc/mounts") if str(folder.resolve()).startswith(line.split()[1])),
        key=lambda fields: len(fields[1]),
        default=["?", "?", "?"],
    )
    return {
        "cpu": model,
        "cpus": os.cpu_count(),
        "memory_mb": memory,
        "system": platform.platform(),
        "file_system": f"{mount[2]} on {mount[0]}",
        "folder": str(folder),
        "load_at_start": os.getloadavg()[0],
        "date": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
    }


def _lines(path):
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
