//! SELECT: rows to the client, into variables, or into a new table.

use engine::error::{Error, Result};
use engine::types::Value;

use super::batch::Bound;
use super::executor::{Executor, closed};
use crate::ast::{Name, Query};
use crate::bind::BoundQuery;
use crate::exec::{Context, open};
use crate::session::DoneKind;

impl Executor<'_> {
    /// SELECT.
    pub(super) fn select(&mut self, query: &Query, line: u32) -> Result<()> {
        let bound = self.plan(query, |binder, query| Ok(Bound::Query(binder.statement_query(query)?)))?;
        let Bound::Query(bound) = &*bound else {
            return Err(Error::assertion("a SELECT bound to something else"));
        };
        match (&bound.into, &bound.assignments) {
            (Some(into), _) => self.select_into(bound, into, line),
            (None, Some(slots)) => self.select_assign(bound, slots),
            (None, None) => self.select_rows(bound),
        }
    }

    fn select_rows(&mut self, bound: &BoundQuery) -> Result<()> {
        let plan = &bound.plan;
        let limit = self.session.options().row_count;
        let count = self.reading(bound, |executor| {
            let context = Context::new(executor.session, &executor.variables);
            let sink = &mut *executor.sink;
            // The first row comes before the columns are announced, so that an error then leaves no empty result set.
            let mut operator = open(&plan.root, context.locks(), &context)?;
            let mut row = vec![Value::Null; plan.width];
            let mut more = operator.next(&context, &mut row)?;
            sink.columns(&plan.columns).map_err(closed)?;
            let mut count = 0u64;
            while more && (limit == 0 || count < limit) {
                count += 1;
                sink.row(row.get(..plan.columns.len()).unwrap_or_default())
                    .map_err(closed)?;
                more = operator.next(&context, &mut row)?;
            }
            Ok(count)
        })?;
        self.session.set_row_count(count as i64);
        self.done(Some(count), DoneKind::Select)
    }

    fn select_assign(&mut self, bound: &BoundQuery, slots: &[usize]) -> Result<()> {
        let count = self.reading(bound, |executor| {
            let context = Context::new(executor.session, &executor.variables);
            crate::exec::run(&bound.plan, &context, &mut |row| {
                for (&slot, value) in slots.iter().zip(row) {
                    context.set_variable(slot, value.clone());
                }
                Ok(())
            })
        })?;
        self.session.set_row_count(count as i64);
        self.done(Some(count), DoneKind::Assign)
    }

    /// Runs a query that changes nothing. One that reads no table begins no implicit transaction.
    fn reading<T>(&mut self, bound: &BoundQuery, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if bound.reads_tables {
            self.atomically(false, work)
        } else {
            self.as_unit(false, work)
        }
    }

    fn select_into(&mut self, bound: &BoundQuery, into: &Name, line: u32) -> Result<()> {
        let count = self.atomically(true, |executor| {
            let definition = executor.definition_of_rows(into, &bound.plan.columns)?;
            let table = executor.create_defined_table(into, definition, line)?;
            executor.fill_new_table(&table, &bound.plan)
        })?;
        self.session.set_row_count(count as i64);
        self.done(Some(count), DoneKind::Insert)
    }
}
