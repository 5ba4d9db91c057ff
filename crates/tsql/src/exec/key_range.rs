//! The key ranges of a search, once its values are known.
//!
//! A range is `from <= key < to`, in the bytes of encoded keys. Several ranges are sorted in index order and merged where they touch, so
//! that no key is read twice: `IN (3, 1, 3)` is two ranges.

use std::ops::Bound;

use engine::cancel;
use engine::catalog::{ColumnDefinition, IndexDefinition, TableDefinition};
use engine::error::Result;
use engine::session::KeyRange;
use engine::types::{Collation, KeyDirection, SqlType, Value, encode_key_prefix, encode_stored_key_part};

use super::evaluate;
use crate::context::Context;
use crate::plan::{Expr, IndexSeek, SeekEnd, SeekKey, SeekRange};
use crate::scalar::convert::convert;
use crate::scalar::like::Pattern;
use crate::scalar::widening::{Place, place, widens};

/// Room for a key of a few numbers.
const KEY_BYTES: usize = 32;
/// What a key begins with after an ascending NULL, and a descending one: see `engine::types`.
const ASCENDING_VALUE: u8 = 1;
const DESCENDING_NULL: u8 = u8::MAX;

/// `from <= key < to`; without `to` up to the last key.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Range {
    from: Vec<u8>,
    to: Option<Vec<u8>>,
}

impl Range {
    fn is_empty(&self) -> bool {
        self.to.as_ref().is_some_and(|to| *to <= self.from)
    }

    /// What of it lies behind a key, or before it on the way back; `None` if nothing does.
    pub(super) fn beyond(self, key: Option<&[u8]>, is_backward: bool) -> Option<KeyRange> {
        let Some(key) = key else {
            return Some(self.into_bounds());
        };
        let is_before = key < self.from.as_slice();
        let is_behind = self.to.as_ref().is_some_and(|to| key >= to.as_slice());
        match (is_backward, is_before, is_behind) {
            (false, _, true) | (true, true, _) => None,
            (false, true, false) | (true, false, true) => Some(self.into_bounds()),
            (false, false, false) => Some((Bound::Excluded(key.to_vec()), self.into_bounds().1)),
            (true, false, false) => Some((self.into_bounds().0, Bound::Excluded(key.to_vec()))),
        }
    }

    /// As the engine takes it.
    pub(super) fn into_bounds(self) -> KeyRange {
        let from = match self.from.is_empty() {
            true => Bound::Unbounded,
            false => Bound::Included(self.from),
        };
        (from, self.to.map_or(Bound::Unbounded, Bound::Excluded))
    }
}

/// What keys are made of: the table and the index.
#[derive(Clone, Copy)]
pub(super) struct Keys<'d> {
    pub(super) table: &'d TableDefinition,
    pub(super) index: &'d IndexDefinition,
}

/// The ranges of a search for the row that it is opened in: the one to be read first, and the others, the last one first.
///
/// # Errors
/// Those of evaluating its values.
pub(super) fn ranges(
    keys: Keys<'_>,
    seek: &IndexSeek,
    row: &[Value],
    context: &Context<'_>,
) -> Result<(Option<Range>, Vec<Range>)> {
    if let [only] = seek.ranges.as_slice() {
        let found = keys.range(only, row, context)?.filter(|range| !range.is_empty());
        return Ok((found, Vec::new()));
    }
    let mut found = Vec::with_capacity(seek.ranges.len());
    for range in &seek.ranges {
        found.extend(keys.range(range, row, context)?.filter(|range| !range.is_empty()));
    }
    if found.len() > 1 {
        cancel::spend(found.len())?;
        found.sort_unstable_by(|left, right| left.from.cmp(&right.from));
        found = joined(found);
    }
    if !seek.is_backward {
        found.reverse();
    }
    let first = found.pop();
    Ok((first, found))
}

/// Joins ranges that meet, given in order.
fn joined(ranges: Vec<Range>) -> Vec<Range> {
    let mut joined: Vec<Range> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if last.to.as_ref().is_none_or(|to| *to >= range.from) => {
                let ends_later = |to: &Vec<u8>| range.to.as_ref().is_none_or(|other| other > to);
                if last.to.as_ref().is_some_and(ends_later) {
                    last.to = range.to;
                }
            }
            _ => joined.push(range),
        }
    }
    joined
}

/// Where a value lies beside the one whose key stands for it: [`Place`] without the value.
#[derive(Clone, Copy)]
enum Side {
    At,
    Before,
    Behind,
    BeforeAll,
    BehindAll,
}

/// A bound of a search: its key, and whether the key itself counts.
type EncodedBound = (Vec<u8>, bool);

impl<'d> Keys<'d> {
    /// `None` when a value is NULL, which nothing equals.
    fn range(self, range: &SeekRange, row: &[Value], context: &Context<'_>) -> Result<Option<Range>> {
        let mut prefix = Vec::with_capacity(KEY_BYTES);
        for (position, key) in range.equal.iter().enumerate() {
            match key {
                SeekKey::Value(value) => match self.push_part((position, value), row, context, &mut prefix)? {
                    Some(Side::At) => {}
                    _ => return Ok(None),
                },
                SeekKey::Null => self.push_value(position, &Value::Null, &mut prefix),
            }
        }
        let position = range.equal.len();
        let descends = self.descends(position);
        match &range.end {
            SeekEnd::All => Ok(Some(all_of(prefix))),
            SeekEnd::NotNull => Ok(Some(values_of(prefix, descends))),
            SeekEnd::Between { low, high } => {
                let encode = |bound: &Option<(Expr, bool)>, is_low: bool| -> Result<Option<Option<EncodedBound>>> {
                    let Some((bound, inclusive)) = bound else {
                        return Ok(Some(None));
                    };
                    let mut key = Vec::with_capacity(KEY_BYTES);
                    key.extend_from_slice(&prefix);
                    Ok(match self.push_part((position, bound), row, context, &mut key)? {
                        Some(Side::At) => Some(Some((key, *inclusive))),
                        Some(Side::Before) => Some(Some((key, is_low))),
                        Some(Side::Behind) => Some(Some((key, !is_low))),
                        Some(Side::BeforeAll) => is_low.then_some(None),
                        Some(Side::BehindAll) => (!is_low).then_some(None),
                        None => None,
                    })
                };
                let (Some(low), Some(high)) = (encode(low, true)?, encode(high, false)?) else {
                    return Ok(None);
                };
                let (first, last) = if descends { (high, low) } else { (low, high) };
                Ok(Some(between(values_of(prefix, descends), first, last)))
            }
            SeekEnd::Prefix { pattern, escape } => {
                self.like((prefix, position), (pattern, escape.as_ref()), row, context)
            }
        }
    }

    /// The strings that a pattern of LIKE may match: all but NULL when it begins with no character of its own.
    fn like(
        self,
        (mut prefix, position): (Vec<u8>, usize),
        (pattern, escape): (&Expr, Option<&Expr>),
        row: &[Value],
        context: &Context<'_>,
    ) -> Result<Option<Range>> {
        let escape = escape.map(|escape| evaluate(escape, row, context)).transpose()?;
        let value = evaluate(pattern, row, context)?;
        let (Some(pattern), false) = (value.as_str(), escape.as_ref().is_some_and(|escape| escape.is_null())) else {
            return Ok(None);
        };
        // One of several characters is an error, which is left to the test of the condition.
        let escape = escape.as_ref().and_then(|escape| escape.as_str()?.chars().next());
        let collation = self.collation(position);
        let text = Pattern::new(pattern, escape, collation).prefix();
        encode_key_prefix(&text, collation, self.index.direction(position), &mut prefix);
        Ok(Some(all_of(prefix)))
    }

    fn descends(self, position: usize) -> bool {
        self.index.direction(position) == KeyDirection::Descending
    }

    fn column(self, position: usize) -> Option<&'d ColumnDefinition> {
        let (column, _) = self.index.keys.get(position)?;
        self.table.columns.get(*column)
    }

    fn collation(self, position: usize) -> Collation {
        self.column(position).map(|column| column.collation).unwrap_or_default()
    }

    fn push_value(self, position: usize, value: &Value, key: &mut Vec<u8>) {
        encode_stored_key_part(value, self.collation(position), self.index.direction(position), key);
    }

    /// Appends the part of a key that a value gives, or the nearest one that its column can have, and says where the value lies beside
    /// that; `None` when it is NULL. Nothing is appended for one before or behind all.
    fn push_part(
        self,
        (position, expression): (usize, &Expr),
        row: &[Value],
        context: &Context<'_>,
        key: &mut Vec<u8>,
    ) -> Result<Option<Side>> {
        let value = evaluate(expression, row, context)?;
        if value.is_null() {
            return Ok(None);
        }
        match self.column(position) {
            // Strings are searched as they are: cutting them to the column's length would find too much or too little.
            Some(column) if !column.sql_type.is_character() && column.sql_type != expression.sql_type => {
                self.push_of_other_type((position, column.sql_type), (&value, expression.sql_type), key)
            }
            _ => {
                self.push_value(position, &value, key);
                Ok(Some(Side::At))
            }
        }
    }

    fn push_of_other_type(
        self,
        (position, column): (usize, SqlType),
        (value, sql_type): (&Value, SqlType),
        key: &mut Vec<u8>,
    ) -> Result<Option<Side>> {
        if !widens(column, sql_type) {
            let value = convert(value, sql_type, column, None)?;
            self.push_value(position, &value, key);
            return Ok((!value.is_null()).then_some(Side::At));
        }
        let (nearest, side) = match place(value, sql_type, column)? {
            None => return Ok(None),
            Some(Place::At(nearest)) => (nearest, Side::At),
            Some(Place::Before(nearest)) => (nearest, Side::Before),
            Some(Place::Behind(nearest)) => (nearest, Side::Behind),
            Some(Place::BeforeAll) => return Ok(Some(Side::BeforeAll)),
            Some(Place::BehindAll) => return Ok(Some(Side::BehindAll)),
        };
        self.push_value(position, &nearest, key);
        Ok(Some(side))
    }
}

/// All keys that begin with these bytes.
fn all_of(prefix: Vec<u8>) -> Range {
    let to = after_prefix(prefix.clone());
    Range { from: prefix, to }
}

/// All keys that begin with these bytes and have a value behind them, not NULL.
fn values_of(mut prefix: Vec<u8>, descends: bool) -> Range {
    if descends {
        let mut to = prefix.clone();
        to.push(DESCENDING_NULL);
        return Range {
            from: prefix,
            to: Some(to),
        };
    }
    let to = after_prefix(prefix.clone());
    prefix.push(ASCENDING_VALUE);
    Range { from: prefix, to }
}

/// What lies in a range between two bounds.
fn between(values: Range, first: Option<EncodedBound>, last: Option<EncodedBound>) -> Range {
    // Behind the parts of a bound other parts follow, or the row's locator.
    let behind = |key: Vec<u8>| after_prefix(key);
    let from = match first {
        Some((key, true)) => key,
        Some((key, false)) => behind(key).unwrap_or(values.from),
        None => values.from,
    };
    let to = match last {
        Some((key, true)) => behind(key),
        Some((key, false)) => Some(key),
        None => values.to,
    };
    Range { from, to }
}

/// The first key after all that begin with these bytes; `None` when there is none.
pub(crate) fn after_prefix(mut key: Vec<u8>) -> Option<Vec<u8>> {
    while let Some(last) = key.pop() {
        if last < u8::MAX {
            key.push(last + 1);
            return Some(key);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(from: &[u8], to: &[u8]) -> Range {
        Range {
            from: from.to_vec(),
            to: (!to.is_empty()).then(|| to.to_vec()),
        }
    }

    #[test]
    fn ranges_that_meet_become_one_and_others_stay_apart() {
        let given = vec![
            range(&[1], &[2]),
            range(&[1], &[1, 5]),
            range(&[2], &[3]),
            range(&[4], &[6]),
            range(&[5], &[5, 1]),
            range(&[7], &[]),
            range(&[8], &[9]),
        ];
        assert_eq!(joined(given), [range(&[1], &[3]), range(&[4], &[6]), range(&[7], &[])]);
    }

    #[test]
    fn the_key_behind_a_prefix_is_behind_all_that_begin_with_it() {
        assert_eq!(after_prefix(vec![1, 2]), Some(vec![1, 3]));
        assert_eq!(after_prefix(vec![1, 0xFF]), Some(vec![2]));
        assert_eq!(after_prefix(vec![0xFF]), None);
        assert_eq!(after_prefix(Vec::new()), None);
    }

    #[test]
    fn values_leave_out_null_at_either_end() {
        assert_eq!(values_of(vec![3], false), range(&[3, 1], &[4]));
        assert_eq!(values_of(vec![3], true), range(&[3], &[3, 0xFF]));
        assert_eq!(values_of(Vec::new(), false), range(&[1], &[]));
    }
}
