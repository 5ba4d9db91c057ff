//! CREATE, ALTER and DROP ROLE and USER, and ALTER AUTHORIZATION (`security` has what they change).

use engine::catalog::{ObjectDefinition, Securable as Id};
use engine::error::Result;

use super::executor::Executor;
use super::securable::FoundSecurable;
use crate::ast::{Name, PrincipalStatement, RoleChange, UserOption, UserSource};
use crate::messages;
use crate::security::{Change, Class, UserChange, of_server, principal_named};

impl Executor<'_> {
    /// Changes principals of the current database.
    pub(super) fn changing<T>(&self, work: impl FnOnce(&mut Change<'_>) -> Result<T>) -> Result<T> {
        let database = self.session.database();
        let now = self.session.now_ticks();
        let mut engine = self.session.engine.borrow_mut();
        work(&mut Change {
            engine: &mut engine,
            database: &database,
            now: (now.days, now.ticks),
        })
    }

    pub(super) fn principal_statement(&mut self, statement: &PrincipalStatement) -> Result<()> {
        match statement {
            PrincipalStatement::CreateRole { name, owner } => {
                let owner = owner.as_ref().map(|owner| owner.text.as_str());
                self.changing(|change| change.create_role(&name.text, owner))
            }
            PrincipalStatement::AlterRole { name, change } => self.changing(|changing| match change {
                RoleChange::AddMember(member) => changing.add_member(&name.text, &member.text),
                RoleChange::DropMember(member) => changing.drop_member(&name.text, &member.text),
                RoleChange::Rename(new_name) => changing.rename_role(&name.text, &new_name.text),
            }),
            PrincipalStatement::DropRole { name, if_exists } => {
                self.changing(|change| change.drop(true, &name.text, *if_exists))
            }
            PrincipalStatement::DropUser { name, if_exists } => {
                self.changing(|change| change.drop(false, &name.text, *if_exists))
            }
            PrincipalStatement::CreateUser { name, source, options } => self.changing(|change| match source {
                UserSource::WithoutLogin => change.create_user(&name.text, &user_change(options)?),
                UserSource::Login(login) => change.create_user_of_login(&name.text, &login.text),
                UserSource::Password => Err(messages::no_contained_users()),
            }),
            PrincipalStatement::AlterUser { name, options } => {
                if options.contains(&UserOption::Password) {
                    return Err(messages::not_supported("PASSWORD"));
                }
                let options = user_change(options)?;
                self.changing(|change| change.alter_user(&name.text, &options))
            }
            PrincipalStatement::AlterAuthorization { class, name, owner } => {
                let owner = owner.as_ref().map(|owner| owner.text.as_str());
                self.alter_authorization(class.as_deref(), name, owner)
            }
        }
    }

    /// `None` of an owner is SCHEMA OWNER.
    ///
    /// # Errors
    /// 15151 for what is not there; 15344, 15346, 15150 and 15247 for what has no owner to change; 15109 and 15353 for databases.
    fn alter_authorization(&mut self, class: Option<&str>, name: &Name, owner: Option<&str>) -> Result<()> {
        if class == Some("APPLICATION ROLE") {
            return Err(messages::no_owner_to_change("application role"));
        }
        let class = Class::named(class.unwrap_or("OBJECT"));
        let class = class.ok_or_else(|| messages::not_supported("ALTER AUTHORIZATION"))?;
        match class {
            Class::Database => self.own_database(name, owner),
            Class::User => Err(messages::no_owner_to_change("user")),
            Class::Schema => self.own_schema(name, owner),
            Class::Role => self.own_role(name, owner),
            Class::Object | Class::Type | Class::XmlSchemaCollection => self.own_in_schema(class, name, owner),
        }
    }

    /// The one login owns every database, and goes on to.
    fn own_database(&self, name: &Name, owner: Option<&str>) -> Result<()> {
        let database = self.session.open_database(name.object());
        let database = database.map_err(|_| messages::no_such_entity("find", "database", name.object()))?;
        if ["master", "model", "tempdb"].contains(&database.name().as_str()) {
            return Err(messages::owner_of_system_database());
        }
        let owner = owner.unwrap_or("SCHEMA OWNER");
        match of_server(owner) {
            Some(found) if found.is_login() => Ok(()),
            Some(_) => Err(messages::database_owned_by_role()),
            None => Err(messages::no_such_entity("find", "principal", owner)),
        }
    }

    fn own_schema(&self, name: &Name, owner: Option<&str>) -> Result<()> {
        let found = self.securable(Class::Schema, name)?;
        let Id::Schema(id) = found.id else { return Ok(()) };
        let Some(object) = &found.object else {
            return Err(messages::fixed_principal("alter", "schema", &found.name));
        };
        self.session
            .engine
            .borrow()
            .lock_definition(&self.session.database(), object)?;
        let schema = found.name;
        self.changing(|change| {
            change.engine.lock_principals(change.database)?;
            let owner = change.owner(owner.unwrap_or("SCHEMA OWNER"))?;
            change.own_schema(id, &schema, owner.id)
        })
    }

    fn own_role(&self, name: &Name, owner: Option<&str>) -> Result<()> {
        self.changing(|change| {
            change.engine.lock_principals(change.database)?;
            let found = principal_named(change.database, change.engine.id, name.object());
            let role = found.filter(|found| found.is_role);
            let role = role.ok_or_else(|| messages::no_such_entity("find", "role", name.object()))?;
            if role.is_fixed {
                return Err(messages::fixed_principal("alter", "role", &role.name));
            }
            let owner = change.owner(owner.unwrap_or("SCHEMA OWNER"))?;
            change.own_role(&role, owner.id)
        })
    }

    fn own_in_schema(&self, class: Class, name: &Name, owner: Option<&str>) -> Result<()> {
        let found = self.securable_to_own(class, name)?;
        let Some(object) = &found.object else {
            return Err(messages::no_such_entity("find", class.word(), name.object()));
        };
        self.session
            .engine
            .borrow()
            .lock_definition(&self.session.database(), object)?;
        self.changing(|change| {
            change.engine.lock_principals(change.database)?;
            let owner = owner.map(|owner| change.owner(owner)).transpose()?;
            change.own_in_schema(found.id, (object, found.schema_id), owner.map(|owner| owner.id))
        })
    }

    fn securable_to_own(&self, class: Class, name: &Name) -> Result<FoundSecurable> {
        let session = self.session;
        if class == Class::Type && self.is_system_type(name) {
            return Err(messages::no_permission_to_do_that());
        }
        if class == Class::Object {
            if name.object().starts_with('#') {
                return Err(messages::no_owner_to_change("object"));
            }
            let missing = || messages::no_such_entity("find", "object", name.object());
            if name.database().is_some() || crate::views::find(name).is_some() {
                return Err(missing());
            }
            let database = session.database();
            let schema = crate::state::schema_of(name);
            let found = session.find_object(name)?;
            let is_trigger = found.is_some_and(
                |(_, object)| matches!(&object.definition, ObjectDefinition::Module(module) if module.parent != 0),
            );
            if is_trigger
                || database
                    .catalog
                    .find_constraint(schema, name.object(), session.id)
                    .is_some()
            {
                return Err(messages::owned_by_parent());
            }
        }
        self.securable(class, name)
    }
}

/// What the options of a user say.
///
/// # Errors
/// 33233 for a password.
fn user_change(options: &[UserOption]) -> Result<UserChange<'_>> {
    let mut change = UserChange::default();
    for option in options {
        match option {
            UserOption::Name(name) => change.name = Some(&name.text),
            UserOption::DefaultSchema(schema) => change.default_schema = Some(&schema.text),
            UserOption::Login(login) => change.login = Some(&login.text),
            UserOption::AllowEncryptedModifications(is_on) => change.allows_encrypted_modifications = Some(*is_on),
            UserOption::Password => return Err(messages::no_contained_users()),
        }
    }
    Ok(change)
}
