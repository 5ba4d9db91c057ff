//! The statements that can run long. Each is built to run for many seconds at least, in a database made by [`SET_UP`].
//!
//! `numbers` has 1,000 rows; `big` has some ten thousand wide ones; `target` is what statements change.

/// Which session sends the batch, and what else must hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Circumstance {
    Plain,
    /// The client does not read the answer.
    Deaf,
    /// The client reads an answer that fills the connection: it learns why it was killed if it reads in time, which on a busy machine it
    /// may not.
    Flooded,
    /// Another session holds a lock on `locked`.
    Locked,
}

/// A statement that runs long.
pub struct Kind {
    pub name: &'static str,
    pub batch: String,
    pub circumstance: Circumstance,
}

/// What every kind finds. Long strings have 18,000,000 characters: taken apart into characters they are nearly all of the workspace.
pub const SET_UP: &[&str] = &[
    "create table numbers (id int not null primary key, k int not null)
     declare @i int = 1
     begin tran
     while @i <= 1000 begin insert numbers values (@i, @i % 7) set @i = @i + 1 end
     commit",
    "create table big (id int not null primary key, k int not null, f varchar(200) not null)
     insert big select (a.id - 1) * 100 + b.id, b.k, replicate('x', 150) from numbers a cross join numbers b where a.id <= 400 and b.id <= 100",
    "create table target (id int not null, v int not null)
     insert target select id, k from numbers",
    "create table locked (id int not null primary key) insert locked values (1)",
    "create procedure deep @n int as
     begin
         if @n = 0 return
         set @n = @n - 1
         exec deep @n
         exec deep @n
         exec deep @n
     end",
    "create table growing (id int not null)
     create table victim (id int not null, f varchar(200) not null)",
];

/// 1,000,000,000 rows.
const BILLION: &str = "numbers a cross join numbers b cross join numbers c";
/// 1,000,000 rows with the columns x and y.
const MILLION: &str = "(select p.id * 1000 + q.id as x, p.k as y from numbers p cross join numbers q)";

fn plain(name: &'static str, batch: impl Into<String>) -> Kind {
    Kind {
        name,
        batch: batch.into(),
        circumstance: Circumstance::Plain,
    }
}

fn flow() -> Vec<Kind> {
    vec![
        plain("GOTO", "a: goto a"),
        plain("WHILE without a statement", "while 1 = 1 begin declare @x int end"),
        plain("WHILE", "declare @x int = 0 while 1 = 1 set @x = @x ^ 1"),
        plain(
            "TRY in a loop",
            "while 1 = 1 begin try raiserror('x', 16, 1) end try begin catch declare @x int end catch",
        ),
        plain("recursive procedure", "exec deep 30"),
        plain("EXEC of a string", "exec ('a: goto a')"),
        plain("WAITFOR", "waitfor delay '00:10:00'"),
        Kind {
            circumstance: Circumstance::Locked,
            ..plain("lock wait", "update locked set id = 2")
        },
        plain(
            "FETCH in a loop",
            "declare c cursor for select id from numbers
             declare @x int open c while 1 = 1 fetch first from c into @x",
        ),
        plain(
            "OPEN cursor",
            format!("declare c cursor for select a.id from {BILLION} where a.k + b.k + c.k < 0 open c"),
        ),
        plain("PRINT in a loop", "while 1 = 1 print 'x'"),
    ]
}

fn joins() -> Vec<Kind> {
    vec![
        plain("filter that finds nothing", format!("select a.id from {BILLION} where a.id + b.id + c.id < 0")),
        plain("nested loops", "select count(*) from numbers a join numbers b on a.id + b.id > 0 join numbers c on a.id + b.id + c.id < 0"),
        plain(
            "hash join that finds nothing",
            format!("select count(*) from (select a.id as x from {BILLION}) l join (select -id as x from big) r on l.x = r.x"),
        ),
        plain(
            "hash join of one key",
            format!("select count(*) from {MILLION} l join {MILLION} r on l.y = r.y and l.x + r.x < 0"),
        ),
        plain(
            "hash join that spills",
            format!(
                "select count(*) from (select a.id * 1000000 + b.id * 1000 + c.id as x from {BILLION}) l
                 join (select a.id * 1000000 + b.id * 1000 + c.id as x, replicate('x', 100) as f from {BILLION}) r on l.x = r.x"
            ),
        ),
        plain(
            "full join",
            format!("select count(*) from {MILLION} l full join {MILLION} r on l.y = r.y and l.x + r.x < 0"),
        ),
        plain("seeks in a loop", format!("select count(*) from {BILLION} join big on big.id = a.id * 100 + b.k + c.k where len(big.f) + a.id < 0")),
        plain(
            "EXISTS for each row",
            "select count(*) from big where exists (select 1 from numbers a cross join numbers b where a.id + b.id + big.id < 0)",
        ),
        plain(
            "ALL over many values",
            format!("select count(*) from big where id + 2000000 < all (select x + 2000000 from {MILLION} m where x > 900000) or id in (select -x from {MILLION} m)
                     and (select count(*) from {BILLION}) > 0"),
        ),
        plain("scalar subquery", format!("select (select count(*) from {BILLION})")),
        plain("constant folding", "select patindex('%' + replicate('a', 3900) + '_b%', replicate(cast('a' as varchar(max)), 4000000))"),
    ]
}

fn rows_kept() -> Vec<Kind> {
    vec![
        plain(
            "sort",
            format!("select top 1 a.id from {BILLION} order by a.id * b.id, c.id"),
        ),
        plain("TOP PERCENT", format!("select top 1 percent a.id from {BILLION}")),
        plain(
            "OFFSET",
            format!("select a.id from {BILLION} order by (select null) offset 999999999 rows"),
        ),
        plain(
            "GROUP BY",
            format!(
                "select count(*) from (select a.id * 1000000 + b.id * 1000 + c.id as x, count(*) as n from {BILLION} group by a.id * 1000000 + b.id * 1000 + c.id) g"
            ),
        ),
        plain(
            "aggregate of all rows",
            format!("select sum(a.id + b.id) from {BILLION}"),
        ),
        plain(
            "COUNT DISTINCT",
            format!("select count(distinct a.id * 1000000 + b.id * 1000 + c.id) from {BILLION}"),
        ),
        plain(
            "DISTINCT",
            format!("select count(*) from (select distinct a.id, b.id as i, c.id as j from {BILLION}) d"),
        ),
        plain(
            "UNION",
            format!("select count(*) from (select a.id, b.id as i, c.id as j from {BILLION} union select 1, 1, 1) d"),
        ),
        plain(
            "EXCEPT",
            format!("select count(*) from (select a.k from {BILLION} except select k from numbers) d"),
        ),
        plain(
            "INTERSECT",
            format!("select count(*) from (select a.k - 100 as k from {BILLION} intersect select k from numbers) d"),
        ),
        plain(
            "recursive query",
            "with r as (select 1 as n union all select n + 1 from r) select count(*) from r option (maxrecursion 0)",
        ),
        plain(
            "recursive query of many rows",
            "with r as (select 0 as n union all select case when n < 3 then n + 1 else n end from r cross join (values (1), (1), (1)) v (x)) select count(*) from r option (maxrecursion 0)",
        ),
        plain(
            "ROW_NUMBER",
            format!(
                "select count(*) from (select row_number() over (order by a.id * b.id, c.id) as n from {BILLION}) d where n % 7 = 8"
            ),
        ),
        plain(
            "window frames",
            "select count(*) from (select sum(id) over (order by id rows between 30000 preceding and current row) as s from big) d where s < 0",
        ),
    ]
}

fn strings() -> Vec<Kind> {
    let with = |text: &str| format!("declare @s varchar(max) = replicate(cast('a' as varchar(max)), 18000000) {text}");
    vec![
        plain(
            "PATINDEX",
            with("set @s = left(@s, 4000000) select patindex('%' + replicate('a', 3900) + '_b%', @s)"),
        ),
        plain("LIKE", with("if @s like '%' + replicate('a', 3900) + '_b%' print 'x'")),
        plain(
            "CHARINDEX",
            with("while charindex(replicate('a', 3900) + 'b', @s) = 0 set @s = @s"),
        ),
        plain(
            "REPLACE",
            "declare @s varchar(max) = replicate(cast('a' as varchar(max)), 2000000) while 1 = 1 set @s = replace(@s, replicate('a', 3900) + 'b', '')",
        ),
        plain(
            "TRANSLATE",
            with("set @s = translate(@s, replicate('b', 4000), replicate('c', 4000))"),
        ),
        plain(
            "strings in a loop",
            "declare @s varchar(max) = replicate(cast('a' as varchar(max)), 2000000) while 1 = 1 set @s = reverse(upper(@s))",
        ),
        plain(
            "strings for each row",
            format!(
                "select count(*) from {BILLION} where replace(cast(a.id + b.id + c.id as varchar(12)) + replicate('b', 1000), 'b', 'cc') = 'x'"
            ),
        ),
    ]
}

fn answers() -> Vec<Kind> {
    vec![
        Kind {
            circumstance: Circumstance::Flooded,
            ..plain("rows that are read", format!("select a.id, b.id, c.id from {BILLION}"))
        },
        Kind {
            circumstance: Circumstance::Deaf,
            ..plain(
                "rows that nobody reads",
                format!("select a.id, b.id, c.id from {BILLION}"),
            )
        },
        Kind {
            circumstance: Circumstance::Deaf,
            ..plain(
                "messages that nobody reads",
                "while 1 = 1 raiserror('x', 0, 1) with nowait",
            )
        },
    ]
}

/// Those that change rows or definitions.
pub fn changes() -> Vec<Kind> {
    vec![
        plain(
            "INSERT of a query",
            format!("insert growing select a.id from {BILLION}"),
        ),
        plain(
            "INSERT in a loop",
            "set implicit_transactions on while 1 = 1 insert target values (0, 0)",
        ),
        plain(
            "INSERT of what EXEC returns",
            "insert target exec ('while 1 = 1 select 0, 0')",
        ),
        plain(
            "INSERT into a table variable",
            format!("declare @t table (id int primary key) insert @t select x from {MILLION} m"),
        ),
        plain("SELECT INTO", format!("select a.id, b.k into made from {BILLION}")),
        plain(
            "SELECT INTO a temporary table",
            format!("select a.id, b.k into #made from {BILLION}"),
        ),
        plain(
            "UPDATE of a join",
            format!("update target set v = 1 where id in (select a.id from {BILLION} where a.id + b.id + c.id < 0)"),
        ),
        plain(
            "UPDATE again and again",
            "begin tran while 1 = 1 update target set v = v + 1",
        ),
        plain(
            "DELETE",
            "delete target where exists (select 1 from numbers a cross join numbers b cross join numbers c where a.id + b.id + c.id + target.id < 0)",
        ),
        plain(
            "DELETE of a join",
            format!("delete target from target join {MILLION} m on m.y = target.v and m.x + target.id < 0"),
        ),
        plain(
            "index and drop, again and again",
            "begin tran while 1 = 1 begin create index i on big (k, f) drop index i on big end",
        ),
        plain(
            "ALTER TABLE, again and again",
            "begin tran while 1 = 1 begin alter table big add constraint c check (k >= 0) alter table big drop constraint c end",
        ),
        plain(
            "TRUNCATE, again and again",
            "begin tran while 1 = 1 begin insert victim select id, f from big truncate table victim end",
        ),
    ]
}

fn administration() -> Vec<Kind> {
    let again = |statement: &str| format!("while 1 = 1 begin {statement} end");
    vec![
        plain("CHECKDB, again and again", again("dbcc checkdb with no_infomsgs")),
        plain(
            "BACKUP, again and again",
            again("backup database stopped to disk = 'stopped.bak' with init"),
        ),
        plain(
            "RESTORE VERIFYONLY, again and again",
            again("restore verifyonly from disk = 'kept.bak'"),
        ),
        plain(
            "CHECKPOINT, again and again",
            again("update target set v = v checkpoint"),
        ),
        plain("sp_spaceused, again and again", again("exec sp_spaceused")),
        plain(
            "system views",
            "select count(*) from sys.columns a cross join sys.columns b cross join sys.columns c cross join numbers d where a.column_id + b.column_id + c.column_id + d.id < 0",
        ),
        plain("DBCC LOGINFO, again and again", again("dbcc loginfo with no_infomsgs")),
        plain(
            "sizes, again and again",
            again(
                "dbcc shrinkfile (2, 1) with no_infomsgs alter database stopped modify file (name = stopped_log, size = 40MB)",
            ),
        ),
        plain(
            "waiting for others to leave",
            "alter database crowded set single_user with rollback after 600 seconds",
        ),
    ]
}

pub fn kinds() -> Vec<Kind> {
    [
        flow(),
        joins(),
        rows_kept(),
        strings(),
        answers(),
        changes(),
        administration(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
