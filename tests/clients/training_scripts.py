"""Public training scripts about the log, unmodified: how many of their statements run, and why the others do not; see README.md.

Fetched by git for the run and not kept. Without the network, git or the program that counts statements, the check is skipped.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import PASSWORD, ROOT, Report, Server

STATEMENTS = Path(os.environ.get("VLFLAB_STATEMENTS", ROOT / "target" / "debug" / "examples" / "statements"))
# A folder of clones `owner+name`, in place of the network.
CLONES = os.environ.get("VLFLAB_CLONES", "")
SECONDS_FOR_A_BATCH = 60
SHARE_MIN = 0.9

# The database of tf3604's talk, whose backup is not public: as large as its scripts need it, with the two objects that they name.
CORP = """
create database CorpDB on (name = CorpDB, filename = 'CorpDB.mdf', size = 20MB)
    log on (name = CorpDB_log, filename = 'CorpDB_log.ldf', size = 10MB, filegrowth = 10MB)
go
alter database CorpDB set recovery full
backup database CorpDB to disk = 'nul'
go
use CorpDB
create table dbo.Customer (CustomerID int identity primary key, FirstName varchar(50), LastName varchar(50),
    Address varchar(80), City varchar(50), State varchar(50))
go
"""

# Repository, commit, what its server has, folder, and its scripts in the order in which they are run, all by one session.
#
# Left out, with the reason:
# - tf3604: 00 (restores a backup that is not public), 05 (reads a log backup of the author's), 06, 07, 08, 08b (loops without end)
# - TransactionLogIntro: 2 (makes the databases of LR-1 again), 4, 5, LG-6 (a million rows one by one), LG-6 Job (a job of SQL Server
#   Agent), LG-1, LG-2 (the databases of 1 again), LR-2 (GO 100000, twice), LR-3 (a loop without end), LR-4, LR-5 (update what LR-2 fills)
# - IntroToTheTranLog: its scripts name databases that none of them creates
GROUPS = [
    (
        "tf3604/LogFilePresentation",
        "54ed44391eaf451130dbbe24d876a324ae5edd8c",
        CORP,
        "LogDemos",
        [
            "01 - ConvertLsn - Create.sql",
            "01b - ConvertLsn - Usage.sql",
            "02 - DbccLoginfo.sql",
            "03 - FnDblog.sql",
            "04 - DbccSqlPerf_Logspace.sql",
            "07b - CheckRecoveryModel.sql",
            "09 - Rollbacks.sql",
            "10 - EliminatingVLFFragmentation.sql",
        ],
    ),
    (
        "skreebydba/TransactionLogIntro",
        "b2ad2a018d66d3ed84c93c94fbc455946622c171",
        "",
        "",
        [
            "1 - CreateDemoResources.sql",
            "LG - 3 - CreateTestTable.sql",
            "LG - 4 - CreateInsertBigLogTable.sql",
            "LG - 5 - CreateInsertSmallLogTable.sql",
            "LG - 7 - GetLogSize.sql",
            "LG - 8 - BackupLogs.sql",
            "LG - 8 - GetJobRunDuration.sql",
            "7 - GetLogGrowthTime.sql",
            "LR - 1 - CreateDatabases.sql",
            "RB - 1 - CreateRollbackTable.sql",
            "RB - 2 - RollbackInserts.sql",
            "RB - 3 - RollbackDeletes.sql",
            "RB - 4 - RollbackUpdates.sql",
        ],
    ),
    (
        "skreebydba/TranLogQueries",
        "f24e42fbacaff4407437f9d11cf54d12d9adb216",
        "",
        "",
        ["GetLogGrowth.sql", "GetVLFCountStatus.sql"],
    ),
    (
        "AmirNBA9/SQLAssistant",
        "03ef2bd105c4e45af6271487c580cd1496d14517",
        "",
        "",
        ["Performance/Nik/Intro01.sql", "Admin/Log_Reused.sql"],
    ),
    (
        "Apress/pro-sql-server-internals-2ed",
        "181aca74c1de1f91dc0776ef9b13df537bbdd4b6",
        "",
        "SQL Server Internals 2nd Edition/SQL/30.Chapter 30 (Transaction Log Internals)",
        ["01.Troubleshooting Log Growth.sql"],
    ),
]


class Unreachable(Exception):
    """A repository cannot be had here."""


def fetched(repository, commit, paths, folder):
    """Files of a commit, by their paths."""
    clone = Path(CLONES) / repository.replace("/", "+") if CLONES else Path(folder) / ".git"

    def git(*arguments):
        environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
        return subprocess.run(["git", "--git-dir", clone, *arguments], capture_output=True, timeout=300, env=environment)

    if not CLONES:
        git("init", "--quiet")
        git("remote", "add", "origin", f"https://github.com/{repository}")
        # Contents come one by one, when they are shown: some of these repositories are large.
        done = git("fetch", "--quiet", "--depth", "1", "--filter=blob:none", "origin", commit)
        if done.returncode:
            words = done.stderr.decode(errors="replace").strip().splitlines()
            raise Unreachable(f"{repository} cannot be fetched: {words[-1] if words else done.returncode}")
    elif not clone.exists():
        raise Unreachable(f"{CLONES} has no clone of {repository}")
    files = []
    for number, path in enumerate(paths):
        shown = git("show", f"{commit}:{path}")
        assert shown.returncode == 0, f"{repository} has no {path} at {commit}"
        file = Path(folder) / f"{number}.sql"
        file.write_bytes(shown.stdout)
        files.append(file)
    return files


def counted(group):
    """What each script of a group came to."""
    repository, commit, setup, folder, names = group
    paths = [f"{folder}/{name}" if folder else name for name in names]
    with tempfile.TemporaryDirectory() as place:
        files = fetched(repository, commit, paths, place)
        first = Path(place) / "setup.sql"
        first.write_text(setup or "print 'nothing is needed'")
        with Server(encrypt="off") as server:
            done = subprocess.run(
                [STATEMENTS, str(server.port), str(SECONDS_FOR_A_BATCH), first, *files],
                env={**os.environ, "MSSQL_SA_PASSWORD": PASSWORD},
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stderr
            assert server.is_up(), "the server has ended"
    made, *scripts = [json.loads(line) for line in done.stdout.splitlines()]
    assert not made["failed"], made
    return [{**script, "name": f"{repository} {name}"} for script, name in zip(scripts, names)]


def judge(scripts):
    print("| ran | statements | script |\n| ---: | ---: | --- |")
    for script in scripts:
        print(f"| {script['ran']} | {script['statements']} | {script['name']} |")
    for script in scripts:
        for failure in script["failed"]:
            words = f"{failure['number']} {failure['message'][:160]}"
            print(f"- {script['name']}, line {failure['line']}: {words}: `{failure['statement'][:80]}`")
    ran, statements = (sum(script[what] for script in scripts) for what in ("ran", "statements"))
    print(f"{ran} of {statements} statements of {len(scripts)} scripts ran: {ran / statements:.1%}")
    assert len(scripts) >= 10 and ran >= SHARE_MIN * statements, f"{ran} of {statements} ran"


def main():
    report = Report("training scripts")
    if not STATEMENTS.exists():
        print("skip training scripts: not built (cargo build -p vlflab-lab --example statements)")
        return 0
    try:
        scripts = [script for group in GROUPS for script in counted(group)]
    except (Unreachable, FileNotFoundError, subprocess.TimeoutExpired) as reason:
        print(f"skip training scripts: {reason}")
        return 0
    report.check("statements that run", judge, scripts)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
