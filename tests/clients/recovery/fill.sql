-- Updates until the log is full: error 9002 ends the batch, and with it the loop.
use recovery
go
set nocount on
declare @turn int = 0, @old char(8000) = replicate('o', 8000), @new char(8000) = replicate('n', 8000)
while 1 = 1
begin
    set @turn += 1
    update filled set payload = @new, counter = @turn where id = 1
    update filled set payload = @old where id = 1
end
go
