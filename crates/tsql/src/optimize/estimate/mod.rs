//! Estimated row counts, on which the optimizer's choices depend. An estimate affects the speed of a plan, never its result.
//!
//! The inputs are a table's row and page counts and the statistics of its columns (`knowledge` provides them, `condition` uses them); small
//! tables are read (`small`). Otherwise the estimates are SQL Server's guesses without statistics, as measured on a heap of a million rows
//! (Joe Sack, "Selectivity guesses in absence of statistics"):
//!
//! ```text
//! column = value          rows to the power of 0.75; one row when a unique index says so
//! column < value, ...     30 %
//! column BETWEEN a AND b   9 %, as is any other pair of bounds
//! column LIKE pattern      9 %
//! others                  30 %; NOT is the complement
//! ```

mod condition;
mod expected;
mod filtered;
mod knowledge;
mod small;

pub use expected::{ByNode, Expectations, Expected, operators, queries_of, queries_of_condition};
pub use knowledge::Premises;

use std::cell::RefCell;
use std::sync::Arc;

use engine::error::Result;
use engine::statistics::Content;
use engine::types::Value;

use crate::ast::ComparisonOperator as Op;
use crate::optimize::applied::Rules;
use crate::plan::{Aging, BoundTable, Condition, Expr, ExprKind, FromNode, FromUnit, Node, Part, ScanNode, Shape};
use crate::scalar::convert::{convert, recollated};
use crate::state::{Rule, SessionState};
use knowledge::Knowledge;

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

    /// One table by itself.
    pub fn of_scan(scan: &'n ScanNode) -> Sources<'n> {
        Sources { scans: vec![scan] }
    }

    /// Adds the tables of a tree.
    pub fn add(&mut self, node: &'n Node) {
        if let Node::Scan(scan) = node {
            self.scans.push(scan);
        }
        node.for_each_in_row(&mut |below| self.add(below));
    }

    /// The table's column that a place of the wide row holds.
    pub fn column(&self, place: usize) -> Option<(&'n ScanNode, usize)> {
        self.scans.iter().find_map(|scan| {
            let column = place.checked_sub(scan.offset)?;
            (column < scan.table.table.definition().columns.len()).then_some((*scan, column))
        })
    }

    /// The place among the tables of the one that a place of the wide row is of.
    fn position(&self, place: usize) -> Option<usize> {
        self.scans.iter().position(|scan| {
            let column = place.checked_sub(scan.offset);
            column.is_some_and(|column| column < scan.table.table.definition().columns.len())
        })
    }
}

/// What a plan may know of the variables that it reads, by slot: the value that it is made for.
#[derive(Debug, Default)]
pub struct Peeked(pub Vec<Option<Value>>);

/// Answers how many, and which rules the session allows. See the module.
pub struct Estimator<'s> {
    knowledge: Knowledge<'s>,
    rules: Rules<'s>,
    peeked: Peeked,
    small: small::SmallTables,
    /// The statistics with a filter by which a column at a place of the wide row is judged now (`filtered`).
    filtered: RefCell<Option<(usize, Arc<Content>)>>,
    /// Whether it counts that the first rows alone are wanted.
    pub(super) has_goals: bool,
}

impl<'s> Estimator<'s> {
    /// An estimator for statements of this session.
    pub fn new(session: &'s SessionState) -> Estimator<'s> {
        Estimator {
            knowledge: Knowledge::new(session),
            rules: Rules::new(session.options().rules_off, &session.trees),
            peeked: Peeked::default(),
            small: small::SmallTables::default(),
            filtered: RefCell::default(),
            has_goals: true,
        }
    }

    /// Lets it know values of variables.
    pub(super) fn peek(&mut self, peeked: Peeked) {
        self.peeked = peeked;
    }

    /// Lets it know by what the plan grows out of date.
    pub(super) fn age(&self, aging: Aging) {
        self.knowledge.age(aging);
    }

    /// What the plan that was made takes for granted of the tables it reads.
    pub fn take_premises(&self) -> Premises {
        self.knowledge.take_premises()
    }

    /// The value of an expression that is known when the plan is made: of a constant, of a variable that was looked at, of either in
    /// another type.
    pub(super) fn known(&self, expression: &Expr) -> Option<Value> {
        match &expression.kind {
            ExprKind::Constant(value) => Some(value.clone()),
            ExprKind::Variable(slot) => self.peeked.0.get(*slot)?.clone(),
            ExprKind::Convert {
                operand, style: None, ..
            } => convert(&self.known(operand)?, operand.sql_type, expression.sql_type, None).ok(),
            ExprKind::Collate(operand) => {
                let value = self.known(operand)?;
                Some(recollated(value, expression.sql_type, expression.label.collation()))
            }
            _ => None,
        }
    }

    /// Whether the session lets the optimizer use a rule.
    pub fn allows(&self, rule: Rule) -> bool {
        self.rules.allow(rule)
    }

    /// The rules that the session has not switched off, with their listener.
    pub(in crate::optimize) fn rules(&self) -> Rules<'s> {
        self.rules
    }

    /// Looks after the statistics of the columns that FROM compares, before anything is estimated of it. Nothing is needed for one row by a
    /// unique index.
    ///
    /// # Errors
    /// 3617 when the batch is to stop.
    pub fn prepare(&self, from: &FromNode) -> Result<()> {
        let sources = Sources::of(&from.units);
        if let [scan] = sources.scans.as_slice()
            && self.is_one_row(scan, &from.conjuncts)
        {
            return Ok(());
        }
        let mut compared = Vec::new();
        from.conjuncts.iter().for_each(|one| note_compared(one, &mut compared));
        from.units
            .iter()
            .for_each(|unit| note_joined(&unit.node, &mut compared));
        for (at, scan) in sources.scans.iter().enumerate() {
            let own = compared.iter().filter(|place| sources.position(**place) == Some(at));
            let mut columns: Vec<usize> = own.map(|place| place - scan.offset).collect();
            columns.sort_unstable();
            columns.dedup();
            match columns.is_empty() {
                true => self.knowledge.rely_on_rows(&scan.table.table),
                false => self.knowledge.require(&scan.table.table, &columns)?,
            }
        }
        self.read_small(from, &sources)
    }

    /// Rows of a table; at least one, so that a plan for an empty table is none for an infinitely small one. Where they were not counted
    /// since the start, as many as there were when statistics were.
    pub fn table_rows(&self, table: &BoundTable) -> f64 {
        let table = &table.table;
        let of_statistics = || self.knowledge.rows_when_counted(table);
        let guessed = || table.page_count() * (PAGE_BYTES / ROW_BYTES_GUESS);
        let rows = table.row_count().or_else(of_statistics).unwrap_or_else(guessed);
        (rows as f64).max(1.0)
    }

    /// Rows of a table that a scan reads: of a sample, its share.
    fn scanned_rows(&self, scan: &ScanNode) -> f64 {
        let rows = self.table_rows(&scan.table);
        scan.sample.map_or(rows, |sample| (rows * sample.share(rows)).max(1.0))
    }

    pub fn table_pages(&self, table: &BoundTable) -> f64 {
        (table.table.page_count_believed() as f64).max(1.0)
    }

    /// Rows of anything in FROM.
    pub fn node_rows(&self, node: &Node) -> f64 {
        match node.shape() {
            Shape::Source(_) => self.source_rows(node),
            Shape::Joined => {
                let Node::Join(join) = node else { return UNKNOWN_ROWS };
                self.node_rows(&join.left).max(self.node_rows(&join.right))
            }
            Shape::Passed(_) if matches!(node, Node::Top(_) | Node::Slice(_)) => UNKNOWN_ROWS,
            Shape::Passed(input) => match matches!(node, Node::Filter(_)) {
                true => self.node_rows(input) * INEQUALITY,
                false => self.node_rows(input),
            },
            Shape::Extended(below) => self.node_rows(below.input),
            Shape::Computed(below) => {
                let rows = self.node_rows(below.input);
                let Node::Aggregate(aggregate) = node else { return rows };
                match aggregate.keys.is_empty() {
                    true => 1.0,
                    false => rows.powf(EQUALITY_POWER),
                }
            }
            Shape::United => {
                let rows = node.inputs().into_iter().map(|input| self.node_rows(input));
                match matches!(node, Node::SetOperation(_)) {
                    true => rows.take(1).sum(),
                    false => rows.sum(),
                }
            }
        }
    }

    /// Rows of a source of FROM.
    fn source_rows(&self, node: &Node) -> f64 {
        if let Node::Scan(scan) = node {
            return self.scanned_rows(scan);
        }
        if let Node::Derived(derived) = node {
            return self.node_rows(&derived.plan.root);
        }
        if let Node::Values(values) = node {
            return values.rows.len() as f64;
        }
        if let Node::Single = node {
            return 1.0;
        }
        match matches!(node, Node::Empty) {
            true => 0.0,
            false => UNKNOWN_ROWS,
        }
    }

    /// Rows of a scanned table for which conditions hold.
    pub fn rows(&self, scan: &ScanNode, conditions: &[Condition]) -> f64 {
        // Where nothing is left, statistics say how little that may be.
        if let Some(left) = self.rows_left(scan, conditions).filter(|left| !left.is_empty()) {
            return left.len() as f64;
        }
        // Nothing was counted for a search of one row.
        if self.is_one_row(scan, conditions) {
            return 1.0;
        }
        let sources = Sources::of_scan(scan);
        self.scanned_rows(scan) * self.selectivity_of_all(conditions, &sources)
    }

    /// Whether the conditions give every column of a unique index one value.
    fn is_one_row(&self, scan: &ScanNode, conditions: &[Condition]) -> bool {
        let is_given = |column: usize| {
            conditions
                .iter()
                .any(|condition| equal_column(condition).is_some_and(|place| place == scan.offset + column))
        };
        let definition = scan.table.table.definition();
        let mut unique = definition.indexes.iter().filter(|index| index.is_unique_of_all());
        unique.any(|index| index.keys.iter().all(|(column, _)| is_given(*column)))
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

/// The places of columns that conditions compare, wherever in them.
fn note_compared(condition: &Condition, compared: &mut Vec<usize>) {
    match condition {
        Condition::And(parts) | Condition::Or(parts) => parts.iter().for_each(|part| note_compared(part, compared)),
        Condition::Not(inner) => note_compared(inner, compared),
        other => other.for_each_expression(&mut |expression| compared.extend(column_of(expression))),
    }
}

/// Those of the conditions below a unit.
fn note_joined(node: &Node, compared: &mut Vec<usize>) {
    if let Node::From(_) | Node::Outer(_) | Node::Filter(_) = node {
        let Ok(()) = node.parts::<std::convert::Infallible>(&mut |part| {
            if let Part::Condition(condition) = part {
                note_compared(condition, compared);
            }
            Ok(())
        });
    }
    node.for_each_in_row(&mut |below| note_joined(below, compared));
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
