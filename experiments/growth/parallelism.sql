exec sp_configure 'show advanced options', 1
reconfigure
exec sp_configure 'max degree of parallelism', 4
reconfigure
go
