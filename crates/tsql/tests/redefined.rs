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
