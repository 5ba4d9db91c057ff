"""Administrators' scripts of others, unmodified: made, called, and why what fails does; see README.md.

Fetched by git for the run and not kept. Without the network, git or the program that counts statements, the check is skipped.
Glenn Berry's are cut also where a query of his begins, so that one that fails hides no other.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import PASSWORD, PROGRAM, Report, Server
from training_scripts import STATEMENTS, Unreachable, fetched

SECONDS_FOR_A_CALL = 300
# The highest level of messages that are none of errors.
INFORMATION_LEVEL_MAX = 10

# A database as they expect to find some: a table with rows that were read from the disk, an index, a procedure, a full backup, and a
# server whose error log was begun anew.
SHOP = """
create database Shop
go
alter database Shop set recovery full
backup database Shop to disk = 'nul'
go
use Shop
create table dbo.orders (id int identity primary key, customer varchar(40) not null, at datetime not null default getdate(), note char(200))
create index orders_customer on dbo.orders (customer)
insert dbo.orders (customer, note) select concat('customer ', value % 500), 'none' from generate_series(1, 10000)
go
create procedure dbo.orders_of @customer varchar(40) as select count(*) from dbo.orders where customer = @customer
go
exec dbo.orders_of 'customer 7'
checkpoint
dbcc dropcleanbuffers
select count(*) from dbo.orders where note = 'none'
go
use master
exec sp_cycle_errorlog
go 5
"""

# Who wrote them: repository, commit, the version of the server, the scripts in order, what is called then, and what is known to fail:
# a part of the error or of what has it, and why. `{folder}` is a folder for backups.
GROUPS = [
    (
        "amachanic/sp_whoisactive",
        "ca4370aa6f1b5b8284a0d4068df2cc9c0fcf3952",
        "2022",
        ["sp_WhoIsActive.sql"],
        [
            "exec sp_WhoIsActive",
            "exec sp_WhoIsActive @get_plans = 1, @get_locks = 1, @get_transaction_info = 1, @get_additional_info = 1,"
            " @show_sleeping_spids = 2, @show_own_spid = 1, @show_system_spids = 1",
            "exec sp_WhoIsActive @get_outer_command = 1, @find_block_leaders = 1, @get_task_info = 2, @get_memory_info = 1,"
            " @show_sleeping_spids = 2, @show_own_spid = 1",
            "exec sp_WhoIsActive @delta_interval = 1, @show_own_spid = 1",
            "exec sp_WhoIsActive @get_avg_time = 1, @get_full_inner_text = 1, @format_output = 2, @show_own_spid = 1",
            "exec sp_WhoIsActive @help = 1",
            "declare @s varchar(max) exec sp_WhoIsActive @return_schema = 1, @schema = @s output select len(@s)",
        ],
        {},
    ),
    (
        "BrentOzarULTD/SQL-Server-First-Responder-Kit",
        "d8c4d56f9a2178df108dc1c6fe20dae518ed08b1",
        "2022",
        [
            "sp_Blitz.sql",
            "sp_BlitzAnalysis.sql",
            "sp_BlitzBackups.sql",
            "sp_BlitzCache.sql",
            "sp_BlitzFirst.sql",
            "sp_BlitzIndex.sql",
            "sp_BlitzLock.sql",
            "sp_BlitzWho.sql",
            "sp_DatabaseRestore.sql",
            "sp_ineachdb.sql",
            "sp_kill.sql",
            "SqlServerVersions.sql",
        ],
        [
            "exec sp_Blitz",
            "exec sp_Blitz @CheckUserDatabaseObjects = 1, @CheckServerInfo = 1, @CheckProcedureCache = 1, @OutputType = 'TABLE',"
            " @OutputProcedureCache = 1",
            "exec sp_Blitz @CheckServerInfo = 1, @BringThePain = 1, @OutputType = 'MARKDOWN'",
            "exec sp_BlitzLock",
            "exec sp_BlitzWho",
            "exec sp_BlitzWho @ExpertMode = 1",
            "exec sp_BlitzWho @ExpertMode = 1, @ShowSleepingSPIDs = 1, @GetOuterCommand = 1",
            "exec sp_BlitzFirst",
            "exec sp_BlitzFirst @ExpertMode = 1, @Seconds = 1",
            "exec sp_BlitzFirst @SinceStartup = 1",
            "exec sp_BlitzIndex @DatabaseName = 'Shop'",
            "exec sp_BlitzIndex @DatabaseName = 'Shop', @SchemaName = 'dbo', @TableName = 'orders'",
            "exec sp_BlitzIndex @DatabaseName = 'Shop', @Mode = 1",
            "exec sp_BlitzIndex @DatabaseName = 'Shop', @Mode = 2",
            "exec sp_BlitzIndex @DatabaseName = 'Shop', @Mode = 3",
            "exec sp_BlitzIndex @DatabaseName = 'Shop', @Mode = 4",
            "exec sp_BlitzIndex @GetAllDatabases = 1",
            "exec sp_BlitzCache",
            "exec sp_BlitzCache @ExpertMode = 1, @SortOrder = 'reads'",
            "exec sp_BlitzCache @SortOrder = 'all'",
            "exec sp_BlitzBackups",
            "exec sp_ineachdb 'select db_name()'",
            "exec sp_kill",
        ],
        {
            "Incorrect syntax near 'tempdb'": "a quotation mark in a text of the script is not doubled",
            "Could not find stored procedure 'sp_kill'": "the script could not be made",
            "A session with the name system_health does not exist": "extended events",
        },
    ),
    (
        "olahallengren/sql-server-maintenance-solution",
        "be63a5e57887b4b2bd388621dfd7acb5ef6a6564",
        "2022",
        ["MaintenanceSolution.sql"],
        [
            "exec dbo.DatabaseBackup @Databases = 'USER_DATABASES', @Directory = '{folder}', @BackupType = 'FULL', @Verify = 'Y',"
            " @CheckSum = 'Y', @LogToTable = 'Y'",
            "exec dbo.DatabaseBackup @Databases = 'Shop', @Directory = '{folder}', @BackupType = 'DIFF', @Verify = 'Y', @CheckSum = 'Y'",
            "exec dbo.DatabaseBackup @Databases = 'Shop', @Directory = '{folder}', @BackupType = 'LOG', @Compress = 'Y'",
            "exec dbo.DatabaseIntegrityCheck @Databases = 'ALL_DATABASES', @LogToTable = 'Y'",
            "exec dbo.DatabaseIntegrityCheck @Databases = 'Shop', @CheckCommands = 'CHECKFILEGROUP,CHECKCATALOG'",
            "exec dbo.IndexOptimize @Databases = 'ALL_DATABASES', @UpdateStatistics = 'ALL', @LogToTable = 'Y'",
            "exec dbo.IndexOptimize @Databases = 'Shop', @MinNumberOfPages = 0, @FragmentationLevel1 = 1, @FragmentationLevel2 = 2,"
            " @FragmentationLow = 'INDEX_REORGANIZE'",
            "select DatabaseName, CommandType, ErrorNumber from dbo.CommandLog",
        ],
        {
            "'ONLINE = ON' is not supported": "indexes rebuilt while others change the table",
            "'CHECKFILEGROUP' is not supported": "DBCC CHECKFILEGROUP",
        },
    ),
    (
        "microsoft/tigertoolbox",
        "fe47c31ec2f7979a994520d546c7abf0b246c832",
        "2022",
        ["AdaptiveIndexDefrag/usp_AdaptiveIndexDefrag.sql", "BPCheck/Check_BP_Servers.sql"],
        [
            "exec msdb.dbo.usp_AdaptiveIndexDefrag @dbScope = 'Shop', @debugMode = 1",
            "exec msdb.dbo.usp_AdaptiveIndexDefrag @dbScope = 'Shop', @minFragmentation = 0, @rebuildThreshold = 0, @minPageCount = 0,"
            " @updateStatsWhere = 0",
            "exec msdb.dbo.usp_AdaptiveIndexDefrag_CurrentExecStats",
            "exec msdb.dbo.usp_AdaptiveIndexDefrag_PurgeLogs",
            "exec msdb.dbo.usp_bpcheck @duration = 1",
            "exec msdb.dbo.usp_bpcheck @duration = 1, @ptochecks = 0, @ixfrag = 1, @gen_scripts = 1, @logdetail = 1",
        ],
        {
            "Powershell is not installed": "a warning of the script",
            "Divide by zero error encountered": "the share of waits that took no time, which the script leaves out later",
        },
    ),
] + [
    (
        "dataplat/dbatools",
        "ad86b331bfaff1b6dae2e1bf1f43229b89c96f3a",
        version,
        [f"bin/diagnosticquery/SQLServerDiagnosticQueries_{version}.sql"],
        [],
        {},
    )
    # He writes one script for each version of SQL Server.
    for version in ("2012", "2019", "2022")
]


def made(server, files):
    """What cannot be made, by the names of the scripts: an error for each statement that fails."""
    done = subprocess.run(
        [STATEMENTS, str(server.port), str(SECONDS_FOR_A_CALL), *files],
        env={**os.environ, "MSSQL_SA_PASSWORD": PASSWORD},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    scripts = [json.loads(line) for line in done.stdout.splitlines()]
    errors = [f"line {one['line']}: {one['number']} {one['message']}" for script in scripts for one in script["failed"]]
    return sum(script["statements"] for script in scripts), errors


def called(server, call):
    """The errors of a call, which may go on behind one."""
    command = [PROGRAM, "sql", "-S", f"127.0.0.1,{server.port}", "-P", PASSWORD, "-Q", call]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_FOR_A_CALL, errors="replace")
    errors = re.findall(r"(?m)^Msg (\d+), Level (\d+), .*\n(.*)$", done.stdout + done.stderr)
    return [f"{number} {text.strip()}" for number, level, text in errors if int(level) > INFORMATION_LEVEL_MAX]


def failures(group):
    """How many scripts and calls there are, and each error with the name of what has it."""
    repository, commit, version, names, calls, _ = group
    found = []
    with tempfile.TemporaryDirectory() as place, Server(sql_version=version, encrypt="off") as server:
        files = fetched(repository, commit, names, place)
        folder = server.folder / "backup"
        folder.mkdir(exist_ok=True)
        setup = Path(place) / "setup.sql"
        setup.write_text(SHOP)
        _, errors = made(server, [setup])
        assert not errors, errors
        for name, file in zip(names, files):
            file.write_bytes(re.sub(rb"(?m)^(?=--.*\(Query \d+\))", b"GO\n", file.read_bytes()))
            count, errors = made(server, [file])
            print(f"{name}: {count - len(errors)} of {count} statements ran")
            found += [f"{name}: {error}" for error in errors]
        for call in calls:
            errors = called(server, call.replace("{folder}", str(folder)))
            print(f"{call}: {'ran' if not errors else f'{len(errors)} errors'}")
            found += [f"{call}: {error}" for error in errors]
        assert server.is_up(), "the server has ended"
    return found


def judge(group):
    """Nothing fails but what is known to need a feature that there is not."""
    known, needed, unexpected = group[5], set(), []
    for words in failures(group):
        parts = [part for part in known if part in words]
        needed.update(parts)
        if not parts:
            unexpected.append(words)
            print(f"- {words[:400]}")
    for part in sorted(needed):
        print(f"- {known[part]}: {part}")
    assert not unexpected, f"{len(unexpected)} errors, the first: {unexpected[0]}"
    unneeded = set(known) - needed
    assert not unneeded, f"these are said to fail and do not: {unneeded}"


def main():
    report = Report("administrators' scripts")
    if not STATEMENTS.exists():
        print("skip administrators' scripts: not built (cargo build -p vlflab-lab --example statements)")
        return 0
    for group in GROUPS:
        try:
            report.check(f"{group[0]} {group[2]}", judge, group)
        except (Unreachable, FileNotFoundError, subprocess.TimeoutExpired) as reason:
            print(f"skip administrators' scripts of {group[0]}: {reason}")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
