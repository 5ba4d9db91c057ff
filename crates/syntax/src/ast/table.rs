//! CREATE TABLE, ALTER TABLE, indexes, schemas, types and DROP.

use super::{DataType, Expression, Identifier, Name, OptionValue, Statement, SwitchPartition};

#[derive(Debug, Clone, PartialEq)]
pub struct CreateTable {
    pub name: Name,
    /// Columns and constraints in order.
    pub elements: Vec<TableElement>,
    /// `ON`.
    pub data_space: Option<DataSpace>,
    /// `TEXTIMAGE_ON filegroup`.
    pub text_filegroup: Option<Identifier>,
    /// `WITH (...)`.
    pub options: Vec<OptionValue>,
}

/// `ON filegroup`, or `ON scheme (column)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataSpace {
    /// A filegroup or a partition scheme.
    pub name: Identifier,
    /// What decides the partition of a row; `None` for a filegroup.
    pub column: Option<Identifier>,
}

/// One element of a table's definition.
#[derive(Debug, Clone, PartialEq)]
pub enum TableElement {
    Column(ColumnDefinition),
    Constraint(TableConstraint),
    /// `INDEX name ...` inside the parentheses.
    Index(InlineIndex),
    /// `PERIOD FOR SYSTEM_TIME (start, end)`.
    Period(Period),
}

/// `PERIOD FOR SYSTEM_TIME (start, end)`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Period {
    /// Line of its first word.
    pub line: u32,
    pub start: Identifier,
    pub end: Identifier,
}

/// `GENERATED ALWAYS AS ROW START | END [HIDDEN]`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GeneratedAlways {
    /// True for `START`.
    pub is_start: bool,
    /// `HIDDEN`.
    pub is_hidden: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDefinition {
    /// Line of its name.
    pub line: u32,
    pub name: Identifier,
    /// Its type; `None` for computed columns. That of a column written as `timestamp` alone is timestamp, too.
    pub data_type: Option<DataType>,
    /// `AS expression`.
    pub computed: Option<Box<ComputedDefinition>>,
    /// `COLLATE`.
    pub collation: Option<Identifier>,
    /// `NULL` (true), `NOT NULL` (false), or neither.
    pub nullable: Option<bool>,
    /// `IDENTITY (seed, increment)`.
    pub identity: Option<IdentityDefinition>,
    /// `ROWGUIDCOL`.
    pub row_guid: bool,
    pub sparse: bool,
    /// `GENERATED ALWAYS AS ROW ...`.
    pub generated: Option<GeneratedAlways>,
    /// `MASKED WITH (FUNCTION = 'function')`.
    pub mask: Option<String>,
    /// `DEFAULT expression`.
    pub default: Option<DefaultDefinition>,
    /// Constraints written with the column; those that list columns have an empty list, meaning this column.
    pub constraints: Vec<TableConstraint>,
    /// `INDEX name` written with the column, until it is an element of the table.
    pub index: Option<Box<InlineIndex>>,
}

/// `AS expression [PERSISTED]`
#[derive(Debug, Clone, PartialEq)]
pub struct ComputedDefinition {
    pub expression: Expression,
    /// The expression as written, for the catalog.
    pub text: String,
    pub persisted: bool,
}

/// `IDENTITY (seed, increment)`, both 1 if not written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityDefinition {
    /// The first value.
    pub seed: i128,
    /// The step, not zero.
    pub increment: i128,
    pub not_for_replication: bool,
}

/// `[CONSTRAINT name] DEFAULT expression`.
#[derive(Debug, Clone, PartialEq)]
pub struct DefaultDefinition {
    pub name: Option<Identifier>,
    pub expression: Expression,
    /// The expression as written, for the catalog.
    pub text: String,
    /// `WITH VALUES`: rows that are there get the default in the column that is added.
    pub with_values: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TableConstraint {
    /// Line of its first word.
    pub line: u32,
    /// `CONSTRAINT name`.
    pub name: Option<Identifier>,
    pub kind: ConstraintKind,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ConstraintKind {
    /// `PRIMARY KEY` and `UNIQUE`.
    Key(KeyConstraint),
    ForeignKey(ForeignKey),
    /// `CHECK (condition)`.
    Check {
        condition: Expression,
        /// The condition as written, for the catalog.
        text: String,
        not_for_replication: bool,
    },
    /// `DEFAULT expression FOR column` (ALTER TABLE ADD only).
    Default {
        definition: DefaultDefinition,
        column: Identifier,
    },
}

/// `PRIMARY KEY` or `UNIQUE`.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyConstraint {
    /// True for `PRIMARY KEY`.
    pub primary: bool,
    /// `CLUSTERED` (true), `NONCLUSTERED` (false), or neither.
    pub clustered: Option<bool>,
    /// Its columns; empty on a column constraint.
    pub columns: Vec<IndexColumn>,
    /// `WITH (...)`.
    pub options: Vec<OptionValue>,
    /// `ON`.
    pub data_space: Option<DataSpace>,
}

/// `FOREIGN KEY (columns) REFERENCES table (columns)`.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignKey {
    /// The referencing columns; empty on a column constraint.
    pub columns: Vec<Identifier>,
    pub table: Name,
    /// The referenced columns; empty for its primary key.
    pub referenced_columns: Vec<Identifier>,
    pub on_delete: ReferentialAction,
    pub on_update: ReferentialAction,
    pub not_for_replication: bool,
}

/// What follows a change of the referenced row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReferentialAction {
    #[default]
    NoAction,
    Cascade,
    SetNull,
    SetDefault,
}

/// A key column of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexColumn {
    pub name: Identifier,
    /// `DESC`.
    pub descending: bool,
}

/// `INDEX name [UNIQUE] [CLUSTERED] (columns)` inside CREATE TABLE.
#[derive(Debug, Clone, PartialEq)]
pub struct InlineIndex {
    pub name: Identifier,
    pub unique: bool,
    /// `CLUSTERED` (true), `NONCLUSTERED` (false), or neither.
    pub clustered: Option<bool>,
    /// Its columns; empty if written with a column.
    pub columns: Vec<IndexColumn>,
    /// `INCLUDE`.
    pub included_columns: Vec<Identifier>,
    /// `WHERE`.
    pub filter: Option<IndexFilter>,
    /// `WITH (...)`.
    pub options: Vec<OptionValue>,
    /// `ON`.
    pub data_space: Option<DataSpace>,
}

/// `WHERE condition` of an index.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexFilter {
    pub condition: Expression,
    /// The condition as written, for the catalog.
    pub text: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AlterTable {
    pub name: Name,
    pub action: AlterTableAction,
}

/// The change an ALTER TABLE makes.
#[derive(Debug, Clone, PartialEq)]
pub enum AlterTableAction {
    /// `[WITH CHECK | NOCHECK] ADD ...`.
    Add {
        /// `WITH NOCHECK` is `Some(false)`.
        check: Option<bool>,
        elements: Vec<TableElement>,
    },
    /// `DROP [COLUMN | CONSTRAINT] ...`.
    Drop(Vec<AlterTableDrop>),
    /// `ALTER COLUMN name type [COLLATE] [NULL | NOT NULL]`.
    AlterColumn {
        name: Identifier,
        /// The new type.
        data_type: DataType,
        /// The new collation.
        collation: Option<Identifier>,
        /// `MASKED WITH (FUNCTION = 'function')`.
        mask: Option<String>,
        /// `NULL` (true), `NOT NULL` (false), or neither.
        nullable: Option<bool>,
    },
    /// `ALTER COLUMN name ADD MASKED WITH (FUNCTION = 'function') | DROP MASKED`.
    Mask {
        name: Identifier,
        /// `None` for `DROP`.
        function: Option<String>,
    },
    /// `ALTER COLUMN name ADD | DROP HIDDEN`.
    Hide {
        name: Identifier,
        /// True for `ADD`.
        is_hidden: bool,
    },
    /// `DROP PERIOD FOR SYSTEM_TIME`.
    DropPeriod,
    /// `[WITH CHECK | NOCHECK] CHECK | NOCHECK CONSTRAINT ALL | names`.
    CheckConstraint {
        /// `WITH CHECK | NOCHECK`.
        check_existing: Option<bool>,
        /// True for `CHECK`.
        enable: bool,
        /// The names; empty for `ALL`.
        names: Vec<Identifier>,
    },
    /// `REBUILD [PARTITION = ...] [WITH (...)]`.
    Rebuild {
        /// The number of the only partition that is meant.
        partition: Option<Expression>,
        options: Vec<OptionValue>,
    },
    /// `SET (...)`.
    Set(Vec<OptionValue>),
    /// `SWITCH ...`.
    Switch(Box<SwitchPartition>),
}

/// One thing ALTER TABLE drops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlterTableDrop {
    /// True for `COLUMN`, false for a constraint.
    pub column: bool,
    pub if_exists: bool,
    pub name: Identifier,
}

/// `CREATE [UNIQUE] [CLUSTERED | NONCLUSTERED] INDEX`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateIndex {
    pub name: Identifier,
    pub unique: bool,
    pub clustered: bool,
    pub table: Name,
    pub columns: Vec<IndexColumn>,
    /// `INCLUDE`.
    pub included_columns: Vec<Identifier>,
    /// `WHERE`.
    pub filter: Option<IndexFilter>,
    /// `WITH (...)`.
    pub options: Vec<OptionValue>,
    /// `ON`.
    pub data_space: Option<DataSpace>,
}

/// `ALTER INDEX name | ALL ON table REBUILD | REORGANIZE | DISABLE | SET (...)`.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterIndex {
    /// The index; `None` for `ALL`.
    pub name: Option<Identifier>,
    pub table: Name,
    pub action: AlterIndexAction,
    /// `PARTITION = number` of REBUILD and REORGANIZE: the only partition that is meant.
    pub partition: Option<Expression>,
    /// `WITH (...)` or `SET (...)`.
    pub options: Vec<OptionValue>,
}

/// What ALTER INDEX does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlterIndexAction {
    Rebuild,
    Reorganize,
    Disable,
    /// `SET (...)`
    Set,
}

/// `DROP INDEX [IF EXISTS] index ON table, ...`, also the old `table.index`.
#[derive(Debug, Clone, PartialEq)]
pub struct DropIndex {
    pub if_exists: bool,
    /// Each index with its table.
    pub indexes: Vec<(Identifier, Name)>,
}

/// `DROP kind [IF EXISTS] name, ...`.
#[derive(Debug, Clone, PartialEq)]
pub struct Drop {
    pub kind: ObjectKind,
    pub if_exists: bool,
    /// The names, at least one.
    pub names: Vec<Name>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectKind {
    Table,
    View,
    Procedure,
    Function,
    Trigger,
    /// `DROP TRIGGER ... ON DATABASE`.
    DatabaseTrigger,
    Sequence,
    Synonym,
    /// A default of its own.
    Default,
    Rule,
    XmlSchemaCollection,
    Schema,
    Type,
    Database,
}

/// `CREATE SCHEMA name [AUTHORIZATION owner] [elements]`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateSchema {
    pub name: Identifier,
    pub owner: Option<Identifier>,
    /// What is made in it, in an order in which it can be made: tables, foreign keys between them, views, permissions. Names without a
    /// schema have this one.
    pub elements: Vec<Statement>,
}

/// `ALTER SCHEMA schema TRANSFER [OBJECT::]name`.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterSchema {
    /// Where it goes.
    pub schema: Identifier,
    /// What goes there.
    pub name: Name,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CreateType {
    pub name: Name,
    /// What it stands for.
    pub definition: TypeDefinition,
}

/// What a user-defined type stands for.
#[derive(Debug, Clone, PartialEq)]
pub enum TypeDefinition {
    /// `FROM type [NULL | NOT NULL]`.
    Alias {
        data_type: DataType,
        /// `NULL` (true), `NOT NULL` (false), or neither.
        nullable: Option<bool>,
    },
    /// `AS TABLE (...)`.
    Table(Vec<TableElement>),
}
