//! Compares two expressions as written, ignoring their position and the letter case of names.

use crate::ast::{Case, Cast, Convert, Expression, ExpressionKind, FunctionCall, Name};

/// True where both are made of the same words. Queries and windows are never alike.
pub(super) fn is_same(left: &Expression, right: &Expression) -> bool {
    use ExpressionKind as Kind;
    match (&left.kind, &right.kind) {
        (Kind::Literal(left), Kind::Literal(right)) => left == right,
        (Kind::Column(left), Kind::Column(right)) => is_same_name(left, right),
        (Kind::Variable(left), Kind::Variable(right)) | (Kind::GlobalVariable(left), Kind::GlobalVariable(right)) => {
            left.eq_ignore_ascii_case(right)
        }
        (
            Kind::Unary { operator, operand },
            Kind::Unary {
                operator: other,
                operand: right,
            },
        ) => operator == other && is_same(operand, right),
        (
            Kind::Binary { left, operator, right },
            Kind::Binary {
                left: other_left,
                operator: other,
                right: other_right,
            },
        ) => operator == other && is_same(left, other_left) && is_same(right, other_right),
        (
            Kind::Comparison { left, operator, right },
            Kind::Comparison {
                left: other_left,
                operator: other,
                right: other_right,
            },
        ) => operator == other && is_same(left, other_left) && is_same(right, other_right),
        (Kind::Function(left), Kind::Function(right)) => is_same_call(left, right),
        (Kind::Cast(left), Kind::Cast(right)) => is_same_cast(left, right),
        (Kind::Convert(left), Kind::Convert(right)) => is_same_conversion(left, right),
        (Kind::Case(left), Kind::Case(right)) => is_same_case(left, right),
        _ => false,
    }
}

fn is_same_name(left: &Name, right: &Name) -> bool {
    let is_same_part = |(left, right): (&crate::ast::Identifier, &crate::ast::Identifier)| left.is(&right.text);
    left.parts.len() == right.parts.len() && left.parts.iter().zip(&right.parts).all(is_same_part)
}

fn are_same(left: &[Expression], right: &[Expression]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| is_same(left, right))
}

fn is_same_call(left: &FunctionCall, right: &FunctionCall) -> bool {
    let is_plain = |call: &FunctionCall| call.over.is_none() && call.within_group.is_empty();
    is_plain(left)
        && is_plain(right)
        && is_same_name(&left.name, &right.name)
        && (left.star, left.distinct) == (right.star, right.distinct)
        && (left.is_method, left.is_static) == (right.is_method, right.is_static)
        && left.is_property == right.is_property
        && left.namespaces == right.namespaces
        && are_same(&left.arguments, &right.arguments)
}

fn is_same_cast(left: &Cast, right: &Cast) -> bool {
    left.or_null == right.or_null && left.data_type == right.data_type && is_same(&left.operand, &right.operand)
}

fn is_same_conversion(left: &Convert, right: &Convert) -> bool {
    let is_same_style = match (&left.style, &right.style) {
        (None, None) => true,
        (Some(left), Some(right)) => is_same(left, right),
        _ => false,
    };
    is_same_style
        && left.or_null == right.or_null
        && left.data_type == right.data_type
        && is_same(&left.operand, &right.operand)
}

fn is_same_case(left: &Case, right: &Case) -> bool {
    let is_same_part = |left: &Option<Expression>, right: &Option<Expression>| match (left, right) {
        (None, None) => true,
        (Some(left), Some(right)) => is_same(left, right),
        _ => false,
    };
    let mut branches = left.branches.iter().zip(&right.branches);
    is_same_part(&left.operand, &right.operand)
        && is_same_part(&left.otherwise, &right.otherwise)
        && left.branches.len() == right.branches.len()
        && branches.all(|(left, right)| is_same(&left.when, &right.when) && is_same(&left.then, &right.then))
}
