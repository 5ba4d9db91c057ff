create database small on (name = small, filename = 'c:\lab\small.mdf')
    log on (name = small_log, filename = 'c:\lab\small.ldf', size = $(log_start), filegrowth = $(log_growth))
go
create table small.dbo.t (id int not null primary key)
