//! The bytes of a field as a value of its column.
//!
//! ```text
//! characters -> a string column   as they are; what is longer is 4863
//!            -> binary            hexadecimal digits, with or without 0x, as bcp writes them
//!            -> hierarchyid       the same digits (of geometry and geography, too), of its bytes: Employee.csv of AdventureWorks (microsoft/sql-server-samples) has 58 for /1/
//!            -> any other         as CONVERT has it; 4867 for what is out of range, 4864 for what is none
//! no bytes between terminators    NULL       one byte of zero    the empty string (bcp writes it so)
//! ```

use engine::error::Error;
use engine::types::{Bytes, SqlType, Text, Value, cp1252, string_room};

use super::layout::{Destination, Field, Host};
use super::native;
use super::options::CodePage;
use super::reader::FaultKind;
use crate::scalar::convert::{Units, convert};

/// What is wrong with a field, or with the statement.
pub(super) enum Problem {
    Field(FaultKind),
    Statement(Error),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        Problem::Statement(error)
    }
}

/// The value of a field that is not NULL.
pub(super) fn value(bytes: &[u8], field: &Field, to: &Destination, page: CodePage) -> Result<Value, Problem> {
    let (value, from) = match field.host {
        Host::Char | Host::NChar => {
            let text = decoded(bytes, field.host, to, page)?;
            return of_text(text, field.host, to);
        }
        Host::Binary => {
            let _room = string_room(bytes.len())?;
            (Value::Binary(Bytes::charged(bytes.to_vec(), _room)), longest_binary())
        }
        Host::Native(sql_type) => {
            let sql_type = scaled(sql_type, to.sql_type);
            let value = native::value(bytes, sql_type).ok_or(Problem::Field(FaultKind::Mismatch))?;
            (value, sql_type)
        }
    };
    if let (Value::Binary(bytes), true) = (&value, to.sql_type.is_binary())
        && !to.sql_type.is_max()
        && usize::try_from(to.sql_type.max_length()).is_ok_and(|room| bytes.len() > room)
    {
        return Err(Problem::Field(FaultKind::Truncation));
    }
    converted(&value, from, to.sql_type, None)
}

fn longest_binary() -> SqlType {
    SqlType::VarBinary(engine::types::Length::Max)
}

/// The type of native bytes, whose scale the file does not say.
fn scaled(host: SqlType, to: SqlType) -> SqlType {
    let is_one = std::mem::discriminant(&host) == std::mem::discriminant(&to);
    match host {
        SqlType::Time { .. } | SqlType::DateTime2 { .. } | SqlType::DateTimeOffset { .. } if is_one => to,
        host => host,
    }
}

fn decoded(bytes: &[u8], host: Host, to: &Destination, page: CodePage) -> Result<Text, Problem> {
    let mismatch = || Problem::Field(FaultKind::Mismatch);
    if host == Host::NChar {
        if !bytes.len().is_multiple_of(2) {
            return Err(mismatch());
        }
        let room = string_room(bytes.len().saturating_mul(2))?;
        let units = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        let text: Result<String, _> = char::decode_utf16(units).collect();
        return Ok(Text::charged(text.map_err(|_| mismatch())?, room));
    }
    let is_utf8 = match page {
        CodePage::OfColumn => to.collation.is_utf8(),
        CodePage::Latin => false,
        CodePage::Utf8 => true,
    };
    if is_utf8 || bytes.is_ascii() {
        let room = string_room(bytes.len())?;
        let text = std::str::from_utf8(bytes).map_err(|_| mismatch())?;
        return Ok(Text::charged(text.to_owned(), room));
    }
    let room = string_room(cp1252::decoded_bytes(bytes))?;
    Ok(Text::charged(cp1252::decode(bytes), room))
}

fn of_text(text: Text, host: Host, to: &Destination) -> Result<Value, Problem> {
    let text = if &*text == "\0" { Text::from("") } else { text };
    let long = engine::types::Length::Max;
    let from = match host {
        Host::NChar => SqlType::NVarChar(long),
        Host::Char | Host::Binary | Host::Native(_) => SqlType::VarChar(long),
    };
    if to.sql_type.is_character() {
        let text = text.collated(to.collation);
        if let engine::types::Length::Limited(units) = crate::scalar::data_type::byte_length(to.sql_type) {
            let kept = Units::of(to.sql_type, to.collation).cut(&text, usize::from(units));
            if text[kept.len()..].bytes().any(|byte| byte != b' ') {
                return Err(Problem::Field(FaultKind::Truncation));
            }
        }
        return converted(&Value::Text(text), from, to.sql_type, None);
    }
    if to.sql_type.is_binary() {
        let digits = text.strip_prefix("0x").unwrap_or(&text);
        let room = usize::try_from(to.sql_type.max_length()).ok();
        if !to.sql_type.is_max() && room.is_some_and(|room| digits.len() / 2 > room) {
            return Err(Problem::Field(FaultKind::Truncation));
        }
        return converted(&Value::text(digits), from, to.sql_type, Some(2));
    }
    if to.sql_type.is_spatial() {
        let digits = text.strip_prefix("0x").unwrap_or(&text);
        let long = SqlType::VarBinary(engine::types::Length::Max);
        let bytes = converted(&Value::text(digits), from, long, Some(2))?;
        return converted(&bytes, long, to.sql_type, None);
    }
    if to.sql_type == SqlType::HierarchyId {
        let digits = text.strip_prefix("0x").unwrap_or(&text);
        let bytes = converted(&Value::text(digits), from, longest_binary(), Some(2))?;
        return converted(&bytes, longest_binary(), to.sql_type, None);
    }
    if to.sql_type == SqlType::SqlVariant {
        let limited = match host {
            Host::NChar => SqlType::NVarChar(engine::types::Length::Limited(4_000)),
            Host::Char | Host::Binary | Host::Native(_) => SqlType::VarChar(engine::types::Length::Limited(8_000)),
        };
        let units = Units::of(limited, to.collation).count(&text);
        if units > crate::scalar::data_type::byte_length(limited).units_max() {
            return Err(Problem::Field(FaultKind::Truncation));
        }
        return converted(&Value::Text(text), limited, to.sql_type, None);
    }
    converted(&Value::text(text.trim_matches(' ')), from, to.sql_type, None)
}

fn converted(value: &Value, from: SqlType, to: SqlType, style: Option<i32>) -> Result<Value, Problem> {
    convert(value, from, to, style).map_err(|error| match error.number {
        220 | 232 | 242 | 244 | 248 | 8115 => Problem::Field(FaultKind::Overflow),
        206 | 235 | 241 | 245 | 295 | 529 | 6522 | 8114 | 8169 => Problem::Field(FaultKind::Mismatch),
        _ => Problem::Statement(error),
    })
}
