//! The data that a clone takes from a database, and how they are transferred; see [`crate::database`], `clone`.

use super::definition::make_storage;
use super::{Session, Table};
use crate::catalog::{BelievedCounts, CatalogObject, ObjectDefinition, StatisticsDefinition, TableDefinition};
use crate::database::Database;
use crate::error::Result;
use crate::lock::{Mode, Resource};
use crate::recovery::BootRecord;
use crate::store::Claim;
use std::collections::HashMap;
use std::sync::Arc;

/// The definitions of a database at one moment, with its options.
pub(crate) struct Schema {
    pub boot: BootRecord,
    definitions: Vec<ObjectDefinition>,
    /// Rows and pages of tables, by the table's id.
    counts: HashMap<u32, (u64, u64)>,
}

impl Session {
    /// The schema of a database. Tables whose rows were never counted since it was opened are counted now; one that another session is
    /// redefining goes without a count.
    ///
    /// # Errors
    /// 823 and 824 when a page cannot be read.
    pub(crate) fn schema_of(&self, source: &Arc<Database>, with_statistics: bool) -> Result<Schema> {
        let objects = source.catalog.committed();
        let mut counts = HashMap::new();
        for object in objects.iter().filter(|_| with_statistics) {
            if let Some(counted) = self.counts_of(source, object)? {
                counts.insert(object.definition.object_id(), counted);
            }
        }
        let definitions = objects.iter();
        let definitions = definitions.filter_map(|object| for_clone(&object.definition, with_statistics));
        Ok(Schema {
            boot: source.boot(),
            definitions: definitions.collect(),
            counts,
        })
    }

    /// Rows and pages of a table that can be used; `None` while another session redefines it.
    fn counts_of(&self, source: &Arc<Database>, object: &Arc<CatalogObject>) -> Result<Option<(u64, u64)>> {
        let Some(table) = object.definition.table() else {
            return Ok(None);
        };
        let resource = Resource::Object(source.id, table.object_id);
        let before = self.locks().mode_of(&resource);
        if table.disabled_clustered().is_some() || !has_rows(table) || !self.locks().try_lock(resource, Mode::SchS) {
            return Ok(None);
        }
        let counted = match source.catalog.is_current(object, self.id) {
            true => Table::open(source, object).and_then(|table| {
                let rows = table.counted_rows(self.locks())?;
                Ok(Some((rows, table.page_count_believed())))
            }),
            false => Ok(None),
        };
        self.locks().end_of_statement(resource, Mode::SchS, before);
        counted
    }

    /// Fills a new database with a schema, in a transaction of its own, and makes it READ_ONLY.
    ///
    /// # Errors
    /// 1101, 1105, 9002 for want of space; those of a commit and of a checkpoint.
    pub(crate) fn fill_clone(&mut self, clone: &Arc<Database>, schema: Schema) -> Result<()> {
        clone.become_clone_of(&schema.boot)?;
        self.lock_catalog(clone)?;
        for definition in schema.definitions {
            let counts = schema.counts.get(&definition.object_id());
            self.add_to_clone(clone, definition, counts)?;
        }
        self.commit()?;
        clone.set_read_only(true)
    }

    fn add_to_clone(
        &mut self,
        clone: &Arc<Database>,
        mut definition: ObjectDefinition,
        counts: Option<&(u64, u64)>,
    ) -> Result<()> {
        let session = self.id;
        self.write(clone, |ctx| {
            if let Some(table) = definition.table_mut().filter(|table| has_rows(table)) {
                make_storage(ctx, clone, table, Claim::Rows)?;
                note_orders(table);
            }
            clone.catalog.insert(ctx, session, definition.clone())
        })?;
        let (Some(table), Some((rows, pages))) = (definition.table(), counts) else {
            return Ok(());
        };
        let Some(unit) = table.storage_roots().next().map(|root| root.unit) else {
            return Ok(());
        };
        let believed = BelievedCounts {
            object_id: clone.new_object_id()?,
            unit,
            rows: *rows,
            pages: *pages,
        };
        self.write(clone, |ctx| {
            clone
                .catalog
                .insert(ctx, session, ObjectDefinition::BelievedCounts(believed))
        })?;
        clone.storage.believe(&believed);
        Ok(())
    }
}

/// Whether a table has storage: a view whose clustered index is switched off has none.
fn has_rows(table: &TableDefinition) -> bool {
    table.storage_roots().next().is_some()
}

/// Its trees are new: their keys are ordered as this version orders them.
fn note_orders(table: &mut TableDefinition) {
    for index in &mut table.indexes {
        index.collation_version = crate::types::COLLATION_VERSION;
    }
}

/// What a clone has of a definition. Statistics that are left out keep their names and columns, except those of an index, which has them.
fn for_clone(definition: &ObjectDefinition, with_statistics: bool) -> Option<ObjectDefinition> {
    match definition {
        ObjectDefinition::Database(_)
        | ObjectDefinition::Setting { .. }
        | ObjectDefinition::FileIntent(_)
        | ObjectDefinition::CommitDecision(_)
        | ObjectDefinition::BelievedCounts(_) => None,
        ObjectDefinition::Statistics(statistics) if !with_statistics => {
            let without = StatisticsDefinition {
                content: None,
                modified: 0,
                ..statistics.clone()
            };
            (!statistics.of_index).then_some(ObjectDefinition::Statistics(without))
        }
        ObjectDefinition::Table(_)
        | ObjectDefinition::Module(_)
        | ObjectDefinition::Schema { .. }
        | ObjectDefinition::AliasType(_)
        | ObjectDefinition::TableType(_)
        | ObjectDefinition::Statistics(_)
        | ObjectDefinition::ExtendedProperty(_)
        | ObjectDefinition::Sequence(_)
        | ObjectDefinition::Synonym(_)
        | ObjectDefinition::Standalone(_)
        | ObjectDefinition::PartitionFunction(_)
        | ObjectDefinition::PartitionScheme(_)
        | ObjectDefinition::XmlSchemaCollection(_)
        | ObjectDefinition::Principal(_)
        | ObjectDefinition::RoleMembership(_)
        | ObjectDefinition::Permission(_)
        | ObjectDefinition::Owner(_)
        | ObjectDefinition::SequenceReserve { .. }
        | ObjectDefinition::IdentityReserve { .. } => Some(definition.clone()),
    }
}
