//! Computed columns in plans.

use super::Expr;

/// A computed column that is not stored: it is computed when read.
#[derive(Clone, Debug)]
pub struct VirtualColumn {
    /// Its place in the table.
    pub column: usize,
    /// What computes it from the columns of its table: their places are those in the table.
    pub expression: Expr,
}

/// What computes a column of a target.
#[derive(Clone, Debug)]
pub struct ComputedTarget {
    /// Over a row of the target's columns.
    pub expression: Expr,
    /// Whether rows have its values.
    pub is_stored: bool,
}
