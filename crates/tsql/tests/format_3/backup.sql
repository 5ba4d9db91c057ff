backup database kept to disk = 'kept.bak' with format, compression
go
use kept
insert heap values (601, 'after the full backup')
go
backup log kept to disk = 'kept.bak' with compression
go
insert heap values (602, 'after the log backup')
go
backup log kept to disk = 'kept.bak' with compression
go
