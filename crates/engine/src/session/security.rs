//! Principals, memberships, permissions and owners: written by one session at a time, and kept in step with what they are about.
//!
//! Invariant: the lock of a securable is taken before that of the principals, by those who give permissions on it as by those who drop it.

use std::sync::Arc;

use super::Session;
use crate::catalog::{
    CatalogObject, FIXED_ROLE_IDS, ObjectDefinition, PRINCIPAL_ID_FIRST, PermissionEntry, PrincipalDefinition,
    TableDefinition,
};
use crate::database::Database;
use crate::error::{Error, Result};
use crate::lock::{Mode, Resource};

impl Session {
    /// Locks the principals of a database and what is said of them, until the transaction ends: one writer at a time keeps names, ids and
    /// entries unique, and a principal from being dropped while it is given something.
    ///
    /// # Errors
    /// Those of waiting.
    pub fn lock_principals(&self, database: &Database) -> Result<()> {
        let resource = Resource::name(database.id, "principals of the database");
        self.locks().lock(resource, Mode::X)
    }

    /// Keeps an object as it is until the transaction ends, so that what is given on it is given on what is there.
    ///
    /// # Errors
    /// 2801 when it was redefined or dropped while this waited; those of waiting.
    pub fn keep_securable(&self, database: &Database, object: &Arc<CatalogObject>) -> Result<()> {
        let id = object.definition.object_id();
        self.locks().lock(Resource::Object(database.id, id), Mode::SchS)?;
        match database.catalog.is_current(object, self.id) {
            true => Ok(()),
            false => {
                let name = object.definition.qualified_name().map_or("", |(_, name)| name);
                Err(Error::definition_changed(name))
            }
        }
    }

    /// Stores a user or role. Its ids and its security identifier are chosen here; what `principal` says of them is not looked at. Answers
    /// its `principal_id`. To be called with the principals locked and the name known to be free.
    ///
    /// # Errors
    /// 1101, 1105, 9002 for want of space.
    pub fn create_principal(&mut self, database: &Arc<Database>, mut principal: PrincipalDefinition) -> Result<u32> {
        let objects = database.catalog.objects(self.id);
        let ids = objects.iter().filter_map(|object| match &object.definition {
            ObjectDefinition::Principal(other) => Some(other.principal_id),
            _ => None,
        });
        let next = ids.max().map_or(PRINCIPAL_ID_FIRST, |id| id.saturating_add(1));
        let principal_id = match FIXED_ROLE_IDS.contains(&next) {
            true => FIXED_ROLE_IDS.end,
            false => next,
        };
        principal.principal_id = principal_id;
        principal.object_id = database.new_object_id()?;
        principal.sid = new_sid(database.boot().guid, principal.object_id);
        self.create_object(database, ObjectDefinition::Principal(principal))?;
        Ok(principal_id)
    }

    /// Drops what is said of what goes with an object: permissions on it and its owner; of a principal, its memberships, its members, and
    /// what it was given, too.
    pub(super) fn drop_security(&mut self, database: &Arc<Database>, definition: &ObjectDefinition) -> Result<()> {
        let is_entry = matches!(
            definition,
            ObjectDefinition::Permission(_) | ObjectDefinition::Owner(_) | ObjectDefinition::RoleMembership(_)
        );
        if is_entry || !database.has_principals() {
            return Ok(());
        }
        self.settle_security(database, |entry| match (entry, definition) {
            (ObjectDefinition::Permission(own), ObjectDefinition::Principal(principal))
                if own.grantee == principal.principal_id =>
            {
                None
            }
            (ObjectDefinition::RoleMembership(own), ObjectDefinition::Principal(principal))
                if [own.role, own.member].contains(&principal.principal_id) =>
            {
                None
            }
            (ObjectDefinition::Permission(own), _) if own.securable.goes_with(definition) => None,
            (ObjectDefinition::Owner(own), _) if own.securable.goes_with(definition) => None,
            _ => Some(entry.clone()),
        })
    }

    /// Drops the permissions on columns that a table has no more, and numbers those of others again.
    pub(super) fn follow_columns(
        &mut self,
        database: &Arc<Database>,
        before: &TableDefinition,
        table: &TableDefinition,
    ) -> Result<()> {
        if !database.has_principals() || table.columns.len() >= before.columns.len() {
            return Ok(());
        }
        self.settle_security(database, |entry| match entry {
            ObjectDefinition::Permission(own) => {
                let securable = own.securable.after(before, table)?;
                Some(ObjectDefinition::Permission(PermissionEntry {
                    securable,
                    ..own.clone()
                }))
            }
            other => Some(other.clone()),
        })
    }

    /// Gives each permission, membership and owner what `after` makes of it, or drops it.
    fn settle_security(
        &mut self,
        database: &Arc<Database>,
        after: impl Fn(&ObjectDefinition) -> Option<ObjectDefinition>,
    ) -> Result<()> {
        if self.entries_to_settle(database, &after).is_empty() {
            return Ok(());
        }
        self.lock_principals(database)?;
        // Others may have dropped or changed some while this waited.
        for (object, now) in self.entries_to_settle(database, &after) {
            match now {
                Some(now) => self.replace_object(database, &object, now).map(|_| ())?,
                None => self.drop_object(database, &object)?,
            }
        }
        Ok(())
    }

    /// The entries that `after` makes something else of, or nothing, with what they become.
    fn entries_to_settle(
        &self,
        database: &Database,
        after: &impl Fn(&ObjectDefinition) -> Option<ObjectDefinition>,
    ) -> Vec<(Arc<CatalogObject>, Option<ObjectDefinition>)> {
        let mut objects = database.catalog.objects(self.id);
        objects.retain(|object| {
            matches!(
                object.definition,
                ObjectDefinition::Permission(_) | ObjectDefinition::Owner(_) | ObjectDefinition::RoleMembership(_)
            )
        });
        let settled = objects.into_iter().map(|object| {
            let now = after(&object.definition);
            (object, now)
        });
        settled
            .filter(|(object, now)| now.as_ref() != Some(&object.definition))
            .collect()
    }
}

/// A security identifier that no other principal has: the database's identity and an id that it gives once.
fn new_sid(guid: [u8; 16], object_id: u32) -> [u32; 4] {
    let word = |place: usize| {
        let bytes = [guid[place], guid[place + 1], guid[place + 2], guid[place + 3]];
        u32::from_le_bytes(bytes)
    };
    [word(0), word(4), word(8), word(12) ^ object_id]
}
