//! ORDER BY: all rows in memory, sorted by their keys, equal rows in the order they came.

use std::cmp::Ordering;

use engine::error::Result;
use engine::types::Value;

use super::{Context, Operator};
use crate::plan::SortKey;
use crate::scalar::compare::order;

/// Rows in order.
pub(super) struct Sort<'p> {
    input: Option<Box<dyn Operator + 'p>>,
    width: usize,
    keys: &'p [SortKey],
    rows: std::vec::IntoIter<Vec<Value>>,
}

impl<'p> Sort<'p> {
    pub(super) fn new(input: Box<dyn Operator + 'p>, width: usize, keys: &'p [SortKey]) -> Sort<'p> {
        Sort {
            input: Some(input),
            width,
            keys,
            rows: Vec::new().into_iter(),
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

/// Reads all rows of an operator.
pub(super) fn collect<'p>(
    mut input: Box<dyn Operator + 'p>,
    width: usize,
    context: &Context<'_>,
) -> Result<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    let mut row = vec![Value::Null; width];
    while input.next(context, &mut row)? {
        rows.push(row.clone());
        if rows.len() % 256 == 0 {
            context.check_cancelled()?;
        }
    }
    Ok(rows)
}

impl Operator for Sort<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        if let Some(input) = self.input.take() {
            let mut rows = collect(input, self.width, context)?;
            rows.sort_by(|left, right| compare_rows(self.keys, left, right));
            self.rows = rows.into_iter();
        }
        let Some(next) = self.rows.next() else { return Ok(false) };
        super::derived::place(row, 0, next);
        Ok(true)
    }
}
