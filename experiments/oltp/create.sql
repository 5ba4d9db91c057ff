use master
go
create database bank
    on (name = bank_data, filename = 'c:\lab\bank.mdf', size = $(data_mb)MB, filegrowth = 64MB)
    log on (name = bank_log, filename = 'c:\lab\bank.ldf', size = $(log_start), maxsize = $(log_max), filegrowth = $(log_growth))
go
alter database bank set recovery simple
go
