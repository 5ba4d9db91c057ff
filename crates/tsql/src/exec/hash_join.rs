//! The join for equal values: right rows in a hash table, probed by left rows.
//!
//! ```text
//! right rows fit:      table <- all right rows             probed by left rows as they come
//! they do not:         right rows -> 16 partitions         left rows -> 16 partitions, by the same hash
//!                      then pair by pair: table <- right partition, probed by the left one;
//!                      a right partition that does not fit is parted again, and the left one with it
//! ```

use std::collections::HashMap;

use engine::cancel;
use engine::error::Result;
use engine::types::Value;

use super::join::clear;
use super::partitions::{LEVELS_MAX, PartitionRows, Partitions, hash_of};
use super::{Operator, evaluate, holds, open};
use crate::context::Context;
use crate::grant::{Grant, row_bytes};
use crate::plan::{Condition, Expr, JoinKind, Node};
use crate::scalar::compare::GroupKey;

/// A table's own bytes for a row: the list of rows of a key, the row's number in it.
const PLACE_BYTES: u64 = 48;

/// Right rows of one key that are listed in the time of a step.
const CANDIDATES_PER_STEP: usize = 64;

/// A row of the hash table.
struct BuiltRow {
    values: Vec<Value>,
    matched: bool,
}

/// The hash table of right rows.
#[derive(Default)]
struct Table {
    rows: Vec<BuiltRow>,
    places: HashMap<GroupKey, Vec<usize>>,
}

impl Table {
    fn add(&mut self, key: Option<GroupKey>, values: Vec<Value>) {
        if let Some(key) = key {
            self.places.entry(key).or_default().push(self.rows.len());
        }
        self.rows.push(BuiltRow { values, matched: false });
    }
}

/// Where left rows come from.
enum Left<'p> {
    Input(Box<dyn Operator + 'p>),
    Partition(PartitionRows),
    None,
}

/// A right partition and the left one with the same hashes.
struct Pair {
    right: PartitionRows,
    left: PartitionRows,
}

/// Right rows in a hash table, probed by left rows.
pub(super) struct Hash<'p> {
    left: Left<'p>,
    left_ranges: &'p [(usize, usize)],
    right_ranges: &'p [(usize, usize)],
    /// Width of a row that holds all right places.
    right_width: usize,
    kind: JoinKind,
    keys: &'p [(Expr, Expr)],
    residual: &'p Condition,
    grant: Grant,
    table: Table,
    /// Right rows put aside before the first left row is read.
    aside: Option<Partitions>,
    pending: Vec<Pair>,
    /// Right rows still to be paired with the current left row.
    candidates: Vec<usize>,
    has_left: bool,
    matched: bool,
    /// After the last left row: the next right row to look at.
    leftover: Option<usize>,
}

/// Ranges of the wide row: where each begins and how wide it is.
type Ranges<'p> = &'p [(usize, usize)];

impl<'p> Hash<'p> {
    pub(super) fn open(
        left: Box<dyn Operator + 'p>,
        right: &Node,
        (left_ranges, right_ranges): (Ranges<'p>, Ranges<'p>),
        kind: JoinKind,
        (keys, residual): (&'p [(Expr, Expr)], &'p Condition),
        context: &Context<'_>,
    ) -> Result<Hash<'p>> {
        let mut hash = Hash {
            left: Left::Input(left),
            left_ranges,
            right_ranges,
            right_width: right_ranges
                .iter()
                .map(|(start, width)| start + width)
                .max()
                .unwrap_or(0),
            kind,
            keys,
            residual,
            grant: context.grant(),
            table: Table::default(),
            aside: None,
            pending: Vec::new(),
            candidates: Vec::new(),
            has_left: false,
            matched: false,
            leftover: None,
        };
        let mut row = vec![Value::Null; hash.right_width];
        let mut operator = open(right, context.locks(), context)?;
        while operator.next(context, &mut row)? {
            hash.build(&row, 0, context)?;
        }
        Ok(hash)
    }

    /// Takes in a right row, which lies in its place of a wide row.
    fn build(&mut self, row: &[Value], level: u32, context: &Context<'_>) -> Result<()> {
        let key = self.right_key(row, context)?;
        if key.is_none() && !self.kind.keeps_right() {
            return Ok(());
        }
        let values = kept(row, self.right_ranges);
        if self.aside.is_none() {
            let key_bytes = key.as_ref().map_or(0, |key| row_bytes(&key.0));
            let bytes = row_bytes(&values) + key_bytes + PLACE_BYTES;
            if level >= LEVELS_MAX {
                self.grant.require(bytes)?;
            } else if !self.grant.has_room(bytes) {
                self.put_table_aside(level, context)?;
            }
        }
        match &mut self.aside {
            Some(aside) => aside.push(hash_of_key(key.as_ref()), &values),
            None => {
                self.table.add(key, values);
                Ok(())
            }
        }
    }

    /// All right rows so far go to partitions.
    fn put_table_aside(&mut self, level: u32, context: &Context<'_>) -> Result<()> {
        let mut aside = Partitions::new(&self.grant, level)?;
        let table = std::mem::take(&mut self.table);
        let mut row = vec![Value::Null; self.right_width];
        for built in table.rows {
            cancel::spend(1)?;
            put_back(&mut row, self.right_ranges, &built.values);
            let key = self.right_key(&row, context)?;
            aside.push(hash_of_key(key.as_ref()), &built.values)?;
        }
        self.grant.clear();
        self.aside = Some(aside);
        Ok(())
    }

    fn right_key(&self, row: &[Value], context: &Context<'_>) -> Result<Option<GroupKey>> {
        key_of(self.keys.iter().map(|(_, right)| right), row, context)
    }

    fn left_key(&self, row: &[Value], context: &Context<'_>) -> Result<Option<GroupKey>> {
        key_of(self.keys.iter().map(|(left, _)| left), row, context)
    }

    fn next_left(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        match &mut self.left {
            Left::Input(input) => input.next(context, row),
            Left::Partition(rows) => rows.next(row),
            Left::None => Ok(false),
        }
    }

    /// Right rows were put aside: so are all left rows, and the pairs wait for their turn.
    fn put_left_aside(&mut self, aside: Partitions, context: &Context<'_>, row: &mut [Value]) -> Result<()> {
        let mut left = Partitions::new(&self.grant, aside.level())?;
        while self.next_left(context, row)? {
            let key = self.left_key(row, context)?;
            // The right side's columns hold what a row before left there.
            clear(row, self.right_ranges);
            left.push(hash_of_key(key.as_ref()), row)?;
        }
        self.left = Left::None;
        let pairs = aside.finish()?.into_iter().zip(left.finish()?);
        self.pending.extend(pairs.map(|(right, left)| Pair { right, left }));
        Ok(())
    }

    /// Turns to the next pair of partitions; false when there is none.
    fn next_pair_of_partitions(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        while let Some(Pair { mut right, left }) = self.pending.pop() {
            (self.table, self.left) = (Table::default(), Left::Partition(left));
            self.grant.clear();
            let mut wide = vec![Value::Null; self.right_width];
            let mut values = vec![Value::Null; self.right_ranges.iter().map(|(_, width)| width).sum()];
            while right.next(&mut values)? {
                put_back(&mut wide, self.right_ranges, &values);
                self.build(&wide, right.level, context)?;
            }
            match self.aside.take() {
                Some(aside) => self.put_left_aside(aside, context, row)?,
                None => return Ok(true),
            }
        }
        Ok(false)
    }

    /// The next pairing of the current left row.
    fn next_match(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        while let Some(index) = self.candidates.pop() {
            cancel::spend(1)?;
            let Some(built) = self.table.rows.get_mut(index) else {
                continue;
            };
            // Of a right row it is enough to know that it has a partner.
            if built.matched && matches!(self.kind, JoinKind::RightSemi | JoinKind::RightAnti) {
                continue;
            }
            put_back(row, self.right_ranges, &built.values);
            if !holds(self.residual, row, context)? {
                continue;
            }
            built.matched = true;
            self.matched = true;
            match self.kind {
                JoinKind::RightAnti => {}
                // And so it is of a left row.
                JoinKind::Semi | JoinKind::Anti => {
                    self.candidates.clear();
                    return Ok(self.kind == JoinKind::Semi);
                }
                _ => return Ok(true),
            }
        }
        Ok(false)
    }

    /// Right rows that no left row wanted.
    fn next_leftover(&mut self, row: &mut [Value]) -> Result<bool> {
        let Some(next) = &mut self.leftover else {
            return Ok(false);
        };
        while let Some(built) = self.table.rows.get(*next) {
            cancel::spend(1)?;
            *next += 1;
            if !built.matched {
                clear(row, self.left_ranges);
                put_back(row, self.right_ranges, &built.values);
                return Ok(true);
            }
        }
        self.leftover = None;
        self.table = Table::default();
        Ok(false)
    }

    /// The left rows are at their end: begins with what is left of the right ones. False when nothing is.
    fn after_left(&mut self, row: &mut [Value]) -> Result<bool> {
        self.left = Left::None;
        if self.kind.keeps_right() && !self.table.rows.is_empty() {
            self.leftover = Some(0);
            return self.next_leftover(row);
        }
        self.table = Table::default();
        Ok(false)
    }
}

/// What the table keeps of a wide row.
fn kept(row: &[Value], ranges: &[(usize, usize)]) -> Vec<Value> {
    let places = |&(start, width): &(usize, usize)| row.get(start..start + width).unwrap_or_default();
    ranges.iter().flat_map(places).cloned().collect()
}

/// Puts what was kept of a row in its places again.
fn put_back(row: &mut [Value], ranges: &[(usize, usize)], values: &[Value]) {
    let mut rest = values;
    for (start, width) in ranges {
        let (own, behind) = rest.split_at((*width).min(rest.len()));
        if let Some(places) = row.get_mut(*start..start + own.len()) {
            places.clone_from_slice(own);
        }
        rest = behind;
    }
}

/// Rows without a key meet none: they may lie in any partition.
fn hash_of_key(key: Option<&GroupKey>) -> u64 {
    key.map_or(0, hash_of)
}

/// The key of a row; `None` when a part is NULL, which equals nothing.
fn key_of<'e>(
    expressions: impl Iterator<Item = &'e Expr>,
    row: &[Value],
    context: &Context<'_>,
) -> Result<Option<GroupKey>> {
    let mut values = Vec::new();
    for expression in expressions {
        let value = evaluate(expression, row, context)?.into_owned();
        if value.is_null() {
            return Ok(None);
        }
        values.push(value);
    }
    Ok(Some(GroupKey(values)))
}

impl Operator for Hash<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        if let Some(aside) = self.aside.take() {
            self.put_left_aside(aside, context, row)?;
        }
        loop {
            if self.leftover.is_some() && self.next_leftover(row)? {
                return Ok(true);
            }
            if self.has_left {
                if self.next_match(context, row)? {
                    return Ok(true);
                }
                self.has_left = false;
                if self.kind.keeps_left() && !self.matched {
                    clear(row, self.right_ranges);
                    return Ok(true);
                }
            }
            if !self.next_left(context, row)? {
                if self.after_left(row)? {
                    return Ok(true);
                }
                if !self.next_pair_of_partitions(context, row)? {
                    return Ok(false);
                }
                continue;
            }
            self.has_left = true;
            self.matched = false;
            let key = self.left_key(row, context)?;
            let found = key.and_then(|key| self.table.places.get(&key));
            self.candidates.clear();
            self.candidates.extend(found.into_iter().flatten().rev());
            cancel::spend(self.candidates.len() / CANDIDATES_PER_STEP)?;
        }
    }
}
