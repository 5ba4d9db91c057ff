//! Expressions and conditions in the words of a plan.

use engine::types::{SqlType, Value};

use super::names::{Names, quoted};
use crate::ast::{BinaryOperator, ComparisonOperator};
use crate::plan::{Condition, Expr, ExprKind};
use crate::scalar::convert::convert;
use crate::scalar::moment::{DATE_PART_FUNCTIONS, DatePart};

fn list(all: &[Expr], names: &Names) -> String {
    let all: Vec<String> = all.iter().map(|one| scalar(one, names)).collect();
    all.join(",")
}

pub fn scalar(expression: &Expr, names: &Names) -> String {
    if crate::stack::require().is_err() {
        return "...".to_owned();
    }
    match &expression.kind {
        ExprKind::Constant(value) => constant(value, expression.sql_type),
        ExprKind::Column(place) => names.of(*place).to_string(),
        ExprKind::Parameter(place) => format!("[@Outer{place}]"),
        ExprKind::Variable(slot) => format!("[@{slot}]"),
        ExprKind::Arithmetic { operator, left, right } => {
            format!("{}{}{}", scalar(left, names), sign(*operator), scalar(right, names))
        }
        ExprKind::Negate(operand) => format!("-{}", scalar(operand, names)),
        ExprKind::BitNot(operand) => format!("~{}", scalar(operand, names)),
        ExprKind::Convert { operand, .. } => {
            format!("CONVERT_IMPLICIT({},{},0)", expression.sql_type, scalar(operand, names))
        }
        ExprKind::Collate(operand) => scalar(operand, names),
        ExprKind::Case { branches, otherwise } => {
            let mut text = "CASE".to_owned();
            for (when, value) in branches {
                text.push_str(&format!(
                    " WHEN {} THEN {}",
                    condition(when, names),
                    scalar(value, names)
                ));
            }
            let otherwise = otherwise
                .as_ref()
                .map_or_else(|| "NULL".to_owned(), |value| scalar(value, names));
            format!("{text} ELSE {otherwise} END")
        }
        ExprKind::Coalesce(all) => format!("COALESCE({})", list(all, names)),
        ExprKind::Function { name, arguments, .. } => function(name, arguments, names),
        ExprKind::Module { call, arguments } => {
            format!("{}({})", quoted(call.module.name.split('.')), list(arguments, names))
        }
        ExprKind::Subquery(_) => "(subquery)".to_owned(),
        ExprKind::Aggregate(place) | ExprKind::Window(place) => format!("[Expr{:04}]", 1_000 + place),
    }
}

/// A built-in function by its name. The first argument of those of dates that take a part is the part's name.
fn function(name: &str, arguments: &[Expr], names: &Names) -> String {
    let part = match arguments.first().map(|first| &first.kind) {
        Some(ExprKind::Constant(Value::Int(number))) if DATE_PART_FUNCTIONS.contains(&name) => {
            DatePart::from_number(i64::from(*number))
        }
        _ => None,
    };
    match part {
        Some(part) => {
            let rest = list(arguments.get(1..).unwrap_or_default(), names);
            let comma = if rest.is_empty() { "" } else { "," };
            format!("{name}({}{comma}{rest})", part.name())
        }
        None => format!("{name}({})", list(arguments, names)),
    }
}

fn constant(value: &Value, sql_type: SqlType) -> String {
    if value.is_null() {
        return "NULL".to_owned();
    }
    let text = convert(value, sql_type, SqlType::NVarChar(engine::types::Length::Max), None);
    let text = text
        .ok()
        .and_then(|text| text.as_str().map(str::to_owned))
        .unwrap_or_default();
    match value {
        Value::Text(_) if sql_type.is_unicode() => format!("N'{}'", text.replace('\'', "''")),
        Value::Text(_) => format!("'{}'", text.replace('\'', "''")),
        _ if sql_type.is_temporal() => format!("'{text}'"),
        _ => format!("({text})"),
    }
}

fn sign(operator: BinaryOperator) -> &'static str {
    match operator {
        BinaryOperator::Add => "+",
        BinaryOperator::Subtract => "-",
        BinaryOperator::Multiply => "*",
        BinaryOperator::Divide => "/",
        BinaryOperator::Modulo => "%",
        BinaryOperator::BitAnd => "&",
        BinaryOperator::BitOr => "|",
        BinaryOperator::BitXor => "^",
    }
}

/// `=`, `<>`, `<` and so on.
pub fn comparison(operator: ComparisonOperator) -> &'static str {
    match operator {
        ComparisonOperator::Equal => "=",
        ComparisonOperator::NotEqual => "<>",
        ComparisonOperator::Less => "<",
        ComparisonOperator::LessOrEqual => "<=",
        ComparisonOperator::Greater => ">",
        ComparisonOperator::GreaterOrEqual => ">=",
    }
}

pub fn condition(given: &Condition, names: &Names) -> String {
    if crate::stack::require().is_err() {
        return "...".to_owned();
    }
    let joined = |parts: &[Condition], word: &str| {
        let parts: Vec<String> = parts.iter().map(|part| condition(part, names)).collect();
        parts.join(word)
    };
    match given {
        Condition::Constant(truth) => match truth {
            Some(true) => "(1)".to_owned(),
            Some(false) => "(0)".to_owned(),
            None => "NULL".to_owned(),
        },
        Condition::And(parts) => joined(parts, " AND "),
        Condition::Or(parts) => format!("({})", joined(parts, " OR ")),
        Condition::Not(inner) => format!("NOT ({})", condition(inner, names)),
        Condition::Compare { operator, left, right } => {
            format!(
                "{}{}{}",
                scalar(left, names),
                comparison(*operator),
                scalar(right, names)
            )
        }
        Condition::In { operand, list } => {
            let operand = scalar(operand, names);
            let parts: Vec<String> = list
                .iter()
                .map(|value| format!("{operand}={}", scalar(value, names)))
                .collect();
            format!("({})", parts.join(" OR "))
        }
        Condition::Like { operand, pattern, .. } => {
            format!("{} like {}", scalar(operand, names), scalar(pattern, names))
        }
        Condition::IsNull(operand) => format!("{} IS NULL", scalar(operand, names)),
        Condition::IsDistinct(left, right) => {
            format!("{} IS DISTINCT FROM {}", scalar(left, names), scalar(right, names))
        }
        Condition::Exists(_) => "EXISTS(subquery)".to_owned(),
        Condition::Quantified { operand, operator, .. } => {
            format!("{}{}(subquery)", scalar(operand, names), comparison(*operator))
        }
    }
}
