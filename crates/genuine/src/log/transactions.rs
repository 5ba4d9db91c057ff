//! The transactions of a log: who began each, when, and how it ended.
//!
//! ```text
//! LOP_BEGIN_XACT   0x28 time: 1/300 seconds since midnight u32, days since 1900 u32 | elements: name (UTF-16), SID
//! LOP_COMMIT_XACT  0x18 time
//! LOP_ABORT_XACT   0x18 time
//! ```
//!
//! The time is the server's local time. The SID is that of the login; the file of the database knows the user that it belongs to, if it has one.
//! (Measured; names of the fields are those of `fn_dblog`.)

use super::LogRecord;
use crate::fault::{Fault, Result};
use std::collections::BTreeMap;
use vlf::Lsn;
use vlf::record::{Operation, RecordTime, SqlRecord, SqlTransactionId};

/// More transactions than this are not kept: about a gigabyte.
const TRANSACTIONS_MAX: usize = 8_000_000;

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Committed,
    RolledBack,
    /// The log has no end of it: it was open at the end of the log.
    Open,
}

impl Outcome {
    /// As `vlflab inspect` says it.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Committed => "committed",
            Outcome::RolledBack => "rolled back",
            Outcome::Open => "open",
        }
    }
}

/// A transaction of the log.
#[derive(Clone, Debug)]
pub struct Transaction {
    pub id: SqlTransactionId,
    /// Its first record; `None` if it began before the log that is left.
    pub begin: Option<Lsn>,
    /// Its last record.
    pub last: Lsn,
    /// What it was begun with: `DELETE`, `user_transaction`, a name.
    pub name: String,
    pub began: Option<RecordTime>,
    pub ended: Option<RecordTime>,
    /// Of the login; empty if the log has none.
    pub sid: Vec<u8>,
    pub outcome: Outcome,
    pub records: u64,
    /// Records that insert, delete or modify rows, of tables and indexes.
    pub row_records: u64,
}

/// All transactions of a log, by id.
#[derive(Clone, Debug, Default)]
pub struct Transactions {
    by_id: BTreeMap<(u16, u32), Transaction>,
    too_many: bool,
}

impl Transactions {
    /// Takes a record in.
    pub fn add(&mut self, record: LogRecord<'_>) {
        let Some(header) = SqlRecord::decode(record.format, record.bytes) else {
            return;
        };
        let id = header.transaction;
        if id == SqlTransactionId::default() {
            return;
        }
        if self.by_id.len() >= TRANSACTIONS_MAX && !self.by_id.contains_key(&(id.high, id.low)) {
            self.too_many = true;
            return;
        }
        let transaction = self.by_id.entry((id.high, id.low)).or_insert_with(|| Transaction {
            id,
            begin: None,
            last: record.lsn,
            name: String::new(),
            began: None,
            ended: None,
            sid: Vec::new(),
            outcome: Outcome::Open,
            records: 0,
            row_records: 0,
        });
        transaction.last = record.lsn;
        transaction.records += 1;
        match header.operation {
            Operation::BEGIN_XACT => {
                transaction.begin = Some(record.lsn);
                transaction.began = header.time;
                transaction.name = header.transaction_name().unwrap_or_default();
                transaction.sid = header.elements().get(1).map(|sid| sid.to_vec()).unwrap_or_default();
            }
            Operation::COMMIT_XACT => transaction.end(Outcome::Committed, header.time),
            Operation::ABORT_XACT => transaction.end(Outcome::RolledBack, header.time),
            Operation(2..=4 | 6) => transaction.row_records += 1,
            _ => {}
        }
    }

    /// All of them, by id.
    pub fn all(&self) -> impl Iterator<Item = &Transaction> {
        self.by_id.values()
    }

    /// The transaction with this id.
    pub fn get(&self, id: SqlTransactionId) -> Option<&Transaction> {
        self.by_id.get(&(id.high, id.low))
    }

    /// That no transaction was left out.
    ///
    /// # Errors
    /// The log has more transactions than are kept.
    pub fn check_all_kept(&self) -> Result<()> {
        match self.too_many {
            true => Err(Fault::whole(format!(
                "the log has more than {TRANSACTIONS_MAX} transactions: read fewer log backups at once"
            ))),
            false => Ok(()),
        }
    }
}

impl Transaction {
    fn end(&mut self, outcome: Outcome, time: Option<RecordTime>) {
        self.outcome = outcome;
        self.ended = time;
    }
}
