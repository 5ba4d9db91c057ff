backup database old to disk = 'old.bak' with format, compression
go
use old
insert heap (text) values ('after the full backup')
create table later (id int not null primary key)
insert later values (1), (2), (3)
go
backup log old to disk = 'old.bak' with compression
go
create table lost (id int not null primary key, f char(800) not null)
declare @i int = 0
while @i < 60 begin insert lost values (@i, 'lost') set @i += 1 end
drop table lost
insert heap (text) values ('after the log backup')
go
backup log old to disk = 'old.bak' with compression
go
