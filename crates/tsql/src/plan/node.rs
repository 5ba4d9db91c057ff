//! The operators of a bound query.

use std::fmt;
use std::sync::Arc;

use engine::session::Table;
use engine::types::SqlType;

use super::{CommonUse, Condition, Expr, IndexSeek, Label, Locking};
use crate::modules::ModuleCall;
use crate::sink::ResultColumn;
use crate::views::SystemView;

/// A query with its result columns.
#[derive(Clone, Debug)]
pub struct QueryPlan {
    /// Produces rows whose first columns are the result; further ones are sort keys.
    pub root: Node,
    /// Width of the rows of `root`.
    pub width: usize,
    pub columns: Vec<ResultColumn>,
}

/// A table as plans refer to it, open for as long as the plan lives.
pub struct BoundTable {
    /// The engine's table.
    pub table: Table,
    /// `database.schema.table`, as errors name it.
    pub full_name: String,
}

impl fmt::Debug for BoundTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.full_name)
    }
}

/// The way to a table's rows that hints ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Any,
    /// FORCESCAN, or the index 0.
    Scan,
    /// FORCESEEK.
    Seek,
    /// By this index, if it helps to search.
    Index(usize),
}

/// A scan of a table into its range of the wide row.
#[derive(Clone, Debug)]
pub struct ScanNode {
    pub table: Arc<BoundTable>,
    /// Where its columns begin in the wide row.
    pub offset: usize,
    /// The columns to decode, by their number in the table.
    pub columns: Vec<usize>,
    /// Where to put the row's locator, for UPDATE and DELETE.
    pub locator: Option<usize>,
    /// How to find the rows.
    pub seek: Option<IndexSeek>,
    /// Which way to the rows hints ask for.
    pub access: Access,
    /// How the table and its rows are locked.
    pub locking: Locking,
    /// MAXDOP; without it the instance's setting counts. 0: as many as there are processors.
    pub degree_max: Option<usize>,
    /// The bitmaps that rows are tested by: of each the places of its keys, all of them this table's.
    pub bitmaps: Vec<Vec<usize>>,
}

/// What one FROM holds, as it is bound: its units and what must hold of them together, in no order. How the rows of a unit are found
/// and in which order units are joined is the optimizer's choice.
#[derive(Clone, Debug, Default)]
pub struct FromNode {
    /// The units, as they are written.
    pub units: Vec<FromUnit>,
    /// What must hold, by WHERE and by ON of inner joins.
    pub conjuncts: Vec<Condition>,
    /// Width of the wide row.
    pub width: usize,
    /// Whether the units are joined as they are written: FORCE ORDER, FORCEPLAN, or a join with a hint.
    pub is_forced: bool,
    /// How units may be joined.
    pub methods: JoinMethods,
}

/// A part of FROM that stands for itself: a source, or an outer join with all below it.
#[derive(Clone, Debug)]
pub struct FromUnit {
    /// Its rows.
    pub node: Node,
    /// Whether it uses the units before it (CROSS APPLY).
    pub lateral: bool,
    /// How it may be joined with what is before it.
    pub methods: JoinMethods,
}

impl FromNode {
    /// The source, if there is one and nothing else.
    pub fn only_source(&self) -> Option<&Node> {
        match self.units.as_slice() {
            [unit] if !matches!(unit.node, Node::From(_) | Node::Outer(_)) => Some(&unit.node),
            _ => None,
        }
    }
}

/// An outer join as it is bound, or a semi or anti join that the optimizer made of a subquery.
#[derive(Clone, Debug)]
pub struct OuterJoin {
    /// The left side, whose rows are all kept; of a semi or anti join, those that are asked about.
    pub left: Node,
    /// The right side.
    pub right: Node,
    /// Left, full, semi or anti.
    pub kind: JoinKind,
    /// ON. All of it belongs to the join; none may filter a side whose rows are kept.
    pub conjuncts: Vec<Condition>,
    /// Whether the right side uses columns of the left one (OUTER APPLY).
    pub lateral: bool,
    /// How the sides may be joined.
    pub methods: JoinMethods,
    /// Of a semi or anti join: the condition that it stands for, which may be asked row by row instead.
    pub written: Option<Condition>,
}

/// The methods of joining that hints leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinMethods {
    /// For each left row the right rows: all, or those that an index finds.
    pub loops: bool,
    /// A hash table of one side, by equal values of both.
    pub hashes: bool,
    /// Both sides in the order of equal values, sorted where they do not come so.
    pub merges: bool,
    /// Whether a hint asks for merging, so that sides may be sorted for it.
    pub sorts: bool,
    /// Whether another method is taken where there is none of these: FORCEPLAN.
    pub is_wish: bool,
}

impl Default for JoinMethods {
    fn default() -> JoinMethods {
        JoinMethods::ANY
    }
}

impl JoinMethods {
    /// Without a hint.
    pub const ANY: JoinMethods = JoinMethods {
        loops: true,
        hashes: true,
        merges: true,
        sorts: false,
        is_wish: false,
    };
    /// No method.
    const NONE: JoinMethods = JoinMethods {
        loops: false,
        hashes: false,
        merges: false,
        ..JoinMethods::ANY
    };
    /// LOOP.
    pub const LOOPS: JoinMethods = JoinMethods {
        loops: true,
        ..JoinMethods::NONE
    };
    /// HASH.
    pub const HASHES: JoinMethods = JoinMethods {
        hashes: true,
        ..JoinMethods::NONE
    };
    /// MERGE.
    pub const MERGES: JoinMethods = JoinMethods {
        merges: true,
        sorts: true,
        ..JoinMethods::NONE
    };
    /// What FORCEPLAN asks for (SQL Server docs, "SET FORCEPLAN").
    pub const LOOPS_IF_POSSIBLE: JoinMethods = JoinMethods {
        is_wish: true,
        ..JoinMethods::LOOPS
    };

    /// What is left where hash tables are not wanted.
    pub const UNHASHED_IF_POSSIBLE: JoinMethods = JoinMethods {
        hashes: false,
        is_wish: true,
        ..JoinMethods::ANY
    };

    /// What a hint at a join leaves of the statement's methods. A hint goes before a wish.
    pub fn at_join(self, hint: JoinMethods) -> JoinMethods {
        if self.is_wish && hint != JoinMethods::ANY {
            return hint;
        }
        JoinMethods {
            loops: self.loops && hint.loops,
            hashes: self.hashes && hint.hashes,
            merges: self.merges && hint.merges,
            sorts: self.sorts || hint.sorts,
            is_wish: self.is_wish,
        }
    }

    /// What several hints in one place leave: whatever one of them names.
    pub fn or(self, other: JoinMethods) -> JoinMethods {
        JoinMethods {
            loops: self.loops || other.loops,
            hashes: self.hashes || other.hashes,
            merges: self.merges || other.merges,
            sorts: self.sorts || other.sorts,
            is_wish: false,
        }
    }
}

/// By which modifications a plan grows out of date.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Aging {
    /// By those that put its statistics out of date.
    #[default]
    Usual,
    /// KEEP PLAN: temporary tables are as others.
    TemporaryAsOthers,
    /// KEEPFIXED PLAN: by none.
    Never,
}

/// How hints let groups be made, of GROUP BY and DISTINCT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GroupMethod {
    #[default]
    Any,
    /// HASH GROUP
    Hash,
    /// ORDER GROUP
    Order,
}

impl GroupMethod {
    /// What one more hint leaves: either, where both are named.
    pub fn or(self, named: GroupMethod) -> GroupMethod {
        match self == GroupMethod::Any || self == named {
            true => named,
            false => GroupMethod::Any,
        }
    }
}

/// A list of ranges of places in the wide row: the first, and how many.
pub type Ranges = Vec<(usize, usize)>;

/// Kinds of joins. The binder makes the first three; a join of RIGHT is one of LEFT with its sides exchanged. Those that begin with Right
/// are for a hash table of the rows that the join is about: of Left, Semi and Anti with the sides exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// Matching pairs.
    Inner,
    /// And left rows without partner.
    Left,
    /// And rows of both sides without partner.
    Full,
    /// Left rows with a partner, each once: EXISTS, IN.
    Semi,
    /// Left rows without partner: NOT EXISTS.
    Anti,
    /// Matching pairs, and right rows without partner.
    Right,
    /// Right rows with a partner, each once.
    RightSemi,
    /// Right rows without partner.
    RightAnti,
}

impl JoinKind {
    /// Whether left rows without partner are answered.
    pub fn keeps_left(self) -> bool {
        matches!(self, JoinKind::Left | JoinKind::Full | JoinKind::Anti)
    }

    /// Whether right rows without partner are answered.
    pub fn keeps_right(self) -> bool {
        matches!(self, JoinKind::Right | JoinKind::Full | JoinKind::RightAnti)
    }

    /// Whether left rows are answered alone or with their partners, and the right side may be one source among several: whatever is
    /// joined to the left one may be joined before or after.
    pub fn extends_left(self) -> bool {
        matches!(self, JoinKind::Left | JoinKind::Semi | JoinKind::Anti)
    }

    /// The same join with its sides exchanged.
    pub fn exchanged(self) -> JoinKind {
        match self {
            JoinKind::Left => JoinKind::Right,
            JoinKind::Semi => JoinKind::RightSemi,
            JoinKind::Anti => JoinKind::RightAnti,
            JoinKind::Right => JoinKind::Left,
            JoinKind::RightSemi => JoinKind::Semi,
            JoinKind::RightAnti => JoinKind::Anti,
            same => same,
        }
    }
}

/// How TOP counts.
#[derive(Clone, Debug)]
pub struct TopCount {
    /// A bigint, or a float of percent.
    pub count: Expr,
    pub percent: bool,
    /// Number of leading sort keys that tie, with `WITH TIES`; they are columns of the row.
    pub ties: Option<Vec<SortKey>>,
}

/// One key of a sort: a column of the sorted row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortKey {
    /// Its place.
    pub column: usize,
    /// `DESC`
    pub descending: bool,
}

/// Set operations of two queries. UNION is an [`Node::Append`] under a [`Node::Distinct`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetKind {
    Except,
    Intersect,
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
    /// `CHECKSUM_AGG`
    Checksum,
}

impl AggregateCall {
    /// The label of its result: that of its argument where both are strings.
    pub fn label(&self) -> Label {
        let argument = self.argument.as_ref();
        argument.map_or_else(Label::default, |argument| argument.label_in(self.sql_type))
    }
}

impl WindowCall {
    /// The label of its result.
    pub fn label(&self) -> Label {
        match &self.function {
            WindowFunction::First(value) | WindowFunction::Last(value) | WindowFunction::Neighbour { value, .. } => {
                value.label
            }
            WindowFunction::Aggregate(aggregate) => aggregate.label(),
            _ => Label::default(),
        }
    }
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
    /// Order of the rows, for STRING_AGG.
    pub order: Vec<(Expr, bool)>,
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
    /// Where it starts.
    pub start: WindowBound,
    /// Where it ends.
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
}

/// How the rows below window functions come.
#[derive(Clone, Debug)]
pub struct WindowArrival {
    /// Rows that are equal in these follow each other, and are whole partitions of every call. None of them: all rows are.
    pub together: Vec<Expr>,
    /// By call: whether the rows of each of its partitions follow each other, in its order.
    pub are_ordered: Vec<bool>,
}

/// An operator. Those of FROM write into ranges of the wide row; the others say what row they produce.
#[derive(Clone, Debug)]
pub enum Node {
    /// One row, without columns: SELECT without FROM.
    Single,
    /// No row at all: a condition that is never true.
    Empty,
    /// FROM and WHERE of one SELECT. Logical: the optimizer puts operators in its place.
    From(Box<FromNode>),
    /// An outer join. Logical as well.
    Outer(Box<OuterJoin>),
    /// A table.
    Scan(Box<ScanNode>),
    /// A system view or table-valued system function.
    View {
        view: &'static SystemView,
        /// The database it is asked in.
        database_id: u16,
        arguments: Vec<Expr>,
        /// Where its columns begin.
        offset: usize,
    },
    /// A multi-statement table-valued function of the user.
    Module {
        call: ModuleCall,
        /// Its arguments, in the types of its parameters.
        arguments: Vec<Expr>,
        /// Where its columns begin.
        offset: usize,
    },
    /// `VALUES (...), (...)`
    Values {
        /// The rows, every column of one type.
        rows: Vec<Vec<Expr>>,
        /// Where its columns begin.
        offset: usize,
    },
    /// A table variable.
    Variable {
        /// Its slot among the batch's table variables.
        slot: usize,
        /// Number of its columns.
        width: usize,
        /// Where its columns begin.
        offset: usize,
        /// Where to put the row's number, for UPDATE and DELETE.
        locator: Option<usize>,
    },
    /// A query in FROM; runs again for every left row when it captures.
    Derived {
        plan: Arc<QueryPlan>,
        /// What it needs of the wide row (APPLY).
        captures: Vec<Expr>,
        /// Where its columns begin.
        offset: usize,
        /// What it is a reference to, if others may refer to the same: its rows are kept where several do.
        common: Option<CommonUse>,
    },
    /// A common table expression that refers to itself.
    Recursive {
        /// The rows it begins with.
        anchor: Arc<QueryPlan>,
        /// The rows that follow from the rows of the round before; columns in the anchor's types.
        step: Box<Node>,
        /// Whether each row of the round before is a round to itself for the step: what its window functions see of it.
        one_by_one: bool,
        /// Number of columns.
        width: usize,
        /// Tells its rounds from those of others.
        id: usize,
        /// Where its columns begin.
        offset: usize,
        /// MAXRECURSION; 0 is without limit.
        rounds_max: u32,
    },
    /// The rows of the round before, inside of a recursive common table expression.
    Round {
        id: usize,
        /// Number of its columns.
        width: usize,
        /// Where its columns begin.
        offset: usize,
    },
    /// For every left row all right rows.
    Loop {
        /// Left side.
        left: Box<Node>,
        /// Right side, opened anew for every left row.
        right: Box<Node>,
        /// The right side's places that are read, made NULL for a left row without partner.
        right_ranges: Ranges,
        /// Inner, left, semi or anti.
        kind: JoinKind,
        /// Which pairs match.
        condition: Condition,
    },
    /// Right rows in a hash table, probed by left rows.
    Hash {
        /// The probing side.
        left: Box<Node>,
        /// The side in the table.
        right: Box<Node>,
        /// The left side's places that are read, made NULL for a right row without partner.
        left_ranges: Ranges,
        /// The right side's places that are read: what the table keeps of its rows.
        right_ranges: Ranges,
        /// Any.
        kind: JoinKind,
        /// Pairs of equal expressions, left and right.
        keys: Vec<(Expr, Expr)>,
        /// What else must hold.
        residual: Condition,
        /// Whether the scan that left rows come from tests its rows by a bitmap of the right side's keys.
        has_bitmap: bool,
    },
    /// Both sides come in the order of equal keys and are read side by side.
    Merge {
        /// The outer side: its rows are unique by the keys, unless `is_many`.
        left: Box<Node>,
        /// The inner side, of which a group of rows of one key is kept if `is_many`.
        right: Box<Node>,
        /// The left side's places that are read.
        left_ranges: Ranges,
        /// The right side's places that are read.
        right_ranges: Ranges,
        /// Any.
        kind: JoinKind,
        /// Pairs of equal expressions, left and right; both sides come in their order.
        keys: Vec<(Expr, Expr)>,
        /// Whether both come greatest first.
        is_descending: bool,
        /// What else must hold.
        residual: Condition,
        /// Whether several left rows may have one key.
        is_many: bool,
    },
    /// Rows of FROM in the order of expressions, NULL first.
    Arrange {
        /// Rows.
        input: Box<Node>,
        /// The places that are read above: what is kept of the rows.
        ranges: Ranges,
        keys: Vec<Expr>,
    },
    /// Rows for which a condition holds.
    Filter {
        /// Rows.
        input: Box<Node>,
        condition: Condition,
    },
    /// Groups; produces rows of keys, then aggregates.
    Aggregate {
        /// Rows.
        input: Box<Node>,
        /// Their width.
        input_width: usize,
        /// GROUP BY.
        keys: Vec<Expr>,
        /// For GROUPING SETS: which keys each set keeps. Empty means all keys, once.
        sets: Vec<Vec<bool>>,
        aggregates: Vec<AggregateCall>,
        /// Whether rows of a group follow each other.
        is_stream: bool,
    },
    /// Window functions; produces the input's row and behind it one column per call.
    Window {
        /// Rows.
        input: Box<Node>,
        /// Their width.
        input_width: usize,
        calls: Vec<WindowCall>,
        /// How rows come, where that is of use. None of it as long as the plan is logical.
        arrival: Option<WindowArrival>,
    },
    /// Computes a new row.
    Project {
        /// Rows.
        input: Box<Node>,
        /// Their width.
        input_width: usize,
        /// The new row's columns.
        expressions: Vec<Expr>,
    },
    /// One of rows that are the same in their first columns.
    Distinct {
        /// Rows.
        input: Box<Node>,
        /// How many columns count.
        columns: usize,
        /// Width of the rows.
        width: usize,
        /// Whether rows that are the same follow each other.
        is_stream: bool,
    },
    /// Rows in order.
    Sort {
        /// Rows.
        input: Box<Node>,
        /// Width of the rows.
        width: usize,
        keys: Vec<SortKey>,
        /// How many of the first keys rows come in the order of: those that are equal in these alone are sorted together.
        presorted: usize,
    },
    /// The first rows.
    Top {
        /// Rows.
        input: Box<Node>,
        /// How many.
        top: TopCount,
        /// Width of the rows.
        width: usize,
    },
    /// OFFSET and FETCH.
    Slice {
        /// Rows.
        input: Box<Node>,
        /// Rows left out.
        offset: Expr,
        /// Rows kept.
        fetch: Option<Expr>,
    },
    /// The rows of several queries of the same columns, one query after the other: UNION ALL.
    Append {
        /// The queries.
        inputs: Vec<Node>,
        /// Width of the rows of all.
        width: usize,
    },
    /// Two queries of the same columns, as sets.
    SetOperation {
        kind: SetKind,
        /// Left query.
        left: Box<Node>,
        /// Right query.
        right: Box<Node>,
        /// Width of the rows of both.
        width: usize,
    },
}
