//! `sp_describe_undeclared_parameters`: which types are deduced, and which number refuses the rest.
//!
//! Sources: sql-docs, "sp_describe_undeclared_parameters" (its rules and each of its examples); Microsoft's list of "Database Engine events
//! and errors", 11501 to 11508.
#![allow(clippy::unwrap_used)]

use crate::answers;
use crate::transcript;

use answers::{answers, run};
use transcript::{instance, session};
use tsql::session::Session;

const TABLES: [&str; 4] = [
    "create table t (i int, s smallint, v varchar(30), c char(30), n nvarchar(20), d decimal(9, 2), w datetime2(3), b varbinary(9))",
    "create function dbo.f (@one money, @two date) returns bigint as begin return 1 end",
    "create function dbo.rows_of (@low smallint) returns table as return select i from t where s > @low",
    "create procedure p @in nvarchar(7), @out decimal(5, 1) output as set @out = 1",
];

/// The cells of each row; the batch must not fail.
fn result(session: &mut Session, batch: &str) -> Vec<Vec<String>> {
    let answers = answers(session, batch);
    assert!(answers.errors.is_empty(), "{batch}: {:?}", answers.errors);
    let cells = |row: &String| row.split(' ').map(str::to_owned).collect();
    answers.rows.iter().map(cells).collect()
}

fn errors(session: &mut Session, batch: &str) -> Vec<i32> {
    let errors = answers(session, batch).errors;
    errors.iter().map(|(number, ..)| *number).collect()
}

/// Name and type of each parameter, and for a parameter of a module its name.
fn described(session: &mut Session, batch: &str) -> String {
    let call = format!(
        "exec sp_describe_undeclared_parameters N'{}'",
        batch.replace('\'', "''")
    );
    let rows = result(session, &call);
    let texts = rows.iter().map(|row| {
        let formal = if row[21] == "NULL" {
            String::new()
        } else {
            format!(" for {}", row[21])
        };
        let ways = match (row[19].as_str(), row[20].as_str()) {
            ("1", "0") => "",
            ("0", "1") => " out",
            _ => " both",
        };
        format!("{} {}{formal}{ways}", row[1], row[3])
    });
    texts.collect::<Vec<_>>().join(", ")
}

fn numbers(session: &mut Session, batch: &str) -> Vec<i32> {
    let call = format!(
        "exec sp_describe_undeclared_parameters N'{}'",
        batch.replace('\'', "''")
    );
    errors(session, &call)
}

#[test]
fn a_parameter_has_the_type_that_is_asked_of_it() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, &TABLES);
    for (batch, expected) in [
        ("select * from t where i = @a and @b <> v", "@a int, @b varchar(30)"),
        ("select * from t where c = @p", "@p char(30)"),
        (
            "select * from t where n in (@a, N'x', @b)",
            "@a nvarchar(20), @b nvarchar(20)",
        ),
        ("select * from t where @a in (1, 2)", "@a int"),
        ("select * from t where @a in (select w from t)", "@a datetime2(3)"),
        (
            "insert t (w, d, b) values (@a, @b, @c)",
            "@a datetime2(3), @b decimal(9,2), @c varbinary(9)",
        ),
        (
            "update t set w = @a, n = @b where i = @c",
            "@a datetime2(3), @b nvarchar(20), @c int",
        ),
        ("delete t where s = @a", "@a smallint"),
        (
            "select cast(@a as time(2)), convert(varchar(9), @b, @c)",
            "@a time(2), @b varchar(9), @c int",
        ),
        ("select top (@a) i from t order by i", "@a bigint"),
        (
            "select i from t order by i offset @a rows fetch next @b rows only",
            "@a bigint, @b bigint",
        ),
        ("select dbo.f(@a, @b)", "@a money for @one, @b date for @two"),
        ("select * from dbo.rows_of(@a)", "@a smallint for @low"),
        (
            "exec p @a, @b output",
            "@a nvarchar(7) for @in, @b decimal(5,1) for @out both",
        ),
        (
            "exec @r = p @out = @x, @in = @y",
            "@r int out, @x decimal(5,1) for @out, @y nvarchar(7) for @in",
        ),
        (
            "declare @v varchar(5) = @a set @v = @b set @c = 1",
            "@a varchar(5), @b varchar(5), @c int out",
        ),
        ("select @a = max(w) from t", "@a datetime2(3) out"),
        ("select case i when @a then 1 end from t", "@a int"),
    ] {
        assert_eq!(described(&mut one, batch), expected, "{batch}");
    }
}

#[test]
fn elsewhere_the_cheapest_type_is_taken() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, &TABLES);
    for (batch, expected) in [
        // The page's own examples.
        ("select * from t where i = i + @p", "@p int"),
        ("select * from t where i = s + @p", "@p int"),
        ("select * from t where v > @p", "@p varchar(8000)"),
        ("select * from t where c > @p", "@p varchar(8000)"),
        ("select null + @p", "@p int"),
        ("select @p + 2", "@p int"),
        // What follows from its rules.
        ("select * from t where w >= @p", "@p datetime2(7)"),
        ("select * from t where d < @p", "@p decimal(38,19)"),
        ("select * from t where i between @a and @b", "@a int, @b int"),
        ("select * from t where n like @p", "@p nvarchar(4000)"),
        ("select * from t where v like @p", "@p varchar(8000)"),
        ("select isnull(@p, i) from t", "@p int"),
        ("select case when i = 1 then @p else n end from t", "@p nvarchar(4000)"),
        ("select substring(v, @p, 2) from t", "@p int"),
        ("update t set i += @p", "@p int"),
    ] {
        assert_eq!(described(&mut one, batch), expected, "{batch}");
    }
}

#[test]
fn what_has_no_type_is_told_by_its_number() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, &TABLES);
    for (batch, expected) in [
        ("select * from t where @a = @b", &[11503][..]),
        ("select * from t where i = @a + @b", &[11503]),
        ("select * from t where @a = substring(@b, 2, 3)", &[11503]),
        ("select @a", &[11506]),
        ("select 1 where @a is null", &[11506]),
        ("select * from t where i = @a or s = @a", &[11508]),
        ("select * from t where w = @a & 1", &[11507]),
        ("waitfor delay @a", &[11502]),
        ("create table #x (i int) insert #x values (@a)", &[11525]),
        ("select missing from t where i = @a", &[207, 11501]),
        ("select", &[102, 11501]),
        ("exec missing @a", &[2812, 11501]),
    ] {
        assert_eq!(numbers(&mut one, batch), expected, "{batch}");
    }
}

#[test]
fn declared_parameters_are_left_out_and_nothing_is_executed() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, &TABLES);
    let call = "exec sp_describe_undeclared_parameters N'insert t (i, n) values (@id, @name)', N'@id int'";
    let rows = result(&mut one, call);
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].len(), 24);
    assert_eq!(rows[0][..7], ["1", "@name", "231", "nvarchar(20)", "40", "0", "0"]);
    assert_eq!(rows[0][22..], ["231", "40"]);
    assert_eq!(
        result(&mut one, "exec sp_describe_undeclared_parameters N'select 1'").len(),
        0
    );
    assert_eq!(result(&mut one, "select * from t").len(), 0);
    assert_eq!(errors(&mut one, "exec sp_describe_undeclared_parameters"), [201]);
}
