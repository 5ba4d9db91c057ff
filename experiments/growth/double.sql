-- Every row once more, dated later: by 30 days the first time, by 60 the second, and so on.
use growth
go
set nocount on
declare @days int = 30 * (1 + (select doublings from dbo.progress))
insert into dbo.charge (member_no, provider_no, category_no, charge_dt, charge_amt, statement_no, charge_code)
select member_no, provider_no, category_no, charge_dt + @days, charge_amt, statement_no, charge_code
from dbo.charge
update dbo.progress set doublings = doublings + 1
go
