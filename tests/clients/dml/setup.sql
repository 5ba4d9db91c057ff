create database {database}
on primary (name = 'data', filename = 'C:\dml\{database}.mdf', size = 64MB, filegrowth = 64MB)
log on (name = 'log', filename = 'L:\dml\{database}.ldf', size = {first}, filegrowth = {step})
go
