//! ORDER BY: sorts rows by their keys and keeps the input order of equal rows; in memory up to the grant.

use std::cmp::Ordering;

use engine::error::Result;
use engine::types::{KeyDirection, Value};

use super::Operator;
use super::sorter::{Sorted, Sorter};
use crate::context::Context;
use crate::plan::{SortKey, SortNode};
use crate::scalar::compare::{order, push_order_key};

/// Rows in order.
pub(super) struct Sort<'p> {
    input: Option<Box<dyn Operator + 'p>>,
    width: usize,
    keys: &'p [SortKey],
    rows: Option<Sorted>,
}

impl<'p> Sort<'p> {
    pub(super) fn new(input: Box<dyn Operator + 'p>, node: &'p SortNode) -> Sort<'p> {
        Sort {
            input: Some(input),
            width: node.width,
            keys: &node.keys,
            rows: None,
        }
    }
}

/// Compares two rows by keys.
pub(super) fn compare_rows(keys: &[SortKey], left: &[Value], right: &[Value]) -> Ordering {
    for key in keys {
        let (Some(left), Some(right)) = (left.get(key.column), right.get(key.column)) else {
            continue;
        };
        let found = order(left, right);
        if found != Ordering::Equal {
            return if key.descending { found.reverse() } else { found };
        }
    }
    Ordering::Equal
}

/// The direction of a key.
pub(super) fn direction(descending: bool) -> KeyDirection {
    if descending {
        KeyDirection::Descending
    } else {
        KeyDirection::Ascending
    }
}

/// Appends a row's key.
pub(super) fn push_key(keys: &[SortKey], row: &[Value], output: &mut Vec<u8>) {
    for key in keys {
        if let Some(value) = row.get(key.column) {
            push_order_key(value, direction(key.descending), output);
        }
    }
}

/// Reads all rows of an operator, sorted by keys; without keys in the order they come.
pub(super) fn collect(
    mut input: Box<dyn Operator + '_>,
    width: usize,
    keys: &[SortKey],
    context: &Context<'_>,
) -> Result<Sorter> {
    let mut sorter = Sorter::new(context);
    let mut row = vec![Value::Null; width];
    while input.next(context, &mut row)? {
        sorter.push(&row, |output| {
            push_key(keys, &row, output);
            Ok(())
        })?;
    }
    Ok(sorter)
}

impl Operator for Sort<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        if let Some(input) = self.input.take() {
            self.rows = Some(collect(input, self.width, self.keys, context)?.finish()?);
        }
        self.rows.as_mut().map_or(Ok(false), |rows| rows.next(row))
    }
}
