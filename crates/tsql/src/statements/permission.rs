//! GRANT, DENY and REVOKE: which permissions are meant, on what, and whether they fit. `security::given` has what they change.
//!
//! They are stored and listed; no statement is refused for want of a permission (`security`).

use engine::error::{Error, Result};

use super::executor::Executor;
use super::securable::FoundSecurable;
use crate::ast::{Permission as Written, PermissionAction};
use crate::messages;
use crate::security::{Class, DBO, Giving, Grantees, Permission, is_of_server, of_all, of_server, permission_named};

/// Classes of securables of the server.
const CLASSES_OF_SERVER: [&str; 5] = ["AVAILABILITY GROUP", "ENDPOINT", "LOGIN", "SERVER", "SERVER ROLE"];

fn is_all(words: &str) -> bool {
    matches!(words, "ALL" | "ALL PRIVILEGES")
}

impl Executor<'_> {
    /// # Errors
    /// 102 for a permission that is none of the class, 4606 for one that the kind of object does not have, 4615 and 1020 for columns, 4619 to
    /// 4623 for scopes and ALL; those of finding the securable, the grantees and the grantor, and of giving.
    pub(super) fn permission(&mut self, written: &Written, line: u32) -> Result<()> {
        let Some(class) = self.class_of(written)? else {
            return self.server_permission(written, line);
        };
        for permission in &written.permissions {
            if !is_all(&permission.words) && permission_named(&permission.words, class).is_none() {
                return Err(Error::new(
                    102,
                    15,
                    1,
                    format!("Incorrect syntax near '{}'.", permission.words),
                ));
            }
        }
        let found = self.keep_securable(written, class)?;
        let permissions = self.permissions_meant(written, class, found.as_ref())?;
        let is_connect = class == Class::Database && permissions.iter().any(|(own, _)| own.code == "CO");
        let giving = giving(written, found.as_ref(), permissions);
        let names: Vec<&str> = written.principals.iter().map(|name| name.text.as_str()).collect();
        let grantees = self.changing(|change| {
            let grantees = change.grantees(&names, giving.owner, is_connect)?;
            change.give(&giving, &grantees).map(|()| grantees)
        })?;
        self.tell_of(written, &grantees, line)
    }

    /// What the permissions are on, kept until the transaction ends; `None` for the database itself where it is not named. Users and roles
    /// are kept by the lock of all principals, under which owners are as they are, too.
    fn keep_securable(&self, written: &Written, class: Class) -> Result<Option<FoundSecurable>> {
        let database = self.session.database();
        let lock_principals = || self.session.engine.borrow().lock_principals(&database);
        let Some(securable) = &written.securable else {
            return lock_principals().map(|()| None);
        };
        if !matches!(class, Class::User | Class::Role) {
            let found = self.securable(class, &securable.name)?;
            if let Some(object) = &found.object {
                self.session.engine.borrow().keep_securable(&database, object)?;
            }
        }
        lock_principals()?;
        self.securable(class, &securable.name).map(Some)
    }

    /// The notices of a statement that has succeeded.
    fn tell_of(&mut self, written: &Written, grantees: &Grantees, line: u32) -> Result<()> {
        if written.permissions.iter().any(|permission| is_all(&permission.words)) {
            self.inform(4628, 0, line, messages::ALL_IS_DEPRECATED)?;
        }
        match grantees.has_others {
            true => self.inform(4624, 0, line, messages::GRANTEE_HAS_ALL),
            false => Ok(()),
        }
    }

    /// The class of the securable; `None` for the server.
    fn class_of(&self, written: &Written) -> Result<Option<Class>> {
        let Some(securable) = &written.securable else {
            let of_server = written
                .permissions
                .iter()
                .filter(|own| is_of_server(&own.words))
                .count();
            return match of_server {
                0 => Ok(Some(Class::Database)),
                count if count == written.permissions.len() => Ok(None),
                _ => Err(messages::permissions_of_two_scopes()),
            };
        };
        let Some(words) = securable.class.as_deref() else {
            return Ok(Some(Class::Object));
        };
        match Class::named(words) {
            None if CLASSES_OF_SERVER.contains(&words) => Ok(None),
            None => Err(messages::not_supported(&format!("{words}::"))),
            class => Ok(class),
        }
    }

    /// Permissions of the server, which has one login: it has them all, and there is nobody else to give them to.
    ///
    /// # Errors
    /// 4621 outside of master, 15151 for a grantee that is not a login, 4617 for a fixed role, 40517 for public.
    fn server_permission(&mut self, written: &Written, line: u32) -> Result<()> {
        if self.session.database().name() != "master" {
            return Err(messages::server_permission_outside_master());
        }
        for grantee in &written.principals {
            let found = of_server(&grantee.text);
            let found = found.ok_or_else(|| messages::no_such_entity("find", "login", &grantee.text))?;
            if !found.is_login() {
                return Err(match found.name {
                    "public" => messages::not_supported("permissions of the server role public"),
                    _ => messages::grantee_is_special(),
                });
            }
        }
        self.inform(4624, 0, line, messages::GRANTEE_HAS_ALL)
    }

    /// The permissions, with the numbers of the columns that they are for.
    fn permissions_meant(
        &self,
        written: &Written,
        class: Class,
        found: Option<&FoundSecurable>,
    ) -> Result<Vec<(&'static Permission, Vec<u32>)>> {
        let behind = written.securable.as_ref().map(|securable| securable.columns.as_slice());
        let kind = found.map_or("", |found| found.kind);
        let mut meant = Vec::new();
        for permission in &written.permissions {
            let columns = match permission.columns.is_empty() {
                true => behind.unwrap_or_default(),
                false => permission.columns.as_slice(),
            };
            let names: Vec<&str> = match is_all(&permission.words) {
                true if !matches!(class, Class::Database | Class::Object) => return Err(messages::no_all_permission()),
                true => {
                    let all = of_all(class, kind).iter().copied();
                    all.filter(|name| columns.is_empty() || ["REFERENCES", "SELECT", "UPDATE"].contains(name))
                        .collect()
                }
                false => vec![permission.words.as_str()],
            };
            for name in names {
                let Some(own) = permission_named(name, class) else {
                    continue;
                };
                if class == Class::Object && !has_kind(kind, own.code) {
                    return Err(messages::permission_not_of_object(name));
                }
                if own.code == "CRDB" && self.session.database().name() != "master" {
                    return Err(messages::create_database_outside_master());
                }
                let numbers = match (columns, found) {
                    ([], _) | (_, None) => Vec::new(),
                    (_, Some(found)) if kind == "SN" || found.columns().is_empty() => {
                        return Err(messages::no_columns_to_permit());
                    }
                    (columns, Some(found)) => column_numbers(&found.columns(), columns)?,
                };
                meant.push((own, numbers));
            }
        }
        Ok(meant)
    }
}

fn column_numbers(names: &[String], columns: &[crate::ast::Identifier]) -> Result<Vec<u32>> {
    let number = |column: &crate::ast::Identifier| {
        let place = names.iter().position(|name| column.is(name));
        let place = place.ok_or_else(|| messages::no_column_to_permit(&column.text))?;
        Ok(place as u32 + 1)
    };
    columns.iter().map(number).collect()
}

/// Whether objects of a kind have a permission (sql-docs, "GRANT object permissions").
fn has_kind(kind: &str, code: &str) -> bool {
    match kind {
        "U" | "V" | "IF" | "TF" => !matches!(code, "EX" | "RC"),
        "P" => matches!(code, "AL" | "CL" | "EX" | "TO" | "VW"),
        "FN" => matches!(code, "AL" | "CL" | "EX" | "RF" | "TO" | "VW"),
        "SO" => matches!(code, "AL" | "CL" | "RF" | "TO" | "UP" | "VW"),
        "SN" => matches!(code, "CL" | "DL" | "EX" | "IN" | "SL" | "TO" | "UP" | "VW"),
        _ => false,
    }
}

fn giving<'w>(
    written: &'w Written,
    found: Option<&FoundSecurable>,
    permissions: Vec<(&'static Permission, Vec<u32>)>,
) -> Giving<'w> {
    let id = found.map_or(engine::catalog::Securable::Database, |found| found.id);
    Giving {
        action: written.action,
        securable: id,
        covering: found.map_or_else(|| vec![id], FoundSecurable::covering),
        owner: found.map_or(DBO, |found| found.owner),
        permissions,
        grant_option: written.grant_option && written.action != PermissionAction::Deny,
        cascade: written.cascade,
        grantor: written.grantor.as_ref().map(|grantor| grantor.text.as_str()),
        called: found.map_or(("database", String::new()), |found| {
            (found.class.word(), found.name.clone())
        }),
    }
}
