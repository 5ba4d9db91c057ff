use growth
go
create table dbo.charge
(
    charge_no int identity(1,1) not null constraint charge_key primary key clustered,
    member_no int not null,
    provider_no int not null,
    category_no int not null,
    charge_dt datetime not null,
    charge_amt money not null,
    statement_no int not null,
    charge_code char(2) not null
)
go
-- How often the table was doubled, and the rows whose updates fill the log in the end.
create table dbo.progress (doublings int not null)
go
insert into dbo.progress (doublings) values (0)
go
create table dbo.page_writer (id int not null primary key, payload char(8000) not null)
go
insert into dbo.page_writer (id, payload)
values (1, 'e'), (2, 'e'), (3, 'e'), (4, 'e'), (5, 'e'), (6, 'e'), (7, 'e'), (8, 'e')
go
