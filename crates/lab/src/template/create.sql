-- The log begins at $(log_start) and grows by $(log_growth): the sizes of the configuration.
use master
go
create database trial
    on (name = trial, filename = 'c:\lab\trial.mdf', size = 32MB, filegrowth = 16MB)
    log on (name = trial_log, filename = 'c:\lab\trial.ldf', size = $(log_start), filegrowth = $(log_growth))
go
create table trial.dbo.filled (id int not null primary key, filler char(4000) not null)
go
-- From here on nothing but a log backup frees the log.
backup database trial to disk = 'c:\lab\trial.bak'
go
