//! Sorts rows of FROM by expressions, NULL first: for a merge join or a stream aggregate without a suitable index. It keeps only the
//! columns used above, and writes them back to their places, so that the columns of other sources in the wide row stay unchanged.

use engine::error::Result;
use engine::lock::LockOwner;
use engine::types::{KeyDirection, Value};

use super::hash_join::{kept, put_back, width_of};
use super::sorter::{Sorted, Sorter};
use super::{Operator, evaluate};
use crate::context::Context;
use crate::plan::{ArrangeNode, Expr};
use crate::scalar::compare::push_order_key;

pub(super) struct Arrange<'p> {
    input: Option<Box<dyn Operator + 'p>>,
    ranges: &'p [(usize, usize)],
    keys: &'p [Expr],
    rows: Option<Sorted>,
    /// What was kept of the row at hand.
    values: Vec<Value>,
}

/// Opens the operator.
pub(super) fn open<'p>(
    node: &'p ArrangeNode,
    locks: &'p LockOwner,
    context: &Context<'_>,
) -> Result<Box<dyn Operator + 'p>> {
    let input = super::open(&node.input, locks, context)?;
    Ok(Box::new(Arrange::new(input, &node.ranges, &node.keys)))
}

impl<'p> Arrange<'p> {
    fn new(input: Box<dyn Operator + 'p>, ranges: &'p [(usize, usize)], keys: &'p [Expr]) -> Arrange<'p> {
        Arrange {
            input: Some(input),
            ranges,
            keys,
            rows: None,
            values: vec![Value::Null; width_of(ranges)],
        }
    }

    /// Reads all rows. They are written into the row around, as those of any input are: they may use what is there.
    fn collect(
        &mut self,
        mut input: Box<dyn Operator + 'p>,
        context: &Context<'_>,
        row: &mut [Value],
    ) -> Result<Sorted> {
        let mut sorter = Sorter::new(context);
        while input.next(context, row)? {
            self.values.clear();
            self.values.extend(kept(row, self.ranges).flatten().cloned());
            sorter.push(&self.values, |output| {
                self.keys.iter().try_for_each(|key| {
                    push_order_key(&*evaluate(key, row, context)?, KeyDirection::Ascending, output);
                    Ok(())
                })
            })?;
        }
        sorter.finish()
    }
}

impl Operator for Arrange<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        if let Some(input) = self.input.take() {
            self.rows = Some(self.collect(input, context, row)?);
        }
        let Some(rows) = &mut self.rows else { return Ok(false) };
        self.values.resize(width_of(self.ranges), Value::Null);
        if !rows.next(&mut self.values)? {
            return Ok(false);
        }
        put_back(row, self.ranges, &self.values);
        Ok(true)
    }
}
