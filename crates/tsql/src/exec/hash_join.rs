//! The join on equal values: right rows in a hash table, probed by left rows.
//!
//! ```text
//! right rows fit:      table <- all right rows             probed by left rows as they come
//! they do not:         right rows -> 16 partitions         left rows -> 16 partitions, by the same hash
//!                      then pair by pair: table <- right partition, probed by the left one;
//!                      a right partition that does not fit is split again, together with the left one
//! ```

use std::rc::Rc;

use engine::cancel;
use engine::error::{Error, Result};
use engine::types::Value;

use super::join::clear;
use super::key_bitmap::{KeyBitmap, bitmap_bytes};
use super::key_table::{KeyTable, key_bytes};
use super::partitions::{LEVELS_MAX, PartitionRows, Partitions, hash_of};
use super::row_store::RowStore;
use super::{Operator, evaluate, holds, open};
use crate::context::Context;
use crate::grant::{Grant, stored_bytes};
use crate::plan::{Condition, Expr, ExprKind, JoinKind, JoinNode};
use crate::scalar::compare::push_group_key;

/// A table's own bytes for a row: its mark, its link, the ends of its key's chain.
const PLACE_BYTES: u64 = 32;
/// No row.
const NONE: u32 = u32::MAX;
/// Rows that are linked in the time of a step.
const LINKS_PER_STEP: usize = 64;

/// The hash table of right rows. As long as each has a key of its own, a row has the number of its key. From the first that has not,
/// the rows of one key are a chain in the order in which they came.
struct Table {
    rows: RowStore,
    keys: KeyTable,
    /// By the key's number: the first and the last row of its chain. Empty as long as there is none.
    chains: Vec<(u32, u32)>,
    /// By row: the next one of its key. Empty as long as there are no chains.
    next: Vec<u32>,
    /// By row: whether a left row wanted it. Empty where nobody asks.
    matched: Vec<bool>,
    has_chains: bool,
    marks: bool,
}

impl Table {
    fn new(width: usize, kind: JoinKind) -> Table {
        Table {
            rows: RowStore::new(width),
            keys: KeyTable::default(),
            chains: Vec::new(),
            next: Vec::new(),
            matched: Vec::new(),
            has_chains: false,
            marks: kind.keeps_right() || kind == JoinKind::RightSemi,
        }
    }

    fn add(&mut self, key: Option<&[u8]>, values: impl IntoIterator<Item = Value>) -> Result<()> {
        let number = u32::try_from(self.rows.len()).ok().filter(|&number| number != NONE);
        let number = number.ok_or_else(Error::insufficient_memory)?;
        let known = key.and_then(|key| self.keys.find(key));
        if !self.has_chains && (key.is_none() || known.is_some()) {
            cancel::spend(self.rows.len() / LINKS_PER_STEP)?;
            self.chains = (0..number).map(|row| (row, row)).collect();
            self.next = vec![NONE; self.rows.len()];
            self.has_chains = true;
        }
        match (key, known) {
            (_, Some(known)) => self.append(known, number),
            (Some(key), None) => {
                self.keys.add(key)?;
                if self.has_chains {
                    self.chains.push((number, number));
                }
            }
            (None, None) => {}
        }
        if self.has_chains {
            self.next.push(NONE);
        }
        if self.marks {
            self.matched.push(false);
        }
        self.rows.push(values);
        Ok(())
    }

    /// Puts a row at the end of a key's chain.
    fn append(&mut self, key: usize, number: u32) {
        let Some((_, last)) = self.chains.get_mut(key) else {
            return;
        };
        if let Some(next) = self.next.get_mut(*last as usize) {
            *next = number;
        }
        *last = number;
    }

    /// The first row of a key, or [`NONE`].
    fn first(&self, key: &[u8]) -> u32 {
        match self.keys.find(key) {
            None => NONE,
            Some(key) if !self.has_chains => key as u32,
            Some(key) => self.chains.get(key).map_or(NONE, |&(first, _)| first),
        }
    }

    /// The row after another of the same key.
    fn after(&self, number: usize) -> u32 {
        self.next.get(number).copied().unwrap_or(NONE)
    }

    fn is_matched(&self, number: usize) -> bool {
        self.matched.get(number).copied().unwrap_or_default()
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
    /// The key of the row at hand.
    key: Vec<u8>,
    /// The next right row to be paired with the current left row, or [`NONE`].
    candidate: u32,
    has_left: bool,
    matched: bool,
    /// Whether it is enough to know of a key that it is there: of its right rows one is kept.
    is_once: bool,
    /// After the last left row: the next right row to look at.
    leftover: Option<usize>,
}

/// Ranges of the wide row: where each begins and how wide it is.
pub(super) type Ranges<'p> = &'p [(usize, usize)];

impl<'p> Hash<'p> {
    pub(super) fn open(
        left: Box<dyn Operator + 'p>,
        node: &'p JoinNode,
        has_bitmap: bool,
        context: &Context<'_>,
    ) -> Result<Hash<'p>> {
        let (kind, right_ranges) = (node.kind, node.right_ranges.as_slice());
        let mut hash = Hash {
            left: Left::Input(left),
            left_ranges: &node.left_ranges,
            right_ranges,
            right_width: right_ranges
                .iter()
                .map(|(start, width)| start + width)
                .max()
                .unwrap_or(0),
            kind,
            keys: &node.keys,
            residual: &node.residual,
            grant: context.grant(),
            table: Table::new(width_of(right_ranges), kind),
            aside: None,
            pending: Vec::new(),
            key: Vec::new(),
            candidate: NONE,
            has_left: false,
            matched: false,
            is_once: matches!(kind, JoinKind::Semi | JoinKind::Anti)
                && matches!(node.residual, Condition::Constant(Some(true))),
            leftover: None,
        };
        let mut row = vec![Value::Null; hash.right_width];
        let mut operator = open(&node.right, context.locks(), context)?;
        while operator.next(context, &mut row)? {
            hash.build(&row, 0, context)?;
        }
        if has_bitmap && hash.aside.is_none() {
            hash.hand_down_bitmap()?;
        }
        Ok(hash)
    }

    /// Has the scan that left rows come from leave out those whose keys are not in the table, if there is memory for it.
    fn hand_down_bitmap(&mut self) -> Result<()> {
        let places = self.keys.iter().filter_map(|(left, _)| match left.kind {
            ExprKind::Column(place) => Some(place),
            _ => None,
        });
        let places: Vec<usize> = places.collect();
        let keys = &self.table.keys;
        if let Left::Input(left) = &mut self.left
            && places.len() == self.keys.len()
            && self.grant.has_room(bitmap_bytes(keys.len()))
        {
            left.leave_out(&Rc::new(KeyBitmap::of(keys, places)?));
        }
        Ok(())
    }

    /// Takes in a right row, which lies in its place of a wide row.
    fn build(&mut self, row: &[Value], level: u32, context: &Context<'_>) -> Result<()> {
        let mut key = std::mem::take(&mut self.key);
        let built = self.build_with_key(&mut key, row, level, context);
        self.key = key;
        built
    }

    fn build_with_key(&mut self, key: &mut Vec<u8>, row: &[Value], level: u32, context: &Context<'_>) -> Result<()> {
        let key = self.right_key(row, key, context)?;
        if key.is_none() && !self.kind.keeps_right() {
            return Ok(());
        }
        if self.is_once && key.is_some_and(|key| self.table.keys.find(key).is_some()) {
            return Ok(());
        }
        if self.aside.is_none() {
            let values: u64 = kept(row, self.right_ranges).map(stored_bytes).sum();
            let bytes = values + key.map_or(0, key_bytes) + PLACE_BYTES;
            if level >= LEVELS_MAX {
                self.grant.require(bytes)?;
            } else if !self.grant.has_room(bytes) {
                self.put_table_aside(level, context)?;
            }
        }
        let values = kept(row, self.right_ranges).flatten().cloned();
        match &mut self.aside {
            Some(aside) => aside.push(hash_of_key(key), &values.collect::<Vec<_>>()),
            None => self.table.add(key, values),
        }
    }

    fn take_table(&mut self) -> Table {
        std::mem::replace(&mut self.table, Table::new(width_of(self.right_ranges), self.kind))
    }

    /// All right rows so far go to partitions.
    fn put_table_aside(&mut self, level: u32, context: &Context<'_>) -> Result<()> {
        let mut aside = Partitions::new(&self.grant, level)?;
        let table = self.take_table();
        let (mut row, mut key) = (vec![Value::Null; self.right_width], Vec::new());
        for number in 0..table.rows.len() {
            cancel::spend(1)?;
            let values = table.rows.row(number);
            put_back(&mut row, self.right_ranges, values);
            let key = self.right_key(&row, &mut key, context)?;
            aside.push(hash_of_key(key), values)?;
        }
        self.grant.clear();
        self.aside = Some(aside);
        Ok(())
    }

    fn right_key<'k>(&self, row: &[Value], key: &'k mut Vec<u8>, context: &Context<'_>) -> Result<Option<&'k [u8]>> {
        key_of(self.keys.iter().map(|(_, right)| right), row, key, context)
    }

    fn left_key<'k>(&self, row: &[Value], key: &'k mut Vec<u8>, context: &Context<'_>) -> Result<Option<&'k [u8]>> {
        key_of(self.keys.iter().map(|(left, _)| left), row, key, context)
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
        let mut key = Vec::new();
        while self.next_left(context, row)? {
            let key = self.left_key(row, &mut key, context)?;
            // The right side's columns hold what a row before left there.
            clear(row, self.right_ranges);
            left.push(hash_of_key(key), row)?;
        }
        self.left = Left::None;
        let pairs = aside.finish()?.into_iter().zip(left.finish()?);
        self.pending.extend(pairs.map(|(right, left)| Pair { right, left }));
        Ok(())
    }

    /// Turns to the next pair of partitions; false when there is none.
    fn next_pair_of_partitions(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        while let Some(Pair { mut right, left }) = self.pending.pop() {
            self.take_table();
            self.left = Left::Partition(left);
            self.grant.clear();
            let mut wide = vec![Value::Null; self.right_width];
            let mut values = vec![Value::Null; width_of(self.right_ranges)];
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
        if self.is_once {
            self.matched = self.candidate != NONE;
            self.candidate = NONE;
            return Ok(self.matched && self.kind == JoinKind::Semi);
        }
        while self.candidate != NONE {
            cancel::spend(1)?;
            let number = self.candidate as usize;
            self.candidate = self.table.after(number);
            // Of a right row it is enough to know that it has a partner.
            if self.table.is_matched(number) && matches!(self.kind, JoinKind::RightSemi | JoinKind::RightAnti) {
                continue;
            }
            put_back(row, self.right_ranges, self.table.rows.row(number));
            if !holds(self.residual, row, context)? {
                continue;
            }
            if let Some(matched) = self.table.matched.get_mut(number) {
                *matched = true;
            }
            self.matched = true;
            match self.kind {
                JoinKind::RightAnti => {}
                // And so it is of a left row.
                JoinKind::Semi | JoinKind::Anti => {
                    self.candidate = NONE;
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
        while *next < self.table.rows.len() {
            cancel::spend(1)?;
            let number = *next;
            *next += 1;
            if !self.table.is_matched(number) {
                clear(row, self.left_ranges);
                put_back(row, self.right_ranges, self.table.rows.row(number));
                return Ok(true);
            }
        }
        self.leftover = None;
        self.take_table();
        Ok(false)
    }

    /// The left rows are at their end: begins with what is left of the right ones. False when nothing is.
    fn after_left(&mut self, row: &mut [Value]) -> Result<bool> {
        self.left = Left::None;
        if self.kind.keeps_right() && self.table.rows.len() > 0 {
            self.leftover = Some(0);
            return self.next_leftover(row);
        }
        self.take_table();
        Ok(false)
    }
}

/// What the table keeps of a wide row.
pub(super) fn kept<'r>(row: &'r [Value], ranges: &[(usize, usize)]) -> impl Iterator<Item = &'r [Value]> {
    let places = |&(start, width): &(usize, usize)| row.get(start..start + width).unwrap_or_default();
    ranges.iter().map(places)
}

/// How many values that is.
pub(super) fn width_of(ranges: &[(usize, usize)]) -> usize {
    ranges.iter().map(|(_, width)| width).sum()
}

/// Puts what was kept of a row in its places again.
pub(super) fn put_back(row: &mut [Value], ranges: &[(usize, usize)], values: &[Value]) {
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
fn hash_of_key(key: Option<&[u8]>) -> u64 {
    key.map_or(0, hash_of)
}

/// The key of a row, written to `key`; `None` when a part is NULL, which equals nothing.
pub(super) fn key_of<'e, 'k>(
    expressions: impl Iterator<Item = &'e Expr>,
    row: &[Value],
    key: &'k mut Vec<u8>,
    context: &Context<'_>,
) -> Result<Option<&'k [u8]>> {
    key.clear();
    for expression in expressions {
        let value = evaluate(expression, row, context)?;
        if value.is_null() {
            return Ok(None);
        }
        push_group_key(std::slice::from_ref(&*value), key);
    }
    Ok(Some(key))
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
            let mut key = std::mem::take(&mut self.key);
            let found = self.left_key(row, &mut key, context);
            let found = found.map(|key| key.map_or(NONE, |key| self.table.first(key)));
            self.key = key;
            self.candidate = found?;
        }
    }

    /// The operator that hands it down answers no row without one of its keys, and has tested that this join answers left rows and what is
    /// joined to them.
    fn leave_out(&mut self, bitmap: &Rc<KeyBitmap>) -> bool {
        match &mut self.left {
            Left::Input(left) => left.leave_out(bitmap),
            Left::Partition(_) | Left::None => false,
        }
    }
}
