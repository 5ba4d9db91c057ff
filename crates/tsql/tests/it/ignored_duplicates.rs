//! IGNORE_DUP_KEY: the rows that an INSERT skips, its messages, and the statements that ignore the option. Expected answers are those of
//! SQL Server's documentation ("CREATE INDEX", "ALTER INDEX", "MERGE", "Database engine errors").
#![allow(clippy::unwrap_used)]

use crate::answers::{answers, rows, run};
use crate::transcript;

use tsql::session::Session;

fn begun() -> Session {
    let mut session = transcript::session(&transcript::instance());
    run(
        &mut session,
        &[
            "create table c (a int primary key with (ignore_dup_key = on), b int)",
            "create table n (id int identity, a int, b int, big varchar(max))",
            "create unique index un on n (a) with (ignore_dup_key = on)",
            "insert c values (1, 10)",
            "insert n (a, b) values (1, 10)",
        ],
    );
    session
}

const IGNORED: &str = "Duplicate key was ignored.";

/// Rows whose key is there, or comes twice, are left out whole; the others go in; the statement says so once and counts what it wrote.
#[test]
fn an_insert_leaves_out_duplicates() {
    let mut session = begun();
    for (table, key) in [("c", "a"), ("n", "a")] {
        let insert = format!("insert {table} ({key}, b) values (1, 0), (2, 20), (2, 21), (3, 30)");
        assert_eq!(told(&mut session, &insert), IGNORED, "{insert}");
        assert_eq!(rows(&mut session, "select @@rowcount, @@error"), "2 0", "{insert}");
        assert_eq!(
            rows(&mut session, &format!("select a, b from {table} order by a")),
            "1 10|2 20|3 30"
        );
        let select = format!("insert {table} ({key}, b) select value, 7 from generate_series(1, 5)");
        assert_eq!(told(&mut session, &select), IGNORED, "{select}");
        assert_eq!(rows(&mut session, "select @@rowcount"), "2", "{select}");
        assert_eq!(
            told(&mut session, &format!("insert {table} ({key}, b) values (9, 9)")),
            ""
        );
    }
    assert_eq!(rows(&mut session, "select count(*) from n with (index(0))"), "6");
    assert_eq!(rows(&mut session, "select count(*) from n with (index(un))"), "6");
    // A row that is left out has used its identity value.
    assert_eq!(rows(&mut session, "select max(id) from n"), "11");
}

/// OUTPUT and triggers see the rows that went in alone; a row with long values leaves none of them behind.
#[test]
fn what_is_left_out_is_shown_to_none() {
    let mut session = begun();
    assert_eq!(
        rows(&mut session, "insert c output inserted.a values (1, 0), (4, 0)"),
        "4|Duplicate key was ignored."
    );
    run(&mut session, &["create table seen (a int)"]);
    run(
        &mut session,
        &["create trigger tn on n after insert as insert seen select a from inserted"],
    );
    run(
        &mut session,
        &["insert n (a, big) values (1, replicate(cast('x' as varchar(max)), 50000)), (2, 'y')"],
    );
    assert_eq!(rows(&mut session, "select a from seen"), "2");
    assert_eq!(rows(&mut session, "select count(*), sum(len(big)) from n"), "2 1");
    run(&mut session, &["dbcc checktable (n)"]);
}

/// One key ignores duplicates, another of the table does not.
#[test]
fn each_key_is_asked_for_itself() {
    let mut session = begun();
    run(&mut session, &["create unique index strict on n (b)"]);
    assert!(refusal(&mut session, "insert n (a, b) values (5, 10)").starts_with("2601 "));
    assert_eq!(told(&mut session, "insert n (a, b) values (1, 11)"), IGNORED);
    assert!(refusal(&mut session, "insert n (a, b) values (6, 60), (7, 10)").starts_with("2601 "));
    assert_eq!(rows(&mut session, "select a, b from n"), "1 10");
}

/// UPDATE and MERGE do not ask (sql-docs, MERGE: it "ignores this setting").
#[test]
fn only_inserts_ignore() {
    let mut session = begun();
    run(&mut session, &["insert c values (2, 20)", "insert n (a) values (2)"]);
    assert!(refusal(&mut session, "update c set a = 1 where a = 2").starts_with("2627 "));
    assert!(refusal(&mut session, "update n set a = 1 where a = 2").starts_with("2601 "));
    let merge = "merge c using (values (8), (8)) v (a) on c.a = v.a when not matched then insert values (v.a, 0);";
    assert!(refusal(&mut session, merge).starts_with("2627 "));
    assert_eq!(rows(&mut session, "select a from c order by a"), "1|2");
}

#[test]
fn table_variables_and_temporary_tables_ignore_too() {
    let mut session = begun();
    assert_eq!(
        rows(
            &mut session,
            "declare @v table (a int primary key with (ignore_dup_key = on), b int, unique (b) with (ignore_dup_key = on)) \
             insert @v values (1, 1), (1, 2), (2, 1), (3, 3) select a, b from @v order by a"
        ),
        "Duplicate key was ignored.|1 1|3 3"
    );
    assert_eq!(
        rows(
            &mut session,
            "create table #w (a int, primary key clustered (a) with (ignore_dup_key = on)) \
             insert #w select value % 3 from generate_series(1, 500) select a from #w order by a"
        ),
        "Duplicate key was ignored.|0|1|2"
    );
}

#[test]
fn a_rolled_back_insert_takes_back_what_it_wrote() {
    let mut session = begun();
    run(
        &mut session,
        &["begin tran insert n (a) values (1), (2), (1), (3) rollback"],
    );
    assert_eq!(rows(&mut session, "select a from n"), "1");
    run(
        &mut session,
        &["begin tran insert n (a) values (1), (2) insert n (a) values (2), (3) commit"],
    );
    assert_eq!(rows(&mut session, "select a from n order by a"), "1|2|3");
}

#[test]
fn where_it_cannot_be_said() {
    let mut session = begun();
    run(
        &mut session,
        &[
            "create unique index uf on n (b) where b > 5",
            "create index ib on c (b)",
        ],
    );
    for (statement, expected) in [
        (
            "create index x on nowhere (a) with (ignore_dup_key = on)",
            "1916 CREATE INDEX options nonunique and ignore_dup_key are mutually exclusive.",
        ),
        (
            "create table x (a int, index ix (a) with (ignore_dup_key = on))",
            "1916 CREATE INDEX options nonunique and ignore_dup_key are mutually exclusive.",
        ),
        (
            "create unique index x on n (b) where b > 7 with (ignore_dup_key = on)",
            "10618 Cannot create filtered index 'x' on table 'n' because the statement sets the IGNORE_DUP_KEY option to ON. Rewrite the statement so that it does not use the IGNORE_DUP_KEY option.",
        ),
        (
            "alter index uf on n set (ignore_dup_key = on)",
            "10618 Cannot alter filtered index 'uf' on table 'n' because the statement sets the IGNORE_DUP_KEY option to ON. Rewrite the statement so that it does not use the IGNORE_DUP_KEY option.",
        ),
        (
            "alter index ib on c set (ignore_dup_key = on)",
            "1915 Cannot alter a non-unique index with ignore_dup_key index option. Index 'ib' is non-unique.",
        ),
        (
            "alter table c add constraint uq unique (b) alter index uq on c set (ignore_dup_key = off)",
            "1979 Cannot use index option ignore_dup_key to alter index 'uq' as it enforces a primary or unique constraint.",
        ),
    ] {
        assert_eq!(refusal(&mut session, statement), expected, "{statement}");
    }
    run(&mut session, &["alter index un on n set (ignore_dup_key = off)"]);
    assert!(refusal(&mut session, "insert n (a) values (1)").starts_with("2601 "));
    assert_eq!(
        rows(
            &mut session,
            "select name, ignore_dup_key from sys.indexes where object_id = object_id('n') and index_id > 0 order by name"
        ),
        "uf 0|un 0"
    );
    run(
        &mut session,
        &["alter index un on n rebuild with (ignore_dup_key = on)"],
    );
    assert_eq!(told(&mut session, "insert n (a) values (1)"), IGNORED);
    run(
        &mut session,
        &["alter index all on c rebuild with (pad_index = off, ignore_dup_key = off)"],
    );
}

/// What a statement says that answers nothing else.
fn told(session: &mut Session, statement: &str) -> String {
    rows(session, statement)
}

/// Number and words of the first error.
fn refusal(session: &mut Session, batch: &str) -> String {
    let answers = answers(session, batch);
    let first = answers.errors.first();
    let (number, _, text) = first.unwrap_or_else(|| panic!("{batch} answered {:?}", answers.rows));
    format!("{number} {text}")
}
