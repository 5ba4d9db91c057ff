use wide
go
update dbo.person set remark = upper(remark), given_name = upper(given_name), family_name = upper(family_name)
go
