"""A vlflab server for tests, and how tests report.

A line of a report begins with `ok `, `FAIL ` or `skip `, followed by the client, the check, and for the latter two the reason.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / ".clients"
PASSWORD = "Client tests 1"
PROGRAM = Path(os.environ.get("VLFLAB", ROOT / "target" / "debug" / "vlflab"))
# What clients ask of a connection: nothing, "on" (all is encrypted), "strict" (TDS 8.0); and the certificate to believe.
ENCRYPT = os.environ.get("VLFLAB_ENCRYPT", "")
CERTIFICATE = os.environ.get("VLFLAB_CERTIFICATE", "")
# The name of the one check to run, on a server on which COMMIT fails; see `failed_commit.py`.
FAILED_COMMIT = os.environ.get("VLFLAB_FAILED_COMMIT", "")


def java_program(source, jar, *options):
    """The command that runs a Java program of one file beside a driver. It is compiled once, where there is a compiler, and its machine is
    set to be quick at the start rather than in the long run: a program of ours lives for a second.
    """
    command = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", *options, "-cp"]
    if not shutil.which("javac"):
        return [*command, jar, source]
    # Named by what it was compiled from, and moved there as a whole: others may be compiling it as well.
    digest = hashlib.sha256(source.read_bytes() + str(jar).encode()).hexdigest()[:16]
    classes = TOOLS / "classes" / f"{source.stem}-{digest}"
    if not classes.exists():
        classes.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=classes.parent))
        subprocess.run(["javac", "-cp", jar, "-d", made, source], check=True)
        try:
            made.rename(classes)
        except OSError:
            shutil.rmtree(made)
    return [*command, f"{jar}:{classes}", source.stem]


class Server:
    """The real program on a folder of its own; use it in a `with` statement."""

    def __init__(self, sql_version="2022", log_policy="native", sample_options=None, encrypt="on", options=()):
        self.sql_version = sql_version
        self.encrypt = encrypt
        self.log_policy = log_policy
        self.sample_options = sample_options
        self.options = options
        (ROOT / "target").mkdir(exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix="clients-", dir=ROOT / "target"))
        self.process = None
        self.port = None

    def start(self):
        command = [PROGRAM, "serve", "--data", self.folder, "--port", "0", "--until-stdin-closes"]
        command += ["--sql-version", self.sql_version, "--log-policy", self.log_policy, "--encrypt", self.encrypt, *self.options]
        self.process = subprocess.Popen(
            command,
            env={**os.environ, "MSSQL_SA_PASSWORD": PASSWORD},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for line in self.process.stdout:
            ready = re.search(r"Server=127\.0\.0\.1,(\d+);", line)
            if ready:
                self.port = int(ready.group(1))
                return self
        raise RuntimeError(f"the server ended with {self.process.wait()}")

    @property
    def certificate(self):
        return self.folder / "server.certificate.pem"

    def is_up(self):
        return self.process.poll() is None

    def sample(self, *options):
        """Makes the sample Credit in the folder, before the server starts."""
        command = [PROGRAM, "sample", "credit", "--data", self.folder, *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)

    def wait_for_end(self, seconds=30):
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait(seconds)

    def error_log(self):
        return (self.folder / "log" / "ERRORLOG").read_text()

    def recovered_log(self, database, seconds=60):
        """The error log once it tells the end of the database's recovery, which goes on while users are in."""
        deadline = time.monotonic() + seconds
        while f"Recovery completed for database {database}" not in self.error_log():
            if time.monotonic() > deadline:
                raise AssertionError(f"the recovery of {database} does not end:\n{self.error_log()}")
            time.sleep(0.05)
        return self.error_log()

    def sql(self, query, database="master"):
        """Runs a query with the project's own client and gives its output."""
        command = [PROGRAM, "sql", "-S", f"127.0.0.1,{self.port}", "-P", PASSWORD, "-d", database]
        if self.encrypt == "strict":
            command += ["-N", "s", "-J", self.certificate]
        done = subprocess.run(command + ["-W", "-h", "-1", "-Q", query], capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)
        return done.stdout

    def __enter__(self):
        if self.sample_options is not None:
            self.sample(*self.sample_options)
        return self.start()

    def __exit__(self, *_):
        if self.is_up():
            self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Report:
    """Runs checks and prints a line for each."""

    def __init__(self, client):
        self.client = f"{client} {ENCRYPT}".strip()
        self.failed = 0

    def check(self, name, test, *arguments):
        try:
            test(*arguments)
        except Exception as error:  # noqa: BLE001: whatever a client raises is a failed check
            self.failed += 1
            place = traceback.extract_tb(error.__traceback__)
            ours = [frame for frame in place if Path(frame.filename).parent == Path(__file__).parent]
            line = f"line {ours[-1].lineno}" if ours else "?"
            text = " ".join(f"{type(error).__name__}: {error}".split())
            print(f"FAIL {self.client} {name}: {line}: {text[:700]}", flush=True)
        else:
            print(f"ok {self.client} {name}", flush=True)


def equal(found, expected, what=""):
    """Asserts equality and shows both sides."""
    assert found == expected, f"{what} expected {expected!r}, found {found!r}"
