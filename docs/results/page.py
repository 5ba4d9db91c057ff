#!/usr/bin/env python3
"""Writes disk-costs.csv and the page docs/disk-costs.md from a sweep's results: page.py RESULTS.csv.

    vlflab sweep docs/results/disk-costs.toml --out costs --jobs 4
    vlflab report costs
    docs/results/page.py costs/results.csv
"""

import csv
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
KEYS = ["disk", "sql_version", "log_policy", "vlfs"]
MEASURES = ["discovery_s", "analysis_s", "redo_s", "undo_s", "recovery_s", "restart_s", "growth_s", "fill_s", "log_backup_s"]
# Columns of the page: what is measured, and in words.
SHOWN = [("restart_s", "restart"), ("discovery_s", "finding the VLFs"), ("growth_s", "growing the log"), ("log_backup_s", "log backup")]
COUNTS = ["16", "100", "1000"]
# The rules under which these growths make as many VLFs.
VERSION = "2012"


def configurations(path):
    """A row of measures for each configuration."""
    found = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            if row["kind"] == "measurement":
                found.setdefault(tuple(row[key] for key in KEYS), {})[row["name"]] = row["value"]
    return dict(sorted(found.items(), key=lambda item: (*item[0][:3], int(item[0][3]))))


def shown(seconds):
    """Three digits."""
    value = float(seconds)
    for unit, factor in [("s", 1), ("ms", 1e3)]:
        if value * factor >= 1:
            return f"{float(f'{value * factor:.3g}'):g} {unit}"
    return f"{float(f'{value * 1e6:.3g}'):g} µs"


def table(found, version, policy):
    lines = ["| disk | VLFs | " + " | ".join(words for _, words in SHOWN) + " |", "|---|--:|" + "--:|" * len(SHOWN)]
    for disk in sorted({key[0] for key in found}):
        for vlfs in COUNTS:
            measures = found[disk, version, policy, vlfs]
            name = f"[`{disk}`](disks.md#{disk})" if vlfs == COUNTS[0] else ""
            lines.append(f"| {name} | {int(vlfs):,} | " + " | ".join(shown(measures[name]) for name, _ in SHOWN) + " |")
    return "\n".join(lines)


PAGE = """# What VLFs cost, disk by disk

<!-- Made by docs/results/page.py. -->

Find your disk's row, or the [modelled disk](disks.md) most like it. Each figure is from a run in which every statement is executed and the disk's
time is computed from the disk's figures; processors take no time in it. So it is the same on every machine.

The log grows in steps of 1 MB to 4, 25 or 250 MB. Under the rules of SQL Server 2012 and earlier, that makes 16, 100 or 1,000 VLFs of 256 KB; later
rules [make fewer](vlf-rules.md). Then the server is killed and starts again. `classic` is a log
that works as SQL Server's does in published measurements; `native` is vlflab's own ([glossary](glossary.md)).

- restart: from the start of the server until the database is recovered
- finding the VLFs: the part of it in which the log is discovered
- growing the log: how much longer the same transactions take while the log grows than in the log at its full size
- log backup: one backup of the whole log

## classic

{classic}

## native

{native}

## All figures

[`disk-costs.csv`](results/disk-costs.csv) has a row for each of {count} configurations: also analysis, redo and undo, and the same growths
under the rules of SQL Server 2022. In DuckDB:

```sql
FROM 'docs/results/disk-costs.csv' WHERE disk = 'ebs-gp3' ORDER BY log_policy, sql_version, vlfs;
```

These commands make it anew. For a disk of your own, add the path of its file to `disks`:

```sh
vlflab sweep docs/results/disk-costs.toml --out costs --jobs 4
vlflab report costs
docs/results/page.py costs/results.csv
```
"""


def main():
    found = configurations(sys.argv[1])
    with open(HERE / "disk-costs.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(KEYS + MEASURES)
        for key, measures in found.items():
            writer.writerow([*key, *(measures[name] for name in MEASURES)])
    page = PAGE.format(classic=table(found, VERSION, "classic"), native=table(found, VERSION, "native"), count=len(found))
    (HERE.parent / "disk-costs.md").write_text(page)


if __name__ == "__main__":
    main()
