-- Other names for types: columns by them, what the catalog says, what is refused.
create type dbo.numeric_id from int not null
create type shortstring from varchar(15) null
exec sp_addtype 'letter', 'char(1)', 'null'
exec sp_addtype statecode, 'char(2)'
go
create table member (member_no numeric_id identity primary key, lastname dbo.shortstring not null, middle letter, state statecode, loose numeric_id)
go
insert member (lastname, middle, state, loose) values ('BARR', 'X', 'WA', 7)
insert member (lastname, middle, state) values ('DORR', 'Y', 'OR')
go
select member_no, lastname, middle, state, loose from member
select c.name, t.name, t.is_user_defined, c.max_length, c.is_nullable from sys.columns as c join sys.types as t on t.user_type_id = c.user_type_id where object_id = object_id('member') order by column_id
select type_id('letter'), type_name(type_id('dbo.shortstring')), type_id('absent')
go
create type letter from char(3)
go
drop type letter
go
drop type absent
go
alter table member alter column middle varchar(4) null
drop type letter
exec sp_droptype 'absent'
go
begin tran
create type gone from money
rollback
select count(*) from sys.types where is_user_defined = 1
create table t (a gone)
go
create type rows_type as table (a int)
go
