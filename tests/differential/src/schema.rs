//! The tables of a history: columns, keys, indexes, and their rows as text.
//!
//! Three judges that disagree about types would say nothing, so values are of those few kinds on which SQL Server, SQLite and
//! PostgreSQL agree to the last digit: small integers, quarters as decimals, halves as floats (both exact in binary, sums too),
//! short text of lower-case letters (no collation orders them otherwise), dates.

use crate::dialect::Dialect;
use crate::tape::Tape;

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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name: one letter, or `id`.
    pub name: String,
    pub kind: Kind,
    /// Whether it may be NULL.
    pub nullable: bool,
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
    /// Indexes that are not unique: places of their columns.
    pub indexes: Vec<Vec<usize>>,
    /// The column of a unique index beside the key; NULL counts as a value there, as SQL Server has it.
    pub unique: Option<usize>,
}

/// The tables of a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    pub tables: Vec<Table>,
}

const LETTERS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const TEXTS: [&str; 8] = ["a", "b", "ab", "", "ba", "abc", "c1", "bb"];
const DATES: [&str; 6] = [
    "2024-02-28",
    "2024-02-29",
    "2024-03-01",
    "2024-12-31",
    "2025-01-01",
    "2023-06-15",
];
/// Rows of a table that is filled again.
const ROWS_MAX: u64 = 8;

impl Table {
    /// Whether `id` is a key.
    pub fn has_key(&self) -> bool {
        matches!(self.storage, Storage::Clustered | Storage::Nonclustered)
    }

    /// Whether an equal value of this column in two rows is an error.
    pub fn is_unique(&self, column: usize) -> bool {
        (column == 0 && self.has_key()) || self.unique == Some(column)
    }

    fn draw(tape: &mut Tape, place: usize) -> Table {
        let storage = tape.choose(&[
            Storage::Clustered,
            Storage::Heap,
            Storage::Nonclustered,
            Storage::ClusteredByOther,
        ]);
        let mut columns = vec![Column {
            name: "id".into(),
            kind: Kind::Integer,
            nullable: storage == Storage::Heap,
        }];
        for letter in &LETTERS[..2 + tape.below(4) as usize] {
            let kind = tape.choose(&[
                Kind::Integer,
                Kind::Integer,
                Kind::Text,
                Kind::Integer,
                Kind::Text,
                Kind::Decimal,
                Kind::Float,
                Kind::Date,
            ]);
            columns.push(Column {
                name: (*letter).into(),
                kind,
                nullable: !tape.percent(15),
            });
        }
        let count = columns.len() as u64;
        let indexes = (0..tape.below(3))
            .map(|_| {
                let first = tape.below(count) as usize;
                let second = tape.below(count) as usize;
                if first == second {
                    vec![first]
                } else {
                    vec![first, second]
                }
            })
            .collect();
        let integers: Vec<usize> = (1..columns.len())
            .filter(|&place| columns[place].kind == Kind::Integer)
            .collect();
        let unique = (tape.percent(15) && !integers.is_empty()).then(|| tape.choose(&integers));
        Table {
            name: format!("t{place}"),
            temporary: tape.percent(20),
            storage,
            columns,
            indexes,
            unique,
        }
    }

    /// Rows that break no rule of the table.
    pub fn draw_rows(&self, tape: &mut Tape) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        for number in 0..tape.below(ROWS_MAX + 1) {
            let mut row: Row = self.columns.iter().map(|column| draw_cell(tape, column)).collect();
            if self.has_key() {
                row[0] = Some(number.to_string());
            }
            let clashes = (0..row.len())
                .filter(|&place| self.is_unique(place))
                .any(|place| rows.iter().any(|other| other[place] == row[place]));
            if !clashes {
                rows.push(row);
            }
        }
        rows
    }
}

fn draw_cell(tape: &mut Tape, column: &Column) -> Cell {
    if column.nullable && tape.percent(20) {
        return None;
    }
    Some(draw_value(tape, column.kind))
}

/// A value of a kind, as text.
pub fn draw_value(tape: &mut Tape, kind: Kind) -> String {
    match kind {
        Kind::Integer => tape.choose(&[0, 1, 2, 3, 4, 5, 7, -1, -2]).to_string(),
        Kind::Text => tape.choose(&TEXTS).to_owned(),
        Kind::Decimal => format!("{:.2}", tape.choose(&[0, 4, 1, 6, 8, 15, -4, -3]) as f64 / 4.0),
        Kind::Float => format!("{:.1}", tape.choose(&[0, 2, 1, 3, 4, 7, -2, -1]) as f64 / 2.0),
        Kind::Date => tape.choose(&DATES).to_owned(),
    }
}

impl Schema {
    /// Two to four tables.
    pub fn draw(tape: &mut Tape) -> Schema {
        let count = 2 + tape.below(3) as usize;
        Schema {
            tables: (0..count).map(|place| Table::draw(tape, place)).collect(),
        }
    }

    /// The statements that make the tables.
    pub fn create(&self, dialect: Dialect) -> Vec<String> {
        self.tables.iter().flat_map(|table| table.create(dialect)).collect()
    }

    /// The statements that remove them, whether they are there or not.
    pub fn drop(&self, dialect: Dialect) -> Vec<String> {
        let drop = |table: &Table| format!("drop table if exists {}", dialect.table_name(table));
        self.tables.iter().map(drop).collect()
    }
}

impl Table {
    fn create(&self, dialect: Dialect) -> Vec<String> {
        let name = dialect.table_name(self);
        let mut parts: Vec<String> = Vec::new();
        for column in &self.columns {
            let null = if column.nullable { "null" } else { "not null" };
            parts.push(format!("{} {} {null}", column.name, dialect.type_name(column.kind)));
        }
        let mut more = Vec::new();
        match dialect {
            Dialect::TransactSql => {
                match self.storage {
                    Storage::Clustered => parts.push("primary key (id)".into()),
                    Storage::Nonclustered => parts.push("primary key nonclustered (id)".into()),
                    Storage::Heap => {}
                    Storage::ClusteredByOther => more.push(format!("create clustered index i_clustered on {name} (a)")),
                }
                for (number, index) in self.indexes.iter().enumerate() {
                    let names: Vec<&str> = index.iter().map(|&place| self.columns[place].name.as_str()).collect();
                    more.push(format!("create index i{number} on {name} ({})", names.join(", ")));
                }
                if let Some(unique) = self.unique {
                    let column = &self.columns[unique].name;
                    more.push(format!("create unique index i_unique on {name} ({column})"));
                }
            }
            // Judged at the end of the statement, as SQL Server does.
            Dialect::Postgres => {
                for place in (0..self.columns.len()).filter(|&place| self.is_unique(place)) {
                    let column = &self.columns[place].name;
                    parts.push(format!(
                        "unique nulls not distinct ({column}) deferrable initially immediate"
                    ));
                }
            }
            Dialect::Sqlite => {
                // Its rowid under a name that survives joins in parentheses.
                parts.insert(0, "address integer primary key".into());
                for place in (0..self.columns.len()).filter(|&place| self.is_unique(place)) {
                    let column = &self.columns[place].name;
                    more.push(format!(
                        "create unique index u_{name}_{column} on {name} (coalesce({column}, -999))"
                    ));
                }
            }
        }
        let mut all = vec![format!("create table {name} ({})", parts.join(", "))];
        all.extend(more);
        all
    }

    /// The statements that leave exactly `rows` in the table.
    pub fn fill(&self, dialect: Dialect, rows: &[Row]) -> Vec<String> {
        let name = dialect.table_name(self);
        let mut all = vec![format!("delete from {name}")];
        if !rows.is_empty() {
            let row_text = |row: &Row| {
                let cells = row.iter().zip(&self.columns);
                let cells: Vec<String> = cells
                    .map(|(cell, column)| dialect.literal(column.kind, cell.as_deref()))
                    .collect();
                format!("({})", cells.join(", "))
            };
            let rows: Vec<String> = rows.iter().map(row_text).collect();
            let columns: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
            all.push(format!(
                "insert into {name} ({}) values {}",
                columns.join(", "),
                rows.join(", ")
            ));
        }
        all
    }

    /// The query that reads all of it.
    pub fn read(&self, dialect: Dialect) -> String {
        let names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        format!("select {} from {}", names.join(", "), dialect.table_name(self))
    }
}
