//! Checks whether the conditions on a table imply the filter of a filtered index, so that the index may be searched.
//!
//! ```text
//! filter           implied by                                     not implied by
//! a IS NOT NULL    a = @x, a > 1, a LIKE 'b%', a = other.c        b = 1
//! a > 5            a = 6, a > 7, a IN (6, 9), a > 5 AND b = 1     a > @x, a > 4, a > 5 OR b = 1
//! a = 1            a = 1                                          a = @x: a plan must work for every value of a variable
//! a IN (1, 2)      a = 2, a IN (2, 1), a = 1 OR a = 2             a IN (1, 3)
//! ```
//! "The query optimizer does not consider using a filtered index if the query could return rows that are not in it" (sql-docs, "Create filtered
//! indexes").
//!
//! Invariant: a condition implies a term only if no row satisfies the condition but not the term. Unknown conditions imply nothing.

use engine::catalog::{ColumnDefinition, FilterKey, FilterOperator, FilterTerm, FilterTest, IndexFilter};
use engine::types::{SqlType, Value};

use crate::ast::ComparisonOperator as Op;
use crate::plan::{Condition, Expr, ExprKind, ScanNode};
use crate::scalar::compare::same;
use crate::scalar::convert::convert;

/// The places of the conditions on a scan that imply a filter; `None` where they do not.
pub(super) fn implied_by(filter: &IndexFilter, scan: &ScanNode, conditions: &[Condition]) -> Option<Vec<usize>> {
    let implying = filter.terms.iter().map(|term| {
        let term = Term::of(term, scan)?;
        conditions.iter().position(|condition| term.is_implied_by(condition))
    });
    implying.collect()
}

/// A term with what is known of its column.
struct Term<'t> {
    test: &'t FilterTest,
    column: &'t ColumnDefinition,
    /// Its place in the wide row.
    place: usize,
}

/// A bound of a column, with whether the value itself is within.
type Bound = Option<(FilterKey, bool)>;

/// What a condition says of the column of a term.
enum Said {
    Null,
    /// It is not NULL, and nothing more is known.
    Something,
    Equal(FilterKey),
    NotEqual(FilterKey),
    Between {
        low: Bound,
        high: Bound,
    },
}

impl<'t> Term<'t> {
    fn of(term: &'t FilterTerm, scan: &'t ScanNode) -> Option<Term<'t>> {
        Some(Term {
            test: &term.test,
            column: scan.table.table.definition().columns.get(term.column)?,
            place: scan.offset + term.column,
        })
    }

    fn is_implied_by(&self, condition: &Condition) -> bool {
        match condition {
            Condition::And(parts) => parts.iter().any(|part| self.is_implied_by(part)),
            Condition::Or(parts) => parts.iter().all(|part| self.is_implied_by(part)),
            Condition::In { operand, list } => {
                self.is_own(operand)
                    && list
                        .iter()
                        .all(|value| self.is_implied(&self.said_by(Op::Equal, value)))
            }
            _ => self.said(condition).is_some_and(|said| self.is_implied(&said)),
        }
    }

    /// What a condition says of the column, unless it combines others.
    fn said(&self, condition: &Condition) -> Option<Said> {
        match condition {
            Condition::Compare { operator, left, right } if self.is_own(left) => Some(self.said_by(*operator, right)),
            Condition::Compare { operator, left, right } if self.is_own(right) => {
                Some(self.said_by(super::restriction::mirrored(*operator), left))
            }
            Condition::Like { operand, .. } if self.is_own(operand) => Some(Said::Something),
            Condition::IsNull(operand) if self.is_own(operand) => Some(Said::Null),
            Condition::Not(inner) => match &**inner {
                Condition::IsNull(operand) | Condition::Like { operand, .. } if self.is_own(operand) => {
                    Some(Said::Something)
                }
                Condition::In { operand, list } if self.is_own(operand) && !list.is_empty() => Some(Said::Something),
                Condition::Compare { operator, left, right } => self.said(&Condition::Compare {
                    operator: opposite(*operator),
                    left: left.clone(),
                    right: right.clone(),
                }),
                _ => None,
            },
            _ => None,
        }
    }

    fn said_by(&self, operator: Op, value: &Expr) -> Said {
        let Some(key) = self.key(value) else {
            return Said::Something;
        };
        let between = |low, high| Said::Between { low, high };
        match operator {
            Op::Equal => Said::Equal(key),
            Op::NotEqual => Said::NotEqual(key),
            Op::Less => between(None, Some((key, false))),
            Op::LessOrEqual => between(None, Some((key, true))),
            Op::Greater => between(Some((key, false)), None),
            Op::GreaterOrEqual => between(Some((key, true)), None),
        }
    }

    /// Whether an expression is the column, or a number of it in a larger type.
    fn is_own(&self, expression: &Expr) -> bool {
        match &expression.kind {
            ExprKind::Column(place) => *place == self.place,
            ExprKind::Convert {
                operand,
                style: None,
                or_null: false,
            } => operand.sql_type.is_numeric() && expression.sql_type.is_numeric() && self.is_own(operand),
            _ => false,
        }
    }

    /// The key of a constant that the column's type holds as it is.
    fn key(&self, value: &Expr) -> Option<FilterKey> {
        let (own, from) = (self.column.sql_type, value.sql_type);
        let ExprKind::Constant(constant) = &value.kind else {
            return None;
        };
        let of = |value: &Value| FilterKey::of(&value.clone().collated(self.column.collation), self.column.collation);
        let there = convert(constant, from, own, None)
            .ok()
            .filter(|value| !value.is_null())?;
        let is_exact = match (
            own.is_numeric() && from.is_numeric(),
            own.is_character() && from.is_character(),
        ) {
            (true, _) => convert(&there, own, from, None).is_ok_and(|back| same(&back, constant)),
            (_, true) => own.is_unicode() == from.is_unicode() && of(constant) == of(&there),
            _ => own == from,
        };
        (is_exact && !matches!(own, SqlType::Real | SqlType::Float)).then(|| of(&there))
    }

    fn is_implied(&self, said: &Said) -> bool {
        match self.test {
            FilterTest::Null => matches!(said, Said::Null),
            FilterTest::NotNull => !matches!(said, Said::Null),
            FilterTest::In(keys) => matches!(said, Said::Equal(key) if keys.contains(key)),
            FilterTest::Compared(operator, key) => is_within(*operator, key, said),
        }
    }
}

/// The operator that holds of two values where another does not.
fn opposite(operator: Op) -> Op {
    match operator {
        Op::Equal => Op::NotEqual,
        Op::NotEqual => Op::Equal,
        Op::Less => Op::GreaterOrEqual,
        Op::LessOrEqual => Op::Greater,
        Op::Greater => Op::LessOrEqual,
        Op::GreaterOrEqual => Op::Less,
    }
}

/// Whether all that is said lies where a comparison with a key holds.
fn is_within(operator: FilterOperator, key: &FilterKey, said: &Said) -> bool {
    let above = |low: &Bound, or_equal: bool| {
        let low = low.as_ref();
        low.is_some_and(|(low, is_in)| low > key || low == key && (or_equal || !is_in))
    };
    let below = |high: &Bound, or_equal: bool| {
        let high = high.as_ref();
        high.is_some_and(|(high, is_in)| high < key || high == key && (or_equal || !is_in))
    };
    match (said, operator) {
        (Said::Null | Said::Something, _) => false,
        (Said::Equal(value), _) => operator.holds(value.cmp(key)),
        (Said::NotEqual(value), _) => operator == FilterOperator::NotEqual && value == key,
        (Said::Between { low, .. }, FilterOperator::Greater) => above(low, false),
        (Said::Between { low, .. }, FilterOperator::GreaterOrEqual) => above(low, true),
        (Said::Between { high, .. }, FilterOperator::Less) => below(high, false),
        (Said::Between { high, .. }, FilterOperator::LessOrEqual) => below(high, true),
        (Said::Between { low, high }, FilterOperator::NotEqual) => above(low, false) || below(high, false),
        (Said::Between { .. }, FilterOperator::Equal) => false,
    }
}
