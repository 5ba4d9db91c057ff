//! Values of sequences: assigned in memory, reserved in the catalog one cache at a time. A reserved range is called a *promise*.
//!
//! The catalog holds the value after the last promised one. After a crash numbering continues there, so cached but unused values are
//! skipped, and no value is assigned twice (SQL Server docs, "CREATE SEQUENCE", CACHE). After a clean stop none are skipped. A rollback
//! returns no values. A promise never crosses the end of a cycle.
//!
//! Promises are system work, as for identity values (`identity.rs`, whose invariants hold here). A promise is durable before any of its
//! values is assigned, because the session that gets the value may never commit.

use super::Database;
use super::system::{SystemTurn, SystemWork, unless_locked};
use crate::catalog::{CatalogObject, ObjectDefinition, SequenceDefinition};
use crate::error::{Error, Result};
use crate::lock::LockOwner;
use foldhash::fast::RandomState;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

#[derive(Debug, Clone, Copy)]
struct State {
    /// `None` when there are no more.
    next: Option<i128>,
    last: Option<i128>,
    /// Values from `next` on that are promised.
    left: u64,
}

/// Where a sequence stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SequenceStand {
    /// `None` when there are no more.
    pub next: Option<i128>,
    /// The value given last, if any was.
    pub last: Option<i128>,
}

/// Values taken at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SequenceRange {
    pub first: i128,
    pub last: i128,
    /// How often the end was passed.
    pub cycles: i64,
}

/// A sequence in one of its states.
type Key = (u32, u32);

#[derive(Default)]
pub(super) struct Sequences {
    cells: Mutex<HashMap<Key, Arc<Mutex<State>>, RandomState>>,
}

impl Database {
    /// The next value of a sequence. `locks` are the caller's: it waits for a promise as it waits for locks.
    ///
    /// # Errors
    /// 11728 when there are no more; 1222 and 3617 of waiting, and those of storing a promise.
    pub fn next_sequence_value(&self, sequence: &SequenceDefinition, locks: &LockOwner) -> Result<i128> {
        let cell = self.sequence_cell(sequence);
        let mut turn = None;
        loop {
            {
                let mut state = cell.lock();
                let value = state.next.ok_or_else(|| exhausted(&sequence.name))?;
                if state.left > 0 {
                    *state = State {
                        next: sequence.after(value),
                        last: Some(value),
                        left: state.left - 1,
                    };
                    return Ok(value);
                }
            }
            match &turn {
                // The previous holder of the turn may have promised enough.
                None => turn = Some(self.system_turn(locks)?),
                Some(turn) => self.promise_values(turn, &cell, sequence)?,
            }
        }
    }

    /// Takes `count` values, at least one, one behind the other (`sp_sequence_get_range`).
    ///
    /// # Errors
    /// 11732 when there are not so many; those of [`Database::next_sequence_value`].
    pub fn take_sequence_range(
        &self,
        sequence: &SequenceDefinition,
        count: u64,
        locks: &LockOwner,
    ) -> Result<SequenceRange> {
        let cell = self.sequence_cell(sequence);
        let turn = self.system_turn(locks)?;
        // With the turn in hand nobody promises; values that are promised may still be taken, so all of them are given up first.
        let first = {
            let mut state = cell.lock();
            state.left = 0;
            state.next.ok_or_else(|| exhausted(&sequence.name))?
        };
        let (mut last, mut cycles, mut left) = (first, 0_i64, count - 1);
        while left > 0 {
            let within = sequence.steps_left(last).min(left);
            last = sequence.stepped(last, within);
            left -= within;
            if left > 0 {
                let next = if sequence.is_cycling {
                    sequence.after(last)
                } else {
                    None
                };
                last = next.ok_or_else(|| range_too_large(&sequence.name))?;
                cycles += 1;
                left -= 1;
            }
        }
        let taken = State {
            next: sequence.after(last),
            last: Some(last),
            left: 0,
        };
        self.store_sequence(&turn, (sequence.object_id, sequence.state), taken)?;
        *cell.lock() = taken;
        Ok(SequenceRange { first, last, cycles })
    }

    /// Where a sequence stands: values cached and not used count as not given.
    pub fn sequence_stand(&self, sequence: &SequenceDefinition) -> SequenceStand {
        let State { next, last, .. } = *self.sequence_cell(sequence).lock();
        SequenceStand { next, last }
    }

    fn promise_values(&self, turn: &SystemTurn, cell: &Mutex<State>, sequence: &SequenceDefinition) -> Result<()> {
        let state = *cell.lock();
        let (Some(next), 0) = (state.next, state.left) else {
            return Ok(());
        };
        let count = sequence
            .promised_at_once()
            .min(sequence.steps_left(next).saturating_add(1));
        let last = sequence.stepped(next, count - 1);
        let behind = State {
            next: sequence.after(last),
            last: Some(last),
            left: 0,
        };
        self.store_sequence(turn, (sequence.object_id, sequence.state), behind)?;
        cell.lock().left = count;
        Ok(())
    }

    fn sequence_cell(&self, sequence: &SequenceDefinition) -> Arc<Mutex<State>> {
        let key = (sequence.object_id, sequence.state);
        let mut cells = self.sequences.cells.lock();
        let cell = cells.entry(key).or_insert_with(|| {
            let begun = State {
                next: sequence.first,
                last: None,
                left: 0,
            };
            let stored = self.stored_sequence(key);
            Arc::new(Mutex::new(stored.map_or(begun, |(_, state)| state)))
        });
        cell.clone()
    }

    fn stored_sequence(&self, key: Key) -> Option<(Arc<CatalogObject>, State)> {
        let objects = self.catalog.objects(0).into_iter();
        objects.into_iter().find_map(|object| match object.definition {
            ObjectDefinition::SequenceReserve {
                sequence,
                state,
                next,
                last,
                ..
            } if (sequence, state) == key => Some((object.clone(), State { next, last, left: 0 })),
            _ => None,
        })
    }

    fn store_sequence(&self, turn: &SystemTurn, key: Key, stand: State) -> Result<()> {
        self.check_writable()?;
        let changed = self.change_catalog(turn, SystemWork::SequencePromise, |ctx| {
            let stored = self.stored_sequence(key);
            let object_id = match &stored {
                Some((object, _)) => object.definition.object_id(),
                None => self.new_object_id()?,
            };
            let definition = ObjectDefinition::SequenceReserve {
                object_id,
                sequence: key.0,
                state: key.1,
                next: stand.next,
                last: stand.last,
            };
            match &stored {
                Some((object, _)) => self.catalog.replace(ctx, 0, object, definition),
                None => self.catalog.insert(ctx, 0, definition),
            }
        });
        changed?;
        Ok(())
    }

    /// Undoes the promises that were not used, so that a clean start skips no value, and forgets those of sequences and states that are gone.
    pub(super) fn store_sequences(&self, turn: &SystemTurn) -> Result<()> {
        let cells: Vec<_> = {
            let cells = self.sequences.cells.lock();
            cells.iter().map(|(key, cell)| (*key, cell.clone())).collect()
        };
        for (key, cell) in cells {
            let state = *cell.lock();
            if state.left > 0 && self.has_sequence_state(key) {
                unless_locked(self.store_sequence(turn, key, state))?;
                cell.lock().left = 0;
            }
        }
        unless_locked(self.forget_former_states(turn))
    }

    fn has_sequence_state(&self, (id, state): Key) -> bool {
        let object = self.catalog.by_id(id, 0);
        object.is_some_and(
            |object| matches!(&object.definition, ObjectDefinition::Sequence(sequence) if sequence.state == state),
        )
    }

    fn forget_former_states(&self, turn: &SystemTurn) -> Result<()> {
        let is_orphan = |object: &Arc<CatalogObject>| match object.definition {
            ObjectDefinition::SequenceReserve { sequence, state, .. } => !self.has_sequence_state((sequence, state)),
            _ => false,
        };
        let orphans: Vec<_> = self.catalog.objects(0).into_iter().filter(is_orphan).collect();
        if orphans.is_empty() || self.is_read_only() {
            return Ok(());
        }
        let removed = self.change_catalog(turn, SystemWork::SequencePromise, |ctx| {
            let mut each = orphans.iter();
            each.try_for_each(|object| self.catalog.remove(ctx, 0, object))
        });
        Ok(removed?)
    }
}

fn exhausted(name: &str) -> Error {
    let text = format!(
        "The sequence object '{name}' has reached its minimum or maximum value. Restart the sequence object to allow new values to \
         be generated."
    );
    Error::new(11728, 16, 1, text)
}

fn range_too_large(name: &str) -> Error {
    let text = format!(
        "The requested range for sequence object '{name}' exceeds the maximum or minimum limit. Retry with a smaller range."
    );
    Error::new(11732, 16, 1, text)
}
