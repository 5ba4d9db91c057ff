-- Every update commits on its own, until $(volume_mb) MB of log are written, or error 9002 ends the batch.
use vlf
go
set nocount on
declare @update_count int = 0
declare @odd char(8000) = replicate('o', 8000)
declare @even char(8000) = replicate('e', 8000)
declare @begin bigint = (select num_of_bytes_written from sys.dm_io_virtual_file_stats(db_id(), 2))
declare @written bigint = 0
while @written < $(volume_mb) * cast(1048576 as bigint)
begin
    set @update_count = @update_count + 1
    if @update_count % 2 = 0
        update dbo.page_writer set update_count = @update_count, payload = @even where id = 1
    else
        update dbo.page_writer set update_count = @update_count, payload = @odd where id = 1
    if @update_count % 64 = 0
        set @written = (select num_of_bytes_written from sys.dm_io_virtual_file_stats(db_id(), 2)) - @begin
end
go
