//! Who owns what: ALTER AUTHORIZATION, and CREATE SCHEMA ... AUTHORIZATION.
//!
//! An entry says who owns a thing unless that is who would own it without one: dbo for a schema, the owner of the schema for what is in it.
//! A change of owner drops the permissions on the thing (the SqlServerSimulator project has seen this of SQL Server 2025, for objects,
//! schemas and roles alike).

use std::sync::Arc;

use engine::catalog::{CatalogObject, ObjectDefinition, OwnerEntry, Securable};
use engine::error::Result;

use super::change::{Change, check_owner_of_module};
use super::entries::{Entries, SchemaOwners, effective_owner};
use super::principals::{DBO, DatabasePrincipal};
use super::schemas::id_of_schema;

impl Change<'_> {
    /// Gives a schema to an owner, when it is made.
    ///
    /// # Errors
    /// 15151
    pub(crate) fn own_new_schema(&mut self, schema_id: u32, owner: &str) -> Result<()> {
        self.engine.lock_principals(self.database)?;
        let owner = self.schema_owner(owner)?.id;
        match owner {
            DBO => Ok(()),
            owner => self.add_owner(Securable::Schema(schema_id), owner),
        }
    }

    /// The owner that CREATE SCHEMA names.
    ///
    /// # Errors
    /// 15151
    pub(crate) fn schema_owner(&self, name: &str) -> Result<DatabasePrincipal> {
        let owner = self.owner(name);
        owner.map_err(|_| crate::messages::no_such_entity("find", "principal", name))
    }

    fn add_owner(&mut self, securable: Securable, owner: u32) -> Result<()> {
        let definition = ObjectDefinition::Owner(OwnerEntry {
            object_id: self.database.new_object_id()?,
            securable,
            owner,
        });
        self.engine.create_object(self.database, definition).map(|_| ())
    }

    /// Gives what is in a schema to a principal, or back to the owner of its schema.
    ///
    /// # Errors
    /// 40517 for a module that runs as its owner.
    pub(crate) fn own_in_schema(
        &mut self,
        securable: Securable,
        (object, schema_id): (&Arc<CatalogObject>, i32),
        owner: Option<u32>,
    ) -> Result<()> {
        let entries = Entries::of(self.database, self.engine.id);
        let before = effective_owner(&entries, securable, schema_id);
        let after = owner.unwrap_or_else(|| SchemaOwners::of(&entries).owner(schema_id));
        if let ObjectDefinition::Module(module) = &object.definition {
            check_owner_of_module(module, after)?;
        }
        let triggers = object.definition.triggers().iter();
        for trigger in triggers.filter_map(|own| self.database.catalog.by_id(own.object_id, self.engine.id)) {
            if let ObjectDefinition::Module(module) = &trigger.definition {
                check_owner_of_module(module, after)?;
            }
        }
        self.set_owner(&entries, securable, owner)?;
        self.drop_permissions_if(before != after, &entries, securable)
    }

    /// Gives a schema to a principal.
    ///
    /// # Errors
    /// 40517 for a module in it that runs as its owner.
    pub(crate) fn own_schema(&mut self, schema_id: u32, name: &str, owner: u32) -> Result<()> {
        let entries = Entries::of(self.database, self.engine.id);
        let securable = Securable::Schema(schema_id);
        let before = SchemaOwners::of(&entries).owner(schema_id as i32);
        for object in self.database.catalog.objects(self.engine.id) {
            if let ObjectDefinition::Module(module) = &object.definition
                && module.schema.to_lowercase() == name.to_lowercase()
                && entries.explicit_owner(Securable::Object(module.object_id)).is_none()
            {
                check_owner_of_module(module, owner)?;
            }
        }
        self.set_owner(&entries, securable, (owner != DBO).then_some(owner))?;
        self.drop_permissions_if(before != owner, &entries, securable)
    }

    /// Gives a role to a principal.
    pub(crate) fn own_role(&mut self, role: &DatabasePrincipal, owner: u32) -> Result<()> {
        let entries = Entries::of(self.database, self.engine.id);
        let is_other = role.owner != Some(owner);
        self.set_role_owner(role, owner)?;
        self.drop_permissions_if(is_other, &entries, Securable::Principal(role.id))
    }

    fn set_owner(&mut self, entries: &Entries, securable: Securable, owner: Option<u32>) -> Result<()> {
        let mut owners = entries.owners.iter();
        let found = owners.find(|(_, own)| own.securable == securable);
        match (found, owner) {
            (None, None) => Ok(()),
            (None, Some(owner)) => self.add_owner(securable, owner),
            (Some((object, _)), None) => self.engine.drop_object(self.database, object),
            (Some((object, own)), Some(owner)) => {
                let changed = ObjectDefinition::Owner(OwnerEntry { owner, ..*own });
                self.engine.replace_object(self.database, object, changed).map(|_| ())
            }
        }
    }

    /// Drops every permission on a securable and on its columns, if something is so.
    fn drop_permissions_if(&mut self, is_so: bool, entries: &Entries, securable: Securable) -> Result<()> {
        let on_it = entries
            .permissions
            .iter()
            .filter(|(_, own)| own.securable.whole() == securable);
        for (object, _) in on_it.filter(|_| is_so) {
            self.engine.drop_object(self.database, object)?;
        }
        Ok(())
    }

    /// What ALTER SCHEMA ... TRANSFER does to what is said of an object: permissions on it are dropped, and an owner of its own stays
    /// (sql-docs, "ALTER SCHEMA").
    ///
    /// # Errors
    /// 40517 for a module that would run as an owner other than dbo.
    pub(crate) fn transferred(&mut self, object: &CatalogObject, schema: &str) -> Result<()> {
        if !self.database.has_principals() {
            return Ok(());
        }
        self.engine.lock_principals(self.database)?;
        let entries = Entries::of(self.database, self.engine.id);
        let securable = Securable::Object(object.definition.object_id());
        let schema_id = id_of_schema(self.database, self.engine.id, schema).unwrap_or(1);
        if let ObjectDefinition::Module(module) = &object.definition {
            check_owner_of_module(module, effective_owner(&entries, securable, schema_id))?;
        }
        self.drop_permissions_if(true, &entries, securable)
    }
}
