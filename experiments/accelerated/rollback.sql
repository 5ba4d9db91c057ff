-- In the connection of the large transaction.
rollback
go
