-- Four data files of the same size and a larger log.
use master
go
alter database tempdb modify file (name = tempdev, size = $(tempdb_mb)MB, filegrowth = $(large))
go
alter database tempdb add file (name = tempdev2, filename = 'c:\lab\tempdb2.ndf', size = $(tempdb_mb)MB, filegrowth = $(large))
go
alter database tempdb add file (name = tempdev3, filename = 'c:\lab\tempdb3.ndf', size = $(tempdb_mb)MB, filegrowth = $(large))
go
alter database tempdb add file (name = tempdev4, filename = 'c:\lab\tempdb4.ndf', size = $(tempdb_mb)MB, filegrowth = $(large))
go
alter database tempdb modify file (name = templog, size = $(tempdb_log_mb)MB, filegrowth = $(large))
go
