//! CREATE, UPDATE and DROP STATISTICS.

use super::{Identifier, IndexFilter, Name, OptionValue};

/// `CREATE STATISTICS name ON table (columns) [WHERE filter] [WITH options]`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateStatistics {
    pub name: Identifier,
    pub table: Name,
    pub columns: Vec<Identifier>,
    /// `WHERE ...`
    pub filter: Option<IndexFilter>,
    /// `WITH ...`; SAMPLE has its number as value and PERCENT or ROWS as argument.
    pub options: Vec<OptionValue>,
}

/// `UPDATE STATISTICS table [name | (names)] [WITH options]`.
#[derive(Debug, Clone, PartialEq)]
pub struct UpdateStatistics {
    pub table: Name,
    /// Of these statistics; all of the table's when there are none.
    pub names: Vec<Identifier>,
    /// `WITH ...`, as for CREATE STATISTICS.
    pub options: Vec<OptionValue>,
}
