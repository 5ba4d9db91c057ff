//! The first rows of an order, without sorting the others: a heap of as many rows as requested, with the last of them on top.
//!
//! ```text
//! row --> comes before the last row of the heap?   no:   dropped (nearly all rows of a large input)
//!                                                  yes:  replaces it
//! ```
//! Rows with equal keys keep their input order, as in a sort. WITH TIES also returns the rows that equal the last one, and their number is
//! unknown: the heap then holds only keys, and the rows up to the last one are sorted. If the grant has no memory for the heap, it becomes
//! a sort that spills: of all rows, or, once the heap was full, of the rows that come no later than its last one.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use engine::cancel;
use engine::error::Result;
use engine::types::{Value, encode_key_prefix};

use super::Operator;
use super::row_bytes::{push_row, read_row};
use super::sort::{direction, push_key};
use super::sorter::{Sorted, Sorter};
use crate::context::Context;
use crate::grant::Grant;
use crate::plan::SortKey;

/// Beyond so many rows sorting all of them is about as good.
pub(super) const ROWS_MAX: u64 = 100_000;
/// The key of a string of at least so many bytes is made after a look at its beginning.
const LONG_BYTES: usize = 128;
const BEGINNING_BYTES: usize = 32;
/// What a kept row takes beside its bytes.
const KEPT_BYTES: usize = 80;

/// A row in the heap.
pub(super) struct Kept {
    key: Vec<u8>,
    /// Rows of equal keys come out as they came in.
    number: u64,
    /// Empty where only keys are kept.
    row: Vec<u8>,
}

impl Ord for Kept {
    fn cmp(&self, other: &Kept) -> Ordering {
        self.key.cmp(&other.key).then(self.number.cmp(&other.number))
    }
}

impl PartialOrd for Kept {
    fn partial_cmp(&self, other: &Kept) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Kept {
    fn eq(&self, other: &Kept) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Kept {}

impl Kept {
    fn bytes(&self) -> usize {
        self.key.len() + self.row.len() + KEPT_BYTES
    }
}

/// The first rows of its input in order, and perhaps more.
pub(super) struct TopSort<'p> {
    input: Option<Box<dyn Operator + 'p>>,
    width: usize,
    keys: &'p [SortKey],
    wanted: usize,
    with_ties: bool,
    rows: Rows,
}

/// Rows in order, however they were found.
pub(super) enum Rows {
    /// With the memory they take.
    Heap {
        rows: std::vec::IntoIter<Kept>,
        _grant: Option<Grant>,
    },
    Sorted(Sorted),
}

impl Rows {
    /// Writes the next row to the beginning of `row`; false at the end.
    ///
    /// # Errors
    /// Those of reading a spill file.
    pub(super) fn next(&mut self, row: &mut [Value]) -> Result<bool> {
        match self {
            Rows::Sorted(rows) => rows.next(row),
            Rows::Heap { rows, .. } => match rows.next() {
                Some(kept) => {
                    cancel::spend(1)?;
                    read_row(&kept.row, row).map(|()| true)
                }
                None => Ok(false),
            },
        }
    }
}

impl<'p> TopSort<'p> {
    /// The first `wanted` rows, at most [`ROWS_MAX`]; `with_ties` those equal to the last one, too.
    pub(super) fn new(
        input: Box<dyn Operator + 'p>,
        width: usize,
        keys: &'p [SortKey],
        wanted: u64,
        with_ties: bool,
    ) -> TopSort<'p> {
        TopSort {
            input: Some(input),
            width,
            keys,
            wanted: wanted.min(ROWS_MAX) as usize,
            with_ties,
            rows: Rows::Heap {
                rows: Vec::new().into_iter(),
                _grant: None,
            },
        }
    }
}

impl Operator for TopSort<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        if let Some(mut input) = self.input.take() {
            let mut first = First::new(self.wanted, self.with_ties, context);
            let mut buffer = vec![Value::Null; self.width];
            while self.wanted > 0 && input.next(context, &mut buffer)? {
                first.take(self.keys, &buffer, context)?;
            }
            self.rows = first.finish()?;
        }
        self.rows.next(row)
    }
}

/// The first rows among those taken so far.
pub(super) struct First {
    wanted: usize,
    heap: BinaryHeap<Kept>,
    /// Rows taken, for their numbers.
    count: u64,
    /// The key of the row at hand.
    key: Vec<u8>,
    grant: Grant,
    /// Bytes in the heap.
    bytes: usize,
    sorter: Option<Sorter>,
    /// There was no room for the keys of the first rows: nothing is left out.
    sorts_all: bool,
}

/// Appends what the key of a long string begins with; false for any other value.
fn push_beginning(key: &SortKey, row: &[Value], output: &mut Vec<u8>) -> bool {
    let text = match row.get(key.column) {
        Some(Value::Text(text)) if text.len() >= LONG_BYTES => text,
        _ => return false,
    };
    let beginning = &text[..text.floor_char_boundary(BEGINNING_BYTES)];
    encode_key_prefix(beginning, text.collation(), direction(key.descending), output);
    true
}

/// Whether every key with this beginning comes after another key.
fn is_behind(beginning: &[u8], other: &[u8]) -> bool {
    *beginning > *other.get(..beginning.len()).unwrap_or(other)
}

impl First {
    /// None of as many rows as are `wanted`; `with_ties` those equal to the last one are, too.
    pub(super) fn new(wanted: usize, with_ties: bool, context: &Context<'_>) -> First {
        First {
            wanted,
            heap: BinaryHeap::new(),
            count: 0,
            key: Vec::new(),
            grant: context.grant(),
            bytes: 0,
            sorter: with_ties.then(|| Sorter::new(context)),
            sorts_all: false,
        }
    }

    /// Takes a row in, or leaves it out.
    ///
    /// # Errors
    /// Those of spilling.
    pub(super) fn take(&mut self, keys: &[SortKey], row: &[Value], context: &Context<'_>) -> Result<()> {
        let is_full = self.heap.len() >= self.wanted;
        let last = self.heap.peek().filter(|_| is_full);
        self.key.clear();
        // Nearly all rows of a large input come after the last row of the heap, and the first of their keys shows it.
        for key in keys {
            let start = self.key.len();
            if let Some(last) = last
                && push_beginning(key, row, &mut self.key)
            {
                if is_behind(&self.key, &last.key) {
                    return Ok(());
                }
                self.key.truncate(start);
            }
            push_key(std::slice::from_ref(key), row, &mut self.key);
            if last.is_some_and(|last| is_behind(&self.key, &last.key)) {
                return Ok(());
            }
        }
        let order = last.map_or(Ordering::Less, |last| self.key.cmp(&last.key));
        let key = &self.key;
        if order.is_le()
            && let Some(sorter) = &mut self.sorter
        {
            sorter.push(row, |output| {
                output.extend_from_slice(key);
                Ok(())
            })?;
        }
        if order.is_lt() && !self.sorts_all {
            self.keep(row, is_full, context)?;
        }
        Ok(())
    }

    /// Puts the row at hand into the heap, in the place of the last one when that is full.
    fn keep(&mut self, row: &[Value], is_full: bool, context: &Context<'_>) -> Result<()> {
        let former = if is_full { self.heap.pop() } else { None };
        self.bytes -= former.as_ref().map_or(0, Kept::bytes);
        let mut kept = former.unwrap_or_else(|| Kept {
            key: Vec::new(),
            number: 0,
            row: Vec::new(),
        });
        kept.key.clear();
        kept.key.extend_from_slice(&self.key);
        kept.row.clear();
        if self.sorter.is_none() {
            push_row(row, &mut kept.row);
        }
        kept.number = self.count;
        self.count += 1;
        self.bytes += kept.bytes();
        self.heap.push(kept);
        let more = (self.bytes as u64).saturating_sub(self.grant.used());
        if more == 0 || self.grant.has_room(more) {
            return Ok(());
        }
        match self.sorter {
            // The keys alone are too much: all rows are sorted from here on.
            Some(_) => {
                self.forget_keys();
                Ok(())
            }
            None => self.become_sort(row.len(), context),
        }
    }

    fn forget_keys(&mut self) {
        (self.heap, self.bytes, self.sorts_all) = (BinaryHeap::new(), 0, true);
        self.grant.clear();
    }

    /// The rows of the heap go to a sort, and so do all that follow; where the heap was full, those that come no later than the last of
    /// its rows.
    fn become_sort(&mut self, width: usize, context: &Context<'_>) -> Result<()> {
        let mut sorter = Sorter::new(context);
        let mut row = vec![Value::Null; width];
        let mut kept = std::mem::take(&mut self.heap).into_sorted_vec();
        for one in &mut kept {
            cancel::spend(1)?;
            read_row(&one.row, &mut row)?;
            sorter.push(&row, |output| {
                output.extend_from_slice(&one.key);
                Ok(())
            })?;
            one.row = Vec::new();
        }
        self.sorter = Some(sorter);
        if kept.len() < self.wanted {
            self.forget_keys();
            return Ok(());
        }
        self.bytes = kept.iter().map(Kept::bytes).sum();
        self.heap = kept.into();
        Ok(())
    }

    /// The rows in order.
    ///
    /// # Errors
    /// Those of spilling and merging.
    pub(super) fn finish(self) -> Result<Rows> {
        match self.sorter {
            Some(sorter) => Ok(Rows::Sorted(sorter.finish()?)),
            None => Ok(Rows::Heap {
                rows: self.heap.into_sorted_vec().into_iter(),
                _grant: Some(self.grant),
            }),
        }
    }
}
