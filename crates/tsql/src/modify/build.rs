//! Station 1: builds the target's row from source columns, defaults, the identity, the row version, and expressions over the row itself.

use engine::error::Result;
use engine::instance::TEMPDB;
use engine::types::{SqlType, Value};

use super::Pipeline;
use crate::exec::evaluate;
use crate::messages;
use crate::plan::{Assignment, Target};
use crate::scalar::convert::convert;

impl Pipeline<'_> {
    /// A row from source columns, defaults and the identity.
    pub(super) fn built_row(
        &self,
        assignments: &[Assignment],
        given: &dyn Fn(usize) -> Option<(Value, SqlType)>,
    ) -> Result<Vec<Value>> {
        let columns = self.columns;
        let mut row = Vec::with_capacity(columns.columns.len());
        for (column, assignment) in columns.columns.iter().zip(assignments) {
            let given = match assignment {
                Assignment::Source(position) => given(*position),
                Assignment::Default | Assignment::Identity => None,
            };
            let value = match (given, assignment, &column.default) {
                (Some((value, from)), _, _) => column.store(value, from, &columns.table_name)?,
                // "the identity value is 0" for a trigger that runs in place of the INSERT: the value is made when the row is written.
                (None, Assignment::Identity, _) if self.is_instead() => identity_value(0, column.sql_type)?,
                (None, Assignment::Identity, _) => self.next_identity(column.sql_type)?,
                (None, _, Some(default)) => {
                    let value = evaluate(default, &[], self.context)?.into_owned();
                    column.store(value, default.sql_type, &columns.table_name)?
                }
                (None, _, None) => Value::Null,
            };
            row.push(value);
        }
        Ok(row)
    }

    /// Computed columns that rows have, or those that they have nothing of, from the row whose other columns have their values.
    pub(super) fn compute(&self, row: &mut [Value], stored: bool) -> Result<()> {
        let columns = self.columns;
        for (place, column) in columns.columns.iter().enumerate() {
            let Some(computed) = column.computed.as_ref().filter(|one| one.is_stored == stored) else {
                continue;
            };
            let expression = &computed.expression;
            let value = evaluate(expression, row, self.context)?.into_owned();
            let value = column.store(value, expression.sql_type, &columns.table_name)?;
            if let Some(place) = row.get_mut(place) {
                *place = value;
            }
        }
        Ok(())
    }

    /// The next identity value of the target, in its column's type.
    pub(super) fn next_identity(&self, sql_type: SqlType) -> Result<Value> {
        let session = self.context.session;
        let number = match self.target {
            Target::Table(table) => {
                let definition = table.table.definition();
                let Some((_, identity)) = definition.identity() else {
                    return Ok(Value::Null);
                };
                table
                    .table
                    .database()
                    .next_identity(definition, identity, &session.locks)?
            }
            Target::View(_) => return Ok(Value::Null),
            Target::Variable(slot, shape) => {
                let step = shape
                    .columns
                    .iter()
                    .find_map(|column| column.identity)
                    .map_or(1, |(_, step)| step);
                let mut tables = self.context.variables.tables.borrow_mut();
                let Some(table) = tables.get_mut(*slot) else {
                    return Ok(Value::Null);
                };
                let number = table.identity_next;
                table.identity_next = number.wrapping_add(step);
                number
            }
        };
        session.set_identity(number);
        identity_value(number, sql_type)
    }

    /// The next row version of the target's database; that of table variables is tempdb.
    pub(super) fn next_row_version(&self) -> Result<Value> {
        let session = self.context.session;
        let version = match self.target {
            Target::Table(table) => session.engine.borrow_mut().new_row_version(table.table.database())?,
            Target::Variable(..) | Target::View(_) => {
                let tempdb = session.instance.database_by_id(TEMPDB);
                let tempdb = tempdb.ok_or_else(|| messages::database_not_found("tempdb"))?;
                // No transaction is waited for: nobody else sees the variable.
                tempdb.new_row_version(None)?
            }
        };
        Ok(Value::binary(version.to_be_bytes()))
    }

    /// Remembers an identity value that was given rather than taken.
    pub(super) fn note_identity(&self, row: &[Value]) -> Result<()> {
        let Some(position) = self.columns.columns.iter().position(|column| column.identity) else {
            return Ok(());
        };
        let number = match row.get(position) {
            Some(Value::Decimal(number)) => i64::try_from(number.coefficient()).ok(),
            Some(value) => value.as_i64(),
            None => None,
        };
        let Some(number) = number else { return Ok(()) };
        let session = self.context.session;
        session.set_identity(number);
        if let Target::Table(table) = self.target {
            let definition = table.table.definition();
            if let Some((_, identity)) = definition.identity() {
                table
                    .table
                    .database()
                    .identity_used(definition, identity, number, &session.locks)?;
            }
        }
        Ok(())
    }
}

/// A number as a value of an identity column.
pub(crate) fn identity_value(number: i64, sql_type: SqlType) -> Result<Value> {
    match (sql_type, i32::try_from(number)) {
        (SqlType::Int, Ok(number)) => Ok(Value::Int(number)),
        (SqlType::BigInt, _) => Ok(Value::BigInt(number)),
        _ => convert(&Value::BigInt(number), SqlType::BigInt, sql_type, None)
            .map_err(|_| messages::overflow_converting("IDENTITY", messages::type_name(sql_type))),
    }
}
