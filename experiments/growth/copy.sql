use growth
go
-- In portions, so that a checkpoint between them can truncate the log.
set nocount on
declare @from int = 0
while @from <= 2000000
begin
    insert into dbo.charge (member_no, provider_no, category_no, charge_dt, charge_amt, statement_no, charge_code)
    select member_no, provider_no, category_no, charge_dt, charge_amt, statement_no, charge_code
    from Credit.dbo.charge
    where charge_no > @from and charge_no <= @from + 50000
    set @from = @from + 50000
    checkpoint
end
go
drop database Credit
go
