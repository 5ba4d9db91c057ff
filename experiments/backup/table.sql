use vlf
go
create table dbo.counter
(
    id int not null,
    update_count int not null,
    payload char(8000) not null
)
go
insert into dbo.counter (id, update_count, payload) values (1, 0, replicate('e', 8000))
go
-- With this backup the log is no longer truncated at checkpoints.
backup database vlf to disk = 'c:\lab\vlf-full.bak'
go
backup log vlf to disk = 'c:\lab\vlf-first.bak'
go
