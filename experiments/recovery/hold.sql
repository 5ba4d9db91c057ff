-- Runs in a connection of its own, which stays open: the log cannot be truncated past this transaction's start,
-- and recovery has to find it and undo it.
use vlf
go
begin transaction
create table dbo.never_committed (id int)
go
