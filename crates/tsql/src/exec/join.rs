//! Nested loops: the join for any condition.

use std::rc::Rc;

use engine::cancel;
use engine::error::Result;
use engine::lock::LockOwner;
use engine::types::Value;

use super::key_bitmap::KeyBitmap;
use super::{Operator, holds, open};
use crate::context::Context;
use crate::plan::{Condition, JoinKind, JoinNode, Node};

/// Makes ranges of the wide row NULL.
pub(super) fn clear(row: &mut [Value], ranges: &[(usize, usize)]) {
    for (offset, width) in ranges {
        let places = row.iter_mut().skip(*offset).take(*width);
        places.for_each(|value| *value = Value::Null);
    }
}

/// What beginning the right side again comes to.
const STEPS_PER_OPENING: usize = 4;

/// For every left row all right rows, from the beginning. What the right side looks for may depend on the left row, which is in the wide
/// row when its first row is asked for.
pub(super) struct Loop<'p> {
    left: Box<dyn Operator + 'p>,
    right_node: &'p Node,
    right: Option<Box<dyn Operator + 'p>>,
    /// The right side gives the rows for the current left row.
    has_left: bool,
    right_ranges: &'p [(usize, usize)],
    kind: JoinKind,
    condition: &'p Condition,
    locks: &'p LockOwner,
    matched: bool,
}

impl<'p> Loop<'p> {
    pub(super) fn new(left: Box<dyn Operator + 'p>, node: &'p JoinNode, locks: &'p LockOwner) -> Loop<'p> {
        Loop {
            left,
            right_node: &node.right,
            right: None,
            has_left: false,
            right_ranges: &node.right_ranges,
            kind: node.kind,
            condition: &node.residual,
            locks,
            matched: false,
        }
    }
}

impl Operator for Loop<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        loop {
            let right = match &mut self.right {
                Some(right) if self.has_left => right,
                _ => {
                    if !self.left.next(context, row)? {
                        return Ok(false);
                    }
                    (self.matched, self.has_left) = (false, true);
                    cancel::spend(STEPS_PER_OPENING)?;
                    if !self.right.as_mut().is_some_and(|right| right.rewind()) {
                        // What the former one holds is given back first.
                        self.right = None;
                        self.right = Some(open(self.right_node, self.locks, context)?);
                    }
                    continue;
                }
            };
            while right.next(context, row)? {
                if holds(self.condition, row, context)? {
                    self.matched = true;
                    // One partner is enough to know.
                    if self.kind == JoinKind::Anti {
                        break;
                    }
                    self.has_left = self.kind != JoinKind::Semi;
                    return Ok(true);
                }
            }
            self.has_left = false;
            if self.kind.keeps_left() && !self.matched {
                clear(row, self.right_ranges);
                return Ok(true);
            }
        }
    }

    fn leave_out(&mut self, bitmap: &Rc<KeyBitmap>) -> bool {
        self.left.leave_out(bitmap)
    }
}
