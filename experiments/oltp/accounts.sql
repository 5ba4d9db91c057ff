use bank
go
create table dbo.account
(
    id int not null constraint account_key primary key clustered,
    balance money not null,
    owner char(84) not null
)
go
create table dbo.journal
(
    entry int identity(1,1) not null constraint journal_key primary key clustered,
    account_id int not null,
    amount money not null,
    booked datetime not null
)
go
set nocount on
declare @id int = 0
while @id < $(accounts)
begin
    begin transaction
    declare @end int = @id + 5000
    while @id < @end and @id < $(accounts)
    begin
        set @id = @id + 1
        insert into dbo.account (id, balance, owner) values (@id, 0, 'owner ' + cast(@id as varchar(10)))
    end
    commit
    checkpoint
end
go
alter database bank set recovery full
go
checkpoint
backup database bank to disk = 'c:\lab\bank.bak'
go
