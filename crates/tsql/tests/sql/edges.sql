-- What stands at the edge of a rule.
create table g (a int null, c int not null, d int null, f float null, n varchar(5) null)
insert g values (1, 1, 9, 1, 'b'), (1, 2, 8, 2, 'a'), (2, 3, 7, 3, null), (2, 4, 6, 4, 'c')
go
select string_agg(n, ',') within group (order by n desc) x, string_agg(n, ',') within group (order by c desc) y, string_agg(n, '') within group (order by a desc, n) z from g
select a, string_agg(c, ';') within group (order by c desc) x from g group by a order by a
select string_agg(c, ';') within group (order by c) x, string_agg(f, '/') within group (order by f desc) y from g
select a, count_big(count(*)) over () b, sum(count(*)) over (order by a) s, lag(sum(c), 1, -1) over (order by a) l, first_value(max(d)) over (order by a desc) m, ntile(2) over (order by sum(c)) t from g group by a order by a
select count(*) n from g group by a having a > 1
select sum(c) n from g group by a having max(d) < 9
select sum(c) n from g group by a order by max(f) desc, a
select a from g group by a order by -a
select distinct a from g order by c + 1
go
select distinct a + 1 x from g order by a + 1 desc
select distinct top 1 a from g order by a desc
go
select -cast('2020-01-01' as date)
go
select -cast(1 as bit)
go
select ~cast(1 as float)
go
select ~cast(1 as bit) x, ~5 y, -cast(2.5 as decimal(3, 1)) z, -cast(3 as money) m, +'x' p
go
select cast(5 as date)
go
select convert(int, cast('2020-01-01' as datetime2))
go
update g set c = cast('2020-01-01' as date)
go
update g set n = 'longer than it'
go
update g set a += 10, d -= c, f *= 2 where c = 1
select a, d, f from g where c = 1
update g set a = 1 where c = 1
go
with x as (select 1 n) select n from x
select n from x
go
;with x as (select c from g) insert x values (9)
go
insert g select 1
go
insert g (a, c) select 1
go
insert g (a, c) select 1, 2, 3
go
create view base as select a, c from g
go
create view nothing as select 1 one
go
create view both as select x.a, y.c, y.c + 1 more from g as x join g as y on x.c = y.c
go
update nothing set one = 2
go
delete nothing
go
delete both where a = 1
go
update both set a = 5, c = 6
go
update both set more = 1
go
update both set a = 5 where c = 4
update base set a = 2 where c = 4
select * from g order by c
go
create table step (k int not null primary key, v int not null)
insert step values (1, 1), (2, 2), (3, 3), (4, 4), (5, 9)
update step set v = v + 1 where exists (select * from step as x where x.v = step.v - 1)
select * from step order by k
update step set v = v + 1 where v in (select x.v + 1 from step as x)
select * from step order by k
update step set v = v - 1 where (select count(*) from step as x where x.v < step.v) > 1
select * from step order by k
delete step where exists (select * from step as x where x.v = step.v and x.k < step.k)
select * from step order by k
go
create table parent (id int not null primary key)
create table child (id int not null, pid int not null)
insert parent values (1)
insert child values (1, 7)
alter table child add constraint fk_first foreign key (pid) references parent
go
update child set pid = 1
alter table child add constraint fk_first foreign key (pid) references parent
insert child values (2, 2)
go
create table numbered (id int identity(5, 3) not null, v int null)
create table small (id smallint identity(1, 1) not null, v int null)
create table exact (id decimal(9, 0) identity(100, -1) not null, v int null)
create table tiny (id tinyint identity(254, 1) not null, v int null)
insert numbered select k from step
select scope_identity() s, @@identity i, ident_current('numbered') c
insert small select k from step where k < 3
select scope_identity() s, @@identity i, ident_current('small') c
insert exact select k from step
select scope_identity() s, ident_current('exact') c
insert exact (v) values (1), (2)
select scope_identity() s, ident_current('exact') c
insert tiny select top (1) k from step
select scope_identity() s, ident_current('tiny') c
insert numbered (v) select 77 where 1 = 0
select scope_identity() s, ident_current('numbered') c
select * from exact order by id
set identity_insert numbered on
insert numbered (id, v) values (50, 1)
set identity_insert numbered off
select scope_identity() s, ident_current('numbered') c
insert numbered (v) values (2)
select id, v from numbered where id >= 50 order by id
go
insert tiny select k from step
go
declare @t table (id int identity(3, 2) not null, a int not null unique, b int null)
insert @t (a) values (1), (2), (3)
update @t set a = a + 1
select * from @t order by id
go
declare @t table (id int identity(3, 2) not null, a int not null unique, b int null)
insert @t (a) values (1), (2), (3)
update @t set a = case a when 1 then 3 when 3 then 1 else a end output deleted.a, inserted.a
select * from @t order by a
delete @t output deleted.* where a = 3
insert @t (a, b) select a + 10, id from @t
select * from @t order by a
go
select x.c from g as x where x.n in (select cast(y.n as char(5)) from g as y) order by x.c
select x.c from g as x where cast(x.n as nchar(5)) in (select y.n from g as y where y.c = 1)
select x.c from g as x where x.c in (select cast(y.c as decimal(5, 1)) from g as y where y.c > 2) order by x.c
select x.c from g as x where x.n = some (select y.n from g as y where y.c < 3) order by x.c
select count(*) n from g where not (1 = 1 and c = 1)
select count(*) n from g where not (1 = 0 or c = 1)
select count(*) n from g where not (1 = 1 and 2 = 2) or c = 1
select count(*) n from g where -(1) = -1 and - - 2 = 2
select case when -(1) = 1 then c else 0 end x from g where c = 1
go
create function one () returns int as begin return 1 end
go
select dbo.one(distinct 1)
go
select dbo.one(*)
go
select dbo.one() over ()
go
select dbo.one(1)
go
select dbo.one() x
go
create procedure shows as select 1 one
go
select * from shows
go
declare @i int = 1, @s nvarchar(200)
exec ('create view v0 as select 1 n')
while @i <= 33
begin
    set @s = concat('create view v', @i, ' as select n from v', @i - 1)
    exec (@s)
    set @i += 1
end
go
select n from v31
go
select n from v32
go
declare @v int = 5
insert step select k + 100, v + @v from step
insert step (k, v) select c + 200, @v from g
select * from step where k > 100 order by k
go
with c as (select v.n from (values (1), (10)) v(n) union all select n + 1 from c where n % 10 < 3) select n from c order by n
select count(*) n, sum(v) v from step with (readpast)
update top (3) step with (readpast) set v = 0
select count(*) n from step where v = 0
delete step with (readpast) where k > 200
select count(*) n from step
go
declare @chain varchar(max) = replicate(cast('1+' as varchar(max)), 450) + '1'
exec ('select ' + @chain + ' a, ' + @chain + ' b, ' + @chain + ' c, ' + @chain + ' d, ' + @chain + ' e')
declare @parts varchar(max) = replicate(cast('1 = 0 or ' as varchar(max)), 450) + '2 = 2'
exec ('select count(*) n from step where (' + @parts + ') and (' + @parts + ') and (' + @parts + ') and (' + @parts + ') and (' + @parts + ')')
go
select sum(-count(*)) over () x, sum(cast(count(*) as bigint)) over () y, sum(1 + count(*)) over () z, sum(abs(count(*))) over () w, max(-c) over (partition by a) m from g group by a, c order by m
select sum(-d) over (order by c rows between 1 preceding and current row) x, count(*) over (partition by -a) y, max(cast(n as nvarchar(9))) over () z from g order by c
go
declare @arms varchar(max) = replicate(cast('select 1 x union all ' as varchar(max)), 700) + 'select 1'
exec ('select (select count(*) from (' + @arms + ') a(x)) a, (select count(*) from (' + @arms + ') a(x)) b, (select count(*) from (' + @arms + ') a(x)) c')
go
begin try
    exec ('select sum(c) over (order by row_number() over (order by c)) from g')
end try
begin catch
    select 'refused' x
end catch
go
create view named (x, y) as select a, c from g
go
create view over_both as select more, c, a from both where c > 1
go
update named set y = 8 where x = 2 and y = 3
update named set x = x + 5 where y = 8
update both set c = 40 where c = 4
update over_both set a = 77 where c = 2
update over_both set c = 20 where c = 2
select a, c from g order by c
update over_both set more = 1
go
delete over_both
go
update d set y = d.y + 1 from (select c as y, a as x from g where c > 10) as d where d.x > 10
delete d from (select c as y, a as x from g where c > 10) as d where d.y > 30
select a, c from g order by c
go
with d (x, y) as (select a, c from g) update d set y = 9 where x = 7
update d set q = 90 from (select a, c from g) as d (p, q) where d.p = 77
select a, c from g order by c
