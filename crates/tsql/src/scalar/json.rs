//! Values as JSON writes them (sql-docs, "How FOR JSON converts SQL Server data types to JSON data types", "How FOR JSON escapes special
//! characters and control characters").

use engine::error::Result;
use engine::types::{Length, SqlType, Value};

use super::convert::convert;
use super::number::format_scientific;

/// A text between quotation marks.
pub fn push_string(output: &mut String, text: &str) {
    output.push('"');
    push_escaped(output, text);
    output.push('"');
}

/// A text as it stands between quotation marks.
pub fn push_escaped(output: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '"' => output.push_str("\\\""),
            '\\' => output.push_str("\\\\"),
            '/' => output.push_str("\\/"),
            '\u{8}' => output.push_str("\\b"),
            '\u{c}' => output.push_str("\\f"),
            '\n' => output.push_str("\\n"),
            '\r' => output.push_str("\\r"),
            '\t' => output.push_str("\\t"),
            control if u32::from(control) < 32 => output.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => output.push(other),
        }
    }
}

/// A value; text that is JSON already comes as it is.
///
/// # Errors
/// 701; those of conversions to text.
pub fn push_value(output: &mut String, value: &Value, sql_type: SqlType, is_json: bool) -> Result<()> {
    match value {
        Value::Null => output.push_str("null"),
        Value::Bit(bit) => output.push_str(if *bit { "true" } else { "false" }),
        Value::Text(text) => {
            engine::cancel::spend_bytes(text.len())?;
            match is_json || sql_type == SqlType::Json {
                true => output.push_str(text),
                false => push_string(output, text),
            }
        }
        Value::Variant(variant) => return push_value(output, &variant.value, variant.sql_type, false),
        Value::Binary(_) | Value::UniqueIdentifier(_) => push_string(output, &plain(value, sql_type)?),
        _ if sql_type.is_temporal() => {
            let written = plain(value, sql_type)?;
            match written.strip_suffix("+00:00") {
                Some(universal) => push_string(output, &format!("{universal}Z")),
                None => push_string(output, &written),
            }
        }
        _ => output.push_str(&plain(value, sql_type)?),
    }
    Ok(())
}

/// A value as JSON and XML write it, without marks around it: dates in ISO 8601, bytes in base64.
///
/// # Errors
/// Those of conversions to text.
pub fn plain(value: &Value, sql_type: SqlType) -> Result<String> {
    let style = match value {
        Value::Float(number) => return Ok(format_scientific(*number, 15)),
        Value::Real(number) => return Ok(format_scientific(f64::from(*number), 7)),
        Value::Binary(bytes) => return Ok(super::base64::encoded(bytes)),
        Value::Variant(variant) => return plain(&variant.value, variant.sql_type),
        Value::Money(_) | Value::SmallMoney(_) => Some(2),
        _ if sql_type.is_temporal() => Some(126),
        _ => None,
    };
    let text = convert(value, sql_type, SqlType::NVarChar(Length::Max), style)?;
    Ok(text.as_str().unwrap_or_default().to_owned())
}
