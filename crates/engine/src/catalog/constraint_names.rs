//! Names of constraints: with those of objects they are unique in a schema ("Constraint names must be unique within the schema to which the
//! table belongs", sql-docs, "CREATE TABLE").
//!
//! Catalogs that are older than this rule may have a name twice. They open, and a table keeps the names that it has; what is refused is a
//! name that a table gets.

use std::collections::HashMap;

use super::{CatalogObject, ObjectDefinition, TableDefinition};

/// The schema and the name, both folded.
type Key = (String, String);

impl TableDefinition {
    /// The id and name of every constraint: keys, those of disabled indexes among them, defaults, checks and foreign keys.
    pub fn constraint_names(&self) -> impl Iterator<Item = (u32, &str)> {
        let keys = self.every_index().filter(|index| index.is_constraint());
        let keys = keys.map(|index| (index.constraint_id, index.name.as_str()));
        let defaults = self.columns.iter().filter_map(|column| column.default.as_ref());
        keys.chain(defaults.map(|default| (default.object_id, default.name.as_str())))
            .chain(self.checks.iter().map(|check| (check.object_id, check.name.as_str())))
            .chain(self.foreign_keys.iter().map(|key| (key.object_id, key.name.as_str())))
    }

    /// The id of the constraint of that name. Names are compared without case.
    pub fn constraint_named(&self, name: &str) -> Option<u32> {
        let name = name.to_lowercase();
        let mut all = self.constraint_names();
        all.find_map(|(id, own)| (own.to_lowercase() == name).then_some(id))
    }
}

/// Which tables have a constraint of a name, and in how many of their versions: a transaction that changes a table thousands of times leaves
/// as many, and removing one must not look at the others.
#[derive(Default)]
pub(super) struct ConstraintNames(HashMap<Key, Vec<NamedBy>>);

struct NamedBy {
    table: u32,
    versions: usize,
}

impl ConstraintNames {
    /// The ids of the tables.
    pub(super) fn tables_with(&self, schema: &str, name: &str) -> impl Iterator<Item = u32> {
        let named_by = self.0.get(&(schema.to_lowercase(), name.to_lowercase()));
        named_by.into_iter().flatten().map(|named_by| named_by.table)
    }

    /// Adds a version of an object.
    pub(super) fn enter(&mut self, object: &CatalogObject) {
        for (table, key) in keys_of(object) {
            let tables = self.0.entry(key).or_default();
            match tables.iter_mut().find(|named_by| named_by.table == table) {
                Some(named_by) => named_by.versions += 1,
                None => tables.push(NamedBy { table, versions: 1 }),
            }
        }
    }

    /// Forgets a version of an object that was entered.
    pub(super) fn remove(&mut self, object: &CatalogObject) {
        for (table, key) in keys_of(object) {
            let Some(tables) = self.0.get_mut(&key) else { continue };
            for named_by in tables.iter_mut().filter(|named_by| named_by.table == table) {
                named_by.versions = named_by.versions.saturating_sub(1);
            }
            tables.retain(|named_by| named_by.versions > 0);
            if tables.is_empty() {
                self.0.remove(&key);
            }
        }
    }
}

fn keys_of(object: &CatalogObject) -> impl Iterator<Item = (u32, Key)> {
    let table = match &object.definition {
        ObjectDefinition::Table(table) => Some(table),
        _ => None,
    };
    table.into_iter().flat_map(|table| {
        let schema = table.schema.to_lowercase();
        let names = table.constraint_names();
        names.map(move |(_, name)| (table.object_id, (schema.clone(), name.to_lowercase())))
    })
}
