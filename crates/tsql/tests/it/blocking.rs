//! Sessions that wait: for each other (locks, cancellation, KILL, a deadlock), and for time to pass.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use engine::seams::SystemClock;
use transcript::{Transcript, instance, instance_with, session};
use tsql::session::{BatchOutcome, Session};

fn run(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    let outcome = session.execute(batch, &mut transcript);
    format!("{}{outcome:?}", transcript.text)
}

#[test]
fn writers_block_readers_until_they_commit() {
    let instance = instance_with(Arc::new(SystemClock::new()));
    let (mut writer, mut other) = (session(&instance), session(&instance));
    run(
        &mut writer,
        "set nocount on create table t (a int, b int) insert t values (1, 0), (2, 0)",
    );
    run(&mut writer, "begin tran update t set b = 1 where a = 1");
    run(&mut other, "set nocount on set lock_timeout 30");
    for waits in ["update t set b = 2 where a = 1", "select sum(b) from t", "delete t"] {
        assert!(run(&mut other, waits).contains("Msg 1222"), "{waits}");
    }
    assert!(run(&mut other, "select sum(b) from t with (nolock)").contains("\n  1\n"));
    assert!(run(&mut other, "insert t values (3, 5) select @@rowcount").contains("\n  1\n"));
    run(&mut writer, "commit");
    assert!(run(&mut other, "select sum(b) from t").contains("\n  6\n"));
}

/// A demonstration left one row uncommitted, and went on in another session with `INSERT ... SELECT TOP (300)`, which waited for the whole table:
/// pages are filled under an exclusive lock. Few rows did not wait, and on SQL Server many do not either.
#[test]
fn an_insert_of_many_rows_does_not_wait_for_a_row_that_another_has_inserted() {
    let instance = instance_with(Arc::new(SystemClock::new()));
    let (mut writer, mut other) = (session(&instance), session(&instance));
    run(
        &mut writer,
        "set nocount on create table t (a int, filler char(900) not null default '')
         create table source (a int) declare @i int = 0
         while @i < 1000 begin insert source values (@i) set @i += 1 end",
    );
    run(&mut writer, "begin tran insert t (a) values (-1)");
    run(&mut other, "set nocount on set lock_timeout 30");
    let inserted = run(&mut other, "insert t (a) select a from source select @@rowcount");
    assert!(inserted.contains("\n  1000\n"), "{inserted}");
    // TABLOCK asks for the whole table, and waits for it.
    let waits = run(&mut other, "insert t with (tablock) (a) select a from source");
    assert!(waits.contains("Msg 1222"), "{waits}");
    run(&mut writer, "rollback");
    assert!(run(&mut other, "select count(*), min(a) from t").contains("1000"));
}

#[test]
fn a_cancelled_batch_ends_and_the_session_goes_on() {
    let instance = instance_with(Arc::new(SystemClock::new()));
    let mut session = session(&instance);
    let cancel = session.cancel_flag();
    let stopper = std::thread::spawn({
        let cancel = cancel.clone();
        move || {
            std::thread::sleep(std::time::Duration::from_millis(50));
            cancel.store(true, Ordering::Relaxed);
        }
    });
    let mut transcript = Transcript::default();
    let outcome = session.execute("declare @i int = 0 while 1 = 1 set @i = 1", &mut transcript);
    assert_eq!((outcome, transcript.text.as_str()), (BatchOutcome::Cancelled, ""));
    stopper.join().unwrap();
    // A cancellation that comes before its request is not lost: the caller that hands requests over clears the flag.
    assert!(run(&mut session, "declare @i int = 0 while 1 = 1 set @i = 1").ends_with("Cancelled"));
    cancel.store(false, Ordering::Relaxed);
    assert!(run(&mut session, "select 1").ends_with("Completed"));
}

#[test]
fn a_killed_session_is_disconnected() {
    let instance = instance_with(Arc::new(SystemClock::new()));
    let (mut victim, mut killer) = (session(&instance), session(&instance));
    assert!(run(&mut killer, &format!("kill {}", victim.id())).ends_with("Completed"));
    assert_eq!(run(&mut victim, "select 1"), "Disconnected");
}

#[test]
fn a_deadlock_has_one_victim() {
    let instance = instance_with(Arc::new(SystemClock::new()));
    let mut first = session(&instance);
    run(
        &mut first,
        "create table x (a int) insert x values (1) create table y (a int) insert y values (1)",
    );
    run(&mut first, "begin tran update x set a = 2");
    let other_instance = instance.clone();
    let (ready, is_ready) = std::sync::mpsc::channel();
    let other = std::thread::spawn(move || {
        let mut second = session(&other_instance);
        run(&mut second, "begin tran update y set a = 3");
        ready.send(()).unwrap();
        run(&mut second, "update x set a = 3 select @@trancount t")
    });
    is_ready.recv().unwrap();
    let found = run(&mut first, "update y set a = 2 commit");
    let other = other.join().unwrap();
    let victims = [&found, &other]
        .iter()
        .filter(|answer| answer.contains("Msg 1205"))
        .count();
    assert_eq!(victims, 1, "{found}\n{other}");
}

/// WAITFOR slept by the machine's clock. On a modelled disk, where nobody waits for time, a script that waited for an hour took one, and what
/// it measured afterwards was none.
#[test]
fn waitfor_goes_by_the_clock_of_the_instance() {
    let instance = instance();
    let mut session = session(&instance);
    let delay =
        "declare @begun datetime = getdate() waitfor delay '10:30:00' select datediff(minute, @begun, getdate())";
    let answer = run(&mut session, delay);
    assert!(answer.contains("\n  630\n"), "{answer}");
    let answer = run(
        &mut session,
        "waitfor time '12:34' select convert(char(5), getdate(), 108)",
    );
    assert!(answer.contains("\n  12:34\n"), "{answer}");
    let waits = "select waiting_tasks_count, case when wait_time_ms > 37800000 then 'long' end from sys.dm_os_wait_stats \
                 where wait_type = 'WAITFOR'";
    let answer = run(&mut session, waits);
    assert!(answer.contains("\n  2 | long\n"), "{answer}");
    session.cancel_flag().store(true, Ordering::Relaxed);
    assert!(run(&mut session, "waitfor delay '10:00:00'").ends_with("Cancelled"));
}
