-- $(rows) charges with the distributions of the Credit database: 100,000 different ones, repeated. Uniform numbers come from a
-- generator of Lehmer's, so every server makes the same rows.
use growth
go
set nocount on
create table dbo.draw
(
    n int not null primary key,
    u float not null,
    v float not null,
    w float not null
)
go
set nocount on
declare @count int = case when $(rows) < 100000 then $(rows) else 100000 end
declare @n int = 1, @x bigint = 20130829
declare @u float, @v float, @w float
begin transaction
while @n <= @count
begin
    set @x = @x * 48271 % 2147483647
    set @u = @x / 2147483647e0
    set @x = @x * 48271 % 2147483647
    set @v = @x / 2147483647e0
    set @x = @x * 48271 % 2147483647
    set @w = @x / 2147483647e0
    insert into dbo.draw (n, u, v, w) values (@n, @u, @v, @w)
    set @n = @n + 1
end
commit
go
-- In portions, so that a checkpoint between them can truncate the log.
set nocount on
declare @made int = 0, @portion int
while @made < $(rows)
begin
    set @portion = case when $(rows) - @made < 50000 then $(rows) - @made else 50000 end
    insert into dbo.charge (member_no, provider_no, category_no, charge_dt, charge_amt, statement_no, charge_code)
    select 10000 - floor(10000 * u * v),
        500 - floor(500 * u * v * w),
        1 + floor(10 * w),
        dateadd(day, floor(120 * v), '19990615 10:45'),
        1 + floor(5000 * w),
        10000 - floor(10000 * u * v) + case when v < 0.5 then 0 when v < 0.75 then 10000 else 20000 end,
        '  '
    from dbo.draw
    where n > @made % 100000 and n <= @made % 100000 + @portion
    order by n
    set @made = @made + @portion
    checkpoint
end
go
drop table dbo.draw
go
