-- Window functions, their frames, and what is no frame.
create table t (id int not null primary key, g varchar(3) null, v int null, f float null)
insert t values (1, 'a', 10, 1), (2, 'a', 10, 2), (3, 'a', 30, null), (4, 'b', null, 4), (5, 'b', 5, 5), (6, 'b', 7, 6), (7, null, 1, 7), (8, null, 1, 8)
go
select id, row_number() over (partition by g order by v, id) rn, rank() over (partition by g order by v) rk, dense_rank() over (partition by g order by v) dr, ntile(2) over (partition by g order by id) nt from t order by id
select id, row_number() over (order by v desc, id desc) rn, rank() over (order by v desc) rk, dense_rank() over (order by g desc) dr, ntile(3) over (order by id) nt from t order by id
select id, ntile(20) over (order by id) n20, ntile(1) over (order by id) n1, ntile(5) over (order by id) n5 from t order by id
select id, lag(v) over (partition by g order by id) l, lag(v, 2, -1) over (order by id) l2, lead(v, 1, 0) over (partition by g order by id) n, lead(v, 0) over (order by id) self, lead(v, 9, 99) over (order by id) far from t order by id
select id, first_value(v) over (partition by g order by id desc) f, last_value(v) over (partition by g order by id) l, last_value(v) over (partition by g order by v) lp,
  last_value(v) over (partition by g order by id rows between current row and unbounded following) ll from t order by id
go
select id, sum(v) over (order by id) r, sum(v) over (order by g) peers, sum(v) over (order by id rows unbounded preceding) rr, sum(v) over (partition by g) p, count(*) over () n, count(v) over (partition by g) nv from t order by id
select id, sum(v) over (order by id rows between 1 preceding and 1 following) a, sum(v) over (order by id rows between 2 preceding and 1 preceding) b, sum(v) over (order by id rows between 1 following and 2 following) c,
  sum(v) over (order by id rows between current row and current row) d, count(*) over (order by id rows 2 preceding) e, sum(v) over (order by id rows between unbounded preceding and 1 preceding) f from t order by id
select id, sum(v) over (order by g range between current row and unbounded following) a, sum(v) over (order by g range between unbounded preceding and unbounded following) b, sum(v) over (order by g range current row) c,
  min(v) over (order by id rows between 1 preceding and 1 following) d, max(v) over (partition by g order by id rows between 1 following and unbounded following) e from t order by id
select id, avg(f) over (order by id rows 1 preceding) a, sum(f) over (partition by g order by id) b, avg(v) over (partition by g) c, count(*) over (order by g range current row) d from t order by id
select id, first_value(v) over (order by id rows between 1 following and 2 following) a, last_value(v) over (order by id rows between 2 preceding and 1 preceding) b from t order by id
select id, percent_rank() over (order by v) p, cume_dist() over (partition by g order by v) c from t order by id
go
select g, count(*) n, sum(count(*)) over () total, rank() over (order by count(*) desc, g) rk from t group by g order by rk
select top 2 id, row_number() over (order by v desc, id) rn from t order by rn
select distinct sum(v) over (partition by g) s from t order by s
select x.id from (select id, row_number() over (partition by g order by id desc) rn from t) x where x.rn = 1 order by x.id
select id from t order by row_number() over (order by id desc)
go
select row_number() over () from t
go
select row_number() over (partition by g) from t
go
select rank() from t
go
select id from t where row_number() over (order by id) = 1
go
select id from t group by id having rank() over (order by id) = 1
go
select sum(v) over (rows unbounded preceding) from t
go
select ntile(0) over (order by id) from t
go
select lag(v, -1) over (order by id) from t
go
select row_number() over (order by id rows unbounded preceding) from t
go
select sum(v) over (order by id range between 1 preceding and current row) from t
go
select sum(v) over (order by id rows between current row and 1 preceding) from t
go
select sum(v) over (order by id rows between unbounded following and current row) from t
go
select sum(v) over (order by 1) from t
go
select row_number() over (order by (select null)) n from t where id < 3
select sum(row_number() over (order by id)) from t
go
select count(distinct v) over () from t
go
