-- What is said behind an error: 3621 where a change was taken back, 1750 where there is no constraint, 4413 where a view is at fault.
create table k (a int not null primary key, b tinyint null check (b < 10), c char(2) null)
create table s (a int not null)
insert s values (1), (1)
go
insert k values (1, 1, 'x')
insert k values (1, 1, 'x')
print 'goes on'
insert k values (2, 20, 'x')
insert k values (null, 1, 'x')
insert k values (3, 1, 'too long')
update k set b = 300
update k set a = 1 / (a - 1)
delete k where 1 / (a - 1) = 0
select 1 / (a - 1) as q into copied from k
-- A query changes nothing, and a name that is not there is found before anything is changed.
select 1 / (a - 1) as q from k
go
insert k values (4)
go
-- XACT_ABORT takes back more than the statement, and CATCH has the error instead.
set xact_abort on
insert k values (1, 1, 'x')
print 'is not reached'
go
set xact_abort off
begin try
    insert k values (1, 1, 'x')
end try
begin catch
    print error_number()
end catch
go
create procedure p as
begin
    insert k values (1, 1, 'x')
    select @@error as e
end
go
exec p
go
create unique index i on s (a)
go
create unique clustered index i on s (a)
go
alter table s add constraint u unique (a)
go
alter table s add constraint u primary key (a)
go
alter table s add constraint f foreign key (a) references nowhere (x)
go
alter table s add constraint f foreign key (a) references k (b)
go
alter table k add constraint f unique (nosuch)
go
create table n (a int null)
alter table n add constraint f primary key (a)
go
create table t (a int not null references k (c))
go
begin try
    alter table s add constraint f foreign key (a) references nowhere (x)
end try
begin catch
    print error_number()
    print error_message()
end catch
go
create table d (x int not null, y int null)
go
create view v as select x, y from d
go
create view w as select x from v
go
drop table d
go
select * from v
go
select x from w as named
go
create table d (y int null)
go
select y from v
go
