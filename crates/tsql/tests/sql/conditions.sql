-- LIKE, BETWEEN, IN, CASE and operators beside NULL and across types.
create table c (i int null, d decimal(6, 2) null, v varchar(10) null, n nvarchar(10) null, f char(5) null, t datetime null, b bit null)
insert c values (1, 1.50, 'abc', N'Ωmega', 'ab', '2020-01-02', 1), (12, 12.00, 'a%c', N'Жuk', 'a_', '2021-03-04 05:06', 0), (123, null, '', N'', null, null, null), (null, -1.25, null, null, 'x[y', '2022-01-01', 1)
go
select i from c where i like '1%' order by i
select i from c where i like '_2' order by i
select d from c where d like '1_.%' order by d
select n from c where n like N'Ω%'
select n from c where n like N'Ж%' or n like 'uk'
select case when N'Ωx' like N'Жx' then 1 else 0 end x, case when N'Ωx' like N'Ωx' then 1 else 0 end y, case when 'Ωx' like N'Ωx' then 1 else 0 end z
select f from c where f like 'ab'
select f from c where f like 'a[_]'
select f from c where f like 'a!_' escape '!'
select f from c where f like 'x[[]y%'
select v from c where v like 'a!%c' escape '!'
select v from c where v like 'a[^b]c'
select v from c where v like '[a-c][b%]_'
select v from c where v not like 'a%' order by v
select v from c where v like ''
select v from c where v like null or v not like null
select t from c where t like '%2020%'
select case when 1 like 1 then 'y' end a, case when 5.0 like '5._' then 'y' end b
go
select v from c where v like 'a' escape 'no'
go
select v from c where v like 'a!' escape '!'
go
select i from c where i between 1 and 12 order by i
select i from c where i not between 1 and 12 order by i
select i from c where i between null and 12 or not i between 13 and null
select i from c where not i between null and 12 order by i
select d from c where d between -1.25 and 1.5 order by d
select i from c where i between d and d + 1 order by i
select t from c where t between '20200102' and '20210304 05:06' order by t
go
select i from c where i in (1, '12') order by i
select i from c where i in (1.0, 12.5) order by i
select v from c where v in ('ABC ', 'q') order by v
select i from c where i not in (1, 12)
select i from c where i not in (1, null)
select i from c where '1' in (i, 2)
select i from c where i in ('one')
go
select i from c where (i > 1 or d > 1) and not (v = 'a%c') order by i
select i from c where not (i > 1 and d is null) order by i
select i from c where not (i > 1 or d is null) order by i
select i from c where i > 1 or d < 0 and v is null order by i
select count(*) n from c where b = 1
select count(*) n from c where b = 'true'
select count(*) n from c where b <> 1
select count(*) n from c where i is not null and not d is null
select case i when 1 then 'one' when 12 then 'dozen' end w, case when i < 5 then 'few' when i < 50 then 'some' else 'many' end q from c order by i
select case null when null then 1 else 2 end a, case i when null then 1 else 2 end b from c where i = 1
select case when i = 1 then 1 when i = 12 then 2.5 end x, case when i = 1 then 'a' else N'b' end y, case when i = 1 then d else i end z from c order by i
select nullif(i, 12) n, coalesce(i, d, 7) c, isnull(d, i) x, iif(i > 5, 'big', 'small') s, choose(i, 'p', 'q') h from c order by i
select case when i = 1 then 'a' else 5 end from c where i = 1
go
select case when i = 1 then null else null end from c
go
select coalesce(null, null)
go
select nullif(null, 1)
go
select 1 where 'a' = 1
go
select 1 where 1
go
select i + v from c where i = 1
go
select v + 1 from c where v = ''
select i from c where t > 'no date'
go
select i / 0 from c
go
select i from c where i = 1 and 1 / (i - 1) > 0
go
select i from c where d > all (select 1 / 0 where 1 = 0) order by i
select i % 5 m, -i neg, ~i inv, i & 5 a, i | 2 o, i ^ 3 x, +i p from c order by i
select 7 / 2 a, 7.0 / 2 b, 7 % 3 c, -7 / 2 d, -7 % 3 e, 2 + 3 * 4 f, (2 + 3) * 4 g, 10 - 3 - 2 h, 100 / 10 / 5 i, 1 + '2' j, '1' + '2' k
