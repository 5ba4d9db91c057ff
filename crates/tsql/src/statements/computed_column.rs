//! Computed columns of tables that are created or changed: which of them are stored, and which constraints may use them.
//!
//! The value of a computed column is stored in the row if the column is PERSISTED or indexed; others are computed when read. So indexing a
//! computed column that is not stored rewrites the table.

use std::sync::Arc;

use engine::catalog::{CatalogObject, IndexDefinition, ObjectDefinition, TableDefinition};
use engine::database::Database;
use engine::error::{Error, Result};
use engine::types::Value;

use super::executor::Executor;
use crate::ast::{ForeignKey, IndexColumn, KeyConstraint};
use crate::bind::Binder;
use crate::exec::evaluate;
use crate::messages;
use crate::plan::Expr;

/// The computed columns that rows of a table have, for those who write rows past the stations of `modify`.
pub(super) struct StoredComputed {
    columns: Vec<(usize, Expr)>,
}

impl Executor<'_> {
    fn binder(&self) -> Binder<'_> {
        Binder::new(self.session, &self.batch.scope)
    }

    /// Gives the computed columns of a table that is made their types.
    ///
    /// # Errors
    /// 1759, 4936; those of binding.
    pub(super) fn settle_computed(&self, table: &mut TableDefinition) -> Result<()> {
        for place in 0..table.columns.len() {
            self.binder().settle_computed(table, place)?;
        }
        Ok(())
    }

    /// Has rows have the computed columns of an index. Whether they have not had one of them so far.
    ///
    /// # Errors
    /// 2729, 2799; 1934.
    pub(super) fn store_computed(&self, table: &mut TableDefinition, index: &IndexDefinition) -> Result<bool> {
        let keys = index.keys.iter().map(|(column, _)| *column);
        let columns: Vec<usize> = keys.chain(index.included.iter().copied()).collect();
        self.store_these(table, &columns, &index.name)
    }

    /// The same for some columns; `name` is that of the index or the statistics.
    fn store_these(&self, table: &mut TableDefinition, columns: &[usize], name: &str) -> Result<bool> {
        let mut is_new = false;
        for &place in columns {
            if table.columns[place].computed.is_none() {
                continue;
            }
            self.binder().require_indexable(table, place, name)?;
            if let Some(computed) = &mut table.columns[place].computed {
                is_new |= !computed.is_stored;
                computed.is_stored = true;
            }
        }
        Ok(is_new)
    }

    /// The same for a table that is there: its rows are written again if that is new. Answers the table as it is then.
    ///
    /// # Errors
    /// Those of [`Executor::store_computed`] and of computing.
    pub(super) fn with_stored_computed(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        definition: &TableDefinition,
        index: &IndexDefinition,
    ) -> Result<(Arc<CatalogObject>, TableDefinition)> {
        let mut changed = definition.clone();
        if !self.store_computed(&mut changed, index)? {
            return Ok((object.clone(), definition.clone()));
        }
        self.rebuild(database, object, changed, None)?;
        let found = database.catalog.by_id(definition.object_id, self.session.id);
        let found = found.ok_or_else(|| Error::definition_changed(&definition.name))?;
        let ObjectDefinition::Table(table) = &found.definition else {
            return Err(Error::definition_changed(&definition.name));
        };
        let table = table.clone();
        Ok((found, table))
    }

    /// Has rows have some computed columns, for statistics of that name.
    ///
    /// # Errors
    /// Those of [`Executor::store_computed`] and of computing.
    pub(super) fn store_columns(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        definition: &TableDefinition,
        (columns, name): (&[usize], &str),
    ) -> Result<()> {
        let mut changed = definition.clone();
        match self.store_these(&mut changed, columns, name)? {
            true => self.rebuild(database, object, changed, None),
            false => Ok(()),
        }
    }

    /// The computed columns that rows of a table have.
    ///
    /// # Errors
    /// Those of binding.
    pub(super) fn stored_computed(&self, table: &TableDefinition) -> Result<StoredComputed> {
        let mut columns = Vec::new();
        for (place, column) in table.columns.iter().enumerate() {
            if column.computed.is_some() && !column.is_virtual() {
                let value = self.binder().computed_value(table, column)?;
                columns.extend(value.map(|value| (place, value)));
            }
        }
        Ok(StoredComputed { columns })
    }

    /// 1711 for a primary key of a computed column that is not stored or may be NULL.
    pub(super) fn require_stored_key(
        &self,
        table: &TableDefinition,
        key: &KeyConstraint,
        own: &[IndexColumn],
    ) -> Result<()> {
        let columns = if key.columns.is_empty() { own } else { &key.columns };
        let named = columns.iter().filter_map(|column| table.column(&column.name.text));
        for column in named.filter(|_| key.primary).map(|place| &table.columns[place]) {
            let is_persisted = column.computed.as_ref().is_none_or(|computed| computed.is_persisted);
            if column.computed.is_some() && (!is_persisted || column.nullable) {
                return Err(messages::primary_key_computed(&column.name, &table.name));
            }
        }
        Ok(())
    }

    /// 8183 for a CHECK written at a computed column that is not persisted, 1764 for another one that reads it.
    pub(super) fn require_stored_check(&self, table: &TableDefinition, own: &[IndexColumn], text: &str) -> Result<()> {
        if own.iter().any(|column| is_not_persisted(table, &column.name.text)) {
            return Err(messages::constraint_at_virtual());
        }
        let read = self.binder().columns_of_check(table, text)?;
        let mut read = read.into_iter().map(|place| &table.columns[place]);
        match read.find(|column| is_not_persisted(table, &column.name)) {
            Some(column) => Err(messages::constraint_of_virtual(
                &column.name,
                &table.name,
                "CHECK CONSTRAINT",
            )),
            None => Ok(()),
        }
    }
}

/// The same for a foreign key.
///
/// # Errors
/// 8183, 1764.
pub(super) fn require_stored_foreign(table: &TableDefinition, foreign: &ForeignKey, own: &[IndexColumn]) -> Result<()> {
    if foreign.columns.is_empty() && own.iter().any(|column| is_not_persisted(table, &column.name.text)) {
        return Err(messages::constraint_at_virtual());
    }
    match foreign
        .columns
        .iter()
        .find(|column| is_not_persisted(table, &column.text))
    {
        Some(column) => Err(messages::constraint_of_virtual(
            &column.text,
            &table.name,
            "FOREIGN KEY CONSTRAINT",
        )),
        None => Ok(()),
    }
}

fn is_not_persisted(table: &TableDefinition, column: &str) -> bool {
    let column = table.column(column).map(|place| &table.columns[place]);
    let computed = column.and_then(|column| column.computed.as_ref());
    computed.is_some_and(|computed| !computed.is_persisted)
}

impl StoredComputed {
    /// Computes them in a row of their table whose other columns have their values.
    ///
    /// # Errors
    /// 515 for NULL in one that does not take it; those of computing.
    pub(super) fn fill(&self, executor: &Executor<'_>, table: &TableDefinition, row: &mut [Value]) -> Result<()> {
        if self.columns.is_empty() {
            return Ok(());
        }
        let context = executor.context();
        for (place, expression) in &self.columns {
            let column = &table.columns[*place];
            let value = evaluate(expression, row, &context)?
                .into_owned()
                .collated(column.collation);
            if value.is_null() && !column.nullable {
                return Err(messages::null_not_allowed(&column.name, &table.name, "ALTER TABLE"));
            }
            row[*place] = value;
        }
        Ok(())
    }
}
