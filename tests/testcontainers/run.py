#!/usr/bin/env python3
"""The modules of Testcontainers for Python, Node, Go and Java, and tools that migrate databases, on the image that stands in for SQL Server's.

    packaging/drop-in && tests/testcontainers/run.py target/packages/vlflab-0.1.0-mssql.tar
    tests/testcontainers/run.py IMAGE.tar python go        some of them

Each module runs its program in examples/testcontainers, which a user copies; VLFLAB_IMAGE is all that is said to it. The program for Java has
Flyway and Liquibase make its tables. The other tools (Alembic; Knex, TypeORM and Sequelize; golang-migrate) run what is in `migrations`, forth,
back and forth, on a container that is started here: PORT and PASSWORD are said to them. All come from PyPI, npm, the Go module proxy and Maven
Central into target/testcontainers. The engine is that of DOCKER_HOST, else podman as root, whose images, containers and socket are in a
temporary folder, and whose network is one that no other interface has. How long the image takes is measured too: from the call that starts a
container to its error log's "ready for client connections", and how much of that is the server's. Lines begin with `ok `, `FAIL ` or `skip `;
the exit code is 0 if none begins with FAIL.
"""

import contextlib
import datetime
import hashlib
import ipaddress
import json
import os
import re
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "testcontainers"
TOOLS = ROOT / "target" / "testcontainers"
# Limits of processes that an engine asks for may be more than this machine grants.
SETTINGS = """[containers]
default_ulimits = ["nofile=1000:1000", "nproc=1000:1000"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
[network]
network_backend = "netavark"
network_config_dir = "{networks}"
"""
# Modules ask for a container of their own that removes what is left; podman ends with the script. The module for Python takes a machine
# with the file /.dockerenv for a container of this engine and asks for a gateway, which podman 4 does not tell: it is told that it is not one.
SURROUNDINGS = {
    "TESTCONTAINERS_RYUK_DISABLED": "true",
    "TESTCONTAINERS_HOST_OVERRIDE": "127.0.0.1",
    "TESTCONTAINERS_CONNECTION_MODE": "docker_host",
}
STARTS = 5
PASSWORD = "Str0ng!pass"
MIGRATIONS = Path(__file__).resolve().parent / "migrations"
READY = "SQL Server is now ready for client connections"


def run(command, folder=None, environment=None, seconds=900):
    """What it prints; its failure is an error with the end of that."""
    ran = subprocess.run(
        list(map(str, command)), cwd=folder, env={**os.environ, **(environment or {})}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds
    )
    if ran.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {ran.returncode}: {ran.stdout[-3000:]}")
    return ran.stdout


def free_network():
    """A private network that no route of this machine leads to."""
    taken = []
    for line in Path("/proc/net/route").read_text().splitlines()[1:]:
        fields = line.split()
        address, mask = (socket.inet_ntoa(struct.pack("<L", int(fields[at], 16))) for at in (1, 7))
        if mask != "0.0.0.0":
            taken.append(ipaddress.ip_network(f"{address}/{mask}"))
    networks = ipaddress.ip_network("10.0.0.0/8").subnets(new_prefix=24)
    return next(network for network in networks if not any(network.overlaps(other) for other in taken))


def default_network():
    """podman's, with a bridge and addresses of its own: those it takes by itself can be another engine's, as a bridge that CNI left behind
    is. Packets for a published port would go to that one, where nobody has the address."""
    network = free_network()
    return {
        "name": "podman",
        # podman's rule: the digest of the name.
        "id": hashlib.sha256(b"podman").hexdigest(),
        "driver": "bridge",
        "network_interface": f"vlflab{os.getpid()}",
        "subnets": [{"subnet": str(network), "gateway": str(network[1])}],
        "ipv6_enabled": False,
        "internal": False,
        "dns_enabled": False,
        "ipam_options": {"driver": "host-local"},
    }


class Podman:
    """An engine with everything of its own in a folder; use it in a `with` statement."""

    def __init__(self, folder):
        self.folder = folder
        self.command = ["podman", "--root", folder / "root", "--runroot", folder / "run"]
        self.service = None
        self.environment = {"CONTAINERS_CONF": str(folder / "containers.conf"), "DOCKER_HOST": f"unix://{folder}/socket", **SURROUNDINGS}

    def __enter__(self):
        (self.folder / "containers.conf").write_text(SETTINGS.format(networks=self.folder / "networks"))
        (self.folder / "networks").mkdir()
        (self.folder / "networks" / "podman.json").write_text(json.dumps(default_network()))
        log = open(self.folder / "service.log", "w")
        command = [*map(str, self.command), "system", "service", "--time=0", self.environment["DOCKER_HOST"]]
        self.service = subprocess.Popen(command, env={**os.environ, **self.environment}, stdout=log, stderr=log)
        until = time.monotonic() + 60
        while not (self.folder / "socket").exists():
            if self.service.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"podman system service: {(self.folder / 'service.log').read_text()[-2000:]}")
            time.sleep(0.05)
        return self

    def __exit__(self, *_):
        with contextlib.suppress(RuntimeError, subprocess.TimeoutExpired):
            self.do("rm", "--force", "--all")
        self.service.terminate()
        self.service.wait()
        # The folder's mounts and files of other users go by podman's own hand.
        with contextlib.suppress(RuntimeError, subprocess.TimeoutExpired):
            self.do("system", "reset", "--force")

    def do(self, *arguments):
        return run([*self.command, *arguments], environment=self.environment)


class Docker:
    """The engine of DOCKER_HOST, by its own command."""

    command = ["docker"]
    environment = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def do(self, *arguments):
        return run([*self.command, *arguments])


def loaded(engine, tar):
    """The name of the image of a file."""
    return re.search(r"Loaded image[^:]*: *(\S+)", engine.do("load", "--input", tar)).group(1)


def moment(text):
    """An engine's time, with nine digits of a second at most."""
    date, clock, digits, zone = re.fullmatch(r"(\S+?)[T ](\d+:\d+:\d+)(\.\d+)? ?(Z|[+-]\d\d:?\d\d)?.*", text).groups()
    return datetime.datetime.fromisoformat(f"{date}T{clock}{(zone or 'Z').replace('Z', '+00:00')}").timestamp() + float(digits or 0)


def started(engine, image):
    """A new container that takes clients."""
    begin = time.monotonic()
    options = ["--env", "ACCEPT_EULA=Y", "--env", f"MSSQL_SA_PASSWORD={PASSWORD}", "--publish", "127.0.0.1::1433"]
    # Behind what an engine complains about, such as a machine without systemd, which asks for no health.
    container = engine.do("run", "--detach", *options, image).split()[-1]
    while READY not in engine.do("logs", container):
        if time.monotonic() - begin > 120:
            raise RuntimeError(f"not ready: {engine.do('logs', container)}")
    return container


def starts(engine, image):
    """Seconds until a new container takes clients, several times: from the call, and from the start of the container's process."""
    found = []
    for _ in range(STARTS):
        begin = time.monotonic()
        container = started(engine, image)
        from_call = time.monotonic() - begin
        begun = moment(engine.do("inspect", "--format", "{{.State.StartedAt}}", container).splitlines()[-1])
        ready = next(line for line in engine.do("logs", "--timestamps", container).splitlines() if READY in line)
        found.append((from_call, moment(ready) - begun))
        engine.do("rm", "--force", container)
    return found


def python(environment):
    folder = TOOLS / "python"
    if not folder.exists():
        run([sys.executable, "-m", "venv", folder])
        run([folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "testcontainers[mssql]==4.15.0", "pymssql==2.4.6", "sqlalchemy==2.1.9"])
    return run([folder / "bin" / "python", EXAMPLES / "orders.py"], environment=environment)


def node(environment):
    folder = TOOLS / "node"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "node_modules").exists():
        run(["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", folder, "@testcontainers/mssqlserver@11.14.0", "testcontainers@11.14.0", "mssql"])
    shutil.copy(EXAMPLES / "orders.mjs", folder)
    return run(["node", "orders.mjs"], folder, environment)


def go(environment):
    folder = TOOLS / "go"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(EXAMPLES / "orders_test.go", folder)
    if not (folder / "go.sum").exists():
        run(["go", "mod", "init", "orders"], folder)
        # The head of the example names the versions.
        versions = re.search(r"go get (.*)", (folder / "orders_test.go").read_text()).group(1)
        run(["go", "get", "-t", *versions.split()], folder)
        run(["go", "mod", "tidy"], folder)
    return run(["go", "test", "-v", "-count=1", "./..."], folder, environment)


def java(environment):
    folder = TOOLS / "java"
    if not (folder / "lib").exists():
        run(["mvn", "-B", "-q", "-f", EXAMPLES / "pom.xml", "dependency:copy-dependencies", f"-DoutputDirectory={folder / 'lib'}"])
    return run(["java", "-cp", f"{folder / 'lib'}/*", EXAMPLES / "Orders.java", EXAMPLES], folder, environment)


def alembic(environment):
    folder = TOOLS / "alembic"
    if not folder.exists():
        run([sys.executable, "-m", "venv", folder])
        run([folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "alembic==1.20.1", "pymssql==2.4.6", "sqlalchemy==2.1.9"])
    steps = [["upgrade", "head"], ["downgrade", "1"], ["upgrade", "head"], ["downgrade", "base"], ["upgrade", "head"], ["current"]]
    return [run([folder / "bin" / "alembic", "-c", MIGRATIONS / "alembic" / "alembic.ini", *step], environment=environment) for step in steps][-1]


def node_tools(environment):
    folder = TOOLS / "node-tools"
    shutil.copytree(MIGRATIONS / "node", folder, dirs_exist_ok=True)
    if not (folder / "node_modules").exists():
        packages = ["knex@3.3.0", "tedious@19.2.2", "typeorm@1.1.1", "mssql@12.7.14", "sequelize@6.37.8", "umzug@3.8.3"]
        run(["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", folder, *packages])
    printed = [run(["npx", "knex", *step], folder, environment) for step in [["migrate:latest"], ["migrate:rollback", "--all"], ["migrate:latest"]]][-1]
    return printed + run(["node", "typeorm.js"], folder, environment) + run(["node", "sequelize.js"], folder, environment)


def go_tools(environment):
    folder = TOOLS / "go-tools"
    shutil.copytree(MIGRATIONS / "go", folder, dirs_exist_ok=True)
    if not (folder / "go.sum").exists():
        run(["go", "mod", "init", "tools"], folder)
        run(["go", "get", "github.com/golang-migrate/migrate/v4@v4.20.1"], folder)
        run(["go", "mod", "tidy"], folder)
    return run(["go", "run", "."], folder, environment)


# What each needs on the machine, and what it has to print.
MODULES = {
    "python": (python, ["python3"], ["orders: 42.5"]),
    "node": (node, ["node", "npm"], ["orders: 42.5"]),
    "go": (go, ["go"], ["orders: 42.5", "PASS"]),
    "java": (java, ["java", "mvn"], ["flyway: 2 migrations, then 0", "liquibase: done, 0 left", "orders: 42.50, regions: 2"]),
}
MIGRATED_BY = {
    "alembic": (alembic, ["python3"], ["2 (head)"]),
    "node-tools": (node_tools, ["node", "npm"], ["Batch 1 run: 2 migrations", "typeorm: order of 42.5, 0 left", "sequelize: 2 migrations"]),
    "go-tools": (go_tools, ["go"], ["migrate: version 2"]),
}


def tried(name, environment):
    """A line of what came of a module or a tool."""
    begin = time.monotonic()
    how, needed, expected = {**MODULES, **MIGRATED_BY}[name]
    lacking = [program for program in needed if not shutil.which(program)]
    if lacking:
        return f"skip {name}: {', '.join(lacking)} are not installed"
    try:
        printed = how(environment)
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
        return f"FAIL {name}: {error}"
    missing = [line for line in expected if line not in printed]
    if missing:
        return f"FAIL {name}: it does not print {missing}: {printed[-2000:]}"
    return f"ok {name}: {', '.join(expected)}, {time.monotonic() - begin:.1f} s"


def engine_of(folder):
    """The engine, or why there is none."""
    if os.environ.get("DOCKER_HOST") or (shutil.which("docker") and not shutil.which("podman")):
        return Docker(), None
    if not shutil.which("podman") or not shutil.which("runc"):
        return None, "neither DOCKER_HOST nor podman with runc is there (apt-get install podman runc netavark)"
    if os.geteuid() != 0:
        return None, "podman is asked as root"
    return Podman(folder), None


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    tar, names = Path(sys.argv[1]).resolve(), sys.argv[2:] or [*MODULES, *MIGRATED_BY]
    folder = Path(tempfile.mkdtemp(prefix="vlflab-engine-"))
    engine, why = engine_of(folder)
    if engine is None:
        print(f"skip Testcontainers: {why}")
        return 0
    failed = False
    # Whoever ends the script ends its engine.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with engine:
        image = loaded(engine, tar)
        for what, seconds in zip(["`run`", "its process begins"], zip(*starts(engine, image))):
            shown = ", ".join(f"{each:.2f}" for each in seconds)
            print(f"ok {image}: takes clients {shown} s after {what}, median {statistics.median(seconds):.2f} s", flush=True)
        port = engine.do("port", started(engine, image), "1433/tcp").split()[-1].rsplit(":", 1)[1]
        environment = {**engine.environment, "VLFLAB_IMAGE": image, "PORT": port, "PASSWORD": PASSWORD}
        for name in names:
            line = tried(name, environment)
            print(line, flush=True)
            failed |= line.startswith("FAIL")
    shutil.rmtree(folder, ignore_errors=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
