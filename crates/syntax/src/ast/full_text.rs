//! Statements of full-text search.

/// A statement that defines what full-text search searches. None is carried out: the component is not installed (7609).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FullText {
    /// `CREATE FULLTEXT CATALOG`.
    CreateCatalog,
    /// `CREATE FULLTEXT INDEX`.
    CreateIndex,
    /// `DROP FULLTEXT CATALOG`.
    DropCatalog,
    /// `DROP FULLTEXT INDEX`.
    DropIndex,
}

impl FullText {
    /// The words that it begins with.
    pub fn name(self) -> &'static str {
        match self {
            FullText::CreateCatalog => "CREATE FULLTEXT CATALOG",
            FullText::CreateIndex => "CREATE FULLTEXT INDEX",
            FullText::DropCatalog => "DROP FULLTEXT CATALOG",
            FullText::DropIndex => "DROP FULLTEXT INDEX",
        }
    }
}
