-- The charges doubled twice, and what that did to the log.
use Credit
go
set nocount on
exec sp_spaceused 'dbo.charge'
dbcc loginfo
select name, cast(size / 128.0 as decimal(15, 2)) as size_mb,
    cast(fileproperty(name, 'SpaceUsed') as int) / 128.0 as used_mb
from sys.database_files order by file_id
dbcc sqlperf('sys.dm_os_wait_stats', clear)
-- So small a load may end without a wait of a whole millisecond; this one is certain.
waitfor delay '00:00:00.020'
declare @round int = 1, @begin datetime = getdate()
while @round <= 2
begin
    insert dbo.charge (member_no, provider_no, category_no, charge_dt, charge_amt, statement_no, charge_code)
    select member_no, provider_no, category_no, charge_dt + 30 * @round, charge_amt, statement_no, charge_code from dbo.charge
    print 'round ' + convert(nvarchar(5), @round) + ' done in ' + convert(nvarchar(9), datediff(ms, @begin, getdate())) + ' ms'
    set @round += 1
end
select datediff(second, @begin, getdate()) as seconds
;with waits as (
    select wait_type, cast(wait_time_ms / 1000. as decimal(12, 2)) as wait_s,
        cast(100. * wait_time_ms / sum(wait_time_ms) over () as decimal(12, 2)) as pct
    from sys.dm_os_wait_stats where wait_time_ms > 0)
select wait_type, wait_s, pct, sum(pct) over (order by pct desc rows unbounded preceding) as running_pct
from waits order by running_pct
dbcc loginfo
select name, cast(size / 128.0 as decimal(15, 2)) as size_mb,
    cast(fileproperty(name, 'SpaceUsed') as int) / 128.0 as used_mb
from sys.database_files order by file_id
exec sp_spaceused 'dbo.charge'
go
