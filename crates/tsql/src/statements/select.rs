//! SELECT: rows to the client, into variables, or into a new table.

use engine::error::{Error, Result};
use engine::memory::Charge;
use engine::types::Value;

use super::batch::Bound;
use super::executor::{Executor, closed};
use crate::ast::{Name, Query};
use crate::bind::BoundQuery;
use crate::exec::{Context, open};
use crate::session::{DoneKind, ResultSink};

/// What a byte of a string takes while it is sent: two in UTF-16, in a buffer that doubles as it grows.
const WIRE_BYTES_PER_BYTE: usize = 4;

/// Hands a row to the client. Its long strings are encoded for the wire in memory, which is asked for first.
///
/// # Errors
/// 701 when there is no memory for it; cancelled when the client is gone.
pub(super) fn send_row(sink: &mut dyn ResultSink, row: &[Value]) -> Result<()> {
    let long = |value: &Value| match value {
        Value::Text(text) if text.is_charged() => text.len(),
        Value::Binary(bytes) if bytes.is_charged() => bytes.len(),
        _ => 0,
    };
    let bytes: usize = row.iter().map(long).sum();
    let _encoded = Charge::of_large(bytes.saturating_mul(WIRE_BYTES_PER_BYTE))?;
    sink.row(row).map_err(closed)
}

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
                send_row(sink, row.get(..plan.columns.len()).unwrap_or_default())?;
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
                    context.set_variable(slot, value.clone())?;
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
            executor.fill_new_table(table, &bound.plan)
        })?;
        self.session.set_row_count(count as i64);
        self.done(Some(count), DoneKind::Insert)
    }
}
