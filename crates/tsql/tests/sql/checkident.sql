-- "If the current identity value for a table is less than the maximum identity value stored in the identity column, it is reset using the maximum value in the identity column."
create table up (id int identity, v int)
dbcc checkident ('up')
insert up (v) values (1), (2)
dbcc checkident ('up', reseed, 0)
dbcc checkident ('up', noreseed)
dbcc checkident ('up', noreseed) with no_infomsgs
go
insert up (v) values (3)
select id from up order by v
go
dbcc checkident ('up', reseed)
insert up (v) values (4)
select id from up order by v
go
dbcc checkident ('up', reseed, -7)
dbcc checkident ('up')
insert up (v) values (5)
select max(id) from up
go
create table down (id decimal(9, 0) identity (5, -2), v int)
insert down (v) values (1), (2)
dbcc checkident ('down', reseed, 9)
dbcc checkident ('dbo.down')
insert down (v) values (3)
select id from down order by v
go
-- What a transaction has logged is its own: others may write beside it
begin transaction
insert up (v) values (6)
declare @first bigint = (select database_transaction_log_bytes_used from sys.dm_tran_database_transactions d join sys.dm_tran_session_transactions s on s.transaction_id = d.transaction_id where session_id = @@spid)
insert up (v) values (7)
select sign(@first), sign(database_transaction_log_bytes_used - @first), sign(1000 - database_transaction_log_bytes_used) from sys.dm_tran_database_transactions d join sys.dm_tran_session_transactions s on s.transaction_id = d.transaction_id where session_id = @@spid
rollback
