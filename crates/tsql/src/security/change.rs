//! Changes of users, roles and memberships, by statements and by procedures, in the transaction of the session that makes them.

use std::sync::Arc;

use engine::catalog::{
    ModuleDefinition, ObjectDefinition, PermissionEntry, PermissionState, PrincipalDefinition, PrincipalKind,
    RoleMembership, Securable,
};
use engine::database::Database;
use engine::error::{Error, Result};
use engine::session::Session;

use super::entries::{Entries, effective_owner};
use super::logins::{Principal, of_server};
use super::principals::{DBO, DatabasePrincipal, GUEST, PUBLIC, principal_named};
use super::schemas::id_of_schema;
use crate::messages;

/// A session that changes the principals of a database, and when. The principals are locked from the first step on.
pub(crate) struct Change<'a> {
    pub(crate) engine: &'a mut Session,
    pub(crate) database: &'a Arc<Database>,
    /// Days and ticks.
    pub(crate) now: (i32, u32),
}

/// What a user is made with, or changed to.
#[derive(Debug, Default, Clone)]
pub(crate) struct UserChange<'a> {
    pub(crate) name: Option<&'a str>,
    pub(crate) default_schema: Option<&'a str>,
    pub(crate) login: Option<&'a str>,
    pub(crate) allows_encrypted_modifications: Option<bool>,
}

/// 15007 for a login that is not there; `sa` is the one that is.
fn check_login(name: &str) -> Result<()> {
    match of_server(name).is_some_and(Principal::is_login) {
        true => Ok(()),
        false => Err(messages::no_such_login(name)),
    }
}

impl Change<'_> {
    fn find(&self, name: &str) -> Option<DatabasePrincipal> {
        principal_named(self.database, self.engine.id, name)
    }

    /// The principal that is to own or to be given something.
    ///
    /// # Errors
    /// 15151, which calls it a user whatever it might be.
    pub(crate) fn principal(&self, name: &str) -> Result<DatabasePrincipal> {
        self.find(name)
            .ok_or_else(|| messages::no_such_entity("find", "user", name))
    }

    fn entries(&self) -> Entries {
        Entries::of(self.database, self.engine.id)
    }

    /// 15006 for a backslash, 15023 for a name that is taken.
    fn check_name(&self, name: &str, state: u8) -> Result<()> {
        if name.contains('\\') {
            return Err(messages::invalid_principal_name(name));
        }
        match self.find(name) {
            Some(_) => Err(messages::principal_exists(name, state)),
            None => Ok(()),
        }
    }

    fn create(&mut self, name: &str, kind: PrincipalKind, change: &UserChange<'_>, owner: Option<u32>) -> Result<u32> {
        let principal = PrincipalDefinition {
            object_id: 0,
            principal_id: 0,
            name: name.to_owned(),
            kind,
            owner,
            default_schema: change.default_schema.map(str::to_owned),
            allows_encrypted_modifications: change.allows_encrypted_modifications == Some(true),
            sid: [0; 4],
            created: self.now,
            modified: self.now,
        };
        self.engine.create_principal(self.database, principal)
    }

    /// CREATE ROLE. Without AUTHORIZATION its owner is who makes it: dbo.
    ///
    /// # Errors
    /// 15006, 15023, 15151.
    pub(crate) fn create_role(&mut self, name: &str, owner: Option<&str>) -> Result<()> {
        self.engine.lock_principals(self.database)?;
        let owner = match owner {
            None => DBO,
            Some(owner) => self.owner(owner)?.id,
        };
        self.check_name(name, 1)?;
        self.create(name, PrincipalKind::Role, &UserChange::default(), Some(owner))
            .map(|_| ())
    }

    /// A principal that may own something: not one of the system's.
    ///
    /// # Errors
    /// 15151
    pub(crate) fn owner(&self, name: &str) -> Result<DatabasePrincipal> {
        let owner = self.principal(name)?;
        match owner.is_of_system() {
            true => Err(messages::no_such_entity("find", "principal", name)),
            false => Ok(owner),
        }
    }

    /// CREATE USER ... WITHOUT LOGIN, who may connect as every user may.
    ///
    /// # Errors
    /// 15006, 15023.
    pub(crate) fn create_user(&mut self, name: &str, change: &UserChange<'_>) -> Result<()> {
        self.engine.lock_principals(self.database)?;
        self.check_name(name, 1)?;
        let id = self.create(name, PrincipalKind::User, change, None)?;
        self.add_permission(PermissionEntry {
            object_id: 0,
            securable: Securable::Database,
            permission: "CO".to_owned(),
            grantee: id,
            grantor: DBO,
            state: PermissionState::Grant,
        })
    }

    /// CREATE USER ... FOR LOGIN: the one login is dbo already.
    ///
    /// # Errors
    /// 15007 for a login that is not there, 15023 for a name that is taken, 15063 for one that is.
    pub(crate) fn create_user_of_login(&mut self, name: &str, login: &str) -> Result<()> {
        self.engine.lock_principals(self.database)?;
        check_login(login)?;
        match self.find(name) {
            Some(_) => Err(messages::principal_exists(name, 1)),
            None => Err(messages::login_is_a_user()),
        }
    }

    /// Stores a permission. Its id is chosen here.
    pub(super) fn add_permission(&mut self, mut permission: PermissionEntry) -> Result<()> {
        permission.object_id = self.database.new_object_id()?;
        let definition = ObjectDefinition::Permission(permission);
        self.engine.create_object(self.database, definition).map(|_| ())
    }

    fn replace(&mut self, principal: &DatabasePrincipal, change: impl FnOnce(&mut PrincipalDefinition)) -> Result<()> {
        let (Some(object), Some(own)) = (&principal.stored, principal.definition()) else {
            return Err(Error::assertion("a fixed principal is not changed"));
        };
        let mut own = own.clone();
        change(&mut own);
        own.modified = self.now;
        let definition = ObjectDefinition::Principal(own);
        self.engine
            .replace_object(self.database, object, definition)
            .map(|_| ())
    }

    /// The role that a statement changes.
    ///
    /// # Errors
    /// 15151
    fn role(&self, verb: &str, name: &str) -> Result<DatabasePrincipal> {
        let found = self.find(name).filter(|found| found.is_role);
        found.ok_or_else(|| messages::no_such_entity(verb, "role", name))
    }

    /// ALTER ROLE ... WITH NAME.
    ///
    /// # Errors
    /// 15150 for a fixed role, 15151, 15006, 15023.
    pub(crate) fn rename_role(&mut self, name: &str, new_name: &str) -> Result<()> {
        self.engine.lock_principals(self.database)?;
        let role = self.role("alter", name)?;
        if role.is_fixed {
            return Err(messages::fixed_principal("alter", "role", &role.name));
        }
        self.check_new_name(&role, new_name)?;
        self.replace(&role, |own| new_name.clone_into(&mut own.name))
    }

    /// A name may change its letters' case alone.
    fn check_new_name(&self, principal: &DatabasePrincipal, name: &str) -> Result<()> {
        match self.find(name) {
            Some(found) if found.id == principal.id => Ok(()),
            _ => self.check_name(name, 10),
        }
    }

    /// ALTER ROLE ... ADD MEMBER. A principal that is a member stays one.
    ///
    /// # Errors
    /// 15151 for a role or member that is not there, 15081 for `public`, 15405 for a member that is fixed, 15413 for a circle.
    pub(crate) fn add_member(&mut self, role: &str, member: &str) -> Result<()> {
        self.engine.lock_principals(self.database)?;
        let (role, member) = self.membership("add", role, member)?;
        if role.id == member.id {
            return Err(messages::role_within_itself());
        }
        let entries = self.entries();
        if entries.closure(role.id).contains(&member.id) {
            return Err(messages::role_within_itself());
        }
        if entries.every_membership().contains(&(role.id, member.id)) {
            return Ok(());
        }
        let definition = ObjectDefinition::RoleMembership(RoleMembership {
            object_id: self.database.new_object_id()?,
            role: role.id,
            member: member.id,
        });
        self.engine.create_object(self.database, definition).map(|_| ())
    }

    /// ALTER ROLE ... DROP MEMBER. Nothing happens to a principal that is none.
    ///
    /// # Errors
    /// As [`Change::add_member`].
    pub(crate) fn drop_member(&mut self, role: &str, member: &str) -> Result<()> {
        self.engine.lock_principals(self.database)?;
        let (role, member) = self.membership("drop", role, member)?;
        let entries = self.entries();
        let mut memberships = entries.memberships.iter();
        match memberships.find(|(_, own)| (own.role, own.member) == (role.id, member.id)) {
            Some((object, _)) => self.engine.drop_object(self.database, object),
            None => Ok(()),
        }
    }

    fn membership(&self, verb: &str, role: &str, member: &str) -> Result<(DatabasePrincipal, DatabasePrincipal)> {
        let role = self.role("alter", role)?;
        if role.id == PUBLIC {
            return Err(messages::public_has_no_list());
        }
        let found = self.find(member);
        let member = found.ok_or_else(|| messages::no_such_entity(verb, "principal", member))?;
        match member.is_fixed && member.id != GUEST {
            true => Err(messages::special_principal(&member.name)),
            false => Ok((role, member)),
        }
    }

    /// ALTER USER.
    ///
    /// # Errors
    /// 15151, 15150 for a fixed user; 15006, 15023; 15007 and 33016 for a login.
    pub(crate) fn alter_user(&mut self, name: &str, change: &UserChange<'_>) -> Result<()> {
        self.engine.lock_principals(self.database)?;
        let found = self.find(name).filter(|found| !found.is_role);
        let user = found.ok_or_else(|| messages::no_such_entity("alter", "user", name))?;
        if user.is_fixed {
            return Err(messages::fixed_principal("alter", "user", &user.name));
        }
        if let Some(new_name) = change.name {
            self.check_new_name(&user, new_name)?;
        }
        if let Some(login) = change.login {
            check_login(login)?;
            return Err(messages::user_without_login_is_not_mapped());
        }
        self.replace(&user, |own| {
            if let Some(name) = change.name {
                name.clone_into(&mut own.name);
            }
            if let Some(schema) = change.default_schema {
                own.default_schema = Some(schema.to_owned());
            }
            if let Some(is_on) = change.allows_encrypted_modifications {
                own.allows_encrypted_modifications = is_on;
            }
        })
    }

    /// DROP ROLE and DROP USER. What was given to it goes with it.
    ///
    /// # Errors
    /// 15151, 15150 for a fixed one, 15539 for guest; 15144 for a role with members; what it owns, in this order: objects 15183, types 15184,
    /// schemas 15138, roles 15421, XML schema collections 15138; 15284 for what it has granted or denied.
    pub(crate) fn drop(&mut self, is_role: bool, name: &str, if_exists: bool) -> Result<()> {
        self.engine.lock_principals(self.database)?;
        let kind = if is_role { "role" } else { "user" };
        let Some(principal) = self.find(name).filter(|found| found.is_role == is_role) else {
            return match if_exists {
                true => Ok(()),
                false => Err(messages::no_such_entity("drop", kind, name)),
            };
        };
        let Some(object) = &principal.stored else {
            return Err(match principal.id {
                GUEST => messages::guest_is_not_dropped(),
                _ => messages::fixed_principal("drop", kind, &principal.name),
            });
        };
        let entries = self.entries();
        if entries.memberships.iter().any(|(_, own)| own.role == principal.id) {
            return Err(messages::role_has_members());
        }
        self.check_owns_nothing(&entries, principal.id)?;
        if entries
            .permissions
            .iter()
            .any(|(_, own)| own.grantor == principal.id && !is_own(own, principal.id))
        {
            return Err(messages::principal_has_granted());
        }
        self.engine.drop_object(self.database, object)
    }

    fn check_owns_nothing(&self, entries: &Entries, id: u32) -> Result<()> {
        let owns = |is_meant: fn(Securable) -> bool| {
            let mut owners = entries.owners.iter();
            owners.any(|(_, own)| own.owner == id && is_meant(own.securable))
        };
        if owns(|securable| matches!(securable, Securable::Object(_))) {
            return Err(messages::principal_owns_objects());
        }
        if owns(|securable| matches!(securable, Securable::Type(_))) {
            return Err(messages::principal_owns_types());
        }
        if owns(|securable| matches!(securable, Securable::Schema(_))) {
            return Err(messages::principal_owns("schema"));
        }
        let principals = super::principals(self.database, self.engine.id);
        if principals.iter().any(|principal| principal.owner == Some(id)) {
            return Err(messages::principal_owns_role());
        }
        match owns(|securable| matches!(securable, Securable::XmlSchemaCollection(_))) {
            true => Err(messages::principal_owns("XML namespace")),
            false => Ok(()),
        }
    }

    /// Gives a role another owner.
    pub(super) fn set_role_owner(&mut self, role: &DatabasePrincipal, owner: u32) -> Result<()> {
        self.replace(role, |own| own.owner = Some(owner))
    }
}

/// Whether a permission is on the principal itself, and so goes with it.
fn is_own(permission: &PermissionEntry, id: u32) -> bool {
    permission.securable == Securable::Principal(id)
}

/// 40517 where a module would run as its owner, who is not dbo: no session is anybody else.
///
/// # Errors
/// 40517
pub(crate) fn check_owner_of_module(module: &ModuleDefinition, owner: u32) -> Result<()> {
    match owner != DBO && crate::modules::runs_as_owner(module) {
        true => Err(messages::not_supported("EXECUTE AS OWNER of another owner than dbo")),
        false => Ok(()),
    }
}

/// The same for a module that is about to be stored: it is owned by the owner of its schema, or of its table.
///
/// # Errors
/// 40517
pub(crate) fn check_new_module(database: &Database, session: u16, definition: &ObjectDefinition) -> Result<()> {
    let ObjectDefinition::Module(module) = definition else {
        return Ok(());
    };
    if !database.has_principals() {
        return Ok(());
    }
    let id = if module.parent == 0 {
        module.object_id
    } else {
        module.parent
    };
    let schema_id = id_of_schema(database, session, &module.schema).unwrap_or(1);
    let entries = Entries::of(database, session);
    check_owner_of_module(module, effective_owner(&entries, Securable::Object(id), schema_id))
}
