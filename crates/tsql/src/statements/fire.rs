//! Runs the triggers of a statement: after all stations of its rows, inside its unit.
//!
//! A trigger runs as a procedure does, in its own database and under the settings of its creation, with these differences (sql-docs, "CREATE
//! TRIGGER", "DML triggers", "SET XACT_ABORT"):
//!
//! ```text
//! inserted, deleted     its first two table variables, which are read-only (286)
//! @@TRANCOUNT           1 at least: the statement is a transaction where there is no other
//! XACT_ABORT            ON when it begins
//! an error              ends the batch, and the transaction with it; is caught by a TRY block around the statement, the transaction doomed
//! ROLLBACK, COMMIT      the trigger continues; when it ends without the transaction it began in, the batch ends: 3609
//! ends doomed           the batch ends, and the transaction: 3616
//! ```
//! Invariant: the triggers were read with the target's definition, which the statement has locked, so none of them changes meanwhile.

use std::sync::Arc;

use engine::database::Database;
use engine::error::{Error, Result};
use engine::types::Value;

use super::executor::{Executor, Flow, Outcome, closed};
use crate::bind::not_supported;
use crate::failure::Failure;
use crate::messages;
use crate::plan::Fired;
use crate::sink::{CallEnd, TransactionEvent};
use crate::state::{ModuleFrame, RunningTrigger, TriggerEventData, TriggerFrame};

/// Rows as table variables have them.
type Rows = Vec<Option<Vec<Value>>>;

/// A trigger that is about to run.
struct Due {
    database: Arc<Database>,
    object_id: u32,
    running: RunningTrigger,
    /// Rows that the statement has changed.
    count: u64,
}

impl Executor<'_> {
    /// Runs what the rows of a statement fire; `count` is how many it has changed.
    ///
    /// # Errors
    /// That of a trigger, of which the statement remembers all that is known ([`Executor::failure`]); 3609, 3616; 217.
    pub(super) fn fire(&mut self, fired: Vec<Fired>, count: u64) -> Result<()> {
        if fired.is_empty() {
            return Ok(());
        }
        self.within_triggers(|executor, transaction| {
            let mut fired = fired.into_iter();
            fired.try_for_each(|fired| executor.fire_event(fired, transaction, count))
        })
    }

    /// Runs triggers of a database behind a change of a definition, of which `data` tells.
    ///
    /// # Errors
    /// As [`Executor::fire`].
    pub(super) fn fire_for_definition(
        &mut self,
        database: &Arc<Database>,
        triggers: &[u32],
        data: &Arc<str>,
    ) -> Result<()> {
        if triggers.is_empty() {
            return Ok(());
        }
        self.within_triggers(|executor, transaction| {
            for &object_id in triggers {
                if !executor.session.may_run_after(database, object_id) {
                    continue;
                }
                let due = Due {
                    database: database.clone(),
                    object_id,
                    running: RunningTrigger {
                        database: database.clone(),
                        object_id,
                        is_instead_of: false,
                        shape: Arc::default(),
                        set: Vec::new(),
                        event: Some(TriggerEventData {
                            document: data.clone(),
                            level: executor.session.nest_level() + 1,
                        }),
                    },
                    count: 0,
                };
                let run = executor.run_trigger(due, None);
                executor
                    .judge_trigger(run, transaction)
                    .map_err(|error| match error.number {
                        3609 => messages::transaction_ended_in_definition_trigger(),
                        _ => error,
                    })?;
            }
            Ok(())
        })
    }

    /// Runs triggers and passes them the transaction of the statement.
    fn within_triggers(&mut self, work: impl FnOnce(&mut Self, u64) -> Result<()>) -> Result<()> {
        let session = self.session;
        let is_own = session.transaction_count() == 0;
        if is_own {
            session.set_transaction_count(1);
            session.transaction.is_of_statement.set(true);
        }
        let transaction = session.transaction_descriptor();
        let outer_locks = session.transaction.statement_locks.take();
        let is_of_batch = session.nest_level() == 0;
        if is_of_batch {
            self.sink.call_begun();
        }
        let mut result = work(self, transaction);
        if is_of_batch {
            result = result.and(self.sink.call_ended(CallEnd::Triggers).map_err(closed));
        }
        session.end_statement_locks();
        if session.transaction_descriptor() == transaction {
            session.transaction.statement_locks.replace(outer_locks);
        }
        if is_own {
            let left = match result {
                Ok(()) => session.transaction_count().saturating_sub(1),
                Err(_) => 0,
            };
            session.set_transaction_count(left);
            if left > 0 {
                session.transaction.is_of_statement.set(false);
                self.sink.transaction_changed(TransactionEvent::Begun(transaction));
            }
        }
        result
    }

    /// Runs the triggers of one action.
    fn fire_event(&mut self, fired: Fired, transaction: u64, count: u64) -> Result<()> {
        let Fired {
            firing,
            event,
            is_instead,
            rows,
        } = fired;
        let Some(event) = firing.events.get(event) else {
            return Ok(());
        };
        let database = self.session.instance.database_by_id(firing.database_id);
        let database = database.ok_or_else(|| Error::assertion("triggers of a database that is closed"))?;
        let triggers = match is_instead {
            true => event.instead_of.as_slice(),
            false => &event.after,
        };
        let mut tables = [rows.inserted, rows.deleted].map(|mut kept| {
            let rows: Rows = std::mem::take(&mut kept.rows).into_iter().map(Some).collect();
            (rows, kept)
        });
        for &object_id in triggers {
            if !is_instead && !self.session.may_run_after(&database, object_id) {
                continue;
            }
            let due = Due {
                database: database.clone(),
                object_id,
                running: RunningTrigger {
                    database: database.clone(),
                    object_id,
                    is_instead_of: is_instead,
                    shape: firing.shape.clone(),
                    set: event.set.clone(),
                    event: None,
                },
                count,
            };
            let [(inserted, _), (deleted, _)] = &mut tables;
            let run = self.run_trigger(due, Some([inserted, deleted]));
            self.judge_trigger(run, transaction)?;
        }
        Ok(())
    }

    /// What a trigger has left behind: its error, or a transaction that is over or can only be rolled back.
    fn judge_trigger(&mut self, run: Outcome<Flow>, transaction: u64) -> Result<()> {
        match run {
            Err(failure) => {
                let error = failure.error();
                self.statement.in_trigger.replace(Some(failure));
                Err(error)
            }
            Ok(Flow::Shutdown(_)) => Err(not_supported("SHUTDOWN in a trigger")),
            Ok(_) if self.session.transaction_descriptor() != transaction => {
                Err(messages::transaction_ended_in_trigger())
            }
            Ok(_) if self.session.is_doomed() => Err(messages::error_in_trigger()),
            Ok(_) => Ok(()),
        }
    }

    /// Runs a trigger with the rows it is to see, which are there for the next one afterwards; one of the database sees none.
    fn run_trigger(&mut self, due: Due, tables: Option<[&mut Rows; 2]>) -> Outcome<Flow> {
        let session = self.session;
        let line = self.statement.line;
        let at_line = |error| Box::new(Failure::new(error, line, &self.procedure));
        let object = due.database.catalog.by_id(due.object_id, session.id);
        let object = object.ok_or_else(|| at_line(Error::assertion("a trigger that is not there")))?;
        let module = session.module(&due.database, &object).map_err(at_line)?;
        let callable = self.prepared.callable(&module, &due.database).map_err(at_line)?;
        let (schema, name) = module.name.split_once('.').unwrap_or(("dbo", &module.name));
        session.within_database(&due.database.clone(), || {
            session.within_schema(Some(schema).filter(|schema| !schema.is_empty()), || {
                session.under_settings(module.settings, || {
                    session.within_module(module.object_id, || {
                        let _trigger = TriggerFrame::enter(session, due.running);
                        let frame = ModuleFrame::enter(session).map_err(|error| self.failure(error, line))?;
                        session.change_options(|options| options.xact_abort = true);
                        session.set_row_count(i64::try_from(due.count).unwrap_or(i64::MAX));
                        session.set_error_number(0);
                        let batch = callable.batch.clone();
                        let mut inner =
                            Executor::with_values(session, self.prepared, &mut *self.sink, batch, Vec::new());
                        name.clone_into(&mut inner.procedure);
                        (inner.try_depth, inner.outer_try_depth) = (self.try_depth, self.try_depth);
                        let outcome = session.within_context(module.execute_as, || match tables {
                            Some(tables) => inner.with_trigger_tables(tables, Executor::run_module),
                            None => inner.run_module(),
                        });
                        self.end_temporary_tables();
                        frame.leave().map_err(|error| self.failure(error, line))?;
                        outcome
                    })
                })
            })
        })
    }

    /// Does something with rows in the first two table variables.
    fn with_trigger_tables<T>(&mut self, rows: [&mut Rows; 2], work: impl FnOnce(&mut Self) -> T) -> T {
        let exchange = |executor: &Self, rows: [&mut Rows; 2]| {
            let mut tables = executor.variables.tables.borrow_mut();
            for (table, rows) in tables.iter_mut().zip(rows) {
                std::mem::swap(&mut table.rows, rows);
            }
        };
        let [inserted, deleted] = rows;
        exchange(self, [&mut *inserted, &mut *deleted]);
        let result = work(self);
        exchange(self, [inserted, deleted]);
        result
    }
}
