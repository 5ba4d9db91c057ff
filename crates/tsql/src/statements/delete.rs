//! DELETE.

use engine::error::{Error, Result};
use engine::types::Value;

use super::change::{SeenRows, goes_to_client};
use super::executor::Executor;
use crate::ast::Delete;
use crate::bind::RowSearch;
use crate::context::Context;
use crate::exec::open;
use crate::grant::KeptRows;
use crate::modify::{Changed, Pipeline};
use crate::plan::Target;
use crate::prepared::Bound;
use crate::sink::DoneKind;
use crate::state::CursorOperation;

impl Executor<'_> {
    pub(super) fn delete(&mut self, delete: &Delete, _line: u32) -> Result<()> {
        let bound = self.plan(delete, |binder, delete| Ok(Bound::Delete(binder.delete(delete)?)))?;
        let Bound::Delete(bound) = &*bound else {
            return Err(Error::assertion("a DELETE bound to something else"));
        };
        let search = &bound.search;
        let at = self.cursor_of_change(delete.current_of.as_ref(), &search.target, &[])?;
        let count = self.atomically(true, |executor| {
            executor.within_no_wait(search.no_wait, |executor| {
                let changed = executor.through_cursor(at.as_ref(), |executor| executor.delete_rows(search))?;
                let count = executor.finish_output(search.output.as_ref(), changed)?;
                executor.note_change(at.as_ref(), CursorOperation::Delete)?;
                Ok(count)
            })
        })?;
        self.changed(count, DoneKind::Delete, goes_to_client(search.output.as_ref()))
    }

    pub(super) fn delete_rows(&self, search: &RowSearch) -> Result<Changed> {
        let limit = self.top_limit(search.top.as_ref())?;
        let context = Context::new(self.session, &self.variables).at_cursor(self.at_cursor.clone());
        let mut operator = open(&search.node, context.locks(), &context)?;
        let mut pipeline = Pipeline::new(
            &context,
            &search.target,
            &search.columns,
            "DELETE",
            search.output.as_ref(),
        )?;
        let mut row = vec![Value::Null; search.width];
        if search.streams || matches!(search.target, Target::View(_)) {
            while pipeline.count() < limit && operator.next(&context, &mut row)? {
                delete_row(search, &mut pipeline, &row)?;
            }
            return pipeline.finish();
        }
        let mut found = KeptRows::default();
        let mut seen = SeenRows::default();
        while (found.rows.len() as u64) < limit && operator.next(&context, &mut row)? {
            if seen.is_new(row.get(search.locator))? {
                found.push(row.clone(), &self.session.instance.workspace)?;
            }
        }
        drop(operator);
        for row in found.rows {
            delete_row(search, &mut pipeline, &row)?;
        }
        pipeline.finish()
    }
}

fn delete_row(search: &RowSearch, pipeline: &mut Pipeline<'_>, row: &[Value]) -> Result<()> {
    if search.shows_source {
        pipeline.come_from(row.to_vec());
    }
    pipeline.delete(search.locator_of(row), search.old_row(row)).map(|_| ())
}
