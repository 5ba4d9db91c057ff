-- ALTER TABLE: "If you don't specify, WITH CHECK is assumed for new constraints, and WITH NOCHECK is assumed for re-enabled constraints."
create table t (a int not null constraint ck_a check (a > 0), b int constraint df_b default 5, c varchar(5), constraint ck_ab check (b < 100 and a < 50))
insert t (a) values (1)
go
-- 547 names the column of a CHECK that reads just one
insert t values (0, 1, null)
insert t values (1, 500, null)
go
select name, is_disabled, is_not_trusted, parent_column_id from sys.check_constraints where parent_object_id = object_id('t') order by name
go
alter table t nocheck constraint ck_a
insert t values (-1, 1, null)
insert t values (-1, 500, null)
select name, is_disabled, is_not_trusted from sys.check_constraints where parent_object_id = object_id('t') order by name
go
alter table t check constraint ck_a
insert t values (-2, 1, null)
select name, is_disabled, is_not_trusted from sys.check_constraints where parent_object_id = object_id('t') order by name
go
-- a row of before keeps WITH CHECK from trusting it, and leaves the constraint as it was
alter table t with check check constraint all
go
select name, is_disabled, is_not_trusted from sys.check_constraints where parent_object_id = object_id('t') order by name
delete t where a < 0
alter table t with check check constraint all
select name, is_disabled, is_not_trusted from sys.check_constraints where parent_object_id = object_id('t') order by name
go
alter table t nocheck constraint all
insert t values (-1, 500, null)
update t set b = 600
go
-- only the new constraint is held against the rows
alter table t add constraint ck_c check (c like 'x%')
alter table t with nocheck add constraint ck_n check (a <> -1)
select name, is_disabled, is_not_trusted from sys.check_constraints where parent_object_id = object_id('t') order by name
insert t values (-1, 1, null)
insert t values (-3, 1, 'y')
go
alter table t with nocheck add constraint ck_wrong check (nosuch > 1)
go
-- "NOCHECK ... can only be used with FOREIGN KEY and CHECK constraints"
alter table t nocheck constraint df_b
go
alter table t nocheck constraint nosuch
go
drop table t
go
