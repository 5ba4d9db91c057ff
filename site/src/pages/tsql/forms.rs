//! Statements and their forms, each with a script that uses it. What the page says of a form is what became of its script.
//!
//! Scripts run in a new database with the tables of [`SETUP`], one subject after the other; batches end with GO.

/// A statement, clause or kind of object.
pub struct Subject {
    pub name: &'static str,
    /// What is told apart, in words, and a script for each.
    pub forms: &'static [(&'static str, &'static str)],
}

/// Some subjects that belong together.
pub struct Chapter {
    pub title: &'static str,
    pub subjects: &'static [Subject],
}

/// What scripts find.
pub const SETUP: &str = "create table t (a int not null primary key, b varchar(20), c int)\n\
insert t values (1, 'one', 10), (2, 'two', 20)\n\
create table u (a int, d decimal(9, 2), e datetime2)\n\
insert u values (1, 1.5, '2024-01-01')\nGO\n\
create procedure p @x int = 1 as select a from t where a = @x\nGO\n\
create view v as select a, b from t";

macro_rules! subject {
    ($name:literal, $($form:literal => $script:literal),+ $(,)?) => {
        Subject { name: $name, forms: &[$(($form, $script)),+] }
    };
}

pub const CHAPTERS: [Chapter; 6] = [
    Chapter {
        title: "Queries",
        subjects: QUERIES,
    },
    Chapter {
        title: "Changes of rows",
        subjects: CHANGES,
    },
    Chapter {
        title: "Tables, indexes and modules",
        subjects: DEFINITIONS,
    },
    Chapter {
        title: "Databases, backups and administration",
        subjects: DATABASES,
    },
    Chapter {
        title: "Control of flow and transactions",
        subjects: FLOW,
    },
    Chapter {
        title: "Security and what else there is",
        subjects: OTHERS,
    },
];

const QUERIES: &[Subject] = &[
    subject!("SELECT",
        "DISTINCT" => "select distinct b from t",
        "TOP" => "select top (1) a from t order by a",
        "TOP PERCENT" => "select top (50) percent a from t order by a",
        "WITH TIES" => "select top (1) with ties a from t order by a",
        "INTO" => "select a, b into n from t",
        "assignment to variables" => "declare @x int select @x = a from t",
        "without FROM" => "select 1 as one"),
    subject!("FROM",
        "JOIN: INNER, LEFT, RIGHT, FULL, CROSS" => "select t.a from t join u on t.a = u.a left join t x on x.a = u.a right join t y on y.a = u.a full join t z on z.a = y.a cross join u w",
        "CROSS APPLY, OUTER APPLY" => "select t.a from t cross apply (select top (1) d from u where u.a = t.a) x outer apply (select e from u where u.a = t.a) y",
        "OUTER APPLY of a join" => "select t.a from t outer apply (u join t x on x.a = u.a)",
        "VALUES as a table" => "select x.a from (values (1), (2)) x (a)",
        "table hints" => "select a from t with (nolock, index (0))",
        "OPENJSON" => "select [key] from openjson('[1]')",
        "OPENJSON WITH" => "select x from openjson('[{\"x\":1}]') with (x int)",
        "STRING_SPLIT" => "select value from string_split('a,b', ',')",
        "GENERATE_SERIES" => "select value from generate_series(1, 3)",
        "PIVOT" => "select * from (select a, c from t) s pivot (sum(c) for a in ([1], [2])) p",
        "UNPIVOT" => "select * from (select a, c from t) s unpivot (x for y in (a, c)) p",
        "TABLESAMPLE" => "select a from t tablesample (10 percent)",
        "OPENROWSET, OPENQUERY" => "select * from openrowset(bulk 'c:\\x.txt', single_clob) x",
        "FOR SYSTEM_TIME" => "select a from t for system_time all",
        "CHANGETABLE" => "select * from changetable(changes t, 0) x"),
    subject!("WHERE, HAVING, conditions",
        "IN, EXISTS, ANY, ALL, BETWEEN, LIKE, IS NULL" => "select a from t where a in (1, 2) and exists (select 1 from u where u.a = t.a) and a >= all (select a from u) and a = any (select a from t) and a between 1 and 2 and b like 'o%' escape '!' and c is not null",
        "IS DISTINCT FROM" => "select a from t where a is not distinct from c",
        "CONTAINS, FREETEXT" => "select a from t where contains(b, 'one')",
        "CURRENT OF" => "declare k cursor for select a from t open k fetch k delete t where current of k"),
    subject!("GROUP BY",
        "columns and expressions, HAVING" => "select c % 2, count(*) from t group by c % 2 having count(*) > 0",
        "GROUPING SETS, ROLLUP, CUBE" => "select a, b, sum(c) from t group by grouping sets ((a), rollup (a, b), cube (a, b))",
        "GROUPING, GROUPING_ID" => "select grouping(a), grouping_id(a, b) from t group by rollup (a, b)"),
    subject!("ORDER BY",
        "OFFSET FETCH" => "select a from t order by a offset 1 rows fetch next 1 rows only",
        "COLLATE" => "select b from t order by b collate Latin1_General_BIN2"),
    subject!("UNION, EXCEPT, INTERSECT", "all of them" => "select a from t union all select a from u except select 3 intersect select 4 union select 5"),
    subject!("WITH (common table expressions)",
        "plain and recursive" => "with x as (select 1 as n union all select n + 1 from x where n < 5), y as (select n from x) select n from y",
        "before INSERT, UPDATE, DELETE" => "with x as (select a, c from t) update x set c = c + 1",
        "XMLNAMESPACES" => "with xmlnamespaces ('u' as ns) select 1"),
    subject!("OVER",
        "PARTITION BY, ORDER BY" => "select row_number() over (partition by c order by a), sum(c) over (order by a) from t",
        "ROWS and RANGE frames" => "select sum(c) over (order by a rows between 1 preceding and current row), sum(c) over (order by a range between unbounded preceding and current row) from t",
        "WINDOW clause" => "select sum(c) over w from t window w as (order by a)"),
    subject!("FOR XML", "RAW" => "select a from t for xml raw", "AUTO" => "select a from t for xml auto", "PATH" => "select a from t for xml path", "EXPLICIT" => "select 1 as tag, null as parent, 1 as [r!1!a] for xml explicit"),
    subject!("FOR JSON", "PATH" => "select a from t for json path", "AUTO" => "select a from t for json auto"),
    subject!("OPTION", "hints, see the table of words" => "select a from t option (recompile, maxdop 1)"),
    subject!("Expressions",
        "CASE, COALESCE, NULLIF, IIF, CHOOSE" => "select case a when 1 then 'x' else 'y' end, coalesce(c, 1), nullif(a, 1), iif(a = 1, 1, 2), choose(1, 'a', 'b') from t",
        "CAST, CONVERT, TRY_CAST, TRY_CONVERT" => "select cast(a as varchar(9)), convert(char(8), getdate(), 112), try_cast('x' as int), try_convert(int, '1') from t",
        "PARSE, TRY_PARSE" => "select parse('1' as int), try_parse('1' as int)",
        "AT TIME ZONE" => "select e at time zone 'UTC' from u",
        "NEXT VALUE FOR" => "select next value for s",
        "methods of xml" => "declare @x xml = '<a/>' select @x.value('(/a)[1]', 'int')"),
];

const CHANGES: &[Subject] = &[
    subject!("INSERT",
        "VALUES, one row or many" => "insert t (a, b) values (3, 'x'), (4, default)",
        "SELECT" => "insert into t (a) select a + 10 from t",
        "EXECUTE" => "create table n (a int) insert n exec p 1",
        "DEFAULT VALUES" => "create table n1 (a int default 1) insert n1 default values",
        "OUTPUT" => "insert t (a) output inserted.a values (20)",
        "OUTPUT INTO" => "declare @o table (a int) insert t (a) output inserted.a into @o values (21)",
        "OUTPUT INTO and OUTPUT" => "declare @o2 table (a int) insert t (a) output inserted.a into @o2 output inserted.b values (22)",
        "TOP" => "insert top (1) into t (a) select a + 30 from t",
        "TOP PERCENT" => "insert top (50) percent into t (a) select a + 40 from t",
        "into a view" => "insert v (a, b) values (50, 'v')",
        "from the OUTPUT of another change" => "insert u (a) select a from (delete from t output deleted.a where a = 1) x"),
    subject!("UPDATE",
        "SET, compound assignment, variables" => "declare @x int update t set c += 1, b = 'x', @x = c where a = 1",
        "FROM" => "update x set c = u.a from t x join u on u.a = x.a",
        "OUTPUT" => "update t set c = 1 output deleted.c, inserted.c",
        "TOP" => "update top (1) t set c = 2",
        "of a view, of a common table expression" => "update v set b = 'q' where a = 1",
        "WRITE" => "create table m (x varchar(max)) update m set x.write('a', 0, 1)"),
    subject!("DELETE", "WHERE, FROM, TOP, OUTPUT" => "delete top (1) x output deleted.a from t x join u on u.a = x.a"),
    subject!("MERGE", "any" => "merge t using u on t.a = u.a when matched then update set c = 1;"),
    subject!("TRUNCATE TABLE", "whole table" => "truncate table u", "PARTITIONS" => "truncate table u with (partitions (1))"),
    subject!("Bulk load",
        "INSERT BULK, as bulk copy clients send it" => "set parseonly on\nGO\ninsert bulk t (a int, b varchar(20)) with (tablock)",
        "BULK INSERT from a file" => "bulk insert t from 'c:\\x.txt'"),
    subject!("READTEXT, WRITETEXT, UPDATETEXT", "any" => "readtext t.b 0x00 0 1"),
];

const DEFINITIONS: &[Subject] = &[
    subject!("CREATE TABLE",
        "PRIMARY KEY, UNIQUE, CHECK, DEFAULT, IDENTITY" => "create table n (a int identity (1, 1) primary key, b int not null unique check (b > 0), c int constraint d default 1)",
        "FOREIGN KEY with CASCADE, SET NULL, SET DEFAULT" => "create table n1 (a int references t (a) on delete cascade on update set null)",
        "indexes in the table" => "create table n2 (a int index i, b int, index j (b))",
        "temporary tables, # and ##" => "create table #n (a int) create table ##n (a int)",
        "computed columns" => "create table n3 (a int, b as a + 1)",
        "SPARSE, ROWGUIDCOL" => "create table n4 (a int sparse null)",
        "temporal tables" => "create table n5 (a int primary key, f datetime2 generated always as row start, g datetime2 generated always as row end, period for system_time (f, g))",
        "memory-optimized" => "create table n6 (a int primary key nonclustered) with (memory_optimized = on)",
        "partitions" => "create table n7 (a int) on ps (a)",
        "compression" => "create table n8 (a int) with (data_compression = page)"),
    subject!("ALTER TABLE",
        "ADD columns and constraints" => "alter table t add n int null, constraint k check (c > 0)",
        "DROP COLUMN, DROP CONSTRAINT" => "alter table u drop column d",
        "ALTER COLUMN" => "alter table u alter column a bigint",
        "CHECK and NOCHECK CONSTRAINT" => "alter table t nocheck constraint all alter table t with check check constraint all",
        "REBUILD" => "alter table t rebuild",
        "ADD INDEX" => "alter table u add index i (a)",
        "SWITCH" => "alter table t switch to u"),
    subject!("CREATE INDEX",
        "UNIQUE, CLUSTERED, NONCLUSTERED, DESC" => "create unique clustered index i on u (a desc)",
        "INCLUDE" => "create index j on t (b) include (c)",
        "WHERE (filtered)" => "create index k on t (b) where c > 0",
        "COLUMNSTORE" => "create columnstore index l on t (b)",
        "XML, SPATIAL, FULLTEXT" => "create fulltext index on t (b) key index x"),
    subject!("ALTER INDEX", "REBUILD" => "alter index all on t rebuild", "REORGANIZE" => "alter index all on t reorganize", "DISABLE" => "alter index all on t disable"),
    subject!("CREATE, UPDATE, DROP STATISTICS", "all of them" => "create statistics s on t (c) with fullscan update statistics t s drop statistics t.s", "filtered" => "create statistics r on t (c) where c > 0"),
    subject!("CREATE VIEW",
        "plain, CHECK OPTION, OR ALTER" => "create or alter view w as select a from t where a > 0 with check option",
        "SCHEMABINDING" => "create view w2 with schemabinding as select a from dbo.t",
        "indexed" => "create view w3 with schemabinding as select a, b from dbo.t\nGO\ncreate unique clustered index i on w3 (a)"),
    subject!("CREATE PROCEDURE",
        "parameters, defaults, OUTPUT, OR ALTER" => "create or alter procedure q @x int = 1, @y int output as set @y = @x return 3",
        "table-valued parameters" => "create type tt as table (a int)\nGO\ncreate procedure q2 @x tt readonly as select a from @x",
        "cursor parameters" => "create procedure q3 @x cursor varying output as return 1",
        "temporary procedures" => "create procedure #q as select 1"),
    subject!("CREATE FUNCTION",
        "scalar" => "create function f (@x int) returns int as begin return @x + 1 end",
        "inline table-valued" => "create function g (@x int) returns table as return (select a from t where a = @x)",
        "multi-statement table-valued" => "create function h () returns @r table (a int) as begin insert @r values (1) return end",
        "table-valued parameters" => "create type ft as table (a int)\nGO\ncreate function k (@x ft readonly) returns int as begin return 1 end"),
    subject!("CREATE TRIGGER", "any" => "create trigger tr on t after insert as return"),
    subject!("CREATE SCHEMA", "plain" => "create schema n", "with elements" => "create schema n2 create table x (a int)"),
    subject!("CREATE TYPE", "alias" => "create type al from varchar(20) not null", "table" => "create type tb as table (a int primary key)", "assembly" => "create type ax external name x.y"),
    subject!("CREATE SEQUENCE", "any" => "create sequence s"),
    subject!("CREATE SYNONYM", "any" => "create synonym s for t"),
    subject!("DROP", "TABLE, VIEW, PROCEDURE, IF EXISTS" => "drop table if exists u drop view v drop procedure p drop table if exists nowhere"),
];

const DATABASES: &[Subject] = &[
    subject!("CREATE DATABASE",
        "plain" => "create database {}n1",
        "ON, LOG ON: sizes, several files" => "create database {}n2 on (name = a, filename = 'c:\\{}a.mdf', size = 8MB, filegrowth = 1MB), (name = b, filename = 'c:\\{}b.ndf') log on (name = l, filename = 'c:\\{}l.ldf', size = 2MB, maxsize = 10MB, filegrowth = 1MB)",
        "COLLATE" => "create database {}n3 collate Latin1_General_100_CI_AS",
        "filegroups" => "create database {}n4 on primary (name = a4, filename = 'c:\\{}a4.mdf'), filegroup g (name = b4, filename = 'c:\\{}b4.ndf')",
        "FOR ATTACH" => "create database {}n5 on (filename = 'c:\\{}x.mdf') for attach",
        "AS SNAPSHOT OF" => "create database {}n6 on (name = a, filename = 'c:\\{}s.ss') as snapshot of master"),
    subject!("ALTER DATABASE",
        "SET, see the table of words" => "alter database {} set recovery simple alter database {} set recovery full",
        "MODIFY FILE" => "alter database {} modify file (name = {}_log, filegrowth = 2MB)",
        "ADD FILE, ADD LOG FILE, REMOVE FILE" => "alter database {} add file (name = ax, filename = 'c:\\{}ax.ndf') alter database {} add log file (name = lx, filename = 'c:\\{}lx.ldf') alter database {} remove file ax",
        "ADD FILEGROUP" => "alter database {} add filegroup g",
        "SCOPED CONFIGURATION but for the values in its table of words" => "alter database scoped configuration set maxdop = 1",
        "COLLATE" => "create database {}co\nGO\nalter database {}co collate Latin1_General_100_CI_AS",
        "MODIFY NAME" => "create database {}mn\nGO\nalter database {}mn modify name = {}mo"),
    subject!("BACKUP",
        "DATABASE and LOG to files" => "backup database {} to disk = '{}.bak' with init, compression, checksum backup log {} to disk = '{}.trn'",
        "several files at once" => "backup database {} to disk = '{}1.bak', disk = '{}2.bak'",
        "DIFFERENTIAL" => "backup database {} to disk = '{}d.bak' with differential",
        "FILE, FILEGROUP" => "backup database {} filegroup = 'PRIMARY' to disk = '{}f.bak'",
        "URL, encryption" => "backup database {} to url = 'https://x/y.bak'"),
    subject!("RESTORE",
        "DATABASE, LOG; NORECOVERY, MOVE, REPLACE" => "use master backup database {} to disk = '{}r.bak' with init backup log {} to disk = '{}r.trn' with norecovery restore database {} from disk = '{}r.bak' with replace, norecovery restore log {} from disk = '{}r.trn' with recovery",
        "STOPAT" => "use master restore database {} from disk = '{}r.bak' with replace, norecovery restore log {} from disk = '{}r.trn' with stopat = '9999-01-01' restore database {} with recovery",
        "STANDBY" => "use master restore database {} from disk = '{}r.bak' with replace, standby = '{}.undo' restore database {} with recovery",
        "HEADERONLY, FILELISTONLY, LABELONLY, VERIFYONLY" => "restore headeronly from disk = '{}r.bak' restore filelistonly from disk = '{}r.bak' restore labelonly from disk = '{}r.bak' restore verifyonly from disk = '{}r.bak'",
        "PAGE, FILE, PARTIAL" => "use master restore database {} page = '1:20' from disk = '{}r.bak'",
        "STOPATMARK" => "use master restore log {} from disk = '{}r.trn' with stopatmark = 'm'"),
    subject!("DROP DATABASE, USE, CHECKPOINT", "all of them" => "create database {}dd\nGO\nuse {}dd checkpoint\nGO\nuse master drop database {}dd"),
    subject!("KILL, SHUTDOWN, RECONFIGURE", "all of them" => "set parseonly on\nGO\nkill 70 shutdown with nowait reconfigure with override"),
    subject!("EXECUTE sp_configure", "any" => "exec sp_configure 'show advanced options', 1 reconfigure"),
];

const FLOW: &[Subject] = &[
    subject!("IF, WHILE, BEGIN, GOTO, RETURN, BREAK, CONTINUE", "all of them" => "declare @i int = 0 while 1 = 1 begin set @i += 1 if @i < 2 continue else break end goto done done: return"),
    subject!("TRY ... CATCH, THROW, RAISERROR", "all of them" => "begin try begin try raiserror('x', 16, 1) end try begin catch throw end catch end try begin catch print error_message() end catch"),
    subject!("WAITFOR", "DELAY, TIME" => "set parseonly on\nGO\nwaitfor delay '00:00:01' waitfor time '12:00'", "a statement" => "waitfor (receive * from q)"),
    subject!("DECLARE",
        "variables, tables" => "declare @x int = 1, @y table (a int primary key, b int check (b > 0))",
        "cursors" => "declare k cursor local fast_forward for select a from t open k fetch next from k close k deallocate k",
        "cursor variables" => "declare @k cursor set @k = cursor for select a from t open @k fetch @k",
        "dynamic and keyset cursors, updates through cursors" => "declare k2 cursor dynamic for select a from t"),
    subject!("EXECUTE",
        "procedures, text, sp_executesql" => "declare @r int exec @r = p @x = 2 exec ('select 1') exec sp_executesql N'select @a', N'@a int', 1",
        "WITH RECOMPILE" => "exec p with recompile",
        "WITH RESULT SETS" => "exec p with result sets ((a int))",
        "AT a linked server" => "exec ('select 1') at other",
        "AS" => "exec as user = 'dbo'"),
    subject!("Transactions",
        "BEGIN, COMMIT, ROLLBACK, SAVE" => "begin tran x save tran s rollback tran s commit",
        "WITH MARK" => "begin tran m with mark 'here' commit",
        "DELAYED_DURABILITY, and the commit is durable all the same" => "begin tran commit with (delayed_durability = on)",
        "DISTRIBUTED" => "begin distributed tran"),
    subject!("SET TRANSACTION ISOLATION LEVEL",
        "READ UNCOMMITTED, READ COMMITTED, REPEATABLE READ, SERIALIZABLE" => "set transaction isolation level read uncommitted select a from t set transaction isolation level read committed select a from t set transaction isolation level repeatable read select a from t set transaction isolation level serializable select a from t",
        "SNAPSHOT" => "set transaction isolation level snapshot select a from t"),
];

const OTHERS: &[Subject] = &[
    subject!("GRANT, DENY, REVOKE", "any" => "grant select on t to public"),
    subject!("CREATE LOGIN, USER, ROLE", "any" => "create login x with password = 'Qw3rty-uiop'"),
    subject!("EXECUTE AS, REVERT", "any" => "revert"),
    subject!("Keys, certificates, encryption", "any" => "create master key encryption by password = 'Qw3rty-uiop'"),
    subject!("Partition functions and schemes", "any" => "create partition function pf (int) as range left for values (1)"),
    subject!("Assemblies (CLR)", "any" => "create assembly x from 0x00"),
    subject!("Service Broker", "any" => "create queue q"),
    subject!("Extended events", "any" => "create event session x on server add event sqlserver.rpc_completed"),
    subject!("Resource governor", "any" => "alter resource governor reconfigure"),
    subject!("Availability groups", "any" => "create availability group x for replica on 'y' with (endpoint_url = 'z')"),
    subject!("External tables", "any" => "create external table x (a int) with (location = 'x', data_source = y)"),
    subject!("Row-level security", "any" => "create security policy x add filter predicate f(a) on t"),
    subject!("Rules and defaults as objects", "any" => "create rule r as @x > 0"),
];
