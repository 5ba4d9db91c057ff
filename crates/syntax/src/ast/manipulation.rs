//! INSERT, UPDATE, DELETE, MERGE and bulk loads.

use super::{
    AssignmentOperator, ColumnDefinition, CommonTableExpression, Execute, Expression, Identifier, Name, NodeNumber,
    OptionValue, Query, QueryHint, SelectItem, TableHint, TableSource, Top,
};

/// What a statement changes.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// A table, a view, or in UPDATE and DELETE an alias of FROM.
    Table(Name),
    /// A table variable, with its `@`.
    Variable(String),
}

/// `OUTPUT items [INTO target (columns) [OUTPUT items]]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// The items, over `inserted` and `deleted`.
    pub items: Vec<SelectItem>,
    /// `INTO`; without it the rows go to the client.
    pub into: Option<Target>,
    /// The columns of INTO.
    pub columns: Vec<Identifier>,
    /// The items of a second OUTPUT behind INTO, which go to the client; empty without it.
    pub shown: Vec<SelectItem>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    pub number: NodeNumber,
    /// `WITH name AS (...)`.
    pub common_table_expressions: Vec<CommonTableExpression>,
    pub top: Option<Top>,
    pub target: Target,
    /// `WITH (...)`.
    pub hints: Vec<TableHint>,
    /// The columns, if listed.
    pub columns: Vec<Identifier>,
    pub output: Option<Output>,
    /// Where the rows come from.
    pub source: InsertSource,
    /// `OPTION (...)` after VALUES or EXEC; a query holds its own.
    pub query_hints: Vec<QueryHint>,
}

/// Where inserted rows come from.
#[derive(Debug, Clone, PartialEq)]
pub enum InsertSource {
    /// `VALUES (...), (...)`: 1 to 1000 rows. `DEFAULT` comes as [`super::Literal::Default`].
    Values(Vec<Vec<Expression>>),
    /// `SELECT ...`.
    Query(Box<Query>),
    /// `EXEC ...`.
    Execute(Box<Execute>),
    DefaultValues,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    pub number: NodeNumber,
    /// `WITH name AS (...)`.
    pub common_table_expressions: Vec<CommonTableExpression>,
    pub top: Option<Top>,
    /// The table or alias.
    pub target: Target,
    /// `WITH (...)`.
    pub hints: Vec<TableHint>,
    /// `SET`: at least one.
    pub assignments: Vec<UpdateAssignment>,
    pub output: Option<Output>,
    pub from: Vec<TableSource>,
    /// `WHERE`.
    pub selection: Option<Expression>,
    /// `WHERE CURRENT OF cursor`; then `selection` is empty.
    pub current_of: Option<super::CursorReference>,
    /// `OPTION (...)`.
    pub query_hints: Vec<QueryHint>,
    /// Whether the text around may ask where the target's rows are stored.
    pub shows_row_places: bool,
    /// Of WRITETEXT and UPDATETEXT: what points to the one row.
    pub text_row: Option<Box<TextRow>>,
}

/// The row that a text pointer means: `table.column pointer` of READTEXT, WRITETEXT and UPDATETEXT, without the table.
#[derive(Debug, Clone, PartialEq)]
pub struct TextRow {
    /// A column of type text, ntext or image.
    pub column: Identifier,
    /// What `TEXTPTR` answered: a constant or a variable.
    pub pointer: Expression,
    /// What 7133 calls the statement: `READ TEXT`, `WRITE TEXT` or `UPDATE TEXT`.
    pub statement: &'static str,
}

/// `READTEXT table.column pointer offset size [HOLDLOCK]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadText {
    pub number: NodeNumber,
    /// The column, of the one row.
    pub query: Query,
    /// Bytes, of ntext characters, to be passed over.
    pub offset: Expression,
    /// Bytes, of ntext characters, to be read.
    pub size: Expression,
}

/// `WRITETEXT table.column pointer data`, or `UPDATETEXT table.column pointer offset length [data]`.
#[derive(Debug, Clone, PartialEq)]
pub struct WriteText {
    /// The change of the column, in the one row.
    pub update: Update,
    /// As `sys.dm_exec_requests` names it.
    pub name: &'static str,
}

/// One assignment of `UPDATE ... SET`.
#[derive(Debug, Clone, PartialEq)]
pub struct UpdateAssignment {
    /// Line of the assignment.
    pub line: u32,
    /// The variable of `@v = expression` and `@v = column = expression`.
    pub variable: Option<String>,
    /// The column; `None` only when a variable alone is set.
    pub column: Option<Name>,
    /// `=` or a compound operator.
    pub operator: AssignmentOperator,
    /// The value. `DEFAULT` comes as [`super::Literal::Default`].
    pub value: Expression,
    /// Set for `column.WRITE(value, ...)` and `column.modify(value)`.
    pub mutator: Option<Box<Mutator>>,
}

/// A method that changes the value of the column.
#[derive(Debug, Clone, PartialEq)]
pub enum Mutator {
    /// `WRITE`: the value takes the place of a part.
    Write { offset: Expression, length: Expression },
    /// UPDATETEXT: as `WRITE`, by its own rules.
    UpdateText { offset: Expression, length: Expression },
    /// `modify` of xml: the value is a change in XML DML.
    Modify { namespaces: super::XmlNamespaces },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    pub number: NodeNumber,
    /// `WITH name AS (...)`.
    pub common_table_expressions: Vec<CommonTableExpression>,
    pub top: Option<Top>,
    /// The table or alias.
    pub target: Target,
    /// `WITH (...)`.
    pub hints: Vec<TableHint>,
    pub output: Option<Output>,
    /// The second `FROM`.
    pub from: Vec<TableSource>,
    /// `WHERE`.
    pub selection: Option<Expression>,
    /// `WHERE CURRENT OF cursor`; then `selection` is empty.
    pub current_of: Option<super::CursorReference>,
    /// `OPTION (...)`.
    pub query_hints: Vec<QueryHint>,
    /// Whether the text around may ask where the target's rows are stored.
    pub shows_row_places: bool,
}

/// What the source's side of a [`Merge`] is called, and the column of it that is 1 in every row of the source.
pub const MERGE_MARK: &str = "$source";

/// `MERGE target USING source ON condition WHEN ...`.
#[derive(Debug, Clone, PartialEq)]
pub struct Merge {
    pub number: NodeNumber,
    /// `WITH name AS (...)`.
    pub common_table_expressions: Vec<CommonTableExpression>,
    pub top: Option<Top>,
    /// The target, by its alias if it has one.
    pub target: Target,
    /// `WITH (...)` of the target.
    pub hints: Vec<TableHint>,
    /// One source: USING joined to the target ON the condition, so that every row is there that a clause is for. Where clauses are for rows
    /// of the target alone, the source's side has the column [`MERGE_MARK`].
    pub from: Vec<TableSource>,
    /// At least one, in the order of the text.
    pub clauses: Vec<MergeClause>,
    pub output: Option<Output>,
    /// `OPTION (...)`.
    pub query_hints: Vec<QueryHint>,
}

/// `WHEN ... [AND condition] THEN action`.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeClause {
    /// Line of WHEN.
    pub line: u32,
    pub when: MergeWhen,
    /// `AND condition`.
    pub condition: Option<Expression>,
    pub action: MergeAction,
}

/// The rows that a clause of MERGE is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeWhen {
    /// `MATCHED`
    Matched,
    /// `NOT MATCHED [BY TARGET]`
    NotMatched,
    /// `NOT MATCHED BY SOURCE`
    NotMatchedBySource,
}

/// What a clause of MERGE does.
#[derive(Debug, Clone, PartialEq)]
pub enum MergeAction {
    /// `UPDATE SET`: at least one assignment.
    Update(Vec<UpdateAssignment>),
    Delete,
    Insert {
        /// The columns, if listed.
        columns: Vec<Identifier>,
        /// `VALUES (...)`; `None` for DEFAULT VALUES.
        values: Option<Vec<Expression>>,
    },
}

/// `BULK INSERT table FROM 'file' WITH (...)`.
#[derive(Debug, Clone, PartialEq)]
pub struct BulkInsert {
    pub table: Name,
    /// The file, as written.
    pub file: String,
    pub options: Vec<OptionValue>,
}

/// `INSERT BULK table (columns) WITH (...)`, sent by bulk copy clients ahead of the row stream.
#[derive(Debug, Clone, PartialEq)]
pub struct InsertBulk {
    pub table: Name,
    /// The columns of the stream.
    pub columns: Vec<ColumnDefinition>,
    /// The options (`TABLOCK`, `CHECK_CONSTRAINTS`, `ROWS_PER_BATCH`, ...).
    pub options: Vec<OptionValue>,
}
