use wide
go
insert into dbo.person (remark, given_name, family_name, born, account, joined)
select remark, given_name, family_name, born, account, joined from dbo.person_source
go
