//! The period SYSTEM_TIME of a target: the times of new rows, and the way of former rows to the history table.
//!
//! "The times recorded in the system datetime2 columns are based on the begin time of the transaction itself" (sql-docs, "Temporal tables"), in
//! UTC: that is the start of every row that the transaction writes, and the end of every one that it replaces or takes away. Former rows are
//! ordinary rows of the history table, written by the same transaction: a rollback and recovery treat them as such. A row that is changed
//! twice by a transaction leaves a version without duration.

use engine::error::Result;
use engine::types::{SqlType, Value};

use super::Pipeline;
use super::write::Writer;
use crate::context::Context;
use crate::messages;
use crate::plan::TargetColumns;
use crate::scalar::convert::convert;
use crate::scalar::moment::{Moment, last_moment};

/// The period of a statement's target.
pub(super) struct Period<'p> {
    start: usize,
    end: usize,
    /// The transaction's time in the type of the columns.
    now: Value,
    /// The end of a row that is current.
    last: Value,
    /// Writes former rows.
    history: Option<Writer<'p>>,
}

impl<'p> Period<'p> {
    /// The period of a target's columns; `None` for a target without one.
    ///
    /// # Errors
    /// Those of converting the transaction's time.
    pub(super) fn new(context: &'p Context<'p>, columns: &'p TargetColumns) -> Result<Option<Period<'p>>> {
        let Some(period) = &columns.period else { return Ok(None) };
        let sql_type = columns.columns.get(period.start).map(|column| column.sql_type);
        let sql_type = sql_type.unwrap_or(SqlType::DateTime2 { scale: 7 });
        let Moment { days, ticks, .. } = context.session.transaction_time();
        // Cut, not rounded: no row begins later than its transaction.
        let unit = 10_u64.pow(7_u32.saturating_sub(u32::from(sql_type.scale())));
        let now = Value::DateTime2 {
            days,
            ticks: ticks - ticks % unit,
        };
        Ok(Some(Period {
            start: period.start,
            end: period.end,
            now: convert(&now, SqlType::DateTime2 { scale: 7 }, sql_type, None)?,
            last: last_moment(sql_type.scale()),
            history: period.history.as_ref().map(|history| Writer::new(context, history)),
        }))
    }

    /// Gives a new row its times.
    pub(super) fn stamp(&self, row: &mut [Value]) {
        for (place, value) in [(self.start, &self.now), (self.end, &self.last)] {
            if let Some(place) = row.get_mut(place) {
                place.clone_from(value);
            }
        }
    }
}

impl Pipeline<'_> {
    /// Keeps a row that the change has replaced or taken away, as long as the target has a history table.
    ///
    /// # Errors
    /// 13535 when the row was written by a transaction that began later; those of writing.
    pub(super) fn keep_former(&mut self, old: &[Value]) -> Result<()> {
        let Some(period) = self.period.as_ref().filter(|period| period.history.is_some()) else {
            return Ok(());
        };
        let mut former = Vec::with_capacity(old.len());
        for value in old {
            former.push(value.clone().whole()?);
        }
        let start = former.get(period.start).and_then(Moment::from_value);
        if start > Moment::from_value(&period.now) {
            return Err(messages::row_is_of_later_time(&self.columns.table_name));
        }
        if let Some(end) = former.get_mut(period.end) {
            end.clone_from(&period.now);
        }
        if self.has_virtual {
            self.compute(&mut former, false)?;
        }
        let Some(Period {
            history: Some(Writer::Table(writer)),
            ..
        }) = self.period.as_deref_mut()
        else {
            return Ok(());
        };
        writer.insert(&former, self.count)
    }
}
