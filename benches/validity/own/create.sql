use master
go
create database own
    on (name = own_data, filename = 'c:\lab\own.mdf')
    log on (name = own_log, filename = 'c:\lab\own.ldf', size = $(log_start), maxsize = $(log_max), filegrowth = $(log_growth))
go
use own
go
create table dbo.page_writer (id int not null primary key, update_count int not null, payload char(8000) not null)
go
insert into dbo.page_writer (id, update_count, payload)
values (1, 0, 'e'), (2, 0, 'e'), (3, 0, 'e'), (4, 0, 'e')
go
-- With this backup the log is no longer truncated at checkpoints.
backup database own to disk = 'c:\lab\own-full.bak'
go
backup log own to disk = 'c:\lab\own-first.bak'
go
