//! User-defined types: the alias types and table types of one database.
//!
//! A text is parsed with the current meaning of its types. So a module keeps the ids of its types, and none of them can be dropped while
//! the module exists (3732). A text outside a module that uses such a type is parsed again each time it is sent.

use std::sync::Arc;

use engine::catalog::{AliasType, ObjectDefinition};
use engine::database::Database;
use engine::error::Result;
use engine::types::SqlType;
use vlf::ServerVersion;

use super::variables::{TableTypeId, TableVariableShape};
use crate::ast::{DataType, Name, TypeArgument};
use crate::messages;
use crate::scalar::data_type::{TypePlace, resolve};
use crate::scalar::xml::XmlCollectionName;

/// 2715: there is no type of that name.
const UNKNOWN_TYPE: i32 = 2715;

/// What a variable or parameter is declared as.
pub(crate) enum Declared {
    Scalar(SqlType),
    /// A table type; the shape has its name in place of a variable's.
    Table(Arc<TableVariableShape>),
}

/// 1710 for an alias type that something is bound to, which no column of a table variable is declared by.
pub(crate) fn require_unbound(alias: &AliasType) -> Result<()> {
    let kind = match (&alias.bound.default, &alias.bound.rule) {
        (_, Some(_)) => "rule",
        (Some(_), None) => "default",
        (None, None) => return Ok(()),
    };
    Err(messages::bound_type_in_variable(&alias.name, kind))
}

/// The name of the schema collection in `xml (collection)`.
fn written_collection(data_type: &DataType) -> Option<&Name> {
    match data_type.arguments.as_slice() {
        [
            TypeArgument::Collection {
                name,
                is_document: false,
            },
        ] => Some(name),
        _ => None,
    }
}

/// The types of a database, as a session sees them.
#[derive(Clone, Copy)]
pub(crate) struct UserTypes<'d> {
    place: Option<(&'d Database, u16)>,
    version: ServerVersion,
}

impl<'d> UserTypes<'d> {
    /// Those of a database, and the system's types of a version of SQL Server.
    pub(crate) fn of(database: &'d Database, session: u16, version: ServerVersion) -> UserTypes<'d> {
        UserTypes {
            place: Some((database, session)),
            version,
        }
    }

    /// The system's types alone, those of every version.
    pub(crate) fn none() -> UserTypes<'static> {
        UserTypes {
            place: None,
            version: ServerVersion::V2025,
        }
    }

    /// What a written type means, with the id of the catalog's object if it is not a system type; `ordinal` is the number of the
    /// variable or parameter, for the error.
    ///
    /// # Errors
    /// Those of [`resolve`].
    pub(crate) fn declared(&self, data_type: &DataType, ordinal: usize) -> Result<(Declared, Option<u32>)> {
        if let Some(name) = written_collection(data_type) {
            return match self.xml_collection(data_type) {
                Some(_) => Ok((Declared::Scalar(SqlType::XML), None)),
                None => Err(messages::no_collection(&name.to_string())),
            };
        }
        let unknown = match resolve(data_type, TypePlace::Declaration, ordinal, self.version) {
            Ok(sql_type) => return Ok((Declared::Scalar(sql_type), None)),
            Err(error) if error.number == UNKNOWN_TYPE && data_type.arguments.is_empty() => error,
            Err(error) => return Err(error),
        };
        let Some((database, session)) = self.place.filter(|_| data_type.name.parts.len() <= 2) else {
            return Err(unknown);
        };
        let (schema, name) = (data_type.name.schema().unwrap_or("dbo"), data_type.name.object());
        let found = database.catalog.user_type(schema, name, session).ok_or(unknown)?;
        let declared = match &found.definition {
            ObjectDefinition::TableType(own) => {
                let id = TableTypeId {
                    database: database.id,
                    object: own.table.object_id,
                    name: own.table.name.clone(),
                };
                Declared::Table(Arc::new(TableVariableShape::of_type(&own.table, id)))
            }
            ObjectDefinition::AliasType(alias) => Declared::Scalar(alias.base),
            _ => return Err(messages::unknown_type(ordinal, name)),
        };
        Ok((declared, Some(found.definition.object_id())))
    }

    /// The schema collection that a type is written with, if it is there.
    pub(crate) fn xml_collection(&self, data_type: &DataType) -> Option<Arc<XmlCollectionName>> {
        let (name, (database, session)) = (written_collection(data_type)?, self.place?);
        let found = database.xml_schema_collection(name.schema().unwrap_or("dbo"), name.object(), session)?;
        match &found.definition {
            ObjectDefinition::XmlSchemaCollection(own) => Some(Arc::new(XmlCollectionName {
                database: database.name(),
                schema: own.schema.clone(),
                name: own.name.clone(),
            })),
            _ => None,
        }
    }

    /// The type that a column of a table variable is declared with.
    ///
    /// # Errors
    /// Those of [`UserTypes::scalar`]; 1710 for an alias type that something is bound to.
    pub(crate) fn of_column(&self, data_type: &DataType, ordinal: usize) -> Result<(SqlType, Option<u32>)> {
        let declared = self.scalar(data_type, ordinal)?;
        let object = self.place.zip(declared.1);
        let object = object.and_then(|((database, session), id)| database.catalog.by_id(id, session));
        match object.as_deref().map(|object| &object.definition) {
            Some(ObjectDefinition::AliasType(alias)) => require_unbound(alias).map(|()| declared),
            _ => Ok(declared),
        }
    }

    /// The type that a value is declared with.
    ///
    /// # Errors
    /// Those of [`UserTypes::declared`]; 2715 for a table type, which no value has.
    pub(crate) fn scalar(&self, data_type: &DataType, ordinal: usize) -> Result<(SqlType, Option<u32>)> {
        match self.declared(data_type, ordinal)? {
            (Declared::Scalar(sql_type), id) => Ok((sql_type, id)),
            (Declared::Table(_), _) => Err(messages::unknown_type(ordinal, data_type.name.object())),
        }
    }
}
