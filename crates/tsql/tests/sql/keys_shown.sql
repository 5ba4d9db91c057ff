-- The key of 2601, 2627 and 1505: every type as CONVERT to varchar writes it, but for NULL and the case of hexadecimal digits
create table k (i bigint, b bit, d decimal(9, 3), m money, f float, r real, u uniqueidentifier, x varbinary(9), constraint uq_k unique (i, b, d, m, f, r, u, x))
insert k values (-5, 1, -0.5, 12.3456, 1234567.89, 0.1, '6F9619FF-8B86-D011-B42D-00C04FC964FF', 0x0aFF)
insert k values (-5, 1, -0.5, 12.3456, 1234567.89, 0.1, '6F9619FF-8B86-D011-B42D-00C04FC964FF', 0x0aFF)
insert k values (null, null, null, null, null, null, null, null), (null, null, null, null, null, null, null, null)
go
select concat(i, ', ', b, ', ', d, ', ', m, ', ', f, ', ', r, ', ', lower(u), ', ', lower(convert(varchar(30), x, 1))) from k
go
create table w (d date, t time(3), s smalldatetime, dt datetime, d2 datetime2(7), o datetimeoffset(0), c char(4), n nvarchar(9))
insert w values ('2024-03-07', '13:05:09.1234', '1999-12-31 23:59', '2019-03-01 17:37:00', '0001-01-01 00:00:00.1', '2024-01-01 00:30 +05:30', 'ab', N'Ω'), ('2024-03-07', '13:05:09.1234', '1999-12-31 23:59', '2019-03-01 17:37:00', '0001-01-01 00:00:00.1', '2024-01-01 00:30 +05:30', 'ab', N'Ω')
create unique index ux_w on w (d, t, s, dt, d2, o, c, n)
go
select top (1) concat(d, ', ', t, ', ', s, ', ', dt, ', ', d2, ', ', o, ', ', c, ', ', n) from w
go
create table v (a sql_variant, t int)
create unique index ux_v on v (a)
insert v values (cast(1.5 as decimal(3, 1)), 1)
insert v values (cast(1.5 as decimal(3, 1)), 2)
insert v values (cast('2024-03-07' as date), 1), (cast('2024-03-07' as date), 1)
go
declare @t table (d decimal(5, 2), t date, primary key (d, t))
insert @t values (1, '2020-02-02'), (1, '2020-02-02')
