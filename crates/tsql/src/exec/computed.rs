//! Computed columns that are not stored: computed for each row that a scan or a search reads, if they are used.

use std::rc::Rc;

use engine::error::Result;
use engine::types::Value;

use super::key_bitmap::KeyBitmap;
use super::{Operator, evaluate};
use crate::context::Context;
use crate::plan::ScanNode;

/// Rows of a table with the computed columns that the plan reads.
struct Computing<'p> {
    inner: Box<dyn Operator + 'p>,
    node: &'p ScanNode,
}

/// Has a reader of a table compute what the plan asks for beyond what rows have.
pub(super) fn around<'p>(node: &'p ScanNode, inner: Box<dyn Operator + 'p>) -> Box<dyn Operator + 'p> {
    match node.computed.is_empty() {
        true => inner,
        false => Box::new(Computing { inner, node }),
    }
}

impl Operator for Computing<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        if !self.inner.next(context, row)? {
            return Ok(false);
        }
        let own = row.get_mut(self.node.offset..).unwrap_or_default();
        for one in self
            .node
            .computed
            .iter()
            .filter_map(|place| self.node.virtual_columns.get(*place))
        {
            let value = evaluate(&one.expression, own, context)?.into_owned();
            if let Some(place) = own.get_mut(one.column) {
                *place = value;
            }
        }
        Ok(true)
    }

    fn rewind(&mut self) -> bool {
        self.inner.rewind()
    }

    fn leave_out(&mut self, bitmap: &Rc<KeyBitmap>) -> bool {
        self.inner.leave_out(bitmap)
    }
}
