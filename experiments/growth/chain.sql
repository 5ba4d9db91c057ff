use growth
go
-- From here on the log is kept until it is backed up, which nobody does.
alter database growth set recovery full
go
checkpoint
backup database growth to disk = 'c:\lab\growth.bak'
go
