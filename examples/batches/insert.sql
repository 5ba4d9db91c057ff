set nocount on
declare @id int = 1
$(begin)
while @id <= $(rows)
begin
    insert batches.dbo.filled values (@id, 'x')
    set @id += 1
end
$(commit)
go
