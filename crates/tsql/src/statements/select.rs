//! SELECT: rows to the client, into variables, or into a new table.

use std::sync::Arc;

use engine::error::{Error, Result};
use engine::memory::Charge;
use engine::types::Value;

use super::definition_event::Subject;
use super::executor::{Executor, closed};
use crate::ast::{Name, Query};
use crate::bind::BoundQuery;
use crate::context::Context;
use crate::exec::{evaluate, open};
use crate::plan::Expr;
use crate::prepared::Bound;
use crate::scalar::convert::Units;
use crate::sink::{DoneKind, ResultColumn, ResultSink};
use crate::state::TEXT_SIZE_BYTES_MAX;

/// What a byte of a string takes while it is sent: two in UTF-16, in a buffer that doubles as it grows.
const WIRE_BYTES_PER_BYTE: usize = 4;

/// The columns of `max` types, whose values TEXTSIZE cuts; none when it cuts nothing.
pub(super) struct Cut {
    bytes: usize,
    columns: Vec<(usize, bool)>,
}

impl Cut {
    pub(super) fn of(columns: &[ResultColumn], text_size_bytes: i32) -> Cut {
        let columns = columns.iter().enumerate();
        let columns = columns
            .filter(|(_, column)| (0..TEXT_SIZE_BYTES_MAX).contains(&text_size_bytes) && column.sql_type.is_max());
        Cut {
            bytes: usize::try_from(text_size_bytes).unwrap_or(usize::MAX),
            columns: columns
                .map(|(place, column)| (place, column.sql_type.is_unicode()))
                .collect(),
        }
    }

    /// Cuts what a row shows.
    fn apply(&self, row: &[Value]) -> Vec<Value> {
        let mut row = row.to_vec();
        for (place, unicode) in &self.columns {
            let Some(value) = row.get_mut(*place) else { continue };
            match value {
                Value::Text(text) => {
                    let (units, count) = match (*unicode, text.collation().is_utf8()) {
                        (true, _) => (Units::Utf16, self.bytes / 2),
                        (false, true) => (Units::Utf8, self.bytes),
                        (false, false) => (Units::CodePage, self.bytes),
                    };
                    let kept = units.cut(text, count);
                    if kept.len() < text.len() {
                        *value = Value::from(kept).collated(text.collation());
                    }
                }
                Value::Held(held) => *value = Value::Held(Arc::new(held.cut(self.bytes as u64))),
                Value::Binary(bytes) if bytes.len() > self.bytes => *value = Value::binary(&bytes[..self.bytes]),
                _ => {}
            }
        }
        row
    }
}

/// Hands a row to the client, cut to TEXTSIZE. Its long strings are encoded for the wire in memory, which is asked for first.
///
/// # Errors
/// 701 when there is no memory for it; cancelled when the client is gone.
pub(super) fn send_row(sink: &mut dyn ResultSink, row: &[Value], cut: &Cut) -> Result<()> {
    if !cut.columns.is_empty() {
        let nothing = Cut {
            bytes: usize::MAX,
            columns: Vec::new(),
        };
        return send_row(sink, &cut.apply(row), &nothing);
    }
    if !sink.takes_held() && row.iter().any(|value| matches!(value, Value::Held(_))) {
        let row: Result<Vec<Value>> = row.iter().map(|value| value.clone().whole()).collect();
        return send_row(sink, &row?, cut);
    }
    let long = |value: &Value| match value {
        Value::Text(text) if text.is_charged() => text.len(),
        Value::Binary(bytes) if bytes.is_charged() => bytes.len(),
        _ => 0,
    };
    let bytes: usize = row.iter().map(long).sum();
    let _encoded = Charge::of_large(bytes.saturating_mul(WIRE_BYTES_PER_BYTE))?;
    let sent = sink.row(row);
    sent.map_err(|reason| sink.take_row_error().unwrap_or_else(|| closed(reason)))
}

impl Executor<'_> {
    pub(super) fn select(&mut self, query: &Query, line: u32) -> Result<()> {
        let bound = self.plan(query, |binder, query| Ok(Bound::Query(binder.statement_query(query)?)))?;
        let Bound::Query(bound) = &*bound else {
            return Err(Error::assertion("a SELECT bound to something else"));
        };
        match (&bound.into, &bound.assignments) {
            (Some(into), _) => self.with_current_plan(|executor| executor.select_into(bound, into, line)),
            (None, Some(assignments)) => self.select_assign(bound, assignments),
            (None, None) => self.select_rows(bound),
        }
    }

    pub(super) fn select_rows(&mut self, bound: &BoundQuery) -> Result<()> {
        let plan = &bound.plan;
        let limit = self.session.options().row_count;
        let cut = Cut::of(&plan.columns, self.session.options().text_size_bytes);
        let count = self.reading(bound, |executor| {
            let context = Context::new(executor.session, &executor.variables);
            let sink = &mut *executor.sink;
            sink.columns_to_come(&plan.columns).map_err(closed)?;
            // The first row comes before the columns are announced, so that an error then leaves no empty result set.
            let mut operator = open(&plan.root, context.locks(), &context)?;
            let mut row = vec![Value::Null; plan.width];
            let mut more = operator.next(&context, &mut row)?;
            sink.columns(&plan.columns).map_err(closed)?;
            let mut count = 0u64;
            executor.rows_sent = Some(count);
            while more && (limit == 0 || count < limit) {
                count += 1;
                executor.rows_sent = Some(count);
                send_row(sink, row.get(..plan.columns.len()).unwrap_or_default(), &cut)?;
                more = operator.next(&context, &mut row)?;
            }
            Ok(count)
        })?;
        self.session.set_row_count(count as i64);
        self.done(Some(count), DoneKind::Select)
    }

    fn select_assign(&mut self, bound: &BoundQuery, assignments: &[(usize, Expr)]) -> Result<()> {
        let plan = &bound.plan;
        let limit = self.session.options().row_count;
        let count = self.reading(bound, |executor| {
            let context = Context::new(executor.session, &executor.variables);
            let mut operator = open(&plan.root, context.locks(), &context)?;
            let mut row = vec![Value::Null; plan.width];
            let mut count = 0u64;
            while (limit == 0 || count < limit) && operator.next(&context, &mut row)? {
                count += 1;
                for (slot, value) in assignments {
                    let value = evaluate(value, &row, &context)?.into_owned();
                    context.set_variable(*slot, value)?;
                }
            }
            Ok(count)
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
        self.statement.transaction_name = "SELECT INTO";
        let count = self.atomically(true, |executor| {
            let mut definition = executor.definition_of_rows(into, &bound.plan)?;
            if let Some((place, identity)) = bound.identity
                && let Some(column) = definition.columns.get_mut(place)
            {
                column.identity = Some(identity);
            }
            let database = executor.session.database_of(into)?;
            executor.place_rows(&database, bound.into_filegroup.as_ref(), &mut definition)?;
            let expected = executor.expected(&Subject::new_table(into));
            let table = executor.create_defined_table(into, definition, line)?;
            let count = executor.fill_new_table(table, &bound.plan, bound.identity.map(|(place, _)| place))?;
            executor.fire_expected(None, expected)?;
            Ok(count)
        })?;
        self.session.set_row_count(count as i64);
        self.done(Some(count), DoneKind::SelectInto)
    }
}
