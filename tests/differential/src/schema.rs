//! The tables of a history: columns, keys, indexes, and their rows as text.
//!
//! Three judges that disagree about types would say nothing, so values are of those few kinds on which SQL Server, SQLite and
//! PostgreSQL agree to the last digit: small integers, quarters as decimals, halves as floats (both exact in binary, sums too),
//! short text of lower-case letters (no collation orders them otherwise), dates.
//!
//! Beside plain columns there are computed ones, defaults, sequences, filtered indexes, triggers and indexed views, each in the words that the
//! judge has for it: generated columns, partial indexes, triggers for each row, plain views.

mod draw;
mod script;

pub use draw::draw_value;

/// The kinds of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `int`
    Integer,
    /// `varchar(100)`
    Text,
    /// `decimal(9, 2)`, in quarters
    Decimal,
    /// `float`, in halves
    Float,
    Date,
}

pub const KINDS: [Kind; 5] = [Kind::Integer, Kind::Text, Kind::Decimal, Kind::Float, Kind::Date];

/// A value as text, or NULL.
pub type Cell = Option<String>;

/// A row of a table.
pub type Row = Vec<Cell>;

/// What a computed column is made of: columns of its own row, by their places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Formula {
    /// `x + y`
    Sum(usize, usize),
    /// `abs(x)`
    Absolute(usize),
    /// `x % 3`
    Remainder(usize),
    /// `coalesce(x, -7)`
    OrElse(usize),
    /// `case when x > y then 1 else 0 end`
    IsGreater(usize, usize),
    /// `len(x)`
    Length(usize),
    /// `x + 'z'`
    Suffixed(usize),
}

/// What a column that an INSERT leaves out gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fallback {
    /// NULL, without DEFAULT.
    Null,
    /// `default <constant>`
    Constant(String),
    /// `default next value for` the sequence at that place.
    Sequence(usize),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name: one letter, or `id`.
    pub name: String,
    pub kind: Kind,
    /// Whether it may be NULL.
    pub nullable: bool,
    pub fallback: Fallback,
    /// Its formula if it is computed, and whether it is PERSISTED.
    pub computed: Option<(Formula, bool)>,
}

impl Column {
    fn new(name: &str, kind: Kind, nullable: bool) -> Column {
        Column {
            name: name.into(),
            kind,
            nullable,
            fallback: Fallback::Null,
            computed: None,
        }
    }

    /// Whether an INSERT may leave it out.
    pub fn may_be_left_out(&self) -> bool {
        self.nullable || self.fallback != Fallback::Null
    }
}

/// The predicate of a filtered index, of one column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// `x is not null`
    IsNotNull(usize),
    /// `x = constant`
    Equal(usize, String),
    /// `x > constant`
    Greater(usize, String),
    /// `x in (constants)`
    In(usize, Vec<String>),
}

/// An index that is not unique.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// Places of its columns.
    pub columns: Vec<usize>,
    pub filter: Option<Filter>,
}

/// A trigger that notes in another table what its statement inserted and deleted. Row by row in the others, for all rows at once in
/// vlflab: the rows noted are the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trigger {
    /// Whether it is one for INSERT, UPDATE, DELETE.
    pub events: [bool; 3],
    /// Place of the table that it notes rows in.
    pub log: usize,
    /// The column whose value it notes.
    pub noted: usize,
    /// A column and a value of it that it refuses.
    pub refused: Option<(usize, i64)>,
}

/// A sequence that goes round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequence {
    pub name: String,
    /// Its first value.
    pub start: i64,
    pub increment: i64,
    pub min: i64,
    pub max: i64,
}

/// A view of counts and sums by groups: an indexed view in vlflab, a query in the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    pub name: String,
    /// Place of its table.
    pub table: usize,
    /// The column of its groups.
    pub key: usize,
    /// The column that is summed.
    pub summed: usize,
}

/// How vlflab keeps a table; the others keep theirs as they like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// No key, no clustered index.
    Heap,
    /// `id int primary key`
    Clustered,
    /// `id int primary key nonclustered`
    Nonclustered,
    /// No key; a clustered index that is not unique.
    ClusteredByOther,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its name, without the `#` of a temporary one.
    pub name: String,
    /// Whether it is temporary in vlflab.
    pub temporary: bool,
    /// How its rows are kept.
    pub storage: Storage,
    /// Its columns; the first one is `id`.
    pub columns: Vec<Column>,
    pub indexes: Vec<Index>,
    /// The column of a unique index beside the key; NULL counts as a value there, as SQL Server has it.
    pub unique: Option<usize>,
    /// Whether that index leaves NULL out.
    pub unique_is_filtered: bool,
    pub trigger: Option<Trigger>,
}

/// The tables of a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// Those that triggers note rows in come last.
    pub tables: Vec<Table>,
    pub sequences: Vec<Sequence>,
    pub views: Vec<View>,
}

impl Table {
    /// Whether `id` is a key.
    pub fn has_key(&self) -> bool {
        matches!(self.storage, Storage::Clustered | Storage::Nonclustered)
    }

    /// Whether an equal value of this column in two rows is an error.
    pub fn is_unique(&self, column: usize) -> bool {
        (column == 0 && self.has_key()) || self.unique == Some(column)
    }

    /// Whether NULL in two rows of that unique column is allowed.
    pub fn tells_nulls_apart(&self, column: usize) -> bool {
        self.unique == Some(column) && self.unique_is_filtered
    }

    /// The places of the columns that a statement can write.
    pub fn written(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.columns.len()).filter(|&place| self.columns[place].computed.is_none())
    }
}
