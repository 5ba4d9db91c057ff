#!/usr/bin/env python3
"""Measures this engine and its peers side by side: the same work, the same disk, taking turns.

    benches/peers/compare.py                              every workload against every peer
    benches/peers/compare.py update-loop --runs 9
    benches/peers/compare.py doubling --peers sqlite --runs 5
    benches/peers/compare.py --folder /mnt/disk           where the databases go (the full set needs 30 GB)

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
    return next(int(line.split(".")[0]) for line in output.splitlines() if line.strip().split(".")[0].isdigit())


def timed_run(workload, peer):
    """Seconds of one run."""
    if workload.load:
        return peer.load(workload.load)
    return number_in(peer.run(workload.scripts[peer.name].timed)) / 1e6


def measure(workload, peers, runs, folder):
    """Rounds of one timed run per peer; the seconds and flushes of each."""
    results = {peer.name: {"seconds": [], "flushes": []} for peer in peers}
    for peer in peers:
        for script in workload.scripts[peer.name].prepare:
            peer.run(script)
    # Where a run takes minutes it also warms what it needs; else the first round warms caches and recycles log files.
    warm_rounds = 0 if workload.runs == 1 else 1
    for turn in range(runs + warm_rounds):
        for peer in peers:
            for script in workload.scripts[peer.name].reset:
                peer.run(script)
            before = device_flushes(folder)
            seconds = timed_run(workload, peer)
            after = device_flushes(folder)
            done = number_in(peer.run(workload.scripts[peer.name].check))
            if done != workload.expected(turn + 1):
                sys.exit(f"{peer.name}: {done} of {workload.expected(turn + 1)} done")
            print(f"  run {turn + 1 - warm_rounds} {peer.name}: {seconds:.3f} s", file=sys.stderr)
            if turn < warm_rounds:
                continue
            results[peer.name]["seconds"].append(seconds)
            if before is not None:
                results[peer.name]["flushes"].append(after - before)
    return results


def summary(workload, results):
    """Medians, spread, and our rate over each peer's."""
    lines = {}
    for name, found in results.items():
        seconds = found["seconds"]
        median = statistics.median(seconds)
        lines[name] = {
            "seconds_median": median,
            "seconds_min": min(seconds),
            "seconds_max": max(seconds),
            "runs": seconds,
            "unit": workload.unit,
            "per_second": workload.count / median,
        }
        if found["flushes"]:
            lines[name]["device_flushes_per_unit"] = statistics.median(found["flushes"]) / workload.count
    ours = lines["vlflab"]["per_second"]
    for line in lines.values():
        line["vlflab_rate_to_this"] = ours / line["per_second"]
    return lines


def verdict(workload, lines):
    """Whether the goal is met against the best of the peers it names; None when none of them ran."""
    ratios = {name: lines[name]["vlflab_rate_to_this"] for name in workload.against if name in lines}
    if not ratios:
        return None
    best = min(ratios, key=ratios.get)
    met = "met" if ratios[best] >= workload.goal else "MISSED"
    return f"{ratios[best]:.2f} of the rate of {best}, the best of {', '.join(ratios)}; goal {workload.goal:g}: {met}"


def print_table(workload, lines):
    print(f"\n{workload.title}\n")
    unit = workload.unit
    print(f"| peer | median s | min .. max s | {unit}s/s | us/{unit} | device flushes/{unit} | vlflab's rate to this |")
    print("|---|--:|---|--:|--:|--:|--:|")
    for name, line in lines.items():
        flushes = line.get("device_flushes_per_unit")
        print(
            f"| {name} | {line['seconds_median']:.3f} | {line['seconds_min']:.3f} .. {line['seconds_max']:.3f} "
            f"| {line['per_second']:,.0f} | {1e6 / line['per_second']:.2f} "
            f"| {'not counted' if flushes is None else f'{flushes:.2f}'} | {line['vlflab_rate_to_this']:.2f} |"
        )
    found = verdict(workload, lines)
    print(f"\n{found}" if found else "\nno peer to compare with", flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=", ".join(WORKLOADS))
    parser.add_argument("--runs", type=int, help="timed runs (default: as each workload says)")
    parser.add_argument("--peers", default="postgresql,mariadb,sqlite", help="comma-separated (default %(default)s)")
    parser.add_argument("--folder", type=Path, default=Path("/var/tmp"), help="where the databases go (default /var/tmp)")
    parser.add_argument("--log-policy", default="native", help="vlflab's log policy")
    parser.add_argument("--out", type=Path, default=ROOT / "target" / "peers.json", help="JSON file of results")
    chosen = parser.parse_args()
    chosen.peers = [name for name in chosen.peers.split(",") if name and name != "vlflab"]
    for kind, unknown in (("workload", set(chosen.workloads) - set(WORKLOADS)), ("peer", set(chosen.peers) - set(PEERS))):
        if unknown:
            parser.error(f"there is no {kind} {', '.join(sorted(unknown))}")
    return chosen


def run_all(chosen, peers, folder, results):
    for name in chosen.workloads or WORKLOADS:
        workload = WORKLOADS[name]
        lines = summary(workload, measure(workload, peers, chosen.runs or workload.runs, folder))
        print_table(workload, lines)
        results["workloads"][name] = {"goal": workload.goal, "against": workload.against, "peers": lines}
        results["vlflab_resident_mb_max"] = peers[0].resident_mb_max()


def main():
    chosen = arguments()
    if "VLFLAB" not in os.environ:
        build = ["cargo", "build", "--release", "-p", "vlflab", "-p", "vlflab-lab", "--bins", "--examples"]
        subprocess.run(build, cwd=ROOT, check=True)
    folder = Path(tempfile.mkdtemp(prefix="vlflab-peers-", dir=chosen.folder))
    folder.chmod(0o755)
    peers = [PEERS["vlflab"](folder, chosen.log_policy), *(PEERS[name](folder) for name in chosen.peers)]
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
        run_all(chosen, peers, folder, results)
    finally:
        for peer in started:
            peer.stop()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"\nmost memory vlflab had resident: {results['vlflab_resident_mb_max']:,.0f} MB")
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text(json.dumps(results, indent=2) + "\n")
    print(f"\nwritten: {chosen.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
