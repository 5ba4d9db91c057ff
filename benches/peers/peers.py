"""The engines to compare, each with a folder of its own, durable settings, and a client over TCP on the loopback.

A peer runs a script of a workload and gives back the seconds that its own clock saw between two marks, so that the start of
a client process is not measured.
"""

import os
import re
import shutil
import socket
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "Peers 1 peers"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def output_of(command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if done.returncode:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


class Vlflab:
    """This engine, as released: `cargo build --release`."""

    name = "vlflab"

    def __init__(self, folder, log_policy="native"):
        self.folder = folder / self.name
        self.program = Path(os.environ.get("VLFLAB", ROOT / "target" / "release" / "vlflab"))
        self.log_policy = log_policy
        self.process = None
        self.port = None

    def missing(self):
        return None if self.program.exists() else f"build {self.program} first: cargo build --release"

    def start(self):
        command = [self.program, "serve", "--data", self.folder, "--port", "0", "--until-stdin-closes"]
        command += ["--max-server-memory", "4096", "--log-policy", self.log_policy]
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
        self.process.wait(60)

    def run(self, script):
        """Runs one batch; its output without headings."""
        command = [self.program, "sql", "-S", f"127.0.0.1,{self.port}", "-P", PASSWORD, "-W", "-h", "-1", "-Q", script]
        return output_of(command)

    def settings(self):
        return {"version": output_of([self.program, "--version"]).strip(), "log_policy": self.log_policy, "memory_mb": 4096}


class PostgreSql:
    """PostgreSQL of the distribution (Debian: apt-get install postgresql), as the user postgres."""

    name = "postgresql"
    configuration = {
        "shared_buffers": "4GB",
        "effective_cache_size": "16GB",
        "work_mem": "64MB",
        "maintenance_work_mem": "512MB",
        "max_wal_size": "24GB",
        "checkpoint_timeout": "1h",
        "wal_buffers": "64MB",
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

    def missing(self):
        if not self.programs:
            return "PostgreSQL is not installed (Debian: apt-get install postgresql)"
        return None

    def as_postgres(self, *command):
        """PostgreSQL refuses to run as root."""
        prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        return output_of([*prefix, *command], cwd="/")

    def start(self):
        if os.geteuid() == 0:
            self.folder.mkdir(parents=True)
            shutil.chown(self.folder, "postgres")
        self.as_postgres(self.programs / "initdb", "-D", self.folder / "data", "-A", "trust", "--locale=C", "-E", "UTF8")
        lines = [f"{name} = {value}" for name, value in self.configuration.items()]
        lines += ["listen_addresses = '127.0.0.1'", f"port = {self.port}", f"unix_socket_directories = '{self.folder}'"]
        with open(self.folder / "data" / "postgresql.conf", "a") as file:
            file.write("\n".join(lines) + "\n")
        log = self.folder / "log"
        self.as_postgres(self.programs / "pg_ctl", "-D", self.folder / "data", "-l", log, "-w", "start")

    def stop(self):
        self.as_postgres(self.programs / "pg_ctl", "-D", self.folder / "data", "-m", "fast", "-w", "stop")

    def run(self, script):
        user = "postgres" if os.geteuid() == 0 else os.environ.get("USER", "postgres")
        command = [self.programs / "psql", "-h", "127.0.0.1", "-p", self.port, "-U", user, "-d", "postgres"]
        return output_of([*command, "-qAtX", "-v", "ON_ERROR_STOP=1"], input=script)

    def settings(self):
        return {"version": output_of([self.programs / "postgres", "--version"]).strip(), **self.configuration}


PEERS = {peer.name: peer for peer in (Vlflab, PostgreSql)}
