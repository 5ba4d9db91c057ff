//! Extended properties: created, changed, dropped, and kept in step with their objects.

use std::sync::Arc;

use super::Session;
use crate::catalog::{CatalogObject, ExtendedProperty, ObjectDefinition, PropertyOwner, TableDefinition};
use crate::database::Database;
use crate::error::Result;
use crate::lock::{Mode, Resource};

impl Session {
    /// Stores a property. Its id is chosen here; what `property` says of it is not looked at. Answers whether it was stored: not if its
    /// owner has one of that name.
    ///
    /// # Errors
    /// Those of waiting; 1101, 1105, 9002 for want of space.
    pub fn add_property(&mut self, database: &Arc<Database>, mut property: ExtendedProperty) -> Result<bool> {
        self.lock_properties(database)?;
        if self.property(database, property.owner, &property.name).is_some() {
            return Ok(false);
        }
        database.note_extended_properties()?;
        property.object_id = database.new_object_id()?;
        self.create_object(database, ObjectDefinition::ExtendedProperty(property))?;
        Ok(true)
    }

    /// Gives a property another value, or drops it when there is no definition. Answers whether it was there.
    ///
    /// # Errors
    /// As for [`Session::add_property`].
    pub fn change_property(
        &mut self,
        database: &Arc<Database>,
        owner: PropertyOwner,
        name: &str,
        change: impl FnOnce(&ExtendedProperty) -> Option<ExtendedProperty>,
    ) -> Result<bool> {
        self.lock_properties(database)?;
        let Some(object) = self.property(database, owner, name) else {
            return Ok(false);
        };
        let ObjectDefinition::ExtendedProperty(property) = &object.definition else {
            return Ok(false);
        };
        match change(property) {
            Some(changed) => self
                .replace_object(database, &object, ObjectDefinition::ExtendedProperty(changed))
                .map(|_| true),
            None => self.drop_object(database, &object).map(|()| true),
        }
    }

    /// One writer of properties at a time in a database, so that names stay unique.
    fn lock_properties(&self, database: &Database) -> Result<()> {
        self.locks().lock(
            Resource::name(database.id, "extended properties of the database"),
            Mode::X,
        )
    }

    /// Names compare without case, as those of objects do.
    fn property(&self, database: &Database, owner: PropertyOwner, name: &str) -> Option<Arc<CatalogObject>> {
        let folded = name.to_lowercase();
        let properties = properties(database, self.id).into_iter();
        let mut meant = properties.filter(|(_, property)| property.owner == owner);
        meant
            .find(|(_, property)| property.name.to_lowercase() == folded)
            .map(|(object, _)| object)
    }

    /// Drops the properties of what goes with an object.
    pub(super) fn drop_properties(&mut self, database: &Arc<Database>, definition: &ObjectDefinition) -> Result<()> {
        if matches!(definition, ObjectDefinition::ExtendedProperty(_)) {
            return Ok(());
        }
        let is_gone = |owner: PropertyOwner| match definition {
            ObjectDefinition::Table(table) => owner.is_of_table(table),
            other => match other.type_name() {
                Some((_, _, user_type_id)) => owner == PropertyOwner::Type(user_type_id),
                None => owner.is_of(other.object_id()),
            },
        };
        self.settle_properties(database, |owner| (!is_gone(owner)).then_some(owner))
    }

    /// Drops the properties of columns, indexes and constraints that a table has no more, and numbers those of columns again.
    pub(super) fn follow_table(
        &mut self,
        database: &Arc<Database>,
        before: &TableDefinition,
        table: &TableDefinition,
    ) -> Result<()> {
        self.settle_properties(database, |owner| owner.after(before, table))
    }

    fn settle_properties(
        &mut self,
        database: &Arc<Database>,
        after: impl Fn(PropertyOwner) -> Option<PropertyOwner>,
    ) -> Result<()> {
        if !database.has_extended_properties() {
            return Ok(());
        }
        for (object, property) in properties(database, self.id) {
            match after(property.owner) {
                Some(owner) if owner == property.owner => {}
                Some(owner) => {
                    let moved = ExtendedProperty { owner, ..property };
                    self.replace_object(database, &object, ObjectDefinition::ExtendedProperty(moved))?;
                }
                None => self.drop_object(database, &object)?,
            }
        }
        Ok(())
    }
}

/// Every property that `session` sees.
fn properties(database: &Database, session: u16) -> Vec<(Arc<CatalogObject>, ExtendedProperty)> {
    let objects = database.catalog.objects(session).into_iter();
    let properties = objects.filter_map(|object| match &object.definition {
        ObjectDefinition::ExtendedProperty(property) => {
            let property = property.clone();
            Some((object, property))
        }
        _ => None,
    });
    properties.collect()
}
