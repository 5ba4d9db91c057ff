-- A database whose data file is full: tables with constraints, which an upgrade gives ids of their own, until no page is left.
create database filled on (name = filled_data, filename = 'c:\filled.mdf', size = 2MB, maxsize = 3MB, filegrowth = 1MB)
    log on (name = filled_log, filename = 'c:\filled.ldf', size = 2MB, filegrowth = 1MB)
go
alter database filled set recovery simple
go
use filled
go
create table parent (id int not null constraint parent_key primary key, name varchar(20) not null constraint parent_name default 'none')
insert parent values (1, 'one')
go
declare @i int = 0, @text varchar(400)
begin try
    while @i < 1000
    begin
        set @text = 'create table t' + cast(@i as varchar(4)) + ' (id int not null constraint k' + cast(@i as varchar(4))
            + ' primary key, a int constraint d' + cast(@i as varchar(4)) + ' default 1, b int constraint c' + cast(@i as varchar(4))
            + ' check (b > 0)) insert t' + cast(@i as varchar(4)) + ' (id) values (1)'
        exec (@text)
        set @i += 1
    end
end try
begin catch
    print 'full: error ' + cast(error_number() as varchar(9)) + ' at table ' + cast(@i as varchar(9))
end catch
go
-- What room the catalog's own pages have left is taken by names.
declare @i int = 0, @text varchar(400)
begin try
    while @i < 1000
    begin
        set @text = 'create view v' + cast(@i as varchar(4)) + ' as select id from parent'
        exec (@text)
        set @i += 1
    end
end try
begin catch
    print 'full: error ' + cast(error_number() as varchar(9)) + ' at view ' + cast(@i as varchar(9))
end catch
go
checkpoint
go
