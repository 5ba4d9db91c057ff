//! Indexed views: what the catalog has of the rows that a view's indexes hold.
//!
//! The rows of an indexed view are stored as those of a table whose id, schema and name are the view's: its clustered index has the rows.
//! So whatever handles heaps and trees handles them through [`ObjectDefinition::table`]. Each table that the view reads names the view in
//! [`TableDefinition::indexed_views`]: who changes the table's rows finds there what to keep right, and a plan that was made before the
//! view had its index is out of date because the table's definition is another one.
//!
//! Invariant: a view that has a clustered index stands in `indexed_views` of every table that it reads, and no other view does.

use super::{ModuleDefinition, ObjectDefinition, TableDefinition};

impl ObjectDefinition {
    /// What has rows of its own: a table, or the rows that a view's indexes hold. An indexed view whose clustered index is switched off has
    /// no storage.
    pub fn table(&self) -> Option<&TableDefinition> {
        match self {
            ObjectDefinition::Table(table) => Some(table),
            ObjectDefinition::Module(module) => module.rows.as_deref(),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn table_mut(&mut self) -> Option<&mut TableDefinition> {
        match self {
            ObjectDefinition::Table(table) => Some(table),
            ObjectDefinition::Module(module) => module.rows.as_deref_mut(),
            _ => None,
        }
    }

    /// The same object with other rows: another definition of a table, or of the rows of a view. A view without an index has none.
    #[must_use]
    pub fn with_table(&self, table: TableDefinition) -> ObjectDefinition {
        let has_index = !table.indexes.is_empty() || !table.disabled_indexes.is_empty();
        match self {
            ObjectDefinition::Module(module) => ObjectDefinition::Module(ModuleDefinition {
                rows: has_index.then(|| Box::new(table)),
                ..module.clone()
            }),
            _ => ObjectDefinition::Table(table),
        }
    }

    /// Whether it is a view whose rows are stored and kept right.
    pub fn is_indexed_view(&self) -> bool {
        match self {
            ObjectDefinition::Module(module) => module.rows.as_ref().is_some_and(|rows| rows.clustered().is_some()),
            _ => false,
        }
    }
}
