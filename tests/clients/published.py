"""The published scripts themselves, unmodified, when they lie in the folder `shared/acceptance` beside this repository, and
VLFLAB_PUBLISHED=1 asks for them: their log grows to 5 GB.
"""

import os
import re
import subprocess
import sys
import time

from harness import ROOT, Report, Server, equal
from recovery import FreeTds, MssqlPython


def folder():
    """Beside this checkout, or beside the checkout it is a worktree of."""
    common = subprocess.run(["git", "rev-parse", "--git-common-dir"], cwd=ROOT, capture_output=True, text=True).stdout
    for base in (ROOT.parent, (ROOT / common.strip()).resolve().parent.parent):
        if (base / "shared" / "acceptance").is_dir():
            return base / "shared" / "acceptance"
    return None


def recovery(kind, setup, vlf_count):
    scripts = folder()
    read = lambda name: (scripts / name).read_text()  # noqa: E731
    with Server(sql_version="2005") as server:
        client = kind(server)
        client.script(read(setup))
        client.hold(read("003-2-second-connection.sql"))
        begin = time.monotonic()
        number, text = client.error(read("003-3-fill-the-log.sql"))
        filled = time.monotonic() - begin
        assert number == 9002 or "9002" in text or "is full due to 'LOG_BACKUP'" in text, text
        equal(len(client.rows("DBCC LOGINFO (vlf)", "master")), vlf_count, "VLFs")
        before = client.rows("select a, c, left(b, 1) from vlf_test", "vlf")
        try:
            client.script(read("003-4-look-and-shut-down.sql"))
        except Exception as failure:  # noqa: BLE001: SHUTDOWN breaks the connection
            assert "9002" not in str(failure), failure
        server.wait_for_end(60)
        client.close()
        begin = time.monotonic()
        server.start()
        started = time.monotonic() - begin
        equal(client.rows("select a, c, left(b, 1) from vlf_test", "vlf"), before, "committed updates")
        equal(client.rows("select count(*) from sys.objects where name = 'opentran'", "vlf"), [["0"]])
        found = re.search(r"Recovery completed for database vlf.*", server.recovered_log("vlf"))
        assert found, server.error_log()
        print(f"note: {setup}: filled in {filled:.1f} s, c = {before[0][1]}, restarted in {started:.1f} s; {found.group(0)}")


def main():
    report = Report("published scripts")
    if not folder():
        print("skip published scripts: there is no folder shared/acceptance beside this repository")
        return 0
    if os.environ.get("VLFLAB_PUBLISHED") != "1":
        print("skip published scripts: they fill 5 GB of log; VLFLAB_PUBLISHED=1 runs them")
        return 0
    kinds = [("FreeTDS", FreeTds)]
    try:
        import mssql_python  # noqa: F401: only whether it is there

        kinds.append(("mssql-python", MssqlPython))
    except ImportError:
        print("skip published scripts by mssql-python: it is not installed")
    for name, kind in kinds:
        report.check(f"bad by {name}: 20480 VLFs", recovery, kind, "003-1-setup-bad.sql", 20480)
        report.check(f"good by {name}: 16 VLFs", recovery, kind, "003-1-setup-good.sql", 16)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
