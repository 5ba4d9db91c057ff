declare @i int = 0
while @i < 5
begin
  set @i = @i + 1
  if @i = 2 continue
  if @i = 4 break
  print 'i = ' + cast(@i as varchar(10))
end
if @i = 4 print 'four' else print 'other'
goto done
print 'skipped'
done:
print N'done'
return
print 'never'
go
begin try
  select 1 / 0
  print 'not reached'
end try
begin catch
  select error_number() n, error_severity() s, error_state() st, error_line() l, error_message() m, error_procedure() p, xact_state() x
end catch
select error_number()
go
begin try
  raiserror('bad %s: %d', 16, 3, 'thing', 42)
end try
begin catch
  print error_message()
  ;throw
end catch
print 'not reached'
go
raiserror('only a message', 10, 1)
raiserror(N'an error', 11, 2) with nowait
print 'goes on, @@error = ' + cast(@@error as varchar(10))
throw 50001, 'thrown', 7
print 'not reached'
go
create table t (a int not null)
begin tran
insert t values (1)
select @@trancount
save tran sp
insert t values (2)
rollback tran sp
begin tran
select @@trancount
commit
commit
select * from t
rollback
commit
go
begin tran
insert t values (5)
insert t values (null)
select @@trancount t, count(*) n from t
rollback
select count(*) n from t
go
set xact_abort on
begin tran
insert t values (6)
insert t values (null)
print 'not reached'
go
select @@trancount t, count(*) n from t
set xact_abort off
go
begin try
  begin tran
  insert t values (7)
  select cast('abc' as int)
end try
begin catch
  select @@trancount t, xact_state() x
  begin try
    insert t values (8)
  end try
  begin catch
    print error_message()
  end catch
  if xact_state() <> 0 rollback
end catch
select count(*) n from t
go
begin tran
select cast('abc' as int)
print 'not reached'
go
select @@trancount
set implicit_transactions on
insert t values (9)
select @@trancount
rollback
set implicit_transactions off
select count(*) from t
go
create procedure p @a int, @b varchar(10) = 'dflt', @c int output as
begin
  set nocount on
  select @a a, @b b
  set @c = @a * 2
  if @a > 5 return 7
  return @@nestlevel
end
go
declare @r int, @o int
exec @r = p 1, @c = @o output
select @r r, @o o
exec @r = p @a = 9, @b = 'x', @c = @o output
select @r r, @o o
exec p
exec nosuch
exec p 1, 2, 3, 4
exec p @z = 1
go
exec sp_executesql N'select @x + 1, @y', N'@x int, @y varchar(5)', 41, 'str'
declare @out int
exec sp_executesql N'set @x = 5', N'@x int output', @out output
select @out
exec ('select 1 as one')
declare @sql nvarchar(100) = N'select ' + quotename('two') + ' from (select 2 as two) x'
exec (@sql)
create table #r (a int, b varchar(10))
declare @c2 int
insert #r exec p 3, 'in', @c2 output
select * from #r
go
declare c cursor for select a from t order by a
declare @a int
open c
fetch next from c into @a
while @@fetch_status = 0
begin
  print @a
  fetch next from c into @a
end
close c
deallocate c
go
create view v as select a, a * 2 twice from t
go
select * from v
drop view v
drop procedure p
exec p 1
go
select x from
go
exec ('select ''unclosed')
go
declare @a int, @a int
go
print 1 + 'x'
print 'not reached'
go
use nosuch
print 'after use'
go
waitfor delay '00:00:00.010'
select @@rowcount
set nocount on
select 1
go
create procedure again @depth int as if @depth < 40 begin set @depth += 1 exec again @depth end
go
exec again 1
print 'after'
go
