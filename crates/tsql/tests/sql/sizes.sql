-- Long sql_variant values lie outside of their row (sql-docs, "Row-overflow data exceeding 8 KB"); 1701 with the bytes of a row
create table big (v1 sql_variant, v2 sql_variant)
insert big values (replicate(cast('a' as varchar(8000)), 8000), replicate(cast('b' as varchar(8000)), 8000))
go
create table fat (a char(8000), b char(100))
go
-- 1011, 1012, 1013 as the names are written, the later one first; frames that end before they begin
create table n (a int)
go
create schema app
go
create table app.n (a int)
go
select 1 from dbo.n join app.n on 1 = 1
go
select 1 from n x, app.n X
go
select 1 from dbo.n, app.n as n
go
select sum(a) over (order by a rows between 1 following and 1 preceding) from n
go
select sum(a) over (order by a rows between current row and 1 preceding) from n
go
select rank() over (order by a rows unbounded preceding) from n
