#!/usr/bin/env python3
"""An estate in one pass: so many servers of our own, ten databases each, as versions 2005 to 2022, some dead and some silent, read by
`vlflab advise --inventory`; then a year of daily passes as Parquet, and three questions of DuckDB.

    benches/estate.py                 6 servers, of which one is dead and one silent
    benches/estate.py --deep          200 servers, of which 5 are dead and 5 silent
    VLFLAB=path benches/estate.py     another binary (built with --features history)

The databases of each version are made once; every other server of the version gets a copy of the folder with holes where it is empty, so a
server costs little disk and no time. Prints seconds, and what a server has of memory and disk. Ends with 1 if a server that lives was not read,
or one that does not was, if a deep pass takes more than a minute, or if the Python package duckdb is missing (--without-year asks nothing of it)."""

import argparse
import importlib.util
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("VLFLAB", str(ROOT / "target/release/vlflab"))
PASSWORD = "An estate of 1"
# What a deep pass may take.
DEEP_PASS_SECONDS_MAX = 60
VERSIONS = ["2005", "2008", "2012", "2014", "2016", "2017", "2019", "2022"]
# What a version lacks of what is asked.
LACKS = {
    "2005": ["dm_db_log_info=208", "dm_db_log_stats=208", "dm_os_volume_stats=208", "databases.is_cdc_enabled=207"],
    "2008": ["dm_db_log_info=208", "dm_db_log_stats=208"],
    "2012": ["dm_db_log_info=208", "dm_db_log_stats=208", "databases.delayed_durability_desc=207"],
    "2014": ["dm_db_log_info=208", "dm_db_log_stats=208"],
}
DATABASES = 10
QUESTIONS = [
    ("fullest volumes", "SELECT server, volume, min(volume_free_bytes) FROM '{0}/logs/*.parquet' GROUP BY ALL ORDER BY 3 LIMIT 10"),
    (
        "growth a week",
        "SELECT server, database, regr_slope(log_bytes, epoch(taken_at)) * 604800 AS a_week FROM '{0}/logs/*.parquet' "
        "GROUP BY ALL ORDER BY a_week DESC LIMIT 10",
    ),
    ("findings a month", "SELECT date_trunc('month', taken_at), id, count(*) FROM '{0}/findings/*.parquet' GROUP BY ALL ORDER BY 1"),
]


def serve(folder, version):
    """A server, and the port it listens on. The least `max server memory`: what it needs beyond is its own."""
    command = [PROGRAM, "serve", "--port", "0", "--max-server-memory", "16", "--data", str(folder), "--sql-version", version]
    for name in LACKS.get(version, []):
        command += ["--withhold", name]
    environment = {**os.environ, "MSSQL_SA_PASSWORD": PASSWORD}
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=environment)
    line = process.stdout.readline()
    if "Server=" not in line:
        process.kill()
        sys.exit(f"a server of {version} in {folder} did not start")
    return process, int(line.split("Server=")[1].split(";")[0].split(",")[1])


def fill(port):
    """Ten databases."""
    batch = "".join(
        f"create database d{n} on (name = d{n}, filename = 'd{n}.mdf', size = 2MB) log on (name = d{n}_log, filename = 'd{n}.ldf', size = 1MB)\ngo\n"
        for n in range(DATABASES)
    )
    environment = {**os.environ, "SQLCMDPASSWORD": PASSWORD}
    subprocess.run([PROGRAM, "sql", "-l", "120", "-S", f"127.0.0.1,{port}"], input=batch, text=True, env=environment, check=True, stdout=subprocess.DEVNULL)


def template(folder, version):
    """A folder with the databases of a server of this version, which is stopped."""
    process, port = serve(folder, version)
    try:
        fill(port)
    finally:
        process.terminate()
        process.wait()


def cost(process, folder):
    """MB of memory that a server has for itself and shares with the others, and MB of disk."""
    found = {}
    for line in pathlib.Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, value = line.split()[:2]
        found[name] = int(value) / 1024
    own = found["Private_Dirty:"] + found["Private_Clean:"]
    disk = sum(path.stat().st_blocks * 512 for path in folder.rglob("*"))
    return own, found["Rss:"] - own, disk / 1e6


def dead_port():
    """A port where nobody listens."""
    with socket.socket() as once:
        once.bind(("127.0.0.1", 0))
        return once.getsockname()[1]


def year(servers):
    """A year of daily passes: MB, and the seconds of each question."""
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        command = ["cargo", "run", "-q", "--release", "-p", "vlflab-remote", "--features", "parquet", "--example", "year", "--"]
        subprocess.run([*command, folder, str(servers), str(DATABASES)], check=True, cwd=ROOT)
        size = sum(path.stat().st_size for path in pathlib.Path(folder).rglob("*.parquet"))
        print(f"a year of {servers} servers: {size / 1e6:.1f} MB")
        for name, question in QUESTIONS:
            begin = time.monotonic()
            rows = duckdb.sql(question.format(folder)).fetchall()
            print(f"  {name}: {time.monotonic() - begin:.2f} s, {len(rows)} rows")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deep", action="store_true")
    parser.add_argument("--servers", type=int)
    parser.add_argument("--without-year", action="store_true", help="keep no history: for a binary without that feature")
    options = parser.parse_args()
    if not options.without_year and importlib.util.find_spec("duckdb") is None:
        sys.exit("the Python package duckdb is not installed: install it, or take --without-year")
    count = options.servers or (200 if options.deep else 6)
    bad = 10 if count >= 100 else 2
    if count <= bad:
        sys.exit(f"{bad} of the servers are dead or silent: --servers {bad + 1} at least")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="vlflab-estate-"))
    processes, silent, lines = [], [], []
    try:
        for version in VERSIONS[: count - bad]:
            template(folder / version, version)
        for index in range(count - bad):
            version, own = VERSIONS[index % len(VERSIONS)], folder / str(index)
            subprocess.run(["cp", "-a", "--sparse=always", str(folder / version), str(own)], check=True)
            process, port = serve(own, version)
            processes.append(process)
            lines.append(f"127.0.0.1,{port}")
        for index in range(bad):
            if index % 2:
                listener = socket.create_server(("127.0.0.1", 0))
                silent.append(listener)
                lines.append(f"127.0.0.1,{listener.getsockname()[1]}")
            else:
                lines.append(f"127.0.0.1,{dead_port()}")
        inventory = folder / "servers.txt"
        inventory.write_text("\n".join(lines) + "\n")
        command = [PROGRAM, "advise", "--inventory", str(inventory), "--parallel", "32", "--login-timeout", "5"]
        if not options.without_year:
            command += ["--history", str(folder / "history")]
        begin = time.monotonic()
        read = subprocess.run(command, env={**os.environ, "MSSQL_PASSWORD": PASSWORD}, text=True, capture_output=True)
        seconds = time.monotonic() - begin
        own, shared, disk = (sorted(each)[len(processes) // 2] for each in zip(*(cost(process, folder / str(index)) for index, process in enumerate(processes))))
        print(f"a server has {own:.0f} MB of memory for itself, {shared:.0f} MB with the others, and {disk:.0f} MB of disk (medians, after it was read)")
        last = read.stdout.strip().splitlines()[-1] if read.stdout.strip() else read.stderr
        print(f"{count} servers, {bad} of them dead or silent: {seconds:.1f} s, exit code {read.returncode}\n  {last}")
        expected = f"on {count - bad} server"
        if expected not in last or f"{bad} servers not reached" not in last:
            sys.exit(f"expected: {bad} servers not reached ... {expected}")
        if options.deep and seconds > DEEP_PASS_SECONDS_MAX:
            sys.exit(f"the pass took more than {DEEP_PASS_SECONDS_MAX} s")
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)
    if not options.without_year:
        year(count)


main()
