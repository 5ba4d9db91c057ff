-- A database in the simple recovery model, whose log has its full size from the start and may not grow.
use master
go
create database vlf
    on (name = vlf_data, filename = 'c:\lab\vlf.mdf', size = $(data_mb)MB, filegrowth = 16MB)
    log on (name = vlf_log, filename = 'c:\lab\vlf.ldf', size = $(log_start), maxsize = $(log_max), filegrowth = $(log_growth))
go
alter database vlf set recovery simple
go
alter database vlf set accelerated_database_recovery = $(accelerated)
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
-- The rows of the large transaction that is rolled back in the end.
create table dbo.worked_on (id int not null primary key, payload char(100) not null)
go
set nocount on
declare @from int = 0
while @from < $(rows)
begin
    insert into dbo.worked_on (id, payload)
    select @from + hundreds.n * 100 + tens.n * 10 + ones.n, 'a'
    from (values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) as ones (n)
        cross join (values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) as tens (n)
        cross join (values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) as hundreds (n)
    set @from += 1000
end
go
checkpoint
go
