//! IDENTITY values: assigned in memory, reserved in the catalog a thousand at a time. A reserved range is called a *promise*.
//!
//! The catalog holds the value up to which numbers may have been used. After a crash numbering continues from there, so up to
//! [`RESERVED_AT_ONCE`] numbers are skipped, as in SQL Server 2012 and later for `int`. After a clean shutdown none are. Bulk inserts
//! reserve more at a time, and a crash during one skips more. A rollback does not return assigned numbers.
//!
//! TRUNCATE TABLE restarts the numbering in memory only. The catalog keeps its promise, so however the transaction ends in a crash, no
//! number that a row may have is assigned again. A rollback restores the previous state.
//!
//! A promise that reaches the end of bigint covers all remaining numbers. It is stored as the end itself, so after a crash none are left;
//! the numbers in between are skipped as after any promise. A clean stop before the very last number skips that one.
//!
//! A promise is system work ([`super::system`]): it has its own transaction and locks, in a turn that the session waits for.
//!
//! Invariant: the state of an identity is locked only briefly, never while a promise waits or is stored. So reading the current value never
//! waits, and neither does taking a promised number. Invariant: all numbers taken meanwhile are within the promise stored before.

use super::Database;
use super::system::{SystemTurn, SystemWork, unless_locked};
use crate::catalog::{CatalogObject, Identity, ObjectDefinition, TableDefinition};
use crate::error::{Error, Result};
use crate::lock::LockOwner;
use foldhash::fast::RandomState;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// Numbers promised by one catalog row change.
pub const RESERVED_AT_ONCE: i64 = 1_000;

/// Bulk inserts promise as many numbers ahead as this many of their batches need.
const PROMISED_AHEAD: i64 = 64;

#[derive(Debug, Clone, Copy)]
struct State {
    /// One step past bigint when all numbers are used.
    next: i128,
    reserved_to: i64,
    current: Option<i64>,
}

impl State {
    /// Whether the numbers before `next` may be used without storing anything.
    fn promises(&self, next: i128, identity: Identity) -> bool {
        let reserved_to = i128::from(self.reserved_to);
        match identity.increment > 0 {
            true => next <= reserved_to || self.reserved_to == i64::MAX,
            false => next >= reserved_to || self.reserved_to == i64::MIN,
        }
    }

    /// Takes `count` numbers if they are promised: the first of them.
    ///
    /// # Errors
    /// 8115 past the range of bigint.
    fn take(&mut self, count: i64, identity: Identity) -> Result<Option<i64>> {
        let first = i64::try_from(self.next).map_err(|_| overflow())?;
        let last = i64::try_from(ahead(self.next, count - 1, identity)).map_err(|_| overflow())?;
        let next = ahead(self.next, count, identity);
        if !self.promises(next, identity) {
            return Ok(None);
        }
        self.next = next;
        self.current = Some(last);
        Ok(Some(first))
    }

    /// Lets numbering go on behind a value, if its promise reaches so far; nothing changes for a value that numbering has passed.
    fn go_behind(&mut self, value: i64, identity: Identity) -> bool {
        let is_beyond = match identity.increment > 0 {
            true => i128::from(value) >= self.next,
            false => i128::from(value) <= self.next,
        };
        if !is_beyond {
            return true;
        }
        let next = ahead(i128::from(value), 1, identity);
        let is_promised = self.promises(next, identity);
        if is_promised {
            self.next = next;
            self.current = Some(value);
        }
        is_promised
    }

    /// The state of a table when its database opens.
    fn stored(reserved_to: i64, identity: Identity) -> State {
        let is_used_up = reserved_to == end_of(identity);
        State {
            next: i128::from(reserved_to) + i128::from(identity.increment) * i128::from(is_used_up),
            reserved_to,
            current: Some(reserved_to.saturating_sub(identity.increment)),
        }
    }
}

/// The last number of bigint in the direction of an identity.
fn end_of(identity: Identity) -> i64 {
    if identity.increment > 0 { i64::MAX } else { i64::MIN }
}

/// The number `count` steps behind another, at most one step past bigint.
fn ahead(number: i128, count: i64, identity: Identity) -> i128 {
    number + i128::from(count) * i128::from(identity.increment)
}

/// A number as the catalog holds it: the end of bigint for what is past it.
fn clipped(number: i128) -> i64 {
    i64::try_from(number).unwrap_or(if number > 0 { i64::MAX } else { i64::MIN })
}

fn overflow() -> Error {
    Error::arithmetic_overflow("IDENTITY", "bigint")
}

/// The identity of a table as it was before TRUNCATE TABLE let it begin again.
#[derive(Debug)]
pub struct FormerIdentity {
    table: u32,
    state: State,
}

#[derive(Default)]
pub(super) struct Identities {
    by_table: Mutex<HashMap<u32, Arc<Mutex<State>>, RandomState>>,
}

impl Database {
    /// The next identity value of a table. `locks` are the caller's: it waits for a promise as it waits for locks.
    ///
    /// # Errors
    /// 8115 past the range of bigint; 1222 and 3617 of waiting, and those of storing a promise.
    pub fn next_identity(&self, table: &TableDefinition, identity: Identity, locks: &LockOwner) -> Result<i64> {
        self.take_identities(table, identity, (1, RESERVED_AT_ONCE), locks)
    }

    /// The next `count` identity values, at least one: the first of them.
    ///
    /// # Errors
    /// As for [`Database::next_identity`].
    pub fn next_identities(
        &self,
        table: &TableDefinition,
        identity: Identity,
        count: u32,
        locks: &LockOwner,
    ) -> Result<i64> {
        // A caller that takes many at once will take many more: a promise is a transaction.
        let promised = RESERVED_AT_ONCE.max(i64::from(count).saturating_mul(1 + PROMISED_AHEAD));
        self.take_identities(table, identity, (i64::from(count), promised), locks)
    }

    /// Takes `count` numbers, with a promise of `promised` numbers from the first of them on when they are not promised yet.
    fn take_identities(
        &self,
        table: &TableDefinition,
        identity: Identity,
        (count, promised): (i64, i64),
        locks: &LockOwner,
    ) -> Result<i64> {
        let cell = self.identity_state(table, identity);
        let mut turn = None;
        loop {
            let reserved_to = {
                let mut state = cell.lock();
                match state.take(count, identity)? {
                    Some(first) => return Ok(first),
                    None => clipped(ahead(state.next, promised, identity)),
                }
            };
            match &turn {
                // The previous holder of the turn may have promised enough.
                None => turn = Some(self.system_turn(locks)?),
                Some(turn) => self.promise_identities(turn, &cell, table, reserved_to)?,
            }
        }
    }

    /// An explicit value was stored (SET IDENTITY_INSERT ON): later values continue behind it.
    ///
    /// # Errors
    /// As for [`Database::next_identity`].
    pub fn identity_used(
        &self,
        table: &TableDefinition,
        identity: Identity,
        value: i64,
        locks: &LockOwner,
    ) -> Result<()> {
        let cell = self.identity_state(table, identity);
        let reserved_to = clipped(ahead(i128::from(value), 1, identity));
        let mut turn = None;
        while !cell.lock().go_behind(value, identity) {
            match &turn {
                None => turn = Some(self.system_turn(locks)?),
                Some(turn) => self.promise_identities(turn, &cell, table, reserved_to)?,
            }
        }
        Ok(())
    }

    /// Stores a promise and lets numbers be taken up to it.
    fn promise_identities(
        &self,
        turn: &SystemTurn,
        cell: &Mutex<State>,
        table: &TableDefinition,
        reserved_to: i64,
    ) -> Result<()> {
        self.store_identity(turn, table.object_id, reserved_to)?;
        cell.lock().reserved_to = reserved_to;
        Ok(())
    }

    /// IDENT_CURRENT: the last value handed out, if any.
    pub fn identity_current(&self, table: &TableDefinition, identity: Identity) -> Option<i64> {
        self.identity_state(table, identity).lock().current
    }

    /// TRUNCATE TABLE: numbering starts over. The caller has the table for itself until its transaction ends, and hands
    /// the former state to [`Database::restore_identity`] if that is rolled back.
    pub(crate) fn restart_identity(&self, table: &TableDefinition, identity: Identity) -> FormerIdentity {
        let cell = self.identity_state(table, identity);
        let mut state = cell.lock();
        let former = FormerIdentity {
            table: table.object_id,
            state: *state,
        };
        state.next = i128::from(identity.seed);
        state.current = None;
        former
    }

    /// Puts back what [`Database::restart_identity`] changed.
    pub(crate) fn restore_identity(&self, former: FormerIdentity) {
        if let Some(cell) = self.identities.by_table.lock().get(&former.table) {
            *cell.lock() = former.state;
        }
    }

    /// DBCC CHECKIDENT RESEED: `value` is the current value, and the next one follows it. Before the first value after the table was made
    /// or truncated, `value` itself comes next, and there is no current one (sql-docs, DBCC CHECKIDENT).
    ///
    /// # Errors
    /// 1222 and 3617 of waiting, and those of storing the promise.
    pub fn reseed_identity(
        &self,
        table: &TableDefinition,
        identity: Identity,
        value: i64,
        locks: &LockOwner,
    ) -> Result<()> {
        let cell = self.identity_state(table, identity);
        let turn = self.system_turn(locks)?;
        let current = cell.lock().current.map(|_| value);
        let next = ahead(i128::from(value), i64::from(current.is_some()), identity);
        let reserved_to = clipped(next);
        self.store_identity(&turn, table.object_id, reserved_to)?;
        *cell.lock() = State {
            next,
            reserved_to,
            current,
        };
        Ok(())
    }

    /// Undoes the promises that were not used, so that a clean start skips no number, and those of tables that are gone. What is
    /// locked stays as it is: the end of a transaction that did not come to its end must not be waited for, and its numbers are
    /// skipped as after a crash.
    pub(super) fn store_identities(&self, turn: &SystemTurn) -> Result<()> {
        let cells: Vec<(u32, Arc<Mutex<State>>)> = self
            .identities
            .by_table
            .lock()
            .iter()
            .map(|(table, cell)| (*table, cell.clone()))
            .collect();
        for (table, cell) in cells {
            let State { next, reserved_to, .. } = *cell.lock();
            let unused_from = clipped(next);
            if unused_from != reserved_to && self.catalog.by_id(table, 0).is_some() {
                unless_locked(self.store_identity(turn, table, unused_from))?;
                cell.lock().reserved_to = unused_from;
            }
        }
        unless_locked(self.forget_promises_of_dropped_tables(turn))?;
        self.store_sequences(turn)
    }

    fn forget_promises_of_dropped_tables(&self, turn: &SystemTurn) -> Result<()> {
        let is_orphan = |object: &Arc<CatalogObject>| match object.definition {
            ObjectDefinition::IdentityReserve { table, .. } => self.catalog.by_id(table, 0).is_none(),
            _ => false,
        };
        let orphans: Vec<_> = self.catalog.objects(0).into_iter().filter(is_orphan).collect();
        if orphans.is_empty() || self.is_read_only() {
            return Ok(());
        }
        let removed = self.change_catalog(turn, SystemWork::IdentityPromise, |ctx| {
            orphans
                .iter()
                .try_for_each(|object| self.catalog.remove(ctx, 0, object))
        });
        Ok(removed?)
    }

    fn identity_state(&self, table: &TableDefinition, identity: Identity) -> Arc<Mutex<State>> {
        let mut states = self.identities.by_table.lock();
        let state = states.entry(table.object_id).or_insert_with(|| {
            let begun = State {
                next: i128::from(identity.seed),
                reserved_to: identity.seed,
                current: None,
            };
            let stored = self.stored_identity(table.object_id);
            Arc::new(Mutex::new(
                stored.map_or(begun, |(_, reserved_to)| State::stored(reserved_to, identity)),
            ))
        });
        state.clone()
    }

    fn stored_identity(&self, table_id: u32) -> Option<(Arc<CatalogObject>, i64)> {
        self.catalog
            .objects(0)
            .into_iter()
            .find_map(|object| match object.definition {
                ObjectDefinition::IdentityReserve { table, reserved_to, .. } if table == table_id => {
                    Some((object.clone(), reserved_to))
                }
                _ => None,
            })
    }

    fn store_identity(&self, turn: &SystemTurn, table: u32, reserved_to: i64) -> Result<()> {
        self.check_writable()?;
        let changed = self.change_catalog(turn, SystemWork::IdentityPromise, |ctx| {
            let stored = self.stored_identity(table);
            let object_id = match &stored {
                Some((object, _)) => object.definition.object_id(),
                None => self.new_object_id()?,
            };
            let definition = ObjectDefinition::IdentityReserve {
                object_id,
                table,
                reserved_to,
            };
            match &stored {
                Some((object, _)) => self.catalog.replace(ctx, 0, object, definition),
                None => self.catalog.insert(ctx, 0, definition),
            }
        });
        changed?;
        Ok(())
    }
}
