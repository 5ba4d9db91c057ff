-- What format 2 did: the second table takes pages of the first for its own.
create database mixed on (name = mixed, filename = 'c:\mixed.mdf', size = 2MB) log on (name = mixed_log, filename = 'c:\mixed_log.ldf', size = 1MB)
go
use mixed
create table t (id int not null primary key, f char(800) not null)
declare @i int = 0
while @i < 200 begin insert t values (@i, 'x') set @i += 1 end
drop table t
go
use master
alter database mixed set offline
alter database mixed set online
go
use mixed
create table h (id int not null, f char(10) not null)
insert h values (1, 'new')
go
