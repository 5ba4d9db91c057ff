//! Table types: variables and parameters, the error numbers, and their rows in the catalog.
//!
//! Sources: sql-docs, CREATE TYPE and "Use table-valued parameters"; for numbers the probes of SQL Server 2025 in SqlServerSimulator's
//! `TableValuedParameterTests`.
#![allow(clippy::unwrap_used)]

use crate::answers;
use crate::transcript;

use answers::{error, rows, run};
use transcript::{instance, session};

const SETUP: &[&str] = &[
    "create type dbo.pairs as table (id int primary key, v varchar(5) default 'none', n int check (n > 0))",
    "create type numbered as table (n int identity(5, 5), v int not null, unique (v))",
    "create type dbo.word from varchar(3) not null",
    "create proc dbo.inner_p @r dbo.pairs readonly as select count(*), sum(id) from @r",
    "create proc dbo.outer_p @r pairs readonly, @more int = 7 as exec dbo.inner_p @r select @more",
    "create proc dbo.both @a pairs readonly, @b pairs readonly as
     select a.id, b.v from @a a join @b b on a.id = b.id order by a.id",
];

#[test]
fn a_variable_of_a_table_type_has_its_columns_keys_checks_and_defaults() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, SETUP);
    for (batch, expected) in [
        (
            "declare @t dbo.pairs insert @t (id, n) values (1, 1), (2, 2) select * from @t",
            "1 none 1|2 none 2",
        ),
        (
            "declare @t numbered insert @t values (7), (8) select * from @t",
            "5 7|10 8",
        ),
        (
            "declare @a pairs, @b pairs insert @a (id) values (1) insert @b select * from @a select id from @b",
            "1",
        ),
        ("declare @w dbo.word = 'abcdef' select @w", "abc"),
        (
            "declare @t table (w dbo.word) insert @t values ('abc') select w from @t",
            "abc",
        ),
    ] {
        assert_eq!(rows(&mut one, batch), expected, "{batch}");
    }
    for (batch, number) in [
        ("declare @t pairs insert @t (id) values (1), (1)", 2627),
        ("declare @t pairs insert @t (id, n) values (1, -5)", 547),
        ("declare @t pairs insert @t (id, v) values (1, 'sixsix')", 2628),
        ("declare @t numbered insert @t values (null)", 515),
        ("declare @t dbo.no_such_type", 2715),
        ("declare @t pairs = 1", 206),
        ("declare @t table (a int check (a > 0)) insert @t values (0)", 547),
    ] {
        assert_eq!(error(&mut one, batch), number, "{batch}");
    }
}

#[test]
fn a_procedure_reads_the_table_that_it_is_passed() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, SETUP);
    let fill = "declare @t dbo.pairs insert @t (id) values (1), (2)";
    for (call, expected) in [
        ("exec dbo.inner_p @t", "2 3"),
        ("exec dbo.inner_p @r = @t", "2 3"),
        ("exec dbo.inner_p", "0 NULL"),
        ("exec dbo.inner_p default", "0 NULL"),
        ("exec dbo.outer_p @t, 9", "2 3|9"),
        ("exec dbo.outer_p @more = 8, @r = @t", "2 3|8"),
        // Passed twice by one call, and its caller has it afterwards.
        ("exec dbo.both @t, @t select count(*) from @t", "1 none|2 none|2"),
        ("exec dbo.both @t, default select count(*) from @t", "2"),
        (
            "exec sp_executesql N'select max(id) from @x', N'@x dbo.pairs readonly', @t",
            "2",
        ),
        (
            "exec sp_executesql N'select @n, max(id) from @x', N'@n int, @x pairs readonly', @x = @t, @n = 4",
            "4 2",
        ),
    ] {
        assert_eq!(rows(&mut one, &format!("{fill} {call}")), expected, "{call}");
    }
    for (call, number) in [
        ("exec dbo.inner_p 5", 206),
        ("declare @u numbered exec dbo.inner_p @u", 206),
        ("declare @u table (id int) exec dbo.inner_p @u", 206),
        ("exec sp_executesql N'select @n', N'@n int', @t", 206),
        ("exec sp_help @t", 206),
        ("exec sp_executesql N'delete @x', N'@x pairs readonly', @t", 10700),
        ("exec sp_executesql N'select 1', N'@x pairs', @t", 352),
        ("select @t", 137),
    ] {
        assert_eq!(error(&mut one, &format!("{fill} {call}")), number, "{call}");
    }
    // A callee that fails gives the table back, too.
    run(
        &mut one,
        &["create proc dbo.fails @r pairs readonly as select 1 / 0 from @r raiserror('no', 16, 1)"],
    );
    let batch = format!(
        "{fill} begin try exec dbo.fails @t end try begin catch select error_number() end catch select count(*) from @t"
    );
    assert_eq!(rows(&mut one, &batch), "8134|2");
}

#[test]
fn what_is_no_table_type_or_no_parameter_of_one_is_refused() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, SETUP);
    for (batch, number) in [
        ("create type dbo.pairs as table (a int)", 219),
        ("create type dbo.WORD as table (a int)", 219),
        ("create type x as table (id int constraint pk_x primary key)", 156),
        ("create type x as table (id int, constraint c check (id > 0))", 156),
        ("create type x as table (id int default 1, v int references t (a))", 156),
        ("create type nowhere.x as table (id int)", 2760),
        ("create type x as table (id int, id int)", 2705),
        ("create type x as table (id pairs)", 2715),
        ("create proc p @r pairs as select 1", 352),
        ("create proc p @r int readonly as select 1", 346),
        ("create proc p @r pairs readonly output as select 1", 102),
        ("create proc p @r pairs readonly = null as select 1", 102),
        ("create proc p @r missing readonly as select 1", 2715),
        ("create proc p as declare @x missing", 2715),
        ("create proc p @r pairs readonly as insert @r (id) values (1)", 10700),
        (
            "create proc p @r pairs readonly as if 1 = 0 update @r set id = 0",
            10700,
        ),
        (
            "create proc p @r pairs readonly as delete x from @r x where id = 1 delete @r",
            10700,
        ),
        ("drop type dbo.pairs", 3732),
        ("drop type dbo.bogus", 218),
        ("create table t (a pairs)", 2715),
        ("create function f(@r pairs) returns int as begin return 1 end", 352),
        (
            "create function f(@r pairs readonly) returns int as begin delete @r return 1 end",
            10700,
        ),
    ] {
        assert_eq!(error(&mut one, batch), number, "{batch}");
    }
    assert_eq!(
        rows(&mut one, "select count(*) from sys.procedures where name = 'p'"),
        "0"
    );
    run(
        &mut one,
        &[
            "drop type if exists dbo.bogus",
            "create proc p as declare @n numbered select 1",
        ],
    );
    assert_eq!(error(&mut one, "drop type numbered"), 3732);
    run(&mut one, &["drop proc p", "drop type numbered"]);
}

const FUNCTIONS: &[&str] = &[
    "create function dbo.total_of(@r pairs readonly, @more int = 0) returns int as
     begin return (select sum(id) from @r) + @more end",
    "create function dbo.big(@r pairs readonly, @least int) returns table as return (select id, v from @r where id >= @least)",
    "create function dbo.doubled(@r pairs readonly) returns @out table (id int, twice int) as
     begin insert @out select id, id * 2 from @r return end",
    "create function dbo.through(@r pairs readonly) returns int as
     begin
       return dbo.total_of(@r, default) + (select count(*) from dbo.doubled(@r)) + (select count(*) from dbo.big(@r, 2))
     end",
    "create function dbo.joined(@a pairs readonly, @b pairs readonly) returns table as
     return (select a.id, b.v from @a a join @b b on a.id = b.id)",
    "create function dbo.counts(@a pairs readonly, @b pairs readonly) returns int as
     begin return (select count(*) from @a) * 10 + (select count(*) from @b) end",
    "create function dbo.broken(@r pairs readonly) returns int as begin return (select max(1 / (id - id)) from @r) end",
];

/// Functions refused tables as parameters (40517). What is lent to a function is back when it ends, even when the statement that calls it
/// reads the same table row by row, or when the function fails.
#[test]
fn functions_read_the_tables_that_they_are_given() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, SETUP);
    run(&mut one, FUNCTIONS);
    for (batch, expected) in [
        ("select dbo.total_of(@t, 4)", "10"),
        ("select id, dbo.total_of(@t, id) from @t", "1 7|2 8|3 9"),
        ("select id from dbo.big(@t, 2) order by id", "2|3"),
        (
            "select x.id from dbo.doubled(@t) d cross apply dbo.big(@t, d.twice) x order by x.id",
            "2|3",
        ),
        ("select dbo.through(@t)", "11"),
        ("select dbo.counts(@t, @t), (select count(*) from @t)", "33 3"),
        ("select dbo.counts(@t, default), dbo.counts(default, @t)", "30 3"),
        ("select count(*) from dbo.big(default, 0)", "0"),
        (
            "declare @u pairs insert @u (id, v) values (2, 'two') select * from dbo.joined(@t, @u)",
            "2 two",
        ),
        (
            "declare @n int exec @n = dbo.total_of @t, 5 select @n, (select count(*) from @t)",
            "11 3",
        ),
        (
            "insert @t (id) select 10 * id + dbo.total_of(@t, 0) from @t select id from @t order by id",
            "1|2|3|16|26|36",
        ),
        (
            "begin try declare @x int = dbo.broken(@t) end try begin catch select error_number() end catch select count(*) from @t",
            "8134|3",
        ),
    ] {
        let batch = format!("declare @t pairs insert @t (id) values (1), (2), (3) {batch}");
        assert_eq!(rows(&mut one, &batch), expected, "{batch}");
    }
    for (batch, number) in [
        ("select dbo.total_of(1, 2)", 206),
        ("declare @n numbered select dbo.total_of(@n, 1)", 206),
        ("declare @x table (id int) select * from dbo.big(@x, 1)", 206),
        ("select dbo.total_of(@nothing, 1)", 137),
        ("select dbo.total_of(@nothing)", 313),
    ] {
        assert_eq!(error(&mut one, batch), number, "{batch}");
    }
    assert_eq!(
        rows(
            &mut one,
            "select name, is_readonly, type_name(user_type_id) from sys.parameters where object_id = object_id('dbo.big') \
             order by parameter_id"
        ),
        "@r 1 pairs|@least 0 int"
    );
    // The columns of what it returns are not those of what it is given.
    assert_eq!(
        rows(
            &mut one,
            "select name from sys.columns where object_id = object_id('dbo.doubled') order by column_id"
        ),
        "id|twice"
    );
}

/// A text keeps no types: dropped and made again, a type means what it is then.
#[test]
fn a_type_that_is_made_anew_is_the_one_that_texts_mean() {
    let instance = instance();
    let (mut one, mut two) = (session(&instance), session(&instance));
    let batch = "declare @t shape insert @t values (1) select * from @t";
    for (definition, expected) in [("(a int)", "1"), ("(a int, b as_text)", "213"), ("(a varchar(9))", "1")] {
        run(&mut one, &["create type as_text from varchar(2)"]);
        run(&mut one, &[&format!("create type shape as table {definition}")]);
        for session in [&mut one, &mut two] {
            match expected.parse::<i32>().unwrap() {
                213 => assert_eq!(error(session, batch), 213),
                _ => assert_eq!(rows(session, batch), expected),
            }
        }
        run(&mut one, &["drop type shape", "drop type as_text"]);
        assert_eq!(error(&mut two, batch), 2715);
    }
    run(
        &mut one,
        &[
            "begin tran create type shape as table (a int)",
            "declare @t shape",
            "rollback",
        ],
    );
    assert_eq!(error(&mut one, batch), 2715);
}

#[test]
fn the_catalog_shows_types_their_columns_and_parameters_of_them() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, SETUP);
    for (query, expected) in [
        (
            "select name, system_type_id, max_length, is_user_defined, is_table_type, is_nullable from sys.types where user_type_id > 256 order by user_type_id",
            "pairs 243 -1 1 1 0|numbered 243 -1 1 1 0|word 167 3 1 0 0",
        ),
        (
            "select name, schema_name(schema_id) from sys.table_types order by name",
            "numbered dbo|pairs dbo",
        ),
        (
            "select c.name, c.is_identity from sys.columns c join sys.table_types t on t.type_table_object_id = c.object_id where t.name = 'numbered' order by column_id",
            "n 1|v 0",
        ),
        (
            "select o.type, o.type_desc, o.schema_id from sys.objects o join sys.table_types t on t.type_table_object_id = o.object_id where t.name = 'pairs'",
            "TT TYPE_TABLE 4",
        ),
        (
            "select name, system_type_id, type_name(user_type_id), is_readonly from sys.parameters where object_id = object_id('dbo.outer_p') order by parameter_id",
            "@r 243 pairs 1|@more 56 int 0",
        ),
        (
            "select t.name, i.index_id, i.type_desc, i.is_primary_key, i.is_unique_constraint from sys.indexes i join sys.table_types t on t.type_table_object_id = i.object_id order by t.name, i.index_id",
            "numbered 0 HEAP 0 0|numbered 2 NONCLUSTERED 0 1|pairs 1 CLUSTERED 1 0",
        ),
        (
            "select x.index_id, c.name from sys.index_columns x join sys.table_types t on t.type_table_object_id = x.object_id join sys.columns c on c.object_id = x.object_id and c.column_id = x.column_id order by x.index_id",
            "1 id|2 v",
        ),
        (
            "select count(*) from sys.partitions p join sys.table_types t on t.type_table_object_id = p.object_id",
            "0",
        ),
        ("select type_id('dbo.pairs') - type_id('pairs')", "0"),
        ("select count(*) from sys.tables", "0"),
    ] {
        assert_eq!(rows(&mut one, query), expected, "{query}");
    }
}
