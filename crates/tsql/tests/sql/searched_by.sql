-- Which locks a search takes shows which index it goes by; a table lock for one statement leaves what was held before.
create table t (id int not null primary key, a int, b int)
create index by_a on t (a)
create index by_b on t (b)
create index by_a_b on t (a, b)
insert t values (1, 1, 1), (2, 2, 1), (3, 3, 2), (4, 1, 2)
go
begin tran
update t set b = 1 where id = 1
select count(*) from t with (tablock)
select request_mode from sys.dm_tran_locks where resource_type = 'OBJECT' and request_session_id = @@spid
select count(*) from t with (tablockx)
select request_mode from sys.dm_tran_locks where resource_type = 'OBJECT' and request_session_id = @@spid
rollback
go
begin tran
select count(*) from t with (tablock, holdlock)
select count(*) from t with (tablock)
select request_mode from sys.dm_tran_locks where resource_type = 'OBJECT' and request_session_id = @@spid
rollback
go
begin tran
select id from t with (repeatableread) where id < 3
select count(*) from t with (tablock)
select request_mode from sys.dm_tran_locks where resource_type = 'OBJECT' and request_session_id = @@spid
rollback
go
set transaction isolation level repeatable read
begin tran
select * from t where 2 = a
select resource_type, resource_associated_entity_id, request_mode, count(*) from sys.dm_tran_locks where request_session_id = @@spid group by resource_type, resource_associated_entity_id, request_mode order by 1,2,3
rollback
begin tran
select id from t where 3 = id
select resource_type, resource_associated_entity_id, request_mode, count(*) from sys.dm_tran_locks where request_session_id = @@spid group by resource_type, resource_associated_entity_id, request_mode order by 1,2,3
rollback
begin tran
select id from t where 3 > id
select resource_type, resource_associated_entity_id, request_mode, count(*) from sys.dm_tran_locks where request_session_id = @@spid group by resource_type, resource_associated_entity_id, request_mode order by 1,2,3
rollback
begin tran
select * from t where a = 1 and b = 1
select resource_type, resource_associated_entity_id, request_mode, count(*) from sys.dm_tran_locks where request_session_id = @@spid group by resource_type, resource_associated_entity_id, request_mode order by 1,2,3
rollback
create table u (id int not null primary key, a int, b int)
create index ub on u (b)
create index ua on u (a)
insert u values (1, 1, 1), (2, 2, 1), (3, 3, 2), (4, 1, 1)
begin tran
select * from u where a = 2 and b = 1
select resource_type, resource_associated_entity_id, request_mode, count(*) from sys.dm_tran_locks where request_session_id = @@spid group by resource_type, resource_associated_entity_id, request_mode order by 1,2,3
rollback
