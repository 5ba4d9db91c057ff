-- $(updates) updates of one row, each committed by itself.
use vlf
go
set nocount on
declare @update_count int = 0
declare @odd char(8000) = replicate('o', 8000)
declare @even char(8000) = replicate('e', 8000)
while @update_count < $(updates)
begin
    set @update_count = @update_count + 1
    if @update_count % 2 = 0
        update dbo.counter set update_count = @update_count, payload = @even where id = 1
    else
        update dbo.counter set update_count = @update_count, payload = @odd where id = 1
end
go
