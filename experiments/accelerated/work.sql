-- One transaction over all $(rows) rows, left open.
use vlf
go
begin transaction
update dbo.worked_on set payload = 'b'
go
