//! What the catalog says of principals: memberships, permissions and owners.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use engine::catalog::{
    CatalogObject, ObjectDefinition, OwnerEntry, PermissionEntry, PermissionState, RoleMembership, Securable,
};
use engine::database::Database;

use super::principals::{DB_OWNER, DBO, PUBLIC};

/// The entries of a database, each with its catalog row.
#[derive(Default)]
pub(crate) struct Entries {
    pub(crate) memberships: Vec<(Arc<CatalogObject>, RoleMembership)>,
    pub(crate) permissions: Vec<(Arc<CatalogObject>, PermissionEntry)>,
    pub(crate) owners: Vec<(Arc<CatalogObject>, OwnerEntry)>,
}

impl Entries {
    /// Those that a session sees.
    pub(crate) fn of(database: &Database, session: u16) -> Entries {
        let mut entries = Entries::default();
        if !database.has_principals() {
            return entries;
        }
        for object in database.catalog.objects(session) {
            match &object.definition {
                ObjectDefinition::RoleMembership(own) => {
                    let own = *own;
                    entries.memberships.push((object, own));
                }
                ObjectDefinition::Permission(own) => {
                    let own = own.clone();
                    entries.permissions.push((object, own));
                }
                ObjectDefinition::Owner(own) => {
                    let own = *own;
                    entries.owners.push((object, own));
                }
                _ => {}
            }
        }
        entries
    }

    /// Role and member of every membership: `dbo` is in `db_owner` in every database.
    pub(crate) fn every_membership(&self) -> Vec<(u32, u32)> {
        let own = self.memberships.iter().map(|(_, own)| (own.role, own.member));
        let mut all: Vec<(u32, u32)> = own.chain([(DB_OWNER, DBO)]).collect();
        all.sort_unstable();
        all
    }

    /// Every permission: `dbo` may connect to every database.
    pub(crate) fn every_permission(&self) -> Vec<PermissionEntry> {
        let of_owner = PermissionEntry {
            object_id: 0,
            securable: Securable::Database,
            permission: "CO".to_owned(),
            grantee: DBO,
            grantor: DBO,
            state: PermissionState::Grant,
        };
        let own = self.permissions.iter().map(|(_, own)| own.clone());
        let mut all: Vec<PermissionEntry> = own.chain([of_owner]).collect();
        all.sort_by(|a, b| {
            let key = |own: &PermissionEntry| (own.securable.numbers(), own.grantee, own.grantor);
            key(a).cmp(&key(b)).then_with(|| a.permission.cmp(&b.permission))
        });
        all
    }

    /// The roles that a principal is in, directly or through others, `public` and itself included.
    pub(crate) fn closure(&self, principal: u32) -> HashSet<u32> {
        let mut roles_of: HashMap<u32, Vec<u32>> = HashMap::new();
        for (role, member) in self.every_membership() {
            roles_of.entry(member).or_default().push(role);
        }
        let mut found = HashSet::from([principal, PUBLIC]);
        let mut pending = vec![principal];
        while let Some(member) = pending.pop() {
            for role in roles_of.get(&member).into_iter().flatten() {
                if found.insert(*role) {
                    pending.push(*role);
                }
            }
        }
        found
    }

    /// The owner that an entry gives to a securable.
    pub(crate) fn explicit_owner(&self, securable: Securable) -> Option<u32> {
        let mut owners = self.owners.iter();
        owners
            .find(|(_, own)| own.securable == securable)
            .map(|(_, own)| own.owner)
    }
}

/// Who owns each schema: those of the system are their namesakes', others are dbo's unless an entry says otherwise.
pub(crate) struct SchemaOwners(HashMap<u32, u32>);

impl SchemaOwners {
    pub(crate) fn of(entries: &Entries) -> SchemaOwners {
        let owners = entries.owners.iter().filter_map(|(_, own)| match own.securable {
            Securable::Schema(id) => Some((id, own.owner)),
            _ => None,
        });
        SchemaOwners(owners.collect())
    }

    /// The owner of the schema with an id.
    pub(crate) fn owner(&self, schema_id: i32) -> u32 {
        let id = schema_id as u32;
        match id {
            1..=4 => id,
            _ => self.0.get(&id).copied().unwrap_or(DBO),
        }
    }
}

/// The owner of what is in a schema: its own one, or that of the schema.
pub(crate) fn effective_owner(entries: &Entries, securable: Securable, schema_id: i32) -> u32 {
    let own = entries.explicit_owner(securable);
    own.unwrap_or_else(|| SchemaOwners::of(entries).owner(schema_id))
}
