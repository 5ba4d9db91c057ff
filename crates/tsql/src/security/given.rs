//! GRANT, DENY and REVOKE of permissions on one securable: which entries there are afterwards.
//!
//! ```text
//! key                  securable, permission, grantee, grantor: one entry, which GRANT and DENY replace and REVOKE removes
//! a whole object       takes the place of the entries of its columns
//! a column revoked     of a granted object is an entry of its own, REVOKE
//! the grant option     goes with CASCADE only (4611), and takes along what its holder has granted, and those have granted
//! the grantor          the owner of the securable; with AS a principal that has the grant option, which then is the grantor
//! ```
//! (sql-docs, "GRANT", "DENY", "REVOKE"; the SqlServerSimulator project has seen the key, the grantor and 4611 of SQL Server 2025.)

use std::collections::HashSet;
use std::sync::Arc;

use engine::cancel;
use engine::catalog::{CatalogObject, ObjectDefinition, PermissionEntry, PermissionState, Securable};
use engine::error::Result;

use super::change::Change;
use super::entries::Entries;
use super::permissions::Permission;
use super::principals::{DB_OWNER, DB_SECURITYADMIN, DBO, DatabasePrincipal};
use crate::ast::PermissionAction;
use crate::messages;

/// What is given, denied or revoked.
pub(crate) struct Giving<'a> {
    pub(crate) action: PermissionAction,
    /// Not a column.
    pub(crate) securable: Securable,
    /// The securables of which CONTROL reaches this one, itself included.
    pub(crate) covering: Vec<Securable>,
    /// The owner of the securable.
    pub(crate) owner: u32,
    /// Each with the numbers of its columns; none for the whole securable.
    pub(crate) permissions: Vec<(&'static Permission, Vec<u32>)>,
    /// WITH GRANT OPTION, GRANT OPTION FOR.
    pub(crate) grant_option: bool,
    pub(crate) cascade: bool,
    /// The principal that AS names.
    pub(crate) grantor: Option<&'a str>,
    /// The kind and name of the securable, for 15151.
    pub(crate) called: (&'static str, String),
}

/// Whom something is given to.
pub(crate) struct Grantees {
    pub(crate) found: Vec<DatabasePrincipal>,
    /// Whether others were named that have every permission: 4624 tells of them.
    pub(crate) has_others: bool,
}

impl Change<'_> {
    /// The principals that a statement names, all of them before anything changes.
    ///
    /// # Errors
    /// 15151 for one that is not there, 4617 for a fixed role, 4627 for CONNECT and a role.
    pub(crate) fn grantees(&self, names: &[&str], owner: u32, is_connect: bool) -> Result<Grantees> {
        let mut grantees = Grantees {
            found: Vec::new(),
            has_others: false,
        };
        for name in names {
            if name.eq_ignore_ascii_case("sa") && self.principal(name).is_err() {
                grantees.has_others = true;
                continue;
            }
            let found = self.principal(name)?;
            if found.is_fixed_role() {
                return Err(messages::grantee_is_special());
            }
            if is_connect && found.is_role {
                return Err(messages::connect_for_role());
            }
            match found.id == DBO || found.id == owner || found.is_of_system() {
                true => grantees.has_others = true,
                false => grantees.found.push(found),
            }
        }
        Ok(grantees)
    }

    /// # Errors
    /// 15151 for a grantor that is not there or may not give this, 4613 for one that may not on a database; 4611.
    pub(crate) fn give(&mut self, giving: &Giving<'_>, grantees: &Grantees) -> Result<()> {
        let grantor = self.grantor(giving)?;
        for grantee in &grantees.found {
            for (permission, columns) in &giving.permissions {
                let parts: Vec<Securable> = match (columns.is_empty(), giving.securable) {
                    (false, Securable::Object(object)) => columns
                        .iter()
                        .map(|column| Securable::Column(object, *column))
                        .collect(),
                    _ => vec![giving.securable],
                };
                for securable in parts {
                    self.give_one(
                        giving,
                        &Key {
                            securable,
                            permission: permission.code,
                            grantee: grantee.id,
                            grantor,
                        },
                    )?;
                }
            }
        }
        Ok(())
    }

    /// Who is the grantor of what is given: with AS, a principal that may give it.
    fn grantor(&self, giving: &Giving<'_>) -> Result<u32> {
        let Some(name) = giving.grantor else {
            return Ok(giving.owner);
        };
        let principal = self.principal(name)?;
        let entries = Entries::of(self.database, self.engine.id);
        let closure = entries.closure(principal.id);
        let is_owner = [giving.owner, DBO, DB_OWNER, DB_SECURITYADMIN];
        let rows = || entries.permissions.iter().map(|(_, own)| own);
        let has_control = rows().any(|own| {
            own.permission == "CL"
                && own.state.is_granted()
                && closure.contains(&own.grantee)
                && giving.covering.contains(&own.securable)
        });
        if has_control || is_owner.iter().any(|id| closure.contains(id)) {
            return Ok(giving.owner);
        }
        let has_option = |permission: &Permission| {
            rows().any(|own| {
                own.securable == giving.securable
                    && own.permission == permission.code
                    && own.state == PermissionState::GrantWithGrantOption
                    && own.grantee == principal.id
            })
        };
        let may_give = giving.action != PermissionAction::Deny
            && giving.permissions.iter().all(|(permission, _)| has_option(permission));
        match (may_give, giving.securable) {
            (true, _) => Ok(principal.id),
            (false, Securable::Database) => Err(messages::grantor_may_not()),
            (false, _) => Err(messages::no_such_entity("find", giving.called.0, &giving.called.1)),
        }
    }

    fn give_one(&mut self, giving: &Giving<'_>, key: &Key) -> Result<()> {
        cancel::look()?;
        let entries = Entries::of(self.database, self.engine.id);
        let own = entries.permissions.iter().filter(|(_, own)| key.is_of(own));
        let own: Vec<&(Arc<CatalogObject>, PermissionEntry)> = own.collect();
        // What is given of a whole object takes the place of what was given of its columns.
        let loses_option = |entry: &&&(Arc<CatalogObject>, PermissionEntry)| {
            entry.1.state == PermissionState::GrantWithGrantOption && giving.action != PermissionAction::Grant
        };
        let exact = own.iter().find(|(_, own)| own.securable == key.securable).copied();
        if own.iter().any(|entry| loses_option(&entry)) {
            if !giving.cascade {
                return Err(messages::cascade_needed());
            }
            self.drop_delegated(&entries, key)?;
        }
        let now = exact.map(|(_, own)| own.state);
        let keeps_columns = giving.action == PermissionAction::Revoke && giving.grant_option;
        let after = state_after(giving, now, || {
            let is_column = matches!(key.securable, Securable::Column(..));
            is_column
                && entries
                    .permissions
                    .iter()
                    .any(|(_, own)| key.is_of_whole(own) && own.state.is_granted())
        });
        for (object, own) in own.iter().filter(|(_, own)| own.securable != key.securable) {
            match keeps_columns {
                false => self.engine.drop_object(self.database, object)?,
                true => self.set_state(object, own, PermissionState::Grant)?,
            }
        }
        match (exact, after) {
            (Some((object, _)), None) => self.engine.drop_object(self.database, object),
            (Some((object, own)), Some(state)) => self.set_state(object, own, state),
            (None, Some(state)) => self.add_permission(PermissionEntry {
                object_id: 0,
                securable: key.securable,
                permission: key.permission.to_owned(),
                grantee: key.grantee,
                grantor: key.grantor,
                state,
            }),
            (None, None) => Ok(()),
        }
    }

    fn set_state(&mut self, object: &Arc<CatalogObject>, own: &PermissionEntry, state: PermissionState) -> Result<()> {
        if own.state == state {
            return Ok(());
        }
        let changed = ObjectDefinition::Permission(PermissionEntry { state, ..own.clone() });
        self.engine.replace_object(self.database, object, changed).map(|_| ())
    }

    /// Drops what the grantee has granted of a permission, and what those have granted.
    fn drop_delegated(&mut self, entries: &Entries, key: &Key) -> Result<()> {
        let mut grantors = HashSet::from([key.grantee]);
        let mut pending = vec![key.grantee];
        while let Some(grantor) = pending.pop() {
            let given = entries.permissions.iter().filter(|(_, own)| {
                // What the statement itself changes is not dropped twice, where grants go round in a circle.
                own.grantor == grantor
                    && !key.is_of(own)
                    && own.permission == key.permission
                    && own.securable.whole() == key.securable.whole()
            });
            for (object, own) in given {
                self.engine.drop_object(self.database, object)?;
                if grantors.insert(own.grantee) {
                    pending.push(own.grantee);
                }
            }
        }
        Ok(())
    }
}

/// What an entry is found by.
struct Key {
    securable: Securable,
    permission: &'static str,
    grantee: u32,
    grantor: u32,
}

impl Key {
    /// Whether an entry is of this key, or of a column of its object.
    fn is_of(&self, own: &PermissionEntry) -> bool {
        (own.securable == self.securable || own.securable.whole() == self.securable) && self.is_same(own)
    }

    /// Whether an entry is of the object that this key has a column of.
    fn is_of_whole(&self, own: &PermissionEntry) -> bool {
        own.securable == self.securable.whole() && self.is_same(own)
    }

    fn is_same(&self, own: &PermissionEntry) -> bool {
        own.permission == self.permission && (own.grantee, own.grantor) == (self.grantee, self.grantor)
    }
}

/// The state of an entry that was in a state, or was not there; `None` for no entry. A permission that is granted again keeps its grant
/// option.
fn state_after(
    giving: &Giving<'_>,
    now: Option<PermissionState>,
    is_column_of_granted: impl Fn() -> bool,
) -> Option<PermissionState> {
    match (giving.action, now) {
        (PermissionAction::Grant, Some(PermissionState::GrantWithGrantOption)) => now,
        (PermissionAction::Grant, _) if giving.grant_option => Some(PermissionState::GrantWithGrantOption),
        (PermissionAction::Grant, _) => Some(PermissionState::Grant),
        (PermissionAction::Deny, _) => Some(PermissionState::Deny),
        (PermissionAction::Revoke, Some(PermissionState::GrantWithGrantOption)) if giving.grant_option => {
            Some(PermissionState::Grant)
        }
        (PermissionAction::Revoke, _) if giving.grant_option => now,
        (PermissionAction::Revoke, _) if is_column_of_granted() => Some(PermissionState::Revoke),
        (PermissionAction::Revoke, _) => None,
    }
}
