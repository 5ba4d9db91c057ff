#!/usr/bin/env python3
"""How accurate the models of disks are: the tables of docs/validity.md that need runs.

    benches/validity.py published                  published seconds beside modelled ones; about 10 minutes, 15 GB of disk
    benches/validity.py published --processor      with this machine's processor time, on a quiet machine
    benches/validity.py own                        this disk: probed, predicted, measured; a quiet machine, about 15 minutes, 15 GB
    benches/validity.py own --quick                small sizes, one run: shows that everything works, measures nothing

Tables go to stdout as Markdown, progress to stderr. VLFLAB=path measures another binary than target/release/vlflab. The choice of each
disk is written down beside its figures (CHOICES), with its reason: it was made from the post's text, before anything was run.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DISKS = ROOT / "disks"
VALIDITY = ROOT / "benches" / "validity"
NEAR = 0.25

CHOICES = {
    "kent": ("hdd-7200-2006", DISKS / "hdd-7200-2006.toml"),
    "berry": ("ssd-sata-2012", DISKS / "ssd-sata-2012.toml"),
    "sqlsat": ("sqlsat-2011", VALIDITY / "sqlsat-2011.toml"),
    "ezequiel": ("hdd-7200-2010", DISKS / "hdd-7200-2010.toml"),
}

# What is run for each post: experiment, scale, configurations.
RUNS = {
    "kent": ("recovery", "full", ["bad-classic", "good-classic"]),
    "berry": (VALIDITY / "growths.toml", "full", ["berry_small", "berry_large"]),
    "sqlsat": ("dml", "full", ["slow-classic", "fast-classic"]),
    "ezequiel": (VALIDITY / "growths.toml", "full", ["ezequiel_small", "ezequiel_large"]),
}

CALIBRATES = "calibrates the disk: does not count"
CHECKPOINTS = "analysis reads from the last checkpoint: SQL Server had made one, here the log is too short for one"
OTHER_START = "what else SQL Server does at the start of a database, beside looking for VLFs, is not known and not modelled"
ROW_WORK = "the doublings are processor work (CXPACKET is 72 to 95 % of the waits): not run, not extrapolated"

# Post, figure, published seconds, configuration, measurement (None: not run), why it does not count or misses.
FIGURES = [
    ("kent", "discovery, 20,480 VLFs", 106.31, "bad-classic", "discovery_s", ""),
    ("kent", "filling 5 GB by 1 MB", 561, "bad-classic", "fill_s", ""),
    ("kent", "redo, 20,480 VLFs", 95.56, "bad-classic", "redo_s", ""),
    ("kent", "filling 5 GB made at once", 114, "good-classic", "fill_s", ""),
    ("kent", "redo, 16 VLFs", 94.47, "good-classic", "redo_s", CALIBRATES),
    ("kent", "discovery, 16 VLFs", 6.35, "good-classic", "discovery_s", OTHER_START),
    ("kent", "analysis, 20,480 VLFs", 11.52, "bad-classic", "analysis_s", CHECKPOINTS),
    ("kent", "analysis, 16 VLFs", 15.23, "good-classic", "analysis_s", CHECKPOINTS),
    ("kent", "undo, 20,480 VLFs", 0.13, "bad-classic", "undo_s", "the undo of one small transaction: what else happens between the two lines of the error log is not known"),
    ("kent", "undo, 16 VLFs", 0.20, "good-classic", "undo_s", "the same"),
    ("kent", "start to recovered, 20,480 VLFs", 220, "bad-classic", "restart_s", "analysis, as above"),
    ("kent", "start to recovered, 16 VLFs", 122, "good-classic", "restart_s", "analysis, as above"),
    ("berry", "test 1 less test 4: 31,596 growths", 363, "berry_small", "growth_s", CALIBRATES),
    ("berry", "test 2 less test 4: 31,596 growths", 358, "berry_small", "growth_s", ""),
    ("berry", "test 3 less test 4: growths by 1,024 MB", 60, "berry_large", "growth_s", ""),
    ("berry", "test 1", 1074, None, None, ROW_WORK),
    ("berry", "test 2", 1069, None, None, ROW_WORK),
    ("berry", "test 3", 771, None, None, ROW_WORK),
    ("berry", "test 4", 711, None, None, ROW_WORK),
    ("berry", "test 5", 716, None, None, ROW_WORK),
    ("berry", "test 6", 723, None, None, ROW_WORK),
    ("sqlsat", "INSERT, large log", 6.431, "fast-classic", "insert_s", CALIBRATES),
    ("sqlsat", "UPDATE, large log", 17.837, "fast-classic", "update_s", "the post's UPDATE took 2.8 times its INSERT, ours logs twice as much: the width of its rows is not told"),
    ("sqlsat", "DELETE, large log", 6.711, "fast-classic", "delete_s", ""),
    ("sqlsat", "INSERT, small log", 13.177, "slow-classic", "insert_s", ""),
    ("sqlsat", "UPDATE, small log", 42.558, "slow-classic", "update_s", ""),
    ("sqlsat", "DELETE, small log", 13.380, "slow-classic", "delete_s", "here the log is large enough since the UPDATE; the post does not say in which order it ran its statements, nor what was backed up between them"),
    ("ezequiel", "growing to 2,048 MB by 1 MB", 120, "ezequiel_small", "growth_s", ""),
    ("ezequiel", "growing to 2,048 MB by 1,024 MB", 2, "ezequiel_large", "growth_s", "1 GB/s is more than the disk's link: the host of the virtual machine kept the zeros"),
]

MECHANISMS = [
    ("discovery", "discovery_s"),
    ("growth", "growth_s"),
    ("fill", "fill_s"),
    ("redo", "redo_s"),
    ("log backup", "log_backup_s"),
]

# The phases of a recovery, which the error log tells in whole milliseconds, and how long one has to be so that this is nothing.
PHASES = ["discovery_s", "redo_s"]
TOLD_S = 0.01


def program():
    return os.environ.get("VLFLAB", str(ROOT / "target" / "release" / "vlflab"))


def run(experiment, scale, only, folder, extra):
    """The configurations of one run, by their names without the disk."""
    names = [argument for name in only for argument in ("--only", name)]
    command = [program(), "run", str(experiment), "--scale", scale, *names, "--out", str(folder), "--overwrite", *extra]
    print(" ".join(command), file=sys.stderr)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout[-2000:]}")
    results = json.loads((folder / "results.json").read_text())
    return {each["name"].split("@")[0]: each for each in results["experiments"][0]["configurations"]}


def seconds(configuration, measurement):
    """Seconds of the device and of the processor. Growths by ALTER DATABASE commit a row of master each, which automatic ones do not:
    WRITELOG, waited for by nothing else in these runs, is taken off where growths by hand stand for automatic ones."""
    found = configuration["measurements"][measurement]
    device, processor = found.get("device_s", found["median"]), found.get("processor_s", 0.0)
    if configuration["name"].startswith("berry"):
        waits = {each["wait_type"]: each["wait_time_ms"] for each in configuration["waits"]}
        device -= waits.get("WRITELOG", 0) / 1e3
    return device, processor


def shown(value):
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def verdict(ratio, reason):
    """Whether a figure counts, and what is said of it."""
    is_near = abs(ratio - 1) <= NEAR
    if reason == CALIBRATES:
        return "", reason
    return ("yes" if is_near else "no"), ("" if is_near else reason)


def published(chosen, folder):
    """The table of published beside modelled seconds."""
    extra = [] if chosen.processor else ["--without-processor-time"]
    found = {}
    for post, (experiment, scale, only) in RUNS.items():
        disk = CHOICES[post][1]
        found[post] = run(experiment, scale, only, folder / post, ["--runs", "1", "--disk", str(disk), *extra])
    lines, near, uncalibrated = [], 0, 0
    for post, what, value, configuration, measurement, reason in FIGURES:
        cells = [post, what, shown(value)]
        if configuration is None:
            lines.append(cells + ["-", "-", "-", "no", reason])
            uncalibrated += 1
            continue
        device, processor = seconds(found[post][configuration], measurement)
        ratio = (device + processor) / value
        within, why = verdict(ratio, reason)
        uncalibrated += within != ""
        near += within == "yes"
        spent = shown(processor) if chosen.processor else "-"
        lines.append(cells + [shown(device), spent, f"{ratio:.2f}", within, why])
    print("| post | figure | published, s | device, s | processor, s | ratio | within 25 % | |\n|---|---|---|---|---|---|---|---|")
    for line in lines:
        print("| " + " | ".join(line) + " |")
    print(f"\n{near} of {uncalibrated} figures that calibrate nothing are within 25 %.")


def own(chosen, folder):
    """The table of this disk: predicted by the device that was fitted to it, and measured."""
    disk = folder / "probed.toml"
    probe = [program(), "disks", "probe", str(folder), "--out", str(disk), "--overwrite"]
    print(" ".join(probe), file=sys.stderr)
    probed = subprocess.run(probe, stdout=subprocess.PIPE, text=True, check=True)
    scale, names = ("quick", ["v16small", "v100"]) if chosen.quick else ("full", ["v16", "v1000", "v20480"])
    experiment = VALIDITY / "own.toml"
    measured = run(experiment, scale, names, folder / "measured", [] if chosen.quick else ["--runs", str(chosen.runs)])
    predicted = run(experiment, scale, names, folder / "predicted", ["--runs", "1", "--disk", str(disk)])
    print("| VLFs | | predicted, s | of it device | measured, s (lowest to highest) | ratio | within 25 % |\n|---|---|---|---|---|---|---|")
    for name in names:
        vlfs = int(measured[name]["measurements"]["vlf_count"]["median"])
        for what, measurement in MECHANISMS:
            device, processor = seconds(predicted[name], measurement)
            found = measured[name]["measurements"][measurement]
            samples = found["values"]
            is_told = found["median"] >= TOLD_S or measurement not in PHASES
            ratio = (device + processor) / max(found["median"], 1e-9)
            near = ("yes" if abs(ratio - 1) <= NEAR else "no") if is_told else "too short to tell"
            shown_ratio = f"{ratio:.2f}" if is_told else "-"
            spread = f"{found['median']:.3f} ({min(samples):.3f} to {max(samples):.3f})"
            print(f"| {vlfs:,} | {what} | {device + processor:.3f} | {device:.3f} | {spread} | {shown_ratio} | {near} |")
    print(f"\nThe probe:\n\n```\n{probed.stdout.strip()}\n```")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=["published", "own"])
    parser.add_argument("--processor", action="store_true", help="published: count this machine's processor time as well")
    parser.add_argument("--quick", action="store_true", help="own: small sizes, one run; no measurement")
    parser.add_argument("--runs", type=int, default=3, help="own: runs that are measured (default %(default)s)")
    parser.add_argument("--folder", type=Path, default=Path("/var/tmp"), help="where databases go (default %(default)s)")
    chosen = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="vlflab-validity-", dir=chosen.folder))
    try:
        (published if chosen.table == "published" else own)(chosen, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
