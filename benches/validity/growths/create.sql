create database growths
    on (name = growths_data, filename = 'c:\lab\growths.mdf')
    log on (name = growths_log, filename = 'c:\lab\growths.ldf', size = $(log_start), filegrowth = $(log_growth))
go
