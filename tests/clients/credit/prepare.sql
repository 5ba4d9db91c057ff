-- The sample from its backup, in FULL recovery, its files growing by 1 MB.
use master
restore database Credit from disk = 'C:\SQLBackups\CreditBackup100.bak' with
    move 'CreditData' to 'C:\SQLData\CreditData.mdf', move 'CreditLog' to 'L:\SQLLogs\CreditLog.ldf'
go
alter database Credit set recovery full
alter database Credit modify file (name = 'CreditData', filegrowth = 1MB)
alter database Credit modify file (name = 'CreditLog', filegrowth = 1MB)
go
backup database Credit to disk = 'C:\SQLBackups\baseline.bak' with init, compression
go
