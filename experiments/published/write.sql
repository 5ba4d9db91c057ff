-- About 1 MB of log with each commit, through every VLF, until the log has its largest size and is full.
use vlf
go
set nocount on
declare @odd char(8000) = replicate('o', 8000)
declare @even char(8000) = replicate('e', 8000)
while 1 = 1
begin
    update dbo.page_writer set update_count = update_count + 1, payload = @odd
    update dbo.page_writer set update_count = update_count + 1, payload = @even
end
go
