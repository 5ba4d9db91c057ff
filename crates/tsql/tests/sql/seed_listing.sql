create database Credit on (name = CreditData, filename = 'C:\SQLData\CreditData.mdf', size = 20MB, filegrowth = 1MB)
 log on (name = CreditLog, filename = 'L:\SQLLogs\CreditLog.ldf', size = 2MB, filegrowth = 1MB)
go
use Credit
create table charge (charge_no int identity(1,1) not null, member_no int not null, provider_no int not null, category_no int not null,
 charge_dt datetime not null, charge_amt money not null, statement_no int not null, charge_code char(2) not null, constraint ChargePK primary key clustered (charge_no))
insert charge (member_no, provider_no, category_no, charge_dt, charge_amt, statement_no, charge_code) values (1, 2, 3, '1999-01-05', 12.5, 7, '  '), (2, 3, 4, '1999-02-05', 99, 8, 'ab')
go
SET NOCOUNT ON;
EXEC sp_spaceused N'dbo.charge';
SELECT f.name AS [File Name] , f.physical_name AS [Physical Name], 
CAST((f.size/128.0) AS decimal(15,2)) AS [Total Size in MB],
CASE WHEN CAST(f.size/128.0 - CAST(FILEPROPERTY(f.name, 'SpaceUsed') AS int)/128.0 AS decimal(15,2)) > 0 THEN 'yes' END
AS [Available Space In MB], [file_id], fg.name AS [Filegroup Name]
FROM sys.database_files AS f WITH (NOLOCK) 
LEFT OUTER JOIN sys.data_spaces AS fg WITH (NOLOCK) 
ON f.data_space_id = fg.data_space_id OPTION (RECOMPILE);
DBCC SQLPERF('sys.dm_os_wait_stats', CLEAR);
DECLARE @LoopCount int = 1;
DECLARE @DateDiff int = 30;
DECLARE @Start datetime = GETDATE();
DECLARE @LoopDone datetime;
DECLARE @End datetime;
WHILE @LoopCount < 6
    BEGIN
        INSERT INTO dbo.charge 
        (member_no, provider_no, category_no, charge_dt, charge_amt, statement_no, charge_code)
        SELECT member_no, provider_no, category_no, charge_dt + @DateDiff, charge_amt, statement_no, charge_code
        FROM dbo.charge;
        SET @LoopDone = GETDATE();
        PRINT N'Loop ' + CONVERT(NVARCHAR(5), @LoopCount) + N' done in ' + CONVERT(NVARCHAR(5), DATEDIFF(second, @Start, @LoopDone)) + N' seconds';
        SET @DateDiff += 30;
        SET @LoopCount += 1;
    END
SET @End = GETDATE();
SELECT DATEDIFF(second, @Start, @End) AS [Total Elapsed Time (sec)];
WITH Waits
AS (SELECT wait_type, CAST(wait_time_ms / 1000. AS DECIMAL(12, 2)) AS [wait_time_s],
    CAST(100. * wait_time_ms / nullif(SUM(wait_time_ms) OVER (), 0) AS decimal(12,2)) AS [pct],
    ROW_NUMBER() OVER (ORDER BY wait_time_ms DESC) AS rn
    FROM sys.dm_os_wait_stats WITH (NOLOCK)
    WHERE wait_type NOT IN (N'CLR_SEMAPHORE', N'LAZYWRITER_SLEEP')),
Running_Waits 
AS (SELECT W1.wait_type, wait_time_s, pct,
    SUM(pct) OVER(ORDER BY pct DESC ROWS UNBOUNDED PRECEDING) AS [running_pct]
    FROM Waits AS W1)
SELECT wait_type, wait_time_s, pct, running_pct
FROM Running_Waits
WHERE running_pct - pct <= 99 and wait_type is null
ORDER BY running_pct
OPTION (RECOMPILE);
select count(*) n, min(charge_no) lo, max(charge_no) hi, max(charge_dt) last, sum(charge_amt) total from charge
go
USE [master]
GO
ALTER DATABASE [Credit] SET  SINGLE_USER WITH ROLLBACK IMMEDIATE;
GO
DROP DATABASE [Credit];
GO
