//! Draws tables and their rows.

use super::{Column, Fallback, Filter, Formula, Index, Kind, Row, Schema, Sequence, Storage, Table, Trigger, View};
use crate::schema::Cell;
use crate::tape::Tape;

const LETTERS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const COMPUTED_LETTERS: [&str; 2] = ["u", "v"];
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

fn draw_cell(tape: &mut Tape, column: &Column) -> Cell {
    if column.computed.is_some() || (column.nullable && tape.percent(20)) {
        return None;
    }
    Some(draw_value(tape, column.kind))
}

impl Schema {
    /// Two to four tables, those that triggers note rows in, and what belongs to them.
    pub fn draw(tape: &mut Tape) -> Schema {
        let count = 2 + tape.below(3) as usize;
        let sequences: Vec<Sequence> = (0..tape.below(3)).map(|place| Sequence::draw(tape, place)).collect();
        let mut tables: Vec<Table> = (0..count)
            .map(|place| Table::draw(tape, place, sequences.len()))
            .collect();
        for place in 0..count {
            if !tables[place].temporary && tape.percent(35) {
                let trigger = Trigger::draw(tape, &tables[place], tables.len());
                tables.push(Table::noting(tables.len(), tables[place].columns[trigger.noted].kind));
                tables[place].trigger = Some(trigger);
            }
        }
        let mut views = Vec::new();
        for (place, table) in tables.iter().enumerate().take(count) {
            if let Some(view) = View::draw(tape, place, table, views.len()) {
                views.push(view);
            }
        }
        Schema {
            tables,
            sequences,
            views,
        }
    }
}

impl Sequence {
    fn draw(tape: &mut Tape, place: u64) -> Sequence {
        let min = tape.choose(&[8, 1, -5]);
        let increment = tape.choose(&[1, 3, 7]);
        let max = min + increment * tape.choose(&[12, 5, 3, 2]) + tape.below(2) as i64;
        Sequence {
            name: format!("q{place}"),
            start: min + tape.below((max - min) as u64 + 1) as i64,
            increment,
            min,
            max,
        }
    }
}

impl Trigger {
    fn draw(tape: &mut Tape, table: &Table, log: usize) -> Trigger {
        let integers: Vec<usize> = table
            .written()
            .filter(|&place| table.columns[place].kind == Kind::Integer)
            .collect();
        let events = tape.choose(&[
            [true, true, true],
            [true, false, false],
            [false, true, false],
            [false, false, true],
            [true, true, false],
            [false, true, true],
        ]);
        // Rows that are there must be rows that it lets in, or the table could not be filled with them again.
        let judges_all = events[0] && events[1];
        Trigger {
            events,
            log,
            noted: tape.below(table.columns.len() as u64) as usize,
            refused: (judges_all && tape.percent(40)).then(|| (tape.choose(&integers), tape.choose(&[7, 5, -2]))),
        }
    }
}

impl View {
    /// Of a table that can have an indexed view in vlflab: no temporary one, no groups of floats.
    fn draw(tape: &mut Tape, place: usize, table: &Table, number: usize) -> Option<View> {
        if table.temporary || !tape.percent(30) {
            return None;
        }
        let base: Vec<usize> = table.written().collect();
        let keys: Vec<usize> = base
            .iter()
            .copied()
            .filter(|&place| table.columns[place].kind != Kind::Float)
            .collect();
        let integers: Vec<usize> = base
            .iter()
            .copied()
            .filter(|&place| table.columns[place].kind == Kind::Integer)
            .collect();
        Some(View {
            name: format!("v{number}"),
            table: place,
            key: tape.choose(&keys),
            summed: tape.choose(&integers),
        })
    }
}

impl Filter {
    fn draw(tape: &mut Tape, table: &[Column]) -> Filter {
        let base: Vec<usize> = (0..table.len())
            .filter(|&place| table[place].computed.is_none())
            .collect();
        let column = tape.choose(&base);
        let kind = table[column].kind;
        let is_plain = matches!(kind, Kind::Integer | Kind::Text);
        match tape.below(4) {
            1 if is_plain => Filter::Equal(column, draw_value(tape, kind)),
            2 if is_plain => Filter::Greater(column, draw_value(tape, kind)),
            3 if is_plain => Filter::In(column, (0..3).map(|_| draw_value(tape, kind)).collect()),
            _ => Filter::IsNotNull(column),
        }
    }
}

impl Table {
    /// The table that a trigger notes rows in.
    fn noting(place: usize, kind: Kind) -> Table {
        Table {
            name: format!("t{place}"),
            temporary: false,
            storage: Storage::Heap,
            columns: vec![
                Column::new("id", Kind::Integer, true),
                Column::new("a", Kind::Text, true),
                Column::new("b", kind, true),
            ],
            indexes: Vec::new(),
            unique: None,
            unique_is_filtered: false,
            trigger: None,
        }
    }

    fn draw(tape: &mut Tape, place: usize, sequences: usize) -> Table {
        let storage = tape.choose(&[
            Storage::Clustered,
            Storage::Heap,
            Storage::Nonclustered,
            Storage::ClusteredByOther,
        ]);
        let temporary = tape.percent(20);
        let mut columns = vec![Column::new("id", Kind::Integer, storage == Storage::Heap)];
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
            columns.push(Column::new(letter, kind, !tape.percent(15)));
        }
        let integers: Vec<usize> = (1..columns.len())
            .filter(|&place| columns[place].kind == Kind::Integer)
            .collect();
        let unique = (tape.percent(20) && !integers.is_empty()).then(|| tape.choose(&integers));
        draw_fallbacks(tape, &mut columns, if temporary { 0 } else { sequences });
        draw_computed(tape, &mut columns);
        Table {
            name: format!("t{place}"),
            temporary,
            storage,
            indexes: draw_indexes(tape, &columns),
            columns,
            unique,
            unique_is_filtered: tape.percent(50),
            trigger: None,
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
            let is_same = |place: usize, other: &Row| {
                other[place] == row[place] && (row[place].is_some() || !self.tells_nulls_apart(place))
            };
            let clashes = (0..row.len())
                .filter(|&place| self.is_unique(place))
                .any(|place| rows.iter().any(|other| is_same(place, other)));
            if !clashes && !self.refuses(&row) {
                rows.push(row);
            }
        }
        rows
    }

    /// Whether its trigger refuses the row.
    fn refuses(&self, row: &Row) -> bool {
        let refused = self.trigger.as_ref().and_then(|trigger| trigger.refused);
        refused.is_some_and(|(column, value)| row[column] == Some(value.to_string()))
    }
}

/// Defaults of some columns: constants, and sequences of which each serves one column.
fn draw_fallbacks(tape: &mut Tape, columns: &mut [Column], sequences: usize) {
    let mut unused: Vec<usize> = (0..sequences).collect();
    for column in &mut columns[1..] {
        column.fallback = match tape.below(6) {
            1 => Fallback::Constant(draw_value(tape, column.kind)),
            2 | 3 if column.kind == Kind::Integer => unused.pop().map_or(Fallback::Null, Fallback::Sequence),
            _ => Fallback::Null,
        };
    }
}

/// Up to two computed columns behind the others.
fn draw_computed(tape: &mut Tape, columns: &mut Vec<Column>) {
    let of_kind = |kind: Kind| -> Vec<usize> {
        (0..columns.len())
            .filter(|&place| columns[place].kind == kind)
            .collect()
    };
    let (integers, texts) = (of_kind(Kind::Integer), of_kind(Kind::Text));
    let mut computed = Vec::new();
    for letter in &COMPUTED_LETTERS[..tape.choose(&[0, 0, 1, 2])] {
        let one = tape.choose(&integers);
        let formula = match tape.below(7) {
            0 => Formula::Sum(one, tape.choose(&integers)),
            1 => Formula::Absolute(one),
            2 => Formula::Remainder(one),
            3 => Formula::OrElse(one),
            4 if !texts.is_empty() => Formula::Length(tape.choose(&texts)),
            5 if !texts.is_empty() => Formula::Suffixed(tape.choose(&texts)),
            _ => Formula::IsGreater(one, tape.choose(&integers)),
        };
        let kind = match formula {
            Formula::Suffixed(_) => Kind::Text,
            _ => Kind::Integer,
        };
        let mut column = Column::new(letter, kind, true);
        column.computed = Some((formula, tape.percent(50)));
        computed.push(column);
    }
    columns.extend(computed);
}

fn draw_indexes(tape: &mut Tape, columns: &[Column]) -> Vec<Index> {
    let count = columns.len() as u64;
    (0..tape.below(4))
        .map(|_| {
            let first = tape.below(count) as usize;
            let second = tape.below(count) as usize;
            Index {
                columns: if first == second {
                    vec![first]
                } else {
                    vec![first, second]
                },
                filter: tape.percent(40).then(|| Filter::draw(tape, columns)),
            }
        })
        .collect()
}
