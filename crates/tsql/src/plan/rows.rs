//! Operators that compute rows from their input's rows, with their sort keys, aggregates and window functions.

use engine::types::SqlType;

use super::{Condition, Expr, Label, Node, Ranges};

/// Rows of FROM in the order of expressions, NULL first.
#[derive(Clone, Debug)]
pub struct ArrangeNode {
    pub input: Box<Node>,
    /// The columns used above, which are kept of the rows.
    pub ranges: Ranges,
    pub keys: Vec<Expr>,
}

/// Rows for which a condition holds.
#[derive(Clone, Debug)]
pub struct FilterNode {
    pub input: Box<Node>,
    pub condition: Condition,
}

/// Computes a new row.
#[derive(Clone, Debug)]
pub struct ProjectNode {
    pub input: Box<Node>,
    pub input_width: usize,
    /// The new row's columns.
    pub expressions: Vec<Expr>,
}

/// Groups; produces rows of keys, then aggregates.
#[derive(Clone, Debug)]
pub struct AggregateNode {
    pub input: Box<Node>,
    pub input_width: usize,
    /// GROUP BY.
    pub keys: Vec<Expr>,
    /// For GROUPING SETS: which keys each set keeps. Empty means all keys, once.
    pub sets: Vec<Vec<bool>>,
    pub aggregates: Vec<AggregateCall>,
    /// Whether rows of a group follow each other.
    pub is_stream: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregateFunction {
    /// `COUNT(*)`
    CountRows,
    /// `COUNT(x)`, `COUNT_BIG(x)`
    Count,
    Sum,
    /// `AVG`
    Average,
    /// `MIN`
    Minimum,
    /// `MAX`
    Maximum,
    /// `STDEV`, `STDEVP`, `VAR`, `VARP`
    Deviation {
        /// Divide by n, not n - 1.
        population: bool,
        /// Take the root.
        root: bool,
    },
    /// `STRING_AGG`
    Concatenate,
    /// `JSON_ARRAYAGG`: its argument is the JSON of an element, NULL for what is left out.
    JsonArray,
    /// `JSON_OBJECTAGG`: its argument is the name and the JSON of a member, likewise.
    JsonObject,
    /// `CHECKSUM_AGG`
    Checksum,
}

/// One aggregate of a SELECT.
#[derive(Clone, Debug)]
pub struct AggregateCall {
    pub function: AggregateFunction,
    /// Its argument, converted to the type it is computed in.
    pub argument: Option<Expr>,
    /// STRING_AGG's separator.
    pub separator: Option<Expr>,
    pub distinct: bool,
    /// The type of the result.
    pub sql_type: SqlType,
    /// Order of the rows, for STRING_AGG and JSON_ARRAYAGG.
    pub order: Vec<(Expr, bool)>,
}

impl AggregateCall {
    /// The label of its result: that of its argument where both are strings.
    pub fn label(&self) -> Label {
        let argument = self.argument.as_ref();
        argument.map_or_else(Label::default, |argument| argument.label_in(self.sql_type))
    }
}

/// Window functions; produces the input's row and behind it one column per call.
#[derive(Clone, Debug)]
pub struct WindowNode {
    pub input: Box<Node>,
    pub input_width: usize,
    pub calls: Vec<WindowCall>,
    /// How rows come, where that is of use. None of it as long as the plan is logical.
    pub arrival: Option<WindowArrival>,
}

#[derive(Clone, Debug)]
pub enum WindowFunction {
    /// `ROW_NUMBER()`
    RowNumber,
    /// `RANK()`
    Rank,
    /// `DENSE_RANK()`
    DenseRank,
    /// `PERCENT_RANK()`
    PercentRank,
    /// `CUME_DIST()`
    CumulativeDistribution,
    /// `NTILE(n)`
    Tile(Expr),
    /// `LAG` and `LEAD`: the offset is negative for LAG.
    Neighbour {
        value: Expr,
        /// How many rows away.
        offset: Expr,
        /// Behind rather than ahead.
        backward: bool,
        /// What stands for a row that does not exist.
        default: Option<Expr>,
    },
    /// `FIRST_VALUE`
    First(Expr),
    /// `LAST_VALUE`
    Last(Expr),
    /// `PERCENTILE_CONT` and `PERCENTILE_DISC`: the value at a fraction of the order, which WITHIN GROUP gives.
    Percentile {
        fraction: Expr,
        value: Expr,
        /// Between two values rather than one of them.
        is_continuous: bool,
    },
    /// An aggregate over the frame.
    Aggregate(AggregateCall),
}

/// One end of a frame.
#[derive(Clone, Debug)]
pub enum WindowBound {
    /// The partition's end on this side.
    Unbounded,
    /// So many rows before.
    Preceding(usize),
    /// The current row (with RANGE: and its peers).
    Current,
    /// So many rows after.
    Following(usize),
}

#[derive(Clone, Debug)]
pub struct WindowFrame {
    /// ROWS rather than RANGE.
    pub rows: bool,
    pub start: WindowBound,
    pub end: WindowBound,
}

/// One window function of a SELECT.
#[derive(Clone, Debug)]
pub struct WindowCall {
    pub function: WindowFunction,
    pub partition: Vec<Expr>,
    pub order: Vec<(Expr, bool)>,
    /// The frame of an aggregate.
    pub frame: WindowFrame,
    /// The type of the result.
    pub sql_type: SqlType,
}

impl WindowCall {
    /// Whether it numbers rows: of a row it is enough to know those before it.
    pub fn is_ranking(&self) -> bool {
        use WindowFunction::{DenseRank, Rank, RowNumber};
        matches!(self.function, RowNumber | Rank | DenseRank)
    }

    /// Whether rows sorted for one call are sorted for the other.
    pub fn has_same_order(&self, other: &WindowCall) -> bool {
        let partition = || self.partition.iter().zip(&other.partition);
        let order = || self.order.iter().zip(&other.order);
        self.partition.len() == other.partition.len()
            && self.order.len() == other.order.len()
            && partition().all(|(one, other)| one.same_as(other))
            && order().all(|(one, other)| one.1 == other.1 && one.0.same_as(&other.0))
    }
}

impl WindowCall {
    /// The label of its result.
    pub fn label(&self) -> Label {
        match &self.function {
            WindowFunction::First(value) | WindowFunction::Last(value) | WindowFunction::Neighbour { value, .. } => {
                value.label
            }
            WindowFunction::Percentile {
                value,
                is_continuous: false,
                ..
            } => value.label,
            WindowFunction::Aggregate(aggregate) => aggregate.label(),
            _ => Label::default(),
        }
    }
}

/// How the rows below window functions come.
#[derive(Clone, Debug)]
pub struct WindowArrival {
    /// Rows that are equal in these follow each other, and are whole partitions of every call. None of them: all rows are.
    pub together: Vec<Expr>,
    /// By call: whether the rows of each of its partitions follow each other, in its order.
    pub are_ordered: Vec<bool>,
}

/// One of rows that are the same in their first columns.
#[derive(Clone, Debug)]
pub struct DistinctNode {
    pub input: Box<Node>,
    /// How many columns count.
    pub columns: usize,
    /// Width of the rows.
    pub width: usize,
    /// Whether rows that are the same follow each other.
    pub is_stream: bool,
}

/// Rows in order.
#[derive(Clone, Debug)]
pub struct SortNode {
    pub input: Box<Node>,
    /// Width of the rows.
    pub width: usize,
    pub keys: Vec<SortKey>,
    /// How many of the first keys rows come in the order of: those that are equal in these alone are sorted together.
    pub presorted: usize,
}

/// One key of a sort: a column of the sorted row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortKey {
    /// Its place.
    pub column: usize,
    /// `DESC`
    pub descending: bool,
}

/// The first rows.
#[derive(Clone, Debug)]
pub struct TopNode {
    pub input: Box<Node>,
    pub top: TopCount,
    /// Width of the rows.
    pub width: usize,
}

#[derive(Clone, Debug)]
pub struct TopCount {
    /// A bigint, or a float of percent.
    pub count: Expr,
    pub percent: bool,
    /// Number of leading sort keys that tie, with `WITH TIES`; they are columns of the row.
    pub ties: Option<Vec<SortKey>>,
}

/// OFFSET and FETCH.
#[derive(Clone, Debug)]
pub struct SliceNode {
    pub input: Box<Node>,
    /// Rows left out.
    pub offset: Expr,
    /// Rows kept.
    pub fetch: Option<Expr>,
}

/// The rows of several queries of the same columns, one query after the other: UNION ALL.
#[derive(Clone, Debug)]
pub struct AppendNode {
    /// The queries.
    pub inputs: Vec<Node>,
    /// Width of the rows of all.
    pub width: usize,
}

/// Two queries of the same columns, as sets.
#[derive(Clone, Debug)]
pub struct SetOperationNode {
    pub kind: SetKind,
    /// Left query.
    pub left: Box<Node>,
    /// Right query.
    pub right: Box<Node>,
    /// Width of the rows of both.
    pub width: usize,
}

/// Set operations of two queries. UNION is an [`Node::Append`] under a [`Node::Distinct`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetKind {
    Except,
    Intersect,
}
