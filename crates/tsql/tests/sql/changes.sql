create table t (id int identity(10, 5) not null constraint pk_t primary key, a int null default 7, b varchar(5) not null constraint ck_b check (len(b) > 0), c as_type_error int)
go
create table t (id int identity(10, 5) not null constraint pk_t primary key, a int null default 7, b varchar(5) not null constraint ck_b check (len(b) > 0), c datetime default getdate())
insert t (b) values ('x'), ('y')
insert t (a, b) values (default, 'z'), (null, 'n')
select id, a, b, case when c is null then 'null' else 'set' end c from t
select @@identity, scope_identity(), ident_current('t'), @@rowcount
go
insert t (b) values ('toolong')
go
insert t (b) values (null)
go
insert t (b) values ('')
go
insert t (id, b) values (1, 'q')
go
set identity_insert t on
insert t (id, b) values (1, 'q')
insert t (id, b) values (1, 'r')
set identity_insert t off
insert t (b) values ('w')
select id, b from t order by id
go
insert t values (1)
go
insert t (a, b) values (1, 'a', 3)
go
insert t (a, a) values (1, 2)
go
update t set a = a + 1, b = upper(b) output deleted.id, deleted.a was, inserted.a, inserted.b where a is not null
update t set a = 100 where id = 10
update top (1) t set a = -1
update t set nosuch = 1
go
update t set id = 3
go
update x set x.a = y.n from t x join (values (10, 55), (15, 66)) y(id, n) on y.id = x.id
select id, a, b from t order by id
delete from t output deleted.id where a = 55
delete x from t x where x.id in (select id from t where a > 60)
select count(*) from t
delete top (1) from t
truncate table t
insert t (b) values ('new')
select id, b from t
go
create table s (n int not null, v varchar(10))
insert s select number, 'v' + cast(number as varchar(5)) from (select row_number() over (order by a.object_id) number from sys.objects a cross join sys.objects b) x where number <= 5
insert into s (n) output inserted.n, inserted.v select n + 100 from s where n < 3
select * from s order by n
update s set v = (select max(v) from s) where n = 1
select * into s2 from s where n > 100
select * from s2
insert s select * from s
select count(*) from s
delete s
drop table s, s2
drop table s
drop table if exists s
go
create table dup (a int, b int, constraint uq unique (a, b))
insert dup values (1, 2), (1, 3)
insert dup values (1, 2)
update dup set b = 3
select * from dup order by a, b
go
declare @t table (id int identity, x varchar(10) primary key)
insert @t (x) values ('a'), ('b')
insert @t (x) values ('a')
update @t set x = 'c' where id = 2
delete @t where id = 1
insert @t (x) output inserted.id values ('zz')
select * from @t
go
create table #tmp (a int)
insert #tmp values (1), (2)
select sum(a) from #tmp
select object_id('tempdb..#tmp') - object_id('tempdb..#tmp') same, object_id('nosuch') none
go
--session 2
select * from #tmp
go
declare @v int = 5, @w varchar(3)
set @v += 3
set @w = 'abcdef'
select @v, @w
select @v = max(a) from #tmp
select @v = @v * 10, @w = 'q'
select @v, @w, @@rowcount
select @undeclared
go
