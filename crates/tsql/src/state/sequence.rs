//! The sequence values of the current row.
//!
//! A statement may call a sequence in several places. All places get the same value for one row (sql-docs, "NEXT VALUE FOR"). So a value is
//! kept until a place asks for the second time, which means that the next row has begun. Rows of VALUES have separate places, and mark
//! their end.
//!
//! With OVER (ORDER BY ...) a row asks with its number in that order, whatever the order of arrival: values are allocated up to the highest
//! number.

use std::cell::RefCell;
use std::collections::HashMap;

use engine::error::Result;
use engine::memory::Charge;

/// What a value takes that is kept.
const VALUE_BYTES: u64 = 32;

/// A sequence: its database and its id.
type Key = (u16, u32);

/// The last value of each sequence, with the places that have it.
#[derive(Default)]
pub struct RowValues {
    given: RefCell<HashMap<Key, (i128, Vec<i64>)>>,
    /// By the number of the row, from 1 on; with what was asked for the memory.
    ordered: RefCell<HashMap<Key, (Vec<i128>, Charge)>>,
}

impl RowValues {
    /// Another statement begins.
    pub(super) fn clear(&self) {
        self.end_row();
        let mut ordered = self.ordered.borrow_mut();
        if !ordered.is_empty() {
            ordered.clear();
        }
    }

    /// A row is over: its places share no value with those of the next one.
    pub(crate) fn end_row(&self) {
        let mut given = self.given.borrow_mut();
        if !given.is_empty() {
            given.clear();
        }
    }

    /// The value of the row that has this number, from 1 on; `next` gives values.
    ///
    /// # Errors
    /// Those of `next`; 701 when there is no memory for the values of the rows before.
    pub(crate) fn of_number(&self, key: Key, number: i64, mut next: impl FnMut() -> Result<i128>) -> Result<i128> {
        let mut ordered = self.ordered.borrow_mut();
        let (values, charge) = ordered.entry(key).or_default();
        let count = usize::try_from(number).unwrap_or(1).max(1);
        while values.len() < count {
            charge.grow_to((values.len() as u64 + 1) * VALUE_BYTES)?;
            values.push(next()?);
        }
        Ok(values[count - 1])
    }

    /// The value that another place of the row was given, if this one has not had it.
    pub(crate) fn of_row(&self, key: Key, place: i64) -> Option<i128> {
        let mut given = self.given.borrow_mut();
        let (value, places) = given.get_mut(&key)?;
        if places.contains(&place) {
            return None;
        }
        places.push(place);
        Some(*value)
    }

    /// Keeps a new value for the places of the row.
    pub(crate) fn give(&self, key: Key, place: i64, value: i128) {
        self.given.borrow_mut().insert(key, (value, vec![place]));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn places_of_a_row_share_a_value() {
        let (values, key) = (RowValues::default(), (5, 7));
        assert_eq!(values.of_row(key, 1), None);
        values.give(key, 1, 10);
        assert_eq!(values.of_row(key, 2), Some(10));
        assert_eq!(values.of_row((5, 8), 2), None);
        assert_eq!(values.of_row(key, 1), None);
        values.give(key, 1, 11);
        assert_eq!(values.of_row(key, 2), Some(11));
        values.end_row();
        assert_eq!(values.of_row(key, 3), None);
        let mut last = 0;
        let mut next = || {
            last += 1;
            Ok(last)
        };
        let numbers = [3, 1, 2, 4].map(|number| values.of_number(key, number, &mut next).unwrap());
        assert_eq!(numbers, [3, 1, 2, 4]);
    }
}
