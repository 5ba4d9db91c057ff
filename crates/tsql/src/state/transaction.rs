//! The transaction of a session as T-SQL counts and names it. The engine's session has the transaction itself.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};

use engine::session::{Isolation, Mark};
use engine::versions::{HeldSnapshot, Snapshot};

use super::SessionState;
use super::definitions::StatementLock;
use crate::scalar::moment::Moment;

/// Counts, names and marks.
#[derive(Default)]
pub struct Transaction {
    count: Cell<u32>,
    descriptor: Cell<u64>,
    doomed: Cell<bool>,
    /// When it began, in microseconds since 1970.
    begun_unix_micros: Cell<Option<u64>>,
    /// Whether a statement that is one unit of work is under way.
    pub(super) in_unit: Cell<bool>,
    /// Savepoints with their names, oldest first.
    pub savepoints: RefCell<Vec<(String, Mark)>>,
    /// The outermost transaction's name; empty when it has none.
    pub name: RefCell<String>,
    /// What the statement under way has locked for no longer than itself.
    pub statement_locks: RefCell<Vec<StatementLock>>,
    /// What the statement under way reads by, if it reads by versions under READ COMMITTED.
    pub(super) statement_snapshot: RefCell<Option<HeldSnapshot>>,
    /// `sp_cleanup_temporal_history` runs: rows of a history table may go.
    cleans_history: Cell<bool>,
    /// The transaction is that of a statement whose triggers run: the client does not know of it.
    pub(crate) is_of_statement: Cell<bool>,
    /// Inside of INSERT ... EXECUTE: `@@TRANCOUNT` when it began.
    pub insert_execute_count: Cell<Option<u32>>,
}

impl SessionState {
    /// `@@TRANCOUNT`
    pub fn transaction_count(&self) -> u32 {
        self.transaction.count.get()
    }

    /// Sets `@@TRANCOUNT`; the transaction's descriptor follows.
    pub fn set_transaction_count(&self, count: u32) {
        let before = self.transaction.count.replace(count);
        if before == 0 && count > 0 {
            static NEXT: AtomicU64 = AtomicU64::new(1);
            self.transaction
                .descriptor
                .set((u64::from(self.id) << 40) | NEXT.fetch_add(1, Ordering::Relaxed));
            if self.transaction.begun_unix_micros.get().is_none() {
                let now = self.instance.env.clock.unix_micros();
                self.transaction.begun_unix_micros.set(Some(now));
            }
        }
        if count == 0 {
            self.transaction.begun_unix_micros.set(None);
            self.transaction.is_of_statement.set(false);
            self.transaction.doomed.set(false);
            self.transaction.savepoints.borrow_mut().clear();
            self.transaction.name.borrow_mut().clear();
        }
    }

    /// Whether rows of a history table may be deleted.
    pub(crate) fn cleans_history(&self) -> bool {
        self.transaction.cleans_history.get()
    }

    /// Runs what deletes rows of a history table.
    pub(crate) fn cleaning_history<T>(&self, work: impl FnOnce() -> T) -> T {
        let outer = self.transaction.cleans_history.replace(true);
        let result = work();
        self.transaction.cleans_history.set(outer);
        result
    }

    /// A statement outside of a transaction begins one of its own.
    pub(crate) fn begin_own_transaction(&self) {
        self.transaction.begun_unix_micros.set(Some(self.now_unix_micros()));
    }

    /// The statement is over, and its own transaction with it, unless a trigger has begun one that stays.
    pub(crate) fn end_own_transaction(&self) {
        if self.transaction.count.get() == 0 {
            self.transaction.begun_unix_micros.set(None);
        }
    }

    /// When the transaction under way began, in UTC: the time that it has in the periods of temporal tables.
    pub(crate) fn transaction_time(&self) -> Moment {
        let begun = self.transaction.begun_unix_micros.get();
        Moment::from_unix_micros(begun.unwrap_or(self.now_unix_micros()))
    }

    /// The number by which TDS knows the transaction; 0 outside of one.
    pub fn transaction_descriptor(&self) -> u64 {
        if self.transaction.count.get() == 0 {
            0
        } else {
            self.transaction.descriptor.get()
        }
    }

    /// The descriptor of the transaction under way or last ended.
    pub(crate) fn last_descriptor(&self) -> u64 {
        self.transaction.descriptor.get()
    }

    /// The snapshot of the statement under way. The tables it reads are locked.
    pub(crate) fn statement_snapshot(&self) -> Snapshot {
        let mut held = self.transaction.statement_snapshot.borrow_mut();
        let take = || {
            let now = self.instance.env.clock.now_micros();
            self.engine.borrow_mut().take_statement_snapshot(now)
        };
        held.get_or_insert_with(take).snapshot()
    }

    /// The snapshot of the transaction under SNAPSHOT.
    pub(crate) fn transaction_snapshot(&self) -> Snapshot {
        let now = self.instance.env.clock.now_micros();
        self.engine.borrow_mut().transaction_snapshot(now)
    }

    /// Whether the transaction first read or wrote under SNAPSHOT, as it does now if it has not yet.
    pub(crate) fn began_under_snapshot(&self) -> bool {
        let isolation = self.options().isolation;
        self.engine.borrow_mut().note_access(isolation) == Isolation::Snapshot
    }

    /// Whether the transaction can only be rolled back.
    pub fn is_doomed(&self) -> bool {
        self.transaction.doomed.get()
    }

    /// Leaves the transaction only the way back.
    pub fn doom(&self) {
        self.transaction.doomed.set(self.transaction.count.get() > 0);
    }

    /// Whether a statement that is one unit of work is under way.
    pub(crate) fn is_in_unit(&self) -> bool {
        self.transaction.in_unit.get()
    }
}
