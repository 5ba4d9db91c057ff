//! How many rows there will be: what the optimizer's choices go by. An estimate decides how long a plan takes, never what it answers.
//!
//! What is known of a table is its number of rows and its pages. For the rest stand the guesses that SQL Server makes where it has no
//! statistics, as they were measured on a heap of a million rows (Joe Sack, "Selectivity guesses in absence of statistics"):
//!
//! ```text
//! column = value          rows to the power of 0.75; one row when a unique index says so
//! column < value, ...     30 %
//! column BETWEEN a AND b   9 %, as is any other pair of bounds
//! column LIKE pattern      9 %
//! others                  30 %, and NOT what is left
//! ```
//! Conditions on several columns are taken to be independent.

use crate::ast::ComparisonOperator as Op;
use crate::plan::{BoundTable, Condition, Expr, ExprKind, FromUnit, Node, ScanNode};
use crate::state::SessionState;

/// Rows of a source that nothing is known about: table variables, functions, system views.
pub const UNKNOWN_ROWS: f64 = 100.0;
/// Part of the rows that an inequality leaves.
const INEQUALITY: f64 = 0.3;
/// Part of the rows that LIKE leaves.
const LIKE: f64 = 0.09;
/// The number of rows of which an equality leaves so many is raised to this power.
const EQUALITY_POWER: f64 = 0.75;
/// Rows of a page when neither the rows were counted nor anything else is known.
const ROW_BYTES_GUESS: u64 = 100;
const PAGE_BYTES: u64 = 8_060;

/// The tables of one FROM, by the places of their columns.
#[derive(Debug, Default)]
pub struct Sources<'n> {
    scans: Vec<&'n ScanNode>,
}

impl<'n> Sources<'n> {
    /// The tables among units and below their outer joins.
    pub fn of(units: &'n [FromUnit]) -> Sources<'n> {
        let mut sources = Sources::default();
        units.iter().for_each(|unit| sources.add(&unit.node));
        sources
    }

    /// Adds the tables of a tree.
    pub fn add(&mut self, node: &'n Node) {
        match node {
            Node::Scan(scan) => self.scans.push(scan),
            Node::Filter { input, .. } => self.add(input),
            Node::From(from) => from.units.iter().for_each(|unit| self.add(&unit.node)),
            Node::Outer(join) => {
                self.add(&join.left);
                self.add(&join.right);
            }
            Node::Loop { left, right, .. } | Node::Hash { left, right, .. } => {
                self.add(left);
                self.add(right);
            }
            _ => {}
        }
    }

    /// The table's column that a place of the wide row holds.
    pub fn column(&self, place: usize) -> Option<(&'n ScanNode, usize)> {
        self.scans.iter().find_map(|scan| {
            let column = place.checked_sub(scan.offset)?;
            (column < scan.table.table.definition().columns.len()).then_some((*scan, column))
        })
    }
}

/// Answers how many. See the module.
pub struct Estimator<'s> {
    #[expect(dead_code, reason = "statistics belong to a session's databases")]
    session: &'s SessionState,
}

impl<'s> Estimator<'s> {
    /// An estimator for statements of this session.
    pub fn new(session: &'s SessionState) -> Estimator<'s> {
        Estimator { session }
    }

    /// Rows of a table; at least one, so that a plan for an empty table is none for an infinitely small one.
    pub fn table_rows(&self, table: &BoundTable) -> f64 {
        let table = &table.table;
        let guessed = || table.page_count() * (PAGE_BYTES / ROW_BYTES_GUESS);
        (table.row_count().unwrap_or_else(guessed) as f64).max(1.0)
    }

    /// Pages of a table.
    pub fn table_pages(&self, table: &BoundTable) -> f64 {
        (table.table.page_count() as f64).max(1.0)
    }

    /// Rows of anything in FROM.
    pub fn node_rows(&self, node: &Node) -> f64 {
        match node {
            Node::Single => 1.0,
            Node::Empty => 0.0,
            Node::Scan(scan) => self.table_rows(&scan.table),
            Node::Values { rows, .. } => rows.len() as f64,
            Node::Filter { input, .. } => self.node_rows(input) * INEQUALITY,
            Node::Derived { plan, .. } => self.node_rows(&plan.root),
            Node::Project { input, .. }
            | Node::Window { input, .. }
            | Node::Distinct { input, .. }
            | Node::Sort { input, .. } => self.node_rows(input),
            Node::Aggregate { keys, .. } if keys.is_empty() => 1.0,
            Node::Aggregate { input, .. } => self.node_rows(input).powf(EQUALITY_POWER),
            Node::Append { inputs, .. } => inputs.iter().map(|input| self.node_rows(input)).sum(),
            Node::SetOperation { left, .. } => self.node_rows(left),
            Node::Hash { left, right, .. } | Node::Loop { left, right, .. } => {
                self.node_rows(left).max(self.node_rows(right))
            }
            _ => UNKNOWN_ROWS,
        }
    }

    /// Rows of a scanned table for which conditions hold.
    pub fn rows(&self, scan: &ScanNode, conditions: &[Condition]) -> f64 {
        let sources = Sources { scans: vec![scan] };
        let rows = self.table_rows(&scan.table) * self.selectivity_of_all(conditions, &sources);
        match self.is_one_row(scan, conditions) {
            true => rows.min(1.0),
            false => rows,
        }
    }

    /// Whether the conditions give every column of a unique index one value.
    fn is_one_row(&self, scan: &ScanNode, conditions: &[Condition]) -> bool {
        let is_given = |column: usize| {
            conditions
                .iter()
                .any(|condition| equal_column(condition).is_some_and(|place| place == scan.offset + column))
        };
        let definition = scan.table.table.definition();
        let mut unique = definition.indexes.iter().filter(|index| index.unique);
        unique.any(|index| index.keys.iter().all(|(column, _)| is_given(*column)))
    }

    /// The part of rows for which all conditions hold.
    pub fn selectivity_of_all(&self, conditions: &[Condition], sources: &Sources<'_>) -> f64 {
        let parts = conditions.iter().map(|one| self.selectivity(one, sources));
        parts.product()
    }

    /// The part of rows, from 0 to 1, for which a condition holds.
    pub fn selectivity(&self, condition: &Condition, sources: &Sources<'_>) -> f64 {
        match condition {
            Condition::Constant(truth) => f64::from(u8::from(*truth == Some(true))),
            Condition::And(parts) => self.selectivity_of_all(parts, sources),
            Condition::Or(parts) => {
                let none = parts.iter().map(|part| 1.0 - self.selectivity(part, sources));
                1.0 - none.product::<f64>()
            }
            Condition::Not(inner) => 1.0 - self.selectivity(inner, sources),
            Condition::Compare {
                operator: Op::Equal,
                left,
                right,
            } => self.equality(left, right, sources),
            Condition::Compare {
                operator: Op::NotEqual,
                left,
                right,
            } => 1.0 - self.equality(left, right, sources),
            Condition::In { operand, list } => {
                let one = self.equality(operand, operand, sources);
                (one * list.len() as f64).min(1.0)
            }
            Condition::Like { .. } => LIKE,
            _ => INEQUALITY,
        }
    }

    /// The part of rows, or of pairs of rows, for which two expressions are equal.
    pub fn equality(&self, left: &Expr, right: &Expr, sources: &Sources<'_>) -> f64 {
        let distinct = |side: &Expr| match column_of(side) {
            Some(place) => self.distinct(place, sources),
            None => 1.0,
        };
        let distinct = distinct(left).max(distinct(right));
        // Neither side is a column: as if each were one of ten values.
        if distinct > 1.0 { 1.0 / distinct } else { 0.1 }
    }

    /// Distinct values of the column at a place of the wide row.
    pub fn distinct(&self, place: usize, sources: &Sources<'_>) -> f64 {
        let Some((scan, column)) = sources.column(place) else {
            return UNKNOWN_ROWS.powf(1.0 - EQUALITY_POWER);
        };
        let rows = self.table_rows(&scan.table);
        let definition = scan.table.table.definition();
        let mut indexes = definition.indexes.iter();
        let is_unique =
            indexes.any(|index| index.unique && matches!(index.keys.as_slice(), [(key, _)] if *key == column));
        if is_unique {
            rows
        } else {
            rows.powf(1.0 - EQUALITY_POWER)
        }
    }
}

/// The place of a column that is compared as it is, or after a conversion.
pub fn column_of(expression: &Expr) -> Option<usize> {
    match &expression.kind {
        ExprKind::Column(place) => Some(*place),
        ExprKind::Convert { operand, .. } | ExprKind::Collate(operand) => column_of(operand),
        _ => None,
    }
}

/// The place of a column that a condition sets equal to something that is none.
pub fn equal_column(condition: &Condition) -> Option<usize> {
    let Condition::Compare {
        operator: Op::Equal,
        left,
        right,
    } = condition
    else {
        return None;
    };
    match (column_of(left), column_of(right)) {
        (Some(place), None) | (None, Some(place)) => Some(place),
        _ => None,
    }
}
