-- Back to the baseline.
use master
alter database Credit set single_user with rollback immediate
drop database Credit
go
restore database Credit from disk = 'C:\SQLBackups\baseline.bak' with
    move 'CreditData' to 'C:\SQLData\CreditData.mdf', move 'CreditLog' to 'L:\SQLLogs\CreditLog.ldf'
go
