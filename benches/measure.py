#!/usr/bin/env python3
"""Measures every row of the performance table on the release build and prints the table.

    benches/measure.py                              every row, about 40 minutes on a quiet machine, 43 GB of disk
    benches/measure.py vlfs growth                  some rows
    benches/measure.py update-8-clients wide-insert some of the comparisons with other engines
    benches/measure.py builds --other-build FILE --runs 10    the page's work on this build and another one, by turns
    benches/measure.py builds doubling --other-build FILE     one workload of it
    benches/measure.py beside --other-build FILE    the same for many VLFs, logins, idle sessions
    benches/measure.py --quick                      small sizes, one run: shows that everything works, measures nothing
    benches/measure.py --draw results.json          draws target/performance-scaling.svg from the results of `scaling`
    benches/measure.py --draw-page                  draws docs/performance.svg from the table of docs/performance.md

Progress goes to stderr, the table to stdout, every single figure to --out. An interrupted run prints what it measured. What is
missing is built first: cargo build --release -p vlflab -p vlflab-lab --bins --examples. VLFLAB=path measures another binary.
PostgreSQL, MariaDB and sysbench come from the distribution; rows leave out those that are not installed and say so.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

if "--quick" in sys.argv:
    # The workloads read their sizes when they are imported.
    small = {"PEERS_DOUBLING_ROWS": "10000", "PEERS_UPDATES": "1600", "PEERS_READS": "1000", "PEERS_WIDE_ROWS": "10000"}
    os.environ.update(small)

import measuring  # noqa: F401: makes the modules of benches/peers known.
from peers import ROOT
from measuring import backup, beside, binary, builds, draw, draw_page, estimates, growth, log_rows, peers_rows, planning, queries, restart, scaling, steps, vlfs
from measuring import tls
from measuring.bench import Bench, Found, Line, judge_memory, machine

ROWS = {
    row.name: row
    for row in (
        vlfs.ROW,
        growth.ROW,
        steps.ROW,
        peers_rows.ROW,
        log_rows.UPDATE_RATE,
        log_rows.LOG_WRITE,
        backup.ROW,
        restart.ROW,
        queries.ROW,
        queries.TPCH_ROW,
        queries.FILMS_ROW,
        estimates.ROW,
        planning.ROW,
        scaling.ROW,
        tls.ROW,
        binary.ROW,
        beside.ROW,
        builds.ROW,
    )
}
OF_TWO_BUILDS = (beside.ROW, builds.ROW)
SVG = ROOT / "target" / "performance-scaling.svg"
PAGE = ROOT / "docs" / "performance.md"


def arguments():
    rows = "\n".join(f"  {row.name:<12} {row.about}" for row in ROWS.values())
    workloads = ", ".join(peers_rows.WORKLOADS)
    parser = argparse.ArgumentParser(
        description=f"{__doc__}\nrows:\n{rows}\n  or one of the workloads of peers: {workloads}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", help="rows to measure (default: all)")
    parser.add_argument("--runs", type=int, default=5, help="runs of each (default %(default)s)")
    parser.add_argument("--vlfs", type=int, default=126_399, help="VLFs of the large log (default %(default)s)")
    parser.add_argument("--folder", type=Path, default=Path("/var/tmp"), help="where databases go (default %(default)s)")
    parser.add_argument("--out", type=Path, default=ROOT / "target" / "measured.json", help="JSON file (default %(default)s)")
    parser.add_argument("--quick", action="store_true", help="small sizes, one run; no measurement")
    parser.add_argument("--other-build", type=Path, metavar="BINARY", help="another build of vlflab, for the rows beside and builds")
    parser.add_argument("--clean-build", action="store_true", help="also time a clean release build")
    parser.add_argument("--draw", type=Path, metavar="JSON", help=f"only draw {SVG.relative_to(ROOT)} from these results")
    parser.add_argument("--draw-page", action="store_true", help="only draw docs/performance.svg from the page's table")
    chosen = parser.parse_args()
    unknown = set(chosen.rows) - set(ROWS) - set(peers_rows.WORKLOADS)
    if unknown:
        parser.error(f"there is no row {', '.join(sorted(unknown))}")
    if chosen.runs < 1 or chosen.vlfs < 64:
        parser.error("--runs is at least 1 and --vlfs at least 64")
    of_two_builds = [row.name for row in OF_TWO_BUILDS if row.name in chosen.rows]
    if of_two_builds and not (chosen.other_build and chosen.other_build.is_file()):
        parser.error(f"the row {of_two_builds[0]} needs --other-build BINARY")
    return chosen


def build():
    """The release build, unless VLFLAB names a binary."""
    if "VLFLAB" in os.environ:
        return
    command = ["cargo", "build", "--release", "-p", "vlflab", "-p", "vlflab-lab", "--bins", "--examples"]
    subprocess.run(command, cwd=ROOT, check=True)


def wanted_rows(names):
    """The rows to measure, in the order of ROWS, and the workloads of the row of peers. Those of two builds are measured when they are named."""
    workloads = [name for name in peers_rows.WORKLOADS if name in names]
    all_rows = [name for name, row in ROWS.items() if row not in OF_TWO_BUILDS]
    # Beside the row of two builds, workloads say which of its own it measures.
    of_peers = workloads and "builds" not in names
    wanted = [row for name, row in ROWS.items() if name in (names or all_rows) or (name == "peers" and of_peers)]
    return wanted, list(peers_rows.WORKLOADS) if not workloads or "peers" in names else workloads


def lines_of(row, found):
    """What a row says of its figures, and why it has none or not all."""
    lines = []
    try:
        lines = row.judge(found)
    except (KeyError, ValueError, ZeroDivisionError) as error:
        found.facts.setdefault("error", f"its figures cannot be judged: {error!r}")
    if "error" in found.facts:
        lines.append(Line(row.name, row.about, "failed", "", None, found.facts["error"].replace("\n", " ").replace("|", "/")))
    return lines


def measure_row(bench, row):
    """Measures one row; a failure is kept and told, an interruption goes on."""
    found = bench.found[row.name] = Found()
    bench.row = row.name
    began = time.monotonic()
    try:
        row.measure(bench, found)
    except KeyboardInterrupt:
        found.facts["error"] = "interrupted"
        raise
    except Exception as error:  # Whatever it is, the other rows are still wanted.
        traceback.print_exc()
        found.facts["error"] = str(error)[:400] or repr(error)
    finally:
        found.facts["elapsed_s"] = round(time.monotonic() - began, 1)
        for leftover in bench.folder.iterdir():
            shutil.rmtree(leftover, ignore_errors=True) if leftover.is_dir() else leftover.unlink()


def table(bench, about, elapsed):
    """The whole table as Markdown."""
    text = [
        f"Machine: {about['cpu']}, {about['cpus']} cores, {about['memory_mb']:,} MB, {about['system']}, {about['file_system']}; "
        f"{about['date']} UTC, load {about['load_at_start']:.2f} at the start, {elapsed / 60:.0f} minutes.",
        "",
    ]
    if bench.quick:
        text += ["**`--quick`: small sizes and one run. This is not a measurement.**", ""]
    text += ["| work | goal | measured median (min .. max) | ratio (of runs side by side) | goal met |", "|---|---|---|---|---|"]
    for name, found in bench.found.items():
        text += [line.markdown() for line in lines_of(ROWS[name], found)]
    text += [line.markdown() for line in judge_memory(bench.memory_mb)]
    return "\n".join(text)


def save(path, bench, about):
    rows = {name: {"series": found.series, "facts": found.facts} for name, found in bench.found.items()}
    for name, row in rows.items():
        row["lines"] = [vars(line) for line in lines_of(ROWS[name], bench.found[name])]
    results = {"machine": about, "quick": bench.quick, "runs": bench.runs, "rows": rows, "memory_mb": bench.memory_mb}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n")


def main():
    chosen = arguments()
    if chosen.draw_page:
        PAGE.with_suffix(".svg").write_text(draw_page.chart(PAGE.read_text()))
        print(f"written: {PAGE.with_suffix('.svg')}", file=sys.stderr)
        return
    if chosen.draw:
        SVG.write_text(draw.chart(json.loads(chosen.draw.read_text())))
        print(f"written: {SVG}", file=sys.stderr)
        return
    build()
    about = machine(chosen.folder)
    folder = Path(tempfile.mkdtemp(prefix="vlflab-measure-", dir=chosen.folder))
    folder.chmod(0o755)
    rows, workloads = wanted_rows(chosen.rows)
    runs = 1 if chosen.quick else chosen.runs
    bench = Bench(folder, runs, chosen.quick, chosen.vlfs, workloads, chosen.clean_build, chosen.other_build)
    interrupted = False
    try:
        for index, row in enumerate(rows):
            left = sum(later.seconds(bench) for later in rows[index:])
            print(f"{row.name}: {row.about}; about {left / 60:.0f} min left in all", file=sys.stderr, flush=True)
            measure_row(bench, row)
            save(chosen.out, bench, about)
    except KeyboardInterrupt:
        interrupted = True
        print("interrupted: what was measured until now follows", file=sys.stderr)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    save(chosen.out, bench, about)
    print(table(bench, about, time.monotonic() - bench.began))
    print(f"written: {chosen.out}", file=sys.stderr)
    failed = any("error" in found.facts for found in bench.found.values())
    sys.exit(130 if interrupted else int(failed))


if __name__ == "__main__":
    main()
