//! Common parts of INSERT, UPDATE and DELETE: the target's lock, changing each row only once, the destination of OUTPUT, the row count.

use std::collections::HashSet;
use std::sync::Arc;

use engine::error::Result;
use engine::lock::Mode;
use engine::session::{Isolation, Table, with_current_definitions};
use engine::store::RowLocator;
use engine::types::{SqlType, Value};

use super::executor::{Executor, closed};
use crate::context::Context;
use crate::exec::{check_definition, check_isolation, locator_of};
use crate::grant::KeptRows;
use crate::modify::{Changed, Fill, Pipeline};
use crate::plan::{BoundOutput, BoundTable, OutputTarget, QueryPlan, Target};
use crate::sink::DoneKind;

/// The rows of a target that a search has met, so that each is changed once.
#[derive(Default)]
pub(super) struct SeenRows(HashSet<RowLocator>);

impl SeenRows {
    /// Whether this row of FROM has a row of the target, and one that was not met before. The locator is NULL where an outer join
    /// found none.
    pub(super) fn is_new(&mut self, locator: Option<&Value>) -> Result<bool> {
        match locator {
            None | Some(Value::Null) => Ok(false),
            Some(locator) => Ok(self.0.insert(locator_of(locator)?)),
        }
    }
}

impl Executor<'_> {
    /// Runs a statement that changes rows, again if it finds a table redefined once it has that table's lock: it is bound again then.
    pub(super) fn with_current_plan(&mut self, run: impl Fn(&mut Self) -> Result<()>) -> Result<()> {
        with_current_definitions(|| run(self))
    }

    /// Locks a table for writing new rows.
    pub(super) fn lock_for_insert(&self, target: &Target, mode: Mode) -> Result<()> {
        let Target::Table(table) = target else { return Ok(()) };
        let isolation = self.session.options().isolation;
        check_isolation(self.session, isolation, table.table.database())?;
        table.table.lock(&self.session.locks, mode)?;
        match isolation {
            Isolation::Snapshot => {
                check_definition(self.session, table.table.database(), table.table.definition().object_id)
            }
            _ => Ok(()),
        }
    }

    /// Runs a change, under NOWAIT without waiting for any lock.
    pub(super) fn within_no_wait<T>(&mut self, no_wait: bool, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let timeout_ms = self.session.locks.timeout_ms();
        if no_wait {
            self.session.locks.set_timeout_ms(0);
        }
        let result = work(self);
        self.session.locks.set_timeout_ms(timeout_ms);
        result
    }

    /// Appends all rows of a query to a table that nobody else can see. The column at `numbered` gets identity values, in the order in which
    /// the rows come.
    pub(super) fn fill_new_table(&mut self, table: Table, plan: &QueryPlan, numbered: Option<usize>) -> Result<u64> {
        let definition = table.definition();
        let full_name = format!("{}.{}.{}", table.database().name(), definition.schema, definition.name);
        let has_identity = definition.identity().is_some();
        let target = Target::Table(Arc::new(BoundTable { table, full_name }));
        let columns = crate::bind::Binder::new(self.session, &self.batch.scope).target_columns(&target)?;
        let context = Context::new(self.session, &self.variables);
        let mut pipeline = Pipeline::new(&context, &target, &columns, "SELECT INTO", None)?;
        pipeline.fill(Fill {
            after_rows: 0,
            has_table_lock: true,
        });
        match numbered {
            None => crate::exec::run(plan, &context, &mut |row| pipeline.insert_as_it_is(row, has_identity))?,
            Some(place) => crate::exec::run(plan, &context, &mut |row| pipeline.insert_numbered(row, place))?,
        };
        pipeline.finish().map(|changed| changed.count)
    }

    /// Sends or stores the rows of OUTPUT, which "reflect the data as it is ... before triggers are executed" (sql-docs, OUTPUT), and runs the
    /// triggers; answers how many rows the statement has changed.
    pub(super) fn finish_output(&mut self, output: Option<&BoundOutput>, changed: Changed) -> Result<u64> {
        let count = changed.count;
        let fired = changed.fired;
        if let Some(output) = output {
            self.send_output(output, changed.output)?;
        }
        self.fire(fired, count)?;
        Ok(count)
    }

    fn send_output(&mut self, output: &BoundOutput, rows: KeptRows) -> Result<()> {
        match &output.target {
            OutputTarget::Client => {
                self.sink.columns(&output.columns).map_err(closed)?;
                let cut = super::select::Cut::of(&output.columns, self.session.options().text_size_bytes);
                for row in &rows.rows {
                    super::select::send_row(self.sink, row, &cut)?;
                }
            }
            OutputTarget::Into(target, columns, assignments) => {
                self.lock_for_insert(target, Mode::IX)?;
                let context = Context::new(self.session, &self.variables);
                let mut pipeline = Pipeline::new(&context, target, columns, "INSERT", None)?;
                let shown = rows.rows;
                for row in &shown {
                    let given = |position: usize| {
                        let sql_type = output
                            .columns
                            .get(position)
                            .map_or(SqlType::Int, |column| column.sql_type);
                        Some((row.get(position).cloned().unwrap_or(Value::Null), sql_type))
                    };
                    pipeline.insert(assignments, false, &given)?;
                }
                pipeline.finish()?;
                self.send_shown(output, &shown)?;
            }
        }
        Ok(())
    }

    /// Sends what a second OUTPUT shows, behind what the first one stores.
    fn send_shown(&mut self, output: &BoundOutput, rows: &[Vec<Value>]) -> Result<()> {
        if output.shown.is_empty() {
            return Ok(());
        }
        self.sink.columns(&output.shown).map_err(closed)?;
        let cut = super::select::Cut::of(&output.shown, self.session.options().text_size_bytes);
        let mut shown = rows.iter().filter_map(|row| row.get(output.columns.len()..));
        shown.try_for_each(|row| super::select::send_row(self.sink, row, &cut))
    }

    /// Counts and tells the end of a changing statement.
    pub(super) fn changed(&mut self, count: u64, kind: DoneKind, to_client: bool) -> Result<()> {
        self.session.set_row_count(count as i64);
        self.done(Some(count), if to_client { DoneKind::Select } else { kind })
    }
}

/// Whether OUTPUT goes to the client.
pub(super) fn goes_to_client(output: Option<&BoundOutput>) -> bool {
    output.is_some_and(BoundOutput::goes_to_client)
}
