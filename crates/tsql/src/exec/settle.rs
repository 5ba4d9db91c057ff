//! Expressions that depend only on their row: variables are replaced by their values for the statement, constants are folded. Several
//! threads may evaluate these at once.

use engine::error::{Error, Result};
use engine::types::{SqlType, Value};

use super::{Surroundings, evaluate};
use crate::context::Context;
use crate::modules::ModuleCall;
use crate::plan::{Condition, Expr, ExprKind, Implementation, Subquery};

/// Nothing beside the row.
pub(crate) struct RowAlone;

fn beyond_the_row() -> Error {
    Error::assertion("an expression asks for more than its row")
}

impl Surroundings for RowAlone {
    fn variable(&self, _slot: usize) -> Value {
        Value::Null
    }

    fn parameter(&self, _index: usize) -> Value {
        Value::Null
    }

    fn call(&self, _: Implementation, _: (&[Expr], &[usize]), _: SqlType, _: &[Value]) -> Result<Value> {
        Err(beyond_the_row())
    }

    fn call_module(&self, _: &ModuleCall, _: &[Expr], _: &[Value]) -> Result<Value> {
        Err(beyond_the_row())
    }

    fn scalar(&self, _: &Subquery, _: &[Value]) -> Result<Value> {
        Err(beyond_the_row())
    }

    fn test_rows(&self, _: &Condition, _: &[Value]) -> Result<Option<bool>> {
        Err(beyond_the_row())
    }
}

/// The expression with the values that variables and captures have now, held ones left alone.
pub(crate) fn settle(expression: &Expr, context: &Context<'_>) -> Expr {
    let mut settled = expression.clone();
    settle_in_place(&mut settled, context);
    settled
}

/// The condition with the values that variables and captures have now.
pub(crate) fn settle_condition(condition: &Condition, context: &Context<'_>) -> Condition {
    let mut settled = condition.clone();
    let done = settled.change_expressions(&mut |expression| {
        settle_in_place(expression, context);
        Ok::<(), std::convert::Infallible>(())
    });
    match done {
        Ok(()) => settled,
        Err(never) => match never {},
    }
}

fn settle_in_place(expression: &mut Expr, context: &Context<'_>) {
    match expression.kind {
        // A held value stays a variable: each evaluation decides whether it is read.
        ExprKind::Variable(slot) => match context.variable(slot) {
            Value::Held(_) => {}
            value => expression.kind = ExprKind::Constant(value),
        },
        ExprKind::Parameter(index) => expression.kind = ExprKind::Constant(context.parameter(index)),
        _ => {}
    }
    let done = expression.change_children(&mut |child| {
        settle_in_place(child, context);
        Ok::<(), std::convert::Infallible>(())
    });
    if let Err(never) = done {
        match never {}
    }
    let mut is_constant = matches!(
        expression.kind,
        ExprKind::Arithmetic { .. }
            | ExprKind::Negate(_)
            | ExprKind::BitNot(_)
            | ExprKind::Convert { .. }
            | ExprKind::Collate(_)
    );
    expression.for_each_child(&mut |child| is_constant &= matches!(child.kind, ExprKind::Constant(_)));
    if is_constant {
        // What fails is left to fail for the first row, if there is one.
        let value = evaluate(expression, &[], &RowAlone)
            .ok()
            .map(std::borrow::Cow::into_owned);
        if let Some(value) = value {
            expression.kind = ExprKind::Constant(value);
        }
    }
}

/// Whether a settled expression depends on its row alone.
pub(crate) fn is_of_row_alone(expression: &Expr) -> bool {
    let is_plain = match &expression.kind {
        ExprKind::Constant(_)
        | ExprKind::Column(_)
        | ExprKind::Arithmetic { .. }
        | ExprKind::Negate(_)
        | ExprKind::BitNot(_)
        | ExprKind::Convert { .. }
        | ExprKind::Collate(_)
        | ExprKind::Coalesce(_) => true,
        ExprKind::Case { branches, .. } => branches.iter().all(|(condition, _)| has_no_query(condition)),
        _ => false,
    };
    let mut is_alone = is_plain;
    expression.for_each_child(&mut |child| is_alone &= is_of_row_alone(child));
    is_alone
}

/// Whether a settled condition depends on its row alone.
pub(crate) fn condition_is_of_row_alone(condition: &Condition) -> bool {
    let mut is_alone = has_no_query(condition);
    condition.for_each_expression(&mut |expression| is_alone &= is_of_row_alone(expression));
    is_alone
}

fn has_no_query(condition: &Condition) -> bool {
    match condition {
        Condition::Exists(_) | Condition::Quantified { .. } => false,
        Condition::And(parts) | Condition::Or(parts) => parts.iter().all(has_no_query),
        Condition::Not(inner) => has_no_query(inner),
        _ => true,
    }
}
