"""The engines to compare, each with a folder of its own, durable settings, and a client over TCP on the loopback.

A peer runs a script and gives back what it printed; a timed script prints the microseconds its own clock saw, so that the
start of a client process is not measured. `load` runs one prepared statement from several clients at once, with the lightest
load generator there is for the peer: pgbench, sysbench, our `load` example. SQLite has no server: its work is done by this
program or by processes like it, with Python's own sqlite3 module.
"""

import json
import multiprocessing
import os
import random
import re
import shutil
import socket
import sqlite3
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "Peers 1 peers"
CACHE_MB = 4096


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def output_of(command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if done.returncode:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def resident_mb_max(process_id):
    """The most memory a process ever had resident, MB."""
    return status_mb(process_id, "VmHWM")


def status_mb(process_id, name):
    """A memory figure of a process out of /proc, MB."""
    status = Path(f"/proc/{process_id}/status").read_text()
    return int(re.search(rf"{name}:\s+(\d+) kB", status).group(1)) / 1024


class Vlflab:
    """This engine, as released: `cargo build --release`."""

    name = "vlflab"
    # Whose scripts and statements of a workload it runs.
    dialect = "vlflab"

    def __init__(self, folder, log_policy="native", sql_version="2022"):
        release = ROOT / "target" / "release"
        self.folder = folder / self.name
        self.program = Path(os.environ.get("VLFLAB", release / "vlflab"))
        self.load_program = release / "examples" / "load"
        self.log_policy = log_policy
        self.sql_version = sql_version
        self.process = None
        self.port = None

    def missing(self):
        for program in (self.program, self.load_program):
            if not program.exists():
                return f"build {program} first: cargo build --release -p vlflab -p vlflab-lab --bins --examples"
        return None

    def start(self):
        command = [self.program, "serve", "--data", self.folder, "--port", "0", "--until-stdin-closes"]
        command += ["--max-server-memory", str(CACHE_MB), "--log-policy", self.log_policy]
        command += ["--sql-version", self.sql_version]
        environment = {**os.environ, "MSSQL_SA_PASSWORD": PASSWORD}
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for line in self.process.stdout:
            ready = re.search(r"Server=127\.0\.0\.1,(\d+);", line)
            if ready:
                self.port = int(ready.group(1))
                return
        raise RuntimeError(f"vlflab ended with {self.process.wait()}")

    def stop(self):
        self.process.stdin.close()
        self.process.wait(120)

    def kill(self):
        """As a crash would: SIGKILL."""
        self.process.kill()
        self.process.wait(60)

    def run(self, script, database="master"):
        """Runs one batch; its output without headings."""
        command = [self.program, "sql", "-S", f"127.0.0.1,{self.port}", "-P", PASSWORD, "-d", database]
        return output_of([*command, "-W", "-h", "-1", "-Q", script])

    def load(self, load):
        command = [self.load_program, self.port, "peers", load.clients, load.repeats, load.keys, load.statements[self.dialect]]
        found = json.loads(output_of(command, env={**os.environ, "MSSQL_SA_PASSWORD": PASSWORD}))
        return found["seconds"]

    def resident_mb_max(self):
        return resident_mb_max(self.process.pid)

    def settings(self):
        version = output_of([self.program, "--version"]).strip()
        return {"version": version, "log_policy": self.log_policy, "memory_mb": CACHE_MB}


class OtherBuild(Vlflab):
    """This engine, as another build of it has it: what a change cost or brought."""

    name = "other build"

    def __init__(self, folder, log_policy, program):
        super().__init__(folder, log_policy)
        self.program = program


class PostgreSql:
    """PostgreSQL of the distribution (Debian: apt-get install postgresql postgresql-contrib), as the user postgres."""

    name = "postgresql"
    dialect = "postgresql"
    configuration = {
        "shared_buffers": f"{CACHE_MB}MB",
        "effective_cache_size": "16GB",
        "work_mem": "64MB",
        "maintenance_work_mem": "512MB",
        "max_wal_size": "24GB",
        "checkpoint_timeout": "1h",
        "wal_buffers": "64MB",
        "default_toast_compression": "lz4",
        "fsync": "on",
        "full_page_writes": "on",
        "synchronous_commit": "on",
        "wal_sync_method": "fdatasync",
        "wal_level": "replica",
    }

    def __init__(self, folder):
        self.folder = folder / self.name
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
        self.programs = found[-1] if found else None
        self.port = free_port()
        self.user = "postgres" if os.geteuid() == 0 else os.environ.get("USER", "postgres")

    def missing(self):
        if not self.programs or not (self.programs / "pgbench").exists():
            return "PostgreSQL or its pgbench is not installed (Debian: apt-get install postgresql postgresql-contrib)"
        return None

    def as_postgres(self, *command):
        """PostgreSQL refuses to run as root."""
        prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        return output_of([*prefix, *command], cwd="/")

    def start(self):
        if not self.folder.exists():
            self.folder.mkdir(parents=True)
            if os.geteuid() == 0:
                shutil.chown(self.folder, "postgres")
            self.as_postgres(self.programs / "initdb", "-D", self.folder / "data", "-A", "trust", "--locale=C", "-E", "UTF8")
            lines = [f"{name} = {value}" for name, value in self.configuration.items()]
            lines += ["listen_addresses = '127.0.0.1'", f"port = {self.port}", f"unix_socket_directories = '{self.folder}'"]
            with open(self.folder / "data" / "postgresql.conf", "a") as file:
                file.write("\n".join(lines) + "\n")
        log = self.folder / "log"
        self.as_postgres(self.programs / "pg_ctl", "-D", self.folder / "data", "-l", log, "-w", "-t", "600", "start")

    def stop(self):
        self.as_postgres(self.programs / "pg_ctl", "-D", self.folder / "data", "-m", "fast", "-w", "-t", "600", "stop")

    def kill(self):
        """As a crash would: SIGKILL for every process."""
        process_id = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        children = output_of(["pgrep", "-P", process_id]).split()
        subprocess.run(["kill", "-9", str(process_id), *children], check=False)
        while Path(f"/proc/{process_id}").exists():
            time.sleep(0.01)
        (self.folder / "data" / "postmaster.pid").unlink(missing_ok=True)

    def client(self, program):
        return [self.programs / program, "-h", "127.0.0.1", "-p", self.port, "-U", self.user]

    def run(self, script):
        return output_of([*self.client("psql"), "-d", "postgres", "-qAtX", "-v", "ON_ERROR_STOP=1"], input=script)

    def load(self, load):
        script = self.folder.parent / "pgbench.sql"
        script.write_text(f"\\set key random(1, {load.keys})\n{load.statements[self.name]};\n")
        command = [*self.client("pgbench"), "-n", "-M", "prepared", "-c", load.clients, "-j", min(load.clients, 2)]
        printed = output_of([*command, "-t", load.repeats, "-f", script, "postgres"])
        rate = float(re.search(r"tps = ([0-9.]+) \(without initial connection time\)", printed).group(1))
        return load.clients * load.repeats / rate

    def settings(self):
        return {"version": output_of([self.programs / "postgres", "--version"]).strip(), **self.configuration}


SYSBENCH = """
function thread_init()
  connection = sysbench.sql.driver():connect()
  statement = connection:prepare("%(statement)s")
  key = statement:bind_create(sysbench.sql.type.INT)
  statement:bind_param(key)
end
function event()
  key:set(sysbench.rand.uniform(1, %(keys)d))
  statement:execute()
end
"""


class MariaDb:
    """MariaDB of the distribution (Debian: apt-get install mariadb-server sysbench)."""

    name = "mariadb"
    dialect = "mariadb"
    configuration = {
        "innodb_buffer_pool_size": f"{CACHE_MB}M",
        "innodb_log_file_size": "16G",
        "innodb_log_buffer_size": "64M",
        "innodb_flush_log_at_trx_commit": "1",
        "innodb_flush_method": "O_DIRECT",
        "innodb_doublewrite": "ON",
        "innodb_io_capacity": "2000",
        "innodb_io_capacity_max": "20000",
        "transaction_isolation": "READ-COMMITTED",
        "character_set_server": "latin1",
        "max_allowed_packet": "64M",
    }

    def __init__(self, folder):
        self.folder = folder / self.name
        self.port = free_port()
        self.process = None

    def missing(self):
        programs = ("mariadbd", "mariadb", "mariadb-install-db", "sysbench")
        absent = [program for program in programs if not shutil.which(program)]
        return f"not installed: {', '.join(absent)} (Debian: apt-get install mariadb-server sysbench)" if absent else None

    def start(self):
        if not self.folder.exists():
            self.folder.mkdir(parents=True)
            if os.geteuid() == 0:
                shutil.chown(self.folder, "mysql")
            output_of(["mariadb-install-db", "--no-defaults", f"--datadir={self.folder}", "--auth-root-authentication-method=normal",
                       *(["--user=mysql"] if os.geteuid() == 0 else [])])
        command = ["mariadbd", "--no-defaults", f"--datadir={self.folder}", f"--port={self.port}", "--bind-address=127.0.0.1"]
        command += [f"--socket={self.folder}/socket", f"--pid-file={self.folder}/pid", "--skip-name-resolve"]
        command += ["--user=mysql"] if os.geteuid() == 0 else []
        command += [f"--{name.replace('_', '-')}={value}" for name, value in self.configuration.items()]
        with open(self.folder.parent / "mariadb.log", "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        for _ in range(6000):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    break
            time.sleep(0.01)
        output_of(["mariadb", *self.login(), "-e", "create database if not exists peers"])

    def login(self):
        return ["--no-defaults", "-h", "127.0.0.1", "-P", self.port, "-u", "root"]

    def stop(self):
        self.process.terminate()
        self.process.wait(600)

    def kill(self):
        """As a crash would: SIGKILL."""
        self.process.kill()
        self.process.wait(60)

    def run(self, script):
        return output_of(["mariadb", *self.login(), "-N", "-B", "peers"], input=script)

    def load(self, load):
        script = self.folder.parent / "sysbench.lua"
        script.write_text(SYSBENCH % {"statement": load.statements[self.name], "keys": load.keys})
        events = load.clients * load.repeats
        command = ["sysbench", script, "--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-port={self.port}"]
        command += ["--mysql-user=root", "--mysql-db=peers", f"--threads={load.clients}", f"--events={events}", "--time=0", "run"]
        printed = output_of(command)
        return float(re.search(r"total time:\s+([0-9.]+)s", printed).group(1))

    def settings(self):
        return {"version": output_of(["mariadbd", "--version"]).strip(), **self.configuration}


def sqlite_client(path, statement, repeats, keys, ready, number):
    """One process among several that write to one file."""
    connection = sqlite3.connect(path, timeout=600, isolation_level=None)
    connection.execute("pragma synchronous = full")
    draw = random.Random(number)
    ready.wait()
    for _ in range(repeats):
        connection.execute(statement, (draw.randint(1, keys),))


class Sqlite:
    """SQLite of Python's standard library; a script is a Python function of a connection."""

    name = "sqlite"
    dialect = "sqlite"
    configuration = {"journal_mode": "wal", "synchronous": "full", "cache_size": f"-{CACHE_MB * 1024}"}

    def __init__(self, folder):
        self.folder = folder / self.name
        self.connection = None

    def missing(self):
        return None

    def start(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        self.connection = sqlite3.connect(self.folder / "peers.db", isolation_level=None)
        for name, value in self.configuration.items():
            self.connection.execute(f"pragma {name} = {value}")

    def stop(self):
        self.connection.close()

    def run(self, script):
        """A function of the connection that gives back a number, or the text of statements to run."""
        if callable(script):
            return f"{script(self.connection)}\n"
        self.connection.executescript(script)
        return ""

    def load(self, load):
        ready = multiprocessing.Barrier(load.clients + 1)
        common = (self.folder / "peers.db", load.statements[self.name], load.repeats, load.keys, ready)
        clients = [multiprocessing.Process(target=sqlite_client, args=(*common, number)) for number in range(load.clients)]
        for client in clients:
            client.start()
        ready.wait()
        begin = time.monotonic()
        for client in clients:
            client.join()
        return time.monotonic() - begin

    def settings(self):
        return {"version": sqlite3.sqlite_version, **self.configuration}


PEERS = {peer.name: peer for peer in (Vlflab, PostgreSql, MariaDb, Sqlite)}
