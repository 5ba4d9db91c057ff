create table d (id int not null primary key, name varchar(20) not null)
create table e (id int identity(1,1) not null, name nvarchar(20) not null, dept int null, pay money not null, hired datetime not null)
insert d values (1, 'Sales'), (2, 'Research'), (3, 'Empty')
insert e (name, dept, pay, hired) values (N'Ann', 1, 100, '2020-01-15'), (N'Bob', 1, 150.5, '20210301'), (N'Cid', 2, 300, '2019-07-07 13:45'), (N'Dee', null, 50, '2022-12-31')
go
select * from e order by pay desc
select top 2 name, pay * 2 as twice from e order by 2
select top 50 percent name from e order by name
select top (1) with ties dept from e where dept is not null order by dept
select d.name, e.name from d join e on e.dept = d.id order by d.name, e.name desc
select d.name, e.name from d left join e on e.dept = d.id order by d.id, e.id
select d.name, e.name from d right join e on e.dept = d.id order by e.id
select d.name, e.name from d full outer join e on e.dept = d.id order by isnull(d.id, 99), e.id
select count(*) from d cross join e
select count(*) n from d, e where d.id = e.dept and e.pay > 120
go
select dept, count(*) n, sum(pay) total, avg(pay) mean, min(name) first, max(hired) last from e group by dept having count(*) >= 1 order by dept
select count(*), sum(pay), avg(dept), count(dept), count(distinct dept) from e where 1 = 0
select case when grouping(dept) = 1 then 'all' else cast(dept as varchar(10)) end dept, sum(pay) total from e group by rollup(dept) order by total
select year(hired) y, string_agg(name, ', ') within group (order by name) names from e group by year(hired) order by y
select dept + 1 k, count(*) from e group by dept + 1 order by k
go
select name, pay, row_number() over (order by pay desc) rn, rank() over (order by dept) rk, dense_rank() over (order by dept) dr,
  sum(pay) over () total, sum(pay) over (partition by dept order by id) running, lag(name) over (order by id) before, lead(name, 1, 'none') over (order by id) after,
  ntile(2) over (order by id) tile, first_value(name) over (partition by dept order by pay) cheapest
from e order by id
select name, sum(pay) over (order by id rows between 1 preceding and 1 following) around, cast(100. * pay / sum(pay) over () as decimal(12,2)) pct from e order by id
select dept, sum(sum(pay)) over () grand from e group by dept order by dept
go
select name from e where dept in (select id from d where name like 'S%')
select name from e where dept not in (select id from d where id > 1) order by name
select name from d where exists (select * from e where e.dept = d.id and pay > 120) order by name
select name, (select max(pay) from e where e.dept = d.id) best from d order by id
select name from e where pay > all (select pay from e where dept = 1)
select x.name, x.n from (select d.name, count(e.id) n from d left join e on e.dept = d.id group by d.name) x where x.n < 2 order by x.name
select d.name, t.name, t.pay from d cross apply (select top 1 name, pay from e where e.dept = d.id order by pay desc) t order by d.id
select d.name, t.name from d outer apply (select top 1 name from e where e.dept = d.id order by pay desc) t order by d.id
;with a as (select id, name from d), b as (select id from a where id < 3) select a.name from a join b on a.id = b.id order by 1 desc
select v.n, v.t from (values (1, 'one'), (2, 'two'), (3, null)) v(n, t) where v.n <> 2
go
select id from d union select dept from e order by id
select id from d union all select dept from e where dept = 1
select id from d except select dept from e
select id from d intersect select dept from e
select 1 a union select 2.5 union select null order by a
select distinct dept from e order by dept
select name from e order by id offset 1 rows fetch next 2 rows only
select name from e where name between 'B' and 'D' or name like '_ee' order by name
select name, case dept when 1 then 'one' when 2 then 'two' else 'none' end w, iif(pay > 100, 'rich', 'poor') r, coalesce(dept, -1) c, nullif(dept, 1) nf, choose(dept, 'x', 'y') ch from e order by id
go
select nosuch from e
go
select * from nosuch
go
select e.name, dept from e group by dept
go
select name from e join d on e.dept = d.id
go
select (select id from d)
go
select 1 / 0
select 'after division'
go
with n(i) as (select 1 union all select i + 1 from n where i < 150) select count(*), sum(i) from n option (maxrecursion 200)
;with n as (select 1 i union all select i + 1 from n) select count(*) from n
go
with t as (select 1 id, cast('root' as varchar(50)) path union all select e.id, cast(t.path + '/' + e.name as varchar(50)) from e join t on e.dept = t.id and e.id > t.id) select id, path from t order by path
go
with l0 as (select 1 c union all select 1), l1 as (select a.c from l0 a cross join l0 b), l2 as (select a.c from l1 a cross join l1 b), l3 as (select a.c from l2 a cross join l2 b)
select top 3 row_number() over (order by (select null)) n from l3 order by n desc
go
GO
-- Numbers in no order in particular are given as rows come: TOP ends what would be ten thousand million rows.
create table digit (n int not null)
insert digit values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)
select top (3) row_number() over (order by (select null)) as number
from digit a, digit b, digit c, digit d, digit e, digit f, digit g, digit h, digit i, digit j
select count(*) as rows, min(n) as lowest, max(n) as highest
from (select row_number() over (order by (select 1)) as n, row_number() over (order by (select null)) as m
      from digit a, digit b) numbered
where n = m
select top (2) row_number() over (order by n) as number, n from digit order by n desc
