//! Queries: SELECT with all its clauses.

use std::sync::Arc;

use super::{
    AssignmentOperator, DataType, Delete, Expression, FunctionCall, Identifier, Insert, Merge, Name, NodeNumber,
    OptionValue, OrderItem, Output, Over, Update,
};

/// A complete query: common table expressions, body, order and hints.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Line of its first token.
    pub line: u32,
    pub number: NodeNumber,
    /// `WITH name AS (...)`.
    pub common_table_expressions: Vec<CommonTableExpression>,
    /// The SELECT, or several joined by set operators.
    pub body: QueryBody,
    pub order_by: Vec<OrderItem>,
    /// `OFFSET n ROWS`.
    pub offset: Option<Expression>,
    /// `FETCH NEXT n ROWS ONLY`.
    pub fetch: Option<Expression>,
    /// `FOR XML | JSON | BROWSE`.
    pub for_clause: Option<ForClause>,
    /// `OPTION (...)`.
    pub hints: Vec<QueryHint>,
}

/// What becomes of the rows of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForClause {
    /// `FOR BROWSE`
    Browse,
    Json(ForJson),
    Xml(ForXml),
}

/// `FOR JSON PATH | AUTO`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForJson {
    /// True for `AUTO`: objects within each other as the tables of FROM are.
    pub is_auto: bool,
    /// `ROOT [('name')]`.
    pub root: Option<String>,
    pub include_null_values: bool,
    pub without_array_wrapper: bool,
}

/// `'address' AS prefix` of WITH XMLNAMESPACES; the prefix is empty for `DEFAULT 'address'`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XmlNamespace {
    pub prefix: String,
    pub address: String,
}

/// The clause WITH XMLNAMESPACES of the statement that something of xml is written in: its prefixes hold for that text alone, and not in
/// the views that the statement reads. `None` without one.
pub type XmlNamespaces = Option<Arc<[XmlNamespace]>>;

/// `FOR XML RAW | AUTO | PATH | EXPLICIT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForXml {
    pub namespaces: XmlNamespaces,
    pub mode: XmlMode,
    /// The name of the element of a row: `RAW ('name')`, `PATH ('name')`.
    pub element: Option<String>,
    /// `ROOT [('name')]`.
    pub root: Option<String>,
    /// `TYPE`
    pub is_typed: bool,
    pub binary_base64: bool,
    /// `ELEMENTS`
    pub has_elements: bool,
    /// `ELEMENTS XSINIL`
    pub has_nil: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XmlMode {
    Raw,
    Auto,
    Path,
    Explicit,
}

/// `name [(columns)] AS (query)`.
#[derive(Debug, Clone, PartialEq)]
pub struct CommonTableExpression {
    /// Line of its name.
    pub line: u32,
    pub name: Identifier,
    /// Its columns, if listed.
    pub columns: Vec<Identifier>,
    pub query: Query,
}

/// One hint of `OPTION (...)`: its words in upper case (`MAXDOP`, `FAST`, `HASH JOIN`, ...) and its number if it has one.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryHint {
    /// The words before the number, in upper case, blank between them.
    pub name: String,
    /// The number, or the text between parentheses, as written.
    pub value: Option<String>,
}

/// A SELECT or a set operation.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryBody {
    Select(Box<Select>),
    /// A single SELECT with an ORDER BY of its own, among others of a set operation inside of a statement.
    Ordered(Box<Query>),
    /// `first UNION | EXCEPT | INTERSECT second UNION ...`, from left to right: a list, so that a long one does not become
    /// a deep tree.
    SetOperations {
        first: Box<QueryBody>,
        /// The others with the operator before each, at least one.
        others: Vec<(SetOperator, QueryBody)>,
    },
}

impl QueryBody {
    /// Whether a select list of the query is written with `*`: how many columns it shows is then not said by its text.
    pub fn has_star(&self) -> bool {
        match self {
            QueryBody::Select(select) => {
                let mut items = select.items.iter();
                items.any(|item| matches!(item, SelectItem::Wildcard { .. }))
            }
            QueryBody::Ordered(query) => query.body.has_star(),
            QueryBody::SetOperations { first, others } => {
                first.has_star() || others.iter().any(|(_, other)| other.has_star())
            }
        }
    }
}

/// Set operators. INTERSECT binds tighter than the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOperator {
    Union,
    UnionAll,
    Except,
    Intersect,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Select {
    /// Line of the word SELECT.
    pub line: u32,
    pub distinct: bool,
    pub top: Option<Top>,
    /// The select list, at least one long.
    pub items: Vec<SelectItem>,
    /// `INTO table`.
    pub into: Option<Name>,
    /// `ON filegroup` behind it.
    pub into_filegroup: Option<Identifier>,
    /// `FROM`: its comma-separated sources; empty without FROM.
    pub from: Vec<TableSource>,
    /// `WHERE`: a condition.
    pub selection: Option<Expression>,
    /// `GROUP BY`; empty without one.
    pub group_by: Vec<GroupItem>,
    /// `HAVING`: a condition.
    pub having: Option<Expression>,
    /// `WINDOW name AS (...), ...`; empty without one.
    pub windows: Vec<NamedWindow>,
}

/// `name AS (window)` of a WINDOW clause.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedWindow {
    pub name: Identifier,
    pub window: Over,
}

/// `TOP (count) [PERCENT] [WITH TIES]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Top {
    /// The count or percentage.
    pub count: Expression,
    pub percent: bool,
    pub with_ties: bool,
}

/// One item of a select list.
#[derive(Debug, Clone, PartialEq)]
pub enum SelectItem {
    /// `*` or `t.*`.
    Wildcard {
        /// Line of the item.
        line: u32,
        /// The table or alias before `.*`.
        qualifier: Option<Name>,
    },
    /// An expression with or without alias.
    Expression {
        expression: Expression,
        /// Its alias, in any of the three spellings.
        alias: Option<Identifier>,
    },
    /// `@v = expression`.
    Assignment {
        /// The variable, with its `@`.
        variable: String,
        /// `=` or a compound operator.
        operator: AssignmentOperator,
        value: Expression,
    },
}

/// One item of GROUP BY.
#[derive(Debug, Clone, PartialEq)]
pub enum GroupItem {
    /// A plain key.
    Expression(Expression),
    /// `()`: the grand total.
    Empty,
    /// `(a, b)` inside ROLLUP, CUBE or GROUPING SETS.
    Composite(Vec<Expression>),
    /// `ROLLUP (...)`, also from `WITH ROLLUP`.
    Rollup(Vec<GroupItem>),
    /// `CUBE (...)`, also from `WITH CUBE`.
    Cube(Vec<GroupItem>),
    /// `GROUPING SETS (...)`.
    GroupingSets(Vec<GroupItem>),
}

/// A table source of FROM.
#[derive(Debug, Clone, PartialEq)]
pub enum TableSource {
    /// A table, view or common table expression.
    Table(TableReference),
    /// `@table [AS alias]`.
    Variable {
        /// Line of the source.
        line: u32,
        /// The variable, with its `@`.
        name: String,
        alias: Option<Identifier>,
    },
    /// A table-valued function.
    Function {
        /// Line of the source.
        line: u32,
        call: Box<FunctionCall>,
        /// `OPENJSON (...) WITH (columns)`; empty without them.
        schema: Vec<SchemaColumn>,
        alias: Option<Identifier>,
        /// `alias (columns)`.
        columns: Vec<Identifier>,
    },
    OpenXml(Box<OpenXml>),
    OpenRowset(Box<OpenRowset>),
    /// `(SELECT ...) AS alias (columns)`.
    Derived {
        /// Line of the source.
        line: u32,
        query: Box<Query>,
        alias: Identifier,
        /// `alias (columns)`.
        columns: Vec<Identifier>,
    },
    /// `(VALUES (...), (...)) AS alias (columns)`.
    Values {
        /// Line of the source.
        line: u32,
        rows: Vec<Vec<Expression>>,
        alias: Identifier,
        /// `alias (columns)`.
        columns: Vec<Identifier>,
    },
    /// `(INSERT | UPDATE | DELETE | MERGE ... OUTPUT ...) AS alias (columns)`: the only source of the SELECT of an INSERT.
    Change {
        /// Line of the source.
        line: u32,
        change: NestedChange,
        alias: Identifier,
        /// `alias (columns)`.
        columns: Vec<Identifier>,
    },
    /// A join or an apply.
    Join(Box<Join>),
    Pivot(Box<Pivot>),
    Unpivot(Box<Unpivot>),
}

/// A change of rows whose OUTPUT another INSERT takes.
#[derive(Debug, Clone, PartialEq)]
pub enum NestedChange {
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
    Merge(Box<Merge>),
}

impl NestedChange {
    /// Its OUTPUT clause.
    pub fn output(&self) -> Option<&Output> {
        match self {
            NestedChange::Insert(insert) => insert.output.as_ref(),
            NestedChange::Update(update) => update.output.as_ref(),
            NestedChange::Delete(delete) => delete.output.as_ref(),
            NestedChange::Merge(merge) => merge.output.as_ref(),
        }
    }

    /// Its OPTION clause.
    pub fn query_hints(&self) -> &[QueryHint] {
        match self {
            NestedChange::Insert(insert) => &insert.query_hints,
            NestedChange::Update(update) => &update.query_hints,
            NestedChange::Delete(delete) => &delete.query_hints,
            NestedChange::Merge(merge) => &merge.query_hints,
        }
    }

    /// Whether it has WHERE CURRENT OF.
    pub fn has_current_of(&self) -> bool {
        match self {
            NestedChange::Update(update) => update.current_of.is_some(),
            NestedChange::Delete(delete) => delete.current_of.is_some(),
            NestedChange::Insert(_) | NestedChange::Merge(_) => false,
        }
    }
}

/// `OPENXML (document, pattern, flags) [WITH (columns) | WITH table] [AS alias]`.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenXml {
    /// Line of the word OPENXML.
    pub line: u32,
    /// The variable with the handle of the document.
    pub document: Expression,
    /// A string or a variable.
    pub pattern: Expression,
    /// A number or a variable.
    pub flags: Option<Expression>,
    /// `WITH (columns)`; empty without them.
    pub schema: Vec<SchemaColumn>,
    /// `WITH table`: the table whose columns it has.
    pub like: Option<Name>,
    pub alias: Option<Identifier>,
}

/// `OPENROWSET (BULK 'file', options) AS alias (columns)`.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenRowset {
    /// Line of the word OPENROWSET.
    pub line: u32,
    /// The file, as written.
    pub file: String,
    /// `SINGLE_BLOB`, `FORMATFILE = 'file'` and so on.
    pub options: Vec<OptionValue>,
    pub alias: Option<Identifier>,
    /// `alias (columns)`.
    pub columns: Vec<Identifier>,
}

/// `name type ['path'] [AS JSON]` of OPENJSON WITH, and `name type ['pattern']` of OPENXML WITH.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaColumn {
    pub name: Identifier,
    pub data_type: DataType,
    /// Where its value is, as written.
    pub path: Option<String>,
    /// `AS JSON`: an object or array as text.
    pub is_json: bool,
}

/// `source PIVOT (aggregate FOR column IN (values)) AS alias`.
#[derive(Debug, Clone, PartialEq)]
pub struct Pivot {
    /// Line of the word PIVOT.
    pub line: u32,
    pub source: TableSource,
    /// An aggregate over a column.
    pub aggregate: FunctionCall,
    /// The column whose values become columns.
    pub column: Name,
    /// The values, as the names of the columns they become.
    pub values: Vec<Identifier>,
    pub alias: Identifier,
}

/// `source UNPIVOT (value FOR name IN (columns)) AS alias`.
#[derive(Debug, Clone, PartialEq)]
pub struct Unpivot {
    /// Line of the word UNPIVOT.
    pub line: u32,
    pub source: TableSource,
    /// What the column of the values is called.
    pub value: Identifier,
    /// What the column of the former columns' names is called.
    pub name: Identifier,
    /// The columns that become rows.
    pub columns: Vec<Name>,
    pub alias: Identifier,
}

/// A table by name.
#[derive(Debug, Clone, PartialEq)]
pub struct TableReference {
    /// Line of the name.
    pub line: u32,
    pub name: Name,
    pub alias: Option<Identifier>,
    /// `WITH (NOLOCK, ...)` and the old form without WITH.
    pub hints: Vec<TableHint>,
    /// `FOR SYSTEM_TIME ...`.
    pub system_time: Option<Box<SystemTime>>,
    /// `TABLESAMPLE (...)`.
    pub sample: Option<Box<TableSample>>,
    /// Whether the text around may ask where its rows are stored.
    pub shows_row_places: bool,
    /// What points to the one row that is read of it.
    pub text_row: Option<Box<super::TextRow>>,
}

/// `FOR SYSTEM_TIME ...`: which versions of the rows of a temporal table are read. The moments are constants or variables.
#[derive(Debug, Clone, PartialEq)]
pub enum SystemTime {
    /// `AS OF moment`.
    AsOf(Expression),
    /// `FROM first TO last`.
    FromTo(Expression, Expression),
    /// `BETWEEN first AND last`.
    Between(Expression, Expression),
    /// `CONTAINED IN (first, last)`.
    ContainedIn(Expression, Expression),
    /// `ALL`.
    All,
}

/// `TABLESAMPLE [SYSTEM] (size [PERCENT | ROWS]) [REPEATABLE (seed)]`.
#[derive(Debug, Clone, PartialEq)]
pub struct TableSample {
    pub line: u32,
    pub size: Expression,
    pub unit: SampleUnit,
    pub seed: Option<Expression>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleUnit {
    /// Also where no unit is given.
    Percent,
    Rows,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableHint {
    /// The hint in upper case: `NOLOCK`, `TABLOCK`, `INDEX`, ...
    pub name: String,
    /// What is in its parentheses or after `=`, as written: the index names or numbers of `INDEX (...)`.
    pub arguments: Vec<String>,
}

/// A join of two sources.
#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    /// Line of the word JOIN or APPLY.
    pub line: u32,
    pub left: TableSource,
    pub kind: JoinKind,
    /// `LOOP`, `HASH`, `MERGE` or `REMOTE` between the kind and JOIN.
    pub algorithm: Option<JoinAlgorithm>,
    pub right: TableSource,
    /// `ON`: a condition; always present for inner and outer joins, never for cross joins and applies.
    pub on: Option<Expression>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    /// `[INNER] JOIN`
    Inner,
    /// `LEFT [OUTER] JOIN`
    Left,
    /// `RIGHT [OUTER] JOIN`
    Right,
    /// `FULL [OUTER] JOIN`
    Full,
    /// `CROSS JOIN`
    Cross,
    CrossApply,
    OuterApply,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinAlgorithm {
    Loop,
    Hash,
    Merge,
    Remote,
}
