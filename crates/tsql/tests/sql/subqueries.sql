-- ANY, ALL, IN, EXISTS and scalar subqueries with NULL and without rows; TOP and OFFSET; set operations.
create table l (a int null, k int not null primary key)
create table e (v int null)
create table o (v int null, g int not null)
insert l values (1, 1), (2, 2), (3, 3), (null, 4)
insert o values (1, 1), (2, 1), (2, 2), (3, 2), (null, 3), (2, 3)
go
select k, case when a = any (select v from o where g = 1) then 'y' when not a = any (select v from o where g = 1) then 'n' else 'u' end eq,
  case when a <> any (select v from o where g = 1) then 'y' when not a <> any (select v from o where g = 1) then 'n' else 'u' end ne,
  case when a < some (select v from o where g = 1) then 'y' when not a < some (select v from o where g = 1) then 'n' else 'u' end lt,
  case when a >= any (select v from o where g = 1) then 'y' when not a >= any (select v from o where g = 1) then 'n' else 'u' end ge
from l order by k
select k, case when a = all (select v from o where g = 2) then 'y' when not a = all (select v from o where g = 2) then 'n' else 'u' end eq,
  case when a <> all (select v from o where g = 2) then 'y' when not a <> all (select v from o where g = 2) then 'n' else 'u' end ne,
  case when a <= all (select v from o where g = 2) then 'y' when not a <= all (select v from o where g = 2) then 'n' else 'u' end le,
  case when a > all (select v from o where g = 1) then 'y' when not a > all (select v from o where g = 1) then 'n' else 'u' end gt
from l order by k
select k, case when a > any (select v from o where g = 3) then 'y' when not a > any (select v from o where g = 3) then 'n' else 'u' end gt,
  case when a = any (select v from o where g = 3) then 'y' when not a = any (select v from o where g = 3) then 'n' else 'u' end eq,
  case when a <> all (select v from o where g = 3) then 'y' when not a <> all (select v from o where g = 3) then 'n' else 'u' end ne,
  case when a >= all (select v from o where g = 3) then 'y' when not a >= all (select v from o where g = 3) then 'n' else 'u' end ge
from l order by k
select k, case when a > any (select v from e) then 'y' when not a > any (select v from e) then 'n' else 'u' end emptyany,
  case when a > all (select v from e) then 'y' when not a > all (select v from e) then 'n' else 'u' end emptyall,
  case when a in (select v from e) then 'y' when a not in (select v from e) then 'n' else 'u' end emptyin
from l order by k
go
select k, case when a in (select v from o where g = 1) then 'y' when a not in (select v from o where g = 1) then 'n' else 'u' end i1,
  case when a in (select v from o where g = 3) then 'y' when a not in (select v from o where g = 3) then 'n' else 'u' end i3,
  case when a in (1, null) then 'y' when a not in (1, null) then 'n' else 'u' end l1
from l order by k
select k from l where a > any (select v from o where o.g = l.k) order by k
select k from l where a >= all (select v from o where o.g = l.k) order by k
select k from l where a in (select v from o where o.g = l.k) order by k
select k from l where a not in (select v from o where o.g = l.k) order by k
select k from l where exists (select 1 from o where o.v = l.a and o.g > 1) order by k
select k from l where not exists (select 1 from o where o.v = l.a) and (k > 1 or a is null) order by k
select k from l where (select count(*) from o where o.v = l.a) = 2 or exists (select * from e) order by k
select k, (select max(v) from o where g = k) m, (select v from o where g = k and v > 2) x, (select v from e) n from l order by k
go
select k, (select v from o where g = 1) from l
go
select (select v, g from o)
go
select k from l where a in (select v, g from o)
go
select k from l where a > all (select * from o)
go
select k from l where exists (select v, g from o where g = k) order by k
select sum(a) s from l where a = (select max(v) from o where v < (select max(v) from o))
select k from l where a between (select min(v) from o) and (select max(v) from o where g = 1) order by k
select x.k, y.v from l x cross apply (select top 2 o.v from o where o.g = x.k order by o.v desc) y order by x.k, y.v
select x.k, y.v from l x outer apply (select o.v from o where o.g = x.k and o.v = x.a) y order by x.k, y.v
go
with c as (select 1 n union all select n + 1 from c where n < 5) select n, (select count(*) from o where v <= n) q from c order by n
;with c as (select 1 n, 'x' w union all select n + 1, w from c where n < 3), d as (select n, w from c union all select n * 10, w from c) select n, w from d order by n
select top 3 with ties g from o order by g
select top (0) g from o order by g
select top (50) percent g, v from o order by g, v
select top (101) percent g from o
go
declare @n int = -1 select top (@n) g from o
go
select g, v from o order by g, v offset 2 rows fetch next 2 rows only
select g, v from o order by g, v offset 5 rows
select g, v from o order by g, v offset 9 rows fetch next 1 rows only
select g, v from o order by g, v offset 1 row fetch first 1 row only
go
declare @n int = -1 select g from o order by g offset @n rows
go
select v from o where g = 1 union select v from o where g = 3 order by v
select v from o where g = 1 union all select v from o where g = 3 order by v
select v from o where g = 1 except select v from o where g = 3 order by v
select v from o where g = 1 intersect select v from o where g = 3 order by v
select v from o except select v from o where g < 3
select v from o where g = 3 intersect select null
select v, g from o union select v from o
go
select v from o where g = 1 union all (select v from o where g = 2 intersect select 2) order by v desc
select v from o where g = 2 except select 3 union all select 2 order by 1
select k from l where a in (select '2' union select '3') order by k
select k from l where a in (select 1.0 union select 2.5) order by k
select k from l where '3' in (select a from l as m) order by k
select k from l where a > all (select '1') order by k
select k from l where a >= any (select cast(2.5 as float)) order by k
select k from l where k = all (select k from o where g = 9) order by k
select k from l where 5 <> all (select v from o where v is not null) order by k
select k from l where a in (select 'two')
go
declare @t table (a int, b int)
insert @t select a, k from l
insert @t select a, b from @t where a is not null
select count(*) n, sum(b) b from @t
update @t set b = (select max(b) from @t) where a is null
delete @t where a = 1
select a, b from @t order by a, b
