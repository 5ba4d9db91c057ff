-- A change through a query of a query: which table is meant follows from where each column comes from, whatever it is called.
create table t (id int not null primary key, a int, b int)
create table u (id int not null primary key, c int)
insert t values (1, 1, 1), (2, 2, 2)
insert u values (1, 1), (2, 2)
go
create view inside as select t.a, t.b, u.c from t join u on t.id = u.id
go
create view outside (p, q, r) as select a, b, c from inside
go
update outside set r = 7 where p = 1
update outside set q = 8 where p = 1
select * from t
select * from u
go
with d (p, r) as (select a, c from inside) update d set r = 70 where p = 1
update d set r = 71 from (select a, c from inside) d (p, r) where p = 1
select * from u
