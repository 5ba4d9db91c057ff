//! Published scenarios of two to eight transactions, step by step: which ones wait, what they see, which one is the deadlock victim.
//!
//! They are rewritten in this file's own form from published sets: the Hermitage scenarios (github.com/ept/hermitage, `sqlserver.md`, which
//! says what SQL Server 2012 answers), and PostgreSQL's isolation specifications (github.com/postgres/postgres,
//! `src/test/isolation/specs`), with what SQL Server's documentation says of its locks. Scenarios with row versions are in
//! `versioned_scenarios`, those with key ranges in `key_ranges`.
//!
//! ```text
//! 1 select id, value from test => 1=10 2=20     session 1 asks, and this is what it gets
//! 2 update test set value = 1 => waits          session 2 asks, and waits for a lock
//! 2 => done                                     what it asked for comes now
//! 1 delete test => deadlock 2                   one of 1 and 2 is the victim (1205); the other one's answer comes
//! ```
//! A session that answers *done* got no rows and no error. Pace does not matter: a step is over when the session has answered or waits.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

use engine::instance::Instance;
use engine::seams::SystemClock;
use engine::types::Value;
use transcript::{instance_with, session};
use tsql::session::{DoneKind, Message, ResultColumn, ResultSink, SinkClosed};

/// The tables that every scenario finds. The last has no key: its rows are a heap's.
const TABLES: &str = "create table test (id int primary key, value int) insert test values (1, 10), (2, 20) \
                      create table parent (id int primary key, value int) insert parent values (1, 10), (2, 20) \
                      create table child (id int primary key, parent int references parent (id)) \
                      create table heap (id int, value int) insert heap values (1, 10), (2, 20)";

/// Name, level of every session, steps.
pub(crate) type Scenario = (&'static str, &'static str, &'static str);

const HERMITAGE: &[Scenario] = &[
    (
        "G0: no write cycles",
        "read uncommitted",
        "1 update test set value = 11 where id = 1 => done
         2 update test set value = 12 where id = 1 => waits
         1 update test set value = 21 where id = 2 => done
         1 commit => done
         2 => done
         1 select id, value from test => 1=12 2=21
         2 update test set value = 22 where id = 2 => done
         2 commit => done
         1 select id, value from test => 1=12 2=22",
    ),
    (
        "G1a: aborted reads",
        "read uncommitted",
        "1 update test set value = 101 where id = 1 => done
         2 select id, value from test => 1=101 2=20
         1 rollback => done
         2 select id, value from test => 1=10 2=20",
    ),
    (
        "G1a: no aborted reads",
        "read committed",
        "1 update test set value = 101 where id = 1 => done
         2 select id, value from test => waits
         1 rollback => done
         2 => 1=10 2=20",
    ),
    (
        "G1b: intermediate reads",
        "read uncommitted",
        "1 update test set value = 101 where id = 1 => done
         2 select id, value from test => 1=101 2=20
         1 update test set value = 11 where id = 1 => done
         1 commit => done
         2 select id, value from test => 1=11 2=20",
    ),
    (
        "G1b: no intermediate reads",
        "read committed",
        "1 update test set value = 101 where id = 1 => done
         2 select id, value from test => waits
         1 update test set value = 11 where id = 1 => done
         1 commit => done
         2 => 1=11 2=20",
    ),
    (
        "G1c: circular information flow",
        "read uncommitted",
        "1 update test set value = 11 where id = 1 => done
         2 update test set value = 22 where id = 2 => done
         1 select id, value from test where id = 2 => 2=22
         2 select id, value from test where id = 1 => 1=11",
    ),
    (
        "G1c: no circular information flow",
        "read committed",
        "1 update test set value = 11 where id = 1 => done
         2 update test set value = 22 where id = 2 => done
         1 select id, value from test where id = 2 => waits
         2 select id, value from test where id = 1 => deadlock 1",
    ),
    (
        "OTV: an observed transaction vanishes",
        "read uncommitted",
        "1 update test set value = 11 where id = 1 => done
         1 update test set value = 19 where id = 2 => done
         2 update test set value = 12 where id = 1 => waits
         1 commit => done
         2 => done
         3 select id, value from test => 1=12 2=19
         2 update test set value = 18 where id = 2 => done
         3 select id, value from test => 1=12 2=18",
    ),
    (
        "OTV: no observed transaction vanishes",
        "read committed",
        "1 update test set value = 11 where id = 1 => done
         1 update test set value = 19 where id = 2 => done
         2 update test set value = 12 where id = 1 => waits
         1 commit => done
         2 => done
         3 select id, value from test => waits
         2 update test set value = 18 where id = 2 => done
         2 commit => done
         3 => 1=12 2=18",
    ),
    (
        "PMP: a predicate finds what was inserted",
        "read committed",
        "1 select id, value from test where value = 30 => done
         2 insert test values (3, 30) => done
         2 commit => done
         1 select id, value from test where value % 3 = 0 => 3=30",
    ),
    (
        "PMP: REPEATABLE READ does not keep rows out",
        "repeatable read",
        "1 select id, value from test where value = 30 => done
         2 insert test values (3, 30) => done
         2 commit => done
         1 select id, value from test where value % 3 = 0 => 3=30",
    ),
    (
        "PMP: SERIALIZABLE does",
        "serializable",
        "1 select id, value from test where value = 30 => done
         2 insert test values (3, 30) => waits
         1 select id, value from test where value % 3 = 0 => done
         1 commit => done
         2 => done",
    ),
    (
        "PMP of rows that are there",
        "read committed",
        "2 select id, value from test => 1=10 2=20
         1 update test set value = value + 10 => done
         2 select id, value from test => waits
         1 commit => done
         2 => 1=20 2=30
         2 delete test where value = 20 => done
         2 select id, value from test => 2=30",
    ),
    (
        "no PMP of rows that are there",
        "repeatable read",
        "2 select id, value from test => 1=10 2=20
         1 update test set value = value + 10 => waits
         2 delete test where value = 20 => deadlock 1",
    ),
    (
        "P4: a lost update",
        "read committed",
        "1 select id, value from test where id = 1 => 1=10
         2 select id, value from test where id = 1 => 1=10
         1 update test set value = 11 where id = 1 => done
         2 update test set value = 11 where id = 1 => waits
         1 commit => done
         2 => done",
    ),
    (
        "P4: no lost update",
        "repeatable read",
        "1 select id, value from test where id = 1 => 1=10
         2 select id, value from test where id = 1 => 1=10
         1 update test set value = 11 where id = 1 => waits
         2 update test set value = 11 where id = 1 => deadlock 1",
    ),
    (
        "G-single: read skew",
        "read committed",
        "1 select id, value from test where id = 1 => 1=10
         2 select id, value from test => 1=10 2=20
         2 update test set value = 12 where id = 1 => done
         2 update test set value = 18 where id = 2 => done
         2 commit => done
         1 select id, value from test where id = 2 => 2=18",
    ),
    (
        "G-single: no read skew",
        "repeatable read",
        "1 select id, value from test where id = 1 => 1=10
         2 select id, value from test where id = 1 => 1=10
         2 select id, value from test where id = 2 => 2=20
         2 update test set value = 12 where id = 1 => waits
         1 select id, value from test where id = 2 => 2=20
         1 commit => done
         2 => done
         2 update test set value = 18 where id = 2 => done",
    ),
    (
        "G-single of predicates: read skew",
        "repeatable read",
        "1 select id, value from test where value % 5 = 0 => 1=10 2=20
         2 insert test values (3, 30) => done
         2 commit => done
         1 select id, value from test where value % 3 = 0 => 3=30",
    ),
    (
        "G-single of predicates: no read skew",
        "serializable",
        "1 select id, value from test where value % 5 = 0 => 1=10 2=20
         2 insert test values (3, 30) => waits
         1 select id, value from test where value % 3 = 0 => done
         1 commit => done
         2 => done",
    ),
    (
        "G-single of a predicate that writes: no read skew",
        "repeatable read",
        "1 select id, value from test where id = 1 => 1=10
         2 select id, value from test => 1=10 2=20
         2 update test set value = 12 where id = 1 => waits
         1 delete test where value = 20 => deadlock 2",
    ),
    (
        "G2-item: no write skew",
        "repeatable read",
        "1 select id, value from test where id in (1, 2) => 1=10 2=20
         2 select id, value from test where id in (1, 2) => 1=10 2=20
         1 update test set value = 11 where id = 1 => waits
         2 update test set value = 21 where id = 2 => deadlock 1",
    ),
    (
        "G2: anti-dependency cycles",
        "repeatable read",
        "1 select id, value from test where value % 3 = 0 => done
         2 select id, value from test where value % 3 = 0 => done
         1 insert test values (3, 30) => done
         2 insert test values (4, 42) => done
         1 commit => done
         2 commit => done
         1 select id, value from test where value % 3 = 0 => 3=30 4=42",
    ),
    (
        "G2: no anti-dependency cycles",
        "serializable",
        "1 select id, value from test where value % 3 = 0 => done
         2 select id, value from test where value % 3 = 0 => done
         1 insert test values (3, 30) => waits
         2 insert test values (4, 42) => deadlock 1",
    ),
];

/// What a deleted row leaves does not count as a row: the Hermitage scenarios in a table whose rows were deleted and inserted again, as
/// programs that prepare each scenario so do.
const OF_ROWS_THAT_ARE_GONE: &[Scenario] = &[
    (
        "a key that was deleted is inserted beside a reader",
        "repeatable read",
        "3 delete test insert test values (1, 10), (2, 20) => done
         3 delete test where id = 2 => done
         3 commit => done
         1 select id, value from test => 1=10
         2 insert test values (2, 22) => done
         2 commit => done
         1 select id, value from test => 1=10 2=22",
    ),
    (
        "a key that was not found is inserted beside a reader",
        "repeatable read",
        "1 select id, value from test where id = 7 => done
         1 select id, value from test where id between 5 and 9 => done
         2 insert test values (7, 70) => done
         2 commit => done
         1 select id, value from test where id = 7 => 7=70",
    ),
    (
        "a key that was deleted is inserted beside the search of an UPDATE",
        "read committed",
        "3 delete test where id = 2 => done
         3 commit => done
         1 update test set value = 0 where id = 2 => done
         1 update test set value = value + 1 => done
         2 insert test values (2, 22) => done",
    ),
    (
        "a deletion that is not committed is waited for, and taken back",
        "repeatable read",
        "2 delete test where id = 2 => done
         1 select id, value from test => waits
         2 rollback => done
         1 => 1=10 2=20
         2 delete test where id = 2 => waits
         1 commit => done
         2 => done",
    ),
    (
        "a deletion that is not committed is waited for, and leaves nothing locked",
        "repeatable read",
        "2 delete test where id = 2 => done
         1 select id, value from test => waits
         2 commit => done
         1 => 1=10
         2 insert test values (2, 22) => done
         1 select id, value from test => 1=10 2=22",
    ),
    (
        "the same of a heap",
        "repeatable read",
        "2 delete heap where id = 2 => done
         1 select id, value from heap => waits
         2 commit => done
         1 => 1=10
         2 insert heap values (2, 22) => done
         1 select id, value from heap => 1=10 2=22",
    ),
    (
        "a row that the reader has deleted himself stays locked",
        "repeatable read",
        "1 delete test where id = 2 => done
         1 select id, value from test => 1=10
         2 insert test values (2, 22) => waits
         1 rollback => done
         2 => 2627",
    ),
    (
        "who leaves out locked rows leaves no lock on those that are gone",
        "read committed",
        "3 delete test where id = 1 => done
         3 commit => done
         1 select id, value from test with (readpast, repeatableread) => 2=20
         2 insert test values (1, 11) => done",
    ),
];

const POSTGRESQL: &[Scenario] = &[
    (
        "deadlock-simple: two that share a table and both want it",
        "read committed",
        "1 select id, value from test with (tablock, holdlock) => 1=10 2=20
         2 select id, value from test with (tablock, holdlock) => 1=10 2=20
         1 select id, value from test with (tablockx) => waits
         2 select id, value from test with (tablockx) => deadlock 1",
    ),
    (
        "nowait: a locked row is an error at once",
        "read committed",
        "1 select id, value from test with (updlock) where id = 1 => 1=10
         2 select id, value from test with (updlock, nowait) where id = 1 => 1222
         2 select id, value from test with (updlock, nowait) where id = 2 => 2=20
         1 commit => done
         2 select id, value from test with (updlock, nowait) where id = 1 => 1=10",
    ),
    (
        "skip-locked: locked rows are left out",
        "read committed",
        "1 select top (1) id, value from test with (updlock, readpast, rowlock) order by id => 1=10
         2 select top (1) id, value from test with (updlock, readpast, rowlock) order by id => 2=20
         3 select id, value from test with (updlock, readpast, rowlock) => done
         1 commit => done
         3 select id, value from test with (updlock, readpast, rowlock) => 1=10",
    ),
    (
        "delete-abort-savept: a lock outlives the savepoint that is rolled back to",
        "read committed",
        "1 select id, value from test with (updlock) where id = 1 => 1=10
         1 save transaction s => done
         1 delete test where id = 1 => done
         1 rollback transaction s => done
         2 select id, value from test with (updlock) where id = 1 => waits
         1 commit => done
         2 => 1=10",
    ),
    (
        "fk-contention: a reference does not keep its row from being changed",
        "read committed",
        "1 insert child values (1, 1) => done
         2 update parent set value = 11 where id = 1 => done
         1 commit => done
         2 commit => done",
    ),
    (
        "fk: who deletes what is referred to waits, and is refused",
        "read committed",
        "1 insert child values (1, 1) => done
         2 delete parent where id = 1 => waits
         1 commit => done
         2 => 547",
    ),
    (
        "fk: who refers to what is deleted waits, and is refused",
        "read committed",
        "2 delete parent where id = 2 => done
         1 insert child values (1, 2) => waits
         2 commit => done
         1 => 547",
    ),
    (
        "lock-committed-update: a change is judged by the row as it is then",
        "read committed",
        "1 update test set value = 30 where id = 1 => done
         2 update test set value = value + 1 where value = 10 => waits
         1 commit => done
         2 => done
         2 select id, value from test => 1=30 2=20",
    ),
    (
        "propagate-lock-delete: two that refer to one row do not wait for each other",
        "read committed",
        "1 insert child values (1, 1) => done
         2 insert child values (2, 1) => done
         3 delete parent where id = 1 => waits
         1 commit => done
         2 commit => done
         3 => 547",
    ),
];

/// Rows as `a=b`, in order, and the first error.
#[derive(Default)]
struct Answer {
    rows: Vec<String>,
    error: Option<i32>,
}

impl ResultSink for Answer {
    fn columns(&mut self, _columns: &[ResultColumn]) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> Result<(), SinkClosed> {
        let cells: Vec<String> = row.iter().map(|cell| cell.as_i64().unwrap().to_string()).collect();
        self.rows.push(cells.join("="));
        Ok(())
    }

    fn done(&mut self, _row_count: Option<u64>, _kind: DoneKind) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn message(&mut self, message: &Message) -> Result<(), SinkClosed> {
        if message.severity > 10 {
            self.error.get_or_insert(message.number);
        }
        Ok(())
    }
}

impl Answer {
    fn text(mut self) -> String {
        self.rows.sort();
        match self.error {
            Some(number) => number.to_string(),
            None if self.rows.is_empty() => "done".to_owned(),
            None => self.rows.join(" "),
        }
    }
}

/// A session with a thread of its own.
struct Actor {
    requests: Sender<String>,
    answers: Receiver<String>,
    lock_owner: u64,
}

impl Actor {
    fn new(instance: &Arc<Instance>, database: &str, level: &str) -> Actor {
        let (requests, asked) = channel::<String>();
        let (answered, answers) = channel();
        let (told, owner) = channel();
        let begin = format!("use {database} set transaction isolation level {level} begin transaction");
        let instance = instance.clone();
        std::thread::spawn(move || {
            let mut session = session(&instance);
            let sessions = instance.sessions();
            let own = sessions.iter().find(|other| other.id == session.id()).unwrap();
            told.send(own.lock_owner).unwrap();
            for batch in [begin].into_iter().chain(asked) {
                let mut answer = Answer::default();
                session.execute(&batch, &mut answer);
                if answered.send(answer.text()).is_err() {
                    return;
                }
            }
        });
        let actor = Actor {
            requests,
            answers,
            lock_owner: owner.recv().unwrap(),
        };
        assert_eq!(actor.answers.recv().unwrap(), "done");
        actor
    }

    /// The answer, or `waits`.
    fn outcome(&self, instance: &Instance) -> String {
        loop {
            // First whether it waits: an answer that comes in between is found next.
            let waits = || {
                let rows = instance.locks.rows();
                rows.iter().any(|row| row.owner == self.lock_owner && !row.granted)
            };
            let waited = waits();
            match self.answers.try_recv() {
                Ok(answer) => return answer,
                Err(TryRecvError::Empty) if waited && waits() => return "waits".to_owned(),
                Err(TryRecvError::Empty) => std::thread::yield_now(),
                Err(TryRecvError::Disconnected) => panic!("a session is gone"),
            }
        }
    }
}

/// Plays a scenario; what came otherwise than it says.
fn play(instance: &Arc<Instance>, database: &str, scenario: &Scenario) -> Result<(), String> {
    play_under(instance, database, "", scenario)
}

/// The same in a database that is set up by `options`, which say `{database}` for its name.
pub(crate) fn play_under(
    instance: &Arc<Instance>,
    database: &str,
    options: &str,
    &(name, level, steps): &Scenario,
) -> Result<(), String> {
    let mut owner = session(instance);
    let mut made = Answer::default();
    owner.execute(&format!("create database {database}"), &mut made);
    owner.execute(&options.replace("{database}", database), &mut made);
    owner.execute(&format!("use {database} {TABLES}"), &mut made);
    assert_eq!(made.text(), "done");
    let mut actors: BTreeMap<u32, Actor> = BTreeMap::new();
    for step in steps.lines().map(str::trim) {
        let (asked, expected) = step.rsplit_once("=>").unwrap();
        let (number, batch) = asked.trim().split_once(' ').unwrap_or((asked.trim(), ""));
        let number: u32 = number.parse().unwrap();
        let actor = actors
            .entry(number)
            .or_insert_with(|| Actor::new(instance, database, level));
        if !batch.trim().is_empty() {
            actor.requests.send(batch.trim().to_owned()).unwrap();
        }
        let expected = expected.trim();
        if let Some(other) = expected.strip_prefix("deadlock ") {
            let other = &actors[&other.parse().unwrap()];
            // The victim answers first; what it held is free then.
            let mut answers = [other, &actors[&number]].map(|actor| actor.answers.recv().unwrap());
            answers.sort();
            if answers.iter().filter(|answer| *answer == "1205").count() != 1 {
                return Err(format!("{name}: {step}: {answers:?}"));
            }
            continue;
        }
        let came = actor.outcome(instance);
        if came != expected {
            return Err(format!("{name}: {step}: {came}"));
        }
    }
    Ok(())
}

#[test]
fn every_scenario_goes_as_it_is_told() {
    let instance = instance_with(Arc::new(SystemClock::new()));
    let scenarios = [HERMITAGE, OF_ROWS_THAT_ARE_GONE, POSTGRESQL].concat();
    let played = scenarios.iter().enumerate();
    let failed: Vec<String> = played
        .filter_map(|(place, scenario)| play(&instance, &format!("d{place}"), scenario).err())
        .collect();
    println!("{} scenarios, {} not as told", scenarios.len(), failed.len());
    assert!(failed.is_empty(), "{failed:#?}");
}

/// `deadlock-hard` of PostgreSQL's set: the eighth transaction closes a circle of eight. One gives way, and all others get what they wait for,
/// one after the other.
#[test]
fn a_circle_of_eight_has_one_victim() {
    const SESSIONS: usize = 8;
    let instance = instance_with(Arc::new(SystemClock::new()));
    let mut owner = session(&instance);
    let mut made = Answer::default();
    owner.execute("create database d", &mut made);
    for table in 0..SESSIONS {
        owner.execute(&format!("use d create table t{table} (id int)"), &mut made);
    }
    assert_eq!(made.text(), "done");
    let actors: Vec<Actor> = (0..SESSIONS)
        .map(|_| Actor::new(&instance, "d", "read committed"))
        .collect();
    let lock = |table: usize| format!("select id from t{} with (tablockx)", table % SESSIONS);
    for (place, actor) in actors.iter().enumerate() {
        actor.requests.send(lock(place)).unwrap();
        assert_eq!(actor.outcome(&instance), "done");
    }
    for (place, actor) in actors.iter().enumerate().take(SESSIONS - 1) {
        actor.requests.send(lock(place + 1)).unwrap();
        assert_eq!(actor.outcome(&instance), "waits");
    }
    actors[SESSIONS - 1].requests.send(lock(SESSIONS)).unwrap();
    let mut victims = 0;
    let mut open: Vec<&Actor> = actors.iter().collect();
    while !open.is_empty() {
        let before = open.len();
        open.retain(|actor| match actor.answers.try_recv() {
            Ok(answer) if answer == "1205" => {
                victims += 1;
                false
            }
            Ok(answer) => {
                assert_eq!(answer, "done");
                actor.requests.send("commit".to_owned()).unwrap();
                assert_eq!(actor.answers.recv().unwrap(), "done");
                false
            }
            Err(_) => true,
        });
        if open.len() == before {
            std::thread::yield_now();
        }
    }
    assert_eq!(victims, 1);
}
