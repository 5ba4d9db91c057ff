set nocount on
create table t (a int not null primary key, constraint ck check (a > 0))
go
-- A name that is neither a savepoint's nor the outermost transaction's rolls nothing back.
begin tran Outermost
begin tran nested
insert t values (1)
rollback tran nope
rollback tran nested
rollback tran outermost
select @@trancount t, count(*) n from t
rollback tran Outermost
select @@trancount t, count(*) n from t
rollback tran Outermost
go
-- Rolling back to a savepoint uses it up, and those behind it; the latest of a name counts; the case of its name does not.
begin tran
save tran Point
insert t values (1)
save tran later
insert t values (2)
save tran POINT
insert t values (3)
rollback tran point
select @@trancount t, count(*) n from t
rollback tran [point   ]
select @@trancount t, count(*) n from t
rollback tran point
rollback tran later
select @@trancount t, xact_state() x
commit tran any_name_at_all
go
-- A savepoint before the outer transaction's name, then the transaction.
begin tran same
begin tran
save tran same
insert t values (1)
rollback tran same
select @@trancount t, count(*) n from t
rollback tran same
select @@trancount t
go
save tran x
select 'the batch is over'
go
rollback tran x
commit
select 'the batch goes on'
go
begin try
  save tran x
end try
begin catch
  select error_number() n, xact_state() x
end catch
go
begin tran a23456789012345678901234567890123
go
save tran [a23456789012345678901234567890123]
go
begin tran a2345678901234567890123456789012
rollback tran a2345678901234567890123456789012
go
-- Names in variables: cut to 32 characters; empty and NULL ones; no text.
declare @long varchar(40) = 'a234567890123456789012345678901234567', @empty varchar(5) = '', @none nvarchar(5), @number int = 1
begin tran
begin tran
save tran @long
insert t values (1)
rollback tran a2345678901234567890123456789012
select count(*) n from t
save tran @empty
rollback tran @empty
save tran @none
save tran @number
select @@trancount t
rollback tran @none
select @@trancount t
go
-- In a transaction that cannot go on.
begin tran
save tran s
begin try
  select cast('x' as int)
end try
begin catch
  save tran u
  select 'not reached'
end catch
go
select @@trancount t
begin tran
save tran s
begin try
  select cast('x' as int)
end try
begin catch
  rollback tran s
  select 'not reached'
end catch
go
select @@trancount t
go
-- A procedure that leaves another count than it found.
create procedure leaves_open as begin tran return 3
go
create procedure takes_away as rollback return 4
go
declare @status int
exec @status = leaves_open
select @@error e, @@trancount t, @status s
exec takes_away
select @@error e, @@trancount t
exec ('begin tran')
exec sp_executesql N'commit'
select @@trancount t
begin tran
begin try
  exec takes_away
  select 'not reached'
end try
begin catch
  select error_number() n, error_state() s, error_line() l, error_procedure() p, xact_state() x
end catch
go
set xact_abort on
exec leaves_open
select @@trancount t, 'goes on' x
rollback
set xact_abort off
go
-- A savepoint belongs to the transaction, not to the procedure.
create procedure saves as save tran inside insert t values (8)
go
begin tran
exec saves
rollback tran inside
select @@trancount t, count(*) n from t
rollback
drop procedure leaves_open
drop procedure takes_away
drop procedure saves
go
-- SET XACT_ABORT is nothing to RAISERROR; THROW obeys it.
set xact_abort on
begin tran
insert t values (1)
raiserror('goes on', 16, 1)
select @@trancount t, xact_state() x
begin try
  raiserror('caught', 16, 1)
end try
begin catch
  select @@trancount t, xact_state() x
end catch
commit
begin tran
insert t values (2)
;throw 50000, 'is over', 1
select 'not reached'
go
select @@trancount t, count(*) n from t
begin tran
begin try
  throw 50000, 'caught', 1
end try
begin catch
  select @@trancount t, xact_state() x
  rollback
end catch
set xact_abort off
delete t
go
-- Implicit transactions begin with the first statement that touches a table.
set implicit_transactions on
select @@trancount t
declare @i int = 1
set @i = 2
select @i = 3
select @i i, x from (values (1)) v(x)
print 'no transaction so far'
select @@trancount t
select count(*) n from t
select @@trancount t
rollback
select top 0 name from sys.objects
select @@trancount t
rollback
select 1 as one where exists (select * from t)
select @@trancount t
rollback
insert t values (1)
select @@trancount t
rollback
update t set a = 1
select @@trancount t
rollback
delete t
select @@trancount t
rollback
truncate table t
select @@trancount t
rollback
create table made (a int)
select @@trancount t
rollback
alter table t add b int
select @@trancount t
rollback
drop table t
select @@trancount t
rollback
begin tran
select @@trancount t
rollback
set implicit_transactions off
select count(*) n from t
go
-- INSERT ... EXECUTE cannot be left by what it runs.
create procedure commits as select @@trancount commit
go
create procedure nests as begin tran insert t values (5) commit select @@trancount + 10
go
insert t exec commits
select @@trancount t, count(*) n from t
insert t exec ('select 1 rollback')
select @@trancount t, count(*) n from t
insert t exec nests
select @@trancount t
select a from t
begin tran
delete t
insert t exec ('select 7 rollback')
select @@trancount t, count(*) n from t
rollback
select a from t
