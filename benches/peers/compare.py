#!/usr/bin/env python3
"""Measures this engine and its peers side by side: the same work, the same disk, taking turns.

    benches/peers/compare.py                        every workload, 5 runs of each peer
    benches/peers/compare.py update-loop --runs 9
    benches/peers/compare.py --folder /mnt/disk     where the databases go

Peers take turns within each run, so that a change of the machine's mood meets all of them. Device flushes are counted on the
way: a peer that is faster by not reaching the disk shows at once.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from peers import PEERS, ROOT
from workloads import WORKLOADS

FLUSHES_FIELD = 15  # Of /sys/dev/block/*/stat: flush requests completed.


def device_flushes(folder):
    """Flushes the disk under `folder` has done since boot; None where that is not counted."""
    device = os.stat(folder).st_dev
    try:
        fields = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat").read_text().split()
        return int(fields[FLUSHES_FIELD])
    except (OSError, IndexError):
        return None


def number_in(output):
    """The one line of an output that is a number; clients print messages around it."""
    return next(int(line) for line in output.splitlines() if line.strip().isdigit())


def measure(workload, peers, runs, folder):
    """Rounds of one timed run per peer; the seconds and flushes of each."""
    results = {peer.name: {"seconds": [], "flushes": []} for peer in peers}
    for peer in peers:
        for script in workload.scripts[peer.name].prepare:
            peer.run(script)
    for turn in range(runs + 1):
        for peer in peers:
            before = device_flushes(folder)
            seconds = number_in(peer.run(workload.scripts[peer.name].timed)) / 1e6
            after = device_flushes(folder)
            done = number_in(peer.run(workload.scripts[peer.name].check))
            if done != workload.expected(turn + 1):
                sys.exit(f"{peer.name}: {done} of {workload.expected(turn + 1)} done")
            if turn == 0:
                continue  # The first round warms caches and recycles log files.
            results[peer.name]["seconds"].append(seconds)
            if before is not None:
                results[peer.name]["flushes"].append(after - before)
            print(f"  run {turn} {peer.name}: {seconds:.3f} s", file=sys.stderr)
    return results


def summary(workload, results):
    """Medians, spread, and the ratio to the first peer's rate."""
    lines = {}
    for name, found in results.items():
        seconds = found["seconds"]
        median = statistics.median(seconds)
        lines[name] = {
            "seconds_median": median,
            "seconds_min": min(seconds),
            "seconds_max": max(seconds),
            "runs": seconds,
            "commits_per_second": workload.commits / median,
            "microseconds_per_commit": median / workload.commits * 1e6,
        }
        if found["flushes"]:
            lines[name]["device_flushes_per_commit"] = statistics.median(found["flushes"]) / workload.commits
    ours = lines["vlflab"]["commits_per_second"]
    for name, line in lines.items():
        line["vlflab_rate_to_this"] = ours / line["commits_per_second"]
    return lines


def print_table(workload, lines):
    print(f"\n{workload.title}\n")
    print("| peer | median s | min .. max s | commits/s | us/commit | device flushes/commit | vlflab's rate to this |")
    print("|---|--:|---|--:|--:|--:|--:|")
    for name, line in lines.items():
        flushes = line.get("device_flushes_per_commit")
        print(
            f"| {name} | {line['seconds_median']:.3f} | {line['seconds_min']:.3f} .. {line['seconds_max']:.3f} "
            f"| {line['commits_per_second']:,.0f} | {line['microseconds_per_commit']:.1f} "
            f"| {'not counted' if flushes is None else f'{flushes:.2f}'} | {line['vlflab_rate_to_this']:.2f} |"
        )


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=", ".join(WORKLOADS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=Path("/var/tmp"), help="where the databases go (default /var/tmp)")
    parser.add_argument("--log-policy", default="native", help="vlflab's log policy")
    parser.add_argument("--out", type=Path, default=ROOT / "target" / "peers.json", help="JSON file of results")
    chosen = parser.parse_args()
    unknown = set(chosen.workloads) - set(WORKLOADS)
    if unknown:
        parser.error(f"there is no workload {', '.join(sorted(unknown))}")
    return chosen


def main():
    chosen = arguments()
    if "VLFLAB" not in os.environ:
        subprocess.run(["cargo", "build", "--release", "-p", "vlflab"], cwd=ROOT, check=True)
    folder = Path(tempfile.mkdtemp(prefix="vlflab-peers-", dir=chosen.folder))
    folder.chmod(0o755)
    peers = [PEERS["vlflab"](folder, chosen.log_policy)]
    peers += [kind(folder) for name, kind in PEERS.items() if name != "vlflab"]
    absent = [(peer.name, peer.missing()) for peer in peers if peer.missing()]
    if absent:
        shutil.rmtree(folder)
        sys.exit("\n".join(f"{name}: {reason}" for name, reason in absent))
    results = {
        "machine": {"cpus": os.cpu_count(), "system": platform.platform(), "folder": str(chosen.folder)},
        "peers": {peer.name: peer.settings() for peer in peers},
        "workloads": {},
    }
    started = []
    try:
        for peer in peers:
            peer.start()
            started.append(peer)
        for name in chosen.workloads or WORKLOADS:
            lines = summary(WORKLOADS[name], measure(WORKLOADS[name], peers, chosen.runs, folder))
            print_table(WORKLOADS[name], lines)
            results["workloads"][name] = lines
    finally:
        for peer in started:
            peer.stop()
        shutil.rmtree(folder, ignore_errors=True)
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text(json.dumps(results, indent=2) + "\n")
    print(f"\nwritten: {chosen.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
