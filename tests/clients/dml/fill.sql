use {database}
go
set nocount on
;with numbers as (select 1 as number union all select number + 1 from numbers where number < {rows})
insert vlftab_source (comment, Name, surname, DoB, acc, joindate)
select replicate('comment ' + cast(number as varchar(9)) + ' ', 80 + number % 40), 'name ' + cast(number as varchar(9)),
    'surname ' + cast(number % 977 as varchar(9)), dateadd(day, number % 20000, '1950-01-01'), number * 7,
    dateadd(minute, number, '2005-01-01')
from numbers option (maxrecursion 0)
insert vlftab select comment, Name, surname, DoB, acc, joindate from vlftab_source
go
