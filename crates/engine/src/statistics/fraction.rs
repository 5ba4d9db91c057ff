//! The fraction of a column's rows that satisfy a condition, estimated from the histogram. Fractions refer to all rows, including those
//! with NULL.
//!
//! ```text
//! = value      the step's EQ_ROWS, or AVG_RANGE_ROWS of the range that it lies in
//! < value      all steps below it, and of its own range the part below it: values are taken to be spread evenly, by the bytes of their keys
//! = column     values that end a step on both sides are joined one by one; the rest has as many values as the side with fewer
//!              ("containment": each value of the side with fewer is on the other side, too), within what both ranges have in common
//! ```
//! ("Statistics", and the white paper "Optimizing Your Query Plans with the SQL Server 2014 Cardinality Estimator", for histograms,
//! uniform spread and containment.)

use super::Content;
use crate::types::{Collation, KeyDirection, Value, encode_stored_key_part};

/// The column that statistics are of, as its values are compared.
#[derive(Debug, Clone, Copy)]
pub struct Column<'c> {
    pub content: &'c Content,
    pub collation: Collation,
}

/// Where a value stands among the steps.
enum Place {
    /// It ends this step.
    End(usize),
    /// In the range of this step, this part of which is below it.
    Within(usize, f64),
    /// Below the first step, or above the last.
    Outside(bool),
}

impl<'c> Column<'c> {
    fn key(self, value: &Value) -> Vec<u8> {
        let mut key = Vec::new();
        encode_stored_key_part(value, self.collation, KeyDirection::Ascending, &mut key);
        key
    }

    fn rows(self) -> f64 {
        (self.content.rows as f64).max(1.0)
    }

    fn place(self, value: &Value) -> Place {
        let steps = &self.content.steps;
        let key = self.key(value);
        let at = steps.partition_point(|step| self.key(&step.high) < key);
        let Some(step) = steps.get(at) else {
            return Place::Outside(true);
        };
        let high = self.key(&step.high);
        if high == key {
            return Place::End(at);
        }
        match at.checked_sub(1).and_then(|before| steps.get(before)) {
            None => Place::Outside(false),
            Some(before) => Place::Within(at, part_between(&self.key(&before.high), &key, &high)),
        }
    }

    /// The part of the rows whose value is this one.
    pub fn equal(self, value: &Value) -> f64 {
        if value.is_null() {
            return 0.0;
        }
        let rows = match self.place(value) {
            Place::End(at) => self.content.steps[at].equal_rows,
            Place::Within(at, _) => {
                let step = &self.content.steps[at];
                step.average_range_rows().min(step.range_rows)
            }
            // Rows that came after the count may have it: as many as a value has, of those that came; one, not none.
            Place::Outside(_) => 1.0,
        };
        (rows / self.rows()).clamp(0.0, 1.0)
    }

    /// The part of the rows whose value is below this one, or this one itself where it counts. NULL is below nothing.
    pub fn below(self, value: &Value, and_itself: bool) -> f64 {
        let steps = self.content.steps.iter().filter(|step| !step.high.is_null());
        let nulls = self.content.steps.len() - steps.clone().count();
        let before = |count: usize| -> f64 {
            let steps = self.content.steps.iter().take(count).skip(nulls);
            steps.map(|step| step.range_rows + step.equal_rows).sum()
        };
        let rows = match self.place(value) {
            Place::End(at) => {
                let step = &self.content.steps[at];
                before(at) + step.range_rows + if and_itself { step.equal_rows } else { 0.0 }
            }
            Place::Within(at, part) => before(at) + part * self.content.steps[at].range_rows,
            Place::Outside(true) => before(self.content.steps.len()),
            Place::Outside(false) => 0.0,
        };
        (rows / self.rows()).clamp(0.0, 1.0)
    }

    /// The part of the rows with a value.
    pub fn known(self) -> f64 {
        1.0 - self.null()
    }

    /// The part of the rows without one.
    pub fn null(self) -> f64 {
        (self.content.null_rows / self.rows()).clamp(0.0, 1.0)
    }

    /// The part of the rows for whose value a test holds, judged by the ends of steps: each stands for its range.
    pub fn matching(self, test: impl Fn(&Value) -> bool) -> f64 {
        let steps = self.content.steps.iter().filter(|step| test(&step.high));
        let rows: f64 = steps.map(|step| step.range_rows + step.equal_rows).sum();
        (rows / self.rows()).clamp(0.0, 1.0)
    }

    /// Values but NULL.
    fn distinct(self) -> f64 {
        let null = if self.content.null_rows > 0.0 { 1.0 } else { 0.0 };
        (self.content.distinct(1) - null).max(1.0)
    }

    /// The part of all pairs of rows that have the same value here and in another column.
    pub fn joined(self, other: Column<'_>) -> f64 {
        let ends = |column: Column<'_>| -> Vec<(Vec<u8>, f64)> {
            let steps = column.content.steps.iter().filter(|step| !step.high.is_null());
            steps
                .map(|step| (column.key(&step.high), step.equal_rows / column.rows()))
                .collect()
        };
        let (left, right) = (ends(self), ends(other));
        let (mut at, mut matched, mut own, mut others, mut count) = (0, 0.0, 0.0, 0.0, 0.0);
        for (key, part) in &left {
            while right.get(at).is_some_and(|(other, _)| other < key) {
                at += 1;
            }
            if let Some((_, other_part)) = right.get(at).filter(|(other, _)| other == key) {
                matched += part * other_part;
                own += part;
                others += other_part;
                count += 1.0;
            }
        }
        let (Some(own_part), Some(other_part)) = (self.part_within(other), other.part_within(self)) else {
            return 0.0;
        };
        // What is left on each side, within the range of the other: its rows, and how many values they have.
        let (rows, other_rows) = ((own_part - own).max(0.0), (other_part - others).max(0.0));
        let values = (self.distinct() * own_part / self.known().max(f64::MIN_POSITIVE) - count).max(1.0);
        let other_values = (other.distinct() * other_part / other.known().max(f64::MIN_POSITIVE) - count).max(1.0);
        (matched + rows * other_rows / values.max(other_values)).clamp(0.0, 1.0)
    }

    /// The part of the rows whose value lies between the smallest and the greatest of another column; `None` where one has no value.
    fn part_within(self, other: Column<'_>) -> Option<f64> {
        let mut steps = other.content.steps.iter().filter(|step| !step.high.is_null());
        let low = steps.next()?;
        let high = steps.next_back().unwrap_or(low);
        self.content.steps.iter().find(|step| !step.high.is_null())?;
        Some((self.below(&high.high, true) - self.below(&low.high, false)).max(0.0))
    }
}

/// Which part of the way from `low` to `high` a key between them is, both ends excluded.
fn part_between(low: &[u8], key: &[u8], high: &[u8]) -> f64 {
    let common = low.iter().zip(high).take_while(|(low, high)| low == high).count();
    let number = |key: &[u8]| {
        let mut bytes = [0u8; 8];
        let rest = key.get(common..).unwrap_or_default();
        let length = rest.len().min(8);
        bytes[..length].copy_from_slice(&rest[..length]);
        u64::from_be_bytes(bytes) as f64
    };
    let (low, key, high) = (number(low), number(key), number(high));
    if high > low {
        ((key - low) / (high - low)).clamp(0.0, 1.0)
    } else {
        0.5
    }
}
