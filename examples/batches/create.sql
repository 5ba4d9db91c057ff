use master
go
create database batches
    on (name = batches, filename = 'c:\lab\batches.mdf', size = 32MB, filegrowth = 16MB)
    log on (name = batches_log, filename = 'c:\lab\batches.ldf', size = $(log_start), filegrowth = $(log_growth))
go
create table batches.dbo.filled (id int not null primary key, filler char(400) not null)
go
