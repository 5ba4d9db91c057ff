//! ALTER INDEX DISABLE and the way back. Expected answers are those of SQL Server's documentation ("Disable indexes and constraints", "ALTER
//! INDEX", "Database engine errors").
#![allow(clippy::unwrap_used)]

use crate::answers::{answers, rows, run};
use crate::story::{Again, Story};
use crate::transcript;

use tsql::session::Session;

fn begun() -> Session {
    let mut session = transcript::session(&transcript::instance());
    run(
        &mut session,
        &[
            "create table t (a int constraint pk primary key, b int constraint uq unique, c int, d varchar(10))",
            "create index ic on t (c) include (d)",
            "create table r (x int constraint fk_a references t (a), y int constraint fk_b references t (b))",
            "insert t values (1, 10, 100, 'one'), (2, 20, 200, 'two')",
            "insert r values (1, 20)",
        ],
    );
    session
}

const DISABLED: &str = "select name, is_disabled from sys.indexes where object_id = object_id('t') order by index_id";

/// The views of space had looked for the pages of an index that was off, which has none, and every query of them in the database, an export's
/// too, was 824.
#[test]
fn views_of_space_pass_over_an_index_that_is_off() {
    let mut session = begun();
    const VIEWS: [&str; 4] = ["partitions", "dm_db_partition_stats", "allocation_units", "sysindexes"];
    let counts = |session: &mut Session| {
        VIEWS.map(|view| {
            let count: i32 = rows(session, &format!("select count(*) from sys.{view}"))
                .parse()
                .unwrap();
            count
        })
    };
    let with_it = counts(&mut session);
    run(&mut session, &["alter index ic on t disable"]);
    assert_eq!(counts(&mut session), with_it.map(|count| count - 1));
    let of_table = "select index_id, rows from sys.partitions where object_id = object_id('t') order by index_id";
    assert_eq!(rows(&mut session, of_table), "1 2|2 2");
    run(&mut session, &["alter index ic on t rebuild"]);
    assert_eq!(counts(&mut session), with_it);
    // The rows of a table whose clustered index is off are still there.
    run(&mut session, &["alter index pk on t disable"]);
    assert_eq!(rows(&mut session, of_table), "1 2");
}

/// Queries go on without the index, changes do not keep it, hints at it are refused, and REBUILD makes it again under its own id.
#[test]
fn a_disabled_index_is_neither_searched_nor_kept() {
    let mut session = begun();
    let id = rows(&mut session, "select index_id from sys.indexes where name = 'ic'");
    run(&mut session, &["alter index ic on t disable"]);
    assert_eq!(rows(&mut session, DISABLED), "pk 0|uq 0|ic 1");
    assert_eq!(rows(&mut session, "select d from t where c = 200"), "two");
    run(
        &mut session,
        &[
            "insert t values (3, 30, 300, 'three')",
            "update t set c = 201 where a = 2",
            "delete t where a = 1 + 2",
        ],
    );
    assert_eq!(
        refusal(&mut session, "select d from t with (index(ic)) where c = 201"),
        "315 Index \"ic\" on table \"dbo.t\" (specified in the FROM clause) is disabled or resides in a filegroup which is not online."
    );
    assert_eq!(
        rows(
            &mut session,
            "select count(*) from sys.index_columns where object_id = object_id('t')"
        ),
        "4"
    );
    run(&mut session, &["alter index ic on t rebuild"]);
    assert_eq!(rows(&mut session, DISABLED), "pk 0|uq 0|ic 0");
    assert_eq!(
        rows(&mut session, "select index_id from sys.indexes where name = 'ic'"),
        id
    );
    assert_eq!(
        rows(&mut session, "select d from t with (index(ic)) where c = 201"),
        "two"
    );
    run(&mut session, &["dbcc checktable (t)"]);
}

/// What a disabled unique index let in is found by REBUILD; foreign keys that need it are off until they are switched on again.
#[test]
fn uniqueness_is_not_judged_while_its_index_is_disabled() {
    let mut session = begun();
    assert_eq!(
        rows(&mut session, "alter index uq on t disable"),
        "Warning: Foreign key 'fk_b' on table 'r' referencing table 't' was disabled as a result of disabling the index 'uq'."
    );
    assert_eq!(
        rows(
            &mut session,
            "select name, is_disabled, is_not_trusted from sys.foreign_keys order by name"
        ),
        "fk_a 0 0|fk_b 1 1"
    );
    run(
        &mut session,
        &["insert t values (3, 20, 1, '')", "insert r values (1, 999)"],
    );
    assert_eq!(
        refusal(&mut session, "alter table r check constraint fk_b"),
        "1989 Cannot enable foreign key constraint 'fk_b' as index 'uq' on referenced key is disabled."
    );
    assert!(refusal(&mut session, "alter index uq on t rebuild").starts_with("1505 "));
    assert_eq!(rows(&mut session, DISABLED), "pk 0|uq 1|ic 0");
    run(&mut session, &["delete t where a = 3", "alter index uq on t rebuild"]);
    assert!(refusal(&mut session, "insert t values (3, 20, 1, '')").starts_with("2627 "));
    assert!(refusal(&mut session, "alter table r with check check constraint fk_b").starts_with("547 "));
    run(
        &mut session,
        &[
            "delete r where y = 999",
            "alter table r with check check constraint fk_b",
        ],
    );
    assert!(refusal(&mut session, "insert r values (1, 999)").starts_with("547 "));
}

/// The clustered index is the table: without it nothing is read or changed, but it can be rebuilt or dropped.
#[test]
fn a_table_whose_clustered_index_is_disabled_waits_for_its_rebuild() {
    let mut session = begun();
    assert_eq!(
        rows(&mut session, "alter index pk on t disable"),
        "Warning: Index 'uq' on table 't' was disabled as a result of disabling the clustered index on the table.\
         |Warning: Index 'ic' on table 't' was disabled as a result of disabling the clustered index on the table.\
         |Warning: Foreign key 'fk_a' on table 'r' referencing table 't' was disabled as a result of disabling the index 'pk'.\
         |Warning: Foreign key 'fk_b' on table 'r' referencing table 't' was disabled as a result of disabling the index 'pk'."
    );
    let plan =
        "8655 The query processor is unable to produce a plan because the index 'pk' on table or view 't' is disabled.";
    for statement in [
        "select * from t",
        "insert t (a) values (9)",
        "update t set c = 1",
        "delete t where a = 1",
    ] {
        assert_eq!(refusal(&mut session, statement), plan, "{statement}");
    }
    let operation =
        "1974 Cannot perform the specified operation on table 't' because its clustered index 'pk' is disabled.";
    for statement in ["alter table t add z int", "truncate table t"] {
        assert_eq!(refusal(&mut session, statement), operation, "{statement}");
    }
    let needs = |verb: &str, index: &str| {
        format!("1987 Cannot {verb} index '{index}' on table 't' because its clustered index is disabled.")
    };
    assert_eq!(refusal(&mut session, "create index x on t (c)"), needs("create", "x"));
    assert_eq!(
        refusal(&mut session, "alter index ic on t rebuild"),
        needs("rebuild", "ic")
    );
    assert_eq!(
        refusal(&mut session, "alter index pk on t set (allow_row_locks = off)"),
        "1973 Cannot perform the specified operation on disabled index 'pk' on table 't'."
    );
    run(&mut session, &["alter index pk on t rebuild"]);
    assert_eq!(rows(&mut session, DISABLED), "pk 0|uq 1|ic 1");
    assert_eq!(rows(&mut session, "select a from t"), "1|2");
    run(&mut session, &["alter index all on t rebuild"]);
    assert_eq!(rows(&mut session, DISABLED), "pk 0|uq 0|ic 0");
    run(
        &mut session,
        &[
            "alter index all on t disable",
            "alter index all on t rebuild",
            "dbcc checktable (t)",
        ],
    );
    assert_eq!(
        rows(&mut session, "select d from t with (index(ic)) where c = 200"),
        "two"
    );
}

/// A disabled index keeps its name and its columns, and goes with DROP.
#[test]
fn a_disabled_index_holds_its_name_and_its_columns() {
    let mut session = begun();
    run(
        &mut session,
        &["alter index ic on t disable", "alter index uq on t disable"],
    );
    assert!(refusal(&mut session, "create index ic on t (a)").starts_with("1913 "));
    assert!(refusal(&mut session, "alter table t drop column c").starts_with("4922 "));
    assert!(refusal(&mut session, "drop index uq on t").starts_with("3723 "));
    assert_eq!(
        rows(&mut session, "select name, type from sys.key_constraints order by name"),
        "pk PK|uq UQ"
    );
    run(
        &mut session,
        &[
            "exec sp_rename 't.ic', 'renamed', 'INDEX'",
            "alter table t add e int",
            "alter index renamed on t rebuild",
            "alter index renamed on t disable",
            "drop index renamed on t",
            "alter table r drop constraint fk_b",
            "alter table t drop constraint uq",
            "alter table t drop column b",
        ],
    );
    assert_eq!(
        rows(
            &mut session,
            "select name from sys.indexes where object_id = object_id('t')"
        ),
        "pk"
    );
    assert_eq!(rows(&mut session, "select a, c, d from t"), "1 100 one|2 200 two");
}

#[test]
fn disabling_follows_its_transaction_and_outlives_restarts() {
    for again in Again::ALL {
        let mut story = Story::begin();
        story.run("create database d");
        story.run(
            "use d create table t (a int primary key, b int) create index kept on t (b) create index gone on t (b, a)",
        );
        story.run("insert t values (1, 1), (2, 2) alter index gone on t disable");
        story.run("begin tran alter index kept on t disable insert t values (3, 3) rollback");
        story.again(again, "d");
        story.run("use d insert t values (4, 4)");
        assert_eq!(
            story.rows("select concat(name, ' ', is_disabled) from sys.indexes where object_id = object_id('t') and index_id > 1 order by name")
                .iter().map(|row| row.trim().to_owned()).collect::<Vec<_>>(),
            ["gone 1", "kept 0"],
            "{again:?}"
        );
        story.run("alter index gone on t rebuild");
        assert_eq!(
            story.rows("select count(*) from t with (index(gone))")[0].trim(),
            "3",
            "{again:?}"
        );
        story.is_sound("d");
    }
}

/// Number and words of the first error.
fn refusal(session: &mut Session, batch: &str) -> String {
    let answers = answers(session, batch);
    let first = answers.errors.first();
    let (number, _, text) = first.unwrap_or_else(|| panic!("{batch} answered {:?}", answers.rows));
    format!("{number} {text}")
}
