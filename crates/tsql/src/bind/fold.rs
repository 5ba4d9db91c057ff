//! Constant folding at bind time: conditions and branches with only one possible outcome.
//!
//! SQL Server decides some conditions before it runs a statement. It then neither evaluates their other parts nor checks whether these are
//! grouped: a division by zero next to `NULL =` is not an error, and neither is an ungrouped column. The rules, as observed on SQL Server
//! 2025:
//!
//! ```text
//! NULL = x, NULL < x, ...         unknown, whatever x is; NULL is the word, also through CAST, CONVERT or a sign
//! x BETWEEN NULL AND NULL         unknown
//! x IN (NULL)                     unknown
//! ... AND false AND ...           false
//! ... OR true OR ...              true
//! constant = constant             its value, unless it fails
//! WHERE, ON, HAVING               false, if it cannot be true
//! COALESCE(NULL, constant, ...)   the constant
//! CASE WHEN true ...              that branch; branches that cannot be taken are dropped
//! ```
//! Variables are not folded, because their values are not known yet. Neither is LIKE.

use crate::plan::{Condition, Expr, ExprKind};
use crate::scalar::arithmetic::{apply, negate};
use crate::scalar::compare::{compare, satisfies};
use crate::scalar::convert::convert;

use engine::types::Value;

/// The value of an expression of constants; `None` when it is none, or fails.
pub(super) fn value_of(expression: &Expr) -> Option<Value> {
    match &expression.kind {
        ExprKind::Constant(value) => Some(value.clone()),
        ExprKind::Arithmetic { operator, left, right } => {
            apply(*operator, &value_of(left)?, &value_of(right)?, expression.sql_type).ok()
        }
        ExprKind::Negate(operand) => negate(&value_of(operand)?, expression.sql_type).ok(),
        ExprKind::Convert {
            operand, style: None, ..
        } => convert(&value_of(operand)?, operand.sql_type, expression.sql_type, None).ok(),
        _ => None,
    }
}

/// Whether this is NULL as it is written: the word, also under CAST, CONVERT and signs. `NULL + 1` is none.
pub(super) fn is_written_null(expression: &Expr) -> bool {
    match &expression.kind {
        ExprKind::Constant(value) => value.is_null(),
        ExprKind::Convert { operand, .. } | ExprKind::Negate(operand) | ExprKind::Collate(operand) => {
            is_written_null(operand)
        }
        _ => false,
    }
}

/// A condition with what is settled in it in place of what settles it.
pub(crate) fn settled(condition: Condition) -> Condition {
    let truth = match &condition {
        Condition::Compare { left, right, .. } if is_written_null(left) || is_written_null(right) => None,
        Condition::Compare { operator, left, right } => match (value_of(left), value_of(right)) {
            (Some(left), Some(right)) => compare(&left, &right).map(|order| satisfies(*operator, order)),
            _ => return condition,
        },
        Condition::In { list, .. } if list.iter().all(is_written_null) => None,
        Condition::In { operand, .. } if is_written_null(operand) => None,
        Condition::IsNull(operand) => match value_of(operand) {
            Some(value) => Some(value.is_null()),
            None => return condition,
        },
        Condition::Not(inner) => match **inner {
            Condition::Constant(truth) => truth.map(|truth| !truth),
            _ => return condition,
        },
        Condition::And(parts) if parts.iter().any(|part| is(part, Some(false))) => Some(false),
        Condition::Or(parts) if parts.iter().any(|part| is(part, Some(true))) => Some(true),
        Condition::And(parts) | Condition::Or(parts)
            if !parts.is_empty() && parts.iter().all(|part| is(part, None)) =>
        {
            None
        }
        _ => return condition,
    };
    Condition::Constant(truth)
}

fn is(condition: &Condition, truth: Option<bool>) -> bool {
    matches!(condition, Condition::Constant(found) if *found == truth)
}

/// A condition that chooses rows: one that cannot be true is false.
pub(super) fn filter(condition: Condition) -> Condition {
    if can_be(&condition, true) {
        condition
    } else {
        Condition::Constant(Some(false))
    }
}

/// Whether a condition can come out so, as far as its settled parts tell.
fn can_be(condition: &Condition, truth: bool) -> bool {
    match condition {
        Condition::Constant(found) => *found == Some(truth),
        Condition::Not(inner) => can_be(inner, !truth),
        // AND is true if all parts are, and false if one is; OR the other way round.
        Condition::And(parts) if truth => parts.iter().all(|part| can_be(part, true)),
        Condition::And(parts) => parts.iter().any(|part| can_be(part, false)),
        Condition::Or(parts) if truth => parts.iter().any(|part| can_be(part, true)),
        Condition::Or(parts) => parts.iter().all(|part| can_be(part, false)),
        _ => true,
    }
}

/// The arguments of COALESCE or ISNULL that can be its value.
pub(super) fn possible_arguments(arguments: Vec<Expr>) -> Vec<Expr> {
    let mut possible = Vec::with_capacity(arguments.len());
    let last = arguments.len().saturating_sub(1);
    for (index, argument) in arguments.into_iter().enumerate() {
        let is_constant = matches!(&argument.kind, ExprKind::Constant(value) if !value.is_null());
        let is_null = matches!(&argument.kind, ExprKind::Constant(Value::Null));
        if !is_null || index == last && possible.is_empty() {
            possible.push(argument);
        }
        if is_constant {
            break;
        }
    }
    possible
}

/// The branches of CASE that can be taken, and the result if none is.
pub(super) fn possible_branches(
    branches: Vec<(Condition, Expr)>,
    otherwise: Option<Expr>,
) -> (Vec<(Condition, Expr)>, Option<Expr>) {
    let mut possible = Vec::with_capacity(branches.len());
    for (condition, value) in branches {
        match condition {
            Condition::Constant(Some(true)) => return (possible, Some(value)),
            condition if can_be(&condition, true) => possible.push((condition, value)),
            _ => {}
        }
    }
    (possible, otherwise)
}
