//! The first result of a batch as sys.dm_exec_describe_first_result_set and its relatives describe it.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use transcript::{Transcript, Whole, instance, session};
use tsql::session::Session;

fn answer(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute(batch, &mut transcript);
    transcript.text
}

/// The first values of the rows of a query, which are texts.
fn texts(session: &mut Session, query: &str) -> Vec<String> {
    let mut whole = Whole::default();
    session.execute(query, &mut whole);
    whole.0
}

fn begin() -> Session {
    let instance = instance();
    let mut one = session(&instance);
    for batch in [
        "create table parent (id int identity constraint pk primary key, name nvarchar(20) not null, twice int)",
        "create table child (a int not null, b int not null, parent int not null, note varchar(max), primary key (a, b))",
        "create table loose (x int unique, y sql_variant)",
        "create view shown as select name, twice from parent where id > 0",
        "create procedure asks @a int, @b varchar(9) as if @a = 1 print 'x' select id, name from parent where name = @b",
        "create procedure silent as update parent set name = 'x'",
        "create function doubled(@a int) returns int as begin return @a * 2 end",
    ] {
        assert_eq!(answer(&mut one, batch), "", "{batch}");
    }
    one
}

const COLUMNS: &str = "concat(column_ordinal, iif(is_hidden = 1, 'h', ''), ' ', isnull(name, '-'), ' ', system_type_name,
    iif(is_nullable = 1, ' null', ''), iif(is_identity_column = 1, ' identity', ''), iif(is_updateable = 1, ' updateable', ''),
    iif(is_computed_column = 1, ' computed', ''), ' ' + source_database + '.' + source_schema + '.' + source_table + '.' + source_column,
    ' key ' + cast(is_part_of_unique_key as char(1)))";

#[test]
fn columns_are_rows_of_a_table() {
    let mut one = begin();
    let mut told = |call: &str| {
        texts(
            &mut one,
            &format!("select {COLUMNS} from sys.{call} order by column_ordinal"),
        )
    };
    assert_eq!(
        told("dm_exec_describe_first_result_set(N'select * from parent', null, 0)"),
        [
            "1 id int identity",
            "2 name nvarchar(20) updateable",
            "3 twice int null updateable"
        ]
    );
    assert_eq!(
        told("dm_exec_describe_first_result_set(N'select name n, 1, name + N''x'' from parent', null, 1)"),
        [
            "1 n nvarchar(20) updateable master.dbo.parent.name key 0",
            "2 - int key 0",
            "3 - nvarchar(21) key 0",
            "4h id int identity master.dbo.parent.id key 1"
        ]
    );
    // Through a join and a view: what is missing of each key is added.
    assert_eq!(
        told(
            "dm_exec_describe_first_result_set(N'select c.note, c.b, s.twice from child c left join shown s on s.name = c.note', null, 1)"
        ),
        [
            "1 note varchar(max) null updateable master.dbo.child.note key 0",
            "2 b int updateable master.dbo.child.b key 1",
            "3 twice int null updateable master.dbo.parent.twice key 0",
            "4h a int updateable master.dbo.child.a key 1",
            "5h id int identity master.dbo.parent.id key 1"
        ]
    );
}

#[test]
fn what_is_no_column_of_a_table_has_no_source() {
    let mut one = begin();
    let mut told = |call: &str| {
        texts(
            &mut one,
            &format!("select {COLUMNS} from sys.{call} order by column_ordinal"),
        )
    };
    // Rows that stand for several of a table have no keys of it.
    for several in [
        "select distinct note from child",
        "select note from child group by note",
    ] {
        let rows = told(&format!("dm_exec_describe_first_result_set(N'{several}', null, 1)"));
        assert_eq!(rows.len(), 1, "{several}");
    }
    assert_eq!(
        told("dm_exec_describe_first_result_set(N'update parent set name = ''x''', null, 0)"),
        [""; 0]
    );
    assert_eq!(
        told("dm_exec_describe_first_result_set(N'select @p p', N'@p decimal(5,1)', 0)"),
        ["1 p decimal(5,1) null"]
    );
    // What nobody declares has the type that is asked of it.
    assert_eq!(
        told(
            "dm_exec_describe_first_result_set(N'select x, isnull(@q, x) q from loose where x = @p and y = 1', null, 0)"
        ),
        ["1 x int null updateable", "2 q int null"]
    );
    // Nothing was executed, and the statement around goes on with its own rows and options.
    assert_eq!(texts(&mut one, "select cast(count(*) as varchar) from parent"), ["0"]);
    assert_eq!(
        texts(
            &mut one,
            "select concat(t.n, ':', d.name) from (values (N'select 1 one'), (N'select 2 two, 3 three')) t(n)
             cross apply sys.dm_exec_describe_first_result_set(t.n, null, 0) d order by t.n, d.column_ordinal"
        ),
        [
            "select 1 one:one",
            "select 2 two, 3 three:two",
            "select 2 two, 3 three:three"
        ]
    );
}

#[test]
fn procedures_are_told_by_their_ids() {
    let mut one = begin();
    let mut told = |object: &str, browse: i32| {
        texts(
            &mut one,
            &format!(
                "select {COLUMNS} from sys.dm_exec_describe_first_result_set_for_object(object_id('{object}'), {browse})"
            ),
        )
    };
    assert_eq!(told("asks", 0), ["1 id int identity", "2 name nvarchar(20) updateable"]);
    assert_eq!(
        told("asks", 1),
        [
            "1 id int identity master.dbo.parent.id key 1",
            "2 name nvarchar(20) updateable master.dbo.parent.name key 0"
        ]
    );
    assert_eq!(told("silent", 0), [""; 0]);
}

#[test]
fn errors_are_rows() {
    let mut one = begin();
    let error = "concat(error_number, ' ', error_severity, ' ', error_state, ' ', error_type, ' ', error_type_desc, iif(name is null and
        is_hidden is null and column_ordinal is null, '', ' and a column'), ': ', error_message)";
    let mut told = |call: &str| {
        texts(
            &mut one,
            &format!("select {error} from sys.dm_exec_describe_first_result_set{call}"),
        )
    };
    let cases = [
        (
            "(N'select * from nowhere', null, 0)",
            "208 16 1 1 MISC: Invalid object name 'nowhere'.",
        ),
        (
            "(N'select nothing from parent', null, 0)",
            "207 16 1 1 MISC: Invalid column name 'nothing'.",
        ),
        (
            "(N'select from', null, 0)",
            "156 15 1 2 SYNTAX: Incorrect syntax near the keyword 'from'.",
        ),
        (
            "_for_object(object_id('doubled'), 0)",
            "11531 16 1 12 OBJECT_TYPE_NOT_SUPPORTED: The object id '",
        ),
        (
            "_for_object(5, 0)",
            "11532 16 1 13 OBJECT_DOES_NOT_EXIST: The object id '5' passed",
        ),
    ];
    for (call, expected) in cases {
        let rows = told(call);
        assert_eq!(rows.len(), 1, "{call}");
        assert!(rows[0].starts_with(expected), "{call}: {}", rows[0]);
    }
    let undeclared = told("(N'select @p', null, 0)");
    assert!(undeclared[0].contains("8 UNDECLARED_PARAMETER"), "{undeclared:?}");
    assert!(!undeclared[0].starts_with("137"), "{undeclared:?}");
    // The statement around is no worse for it.
    assert_eq!(texts(&mut one, "select cast(@@trancount as varchar)"), ["0"]);
}

#[test]
fn the_procedure_tells_the_same() {
    let mut one = begin();
    let asked = "exec sp_describe_first_result_set N'select name from parent', null, 1";
    let text = answer(&mut one, asked);
    assert!(text.contains("parent") && text.contains("(2 rows, Select)"), "{text}");
    assert!(
        answer(&mut one, "exec sp_describe_first_result_set N'select name from parent'").contains("(1 rows, Select)")
    );
    assert!(
        answer(
            &mut one,
            "exec sp_describe_first_result_set N'select name from parent', null, 2"
        )
        .contains("Msg 40517,")
    );
    let undeclared = answer(&mut one, "exec sp_describe_first_result_set N'select @p'");
    assert!(
        undeclared.contains("Msg 1150") && !undeclared.contains("Msg 137"),
        "{undeclared}"
    );
    let deduced = answer(
        &mut one,
        "exec sp_describe_first_result_set N'select name from parent where id = @p'",
    );
    assert!(deduced.contains("(1 rows, Select)"), "{deduced}");
}
