"""The comparison with other engines: the workloads of `benches/peers`, judged as its own command judges them.

Doubling takes minutes with the slower peers: all of them run once, to show which is the best, and the other turns are between
this engine and SQLite. The servers that are not needed any more are killed, since a clean stop would take minutes to write
their pages.
"""

import statistics

import comparison
from peers import PEERS
from workloads import WORKLOADS

from .bench import GB, Line, Row, number
from .server import Server, remember

DOUBLING_RIVAL = "sqlite"


def available(bench, found):
    """This engine and the peers that are installed, started."""
    folder = bench.room("peers")
    started = []
    for name, peer in PEERS.items():
        built = Server(folder, sql_version="2022") if name == "vlflab" else peer(folder)
        reason = built.missing()
        if reason:
            bench.progress(f"{name} is left out: {reason}")
            found.facts.setdefault("left out", {})[name] = reason
            continue
        built.start()
        started.append(built)
    return started


def end(bench, peer):
    """Ends a server whose databases nobody needs any more."""
    if peer.name == "vlflab":
        remember(bench, peer)
        peer.stop()
    elif hasattr(peer, "kill"):
        peer.kill()
    else:
        peer.stop()


def measure_doubling(bench, workload, peers, results):
    """One run of all, the slowest last, and the other runs with the rival alone; `peers` is left with these two."""
    rivals = [peer for peer in peers if peer.name in ("vlflab", DOUBLING_RIVAL)]
    others = [peer for peer in peers if peer not in rivals]
    comparison.measure(workload, rivals + others, 1, bench.folder, results)
    for peer in others:
        end(bench, peer)
        peers.remove(peer)
    if bench.runs > 1:
        comparison.measure(workload, rivals, bench.runs - 1, bench.folder, results)


def measure_workload(bench, found, name, peers):
    """One workload; its seconds go to the row's series as they come."""
    workload = WORKLOADS[name]
    results = {}
    try:
        if name == "doubling":
            measure_doubling(bench, workload, peers, results)
        else:
            comparison.measure(workload, peers, bench.runs, bench.folder, results)
    finally:
        for peer, measured in results.items():
            for kind, values in measured.items():
                found.series[f"{name} {kind} {peer}"] = values


def measure(bench, found):
    bench.need_space(bench.size(30, 20) * GB, "databases of all engines")
    found.facts.update(workloads=bench.workloads)
    peers = available(bench, found)
    errors = []
    try:
        for name in bench.workloads:
            bench.progress(WORKLOADS[name].title)
            try:
                measure_workload(bench, found, name, peers)
            except (RuntimeError, StopIteration, OSError) as error:
                errors.append(f"{name}: {str(error)[:300]}")
                bench.progress(errors[-1])
    finally:
        for peer in peers:
            end(bench, peer)
    if errors:
        raise RuntimeError("; ".join(errors))


def judge(found):
    lines = []
    for name in found.facts.get("workloads", []):
        workload = WORKLOADS[name]
        seconds = {peer: found.values(f"{name} seconds {peer}") for peer in PEERS}
        seconds = {peer: values for peer, values in seconds.items() if values}
        if "vlflab" not in seconds:
            continue
        shown = [found.text(f"{name} seconds {peer}", "s", peer) for peer in seconds]
        rate = workload.count / statistics.median(seconds["vlflab"])
        measured = f"{'; '.join(shown)}; ours {number(rate)} {workload.unit}s/s"
        against = [peer for peer in workload.against if peer in seconds]
        goal = f"at least {workload.goal:g}x the best peer"
        if not against:
            lines.append(Line(workload.title, goal, measured, "", None, "no peer to compare with"))
            continue
        best = min(against, key=lambda peer: statistics.median(seconds[peer]))
        ours, base = f"{name} seconds {best}", f"{name} seconds vlflab"
        ratio = found.ratio(ours, base)
        lines.append(Line(workload.title, goal, measured, f"{found.ratio_text(ours, base)} of {best}", ratio >= workload.goal))
    return lines


ROW = Row("peers", "this engine, PostgreSQL, MariaDB and SQLite take turns", measure, judge, 400, 125)
