//! CAST and CONVERT to xml, which is stored as `nvarchar(max)`: the value is its text, after a check that it is well formed.

use engine::error::{Error, Result};
use engine::types::{Length, SqlType, Text, Value, string_room};

use crate::ast::DataType;
use crate::messages;
use crate::plan::{Call, Expr, ExprKind};
use crate::scalar::xml::check;

/// What xml is kept as.
const XML: SqlType = SqlType::NVarChar(Length::Max);

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
    let label = operand.label_in(XML);
    let kind = ExprKind::Function {
        name: "xml",
        implementation: if or_null { well_formed_or_null } else { well_formed },
        arguments: vec![operand],
    };
    Ok(Expr {
        kind,
        sql_type: XML,
        nullable,
        label,
    })
}

/// The text of xml.
///
/// # Errors
/// Those of [`check`], for bytes that are no text too; 701.
fn well_formed(call: &Call<'_>) -> Result<Value> {
    match call.value(0) {
        Value::Text(text) => {
            check(text, call.argument_type(0).is_unicode())?;
            Ok(Value::Text(text.clone()))
        }
        Value::Binary(bytes) => {
            let charge = string_room(bytes.len().saturating_mul(2))?;
            let (text, is_unicode) = decoded(bytes)?;
            check(&text, is_unicode)?;
            Ok(Value::Text(Text::charged(text, charge)))
        }
        _ => Ok(Value::Null),
    }
}

fn well_formed_or_null(call: &Call<'_>) -> Result<Value> {
    match well_formed(call) {
        // The request is to stop, or has no memory: no fault of the text.
        Err(error) if matches!(error.number, 701 | 3617) => Err(error),
        Err(_) => Ok(Value::Null),
        value => value,
    }
}

/// Bytes as text: UTF-16 where their mark or their second byte says so, else UTF-8 (XML 1.0, appendix F).
fn decoded(bytes: &[u8]) -> Result<(String, bool)> {
    let illegal = || Error::new(9420, 16, 1, "XML parsing: line 1, character 1, illegal xml character");
    let wide = bytes.strip_prefix(&[0xFF, 0xFE]);
    if wide.is_some() || bytes.get(1) == Some(&0) {
        let units = wide
            .unwrap_or(bytes)
            .chunks_exact(2)
            .map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        let text: std::result::Result<String, _> = char::decode_utf16(units).collect();
        return Ok((text.map_err(|_| illegal())?, true));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| illegal())?;
    Ok((text.to_owned(), false))
}
