//! IDENTITY values: handed out in memory, promised in the catalog a thousand at a time.
//!
//! The catalog holds the value up to which numbers may have been used. After a crash numbering goes on there, so up to
//! [`RESERVED_AT_ONCE`] numbers are skipped, as SQL Server 2012 and later do for `int`; after a clean shutdown none are.
//! Bulk inserts promise more at a time, and a crash in their midst skips more.
//! Numbers handed out are not taken back by a rollback.
//!
//! TRUNCATE TABLE lets numbering begin anew in memory alone. The catalog goes on promising what it promised, so whichever way
//! the transaction ends in a crash, no number that a row may have is given again; a rollback puts the former state back.

use super::Database;
use crate::catalog::{Identity, ObjectDefinition, TableDefinition};
use crate::error::{Error, Result};
use crate::lock::LockOwner;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// Numbers promised by one catalog row change.
pub const RESERVED_AT_ONCE: i64 = 1_000;

/// Bulk inserts promise as many numbers ahead as this many of their batches need.
const PROMISED_AHEAD: i64 = 64;

#[derive(Debug, Clone, Copy)]
struct State {
    next: i64,
    reserved_to: i64,
    current: Option<i64>,
}

impl State {
    /// Whether the numbers before `next` may be used without storing anything.
    fn promises(&self, next: i64, identity: Identity) -> bool {
        match identity.increment > 0 {
            true => next <= self.reserved_to,
            false => next >= self.reserved_to,
        }
    }
}

/// The identity of a table as it was before TRUNCATE TABLE let it begin anew.
#[derive(Debug)]
pub struct FormerIdentity {
    table: u32,
    state: State,
}

#[derive(Default)]
pub(super) struct Identities {
    by_table: Mutex<HashMap<u32, Arc<Mutex<State>>>>,
    /// Held while a promise is stored: session 0 has one pending catalog change at a time.
    storing: Mutex<()>,
}

impl Database {
    /// The next identity value of a table. Errors: 8115 past the range of bigint.
    pub fn next_identity(&self, table: &TableDefinition, identity: Identity, locks: &LockOwner) -> Result<i64> {
        let cell = self.identity_state(table, identity);
        let mut state = cell.lock();
        if !state.promises(state.next.saturating_add(identity.increment), identity) {
            let distance = RESERVED_AT_ONCE.checked_mul(identity.increment);
            let reserved_to = distance.and_then(|distance| state.next.checked_add(distance));
            let reserved_to = reserved_to.ok_or_else(|| Error::arithmetic_overflow("IDENTITY", "bigint"))?;
            self.store_identity(table.object_id, reserved_to, locks)?;
            state.reserved_to = reserved_to;
        }
        let value = state.next;
        state.next += identity.increment;
        state.current = Some(value);
        Ok(value)
    }

    /// The next `count` identity values, at least one: the first of them. Errors: as for [`Database::next_identity`].
    pub fn next_identities(
        &self,
        table: &TableDefinition,
        identity: Identity,
        count: u32,
        locks: &LockOwner,
    ) -> Result<i64> {
        let overflow = || Error::arithmetic_overflow("IDENTITY", "bigint");
        let cell = self.identity_state(table, identity);
        let mut state = cell.lock();
        let first = state.next;
        let distance = i64::from(count).checked_mul(identity.increment);
        let next = distance
            .and_then(|distance| first.checked_add(distance))
            .ok_or_else(overflow)?;
        if !state.promises(next, identity) {
            // Who takes many at once will take many more: a promise is a durable commit.
            let ahead = RESERVED_AT_ONCE.max(i64::from(count).saturating_mul(PROMISED_AHEAD));
            let ahead = ahead.checked_mul(identity.increment);
            let reserved_to = ahead.and_then(|ahead| next.checked_add(ahead)).ok_or_else(overflow)?;
            self.store_identity(table.object_id, reserved_to, locks)?;
            state.reserved_to = reserved_to;
        }
        state.next = next;
        state.current = Some(next - identity.increment);
        Ok(first)
    }

    /// An explicit value was stored (SET IDENTITY_INSERT ON): later values continue behind it.
    pub fn identity_used(
        &self,
        table: &TableDefinition,
        identity: Identity,
        value: i64,
        locks: &LockOwner,
    ) -> Result<()> {
        let cell = self.identity_state(table, identity);
        let mut state = cell.lock();
        let is_beyond = if identity.increment > 0 {
            value >= state.next
        } else {
            value <= state.next
        };
        if is_beyond {
            let next = value.checked_add(identity.increment);
            state.next = next.ok_or_else(|| Error::arithmetic_overflow("IDENTITY", "bigint"))?;
            state.reserved_to = state.next;
            state.current = Some(value);
            self.store_identity(table.object_id, state.next, locks)?;
        }
        Ok(())
    }

    /// IDENT_CURRENT: the last value handed out, if any.
    pub fn identity_current(&self, table: &TableDefinition, identity: Identity) -> Option<i64> {
        self.identity_state(table, identity).lock().current
    }

    /// TRUNCATE TABLE: numbering begins anew. The caller has the table for itself until its transaction ends, and hands
    /// the former state to [`Database::restore_identity`] if that is rolled back.
    pub(crate) fn restart_identity(&self, table: &TableDefinition, identity: Identity) -> FormerIdentity {
        let cell = self.identity_state(table, identity);
        let mut state = cell.lock();
        let former = FormerIdentity {
            table: table.object_id,
            state: *state,
        };
        state.next = identity.seed;
        state.current = None;
        former
    }

    /// Puts back what [`Database::restart_identity`] changed.
    pub(crate) fn restore_identity(&self, former: FormerIdentity) {
        if let Some(cell) = self.identities.by_table.lock().get(&former.table) {
            *cell.lock() = former.state;
        }
    }

    /// DBCC CHECKIDENT RESEED: the next value will be `next`.
    pub fn reseed_identity(
        &self,
        table: &TableDefinition,
        identity: Identity,
        next: i64,
        locks: &LockOwner,
    ) -> Result<()> {
        let cell = self.identity_state(table, identity);
        let mut state = cell.lock();
        *state = State {
            next,
            reserved_to: next,
            current: None,
        };
        self.store_identity(table.object_id, next, locks)
    }

    /// Takes back the promises that were not used, so that a clean start skips no number.
    pub(super) fn store_identities(&self) -> Result<()> {
        let cells: Vec<(u32, Arc<Mutex<State>>)> = self
            .identities
            .by_table
            .lock()
            .iter()
            .map(|(table, cell)| (*table, cell.clone()))
            .collect();
        for (table, cell) in cells {
            let mut state = cell.lock();
            if state.next != state.reserved_to && self.catalog.by_id(table, 0).is_some() {
                self.store_identity(table, state.next, &self.internal_locks)?;
                state.reserved_to = state.next;
            }
        }
        // Somebody may keep this database after its end, a session by its plans; the rows of the catalog are not locked by it
        // then, for those who open the database again.
        self.internal_locks.release_all();
        Ok(())
    }

    fn identity_state(&self, table: &TableDefinition, identity: Identity) -> Arc<Mutex<State>> {
        let mut states = self.identities.by_table.lock();
        let state = states.entry(table.object_id).or_insert_with(|| {
            let reserved = self.stored_identity(table.object_id).map(|stored| stored.1);
            let next = reserved.unwrap_or(identity.seed);
            let current = reserved.map(|next| next - identity.increment);
            Arc::new(Mutex::new(State {
                next,
                reserved_to: next,
                current,
            }))
        });
        state.clone()
    }

    fn stored_identity(&self, table_id: u32) -> Option<(Arc<crate::catalog::CatalogObject>, i64)> {
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

    fn store_identity(&self, table: u32, reserved_to: i64, locks: &LockOwner) -> Result<()> {
        if self.is_standby() {
            return Err(Error::database_is_read_only(&self.name()));
        }
        let _one_at_a_time = self.identities.storing.lock();
        let stored = self.stored_identity(table);
        let outcome = self.system_transaction("IdentityReserve", locks, |ctx| {
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
        self.catalog.finish(0, outcome.is_ok());
        outcome.map(|_| ())
    }
}
