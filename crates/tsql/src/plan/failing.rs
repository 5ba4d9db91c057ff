//! Expressions that may fail for a row: such a condition must not be moved so that it is tested for rows that other conditions would have
//! filtered out.
//!
//! Invariant: a condition on several sources that may fail is tested when all sources written before it are joined, so no join order tests
//! it for a row that another condition, as written, filters out. Invariant: a subquery with a source that may fail stays a subquery. Other
//! parts of it that may fail are tested only for pairs that satisfy everything that cannot fail. A condition written after it that may fail
//! is tested only for the remaining rows. Invariant: a condition is derived from an OR only if no part of the OR may fail. No bitmap goes
//! below a condition that may fail.

use engine::types::SqlType;

use super::{Condition, Expr, ExprKind};
use crate::ast::BinaryOperator;

/// Whether every value of a type has a place in another.
pub(crate) fn is_widening(from: SqlType, to: SqlType) -> bool {
    let whole_bytes = |sql_type: SqlType| match sql_type {
        SqlType::Bit => Some(0),
        SqlType::TinyInt => Some(1),
        SqlType::SmallInt => Some(2),
        SqlType::Int => Some(4),
        SqlType::BigInt => Some(8),
        _ => None,
    };
    match (whole_bytes(from), whole_bytes(to)) {
        (Some(from), Some(to)) => from <= to,
        (Some(_), None) => to == SqlType::Float,
        _ => from.is_character() && to.is_character(),
    }
}

impl Expr {
    /// Whether evaluating this may fail for some value of its columns. A sum that is too large for its type is not thought of.
    pub fn can_fail(&self) -> bool {
        let mut can_fail = self.fails_itself();
        self.for_each_child(&mut |child| can_fail = can_fail || child.can_fail());
        can_fail
    }

    /// Whether this may fail with all values below it at hand.
    fn fails_itself(&self) -> bool {
        match &self.kind {
            ExprKind::Arithmetic { operator, .. } => {
                matches!(operator, BinaryOperator::Divide | BinaryOperator::Modulo)
            }
            ExprKind::Convert { operand, or_null, .. } => !or_null && !is_widening(operand.sql_type, self.sql_type),
            ExprKind::Function { .. } | ExprKind::Module { .. } | ExprKind::Subquery(_) => true,
            _ => false,
        }
    }

    /// Whether evaluating this may fail for one row and not for another: functions of what no row has a part in do not, `getdate()` for one,
    /// and are evaluated before the first row where they are searched for.
    pub fn can_fail_by_row(&self) -> bool {
        let mut reads = false;
        self.for_each_column(&mut |_| reads = true);
        let mut can_fail = match &self.kind {
            ExprKind::Function { .. } | ExprKind::Convert { .. } => reads && self.fails_itself(),
            _ => self.fails_itself(),
        };
        self.for_each_child(&mut |child| can_fail = can_fail || child.can_fail_by_row());
        can_fail
    }
}

impl Condition {
    /// Whether testing this may fail.
    pub fn can_fail(&self) -> bool {
        let mut can_fail = self.contains_query();
        self.for_each_expression(&mut |expression| can_fail = can_fail || expression.can_fail());
        can_fail
    }

    /// Whether testing this may fail for one row and not for another, as [`Expr::can_fail_by_row`] says.
    pub fn can_fail_by_row(&self) -> bool {
        let mut can_fail = self.contains_query();
        self.for_each_expression(&mut |expression| can_fail = can_fail || expression.can_fail_by_row());
        can_fail
    }
}
