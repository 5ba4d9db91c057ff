-- COLLATE in expressions: comparison, IN, LIKE, ORDER BY, grouping
select case when 'a' = 'A' then 1 else 0 end d, case when 'a' = 'A' collate Latin1_General_CS_AS then 1 else 0 end cs, case when 'a' collate latin1_general_ci_ai = 'Á' then 1 else 0 end ai, case when N'ß' collate Latin1_General_CI_AS = 'ss' then 1 else 0 end expands
select case when 'b' collate Latin1_General_BIN2 in ('A', 'B') then 1 else 0 end bin, case when 'b' in ('A', 'B' collate Latin1_General_CI_AS) then 1 else 0 end ci
select case when 'abc' like 'A%' then 1 else 0 end ci, case when 'abc' like 'A%' collate SQL_Latin1_General_CP1_CS_AS then 1 else 0 end cs, case when 'b' collate Latin1_General_CS_AS like '[A-C]' then 1 else 0 end range, case when 'b' collate Latin1_General_BIN like '[A-C]' then 1 else 0 end bin_range
select x from (values ('b'), ('A'), ('a'), ('B'), ('_')) v(x) order by x collate Latin1_General_BIN
select x from (values ('b'), ('A'), ('a'), ('B'), ('a-b'), ('ab')) v(x) order by x collate Latin1_General_CS_AS
select x collate Latin1_General_CS_AS k, count(*) n from (values ('b'), ('A'), ('a'), ('B'), ('a')) v(x) group by x collate Latin1_General_CS_AS order by 1
select distinct x collate Latin1_General_CI_AI k from (values ('resume'), ('résumé'), ('RESUME')) v(x)
select max(x collate Latin1_General_BIN) bin, max(x) ci, min(x collate Latin1_General_CS_AS) cs from (values ('b'), ('A'), ('a'), ('B')) v(x)
select replace('aAbB' collate Latin1_General_CS_AS, 'a', 'x') cs, replace('aAbB', 'a', 'x') ci, charindex('B', 'abB' collate Latin1_General_BIN) bin, patindex('%B%', 'abB' collate Latin1_General_CS_AS) pat, replace('résumé' collate Latin1_General_CI_AI, 'e', 'E') ai
select x from (values ('a'), ('b')) v(x) union select 'A' collate Latin1_General_CS_AS order by 1
select x from (values ('a'), ('b')) v(x) except select 'A' collate Latin1_General_CS_AS order by 1
select row_number() over (partition by x collate Latin1_General_CS_AS order by x collate Latin1_General_BIN) n, x from (values ('a'), ('A'), ('a')) v(x) order by x collate Latin1_General_BIN
go
-- names
select 'a' collate Latin1_General_CI_AS_KS_WS
go
select 'a' collate German_PhoneBook_CI_AS
go
select 1 collate Latin1_General_CI_AS
go
select ('a' collate Latin1_General_CI_AS) collate Latin1_General_CS_AS
go
create table bad (a int collate Latin1_General_CI_AS)
go
create table bad (a varchar(5) collate Nowhere_CI_AS)
go
-- columns: unique keys, seeks, joins, conflicts
create table c (id int identity primary key, d varchar(20) not null, cs varchar(20) collate Latin1_General_CS_AS not null unique, ai nvarchar(20) collate Latin1_General_CI_AI not null, bin varchar(20) collate Latin1_General_BIN2 not null, u varchar(20) collate Latin1_General_100_CI_AS_SC_UTF8 not null)
insert c (d, cs, ai, bin, u) values ('a', 'a', N'a', 'a', N'漢'), ('A', 'A', N'á', 'A', N'字a'), ('b', 'b', N'b', 'b', 'é')
create unique index bin on c (bin)
create index ai on c (ai)
create index d on c (d)
select name, collation_name from sys.columns where object_id = object_id('c') order by column_id
select column_name, collation_name, character_set_name from information_schema.columns where table_name = 'c' order by ordinal_position
go
insert c (d, cs, ai, bin, u) values ('c', 'a', N'c', 'c', 'c')
go
insert c (d, cs, ai, bin, u) values ('c', 'B', N'c', 'a', 'c')
go
insert c (d, cs, ai, bin, u) values ('c', 'B', N'c', 'B', 'c')
go
select id, cs from c where cs = 'A'
select id, ai from c where ai = 'A' order by id
select id, bin from c where bin = 'B'
select id, bin from c where bin > 'a' order by bin
select id, d from c where d = 'A' order by id
select id, d from c where d = 'A' collate Latin1_General_CS_AS order by id
declare @v varchar(10) = 'A'
select id from c where cs = @v
select id from c where ai in (@v, 'x') order by id
select cs from c order by cs
select ai from c order by ai
select bin from c order by bin desc
select id, u, datalength(u) bytes, len(u) length, left(u, 1) l from c order by id
select x.id, y.id from c x join c y on x.cs = y.cs order by 1, 2
select x.id, y.id from c x join c y on x.ai = y.ai order by 1, 2
select x.id, y.id from c x join c y on x.cs = y.d collate database_default order by 1, 2
go
select * from c x join c y on x.cs = y.ai
go
select * from c where cs + ai = 'x'
go
select cs + ai from c
go
select case when id = 1 then cs else d end from c
go
select * from c where 'a' collate Latin1_General_CS_AS = 'a' collate Latin1_General_BIN
go
select cs from c union all select ai from c
go
select cs from c union select ai from c
go
select replace(cs, d, 'x') from c
go
select cs from c order by cs + ai
go
select id from c where cs in (select ai from c)
go
declare @v varchar(40)
select @v = cs + ai from c
go
select (cs + ai) collate Latin1_General_CI_AS x from c order by 1
select id from c where cs in (select ai collate Latin1_General_CS_AS from c) order by id
select id from c where exists (select 1 from c y where y.cs = c.cs collate Latin1_General_CI_AS and y.id <> c.id) order by id
select coalesce(nullif(cs, 'a'), 'zzz') x from c order by id
select count(distinct cs) cs, count(distinct ai) ai, count(distinct d) d, string_agg(cs, ',') within group (order by cs) g from c
select ai, count(*) n from c group by ai order by ai
go
update c set cs = upper(cs) where id = 3
go
update c set cs = 'x', d = cs output deleted.cs, inserted.cs, inserted.d where cs = 'A'
delete c where bin = 'b'
select id, d, cs, bin from c order by id
go
-- other makers of columns
select cs, ai, cs collate Latin1_General_CI_AI x, 'a' y into i from c
select name, collation_name from sys.columns where object_id = object_id('i') order by column_id
create table #t (a varchar(10), b varchar(10) collate Latin1_General_BIN)
declare @t table (a varchar(10) collate Latin1_General_CS_AS primary key, b varchar(10))
insert @t values ('a', 'x'), ('A', 'y')
insert #t select a, b from @t
select a, b from @t where a = 'A'
select a, b from #t where a = 'A' order by b
alter table i alter column ai varchar(30) collate Latin1_General_CS_AS
alter table i add z varchar(5) collate Latin1_General_BIN
select name, collation_name from sys.columns where object_id = object_id('i') order by column_id
go
declare @t table (a varchar(10) collate Latin1_General_CS_AS primary key)
insert @t values ('a'), ('A'), ('a')
go
-- functions that tell
select name, description from sys.fn_helpcollations() order by name
select collationproperty('Latin1_General_CS_AI', 'ComparisonStyle') style, collationproperty('Latin1_General_100_CI_AS_SC_UTF8', 'CodePage') page, collationproperty('Latin1_General_BIN', 'Version') version, collationproperty('nothing', 'CodePage') nothing
select serverproperty('Collation') server, databasepropertyex(db_name(), 'Collation') db
go
with r as (select cast('a' as varchar(10)) collate Latin1_General_CS_AS x, 1 n union all select cast(x + 'b' as varchar(10)), n + 1 from r where n < 3) select x from r where x like 'a%' order by x
go
create view cv as select cs, ai from c
go
select cs from cv where cs = 'A' or ai = 'A' order by cs
go
-- the database's default
create database cs collate Latin1_General_CS_AS
go
use cs
create table t (a varchar(10), b nvarchar(10) collate SQL_Latin1_General_CP1_CI_AS)
insert t values ('a', 'x'), ('A', 'y')
select case when 'a' = 'A' then 1 else 0 end constants, databasepropertyex('cs', 'Collation') c
select a from t where a = 'a'
select a, b from t where b = 'X'
declare @v varchar(10) = 'A', @w varchar(10) = 'a'
select a, case when @v = @w then 1 else 0 end variables from t where a = @v
select name, collation_name from sys.columns where object_id = object_id('t') order by column_id
select name from sys.tables where name = 'T'
select upper('a') u, case when upper('a') = 'a' then 1 else 0 end functions, replace('aA', 'a', 'x') r
select name, collation_name from sys.databases where name = 'CS'
declare @t table (a varchar(5) primary key)
insert @t values ('a'), ('A')
create table #u (a varchar(5))
insert #u select a from @t
select t.a from #u t join @t v on t.a = v.a collate database_default
go
select t.a from #u t join t u on t.a = u.a
go
alter database cs collate Latin1_General_BIN2
create table u (a varchar(10))
select object_name(object_id) t, collation_name from sys.columns where name = 'a' and object_id in (object_id('t'), object_id('u')) order by 1
go
alter database cs collate Klingon_CI_AS
go
alter database master collate Latin1_General_BIN2
go
create database bad collate Klingon_CI_AS
go
-- a plan that is kept is one of the collation it was bound under
select case when 'q' = 'Q' then 1 else 0 end q
go
alter database cs collate Latin1_General_CI_AI
go
select case when 'q' = 'Q' then 1 else 0 end q
go
alter database cs collate Latin1_General_CS_AI
go
select case when 'q' = 'Q' then 1 else 0 end q
go
use master
go
select case when 'q' = 'Q' then 1 else 0 end q
go
create table cs.dbo.w (a varchar(10), u varchar(10) collate Latin1_General_100_CI_AS_SC_UTF8, n nvarchar(10))
insert cs.dbo.w values ('a', N'漢', N'字')
alter table cs.dbo.w alter column n varchar(10) collate Latin1_General_100_CI_AS_SC_UTF8
select name, collation_name from cs.sys.columns where object_id = object_id('cs.dbo.w') order by column_id
select a, u, n, cast(n as varchar(10)) collate Latin1_General_CI_AS lost, cast(u as varbinary(10)) bytes from cs.dbo.w
select object_name(1) from cs.dbo.w where a = 'A'
go
insert cs.dbo.w (u) values (N'漢字漢字')
go
drop database cs
go
