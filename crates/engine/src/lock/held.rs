//! What one owner holds.
//!
//! A transaction on a row or two has half a dozen locks and looks for them a dozen times, so the first few are a list that is gone through. Beyond
//! [`FEW`] they are a table.

use super::hasher::LockMap;
use super::owner::ESCALATION_THRESHOLD;
use super::{LAST_SYSTEM_OBJECT, Mode, Resource};

/// Up to so many locks are a list.
const FEW: usize = 8;
/// Locks for which an owner keeps room between transactions.
const KEPT_ENTRIES_MAX: usize = 64;
/// Tables for which it does.
const KEPT_TABLES_MAX: usize = 8;

/// The locks of an owner.
#[derive(Default)]
pub(super) struct Held {
    pub(super) modes: Modes,
    pub(super) rows_by_object: LockMap<(u16, u32), RowLocks>,
    /// Whether a row was locked since the lists of [`Held::rows_by_object`] were cleared.
    has_listed_rows: bool,
}

/// The row locks of an owner on one object.
#[derive(Default)]
pub(super) struct RowLocks {
    pub(super) rows: Vec<Resource>,
    next_attempt: u32,
}

impl Held {
    /// Whether an object has so many row locks that its table lock should be tried. A failed attempt is repeated after 1,250
    /// more of them, as SQL Server does.
    pub(super) fn is_escalation_due(&mut self, database: u16, object: u32) -> bool {
        if self.modes.len() < ESCALATION_THRESHOLD as usize || object <= LAST_SYSTEM_OBJECT {
            return false;
        }
        let Some(locks) = self.rows_by_object.get_mut(&(database, object)) else {
            return false;
        };
        let count = locks.rows.len() as u32;
        if count < ESCALATION_THRESHOLD.max(locks.next_attempt) {
            return false;
        }
        locks.next_attempt = count + 1_250;
        true
    }

    /// Notes a row of an object that was locked just now.
    pub(super) fn list_row(&mut self, object: (u16, u32), row: Resource) {
        self.has_listed_rows = true;
        self.rows_by_object.entry(object).or_default().rows.push(row);
    }

    /// Takes over the lists of an object from another owner.
    pub(super) fn list_rows(&mut self, object: (u16, u32), rows: RowLocks) {
        self.has_listed_rows = true;
        self.rows_by_object.insert(object, rows);
    }

    /// Whether a row of an object is locked.
    pub(super) fn has_rows_of(&self, table: Resource) -> bool {
        let Resource::Object(database, object) = table else {
            return false;
        };
        let locks = self.rows_by_object.get(&(database, object));
        self.has_listed_rows && locks.is_some_and(|locks| !locks.rows.is_empty())
    }

    /// Forgets the lists of row locks. The next transaction most likely changes a row or two of the same tables: the room of
    /// short lists stays.
    pub(super) fn forget_rows(&mut self) {
        if !std::mem::take(&mut self.has_listed_rows) {
            return;
        }
        if self.rows_by_object.len() > KEPT_TABLES_MAX {
            self.rows_by_object.clear();
        }
        self.rows_by_object.retain(|_, locks| {
            locks.rows.clear();
            locks.next_attempt = 0;
            locks.rows.capacity() <= KEPT_ENTRIES_MAX
        });
    }
}

/// The mode that an owner holds on each resource.
#[derive(Default)]
pub(super) struct Modes {
    /// Empty where there are more.
    few: Vec<(Resource, Mode)>,
    many: LockMap<Resource, Mode>,
}

impl Modes {
    /// How many resources are locked.
    pub(super) fn len(&self) -> usize {
        self.few.len() + self.many.len()
    }

    /// For how many there is room.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.few.capacity().max(self.many.capacity())
    }

    /// The mode held on a resource.
    #[inline]
    pub(super) fn get(&self, resource: &Resource) -> Option<Mode> {
        match self.many.is_empty() {
            true => self
                .few
                .iter()
                .find(|(held, _)| held == resource)
                .map(|(_, mode)| *mode),
            false => self.many.get(resource).copied(),
        }
    }

    /// A resource is held in a mode from now on.
    pub(super) fn insert(&mut self, resource: Resource, mode: Mode) {
        if !self.many.is_empty() {
            self.many.insert(resource, mode);
            return;
        }
        match self.few.iter().position(|(held, _)| *held == resource) {
            Some(place) => self.few[place].1 = mode,
            None if self.few.len() < FEW => self.few.push((resource, mode)),
            None => {
                self.many.extend(self.few.drain(..));
                self.many.insert(resource, mode);
            }
        }
    }

    /// A resource is held no longer.
    pub(super) fn remove(&mut self, resource: &Resource) {
        match self.few.iter().position(|(held, _)| held == resource) {
            Some(place) => drop(self.few.swap_remove(place)),
            None if self.many.is_empty() => {}
            None => drop(self.many.remove(resource)),
        }
    }

    /// Everything that is held, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Resource, Mode)> {
        let many = self.many.iter().map(|(resource, mode)| (*resource, *mode));
        self.few.iter().copied().chain(many)
    }

    /// Keeps what `stays` says, in the mode that it says. The room of a large transaction is given back if little is left: every later release
    /// would walk it.
    pub(super) fn retain(&mut self, mut stays: impl FnMut(Resource, &mut Mode) -> bool) {
        self.few.retain_mut(|(resource, mode)| stays(*resource, mode));
        if self.many.is_empty() {
            return;
        }
        self.many.retain(|&resource, mode| stays(resource, mode));
        match self.many.len() {
            ..=FEW => self.few.extend(std::mem::take(&mut self.many)),
            _ => self.many.shrink_to(KEPT_ENTRIES_MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Locks come and go around the number up to which they are a list; a map of the standard library says what is held.
    #[test]
    fn a_list_and_a_table_hold_the_same() {
        let (mut held, mut expected) = (Modes::default(), BTreeMap::new());
        let mut number = 1_u64;
        let mut most = 0;
        for step in 0..20_000 {
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let resource = Resource::Row(5, 100, (number >> 40) % 24);
            let mode = Mode::ALL[(number >> 33) as usize % Mode::ALL.len()];
            match (number >> 60) % 8 {
                0..4 => {
                    held.insert(resource, mode);
                    expected.insert(resource, mode);
                }
                4..7 => {
                    held.remove(&resource);
                    expected.remove(&resource);
                }
                _ => {
                    let stays = |resource: Resource, mode: &mut Mode| {
                        let is_even = matches!(resource, Resource::Row(_, _, row) if row % 2 == step % 2);
                        *mode = if is_even { Mode::U } else { *mode };
                        is_even
                    };
                    held.retain(stays);
                    expected.retain(|&resource, mode| stays(resource, mode));
                }
            }
            most = most.max(held.len());
            assert_eq!(held.len(), expected.len());
            assert_eq!(held.iter().collect::<BTreeMap<_, _>>(), expected, "step {step}");
            assert!(
                expected
                    .iter()
                    .all(|(resource, mode)| held.get(resource) == Some(*mode))
            );
            assert_eq!(held.get(&Resource::Database(5)), None);
        }
        assert!(most > FEW, "{most}");
    }
}
