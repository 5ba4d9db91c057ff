set nocount on
declare @id int = 1
while @id <= $(rows)
begin
    insert trial.dbo.filled values (@id, replicate('x', 4000))
    set @id += 1
end
go
