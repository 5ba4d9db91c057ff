//! Columns, expressions and conditions as elements of a plan in XML (schemas.microsoft.com/sqlserver/2004/07/showplan, `ScalarType`).

use super::expression;
use super::names::{Named, Names, quoted};
use crate::ast::{BinaryOperator, ComparisonOperator};
use crate::plan::{Condition, Expr, ExprKind};
use crate::showplan::escaped;

/// `ColumnReference`.
pub fn column(named: &Named) -> String {
    match named {
        Named::Column(parts) => {
            let [database, schema, table, column] = &**parts;
            let own = |part: &str| escaped(&quoted([part]));
            format!(
                "<ColumnReference Database=\"{}\" Schema=\"{}\" Table=\"{}\" Column=\"{}\"/>",
                own(database),
                own(schema),
                own(table),
                escaped(column)
            )
        }
        Named::Expression(text) => {
            let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
            format!("<ColumnReference Column=\"{}\"/>", escaped(bare.unwrap_or(text)))
        }
    }
}

/// A list of `ColumnReference`.
pub fn columns<'n>(all: impl IntoIterator<Item = &'n Named>) -> String {
    all.into_iter().map(column).collect()
}

/// A condition inside of an element that holds one.
pub fn predicate(name: &str, given: &Condition, names: &Names) -> String {
    format!(
        "<{name}><ScalarOperator ScalarString=\"{}\">{}</ScalarOperator></{name}>",
        escaped(&expression::condition(given, names)),
        of_condition(given, names)
    )
}

/// The test of a row by a bitmap, which `text` says, inside of the element of a condition.
pub fn probe(bitmap: &Named, keys: &[Named], text: &str) -> String {
    let named = [bitmap].into_iter().chain(keys);
    let arguments: String = named
        .map(|one| format!("<ScalarOperator>{}</ScalarOperator>", identifier(one)))
        .collect();
    format!(
        "<Predicate><ScalarOperator ScalarString=\"{}\"><Intrinsic FunctionName=\"PROBE\">{arguments}</Intrinsic></ScalarOperator></Predicate>",
        escaped(text)
    )
}

/// An expression inside of an element that holds one.
pub fn value(name: &str, given: &Expr, names: &Names) -> String {
    format!("<{name}>{}</{name}>", operator(given, names))
}

/// `ScalarOperator` of a whole expression, with its text.
pub fn operator(given: &Expr, names: &Names) -> String {
    format!(
        "<ScalarOperator ScalarString=\"{}\">{}</ScalarOperator>",
        escaped(&expression::scalar(given, names)),
        of_scalar(given, names)
    )
}

fn nested(given: &Expr, names: &Names) -> String {
    format!("<ScalarOperator>{}</ScalarOperator>", of_scalar(given, names))
}

fn nested_condition(given: &Condition, names: &Names) -> String {
    format!("<ScalarOperator>{}</ScalarOperator>", of_condition(given, names))
}

fn identifier(named: &Named) -> String {
    format!("<Identifier>{}</Identifier>", column(named))
}

fn intrinsic<'e>(name: &str, arguments: impl IntoIterator<Item = &'e Expr>, names: &Names) -> String {
    let arguments: String = arguments.into_iter().map(|argument| nested(argument, names)).collect();
    format!("<Intrinsic FunctionName=\"{}\">{arguments}</Intrinsic>", escaped(name))
}

fn constant(text: &str) -> String {
    format!("<Const ConstValue=\"{}\"/>", escaped(text))
}

fn of_scalar(given: &Expr, names: &Names) -> String {
    if crate::stack::require().is_err() {
        return constant("...");
    }
    match &given.kind {
        ExprKind::Constant(_) => constant(&expression::scalar(given, names)),
        ExprKind::Column(place) => identifier(&names.of(*place)),
        ExprKind::Arithmetic { operator, left, right } => format!(
            "<Arithmetic Operation=\"{}\">{}{}</Arithmetic>",
            operation(*operator),
            nested(left, names),
            nested(right, names)
        ),
        ExprKind::Negate(operand) => arithmetic("MINUS", operand, names),
        ExprKind::BitNot(operand) => arithmetic("BIT_NOT", operand, names),
        ExprKind::Convert { operand, style, .. } => format!(
            "<Convert DataType=\"{}\" Style=\"0\" Implicit=\"{}\">{}</Convert>",
            escaped(&given.sql_type.to_string()),
            u8::from(style.is_none()),
            nested(operand, names)
        ),
        ExprKind::Collate(operand) => of_scalar(operand, names),
        ExprKind::Case { branches, otherwise } => of_case(branches, otherwise.as_deref(), names),
        ExprKind::Coalesce(all) => intrinsic("coalesce", all, names),
        ExprKind::Function { name, arguments, .. } => intrinsic(name, arguments, names),
        ExprKind::Module { call, arguments } => {
            let arguments: String = arguments.iter().map(|argument| nested(argument, names)).collect();
            format!(
                "<UserDefinedFunction FunctionName=\"{}\">{arguments}</UserDefinedFunction>",
                escaped(&call.module.name)
            )
        }
        ExprKind::Parameter(_)
        | ExprKind::Variable(_)
        | ExprKind::Subquery(_)
        | ExprKind::Aggregate(_)
        | ExprKind::Window(_) => identifier(&Named::Expression(expression::scalar(given, names))),
    }
}

fn arithmetic(operation: &str, operand: &Expr, names: &Names) -> String {
    format!(
        "<Arithmetic Operation=\"{operation}\">{}</Arithmetic>",
        nested(operand, names)
    )
}

/// CASE as IF inside of IF.
fn of_case(branches: &[(Condition, Expr)], otherwise: Option<&Expr>, names: &Names) -> String {
    let mut text = otherwise.map_or_else(|| constant("NULL"), |value| of_scalar(value, names));
    for (when, then) in branches.iter().rev() {
        text = format!(
            "<IF><Condition>{}</Condition><Then>{}</Then><Else><ScalarOperator>{text}</ScalarOperator></Else></IF>",
            nested_condition(when, names),
            nested(then, names)
        );
    }
    text
}

fn operation(operator: BinaryOperator) -> &'static str {
    match operator {
        BinaryOperator::Add => "ADD",
        BinaryOperator::Subtract => "SUB",
        BinaryOperator::Multiply => "MULT",
        BinaryOperator::Divide => "DIV",
        BinaryOperator::Modulo => "MOD",
        BinaryOperator::BitAnd => "BIT_AND",
        BinaryOperator::BitOr => "BIT_OR",
        BinaryOperator::BitXor => "BIT_XOR",
    }
}

/// `CompareOpType`.
pub fn comparison(operator: ComparisonOperator) -> &'static str {
    match operator {
        ComparisonOperator::Equal => "EQ",
        ComparisonOperator::NotEqual => "NE",
        ComparisonOperator::Less => "LT",
        ComparisonOperator::LessOrEqual => "LE",
        ComparisonOperator::Greater => "GT",
        ComparisonOperator::GreaterOrEqual => "GE",
    }
}

fn compare(operator: &str, left: &Expr, right: &str, names: &Names) -> String {
    format!(
        "<Compare CompareOp=\"{operator}\">{}{right}</Compare>",
        nested(left, names)
    )
}

fn logical(operation: &str, parts: &[Condition], names: &Names) -> String {
    let parts: String = parts.iter().map(|part| nested_condition(part, names)).collect();
    format!("<Logical Operation=\"{operation}\">{parts}</Logical>")
}

fn of_condition(given: &Condition, names: &Names) -> String {
    if crate::stack::require().is_err() {
        return constant("...");
    }
    match given {
        Condition::Constant(_) => constant(&expression::condition(given, names)),
        Condition::And(parts) => logical("AND", parts, names),
        Condition::Or(parts) => logical("OR", parts, names),
        Condition::Not(inner) => logical("NOT", std::slice::from_ref(inner), names),
        Condition::Compare { operator, left, right } => {
            compare(comparison(*operator), left, &nested(right, names), names)
        }
        Condition::In { operand, list } => {
            let equal = list.iter().map(|value| {
                let one = compare("EQ", operand, &nested(value, names), names);
                format!("<ScalarOperator>{one}</ScalarOperator>")
            });
            format!("<Logical Operation=\"OR\">{}</Logical>", equal.collect::<String>())
        }
        Condition::Like { operand, pattern, .. } => intrinsic("like", [operand, pattern], names),
        Condition::IsNull(operand) => {
            let null = format!("<ScalarOperator>{}</ScalarOperator>", constant("NULL"));
            compare("IS", operand, &null, names)
        }
        Condition::IsDistinct(left, right) => compare("IS NOT", left, &nested(right, names), names),
        Condition::Exists(_) => intrinsic("EXISTS", [], names),
        Condition::Quantified { operand, operator, .. } => {
            intrinsic(expression::comparison(*operator), [operand], names)
        }
    }
}
