-- 2,000 sources in one chain, and not one more; two chains one after the other are no longer one.
declare @many varchar(max) = 'sys.objects o0', @i int = 1
while @i < 1200 begin set @many += concat(', sys.objects o', @i) set @i += 1 end
exec ('select (select count(*) from ' + @many + ' where 1 = 0), (select count(*) from ' + @many + ' where 1 = 0)')
go
declare @many varchar(max) = 'sys.objects o0', @i int = 1
while @i < 2000 begin set @many += concat(', sys.objects o', @i) set @i += 1 end
exec ('select count(*) from ' + @many + ' where 1 = 0')
exec ('select count(*) from ' + @many + ', sys.objects where 1 = 0')
