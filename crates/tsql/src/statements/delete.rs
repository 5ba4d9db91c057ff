//! DELETE.

use engine::error::{Error, Result};
use engine::types::Value;

use super::batch::Bound;
use super::data::{OutputRows, SeenRows, goes_to_client};
use super::executor::Executor;
use crate::ast::Delete;
use crate::bind::{BoundDelete, Target};
use crate::exec::grant::KeptRows;
use crate::exec::{Context, locator_of, open};
use crate::session::DoneKind;

impl Executor<'_> {
    /// DELETE.
    pub(super) fn delete(&mut self, delete: &Delete, _line: u32) -> Result<()> {
        let bound = self.plan(delete, |binder, delete| Ok(Bound::Delete(binder.delete(delete)?)))?;
        let Bound::Delete(bound) = &*bound else {
            return Err(Error::assertion("a DELETE bound to something else"));
        };
        let count = self.atomically(true, |executor| {
            executor.within_no_wait(bound.no_wait, |executor| {
                let mut output = OutputRows::default();
                let count = executor.delete_rows(bound, &mut output)?;
                executor.finish_output(bound.output.as_ref(), output)?;
                Ok(count)
            })
        })?;
        self.changed(count, DoneKind::Delete, goes_to_client(bound.output.as_ref()))
    }

    fn delete_rows(&mut self, bound: &BoundDelete, output: &mut OutputRows) -> Result<u64> {
        let limit = self.top_limit(bound.top.as_ref())?;
        let context = Context::new(self.session, &self.variables);
        let mut operator = open(&bound.node, context.locks(), &context)?;
        let mut row = vec![Value::Null; bound.width];
        let mut count = 0;
        if bound.streams {
            while count < limit && operator.next(&context, &mut row)? {
                count += u64::from(self.delete_row(bound, &row, output)?);
            }
            return Ok(count);
        }
        let mut found = KeptRows::default();
        let mut seen = SeenRows::default();
        while (found.rows.len() as u64) < limit && operator.next(&context, &mut row)? {
            if seen.is_new(row.get(bound.locator))? {
                found.push(row.clone(), &self.session.instance.workspace)?;
            }
        }
        drop(operator);
        for row in found.rows {
            count += u64::from(self.delete_row(bound, &row, output)?);
        }
        Ok(count)
    }

    fn delete_row(&self, bound: &BoundDelete, row: &[Value], output: &mut OutputRows) -> Result<bool> {
        let width = bound.columns.columns.len();
        let old = row.get(bound.offset..bound.offset + width).unwrap_or_default();
        let locator = row.get(bound.locator).unwrap_or(&Value::Null);
        let deleted = match &bound.target {
            Target::Table(table) => {
                let locator = locator_of(locator)?;
                table
                    .table
                    .delete(&mut self.session.engine.borrow_mut(), &locator, old)?
            }
            Target::Variable(slot, _) => self.replace_variable_row(*slot, locator, None),
        };
        if deleted {
            self.output_row(bound.output.as_ref(), Some(old), None, width, output)?;
        }
        Ok(deleted)
    }
}
