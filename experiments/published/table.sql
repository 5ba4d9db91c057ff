-- 64 rows that nearly fill a page each: an update of all of them is about 1 MB of log.
use vlf
go
create table dbo.page_writer
(
    id int not null primary key,
    update_count int not null,
    payload char(8000) not null
)
go
set nocount on
declare @id int = 0
while @id < 64
begin
    set @id = @id + 1
    insert into dbo.page_writer (id, update_count, payload) values (@id, 0, 'e')
end
go
-- With this backup the log is no longer truncated at checkpoints.
backup database vlf to disk = 'c:\lab\vlf-full.bak'
go
backup log vlf to disk = 'c:\lab\vlf-first.bak'
go
