//! A client: transactions one after the other, each in the ledger before it is sent.
//!
//! Most are several statements between BEGIN and COMMIT, definitions among them; some are rolled back, some go back to a
//! savepoint, some are one statement alone, some are in two databases. A few stay open in several batches while the others go on, small ones, as
//! ACCELERATED_DATABASE_RECOVERY carries them through the log.

use super::ledger::{DATABASES, Database, Ledger, Share};
use super::model::{Author, Tables};
use crate::client::ask;
use crate::random::Random;
use lab::client::Connection;
use parking_lot::MutexGuard;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const STATEMENTS_MAX: u64 = 5;
/// How many transactions stay open between their batches.
const PATIENT_PERCENT: u64 = 6;
/// How many transactions are in two databases.
const IN_TWO_PERCENT: u64 = 12;
/// How long such a one waits after each batch, at most.
const PAUSE_MS_MAX: u64 = 400;
/// A checkpoint, and the transactions that the log says were carried.
const CHECKPOINT: &str = "checkpoint\n\
     select count(*) from sys.fn_dblog(null, null) where Operation = 'LOP_VLFLAB_CARRY_END'";
const POLL: Duration = Duration::from_millis(5);
/// A deadlock's victim: its transaction is rolled back.
const DEADLOCK: i32 = 1205;

/// A transaction as text, and the tables once it is over.
struct Transaction {
    batch: String,
    outcome: Tables,
}

fn statements(author: &mut Author, tables: &mut Tables, random: &mut Random, count: u64) -> String {
    (0..count).map(|_| author.statement(tables, random) + "\n").collect()
}

fn write_transaction(author: &mut Author, settled: &Tables, random: &mut Random) -> Transaction {
    let mut tables = settled.clone();
    let count = 1 + random.below(STATEMENTS_MAX);
    if random.percent(15) {
        let statement = author.statement(&mut tables, random);
        // Objects that come and go with a table are statements of their own.
        let batch = match statement.contains('\n') {
            true => format!("begin tran\n{statement}\ncommit tran\n"),
            false => statement + "\n",
        };
        return Transaction { batch, outcome: tables };
    }
    let mut batch = String::from("begin tran\n");
    batch += &statements(author, &mut tables, random, count);
    if random.percent(10) {
        let mut undone = tables.clone();
        let part = statements(author, &mut undone, random, count);
        batch += &format!("save tran here\n{part}rollback tran here\n");
    }
    if random.percent(20) {
        batch += "rollback tran\n";
        tables = settled.clone();
    } else {
        batch += "commit tran\n";
    }
    Transaction { batch, outcome: tables }
}

/// Runs transactions until the connection is lost or the ledger closes.
pub fn run(ledger: &Ledger, client: usize, connection: &mut Connection, mut random: Random) {
    while !ledger.is_closing() {
        if random.percent(IN_TWO_PERCENT) {
            if !run_in_two(ledger, client, connection, &mut random) {
                return;
            }
            continue;
        }
        let database = ledger.draw_database(&mut random);
        let gate = database.gate.read();
        if !database.standing.lock().exists {
            drop(gate);
            std::thread::yield_now();
            continue;
        }
        if !run_one(ledger, database, client, connection, &mut random) {
            return;
        }
    }
}

/// Runs one transaction; false when the connection is lost.
fn run_one(
    ledger: &Ledger,
    database: &Database,
    client: usize,
    connection: &mut Connection,
    random: &mut Random,
) -> bool {
    let share = database.shares[client].lock();
    let mut author = ledger.authors[client].lock();
    let mut sender = Sender {
        ledger,
        who: format!("client {client}"),
        connection,
    };
    let use_it = format!("use {}", database.name);
    // Nobody stays in a database: the administrator may want to drop it next.
    if random.percent(PATIENT_PERCENT) {
        let mut tables = share.settled.clone();
        for part in patient_parts(&mut author, &mut tables, random) {
            match sender.send(&format!("{use_it}\n{part}")) {
                Said::Done => sender.wait(Duration::from_millis(random.below(PAUSE_MS_MAX))),
                Said::Deadlock => return sender.send("use master") == Said::Done,
                Said::Failed => return true,
                Said::Lost => return false,
            }
        }
        let is_undone = random.percent(50);
        let outcome = if is_undone { share.settled.clone() } else { tables };
        let end = if is_undone { "rollback tran" } else { "commit tran" };
        let batch = format!("{use_it}\n{end}\nuse master");
        return settle(&mut [share], &mut sender, &batch, vec![outcome]);
    }
    let transaction = write_transaction(&mut author, &share.settled, random);
    let batch = format!("{use_it}\n{}use master", transaction.batch);
    settle(&mut [share], &mut sender, &batch, vec![transaction.outcome])
}

/// Runs one transaction that is in two databases; false when the connection is lost.
fn run_in_two(ledger: &Ledger, client: usize, connection: &mut Connection, random: &mut Random) -> bool {
    let left_out = random.below(DATABASES as u64) as usize;
    let pair = [[1, 2], [0, 2], [0, 1]][left_out];
    let databases = pair.map(|index| &ledger.databases[index]);
    let _gates = databases.map(|database| database.gate.read());
    if databases.iter().any(|database| !database.standing.lock().exists) {
        std::thread::yield_now();
        return true;
    }
    let mut shares = databases.map(|database| database.shares[client].lock());
    let mut author = ledger.authors[client].lock();
    let mut batch = String::new();
    let settled: Vec<Tables> = shares.iter().map(|share| share.settled.clone()).collect();
    let mut outcomes = settled.clone();
    for (index, tables) in outcomes.iter_mut().enumerate() {
        let begin = if index == 0 { "begin tran\n" } else { "" };
        batch += &format!("use {}\n{begin}", databases[index].name);
        let count = 1 + random.below(STATEMENTS_MAX);
        batch += &statements(&mut author, tables, random, count);
    }
    batch += match random.percent(20) {
        true => {
            outcomes = settled;
            "rollback tran\n"
        }
        false => "commit tran\n",
    };
    batch += "use master";
    *ledger.pairs[client].lock() = Some(pair);
    let mut sender = Sender {
        ledger,
        who: format!("client {client}"),
        connection,
    };
    if !settle(&mut shares, &mut sender, &batch, outcomes) {
        return false;
    }
    *ledger.pairs[client].lock() = None;
    ledger.in_two_databases.fetch_add(1, Ordering::Relaxed);
    true
}

/// A transaction that stays open beside the others: small, in parts, with a savepoint that it may go back to.
fn patient_parts(author: &mut Author, tables: &mut Tables, random: &mut Random) -> Vec<String> {
    let mut parts = vec![format!("begin tran\n{}", author.small_statement(tables, random))];
    if random.percent(50) {
        let mut undone = tables.clone();
        parts.push(format!(
            "save tran here\n{}",
            author.small_statement(&mut undone, random)
        ));
        parts.push("rollback tran here".into());
    }
    for _ in 0..random.below(3) {
        // What the transaction has done so far is carried, if it holds enough of the log by now.
        parts.push(CHECKPOINT.into());
        parts.push(author.small_statement(tables, random));
    }
    parts
}

/// Sends the batch that ends a transaction, which leads to these tables of each share that it is in; false when the connection is lost.
fn settle(shares: &mut [MutexGuard<'_, Share>], sender: &mut Sender<'_>, batch: &str, outcomes: Vec<Tables>) -> bool {
    for (share, outcome) in shares.iter_mut().zip(outcomes) {
        share.under_way = Some(outcome);
    }
    let said = sender.send(batch);
    if said == Said::Lost {
        return false;
    }
    for share in shares {
        if let (Some(outcome), Said::Done) = (share.under_way.take(), said) {
            share.settled = outcome;
        }
    }
    match said {
        Said::Done => {
            sender.ledger.acknowledge(&sender.who);
            true
        }
        Said::Deadlock => sender.send("use master") == Said::Done,
        Said::Failed | Said::Lost => true,
    }
}

/// What came of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Done,
    /// The transaction is rolled back.
    Deadlock,
    /// It must not have, which the ledger knows.
    Failed,
    /// The connection is lost: nothing is known.
    Lost,
}

/// A client's connection, with every batch in the ledger.
struct Sender<'a> {
    ledger: &'a Ledger,
    who: String,
    connection: &'a mut Connection,
}

impl Sender<'_> {
    fn send(&mut self, batch: &str) -> Said {
        self.ledger.note(&self.who, batch);
        let answer = ask(self.connection, batch);
        if answer.lost.is_some() && answer.errors.is_empty() {
            return Said::Lost;
        }
        if answer.is_good() {
            let count = answer
                .rows
                .first()
                .and_then(|row| row.first()?.as_ref()?.parse::<u64>().ok());
            self.ledger
                .carried
                .fetch_add(count.unwrap_or(0).min(1), Ordering::Relaxed);
            return Said::Done;
        }
        if answer.numbers() == [DEADLOCK] {
            self.ledger.note(&self.who, "deadlock");
            return Said::Deadlock;
        }
        self.ledger.fail(format!("{}: {batch}: {}", self.who, answer.failure()));
        Said::Failed
    }

    /// Leaves the transaction open meanwhile, unless the clients come to an end.
    fn wait(&self, time: Duration) {
        let begin = Instant::now();
        while begin.elapsed() < time && !self.ledger.is_closing() {
            std::thread::sleep(POLL);
        }
    }
}
