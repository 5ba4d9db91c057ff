backup log own to disk = 'c:\lab\own-log.bak'
go
