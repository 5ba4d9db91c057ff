//! SIGKILL at random moments, under committing clients, one that never commits, and checkpoints, sometimes again during
//! recovery: exactly what was acknowledged is there, and DBCC CHECKDB finds nothing.
//!
//! Several clients change rows of their own in a clustered table and note each transaction in a heap, some transactions are
//! rolled back, one client never commits. After each SIGKILL (and, every few kills, another one during recovery) the server
//! starts again on the same folder, under a version and log policy drawn again, and the tables must hold exactly what was
//! acknowledged, or that and the one transaction whose answer was still under way; and DBCC CHECKDB must find nothing.
//!
//! `VLFLAB_SEED` repeats the choices of a run.
//!
//! Depth: 6 kills; deep: 200.

use crate::outer::support::{Folder, Random, Served, ask, assert_sound, number_from_environment, run};
use lab::client::{Connection, Target};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const KILLS: u64 = 6;
const KILLS_DEEP: u64 = 200;
const CLIENTS: i32 = 3;
/// Client `i` owns the keys from `i * CLIENT_KEYS` on.
const CLIENT_KEYS: i32 = 1_000_000;
const ROWS_MAX: usize = 120;
const DEADLOCK: i32 = 1205;

/// What the tables hold of one client.
#[derive(Debug, Clone, Default, PartialEq)]
struct Content {
    ledger: BTreeMap<i32, i32>,
    journal: BTreeSet<i32>,
}

/// What one client has been promised.
#[derive(Debug, Clone, Default)]
struct Promise {
    settled: Content,
    /// The state that the commit under way leads to.
    under_way: Option<Content>,
    transactions: i32,
    next_key: i32,
}

#[derive(Debug, Default)]
struct Totals {
    kills: u64,
    kills_in_recovery: u64,
    acknowledged: u64,
    committed_unacknowledged: u64,
    deadlocks: u64,
}

#[test]
fn committed_transactions_survive_sigkill_and_others_leave_no_trace() {
    let depth = workbench::depth("kills of a server", KILLS, KILLS_DEEP);
    let kills = depth.units;
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
    let seed = number_from_environment("VLFLAB_SEED").unwrap_or_else(clock);
    println!("kill test: {kills} kills, VLFLAB_SEED={seed}");
    let mut random = Random::new(seed);
    let mut served = Served::unstarted(Folder::new("kill"));
    served.start();
    create_tables(&mut served.connect());
    let mut promises = vec![Promise::default(); CLIENTS as usize];
    let mut totals = Totals::default();
    while totals.kills < kills {
        work_until_killed(&mut served, &mut promises, &mut random, &mut totals);
        restart(&mut served, &mut random, &mut totals);
        let mut connection = served.connect();
        check(&mut connection, &mut promises, &mut totals);
        assert_sound(&mut connection, "killed");
    }
    println!("kill test: {totals:?}");
    assert!(
        totals.acknowledged > kills,
        "the clients did nothing worth killing: {totals:?}"
    );
    depth.count();
}

fn create_tables(connection: &mut Connection) {
    run(
        connection,
        "create database killed on (name = killed, filename = 'd:\\killed.mdf', size = 4MB, filegrowth = 1MB)
         log on (name = killed_log, filename = 'l:\\killed.ldf', size = 1MB, filegrowth = 1MB)",
    );
    run(connection, "alter database killed set recovery simple");
    run(
        connection,
        "use killed
         create table ledger (id int not null primary key, value int not null, filler varchar(3000) not null)
         create table journal (client int not null, number int not null, filler char(100) not null)",
    );
}

/// Lets the clients work until a drawn number of commits is acknowledged, and kills the server under them.
fn work_until_killed(served: &mut Served, promises: &mut [Promise], random: &mut Random, totals: &mut Totals) {
    let acknowledged = AtomicU64::new(0);
    let deadlocks = AtomicU64::new(0);
    let goal = 1 + random.below(150);
    let delay = Duration::from_micros(random.below(4_000));
    let target = served.target();
    std::thread::scope(|scope| {
        for (client, promise) in (0..).zip(promises.iter_mut()) {
            let random = Random::new(random.next());
            let (target, acknowledged, deadlocks) = (&target, &acknowledged, &deadlocks);
            scope.spawn(move || commit_until_lost(target, client, promise, random, acknowledged, deadlocks));
        }
        scope.spawn(|| never_commit(&target));
        while acknowledged.load(Ordering::Relaxed) < goal {
            assert!(served.is_up(), "the server ended by itself");
            std::thread::yield_now();
        }
        std::thread::sleep(delay);
        served.kill();
    });
    totals.kills += 1;
    totals.acknowledged += acknowledged.into_inner();
    totals.deadlocks += deadlocks.into_inner();
}

fn commit_until_lost(
    target: &Target,
    client: i32,
    promise: &mut Promise,
    mut random: Random,
    acknowledged: &AtomicU64,
    deadlocks: &AtomicU64,
) {
    let Ok(mut connection) = Connection::open(target) else {
        return;
    };
    if ask(&mut connection, "use killed").lost {
        return;
    }
    loop {
        let (batch, content) = promise.next_transaction(client, &mut random);
        promise.under_way = Some(content);
        let answer = ask(&mut connection, &batch);
        if answer.lost {
            return;
        }
        let content = promise.under_way.take().unwrap();
        if answer.errors.is_empty() {
            promise.settled = content;
            acknowledged.fetch_add(1, Ordering::Relaxed);
        } else {
            assert_eq!(answer.numbers(), [DEADLOCK], "{batch}: {:?}", answer.errors);
            deadlocks.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Promise {
    /// The next batch, and what the tables hold once it is committed.
    fn next_transaction(&mut self, client: i32, random: &mut Random) -> (String, Content) {
        self.transactions += 1;
        let number = self.transactions;
        let mut content = self.settled.clone();
        let mut statements = String::new();
        for _ in 0..1 + random.below(3) {
            statements += &self.change(&mut content, client, number, random);
        }
        if random.below(10) == 0 {
            return (format!("begin tran\n{statements}rollback tran"), self.settled.clone());
        }
        if random.below(40) == 0 {
            statements += "checkpoint\n";
        }
        content.journal.insert(number);
        statements += &format!("insert journal values ({client}, {number}, 'done')\n");
        (format!("begin tran\n{statements}commit tran"), content)
    }

    /// One changed row: rows grow and shrink, so that pages split, rows move and space is reused.
    fn change(&mut self, content: &mut Content, client: i32, number: i32, random: &mut Random) -> String {
        let filler = format!("replicate('x', {})", 20 + random.below(2_500));
        let keys: Vec<i32> = content.ledger.keys().copied().collect();
        let choice = random.below(10);
        if keys.is_empty() || (choice < 4 && keys.len() < ROWS_MAX) {
            let key = client * CLIENT_KEYS + self.next_key;
            self.next_key += 1;
            content.ledger.insert(key, number);
            return format!("insert ledger values ({key}, {number}, {filler})\n");
        }
        let key = keys[random.below(keys.len() as u64) as usize];
        if choice == 9 {
            content.ledger.remove(&key);
            return format!("delete ledger where id = {key}\n");
        }
        content.ledger.insert(key, number);
        format!("update ledger set value = {number}, filler = {filler} where id = {key}\n")
    }
}

/// Changes rows of its own in one transaction without end.
fn never_commit(target: &Target) {
    let Ok(mut connection) = Connection::open(target) else {
        return;
    };
    let mut key = CLIENTS * CLIENT_KEYS;
    if ask(&mut connection, "use killed begin tran").lost {
        return;
    }
    for _ in 0..40 {
        key += 1;
        let batch = format!(
            "insert ledger values ({key}, -1, replicate('u', 1000)) insert journal values ({CLIENTS}, {key}, 'open')
             update ledger set filler = replicate('v', 2000) where id = {key}"
        );
        if ask(&mut connection, &batch).lost {
            return;
        }
    }
    // Holds the transaction open until the server is gone.
    while !ask(&mut connection, "waitfor delay '00:00:00.050'").lost {}
}

/// Starts the server again, sometimes after killing it in the middle of recovery.
fn restart(served: &mut Served, random: &mut Random, totals: &mut Totals) {
    let pick = |random: &mut Random, choices: &[&str]| choices[random.below(choices.len() as u64) as usize].to_string();
    while random.below(4) == 0 {
        let delay = Duration::from_micros(random.below(150_000));
        if served.start_and_kill(delay) {
            totals.kills_in_recovery += 1;
        }
    }
    served.launch.sql_version = pick(random, &["2005", "2014", "2022"]);
    served.launch.log_policy = pick(random, &["native", "classic"]);
    served.start();
}

/// The tables hold what was promised to each client, and nothing of the one that never commits.
fn check(connection: &mut Connection, promises: &mut [Promise], totals: &mut Totals) {
    let mut found = vec![Content::default(); promises.len() + 1];
    let number = |cell: &Option<String>| cell.as_deref().unwrap().parse::<i32>().unwrap();
    for row in run(connection, "use killed select id, value from ledger") {
        let (key, value) = (number(&row[0]), number(&row[1]));
        let client = &mut found[(key / CLIENT_KEYS) as usize];
        assert_eq!(client.ledger.insert(key, value), None, "key {key} twice");
    }
    for row in run(connection, "select client, number from journal") {
        let (client, number) = (number(&row[0]), number(&row[1]));
        assert!(
            found[client as usize].journal.insert(number),
            "transaction {number} of client {client} is noted twice"
        );
    }
    assert_eq!(found.pop(), Some(Content::default()), "uncommitted rows are visible");
    for (client, (promise, found)) in promises.iter_mut().zip(found).enumerate() {
        let under_way = promise.under_way.take();
        if found != promise.settled {
            assert_eq!(
                Some(&found),
                under_way.as_ref(),
                "client {client}: neither what was acknowledged {:?} nor what was under way",
                promise.settled
            );
            totals.committed_unacknowledged += 1;
            promise.settled = found;
        }
    }
}
