//! Searches beside sessions that move keys: every row whose key stays is found, by every kind of search.
//!
//! Depth: one case of shape, change, search and end in 5; deep: every one.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

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

/// Shapes of a table with a nonclustered index on `k`.
const SHAPES: [&str; 4] = [
    "create table t (id int, k int, v int) create index ik on t (k)",
    "create table t (id int primary key, k int, v int) create index ik on t (k)",
    "create table t (id int, k int, v int) create unique index ik on t (k)",
    "create table t (id int primary key nonclustered, k int, v int) create clustered index ic on t (v) create index ik on t (k desc)",
];

/// What one session does and does not commit, with rows (1, 10, 100), (2, 20, 200), (3, 30, 300).
const CHANGES: [&str; 7] = [
    "update t set k = 99 where id = 2",
    "update t set k = 15 where id = 2",
    "update t set k = 25, v = 1 where id = 2",
    "delete t where id = 2",
    "delete t where id = 2 insert t values (2, 20, 201)",
    "insert t values (4, 21, 400)",
    "update t set id = 7 where id = 2",
];

/// Searches that find row 2 by its key.
const SEARCHES: [&str; 18] = [
    "select id from t where k = 20",
    "select id from t where k > 12 and k < 28 order by id",
    "select id, v from t where k >= 20 order by id",
    "select id from t where k in (20, 30) order by id",
    "select x.n, t.id from (values (10), (20)) x (n) join t on t.k = x.n order by 1",
    "select count(*) from t where k between 19 and 22",
    "select n from (values (20)) x (n) where exists (select * from t where k = n)",
    "set transaction isolation level repeatable read select id from t where k = 20",
    "set transaction isolation level serializable select id from t where k = 20",
    "select id from t with (updlock) where k = 20",
    "begin transaction update t set v += 1 where k = 20 select id, v from t order by id rollback",
    "begin transaction delete t where k = 20 select id from t order by id rollback",
    "select k from t with (index (ik)) where k > 12 order by k desc",
    "select id, v from t with (index (ik)) where k between 12 and 28 order by k",
    "select top 2 id from t with (index (ik)) order by k desc",
    "select min(k), max(k) from t with (index (ik))",
    "select id, v from t with (index (ik)) where k = 20 or k > 28 order by k desc",
    "select id from t where k = 20 or id = 3 order by id",
];

/// A search that meets an index entry that another session has made or deleted, and not committed, waits, and then answers what is
/// committed.
#[test]
fn a_search_beside_a_change_of_the_key_answers_what_is_committed() {
    let cases = SHAPES
        .into_iter()
        .flat_map(|shape| CHANGES.map(|change| (shape, change)));
    let cases = cases.flat_map(|(shape, change)| SEARCHES.map(|search| (shape, change, search)));
    let cases =
        cases.flat_map(|(shape, change, search)| ["commit", "rollback"].map(|end| (shape, change, search, end)));
    let sample = workbench::sample("searches beside a change of the key", 5);
    let (mut tried, mut waited) = (0, 0);
    for (shape, change, search, end) in cases.step_by(sample.one_in) {
        let told = format!("{shape} | {change} | {search} | {end}");
        let instance = instance();
        let (mut one, mut watcher) = (session(&instance), session(&instance));
        run(&mut one, shape);
        run(&mut one, "insert t values (1, 10, 100), (2, 20, 200), (3, 30, 300)");
        let answer = run(&mut one, &format!("begin transaction {change}"));
        assert!(!answer.contains("Msg"), "{told}: {answer}");
        let other = instance.clone();
        let thread = std::thread::spawn(move || run(&mut session(&other), search));
        let waits = "select count(*) from sys.dm_tran_locks where request_status = 'WAIT'";
        while !thread.is_finished() {
            if run(&mut watcher, waits).contains("\n  1\n") {
                waited += 1;
                break;
            }
            std::thread::yield_now();
        }
        run(&mut one, end);
        let answer = thread.join().unwrap();
        assert_eq!(answer, run(&mut session(&instance), search), "{told}");
        tried += 1;
    }
    assert!(waited * 4 > tried * 3, "{waited} of {tried} waited");
    sample.count(tried);
}

const ROWS: usize = 8;
const READS: usize = 400;
const MOVES_MIN: usize = 10;

/// A search and what it answers at every moment: one row's id, or a count.
fn search_of(read: usize, row: usize) -> (String, usize) {
    match read % 7 {
        0 => (format!("select id from t where k = {row}0"), row),
        1 => (
            format!("select count(*) from t where k > {row}0 - 1 and k < {row}0 + 1"),
            1,
        ),
        2 => (
            format!("select id from t with (index (ik)) where k >= {row}0 and k <= {row}0 order by k desc"),
            row,
        ),
        // The entries of the whole index alone, and with their rows, forward and backward.
        3 => ("select count(*) from t with (index (ik))".to_owned(), ROWS),
        4 => (
            "select count(v) from t with (index (ik)) where k in (10, 20, 30, 40, 50, 60, 70, 80)".to_owned(),
            ROWS,
        ),
        5 => (
            format!(
                "select count(*) from (select top 100 id, v from t with (index (ik)) order by k desc) x where id = {row}"
            ),
            1,
        ),
        _ => (
            format!("select count(*) from t where k % 10 = 0 and k = {row}0 + 0 * v"),
            1,
        ),
    }
}

/// Sessions move keys to and fro, and never commit one that differs from what it was. So every search at every moment finds every row,
/// once; by equality, by range, by the whole of the index either way, with and without its rows, and by a scan of the table.
#[test]
fn a_row_whose_key_nobody_commits_a_change_of_is_always_found() {
    for shape in SHAPES {
        let instance = instance();
        let mut first = session(&instance);
        run(&mut first, shape);
        for row in 1..=ROWS {
            run(&mut first, &format!("insert t values ({row}, {row}0, {row})"));
        }
        let (is_over, moves) = (AtomicBool::new(false), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for writer in 0..2 {
                let (instance, is_over, moves) = (&instance, &is_over, &moves);
                scope.spawn(move || {
                    let mut session = session(instance);
                    let mut step = writer;
                    while !is_over.load(Ordering::Relaxed) {
                        step += 1;
                        let row = 1 + 2 * (step % (ROWS / 2)) + writer;
                        let away = [1, 1_000][step / 2 % 2] + step % 7 + 100 * writer;
                        let back_and_end = ["rollback", "update t set k = @k where id = @id commit"][step % 2];
                        let answer = run(
                            &mut session,
                            &format!(
                                "declare @id int = {row}, @k int = {row}0 begin transaction \
                                 update t set k = {away} where id = @id {back_and_end}"
                            ),
                        );
                        moves.fetch_add(usize::from(!answer.contains("Msg")), Ordering::Relaxed);
                    }
                });
            }
            for reader in 0..2 {
                let (instance, is_over, moves) = (&instance, &is_over, &moves);
                scope.spawn(move || {
                    let mut session = session(instance);
                    // Where the writers get little of the processor, readers go on until there was something to read beside.
                    let is_enough = |read| read >= READS && moves.load(Ordering::Relaxed) > MOVES_MIN;
                    for read in (0..READS * 100).take_while(|read| !is_enough(*read)) {
                        let row = 1 + (read + reader) % ROWS;
                        let (search, found) = search_of(read, row);
                        let answer = run(&mut session, &search);
                        let is_right = answer.contains(&format!("\n  {found}\n  (1 rows, Select)"));
                        // Readers of one row at a time are in no circle of waiters.
                        if !is_right {
                            is_over.store(true, Ordering::Relaxed);
                            panic!("{shape}: {search}: {answer}");
                        }
                    }
                    if reader == 0 {
                        is_over.store(true, Ordering::Relaxed);
                    }
                });
            }
        });
        assert!(moves.load(Ordering::Relaxed) > MOVES_MIN, "nobody moved a key");
        let checked = run(&mut first, "dbcc checkdb with no_infomsgs");
        assert!(!checked.contains("Msg"), "{shape}: {checked}");
    }
}
