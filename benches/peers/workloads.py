"""What is measured: per workload and peer, a script that prepares, one that is timed, and a check of the work done.

A timed script prints the microseconds it took by its server's clock. To add a workload, add an entry to WORKLOADS; to add a
peer, add its scripts here and its class to peers.py.
"""

from dataclasses import dataclass

UPDATES = 40_000
ROWS = 1_000


@dataclass
class Scripts:
    """One peer's share of a workload."""

    prepare: list
    timed: str
    check: str


@dataclass
class Workload:
    """What every peer does the same."""

    title: str
    commits: int
    scripts: dict
    # What `check` prints after so many timed runs.
    expected: object


UPDATE_LOOP = Workload(
    title=f"{UPDATES:,} one-row updates by primary key, each committed, in a loop on the server",
    commits=UPDATES,
    expected=lambda runs: UPDATES * runs,
    scripts={
        "vlflab": Scripts(
            prepare=[
                "create database peers on (name = peers, filename = 'd:\\peers.mdf', size = 64MB) "
                "log on (name = peers_log, filename = 'l:\\peers.ldf', size = 256MB)",
                "use peers create table account (id int not null primary key, amount int not null, filler char(100) not null)",
                f"use peers set nocount on declare @i int = 0 begin tran while @i < {ROWS} begin "
                "set @i += 1 insert account values (@i, 0, 'x') end commit",
                "use peers backup database peers to disk = 'd:\\peers.bak' checkpoint",
            ],
            timed=f"""use peers
set nocount on
declare @begin datetime2 = sysdatetime(), @i int = 0
while @i < {UPDATES}
begin
    set @i += 1
    update account set amount = amount + 1 where id = 1 + @i % {ROWS}
end
select datediff(microsecond, @begin, sysdatetime())""",
            check="use peers set nocount on select sum(amount) from account",
        ),
        "postgresql": Scripts(
            prepare=[
                "create table account (id int not null primary key, amount int not null, filler char(100) not null)",
                f"insert into account select i, 0, 'x' from generate_series(1, {ROWS}) i",
                f"""create procedure update_loop() language plpgsql as $$
begin
    for i in 1..{UPDATES} loop
        update account set amount = amount + 1 where id = 1 + i % {ROWS};
        commit;
    end loop;
end $$""",
                "checkpoint",
            ],
            timed="""select extract(epoch from clock_timestamp()) as begin \\gset
call update_loop();
select round((extract(epoch from clock_timestamp()) - :begin) * 1000000);""",
            check="select sum(amount) from account",
        ),
    },
)

WORKLOADS = {"update-loop": UPDATE_LOOP}
