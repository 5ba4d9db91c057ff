//! TOP, and OFFSET with FETCH.

use std::cmp::Ordering;

use engine::error::{Error, Result};
use engine::lock::LockOwner;
use engine::types::Value;

use super::partial_sort::PartialSort;
use super::sort::{Sort, collect, compare_rows};
use super::sorter::Sorted;
use super::top_sort::{ROWS_MAX, TopSort};
use super::{Operator, evaluate, measured, open};
use crate::context::Context;
use crate::messages;
use crate::plan::{Node, SliceNode, TopCount, TopNode};

/// The first rows.
pub(super) struct Top<'p> {
    input: Box<dyn Operator + 'p>,
    left: u64,
    top: &'p TopCount,
    last: Option<Vec<Value>>,
}

/// Rows already at hand, for TOP PERCENT, which must know how many there are.
struct Collected(Sorted);

impl Operator for Collected {
    fn next(&mut self, _context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        self.0.next(row)
    }
}

impl<'p> Top<'p> {
    pub(super) fn open(node: &'p TopNode, locks: &'p LockOwner, context: &Context<'_>) -> Result<Top<'p>> {
        let TopNode { input, top, width } = node;
        let count = evaluate(&top.count, &[], context)?.into_owned();
        if !top.percent {
            let left = row_count(&count)?;
            return Ok(Top {
                input: open_first(input, left, top.ties.is_some(), locks, context)?,
                left,
                top,
                last: None,
            });
        }
        let Value::Float(percent) = count else {
            return Err(messages::row_count_not_integer());
        };
        let rows = collect(open(input, locks, context)?, *width, &[], context)?;
        let left = share_of(rows.count(), percent)?;
        Ok(Top {
            input: Box::new(Collected(rows.finish()?)),
            left,
            top,
            last: None,
        })
    }
}

/// Opens an input of which the first rows alone are wanted, and those equal to the last one if there may be ties: a sort need not
/// sort the others.
fn open_first<'p>(
    input: &'p Node,
    wanted: u64,
    with_ties: bool,
    locks: &'p LockOwner,
    context: &Context<'_>,
) -> Result<Box<dyn Operator + 'p>> {
    let Node::Sort(sort) = input else {
        return open(input, locks, context);
    };
    let sorted = || -> Result<Box<dyn Operator + 'p>> {
        let rows = open(&sort.input, locks, context)?;
        Ok(match wanted > ROWS_MAX {
            _ if sort.presorted > 0 => Box::new(PartialSort::new(rows, sort).first(wanted, with_ties)),
            true => Box::new(Sort::new(rows, sort)),
            false => Box::new(TopSort::new(rows, sort.width, &sort.keys, wanted, with_ties)),
        })
    };
    match context.session.measures() {
        None => sorted(),
        Some(measures) => measured::around(input, &measures, sorted),
    }
}

/// How many rows a share of so many is, rounded up.
///
/// # Errors
/// 1031 for a share that is none.
pub(crate) fn share_of(row_count: u64, percent: f64) -> Result<u64> {
    match (0.0..=100.0).contains(&percent) {
        true => Ok((row_count as f64 * percent / 100.0).ceil() as u64),
        false => Err(Error::new(1031, 15, 1, "Percent values must be between 0 and 100.")),
    }
}

/// A count of rows: a whole number that is not negative.
fn row_count(value: &Value) -> Result<u64> {
    match value.as_i64() {
        Some(count) => u64::try_from(count)
            .map_err(|_| Error::new(127, 15, 1, "A TOP N or FETCH rowcount value may not be negative.")),
        None => Err(messages::row_count_not_integer()),
    }
}

impl Operator for Top<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        if self.left > 0 {
            self.left -= 1;
            let found = self.input.next(context, row)?;
            if found && self.left == 0 && self.top.ties.is_some() {
                self.last = Some(row.to_vec());
            }
            return Ok(found);
        }
        let (Some(last), Some(keys)) = (&self.last, &self.top.ties) else {
            return Ok(false);
        };
        let found = self.input.next(context, row)?;
        Ok(found && compare_rows(keys, last, row) == Ordering::Equal)
    }
}

/// OFFSET and FETCH.
pub(super) struct Slice<'p> {
    input: Box<dyn Operator + 'p>,
    skip: u64,
    left: u64,
}

impl<'p> Slice<'p> {
    pub(super) fn open(node: &'p SliceNode, locks: &'p LockOwner, context: &Context<'_>) -> Result<Slice<'p>> {
        let SliceNode { input, offset, fetch } = node;
        let skip = row_count(&*evaluate(offset, &[], context)?)?;
        let left = match fetch {
            Some(fetch) => row_count(&*evaluate(fetch, &[], context)?)?,
            None => u64::MAX,
        };
        Ok(Slice {
            input: open_first(input, skip.saturating_add(left), false, locks, context)?,
            skip,
            left,
        })
    }
}

impl Operator for Slice<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        while self.skip > 0 {
            self.skip -= 1;
            if !self.input.next(context, row)? {
                return Ok(false);
            }
        }
        if self.left == 0 {
            return Ok(false);
        }
        self.left -= 1;
        self.input.next(context, row)
    }
}
