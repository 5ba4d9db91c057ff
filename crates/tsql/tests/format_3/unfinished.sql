use kept
go
checkpoint
begin transaction
insert heap select value, replicate('u', 300) from generate_series(701, 900)
insert tree select value, 1, replicate('u', 300) from generate_series(701, 900)
go
print 'unfinished'
waitfor delay '00:01:00'
go
