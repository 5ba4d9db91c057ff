"""Short transactions on one table of accounts: a loop on the server, 8 and 64 clients, and reads by key.

PEERS_UPDATES and PEERS_READS set other numbers of them.
"""

import os

from . import Load, Scripts, Workload, sqlite_number, timed_mariadb, timed_postgresql, timed_sqlite, timed_vlflab

UPDATES = int(os.environ.get("PEERS_UPDATES", "40000"))
ROWS = 10_000
READS = int(os.environ.get("PEERS_READS", "50000"))
UPDATE = "update account set amount = amount + 1 where id = "
READ = "select amount from account where id = "


def sqlite_loop(connection):
    for i in range(UPDATES):
        connection.execute(f"{UPDATE} ?", (1 + i % ROWS,))


PREPARE = {
    "vlflab": [
        "if db_id('peers') is not null drop database peers",
        "create database peers on (name = peers, filename = 'd:\\peers.mdf', size = 64MB) "
        "log on (name = peers_log, filename = 'l:\\peers.ldf', size = 1024MB)",
        "use peers create table account (id int not null primary key, amount int not null, filler char(100) not null)",
        f"use peers set nocount on declare @i int = 0 begin tran while @i < {ROWS} begin "
        "set @i += 1 insert account values (@i, 0, 'x') end commit",
        "use peers backup database peers to disk = 'd:\\peers.bak' with init checkpoint",
    ],
    "postgresql": [
        "drop table if exists account; drop procedure if exists update_loop;",
        "create table account (id int not null primary key, amount int not null, filler char(100) not null)",
        f"insert into account select i, 0, 'x' from generate_series(1, {ROWS}) i",
        f"""create procedure update_loop() language plpgsql as $$
begin
    for i in 1..{UPDATES} loop
        {UPDATE} 1 + i % {ROWS};
        commit;
    end loop;
end $$""",
        "checkpoint",
    ],
    "mariadb": [
        "drop table if exists account; drop procedure if exists update_loop;",
        "create table account (id int not null primary key, amount int not null, filler char(100) not null) engine = innodb",
        f"insert into account select seq, 0, 'x' from seq_1_to_{ROWS}",
        f"""delimiter //
create procedure update_loop()
begin
    declare i int default 0;
    while i < {UPDATES} do
        set i = i + 1;
        {UPDATE} 1 + i % {ROWS};
    end while;
end//""",
    ],
    "sqlite": [
        "drop table if exists account;"
        "create table account (id integer not null primary key, amount int not null, filler text not null);"
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < "
        f"{ROWS}) insert into account select i, 0, printf('%-100s', 'x') from n;",
    ],
}
SUM = "select sum(amount) from account"
CHECK = {
    "vlflab": f"use peers set nocount on {SUM}",
    "postgresql": SUM,
    "mariadb": SUM,
    "sqlite": sqlite_number(SUM),
}


def scripts(timed):
    return {name: Scripts(prepare=PREPARE[name], timed=timed.get(name), check=CHECK[name]) for name in PREPARE}


def updates_from(clients):
    return Workload(
        title=f"{UPDATES:,} one-row updates by primary key, each committed, from {clients} clients over TCP, prepared",
        unit="commit",
        count=UPDATES,
        expected=lambda runs: UPDATES * runs,
        load=Load(
            clients=clients,
            repeats=UPDATES // clients,
            keys=ROWS,
            statements={
                "vlflab": f"{UPDATE} @key",
                "postgresql": f"{UPDATE} :key",
                "mariadb": f"{UPDATE} ?",
                "sqlite": f"{UPDATE} ?",
            },
        ),
        scripts=scripts({}),
        goal=1.5,
    )


WORKLOADS = {
    "update-loop": Workload(
        title=f"{UPDATES:,} one-row updates by primary key, each committed, in a loop on the server",
        unit="commit",
        count=UPDATES,
        expected=lambda runs: UPDATES * runs,
        scripts=scripts(
            {
                "vlflab": timed_vlflab(f"while @i < {UPDATES}\nbegin\n    set @i += 1\n    {UPDATE} 1 + @i % {ROWS}\nend"),
                "postgresql": timed_postgresql("call update_loop()"),
                "mariadb": timed_mariadb("call update_loop()"),
                "sqlite": timed_sqlite(sqlite_loop),
            }
        ),
    ),
    "update-8-clients": updates_from(8),
    "update-64-clients": updates_from(64),
    "point-select": Workload(
        title=f"{READS:,} reads of one row by primary key, one client over TCP, prepared",
        unit="read",
        count=READS,
        expected=lambda runs: 0,
        load=Load(
            clients=1,
            repeats=READS,
            keys=ROWS,
            statements={
                "vlflab": f"{READ} @key",
                "postgresql": f"{READ} :key",
                "mariadb": f"{READ} ?",
                "sqlite": f"{READ} ?",
            },
        ),
        scripts=scripts({}),
        against=("postgresql",),
    ),
}
