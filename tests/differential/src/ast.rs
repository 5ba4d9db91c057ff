//! Statements of the subset that all three know, free of any dialect. [`crate::print`] writes them in three.
//!
//! Invariant: every column is qualified, every alias is unique in its statement, every literal has a kind.

use crate::schema::{Cell, Kind};

/// A column of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnName {
    /// Alias of the source, or the table's name where it has none.
    pub source: String,
    pub column: String,
}

/// Operators between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// Sum.
    Add,
    /// Difference.
    Subtract,
    /// Product.
    Multiply,
    /// Quotient of integers; the divisor is a literal and not 0.
    Divide,
    /// Remainder of integers; the divisor is a literal and not 0.
    Remainder,
    /// Text after text; NULL when one is.
    Concatenate,
}

/// Functions that all three have under some name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// `abs(x)`
    Absolute,
    /// `len(x)`
    Length,
    /// `substring(x, from, count)`
    Substring,
    /// `left(x, count)`
    Left,
    /// `replace(x, what, by)`
    Replace,
    /// `charindex(what, x)`
    Position,
    /// `concat(x, y)`: NULL counts as empty.
    Concat,
    /// `coalesce(x, y, ...)`
    Coalesce,
    /// `isnull(x, y)`
    IsNull,
    /// `nullif(x, y)`
    NullIf,
    /// An integer as text.
    ToText,
    /// `dateadd(day, n, x)`
    AddDays,
    /// `datediff(day, x, y)`
    DaysBetween,
    /// `day(x)`
    Day,
    /// `month(x)`
    Month,
    /// `json_value(json_object('k': x), '$.k')` of a text
    JsonMember,
    /// The same of an integer, as an integer again.
    JsonNumber,
    /// `json_value(json_modify('{"k":1}', '$.k', x), '$.k')`
    JsonModified,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AggregateFunction {
    /// `count(*)`
    CountRows,
    /// `count(x)`
    Count,
    /// `sum(x)`
    Sum,
    /// `min(x)`
    Min,
    /// `max(x)`
    Max,
    /// `avg(x)` of integers, cut to an integer.
    Average,
}

/// An aggregate and what it takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    pub function: AggregateFunction,
    /// Whether it counts equal values once.
    pub distinct: bool,
    /// Its argument; none for `count(*)`.
    pub argument: Option<Box<Expression>>,
    pub kind: Kind,
}

/// Functions with OVER.
#[derive(Debug, Clone, PartialEq)]
pub enum WindowFunction {
    /// `row_number()`
    RowNumber,
    /// `rank()`
    Rank,
    /// `dense_rank()`
    DenseRank,
    /// `ntile(n)`
    Tiles(u64),
    /// An aggregate of the frame.
    Aggregate(Aggregate),
    /// `lag(x, n)`
    Lag(Box<Expression>, u64),
    /// `lead(x, n)`
    Lead(Box<Expression>, u64),
    /// `first_value(x)`
    FirstValue(Box<Expression>),
    /// `last_value(x)`
    LastValue(Box<Expression>),
}

/// A function over a window.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    pub function: WindowFunction,
    pub partition: Vec<Expression>,
    /// ORDER BY, with whether it is descending.
    pub order: Vec<(Expression, bool)>,
    /// The frame in the words of all three.
    pub frame: Option<&'static str>,
    /// Whether the SELECT has it in a WINDOW clause.
    pub is_named: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// A constant; NULL is cast to its kind.
    Literal(Kind, Cell),
    Column(ColumnName),
    /// `-x`
    Negative(Box<Expression>),
    /// `x operator y`
    Binary(Operator, Box<Expression>, Box<Expression>),
    Call(Function, Vec<Expression>),
    /// `case when ... then ... else ... end`
    Case(Vec<(Condition, Expression)>, Option<Box<Expression>>),
    /// The same with one branch, written as `iif` where there is one.
    Iif(Box<(Condition, Expression, Expression)>),
    Aggregate(Aggregate),
    /// A window function.
    Window(Box<Window>),
    /// A query of one row and one column.
    Scalar(Box<Query>),
    /// All rows of a query as one text: `(select ... for json path, include_null_values)`.
    ForJson(Box<Query>),
    /// `next value for` the sequence of that place, in the row of that number of an INSERT.
    NextValue(usize, usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    Different,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// A condition; `bool` says whether it is negated.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// `x = y` and the like.
    Compare(Comparison, Expression, Expression),
    /// `x is [not] distinct from y`
    Distinct(bool, Expression, Expression),
    /// `x between y and z`
    Between(bool, Expression, Expression, Expression),
    /// `x in (y, ...)`
    InList(bool, Expression, Vec<Expression>),
    /// `x in (query)`
    InQuery(bool, Expression, Box<Query>),
    /// `exists (query)`
    Exists(bool, Box<Query>),
    /// `x = any (query)`, or `all` when the flag is set. SQLite has no such thing.
    Quantified(Comparison, bool, Expression, Box<Query>),
    /// `x like 'pattern'`
    Like(bool, Expression, &'static str),
    /// `x is null`
    IsNull(bool, Expression),
    /// `x and y`
    And(Vec<Condition>),
    /// `x or y`
    Or(Vec<Condition>),
    /// `not x`
    Not(Box<Condition>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// `join`
    Inner,
    /// `left join`
    Left,
    /// `right join`
    Right,
    /// `full join`
    Full,
    /// `cross join`
    Cross,
}

/// A source of FROM.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// A table, with its alias.
    Table {
        /// Place in the schema.
        table: usize,
        alias: Option<String>,
        /// A table hint, for vlflab.
        hint: Option<&'static str>,
    },
    /// A query in parentheses.
    Derived(Box<Query>, String),
    /// A common table expression by its name, with an alias.
    Named(String, String),
    Join(Join, Box<Source>, Box<Source>, Option<Condition>),
    /// `left cross | outer apply (select * from table where condition) alias`
    Apply {
        /// Whether rows without a match stay.
        outer: bool,
        left: Box<Source>,
        /// Place of the table.
        table: usize,
        /// Its alias, inside and outside.
        alias: String,
        /// Which of its rows.
        condition: Condition,
    },
    /// An array of JSON as rows of an integer `x0` and a text `x1`: OPENJSON.
    Json(Vec<(Option<i64>, Option<&'static str>)>, String),
    /// `left cross apply` the elements of a JSON array of integers, as rows of one column `value`.
    Elements {
        left: Box<Source>,
        elements: Vec<Expression>,
        alias: String,
    },
    /// The rows of a query by its first column, with an aggregate of the third for some values of the second, which is an integer: PIVOT.
    Pivot {
        query: Box<Query>,
        function: AggregateFunction,
        /// Values of the second column; the n-th becomes the column `x<n + 1>`.
        values: Vec<i64>,
        alias: String,
    },
    /// The second and third column of a query as rows of `x0`, `name` and `value`, NULL left out: UNPIVOT.
    Unpivot(Box<Query>, String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Select {
    pub distinct: bool,
    /// The select list; the n-th is called `x<n>`.
    pub items: Vec<Expression>,
    /// FROM, with commas between.
    pub from: Vec<Source>,
    pub selection: Option<Condition>,
    pub group_by: Vec<Expression>,
    pub having: Option<Condition>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOperator {
    UnionAll,
    Union,
    Intersect,
    Except,
}

/// A SELECT or two joined by a set operator.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    Select(Box<Select>),
    /// `left operator right`
    Set(SetOperator, Box<Body>, Box<Body>),
}

/// TOP, or OFFSET and FETCH when it leaves some out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Rows left out.
    pub offset: u64,
    /// Rows taken.
    pub count: u64,
    /// Rows equal to the last one in all of ORDER BY come, too.
    pub ties: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Common table expressions; only at the top.
    pub with: Vec<(String, Query)>,
    pub body: Body,
    /// ORDER BY: places of columns, with whether they descend. Empty, or all columns.
    pub order: Vec<(usize, bool)>,
    /// How many rows; only with ORDER BY.
    pub limit: Option<Limit>,
    /// What its columns hold.
    pub kinds: Vec<Kind>,
    /// The most rows it can have, roughly.
    pub rows: u64,
    /// The largest value of each column: magnitude of a number, length of a text.
    pub bounds: Vec<i64>,
    /// `option (...)`, for vlflab; only at the top.
    pub option: Option<&'static str>,
}

/// The target of an UPDATE or DELETE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Place of its table.
    pub table: usize,
    /// What its columns are qualified with: its alias or its table's name.
    pub exposed: String,
    /// What the statement calls it in T-SQL: that name, or the table's.
    pub name: String,
    /// Whether FROM has it; else it is one source more.
    pub in_from: bool,
}

/// A statement that changes rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// `insert into t (...) values (...), ...`
    InsertValues {
        /// Place of the table.
        table: usize,
        /// Places of the columns.
        columns: Vec<usize>,
        rows: Vec<Vec<Expression>>,
    },
    /// `insert into t (...) select ...`
    InsertQuery {
        /// Place of the table.
        table: usize,
        /// Places of the columns.
        columns: Vec<usize>,
        query: Query,
    },
    /// `update ... set ... from ... where ...`
    Update {
        /// Common table expressions.
        with: Vec<(String, Query)>,
        target: Target,
        /// Places of columns and their new values.
        assignments: Vec<(usize, Expression)>,
        /// FROM; empty without one.
        from: Vec<Source>,
        selection: Option<Condition>,
    },
    /// `delete ... from ... where ...`
    Delete {
        /// Common table expressions.
        with: Vec<(String, Query)>,
        target: Target,
        /// FROM; empty without one.
        from: Vec<Source>,
        selection: Option<Condition>,
    },
    Merge(Box<Merge>),
}

/// `merge into t as alias using source on condition when ...`
///
/// Invariant: the condition lets no row of the target match two of the source.
#[derive(Debug, Clone, PartialEq)]
pub struct Merge {
    /// Place of the target.
    pub table: usize,
    /// What its columns are qualified with.
    pub alias: String,
    pub source: Source,
    pub on: Condition,
    /// WHEN clauses, in the order in which they are tried.
    pub clauses: Vec<When>,
}

/// Which rows a WHEN clause is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// WHEN MATCHED
    Matched,
    /// WHEN NOT MATCHED BY TARGET
    OfSource,
    /// WHEN NOT MATCHED BY SOURCE
    OfTarget,
}

/// What a WHEN clause does; values by the places of their columns.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    Update(Vec<(usize, Expression)>),
    Delete,
    Insert(Vec<(usize, Expression)>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct When {
    pub rows: Rows,
    /// What AND asks of the rows besides.
    pub condition: Option<Condition>,
    pub action: Action,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    Query(Query),
    /// It changes rows; the columns are those OUTPUT or RETURNING answers. A MERGE answers its action before them, and has the old values.
    Change(Change, Vec<usize>),
}

impl Change {
    /// Place of the table that is changed.
    pub fn table(&self) -> usize {
        match self {
            Change::InsertValues { table, .. } | Change::InsertQuery { table, .. } => *table,
            Change::Update { target, .. } | Change::Delete { target, .. } => target.table,
            Change::Merge(merge) => merge.table,
        }
    }
}
