use master
go
create database vlf
    on (name = vlf_data, filename = 'c:\lab\vlf.mdf', size = $(data_mb)MB, filegrowth = 64MB)
    log on (name = vlf_log, filename = 'c:\lab\vlf.ldf', size = $(log_start), maxsize = $(log_max), filegrowth = $(log_growth))
go
