//! Format files that are not XML (sql-docs, "Non-XML format files").
//!
//! ```text
//! 14.0                                      version of bcp, 6.0 to 17.0
//! 3                                         number of fields
//! 1  SQLCHAR  0  7    ","     1  id   ""    field | type | prefix | bytes | terminator | column of the table, 0 for none | its name | collation
//! ```

use engine::error::Result;
use engine::types::{Length, SqlType};

use super::layout::{FIELDS_MAX, Field, Format, FormatColumn, Host, Terminator, encoded};
use super::options::{CodePage, mark_of};
use crate::messages;

/// Versions that format files have; the number before the point.
const VERSIONS: std::ops::RangeInclusive<u32> = 6..=17;

/// Reads the text of a format file.
///
/// # Errors
/// 4820 to 4829 and 4839, each with the name of the file.
pub(super) fn read(file: &str, text: &str) -> Result<Format> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let version = lines
        .next()
        .and_then(|line| line.split('.').next()?.trim().parse().ok());
    if !version.is_some_and(|version| VERSIONS.contains(&version)) {
        return Err(messages::format_version(file));
    }
    let count = lines.next().and_then(|line| line.parse::<usize>().ok());
    let count = count.ok_or_else(|| messages::format_column_count_unread(file))?;
    if count == 0 || count > FIELDS_MAX {
        return Err(messages::format_column_count(file));
    }
    let mut format = Format {
        fields: Vec::with_capacity(count),
        columns: Vec::new(),
        is_xml: false,
    };
    for place in 0..count {
        let line = lines.next().ok_or_else(|| messages::format_column_count(file))?;
        let (field, column) = read_line(file, line, place + 1)?;
        let is_taken = |column: &FormatColumn| format.columns.iter().any(|other| other.place == column.place);
        if column.as_ref().is_some_and(is_taken) {
            return Err(messages::format_destination(place + 1, file));
        }
        format.fields.push(field);
        format.columns.extend(column);
    }
    match lines.next() {
        None => Ok(format),
        Some(_) => Err(messages::format_column_count(file)),
    }
}

fn read_line(file: &str, line: &str, place: usize) -> Result<(Field, Option<FormatColumn>)> {
    let parts = parts_of(line);
    let part = |index: usize| parts.get(index).map(String::as_str).unwrap_or_default();
    let number = |index: usize| part(index).parse::<u64>().ok();
    if number(0) != Some(place as u64) {
        return Err(messages::format_column_number(file));
    }
    let (host, sql_type) = host_of(part(1)).ok_or_else(|| messages::format_column_type(place, file))?;
    let prefix = number(2).filter(|prefix| [0, 1, 2, 4, 8].contains(prefix));
    let prefix = prefix.ok_or_else(|| messages::format_column_prefix(place, file))?;
    let prefix_bytes = u8::try_from(prefix).unwrap_or(0);
    let bytes_max = number(3).filter(|bytes| i32::try_from(*bytes).is_ok());
    let bytes_max = bytes_max.ok_or_else(|| messages::format_column_length(place, file))?;
    if parts.len() < 7 {
        return Err(messages::format_column_terminator(place, file));
    }
    let terminator = encoded(&mark_of(part(4)), Host::Char, CodePage::Latin);
    // Without any of these a field has no bytes, and a row of such fields would never end.
    let is_endless = !matches!(host, Host::Native(_)) && prefix_bytes == 0 && bytes_max == 0 && terminator.is_empty();
    if is_endless {
        return Err(messages::format_column_terminator(place, file));
    }
    let to = number(5).and_then(|to| usize::try_from(to).ok());
    let to = to.ok_or_else(|| messages::format_destination(place, file))?;
    let name = part(6);
    if name.is_empty() {
        return Err(messages::format_column_name(place, file));
    }
    check_collation(part(7), place, file)?;
    let column = (to > 0).then(|| FormatColumn {
        field: place - 1,
        place: to,
        name: name.to_owned(),
        sql_type: shown_type(sql_type, bytes_max),
        nullable: true,
    });
    let field = Field {
        host,
        prefix_bytes,
        bytes_max,
        terminator: Terminator {
            bytes: terminator,
            with_return: false,
            returned: Vec::new(),
        },
        to: None,
    };
    Ok((field, column))
}

/// A collation that there is, `RAW`, or none.
pub(super) fn check_collation(name: &str, place: usize, file: &str) -> Result<()> {
    match name {
        "" => Ok(()),
        name if name.eq_ignore_ascii_case("RAW") => Ok(()),
        name if engine::types::Collation::from_name(name).is_some() => Ok(()),
        _ => Err(messages::format_collation(place, file)),
    }
}

/// The parts of a line: between blanks, or in quotes, in which a backslash takes the character behind it along.
fn parts_of(line: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut characters = line.chars().peekable();
    while let Some(&first) = characters.peek() {
        if first.is_whitespace() {
            characters.next();
            continue;
        }
        let mut part = String::new();
        if first == '"' {
            characters.next();
            while let Some(character) = characters.next() {
                match character {
                    '"' => break,
                    '\\' => {
                        // A quote is the one that only stands behind a backslash here; the others are unescaped as those of statements.
                        match characters.next() {
                            Some('"') => part.push('"'),
                            Some(other) => part.extend(['\\', other]),
                            None => part.push('\\'),
                        }
                    }
                    other => part.push(other),
                }
            }
        } else {
            while let Some(character) = characters.next_if(|character| !character.is_whitespace()) {
                part.push(character);
            }
        }
        parts.push(part);
    }
    parts
}

/// The file's type of a field, and the type that it has as a column where nothing else is said.
pub(super) fn host_of(name: &str) -> Option<(Host, SqlType)> {
    let native = |sql_type| Some((Host::Native(sql_type), sql_type));
    match name.to_ascii_uppercase().as_str() {
        "SQLCHAR" => Some((Host::Char, SqlType::VarChar(Length::Max))),
        "SQLNCHAR" => Some((Host::NChar, SqlType::NVarChar(Length::Max))),
        "SQLBINARY" | "SQLVARBIN" => Some((Host::Binary, SqlType::VarBinary(Length::Max))),
        "SQLUDT" => Some((Host::Binary, SqlType::VarBinary(Length::Max))),
        "SQLBIT" => native(SqlType::Bit),
        "SQLTINYINT" => native(SqlType::TinyInt),
        "SQLSMALLINT" => native(SqlType::SmallInt),
        "SQLINT" => native(SqlType::Int),
        "SQLBIGINT" => native(SqlType::BigInt),
        "SQLFLT4" => native(SqlType::Real),
        "SQLFLT8" => native(SqlType::Float),
        "SQLMONEY" => native(SqlType::Money),
        "SQLMONEY4" => native(SqlType::SmallMoney),
        "SQLDATETIME" => native(SqlType::DateTime),
        "SQLDATETIM4" => native(SqlType::SmallDateTime),
        "SQLDATE" => native(SqlType::Date),
        "SQLTIME" => native(SqlType::Time { scale: 7 }),
        "SQLDATETIME2" => native(SqlType::DateTime2 { scale: 7 }),
        "SQLDATETIMEOFFSET" => native(SqlType::DateTimeOffset { scale: 7 }),
        "SQLDECIMAL" | "SQLNUMERIC" => native(SqlType::Decimal {
            precision: 38,
            scale: 0,
        }),
        "SQLUNIQUEID" => native(SqlType::UniqueIdentifier),
        _ => None,
    }
}

/// The type of a column of OPENROWSET. Decimals have none: the file says neither precision nor scale (4838).
fn shown_type(sql_type: SqlType, bytes_max: u64) -> Option<SqlType> {
    let limited = |units: u64, most: u64| match units {
        0 => Length::Max,
        units if units > most => Length::Max,
        units => Length::Limited(u16::try_from(units).unwrap_or(u16::MAX)),
    };
    match sql_type {
        SqlType::VarChar(_) => Some(SqlType::VarChar(limited(bytes_max, 8_000))),
        SqlType::NVarChar(_) => Some(SqlType::NVarChar(limited(bytes_max / 2, 4_000))),
        SqlType::VarBinary(_) => Some(SqlType::VarBinary(limited(bytes_max, 8_000))),
        SqlType::Decimal { .. } => None,
        other => Some(other),
    }
}
