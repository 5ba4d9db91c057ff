-- A database whose log starts at $(log_start) and may grow by $(log_growth) up to $(log_max).
use master
go
create database vlf
    on (name = vlf_data, filename = 'c:\lab\vlf.mdf')
    log on (name = vlf_log, filename = 'c:\lab\vlf.ldf', size = $(log_start), maxsize = $(log_max), filegrowth = $(log_growth))
go
use vlf
go
-- One row that nearly fills a page: each update of it is about two pages of log.
create table dbo.page_writer
(
    id int not null,
    update_count int not null,
    payload char(8000) not null
)
go
insert into dbo.page_writer (id, update_count, payload) values (1, 0, replicate('e', 8000))
go
-- Without a full backup the log would be truncated at each checkpoint; with one, only a log backup truncates it.
backup database vlf to disk = 'c:\lab\vlf-full.bak'
go
backup log vlf to disk = 'c:\lab\vlf-log.bak'
go
