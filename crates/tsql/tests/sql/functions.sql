select upper('abc') u, lower('ABC') l, len('ab  ') n, datalength(N'ab') d, substring('hello', 2, 3) s, left('abc', 2) le, right('abc', 2) ri, ltrim('  x') lt, rtrim('x  ') rt, trim(' x ') t
select replace('aXbx', 'x', '-') r, charindex('L', 'hello') c, charindex('l', 'hello', 4) c4, patindex('%[0-9]%', 'ab12') p, stuff('abcdef', 2, 3, 'XY') st, reverse('abc') rv, space(2) + '.' sp, str(3.14159, 6, 2) f, replicate('ab', 3) rp
select concat('a', 1, null, N'z') c, concat_ws('-', 'a', null, 'b') w, quotename('a]b') q, ascii('A') a, char(66) ch, nchar(937) nc, unicode(N'Ω') un, format(1234.5, 'N2') fm, isnull(null, 'x') i, nullif(1, 1) nf
select abs(-5) a, round(2.567, 2) r, round(1250, -2) r2, ceiling(1.2) c, floor(-1.2) f, power(2, 10) p, sqrt(16) s, sign(-3.5) g, 7 / 2 d, 7 % 3 m, 7.0 / 2 dd, 1e0 / 3 ff, -$5 / 2 mn
select dateadd(month, 1, '2024-01-31') a, datediff(day, '2024-01-01', '2024-03-01') d, datepart(weekday, '2024-03-07') w, datename(month, '2024-03-07') m, year('2024-03-07') y, eomonth('2024-02-05') e, cast('2024-03-07' as datetime) + 30 p, isdate('2024-13-01') i
select convert(varchar(30), cast('2024-03-07 13:05:09.123' as datetime), 121) a, convert(char(8), cast('2024-03-07' as date), 112) b, convert(varchar(20), $1234.5, 1) c, convert(varbinary(4), 258) d, cast('0x' as varchar(5)) e, convert(int, 0x0102) f, try_cast('x' as int) g, try_convert(date, '2024-02-30') h
select cast(2.5 as int) a, cast(-2.5 as decimal(5,0)) b, cast('12.345' as decimal(6,2)) c, cast(1.0 / 3 as float) d, cast(1 as bit) e, cast('true' as bit) f, cast(12345.678 as money) g, cast(300 as binary(2)) h, cast('abc' as char(5)) + '|' i, cast(0.1 as real) j
select isnumeric('1.5') a, isnumeric('x') b, checksum('a') - checksum('A ') same, case when newid() is not null then 1 end n, case when rand() between 0 and 1 then 1 end r, object_id('none') o, db_name() d, schema_name() s, user_name() u, suser_sname() su, host_name() h, app_name() a2
select @@trancount t, @@error e, @@max_precision p, @@spid - @@spid z, @@nestlevel n, @@options & 512 o, serverproperty('EngineEdition') ee, databasepropertyex('master', 'Status') st, sessionproperty('ANSI_NULLS') an, xact_state() x
select 1 where 'abc' = 'ABC  ' and N'é' <> 'e' and 'b' > 'A' and 'a_c' like 'a[_]c' and 'x' not like 'y%' and 5 between 1 and 9 and null is null and 3 in (1, 2, 3)
select 1 + '2' a, '1' + '2' b, 1 + 2.50 c, 5 & 3 d, 5 | 3 e, 5 ^ 3 f, ~5 g, 2147483647 + cast(1 as bigint) h, 99999999999 i, 0x41 + 0x42 j, -(-3) k
go
select 2147483647 + 1
go
select cast(256 as tinyint)
go
select cast('1700-01-01' as datetime)
go
select cast(getdate() as date) + 1
go
select left('abc', -1)
go
select dateadd(year, 9000, '2024-01-01')
go
select sum('x')
go
select nosuchfunction(1)
go
select len()
go
select convert(varchar(10), getdate(), 999)
go
