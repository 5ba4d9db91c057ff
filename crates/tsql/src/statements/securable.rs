//! What a permission is on, or who owns it: from its class and name to what the catalog has.

use std::sync::Arc;

use engine::catalog::{CatalogObject, ObjectDefinition, Securable as Id};
use engine::database::Database;
use engine::error::Result;

use super::executor::Executor;
use crate::ast::Name;
use crate::messages;
use crate::scalar::data_type::{TypePlace, resolve};
use crate::security::{Class, DBO, Entries, SchemaOwners, effective_owner, principal_named};
use crate::views::{columns_of, id_of_schema, type_code};

/// A securable that was found.
pub(super) struct FoundSecurable {
    pub(super) id: Id,
    pub(super) class: Class,
    /// `sys.objects.type` of an object.
    pub(super) kind: &'static str,
    /// Schema of what is in one, and name, as stored.
    pub(super) schema: Option<String>,
    pub(super) name: String,
    pub(super) schema_id: i32,
    /// Its effective owner.
    pub(super) owner: u32,
    /// Its catalog row; fixed schemas and principals, and the database, have none.
    pub(super) object: Option<Arc<CatalogObject>>,
}

impl FoundSecurable {
    /// The securables of which CONTROL reaches this one.
    pub(super) fn covering(&self) -> Vec<Id> {
        let schema = self.schema.is_some().then_some(Id::Schema(self.schema_id as u32));
        [self.id, Id::Database].into_iter().chain(schema).collect()
    }

    /// The names of its columns, in their order.
    pub(super) fn columns(&self) -> Vec<String> {
        let columns = self.object.as_deref().map(columns_of).unwrap_or_default();
        columns.iter().map(|column| column.name.clone()).collect()
    }

    /// The word for its kind in EVENTDATA().
    pub(super) fn event_type(&self) -> &'static str {
        match (self.class, self.kind) {
            (Class::Database, _) => "DATABASE",
            (Class::Schema, _) => "SCHEMA",
            (Class::User, _) => "USER",
            (Class::Role, _) => "ROLE",
            (Class::Type, _) => "TYPE",
            (Class::XmlSchemaCollection, _) => "XML SCHEMA COLLECTION",
            (Class::Object, "U") => "TABLE",
            (Class::Object, "V") => "VIEW",
            (Class::Object, "P") => "PROCEDURE",
            (Class::Object, "FN" | "IF" | "TF") => "FUNCTION",
            (Class::Object, "SO") => "SEQUENCE",
            (Class::Object, "SN") => "SYNONYM",
            (Class::Object, _) => "OBJECT",
        }
    }
}

/// 15151
fn missing(class: Class, name: &str) -> engine::error::Error {
    messages::no_such_entity("find", class.word(), name)
}

impl Executor<'_> {
    /// What a class and a name mean in the current database.
    ///
    /// # Errors
    /// 15151 for what is not there; 4610 for what is in another database, 4629 for what the system brings, 40517 for `sys`.
    pub(super) fn securable(&self, class: Class, name: &Name) -> Result<FoundSecurable> {
        let session = self.session;
        let database = session.database();
        let entries = Entries::of(&database, session.id);
        let plain = |id, name: String, owner| FoundSecurable {
            id,
            class,
            kind: "",
            schema: None,
            name,
            schema_id: 0,
            owner,
            object: None,
        };
        match class {
            Class::Object => self.object_securable(&database, &entries, name),
            Class::Database => {
                if database.name().to_lowercase() != name.object().to_lowercase() {
                    session
                        .open_database(name.object())
                        .map_err(|_| missing(class, name.object()))?;
                    return Err(messages::permission_on_other_database());
                }
                Ok(plain(Id::Database, database.name(), DBO))
            }
            Class::Schema => {
                let id = id_of_schema(&database, session.id, name.object());
                let id = id.ok_or_else(|| missing(class, name.object()))?;
                let object = database.catalog.by_id(id as u32, session.id);
                let object = object.filter(|object| matches!(object.definition, ObjectDefinition::Schema { .. }));
                let stored = object.as_deref().and_then(|object| match &object.definition {
                    ObjectDefinition::Schema { name, .. } => Some(name.clone()),
                    _ => None,
                });
                let stored = stored.unwrap_or_else(|| name.object().to_lowercase());
                let owner = SchemaOwners::of(&entries).owner(id);
                Ok(FoundSecurable {
                    object,
                    ..plain(Id::Schema(id as u32), stored, owner)
                })
            }
            Class::User | Class::Role => {
                let found = principal_named(&database, session.id, name.object());
                let found = found.filter(|found| found.is_role == (class == Class::Role));
                let found = found.ok_or_else(|| missing(class, name.object()))?;
                if found.is_fixed_role() {
                    // The SqlServerSimulator project has seen this of SQL Server 2025: it is looked for as an object.
                    return Err(missing(Class::Object, name.object()));
                }
                let owner = found.owner.unwrap_or(found.id);
                Ok(FoundSecurable {
                    object: found.stored.clone(),
                    ..plain(Id::Principal(found.id), found.name, owner)
                })
            }
            Class::Type | Class::XmlSchemaCollection => self.type_securable(&database, &entries, (class, name)),
        }
    }

    fn object_securable(&self, database: &Arc<Database>, entries: &Entries, name: &Name) -> Result<FoundSecurable> {
        let session = self.session;
        if let Some(view) = crate::views::find(name).or_else(|| crate::views::find_function(name)) {
            return Err(match view.schema {
                "INFORMATION_SCHEMA" => messages::permission_on_server_scoped(),
                _ => messages::not_supported("permissions on objects of the system"),
            });
        }
        let found = session.find_in_module(name)?;
        let Some((home, object)) = found else {
            return Err(missing(Class::Object, name.object()));
        };
        if !Arc::ptr_eq(&home, database) {
            return Err(match name.object().starts_with('#') {
                true => missing(Class::Object, name.object()),
                false => messages::permission_on_other_database(),
            });
        }
        let (schema, own_name) = object.definition.qualified_name().unwrap_or(("dbo", name.object()));
        let schema_id = id_of_schema(database, session.id, schema).unwrap_or(1);
        let id = Id::Object(object.definition.object_id());
        Ok(FoundSecurable {
            id,
            class: Class::Object,
            kind: type_code(&object.definition),
            schema: Some(schema.to_owned()),
            name: own_name.to_owned(),
            schema_id,
            owner: effective_owner(entries, id, schema_id),
            object: Some(object.clone()),
        })
    }

    fn type_securable(
        &self,
        database: &Arc<Database>,
        entries: &Entries,
        (class, name): (Class, &Name),
    ) -> Result<FoundSecurable> {
        let session = self.session;
        let schema = crate::state::schema_of(name);
        let found = match class {
            Class::Type => database.catalog.user_type(schema, name.object(), session.id),
            _ => database.xml_schema_collection(schema, name.object(), session.id),
        };
        let Some(object) = found else {
            let is_of_system = class == Class::Type && self.is_system_type(name);
            return Err(missing(if is_of_system { Class::Object } else { class }, name.object()));
        };
        let (schema, own_name, id) = match &object.definition {
            ObjectDefinition::XmlSchemaCollection(own) => (
                own.schema.clone(),
                own.name.clone(),
                Id::XmlSchemaCollection(own.collection_id),
            ),
            other => {
                let (schema, own_name, id) = other.type_name().ok_or_else(|| missing(class, name.object()))?;
                (schema.to_owned(), own_name.to_owned(), Id::Type(id))
            }
        };
        let schema_id = id_of_schema(database, session.id, &schema).unwrap_or(1);
        Ok(FoundSecurable {
            id,
            class,
            kind: "",
            schema: Some(schema),
            name: own_name,
            schema_id,
            owner: effective_owner(entries, id, schema_id),
            object: Some(object),
        })
    }

    /// Whether a name is that of a type of the system.
    pub(super) fn is_system_type(&self, name: &Name) -> bool {
        let is_in_sys = name.schema().is_none_or(|schema| schema.eq_ignore_ascii_case("sys"));
        is_in_sys
            && crate::parser::parse_data_type(name.object()).is_ok_and(|found| {
                let version = self.session.version();
                found.arguments.is_empty() && resolve(&found, TypePlace::Declaration, 0, version).is_ok()
            })
    }
}
