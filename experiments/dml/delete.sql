use wide
go
delete from dbo.person
go
