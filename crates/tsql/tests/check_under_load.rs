//! DBCC CHECKDB and its kin while others insert, delete, grow, create, drop and roll back: a sound database has no findings.
#![allow(clippy::unwrap_used, missing_docs)]

mod transcript;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use engine::instance::Instance;
use engine::seams::SystemClock;
use transcript::{Transcript, instance_with, session};
use tsql::session::Session;

const CHECKS: usize = 60;

fn run(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute(batch, &mut transcript);
    transcript.text
}

/// Runs batches by turns until it is told to stop; counts the rounds.
fn keep_running(instance: &Arc<Instance>, stop: &AtomicBool, rounds: &AtomicU64, batches: &dyn Fn(u64) -> String) {
    let mut own = session(instance);
    run(&mut own, "use loaded");
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        number += 1;
        let answer = run(&mut own, &batches(number));
        // A deadlock with the check has one victim; everything else must work.
        assert!(!answer.contains("Msg ") || answer.contains("Msg 1205"), "{answer}");
        run(&mut own, "if @@trancount > 0 rollback");
        rounds.fetch_add(1, Ordering::Relaxed);
    }
}

fn writes(number: u64) -> String {
    format!(
        "set nocount on insert t (b, c) values ({number}, replicate('x', {}))
         if {number} % 3 = 0 update t set c = replicate('y', 500) where a = {number} / 2
         if {number} % 5 = 0 delete t where a < {number} - 40
         begin tran insert t (b, c) values (0, 'z') rollback",
        number % 700
    )
}

fn definitions(number: u64) -> String {
    format!(
        "set nocount on create table d{number} (a int not null primary key, b char(2000))
         insert d{number} values (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e')
         create index i on d{number} (b)
         begin tran create table e{number} (a char(3000)) insert e{number} values ('x'), ('y'), ('z') rollback
         insert d{number} select a + 10, b from d{number}
         begin tran truncate table d{number} if {number} % 2 = 0 rollback else commit
         if {number} > 3 exec ('drop table d' + '{}')",
        number.saturating_sub(3)
    )
}

#[test]
fn a_sound_database_has_no_findings_whatever_others_do_meanwhile() {
    let instance = instance_with(Arc::new(SystemClock::new()));
    let mut checker = session(&instance);
    let prepared = run(&mut checker, "create database loaded");
    assert!(!prepared.contains("Msg "), "{prepared}");
    run(&mut checker, "alter database loaded set recovery simple use loaded");
    let columns = "(a int identity not null primary key, b int, c varchar(1000))";
    let prepared = run(
        &mut checker,
        &format!("use loaded create table t {columns} create index by_b on t (b)"),
    );
    assert!(!prepared.contains("Msg "), "{prepared}");
    let (stop, rounds) = (AtomicBool::new(false), [const { AtomicU64::new(0) }; 3]);
    let checks = ["dbcc checkdb", "dbcc checkalloc", "dbcc checktable ('t')", "checkpoint"];
    std::thread::scope(|scope| {
        let works: [&(dyn Fn(u64) -> String + Sync); 3] = [&writes, &writes, &definitions];
        for (work, rounds) in works.into_iter().zip(&rounds) {
            let (instance, stop) = (&instance, &stop);
            scope.spawn(move || keep_running(instance, stop, rounds, work));
        }
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            while rounds.iter().any(|rounds| rounds.load(Ordering::Relaxed) == 0) {
                std::thread::yield_now();
            }
            for number in 0..CHECKS {
                let answer = run(&mut checker, checks[number % checks.len()]);
                let findings: Vec<&str> = answer.lines().filter(|line| line.contains("Level 16")).collect();
                assert!(findings.is_empty(), "check {number}: {answer}");
                let is_told_clean =
                    number % 4 > 1 || answer.contains("found 0 allocation errors and 0 consistency errors");
                assert!(is_told_clean, "check {number}: {answer}");
            }
        }));
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = result {
            std::panic::resume_unwind(panic);
        }
    });
    assert!(rounds.iter().all(|rounds| rounds.load(Ordering::Relaxed) > 1));
}
