//! Typed conditions: true, false or unknown.

use super::{Expr, ListedValues, Subquery};
use crate::ast::ComparisonOperator;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantifier {
    All,
    /// `ANY`, `SOME`, and `IN`.
    Any,
}

#[derive(Clone, Debug)]
pub enum Condition {
    /// True or false; `None` is unknown.
    Constant(Option<bool>),
    /// All hold.
    And(Vec<Condition>),
    /// One holds.
    Or(Vec<Condition>),
    /// Does not hold.
    Not(Box<Condition>),
    /// `left operator right`, both of one type.
    Compare {
        operator: ComparisonOperator,
        /// Left side.
        left: Expr,
        /// Right side.
        right: Expr,
    },
    /// `operand IN (list)`, all of one type.
    In {
        /// The value looked for.
        operand: Expr,
        list: ListedValues,
    },
    /// `operand LIKE pattern ESCAPE escape`
    Like {
        operand: Expr,
        pattern: Expr,
        /// The escape character.
        escape: Option<Expr>,
    },
    /// `operand IS NULL`
    IsNull(Expr),
    /// `left IS DISTINCT FROM right`
    IsDistinct(Expr, Expr),
    /// `EXISTS (query)`
    Exists(Subquery),
    /// `operand operator ALL | ANY (query)`; the query's one column has the operand's type.
    Quantified {
        /// The value compared.
        operand: Expr,
        operator: ComparisonOperator,
        /// With all rows or with any.
        quantifier: Quantifier,
        subquery: Subquery,
    },
}

impl Condition {
    /// The two sides of an equality.
    pub fn equal_sides(&self) -> Option<(&Expr, &Expr)> {
        match self {
            Condition::Compare {
                operator: ComparisonOperator::Equal,
                left,
                right,
            } => Some((left, right)),
            _ => None,
        }
    }

    /// Joins conditions by AND; nothing is true.
    pub fn all(mut conditions: Vec<Condition>) -> Condition {
        match conditions.len() {
            0 => Condition::Constant(Some(true)),
            1 => conditions.remove(0),
            _ => Condition::And(conditions),
        }
    }

    /// Joins conditions by OR; nothing is false.
    pub fn any(mut conditions: Vec<Condition>) -> Condition {
        match conditions.len() {
            0 => Condition::Constant(Some(false)),
            1 => conditions.remove(0),
            _ => Condition::Or(conditions),
        }
    }

    /// Whether this is the same condition as another: equal for every row. What holds a query is not compared.
    pub fn same_as(&self, other: &Condition) -> bool {
        let all_same = |one: &[Condition], other: &[Condition]| {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.same_as(other))
        };
        let are_same = |pairs: &[(&Expr, &Expr)]| pairs.iter().all(|(one, other)| one.same_as(other));
        match (self, other) {
            (Condition::Constant(one), Condition::Constant(other)) => one == other,
            (Condition::And(one), Condition::And(other)) | (Condition::Or(one), Condition::Or(other)) => {
                all_same(one, other)
            }
            (Condition::Not(one), Condition::Not(other)) => one.same_as(other),
            (
                Condition::Compare { operator, left, right },
                Condition::Compare {
                    operator: other_operator,
                    left: other_left,
                    right: other_right,
                },
            ) => operator == other_operator && are_same(&[(left, other_left), (right, other_right)]),
            (
                Condition::In { operand, list },
                Condition::In {
                    operand: other_operand,
                    list: others,
                },
            ) => {
                let mut pairs = list.iter().zip(others.iter());
                list.len() == others.len()
                    && operand.same_as(other_operand)
                    && pairs.all(|(one, other)| one.same_as(other))
            }
            (
                Condition::Like {
                    operand,
                    pattern,
                    escape: None,
                },
                Condition::Like {
                    operand: other_operand,
                    pattern: other_pattern,
                    escape: None,
                },
            ) => are_same(&[(operand, other_operand), (pattern, other_pattern)]),
            (Condition::IsNull(one), Condition::IsNull(other)) => one.same_as(other),
            (Condition::IsDistinct(left, right), Condition::IsDistinct(other_left, other_right)) => {
                are_same(&[(left, other_left), (right, other_right)])
            }
            _ => false,
        }
    }

    /// What AND joins, itself where it joins nothing.
    pub fn conjuncts(&self) -> Vec<&Condition> {
        match self {
            Condition::And(parts) => parts.iter().flat_map(Condition::conjuncts).collect(),
            other => vec![other],
        }
    }

    /// Takes apart what AND joins.
    pub fn into_conjuncts(self) -> Vec<Condition> {
        match self {
            Condition::And(parts) => parts.into_iter().flat_map(Condition::into_conjuncts).collect(),
            other => vec![other],
        }
    }

    /// Calls `visit` for every expression directly inside.
    pub fn for_each_expression<'c>(&'c self, visit: &mut dyn FnMut(&'c Expr)) {
        match self {
            Condition::Constant(_) => {}
            Condition::And(parts) | Condition::Or(parts) => {
                parts.iter().for_each(|part| part.for_each_expression(visit));
            }
            Condition::Not(inner) => inner.for_each_expression(visit),
            Condition::Compare { left, right, .. } | Condition::IsDistinct(left, right) => {
                visit(left);
                visit(right);
            }
            Condition::In { operand, list } => {
                visit(operand);
                list.iter().for_each(visit);
            }
            Condition::Like {
                operand,
                pattern,
                escape,
            } => {
                visit(operand);
                visit(pattern);
                escape.iter().for_each(visit);
            }
            Condition::IsNull(operand) => visit(operand),
            Condition::Exists(subquery) => subquery.captures.iter().for_each(visit),
            Condition::Quantified { operand, subquery, .. } => {
                visit(operand);
                subquery.captures.iter().for_each(visit);
            }
        }
    }

    /// Calls `change` for every expression directly inside.
    ///
    /// # Errors
    /// The first error of `change`.
    pub fn change_expressions<E>(&mut self, change: &mut dyn FnMut(&mut Expr) -> Result<(), E>) -> Result<(), E> {
        match self {
            Condition::Constant(_) => Ok(()),
            Condition::And(parts) | Condition::Or(parts) => {
                parts.iter_mut().try_for_each(|part| part.change_expressions(change))
            }
            Condition::Not(inner) => inner.change_expressions(change),
            Condition::Compare { left, right, .. } | Condition::IsDistinct(left, right) => {
                change(left)?;
                change(right)
            }
            Condition::In { operand, list } => {
                change(operand)?;
                list.iter_mut().try_for_each(change)
            }
            Condition::Like {
                operand,
                pattern,
                escape,
            } => {
                change(operand)?;
                change(pattern)?;
                escape.iter_mut().try_for_each(change)
            }
            Condition::IsNull(operand) => change(operand),
            Condition::Exists(subquery) => subquery.captures.iter_mut().try_for_each(change),
            Condition::Quantified { operand, subquery, .. } => {
                change(operand)?;
                subquery.captures.iter_mut().try_for_each(change)
            }
        }
    }

    /// Marks the columns of the current row that this condition reads.
    pub fn mark_columns(&self, used: &mut [bool]) {
        self.for_each_expression(&mut |expression| expression.mark_columns(used));
    }
}
