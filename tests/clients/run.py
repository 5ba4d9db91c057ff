"""Runs every client that is installed against the real server; see README.md."""

import difflib
import os
import shutil
import ssl
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import odbc
from harness import PASSWORD, PROGRAM, TOOLS, Server, java_program
from tap import Tap, in_login

HERE = Path(__file__).resolve().parent
SECONDS_MAX = 120
PUBLISHED_SECONDS_MAX = 3600
# Checks that run side by side, each group on a server of its own: clients wait for each other, and for Java and Node to start.
GROUPS_AT_ONCE = min(os.cpu_count() or 1, 4)
PYTHON = TOOLS / "venv" / "bin" / "python"


PRINTING = threading.Lock()


def say(text):
    """Prints lines that no other group's come between."""
    with PRINTING:
        print(text.rstrip("\n"), flush=True)


def python_client(client):
    return client, python_missing, [PYTHON, HERE / "database_api.py", client]


def odbc_client(client):
    return client, odbc_missing(client), [PYTHON, HERE / "database_api.py", client]


def python_missing():
    return None if PYTHON.exists() else "its Python environment is not installed"


def mcp_missing():
    if python_missing() or subprocess.run([PYTHON, "-c", "import mcp"], capture_output=True).returncode:
        return "the protocol's library is not installed"
    return None


def old_tls_missing():
    return None if shutil.which("openssl") and ssl.HAS_TLSv1 else "there is no OpenSSL with TLS 1.0"


def freetds_missing():
    missing = [name for name in ("tsql", "bsqldb") if not shutil.which(name)]
    return f"{' and '.join(missing)} not installed" if missing else None


def jdbc_missing():
    if not shutil.which("java"):
        return "there is no java"
    return None if (TOOLS / "mssql-jdbc.jar").exists() else "mssql-jdbc is not installed"


def tedious_missing():
    if not shutil.which("node"):
        return "there is no node"
    return None if (TOOLS / "node_modules" / "tedious").exists() else "tedious is not installed"


def go_missing():
    return None if (TOOLS / "gomssqldb").exists() else "it is not built (needs go)"


def jtds_missing():
    if not shutil.which("java"):
        return "there is no java"
    return None if (TOOLS / "jtds.jar").exists() else "jTDS is not installed"


def tiberius_missing():
    return None if (TOOLS / "tiberius").exists() else "it is not built (needs cargo and crates.io)"


def odbc_missing(what):
    """ODBC's clients need a driver manager and a driver beside Python's module."""

    def missing():
        return python_missing() or odbc.missing(what)

    return missing


# Who can begin with TLS.
STRICT = ["msodbcsql18", "sqlalchemy-msodbcsql18", "mssql-python", "mssql-jdbc", "tedious", "go-mssqldb"]
CLIENTS = [
    ("freetds", freetds_missing, [sys.executable, HERE / "freetds.py"]),
    odbc_client("msodbcsql18"),
    odbc_client("freetds-odbc"),
    ("sqlalchemy-pymssql", python_missing, [PYTHON, HERE / "sqlalchemy_orm.py", "pymssql"]),
    ("sqlalchemy-msodbcsql18", odbc_missing("msodbcsql18"), [PYTHON, HERE / "sqlalchemy_orm.py", "msodbcsql18"]),
    ("sqlalchemy-freetds-odbc", odbc_missing("freetds-odbc"), [PYTHON, HERE / "sqlalchemy_orm.py", "freetds-odbc"]),
    python_client("mssql-python"),
    python_client("pymssql"),
    python_client("python-tds"),
    ("mssql-jdbc", jdbc_missing, lambda: java_program(HERE / "Jdbc.java", TOOLS / "mssql-jdbc.jar")),
    ("jTDS", jtds_missing, lambda: java_program(HERE / "Jtds.java", TOOLS / "jtds.jar")),
    ("tedious", tedious_missing, ["node", HERE / "tedious.js"]),
    ("tiberius", tiberius_missing, [TOOLS / "tiberius"]),
    ("go-mssqldb", go_missing, [TOOLS / "gomssqldb"]),
]
# Start servers of their own.
ACCEPTANCE = [
    ("recovery by FreeTDS", freetds_missing, [sys.executable, HERE / "recovery.py", "freetds"]),
    ("recovery by mssql-python", python_missing, [PYTHON, HERE / "recovery.py", "mssql-python"]),
    ("failed commits", lambda: None, [sys.executable, HERE / "failed_commit.py"]),
    ("mcp", mcp_missing, [PYTHON, HERE / "model_context_protocol.py"]),
    ("old TLS", old_tls_missing, [sys.executable, HERE / "old_tls.py"]),
    ("credit", freetds_missing, [sys.executable, HERE / "credit.py"]),
    ("dml", freetds_missing, [sys.executable, HERE / "dml.py"]),
    ("largest values", python_missing, [PYTHON, HERE / "largest.py"]),
    ("scripts of others", python_missing, [PYTHON, HERE / "scripts_of_others.py"]),
    ("published scripts", freetds_missing, [PYTHON if PYTHON.exists() else sys.executable, HERE / "published.py"]),
]


def is_long():
    return os.environ.get("VLFLAB_PUBLISHED") == "1" or os.environ.get("VLFLAB_LARGEST", "") != ""


def run(name, missing, command, environment):
    """Runs one client's program, whose command may be made when it is wanted; true if nothing failed."""
    reason = missing()
    if reason:
        say(f"skip {name}: {reason}")
        return True
    try:
        done = subprocess.run(
            [str(part) for part in (command() if callable(command) else command)],
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PUBLISHED_SECONDS_MAX if is_long() else SECONDS_MAX,
        )
    except subprocess.TimeoutExpired as expired:
        say((expired.stdout or b"").decode(errors="replace") + f"FAIL {name}: no end after {expired.timeout:.0f} s")
        return False
    if done.stdout:
        say(done.stdout)
    if done.returncode and "FAIL " not in done.stdout:
        say(f"FAIL {name}: ended with {done.returncode}")
    return done.returncode == 0


def run_encrypted(entries, encrypt, demand):
    """Runs the clients that ask for `encrypt` of a server that demands it; true if nothing failed."""
    succeeded = True
    with Server(encrypt=demand) as server:
        server.sql("create database clients")
        for entry in entries:
            if encrypt == "strict" and entry[0] not in STRICT:
                continue
            succeeded &= run_tapped(f"{entry[0]} {encrypt}".strip(), *entry[1:], encrypt, server)
            if not server.is_up():
                say(f"FAIL {entry[0]}: the server has ended")
                return False
    return succeeded


def run_tapped(name, missing, command, encrypt, server):
    """Runs one client through a tap; prints what it negotiated, and fails if what it encrypted can be read."""
    watched = {
        "the password": in_login(PASSWORD),
        "the password in UTF-16": PASSWORD.encode("utf-16-le"),
        # Every client reads a long row of these.
        "a row": b"m" * 64,
        "a row in UTF-16": ("m" * 64).encode("utf-16-le"),
    }
    with Tap(server.port, watched) as tap:
        environment = {
            "VLFLAB_PORT": str(tap.port),
            "VLFLAB_PASSWORD": PASSWORD,
            "VLFLAB_ENCRYPT": encrypt,
            "VLFLAB_CERTIFICATE": str(server.certificate),
            "NODE_PATH": str(TOOLS / "node_modules"),
            "NODE_EXTRA_CA_CERTS": str(server.certificate),
            "ODBCSYSINI": str(TOOLS / "odbc"),
        }
        succeeded = run(name, missing, command, environment)
    if not tap.is_whole:
        say(f"FAIL {name} on the wire: a connection outlives its client")
        return False
    for negotiated in sorted(tap.negotiated):
        say(f"negotiated {name}: {negotiated}")
    if not tap.negotiated:
        return succeeded
    readable = sorted(tap.seen)
    wrong = readable if encrypt else [] if any("row" in each for each in readable) else ["no row: the tap does not see"]
    say(f"FAIL {name} on the wire: readable are {', '.join(wrong)}" if wrong else f"ok {name} on the wire")
    return succeeded and not wrong


def near(name, known):
    """Names that may have been meant: those that share a word with the given one, or look like it; else all."""
    words = [word for word in name.lower().split() if len(word) > 2]
    shared = [each for each in known if any(word in each.lower() or each.lower() in word for word in words)]
    return shared or difflib.get_close_matches(name, known, cutoff=0.5) or known


def main():
    only = sys.argv[1:]
    # One that is misspelt would run nothing, and nothing would have failed.
    known = [entry[0] for entry in CLIENTS + ACCEPTANCE]
    unknown = [name for name in only if name not in known]
    if unknown:
        sys.exit("\n".join(f"FAIL {name}: no check has this name; there are {', '.join(near(name, known))}" for name in unknown))
    if not PROGRAM.exists():
        sys.exit(f"FAIL the server: build {PROGRAM} first")
    chosen = lambda entries: [entry for entry in entries if not only or entry[0] in only]  # noqa: E731
    demands = [("", "on"), ("on", "required"), ("strict", "strict")]
    # The longest first, so that no group is left to run alone at the end.
    groups = [(run_encrypted, chosen(CLIENTS), encrypt, demand) for encrypt, demand in demands]
    groups += [(run, *entry, {"VLFLAB": str(PROGRAM)}) for entry in chosen(ACCEPTANCE)]
    with ThreadPoolExecutor(GROUPS_AT_ONCE) as pool:
        ends = [pool.submit(*group) for group in groups]
        return 0 if all([end.result() for end in ends]) else 1


if __name__ == "__main__":
    sys.exit(main())
