//! CAST and CONVERT to xml: the value is its text, after a check that it is well formed.

use engine::error::Result;
use engine::types::{SqlType, Value};

use crate::ast::DataType;
use crate::messages;
use crate::plan::{Call, Expr, ExprKind};
use crate::scalar::xml::to_xml;

/// Whether a written type is xml.
pub(super) fn is_xml(data_type: &DataType) -> bool {
    data_type.name.parts.len() == 1 && data_type.name.object().eq_ignore_ascii_case("xml")
}

/// White space stays as it is written, which is what style 1 asks for (sql-docs, "CAST and CONVERT", xml styles).
///
/// # Errors
/// 40517 for the styles that admit a DTD, and for one that is computed.
pub(super) fn check_style(style: Option<&Expr>) -> Result<()> {
    let number = match style.map(|style| &style.kind) {
        None => return Ok(()),
        Some(ExprKind::Constant(value)) => value.as_i64(),
        Some(ExprKind::Convert { operand, .. }) => match &operand.kind {
            ExprKind::Constant(value) => value.as_i64(),
            _ => None,
        },
        Some(_) => None,
    };
    match number {
        Some(0 | 1) => Ok(()),
        _ => Err(super::not_supported("style of a conversion to xml")),
    }
}

/// A value as xml; with `or_null`, NULL where it is not well formed.
///
/// # Errors
/// 529 for what is neither text nor binary.
pub(super) fn conversion(operand: Expr, or_null: bool) -> Result<Expr> {
    let own = operand.sql_type;
    if !own.is_character() && !own.is_binary() && !operand.is_null_constant() {
        return Err(messages::explicit_conversion(own.name(), "xml"));
    }
    let nullable = operand.nullable || or_null;
    let label = operand.label_in(SqlType::XML);
    let kind = ExprKind::Function {
        name: "xml",
        implementation: if or_null { well_formed_or_null } else { well_formed },
        arguments: vec![operand],
    };
    Ok(Expr {
        kind,
        sql_type: SqlType::XML,
        nullable,
        label,
    })
}

/// The text of xml.
///
/// # Errors
/// Those of [`to_xml`].
fn well_formed(call: &Call<'_>) -> Result<Value> {
    to_xml(call.value(0), call.argument_type(0))
}

fn well_formed_or_null(call: &Call<'_>) -> Result<Value> {
    match well_formed(call) {
        // The request is to stop, or has no memory: no fault of the text.
        Err(error) if matches!(error.number, 701 | 3617) => Err(error),
        Err(_) => Ok(Value::Null),
        value => value,
    }
}
