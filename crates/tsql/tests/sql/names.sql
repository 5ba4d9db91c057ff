-- Names of one to four parts, and what a query shows of its columns.
create database other
go
create table dbo.t (id int not null, v int null)
insert dbo.t values (1, 10), (2, 20)
go
create schema app
go
create table app.t (id int not null, v int null, w int null)
insert app.t values (1, 100, 7)
go
use other
go
create table dbo.t (id int not null, u int null)
insert dbo.t values (2, 200)
go
use master
go
select dbo.t.v, y.v from dbo.t join app.t as y on dbo.t.id = y.id
select master.dbo.t.v, x.u from master.dbo.t join other.dbo.t as x on master.dbo.t.id = x.id
select other.dbo.t.u, x.v from other.dbo.t join dbo.t as x on x.id = other.dbo.t.id
go
select other.dbo.t.v from master.dbo.t
go
select master.app.t.v from master.dbo.t
go
select other.app.t.v from app.t
go
select MASTER.DBO.T.V, y.W from dbo.T cross join APP.T as Y where Dbo.T.id = 2
select t.v from dbo.t as x
go
select dbo.x.v from dbo.t as x
go
select app.t.v from dbo.t
go
select dbo.d.v from (select v from dbo.t) as d
go
select x.v, t.v from dbo.t as x join app.t on x.id = t.id
select t.* from app.t
select x.* from dbo.t join app.t as x on x.id = dbo.t.id
select t.*, x.w from dbo.t join app.t as x on x.id = dbo.t.id
select y.* from dbo.t as x
go
select v from dbo.t as x join app.t as y on x.id = y.id
go
select w from dbo.t as x join app.t as y on x.id = y.id
select * from dbo.t as x join app.t as x on 1 = 1
go
select * from t join t on 1 = 1
go
select nothing from dbo.t
go
select x.id from dbo.t as x where exists (select 1 from app.t where t.id = x.id and w = 7)
select (select max(v) from app.t where id = x.id) m from dbo.t as x order by x.id
select v, v from dbo.t order by v
go
select id as v from dbo.t order by v desc
select id as v from dbo.t order by t.v desc
select id as n from dbo.t where n = 1
go
select id from dbo.t order by 2
go
select id from dbo.t order by 0
go
select distinct id from dbo.t order by v
go
update dbo.t set dbo.t.v = 11 where master.dbo.t.id = 1
update x set x.v = y.v from dbo.t as x join app.t as y on x.id = y.id
select * from dbo.t order by id
go
delete other.dbo.t where other.dbo.t.u = 200
select count(*) n from other.dbo.t
go
create table p (k int not null primary key, v int not null)
create table q (k int not null primary key, w int not null)
insert p values (1, 1), (2, 2)
insert q values (2, 20), (3, 30)
go
select p.k, p.v, q.w into inner_rows from p join q on p.k = q.k
select p.k, p.v, q.w into left_rows from p left join q on p.k = q.k
select p.k, p.v, q.w into right_rows from p right join q on p.k = q.k
select p.k, p.v, q.w into full_rows from p full join q on p.k = q.k
select p.k, p.v, a.w into applied_rows from p outer apply (select q.w from q where q.k = p.k) a
select p.k, p.v, a.w into crossed_rows from p cross apply (select q.w from q where q.k = p.k) a
select object_name(object_id) t, name, is_nullable from sys.columns where object_name(object_id) like '%[_]rows' order by t, column_id
go
select 5. a, .5 b, 0.5 c, 0. d, 12.50 e, 00.10 f, -1.5 g
select * from right_rows order by w
select try_cast(k as varchar(3)) tried, try_convert(date, cast(w as varchar(9))) d, isnull(null, k) i, case when k = 1 then k end e, (select max(k) from q as z) sub into kinds from q
select name, is_nullable from sys.columns where object_name(object_id) = 'kinds' order by column_id
go
update dbo.t set app.t.v = 11
go
update dbo.t set master.dbo.t.v = 12 where id = 1
update x set x.v = 13 from dbo.t as x where x.id = 2
select * from dbo.t order by id
