//! CREATE TYPE ... FROM and DROP TYPE: other names for types, and columns declared by them.
//!
//! A column declared by an alias type is of the base type in every way; the catalog remembers the alias beside it, for
//! `sys.columns`. Table types are refused.

use engine::catalog::{AliasType, ObjectDefinition};
use engine::error::{Error, Result};
use engine::types::SqlType;

use super::executor::Executor;
use crate::ast::{CreateType, DataType, Name, TypeDefinition};
use crate::messages;
use crate::scalar::data_type::{TypePlace, resolve};
use crate::state::SessionState;

/// What a column was declared with.
pub(super) struct DeclaredType {
    pub(super) sql_type: SqlType,
    /// Set when an alias type was named.
    pub(super) alias: Option<AliasType>,
}

/// 2715: there is no type of that name.
const UNKNOWN_TYPE: i32 = 2715;

impl SessionState {
    /// The type a column is declared with: a system type, or an alias type of the current database.
    ///
    /// # Errors
    /// Those of [`resolve`].
    pub(super) fn declared_type(&self, data_type: &DataType, ordinal: usize) -> Result<DeclaredType> {
        let unknown = match resolve(data_type, TypePlace::Declaration, ordinal) {
            Ok(sql_type) => return Ok(DeclaredType { sql_type, alias: None }),
            Err(error) if error.number == UNKNOWN_TYPE && data_type.arguments.is_empty() => error,
            Err(error) => return Err(error),
        };
        let alias = self.alias_type(&data_type.name).ok_or(unknown)?;
        Ok(DeclaredType {
            sql_type: alias.base,
            alias: Some(alias),
        })
    }

    fn alias_type(&self, name: &Name) -> Option<AliasType> {
        let schema = name.schema().unwrap_or("dbo").to_lowercase();
        let wanted = name.object().to_lowercase();
        let types = self.database().catalog.alias_types(self.id).into_iter();
        let mut named = types.filter(|alias| alias.name.to_lowercase() == wanted);
        named.find(|alias| alias.schema.to_lowercase() == schema)
    }
}

impl Executor<'_> {
    /// CREATE TYPE name FROM type. Nullability that is not said is NULL (SQL Server docs, CREATE TYPE).
    pub(super) fn create_type(&mut self, create: &CreateType) -> Result<()> {
        let TypeDefinition::Alias { data_type, nullable } = &create.definition else {
            return Err(crate::bind::not_supported("CREATE TYPE AS TABLE"));
        };
        let base = resolve(data_type, TypePlace::Declaration, 1)?;
        let alias = AliasType {
            object_id: 0,
            user_type_id: 0,
            schema: create.name.schema().unwrap_or("dbo").to_owned(),
            name: create.name.object().to_owned(),
            base,
            nullable: nullable.unwrap_or(true),
        };
        let database = self.session.database();
        let mut engine = self.session.engine.borrow_mut();
        engine.create_alias_type(&database, alias).map(|_| ())
    }

    /// DROP TYPE. Errors: 218 when there is none of that name, 3732 when a column is declared by it.
    pub(super) fn drop_type(&mut self, name: &Name, if_exists: bool) -> Result<()> {
        let Some(alias) = self.session.alias_type(name) else {
            return if if_exists {
                Ok(())
            } else {
                Err(messages::no_such_type(&name.to_string()))
            };
        };
        let database = self.session.database();
        let object = database
            .catalog
            .by_id(alias.object_id, self.session.id)
            .ok_or_else(|| Error::assertion("a type that is not in the catalog"))?;
        self.session.engine.borrow().lock_definition(&database, &object)?;
        for object in database.catalog.objects(self.session.id) {
            if let ObjectDefinition::Table(table) = &object.definition
                && table
                    .columns
                    .iter()
                    .any(|column| column.alias_type == Some(alias.user_type_id))
            {
                return Err(messages::type_in_use(&name.to_string(), &table.name));
            }
        }
        self.session.engine.borrow_mut().drop_object(&database, &object)
    }
}
