use vlf
go
backup log vlf to disk = 'c:\lab\vlf-log.bak'
go
