//! Constants as typed expressions.

use engine::types::{Decimal, Length, SqlType, Value};

use crate::ast::Literal;
use crate::plan::Expr;

/// The expression of a constant. Types are SQL Server's: whole numbers beyond int are numeric, empty strings varchar(1).
pub(super) fn constant(literal: &Literal) -> Expr {
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
            let units = crate::scalar::convert::text_length(text, false);
            Expr::constant(Value::from(text.as_str()), SqlType::VarChar(length(units, 8000)))
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

fn length(units: usize, limit: usize) -> Length {
    if units > limit {
        Length::Max
    } else {
        Length::Limited(units.max(1) as u16)
    }
}
