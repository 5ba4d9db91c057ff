//! CREATE and ALTER XML SCHEMA COLLECTION.

use super::{DefinitionKind, Expression, Name};

/// `CREATE XML SCHEMA COLLECTION name AS text`, `ALTER XML SCHEMA COLLECTION name ADD text`.
#[derive(Debug, Clone, PartialEq)]
pub struct XmlSchemaText {
    /// Never both of them in one.
    pub definition: DefinitionKind,
    pub name: Name,
    /// A constant or a variable.
    pub text: Expression,
}
