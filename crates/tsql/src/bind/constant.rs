//! Constants as typed expressions.

use engine::types::{Collation, Decimal, Length, SqlType, Value, cp1252};

use crate::ast::Literal;
use crate::plan::{Expr, ExprKind};
use crate::scalar::convert::Units;

/// The expression of a constant. Types are SQL Server's: whole numbers beyond int are numeric, empty strings varchar(1).
/// Text that is not Unicode has what the code page of the database's collation has for it.
pub(super) fn constant(literal: &Literal, collation: Collation) -> Expr {
    match literal {
        Literal::Null | Literal::Default => Expr::constant(Value::Null, SqlType::Int),
        Literal::Integer(number) => Expr::constant(Value::Int(*number), SqlType::Int),
        Literal::Decimal(number) => {
            let (precision, scale) = (number.precision.max(1), number.scale);
            let coefficient = i128::try_from(number.unscaled).unwrap_or(i128::MAX);
            let value = Value::Decimal(Decimal::new(coefficient, precision, scale));
            Expr::constant(
                value,
                SqlType::Decimal {
                    precision: precision.max(scale),
                    scale,
                },
            )
        }
        Literal::Float(number) => Expr::constant(Value::Float(*number), SqlType::Float),
        Literal::Money(number) => Expr::constant(Value::Money(*number), SqlType::Money),
        Literal::Text(text) => {
            let units_of = Units::of(SqlType::VarChar(Length::Max), collation);
            let value = match units_of == Units::CodePage && !cp1252::holds(text) {
                true => Value::from(cp1252::fitted(text)),
                false => Value::from(text.as_str()),
            };
            let units = units_of.count(value.as_str().unwrap_or_default());
            Expr::constant(value, SqlType::VarChar(length(units, 8000)))
        }
        Literal::NationalText(text) => {
            let units = crate::scalar::convert::text_length(text, true);
            Expr::constant(Value::from(text.as_str()), SqlType::NVarChar(length(units, 4000)))
        }
        Literal::Binary(bytes) => Expr::constant(
            Value::binary(bytes.as_slice()),
            SqlType::VarBinary(length(bytes.len(), 8000)),
        ),
    }
}

/// A constant as the value of a parameter that stands for constants of its kind: numbers have the constant's own type, strings and bytes
/// the longest one, as SQL Server's parameters do. None of NULL and DEFAULT.
pub(crate) fn parameter(literal: &Literal, collation: Collation) -> Option<(Value, SqlType)> {
    if matches!(literal, Literal::Null | Literal::Default) {
        return None;
    }
    let constant = constant(literal, collation);
    let ExprKind::Constant(value) = constant.kind else {
        return None;
    };
    let widest = |length, limit| match length {
        Length::Limited(_) => Length::Limited(limit),
        unlimited => unlimited,
    };
    let sql_type = match constant.sql_type {
        SqlType::VarChar(length) => SqlType::VarChar(widest(length, 8000)),
        SqlType::NVarChar(length) => SqlType::NVarChar(widest(length, 4000)),
        SqlType::VarBinary(length) => SqlType::VarBinary(widest(length, 8000)),
        other => other,
    };
    Some((value, sql_type))
}

fn length(units: usize, limit: usize) -> Length {
    if units > limit {
        Length::Max
    } else {
        Length::Limited(units.max(1) as u16)
    }
}
