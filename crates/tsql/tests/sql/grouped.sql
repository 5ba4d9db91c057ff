-- GROUP BY, ROLLUP, CUBE, GROUPING SETS; aggregates of every type; what may not be grouped.
create table s (a int null, b varchar(5) null, c int not null, f float null, m money null, r real null, d decimal(9, 2) null)
insert s values (1, 'x', 1, 1.5, 10, 1, 1.25), (1, 'x', 2, 2.5, 20, 2, 2.25), (1, 'y', 3, null, 30, 3, null), (2, 'x', 4, 4, null, 4, 4), (2, null, 5, 5, 50, 5, 5), (null, null, 6, 6, 60, 6, 6)
go
select a, b, sum(c) s, grouping(a) ga, grouping(b) gb, grouping_id(a, b) id from s group by rollup (a, b) order by id, a, b
select a, b, c, sum(m) m, grouping_id(a, b, c) id from s where c < 5 group by rollup ((a, b), c) order by id, a, b, c
select a, b, count(*) n, grouping_id(a, b) id from s group by cube (a, b) order by id, a, b
select a, b, c % 2 odd, count(*) n, grouping_id(a, b, c % 2) id from s group by cube ((a, b), c % 2) order by id, a, b, odd
select a, b, count(*) n, grouping_id(b, a) id from s group by grouping sets ((a, b), (a), b, ()) order by id, a, b
select a, b, c % 2 odd, count(*) n, grouping_id(a, b, c % 2) id from s group by grouping sets (rollup (a, b), cube (c % 2)) order by id, a, b, odd
select a, b, count(*) n, grouping_id(a, b) id from s group by a, rollup (b) order by id, a, b
select a, b, c % 2 odd, count(*) n, grouping_id(a, b, c % 2) id from s group by rollup (a), cube (b, c % 2) order by id, a, b, odd
select count(*) n, sum(c) s from s where c > 100 group by ()
select count(*) n, sum(c) s from s where c > 100 group by a
select a, count(*) n, grouping_id(a) id from s where c > 100 group by rollup (a)
go
select sum(f) f, avg(f) af, sum(r) r, avg(r) ar, sum(m) m, avg(m) am, sum(d) d, avg(d) ad, avg(c) ac, avg(c * 1.0) acd from s
select a, sum(f) f, avg(f) af, min(f) lf, max(f) gf from s group by a order by a
select count(*) n, count_big(*) nb, count(a) a, count(distinct a) da, count(distinct b) db, count_big(distinct b) dbb, sum(distinct a) sa, avg(distinct a * 1.0) aa from s
select count(f) n, sum(f) f, avg(f) af, min(b) b, max(b) gb, stdev(f) sd, var(f) v, stdevp(f) sdp, varp(f) vp from s where 1 = 0
select cast(stdev(c) as decimal(9, 4)) sd, cast(var(c) as decimal(9, 4)) v, cast(stdevp(c) as decimal(9, 4)) sdp, cast(varp(c) as decimal(9, 4)) vp, stdev(c) - stdev(c) z from s
select stdev(c) sd, stdevp(c) sdp, var(c) v, varp(c) vp from s where c = 3
select sum(cast(2000000000 as int) + c * 0) from s
go
select sum(a + 2000000000) n from s
go
select avg(a + 2000000000) n from s
go
select count() from s
go
select sum(*) from s
go
select min(*) from s
go
select count_big(*) + 1 n, checksum_agg(c) k from s
go
select a, sum(c) from s
go
select a from s group by b
go
select a, b from s group by rollup (a)
go
select grouping(c) from s group by a
go
select grouping_id(a, c) from s group by a
go
select sum(sum(c)) from s
go
select a from s where sum(c) > 1 group by a
go
select a from s group by sum(c)
go
select a, sum(c) n from s group by a having sum(c) > 5 and min(b) is null order by a
select 'some' w, max(c) n from s having max(c) > 5
select 'none' w, max(c) n from s having max(c) > 6
select a + 1 k, a + 1 + count(*) n from s group by a + 1 order by a + 1
select a + 1 k from s group by a order by a + 1 desc
go
create table w (p varchar(9) collate Latin1_General_CS_AS not null, q varchar(9) collate Latin1_General_CI_AS not null, i int not null)
insert w values ('a', 'a', 1), ('A', 'A', 2), ('b', 'B', 3), ('b', 'b', 4)
select p, count(*) n from w group by p order by p
select count(*) n from w group by q order by q
select count(distinct p) p, count(distinct q) q, min(p collate Latin1_General_BIN2) lp from w
go
select count(*) from w group by p + q
go
select count(*) from w group by i, p + q
go
select count(*) from w group by rollup ((i, p + q))
go
select i, count(*) over (partition by i order by p + q) n from w
go
select p + q from w
go
select i, p + q from w order by 1
go
select p from w union select q from w
go
select 1 n, p from w union select 1, q from w
go
select distinct p + q from w
go
select count(*) from w where p = q
go
select i from w order by p + q
go
select len(string_agg(x, ',')) n from (values (replicate('a', 3999)), (replicate('b', 4000))) v(x)
select string_agg(x, ',') n from (values (replicate('a', 4000)), (replicate('b', 4000))) v(x)
go
select string_agg(x, N',') n from (values (replicate(N'a', 2000)), (replicate(N'b', 2000))) v(x)
go
select len(string_agg(x, N',')) n from (values (replicate(N'a', 1999)), (replicate(N'b', 2000))) v(x)
select case when 1 = 0 then c else 7 end x from s where a = 1 group by a
select coalesce(null, 5, c) x from s where a = 1 group by a
go
-- A set that is written twice has its rows twice.
select a, count(*) n, grouping_id(a) id from s group by grouping sets ((a), (a), ()) order by id, a
select a, sum(c) n, grouping_id(a) id from s group by rollup (a, a) order by id, a
