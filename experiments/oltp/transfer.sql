-- One transfer between two accounts: two updates and two entries in the journal. The lower number first, so that two
-- transfers never wait for each other in a circle.
set nocount on
declare @one int = 1 + cast(rand() * ($(accounts) - 1) as int)
declare @other int = 1 + cast(rand() * ($(accounts) - 1) as int)
declare @amount money = 1 + cast(rand() * 100 as int)
if @one = @other set @other = @one % $(accounts) + 1
declare @low int = case when @one < @other then @one else @other end
declare @high int = case when @one < @other then @other else @one end
begin transaction
update dbo.account set balance = balance - @amount where id = @low
update dbo.account set balance = balance + @amount where id = @high
insert into dbo.journal (account_id, amount, booked) values (@low, -@amount, getdate()), (@high, @amount, getdate())
commit
