//! REBUILD and REORGANIZE of one partition: `ALTER TABLE ... REBUILD PARTITION = number`, `ALTER INDEX ... REBUILD | REORGANIZE PARTITION =
//! number`.
//!
//! The partition gets new storage, and its rows or entries are written there in order. The other partitions are not read. A partition of the
//! clustered index is the table's rows there, so that the entries of the other indexes in the partition are made again with it. ALTER INDEX ALL
//! does the same as ALTER TABLE.

use std::sync::Arc;

use engine::catalog::{CatalogObject, TableDefinition};
use engine::database::Database;
use engine::error::{Error, Result};
use engine::session::RebuiltPart;

use super::disabled_index::check_clustered_is_enabled;
use super::executor::Executor;
use crate::ast::{AlterIndex, AlterIndexAction, Expression, OptionValue};
use crate::messages;

fn definition_of(object: &CatalogObject) -> Result<&TableDefinition> {
    let definition = object.definition.table();
    definition.ok_or_else(|| Error::assertion("only tables and views have partitions"))
}

/// Whether the partitions of `DATA_COMPRESSION = NONE ON PARTITIONS (...)` and its like are there: all of them are as the option says anyway.
/// `statement` is the word before the kind of what is made or altered.
///
/// # Errors
/// 7729 where there are no partitions, 7722 for one that is not there; 40517 for a number that is not written as one.
pub(super) fn check_compressed_partitions(
    options: &[OptionValue],
    table: &TableDefinition,
    (statement, kind, name): (&str, &str, &str),
) -> Result<()> {
    let named = options.iter().filter(|option| option.name.ends_with("_COMPRESSION"));
    let named = named.flat_map(|option| &option.arguments);
    for range in named.flat_map(|partitions| &partitions.arguments) {
        if table.partitioning.is_none() {
            return Err(messages::partition_of_whole(statement, kind, name));
        }
        let count = table.partition_count();
        for number in range.name.split(" TO ") {
            let number: i64 = number
                .trim()
                .parse()
                .map_err(|_| messages::not_supported("ON PARTITIONS"))?;
            if !usize::try_from(number).is_ok_and(|number| (1..=count).contains(&number)) {
                return Err(messages::invalid_partition_of(number, kind, name, count));
            }
        }
    }
    Ok(())
}

impl Executor<'_> {
    /// ALTER TABLE ... REBUILD PARTITION.
    ///
    /// # Errors
    /// 7729 for a table that is not partitioned, 7722 for a partition that it does not have.
    pub(super) fn rebuild_partition_of_table(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        partition: &Expression,
    ) -> Result<()> {
        let definition = definition_of(object)?;
        check_clustered_is_enabled(definition)?;
        let number = self.partition_to_rebuild(definition, ("table", &definition.name), partition)?;
        self.rebuild_one_partition(database, object, number, None)
    }

    /// ALTER INDEX ... REBUILD | REORGANIZE PARTITION, of indexes that are meant.
    ///
    /// # Errors
    /// As for a table; 2552 for REORGANIZE without locks of pages; 1974 and 1973 for indexes that are disabled.
    pub(super) fn rebuild_partition_of_indexes(
        &mut self,
        database: &Arc<Database>,
        object: Arc<CatalogObject>,
        meant: &[String],
        (alter, partition): (&AlterIndex, &Expression),
    ) -> Result<()> {
        let definition = definition_of(&object)?;
        let (kind, name) = match meant {
            [name] if alter.name.is_some() => ("index", name.as_str()),
            _ => ("table", definition.name.as_str()),
        };
        let number = self.partition_to_rebuild(definition, (kind, name), partition)?;
        let is_meant = |name: &String| meant.contains(name);
        if let Some(disabled) = definition.disabled_indexes.iter().find(|index| is_meant(&index.name)) {
            return Err(messages::operation_on_disabled_index(&disabled.name, &definition.name));
        }
        check_clustered_is_enabled(definition)?;
        let mut indexes = definition.indexes.iter().filter(|index| is_meant(&index.name));
        let is_reorganized = alter.action == AlterIndexAction::Reorganize;
        if let Some(index) = indexes.find(|index| is_reorganized && !index.options.allows_page_locks) {
            return Err(messages::reorganize_without_page_locks(&index.name, &definition.name));
        }
        let place = match &alter.name {
            Some(_) => definition.indexes.iter().position(|index| is_meant(&index.name)),
            None => None,
        };
        let place = place.filter(|place| definition.indexes[*place].index_id != 1);
        self.rebuild_one_partition(database, &object, number, place)
    }

    /// The partition that PARTITION = number means, counted from 0.
    fn partition_to_rebuild(
        &self,
        definition: &TableDefinition,
        (kind, name): (&str, &str),
        partition: &Expression,
    ) -> Result<usize> {
        if definition.partitioning.is_none() {
            return Err(messages::partition_of_whole("alter", kind, name));
        }
        let (number, count) = (self.partition_number(partition)?, definition.partition_count());
        let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        place
            .filter(|place| *place < count)
            .ok_or_else(|| messages::invalid_partition_of(number, kind, name, count))
    }

    fn rebuild_one_partition(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        number: usize,
        index: Option<usize>,
    ) -> Result<()> {
        let part = match index {
            Some(place) => RebuiltPart::Index(place),
            None => RebuiltPart::Rows,
        };
        let mut engine = self.session.engine.borrow_mut();
        engine.rebuild_partition(database, object, number, part).map(drop)
    }
}
