//! Restrictions of single columns of a table, derived from conditions, in the form of a search.
//!
//! ```text
//! a = 1               one alternative      a IN (1, 2), a = 1 OR a > 5     several, of which one holds
//! a > 1 AND a < 5     two restrictions of one column, which make one range
//! ```
//! Other conditions restrict nothing. A restriction may accept more rows than its condition, because the condition is tested above the
//! search.

use engine::types::Value;

use crate::ast::ComparisonOperator as Op;
use crate::plan::{Condition, Expr, ExprKind, ScanNode, SeekEnd, SeekKey};
use crate::scalar::widening::widens;

/// What a condition says about a column.
pub(super) struct Restriction {
    /// The condition's place among those of the scan.
    pub(super) condition: usize,
    /// The column's number in the table.
    pub(super) column: usize,
    /// Of these, one holds.
    pub(super) alternatives: Vec<Alternative>,
}

/// One thing that may hold of a column.
#[derive(Clone)]
pub(super) enum Alternative {
    /// It equals a value, or is NULL.
    Equal(SeekKey),
    /// It lies in a range.
    Range(SeekEnd),
}

impl Restriction {
    /// The keys the column may have, when these can be listed.
    pub(super) fn keys(&self) -> Option<Vec<SeekKey>> {
        let keys = self.alternatives.iter().map(|one| match one {
            Alternative::Equal(key) => Some(key.clone()),
            Alternative::Range(_) => None,
        });
        keys.collect()
    }

    /// The one range that the column lies in, if it is just that.
    pub(super) fn range(&self) -> Option<&SeekEnd> {
        match self.alternatives.as_slice() {
            [Alternative::Range(range)] => Some(range),
            _ => None,
        }
    }
}

/// Reads the conditions on a scan.
pub(super) struct Reader<'r> {
    pub(super) scan: &'r ScanNode,
    /// The places of the wide row that are known when the search begins.
    pub(super) is_known: &'r dyn Fn(usize) -> bool,
}

impl Reader<'_> {
    /// What a condition says about one column.
    pub(super) fn restriction(&self, place: usize, condition: &Condition) -> Option<Restriction> {
        let (column, alternatives) = self.alternatives(condition)?;
        Some(Restriction {
            condition: place,
            column,
            alternatives,
        })
    }

    fn alternatives(&self, condition: &Condition) -> Option<(usize, Vec<Alternative>)> {
        match condition {
            Condition::Compare { operator, left, right } => self
                .comparison(*operator, left, right)
                .or_else(|| self.comparison(mirrored(*operator), right, left)),
            Condition::In { operand, list } => {
                let column = self.column_of(operand)?;
                let keys = list.iter().map(|value| {
                    let is_key = self.is_usable(value) || is_null(value);
                    is_key.then(|| Alternative::Equal(SeekKey::Value(value.clone())))
                });
                Some((column, keys.collect::<Option<_>>()?))
            }
            Condition::IsNull(operand) => Some((self.column_of(operand)?, vec![Alternative::Equal(SeekKey::Null)])),
            Condition::Not(inner) => match &**inner {
                Condition::IsNull(operand) => {
                    let range = Alternative::Range(SeekEnd::NotNull);
                    Some((self.column_of(operand)?, vec![range]))
                }
                _ => None,
            },
            Condition::Like {
                operand,
                pattern,
                escape,
            } => self.like(operand, pattern, escape.as_ref()),
            Condition::And(parts) => self.both_bounds(parts),
            Condition::Or(parts) => self.one_of(parts),
            _ => None,
        }
    }

    fn comparison(&self, operator: Op, column: &Expr, value: &Expr) -> Option<(usize, Vec<Alternative>)> {
        let column = self.column_of(column).filter(|_| self.is_usable(value))?;
        let bound = |inclusive: bool| Some((value.clone(), inclusive));
        let between = |low, high| Alternative::Range(SeekEnd::Between { low, high });
        let alternative = match operator {
            Op::Equal => Alternative::Equal(SeekKey::Value(value.clone())),
            Op::Less => between(None, bound(false)),
            Op::LessOrEqual => between(None, bound(true)),
            Op::Greater => between(bound(false), None),
            Op::GreaterOrEqual => between(bound(true), None),
            Op::NotEqual => return None,
        };
        Some((column, vec![alternative]))
    }

    fn like(&self, operand: &Expr, pattern: &Expr, escape: Option<&Expr>) -> Option<(usize, Vec<Alternative>)> {
        let column = self.column_of(operand)?;
        let is_usable = self.is_usable(pattern) && escape.is_none_or(|escape| self.is_usable(escape));
        // A pattern that begins with anything at all is found by going through everything.
        let begins_open = match &pattern.kind {
            ExprKind::Constant(value) => value.as_str().is_none_or(|text| text.starts_with(['%', '_', '['])),
            _ => false,
        };
        let range = SeekEnd::Prefix {
            pattern: pattern.clone(),
            escape: escape.cloned(),
        };
        (is_usable && !begins_open).then(|| (column, vec![Alternative::Range(range)]))
    }

    /// `a > 1 AND a < 5`, as a part of OR: a range of one column. What else AND joins is left to the condition itself.
    fn both_bounds(&self, parts: &[Condition]) -> Option<(usize, Vec<Alternative>)> {
        let mut found = parts.iter().filter_map(|part| self.alternatives(part));
        let (column, mut alternatives) = found.next()?;
        for (other, others) in found {
            if other == column
                && let ([Alternative::Range(range)], [Alternative::Range(other)]) =
                    (alternatives.as_mut_slice(), others.as_slice())
            {
                narrow(range, other);
            }
        }
        Some((column, alternatives))
    }

    /// Alternatives of one column.
    fn one_of(&self, parts: &[Condition]) -> Option<(usize, Vec<Alternative>)> {
        let mut column = None;
        let mut all = Vec::new();
        for part in parts {
            let (other, alternatives) = self.alternatives(part)?;
            if *column.get_or_insert(other) != other {
                return None;
            }
            all.extend(alternatives);
        }
        Some((column?, all))
    }

    fn column_of(&self, expression: &Expr) -> Option<usize> {
        let place = searched_place(expression)?;
        let column = place.checked_sub(self.scan.offset)?;
        (column < self.scan.table.table.definition().columns.len()).then_some(column)
    }

    /// Whether a value is the same for every row of the table, known when the search begins, and worth searching for.
    fn is_usable(&self, value: &Expr) -> bool {
        !is_null(value) && self.is_known_before(value)
    }

    fn is_known_before(&self, value: &Expr) -> bool {
        let mut is_known = match value.kind {
            ExprKind::Column(place) => (self.is_known)(place),
            ExprKind::Module { .. } | ExprKind::Subquery(_) => false,
            _ => true,
        };
        value.for_each_child(&mut |child| is_known = is_known && self.is_known_before(child));
        is_known
    }
}

/// The place of a column that an index can be searched by: as it is, or as a type that is only wider, since a search finds the place of a
/// value of that type.
pub(super) fn searched_place(expression: &Expr) -> Option<usize> {
    match &expression.kind {
        ExprKind::Column(place) => Some(*place),
        ExprKind::Convert {
            operand, style: None, ..
        } => match operand.kind {
            ExprKind::Column(place) if widens(operand.sql_type, expression.sql_type) => Some(place),
            _ => None,
        },
        _ => None,
    }
}

fn is_null(value: &Expr) -> bool {
    matches!(value.kind, ExprKind::Constant(Value::Null))
}

/// Gives a range that has one bound the other one, if `other` is that. A range that has the bound already keeps it.
pub(super) fn narrow(range: &mut SeekEnd, other: &SeekEnd) {
    match (&mut *range, other) {
        (
            SeekEnd::Between { low, high },
            SeekEnd::Between {
                low: other_low,
                high: other_high,
            },
        ) => {
            if low.is_none() {
                low.clone_from(other_low);
            }
            if high.is_none() {
                high.clone_from(other_high);
            }
        }
        // All other ranges are without NULL.
        (SeekEnd::All | SeekEnd::NotNull, _) => range.clone_from(other),
        _ => {}
    }
}

/// The operator for the sides exchanged.
pub(super) fn mirrored(operator: Op) -> Op {
    match operator {
        Op::Less => Op::Greater,
        Op::LessOrEqual => Op::GreaterOrEqual,
        Op::Greater => Op::Less,
        Op::GreaterOrEqual => Op::LessOrEqual,
        same => same,
    }
}
