-- With this checkpoint nothing but the backup holds the log, so that all of it can be filled again.
use vlf
go
checkpoint
go
backup log vlf to disk = 'c:\lab\vlf-log.bak'
go
