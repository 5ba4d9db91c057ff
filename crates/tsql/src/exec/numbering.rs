//! `ROW_NUMBER() OVER (ORDER BY (SELECT NULL))`: rows are numbered as they arrive, without buffering.

use engine::error::Result;
use engine::types::Value;

use super::Operator;
use crate::context::Context;
use crate::plan::{WindowCall, WindowFunction};

/// Rows with their number in one more column per call.
pub(super) struct Numbering<'p> {
    input: Box<dyn Operator + 'p>,
    input_width: usize,
    row_number: i64,
}

/// Whether the calls number the rows in no order in particular: one partition, and an ORDER BY that tells no two rows apart.
pub(super) fn is_in_any_order(calls: &[WindowCall]) -> bool {
    calls.iter().all(|call| {
        matches!(call.function, WindowFunction::RowNumber)
            && call.partition.is_empty()
            && call.order.iter().all(|(key, _)| key.is_same_for_every_row())
    })
}

impl<'p> Numbering<'p> {
    pub(super) fn new(input: Box<dyn Operator + 'p>, input_width: usize) -> Numbering<'p> {
        Numbering {
            input,
            input_width,
            row_number: 0,
        }
    }
}

impl Operator for Numbering<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        let (input, numbers) = row.split_at_mut(self.input_width.min(row.len()));
        if !self.input.next(context, input)? {
            return Ok(false);
        }
        self.row_number += 1;
        numbers.fill(Value::BigInt(self.row_number));
        Ok(true)
    }
}
