//! Reads the rows of small tables while a plan is compiled.
//!
//! For `k.name = 'episode' and t.kind = k.id`, statistics say that one kind remains, and how many titles an average kind has. To know how
//! many titles this kind has, its id is needed. So the rows of a table with at most [`ROWS_MAX`] rows are read if the FROM has conditions
//! on it alone. They are read without locks, including uncommitted ones, as for statistics. The estimate for a join with that table comes
//! from the histogram of the other column and the remaining values:
//!
//! ```text
//! kind_type            k.name = 'episode'   left: id 7      title.kind_id = 7: 62 of 100 rows, not 1 of 7
//! ```
//! The plan ages with its statistics (`knowledge`): after many changes of the small table it is recompiled. SQL Server does not do this.
//! MySQL reads tables with one row during planning ("const" tables), for the same reason.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use engine::catalog::ColumnDefinition;
use engine::error::Result;
use engine::types::{Collation, SqlType, Value};

use super::knowledge::{TableKey, key_of};
use super::{Estimator, Sources, column_of};
use crate::plan::{BoundTable, Condition, Expr, ExprKind, FromNode, ScanNode};
use crate::scalar::compare::{compare, satisfies};
use crate::scalar::convert::convert;
use crate::scalar::like::{Blanks, Pattern};
use crate::state::Rule;

/// Larger tables are not read: a histogram has no more steps.
const ROWS_MAX: usize = 200;
/// Nor are those on more pages: one extent.
const PAGES_MAX: f64 = 8.0;
/// What is left of a table of which nothing fits is still not nothing: rows come and go while a plan is kept.
const PART_MIN: f64 = 1e-9;

type Row = Vec<Value>;

/// The small tables that a statement reads.
#[derive(Default)]
pub(super) struct SmallTables {
    rows: RefCell<HashMap<TableKey, Rc<Vec<Row>>>>,
    /// What conditions leave of them, where they were looked at last.
    looked_at: RefCell<Vec<LookedAt>>,
}

/// Rows of a table that its conditions leave.
struct LookedAt {
    table: TableKey,
    /// The first place of its columns, and their types.
    offset: usize,
    types: Vec<(SqlType, Collation)>,
    left: Vec<Row>,
}

impl LookedAt {
    fn has(&self, place: usize) -> bool {
        (self.offset..self.offset + self.types.len()).contains(&place)
    }
}

impl Estimator<'_> {
    /// Reads the small tables of a FROM that conditions of their own leave some rows of.
    ///
    /// # Errors
    /// 3617 when the batch is to stop.
    pub(super) fn read_small(&self, from: &FromNode, sources: &Sources<'_>) -> Result<()> {
        if sources.scans.len() < 2 || !self.allows(Rule::ReadSmallTables) {
            return Ok(());
        }
        for (at, scan) in sources.scans.iter().enumerate() {
            let is_own = |condition: &Condition| {
                let mut of_others = false;
                let mut reads = false;
                condition.for_each_column(&mut |place| {
                    reads = true;
                    of_others |= sources.position(place) != Some(at);
                });
                reads && !of_others
            };
            let key = key_of(&scan.table.table);
            let is_known = self.small.rows.borrow().contains_key(&key);
            if is_known || !self.is_small(&scan.table) || !from.conjuncts.iter().any(is_own) {
                continue;
            }
            if let Some(rows) = self.knowledge.all_rows(&scan.table.table, ROWS_MAX)? {
                self.small.rows.borrow_mut().insert(key, Rc::new(rows));
            }
        }
        Ok(())
    }

    fn is_small(&self, table: &BoundTable) -> bool {
        self.table_pages(table) <= PAGES_MAX && self.table_rows(table) <= ROWS_MAX as f64
    }

    /// Rows of a small table that conditions leave; None if they cannot be counted here.
    pub(super) fn rows_left(&self, scan: &ScanNode, conditions: &[Condition]) -> Option<Vec<Row>> {
        let all = self.small.rows.borrow().get(&key_of(&scan.table.table))?.clone();
        let mut left = Vec::new();
        for row in all.iter() {
            let mut holds = Some(true);
            for condition in conditions {
                holds = and(holds, self.holds(condition, scan, row)?);
            }
            if holds == Some(true) {
                left.push(row.clone());
            }
        }
        Some(left)
    }

    /// From now on joins with a table are estimated by the rows that conditions leave of it, if it is small.
    pub(in crate::optimize) fn look_at(&self, scan: &ScanNode, conditions: &[Condition]) {
        let columns = &scan.table.table.definition().columns;
        let mut looked_at = self.small.looked_at.borrow_mut();
        // FROMs of one statement use the same places one after the other.
        let end = scan.offset + columns.len();
        looked_at.retain(|one| one.offset + one.types.len() <= scan.offset || end <= one.offset);
        let left = match conditions {
            [] => None,
            _ => self.rows_left(scan, conditions),
        };
        looked_at.extend(left.map(|left| LookedAt {
            table: key_of(&scan.table.table),
            offset: scan.offset,
            types: columns.iter().map(type_of).collect(),
            left,
        }));
    }

    /// The part of pairs of rows with one value in two columns, when one of them is of a table that was looked at: of the pairs with the
    /// rows that are left of it.
    pub(in crate::optimize) fn part_of_left(&self, left: usize, right: usize, sources: &Sources<'_>) -> Option<f64> {
        let looked_at = self.small.looked_at.borrow();
        if looked_at.is_empty() {
            return None;
        }
        let of = |place: usize| {
            let one = looked_at.iter().find(|one| one.has(place))?;
            let is_it = |(scan, _): (&ScanNode, usize)| key_of(&scan.table.table) == one.table;
            sources.column(place).is_none_or(is_it).then_some(one)
        };
        let (small, place, other) = match (of(left), of(right)) {
            (Some(small), None) => (small, left, right),
            (None, Some(small)) => (small, right, left),
            _ => return None,
        };
        let own = place - small.offset;
        let (scan, column) = sources.column(other)?;
        // Keys of values of two types say nothing of each other.
        if type_of(&scan.table.table.definition().columns[column]) != *small.types.get(own)? || small.left.is_empty() {
            return None;
        }
        let values = small.left.iter().filter_map(|row| row.get(own));
        let part = self.with_column(other, sources, |column| {
            values.map(|value| column.equal(value)).sum::<f64>()
        })?;
        Some((part / small.left.len() as f64).clamp(PART_MIN, 1.0))
    }

    /// The truth of a condition for a row of a table, unknown being none; None if it cannot be evaluated here.
    fn holds(&self, condition: &Condition, scan: &ScanNode, row: &Row) -> Option<Option<bool>> {
        crate::stack::require().ok()?;
        let value = |expression: &Expr| self.value_in(expression, scan, row);
        Some(match condition {
            Condition::Constant(truth) => *truth,
            Condition::And(parts) => {
                let mut all = Some(true);
                for part in parts {
                    all = and(all, self.holds(part, scan, row)?);
                }
                all
            }
            Condition::Or(parts) => {
                let mut none = Some(true);
                for part in parts {
                    none = and(none, self.holds(part, scan, row)?.map(|truth| !truth));
                }
                none.map(|truth| !truth)
            }
            Condition::Not(inner) => self.holds(inner, scan, row)?.map(|truth| !truth),
            Condition::Compare { operator, left, right } => {
                compare(&value(left)?, &value(right)?).map(|order| satisfies(*operator, order))
            }
            Condition::In { operand, list } => {
                let operand = value(operand)?;
                let mut none = Some(true);
                for item in list {
                    none = and(none, compare(&operand, &value(item)?).map(|order| order.is_ne()));
                }
                none.map(|truth| !truth)
            }
            Condition::Like {
                operand,
                pattern,
                escape: None,
            } => match (value(operand)?, value(pattern)?) {
                (Value::Text(text), Value::Text(pattern)) => {
                    let collation = self.collation_of(operand, scan)?;
                    Some(
                        Pattern::new(&pattern, None, collation)
                            .matches(&text, Blanks::LeftOver)
                            .ok()?,
                    )
                }
                _ => None,
            },
            Condition::IsNull(operand) => Some(value(operand)?.is_null()),
            _ => return None,
        })
    }

    /// The value of an expression for a row of a table.
    fn value_in(&self, expression: &Expr, scan: &ScanNode, row: &Row) -> Option<Value> {
        match &expression.kind {
            ExprKind::Column(place) => row.get(place.checked_sub(scan.offset)?).cloned(),
            ExprKind::Convert {
                operand, style: None, ..
            } => {
                let value = self.value_in(operand, scan, row)?;
                convert(&value, operand.sql_type, expression.sql_type, None).ok()
            }
            _ => self.known(expression),
        }
    }

    fn collation_of(&self, expression: &Expr, scan: &ScanNode) -> Option<Collation> {
        let column = column_of(expression)?.checked_sub(scan.offset)?;
        Some(scan.table.table.definition().columns.get(column)?.collation)
    }
}

fn type_of(column: &ColumnDefinition) -> (SqlType, Collation) {
    (column.sql_type, column.collation)
}

/// Both hold, of three truths.
fn and(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    match (left, right) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}
