//! Two sessions at one foreign key, and a statement that waits while its table is redefined.
#![allow(clippy::unwrap_used, missing_docs)]

mod transcript;

use std::sync::Arc;
use std::thread::JoinHandle;

use engine::instance::Instance;
use engine::seams::SystemClock;
use transcript::{Transcript, instance_with, session};
use tsql::session::Session;

fn instance() -> Arc<Instance> {
    instance_with(Arc::new(SystemClock::new()))
}

fn run(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute(batch, &mut transcript);
    transcript.text
}

/// Runs a batch in a session of its own, and returns when it waits for a lock.
fn start_waiting(instance: &Arc<Instance>, watcher: &mut Session, batch: &'static str) -> JoinHandle<String> {
    let other = instance.clone();
    let thread = std::thread::spawn(move || run(&mut session(&other), batch));
    while !run(
        watcher,
        "select count(*) from sys.dm_tran_locks where request_status = 'WAIT'",
    )
    .contains("\n  1\n")
    {
        assert!(
            !thread.is_finished(),
            "{batch}: it did not wait: {}",
            thread.join().unwrap()
        );
        std::thread::yield_now();
    }
    thread
}

/// Whoever comes second waits for the other's lock, and then sees what became of it.
#[test]
fn of_two_sessions_at_one_key_the_second_waits_for_the_first() {
    for shape in ["", "create index i on c (pid)"] {
        for (first, second, end, found) in [
            ("insert c values (1)", "delete p where id = 1", "commit", "Msg 547"),
            (
                "insert c values (1)",
                "delete p where id = 1",
                "rollback",
                "(1 rows, Delete)",
            ),
            ("delete p where id = 1", "insert c values (1)", "commit", "Msg 547"),
            (
                "delete p where id = 1",
                "insert c values (1)",
                "rollback",
                "(1 rows, Insert)",
            ),
            (
                "update p set id = 5 where id = 1",
                "insert c values (1)",
                "commit",
                "Msg 547",
            ),
            (
                "update p set id = 5 where id = 1",
                "insert c values (5)",
                "rollback",
                "Msg 547",
            ),
            ("delete c where pid = 2", "delete p where id = 2", "rollback", "Msg 547"),
            (
                "delete c where pid = 2",
                "delete p where id = 2",
                "commit",
                "(1 rows, Delete)",
            ),
            (
                "update c set pid = null where pid = 2",
                "delete p where id = 2",
                "rollback",
                "Msg 547",
            ),
        ] {
            let instance = instance();
            let (mut one, mut watcher) = (session(&instance), session(&instance));
            run(
                &mut one,
                "create table p (id int not null primary key) create table c (pid int references p) \
                 insert p values (1), (2) insert c values (2)",
            );
            run(&mut one, shape);
            let told = run(&mut one, &format!("begin transaction {first}"));
            assert!(!told.contains("Msg"), "{first}: {told}");
            let waiting = start_waiting(&instance, &mut watcher, second);
            run(&mut one, end);
            let answer = waiting.join().unwrap();
            assert!(answer.contains(found), "{first}, {second}, {end}, {shape}: {answer}");
        }
    }
}

/// A statement that was bound before a table was redefined, and got the table's lock after, is bound again: else rows would be written
/// past an index, or against a constraint, that is there by then.
#[test]
fn a_statement_that_waited_for_a_new_definition_obeys_it() {
    for (definition, statement, found) in [
        (
            "create unique index i on c (n)",
            "insert c values (null, 7)",
            "Msg 2601",
        ),
        (
            "create unique index i on c (n)",
            "update c set n = 7 where pid is null",
            "Msg 2601",
        ),
        (
            "alter table c add constraint k check (n < 100)",
            "insert c values (2, 100)",
            "Msg 547",
        ),
        (
            "alter table c add constraint f foreign key (pid) references p",
            "insert c values (9, 9)",
            "Msg 547",
        ),
        (
            "alter table c add constraint f foreign key (pid) references p",
            "delete p where id = 2",
            "Msg 547",
        ),
        (
            "alter table c alter column n int not null",
            "insert c values (2, null)",
            "Msg 515",
        ),
        (
            "truncate table c",
            "insert c select top (1) pid, n from c",
            "(0 rows, Insert)",
        ),
    ] {
        let instance = instance();
        let (mut one, mut watcher) = (session(&instance), session(&instance));
        run(&mut one, "create database d");
        run(
            &mut one,
            "use d create table p (id int not null primary key) create table c (pid int, n int) \
             insert p values (1), (2) insert c values (2, 7), (null, 8)",
        );
        run(&mut one, "begin transaction");
        let told = run(&mut one, definition);
        assert!(!told.contains("Msg"), "{definition}: {told}");
        let text: &'static str = Box::leak(format!("use d\n{statement}").into_boxed_str());
        let waiting = start_waiting(&instance, &mut watcher, text);
        run(&mut one, "commit");
        let answer = waiting.join().unwrap();
        assert!(answer.contains(found), "{definition}, {statement}: {answer}");
        let checked = run(&mut one, "dbcc checkdb (d) with no_infomsgs");
        assert!(!checked.contains("Msg"), "{checked}");
    }
}

const TABLES: &str = "use d create table c (pid int, n int) create index i0 on c (n) insert c values (2, 7), (null, 8)";

/// Of two sessions that redefine one table, the second begins with what the first has left: nothing of either is lost, and the catalog
/// and the space maps are whole, also for who opens the database again.
#[test]
fn who_redefines_a_table_begins_with_what_others_have_made_of_it() {
    let first = [
        "alter table c add k1 int",
        "alter table c add k1 int not null default 1",
        "create index i1 on c (n)",
        "create clustered index i1 on c (n)",
        "drop table c",
        "truncate table c",
        "alter table c drop column pid",
        "alter table c alter column pid bigint",
        "exec sp_rename 'c', 'd'",
        "drop table c create table c (n bigint)",
        "drop index i0 on c",
        "alter index i0 on c rebuild",
        "create table r (x int primary key) alter table c add constraint f foreign key (pid) references r",
        "create table other (n int)",
    ];
    // What the second does, and the numbers with which it may fail after the first.
    let second: [(&str, &[&str]); 13] = [
        ("alter table c add k2 int", &["4902"]),
        ("alter table c add k3 int not null default 2", &["4902"]),
        ("create index i2 on c (n)", &["4902"]),
        ("create clustered index i2 on c (n)", &["1902", "4902"]),
        ("drop table c", &["3701", "4902"]),
        ("truncate table c", &["4902"]),
        ("alter table c alter column n bigint", &["4902"]),
        ("alter table c add constraint u2 unique (n)", &["4902"]),
        ("exec sp_rename 'c', 'e'", &["15225"]),
        ("exec sp_rename 'c.n', 'm', 'column'", &["15225"]),
        ("drop index i0 on c", &["3701", "4902"]),
        ("alter index i0 on c rebuild", &["2727", "4902"]),
        ("create table r2 (x int references c (n))", &["1776", "1767"]),
    ];
    let mut waited = 0;
    for one_text in first {
        for (two_text, refusals) in second {
            let instance = instance();
            let (mut one, mut watcher) = (session(&instance), session(&instance));
            run(&mut one, "create database d");
            run(&mut one, TABLES);
            run(&mut one, "begin transaction");
            let told = run(&mut one, one_text);
            assert!(!told.contains("Level 16"), "{one_text}: {told}");
            let text: &'static str = Box::leak(format!("use d\n{two_text}").into_boxed_str());
            let answer = if one_text.contains("other") {
                run(&mut watcher, text)
            } else {
                waited += 1;
                let waiting = start_waiting(&instance, &mut watcher, text);
                run(&mut one, "commit");
                waiting.join().unwrap()
            };
            let told = format!("{one_text} | {two_text}: {answer}");
            let is_refused = refusals.iter().any(|number| answer.contains(&format!("Msg {number},")));
            assert!(!answer.contains("Level 16") || is_refused, "{told}");
            run(&mut one, "if @@trancount > 0 commit");
            let checked = run(&mut one, "dbcc checkdb (d) with no_infomsgs");
            assert!(!checked.contains("Msg"), "{told}\n{checked}");
            let catalog = "use d select o.name, c.name from sys.objects o join sys.columns c on c.object_id = o.object_id \
                           where o.object_id > 100 order by 1, 2 select name from sys.indexes order by 1";
            let before = run(&mut one, catalog);
            let has = |name: &str| {
                before
                    .lines()
                    .any(|line| line.split('|').any(|part| part.trim() == name))
            };
            let is_gone = ["drop table", "truncate"].iter().any(|word| two_text.contains(word));
            if !answer.contains("Level 16") && !is_gone {
                for name in ["k1", "i1", "k2", "k3", "i2", "u2", "m"] {
                    let is_made = one_text.contains(&format!(" {name} ")) || two_text.contains(&format!(" {name} "));
                    assert!(!is_made || has(name), "{told}: {name} is lost: {before}");
                }
            }
            run(
                &mut one,
                "use master alter database d set offline with rollback immediate alter database d set online",
            );
            assert_eq!(run(&mut one, catalog), before, "{told}");
            let checked = run(&mut one, "dbcc checkdb (d) with no_infomsgs");
            assert!(!checked.contains("Msg"), "{told}\n{checked}");
        }
    }
    assert_eq!(waited, 13 * second.len());
}
