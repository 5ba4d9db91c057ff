-- A transaction that stays open, so that the log cannot be truncated.
use recovery
go
begin transaction
create table never_committed (a int)
insert never_committed values (1)
go
