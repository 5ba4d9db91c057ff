-- Rows found through indexes, by values of the column's type and of others.
create table x (d decimal(9, 2) not null primary key, b bigint not null, s smallint null, t datetime2(3) null, m money null, f float null, v varchar(6) null, y varbinary(4) null,
  index i_b (b desc), index i_s (s), index i_t (t), index i_m (m), index i_f (f), index i_v (v, s desc), index i_y (y))
insert x values (1, 10, 1, '2020-01-01', 1.5, 0.5, 'ab', 0x01), (2.5, 20, 2, '2020-02-01 10:00', 2.5, 1.5, 'AC', 0x02), (3, 30, null, null, null, null, null, null),
  (4.25, 40, 300, '2021-01-01', -4, -2, 'b', 0x0304), (-5, -50, -5, '1999-12-31', 5, 5, 'ab', 0x)
go
select d from x where d = 3
select d from x where d = 2.5
select d from x where d = cast(4.25 as float)
select d from x where d = '1'
select d from x where d = 2.501
select d from x where d > 2 and d <= 4.25 order by d
select d from x where d >= -5 and d < 1 order by d
select d from x where d in (1, 3, 9)
select d from x where d > 3
select d from x where d < cast(-4 as bigint)
select d from x where d between 1 and 3 order by d
select d from x where d = null or d > 4.249
select d from x where 3 = d
select d from x where 3 < d
select d from x where 3 >= d order by d
select d from x where d > 1 and d > 2.5 and d < 100 order by d
select d from x where d = 1 and d = 2.5
select d from x where d = 1 + 1.5
select d from x where d > 5
select d from x where d < 5 and d > 5
go
select d, b from x where b = 30
select d, b from x where b = 30.0
select d, b from x with (index (i_b)) where b > 10 order by b
select d, b from x with (index (i_b)) where b >= 20 and b < 40 order by b
select d, b from x with (index (i_b)) where b < 10
select d, b from x with (index (i_b)) where b between -50 and 10 order by b
select b from x where b = cast(20 as tinyint)
select b from x where b = 99999999999
select s from x where s = 2
select s from x where s = 70000
select s from x with (index (i_s)) where s > 1 order by s
select s from x with (index (i_s)) where s <= 1 order by s
select s from x with (index (i_s)) where s < 70000 order by s
select d from x where s is null
select d from x where s = null
select t from x where t = '2020-01-01'
select t from x where t = cast('2020-02-01 10:00' as datetime)
select t from x with (index (i_t)) where t >= '2020-01-01' and t < '2021-01-01' order by t
select t from x with (index (i_t)) where t > cast('2020-01-01' as date) order by t
select m from x where m = 2.5
select m from x with (index (i_m)) where m > 1.5 order by m
select f from x where f = 1.5
select f from x where f = -2
select f from x with (index (i_f)) where f < 1 order by f
select y from x where y = 0x02
select y from x where y = 0x0304 or y = 0x
go
select d, v from x where v = 'AB' order by d
select d, v from x where v = 'ab' and s = 1
select d, v from x where v = 'ab' and s < 1
select d, v from x where v = 'ab' and s >= -5 order by d
select d, v from x where v = N'b'
select d, v from x where v = 'ab ' order by d
select d, v from x with (index (i_v)) where v > 'ab' order by d
select d, v from x with (index (i_v)) where v >= 'ac' and v < 'b'
select d, v from x where v = 'longer than its column'
select d, v from x with (index (i_v)) where v < 'a longer one than its column' order by d
select d, v from x where v like 'a%' order by d
select d from x where v is null
go
declare @d decimal(9, 2) = 2.5, @i int = 3, @n int, @w varchar(20) = 'ac'
select d from x where d = @d
select d from x where d = @i
select d from x where d = @n
select d from x where d > @n
select d from x where v = @w
select d from x where d > @i and d < @i + 2
select d from x where d = @i or d = @d order by d
update x set f = 9 where d = @i
delete x where d = @i and f = 9
select count(*) n from x
go
create table two (a int not null, b int not null, c int null, constraint pk_two primary key (a, b desc))
insert two values (1, 1, 11), (1, 2, 12), (1, 3, 13), (2, 1, 21), (2, 2, 22), (3, 1, 31)
select b from two where a = 1 order by b
select b from two where a = 1
select b from two where a = 1 and b > 1 order by b
select b from two where a = 1 and b <= 2 order by b
select b from two where a = 1 and b = 2
select a, b from two where b = 1 order by a
select a, b from two where a > 1 and b = 1 order by a
select a, b from two where a >= 2 and b > 1
select a, b from two where a < 3 and c > 12 order by a, b
select top (1) a, b from two where a > 1 order by a, b
select x.c, y.c from two x join two y on y.a = x.a + 1 and y.b = x.b order by x.c
select x.c, (select max(y.c) from two y where y.a = x.a and y.b < x.b) m from two x order by x.c
select max(a) a, min(b) b, count(*) n from two where a = 2
update two set c = 0 where a = 2 and b = 2
update two set c = c + 1 where a = 1 and b >= 2
delete two where a = 3
select * from two order by a, b
update two set b = b + 1 where a = 1
select * from two order by a, b
update two set a = a + 1, b = 1 where b = 4
select * from two order by a, b
