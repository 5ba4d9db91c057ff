-- A table with constraints of every kind, a heap, and units above all of the catalog on pages that belong to nobody.
create database old on (name = old, filename = 'c:\old.mdf', size = 2MB) log on (name = old_log, filename = 'c:\old_log.ldf', size = 1MB)
go
use old
create table parent (id int not null primary key)
create table child (
    id int not null constraint pk_child primary key,
    parent int not null constraint fk_child references parent (id),
    name char(20) not null constraint df_child default 'none' constraint ck_child check (name <> ''),
    code int not null constraint uq_child unique)
create table heap (id int identity, text varchar(200) not null)
go
insert parent values (1), (2)
insert child (id, parent, code) values (1, 1, 10), (2, 2, 20)
insert heap (text) values ('a'), ('b'), ('c')
go
create table gone (id int not null primary key, f char(800) not null)
declare @i int = 0
while @i < 60 begin insert gone values (@i, 'gone') set @i += 1 end
drop table gone
go
