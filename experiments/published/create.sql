-- A database whose log starts at $(log_start); the step after this one grows it to the published number of VLFs.
use master
go
create database vlf
    on (name = vlf_data, filename = 'c:\lab\vlf.mdf', size = 8MB, filegrowth = 8MB)
    log on (name = vlf_log, filename = 'c:\lab\vlf.ldf', size = $(log_start), maxsize = $(log_max), filegrowth = $(log_growth))
go
