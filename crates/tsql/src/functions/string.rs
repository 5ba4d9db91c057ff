//! String functions that build strings.

use engine::error::Result;
use engine::memory::Charge;
use engine::types::{Length, SqlType, Value, cp1252, string_room};

use super::Answer::{Computed, Fixed};
use super::Parameter::{Any, BigInt, Float, Int, Text};
use super::{Call, INT, NAME, Signature, signature, variadic};
use crate::messages;
use crate::plan::Expr;
use crate::scalar::convert::{Units, text_length};
use crate::scalar::data_type::{byte_length, string_type, text_units};

pub(super) const FUNCTIONS: &[Signature] = &[
    signature("ascii", 1, &[Text], INT, ascii).told("text: code of the first character, in code page 1252"),
    signature("char", 1, &[Int], Fixed(SqlType::Char(1)), char).told("code: character of a code, in code page 1252"),
    variadic("concat", 2, &[Any], Computed(concatenated), concat).told("value: the values as one text; NULL is empty"),
    variadic("concat_ws", 3, &[Any], Computed(concatenated_by), concat_ws)
        .told("separator, value: the same with a separator between; NULLs are left out"),
    signature("datalength", 1, &[Any], Fixed(SqlType::Int), datalength).told("value: bytes of a value"),
    signature("left", 2, &[Text, Int], Computed(variable), left).told("text, count: first characters"),
    signature("len", 1, &[Text], INT, len).told("text: characters, without spaces at the end"),
    signature("lower", 1, &[Text], Computed(variable), lower).told("text: the text in small letters"),
    signature("ltrim", 1, &[Text, Text], Computed(variable), ltrim)
        .told("text, characters: without spaces, or these characters, at the beginning"),
    signature("nchar", 1, &[Int], Fixed(SqlType::NChar(1)), nchar).told("code: character of a Unicode code"),
    signature(
        "quotename",
        1,
        &[Text, Text],
        Fixed(SqlType::NVarChar(Length::Limited(258))),
        quotename,
    )
    .told("text, quote: the text as a name in brackets or quotes"),
    signature("replicate", 2, &[Text, BigInt], Computed(replicated), replicate).told("text, times: repeated"),
    signature("reverse", 1, &[Text], Computed(variable), reverse).told("text: backward"),
    signature("right", 2, &[Text, Int], Computed(variable), right).told("text, count: last characters"),
    signature("rtrim", 1, &[Text, Text], Computed(variable), rtrim)
        .told("text, characters: without spaces, or these characters, at the end"),
    signature(
        "space",
        1,
        &[Int],
        Fixed(SqlType::VarChar(Length::Limited(8000))),
        space,
    )
    .told("count: spaces"),
    signature(
        "str",
        1,
        &[Float, Int, Int],
        Fixed(SqlType::VarChar(Length::Limited(8000))),
        str,
    )
    .told("number, length, decimals: a number as text, flush right"),
    signature("stuff", 4, &[Text, Int, Int, Text], Computed(stuffed), stuff)
        .told("text, start, length, by: the text with a part of it taken out and another text put in its place"),
    signature("substring", 3, &[Any, Int, Int], Computed(variable), substring)
        .told("value, start, length: a part of a text or binary string"),
    signature("trim", 1, &[Text, Text], Computed(trimmed_type), trim)
        .told("text, characters: without spaces at both ends; TRIM(characters FROM text) takes these characters off"),
    signature("unicode", 1, &[Text], INT, unicode).told("text: Unicode code of the first character"),
    signature("upper", 1, &[Text], Computed(variable), upper).told("text: the text in capital letters"),
    signature("parsename", 2, &[Text, Int], NAME, parsename)
        .told("name, part: a part of a name with dots: 1 the object, 4 the server"),
];

/// The variable form of the type of what is trimmed: the last argument, behind the characters that go.
fn trimmed_type(arguments: &[Expr]) -> Result<SqlType> {
    variable(arguments.get(1..).filter(|rest| !rest.is_empty()).unwrap_or(arguments))
}

/// The variable form of the first argument's type.
fn variable(arguments: &[Expr]) -> Result<SqlType> {
    let sql_type = arguments
        .first()
        .map_or(SqlType::VarChar(Length::Max), |argument| argument.sql_type);
    Ok(match sql_type {
        // "text" becomes varchar, "ntext" nvarchar and "image" varbinary (sql-docs, "SUBSTRING"): of 8,000 bytes.
        _ if sql_type.is_large_object() && sql_type.is_binary() => SqlType::VarBinary(Length::Limited(8_000)),
        _ if sql_type.is_large_object() => string_type(sql_type.is_unicode(), Length::Limited(8_000)),
        _ if sql_type.is_binary() => SqlType::VarBinary(byte_length(sql_type)),
        _ if sql_type.is_character() => string_type(sql_type.is_unicode(), byte_length(sql_type)),
        _ => string_type(false, text_units(sql_type)),
    })
}

/// REPLICATE cuts at 8000 bytes unless its argument is `max` (SQL Server docs).
fn replicated(arguments: &[Expr]) -> Result<SqlType> {
    let sql_type = variable(arguments)?;
    Ok(match byte_length(sql_type) {
        Length::Max | Length::LargeObject | Length::Xml => sql_type,
        Length::Limited(_) => string_type(sql_type.is_unicode(), Length::Limited(8000)),
    })
}

fn stuffed(arguments: &[Expr]) -> Result<SqlType> {
    let unicode = arguments.iter().any(|argument| argument.sql_type.is_unicode());
    let is_max = |index: usize| {
        arguments
            .get(index)
            .is_some_and(|argument| byte_length(argument.sql_type) == Length::Max)
    };
    let length = if is_max(0) || is_max(3) {
        Length::Max
    } else {
        Length::Limited(8000)
    };
    Ok(string_type(unicode, length))
}

fn concatenated(arguments: &[Expr]) -> Result<SqlType> {
    Ok(joined_type(arguments.iter().map(|argument| argument.sql_type)))
}

/// The separator stands between every two of the others.
fn concatenated_by(arguments: &[Expr]) -> Result<SqlType> {
    let mut types = arguments.iter().map(|argument| argument.sql_type);
    let separator = types.next().unwrap_or(SqlType::VarChar(Length::Limited(1)));
    let separators = std::iter::repeat_n(separator, types.len().saturating_sub(1));
    Ok(joined_type(separators.chain(types)))
}

/// The type of strings one after another.
fn joined_type(types: impl Iterator<Item = SqlType>) -> SqlType {
    let (mut unicode, mut is_max, mut total) = (false, false, 0u32);
    for sql_type in types {
        unicode |= sql_type.is_unicode();
        match text_units(sql_type) {
            Length::Max | Length::LargeObject | Length::Xml => is_max = true,
            Length::Limited(units) => total += u32::from(units),
        }
    }
    let length = match is_max {
        true => Length::Max,
        false => Length::Limited(total.min(8000) as u16),
    };
    string_type(unicode, length)
}

/// Answers NULL when an argument is, else what `compute` makes of the first argument's text.
fn on_text(call: &Call<'_>, compute: impl FnOnce(&str) -> String) -> Result<Value> {
    match call.text(0) {
        Some(text) if !call.any_null() => Ok(Value::from(compute(text))),
        _ => Ok(Value::Null),
    }
}

fn ascii(call: &Call<'_>) -> Result<Value> {
    let first = call.text(0).and_then(|text| text.chars().next());
    Ok(first.map_or(Value::Null, |character| {
        Value::Int(i32::from(cp1252::encode_nearest(character)))
    }))
}

fn unicode(call: &Call<'_>) -> Result<Value> {
    let first = call.text(0).and_then(|text| text.encode_utf16().next());
    Ok(first.map_or(Value::Null, |unit| Value::Int(i32::from(unit))))
}

fn char(call: &Call<'_>) -> Result<Value> {
    let byte = call.integer(0).and_then(|code| u8::try_from(code).ok());
    Ok(byte.map_or(Value::Null, |byte| Value::from(cp1252::decode_byte(byte).to_string())))
}

/// NULL outside of 0 to 65535: the collation has no supplementary characters (SQL Server docs, "NCHAR").
fn nchar(call: &Call<'_>) -> Result<Value> {
    let unit = call.integer(0).and_then(|code| u16::try_from(code).ok());
    // Half of a surrogate pair is not a character of its own; strings here hold whole ones.
    Ok(unit.map_or(Value::Null, |unit| {
        Value::from(
            char::from_u32(u32::from(unit))
                .unwrap_or(char::REPLACEMENT_CHARACTER)
                .to_string(),
        )
    }))
}

/// Any value as CONCAT writes it; NULL is the empty string.
fn as_text(call: &Call<'_>, index: usize) -> Result<Value> {
    let target = string_type(call.result.is_unicode(), Length::Max);
    crate::scalar::convert::convert(call.value(index), call.argument_type(index), target, None)
}

fn concat(call: &Call<'_>) -> Result<Value> {
    joined((0..call.values.len()).map(|index| as_text(call, index)), "")
}

/// Texts with a separator between them, in memory that was asked for before they were joined.
fn joined(texts: impl Iterator<Item = Result<Value>>, separator: &str) -> Result<Value> {
    let texts = texts.collect::<Result<Vec<_>>>()?;
    let text_of = |value: &Value| value.as_str().unwrap_or("").len();
    let separators = separator.len() * texts.len().saturating_sub(1);
    let charge = string_room(texts.iter().map(text_of).sum::<usize>() + separators)?;
    let mut text = String::new();
    for (index, value) in texts.iter().enumerate() {
        text.push_str(if index > 0 { separator } else { "" });
        text.push_str(value.as_str().unwrap_or(""));
    }
    Ok(Value::Text(engine::types::Text::charged(text, charge)))
}

fn concat_ws(call: &Call<'_>) -> Result<Value> {
    let separator = as_text(call, 0)?;
    let present = (1..call.values.len()).filter(|&index| !call.value(index).is_null());
    joined(
        present.map(|index| as_text(call, index)),
        separator.as_str().unwrap_or(""),
    )
}

/// Of json and xml it is the bytes of their texts, of json in UTF-8. SQL Server has binary forms of its own for both, which are as a rule
/// shorter and are not published.
fn datalength(call: &Call<'_>) -> Result<Value> {
    let sql_type = call.argument_type(0);
    let length = match call.value(0) {
        Value::Null => return Ok(Value::Null),
        Value::Text(text) if sql_type == SqlType::Json => text.len(),
        Value::Text(text) => {
            let units = Units::of(sql_type, text.collation());
            units.count(text) * if units == Units::Utf16 { 2 } else { 1 }
        }
        Value::Binary(bytes) => bytes.len(),
        Value::Held(held) => usize::try_from(held.bytes()).unwrap_or(usize::MAX),
        Value::Variant(variant) => variant.payload().len(),
        Value::Decimal(number) => decimal_length(number.coefficient()),
        _ => sql_type.fixed_bytes().unwrap_or(0),
    };
    Ok(Value::Int(i32::try_from(length).unwrap_or(i32::MAX)))
}

/// The bytes of a decimal: a sign and as many groups of four bytes as its digits need, whatever its declaration (Database Administrators
/// Stack Exchange, question 184288, with SQL Server's answers).
fn decimal_length(coefficient: i128) -> usize {
    let groups = (u128::BITS - coefficient.unsigned_abs().leading_zeros())
        .div_ceil(32)
        .max(1);
    1 + 4 * groups as usize
}

fn len(call: &Call<'_>) -> Result<Value> {
    let unicode = call.argument_type(0).is_unicode();
    if let Value::Held(held) = call.value(0) {
        let units = held.bytes_without_blanks()? / held.form().unit_bytes();
        return Ok(Value::Int(i32::try_from(units).unwrap_or(i32::MAX)));
    }
    Ok(call.text(0).map_or(Value::Null, |text| {
        Value::Int(i32::try_from(text_length(text.trim_end_matches(' '), unicode)).unwrap_or(i32::MAX))
    }))
}

fn lower(call: &Call<'_>) -> Result<Value> {
    on_text(call, |text| {
        if text.is_ascii() {
            text.to_ascii_lowercase()
        } else {
            text.to_lowercase()
        }
    })
}

fn upper(call: &Call<'_>) -> Result<Value> {
    // The sharp s has no capital of its own in the code page and stays.
    let upper_one = |character: char| {
        let mut upper = character.to_uppercase();
        match (upper.next(), upper.next()) {
            (Some(single), None) => single,
            _ => character,
        }
    };
    on_text(call, |text| {
        if text.is_ascii() {
            text.to_ascii_uppercase()
        } else {
            text.chars().map(upper_one).collect()
        }
    })
}

/// A count of characters; `None` when it is negative.
fn count(call: &Call<'_>, index: usize) -> Option<usize> {
    usize::try_from(call.integer(index).unwrap_or(0)).ok()
}

fn left(call: &Call<'_>) -> Result<Value> {
    if call.any_null() {
        return Ok(Value::Null);
    }
    let count = count(call, 1).ok_or_else(messages::invalid_length)?;
    on_text(call, |text| text.chars().take(count).collect())
}

fn right(call: &Call<'_>) -> Result<Value> {
    if call.any_null() {
        return Ok(Value::Null);
    }
    let count = count(call, 1).ok_or_else(messages::invalid_length_of_right)?;
    on_text(call, |text| {
        let length = text.chars().count();
        text.chars().skip(length.saturating_sub(count)).collect()
    })
}

/// The characters to trim, in order, so that many of them are looked up as fast as few; a blank when none are given.
fn trimmed(call: &Call<'_>, index: usize) -> Vec<char> {
    let mut characters: Vec<char> = call.text(index).unwrap_or(" ").chars().collect();
    characters.sort_unstable();
    characters
}

fn ltrim(call: &Call<'_>) -> Result<Value> {
    let characters = trimmed(call, 1);
    let is_trimmed = |character| characters.binary_search(&character).is_ok();
    on_text(call, |text| text.trim_start_matches(is_trimmed).to_owned())
}

fn rtrim(call: &Call<'_>) -> Result<Value> {
    let characters = trimmed(call, 1);
    let is_trimmed = |character| characters.binary_search(&character).is_ok();
    on_text(call, |text| text.trim_end_matches(is_trimmed).to_owned())
}

/// `TRIM(characters FROM text)` comes as `TRIM(characters, text)`.
fn trim(call: &Call<'_>) -> Result<Value> {
    if call.any_null() {
        return Ok(Value::Null);
    }
    let (characters, text) = match call.text(1) {
        Some(text) => (trimmed(call, 0), text),
        None => (vec![' '], call.text(0).unwrap_or("")),
    };
    let is_trimmed = |character| characters.binary_search(&character).is_ok();
    Ok(Value::text(text.trim_matches(is_trimmed)))
}

fn quotename(call: &Call<'_>) -> Result<Value> {
    let quote = call.text(1).unwrap_or("[").chars().next().unwrap_or('[');
    let (open, close) = match quote {
        '[' | ']' => ('[', ']'),
        '(' | ')' => ('(', ')'),
        '<' | '>' => ('<', '>'),
        '{' | '}' => ('{', '}'),
        '\'' | '"' | '`' => (quote, quote),
        _ => return Ok(Value::Null),
    };
    let Some(text) = call.text(0).filter(|text| text.chars().count() <= 128) else {
        return Ok(Value::Null);
    };
    let doubled = text.replace(close, &format!("{close}{close}"));
    Ok(Value::from(format!("{open}{doubled}{close}")))
}

fn replicate(call: &Call<'_>) -> Result<Value> {
    let (Some(text), Some(times)) = (call.text(0), call.integer(1)) else {
        return Ok(Value::Null);
    };
    let Ok(times) = usize::try_from(times) else {
        return Ok(Value::Null);
    };
    let limit = byte_length(call.result).units_max();
    let length = text_length(text, call.result.is_unicode());
    if length == 0 || times == 0 {
        return Ok(Value::text(""));
    }
    let is_max = byte_length(call.result) == Length::Max;
    let charge = if is_max {
        string_room(text.len().saturating_mul(times))?
    } else {
        Charge::default()
    };
    let whole = times.min(limit / length);
    let mut repeated = text.repeat(whole);
    if whole < times {
        repeated.extend(text.chars().take(limit - whole * length));
    }
    Ok(Value::Text(engine::types::Text::charged(repeated, charge)))
}

fn reverse(call: &Call<'_>) -> Result<Value> {
    on_text(call, |text| text.chars().rev().collect())
}

fn space(call: &Call<'_>) -> Result<Value> {
    let times = call.integer(0).and_then(|times| usize::try_from(times).ok());
    Ok(times.map_or(Value::Null, |times| Value::from(" ".repeat(times.min(8000)))))
}

/// `STR(number, length, decimals)`: right-aligned; stars when it does not fit.
fn str(call: &Call<'_>) -> Result<Value> {
    let Value::Float(number) = *call.value(0) else {
        return Ok(Value::Null);
    };
    let width = usize::try_from(call.integer(1).unwrap_or(10)).unwrap_or(0).min(8000);
    let decimals = usize::try_from(call.integer(2).unwrap_or(0)).unwrap_or(0).min(16);
    let whole = format!("{number:.0}");
    if whole.len() > width {
        return Ok(Value::from("*".repeat(width)));
    }
    let decimals = decimals.min(width.saturating_sub(whole.len() + 1));
    Ok(Value::from(format!("{number:>width$.decimals$}")))
}

fn stuff(call: &Call<'_>) -> Result<Value> {
    let (Some(text), Some(start), Some(length)) = (call.text(0), call.integer(1), call.integer(2)) else {
        return Ok(Value::Null);
    };
    let characters: Vec<char> = text.chars().collect();
    if start < 1 || length < 0 || start as usize > characters.len() {
        return Ok(Value::Null);
    }
    let start = start as usize - 1;
    let end = start.saturating_add(length as usize).min(characters.len());
    let mut result: String = characters[..start].iter().collect();
    result.push_str(call.text(3).unwrap_or(""));
    result.extend(&characters[end..]);
    Ok(Value::from(result))
}

fn substring(call: &Call<'_>) -> Result<Value> {
    if call.any_null() {
        return Ok(Value::Null);
    }
    let (start, length) = (call.integer(1).unwrap_or(0), call.integer(2).unwrap_or(0));
    if length < 0 {
        return Err(messages::invalid_length());
    }
    // Positions before the first character use up length.
    let end = usize::try_from((start - 1).saturating_add(length)).unwrap_or(0);
    let start = usize::try_from(start - 1).unwrap_or(0);
    Ok(match call.value(0) {
        Value::Held(held) => held.characters(start as u64, end as u64)?,
        Value::Binary(bytes) => Value::binary(
            bytes
                .get(start.min(bytes.len())..end.min(bytes.len()))
                .unwrap_or_default(),
        ),
        Value::Text(text) if text.is_ascii() => {
            Value::text(text.get(start.min(text.len())..end.min(text.len())).unwrap_or(""))
        }
        Value::Text(text) => Value::from(
            text.chars()
                .skip(start)
                .take(end.saturating_sub(start))
                .collect::<String>(),
        ),
        _ => {
            return Err(messages::invalid_argument_type(
                call.argument_type(0).name(),
                1,
                "substring",
            ));
        }
    })
}

/// `PARSENAME('db.schema.object', n)`: the n-th part from the right; NULL when the text is not a name of up to four
/// parts.
fn parsename(call: &Call<'_>) -> Result<Value> {
    let (Some(text), Some(part)) = (call.text(0), call.integer(1)) else {
        return Ok(Value::Null);
    };
    let parts = name_parts(text).filter(|parts| parts.len() <= 4).unwrap_or_default();
    let found = usize::try_from(part)
        .ok()
        .and_then(|part| parts.len().checked_sub(part).filter(|_| part > 0))
        .and_then(|index| parts.get(index))
        .filter(|part| !part.is_empty() && part.chars().count() <= 128);
    Ok(found.map_or(Value::Null, |part| Value::from(part.as_str())))
}

/// The parts of a name with their brackets or quotes taken off; a doubled closing one inside stands for itself.
fn name_parts(text: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut characters = text.chars().peekable();
    loop {
        let mut part = String::new();
        let closing = match characters.peek() {
            Some('[') => Some(']'),
            Some('"') => Some('"'),
            _ => None,
        };
        match closing {
            Some(closing) => {
                characters.next();
                loop {
                    match characters.next()? {
                        end if end == closing => match characters.next_if_eq(&closing) {
                            Some(doubled) => part.push(doubled),
                            None => break,
                        },
                        other => part.push(other),
                    }
                }
            }
            None => {
                while let Some(character) = characters.next_if(|&character| character != '.') {
                    part.push(character);
                }
            }
        }
        parts.push(part);
        match characters.next() {
            Some('.') => {}
            Some(_) => return None,
            None => return Some(parts),
        }
    }
}
