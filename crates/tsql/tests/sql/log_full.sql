create database small on (name = s, filename = 'c:\s.mdf') log on (name = s_log, filename = 'c:\s.ldf', size = 1MB, maxsize = 3MB, filegrowth = 1MB)
go
use small
create table t (a int identity, b char(8000) not null, c int not null)
insert t values ('x', 0)
go
--session 2
use small
begin tran
create table opentran (a int)
go
set nocount on
declare @x int = 1, @a char(8000) = replicate('a', 8000), @b char(8000) = replicate('b', 8000)
while 1 = 1
begin
update t set b = @b, c = @x where a = 1
update t set b = @a where a = 1
set @x = @x + 2
end
print 'not reached'
go
select log_reuse_wait_desc from sys.databases where name = 'small'
select @@trancount t, left(b, 3) b, case when c > 50 then 'many' end c from t
begin try
  insert t values ('y', 1)
end try
begin catch
  select error_number() n, xact_state() x
end catch
go
--session 2
rollback
go
alter database small set recovery simple
checkpoint
insert t values ('z', 1)
select count(*) from t
go
