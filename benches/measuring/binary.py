"""Size of the release binary without symbols, and the time of a clean build where it is asked for."""

import os
import shutil
import subprocess
import time
from pathlib import Path

from peers import ROOT

from .bench import MB, Line, Row


def measure(bench, found):
    program = Path(os.environ.get("VLFLAB", ROOT / "target" / "release" / "vlflab"))
    stripped = bench.folder / "vlflab-stripped"
    subprocess.run(["strip", "-o", stripped, program], check=True)
    found.add("stripped MB", stripped.stat().st_size / MB)
    if not bench.clean_build:
        return
    target = bench.room("target")
    begin = time.monotonic()
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
    subprocess.run(["cargo", "build", "--release", "-p", "vlflab", "--bin", "vlflab"], cwd=ROOT, env=environment, check=True)
    found.add("clean build s", time.monotonic() - begin)
    shutil.rmtree(target)


def judge(found):
    lines = []
    if found.has("stripped MB"):
        size = found.median("stripped MB")
        lines.append(Line("binary, stripped", "under 40 MB", f"{size:.1f} MB", f"{size / 40:.2f}", size < 40))
    if found.has("clean build s"):
        seconds = found.median("clean build s")
        work = f"clean release build on {os.cpu_count()} cores"
        lines.append(Line(work, "under 240 s", f"{seconds:.0f} s", f"{seconds / 240:.2f}", seconds < 240))
    return lines


ROW = Row("binary", "size of the stripped binary; with --clean-build also its build", measure, judge, 2, 0)
