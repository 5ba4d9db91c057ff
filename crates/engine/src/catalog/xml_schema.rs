//! XML schema collections: the texts of their schemas. No schema is compiled, and no value is validated against one.

use serde::{Deserialize, Serialize};

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
