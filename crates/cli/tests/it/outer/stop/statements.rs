//! Statements of many seconds (`stop/kinds.rs`) stopped by ATTENTION, by KILL or by the client's end: they stop, no lock and
//! no change is left, and the next request runs. Latencies are printed.
//!
//! How long stopping took is printed; what is asserted is that it was running, that it stopped long before its end, and that
//! nothing is left of it: no request, no lock, no change.
//!
//! Depth: each statement in one of the three ways, in turns; deep: in all three.

use super::kinds::{Circumstance, Kind, SET_UP, kinds};
use crate::outer::support::{Answer, Served, ask, run, value};
use lab::client::{Attention, ClientError, Connection, Event};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// How long it is left running before it is stopped.
pub(super) const RUNNING: Duration = Duration::from_millis(150);
/// Longer than any machine is busy for, and far shorter than any of the statements.
const STOPPED_MAX: Duration = Duration::from_secs(5);
/// A statement that does not begin in this time never will.
const BEGUN_MAX: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Way {
    Attention,
    Kill,
    ClientEnd,
}

const WAYS: [Way; 3] = [Way::Attention, Way::Kill, Way::ClientEnd];

/// What came of a statement.
enum End {
    Acknowledged,
    Answered(Answer),
}

/// A connection that runs one statement, on a thread of its own.
struct Runner<'s> {
    connection: Connection,
    asked: &'s Asked,
}

/// Whether the runner may read again, and what for.
#[derive(Default)]
struct Asked {
    attention: Mutex<Option<bool>>,
    changed: Condvar,
}

impl Asked {
    fn set(&self, attention: bool) {
        *self.attention.lock().unwrap() = Some(attention);
        self.changed.notify_all();
    }

    /// Whether an ATTENTION was sent, once it is decided.
    fn wait(&self) -> bool {
        let decided = self.attention.lock().unwrap();
        let decided = self.changed.wait_while(decided, |decided| decided.is_none()).unwrap();
        decided.unwrap()
    }
}

impl Runner<'_> {
    fn run(mut self, kind: &Kind) -> End {
        let mut answer = Answer::default();
        if kind.circumstance == Circumstance::Deaf {
            self.connection.start(&kind.batch).unwrap();
        } else {
            let outcome = self.connection.run(&kind.batch, &mut |event| {
                if let Event::Error(message) = event {
                    answer.errors.push(message.clone());
                }
            });
            answer.lost = matches!(outcome, Err(ClientError::Lost(_)));
        }
        if !self.asked.wait() {
            return End::Answered(answer);
        }
        assert!(
            !answer.lost,
            "{}: the connection did not survive the ATTENTION",
            kind.name
        );
        self.connection.acknowledgement().unwrap();
        // The next request of the connection is not stopped.
        assert_eq!(value(&mut self.connection, "select 42"), "42", "{}", kind.name);
        if kind.circumstance == Circumstance::Plain && kind.batch.contains("tran") {
            run(&mut self.connection, "if @@trancount > 0 rollback");
        }
        End::Acknowledged
    }
}

/// Lets the runner go, whatever comes of the test.
struct Over<'s>(&'s Attention, &'s Asked);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.hang_up();
            self.1.set(false);
        }
    }
}

fn session_of(connection: &mut Connection) -> String {
    value(connection, "select @@spid")
}

fn is_running(observer: &mut Connection, session: &str) -> bool {
    let query = format!("select count(*) from sys.dm_exec_requests where session_id = {session}");
    value(observer, &query) == "1"
}

fn is_there(observer: &mut Connection, session: &str) -> bool {
    let query = format!("select count(*) from sys.dm_exec_sessions where session_id = {session}");
    value(observer, &query) == "1"
}

/// Waits until `is_so`; how long that took.
fn wait_until(what: &str, max: Duration, mut is_so: impl FnMut() -> bool) -> Duration {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < max, "{what}: not within {max:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
    begin.elapsed()
}

/// What all statements leave as it was.
pub(super) fn state_of(observer: &mut Connection) -> Vec<String> {
    let queries = [
        "select count(*) from target",
        "select sum(id * 10 + v) from target",
        "select count(*) from big",
        "select sum(k) from big",
        "select count(*) from growing",
        "select count(*) from victim",
        "select count(*) from locked with (nolock) where id = 1",
        "select count(*) from sys.objects where name = 'made'",
        "select count(*) from sys.indexes where name = 'i'",
        "select count(*) from sys.check_constraints where name = 'c'",
    ];
    queries.into_iter().map(|query| value(observer, query)).collect()
}

/// How long a statement worked until it was stopped, and how long it took to stop after that.
pub(super) struct Stopped {
    pub(super) worked: Duration,
    pub(super) took: Duration,
}

/// Runs a statement for a while, stops it and waits until nothing is left of it.
pub(super) fn stop(
    served: &Served,
    observer: &mut Connection,
    kind: &Kind,
    (way, running): (Way, Duration),
) -> Stopped {
    let what = format!("{} by {way:?}", kind.name);
    let mut connection = served.connect();
    run(&mut connection, "use stopped");
    let session = session_of(&mut connection);
    let attention = connection.attention().unwrap();
    let asked = Asked::default();
    std::thread::scope(|threads| {
        let runner = Runner {
            connection,
            asked: &asked,
        };
        let _over = Over(&attention, &asked);
        let runner = threads.spawn(|| runner.run(kind));
        wait_until(&what, BEGUN_MAX, || is_running(observer, &session));
        let begun = Instant::now();
        std::thread::sleep(running);
        if !is_running(observer, &session) {
            asked.set(false);
            let numbers = match runner.join().unwrap() {
                End::Answered(answer) => answer.numbers(),
                End::Acknowledged => Vec::new(),
            };
            panic!("{what}: it had ended before it was stopped, with {numbers:?}");
        }
        let worked = begun.elapsed();
        let begin = Instant::now();
        act(observer, way, &attention, &session);
        asked.set(way == Way::Attention);
        match way {
            Way::Attention => wait_until(&what, STOPPED_MAX, || !is_running(observer, &session)),
            Way::Kill | Way::ClientEnd => wait_until(&what, STOPPED_MAX, || !is_there(observer, &session)),
        };
        let took = begin.elapsed();
        match (way, runner.join().unwrap()) {
            (Way::Attention, End::Acknowledged) => {}
            (Way::Kill, End::Answered(answer)) => {
                let numbers = answer.numbers();
                let need_not_know = match kind.circumstance {
                    Circumstance::Deaf => true,
                    Circumstance::Flooded => numbers.is_empty(),
                    Circumstance::Plain | Circumstance::Locked => false,
                };
                assert!(numbers.contains(&596) || need_not_know, "{what}: {numbers:?}");
            }
            (Way::ClientEnd, End::Answered(_)) => {}
            _ => panic!("{what}: neither stopped nor acknowledged"),
        }
        Stopped { worked, took }
    })
}

fn act(observer: &mut Connection, way: Way, attention: &Attention, session: &str) {
    match way {
        Way::Attention => attention.send().unwrap(),
        Way::Kill => drop(run(observer, &format!("kill {session}"))),
        Way::ClientEnd => attention.hang_up(),
    }
}

pub(super) fn set_up(served: &Served) -> Connection {
    let mut observer = served.connect();
    run(&mut observer, "create database crowded");
    run(
        &mut observer,
        "create database stopped alter database stopped set recovery simple",
    );
    run(&mut observer, "use stopped");
    for batch in SET_UP {
        run(&mut observer, batch);
    }
    run(&mut observer, "backup database stopped to disk = 'kept.bak'");
    observer
}

/// What KILL says: the numbers of its messages.
fn kill(observer: &mut Connection, statement: &str) -> Vec<i32> {
    let mut numbers = Vec::new();
    let take = &mut |event: Event<'_>| match event {
        Event::Information(message) | Event::Error(message) => numbers.push(message.number),
        _ => {}
    };
    observer.run(statement, take).unwrap();
    numbers
}

#[test]
fn a_killed_session_rolls_back_and_tells_how_far_it_is() {
    let served = Served::new("stop-rollback-status");
    let mut observer = served.connect();
    let mut connection = served.connect();
    let session = session_of(&mut connection);
    run(&mut observer, "create table n (id int not null) insert n values (1)");
    run(&mut observer, "create table t (id int not null, v int not null)");
    run(
        &mut observer,
        "declare @i int = 0 while @i < 17 begin insert n select id from n set @i = @i + 1 end",
    );
    run(&mut observer, "insert t select id, id from n");
    run(
        &mut connection,
        "begin tran update t set v = v + 1 update t set v = v + 1 update t set v = v + 1",
    );
    assert_eq!(kill(&mut observer, &format!("kill {session} with statusonly")), [6120]);
    assert_eq!(
        kill(&mut observer, &format!("begin tran kill {session} rollback")),
        [6115]
    );
    assert_eq!(kill(&mut observer, &format!("kill {session}")), Vec::<i32>::new());
    let mut seen = Vec::new();
    wait_until("rollback", BEGUN_MAX, || {
        seen.extend(kill(&mut observer, &format!("kill {session} with statusonly")));
        !is_there(&mut observer, &session)
    });
    assert!(seen.contains(&6109), "{seen:?}");
    assert_eq!(value(&mut observer, "select min(v - id) + max(v - id) from t"), "0");
}

#[test]
fn every_statement_is_stopped_by_attention_by_kill_or_by_the_clients_end() {
    let served = Served::new("stop-statements");
    let mut observer = set_up(&served);
    let before = state_of(&mut observer);
    let mut holder = served.connect();
    run(&mut holder, "use stopped begin tran update locked set id = 1");
    let mut crowd = served.connect();
    run(&mut crowd, "use crowded");
    let only = std::env::var("VLFLAB_STOP_ONLY").ok();
    let depth = workbench::depth("ways to stop each statement", 1, WAYS.len() as u64);
    let all_ways = only.is_some() || depth.is_deep;
    let mut latencies: BTreeMap<Way, Vec<(Duration, &str)>> = BTreeMap::new();
    let kinds = kinds();
    let mut failed = Vec::new();
    for (number, kind) in kinds
        .iter()
        .filter(|kind| only.as_ref().is_none_or(|only| kind.name.contains(only.as_str())))
        .enumerate()
    {
        let mut line = format!("{:<40}", kind.name);
        let ways = match all_ways {
            true => &WAYS[..],
            false => &WAYS[number % WAYS.len()..][..1],
        };
        for &way in ways {
            // One that cannot be stopped does not keep the others from being tried.
            let stopped = catch_unwind(AssertUnwindSafe(|| stop(&served, &mut observer, kind, (way, RUNNING))));
            let Ok(latency) = stopped.map(|stopped| stopped.took) else {
                failed.push((kind.name, way));
                continue;
            };
            line += &format!(" {way:?} {:.1}", latency.as_secs_f64() * 1_000.0);
            latencies.entry(way).or_default().push((latency, kind.name));
        }
        println!("{line}");
        // Its locks are gone, and so is what it did.
        run(&mut observer, "set lock_timeout 5000");
        if kind.circumstance != Circumstance::Locked {
            assert_eq!(state_of(&mut observer), before, "{}", kind.name);
        }
    }
    assert!(failed.is_empty(), "not stopped: {failed:?}");
    for (way, mut latencies) in latencies {
        latencies.sort_unstable();
        let (median, worst) = (latencies[latencies.len() / 2].0, latencies.last().unwrap());
        println!(
            "{way:?}: {} statements, median {median:?}, worst {worst:?}",
            latencies.len()
        );
    }
    run(&mut holder, "rollback");
    assert_eq!(state_of(&mut observer), before);
    assert!(ask(&mut observer, "drop table target drop table big").errors.is_empty());
    crate::outer::support::assert_sound(&mut observer, "stopped");
    // A choice of the statements is not the depth that is counted.
    if only.is_none() {
        depth.count();
    }
}
