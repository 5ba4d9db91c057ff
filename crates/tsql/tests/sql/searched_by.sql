-- The rows that a search locks show which index it goes by; a table lock for one statement leaves what was held before.
create table t (id int not null primary key, a int, b int)
create index by_a on t (a)
insert t values (1, 1, 1), (2, 2, 1), (3, 3, 2), (4, 1, 2)
go
-- HOLDLOCK keeps the table lock to the end of the transaction, whatever the next statement says.
begin tran
select count(*) from t with (tablock, holdlock)
select count(*) from t with (tablock)
select request_mode from sys.dm_tran_locks where resource_type = 'OBJECT' and request_session_id = @@spid
rollback
go
-- Without it the lock is given up with its statement; that for the rows that REPEATABLEREAD keeps stays.
begin tran
select id from t with (repeatableread) where id < 3
select count(*) from t with (tablock)
select request_mode from sys.dm_tran_locks where resource_type = 'OBJECT' and request_session_id = @@spid
rollback
go
-- A value on the left is searched for as well.
set transaction isolation level repeatable read
begin tran
select id from t where 3 = id
select count(*) from sys.dm_tran_locks where resource_type in ('RID', 'KEY') and request_session_id = @@spid
rollback
begin tran
select id from t where 3 > id
select count(*) from sys.dm_tran_locks where resource_type in ('RID', 'KEY') and request_session_id = @@spid
rollback
go
-- One row by its key rather than many by another column; few by one column rather than many by another.
create table u (id int not null primary key, a int, b int)
set nocount on
declare @i int = 0
while @i < 1000 begin insert u values (@i, @i % 10, @i % 500) set @i += 1 end
create index by_b on u (b)
create index by_a on u (a)
go
begin tran
select id from u where a = 2 and b = 2
select count(*) from sys.dm_tran_locks where resource_type in ('RID', 'KEY') and request_session_id = @@spid
rollback
begin tran
select id from u where a = 2 and id = 502
select count(*) from sys.dm_tran_locks where resource_type in ('RID', 'KEY') and request_session_id = @@spid
rollback
