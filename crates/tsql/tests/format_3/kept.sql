-- A heap with an index, a tree with an index, and rows that fill some extents. No row was deleted, no column lies outside of its row.
create database kept on (name = kept, filename = 'c:\kept.mdf', size = 2MB) log on (name = kept_log, filename = 'c:\kept_log.ldf', size = 1MB)
go
use kept
go
create table heap (id int not null, text varchar(2000) not null)
create unique index by_id on heap (id)
create table tree (id int not null primary key, n int not null, text varchar(2000) not null)
create index by_n on tree (n) include (text)
go
insert heap select value, replicate('h', value % 400) from generate_series(1, 600)
insert tree select value, value % 9, replicate('t', value % 400) from generate_series(1, 600)
go
