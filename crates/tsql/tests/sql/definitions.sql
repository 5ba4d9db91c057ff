create table a (id int not null primary key nonclustered, x varchar(10) null)
insert a values (1, 'one'), (2, 'two')
alter table a add y int null
select * from a
alter table a add z int not null default 5
select * from a
alter table a add w int not null
go
alter table a drop column y
alter table a alter column x varchar(20) not null
alter table a add constraint ck check (z < 10)
insert a (id, x, z) values (3, 'three', 11)
alter table a drop constraint ck
insert a (id, x, z) values (3, 'three', 11)
select * from a order by id
go
create clustered index cx on a (x)
create unique index ux on a (z, id)
select name, type_desc, is_unique from sys.indexes where object_id = object_id('a') order by index_id
select id from a where x = 'TWO'
select id from a where x >= 'one' and x < 'two'
select id from a where z = 5 and id = 2
select id from a where z = 11
drop index cx on a
create index dup on a (nosuch)
go
create table a (q int)
go
create table bad (a varchar(9000))
go
create table bad (a nosuchtype)
go
create table bad (a int, a int)
go
create table bad (a char(8000), b char(100))
go
create schema s2
go
create table s2.t (a int)
insert s2.t values (1)
select * from s2.t
select schema_name(schema_id) s, name from sys.tables order by 1, 2
drop table s2.t
drop schema s2
create table nosuch.t (a int)
go
create table p (id int primary key)
create table c (id int references p(id))
drop table p
drop table c
drop table p
go
begin tran
create table r (a int)
insert r values (1)
alter table r add b int null
drop table a
rollback
select count(*) from a
select * from r
go
select col_length('a', 'x') l, columnproperty(object_id('a'), 'x', 'AllowsNull') n, object_name(object_id('a')) o, db_name() d, type_name(56) t
go
