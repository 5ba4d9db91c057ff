-- Statements about databases, DBCC and system views as scripts use them.
create database vlf on (name = vlf, filename = 'c:\vlf.mdf')
log on (name = vlf_log, filename = 'c:\vlf_log.ldf', size = 1 MB, maxsize = 5 GB, filegrowth = 1 MB)
go
select name, recovery_model_desc, log_reuse_wait_desc, state_desc from sys.databases where name = 'vlf'
go
use vlf
go
create table t (a int identity(1, 1) not null primary key, b char(100) not null default 'x', c money null)
insert t (c) values (1), (2), (3)
go
create table #loginfo (RecoveryUnitId int, FileId smallint, FileSize bigint, StartOffset bigint, FSeqNo bigint,
  Status tinyint, Parity tinyint, CreateLSN numeric(25, 0))
insert #loginfo exec ('dbcc loginfo')
select count(*) as vlfs, sum(FileSize) as bytes from #loginfo
go
select count(*) as vlfs, sum(cast(vlf_active as int)) as active from sys.dm_db_log_info(db_id('vlf'))
select s.name, s.recovery_model_desc, l.total_vlf_count, l.active_vlf_count
from sys.databases as s cross apply sys.dm_db_log_stats(s.database_id) as l where s.database_id > 4
go
select f.name as [File Name], f.physical_name, cast(f.size / 128.0 as decimal(15, 2)) as [Total Size in MB],
  cast(f.size / 128.0 - cast(fileproperty(f.name, 'SpaceUsed') as int) / 128.0 as decimal(15, 2)) as [Available],
  f.file_id, fg.name as [Filegroup Name], f.is_percent_growth, f.growth
from sys.database_files as f left outer join sys.data_spaces as fg on f.data_space_id = fg.data_space_id
order by f.file_id
go
select t.name, c.name, y.name, c.max_length, c.is_identity from sys.tables t join sys.columns c on c.object_id = t.object_id
join sys.types y on y.user_type_id = c.user_type_id order by c.column_id
select name, type_desc, is_primary_key from sys.indexes where object_id = object_id('t')
select table_name, column_name, data_type, is_nullable from information_schema.columns order by ordinal_position
exec sp_spaceused 't'
go
dbcc checkdb ('vlf') with no_infomsgs
dbcc checktable ('t')
dbcc checkident ('t')
go
backup database vlf to disk = 'c:\vlf.bak' with init, stats = 50
backup log vlf to disk = 'c:\vlf.trn'
go
alter database vlf set recovery simple
alter database vlf modify file (name = vlf_log, size = 8 MB)
alter database vlf set single_user with rollback immediate
alter database vlf set multi_user
select user_access_desc, recovery_model_desc from sys.databases where name = 'vlf'
go
exec sp_configure 'show advanced options', 1
reconfigure
exec sp_configure 'max degree of parallelism', 1
reconfigure
exec sp_configure 'max degree'
go
select session_id, login_name, status from sys.dm_exec_sessions where session_id = @@spid
select command, status, percent_complete from sys.dm_exec_requests where session_id = @@spid
go
--session 2
use vlf
begin tran
insert t (c) values (4)
go
select count(*) as waiting from sys.dm_tran_locks where resource_type = 'DATABASE' and resource_database_id = db_id('vlf')
select name, transaction_type from sys.dm_tran_active_transactions where name = 'user_transaction'
kill 52
go
--session 2
select 1
go
select count(*) as rows_left from t
go
dbcc nonsense
alter database nothing set recovery simple
go
shutdown with nowait
go
