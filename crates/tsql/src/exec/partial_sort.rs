//! Partial sort of rows that are already ordered by the first sort keys: each group of rows with equal first keys is sorted separately, and
//! is returned when the next group begins.
//!
//! ```text
//! ORDER BY a, b    rows by a    1 1 1 | 2 | 5 5        one group at a time is in memory, or in a file if it outgrows its grant
//! TOP 2                         1 1 1 | 2              only as many rows of a group as are still needed; later rows are not read
//! ```
//! Rows with equal keys keep their input order, as in a full sort. Plans show it as `Sort(PARTIAL SORT, PRESORTED:(...), ...)`, in XML as a
//! sort, because SQL Server's schema has no other element.
//!
//! Invariant: rows with equal first keys are adjacent; the optimizer guarantees this.

use engine::error::Result;
use engine::lock::LockOwner;
use engine::types::Value;

use super::Operator;
use super::sort::{Sort, push_key};
use super::sorter::Sorter;
use super::top_sort::{First, ROWS_MAX, Rows};
use crate::context::Context;
use crate::plan::{SortKey, SortNode};

pub(super) struct PartialSort<'p> {
    input: Box<dyn Operator + 'p>,
    /// The keys that rows come in the order of.
    given: &'p [SortKey],
    /// The keys that order the rows of a group.
    others: &'p [SortKey],
    /// The first so many rows alone are wanted.
    wanted: Option<Wanted>,
    /// The input's row: while a group comes out, the first one of the next.
    row: Vec<Value>,
    /// The first keys of the group under way, and those of the row at hand.
    key: Vec<u8>,
    next_key: Vec<u8>,
    state: State,
    rows: Option<Rows>,
}

/// How many rows are still wanted, and whether those that are equal to the last one are, too.
struct Wanted {
    left: u64,
    with_ties: bool,
}

/// Where the input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the first row.
    Before,
    /// At the first row of a group.
    AtGroup,
    /// Nothing more is read.
    End,
}

/// What takes in the rows of a group.
enum Taking {
    Sorter(Box<Sorter>),
    First(Box<First>),
}

/// Opens a sort: of all rows, or of those that are equal in the keys they come in the order of.
pub(super) fn open<'p>(
    node: &'p SortNode,
    locks: &'p LockOwner,
    context: &Context<'_>,
) -> Result<Box<dyn Operator + 'p>> {
    let input = super::open(&node.input, locks, context)?;
    Ok(match node.presorted {
        0 => Box::new(Sort::new(input, node)),
        _ => Box::new(PartialSort::new(input, node)),
    })
}

impl<'p> PartialSort<'p> {
    /// A sort by `keys`, of which rows come in the order of the first `presorted`.
    pub(super) fn new(input: Box<dyn Operator + 'p>, node: &'p SortNode) -> PartialSort<'p> {
        let keys = node.keys.as_slice();
        let (given, others) = keys.split_at_checked(node.presorted).unwrap_or((keys, &[]));
        PartialSort {
            input,
            given,
            others,
            wanted: None,
            row: vec![Value::Null; node.width],
            key: Vec::new(),
            next_key: Vec::new(),
            state: State::Before,
            rows: None,
        }
    }

    /// The same of which the first rows alone are wanted; `with_ties` those equal to the last one, too.
    pub(super) fn first(mut self, wanted: u64, with_ties: bool) -> PartialSort<'p> {
        self.wanted = Some(Wanted {
            left: wanted,
            with_ties,
        });
        self
    }

    /// Reads the next row and its first keys; false at the end.
    fn read(&mut self, context: &Context<'_>) -> Result<bool> {
        if !self.input.next(context, &mut self.row)? {
            self.state = State::End;
            return Ok(false);
        }
        self.next_key.clear();
        push_key(self.given, &self.row, &mut self.next_key);
        Ok(true)
    }

    /// What takes in the next group, with the memory of the one before.
    fn taking(&self, before: Option<Rows>, context: &Context<'_>) -> Taking {
        match &self.wanted {
            // Of more rows a heap is no better than a sort.
            Some(wanted) if wanted.left <= ROWS_MAX => {
                let first = First::new(wanted.left as usize, wanted.with_ties, context);
                Taking::First(Box::new(first))
            }
            _ => Taking::Sorter(Box::new(match before {
                Some(Rows::Sorted(sorted)) => sorted.into_empty(context),
                _ => Sorter::new(context),
            })),
        }
    }

    /// Reads and sorts the next group; false when there is none, or none is wanted.
    fn turn_to_group(&mut self, context: &Context<'_>) -> Result<bool> {
        let before = self.rows.take();
        let is_done = self.wanted.as_ref().is_some_and(|wanted| wanted.left == 0);
        if is_done || self.state == State::End || self.state == State::Before && !self.read(context)? {
            return Ok(false);
        }
        self.state = State::AtGroup;
        std::mem::swap(&mut self.key, &mut self.next_key);
        let (mut taking, mut count) = (self.taking(before, context), 0);
        loop {
            let (row, others) = (&self.row, self.others);
            match &mut taking {
                Taking::Sorter(sorter) => sorter.push(row, |output| {
                    push_key(others, row, output);
                    Ok(())
                })?,
                Taking::First(first) => first.take(others, row, context)?,
            }
            count += 1;
            if !self.read(context)? || self.next_key != self.key {
                break;
            }
        }
        if let Some(wanted) = &mut self.wanted {
            wanted.left = wanted.left.saturating_sub(count);
        }
        self.rows = Some(match taking {
            Taking::Sorter(sorter) => Rows::Sorted(sorter.finish()?),
            Taking::First(first) => first.finish()?,
        });
        Ok(true)
    }
}

impl Operator for PartialSort<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        loop {
            if let Some(rows) = &mut self.rows
                && rows.next(row)?
            {
                return Ok(true);
            }
            if !self.turn_to_group(context)? {
                return Ok(false);
            }
        }
    }
}
