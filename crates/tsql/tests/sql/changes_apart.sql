create table k (a int not null, b int not null, f int null, v varchar(10) null, c char(5) not null, constraint pk_k primary key (a, b))
insert k values (1, 1, 1, 'one', 'c1'), (1, 2, null, null, 'c2'), (2, 1, 3, 'three', 'c3')
update k set f = f * 10, c = 'x' where a = 1 and b = 1
update k set f = 5, v = 'now set' where a = 1 and b = 2
update k set f = null, v = null where a = 2 and b = 1
select * from k order by a, b
go
update k set c = null where a = 1
go
update k set v = 'more than ten' where a = 1 and b = 1
go
alter table k add d datetime null, e int not null default 9
update k set e = e + 1, d = '2020-01-01' where a = 1
update k set d = null, v = 'grown', c = 'y' where a = 1 and b = 2
select * from k order by a, b
declare @old int
update k set @old = f, f = f + 1 where a = 1 and b = 1
select @old
update k set @old = 5 where a = 2
update k set f = 100 where a = 1 and b = 99
select @@rowcount, @old
go
begin tran
update k set f = -1, v = 'gone' where a = 1
select * from k where a = 1
rollback
select * from k where a = 1
go
update k set b = b + 10, f = 7 where a = 1
create index ix on k (f)
update k set f = 8 where a = 1 and b = 11
select a, b from k where f = 8
select a, b from k where f = 7
alter table k add constraint ck_f check (f < 50)
update k set f = 60 where a = 1 and b = 11
go
update k set c = 'z' output deleted.c, inserted.c where a = 2
go
declare @one int = 1, @two int = 2, @big bigint = 1, @text varchar(5) = '1', @half decimal(5, 2) = 1.5, @none int
select count(*) both from k where a = @one and a = @two
select count(*) twice from k where a = @one and a = 1
select count(*) big from k where a = @big
select count(*) text from k where a = @text
select count(*) half from k where a = @half
select count(*) point from k where a = 1.0
select count(*) none from k where a = @none
select count(*) mirrored from k where @one = a and b > 11
select count(*) both_keys from k where b = 11 and a = 1 and f = 8
select count(*) other from k where b = 11 and a = 1 and f = 9
select count(*) computed from k where a = (select max(x.a) from k x) - 1
update k set f = f + 1 where a = @one and a = @two
delete k where a = @one and a = @two
select @@rowcount
update k set f = 20 where a = (select max(x.a) from k x)
select a, b, f from k order by a, b
go
