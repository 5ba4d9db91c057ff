//! UPDATE.
//!
//! Rows are changed during the search if the search can never reach a changed row again; otherwise all rows are found first (Halloween
//! protection).

use engine::error::{Error, Result};
use engine::types::Value;

use super::change::{SeenRows, goes_to_client};
use super::executor::Executor;
use crate::ast::Update;
use crate::bind::BoundUpdate;
use crate::context::Context;
use crate::exec::{evaluate, evaluate_or_held, open};
use crate::grant::row_bytes;
use crate::modify::{Changed, Pipeline, RowChange};
use crate::plan::Target;
use crate::prepared::Bound;
use crate::sink::DoneKind;
use crate::state::CursorOperation;

impl Executor<'_> {
    pub(super) fn update(&mut self, update: &Update, _line: u32) -> Result<()> {
        let bound = self.plan(update, |binder, update| Ok(Bound::Update(binder.update(update)?)))?;
        let Bound::Update(bound) = &*bound else {
            return Err(Error::assertion("an UPDATE bound to something else"));
        };
        let at = self.cursor_of_change(update.current_of.as_ref(), &bound.search.target, &update.assignments)?;
        let count = self.atomically(true, |executor| {
            executor.within_no_wait(bound.search.no_wait, |executor| {
                let changed = executor.through_cursor(at.as_ref(), |executor| executor.update_rows(bound))?;
                let count = executor.finish_output(bound.search.output.as_ref(), changed)?;
                executor.note_change(at.as_ref(), CursorOperation::Update)?;
                Ok(count)
            })
        })?;
        self.changed(count, DoneKind::Update, goes_to_client(bound.search.output.as_ref()))
    }

    pub(super) fn update_rows(&self, bound: &BoundUpdate) -> Result<Changed> {
        let search = &bound.search;
        let limit = self.top_limit(search.top.as_ref())?;
        let context = Context::new(self.session, &self.variables).at_cursor(self.at_cursor.clone());
        let mut operator = open(&search.node, context.locks(), &context)?;
        let mut pipeline = Pipeline::new(
            &context,
            &search.target,
            &search.columns,
            "UPDATE",
            search.output.as_ref(),
        )?;
        let mut row = vec![Value::Null; search.width];
        if search.streams || matches!(search.target, Target::View(_)) {
            while pipeline.count() < limit && operator.next(&context, &mut row)? {
                let new = new_row(bound, &row, &context)?;
                let locator = search.locator_of(&row);
                if search.shows_source {
                    pipeline.come_from(row.clone());
                }
                change_row(bound, &mut pipeline, locator, search.old_row(&row), new)?;
            }
            return pipeline.finish();
        }
        let (mut found, mut beside): (Vec<RowChange>, Vec<Vec<Value>>) = Default::default();
        let mut grant = context.grant();
        let mut seen = SeenRows::default();
        while (found.len() as u64) < limit && operator.next(&context, &mut row)? {
            // A row that several rows of FROM match is changed once.
            if seen.is_new(row.get(search.locator))? {
                let new = new_row(bound, &row, &context)?;
                let old = match bound.changes_apart {
                    Some(_) => Vec::new(),
                    None => search.old_row(&row).to_vec(),
                };
                if let (Some(reading), None, false) = (context.cursor(), &bound.changes_apart, pipeline.is_instead()) {
                    reading.change_to(&new);
                }
                let locator = search.locator_of(&row).clone();
                grant.require(row_bytes(&old) + row_bytes(&new) + row_bytes(std::slice::from_ref(&locator)))?;
                found.push(RowChange::Update { locator, old, new });
                if search.shows_source {
                    grant.require(row_bytes(&row))?;
                    beside.push(row.clone());
                }
            }
        }
        drop(operator);
        if bound.moves_unique_keys {
            pipeline.change_beside(found, beside, false)?;
            return pipeline.finish();
        }
        let mut beside = beside.into_iter();
        for change in found {
            pipeline.come_from(beside.next().unwrap_or_default());
            if let RowChange::Update { locator, old, new } = change {
                change_row(bound, &mut pipeline, &locator, &old, new)?;
            }
        }
        pipeline.finish()
    }
}

/// The row after the update, or the values of the columns set where these are enough. Every value is computed from the row as it was.
fn new_row(bound: &BoundUpdate, row: &[Value], context: &Context<'_>) -> Result<Vec<Value>> {
    let mut new = match bound.changes_apart {
        Some(_) => Vec::with_capacity(bound.assignments.len()),
        None => bound.search.old_row(row).to_vec(),
    };
    for (column, expression) in &bound.assignments {
        let Some(target) = bound.search.columns.columns.get(*column) else {
            continue;
        };
        let value = evaluate_or_held(expression, row, context)?.into_owned();
        let value = target.store(value, expression.sql_type, &bound.search.columns.table_name)?;
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

/// Sends one changed row on its way. Without columns set, only variables, it counts as changed.
fn change_row(
    bound: &BoundUpdate,
    pipeline: &mut Pipeline<'_>,
    locator: &Value,
    old: &[Value],
    new: Vec<Value>,
) -> Result<()> {
    if bound.assignments.is_empty() {
        pipeline.count_unchanged();
        return Ok(());
    }
    match &bound.changes_apart {
        Some(columns) => pipeline.change_columns(locator, columns, &new).map(|_| ()),
        None => pipeline.update(locator, old, new).map(|_| ()),
    }
}
