//! The values of expressions and conditions when columns are NULL.

use engine::types::Value;

use crate::plan::{Condition, Expr, ExprKind};

/// Whether an expression is NULL in every row in which the columns at these places are.
pub(super) fn is_null(expression: &Expr, places: &dyn Fn(usize) -> bool) -> bool {
    match &expression.kind {
        ExprKind::Column(place) => places(*place),
        ExprKind::Constant(value) => matches!(value, Value::Null),
        ExprKind::Arithmetic { left, right, .. } => is_null(left, places) || is_null(right, places),
        ExprKind::Negate(operand)
        | ExprKind::BitNot(operand)
        | ExprKind::Collate(operand)
        | ExprKind::Convert { operand, .. } => is_null(operand, places),
        ExprKind::Coalesce(arguments) => arguments.iter().all(|argument| is_null(argument, places)),
        _ => false,
    }
}

/// Whether a condition holds in no row in which the columns at these places are NULL.
pub(super) fn rejects(condition: &Condition, places: &dyn Fn(usize) -> bool) -> bool {
    match condition {
        Condition::Constant(truth) => *truth != Some(true),
        Condition::And(parts) => parts.iter().any(|part| rejects(part, places)),
        Condition::Or(parts) => parts.iter().all(|part| rejects(part, places)),
        Condition::Not(inner) => is_never_false(inner, places),
        Condition::Compare { left, right, .. } => is_null(left, places) || is_null(right, places),
        Condition::In { operand, .. } => is_null(operand, places),
        Condition::Like { operand, pattern, .. } => is_null(operand, places) || is_null(pattern, places),
        _ => false,
    }
}

/// Whether a condition is true or unknown in every such row.
fn is_never_false(condition: &Condition, places: &dyn Fn(usize) -> bool) -> bool {
    match condition {
        Condition::Constant(truth) => *truth != Some(false),
        Condition::And(parts) => parts.iter().all(|part| is_never_false(part, places)),
        Condition::Or(parts) => parts.iter().any(|part| is_never_false(part, places)),
        Condition::Not(inner) => rejects(inner, places),
        Condition::Compare { left, right, .. } => is_null(left, places) || is_null(right, places),
        Condition::In { operand, .. } => is_null(operand, places),
        Condition::Like { operand, pattern, .. } => is_null(operand, places) || is_null(pattern, places),
        Condition::IsNull(operand) => is_null(operand, places),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use engine::types::SqlType;

    use super::*;
    use crate::ast::ComparisonOperator;

    fn column(place: usize) -> Expr {
        Expr::column(place, SqlType::Int, true)
    }

    fn equal(left: Expr, right: Expr) -> Condition {
        Condition::Compare {
            operator: ComparisonOperator::Equal,
            left,
            right,
        }
    }

    /// Column 1 is NULL: what each condition comes to then.
    #[test]
    fn null_is_rejected_by_what_cannot_be_true_of_it() {
        let one = || Expr::constant(Value::Int(1), SqlType::Int);
        let is_one = || equal(column(1), one());
        let of_other = || equal(column(2), one());
        let coalesced = Expr::new(ExprKind::Coalesce(vec![column(1), one()]), SqlType::Int);
        let table = [
            (is_one(), true),
            (of_other(), false),
            (Condition::Not(Box::new(is_one())), true),
            (Condition::IsNull(column(1)), false),
            (Condition::Not(Box::new(Condition::IsNull(column(1)))), true),
            (Condition::And(vec![of_other(), is_one()]), true),
            (Condition::Or(vec![of_other(), is_one()]), false),
            (Condition::Or(vec![is_one(), is_one()]), true),
            (
                Condition::Not(Box::new(Condition::And(vec![of_other(), is_one()]))),
                false,
            ),
            (equal(coalesced, one()), false),
            (Condition::Constant(None), true),
        ];
        for (condition, expected) in table {
            assert_eq!(rejects(&condition, &|place| place == 1), expected, "{condition:?}");
        }
    }
}
