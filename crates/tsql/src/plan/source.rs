//! Sources: operators with their own rows, which they write into their positions of the wide row.

use std::fmt;
use std::sync::Arc;

use engine::session::Table;

use super::{Access, CommonUse, Expr, IndexSeek, Locking, Node, QueryPlan, RowSource, VirtualColumn};
use crate::modules::ModuleCall;
use crate::scalar::text_pointer::TextColumn;
use crate::views::SystemView;

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

/// The one row of a table that a text pointer means.
#[derive(Clone, Debug)]
pub struct TextRow {
    pub pointer: Expr,
    /// The column that it has to name.
    pub column: TextColumn,
    /// What 7133 calls the statement.
    pub statement: &'static str,
}

/// How a cursor reads a table. Where it is comes with the execution ([`CursorReading`](crate::state::CursorReading)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorScan {
    /// The one row that it is at, of its table of this number.
    Row(usize),
    /// The rows behind its place, or before it.
    Walk,
}

/// A scan of a table into its range of the wide row.
#[derive(Clone, Debug)]
pub struct ScanNode {
    pub table: Arc<BoundTable>,
    /// Where its columns begin in the wide row.
    pub offset: usize,
    /// The columns to decode, by their number in the table.
    pub columns: Vec<usize>,
    /// Those of them whose long values are handed on unread.
    pub held: Vec<usize>,
    /// The only row that is read.
    pub text_row: Option<Box<TextRow>>,
    /// How a cursor reads it, if one does.
    pub cursor: Option<CursorScan>,
    /// Where to put the row's locator, for UPDATE and DELETE, and for TEXTPTR.
    pub locator: Option<usize>,
    /// Where to put the place of the row in the files, for `%%physloc%%`.
    pub row_place: Option<usize>,
    /// How to find the rows.
    pub seek: Option<IndexSeek>,
    /// Which way to the rows hints ask for.
    pub access: Access,
    /// Which of its pages are read: TABLESAMPLE.
    pub sample: Option<SampledPages>,
    /// How the table and its rows are locked.
    pub locking: Locking,
    /// MAXDOP; without it the instance's setting counts. 0: as many as there are processors.
    pub degree_max: Option<usize>,
    /// The computed columns of which its rows have nothing.
    pub virtual_columns: Vec<VirtualColumn>,
    /// Those that are read, by their places in that list.
    pub computed: Vec<usize>,
    /// The bitmaps that rows are tested by: of each the places of its keys, all of them this table's.
    pub bitmaps: Vec<Vec<usize>>,
}

/// A sample of a table's pages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampledPages {
    pub size: SampleSize,
    /// REPEATABLE. Without it every execution has pages of its own.
    pub seed: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SampleSize {
    /// Of all pages, from 0 to 100.
    Percent(f64),
    /// As many pages as have so many rows, if all pages have equally many.
    Rows(i64),
}

impl SampledPages {
    /// The share of the pages of a table with so many rows, from 0 to 1.
    pub fn share(self, row_count: f64) -> f64 {
        match self.size {
            SampleSize::Percent(percent) => percent / 100.0,
            SampleSize::Rows(rows) => (rows as f64 / row_count.max(1.0)).min(1.0),
        }
    }
}

impl ScanNode {
    /// Whether a place of the wide row is that of a column which is computed when it is read.
    pub fn is_computed(&self, place: usize) -> bool {
        let mut columns = self.virtual_columns.iter();
        columns.any(|one| self.offset + one.column == place)
    }

    /// Whether it tells where each row is.
    pub fn shows_rows(&self) -> bool {
        self.locator.is_some() || self.row_place.is_some()
    }

    /// Whether the table's rows are in a clustered index: they have keys then, whose ranges can be locked.
    pub fn has_key(&self) -> bool {
        self.table.table.definition().clustered().is_some()
    }
}

/// A system view or table-valued system function.
#[derive(Clone, Debug)]
pub struct ViewNode {
    pub view: &'static SystemView,
    /// The database it is asked in.
    pub database_id: u16,
    pub arguments: Vec<Expr>,
    /// Where its columns begin.
    pub offset: usize,
}

/// A multi-statement table-valued function of the user.
#[derive(Clone, Debug)]
pub struct ModuleNode {
    pub call: ModuleCall,
    /// Its arguments, in the types of its parameters.
    pub arguments: Vec<Expr>,
    /// Where its columns begin.
    pub offset: usize,
}

/// A table-valued function of the system whose columns its arguments decide.
#[derive(Clone, Debug)]
pub struct FunctionNode {
    /// In lower case.
    pub name: &'static str,
    pub implementation: RowSource,
    pub arguments: Vec<Expr>,
    /// Number of its columns.
    pub width: usize,
    /// Where its columns begin.
    pub offset: usize,
}

/// `VALUES (...), (...)`
#[derive(Clone, Debug)]
pub struct ValuesNode {
    /// The rows, every column of one type.
    pub rows: Vec<Vec<Expr>>,
    /// Where its columns begin.
    pub offset: usize,
}

/// A table variable.
#[derive(Clone, Debug)]
pub struct VariableNode {
    /// Its slot among the batch's table variables.
    pub slot: usize,
    /// Number of its columns.
    pub width: usize,
    /// Where its columns begin.
    pub offset: usize,
    /// Where to put the row's number, for UPDATE and DELETE.
    pub locator: Option<usize>,
}

/// A query in FROM; runs again for every left row when it captures.
#[derive(Clone, Debug)]
pub struct DerivedNode {
    pub plan: Arc<QueryPlan>,
    /// What it needs of the wide row (APPLY).
    pub captures: Vec<Expr>,
    /// Where its columns begin.
    pub offset: usize,
    /// What it is a reference to, if others may refer to the same: its rows are kept where several do.
    pub common: Option<CommonUse>,
}

/// A common table expression that refers to itself.
#[derive(Clone, Debug)]
pub struct RecursiveNode {
    /// The rows it begins with.
    pub anchor: Arc<QueryPlan>,
    /// The rows that follow from the rows of the round before; columns in the anchor's types.
    pub step: Box<Node>,
    /// Whether each row of the round before is a round to itself for the step: what its window functions see of it.
    pub one_by_one: bool,
    /// Number of columns.
    pub width: usize,
    /// Tells its rounds from those of others.
    pub id: usize,
    /// Where its columns begin.
    pub offset: usize,
    /// MAXRECURSION; 0 is without limit.
    pub rounds_max: u32,
}

/// The rows of the round before, inside of a recursive common table expression.
#[derive(Clone, Debug)]
pub struct RoundNode {
    pub id: usize,
    /// Number of its columns.
    pub width: usize,
    /// Where its columns begin.
    pub offset: usize,
}
