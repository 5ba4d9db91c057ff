//! Sequences, and the values reserved so far.

use serde::{Deserialize, Serialize};

use crate::types::SqlType;

/// A sequence (CREATE SEQUENCE).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceDefinition {
    /// Unique within the database.
    pub object_id: u32,
    /// Schema name as declared.
    pub schema: String,
    /// Name as declared.
    pub name: String,
    /// `system_type_id` of its values: a whole number, or a decimal without fraction.
    pub type_id: u8,
    /// Digits of a decimal; 0 for other types.
    pub precision: u8,
    pub start: i128,
    /// Not zero.
    pub increment: i128,
    pub minimum: i128,
    pub maximum: i128,
    /// Begins again at the other end, rather than to have no more values.
    pub is_cycling: bool,
    /// False for NO CACHE: each value is stored as it is given.
    pub is_cached: bool,
    /// CACHE with a size.
    #[serde(default)]
    pub cache_size: Option<u32>,
    /// An id of the database, new with each ALTER SEQUENCE: numbering begins anew, at `first`. What was given under a former state is that
    /// state's, so a rolled back ALTER leaves numbering where it was.
    pub state: u32,
    /// The first value of this state; `None` when there are no more.
    pub first: Option<i128>,
    /// Days and ticks of creation.
    pub created: (i32, u32),
}

/// Values that one promise of a cached sequence without a size covers. SQL Server chooses, too (SQL Server docs, "CREATE SEQUENCE").
const CACHE_DEFAULT: u64 = 50;

impl SequenceDefinition {
    /// The type of its values.
    pub fn sql_type(&self) -> SqlType {
        match self.type_id {
            48 => SqlType::TinyInt,
            52 => SqlType::SmallInt,
            56 => SqlType::Int,
            106 | 108 => SqlType::Decimal {
                precision: self.precision,
                scale: 0,
            },
            _ => SqlType::BigInt,
        }
    }

    /// How many values one promise covers.
    pub fn promised_at_once(&self) -> u64 {
        match (self.is_cached, self.cache_size) {
            (false, _) => 1,
            (true, Some(size)) => u64::from(size.max(1)),
            (true, None) => CACHE_DEFAULT,
        }
    }

    /// Whether it has numbers of more than 64 bits. A database that has such a sequence says so in its boot record.
    pub fn is_wide(&self) -> bool {
        let numbers = [self.start, self.increment, self.minimum, self.maximum];
        let mut all = numbers.into_iter().chain(self.first);
        all.any(|number| i64::try_from(number).is_err())
    }

    /// The value behind another; `None` when there is none.
    pub fn after(&self, value: i128) -> Option<i128> {
        let next = value.checked_add(self.increment);
        let is_within = |next: &i128| (self.minimum..=self.maximum).contains(next);
        match next.filter(is_within) {
            None if self.is_cycling => Some(if self.increment > 0 { self.minimum } else { self.maximum }),
            next => next,
        }
    }

    /// How many values there are behind one before the end, or the next cycle.
    pub fn steps_left(&self, value: i128) -> u64 {
        let end = if self.increment > 0 { self.maximum } else { self.minimum };
        u64::try_from(end.abs_diff(value) / self.increment.unsigned_abs()).unwrap_or(u64::MAX)
    }

    /// The value some steps behind one, not more than are left. What overflows on the way comes back at its end.
    pub fn stepped(&self, value: i128, steps: u64) -> i128 {
        value.wrapping_add(self.increment.wrapping_mul(i128::from(steps)))
    }
}
