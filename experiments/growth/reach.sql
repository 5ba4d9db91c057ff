-- About 128 KB of log with each commit and hardly any data, until the log has its largest size and is full.
use growth
go
set nocount on
declare @odd char(8000) = replicate('o', 8000)
declare @even char(8000) = replicate('e', 8000)
while 1 = 1
begin
    update dbo.page_writer set payload = @odd
    update dbo.page_writer set payload = @even
end
go
