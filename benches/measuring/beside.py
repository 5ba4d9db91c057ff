"""This build beside another one, by turns: a log of 126,399 VLFs, logins a second, the memory of idle sessions.

Both have servers of their own, which run all the time but for their kills; which one begins changes from round to round. The other build
is any that this table is about, such as the last one of disk format 2: benches/measure.py beside --other-build FILE.
"""

import json
import os
import subprocess
from contextlib import contextmanager

from peers import PASSWORD, ROOT, output_of

from . import vlfs
from .bench import GB, MB, Line, Row
from .server import Server, remember

THIS, OTHER = "this build", "other build"
LOGINS, CLIENTS = 2_000, 8
IDLE = 500
LOGINS_PROGRAM = ROOT / "target" / "release" / "examples" / "logins"
MEMORY = f"memory of {IDLE} idle sessions"
PAIRS = [
    *((step, f"{step}, {{vlfs}} VLFs", "s") for step in (*vlfs.STEPS, "log backup", "restore")),
    ("start-up", "kill to first query, {vlfs} VLFs", "s"),
    ("logins/s, one client", "logins a second, one client", "/s"),
    (f"logins/s, {CLIENTS} clients", f"logins a second, {CLIENTS} clients", "/s"),
    ("first login", "first login of a process", "s"),
    (MEMORY, MEMORY, "MB"),
]


def server_of(bench, name, program):
    """A server of a build in a folder of its own."""
    server = Server(bench.room(name), sql_version="2012")
    server.program = program or server.program
    return server


@contextmanager
def sides_of(bench, kind):
    """Both servers, started."""
    sides = []
    try:
        for label, program in ((THIS, None), (OTHER, bench.other_build)):
            server = server_of(bench, f"{kind}-{label.split()[0]}", program)
            server.start()
            sides.append((label, server))
        yield sides
    finally:
        for _, server in sides:
            remember(bench, server)
            server.stop()


def measure_vlfs(bench, found):
    many = bench.size(bench.vlfs, min(bench.vlfs, 2_000))
    bench.need_space(2 * vlfs.log_mb(many) * MB + 5 * GB, f"two logs of {many:,} VLFs")
    found.facts["vlfs"] = many
    repeats = max(1, min(vlfs.WORK_REPEATED_MAX, vlfs.log_mb(many) // vlfs.WORK_LOG_MB))
    with sides_of(bench, "vlfs") as sides:
        for label, server in sides:
            bench.progress(f"{label}: creating {many:,} VLFs")
            vlfs.create(server, many, vlfs.log_mb(many))
        for turn in range(bench.runs):
            vlfs.round_of(sides if turn % 2 == 0 else sides[::-1], found, repeats)
            bench.progress(f"round {turn + 1} of the VLFs")


def logins(server, clients, count):
    """Seconds of so many logins, each of a connection of its own, by so many clients at once."""
    command = [LOGINS_PROGRAM, server.port, "login", clients, count]
    return json.loads(output_of(command, env={**os.environ, "MSSQL_SA_PASSWORD": PASSWORD}))["seconds"]


def idle_mb(server, sessions):
    """What is resident of the server while so many sessions are logged in that have asked one thing each."""
    command = [str(part) for part in (LOGINS_PROGRAM, server.port, "hold", sessions)]
    environment = {**os.environ, "MSSQL_SA_PASSWORD": PASSWORD}
    holder = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        if holder.stdout.readline().strip() != "held":
            raise RuntimeError("the sessions could not be opened")
        return server.resident_mb()
    finally:
        holder.stdin.close()
        holder.wait(60)


def measure_logins(bench, found):
    count, sessions = bench.size(LOGINS, 40), bench.size(IDLE, 20)
    found.facts["idle sessions"] = sessions
    with sides_of(bench, "logins") as sides:
        for turn in range(bench.runs):
            for label, server in sides if turn % 2 == 0 else sides[::-1]:
                server.kill()
                server.start()
                found.add(f"first login {label}", logins(server, 1, 1))
                found.add(f"{MEMORY} {label}", idle_mb(server, sessions))
                for clients, name in ((1, "one client"), (CLIENTS, f"{CLIENTS} clients")):
                    found.add(f"logins/s, {name} {label}", count / logins(server, clients, count))
            bench.progress(f"round {turn + 1} of the logins")


def measure(bench, found):
    measure_logins(bench, found)
    measure_vlfs(bench, found)


def judge(found):
    lines = []
    many = f"{found.facts.get('vlfs', 0):,}"
    for name, work, unit in PAIRS:
        names = f"{name} {OTHER}", f"{name} {THIS}"
        if not found.has(*names):
            continue
        measured = f"{found.text(names[1], unit, THIS + ':')}; {found.text(names[0], unit, OTHER + ':')}"
        # A rate is better when it is greater.
        ratio = found.ratio_text(*(names[::-1] if unit == "/s" else names))
        lines.append(Line(work.format(vlfs=many), "beside another build", measured, f"{ratio} times as fast or small"))
    return lines


ROW = Row("beside", "this build beside --other-build: many VLFs (needs 70 GB), logins, idle sessions", measure, judge, 150, 45)
