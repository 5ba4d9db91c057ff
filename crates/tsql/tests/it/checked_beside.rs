//! DBCC CHECKDB and CHECKTABLE in a loop beside sessions that create, fill, empty and drop tables: work under way is not
//! reported as damage.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use engine::seams::SystemClock;
use transcript::{Transcript, instance_with, session};
use tsql::session::Session;

const CHECKS: usize = 60;

fn run(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute(batch, &mut transcript);
    transcript.text
}

/// What the sessions beside the check do over and over, each with tables of its own: storage that is made and given back, by commits and
/// by rollbacks, splits, growth, and indexes that are built.
const WORK: [&str; 3] = [
    "create table a (n int primary key, s char(900)) insert a select value, 'x' from numbers where value <= 40 \
     create index i on a (s) delete a where n % 3 = 0 truncate table a drop table a",
    "begin transaction create table b (n int) insert b values (1), (2) create index j on b (n) rollback \
     select value as n into b from numbers drop table b",
    "begin transaction insert c select value, replicate('y', value % 700) from numbers where value <= 60 update c set n += 1000 where n % 2 = 0 \
     commit begin transaction delete c where n < 500 rollback delete c",
];

/// What a round leaves that was ended in its middle.
const CLEANUP: [&str; 3] = ["drop table if exists a", "drop table if exists b", ""];

fn is_victim(answer: &str) -> bool {
    answer.contains("Msg 1205,")
}

#[test]
fn a_check_finds_no_damage_in_what_is_under_way() {
    let instance = instance_with(Arc::new(SystemClock::new()));
    let mut checker = session(&instance);
    run(&mut checker, "create database d");
    run(
        &mut checker,
        "use d create table c (n int, s varchar(700)) create index k on c (n)",
    );
    run(&mut checker, "create table numbers (value int)");
    let numbers: Vec<String> = (1..=200).map(|number| format!("({number})")).collect();
    run(&mut checker, &format!("insert numbers values {}", numbers.join(", ")));
    let (is_over, rounds) = (AtomicBool::new(false), AtomicUsize::new(0));
    let found = std::thread::scope(|scope| {
        for (work, cleanup) in WORK.into_iter().zip(CLEANUP) {
            let (instance, is_over, rounds) = (&instance, &is_over, &rounds);
            scope.spawn(move || {
                let mut session = session(instance);
                run(&mut session, "use d");
                while !is_over.load(Ordering::Relaxed) {
                    let mut answers = vec![run(&mut session, work)];
                    // Either may be the victim of a deadlock with the check; what a round leaves would be in the way of the next one.
                    while answers.len() == 1 || is_victim(&answers[answers.len() - 1]) {
                        answers.push(run(&mut session, &format!("if @@trancount > 0 rollback {cleanup}")));
                    }
                    if answers
                        .iter()
                        .any(|answer| answer.contains("Msg ") && !is_victim(answer))
                    {
                        is_over.store(true, Ordering::Relaxed);
                        panic!("{work}: {answers:?}");
                    }
                    rounds.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut found = String::new();
        for check in 0..CHECKS {
            let statement = [
                "dbcc checkdb (d) with no_infomsgs",
                "dbcc checktable ('d.dbo.c') with no_infomsgs",
            ][check % 2];
            let answer = run(&mut checker, statement);
            if answer.contains("Msg") || is_over.load(Ordering::Relaxed) {
                found = format!("{check}: {answer}");
                break;
            }
        }
        is_over.store(true, Ordering::Relaxed);
        found
    });
    assert!(found.is_empty(), "{found}");
    assert!(rounds.load(Ordering::Relaxed) > 3, "nobody worked beside the check");
}
