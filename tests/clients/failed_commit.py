"""A COMMIT that fails, as each client tells of it: no program may take it for a success.

The log of the database victim stands behind the size that no file may have any more (RLIMIT_FSIZE, set on the running server by
`prlimit`), and everything else that the server writes before it. So the COMMIT cannot make its log durable: 9001, severity 21. Between two
clients the limit goes, and SET ONLINE recovers the database. Each client's program runs the one check that `VLFLAB_FAILED_COMMIT` names.
"""

import shutil
import subprocess
import sys

import run
from harness import PASSWORD, TOOLS, Server, equal

LIMIT_BYTES = 12 << 20
CHECK = "is told of a failed commit"
SETUP = f"""set nocount on
create database clients
create database victim on (name = victim, filename = 'd:\\victim.mdf', size = 8MB)
    log on (name = victim_log, filename = 'd:\\victim.ldf', size = 64MB)
backup database victim to disk = 'd:\\victim.bak'
create table victim.dbo.committed (n int not null)
create table victim.dbo.filled (id int not null primary key, filler char(7000) not null)
insert victim.dbo.filled values (0, 'x')
declare @n int = 0
while @n < 3000 begin
    set @n += 1
    update victim.dbo.filled set filler = replicate(char(65 + @n % 26), 7000)
end
checkpoint
use victim
checkpoint
if (select used_log_space_in_bytes from sys.dm_db_log_space_usage) < {LIMIT_BYTES + (1 << 20)} raiserror('the log stands before the limit', 16, 1)
"""


def limit(server, size):
    subprocess.run(["prlimit", "--pid", str(server.process.pid), f"--fsize={size}:unlimited"], check=True)


def try_client(server, name, missing, command):
    """True if the client raised, or is not there. That the commit failed shows in the database's state."""
    if missing():
        return run.run(name, missing, command, {})
    server.sql("set nocount on truncate table victim.dbo.committed use victim checkpoint")
    limit(server, LIMIT_BYTES)
    environment = {
        "VLFLAB_PORT": str(server.port),
        "VLFLAB_PASSWORD": PASSWORD,
        "VLFLAB_ENCRYPT": "",
        "VLFLAB_FAILED_COMMIT": CHECK,
        "NODE_PATH": str(TOOLS / "node_modules"),
        "ODBCSYSINI": str(TOOLS / "odbc"),
    }
    succeeded = run.run(name, missing, command, environment)
    state = server.sql("set nocount on select state_desc from sys.databases where name = 'victim'").strip()
    equal(state, "RECOVERY_PENDING", f"after {name}")
    limit(server, "unlimited")
    server.sql("alter database victim set online")
    return succeeded


def main():
    if not shutil.which("prlimit"):
        print("skip failed commits: there is no prlimit", flush=True)
        return 0
    succeeded = True
    with Server() as server:
        server.sql(SETUP)
        for entry in run.CLIENTS:
            succeeded &= try_client(server, *entry)
    return 0 if succeeded else 1


if __name__ == "__main__":
    sys.exit(main())
