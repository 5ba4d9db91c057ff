#!/usr/bin/env python3
"""How fast `vlflab inspect` reads a large backup: beside dd, in turns, each with a cold cache.

    benches/inspect_speed.py                  2 GB, five turns; about 4 GB of disk
    benches/inspect_speed.py --bytes 100000000 --turns 1     shows that it works
    VLFLAB=path benches/inspect_speed.py      another binary than target/release/vlflab

The backup is written by `cargo run -p vlflab-genuine --example large_backup`: uncompressed, one table, every page with its checksum. What has to be
there is checked in each turn: the rows that the catalog counts, every checksum right, no damage. Before each read the file's pages are dropped from the cache of the
operating system (posix_fadvise), and that this was done is checked by the bytes that the process then reads from the device where /proc tells.
Prints every turn, the medians, and inspect's speed as a share of dd's; ends with 1 when that is below a half."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("VLFLAB", str(ROOT / "target/release/vlflab"))
SHARE_MIN = 0.5


def drop(path):
    """Takes the file out of the cache."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def device_bytes():
    """Bytes that children that have ended read from devices, in all."""
    with open("/proc/self/io", encoding="utf-8") as lines:
        return int(dict(line.strip().split(": ") for line in lines)["read_bytes"])


def timed(command, path):
    """Seconds of a command on a cold cache, what it printed, and the bytes that the device gave."""
    drop(path)
    read, begun = device_bytes(), time.monotonic()
    done = subprocess.run(command, capture_output=True, check=False)
    seconds = time.monotonic() - begun
    if done.returncode != 0:
        sys.exit(f"{command[0]} ended with {done.returncode}: {done.stderr.decode(errors='replace')[:500]}")
    return seconds, done.stdout, device_bytes() - read


def checked(answer, file_bytes):
    """What inspect found must be all that there is, and sound."""
    found = json.loads(answer)
    pages = sum(file["allocated"] for file in found["files"])
    right = sum(file["checksummed"] for file in found["files"])
    rows = [(table["rows"], table["catalog_rows"]) for table in found["tables"]]
    if found["damage_count"] or right != pages or any(read != said for read, said in rows):
        sys.exit(f"not sound: {found['damage_count']} damaged, {right} of {pages} checksums, rows {rows}")
    if pages * 8192 < file_bytes * 0.99:
        sys.exit(f"{pages} pages of {file_bytes} bytes were read")
    return pages, rows[0][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--bytes", type=int, default=2 << 30)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--folder", default=None, help="where the backup is written (default: a temporary folder)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = str(Path(folder) / "large.bak")
        build = ["cargo", "run", "-q", "-p", "vlflab-genuine", "--example", "large_backup", "--", path, str(options.bytes)]
        subprocess.run(build, cwd=ROOT, check=True)
        size = os.path.getsize(path)
        seconds = {"dd": [], "inspect": []}
        for turn in range(options.turns):
            dd, _, dd_bytes = timed(["dd", f"if={path}", "of=/dev/null", "bs=1M"], path)
            inspect, answer, own_bytes = timed([PROGRAM, "inspect", path, "--format", "json"], path)
            pages, rows = checked(answer, size)
            for name, read in [("dd", dd_bytes), ("inspect", own_bytes)]:
                if 0 < read < size * 0.9:
                    sys.exit(f"the cache was not cold: {name} read {read} bytes from the device")
            seconds["dd"].append(dd)
            seconds["inspect"].append(inspect)
            print(f"turn {turn + 1}: dd {dd:.2f} s, inspect {inspect:.2f} s ({pages:,} pages, {rows:,} rows)", flush=True)
    medians = {name: statistics.median(all_of) for name, all_of in seconds.items()}
    share = medians["dd"] / medians["inspect"]
    speeds = ", ".join(f"{name} {size / 1e6 / median:,.0f} MB/s" for name, median in medians.items())
    print(f"{size:,} bytes, medians of {options.turns}: {speeds}; inspect has {share:.2f} of dd's speed")
    return 0 if share >= SHARE_MIN else 1


if __name__ == "__main__":
    sys.exit(main())
