use master
go
if exists (select name from sys.databases where name = 'vlf')
begin
drop database vlf --(if you need to)
end
--create a database on the root of C with a small starting log size
--which then grows in small increments
create database vlf
on (name=vlf, filename='c:\vlf.mdf')
log on (name=vlf_log, filename='c:\vlf_log.ldf',size=1MB,maxsize=5GB,filegrowth=1MB)
go
use vlf
go
--create a dummy table to fill up
create table vlf_test
(
a int identity(1,1) not null,
b char(8000) not null,
c int not null
)
go
insert vlf_test values ('vlftest',0)
go
--create a starting point of backups
backup database vlf to disk = 'c:\vlf.bak' with stats = 1
go
backup log vlf to disk = 'c:\vlf1.bak'
go
--session 2
use vlf
begin tran
create table opentran
(
opentran int
)
Go
set nocount on
go
declare @x int
declare @a char(8000)
declare @b char(8000)
set @a = replicate('a',8000)
set @b = replicate('b',8000)
set @x = 1
while 1=1
begin
update vlf_test set b = @b, c = @x where a = 1
update vlf_test set b = @a where a = 1
set @x = @x + 2
if @x > 40 break
end
go
select a, left(b, 10) b, datalength(b) bytes, c from vlf_test
go
--session 2
DBCC LOGINFO (vlf)
shutdown with nowait
