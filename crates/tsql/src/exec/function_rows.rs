//! A built-in table-valued function in FROM: its rows are produced on demand. If its arguments use columns of a preceding source, it is
//! called again for every row.

use engine::cancel;
use engine::error::Result;
use engine::types::Value;

use super::Operator;
use super::derived::place;
use super::evaluate::evaluate;
use super::file_rows::file_rows;
use crate::context::Context;
use crate::plan::{FunctionNode, FunctionRows, RowSource};

pub(super) struct CalledRows<'p> {
    node: &'p FunctionNode,
    rows: Option<Box<dyn FunctionRows>>,
}

impl<'p> CalledRows<'p> {
    pub(super) fn new(node: &'p FunctionNode) -> CalledRows<'p> {
        CalledRows { node, rows: None }
    }
}

impl Operator for CalledRows<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        let rows = match &mut self.rows {
            Some(rows) => rows,
            None => {
                let arguments = self.node.arguments.iter();
                let arguments = arguments.map(|argument| Ok(evaluate(argument, row, context)?.into_owned()));
                let arguments = arguments.collect::<Result<Vec<_>>>()?;
                self.rows.insert(match &self.node.implementation {
                    RowSource::Called(function) => function(&arguments)?,
                    RowSource::File(rowset) => file_rows(rowset, context)?,
                })
            }
        };
        let Some(values) = rows.next()? else {
            return Ok(false);
        };
        cancel::spend(1)?;
        place(row, self.node.offset, values);
        Ok(true)
    }

    fn rewind(&mut self) -> bool {
        self.rows = None;
        true
    }
}
