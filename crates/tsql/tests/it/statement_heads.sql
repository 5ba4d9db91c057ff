add sensitivity classification to dbo.t.a with (label = 'Confidential')
add signature to object::dbo.p by certificate k
add counter signature to dbo.p by certificate k
alter application role r with name = q
alter assembly a from 'a.dll'
alter asymmetric key k remove private key
alter authorization on object::dbo.t to u
alter availability group g grant create any database
alter broker priority p for conversation set (priority_level = 9)
alter certificate k remove private key
alter column encryption key k add value (column_master_key = m, algorithm = 'RSA_OAEP', encrypted_value = 0x01)
alter credential k with identity = 'i', secret = 's'
alter cryptographic provider p enable
alter database d set recovery full
alter database d set change_tracking = on (change_retention = 2 days, auto_cleanup = on)
alter database d set query_store = on (operation_mode = read_write, cleanup_policy = (stale_query_threshold_days = 9), query_capture_mode = auto)
alter database d set query_store clear all
alter database d set hadr availability group = g
alter database d set hadr suspend
alter database d set partner safety full
alter database d set partner failover
alter database d set witness off
alter database d set automatic_tuning (force_last_good_plan = on)
alter database d set accelerated_database_recovery = on (persistent_version_store_filegroup = [primary])
alter database d set target_recovery_time = 60 seconds
alter database d set single_user with rollback immediate
alter database d collate Latin1_General_BIN2
alter database d modify name = e
alter database d add filegroup g contains filestream
alter database d add filegroup g contains memory_optimized_data
alter database d modify filegroup g default
alter database d modify filegroup g autogrow_all_files
alter database audit specification s for server audit a with (state = on)
alter database encryption key regenerate with algorithm = aes_256
alter database scoped configuration set maxdop = 4
alter database scoped configuration clear procedure_cache
alter database scoped configuration clear procedure_cache 0x06000500
alter database scoped credential k with identity = 'i'
alter endpoint e state = started
alter event session s on server state = start
alter external data source s set location = 'x'
alter external language l set (content = 'x', file_name = 'y')
alter external library l from (content = 'x') with (language = 'R')
alter external model m set (location = 'x')
alter external resource pool p with (max_cpu_percent = 50)
alter fulltext catalog c rebuild
alter fulltext index on t enable
alter fulltext stoplist s add 'w' language 'English'
alter function dbo.f (@a int) returns int as begin return @a end
alter index i on t rebuild partition = 1 with (online = on (wait_at_low_priority (max_duration = 4 minutes, abort_after_wait = blockers)))
alter index i on t rebuild with (online = on, resumable = on, max_duration = 240 minutes)
alter index i on t reorganize partition = 1 with (lob_compaction = on)
alter index i on t resume with (maxdop = 2, max_duration = 240 minutes)
alter index i on t pause
alter index i on t abort
alter index i on t set (compression_delay = 10 minutes)
alter index i on t for (add path1 = '/a/b' as xquery 'xs:string' singleton)
alter index all on t rebuild with (data_compression = none on partitions (1), data_compression = row on partitions (2, 4, 6 to 8))
alter login l with password = 'p' old_password = 'o' unlock
alter login l add credential k
alter login l disable
alter master key regenerate with encryption by password = 'p'
alter message type m validation = none
alter partition function f () split range (5)
alter partition scheme s next used g
alter procedure dbo.p as select 1
alter queue q with status = on, activation (status = off)
alter remote service binding b with user = u
alter resource governor reconfigure
alter resource governor with (classifier_function = dbo.f)
alter resource pool p with (max_cpu_percent = 50)
alter role r add member u
alter route r with address = 'local'
alter schema s transfer object::dbo.t
alter search property list l add 'x' with (property_set_guid = 'g', property_int_id = 4)
alter security policy p add filter predicate dbo.f(a) on dbo.t
alter security policy p with (state = on)
alter sequence s restart with 5
alter server audit a with (state = on)
alter server audit specification s add (failed_login_group)
alter server configuration set process affinity cpu = 0 to 3
alter server role r add member l
alter service s on queue q
alter service master key regenerate
alter symmetric key k drop encryption by password = 'p'
alter table t add b int null constraint c default 5 with values
alter table t alter column a int not null with (online = on)
alter table t alter column a varchar(20) masked with (function = 'default()')
alter table t alter column a add masked with (function = 'partial(1, "x", 1)')
alter table t alter column a varchar(20) collate Latin1_General_BIN2 encrypted with (column_encryption_key = k, encryption_type = randomized, algorithm = 'AEAD_AES_256_CBC_HMAC_SHA_256')
alter table t alter column a add sparse
alter table t alter column a int sparse null
alter table t drop constraint c with (online = on)
alter table t drop constraint c with (move to [primary])
alter table t drop constraint c, column b
alter table t drop index i
alter table t rebuild partition = all with (data_compression = page on partitions (1 to 3))
alter table t switch partition 1 to u with (wait_at_low_priority (max_duration = 1 minutes, abort_after_wait = self))
alter table t enable change_tracking with (track_columns_updated = on)
alter table t disable filetable_namespace
alter table t enable trigger all
alter table t set (lock_escalation = auto)
alter table t set (filestream_on = g)
alter table t set (system_versioning = on (history_table = dbo.h, history_retention_period = 6 months))
alter table t set (data_deletion = on (filter_column = d, retention_period = 1 week))
alter table t set (remote_data_archive = on (filter_predicate = dbo.f(a), migration_state = outbound))
alter table t add constraint c unique (b) with (online = on, resumable = on, max_duration = 10 minutes)
alter table e add constraint c connection (n to m)
alter trigger dbo.r on dbo.t after insert as return
alter user u with name = v
alter view dbo.v as select 1 as a
alter workload group g with (importance = high) using p
alter xml schema collection c add '<a/>'
backup certificate k to file = 'f' with private key (file = 'p', encryption by password = 'p')
backup database d to disk = 'd.bak' with init
backup database d file = 'f', filegroup = 'g' to disk = 'd.bak'
backup database d read_write_filegroups to disk = 'd.bak'
backup database d to disk = 'a.bak' mirror to disk = 'b.bak' with format
backup database d to url = 'https://x/y.bak' with credential = 'k'
backup log d to disk = 'd.trn' with norecovery
backup transaction d to disk = 'd.trn'
backup group d to disk = 'g.bak' with metadata_only
backup master key to file = 'f' encryption by password = 'p'
backup service master key to file = 'f' encryption by password = 'p'
backup symmetric key k to file = 'f' encryption by password = 'p'
begin conversation timer (@h) timeout = 120
begin dialog conversation @h from service s to service 't' on contract c with encryption = off
begin dialog @h from service s to service 't'
begin distributed transaction
begin transaction t with mark 'm'
begin try select 1 end try begin catch throw end catch
begin atomic with (transaction isolation level = snapshot, language = 'us_english') select 1 end
bulk insert t from 'f.txt' with (fieldterminator = ',')
checkpoint 5
close c
close all symmetric keys
close symmetric key k
close master key
commit transaction with (delayed_durability = on)
commit work
create aggregate a (@v int) returns int external name b.c
create application role r with password = 'p'
create assembly a from 'a.dll' with permission_set = safe
create asymmetric key k with algorithm = rsa_2048
create availability group g for database d replica on 's' with (endpoint_url = 'u', availability_mode = asynchronous_commit, failover_mode = manual)
create broker priority p for conversation set (contract_name = c)
create certificate k with subject = 's'
create clustered columnstore index i on t order (a)
create columnstore index i on t (a) with (compression_delay = 10 minutes)
create column encryption key k with values (column_master_key = m, algorithm = 'RSA_OAEP', encrypted_value = 0x01)
create column master key k with (key_store_provider_name = 'p', key_path = 'q')
create contract c (m sent by initiator)
create credential k with identity = 'i', secret = 's'
create cryptographic provider p from file = 'f'
create database d containment = partial
create database d on (name = f, filename = 'f') for attach with enable_broker, restricted_user
create database d on (name = f, filename = 'f') for attach_force_rebuild_log
create database d with ledger = on
create database audit specification s for server audit a add (select on object::dbo.t by public)
create database encryption key with algorithm = aes_256 encryption by server certificate k
create database scoped credential k with identity = 'i', secret = 's'
create default d as 5
create endpoint e state = started as tcp (listener_port = 5022) for database_mirroring (role = all)
create event notification n on server for create_database to service 's', 'current database'
create event session s on server add event sqlserver.rpc_completed add target package0.ring_buffer
create external data source s with (location = 'x')
create external file format f with (format_type = parquet)
create external language l from (content = 'x', file_name = 'y')
create external library l from (content = 'x') with (language = 'R')
create external model m with (location = 'x', api_format = 'y', model_type = embeddings, model = 'z')
create external resource pool p with (max_memory_percent = 25)
create external table x (a int) with (location = 'l', data_source = s, file_format = f)
create fulltext catalog c as default
create fulltext index on t (a language 1033) key index k on c with change_tracking auto
create fulltext stoplist s from system stoplist
create function dbo.f (@a int) returns table as return select @a as a
create function dbo.f (@a int) returns table (a int) as external name b.c.d
create function dbo.f (@a int) returns int with native_compilation, schemabinding as begin atomic with (transaction isolation level = snapshot, language = 'us_english') return @a end
create unique nonclustered index i on t (a desc) include (b) where a > 5 with (online = on (wait_at_low_priority (max_duration = 1 minutes, abort_after_wait = none))) on [primary]
create index i on t (a) with (resumable = on, max_duration = 4 minutes)
create index i on t (a) filestream_on g
create index i on n ($node_id)
create json index i on t (a) for ('$.b')
create vector index i on t (a) with (metric = 'cosine')
create login l with password = 'p' must_change, check_expiration = on
create login [d\l] from windows with default_database = master
create login l from certificate k
create master key encryption by password = 'p'
create message type m validation = well_formed_xml
create partition function f (int) as range left for values (1, 2)
create partition scheme s as partition f all to ([primary])
create procedure dbo.p @a int = 5 output with recompile as select @a
create procedure dbo.number;2 as select 1
create procedure dbo.p @a int not null with native_compilation, schemabinding as begin atomic with (transaction isolation level = snapshot, language = 'us_english') select @a end
create procedure dbo.p with execute as owner for replication as select 1
create queue q with status = on
create remote service binding b to service 's' with user = u
create resource pool p with (min_cpu_percent = 5)
create role r authorization dbo
create route r with address = 'tcp://h:4022'
create rule r as @a > 5
create schema s
create schema authorization dbo
create search property list l
create security policy p add filter predicate dbo.f(a) on dbo.t with (state = on)
create selective xml index i on t (x) for (p1 = '/a/b')
create primary xml index i on t (x)
create xml index i on t (x) using xml index j for path
create sequence s as int start with 1 increment by 1 no cycle cache 9
create server audit a to file (filepath = 'p')
create server audit specification s for server audit a add (failed_login_group)
create server role r
create service s on queue q (c)
create spatial index i on t (g) using geography_auto_grid
create statistics s on t (a) where a > 5 with sample 5 percent, incremental = on
create symmetric key k with algorithm = aes_256 encryption by certificate c
create synonym s for dbo.t
create table t (a int primary key, b as a + 1 persisted) on [primary] textimage_on [primary]
create table t (a int) filestream_on g
create table t (a varbinary(max) filestream, b uniqueidentifier rowguidcol unique)
create table t (a int not null primary key nonclustered hash with (bucket_count = 8)) with (memory_optimized = on, durability = schema_only)
create table t as filetable with (filetable_directory = 'd')
create table n (a int) as node
create table e (a int, connection (n to n)) as edge
create table t (a int, i int sparse, c xml column_set for all_sparse_columns)
create table t (a int, index i clustered columnstore)
create table t (a int, b varchar(9) masked with (function = 'email()'), c vector(3), d vector(3, float16))
create table t (a int, v bigint generated always as transaction_id start hidden) with (ledger = on)
create table t (a int) with (data_compression = page on partitions (1, 3 to 5), xml_compression = on)
create table t (a date) with (data_deletion = on (filter_column = a, retention_period = 2 months))
create trigger dbo.r on dbo.t instead of insert, update not for replication as return
create trigger r on all server for logon as return
create trigger r on database for create_table as return
create type dbo.y from int not null
create type dbo.y as table (a int) with (memory_optimized = on)
create type dbo.y external name a.b
create user u for login l with default_schema = dbo
create user u without login
create user u from external provider
create view dbo.v with schemabinding as select 1 as a
create workload group g using p
create xml schema collection c as '<a/>'
dbcc checkdb (d) with no_infomsgs
dbcc clonedatabase (a, b) with no_statistics
dbcc cleantable (d, 't', 0)
dbcc freeproccache (0x06)
dbcc freesessioncache
dbcc pintable (5, 6)
dbcc show_statistics ('t', s) with histogram
dbcc shrinkfile (1, 5, notruncate)
dbcc traceon (3604, -1)
deallocate c
declare @a int = 5, @b varchar(9)
declare @t table (a int primary key)
declare c cursor local static for select 1
declare c insensitive scroll cursor for select 1 for read only
delete top (5) from t output deleted.a where a > 5 option (maxdop 1)
delete from t where current of c
deny select (a, b) on object::dbo.t to u cascade
deny view definition on availability group::g to l
deny control server to l
disable trigger all on all server
drop aggregate dbo.a
drop application role r
drop assembly if exists a with no dependents
drop asymmetric key k remove provider key
drop availability group g
drop broker priority p
drop certificate k
drop column encryption key k
drop column master key k
drop contract c
drop counter signature from dbo.p by certificate k
drop credential k
drop cryptographic provider p
drop database if exists d
drop database audit specification s
drop database encryption key
drop database scoped credential k
drop default d
drop endpoint e
drop event notification n on server
drop event session s on server
drop external data source s
drop external file format f
drop external language l
drop external library l
drop external model m
drop external resource pool p
drop external table x
drop fulltext catalog c
drop fulltext index on t
drop fulltext stoplist s
drop function if exists dbo.f
drop index if exists i on t with (maxdop = 2, online = on)
drop index i on t with (move to [primary])
drop index i on t with (wait_at_low_priority (max_duration = 1 minutes, abort_after_wait = self))
drop login l
drop master key
drop message type m
drop partition function f
drop partition scheme s
drop procedure if exists dbo.p, dbo.q
drop queue q
drop remote service binding b
drop resource pool p
drop role if exists r
drop route r
drop rule r
drop schema if exists s
drop search property list l
drop security policy p
drop sensitivity classification from dbo.t.a
drop sequence s
drop server audit a
drop server audit specification s
drop server role r
drop service s
drop signature from dbo.p by certificate k
drop statistics t.s
drop symmetric key k
drop synonym s
drop table if exists t
drop trigger r on all server
drop type dbo.y
drop user if exists u
drop view v
drop workload group g
drop xml schema collection c
enable trigger r on database
end conversation @h with cleanup
end conversation @h with error = 5 description = 'd'
exec dbo.p @a = 5, @b = @c output with recompile
exec ('select 1') as user = 'u'
exec ('select ?', 5) at s
exec ('select ?', @a output) as login = 'l' at s
exec dbo.number;2 5
execute as user = 'u' with no revert
fetch next from c into @a
get conversation group @g from q
get transmission status @h
grant select (a), update (b) on object::dbo.t to u with grant option
grant execute on xml schema collection::dbo.c to u
grant view definition on search property list::l to u
grant control on remote service binding::b to u
grant alter on symmetric key::k to u
grant alter on server role::r to l
grant references on fulltext stoplist::s to u
grant execute any external script to u
grant create database to l as dbo
grant all privileges on dbo.t to u
if 1 = 1 select 1 else select 2
insert top (5) into t (a) output inserted.a values (5)
insert t exec dbo.p
insert t select * from openquery (s, 'select 1')
insert into openrowset ('p', 'd', 'select 1') values (5)
insert t with (tablock) default values
kill 52 with statusonly
kill query notification subscription all
kill stats job 5
merge t using u on t.a = u.a when matched then update set b = u.b when not matched by source then delete output $action;
move conversation @h to @g
open master key decryption by password = 'p'
open symmetric key k decryption by certificate c
open c
print 'x'
raiserror ('x', 16, 1) with nowait
readtext t.a @p 0 5
receive top (1) * from q into @t where conversation_handle = @h
receive message_body, message_type_name as n from q
receive @h = conversation_handle from q
reconfigure with override
restore database d from disk = 'd.bak' with move 'a' to 'b', recovery
restore database d page = '1:57' from disk = 'd.bak' with norecovery
restore database d from database_snapshot = 's'
restore log d from disk = 'd.trn' with stopatmark = 'm' after '2020-01-01'
restore filelistonly from disk = 'd.bak'
restore headeronly from disk = 'd.bak'
restore labelonly from disk = 'd.bak'
restore rewindonly from tape = 't'
restore verifyonly from disk = 'd.bak'
restore master key from file = 'f' decryption by password = 'p' encryption by password = 'q'
restore service master key from file = 'f' decryption by password = 'p'
restore symmetric key k from file = 'f' decryption by password = 'p' encryption by password = 'q'
return
revert with cookie = @c
revoke grant option for select on schema::dbo from u cascade
revoke control on asymmetric key::k to u
rollback transaction t
save transaction t
select a, sum(b) over w as s from t window w as (partition by a order by b)
select identitycol, rowguidcol, $identity, $rowguid from t
select * from t for xml raw, xmldata
select * from t tablesample (5 percent) repeatable (5)
select * from t for system_time between '2020-01-01' and '2021-01-01'
select * from openrowset (bulk 'f', single_blob) as x
select * from opendatasource ('p', 'd').a.b.c
select * from containstable (t, a, 'w')
select * from freetexttable (t, a, 'w')
select * from semanticsimilaritytable (t, a, 5)
select * from changetable (changes t, 5) as c
select * from predict (model = @m, data = t as d) with (s float) as p
select * from a, b, c where match (a-(b)->c)
select last_value(c.a) within group (graph path) from a, b for path as b, c for path as c where match (shortest_path(a(-(b)->c)+))
select * from vector_search (table = t as x, column = v, similar_to = @v, metric = 'cosine', top_n = 5) as s
select * from ai_generate_chunks (source = 'x', chunk_type = fixed, chunk_size = 5)
select ai_generate_embeddings ('x' use model m)
select a from t where regexp_like (a, 'b')
select a from t where contains (a, 'w') or freetext (a, 'w')
select a from t order by a offset 5 rows fetch approximate next 5 rows only
select json_value('{}', '$.a' returning int), json_query('{}', '$.a' with array wrapper)
select {fn truncate(5.55, 1)}, {fn curdate()}, {ts '2020-01-01 00:00:00'}, {guid '6F9619FF-8B86-D011-B42D-00C04FC964FF'}
select 1 where 'a' like 'b' {escape '\'}
select next value for s over (order by a) from t
select a collate Latin1_General_BIN2, a at time zone 'UTC' from t
select a from t group by grouping sets ((a), ()) having count(*) > 5 option (recompile, use hint ('DISABLE_PARAMETER_SNIFFING'))
select * from t pivot (max(b) for a in ([1], [2])) as p
select top (5) percent with ties a into u from t order by a
send on conversation @h message type m (@b)
set rowcount 5
set statistics io, time on
set transaction isolation level snapshot
set fips_flagger 'full'
set offsets select, from on
setuser 'u'
shutdown with nowait
throw 50000, 'x', 1
truncate table t with (partitions (1, 3 to 5))
update top (5) t set a = a + 1 output inserted.a, deleted.a from t where a > 5
update statistics t s with fullscan, persist_sample_percent = on
update statistics t (s) with resample on partitions (1, 3 to 5)
updatetext t.a @p 0 5 'x'
use master
waitfor delay '00:00:05'
waitfor (receive * from q), timeout 5
while 1 = 0 begin break continue end
with change_tracking_context (0x01) insert t values (5)
with c as (select 1 as a union all select a + 1 from c) select * from c
with xmlnamespaces ('u' as n) select 1 as [n:a] for xml path
writetext t.a @p 'x'
