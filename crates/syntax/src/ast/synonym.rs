//! Synonyms.

use super::Name;

/// `CREATE SYNONYM name FOR base`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateSynonym {
    pub name: Name,
    /// What it stands for, of one to four parts. It need not be there.
    pub base: Name,
}
