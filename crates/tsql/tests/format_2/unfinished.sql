use old
create table whole (id int not null primary key, f char(800) not null)
insert whole values (1, 'whole')
checkpoint
begin transaction
create table half (id int not null primary key, f char(800) not null)
declare @i int = 0
while @i < 60 begin insert half values (@i, 'half') set @i += 1 end
insert heap (text) values ('never')
checkpoint
select 'unfinished' as state
go
waitfor delay '00:01:00'
go
