-- What statements compared with other databases found. Each statement here was answered otherwise, or refused.
create table t (id int not null, n int null, amount decimal(9, 2) not null, day date null);
create table u (id int not null, word varchar(100) null);
insert t values (1, 5, 0.25, '20240229'), (2, null, 1.5, null);
insert u values (1, 'a'), (3, 'b');
go
-- A row of VALUES sees the table as it was before the statement, not the rows before it.
insert t values (10, 0, 0, null), (11, (select count(*) from t), 0, null);
select id, n from t where id >= 10 order by id;
delete t where id >= 10;
go
-- INSERT reads its own target as it was, however its query comes to it: inner sides of joins, subqueries, later parts of
-- UNION ALL. These met rows of their own: 16 for 8, counts that rise from row to row.
create table h (id int not null, n int null);
create table #h (id int not null, n int null);
declare @h table (id int not null, n int null);
insert h values (1, 0), (1, 0); insert #h select * from h; insert @h select * from h;
insert h select a.id, 1 from h a cross apply (select b.id from h b where b.id = a.id) c cross join h d;
insert #h select a.id, 1 from #h a cross apply (select b.id from #h b where b.id = a.id) c cross join #h d;
insert @h select a.id, 1 from @h a cross apply (select b.id from @h b where b.id = a.id) c cross join @h d;
insert h select u.id, (select count(*) from h where h.n is not null or u.id > 0) from u;
insert #h select u.id, (select count(*) from #h where #h.n is not null or u.id > 0) from u;
insert @h select u.id, (select count(*) from @h x where x.n is not null or u.id > 0) from u;
insert h select id, 7 from u union all select id, 7 from h where n = 0;
insert #h select id, 7 from u union all select id, 7 from #h where n = 0;
insert @h select id, 7 from u union all select id, 7 from @h where n = 0;
select n, count(*) as h from h group by n order by n;
select n, count(*) as h from #h group by n order by n;
select n, count(*) as h from @h group by n order by n;
go
-- A NULL that was given a type keeps it: these were 245 and 206, as if it were an int.
select t.id from t where case when t.n = 5 then cast(null as varchar(100)) end = 'a';
select coalesce(case when n = 5 then cast(null as date) end, day) as d from t order by id;
select isnull(convert(varchar(5), null), 'abcdefg') as s, coalesce(cast(null as date), null) as d;
-- The word alone still takes any type.
select coalesce(null, 'a') as s, isnull(null, cast(1.5 as float)) as f, case when 1 = 1 then null else day end as d from t where id = 1;
go
-- A NULL with a type that does not fit is refused as any value is: 206.
insert u values (cast(null as date), 'x');
go
-- A sum has 38 digits; adding to it takes none of its scale: 0.25 + 0 was 0.3.
select sum(amount) as s, sum(amount) + 0 as added, sum(amount) - 1 as less from t where id = 1;
select cast(1 as decimal(38, 0)) + cast(0.25 as decimal(9, 2)) as whole;
go
-- The first part of a query in parentheses may have its own: 156.
select id from t where id in ((select id from u) union all select 2) order by id;
select id from t where id not in ((select id from u union select 7) except (select 1)) order by id;
select ((select max(id) from u) intersect select 3) as three, (select 1) as one union select 4, 5 order by one;
select id from t where id in ((select 1), 2) order by id;
select d.id from (((select id from t union all select 5) except select 1) as d left join u on u.id = d.id) order by d.id;
select d.id from (((select id from t) union all (select 5)) except (select 1)) as d order by d.id;
select d.id from ((select id from t) as d join u on u.id = d.id);
go
-- A later one may not.
select id from t where id in (3, (select 1) union select 2);
go
