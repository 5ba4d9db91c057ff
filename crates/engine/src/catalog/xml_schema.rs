//! XML schema collections: the texts of their schemas. Schemas are not compiled, and values are not validated against them.

use serde::{Deserialize, Serialize};

use super::definition::ColumnDefinition;
use crate::types::{SqlType, XML_TYPE_ID};

/// CREATE XML SCHEMA COLLECTION.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct XmlSchemaCollection {
    /// The catalog row's id.
    pub object_id: u32,
    /// `xml_collection_id` of `sys.xml_schema_collections`: [`XML_COLLECTION_ID_FIRST`] and above.
    pub collection_id: u32,
    /// Schema name as declared.
    pub schema: String,
    /// Its name as declared.
    pub name: String,
    /// What CREATE and each ALTER ADD gave it.
    pub texts: Vec<String>,
    /// Days and ticks of creation, and of the last change.
    pub created: (i32, u32),
    pub modified: (i32, u32),
}

/// The first id of a collection that a user makes (sql-docs, "sys.xml_schema_collections": 1 is the system's own).
pub const XML_COLLECTION_ID_FIRST: u32 = 65_536;

/// Added to the id of the schema collection of a column of xml.
pub const XML_COLLECTION: u32 = 1 << 30;

/// Whether what is stored in the place of an alias type says that a column is xml.
pub(super) fn is_xml(alias_type: Option<u32>) -> bool {
    alias_type == Some(u32::from(XML_TYPE_ID)) || alias_type.is_some_and(|id| id >= XML_COLLECTION)
}

/// What is stored in that place of a column that is xml and was not declared so: one of SELECT INTO, a computed one.
pub(super) fn stored_xml(sql_type: SqlType) -> Option<u32> {
    (sql_type == SqlType::XML).then_some(u32::from(XML_TYPE_ID))
}

impl ColumnDefinition {
    /// Whether it is `xml`, with or without a schema collection.
    pub fn is_xml(&self) -> bool {
        self.sql_type == SqlType::XML
    }

    /// The id of its schema collection.
    pub fn xml_collection(&self) -> Option<u32> {
        self.alias_type?.checked_sub(XML_COLLECTION)
    }

    /// `user_type_id`, where it is not that of the type it is kept as.
    pub fn user_type_id(&self) -> Option<u32> {
        match self.is_xml() {
            true => Some(u32::from(XML_TYPE_ID)),
            false => self.alias_type,
        }
    }
}
