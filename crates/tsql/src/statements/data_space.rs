//! Where a table and its indexes are kept: `ON` and `TEXTIMAGE_ON`.
//!
//! ```text
//! CREATE TABLE ... ON fg             the table; without it the default filegroup
//! CREATE TABLE ... ON scheme (c)     partitioned by c, with all of its indexes
//! a key, INDEX, CREATE INDEX ON fg   the index; a clustered one takes the table with it. Without it where the table is
//! ON "default"                       the default filegroup; of a key, where the table is
//! DROP INDEX of a clustered one      the heap stays where the index was
//! ```
//! (sql-docs, CREATE TABLE, CREATE INDEX.) Every index of a partitioned table is partitioned as the table is (aligned); one that is to be
//! elsewhere is refused by 40517.

use std::sync::Arc;

use engine::catalog::{
    DatabaseEntry, IndexDefinition, PartitionFunction, PartitionScheme, Partitioning, TableDefinition,
};
use engine::database::Database;
use engine::error::{Error, Result};
use engine::lock::{Mode, Resource};
use engine::types::off_row::is_unlimited;

use super::executor::Executor;
use crate::ast::{ConstraintKind, CreateTable, DataSpace, Identifier, TableConstraint, TableElement};
use crate::messages;

/// The data space of an index that does not say one, until the table's is known.
pub(super) const OF_THE_TABLE: u32 = 0;

/// The default filegroup of a database.
pub(super) fn default_space(entry: &DatabaseEntry) -> u32 {
    let filegroups = entry.every_filegroup();
    let default = filegroups.iter().find(|filegroup| filegroup.is_default);
    default.map_or(engine::catalog::PRIMARY_FILEGROUP, |filegroup| u32::from(filegroup.id))
}

/// A filegroup by its name, or `"default"`.
///
/// # Errors
/// 1921 when there is none, 1924 when it is READ_ONLY.
pub(super) fn filegroup_of(entry: &DatabaseEntry, name: &Identifier) -> Result<u32> {
    let filegroups = entry.every_filegroup();
    let is_meant = |filegroup: &&engine::catalog::FilegroupEntry| match name.is("default") {
        true => filegroup.is_default,
        false => name.is(&filegroup.name),
    };
    let found = filegroups.iter().find(is_meant);
    let found = found.ok_or_else(|| messages::invalid_data_space("filegroup", &name.text, 1))?;
    match found.is_read_only {
        true => Err(Error::filegroup_is_read_only(&found.name)),
        false => Ok(u32::from(found.id)),
    }
}

/// What statements hold until the end of their transaction: S by those that make a table or index of a partition scheme, X by those that change
/// partition functions and schemes.
pub(super) fn partitions_resource(database: &Database) -> Resource {
    Resource::name(database.id, "partition functions and schemes of the database")
}

/// A partition scheme that a session sees, by its name.
pub(super) fn scheme_named(database: &Database, session: u16, name: &Identifier) -> Option<PartitionScheme> {
    let objects = database.catalog.objects(session);
    let mut schemes = objects.iter().filter_map(|object| object.definition.partition_scheme());
    schemes.find(|scheme| name.is(&scheme.name)).cloned()
}

/// A partition function that a session sees.
pub(super) fn function_where(
    database: &Database,
    session: u16,
    is_it: impl Fn(&PartitionFunction) -> bool,
) -> Option<PartitionFunction> {
    let objects = database.catalog.objects(session);
    let mut functions = objects
        .iter()
        .filter_map(|object| object.definition.partition_function());
    functions.find(|function| is_it(function)).cloned()
}

/// Where an index is that is made with its table: the place of a partition scheme is judged with the table's.
///
/// # Errors
/// 1921, 1924.
pub(super) fn space_of_index(database: &Database, written: Option<&DataSpace>) -> Result<u32> {
    match written {
        Some(DataSpace { name, column: None }) => filegroup_of(&database.entry(), name),
        Some(DataSpace { column: Some(_), .. }) | None => Ok(OF_THE_TABLE),
    }
}

/// What ON of a key says: `"default"` is where the table is.
///
/// # Errors
/// Those of [`space_of_index`].
pub(super) fn space_of_key(database: &Database, written: Option<&DataSpace>) -> Result<u32> {
    space_of_index(database, written.filter(|written| !written.name.is("default")))
}

/// Puts indexes that do not say where they go to the table's place, and the table to its clustered index.
pub(super) fn settle_spaces(table: &mut TableDefinition) {
    let of_table = table.data_space;
    let settle = |index: &mut IndexDefinition, space: u32| {
        if index.data_space == OF_THE_TABLE {
            index.data_space = space;
        }
    };
    if let Some(clustered) = table.indexes.first_mut().filter(|index| index.index_id == 1) {
        settle(clustered, of_table);
        table.data_space = clustered.data_space;
    }
    let of_table = table.data_space;
    table.every_index_mut().for_each(|index| settle(index, of_table));
}

/// What ON says of the indexes that are made with a table, with true for a clustered one.
fn spaces_of_indexes(elements: &[TableElement]) -> Vec<(bool, &DataSpace)> {
    fn of_constraint(constraint: &TableConstraint) -> Option<(bool, &DataSpace)> {
        match &constraint.kind {
            ConstraintKind::Key(key) => {
                let space = key.data_space.as_ref()?;
                Some((key.clustered.unwrap_or(key.primary), space))
            }
            _ => None,
        }
    }
    let mut spaces = Vec::new();
    for element in elements {
        match element {
            TableElement::Column(column) => spaces.extend(column.constraints.iter().filter_map(of_constraint)),
            TableElement::Constraint(constraint) => spaces.extend(of_constraint(constraint)),
            TableElement::Index(index) => {
                let space = index.data_space.as_ref();
                spaces.extend(space.map(|space| (index.clustered == Some(true), space)));
            }
            TableElement::Period(_) => {}
        }
    }
    spaces
}

/// 1908: a unique index of a partitioned table has the partitioning column in its key, so that it is unique if its partitions are.
fn check_unique_keys(table: &TableDefinition) -> Result<()> {
    let Some(partitioning) = &table.partitioning else {
        return Ok(());
    };
    let lacks =
        |index: &&IndexDefinition| index.unique && index.keys.iter().all(|(column, _)| *column != partitioning.column);
    match table.every_index().find(lacks) {
        Some(index) => {
            let column = table.columns.get(partitioning.column).map_or("", |column| &column.name);
            Err(messages::partitioning_column_not_in_key(column, &index.name))
        }
        None => Ok(()),
    }
}

impl Executor<'_> {
    /// How `ON scheme (column)` partitions a table. What it says of the function and the scheme stays so until the transaction ends: a change of
    /// them would not find this table in the catalog while it is not committed.
    ///
    /// # Errors
    /// 1921 for a scheme that is not there, 1911 for a column; 7726, 7727 and 7724 for one that its function is not for.
    fn partitioning_of(
        &self,
        database: &Database,
        table: &TableDefinition,
        (name, column): (&Identifier, &Identifier),
    ) -> Result<Partitioning> {
        self.session.locks.lock(partitions_resource(database), Mode::S)?;
        let scheme = scheme_named(database, self.session.id, name);
        let scheme = scheme.ok_or_else(|| messages::invalid_data_space("partition scheme", &name.text, 1))?;
        let function = function_where(database, self.session.id, |one| one.function_id == scheme.function);
        let function = function.ok_or_else(|| Error::assertion("a partition scheme without its function"))?;
        let ordinal = table.column(&column.text);
        let ordinal = ordinal.ok_or_else(|| messages::no_partitioning_column(&column.text))?;
        let own = &table.columns[ordinal];
        if own.is_virtual() {
            return Err(messages::partitioning_column_not_persisted(&own.name, &table.name));
        }
        if own.sql_type != function.sql_type {
            let (is, wanted) = (own.sql_type.to_string(), function.sql_type.to_string());
            return Err(messages::partitioning_column_type(
                &own.name,
                &is,
                &function.name,
                &wanted,
            ));
        }
        if own.sql_type.is_character() && own.collation != function.collation {
            return Err(messages::partitioning_column_collation(&own.name, &function.name));
        }
        let entry = database.entry();
        let mut read_only = entry.filegroups.iter().filter(|filegroup| filegroup.is_read_only);
        if let Some(filegroup) = read_only.find(|filegroup| scheme.filegroups.contains(&filegroup.id)) {
            return Err(Error::filegroup_is_read_only(&filegroup.name));
        }
        function.partitioning(&scheme, ordinal)
    }

    /// Places a table that CREATE TABLE has defined.
    ///
    /// # Errors
    /// 1921, 1924; 1709 for TEXTIMAGE_ON without a column that it is for, 1707 of a partitioned table; those of [`Self::partitioning_of`]
    /// and 1908; 40517 for an index that is not aligned.
    pub(super) fn place_table(&self, create: &CreateTable, table: &mut TableDefinition) -> Result<()> {
        let database = self.session.database_of(&create.name)?;
        let of_indexes = spaces_of_indexes(&create.elements);
        let clustered = of_indexes
            .iter()
            .find(|(is_clustered, space)| *is_clustered && space.column.is_some());
        let written = match (clustered, &create.data_space) {
            (Some((_, space)), _) => Some(*space),
            (None, space) => space.as_ref(),
        };
        if let Some(DataSpace {
            name,
            column: Some(column),
        }) = written
        {
            let partitioning = self.partitioning_of(&database, table, (name, column))?;
            table.data_space = partitioning.scheme;
            table.partitioning = Some(partitioning);
            if create.text_filegroup.is_some() {
                return Err(messages::text_space_of_partitioned());
            }
        } else {
            table.data_space = match written {
                Some(written) => filegroup_of(&database.entry(), &written.name)?,
                None => default_space(&database.entry()),
            };
        }
        let is_same = |space: &DataSpace| {
            let of_table = written.and_then(|of_table| Some((&of_table.name, of_table.column.as_ref()?)));
            match (&space.column, of_table) {
                (None, None) => true,
                (Some(column), Some((name, of_table))) => column.is(&of_table.text) && space.name.is(&name.text),
                (None, Some(_)) | (Some(_), None) => false,
            }
        };
        if of_indexes.iter().any(|(_, space)| !is_same(space)) {
            return Err(messages::not_supported("an index that is not aligned with its table"));
        }
        if let Some(of_rows) = create.data_space.as_ref().filter(|of_rows| !is_same(of_rows)) {
            if of_rows.column.is_none() {
                filegroup_of(&database.entry(), &of_rows.name)?;
            }
            return Err(messages::not_supported(
                "a table ON another place than its clustered index",
            ));
        }
        if let Some(written) = &create.text_filegroup {
            if !table.columns.iter().any(|column| is_unlimited(column.sql_type)) {
                return Err(messages::text_space_without_column());
            }
            table.text_space = Some(filegroup_of(&database.entry(), written)?);
        }
        settle_spaces(table);
        check_unique_keys(table)
    }

    /// Places an index that a table gets. Answers the table, which a clustered index may partition or move.
    ///
    /// # Errors
    /// As for [`Self::place_table`].
    pub(super) fn place_index(
        &self,
        database: &Arc<Database>,
        mut table: TableDefinition,
        index: &mut IndexDefinition,
        written: Option<&DataSpace>,
    ) -> Result<TableDefinition> {
        let not_aligned = || messages::not_supported("an index that is not aligned with its table");
        index.data_space = table.data_space;
        match written {
            None => {}
            Some(DataSpace {
                name,
                column: Some(column),
            }) => {
                let partitioning = self.partitioning_of(database, &table, (name, column))?;
                let is_same = table.partitioning.as_ref() == Some(&partitioning);
                let has_others = table.every_index().any(|other| other.index_id != 1);
                if !is_same && (index.index_id != 1 || has_others) {
                    return Err(not_aligned());
                }
                (index.data_space, table.data_space) = (partitioning.scheme, partitioning.scheme);
                // The clustered index that DROP_EXISTING replaces goes with its table.
                let clustered = table.indexes.iter_mut().filter(|former| former.index_id == 1);
                clustered.for_each(|former| former.data_space = partitioning.scheme);
                table.partitioning = Some(partitioning);
            }
            Some(_) if table.partitioning.is_some() => return Err(not_aligned()),
            Some(DataSpace { name, column: None }) => index.data_space = filegroup_of(&database.entry(), name)?,
        }
        let mut with = table.clone();
        // With DROP_EXISTING one of the name is there, which goes.
        with.indexes
            .retain(|other| other.name.to_lowercase() != index.name.to_lowercase());
        with.indexes.push(index.clone());
        check_unique_keys(&with).map(|()| table)
    }

    /// Places a table that SELECT INTO has defined.
    ///
    /// # Errors
    /// 1921, 1924.
    pub(super) fn place_rows(
        &self,
        database: &Database,
        written: Option<&Identifier>,
        table: &mut TableDefinition,
    ) -> Result<()> {
        table.data_space = match written {
            Some(name) => filegroup_of(&database.entry(), name)?,
            None => default_space(&database.entry()),
        };
        Ok(())
    }
}
