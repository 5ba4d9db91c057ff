-- "When a stored procedure is created, the SET QUOTED_IDENTIFIER and SET ANSI_NULLS settings are captured and used for subsequent invocations of that stored procedure."
create table t (a int not null constraint pk_t primary key, b int)
insert t values (1, null), (2, 5)
go
set ansi_nulls off
go
create procedure p as select count(*) as found from t where b = null
go
create view v as select a from t where b = null
go
create function f () returns int as begin return (select count(*) from t where b = null) end
go
set ansi_nulls on
go
exec p
select a from v
select dbo.f() as found
select count(*) as found from t where b = null
go
set quoted_identifier off
go
create procedure q as select "text" as value
go
set quoted_identifier on
go
exec q
select object_name(object_id) as name, uses_ansi_nulls, uses_quoted_identifier from sys.sql_modules order by name
go
-- "When invoked inside a stored procedure, the setting of SET ANSI_NULLS is not changed."
create procedure s as set ansi_nulls off select count(*) as found from t where b = null
go
exec s
go
-- "SQL Server allows for only 10 levels of nesting in CASE expressions."
select case when 1 = 1 then case when 1 = 1 then case when 1 = 1 then case when 1 = 1 then case when 1 = 1 then case when 1 = 1 then case when 1 = 1 then case when 1 = 1 then case when 1 = 1 then case when 1 = 1 then 10 end end end end end end end end end end as levels
go
select case when 1 = 1 then case when 1 = 1 then case when 1 = 1 then case when 1 = 1 then case when 1 = 1 then case when 1 = 1 then case when 1 = 1 then case when 1 = 1 then case when 1 = 1 then case when 1 = 1 then iif(1 = 1, 11, 0) end end end end end end end end end end as levels
go
-- WITH SCHEMABINDING: "all referenced objects must be in the form of schema.object"
create view w with schemabinding as select a from t
go
create view w with schemabinding as select * from dbo.t
go
create function g () returns int with schemabinding as begin return (select max(a) from t) end
go
create function g () returns table with schemabinding as return select a from t
go
create view w with schemabinding as with c as (select a from dbo.t) select a from c
go
drop table t
go
drop view w
go
-- @@CURSOR_ROWS: "0: no cursors have been opened, ... or the last-opened cursor is closed or deallocated. n: the cursor is fully populated."
declare c cursor static for select a from t
select @@cursor_rows as count
open c
select @@cursor_rows as count
close c
select @@cursor_rows as count
deallocate c
go
create table r (id int constraint fk_r references t, x int)
go
exec sp_fkeys @pktable_name = 't'
go
exec sp_fkeys @fktable_name = 'r'
go
exec sp_fkeys
go
select constraint_name, unique_constraint_name, match_option, update_rule, delete_rule from information_schema.referential_constraints
select constraint_name, table_name, column_name, ordinal_position from information_schema.key_column_usage order by 1
go
-- arguments that a DBCC command does not have
dbcc checkdb (master, noindex, 3)
go
dbcc checkdb (master, banana)
go
dbcc useroptions (1)
go
dbcc checktable ('t', repair_rebuild)
go
dbcc shrinkfile (1, emptyfile)
go
create database held
backup database held to disk = 'held.bak'
go
backup database held to disk = 'held.bak' with norecovery
go
restore headeronly from disk = 'held.bak' with replace
go
restore labelonly from disk = 'held.bak' with file = 1
go
restore verifyonly from disk = 'held.bak' with move 'held' to 'x.mdf'
go
restore verifyonly from disk = 'held.bak' with checksum
go
restore headeronly from disk = 'held.bak' with file = 2
go
restore verifyonly from disk = 'held.bak' with stats = 50
go
