"""One workload on several peers that take turns, and what came of it: medians, spread, ratios, the verdict."""

import os
import statistics
import sys
from pathlib import Path

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
    return number_in(peer.run(workload.scripts[peer.dialect].timed)) / 1e6


def prepare(workload, peers):
    """What a workload needs before its first run."""
    for peer in peers:
        for script in workload.scripts[peer.dialect].prepare:
            peer.run(script)


def measure(workload, peers, runs, folder, results=None):
    """Rounds of one timed run per peer; the seconds and flushes of each, which `results` holds as soon as they are known."""
    results = {} if results is None else results
    for peer in peers:
        results.setdefault(peer.name, {"seconds": [], "flushes": []})
    prepare(workload, peers)
    # Where a run takes minutes it also warms what it needs; else the first round warms caches and recycles log files.
    warm_rounds = 0 if workload.runs == 1 else 1
    for turn in range(runs + warm_rounds):
        for peer in peers:
            for script in workload.scripts[peer.dialect].reset:
                peer.run(script)
            before = device_flushes(folder)
            seconds = timed_run(workload, peer)
            after = device_flushes(folder)
            done = number_in(peer.run(workload.scripts[peer.dialect].check))
            if done != workload.expected(turn + 1):
                raise RuntimeError(f"{peer.name}: {done} of {workload.expected(turn + 1)} done")
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
