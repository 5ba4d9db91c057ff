-- A database with room for all the data, and a log that starts at $(log_start) and may grow by $(log_growth) up to $(log_max).
use master
go
create database wide
    on (name = wide_data, filename = 'c:\lab\wide.mdf', size = $(data_mb)MB, filegrowth = 64MB)
    log on (name = wide_log, filename = 'c:\lab\wide.ldf', size = $(log_start), maxsize = $(log_max), filegrowth = $(log_growth))
go
-- Generating the rows shall not fill the log that is to be measured: without a log chain it is truncated as it goes.
alter database wide set recovery simple
go
