//! IDENTITY values: handed out in memory, promised in the catalog a thousand at a time.
//!
//! The catalog holds the value up to which numbers may have been used. After a crash numbering goes on there, so up to
//! [`RESERVED_AT_ONCE`] numbers are skipped, as SQL Server 2012 and later do for `int`; after a clean shutdown none are.
//! Bulk inserts promise more at a time, and a crash in their midst skips more.
//! Numbers handed out are not taken back by a rollback.
//!
//! TRUNCATE TABLE lets numbering begin anew in memory alone. The catalog goes on promising what it promised, so whichever way
//! the transaction ends in a crash, no number that a row may have is given again; a rollback puts the former state back.
//!
//! A promise that reaches the end of bigint covers all that is left. It is stored as the end itself, so that after a crash nothing is
//! left; the numbers between are skipped like those of any promise. A clean stop before the very last number skips that one.
//!
//! Invariant: a promise is stored by a lock owner of its own, which holds nothing afterwards. Were it the session's, the catalog's row
//! would stay locked until that session's transaction ends, and the next promise of the table would wait for it with the mutexes held
//! that this session needs: nobody would see that deadlock.

use super::Database;
use crate::catalog::{CatalogObject, Identity, ObjectDefinition, TableDefinition};
use crate::error::{Error, Result};
use crate::store::StoreContext;
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
    pub fn next_identity(&self, table: &TableDefinition, identity: Identity) -> Result<i64> {
        self.take_identities(table, identity, 1, RESERVED_AT_ONCE)
    }

    /// The next `count` identity values, at least one: the first of them. Errors: as for [`Database::next_identity`].
    pub fn next_identities(&self, table: &TableDefinition, identity: Identity, count: u32) -> Result<i64> {
        // Who takes many at once will take many more: a promise is a durable commit.
        let promised = RESERVED_AT_ONCE.max(i64::from(count).saturating_mul(1 + PROMISED_AHEAD));
        self.take_identities(table, identity, i64::from(count), promised)
    }

    /// Takes `count` numbers, with a promise of `promised` numbers from the first of them on when they are not promised yet.
    fn take_identities(&self, table: &TableDefinition, identity: Identity, count: i64, promised: i64) -> Result<i64> {
        let cell = self.identity_state(table, identity);
        let mut state = cell.lock();
        let first = i64::try_from(state.next).map_err(|_| overflow())?;
        let last = i64::try_from(ahead(state.next, count - 1, identity)).map_err(|_| overflow())?;
        let next = ahead(state.next, count, identity);
        if !state.promises(next, identity) {
            let reserved_to = clipped(ahead(state.next, promised, identity));
            self.store_identity(table.object_id, reserved_to)?;
            state.reserved_to = reserved_to;
        }
        state.next = next;
        state.current = Some(last);
        Ok(first)
    }

    /// An explicit value was stored (SET IDENTITY_INSERT ON): later values continue behind it.
    pub fn identity_used(&self, table: &TableDefinition, identity: Identity, value: i64) -> Result<()> {
        let cell = self.identity_state(table, identity);
        let mut state = cell.lock();
        let is_beyond = match identity.increment > 0 {
            true => i128::from(value) >= state.next,
            false => i128::from(value) <= state.next,
        };
        if is_beyond {
            let next = ahead(i128::from(value), 1, identity);
            let reserved_to = clipped(next);
            self.store_identity(table.object_id, reserved_to)?;
            *state = State {
                next,
                reserved_to,
                current: Some(value),
            };
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
    /// Those of storing the promise.
    pub fn reseed_identity(&self, table: &TableDefinition, identity: Identity, value: i64) -> Result<()> {
        let cell = self.identity_state(table, identity);
        let mut state = cell.lock();
        let current = state.current.map(|_| value);
        let next = ahead(i128::from(value), i64::from(current.is_some()), identity);
        let reserved_to = clipped(next);
        self.store_identity(table.object_id, reserved_to)?;
        *state = State {
            next,
            reserved_to,
            current,
        };
        Ok(())
    }

    /// Takes back the promises that were not used, so that a clean start skips no number, and those of tables that are gone.
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
            let unused_from = clipped(state.next);
            if unused_from != state.reserved_to && self.catalog.by_id(table, 0).is_some() {
                self.store_identity(table, unused_from)?;
                state.reserved_to = unused_from;
            }
        }
        self.forget_promises_of_dropped_tables()
    }

    fn forget_promises_of_dropped_tables(&self) -> Result<()> {
        let is_orphan = |object: &Arc<CatalogObject>| match object.definition {
            ObjectDefinition::IdentityReserve { table, .. } => self.catalog.by_id(table, 0).is_none(),
            _ => false,
        };
        let orphans: Vec<_> = self.catalog.objects(0).into_iter().filter(is_orphan).collect();
        if orphans.is_empty() || self.is_standby() {
            return Ok(());
        }
        self.change_catalog("IdentityReserve", |ctx| {
            orphans
                .iter()
                .try_for_each(|object| self.catalog.remove(ctx, 0, object))
        })
    }

    /// Changes the catalog outside of any user's transaction: durable, or not done, when this returns. One at a time.
    ///
    /// Errors: those of `work` and of the transaction.
    pub(super) fn change_catalog<T>(
        &self,
        name: &'static str,
        work: impl FnOnce(&mut StoreContext<'_>) -> Result<T>,
    ) -> Result<T> {
        let _one_at_a_time = self.identities.storing.lock();
        let locks = self.internal_locks.another();
        let outcome = self.system_transaction(name, &locks, work);
        self.catalog.finish(0, outcome.is_ok());
        locks.release_all();
        outcome
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

    fn store_identity(&self, table: u32, reserved_to: i64) -> Result<()> {
        if self.is_standby() {
            return Err(Error::database_is_read_only(&self.name()));
        }
        self.change_catalog("IdentityReserve", |ctx| {
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
        })
        .map(|_| ())
    }
}
