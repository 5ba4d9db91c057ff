"""A value of 2^31-1 bytes, the longest there is, written and read back by clients of three makers; and the most memory that the server has resident
meanwhile, which may be 400 MB under a `max server memory` of 256 MB.

    VLFLAB_LARGEST=1 python3 tests/clients/run.py "largest values"
    VLFLAB_LARGEST=100000000 python3 tests/clients/run.py "largest values"    so many bytes

Each client (Microsoft's ODBC driver by pyodbc, its JDBC driver, its Go driver) inserts the value as a parameter of one statement and reads it
with SELECT. The bytes are random, blocks of 1 MB that begin with their number, and the client compares every one that it reads. The server says
the value's SHA-256, too. 7 GB of disk, and 5 GB of memory for the clients that keep the whole value. FreeTDS reads it as well, through its ODBC
driver, but does not write it.
"""

import hashlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import odbc
from harness import PASSWORD, ROOT, TOOLS, Report, Server, equal, java_program

HERE = Path(__file__).resolve().parent
BYTES_MAX = 2**31 - 1
BLOCK_BYTES = 1 << 20
RESIDENT_MB_MAX = 400
MEMORY_MB = 256

CREATE = (
    "create database largest on (name = largest, filename = 'largest.mdf', size = 64MB, filegrowth = 64MB) "
    "log on (name = largest_log, filename = 'largest.ldf', size = 64MB, filegrowth = 64MB)"
)


def content(block, count):
    """The value, in pieces."""
    for number in range(-(-count // BLOCK_BYTES)):
        piece = number.to_bytes(8, "big") + block[8:]
        yield piece[: count - number * BLOCK_BYTES]


def connection(port, driver):
    import pyodbc

    encrypt = "Encrypt=no;" if driver == "msodbcsql18" else "TDS_Version=7.4;"
    server = f"Server=127.0.0.1,{port};" if driver == "msodbcsql18" else f"Server=127.0.0.1;Port={port};"
    text = f"Driver={odbc.library(driver)};{server}Database=largest;UID=sa;PWD={PASSWORD};{encrypt}"
    return pyodbc.connect(text, autocommit=True)


def by_odbc(driver, port, path, count):
    """In a process of its own, which gives its memory back."""
    command = [sys.executable, __file__, driver, port, path, count]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def odbc_client(driver, port, path, count):
    import pyodbc

    block = Path(path).read_bytes()
    value = b"".join(content(block, count))
    with connection(port, driver) as session:
        cursor = session.cursor()
        if driver == "msodbcsql18":
            cursor.setinputsizes([None, (pyodbc.SQL_VARBINARY, 0, 0)])
            cursor.execute("insert v (id, v) values (?, ?)", 1, value)
        (found,) = cursor.execute("select v from v where id = 1").fetchone()
    equal(len(found), count, "bytes")
    assert found == value, "other bytes came back"


def by_jdbc(port, path, count):
    run([*java_program(HERE / "Largest.java", TOOLS / "mssql-jdbc.jar", "-Xmx512m"), port, path, count])


def by_go(port, path, count):
    run([TOOLS / "gomssqldb", "largest", path, count], {"VLFLAB_PORT": str(port)})


def run(command, environment=None):
    settings = {**os.environ, "VLFLAB_PASSWORD": PASSWORD, **(environment or {})}
    done = subprocess.run([str(part) for part in command], env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def resident_mb_max(server):
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) / 1024


def told(server, query):
    """The answer of a query in the database; it may take minutes."""
    command = [os.environ.get("VLFLAB", ROOT / "target" / "debug" / "vlflab"), "sql", "-S", f"127.0.0.1,{server.port}", "-P", PASSWORD]
    done = subprocess.run([*map(str, command), "-d", "largest", "-W", "-h", "-1", "-b", "-Q", f"set nocount on {query}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def goes_and_comes(server, client, path, count, digest):
    begin = time.monotonic()
    client(server.port, path, count)
    taken = time.monotonic() - begin
    found = told(server, "select concat(datalength(v), ' ', convert(char(64), hashbytes('SHA2_256', v), 2)) from v")
    equal(found.lower(), f"{count} {digest}")
    print(f"   {count:,} bytes there and back in {taken:.0f} s; server: {resident_mb_max(server):.0f} MB resident at most", flush=True)


def begin(server):
    server.sql(CREATE)
    server.sql("alter database largest set recovery simple")
    told(server, "create table v (id int not null primary key, v varbinary(max) not null)")


def main():
    asked = os.environ.get("VLFLAB_LARGEST", "")
    if not asked:
        print("skip largest values: VLFLAB_LARGEST is not set")
        return 0
    for driver in ("msodbcsql18", "freetds-odbc"):
        reason = odbc.missing(driver)
        if reason:
            print(f"skip largest values: {reason}")
            return 0
    count = BYTES_MAX if asked == "1" else int(asked)
    report = Report("largest values")
    with Server(options=("--max-server-memory", str(MEMORY_MB))) as server:
        path = server.folder / "block"
        path.write_bytes(os.urandom(BLOCK_BYTES))
        whole = hashlib.sha256()
        for piece in content(path.read_bytes(), count):
            whole.update(piece)
        begin(server)
        ways = {
            "mssql-jdbc": by_jdbc,
            "go-mssqldb": by_go,
            "msodbcsql18": lambda *given: by_odbc("msodbcsql18", *given),
        }
        for name, client in ways.items():
            report.check(name, goes_and_comes, server, client, path, count, whole.hexdigest())
            if name == "msodbcsql18":
                report.check("freetds-odbc reads", by_odbc, "freetds-odbc", server.port, path, count)
            told(server, "delete v checkpoint")
        most = resident_mb_max(server)
        report.check("the server's memory", equal, most <= RESIDENT_MB_MAX, True, f"{most:.0f} MB")
        equal(told(server, "dbcc checkdb (largest) with no_infomsgs"), "")
    return 1 if report.failed else 0


if __name__ == "__main__":
    if len(sys.argv) > 1:
        odbc_client(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
    else:
        sys.exit(main())
