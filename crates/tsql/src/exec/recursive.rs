//! Recursive common table expressions: rounds of rows, each computed from the previous one, until a round is empty.

use std::rc::Rc;

use engine::cancel;
use engine::error::{Error, Result};
use engine::lock::LockOwner;
use engine::types::Value;

use super::derived::place;
use super::{Operator, open};
use crate::context::Context;
use crate::context::Round;
use crate::grant::{Grant, kept_bytes};
use crate::plan::{RecursiveNode, RoundNode};

/// The whole query.
pub(super) struct Recursive<'p> {
    node: &'p RecursiveNode,
    locks: &'p LockOwner,
    rounds: u32,
    rows: Round,
    next: usize,
    /// The memory of the last round's rows.
    grant: Option<Grant>,
}

impl<'p> Recursive<'p> {
    pub(super) fn new(node: &'p RecursiveNode, locks: &'p LockOwner) -> Recursive<'p> {
        Recursive {
            node,
            locks,
            rounds: 0,
            rows: Round::default(),
            next: 0,
            grant: None,
        }
    }

    /// Computes the next round; false when it is empty. SQL Server computes the rows that follow from one row apart from those of the
    /// others, which window functions show (sql-docs, WITH common_table_expression: "they operate on the subset of data passed to them by
    /// the current recursion level, similar to a correlated subquery").
    fn advance(&mut self, context: &Context<'_>) -> Result<bool> {
        cancel::spend(1)?;
        let former = std::mem::take(&mut self.rows);
        let mut rows = Vec::new();
        let mut grant = context.grant();
        if self.rounds > 0 && self.node.one_by_one {
            for row in former.iter() {
                self.compute(Rc::new(vec![row.clone()]), &mut rows, &mut grant, context)?;
            }
        } else {
            self.compute(former, &mut rows, &mut grant, context)?;
        }
        self.rounds += 1;
        self.rows = Rc::new(rows);
        self.grant = Some(grant);
        self.next = 0;
        Ok(!self.rows.is_empty())
    }

    /// The rows that follow from others. Beyond the last round that is allowed there may be none (530).
    fn compute(
        &self,
        former: Round,
        rows: &mut Vec<Vec<Value>>,
        grant: &mut Grant,
        context: &Context<'_>,
    ) -> Result<()> {
        let (node, width) = if self.rounds == 0 {
            (&self.node.anchor.root, self.node.anchor.width)
        } else {
            (&*self.node.step, self.node.width)
        };
        let is_beyond = self.rounds > self.node.rounds_max && self.node.rounds_max > 0;
        context.set_round(self.node.id, former);
        let mut operator = open(node, self.locks, context)?;
        let mut row = vec![Value::Null; width];
        while operator.next(context, &mut row)? {
            if is_beyond {
                let text = format!(
                    "The statement terminated. The maximum recursion {} has been exhausted before statement completion.",
                    self.node.rounds_max
                );
                return Err(Error::new(530, 16, 1, text));
            }
            grant.require(kept_bytes(&row))?;
            rows.push(row.get(..self.node.width).unwrap_or_default().to_vec());
        }
        Ok(())
    }
}

impl Operator for Recursive<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        if self.next >= self.rows.len() && (self.rounds > 0 && self.rows.is_empty() || !self.advance(context)?) {
            return Ok(false);
        }
        cancel::spend(1)?;
        let values = self.rows.get(self.next).cloned().unwrap_or_default();
        self.next += 1;
        place(row, self.node.offset, values);
        Ok(true)
    }
}

/// The rows of the round before.
pub(super) struct RoundRows {
    id: usize,
    offset: usize,
    rows: Option<Round>,
    next: usize,
}

impl RoundRows {
    pub(super) fn new(node: &RoundNode) -> RoundRows {
        RoundRows {
            id: node.id,
            offset: node.offset,
            rows: None,
            next: 0,
        }
    }
}

impl Operator for RoundRows {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        let rows = self.rows.get_or_insert_with(|| context.round(self.id));
        let Some(values) = rows.get(self.next) else {
            return Ok(false);
        };
        cancel::spend(1)?;
        self.next += 1;
        place(row, self.offset, values.iter().cloned());
        Ok(true)
    }
}
