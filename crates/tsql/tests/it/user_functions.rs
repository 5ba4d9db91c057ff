//! User-defined functions wherever an expression or a source is allowed; refused functions, with number and state; and that old text never
//! runs.
//!
//! Sources: sql-docs, CREATE FUNCTION and "Create user-defined functions"; for numbers, states and names of 443, 444, 455, 1075 the
//! probes of SQL Server 2025 in SqlServerSimulator's `FunctionBodyShapeTests`.
#![allow(clippy::unwrap_used)]

use crate::answers;
use crate::transcript;

use answers::{answers, error, rows, run};
use transcript::{instance, on_a_sessions_stack, session};

const SCALAR: &[&str] = &[
    "create table t (id int primary key, a int null, b varchar(20) null)",
    "insert t values (1, 10, 'ten'), (2, 20, 'twenty'), (3, null, null)",
    "create function dbo.twice(@x int) returns int as begin return @x * 2 end",
    "create function dbo.label(@x int, @word varchar(10) = 'row') returns varchar(30) as
     begin
       declare @text varchar(30) = @word + ' '
       if @x is null return 'nothing'
       set @text += cast(@x as varchar(10))
       return @text
     end",
    "create function dbo.total() returns int as begin return (select sum(a) from t) end",
    "create function dbo.strict(@x int, @y int) returns int with returns null on null input as begin return isnull(@x, 7) end",
    "create function dbo.factorial(@n int) returns bigint as
     begin
       if @n <= 1 return 1
       return @n * dbo.factorial(@n - 1)
     end",
    "create function dbo.looped(@n int) returns int with schemabinding as
     begin
       declare @i int = 0, @sum int = 0
       while @i < @n
       begin
         set @i += 1
         if @i % 2 = 0 continue
         select @sum = @sum + @i
       end
       return @sum
     end",
];

#[test]
fn a_scalar_function_stands_wherever_an_expression_does() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, SCALAR);
    let table = [
        ("select dbo.twice(21)", "42"),
        ("select dbo.twice('4')", "8"),
        ("select [dbo].[TWICE](3) + dbo.twice(dbo.twice(1))", "10"),
        ("select master.dbo.twice(5)", "10"),
        ("select id, dbo.twice(a) from t order by id", "1 20|2 40|3 NULL"),
        ("select id from t where dbo.twice(a) = 40", "2"),
        ("select id from t where id = dbo.twice(1)", "2"),
        ("select id from t order by dbo.twice(-id)", "3|2|1"),
        (
            "select dbo.label(a, default), dbo.label(a, 'no') from t order by id",
            "row 10 no 10|row 20 no 20|nothing nothing",
        ),
        ("select dbo.total()", "30"),
        ("select sum(dbo.twice(a)), dbo.twice(sum(a)) from t", "60 60"),
        (
            "select dbo.twice(a), count(*) from t group by dbo.twice(a) order by 1",
            "NULL 1|20 1|40 1",
        ),
        (
            "select dbo.twice(id) from t group by id having dbo.twice(id) > 2 order by 1",
            "4|6",
        ),
        (
            "select dbo.strict(null, 1), dbo.strict(1, null), dbo.strict(1, 2)",
            "NULL NULL 1",
        ),
        ("select dbo.factorial(20)", "2432902008176640000"),
        ("select dbo.looped(10)", "25"),
        (
            "declare @x int = dbo.twice(4) select @x set @x = dbo.twice(@x) select @x",
            "8|16",
        ),
        ("if dbo.twice(1) = 2 print 'yes'", "yes"),
        ("print dbo.label(3, 'printed')", "printed 3"),
        ("select case when dbo.twice(1) = 2 then dbo.label(1, 'x') end", "x 1"),
        (
            "select u.v from t cross apply (select dbo.twice(t.a) as v) u where u.v > 20",
            "40",
        ),
        (
            "select (select dbo.twice(t.id)) from t where exists (select 1 where dbo.twice(t.id) > 4)",
            "6",
        ),
        ("select top (dbo.twice(1)) id from t order by id", "1|2"),
        ("declare @i int = 0 while dbo.twice(@i) < 6 set @i += 1 select @i", "3"),
        (
            "declare @r varchar(9) exec @r = dbo.twice 4 select @r exec @r = dbo.label @x = 1 select @r",
            "8|row 1",
        ),
        (
            "select max(x) over () from (select dbo.twice(id) as x from t) d",
            "6|6|6",
        ),
    ];
    for (batch, expected) in table {
        assert_eq!(rows(&mut one, batch), expected, "{batch}");
    }
}

#[test]
fn a_function_is_part_of_the_statement_that_calls_it() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, SCALAR);
    run(
        &mut one,
        &[
            "create function dbo.counted(@n int) returns int as
             begin
               declare @rows table (a int primary key)
               insert @rows select id from t where id <= @n
               delete @rows where a = 1
               return (select count(*) from @rows) * 10 + @@rowcount
             end",
            "create function dbo.moment() returns datetime2 as
             begin declare @i int = 0 while @i < 50 set @i += 1 return sysdatetime() end",
        ],
    );
    // One row was deleted before RETURN; outside, the counts are those of the statement itself.
    assert_eq!(
        rows(&mut one, "select dbo.counted(id) from t order by id select @@rowcount"),
        "1|11|21|3"
    );
    assert_eq!(
        rows(
            &mut one,
            "select 1 where 1 = 0 declare @x int set @x = dbo.counted(3) select @x, @@rowcount"
        ),
        "21 1"
    );
    let same = "select case when sysdatetime() = dbo.moment() then 'same' else 'another' end";
    assert_eq!(rows(&mut one, same), "same");
    // Nothing stays open, and inside of a transaction nothing of it is ended.
    assert_eq!(rows(&mut one, "declare @x int = dbo.total() select @@trancount"), "0");
    run(
        &mut one,
        &[
            "begin tran update t set a = dbo.twice(a) where id = 1",
            "declare @x int = dbo.total()",
        ],
    );
    assert_eq!(
        rows(&mut one, "select @@trancount, dbo.total() rollback select dbo.total()"),
        "1 40|30"
    );
    // An error inside is the statement's: the statement changes nothing, and the next one runs.
    run(
        &mut one,
        &["create function dbo.inverse(@x int) returns int as begin declare @y int = 1 / @x set @y = 5 return @y end"],
    );
    let failed = answers(
        &mut one,
        "insert t select id + 10, dbo.inverse(id - 2), null from t select count(*) from t",
    );
    assert_eq!(failed.errors[0].0, 8134);
    assert_eq!(failed.rows, ["The statement has been terminated.", "3"]);
    let caught = "begin try select dbo.inverse(0) end try begin catch select error_number(), xact_state() end catch";
    assert_eq!(rows(&mut one, caught), "8134 0");
}

/// SQL Server spools the rows of such an INSERT first (Halloween protection).
#[test]
fn a_function_that_reads_the_table_an_insert_fills_sees_it_as_it_was() {
    let instance = instance();
    let mut one = session(&instance);
    for keys in ["", " primary key"] {
        run(
            &mut one,
            &[
                "drop table if exists h",
                &format!("create table h (id int{keys}, n int null)"),
            ],
        );
        run(
            &mut one,
            &[
                "insert h values (1, 0), (2, 0), (3, 0)",
                "create or alter function dbo.rows_of_h() returns int as begin return (select count(*) from h) end",
                "insert h select id + 10, dbo.rows_of_h() from h",
                "insert h select x.id + 100 * y.id, dbo.rows_of_h() from h x, h y where x.id < 4 and y.id < 4",
                "insert h select 1000 + i, n from (values (1), (2)) v(i) cross apply (select dbo.rows_of_h() as n) c",
                "update h set n = dbo.rows_of_h() where id = 1 or n <> dbo.rows_of_h()",
            ],
        );
        let counts = "select n, count(*) from h group by n order by n";
        assert_eq!(rows(&mut one, counts), "17 17", "{keys}");
    }
    run(
        &mut one,
        &[
            "truncate table h",
            "insert h values (1, 0), (2, 0)",
            "insert h select id + 10, dbo.rows_of_h() from h",
        ],
    );
    assert_eq!(
        rows(&mut one, "select n, count(*) from h group by n order by n"),
        "0 2|2 2"
    );
}

#[test]
fn checks_and_defaults_call_functions_and_keep_them() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, SCALAR);
    run(
        &mut one,
        &[
            "create function dbo.is_even(@x int) returns bit as begin return case when @x % 2 = 0 then 1 else 0 end end",
            "create table k (a int constraint k_even check (dbo.is_even(a) = 1), b int constraint k_twice default (dbo.twice(21)))",
            "insert k (a) values (2), (4)",
            "insert k (a) select id * 2 from t",
        ],
    );
    assert_eq!(
        rows(&mut one, "select sum(a), min(b), max(b), count(*) from k"),
        "18 42 42 5"
    );
    assert_eq!(error(&mut one, "insert k (a) values (6), (7)"), 547);
    assert_eq!(error(&mut one, "update k set a = 3 where a = 2"), 547);
    assert_eq!(rows(&mut one, "select sum(a) from k"), "18");
    run(&mut one, &["update k set a = 8 where a = 2"]);
    assert_eq!(
        error(
            &mut one,
            "alter table t add constraint t_even check (dbo.is_even(id) = 1)"
        ),
        547
    );
    for (statement, by) in [
        ("drop function dbo.is_even", "k_even"),
        ("drop function dbo.twice", "k_twice"),
        (
            "alter function dbo.is_even(@x int) returns bit as begin return 1 end",
            "k_even",
        ),
    ] {
        let answers = answers(&mut one, statement);
        assert_eq!(answers.errors[0].0, 3729, "{statement}");
        assert!(
            answers.errors[0].2.ends_with(&format!("referenced by object '{by}'.")),
            "{:?}",
            answers.errors
        );
    }
    run(&mut one, &["drop table k", "drop function dbo.is_even"]);
}

const TABLES: &[&str] = &[
    "create table t (id int primary key, a int null)",
    "insert t values (1, 10), (2, 20), (3, 30)",
    "create function dbo.above(@low int) returns table as return (select id, a from t where a > @low)",
    "create function dbo.windowed(@n int, @m int = 5) returns table as return
       with c as (select id, a from t where id <= @n)
       select c.id, (select count(*) from t where t.a > @m and t.id <= c.id) as n from c where c.a > @m",
    "create function dbo.numbers(@n int) returns @r table (i int primary key, square int null) as
     begin
       declare @i int = 1
       while @i <= @n
       begin
         insert @r values (@i, @i * @i)
         set @i += 1
       end
       return
     end",
];

#[test]
fn table_valued_functions_are_sources_of_from() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, TABLES);
    let table = [
        ("select * from dbo.above(15) order by id", "2 20|3 30"),
        ("select f.id from dbo.above(5) as f where f.a < 25 order by 1", "1|2"),
        ("declare @l int = 25 select id from dbo.above(@l)", "3"),
        (
            "select t.id, f.id from t cross apply dbo.above(t.a) f order by 1, 2",
            "1 2|1 3|2 3",
        ),
        (
            "select t.id, f.id from t outer apply dbo.above(t.a) f order by 1, 2",
            "1 2|1 3|2 3|3 NULL",
        ),
        ("select * from dbo.windowed(2, default) order by id", "1 1|2 2"),
        ("select * from dbo.windowed(3, 15) order by id", "2 1|3 2"),
        (
            "select t.id, w.n from t cross apply dbo.windowed(t.id, t.a - 1) w order by 1",
            "1 1|2 1|3 1",
        ),
        ("select id from t where exists (select 1 from dbo.above(t.a) f)", "1|2"),
        (
            "select (select count(*) from dbo.above(t.a)) from t order by id",
            "2|1|0",
        ),
        (
            "select a.id from dbo.above(5) a join dbo.above(15) b on a.id = b.id order by 1",
            "2|3",
        ),
        ("select * from dbo.numbers(3)", "1 1|2 4|3 9"),
        ("select n.x, n.y from dbo.numbers(2) n(x, y)", "1 1|2 4"),
        (
            "select t.id, n.square from t cross apply dbo.numbers(t.id) n where n.i = t.id",
            "1 1|2 4|3 9",
        ),
        (
            "select t.id, n.i from t left join dbo.numbers(2) n on n.i = t.id order by 1",
            "1 1|2 2|3 NULL",
        ),
        ("select sum(square) from dbo.numbers(100)", "338350"),
        (
            "with c as (select * from dbo.numbers(2)) select a.i, b.i from c a cross join c b order by 1, 2",
            "1 1|1 2|2 1|2 2",
        ),
        (
            "insert t select i + 10, square from dbo.numbers(2) select count(*) from t delete t where id > 10",
            "5",
        ),
        (
            "update t set a = a + f.square from t join dbo.numbers(3) f on f.i = t.id select sum(a) from t",
            "74",
        ),
    ];
    for (batch, expected) in table {
        assert_eq!(rows(&mut one, batch), expected, "{batch}");
    }
}

#[test]
fn calls_that_do_not_fit_are_refused_by_number() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, SCALAR);
    run(&mut one, &TABLES[2..]);
    let table = [
        ("select twice(1)", 195, 10),
        ("select dbo.nothere(1)", 4121, 1),
        ("select dbo.above(1)", 4121, 1),
        ("select * from dbo.twice(1)", 208, 1),
        ("select * from dbo.nothere(1)", 208, 1),
        ("select dbo.twice()", 313, 2),
        ("select dbo.label(1)", 313, 2),
        ("select dbo.twice(1, 2)", 8144, 2),
        ("select * from dbo.above()", 313, 3),
        ("select * from dbo.numbers(1, 2)", 8144, 2),
        ("select dbo.twice(cast('2020-01-01' as date))", 206, 2),
        ("select dbo.twice('x')", 245, 1),
        ("exec dbo.above 1", 2809, 1),
        ("exec dbo.twice", 201, 4),
        ("drop function dbo.nothere", 3701, 5),
        ("drop procedure dbo.twice", 3705, 1),
        ("alter function dbo.nothere() returns int as begin return 1 end", 208, 1),
        (
            "create function dbo.twice(@x int) returns int as begin return 1 end",
            2714,
            6,
        ),
        (
            "alter function dbo.twice(@x int) returns table as return select 1 as a",
            2010,
            1,
        ),
        ("create or alter procedure dbo.twice as select 1", 2010, 1),
        ("create function nowhere.f() returns int as begin return 1 end", 2760, 1),
        ("create function dbo.f() returns table as return select 1", 4511, 1),
        (
            "create function dbo.f() returns table as return select a from nothere",
            208,
            1,
        ),
        (
            "create function dbo.f() returns int with execute as 'someone' as begin return 1 end",
            15151,
            1,
        ),
        (
            "create function dbo.f() returns int with encryption as begin return 1 end",
            40517,
            1,
        ),
        ("create function #f() returns int as begin return 1 end", 1074, 1),
    ];
    for (batch, number, state) in table {
        let answers = answers(&mut one, batch);
        let first = answers.errors.first().map(|error| (error.0, error.1));
        assert_eq!(first, Some((number, state)), "{batch}: {:?}", answers.errors);
    }
    assert_eq!(rows(&mut one, "select count(*) from sys.objects where name = 'f'"), "0");
}

/// What follows BEGIN in a scalar function, the operator that 443 names, and its state.
const SIDE_EFFECTS: &[(&str, &str, u8)] = &[
    ("insert dbo.t (id) values (9)", "INSERT", 15),
    ("update dbo.t set a = 1", "UPDATE", 15),
    ("delete dbo.t", "DELETE", 15),
    ("truncate table dbo.t", "TRUNCATE TABLE", 15),
    ("select a into dbo.copied from dbo.t", "SELECT INTO", 15),
    ("begin tran", "BEGIN TRANSACTION", 15),
    ("commit", "COMMIT TRANSACTION", 15),
    ("rollback", "ROLLBACK TRANSACTION", 15),
    ("save tran s1", "SAVEPOINT", 15),
    ("set nocount on", "SET OPTION ON", 15),
    ("set nocount off", "SET OPTION OFF", 15),
    (
        "set transaction isolation level read committed",
        "SET TRANSACTION ISOLATION LEVEL",
        15,
    ),
    ("set rowcount 5", "SET ROW COUNT", 15),
    ("set textsize 100", "SET TEXTSIZE", 15),
    ("set statistics io on", "SET STATISTICS ON", 15),
    ("set identity_insert dbo.t on", "SET IDENTITY_INSERT ON", 15),
    ("set lock_timeout 100", "SET COMMAND", 15),
    ("print 'hi'", "PRINT", 14),
    ("raiserror('x', 16, 1)", "RAISERROR", 14),
    ("throw 50000, 'x', 1", "THROW", 14),
    ("waitfor delay '00:00:01'", "WAITFOR", 14),
    ("exec('select 1')", "EXECUTE STRING", 14),
    (
        "begin try set @x = 1 end try begin catch set @x = 2 end catch",
        "BEGIN TRY",
        14,
    ),
    ("if 1 = 0 print 'never'", "PRINT", 14),
    ("set @x = rand()", "rand", 1),
    ("declare @g uniqueidentifier = newid()", "newid", 1),
];

#[test]
fn side_effects_are_refused_when_a_function_is_created() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, SCALAR);
    for (body, operator, state) in SIDE_EFFECTS {
        let create = format!("create function dbo.f(@x int) returns int as begin\n{body}\nreturn 1 end");
        let answers = answers(&mut one, &create);
        let words = format!("Invalid use of a side-effecting operator '{operator}' within a function.");
        assert_eq!(answers.errors, [(443, *state, words)], "{body}");
        let message = answers.last.unwrap();
        assert_eq!((message.procedure.as_str(), message.line), ("f", 2), "{body}");
    }
    let shapes = [
        ("select 1 return 1", 444, 3),
        ("select a from dbo.t return 1", 444, 2),
        ("select 1 union select 2 return 1", 444, 2),
        ("set @x = 1", 455, 2),
        ("if @x = 1 return 1 else return 2", 455, 2),
        ("while @x < 10 begin set @x = @x + 1 return @x end", 455, 2),
        ("if @x = 1 return return 1", 1075, 1),
        ("print 'x' if @x = 1 return return 1", 1075, 1),
        ("declare @n int = (select count(*) from #t) return @n", 2772, 1),
    ];
    for (body, number, state) in shapes {
        let create = format!("create function dbo.f(@x int) returns int as begin {body} end");
        let answers = answers(&mut one, &create);
        let first = answers.errors.first().map(|error| (error.0, error.1));
        assert_eq!(first, Some((number, state)), "{body}: {:?}", answers.errors);
    }
    assert_eq!(
        error(
            &mut one,
            "create function dbo.f() returns @r table (a int) as begin return 1 end"
        ),
        178
    );
    let legal = [
        "set @x = 2 begin set @x = 3 return @x end",
        "declare @v table (a int) insert @v values (1) update @v set a = 2 delete v from @v v return 1",
        "exec dbo.nothere return 1",
        "declare @d datetime = getdate() return 1",
    ];
    for body in legal {
        let create = format!("create or alter function dbo.f(@x int) returns int as begin {body} end");
        run(&mut one, &[&create]);
    }
    run(
        &mut one,
        &[
            "create procedure dbo.p as select 1",
            "alter function dbo.f(@x int) returns int as begin exec dbo.p return 1 end",
        ],
    );
    assert_eq!(error(&mut one, "select dbo.f(1)"), 557);
}

#[test]
fn thirty_two_levels_are_the_most() {
    on_a_sessions_stack(levels_of_functions);
}

fn levels_of_functions() {
    let instance = instance();
    let mut one = session(&instance);
    run(
        &mut one,
        &[
            "create function dbo.depth(@n int) returns int as begin if @n <= 1 return @@nestlevel return dbo.depth(@n - 1) end",
            "create function dbo.rows_of(@n int) returns @r table (a int) as
             begin if @n > 1 insert @r select a from dbo.rows_of(@n - 1) insert @r values (@n) return end",
        ],
    );
    assert_eq!(rows(&mut one, "select dbo.depth(32)"), "32");
    assert_eq!(error(&mut one, "select dbo.depth(33)"), 217);
    assert_eq!(rows(&mut one, "select count(*) from dbo.rows_of(32)"), "32");
    assert_eq!(error(&mut one, "select count(*) from dbo.rows_of(33)"), 217);
    assert_eq!(rows(&mut one, "select @@nestlevel"), "0");
    // Inline functions that contain each other are found when they are made.
    run(
        &mut one,
        &[
            "create function dbo.ping() returns table as return select 1 as a",
            "create function dbo.pong() returns table as return select a from dbo.ping()",
        ],
    );
    let circle = "alter function dbo.ping() returns table as return select a from dbo.pong()";
    assert_eq!(error(&mut one, circle), 4429);
    assert_eq!(rows(&mut one, "select * from dbo.pong()"), "1");
}

#[test]
fn the_catalog_shows_functions_by_their_kind() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, SCALAR);
    run(&mut one, &TABLES[2..]);
    let kinds = "select name, rtrim(type), type_desc from sys.objects where name in ('twice', 'above', 'numbers') order by name";
    assert_eq!(
        rows(&mut one, kinds),
        "above IF SQL_INLINE_TABLE_VALUED_FUNCTION|numbers TF SQL_TABLE_VALUED_FUNCTION|twice FN SQL_SCALAR_FUNCTION"
    );
    assert_eq!(
        rows(
            &mut one,
            "select object_id('dbo.twice', 'FN') - object_id('dbo.twice'), object_id('dbo.above', 'FN')"
        ),
        "0 NULL"
    );
    assert_eq!(
        rows(&mut one, "select left(object_definition(object_id('dbo.twice')), 25)"),
        "create function dbo.twice"
    );
    assert_eq!(
        rows(
            &mut one,
            "select count(*) from sys.sql_modules where definition like 'create function%'"
        ),
        "9"
    );
}
