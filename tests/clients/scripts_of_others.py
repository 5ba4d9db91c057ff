"""Scripts that administrators use, unmodified, where the folder named by VLFLAB_SCRIPTS has them; see README.md.

Cut at GO, and Glenn Berry's further where a query of his begins, so that one that fails hides no other.
"""

import os
import re
import sys
from pathlib import Path

from harness import PASSWORD, Report, Server

FOLDER = os.environ.get("VLFLAB_SCRIPTS", "")
# Each script, the version that it is for, and how many of its parts are known to run.
SCRIPTS = [
    ("Fix_VLFs.sql", "2022", 1),
    ("MaintenanceSolution.sql", "2022", 20),
    ("sp_WhoIsActive.sql", "2022", 2),
    ("SQL Server 2012 Diagnostic Information Queries.sql", "2012", 58),
    ("SQL Server 2022 Diagnostic Information Queries.sql", "2022", 69),
]


def text_of(path):
    data = path.read_bytes()
    return data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig", errors="replace")


def parts_of(text):
    """Batches, and the queries in them that are numbered; comments alone are none."""
    for batch in re.split(r"(?im)^[ \t]*GO[ \t]*\r?$", text):
        for part in re.split(r"(?m)^(?=--.*\(Query \d+\))", batch):
            if re.sub(r"(?s)/\*.*?\*/|--[^\n]*", "", part).strip():
                yield part


def run(path, version, known):
    from pymssql import _mssql

    ran, failed = 0, {}
    with Server(sql_version=version) as server:
        login = {"server": "127.0.0.1", "port": str(server.port), "user": "sa", "password": PASSWORD}
        connection = _mssql.connect(**login)
        for part in parts_of(text_of(path)):
            try:
                connection.execute_query(part)
                while list(connection) or connection.nextresult():
                    pass
                ran += 1
            except _mssql.MSSQLException as failure:
                words = re.search(r"b[\"'](.*?)(?:DB-Lib|$)", str(failure))
                reason = f"{getattr(failure, 'number', '?')} {words.group(1) if words else failure}"
                failed[reason] = failed.get(reason, 0) + 1
                if not connection.connected:
                    connection = _mssql.connect(**login)
                else:
                    connection.cancel()
        assert server.is_up(), "the server has ended"
    print(f"{path.name}: {ran} parts ran, {sum(failed.values())} failed")
    for reason, count in failed.items():
        print(f"  {count} times {reason[:200]}")
    assert ran >= known, f"{ran} parts ran, {known} are known to run"


def main():
    report = Report("scripts of others")
    for name, version, known in SCRIPTS:
        path = Path(FOLDER) / name
        if FOLDER and path.is_file():
            report.check(name, run, path, version, known)
        else:
            print(f"skip scripts of others {name}: VLFLAB_SCRIPTS names no folder that has it")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
