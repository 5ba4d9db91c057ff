//! UPDATE.
//!
//! Rows are changed while they are searched when nothing can make the search meet a changed row again; otherwise all rows
//! are found first (Halloween protection).

use engine::error::{Error, Result};
use engine::types::Value;

use super::batch::Bound;
use super::data::{OutputRows, SeenRows, Verb, check_null, goes_to_client};
use super::executor::Executor;
use crate::ast::Update;
use crate::bind::{BoundUpdate, Target};
use crate::exec::grant::{Grant, row_bytes};
use crate::exec::{Context, evaluate, locator_of, open};
use crate::session::DoneKind;

impl Executor<'_> {
    /// UPDATE.
    pub(super) fn update(&mut self, update: &Update, _line: u32) -> Result<()> {
        let bound = self.plan(update, |binder, update| Ok(Bound::Update(binder.update(update)?)))?;
        let Bound::Update(bound) = &*bound else {
            return Err(Error::assertion("an UPDATE bound to something else"));
        };
        let count = self.atomically(true, |executor| {
            executor.within_no_wait(bound.no_wait, |executor| {
                let mut output = OutputRows::default();
                let count = executor.update_rows(bound, &mut output)?;
                executor.finish_output(bound.output.as_ref(), output)?;
                Ok(count)
            })
        })?;
        self.changed(count, DoneKind::Update, goes_to_client(bound.output.as_ref()))
    }

    fn update_rows(&mut self, bound: &BoundUpdate, output: &mut OutputRows) -> Result<u64> {
        let limit = self.top_limit(bound.top.as_ref())?;
        let context = Context::new(self.session, &self.variables);
        let mut operator = open(&bound.node, context.locks(), &context)?;
        let mut row = vec![Value::Null; bound.width];
        let mut count = 0;
        if bound.streams {
            while count < limit && operator.next(&context, &mut row)? {
                let new = self.new_row(bound, &row, &context)?;
                count += u64::from(self.change_row(bound, &row, new, output)?);
            }
            return Ok(count);
        }
        let mut found: Vec<(Vec<Value>, Vec<Value>)> = Vec::new();
        let mut grant = Grant::new(&context);
        let mut seen = SeenRows::default();
        while (found.len() as u64) < limit && operator.next(&context, &mut row)? {
            // A row that several rows of FROM match is changed once.
            if seen.is_new(row.get(bound.locator))? {
                let new = self.new_row(bound, &row, &context)?;
                grant.require(row_bytes(&row) + row_bytes(&new))?;
                found.push((row.clone(), new));
            }
        }
        drop(operator);
        for (row, new) in found {
            count += u64::from(self.change_row(bound, &row, new, output)?);
        }
        Ok(count)
    }

    /// The row after the update, or the values of the columns set where these are enough. Every value is computed from the row
    /// as it was.
    fn new_row(&self, bound: &BoundUpdate, row: &[Value], context: &Context<'_>) -> Result<Vec<Value>> {
        let old = row
            .get(bound.offset..bound.offset + bound.columns.columns.len())
            .unwrap_or_default();
        let mut new = match bound.changes_apart {
            Some(_) => Vec::with_capacity(bound.assignments.len()),
            None => old.to_vec(),
        };
        for (column, expression) in &bound.assignments {
            let Some(target) = bound.columns.columns.get(*column) else {
                continue;
            };
            let value = evaluate(expression, row, context)?.into_owned();
            let value = target.store(value, expression.sql_type, &bound.columns.table_name)?;
            match bound.changes_apart {
                Some(_) => new.push(value),
                None => new[*column] = value,
            }
        }
        for (slot, expression) in &bound.variables {
            let value = evaluate(expression, row, context)?.into_owned();
            context.set_variable(*slot, value)?;
        }
        Ok(new)
    }

    /// Writes one changed row; false when it is not there any more.
    fn change_row(&self, bound: &BoundUpdate, row: &[Value], new: Vec<Value>, output: &mut OutputRows) -> Result<bool> {
        let width = bound.columns.columns.len();
        let old = row.get(bound.offset..bound.offset + width).unwrap_or_default();
        if bound.assignments.is_empty() {
            return Ok(true);
        }
        let locator = row.get(bound.locator).unwrap_or(&Value::Null);
        if let (Target::Table(table), Some(columns)) = (&bound.target, &bound.changes_apart) {
            for (column, value) in columns.iter().zip(&new) {
                if let Some(column) = bound.columns.columns.get(*column) {
                    check_null(column, value, &bound.columns.table_name, Verb::Update)?;
                }
            }
            let (session, locator) = (&mut self.session.engine.borrow_mut(), locator_of(locator)?);
            return table.table.change(session, &locator, columns, &new);
        }
        self.check_row(&bound.columns, &new, Verb::Update)?;
        let changed = match &bound.target {
            Target::Table(table) => {
                let locator = locator_of(locator)?;
                table
                    .table
                    .update(&mut self.session.engine.borrow_mut(), &locator, old, &new)?
            }
            Target::Variable(slot, _) => self.replace_variable_row(*slot, locator, Some(new.clone())),
        };
        if changed {
            self.output_row(bound.output.as_ref(), Some(old), Some(&new), width, output)?;
        }
        Ok(changed)
    }

    /// Changes or deletes a row of a table variable.
    pub(super) fn replace_variable_row(&self, slot: usize, locator: &Value, row: Option<Vec<Value>>) -> bool {
        let mut tables = self.variables.tables.borrow_mut();
        let number = locator.as_i64().and_then(|number| usize::try_from(number).ok());
        let place = tables
            .get_mut(slot)
            .zip(number)
            .and_then(|(table, number)| table.rows.get_mut(number));
        match place {
            Some(place) if place.is_some() => {
                *place = row;
                true
            }
            _ => false,
        }
    }
}
