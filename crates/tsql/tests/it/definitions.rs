//! Each two statements that redefine an object at once, against the same two one after the other: the second waits for the
//! first.
//!
//! Depth: one pair in 3; deep: every one.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use std::sync::Arc;
use std::thread::JoinHandle;

use engine::instance::Instance;
use engine::seams::SystemClock;
use transcript::{Transcript, instance_with, session};
use tsql::session::Session;

/// Every statement here changes the definition of `{t}`, or the storage it names.
const STATEMENTS: &[&str] = &[
    "create index i1 on {t} (a)",
    "create index i2 on {t} (b)",
    "create unique clustered index c1 on {t} (a)",
    "drop index i0 on {t}",
    "alter index i0 on {t} rebuild",
    "alter table {t} add d int null",
    "alter table {t} add e int not null default 5",
    "alter table {t} drop column g",
    "alter table {t} alter column b bigint",
    "alter table {t} add constraint k_{t} check (a < 100)",
    "alter table {t} add constraint pk_{t} primary key (a)",
    "alter table {t} add constraint f_{t} foreign key (a) references {t}_p",
    "alter table {t} rebuild",
    "truncate table {t}",
    "exec sp_rename '{t}.b', 'bb', 'column'",
    "drop table {t}",
];

fn run(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute(batch, &mut transcript);
    transcript.text
}

/// Whether an answer tells of an error, and not only of something to know (severity 10).
fn failed(answer: &str) -> bool {
    answer.replace("Level 10,", "").contains("Level ")
}

fn start(instance: &Arc<Instance>, batch: String) -> JoinHandle<String> {
    let other = instance.clone();
    std::thread::spawn(move || run(&mut session(&other), &batch))
}

/// Returns when a session waits for a lock.
fn await_waiter(watcher: &mut Session, thread: &JoinHandle<String>, what: &str) {
    let waiting = "select count(*) from sys.dm_tran_locks where request_status = 'WAIT'";
    while !run(watcher, waiting).contains("\n  1\n") {
        assert!(!thread.is_finished(), "{what}: it did not wait");
        std::thread::yield_now();
    }
}

fn make(session: &mut Session, table: &str) {
    let made = run(
        session,
        &format!(
            "use d
             create table {table}_p (id int not null primary key)
             insert {table}_p values (1), (2), (3)
             create table {table} (a int not null, b int, f char(10), g int)
             create index i0 on {table} (f)
             insert {table} values (1, 10, 'one', 1), (2, 20, 'two', 2), (3, 30, 'three', 3)"
        ),
    );
    assert!(!made.contains("Msg"), "{made}");
}

/// What the catalog and the rows say of a table, whatever its name.
fn state(session: &mut Session, table: &str) -> String {
    let text = run(
        session,
        &format!(
            "select c.name, c.system_type_id, c.is_nullable from d.sys.columns c join d.sys.tables t on t.object_id = c.object_id \
               where t.name = '{table}' order by c.column_id
             select i.name, i.type, i.is_unique from d.sys.indexes i join d.sys.tables t on t.object_id = i.object_id \
               where t.name = '{table}' and i.is_primary_key = 0 order by i.index_id
             select count(*) from d.sys.objects o join d.sys.tables t on t.object_id = o.parent_object_id where t.name = '{table}'
             select * from d.dbo.{table} order by a"
        ),
    );
    text.replace(table, "t")
}

/// Each statement after each other, committed and rolled back, against the same two one after the other on a table of their own.
#[test]
fn of_two_definitions_the_second_is_made_from_what_the_first_left() {
    let sample = workbench::sample("pairs of definitions", 3);
    let mut pairs = 0;
    for (first_place, first) in STATEMENTS.iter().enumerate() {
        let instance = instance_with(Arc::new(SystemClock::new()));
        let (mut one, mut watcher) = (session(&instance), session(&instance));
        run(&mut one, "create database d");
        let mut tables = Vec::new();
        let seconds = STATEMENTS.iter().enumerate().skip(first_place % sample.one_in);
        for (second_place, second) in seconds.step_by(sample.one_in) {
            pairs += 1;
            // After a rollback all firsts leave the same.
            let ends = match (first_place + second_place) % 5 {
                0 => &["commit", "rollback"][..],
                _ => &["commit"],
            };
            for end in ends.iter().copied() {
                let table = format!("t{second_place}_{end}");
                one_after_the_other((&mut one, &mut watcher, &instance), (first, second, end), &table);
                tables.push(table);
            }
        }
        stays_after_opening(&mut one, &tables);
    }
    sample.count(pairs);
}

/// Two statements on a table, the second waiting for the first, leave and answer what they do one after the other.
fn one_after_the_other(
    (one, watcher, instance): (&mut Session, &mut Session, &Arc<Instance>),
    (first, second, end): (&str, &str, &str),
    table: &str,
) {
    let what = format!("{first}; {second}; {end}");
    let serial = format!("s{table}");
    make(one, table);
    make(one, &serial);
    let told = run(one, &format!("use d begin transaction {}", first.replace("{t}", table)));
    assert!(!failed(&told), "{what}: {told}");
    let waiting = start(instance, format!("use d {}", second.replace("{t}", table)));
    await_waiter(watcher, &waiting, &what);
    run(one, end);
    let answer = waiting.join().unwrap();
    if end == "commit" {
        run(one, &format!("use d {}", first.replace("{t}", &serial)));
    }
    let expected = run(one, &format!("use d {}", second.replace("{t}", &serial)));
    assert_eq!(answer.replace(table, "t"), expected.replace(&serial, "t"), "{what}");
    assert_eq!(state(one, table), state(one, &serial), "{what}");
}

fn stays_after_opening(session: &mut Session, tables: &[String]) {
    let before: Vec<String> = tables.iter().map(|table| state(session, table)).collect();
    let opened = run(
        session,
        "use master alter database d set offline alter database d set online dbcc checkdb (d) with no_infomsgs",
    );
    assert!(!opened.contains("Msg 8"), "{opened}");
    for (table, before) in tables.iter().zip(before) {
        assert_eq!(state(session, table), before, "{table} after opening");
    }
}

/// What refers to a table and the table itself: a foreign key that comes while its table is dropped or changed, and the other way.
#[test]
fn a_foreign_key_and_the_table_it_refers_to_are_judged_one_after_the_other() {
    let key = "alter table c add constraint fk foreign key (a) references p";
    for (first, second, end, found) in [
        (key, "drop table p", "commit", "Msg 3726"),
        (key, "drop table p", "rollback", ""),
        (key, "truncate table p", "commit", "Msg 4712"),
        (key, "alter table p drop constraint pk", "commit", "Msg 3725"),
        (key, "alter table p drop constraint pk", "rollback", ""),
        ("drop table p", key, "commit", "Msg 1767"),
        ("drop table p", key, "rollback", ""),
        ("alter table p drop constraint pk", key, "commit", "Msg 1773"),
        ("alter table p drop constraint pk", key, "rollback", ""),
        (
            "drop table p",
            "create table n (a int references p)",
            "commit",
            "Msg 1767",
        ),
    ] {
        let what = format!("{first}; {second}; {end}");
        let instance = instance_with(Arc::new(SystemClock::new()));
        let (mut one, mut watcher) = (session(&instance), session(&instance));
        run(
            &mut one,
            "create table p (id int not null constraint pk primary key) create table c (a int) insert p values (1) insert c values (1)",
        );
        let told = run(&mut one, &format!("begin transaction {first}"));
        assert!(!failed(&told), "{what}: {told}");
        let waiting = start(&instance, second.to_owned());
        await_waiter(&mut watcher, &waiting, &what);
        run(&mut one, end);
        let answer = waiting.join().unwrap();
        let is_as_found = if found.is_empty() {
            !answer.contains("Msg")
        } else {
            answer.contains(found)
        };
        assert!(is_as_found, "{what}: {answer}");
    }
}

/// A name follows its object: after a rename the former name is free, and finds nothing.
#[test]
fn a_renamed_object_is_not_found_by_its_former_name() {
    let instance = instance_with(Arc::new(SystemClock::new()));
    let mut one = session(&instance);
    run(
        &mut one,
        "create table t (a int) insert t values (1) create table t_new (a int)",
    );
    let told = run(&mut one, "exec sp_rename 't', 't_old' exec sp_rename 't_new', 't'");
    assert!(!told.contains("Msg 15335"), "{told}");
    run(&mut one, "insert t values (5)");
    assert!(run(&mut one, "select * from t_old").contains("\n  1\n"));
    assert!(run(&mut one, "drop table t select * from t_old").contains("\n  1\n"));
    let told = run(&mut one, "create procedure p as select 1");
    assert!(!told.contains("Msg"), "{told}");
    let told = run(&mut one, "begin transaction exec sp_rename 'p', 'q' exec p");
    assert!(told.contains("Msg 2812"), "{told}");
    let told = run(&mut one, "exec q rollback exec p");
    assert!(!told.contains("Msg"), "{told}");
    assert!(run(&mut one, "exec q").contains("Msg 2812"));
}

/// What names a column or is inside a schema keeps it (sql-docs, "ALTER TABLE": a column cannot be dropped or changed when it is used in
/// a CHECK constraint or associated with a default definition; "DROP SCHEMA": the schema must not contain any objects).
#[test]
fn what_others_name_stays() {
    let instance = instance_with(Arc::new(SystemClock::new()));
    let mut one = session(&instance);
    for batch in [
        "create table t (a int constraint ck check (a > 0), b int constraint df default 7, c varchar(10) check (len(c) > 1), d int, e int)",
        "create view v with schemabinding as select d from dbo.t",
        "create schema s",
        "create table s.x (a int)",
    ] {
        let told = run(&mut one, batch);
        assert!(!told.contains("Msg"), "{batch}: {told}");
    }
    for (statement, found) in [
        ("alter table t drop column a", "Msg 5074"),
        ("alter table t drop column b", "Msg 5074"),
        ("alter table t drop column d", "Msg 5074"),
        ("alter table t alter column a bigint", "Msg 5074"),
        ("alter table t alter column b varchar(5)", "Msg 5074"),
        ("alter table t alter column d bigint", "Msg 5074"),
        ("exec sp_rename 't.a', 'aa', 'column'", "Msg 15336"),
        ("exec sp_rename 't.d', 'dd', 'column'", "Msg 15336"),
        ("exec sp_rename 't', 'tt'", "Msg 15336"),
        ("drop schema s", "Msg 3729"),
    ] {
        let told = run(&mut one, statement);
        assert!(told.contains(found), "{statement}: {told}");
    }
    for statement in [
        "alter table t alter column c varchar(20)",
        "alter table t alter column e bigint",
        "alter table t drop column e",
        "alter table t drop constraint df",
        "alter table t drop column b",
        "drop view v",
        "alter table t drop column d",
        "insert t values (1, 'xx')",
        "drop table s.x",
        "drop schema s",
    ] {
        let told = run(&mut one, statement);
        assert!(!told.contains("Msg"), "{statement}: {told}");
    }
}
