//! CREATE, UPDATE and DROP STATISTICS.

use super::{Expression, Identifier, Name, OptionValue};

/// `CREATE STATISTICS name ON table (columns) [WHERE filter] [WITH options]`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateStatistics {
    /// Their name.
    pub name: Identifier,
    /// The table.
    pub table: Name,
    /// Its columns.
    pub columns: Vec<Identifier>,
    /// `WHERE ...`
    pub filter: Option<Expression>,
    /// `WITH ...`; SAMPLE has its number as value and PERCENT or ROWS as argument.
    pub options: Vec<OptionValue>,
}

/// `UPDATE STATISTICS table [name | (names)] [WITH options]`.
#[derive(Debug, Clone, PartialEq)]
pub struct UpdateStatistics {
    /// The table.
    pub table: Name,
    /// Of these statistics; all of the table's when there are none.
    pub names: Vec<Identifier>,
    /// `WITH ...`, as for CREATE STATISTICS.
    pub options: Vec<OptionValue>,
}
