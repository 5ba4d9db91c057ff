//! A client: transactions one after the other, each in the ledger before it is sent.
//!
//! Most are several statements between BEGIN and COMMIT, definitions among them; some are rolled back, some go back to a
//! savepoint, some are one statement alone.

use super::ledger::{Database, Ledger};
use super::model::{Author, Tables};
use crate::client::ask;
use crate::random::Random;
use lab::client::Connection;

const STATEMENTS_MAX: u64 = 5;
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
        let batch = statements(author, &mut tables, random, 1);
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
    let who = format!("client {client}");
    let mut share = database.shares[client].lock();
    let transaction = write_transaction(&mut ledger.authors[client].lock(), &share.settled, random);
    // Nobody stays in a database: the administrator may want to drop it next.
    let batch = format!("use {}\n{}use master", database.name, transaction.batch);
    ledger.note(&who, &batch);
    share.under_way = Some(transaction.outcome);
    let answer = ask(connection, &batch);
    if answer.lost.is_some() && answer.errors.is_empty() {
        return false;
    }
    let outcome = share.under_way.take();
    if answer.is_good() {
        share.settled = outcome.unwrap_or_default();
        ledger.acknowledge(&who);
    } else if answer.numbers() == [DEADLOCK] {
        ledger.note(&who, "deadlock");
        return ask(connection, "use master").is_good();
    } else {
        ledger.fail(format!("{who}: {batch}: {}", answer.failure()));
    }
    true
}
