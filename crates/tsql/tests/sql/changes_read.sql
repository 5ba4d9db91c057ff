-- A statement reads its target as it was before the statement began.
create table r (id int not null primary key, v int not null, g int null, w int null, index i_v (v))
insert r values (1, 1, 1, null), (2, 2, 1, null), (3, 3, 2, null), (4, 4, 2, null)
update r set w = (select sum(x.v) from r as x where x.id <= r.id)
select * from r order by id
update r set v = (select sum(x.v) from r as x where x.id <= r.id)
select * from r order by id
update r set v = (select count(*) from r as x where x.v >= r.v), w = v
select * from r order by id
update r set v = v + 1 where exists (select * from r as x where x.v = r.v + 1)
select * from r order by id
update r set v = x.v from r join r as x on x.id = r.id + 1
select * from r order by id
update a set v = b.v + 10 from r as a join r as b on b.g = a.g and b.id > a.id
select * from r order by id
update top (2) r set w = -1
select count(*) n from r where w = -1
update r set id = id + 1 where id > 2
select id, v from r order by id
update r set g = null output deleted.g, inserted.g, inserted.id where g = 2
delete r where v < (select max(v) from r as x where x.id <> r.id)
select count(*) n from r
delete top (1) from r
delete r output deleted.id where id in (select id from r)
select count(*) n from r
go
create table h (v int not null, w int not null, n int null)
insert h values (1, 1, null), (2, 1, null), (3, 2, null), (3, 2, 7)
update h set n = (select count(*) from h as x where x.n is null)
select * from h order by v, w, n
update h set v = v + (select max(v) from h as x where x.w = h.w)
select * from h order by v, w, n
insert h select v, w, n from h
select count(*) n from h
insert h (v, w) select top (2) v + 100, w from h order by v desc
select v, w, n from h where v > 100
insert h (v, w) values ((select max(v) from h), (select min(w) from h)), ((select count(*) from h), 0)
select v, w, n from h where w = 0 or v = 107
delete x from h as x join h as y on y.w = x.w and y.v > x.v
select v, w, n, count(*) c from h group by v, w, n order by v, w, n
delete h where not exists (select * from h as x where x.v = h.v and x.w = h.w and x.n = h.n)
select count(*) n from h
go
-- Variables and columns at once, and what was set twice.
insert h values (1, 1, 4), (2, 1, 5), (3, 2, 6)
declare @a int = 0
update h set @a = @a + v where w = 1
select @a a
select v, n from h where w = 1 order by v
go
update h set v = 1, v = 2
go
update h set missing = 1
go
update h set v = null where w = 1
go
update h set v = default where w = 1
go
insert h (v, v, w) values (1, 1, 1)
go
insert h (v) values (1, 2)
go
insert h (v, w) values (1)
go
insert h (v, w) select 1
go
insert h (v) values (5)
go
insert h values (1, 2)
go
-- A common table expression and a view as targets.
delete h
insert h values (50, 5, 1), (51, 5, 2), (52, 6, 3)
go
with c as (select v, n from h where w = 5) update c set n = n + 1 where v > 50
;with c as (select top (1) * from h where w >= 5 order by v) delete c
select v, w, n from h where w >= 5 order by v
go
create view few as select v, n as number from h where w = 5
go
update few set number = 9 output inserted.*, deleted.number
go
delete few where v = 51
select * from few
go
create view grouped as select w, count(*) n from h group by w
go
update grouped set n = 1
go
delete grouped
go
create procedure p as select 1 one
go
update p set one = 2
go
delete p
go
create function f () returns int as begin return 1 end
go
update f set one = 2
go
-- Names of letters beyond ASCII are one name in capitals and small letters.
create table städte (größe int not null, [Ähre] int null)
insert STÄDTE (GRÖßE, ähre) values (1, 2)
select Größe, ÄHRE from Städte as s where S.größe = 1 order by s.ähre
update städte set ÄHRE = 3
select GRÖßE from städte
go
with c as (select 1 n union all (select 2 union all select 3)) select n from c order by n
go
with c as (select 1 n union all select n + 1 from (select n from c) as d where n < 4) select n from c order by n
go
with c as (select 1 n union all select n + 1 from c) select n from c option (maxrecursion 5)
go
with c as (select 1 n, 2 m), c as (select 3 k) select * from c
go
with c (a, b) as (select 1) select * from c
go
with c as (select 1, 2 b) select * from c
go
with c (a, b) as (select 1, 2 x), d as (select b, a from c) select * from d
select case when null in (1 / 0) then 1 else 2 end x
select 1 x where null in (1 / 0) or 1 in (null)
go
