//! BASE64_ENCODE and BASE64_DECODE (sql-docs, pages of these names).

use engine::error::Result;
use engine::types::{Length, SqlType, Text, Value, string_room};

use super::Answer::Computed;
use super::Parameter::{Any, Int};
use super::{Call, Signature, signature};
use crate::messages;
use crate::plan::Expr;
use crate::scalar::base64::{decoded, encoded, encoded_for_addresses};

pub(super) const FUNCTIONS: &[Signature] = &[
    signature("base64_encode", 1, &[Any, Int], Computed(encoded_type), base64_encode).told(
        "bytes, for_addresses: the bytes as text in base64; with 1 in the alphabet of addresses, without padding",
    ),
    signature("base64_decode", 1, &[Any], Computed(decoded_type), base64_decode)
        .told("text: the bytes that a text in base64 says, in either alphabet"),
];

/// "varchar(8000) if the input is varbinary(n) where the length after encode isn't longer than 8000 bytes, varchar(max) otherwise".
fn encoded_type(arguments: &[Expr]) -> Result<SqlType> {
    let own = arguments
        .first()
        .map_or(SqlType::VarBinary(Length::Max), |bytes| bytes.sql_type);
    let is_null = arguments.first().is_some_and(Expr::is_null_constant);
    match own {
        SqlType::Binary(bytes) | SqlType::VarBinary(Length::Limited(bytes))
            if u32::from(bytes).div_ceil(3) * 4 <= 8_000 =>
        {
            Ok(SqlType::VarChar(Length::Limited(8_000)))
        }
        _ if own.is_binary() || is_null => Ok(SqlType::VarChar(Length::Max)),
        _ => Err(messages::invalid_argument_type(own.name(), 1, "base64_encode")),
    }
}

/// "varbinary(8000) if the input is varchar(n), varbinary(max) if the input is varchar(max)".
fn decoded_type(arguments: &[Expr]) -> Result<SqlType> {
    let Some(text) = arguments.first() else {
        return Ok(SqlType::VarBinary(Length::Max));
    };
    match text.sql_type {
        SqlType::Char(_) | SqlType::VarChar(Length::Limited(_)) => Ok(SqlType::VarBinary(Length::Limited(8_000))),
        SqlType::VarChar(_) => Ok(SqlType::VarBinary(Length::Max)),
        _ if text.is_null_constant() => Ok(SqlType::VarBinary(Length::Limited(8_000))),
        other => Err(messages::invalid_argument_type(other.name(), 1, "base64_decode")),
    }
}

fn base64_encode(call: &Call<'_>) -> Result<Value> {
    let Value::Binary(bytes) = call.value(0) else {
        return Ok(Value::Null);
    };
    engine::cancel::spend_bytes(bytes.len())?;
    let charge = string_room(bytes.len() / 3 * 4 + 4)?;
    let text = match call.integer(1) {
        None | Some(0) => encoded(bytes),
        Some(_) => encoded_for_addresses(bytes),
    };
    Ok(Value::Text(Text::charged(text, charge)))
}

fn base64_decode(call: &Call<'_>) -> Result<Value> {
    match call.text(0) {
        Some(text) => {
            engine::cancel::spend_bytes(text.len())?;
            decoded(text)
        }
        None => Ok(Value::Null),
    }
}
