//! Synonyms: where they are allowed, when they are resolved, and the error if the target is missing. Expected answers are those of SQL
//! Server's documentation ("CREATE SYNONYM", "Synonyms", "sys.synonyms", "Database engine errors").
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
            "create database test create database elsewhere",
            "use test",
            "create schema other",
            "create table other.t (a int primary key, b varchar(10))",
            "create view v as select a from other.t where a > 1",
            "create procedure other.p @x int = 5 as select @x, db_name()",
            "create function other.f (@x int) returns int as begin return @x * 2 end",
            "create function other.g (@x int) returns table as return select a from other.t where a >= @x",
            "insert other.t values (1, 'one'), (2, 'two')",
        ],
    );
    session
}

/// Rows are read and changed through the synonym, and its columns are named by it.
#[test]
fn a_synonym_stands_for_a_table_wherever_rows_are() {
    let mut session = begun();
    run(
        &mut session,
        &["create synonym s for other.t", "create synonym sv for v"],
    );
    assert_eq!(
        rows(&mut session, "select s.a, dbo.s.b from s order by s.a"),
        "1 one|2 two"
    );
    assert_eq!(rows(&mut session, "select a from sv"), "2");
    run(
        &mut session,
        &[
            "insert s values (3, 'three')",
            "update s set b = 'TWO' where a = 2",
            "update x set b = x.b + '!' from s x where x.a = 2",
            "delete s where a = 1",
            "merge s using (values (3), (4)) n (a) on s.a = n.a when matched then update set b = 'm' when not matched then insert values (n.a, 'n');",
            "delete d from s d where d.a = 4",
        ],
    );
    assert_eq!(rows(&mut session, "select a, b from other.t order by a"), "2 TWO!|3 m");
    assert_eq!(
        rows(
            &mut session,
            "select name from sys.tables where object_id = object_id('other.t')"
        ),
        "t"
    );
}

#[test]
fn a_synonym_is_called_as_what_it_stands_for() {
    let mut session = begun();
    run(
        &mut session,
        &[
            "create synonym other.sp for other.p",
            "create synonym sf for other.f",
            "create synonym sg for other.g",
            "create synonym so for sys.objects",
        ],
    );
    assert_eq!(rows(&mut session, "exec other.sp"), "5 test");
    assert_eq!(rows(&mut session, "exec other.sp @x = 7"), "7 test");
    assert_eq!(rows(&mut session, "select dbo.sf(4)"), "8");
    assert_eq!(rows(&mut session, "select a from dbo.sg(2)"), "2");
    assert_eq!(rows(&mut session, "select so.name from so where so.type = 'P'"), "p");
}

/// The base is looked up by name at each use: it may come, go, and be another kind of object the next time.
#[test]
fn what_a_synonym_stands_for_is_looked_up_at_each_use() {
    let mut session = begun();
    run(&mut session, &["create synonym late for elsewhere.dbo.x"]);
    let invalid = "5313 Synonym 'late' refers to an invalid object.";
    assert_eq!(refusal(&mut session, "select * from late"), invalid);
    assert_eq!(refusal(&mut session, "insert late values (1)"), invalid);
    assert_eq!(
        refusal(&mut session, "exec late"),
        "2812 Could not find stored procedure 'elsewhere.dbo.x'."
    );
    run(
        &mut session,
        &["create table elsewhere.dbo.x (n int)", "insert late values (1)"],
    );
    assert_eq!(rows(&mut session, "select n from late"), "1");
    run(&mut session, &["drop table elsewhere.dbo.x", "use elsewhere"]);
    run(&mut session, &["create view x as select 42 as n"]);
    run(&mut session, &["use test"]);
    assert_eq!(rows(&mut session, "select n from late"), "42");
    run(&mut session, &["drop synonym late", "create synonym late for other.p"]);
    assert_eq!(refusal(&mut session, "select * from late"), invalid);
    run(
        &mut session,
        &["drop synonym late", "create synonym late for nowhere.dbo.x"],
    );
    assert_eq!(refusal(&mut session, "select * from late"), invalid);
    assert_eq!(
        refusal(&mut session, "select dbo.late(1)"),
        "5313 Synonym 'dbo.late' refers to an invalid object."
    );
}

/// A plan that went through a synonym is not used once the synonym stands for something else.
#[test]
fn a_kept_plan_follows_the_synonym() {
    let mut session = begun();
    run(
        &mut session,
        &[
            "create table one (n int)",
            "insert one values (1)",
            "create table two (n int)",
            "insert two values (2)",
            "create synonym s for one",
            "create procedure r as select n from s",
        ],
    );
    assert_eq!(rows(&mut session, "exec r"), "1");
    run(&mut session, &["drop synonym s", "create synonym s for two"]);
    assert_eq!(rows(&mut session, "exec r"), "2");
    run(&mut session, &["drop synonym s"]);
    assert_eq!(refusal(&mut session, "exec r"), "208 Invalid object name 's'.");
}

#[test]
fn chains_names_in_use_and_other_kinds_are_refused() {
    let mut session = begun();
    run(
        &mut session,
        &[
            "create synonym inner_one for other.t",
            "create synonym outer_one for dbo.inner_one",
        ],
    );
    for (statement, expected) in [
        (
            "select * from outer_one",
            "470 The synonym \"outer_one\" referenced synonym \"dbo.inner_one\". Synonym chaining is not allowed.",
        ),
        (
            "exec outer_one",
            "470 The synonym \"outer_one\" referenced synonym \"dbo.inner_one\". Synonym chaining is not allowed.",
        ),
        (
            "create synonym v for other.t",
            "2714 There is already an object named 'v' in the database.",
        ),
        (
            "create table inner_one (a int)",
            "2714 There is already an object named 'inner_one' in the database.",
        ),
        (
            "create synonym test.dbo.x for other.t",
            "166 'CREATE SYNONYM' does not allow specifying the database name as a prefix to the object name.",
        ),
        (
            "create synonym nowhere.x for other.t",
            "2760 The specified schema name \"nowhere\" either does not exist or you do not have permission to use it.",
        ),
        (
            "drop table inner_one",
            "3705 Cannot use DROP TABLE with 'inner_one' because 'inner_one' is a synonym. Use DROP SYNONYM.",
        ),
        (
            "drop synonym if exists v",
            "3705 Cannot use DROP SYNONYM with 'v' because 'v' is a view. Use DROP VIEW.",
        ),
        (
            "drop synonym nowhere",
            "3701 Cannot drop the synonym 'nowhere', because it does not exist or you do not have permission.",
        ),
        (
            "create view bound with schemabinding as select a from dbo.inner_one",
            "2788 Synonyms are invalid in a schemabound object or a constraint expression.",
        ),
    ] {
        assert_eq!(refusal(&mut session, statement), expected, "{statement}");
    }
    run(
        &mut session,
        &[
            "drop synonym if exists nowhere",
            "create sequence q",
            "create synonym sq for q",
        ],
    );
    assert_eq!(
        refusal(&mut session, "select next value for sq"),
        "11726 Object 'sq' is not a sequence object."
    );
    assert_eq!(
        refusal(&mut session, "drop schema other"),
        "3729 Cannot drop schema 'other' because it is being referenced by object 't'."
    );
}

#[test]
fn the_catalog_shows_synonyms_with_their_base_as_written() {
    let mut session = begun();
    run(
        &mut session,
        &[
            "create synonym s1 for t",
            "create synonym other.s2 for tempdb..x",
            "create synonym s3 for elsewhere.dbo.[a]]b]",
        ],
    );
    assert_eq!(
        rows(
            &mut session,
            "select schema_name(schema_id), name, base_object_name, type from sys.synonyms order by name"
        ),
        "dbo s1 [t] SN|other s2 [tempdb]..[x] SN|dbo s3 [elsewhere].[dbo].[a]]b] SN"
    );
    assert_eq!(
        rows(
            &mut session,
            "select name, type, type_desc, parent_object_id from sys.objects where object_id = object_id('s1')"
        ),
        "s1 SN SYNONYM 0"
    );
    assert_eq!(
        rows(
            &mut session,
            "select iif(object_id('s1', 'SN') = object_id('s1'), 1, 0), object_id('s1', 'U'), object_name(object_id('s1'))"
        ),
        "1 NULL s1"
    );
}

/// A rolled back CREATE leaves nothing, a rolled back DROP takes nothing; both hold after a restart.
#[test]
fn synonyms_follow_their_transaction_and_outlive_restarts() {
    let mut session = begun();
    run(
        &mut session,
        &[
            "begin tran create synonym s for other.t select * from s rollback",
            "create synonym k for other.t",
        ],
    );
    assert_eq!(refusal(&mut session, "select * from s"), "208 Invalid object name 's'.");
    assert_eq!(rows(&mut session, "select count(*) from sys.synonyms"), "1");
    run(&mut session, &["begin tran drop synonym k rollback"]);
    assert_eq!(rows(&mut session, "select count(*) from k"), "2");
    for again in Again::ALL {
        let mut story = Story::begin();
        story.run("create database d");
        story.run("use d create table t (a int) insert t values (7) create synonym kept for t");
        story.run("begin tran create synonym x for t rollback");
        story.again(again, "d");
        story.run("use d");
        assert_eq!(story.rows("select a from kept")[0].trim(), "7", "{again:?}");
        assert_eq!(
            story.rows("select count(*) from sys.synonyms")[0].trim(),
            "1",
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
