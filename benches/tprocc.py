#!/usr/bin/env python3
"""HammerDB's TPROC-C on vlflab and on PostgreSQL in turns: new orders a minute (NOPM).

    benches/tprocc.py --hammerdb FOLDER                 5 minutes each, three turns, 4 warehouses, 4 users; a quiet machine, 45 minutes
    benches/tprocc.py --hammerdb FOLDER --seconds 20 --ramp-up 5 --turns 1 --warehouses 1 --users 2    shows that it works
    VLFLAB=path benches/tprocc.py ...                   another binary than target/release/vlflab

FOLDER has HammerDB's sources (github.com/TPC-Council/HammerDB, 6.0). Its programs run as they are: the tables, rows, indexes and stored procedures of
both databases, and the five transactions, their parameters and mix, without keying and thinking times. It speaks to vlflab by ODBC with FreeTDS, to
PostgreSQL by libpq. Debian: apt-get install tcl tcl-tdbc tcl8.6-tdbc-odbc tdsodbc libpgtcl postgresql postgresql-contrib.

What differs from HammerDB itself: its windows and command line are not there (benches/tprocc.tcl says how), as they need Tcl 9, which Debian has
not; virtual users are processes in place of threads; the schema is loaded by one user; tables are loaded by INSERT, not by bcp, into
vlflab a warehouse's stock, a district's customers or orders in one transaction, where HammerDB commits every second row. NOPM is found
as HammerDB finds it: the growth of sum(d_next_o_id) in a part of the run, here between the end of the ramp-up and the end of the run.

Prints a line for each turn and the medians. TPROC-C is derived from TPC-C and no result of it is one of TPC-C. The exit code is 1 if transactions
failed."""

import argparse
import collections
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from peers.peers import PASSWORD, PostgreSql, Vlflab, output_of

TCL = pathlib.Path(__file__).resolve().parent / "tprocc.tcl"
DATABASE = "tpcc"
ORDERS = "select sum(d_next_o_id) from district"
DRIVERS = ("/usr/lib/*/odbc/libtdsodbc.so", "/usr/lib64/libtdsodbc.so*", "/usr/local/lib/libtdsodbc.so")


class Own:
    """vlflab, and what HammerDB's dialog for SQL Server says of it."""

    title, database = "vlflab", "mssqls"

    def __init__(self, folder):
        self.server = Vlflab(folder)

    def missing(self):
        if not self.server.program.exists():
            return f"{self.server.program} is not there: cargo build --release"
        return None if driver() else "FreeTDS's ODBC driver is not installed (Debian: apt-get install tdsodbc)"

    def settings(self):
        return {
            "mssqls_linux_server": f"127.0.0.1;PORT={self.server.port};TDS_Version=7.4",
            "mssqls_linux_odbc": driver(),
            "mssqls_linux_authent": "sql",
            "mssqls_port": self.server.port,
            "mssqls_uid": "sa",
            "mssqls_pass": PASSWORD,
            "mssqls_tcp": "false",
            "mssqls_azure": "false",
            "mssqls_dbase": DATABASE,
            "mssqls_imdb": "false",
            "mssqls_bucket": 1,
            "mssqls_durability": "SCHEMA_AND_DATA",
            "mssqls_encrypt_connection": "false",
            "mssqls_trust_server_cert": "true",
            "mssqls_use_bcp": "false",
            "mssqls_msi_object_id": "null",
            "mssqls_num_vu": 1,
            "mssqls_total_iterations": 1_000_000_000,
            "mssqls_raiseerror": "false",
            "mssqls_keyandthink": "false",
            "mssqls_connect_pool": 0,
        }

    def warehouses(self, count):
        return {"mssqls_count_ware": count}

    def after_build(self):
        self.server.run("checkpoint", DATABASE)

    def orders(self):
        return int(self.server.run(f"set nocount on {ORDERS}", DATABASE).split()[0])

    def version(self):
        return output_of([self.server.program, "--version"]).strip()


class Other:
    """PostgreSQL, and what HammerDB's dialog for it says."""

    title, database = "PostgreSQL", "pg"

    def __init__(self, folder):
        self.server = PostgreSql(folder)

    def missing(self):
        return self.server.missing()

    def settings(self):
        return {
            "pg_host": "127.0.0.1",
            "pg_port": self.server.port,
            "pg_sslmode": "prefer",
            "pg_superuser": self.server.user,
            "pg_superuserpass": "postgres",
            "pg_defaultdbase": "postgres",
            "pg_dbase": DATABASE,
            "pg_tspace": "pg_default",
            "pg_user": "tpcc",
            "pg_pass": "tpcc",
            "pg_oracompat": "false",
            "pg_cituscompat": "false",
            "pg_storedprocs": "true",
            "pg_partition": "false",
            "pg_num_vu": 1,
            "pg_total_iterations": 1_000_000_000,
            "pg_raiseerror": "false",
            "pg_keyandthink": "false",
            "pg_connect_pool": 0,
        }

    def warehouses(self, count):
        return {"pg_count_ware": count}

    def after_build(self):
        self.server.run("checkpoint")

    def orders(self):
        return int(output_of([*self.server.client("psql"), "-d", DATABASE, "-qAtX", "-c", ORDERS]))

    def version(self):
        return output_of([self.server.programs / "postgres", "--version"]).strip()


def driver():
    """FreeTDS's library for ODBC, if it is installed."""
    for pattern in DRIVERS:
        for path in sorted(pathlib.Path("/").glob(pattern.lstrip("/"))):
            return str(path)
    return None


def hammerdb(asked, side, work, until=0):
    """A process of HammerDB's program."""
    settings = {**side.settings(), **side.warehouses(asked.warehouses)}
    words = [str(word) for pair in settings.items() for word in pair]
    command = ["tclsh", str(TCL), str(asked.hammerdb), work, side.database, str(until), *words]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def build(asked, side):
    begin = time.monotonic()
    builder = hammerdb(asked, side, "build")
    printed, failures = builder.communicate()
    if builder.returncode != 0 or "SCHEMA COMPLETE" not in printed:
        sys.exit(f"{side.title}: the schema was not built:\n{printed[-2000:]}{failures[-2000:]}")
    side.after_build()
    print(f"{side.title}: {asked.warehouses} warehouses in {time.monotonic() - begin:.0f} s; {side.version()}", flush=True)


def turn(asked, side):
    """New orders a minute, transactions by kind, and the words of a failure."""
    until = int(time.time()) + asked.ramp_up + asked.seconds + 1
    users = [hammerdb(asked, side, "drive", until) for _ in range(asked.users)]
    time.sleep(asked.ramp_up)
    begin, orders = time.monotonic(), side.orders()
    time.sleep(max(0, until - time.time()))
    minutes = (time.monotonic() - begin) / 60
    rate = (side.orders() - orders) / minutes
    counts, failure = collections.Counter(), ""
    for user in users:
        printed, failures = user.communicate()
        if user.returncode != 0:
            sys.exit(f"{side.title}: a user ended: {failures[-2000:]}")
        first, _, words = printed.strip().partition("\n")
        counts.update({name: int(count) for name, count in re.findall(r"([a-z ]+)=(\d+)", first)})
        failure = failure or words
    return rate, counts, failure


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hammerdb", type=pathlib.Path, required=True, help="the folder of HammerDB's sources")
    parser.add_argument("--seconds", type=int, default=300, help="measured, of each turn")
    parser.add_argument("--ramp-up", type=int, default=60, help="seconds before them")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--warehouses", type=int, default=4)
    parser.add_argument("--users", type=int, default=4)
    asked = parser.parse_args()
    if not (asked.hammerdb / "src/mssqlserver/mssqlsoltp.tcl").exists():
        sys.exit(f"{asked.hammerdb} has no sources of HammerDB")
    if not shutil.which("tclsh"):
        sys.exit("tclsh is not installed")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="vlflab-tprocc-", dir=os.environ.get("VLFLAB_DIR")))
    folder.chmod(0o755)
    sides = [Own(folder), Other(folder)]
    for side in sides:
        if reason := side.missing():
            sys.exit(reason)
    started, rates, failed = [], {side.title: [] for side in sides}, 0
    try:
        for side in sides:
            side.server.start()
            started.append(side.server)
            build(asked, side)
        for number in range(asked.turns):
            for side in sides if number % 2 == 0 else sides[::-1]:
                rate, counts, failure = turn(asked, side)
                rates[side.title].append(rate)
                failed += counts["failed"]
                kinds = ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items()))
                print(f"turn {number + 1}: {side.title:10} {rate:9,.0f} NOPM; {kinds} {failure}".rstrip(), flush=True)
    finally:
        for server in started:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    medians = {title: statistics.median(found) for title, found in rates.items()}
    ratio = medians["vlflab"] / max(medians["PostgreSQL"], 1)
    print(
        f"{asked.users} users, {asked.warehouses} warehouses, {asked.turns} turns of {asked.seconds} s: "
        + ", ".join(f"{title} {median:,.0f} NOPM" for title, median in medians.items())
        + f"; ratio {ratio:.2f}; {failed} transactions failed"
    )
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
