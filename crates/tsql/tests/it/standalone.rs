//! Defaults and rules that are objects of their own: what becomes of them by restarts, backups and rollbacks, what else writes rows, the
//! events they are, and what happens beside another session. What their statements and procedures answer is in `reference/standalone.txt`.
//! Sources: sql-docs, "CREATE DEFAULT", "CREATE RULE", "sp_bindefault", "sp_bindrule", "DDL events".
#![allow(clippy::unwrap_used)]

use crate::answers::{answers, error, rows, run};
use crate::story::{Again, Story};
use crate::transcript;

use engine::instance::Instance;
use std::sync::Arc;
use tsql::session::Session;

/// A table whose column `q` has a default and a rule, and a type that has them, too.
const BEGUN: [&str; 6] = [
    "create default zero as 0",
    "create rule positive as @v >= 0",
    "create type amount from int",
    "exec sp_bindefault zero, 'amount' exec sp_bindrule positive, 'amount'",
    "create table t (id int, q int, a amount, v varchar(10))",
    "exec sp_bindefault zero, 't.q' exec sp_bindrule positive, 't.q'",
];

fn begun() -> (Arc<Instance>, Session) {
    let instance = transcript::instance();
    let mut session = transcript::session(&instance);
    run(&mut session, &["create database d", "use d"]);
    run(&mut session, &BEGUN);
    (instance, session)
}

/// What was bound stays bound by every way in which a database comes back, and what was rolled back does not.
#[test]
fn bindings_survive_restarts_and_backups() {
    for again in Again::ALL {
        let mut story = Story::begin();
        story.run("create database d");
        for batch in BEGUN {
            story.run("use d");
            story.run(batch);
        }
        story.run("use d insert t (id) values (1)");
        story.run("use d begin tran exec sp_unbindrule 't.q' exec sp_unbindefault 'amount' rollback");
        story.again(again, "d");
        assert_eq!(
            story.errors("use d insert t (id, q) values (2, -1)"),
            [513],
            "{again:?}"
        );
        assert_eq!(
            story.errors("use d insert t (id, a) values (2, -1)"),
            [513],
            "{again:?}"
        );
        assert_eq!(story.errors("use d drop rule positive"), [3716], "{again:?}");
        story.run("use d create table u (a amount) insert u default values");
        assert_eq!(story.rows("select a from d.dbo.u"), ["0"], "{again:?}");
        assert_eq!(story.rows("select q + a from d.dbo.t"), ["0"], "{again:?}");
        story.is_sound("d");
        story.run("use d exec sp_unbindrule 't.q' exec sp_unbindrule 'amount' drop rule positive insert t (id, q) values (2, -1)");
        story.is_sound("d");
    }
}

/// Rows come by many ways: each that checks a CHECK judges a rule, and each that leaves a column out takes the bound default.
#[test]
fn every_way_to_write_a_row_asks_the_rule() {
    let (_instance, mut session) = begun();
    run(
        &mut session,
        &[
            "create table s (q int)",
            "insert s values (1), (-1)",
            "create view v as select id, q from t",
            "create table parent (q int primary key) insert parent values (0), (3)",
            "create table child (q int default 0 references parent (q) on update cascade on delete set default)",
            "exec sp_bindrule positive, 'child.q'",
            "insert child values (3)",
        ],
    );
    for batch in [
        "insert t (q) select q from s",
        "insert t (id, q) exec ('select 1, -1')",
        "insert v values (1, -1)",
        "insert s output -1 into t (q) values (1)",
        "update parent set q = -3 where q = 3",
        "merge t using s on 1 = 0 when not matched then insert (q) values (s.q);",
    ] {
        assert_eq!(error(&mut session, batch), 513, "{batch}");
    }
    assert_eq!(rows(&mut session, "select count(*) from t"), "0");
    run(
        &mut session,
        &[
            "insert v (id) values (1)",
            "insert t (id) select 2",
            "insert t default values",
        ],
    );
    assert_eq!(rows(&mut session, "select distinct q, a from t"), "0 0");
    // A row that is there is not judged when a rule is bound.
    run(
        &mut session,
        &[
            "create rule small as @v < 0",
            "exec sp_bindrule small, 't.q'",
            "update t set id = 9",
        ],
    );
    assert_eq!(error(&mut session, "update t set q += 1"), 513);
}

/// A plan that is kept is not one of a column to which something else was bound since.
#[test]
fn a_kept_plan_follows_what_is_bound() {
    let (_instance, mut session) = begun();
    run(
        &mut session,
        &[
            "create procedure p @q int as insert t (id, q) values (1, @q)",
            "exec p 1",
            "exec sp_unbindrule 't.q'",
            "exec p -1",
            "exec sp_bindrule positive, 't.q'",
        ],
    );
    assert_eq!(error(&mut session, "exec p -2"), 513);
    run(
        &mut session,
        &[
            "create default one as 1",
            "exec sp_bindefault one, 't.q'",
            "insert t (id) values (7)",
        ],
    );
    assert_eq!(rows(&mut session, "select q from t where id = 7"), "1");
}

/// The words of 513 are those that SQL Server's users report, and the statement is undone as a whole.
#[test]
fn the_error_names_database_table_and_column() {
    let (_instance, mut session) = begun();
    let answered = answers(&mut session, "insert t (id, q) values (1, 1), (2, -1)");
    let (number, _, text) = &answered.errors[0];
    assert_eq!(
        (*number, text.as_str()),
        (
            513,
            "A column insert or update conflicts with a rule imposed by a previous CREATE RULE statement. The statement was terminated. \
             The conflict occurred in database 'd', table 'dbo.t', column 'q'."
        )
    );
    assert_eq!(rows(&mut session, "select count(*) from t"), "0");
}

/// Statements and procedures of defaults and rules are events ("DDL event groups": DDL_DEFAULT_EVENTS, DDL_RULE_EVENTS).
#[test]
fn each_is_an_event() {
    let (_instance, mut session) = begun();
    run(
        &mut session,
        &[
            "create table notes (n int identity, note nvarchar(200))",
            "create trigger tg on database for ddl_default_events, ddl_rule_events as \
             insert notes select concat(eventdata().value('(/EVENT_INSTANCE/EventType)[1]', 'sysname'), ' ', \
             eventdata().value('(/EVENT_INSTANCE/ObjectName)[1]', 'sysname'))",
            "create default one as 1",
            "create rule any_value as @v = @v",
            "exec sp_bindefault one, 't.id'",
            "exec sp_bindrule any_value, 't.id'",
            "exec sp_unbindefault 't.id'",
            "exec sp_unbindrule 't.id'",
            "drop default one",
            "drop rule any_value",
        ],
    );
    assert_eq!(
        rows(&mut session, "select note from notes order by n"),
        "CREATE_DEFAULT one|CREATE_RULE any_value|BIND_DEFAULT one|BIND_RULE any_value|UNBIND_DEFAULT id|UNBIND_RULE id|DROP_DEFAULT one|DROP_RULE any_value"
    );
}

/// What another transaction has bound and not committed is not dropped beneath it, nor bound when it was dropped.
#[test]
fn what_is_bound_elsewhere_is_waited_for() {
    let (instance, mut one) = begun();
    let mut other = transcript::session(&instance);
    run(&mut other, &["use d", "set lock_timeout 0"]);
    run(
        &mut one,
        &["create rule r as @v > 0", "begin tran exec sp_bindrule r, 't.id'"],
    );
    assert_eq!(error(&mut other, "drop rule r"), 1222);
    run(&mut one, &["commit"]);
    assert_eq!(error(&mut other, "drop rule r"), 3716);
    run(&mut one, &["exec sp_unbindrule 't.id'", "begin tran drop rule r"]);
    assert_eq!(error(&mut other, "exec sp_bindrule r, 't.id'"), 1222);
    run(&mut one, &["commit"]);
    assert_eq!(error(&mut other, "exec sp_bindrule r, 't.id'"), 15017);
}

/// What rules may not ask is found when the statement that writes is bound: the type of the variable is the column's.
#[test]
fn a_rule_that_does_not_fit_a_column_fails_when_a_value_comes() {
    let (_instance, mut session) = begun();
    run(
        &mut session,
        &[
            "create rule of_dates as datediff(day, @d, '2020-01-01') > 0",
            "create rule of_numbers as @n / 2 > 1",
            "exec sp_bindrule of_dates, 't.v'",
        ],
    );
    assert_eq!(error(&mut session, "insert t (v) values ('no date')"), 241);
    run(
        &mut session,
        &[
            "insert t (v) values ('2019-01-01')",
            "exec sp_bindrule of_numbers, 't.v'",
        ],
    );
    assert_eq!(error(&mut session, "insert t (v) values ('x')"), 245);
    run(&mut session, &["insert t (v) values ('8')"]);
}
