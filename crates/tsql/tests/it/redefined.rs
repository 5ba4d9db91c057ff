//! Two sessions at one foreign key, and statements that wait while the objects they are bound to are redefined.
//!
//! Depth: one statement that waits in 11; deep: every one.
#![allow(clippy::unwrap_used)]

use crate::transcript;

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

/// The second session waits for the lock of the first, and then sees the outcome.
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

/// A table with an index and objects that read it: one of each kind.
const READ: [&str; 9] = [
    "create database d",
    "use d create table t (a int, b int) create index ix on t (b) insert t values (1, 10), (2, 20)",
    "create table u (a int) insert u values (1), (2), (3) create table s2 (a int)",
    "create view v as select a, b from t",
    "create view w as select * from v where b > 5",
    "create function dbo.f(@a int) returns int as begin return (select max(b) from t where a = @a) end",
    "create function dbo.i() returns table as return select a, b from t",
    "create function dbo.m() returns @r table (a int) as begin insert @r select a from t return end",
    "create procedure p as select * from t select max(b) from t",
];

/// Every form of statement that reads a table.
const READERS: [&str; 31] = [
    "select * from t",
    "select count(*) from t",
    "select a from t where b = 20",
    "select * from t with (nolock)",
    "select * from t with (tablock, holdlock)",
    "select * from t with (updlock)",
    "set transaction isolation level serializable select * from t",
    "set transaction isolation level repeatable read select * from t",
    "select u.a from u join t on t.a = u.a",
    "select u.a, t.b from u left join t on t.a = u.a",
    "select * from u where exists (select * from t where t.a = u.a)",
    "select * from u where a in (select a from t)",
    "select u.a, (select max(b) from t where t.a = u.a) from u",
    "select u.a, x.b from u cross apply (select b from t where t.a = u.a) x",
    "with q as (select * from t) select * from q union all select * from q",
    "select * from v",
    "select a from w where b = 20",
    "select dbo.f(2)",
    "select a from u where dbo.f(a) > 0",
    "select * from dbo.i()",
    "select * from dbo.m()",
    "exec p",
    "exec ('select * from t')",
    "exec sp_executesql N'select * from t where b = @b', N'@b int', 20",
    "if exists (select * from t where b = 20) select 'yes' else select 'no'",
    "declare @x int set @x = (select max(b) from t) select @x",
    "declare @x int select @x = max(b) from t select @x",
    "declare @x int = dbo.f(2) select @x",
    "select * into s from t select * from s drop table s",
    "insert s2 select a from t select * from s2 delete s2",
    "declare c cursor for select a, b from t open c fetch next from c close c deallocate c",
];

/// Every way to redefine what they read.
const REDEFINITIONS: [&str; 16] = [
    "alter table t add c int",
    "alter table t add c int not null default 5",
    "alter table t drop column a",
    "alter table t alter column a bigint",
    "drop table t",
    "drop table t create table t (z int, b int, a varchar(5)) insert t values (9, 20, '1')",
    "truncate table t insert t values (7, 20)",
    "create index i2 on t (a)",
    "create clustered index i3 on t (b desc)",
    "drop index ix on t",
    "alter index ix on t rebuild update t set b += 1 where a = 1",
    "exec sp_rename 't', 't2'",
    "exec sp_rename 't.b', 'bb', 'column'",
    "exec ('alter view v as select b as a, a as b from t') update t set a = 20 where a = 2",
    "exec ('alter function dbo.f(@a int) returns int as begin return (select min(a) from t) end') update t set a += 7",
    "exec ('alter function dbo.i() returns table as return select b as a, a as b from t') truncate table t",
];

/// A statement that waited while another session redefined what it reads answers as if it had started afterwards: neither old rows nor
/// new rows by an old definition. That is so for plans made just now and for those kept; and also when the change is rolled back.
#[test]
fn a_reader_that_waited_for_a_new_definition_reads_by_it() {
    let sample = workbench::sample("readers that wait for a new definition", 11);
    let ends = [(false, "commit"), (true, "commit"), (true, "rollback")];
    let readers = REDEFINITIONS
        .iter()
        .flat_map(|redefinition| READERS.iter().map(move |reader| (redefinition, reader)));
    let cases = readers.flat_map(|(redefinition, reader)| ends.map(|end| (redefinition, reader, end)));
    let (mut tried, mut waited) = (0, 0);
    for (redefinition, reader, (is_kept, end)) in cases.step_by(sample.one_in) {
        waited += usize::from(reads_by_the_definition_there_is(redefinition, reader, is_kept, end));
        tried += 1;
    }
    // A session that changes only a module blocks only its users; everyone had to wait.
    assert!(waited * sample.one_in > 3 * READERS.len() * 12, "{waited} of {tried}");
    sample.count(tried);
}

/// Whether it waited.
fn reads_by_the_definition_there_is(redefinition: &str, reader: &str, is_kept: bool, end: &str) -> bool {
    let told = format!("{redefinition} | {reader} | kept: {is_kept} | {end}");
    let instance = instance();
    let (mut one, mut watcher) = (session(&instance), session(&instance));
    for batch in READ {
        let answer = run(&mut one, batch);
        assert!(!answer.contains("Msg"), "{batch}: {answer}");
    }
    let (asks, asked) = std::sync::mpsc::channel();
    let (is_ready, ready) = std::sync::mpsc::channel();
    let (other, text) = (instance.clone(), format!("use d\n{reader}"));
    let thread = std::thread::spawn(move || {
        let mut session = session(&other);
        if is_kept {
            run(&mut session, &text);
        }
        is_ready.send(()).unwrap();
        asked.recv().unwrap();
        let answer = run(&mut session, &text);
        run(&mut session, "use master");
        let held = run(
            &mut session,
            "select count(*) from sys.dm_tran_locks where request_session_id = @@spid and resource_type <> 'DATABASE'",
        );
        (answer, held)
    });
    ready.recv().unwrap();
    let answer = run(&mut one, &format!("begin transaction {redefinition}"));
    assert!(!answer.contains("Level 16"), "{told}: {answer}");
    asks.send(()).unwrap();
    let waits = "select count(*) from sys.dm_tran_locks where request_status = 'WAIT'";
    let mut has_waited = false;
    while !thread.is_finished() && !has_waited {
        has_waited = run(&mut watcher, waits).contains("\n  1\n");
        std::thread::yield_now();
    }
    run(&mut one, end);
    let (answer, held) = thread.join().unwrap();
    let text = format!("use d\n{reader}");
    let asked_then = run(&mut session(&instance), &text);
    if reader.contains("nolock") && !has_waited {
        // Only rows were changed of what it reads, and it reads what is not committed.
        return false;
    }
    let database = "  (database d)\n";
    assert_eq!(answer.replace(database, ""), asked_then.replace(database, ""), "{told}");
    assert!(held.contains("\n  0\n"), "{told}: locks stay: {held}");
    has_waited
}

/// What is said of a table that is dropped may have gone with a user meanwhile, or be there still.
#[test]
fn a_table_is_dropped_beside_a_user_who_was_given_something_on_it() {
    for end in ["commit", "rollback"] {
        let instance = instance();
        let (mut one, mut watcher) = (session(&instance), session(&instance));
        run(
            &mut one,
            "create user u without login create table t (a int) grant select on t to u",
        );
        run(&mut one, "begin tran drop user u");
        let thread = start_waiting(&instance, &mut watcher, "drop table t");
        run(&mut one, end);
        let answer = thread.join().unwrap();
        assert!(!answer.contains("Msg"), "{end}: {answer}");
        let left = run(
            &mut one,
            "select count(*) from sys.database_permissions where permission_name = 'SELECT'",
        );
        assert!(left.contains("\n  0\n"), "{end}: {left}");
    }
}
