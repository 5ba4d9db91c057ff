//! Procedures, functions, views and triggers.

use super::{DataType, Expression, Identifier, Name, Query, Statement, TableElement};

/// Whether a module is created, altered, or either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefinitionKind {
    Create,
    Alter,
    CreateOrAlter,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Its name, with the `@`.
    pub name: String,
    pub data_type: DataType,
    /// `= value`.
    pub default: Option<Expression>,
    pub output: bool,
    /// `READONLY`.
    pub read_only: bool,
    /// `CURSOR VARYING OUTPUT`; then its type is of no meaning.
    pub is_cursor: bool,
}

/// `CREATE | ALTER PROCEDURE`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateProcedure {
    pub definition: DefinitionKind,
    pub name: Name,
    pub parameters: Vec<Parameter>,
    /// `WITH RECOMPILE, ...`: the options in upper case.
    pub options: Vec<String>,
    /// Its statements; lines count from the module's own text.
    pub body: Vec<Statement>,
    /// The whole batch as sent, for the catalog.
    pub text: String,
}

/// `CREATE | ALTER FUNCTION`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateFunction {
    pub definition: DefinitionKind,
    pub name: Name,
    pub parameters: Vec<Parameter>,
    /// What it returns, and its body.
    pub body: FunctionBody,
    /// `WITH SCHEMABINDING, ...`: the options in upper case.
    pub options: Vec<String>,
    /// The whole batch as sent, for the catalog.
    pub text: String,
}

/// What a function returns, and how.
#[derive(Debug, Clone, PartialEq)]
pub enum FunctionBody {
    /// `RETURNS type AS BEGIN ... END`.
    Scalar {
        returns: DataType,
        statements: Vec<Statement>,
    },
    /// `RETURNS TABLE AS RETURN (query)`.
    InlineTable(Box<Query>),
    /// `RETURNS @table TABLE (...) AS BEGIN ... END`.
    Table {
        /// The table variable, with its `@`.
        variable: String,
        elements: Vec<TableElement>,
        statements: Vec<Statement>,
    },
}

/// A change of rows that a trigger is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerEvent {
    Insert,
    Update,
    Delete,
}

/// `CREATE | ALTER TRIGGER ... ON table | view`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTrigger {
    pub definition: DefinitionKind,
    pub name: Name,
    /// The table or view.
    pub parent: Name,
    /// `WITH EXECUTE AS CALLER, ...`: the options in upper case.
    pub options: Vec<String>,
    /// `INSTEAD OF`, rather than `AFTER` or `FOR`.
    pub is_instead_of: bool,
    /// At least one.
    pub events: Vec<TriggerEvent>,
    /// `NOT FOR REPLICATION`.
    pub is_not_for_replication: bool,
    /// Its statements; lines count from the module's own text.
    pub body: Vec<Statement>,
    /// The whole batch as sent, for the catalog.
    pub text: String,
}

/// `CREATE | ALTER TRIGGER ... ON DATABASE`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateDatabaseTrigger {
    pub definition: DefinitionKind,
    pub name: Name,
    /// `WITH EXECUTE AS CALLER, ...`: the options in upper case.
    pub options: Vec<String>,
    /// Events and groups of events as written, at least one.
    pub events: Vec<Identifier>,
    /// Its statements; lines count from the module's own text.
    pub body: Vec<Statement>,
    /// The whole batch as sent, for the catalog.
    pub text: String,
}

/// `ENABLE | DISABLE TRIGGER ... ON table | DATABASE`, and the same of ALTER TABLE.
#[derive(Debug, Clone, PartialEq)]
pub struct SwitchTriggers {
    pub enable: bool,
    /// Empty for ALL.
    pub names: Vec<Name>,
    /// The table or view; `None` for DATABASE.
    pub parent: Option<Name>,
    /// Written as an ALTER TABLE.
    pub of_table: bool,
}

/// `CREATE | ALTER VIEW`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateView {
    pub definition: DefinitionKind,
    pub name: Name,
    /// Its columns, if listed.
    pub columns: Vec<Identifier>,
    /// `WITH SCHEMABINDING, ...`: the options in upper case.
    pub options: Vec<String>,
    pub query: Query,
    pub check_option: bool,
    /// The whole batch as sent, for the catalog.
    pub text: String,
}
