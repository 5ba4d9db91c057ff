-- The recovery experiment, small: a database whose log has the size given and may not grow past the limit.
use master
go
if db_id('recovery') is not null drop database recovery
go
create database recovery
on (name = recovery_data, filename = 'd:\recovery\recovery.mdf')
log on (name = recovery_log, filename = 'l:\recovery\recovery.ldf', size = {log_size}, maxsize = {log_limit}, filegrowth = 1MB)
go
use recovery
go
create table filled
(
    id int identity(1, 1) not null,
    payload char(8000) not null,
    counter int not null
)
go
insert filled values ('first', 0)
go
backup database recovery to disk = 'd:\recovery\recovery.bak' with stats = 50
go
backup log recovery to disk = 'd:\recovery\recovery-1.bak'
go
