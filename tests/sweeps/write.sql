set nocount on
declare @id int = 1
while @id <= $(rows)
begin
    insert small.dbo.t values (@id)
    set @id += 1
end
