use master
go
create database vlf
    on (name = vlf_data, filename = 'c:\lab\vlf.mdf')
    log on (name = vlf_log, filename = 'c:\lab\vlf.ldf', size = $(log_start), maxsize = $(log_max), filegrowth = $(log_growth))
go
use vlf
go
create table dbo.page_writer
(
    id int not null primary key,
    update_count int not null,
    payload char(8000) not null
)
go
insert into dbo.page_writer (id, update_count, payload)
values (1, 0, 'e'), (2, 0, 'e'), (3, 0, 'e'), (4, 0, 'e')
go
-- With this backup the log is no longer truncated at checkpoints.
backup database vlf to disk = 'c:\lab\vlf-full.bak'
go
backup log vlf to disk = 'c:\lab\vlf-first.bak'
go
