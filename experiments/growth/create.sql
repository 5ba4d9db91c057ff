-- A data file of $(data_mb) MB that grows by $(data_growth), and a log that starts small so that its history can be made.
use master
go
create database growth
    on (name = growth_data, filename = 'c:\lab\growth.mdf', size = $(data_mb)MB, filegrowth = $(data_growth))
    log on (name = growth_log, filename = 'l:\lab\growth.ldf', size = $(log_start), maxsize = $(log_max), filegrowth = $(log_growth))
go
-- Copying the table shall not fill the log: without a log chain it is truncated as it goes.
alter database growth set recovery simple
go
