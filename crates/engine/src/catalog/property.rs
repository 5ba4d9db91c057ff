//! Extended properties: named values that users attach to a database or to something in it (sp_addextendedproperty).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::TableDefinition;
use crate::types::{Value, Variant};

/// What a property belongs to, by the classes and ids of `sys.extended_properties` (sql-docs).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PropertyOwner {
    /// Class 0.
    Database,
    /// Class 1 with the minor id 0: a table, module or constraint.
    Object(u32),
    /// Class 1: a column, by its number from 1.
    Column(u32, u32),
    /// Class 3.
    Schema(u32),
    /// Class 7: an index, by its number.
    Index(u32, u32),
    /// Class 6: an alias or table type, by its `user_type_id`.
    Type(u32),
}

impl PropertyOwner {
    /// `class`, `class_desc`, `major_id` and `minor_id`.
    pub fn numbers(self) -> (u8, &'static str, u32, u32) {
        match self {
            PropertyOwner::Database => (0, "DATABASE", 0, 0),
            PropertyOwner::Object(object) => (1, "OBJECT_OR_COLUMN", object, 0),
            PropertyOwner::Column(object, column) => (1, "OBJECT_OR_COLUMN", object, column),
            PropertyOwner::Schema(schema) => (3, "SCHEMA", schema, 0),
            PropertyOwner::Type(user_type) => (6, "TYPE", user_type, 0),
            PropertyOwner::Index(object, index) => (7, "INDEX", object, index),
        }
    }

    /// What the owner is once `table` has taken the place of `before`: itself, a column with another number, or gone.
    pub(crate) fn after(self, before: &TableDefinition, table: &TableDefinition) -> Option<PropertyOwner> {
        let id = before.object_id;
        match self {
            PropertyOwner::Column(object, number) if object == id && table.columns.len() < before.columns.len() => {
                let column = before.columns.get(number as usize - 1)?;
                let place = table.columns.iter().position(|kept| kept.name == column.name)?;
                Some(PropertyOwner::Column(id, place as u32 + 1))
            }
            PropertyOwner::Index(object, number) if object == id => {
                let mut kept = table.every_index();
                kept.any(|index| index.index_id == number).then_some(self)
            }
            PropertyOwner::Object(constraint) if has_constraint(before, constraint) => {
                has_constraint(table, constraint).then_some(self)
            }
            _ => Some(self),
        }
    }

    /// Whether the owner goes with a table.
    pub(crate) fn is_of_table(self, table: &TableDefinition) -> bool {
        match self {
            PropertyOwner::Object(object) => object == table.object_id || has_constraint(table, object),
            other => other.is_of(table.object_id),
        }
    }

    /// Whether the owner is an object of that id, or a part of one.
    pub(crate) fn is_of(self, id: u32) -> bool {
        match self {
            PropertyOwner::Object(object)
            | PropertyOwner::Column(object, _)
            | PropertyOwner::Index(object, _)
            | PropertyOwner::Schema(object) => object == id,
            PropertyOwner::Type(_) | PropertyOwner::Database => false,
        }
    }
}

fn has_constraint(table: &TableDefinition, id: u32) -> bool {
    table.constraint_ids().any(|constraint| constraint == id)
}

/// A named value of something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "StoredProperty", try_from = "StoredProperty")]
pub struct ExtendedProperty {
    /// The catalog row's id.
    pub object_id: u32,
    pub owner: PropertyOwner,
    /// Unique for its owner.
    pub name: String,
    /// A `sql_variant`, or NULL.
    pub value: Value,
}

#[derive(Clone, Serialize, Deserialize)]
struct StoredProperty {
    object_id: u32,
    owner: PropertyOwner,
    name: String,
    /// The bytes of a variant, two hexadecimal digits each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<String>,
}

impl From<ExtendedProperty> for StoredProperty {
    fn from(property: ExtendedProperty) -> StoredProperty {
        let value = match &property.value {
            Value::Variant(variant) => Some(hexadecimal(&variant.to_bytes())),
            _ => None,
        };
        StoredProperty {
            object_id: property.object_id,
            owner: property.owner,
            name: property.name,
            value,
        }
    }
}

impl TryFrom<StoredProperty> for ExtendedProperty {
    type Error = String;

    fn try_from(stored: StoredProperty) -> Result<ExtendedProperty, String> {
        let damaged = || format!("the value of property {} is none", stored.name);
        let value = match &stored.value {
            None => Value::Null,
            Some(digits) => {
                let bytes = bytes_of(digits).ok_or_else(damaged)?;
                Value::Variant(Arc::new(Variant::from_bytes(&bytes).map_err(|_| damaged())?))
            }
        };
        Ok(ExtendedProperty {
            value,
            object_id: stored.object_id,
            owner: stored.owner,
            name: stored.name,
        })
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    let number = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.map(|pair| number(pair).filter(|_| pair.len() == 2)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::types::{Length, SqlType};

    #[test]
    fn a_property_survives_its_stored_form_and_a_value_that_is_none_is_refused() {
        let property = ExtendedProperty {
            object_id: 9,
            owner: PropertyOwner::Column(7, 2),
            name: "MS_Description".into(),
            value: Value::Variant(Arc::new(Variant {
                sql_type: SqlType::NVarChar(Length::Limited(20)),
                value: "t\u{e9} \u{4e2d}".into(),
            })),
        };
        let text = serde_json::to_string(&property).unwrap();
        assert_eq!(serde_json::from_str::<ExtendedProperty>(&text).unwrap(), property);
        let nothing = ExtendedProperty {
            value: Value::Null,
            ..property
        };
        let text_of_null = serde_json::to_string(&nothing).unwrap();
        assert_eq!(
            serde_json::from_str::<ExtendedProperty>(&text_of_null).unwrap(),
            nothing
        );
        assert!(serde_json::from_str::<ExtendedProperty>(&text.replace("e7", "e")).is_err());
    }
}
