-- Runs in a connection of its own, which stays open: without accelerated recovery the log cannot be truncated past this
-- transaction's start. What it did is a change of definitions.
use vlf
go
begin transaction
create table dbo.never_committed (id int)
go
