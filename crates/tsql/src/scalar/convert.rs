//! Conversion of a value from one type to another: CAST, CONVERT, assignment and every implicit conversion.
//!
//! [`convert`] works like CAST: it silently truncates strings to the target's length. [`store`] works like writing a column: truncating
//! anything but blanks is an error.

use std::sync::Arc;

use engine::error::{Error, Result};
use engine::memory::Charge;
use engine::types::{
    Bytes, Collation, Decimal, Length, SqlType, Text, Value, Variant, cp1252, float_text, string_room,
};

use super::arithmetic::require_digits;
use super::data_type::{byte_length, check_conversion};
use super::hierarchy::{HIERARCHY_TEXT, Hierarchy, to_hierarchy};
use super::moment::Moment;
use super::moment_format;
use super::moment_parse::{ParseFailure, Reading, parse};
use super::number;
use super::served::served;
use super::spatial::{SPATIAL_TEXT, Spatial, Surface, to_spatial};
use crate::messages::{self, type_name};

/// Bytes of the longest text of statements.
const STATEMENTS_BYTES_MAX: u64 = 256 << 20;

/// Converts a value of type `from` to type `to`; `style` is CONVERT's, 0 when none was given.
///
/// # Errors
/// The conversion errors of SQL Server: 220, 232, 235, 241, 242, 244, 245, 248, 529, 8114, 8115, 8169.
pub fn convert(value: &Value, from: SqlType, to: SqlType, style: Option<i32>) -> Result<Value> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    if let Value::Held(_) = value {
        return match value.is_held_as(to) && (to != SqlType::XML || from == to) {
            true => Ok(value.clone()),
            false => convert(&value.clone().whole()?, from, to, style),
        };
    }
    if let Value::Variant(variant) = value {
        return match to {
            SqlType::SqlVariant => Ok(value.clone()),
            _ => convert(&variant.value, variant.sql_type, to, style),
        };
    }
    if let Some(surface) = Surface::of(to) {
        return to_spatial(value, from, surface);
    }
    if let Some(surface) = Surface::of(from) {
        return from_spatial(value, surface, to, style);
    }
    match to {
        SqlType::HierarchyId | SqlType::Json | SqlType::XML if from == to => Ok(value.clone()),
        SqlType::XML => super::xml::to_xml(value, from),
        SqlType::Json => super::json_type::json_of(value.as_str().unwrap_or_default()),
        _ if from == SqlType::Json => super::json_type::json_text(value, to),
        SqlType::HierarchyId => to_hierarchy(value),
        _ if from == SqlType::HierarchyId && to.is_character() => {
            let path = Hierarchy::of(value)?.unwrap_or_default();
            convert(&path.to_text()?, HIERARCHY_TEXT, to, style)
        }
        SqlType::SqlVariant => Ok(Value::Variant(Arc::new(Variant {
            sql_type: from,
            value: value.clone(),
        }))),
        _ if to.is_character() => to_text(value, from, to, style),
        _ if to.is_binary() => to_binary(value, from, to, style.unwrap_or(0)),
        _ if to.is_temporal() => to_temporal(value, from, to, style),
        SqlType::UniqueIdentifier => to_guid(value, from),
        SqlType::Real | SqlType::Float => to_float(value, from, to),
        SqlType::Decimal { precision, scale } => to_decimal(value, from, to, precision, scale),
        SqlType::Money | SqlType::SmallMoney => to_money(value, from, to),
        _ => to_integer(value, from, to),
    }
}

/// A value that is given to a parameter, or comes back from one. What types of the common language runtime, and others to xml, do not convert by themselves is refused.
///
/// # Errors
/// Those of [`convert`]; 206 and 257.
pub fn convert_given(value: &Value, from: SqlType, to: SqlType) -> Result<Value> {
    let is_clr = |sql_type: SqlType| sql_type.is_spatial() || sql_type == SqlType::HierarchyId;
    if !value.is_null() && (is_clr(from) || is_clr(to) || (to == SqlType::XML && from != to)) {
        check_conversion(from, to, false)?;
    }
    convert(value, from, to, None)
}

/// A value of `geometry` or `geography` as a string: its text, or its bytes.
fn from_spatial(value: &Value, surface: Surface, to: SqlType, style: Option<i32>) -> Result<Value> {
    if !to.is_character() {
        return convert(value, SqlType::VarBinary(Length::Max), to, style);
    }
    match Spatial::of(surface, value)? {
        Some(shapes) => convert(&shapes.to_text(true)?, SPATIAL_TEXT, to, style),
        None => Ok(Value::Null),
    }
}

/// A text of statements in memory. It is no longer than a batch can be: "65,536 * Network packet size" (SQL Server docs, "Maximum capacity
/// specifications"), 256 MB with packets of 4 KB.
///
/// # Errors
/// 40517 when it is longer; 701 when there is no memory for it; those of reading.
pub fn text_of_statements(value: &Value) -> Result<Value> {
    match value {
        Value::Held(held) if held.bytes() > STATEMENTS_BYTES_MAX => {
            Err(messages::not_supported("A text of statements longer than 256 MB"))
        }
        value => value.clone().whole(),
    }
}

/// Converts a value for a column: like [`convert`], but a string that does not fit is 2628.
///
/// # Errors
/// Those of [`convert`], and 2628 naming the column.
pub fn store(value: &Value, from: SqlType, to: SqlType, table: &str, column: &str) -> Result<Value> {
    if from == to {
        return Ok(value.clone());
    }
    if let Value::Held(_) = value
        && (!value.is_held_as(to) || to == SqlType::XML)
    {
        return store(&value.clone().whole()?, from, to, table, column);
    }
    if served().cuts_silently {
        return convert(value, from, to, None);
    }
    if let (Value::Text(text), true) = (value, to.is_character())
        && let Length::Limited(units) = byte_length(to)
    {
        let kept = Units::of(to, text.collation()).cut(text, usize::from(units));
        if text[kept.len()..].bytes().any(|byte| byte != b' ') {
            return Err(messages::truncated(table, column, kept));
        }
    }
    if let (Value::Binary(bytes), true) = (value, to.is_binary())
        && bytes.len() > byte_length(to).units_max()
    {
        return Err(messages::truncated(table, column, ""));
    }
    convert(value, from, to, None)
}

/// What the length of a string type counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Units {
    /// UTF-16 units: `nchar`, `nvarchar`.
    Utf16,
    /// Bytes of UTF-8: `char`, `varchar` under a collation of UTF-8 (sql-docs, "char and varchar").
    Utf8,
    /// Bytes of the code page, one for each character.
    CodePage,
}

impl Units {
    /// Those of a type under a collation.
    pub fn of(sql_type: SqlType, collation: Collation) -> Units {
        if sql_type.is_unicode() {
            Units::Utf16
        } else if collation.is_utf8() {
            Units::Utf8
        } else {
            Units::CodePage
        }
    }

    fn of_character(self, character: char) -> usize {
        match self {
            Units::Utf16 => character.len_utf16(),
            Units::Utf8 => character.len_utf8(),
            Units::CodePage => 1,
        }
    }

    /// The units of a text.
    pub fn count(self, text: &str) -> usize {
        if text.is_ascii() || self == Units::Utf8 {
            return text.len();
        }
        text.chars().map(|character| self.of_character(character)).sum()
    }

    /// The start of a text that has at most so many units.
    pub fn cut(self, text: &str, units: usize) -> &str {
        if text.len() <= units {
            return text;
        }
        if text.is_ascii() {
            return &text[..units];
        }
        let mut used = 0;
        for (offset, character) in text.char_indices() {
            used += self.of_character(character);
            if used > units {
                return &text[..offset];
            }
        }
        text
    }
}

/// Characters of a text in the units of its type, under a collation of code page 1252.
pub fn text_length(text: &str, unicode: bool) -> usize {
    let units = if unicode { Units::Utf16 } else { Units::CodePage };
    units.count(text)
}

/// A whole number, of 38 digits at most, as a value of a type.
///
/// # Errors
/// Those of [`convert`].
pub fn whole_number(number: i128, to: SqlType) -> Result<Value> {
    let exact = SqlType::Decimal {
        precision: 38,
        scale: 0,
    };
    match i64::try_from(number) {
        Ok(number) => convert(&Value::BigInt(number), SqlType::BigInt, to, None),
        Err(_) => convert(&Value::Decimal(Decimal::new(number, 38, 0)), exact, to, None),
    }
}

/// A value under another collation. What its single-byte type cannot hold in the new code page becomes a question mark.
pub fn recollated(value: Value, sql_type: SqlType, collation: Collation) -> Value {
    let Value::Text(text) = value else { return value };
    let is_foreign = |character: char| cp1252::encode_char(character).is_none();
    let leaves_utf8 = text.collation().is_utf8() && Units::of(sql_type, collation) == Units::CodePage;
    if leaves_utf8 && text.chars().any(is_foreign) {
        return Value::from(cp1252::fitted(&text)).collated(collation);
    }
    Value::Text(text.collated(collation))
}

/// What strings of fixed length are padded with, so many at a time.
const BLANKS: &str = "                                ";

/// Fits a text into a character type: foreign characters replaced, cut, padded.
fn fit_text(text: &Text, to: SqlType) -> Result<Value> {
    let units_of = Units::of(to, text.collation());
    // Every look at a text's characters checks them.
    let own: &str = text;
    let is_ascii = own.is_ascii();
    if units_of == Units::CodePage && !is_ascii && !cp1252::holds(text) {
        let charge = string_room(text.len())?;
        let replaced = cp1252::fitted(text);
        return fit_text(&Text::charged(replaced, charge).collated(text.collation()), to);
    }
    let Length::Limited(units) = byte_length(to) else {
        return Ok(Value::Text(text.clone()));
    };
    let units = usize::from(units);
    let length = if is_ascii { own.len() } else { units_of.count(own) };
    let fixed = matches!(to, SqlType::Char(_) | SqlType::NChar(_));
    if length > units {
        return Ok(Value::text(units_of.cut(text, units)).collated(text.collation()));
    }
    if fixed && length < units {
        let padded_bytes = own.len() + units - length;
        let mut padded = String::with_capacity(padded_bytes);
        padded.push_str(own);
        while padded.len() < padded_bytes {
            padded.push_str(&BLANKS[..BLANKS.len().min(padded_bytes - padded.len())]);
        }
        return Ok(Value::from(padded).collated(text.collation()));
    }
    Ok(Value::Text(text.clone()))
}

fn to_text(value: &Value, from: SqlType, to: SqlType, style: Option<i32>) -> Result<Value> {
    if let Value::Text(text) = value {
        return fit_text(text, to);
    }
    // Hexadecimal digits are the longest that a binary string becomes.
    let charge = match value {
        Value::Binary(bytes) => string_room(bytes.len().saturating_mul(2))?,
        _ => Charge::default(),
    };
    let written = write(value, from, to, style)?;
    let units = byte_length(to).units_max();
    if written.len() > units && !matches!(value, Value::Binary(_)) && !from.is_temporal() {
        // Whole numbers become a star in single-byte strings; everything else says so.
        if from.is_integer() && !to.is_unicode() {
            return fit_text(&"*".into(), to);
        }
        if value_is_guid(value) {
            return Err(Error::new(
                8170,
                16,
                2,
                "Insufficient result space to convert uniqueidentifier value to char.",
            ));
        }
        let source = if from.is_integer() {
            "expression"
        } else {
            type_name(from)
        };
        return Err(messages::overflow_converting(source, to.name()));
    }
    fit_text(&Text::charged(written, charge), to)
}

fn value_is_guid(value: &Value) -> bool {
    matches!(value, Value::UniqueIdentifier(_))
}

/// The text of a value as conversion to a string type writes it.
fn write(value: &Value, from: SqlType, to: SqlType, style: Option<i32>) -> Result<String> {
    Ok(match value {
        Value::Null => String::new(),
        Value::Bit(bit) => u8::from(*bit).to_string(),
        Value::TinyInt(number) => number.to_string(),
        Value::SmallInt(number) => number.to_string(),
        Value::Int(number) => number.to_string(),
        Value::BigInt(number) => number.to_string(),
        Value::Decimal(number) => number.to_string(),
        Value::Money(number) => number::format_money(*number, style.unwrap_or(0)),
        Value::SmallMoney(number) => number::format_money(i64::from(*number), style.unwrap_or(0)),
        Value::Real(number) => write_float(f64::from(*number), style, 7),
        Value::Float(number) => write_float(*number, style, 15),
        Value::Text(text) => text.to_string(),
        Value::Binary(bytes) => write_binary(bytes, to, style.unwrap_or(0)),
        Value::UniqueIdentifier(bytes) => format_guid(bytes),
        _ => {
            let moment = Moment::from_value(value).ok_or_else(messages::text_to_date)?;
            let style = style.unwrap_or_else(|| moment_format::default_style(from));
            moment_format::format(moment, from, style).ok_or_else(|| messages::invalid_style(style, from.name()))?
        }
    })
}

fn write_float(value: f64, style: Option<i32>, scientific_digits: usize) -> String {
    match style.unwrap_or(0) {
        1 => number::format_scientific(value, 7),
        2 => number::format_scientific(value, scientific_digits),
        3 => number::format_scientific(value, 16),
        _ => float_text(value, 6),
    }
}

fn write_binary(bytes: &[u8], to: SqlType, style: i32) -> String {
    match style {
        1 | 2 => {
            let mut digits = String::with_capacity(2 + 2 * bytes.len());
            digits.push_str(if style == 1 { "0x" } else { "" });
            for byte in bytes {
                let digit = |half: u8| {
                    char::from_digit(u32::from(half), 16)
                        .unwrap_or('0')
                        .to_ascii_uppercase()
                };
                digits.extend([digit(byte >> 4), digit(byte & 15)]);
            }
            digits
        }
        _ if to.is_unicode() => {
            let units = bytes
                .chunks(2)
                .map(|pair| u16::from_le_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
            char::decode_utf16(units)
                .map(|unit| unit.unwrap_or('\u{FFFD}'))
                .collect()
        }
        _ => cp1252::decode(bytes),
    }
}

/// A `uniqueidentifier` in its usual form, upper case.
pub fn format_guid(bytes: &[u8; 16]) -> String {
    let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let mut text = String::with_capacity(36);
    for (position, &index) in order.iter().enumerate() {
        if matches!(position, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{:02X}", bytes[index]));
    }
    text
}

fn to_guid(value: &Value, from: SqlType) -> Result<Value> {
    match value {
        Value::UniqueIdentifier(_) => Ok(value.clone()),
        Value::Text(text) => parse_guid(text)
            .map(Value::UniqueIdentifier)
            .ok_or_else(messages::text_to_guid),
        Value::Binary(bytes) => {
            let mut guid = [0; 16];
            guid.iter_mut()
                .zip(bytes.iter())
                .for_each(|(target, &byte)| *target = byte);
            Ok(Value::UniqueIdentifier(guid))
        }
        _ => Err(messages::operand_type_clash(from.name(), "uniqueidentifier")),
    }
}

fn parse_guid(text: &str) -> Option<[u8; 16]> {
    let text = text.trim();
    let text = text
        .strip_prefix('{')
        .and_then(|inner| inner.strip_suffix('}'))
        .unwrap_or(text);
    let text = text.get(..36)?;
    let hyphens = [8, 13, 18, 23];
    if hyphens.iter().any(|&at| text.as_bytes().get(at) != Some(&b'-')) {
        return None;
    }
    let digits: String = text.chars().filter(|&character| character != '-').collect();
    let plain = parse_hexadecimal(&digits).filter(|bytes| bytes.len() == 16)?;
    let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let mut guid = [0; 16];
    for (position, &index) in order.iter().enumerate() {
        guid[index] = plain[position];
    }
    Some(guid)
}

/// Hexadecimal digits in pairs; `None` for anything else.
pub fn parse_hexadecimal(digits: &str) -> Option<Vec<u8>> {
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) || !digits.len().is_multiple_of(2) {
        return None;
    }
    digits
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

fn to_binary(value: &Value, from: SqlType, to: SqlType, style: i32) -> Result<Value> {
    let charge = match value {
        Value::Binary(bytes) => string_room(bytes.len())?,
        Value::Text(text) => string_room(text.len() * if from.is_unicode() { 2 } else { 1 })?,
        _ => Charge::default(),
    };
    let mut bytes: Vec<u8> = match value {
        Value::Binary(bytes) => bytes.to_vec(),
        Value::Text(text) if style == 1 || style == 2 => {
            let digits = if style == 1 {
                text.strip_prefix("0x").unwrap_or("x")
            } else {
                text
            };
            parse_hexadecimal(digits).ok_or_else(|| messages::conversion_error(from.name(), to.name()))?
        }
        Value::Text(text) if from.is_unicode() => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        Value::Text(text) if text.collation().is_utf8() => text.as_bytes().to_vec(),
        Value::Text(text) => {
            let mut bytes = Vec::with_capacity(text.len());
            cp1252::encode_into(text, &mut bytes);
            bytes
        }
        Value::UniqueIdentifier(bytes) => bytes.to_vec(),
        _ => number_bytes(value).ok_or_else(|| messages::explicit_conversion(from.name(), to.name()))?,
    };
    let Length::Limited(length) = byte_length(to) else {
        return Ok(Value::Binary(Bytes::charged(bytes, charge)));
    };
    let length = usize::from(length);
    if from.is_integer() {
        // Numbers keep their low bytes.
        let excess = bytes.len().saturating_sub(length);
        bytes.drain(..excess);
        if to.fixed_bytes().is_some() {
            bytes.splice(..0, std::iter::repeat_n(0, length - bytes.len().min(length)));
        }
    }
    bytes.truncate(length);
    if to.fixed_bytes().is_some() {
        bytes.resize(length, 0);
    }
    Ok(Value::binary(bytes))
}

fn number_bytes(value: &Value) -> Option<Vec<u8>> {
    Some(match value {
        Value::Bit(bit) => vec![u8::from(*bit)],
        Value::TinyInt(number) => number.to_be_bytes().to_vec(),
        Value::SmallInt(number) => number.to_be_bytes().to_vec(),
        Value::Int(number) | Value::SmallMoney(number) => number.to_be_bytes().to_vec(),
        Value::BigInt(number) | Value::Money(number) => number.to_be_bytes().to_vec(),
        Value::Real(number) => number.to_be_bytes().to_vec(),
        Value::Float(number) => number.to_be_bytes().to_vec(),
        Value::Decimal(number) => decimal_bytes(*number),
        Value::DateTime { days, ticks } => {
            let mut bytes = days.to_be_bytes().to_vec();
            bytes.extend_from_slice(&ticks.to_be_bytes());
            bytes
        }
        _ => return None,
    })
}

/// A decimal as a binary string: precision, scale, 0, 1 unless it is negative, then the digits as a whole number, little-endian, in as
/// many groups of four bytes as they need. `CAST(1.5 AS varbinary)` is `0x020100010F000000`.
fn decimal_bytes(number: Decimal) -> Vec<u8> {
    let coefficient = number.coefficient();
    let magnitude = coefficient.unsigned_abs();
    let groups = (u128::BITS - magnitude.leading_zeros()).div_ceil(32).max(1);
    let mut bytes = vec![number.precision, number.scale, 0, u8::from(coefficient >= 0)];
    bytes.extend_from_slice(&magnitude.to_le_bytes()[..4 * groups as usize]);
    bytes
}

/// What [`decimal_bytes`] writes; `None` for other bytes.
fn decimal_of_bytes(bytes: &[u8]) -> Option<Decimal> {
    let [precision @ 1..=38, scale, 0, sign @ 0..=1, digits @ ..] = bytes else {
        return None;
    };
    if scale > precision || digits.is_empty() || digits.len() > 16 || !digits.len().is_multiple_of(4) {
        return None;
    }
    let mut magnitude = [0; 16];
    magnitude.get_mut(..digits.len())?.copy_from_slice(digits);
    let magnitude = i128::try_from(u128::from_le_bytes(magnitude)).ok()?;
    let coefficient = if *sign == 1 { magnitude } else { -magnitude };
    Decimal::fits(coefficient, *precision).then(|| Decimal::new(coefficient, *precision, *scale))
}

fn to_temporal(value: &Value, from: SqlType, to: SqlType, style: Option<i32>) -> Result<Value> {
    let out_of_range = || messages::date_out_of_range(from.name(), to.name());
    match value {
        Value::Text(text) => {
            let style = style.unwrap_or(0);
            let is_legacy = matches!(to, SqlType::DateTime | SqlType::SmallDateTime);
            let parsed = parse(text, Reading::of_style(style, is_legacy)).map_err(|failure| match failure {
                ParseFailure::Range if is_legacy => out_of_range(),
                _ => messages::text_to_date(),
            })?;
            if parsed.has_offset && is_legacy && !text.ends_with(['Z', 'z']) {
                return Err(messages::text_to_date());
            }
            parsed.moment.to_value(to).ok_or_else(out_of_range)
        }
        Value::Binary(bytes) if matches!(to, SqlType::DateTime) => {
            let mut wide = [0u8; 8];
            wide.iter_mut()
                .rev()
                .zip(bytes.iter().rev())
                .for_each(|(target, &byte)| *target = byte);
            let [a, b, c, d, e, f, g, h] = wide;
            let (days, ticks) = (i32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
            Moment::from_value(&Value::DateTime {
                days,
                ticks: ticks.min(25_919_999),
            })
            .and_then(|moment| moment.to_value(to))
            .ok_or_else(out_of_range)
        }
        _ if from.is_numeric() => {
            let number = as_float(value).ok_or_else(out_of_range)?;
            days_to_value(number, to).ok_or_else(|| messages::overflow_converting("expression", to.name()))
        }
        _ => Moment::from_value(value)
            .and_then(|moment| moment.to_value(to))
            .ok_or_else(out_of_range),
    }
}

/// A number as days since 1900-01-01, fractions as part of the day.
fn days_to_value(number: f64, to: SqlType) -> Option<Value> {
    if !(-60_000.0..3_000_000.0).contains(&number) {
        return None;
    }
    let whole = number.floor();
    let ticks = ((number - whole) * 25_920_000.0).round() as u32;
    let (days, ticks) = if ticks >= 25_920_000 {
        (whole as i32 + 1, 0)
    } else {
        (whole as i32, ticks)
    };
    Moment::from_value(&Value::DateTime { days, ticks })?.to_value(to)
}

/// Any number as `f64`; datetime as days since 1900-01-01.
pub fn as_float(value: &Value) -> Option<f64> {
    Some(match value {
        Value::Decimal(number) => number.to_f64(),
        Value::Money(number) => *number as f64 / 10_000.0,
        Value::SmallMoney(number) => f64::from(*number) / 10_000.0,
        Value::Real(number) => f64::from(*number),
        Value::Float(number) => *number,
        Value::DateTime { days, ticks } => f64::from(*days) + f64::from(*ticks) / 25_920_000.0,
        Value::SmallDateTime { days, minutes } => f64::from(*days) + f64::from(*minutes) / 1_440.0,
        other => other.as_i64()? as f64,
    })
}

fn to_float(value: &Value, from: SqlType, to: SqlType) -> Result<Value> {
    let number = match value {
        Value::Text(text) => {
            number::parse_float(text).ok_or_else(|| messages::conversion_error(from.name(), to.name()))?
        }
        _ => as_float(value).ok_or_else(|| messages::operand_type_clash(from.name(), to.name()))?,
    };
    if to == SqlType::Float {
        return Ok(Value::Float(number));
    }
    let narrow = number as f32;
    if narrow.is_finite() {
        Ok(Value::Real(narrow))
    } else {
        Err(messages::overflow_converting(from.name(), "real"))
    }
}

fn to_decimal(value: &Value, from: SqlType, to: SqlType, precision: u8, scale: u8) -> Result<Value> {
    let overflow = || messages::overflow_converting(source_name(from), type_name(to));
    let number = match value {
        Value::Decimal(number) => *number,
        Value::Money(number) => Decimal::new(i128::from(*number), 38, 4),
        Value::SmallMoney(number) => Decimal::new(i128::from(*number), 38, 4),
        Value::Text(text) => number::parse_decimal(text).map_err(|too_large| {
            if too_large {
                overflow()
            } else {
                messages::conversion_error(from.name(), type_name(to))
            }
        })?,
        Value::Real(_) | Value::Float(_) => {
            number::float_to_decimal(as_float(value).unwrap_or(0.0)).ok_or_else(overflow)?
        }
        Value::Binary(bytes) => {
            decimal_of_bytes(bytes).ok_or_else(|| messages::conversion_error(from.name(), type_name(to)))?
        }
        Value::DateTime { .. } | Value::SmallDateTime { .. } => {
            let text = format!("{:.*}", usize::from(scale).min(30), as_float(value).unwrap_or(0.0));
            number::parse_decimal(&text).map_err(|_| overflow())?
        }
        other => Decimal::new(i128::from(other.as_i64().ok_or_else(overflow)?), 38, 0),
    };
    if is_exact(from) {
        require_digits(|| number.keeps_digits(scale))?;
    }
    number
        .rescaled(precision, scale)
        .map(Value::Decimal)
        .ok_or_else(overflow)
}

/// Whether a type is one of exact numbers with a fraction: what NUMERIC_ROUNDABORT is about.
fn is_exact(sql_type: SqlType) -> bool {
    matches!(sql_type, SqlType::Decimal { .. } | SqlType::Money | SqlType::SmallMoney)
}

/// How errors call the type a number came from.
fn source_name(from: SqlType) -> &'static str {
    type_name(from)
}

fn to_money(value: &Value, from: SqlType, to: SqlType) -> Result<Value> {
    let overflow = || messages::overflow_converting(source_name(from), to.name());
    let number: i128 = match value {
        Value::Money(number) => i128::from(*number),
        Value::SmallMoney(number) => i128::from(*number),
        Value::Decimal(number) => {
            require_digits(|| number.keeps_digits(4))?;
            number.rescaled(38, 4).ok_or_else(overflow)?.coefficient()
        }
        Value::Real(_) | Value::Float(_) | Value::DateTime { .. } | Value::SmallDateTime { .. } => {
            let number = (as_float(value).unwrap_or(0.0) * 10_000.0).round();
            if number.abs() > 1e19 {
                return Err(overflow());
            }
            number as i128
        }
        Value::Text(text) => number::parse_money(text).map_err(|too_large| {
            if too_large {
                overflow()
            } else if to == SqlType::SmallMoney {
                messages::text_to_small_money()
            } else {
                messages::text_to_money()
            }
        })?,
        Value::Binary(_) => binary_number(value),
        other => i128::from(other.as_i64().ok_or_else(overflow)?) * 10_000,
    };
    if to == SqlType::Money {
        i64::try_from(number).map(Value::Money).map_err(|_| overflow())
    } else {
        i32::try_from(number).map(Value::SmallMoney).map_err(|_| overflow())
    }
}

/// The last eight bytes of a binary string as a signed number.
fn binary_number(value: &Value) -> i128 {
    let Value::Binary(bytes) = value else { return 0 };
    let mut wide = [0u8; 8];
    wide.iter_mut()
        .rev()
        .zip(bytes.iter().rev())
        .for_each(|(target, &byte)| *target = byte);
    i128::from(i64::from_be_bytes(wide))
}

fn to_integer(value: &Value, from: SqlType, to: SqlType) -> Result<Value> {
    let number: i128 = match value {
        Value::Text(text) => return text_to_integer(text, from, to),
        Value::Decimal(number) => {
            number.coefficient() / engine::types::POWERS_OF_TEN[usize::from(number.scale.min(38))]
        }
        // Money rounds where decimals are cut (SQL Server docs, "CAST and CONVERT").
        Value::Money(number) => round_money(i128::from(*number)),
        Value::SmallMoney(number) => round_money(i128::from(*number)),
        Value::Real(_) | Value::Float(_) => {
            let number = as_float(value).unwrap_or(0.0);
            if to == SqlType::Bit {
                return Ok(Value::Bit(number != 0.0));
            }
            if number.abs() >= 1e19 {
                return Err(messages::overflow_of_float(to.name(), number));
            }
            number.trunc() as i128
        }
        Value::DateTime { .. } | Value::SmallDateTime { .. } => as_float(value).unwrap_or(0.0).round() as i128,
        Value::Binary(bytes) => match to {
            // A binary string of the width of the number is its bytes, sign included.
            SqlType::Int if bytes.len() <= 4 => i128::from(binary_number(value) as u32 as i32),
            SqlType::Int => i128::from(binary_number(value) as i32),
            SqlType::SmallInt => i128::from(binary_number(value) as i16),
            SqlType::TinyInt => i128::from(binary_number(value) as u8),
            _ => binary_number(value),
        },
        other => i128::from(
            other
                .as_i64()
                .ok_or_else(|| messages::operand_type_clash(from.name(), to.name()))?,
        ),
    };
    integer(number, to).ok_or_else(|| integer_overflow(value, number, from, to))
}

fn round_money(ten_thousandths: i128) -> i128 {
    (ten_thousandths + 5_000 * ten_thousandths.signum()) / 10_000
}

fn integer_overflow(value: &Value, number: i128, from: SqlType, to: SqlType) -> Error {
    match (value, to) {
        (Value::Real(_) | Value::Float(_), _) => messages::overflow_of_float(to.name(), as_float(value).unwrap_or(0.0)),
        (Value::Money(own), SqlType::TinyInt) => messages::overflow_of_money(*own as f64 / 10_000.0),
        (Value::SmallMoney(own), SqlType::TinyInt) => messages::overflow_of_money(f64::from(*own) / 10_000.0),
        (Value::Money(_) | Value::SmallMoney(_), _) => messages::no_room_for_money(to.name()),
        (_, SqlType::TinyInt | SqlType::SmallInt) if from.is_integer() => {
            messages::overflow_of_value(to.name(), &number.to_string())
        }
        _ if from.is_integer() => messages::overflow_converting("expression", to.name()),
        _ => messages::overflow_converting(source_name(from), to.name()),
    }
}

/// A whole number as a value of a whole number type; `None` out of its range.
pub fn integer(number: i128, to: SqlType) -> Option<Value> {
    Some(match to {
        SqlType::Bit => Value::Bit(number != 0),
        SqlType::TinyInt => Value::TinyInt(u8::try_from(number).ok()?),
        SqlType::SmallInt => Value::SmallInt(i16::try_from(number).ok()?),
        SqlType::Int => Value::Int(i32::try_from(number).ok()?),
        _ => Value::BigInt(i64::try_from(number).ok()?),
    })
}

fn text_to_integer(text: &str, from: SqlType, to: SqlType) -> Result<Value> {
    if to == SqlType::Bit {
        match text.trim().to_ascii_lowercase().as_str() {
            "true" => return Ok(Value::Bit(true)),
            "false" => return Ok(Value::Bit(false)),
            _ => {}
        }
    }
    let failed = || match to {
        SqlType::BigInt => messages::conversion_error(from.name(), to.name()),
        _ => messages::conversion_failed(from.name(), text, to.name()),
    };
    let number = number::parse_integer(text).ok_or_else(failed)?;
    number.and_then(|number| integer(number, to)).ok_or_else(|| match to {
        SqlType::TinyInt => messages::text_overflows_small_integer(from.name(), text, 1),
        SqlType::SmallInt => messages::text_overflows_small_integer(from.name(), text, 2),
        SqlType::Int => messages::text_overflows_int(from.name(), text),
        _ => messages::overflow_converting("expression", to.name()),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const VARCHAR: SqlType = SqlType::VarChar(Length::Limited(30));

    fn decimal(coefficient: i128, precision: u8, scale: u8) -> Value {
        Value::Decimal(Decimal::new(coefficient, precision, scale))
    }

    #[test]
    fn values_convert_as_sql_server_converts() {
        let cases = [
            (Value::from("12"), VARCHAR, SqlType::Int, Value::Int(12)),
            ("".into(), VARCHAR, SqlType::Int, Value::Int(0)),
            ("true".into(), VARCHAR, SqlType::Bit, Value::Bit(true)),
            (
                decimal(199, 5, 2),
                SqlType::Decimal { precision: 5, scale: 2 },
                SqlType::Int,
                Value::Int(1),
            ),
            (Value::Money(15_000), SqlType::Money, SqlType::Int, Value::Int(2)),
            (Value::Float(-1.9), SqlType::Float, SqlType::Int, Value::Int(-1)),
            (
                Value::Int(5),
                SqlType::Int,
                SqlType::Decimal { precision: 5, scale: 2 },
                decimal(500, 5, 2),
            ),
            (
                Value::Float(1.005),
                SqlType::Float,
                SqlType::Decimal { precision: 9, scale: 1 },
                decimal(10, 9, 1),
            ),
            (Value::Int(7), SqlType::Int, SqlType::Char(3), "7  ".into()),
            (
                Value::Int(1234),
                SqlType::Int,
                SqlType::VarChar(Length::Limited(3)),
                "*".into(),
            ),
            ("abcdef".into(), VARCHAR, SqlType::Char(3), "abc".into()),
        ];
        for (value, from, to, expected) in cases {
            assert_eq!(convert(&value, from, to, None), Ok(expected), "{value:?} as {to}");
        }
    }

    #[test]
    fn values_of_other_kinds_convert_as_sql_server_converts() {
        let cases = [
            (
                Value::from("aя"),
                SqlType::NVarChar(Length::Limited(9)),
                VARCHAR,
                "a?".into(),
            ),
            (
                Value::Int(2),
                SqlType::Int,
                SqlType::DateTime,
                Value::DateTime { days: 2, ticks: 0 },
            ),
            (
                "1900-01-02".into(),
                VARCHAR,
                SqlType::DateTime,
                Value::DateTime { days: 1, ticks: 0 },
            ),
            (
                Value::Int(255),
                SqlType::Int,
                SqlType::Binary(2),
                Value::binary(&[0, 255][..]),
            ),
            (
                Value::binary(&[1, 0][..]),
                SqlType::Binary(2),
                SqlType::Int,
                Value::Int(256),
            ),
            (
                "ab".into(),
                VARCHAR,
                SqlType::VarBinary(Length::Max),
                Value::binary(&b"ab"[..]),
            ),
            (Value::Null, SqlType::Int, VARCHAR, Value::Null),
            (Value::Float(0.1), SqlType::Float, VARCHAR, "0.1".into()),
        ];
        for (value, from, to, expected) in cases {
            assert_eq!(convert(&value, from, to, None), Ok(expected), "{value:?} as {to}");
        }
        let guid = convert(
            &"6F9619FF-8B86-D011-B42D-00C04FC964FF".into(),
            VARCHAR,
            SqlType::UniqueIdentifier,
            None,
        )
        .unwrap();
        let text = convert(&guid, SqlType::UniqueIdentifier, SqlType::Char(36), None).unwrap();
        assert_eq!(text, "6F9619FF-8B86-D011-B42D-00C04FC964FF".into());
    }

    #[test]
    fn failures_have_sql_servers_numbers() {
        let cases = [
            (Value::from("abc"), VARCHAR, SqlType::Int, 245),
            ("1.5".into(), VARCHAR, SqlType::Int, 245),
            ("99999999999".into(), VARCHAR, SqlType::Int, 248),
            ("300".into(), VARCHAR, SqlType::TinyInt, 244),
            ("x".into(), VARCHAR, SqlType::Decimal { precision: 5, scale: 2 }, 8114),
            (
                "1000".into(),
                VARCHAR,
                SqlType::Decimal { precision: 5, scale: 2 },
                8115,
            ),
            ("x".into(), VARCHAR, SqlType::Float, 8114),
            ("x".into(), VARCHAR, SqlType::Money, 235),
            ("x".into(), VARCHAR, SqlType::SmallMoney, 293),
            ("214749".into(), VARCHAR, SqlType::SmallMoney, 8115),
            ("x".into(), VARCHAR, SqlType::DateTime, 241),
            ("1700-01-01".into(), VARCHAR, SqlType::DateTime, 242),
            ("2024-02-30".into(), VARCHAR, SqlType::DateTime, 242),
            (Value::Int(300), SqlType::Int, SqlType::TinyInt, 220),
            (Value::BigInt(1 << 40), SqlType::BigInt, SqlType::Int, 8115),
            (Value::Float(1e10), SqlType::Float, SqlType::Int, 232),
            (Value::Money(30_000_000_000_000), SqlType::Money, SqlType::Int, 237),
            (Value::Money(700_000_000), SqlType::Money, SqlType::SmallInt, 237),
            (Value::SmallMoney(3_000_000), SqlType::SmallMoney, SqlType::TinyInt, 232),
            (
                decimal(12_345, 5, 1),
                SqlType::Decimal { precision: 5, scale: 1 },
                SqlType::VarChar(Length::Limited(2)),
                8115,
            ),
            ("zz".into(), VARCHAR, SqlType::UniqueIdentifier, 8169),
        ];
        for (value, from, to, number) in cases {
            assert_eq!(
                convert(&value, from, to, None).unwrap_err().number,
                number,
                "{value:?} as {to}"
            );
        }
    }

    #[test]
    fn columns_refuse_what_casts_cut() {
        let to = SqlType::VarChar(Length::Limited(3));
        let error = store(&"abcd".into(), VARCHAR, to, "t", "c").unwrap_err();
        assert_eq!(
            (error.number, error.message.ends_with("Truncated value: 'abc'.")),
            (2628, true)
        );
        assert_eq!(store(&"abc   ".into(), VARCHAR, to, "t", "c"), Ok("abc".into()));
        assert_eq!(
            store(&"ab".into(), VARCHAR, SqlType::Char(3), "t", "c"),
            Ok("ab ".into())
        );
    }
}
