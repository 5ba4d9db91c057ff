//! Partition functions and schemes, and statements about partitions.

use super::{DataType, Expression, Identifier, Name};

/// What stands before the name of a partition function that is called: `$PARTITION.f(x)`.
pub const PARTITION_SCOPE: &str = "$PARTITION";

/// A statement about a partition function or scheme.
#[derive(Debug, Clone, PartialEq)]
pub enum PartitionStatement {
    /// `CREATE PARTITION FUNCTION name (type) AS RANGE [LEFT | RIGHT] FOR VALUES (values)`.
    CreateFunction {
        name: Identifier,
        /// The types of its parameters; one is allowed.
        types: Vec<DataType>,
        /// `COLLATE`.
        collation: Option<Identifier>,
        /// `RIGHT`.
        is_right: bool,
        values: Vec<Expression>,
    },
    /// `ALTER PARTITION FUNCTION name () SPLIT | MERGE RANGE (value)`.
    AlterFunction {
        name: Identifier,
        /// True for `SPLIT`.
        is_split: bool,
        value: Expression,
    },
    /// `DROP PARTITION FUNCTION name`.
    DropFunction(Identifier),
    /// `CREATE PARTITION SCHEME name AS PARTITION function [ALL] TO (filegroups)`.
    CreateScheme {
        name: Identifier,
        function: Identifier,
        /// `ALL`.
        is_all: bool,
        filegroups: Vec<Identifier>,
    },
    /// `ALTER PARTITION SCHEME name NEXT USED [filegroup]`.
    AlterScheme {
        name: Identifier,
        next_used: Option<Identifier>,
    },
    /// `DROP PARTITION SCHEME name`.
    DropScheme(Identifier),
}

impl PartitionStatement {
    /// SQL Server's name of the statement.
    pub fn name(&self) -> &'static str {
        match self {
            PartitionStatement::CreateFunction { .. } => "CREATE PARTITION FUNCTION",
            PartitionStatement::AlterFunction { .. } => "ALTER PARTITION FUNCTION",
            PartitionStatement::DropFunction(_) => "DROP PARTITION FUNCTION",
            PartitionStatement::CreateScheme { .. } => "CREATE PARTITION SCHEME",
            PartitionStatement::AlterScheme { .. } => "ALTER PARTITION SCHEME",
            PartitionStatement::DropScheme(_) => "DROP PARTITION SCHEME",
        }
    }
}

/// `TRUNCATE TABLE name [WITH (PARTITIONS (n, n TO m))]`.
#[derive(Debug, Clone, PartialEq)]
pub struct TruncateTable {
    pub name: Name,
    /// Single partitions and ranges of them; empty for the whole table.
    pub partitions: Vec<(Expression, Option<Expression>)>,
}

/// `SWITCH [PARTITION n] TO table [PARTITION m]` of ALTER TABLE.
#[derive(Debug, Clone, PartialEq)]
pub struct SwitchPartition {
    /// The partition that is switched out.
    pub partition: Option<Expression>,
    pub target: Name,
    /// The partition that is switched in.
    pub target_partition: Option<Expression>,
}
