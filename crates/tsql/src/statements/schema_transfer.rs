//! ALTER SCHEMA ... TRANSFER: an object goes to another schema of its database.
//!
//! Its id, rows and constraints stay, and an owner of its own; permissions on it are dropped, and triggers go with their table. The text of a module stays as it is: "Moving a stored procedure,
//! function, view, or trigger will not change the schema name, if present, of the corresponding object" (sql-docs, "ALTER SCHEMA").

use std::sync::Arc;

use engine::catalog::{CatalogObject, ModuleDefinition, ObjectDefinition};
use engine::database::Database;
use engine::error::Result;

use super::executor::Executor;
use crate::ast::AlterSchema;
use crate::messages;
use crate::modules::dependent_on_object;
use crate::views::type_code;

impl Executor<'_> {
    /// # Errors
    /// 15151 for a schema or object that is not there; 166; 15347 for a trigger, 15348 for what a schema-bound object refers to, 15530.
    pub(super) fn transfer(&mut self, alter: &AlterSchema) -> Result<()> {
        let name = &alter.name;
        if name.database().is_some() {
            return Err(messages::database_prefix("ALTER SCHEMA"));
        }
        let database = self.session.database();
        let schema = self.schema_to_change(&database, &alter.schema.text)?;
        let found = self.session.find_object(name)?;
        let found = found.filter(|(home, _)| Arc::ptr_eq(home, &database));
        let (_, object) = found.ok_or_else(|| messages::cannot_find_to_transfer(name.object()))?;
        if type_code(&object.definition) == "TR" {
            return Err(messages::transfer_of_owned());
        }
        let moved =
            moved(&object.definition, &schema).ok_or_else(|| messages::cannot_find_to_transfer(name.object()))?;
        let is_taken = |name: &str| {
            database.catalog.find(&schema, name, self.session.id).is_some()
                || database
                    .catalog
                    .find_constraint(&schema, name, self.session.id)
                    .is_some()
        };
        let holder = database.catalog.find(&schema, name.object(), self.session.id);
        if holder.is_some_and(|holder| holder.definition.object_id() == object.definition.object_id()) {
            return Ok(());
        }
        // It names the table though a constraint's name may be what is taken (Microsoft, KB 937757).
        if is_taken(name.object()) || constraint_names(&object.definition).any(is_taken) {
            return Err(messages::transfer_to_taken_name(name.object()));
        }
        if dependent_on_object(&database, self.session.id, &object).is_some() {
            return Err(messages::transfer_of_schema_bound());
        }
        let triggers = self.triggers_of(&database, &object);
        let mut engine = self.session.engine.borrow_mut();
        for trigger in triggers {
            if let Some(moved) = self::moved(&trigger.definition, &schema) {
                engine.replace_object(&database, &trigger, moved)?;
            }
        }
        engine.replace_object(&database, &object, moved)?;
        drop(engine);
        self.changing(|change| change.transferred(&object, &schema))
    }

    /// The stored name of a schema that takes objects.
    fn schema_to_change(&self, database: &Database, written: &str) -> Result<String> {
        if written.eq_ignore_ascii_case("dbo") {
            return Ok("dbo".to_owned());
        }
        let mut objects = database.catalog.objects(self.session.id).into_iter();
        let stored = objects.find_map(|object| match &object.definition {
            ObjectDefinition::Schema { name, .. } if name.to_lowercase() == written.to_lowercase() => {
                Some(name.clone())
            }
            _ => None,
        });
        stored.ok_or_else(|| messages::cannot_alter_schema(written))
    }

    /// The triggers of a table or view.
    fn triggers_of(&self, database: &Database, object: &CatalogObject) -> Vec<Arc<CatalogObject>> {
        let own_id = object.definition.object_id();
        let mut objects = database.catalog.objects(self.session.id);
        objects.retain(|other| {
            type_code(&other.definition) == "TR"
                && matches!(&other.definition, ObjectDefinition::Module(ModuleDefinition { parent, .. }) if *parent == own_id)
        });
        objects
    }
}

fn constraint_names(definition: &ObjectDefinition) -> impl Iterator<Item = &str> {
    let tables = definition.table().into_iter();
    tables.flat_map(|table| table.constraint_names().map(|(_, name)| name))
}

/// The definition of an object in a schema; `None` for what is in none.
fn moved(definition: &ObjectDefinition, schema: &str) -> Option<ObjectDefinition> {
    let mut definition = definition.clone();
    let own = match &mut definition {
        ObjectDefinition::Table(table) => &mut table.schema,
        ObjectDefinition::Module(module) => {
            if let Some(rows) = &mut module.rows {
                schema.clone_into(&mut rows.schema);
            }
            &mut module.schema
        }
        ObjectDefinition::Sequence(sequence) => &mut sequence.schema,
        ObjectDefinition::Synonym(synonym) => &mut synonym.schema,
        ObjectDefinition::Standalone(own) => &mut own.schema,
        _ => return None,
    };
    schema.clone_into(own);
    Some(definition)
}
