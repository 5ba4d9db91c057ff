-- $(rows) rows with remarks of 600 to 4,400 characters, the same in every run.
use wide
go
create table dbo.person_source
(
    id int identity(1,1) not null,
    remark varchar(8000) not null,
    given_name varchar(20) not null,
    family_name varchar(40) not null,
    born date not null,
    account int not null,
    joined datetime not null
)
go
create table dbo.person
(
    id int identity(1,1) not null,
    remark varchar(8000) not null,
    given_name varchar(20) not null,
    family_name varchar(40) not null,
    born date not null,
    account int not null,
    joined datetime not null
)
go
set nocount on
declare @row int = 0
while @row < $(rows)
begin
    begin transaction
    declare @end int = @row + 500
    while @row < @end and @row < $(rows)
    begin
        set @row = @row + 1
        insert into dbo.person_source (remark, given_name, family_name, born, account, joined)
        values
        (
            replicate('a remark of no meaning, ', 25 + (@row * 37) % 159),
            'given' + cast(@row % 997 as varchar(10)),
            'family name ' + cast(@row % 4999 as varchar(10)),
            dateadd(day, @row % 20000, '1950-01-01'),
            @row,
            dateadd(minute, @row, '2005-01-01')
        )
    end
    commit
    checkpoint
end
go
-- From here on the log is kept until it is backed up.
alter database wide set recovery full
go
checkpoint
backup database wide to disk = 'c:\lab\wide.bak'
go
