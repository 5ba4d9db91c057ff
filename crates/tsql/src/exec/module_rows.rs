//! A multi-statement table-valued function in FROM: it runs when its first row is read, and its rows are kept until the operator is
//! dropped. If its arguments use columns of a preceding source, the operator is opened again for every row.

use std::collections::VecDeque;

use engine::cancel;
use engine::error::Result;
use engine::types::Value;

use super::Operator;
use super::derived::place;
use super::subquery::capture;
use crate::context::Context;
use crate::grant::{Grant, kept_bytes};
use crate::plan::ModuleNode;

/// The rows that are left, and their memory.
type Left = (VecDeque<Vec<Value>>, Grant);

pub(super) struct ModuleRows<'p> {
    node: &'p ModuleNode,
    left: Option<Left>,
}

impl<'p> ModuleRows<'p> {
    pub(super) fn new(node: &'p ModuleNode) -> ModuleRows<'p> {
        ModuleRows { node, left: None }
    }

    fn run(&self, context: &Context<'_>, row: &[Value]) -> Result<Left> {
        let values = capture(&self.node.arguments, row, context)?.to_vec();
        let (mut rows, mut grant) = (VecDeque::new(), context.grant());
        let session = context.session;
        session
            .module_caller()
            .rows(session, &self.node.call, (values, context.variables), &mut |row| {
                grant.require(kept_bytes(&row))?;
                rows.push_back(row);
                Ok(())
            })?;
        Ok((rows, grant))
    }
}

impl Operator for ModuleRows<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        if self.left.is_none() {
            self.left = Some(self.run(context, row)?);
        }
        let Some(values) = self.left.as_mut().and_then(|(rows, _)| rows.pop_front()) else {
            return Ok(false);
        };
        cancel::spend(1)?;
        place(row, self.node.offset, values);
        Ok(true)
    }
}
