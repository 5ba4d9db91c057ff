#!/usr/bin/env python3
"""Measures this engine and its peers side by side: the same work, the same disk, taking turns.

    benches/peers/compare.py                              every workload against every peer
    benches/peers/compare.py update-loop --runs 9
    benches/peers/compare.py doubling --peers sqlite --runs 5
    benches/peers/compare.py --peers "" --other-build /tmp/vlflab   what a change cost or brought, beside a build without it
    benches/peers/compare.py --folder /mnt/disk           where the databases go (the full set needs 30 GB)

Peers take turns within each run, so that a change of the machine's mood meets all of them. Device flushes are counted on the
way: a peer that is faster by not reaching the disk shows at once.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from comparison import measure, print_table, summary
from peers import PEERS, ROOT, OtherBuild
from workloads import WORKLOADS


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=", ".join(WORKLOADS))
    parser.add_argument("--runs", type=int, help="timed runs (default: as each workload says)")
    parser.add_argument("--peers", default="postgresql,mariadb,sqlite", help="comma-separated (default %(default)s)")
    parser.add_argument("--other-build", type=Path, metavar="BINARY", help="another build of vlflab, one more peer")
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
    if chosen.other_build:
        peers.append(OtherBuild(folder, chosen.log_policy, chosen.other_build))
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
    except RuntimeError as error:
        sys.exit(str(error))
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
