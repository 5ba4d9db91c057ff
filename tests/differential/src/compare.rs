//! Whether two answers are the same.

use crate::ast::{Change, Statement};
use crate::judges::Answer;
use crate::schema::{Cell, Kind, Row, Schema, View};

/// How an answer is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// What its columns hold.
    pub kinds: Vec<Kind>,
    /// Whether the order of rows is said.
    pub is_ordered: bool,
    /// Whether the count of changed rows is an answer, too.
    pub is_counted: bool,
}

impl Shape {
    /// The shape of a statement's answer.
    pub fn of(schema: &Schema, statement: &Statement) -> Shape {
        match statement {
            Statement::Query(query) => Shape {
                kinds: query.kinds.clone(),
                is_ordered: !query.order.is_empty(),
                is_counted: false,
            },
            Statement::Change(change, output) => Shape {
                kinds: (matches!(change, Change::Merge(_)) && !output.is_empty())
                    .then_some(Kind::Text)
                    .into_iter()
                    .chain(
                        output
                            .iter()
                            .map(|&place| schema.tables[change.table()].columns[place].kind),
                    )
                    .collect(),
                is_ordered: false,
                is_counted: true,
            },
        }
    }

    /// The shape of a whole view.
    pub fn of_view(schema: &Schema, view: &View) -> Shape {
        Shape {
            kinds: view.kinds(schema),
            is_ordered: false,
            is_counted: false,
        }
    }

    /// The shape of a whole table.
    pub fn of_table(schema: &Schema, table: usize) -> Shape {
        Shape {
            kinds: schema.tables[table].columns.iter().map(|column| column.kind).collect(),
            is_ordered: false,
            is_counted: false,
        }
    }
}

/// A cell in the one form that equal values share.
pub fn normal_cell(kind: Kind, cell: &Cell) -> Cell {
    let text = cell.as_ref()?;
    let number = match kind {
        Kind::Text | Kind::Date => None,
        _ => text.parse::<f64>().ok(),
    };
    // No negative zero.
    Some(number.map_or_else(|| text.clone(), |number| (number + 0.0).to_string()))
}

/// The rows in the one form that equal answers share.
pub fn normal_rows(shape: &Shape, rows: &[Row]) -> Vec<Row> {
    let normal = |row: &Row| -> Row {
        row.iter()
            .enumerate()
            .map(|(place, cell)| normal_cell(shape.kinds.get(place).copied().unwrap_or(Kind::Text), cell))
            .collect()
    };
    let mut rows: Vec<Row> = rows.iter().map(normal).collect();
    if !shape.is_ordered {
        rows.sort();
    }
    rows
}

/// Whether only the count of changed rows is asked for. What says a change in several statements counts them by answering them.
fn is_silent(shape: &Shape) -> bool {
    shape.is_counted && shape.kinds.is_empty()
}

/// Why two answers differ, if they do.
pub fn difference(shape: &Shape, own: &Answer, other: &Answer) -> Option<&'static str> {
    match (&own.failure, &other.failure) {
        // No engine promises which of several broken rules it reports.
        (Some(own), Some(other)) if own.is_constraint && other.is_constraint => None,
        (Some(_), Some(_)) => Some("refused by both, not for a rule of a table"),
        (Some(own), None) if own.is_constraint => Some("a rule of a table is broken here, not there"),
        (Some(_), None) => Some("refused here, not there"),
        (None, Some(_)) => Some("refused there, not here"),
        (None, None) if is_silent(shape) && !own.rows.is_empty() => Some("rows that were not asked for"),
        (None, None) if !is_silent(shape) && normal_rows(shape, &own.rows) != normal_rows(shape, &other.rows) => {
            Some("other rows")
        }
        (None, None) if shape.is_counted && own.count != other.count => Some("another count of rows"),
        _ => None,
    }
}

/// Whether it has a target that FROM names.
pub fn has_from(statement: &Statement) -> bool {
    match statement {
        Statement::Change(Change::Update { from, .. } | Change::Delete { from, .. }, _) => !from.is_empty(),
        _ => false,
    }
}
