create table p (id int not null constraint pk_p primary key, code varchar(5) null constraint uq_p unique, n int)
create table c (id int not null primary key, pid int null constraint fk_c foreign key references p, code varchar(10) constraint fk_code references p (code))
insert p values (1, 'one', 0), (2, 'two', 0), (3, null, 0)
insert c values (1, 1, 'one'), (2, null, null), (3, 2, 'TWO')
go
insert c values (4, 9, null)
go
insert c values (4, 1, null), (5, 9, null), (6, 1, null)
select id from c
go
insert c (id, code) select id + 10, 'none' from c where id = 1
go
update c set pid = 7 where id = 1
go
update c set pid = 3 where id = 1
update c set pid = pid + 0, code = 'one' where pid = 3
go
delete p where id = 2
go
delete p where id in (1, 3)
go
update p set id = 20 where id = 2
go
update p set id = id + 1
go
update p set id = case id when 2 then 3 when 3 then 2 else id end
update p set n = 5, code = upper(code)
select * from p
go
update p set code = 'uno' where code = 'one'
go
delete c where pid = 2
delete p where id = 1
select id from p order by id
go
drop table p
go
truncate table p
go
alter table p drop constraint pk_p
go
alter table p drop constraint uq_p
go
alter table p drop column code
go
alter table p alter column id bigint
go
alter table p drop column n
go
alter table c drop column code
go
-- to itself
create table boss (id int not null primary key, of_id int null constraint fk_boss references boss (id), index i_of (of_id))
insert boss values (2, 1), (1, null), (3, 3)
insert boss values (4, 5)
go
update boss set id = 10 where id = 1
go
update boss set id = id + 100, of_id = of_id + 100
select * from boss
delete boss where id = 101
go
delete boss
insert boss values (1, 1)
truncate table boss
drop table boss
go
-- two columns, in another order than the key's
create table two (a int not null, b char(3) not null, primary key (b, a))
create table of_two (x int, y char(3), z int, foreign key (x, y) references two (a, b))
insert two values (1, 'x'), (1, 'y')
insert of_two values (1, 'x', 0), (1, null, 0), (null, 'q', 0)
insert of_two values (1, 'z', 0)
go
delete two where b = 'y'
delete two where b = 'x'
go
-- existing rows
create table late (id int, pid int)
insert late values (1, 2), (2, 77)
alter table late add constraint fk_late foreign key (pid) references p
go
alter table late with nocheck add constraint fk_late foreign key (pid) references p
select name, is_not_trusted, is_disabled, key_index_id from sys.foreign_keys where name = 'fk_late'
update late set id = 5
insert late values (3, 78)
go
alter table late nocheck constraint fk_late
insert late values (3, 78)
select name, is_not_trusted, is_disabled from sys.foreign_keys where name = 'fk_late'
alter table late check constraint all
select name, is_not_trusted, is_disabled from sys.foreign_keys where name = 'fk_late'
alter table late with check check constraint fk_late
go
alter table late check constraint nosuch
go
delete late where pid > 50
alter table late with check check constraint fk_late
select name, is_not_trusted, is_disabled from sys.foreign_keys where name = 'fk_late'
go
-- what a foreign key may not be
create table bad (a int references nosuch)
go
create table bad (a int references p (nosuch))
go
create table bad (a int, foreign key (b) references p)
go
create table bad (a int references late (id))
go
create table bad (a bigint references p (id))
go
create table bad (a int, b int, foreign key (a, b) references p (id))
go
create table heap (a int)
create table bad (a int references heap)
go
create table bad (a int references p on delete cascade, b int constraint fk_second references p on delete set null)
go
create table #t (a int references p)
insert #t values (99)
go
select object_name(parent_object_id) parent, object_name(referenced_object_id) referenced, constraint_column_id, parent_column_id, referenced_column_id from sys.foreign_key_columns order by constraint_object_id, constraint_column_id
declare @t table (a int)
insert p output inserted.id into @t values (50, null, 1)
go
insert heap output inserted.a into late (id) values (1)
go
-- a transaction goes on after 547
begin transaction
insert c values (20, 2, null)
insert c values (21, 99, null)
commit
select id from c order by id
go
-- a table that is rewritten keeps its id and who refers to it
alter table p rebuild
delete p where id = 2
drop table c, of_two, late, two, p, heap
go
-- constraints written at a column that is added
create table p (id int not null primary key)
create table c (a int)
insert p values (1)
insert c values (1)
go
alter table c add pid int constraint fk_added references p, n int constraint ck_added check (n > 0), u int constraint uq_added unique
insert c values (2, 5, null, null)
go
insert c values (2, 1, 0, null)
go
insert c values (2, 1, 1, null)
go
select name from sys.foreign_keys
drop table c, p
