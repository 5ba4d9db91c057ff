//! Tables as arguments: table variables that a caller passes to a procedure or function, and table-valued parameters from a client.
//!
//! ```text
//! caller @t (rows) --lent--> callee @p (READONLY) --returned when the callee ends--> caller @t
//! client's rows -----------> callee @p, as by INSERT: conversions, defaults, identity, CHECK, keys
//! ```
//! The callee cannot change the rows and its caller waits, so rows are lent, not copied. A table that one call passes twice is copied for
//! the second parameter.

use engine::error::{Error, Result};
use engine::types::SqlType;
use engine::workspace::Workspace;
use std::sync::Arc;

use super::execute::GivenArgument;
use super::executor::{Executor, Outcome};
use super::host::type_of;
use crate::bind::Binder;
use crate::context::{TableVariable, Variables};
use crate::failure::Failure;
use crate::grant::{Grant, kept_bytes};
use crate::messages;
use crate::modify::Pipeline;
use crate::modules::{LentTable, TableTypeId, TableVariableShape};
use crate::plan::{Assignment, Target};
use crate::sink::{ClientRows, ClientTable};
use crate::state::TableLender;

/// A table that is passed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum GivenTable<'g> {
    /// A table variable of the caller, by its slot.
    Variable(usize),
    /// What a client sends.
    Client(&'g dyn ClientTable),
}

/// Tables by the slots of the callee's parameters.
pub(super) type TableArguments<'g> = Vec<(usize, GivenTable<'g>)>;

impl Executor<'_> {
    /// The table that an argument passes to a parameter; `None` passes an empty one. `place` is the parameter's place in the list.
    ///
    /// # Errors
    /// 206 for a value, or a table of another type; 2715 when there is no type of the name that a client gives.
    pub(super) fn table_given<'g>(
        &self,
        argument: Option<&GivenArgument<'g>>,
        shape: &TableVariableShape,
        place: usize,
    ) -> Result<Option<GivenTable<'g>>> {
        let Some(argument) = argument else { return Ok(None) };
        let wanted = shape.table_type.as_ref();
        let wanted_name = wanted.map_or("table", |wanted| wanted.name.as_str());
        let clash = |given: &str| Err(messages::operand_type_clash(given, wanted_name));
        match argument.table {
            Some(GivenTable::Variable(slot)) => {
                let own = self
                    .batch
                    .scope
                    .shapes()
                    .get(slot)
                    .and_then(|own| own.table_type.as_ref());
                match own == wanted {
                    true => Ok(argument.table),
                    false => clash(own.map_or("table", |own| own.name.as_str())),
                }
            }
            Some(GivenTable::Client(table)) => {
                let named = self.type_of_client(table, place)?;
                match named.is_none_or(|named| wanted.is_some_and(|wanted| named == (wanted.database, wanted.object))) {
                    true => Ok(argument.table),
                    false => clash(table.type_name()[2]),
                }
            }
            None if argument.value.is_none() => Ok(None),
            None => clash(messages::type_name(argument.sql_type)),
        }
    }

    /// Database and object of the type that a client names, if it names one.
    fn type_of_client(&self, table: &dyn ClientTable, place: usize) -> Result<Option<(u16, u32)>> {
        let [database, schema, name] = table.type_name();
        if name.is_empty() {
            return Ok(None);
        }
        let database = match database {
            "" => self.session.database(),
            other => self.session.open_database(other)?,
        };
        let schema = if schema.is_empty() { "dbo" } else { schema };
        let found = database.catalog.user_type(schema, name, self.session.id);
        let found = found.ok_or_else(|| messages::unknown_type(place + 1, &format!("{schema}.{name}")))?;
        Ok(Some((database.id, found.definition.object_id())))
    }

    /// Fills the parameters that are tables, out of the caller's variables and of what a client sends. A fault in a client's rows is its own
    /// error, and then 8061.
    pub(super) fn receive_tables(&mut self, caller: &Variables, tables: &TableArguments<'_>) -> Outcome<()> {
        let workspace = self.session.instance.workspace.clone();
        for (place, (slot, table)) in tables.iter().enumerate() {
            match table {
                GivenTable::Variable(from) => {
                    let lent = tables[..place].iter().find_map(|(other, table)| match table {
                        GivenTable::Variable(same) if same == from => Some(*other),
                        _ => None,
                    });
                    let received = match lent {
                        Some(lent) => self.variables.copy_table(lent, *slot, &workspace),
                        None => {
                            exchange(caller, *from, &self.variables, *slot);
                            Ok(())
                        }
                    };
                    received.map_err(|error| self.failure(error, 1))?;
                }
                GivenTable::Client(table) => {
                    let Some(mut rows) = table.rows() else { continue };
                    if let Err(error) = self.fill_table(*slot, &mut *rows) {
                        let name = self.batch.scope.shapes().get(*slot).map_or("", |shape| &*shape.name);
                        let summary = messages::table_parameter_does_not_conform(name, error.number, error.state);
                        let failure = self.failure(error, 1);
                        // Want of memory and a client that is gone say nothing of the rows.
                        if failure.silent || failure.message.severity > summary.severity {
                            return Err(failure);
                        }
                        self.send(&failure.message)?;
                        return Err(Box::new(Failure::new(summary, 1, "")));
                    }
                }
            }
        }
        Ok(())
    }

    /// Gives lent rows back.
    pub(super) fn return_tables(&self, caller: &Variables, tables: &TableArguments<'_>) {
        for (place, (slot, table)) in tables.iter().enumerate() {
            let GivenTable::Variable(from) = table else { continue };
            let is_copy =
                |(_, other): &(usize, GivenTable<'_>)| matches!(other, GivenTable::Variable(same) if same == from);
            if !tables[..place].iter().any(is_copy) {
                exchange(caller, *from, &self.variables, *slot);
            }
        }
    }

    /// Runs a function with the caller's tables, which have their rows again when it ends, however it ends.
    ///
    /// # Errors
    /// 701 for a table that is passed twice; those of `work`.
    pub(super) fn with_lent_tables<T>(
        &mut self,
        caller: &dyn TableLender,
        tables: &[LentTable],
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        // The first parameter that gets a variable has its rows; others that get the same one have copies.
        let holder = |variable: usize| {
            tables
                .iter()
                .find(|lent| lent.variable == variable)
                .map(|lent| lent.parameter)
        };
        let (held, copied): (Vec<LentTable>, Vec<LentTable>) = tables
            .iter()
            .partition(|lent| holder(lent.variable) == Some(lent.parameter));
        for lent in &held {
            exchange(caller, lent.variable, &self.variables, lent.parameter);
        }
        let workspace = self.session.instance.workspace.clone();
        let copies = copied.iter().try_for_each(|lent| {
            let source = holder(lent.variable).unwrap_or(lent.parameter);
            self.variables.copy_table(source, lent.parameter, &workspace)
        });
        let result = copies.and_then(|()| work(self));
        for lent in &held {
            exchange(caller, lent.variable, &self.variables, lent.parameter);
        }
        result
    }

    /// Inserts what a client sends into a table variable.
    fn fill_table(&self, slot: usize, rows: &mut dyn ClientRows) -> Result<()> {
        let shape = self.batch.scope.shapes().get(slot).cloned().unwrap_or_default();
        let sent = rows.columns().to_vec();
        if sent.len() != shape.columns.len() {
            return Err(messages::table_parameter_column_count(sent.len(), shape.columns.len()));
        }
        let mut assignments = Vec::with_capacity(sent.len());
        for (place, (sent, column)) in sent.iter().zip(&shape.columns).enumerate() {
            assignments.push(match (sent.is_default, column.identity.is_some()) {
                (true, true) => Assignment::Identity,
                (false, true) => return Err(messages::identity_of_table_variable()),
                (true, false) => Assignment::Default,
                (false, false) if column.sql_type == SqlType::RowVersion => return Err(messages::row_version_insert()),
                (false, false) => Assignment::Source(place),
            });
        }
        let target = Target::Variable(slot, shape);
        let columns = Binder::new(self.session, &self.batch.scope).target_columns(&target)?;
        let context = self.context();
        let mut pipeline = Pipeline::new(&context, &target, &columns, "INSERT", None)?;
        let mut row = Vec::new();
        while rows.next(&mut row)? {
            let given = |place: usize| {
                let value = row.get(place)?.clone();
                let sql_type = sent.get(place)?.sql_type;
                let sql_type = if value.belongs_to(sql_type) {
                    sql_type
                } else {
                    type_of(&value)
                };
                Some((value, sql_type))
            };
            pipeline.insert(&assignments, false, &given)?;
        }
        pipeline.finish().map(|_| ())
    }
}

/// The name of a table variable's type, for errors.
pub(super) fn name_of_table(own: Option<&TableTypeId>) -> &str {
    own.map_or("table", |own| &own.name)
}

/// Exchanges what two table variables of one type hold.
fn exchange(caller: &dyn TableLender, from: usize, callee: &Variables, to: usize) {
    if let Some(taken) = callee.tables.borrow_mut().get_mut(to) {
        caller.swap_rows(from, &mut taken.rows, &mut taken.grant);
    }
}

impl Variables {
    /// Gives a table variable the rows of another one.
    fn copy_table(&self, from: usize, to: usize, workspace: &Arc<Workspace>) -> Result<()> {
        let mut tables = self.tables.borrow_mut();
        let rows = tables.get(from).map(|table| table.rows.clone()).unwrap_or_default();
        let mut grant = Grant::of(workspace);
        grant.require(rows.iter().flatten().map(|row| kept_bytes(row)).sum())?;
        let Some(TableVariable {
            rows: place,
            grant: own,
            ..
        }) = tables.get_mut(to)
        else {
            return Err(Error::assertion("a parameter that is not there"));
        };
        *place = rows;
        *own = Some(grant);
        Ok(())
    }
}
