//! Data masks of columns: MASKED WITH (FUNCTION = '...'). Masks are kept and shown; no session reads masked values, because every session is
//! dbo, who has UNMASK (sql-docs, "Dynamic data masking"; numbers, the order of the checks and the form in the catalog are those that the
//! SqlServerSimulator project has seen of SQL Server 2025).

use engine::error::Result;
use engine::types::{Length, SqlType, Value};

use super::executor::Executor;
use crate::ast::{ColumnDefinition, Identifier, Name};
use crate::messages;
use crate::modules::ColumnChange;
use crate::scalar::convert::convert;

impl Executor<'_> {
    /// ALTER COLUMN ... ADD MASKED WITH (FUNCTION = '...') and DROP MASKED.
    ///
    /// # Errors
    /// 4924, 4928 for a computed column, 5074 for one that others access, 16007 for a mask that is not there, those of [`mask_of`].
    pub(super) fn mask_column(&mut self, table: &Name, name: &Identifier, function: Option<&str>) -> Result<()> {
        let (database, object, mut definition) = self.find_table(table)?;
        let ordinal = definition
            .column(&name.text)
            .ok_or_else(|| messages::column_not_in_table(&name.text, &definition.name))?;
        let column = &definition.columns[ordinal];
        if column.computed.is_some() {
            return Err(messages::column_is_fixed(&column.name, "COMPUTED"));
        }
        let mask = match function {
            Some(function) => Some(mask_of(&column.name, column.sql_type, function)?),
            None if column.mask.is_none() => return Err(messages::column_has_no_mask(&column.name)),
            None => None,
        };
        self.check_column_is_free(&database, &definition, ordinal, ColumnChange::Renullified)?;
        definition.columns[ordinal].mask = mask;
        self.replace_definition(&database, &object, definition)
    }
}

/// The mask of a column that is defined.
///
/// # Errors
/// Those of [`mask_of`].
pub(super) fn mask_of_column(column: &ColumnDefinition, sql_type: SqlType) -> Result<Option<String>> {
    let mask = column.mask.as_deref();
    mask.map(|mask| mask_of(&column.name.text, sql_type, mask)).transpose()
}

/// A mask of a column in the form in which the catalog has it.
///
/// # Errors
/// 16002 for a function that is none, 16003 for one that the type does not have, 16004 for the number of arguments, 16005 for an argument,
/// 16006 for what is not a call.
pub(super) fn mask_of(column: &str, sql_type: SqlType, text: &str) -> Result<String> {
    if text.is_empty() {
        return Err(messages::invalid_mask(column));
    }
    let Some((written, rest)) = text.split_once('(') else {
        return Err(messages::mask_format(text, column));
    };
    let (arguments, behind) = arguments_of(rest).ok_or_else(|| messages::mask_format(written, column))?;
    if !behind.is_empty() {
        return Err(messages::mask_arguments(written, column));
    }
    let name = written.to_lowercase();
    let count = match name.as_str() {
        "default" | "email" => 0,
        "datetime" => 1,
        "random" => 2,
        "partial" => 3,
        _ => return Err(messages::invalid_mask(column)),
    };
    if !is_of_type(&name, sql_type) {
        return Err(messages::mask_of_type(column, &name));
    }
    if arguments.len() != count {
        return Err(messages::mask_arguments(written, column));
    }
    let arguments = match name.as_str() {
        "random" => random(&arguments, sql_type),
        "partial" => partial(&arguments),
        "datetime" => part_of_moment(&arguments, sql_type),
        _ => Some(Vec::new()),
    };
    let arguments = arguments.ok_or_else(|| messages::invalid_mask_argument(&name, column))?;
    Ok(format!("{name}({})", arguments.join(", ")))
}

/// The arguments up to the closing parenthesis, and what is behind it; commas and parentheses within double quotes are text.
fn arguments_of(text: &str) -> Option<(Vec<String>, &str)> {
    let (mut arguments, mut one, mut is_quoted) = (Vec::new(), String::new(), false);
    for (at, character) in text.char_indices() {
        match character {
            '"' => {
                is_quoted = !is_quoted;
                one.push(character);
            }
            ',' if !is_quoted => arguments.push(std::mem::take(&mut one).trim().to_owned()),
            ')' if !is_quoted => {
                let last = one.trim().to_owned();
                if !arguments.is_empty() || !last.is_empty() {
                    arguments.push(last);
                }
                return Some((arguments, &text[at + 1..]));
            }
            other => one.push(other),
        }
    }
    None
}

fn is_of_type(name: &str, sql_type: SqlType) -> bool {
    match name {
        "email" | "partial" => sql_type.is_character() && sql_type != SqlType::XML,
        "random" => is_number(sql_type),
        "datetime" => is_moment(sql_type),
        _ => true,
    }
}

fn is_whole(sql_type: SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::Bit | SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt
    )
}

fn is_number(sql_type: SqlType) -> bool {
    let is_exact = matches!(sql_type, SqlType::Decimal { .. } | SqlType::Money | SqlType::SmallMoney);
    is_whole(sql_type) || is_exact || matches!(sql_type, SqlType::Float | SqlType::Real)
}

fn is_moment(sql_type: SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::Date
            | SqlType::Time { .. }
            | SqlType::DateTime
            | SqlType::SmallDateTime
            | SqlType::DateTime2 { .. }
            | SqlType::DateTimeOffset { .. }
    )
}

const TEXT: SqlType = SqlType::VarChar(Length::Limited(100));

/// The bounds of a random number: values of the type, the lower one first.
fn random(arguments: &[String], sql_type: SqlType) -> Option<Vec<String>> {
    let value = |text: &String| {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        let is_plain = |character: char| character.is_ascii_digit() || character == '.' && !is_whole(sql_type);
        let is_bit = sql_type != SqlType::Bit || matches!(digits.trim_start_matches('0'), "" | "1");
        if digits.is_empty() || !digits.chars().all(is_plain) || !is_bit {
            return None;
        }
        let value = convert(&Value::from(text.as_str()), TEXT, sql_type, None).ok()?;
        // All cents of money are shown by style 2; the styles of other numbers show more digits than were written.
        let is_money = matches!(sql_type, SqlType::Money | SqlType::SmallMoney);
        let shown = convert(&value, sql_type, TEXT, is_money.then_some(2)).ok()?;
        let shown = shown.as_str()?.to_owned();
        let number: f64 = digits.parse().ok()?;
        let number = if text.starts_with('-') { -number } else { number };
        let shown = match is_money && shown.contains('.') {
            true => shown.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => shown,
        };
        Some((number, shown))
    };
    let (low, high) = (value(arguments.first()?)?, value(arguments.get(1)?)?);
    (low.0 <= high.0).then(|| vec![low.1, high.1])
}

/// How many characters are shown in front, what stands for the others, how many are shown behind.
fn partial(arguments: &[String]) -> Option<Vec<String>> {
    let count = |text: &String| text.parse::<u32>().ok().filter(|_| !text.starts_with('+'));
    let [front, padding, behind] = arguments else {
        return None;
    };
    let inside = padding.strip_prefix('"')?.strip_suffix('"')?;
    let is_text = padding.len() > 1 && !inside.replace("\"\"", "").contains('"');
    let (front, behind) = (count(front)?, count(behind)?);
    is_text.then(|| vec![front.to_string(), padding.clone(), behind.to_string()])
}

/// The part of a moment that is shown.
fn part_of_moment(arguments: &[String], sql_type: SqlType) -> Option<Vec<String>> {
    let parts = match sql_type {
        SqlType::Date => "YMD",
        SqlType::Time { .. } => "hms",
        _ => "YMDhms",
    };
    let own = arguments.first()?;
    let part = own.strip_prefix('"')?.strip_suffix('"')?;
    (part.len() == 1 && parts.contains(part)).then(|| vec![own.clone()])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn masks_have_one_form() {
        let text = SqlType::VarChar(Length::Limited(20));
        let decimal = SqlType::Decimal { precision: 6, scale: 2 };
        for (sql_type, written, kept) in [
            (text, "partial(1, \"x\", 1)", "partial(1, \"x\", 1)"),
            (text, "PARTIAL( 01 , \"a\"\"b\" , 0 )", "partial(1, \"a\"\"b\", 0)"),
            (text, "partial(1,\"a),b(\",2)", "partial(1, \"a),b(\", 2)"),
            (text, "EMAIL()", "email()"),
            (text, "default( )", "default()"),
            (decimal, "random(1.555, 3)", "random(1.56, 3.00)"),
            (SqlType::Money, "random(1, 2.12345)", "random(1, 2.1235)"),
            (SqlType::Float, "random(1.50, 2.500)", "random(1.5, 2.5)"),
            (SqlType::Int, "Random( 01 , 003 )", "random(1, 3)"),
            (SqlType::Date, "datetime(\"D\")", "datetime(\"D\")"),
        ] {
            assert_eq!(mask_of("a", sql_type, written).unwrap(), kept);
        }
    }

    #[test]
    fn what_is_none_is_refused_by_its_number() {
        let text = SqlType::VarChar(Length::Limited(9));
        for (sql_type, written, number) in [
            (text, "foo()", 16_002),
            (text, "", 16_002),
            (text, " default()", 16_002),
            (SqlType::Int, "partial(1,\"x\",1)", 16_003),
            (SqlType::Int, "EMAIL()", 16_003),
            (text, "random(1,2)", 16_003),
            (text, "datetime(\"Y\")", 16_003),
            (text, "  Default ( ) ", 16_004),
            (text, "default(1)", 16_004),
            (text, "email() x", 16_004),
            (SqlType::Int, "random(1,2,3)", 16_004),
            (text, "partial(-1,\"x\",1)", 16_005),
            (text, "partial(1,x,1)", 16_005),
            (text, "partial(1,\",1)", 16_006),
            (text, "partial(1.0,\"x\",1)", 16_005),
            (SqlType::Int, "random(10,1)", 16_005),
            (SqlType::Int, "random(1.5,2)", 16_005),
            (SqlType::Float, "random(1,1e3)", 16_005),
            (SqlType::TinyInt, "random(-5,300)", 16_005),
            (SqlType::Bit, "random(0,2)", 16_005),
            (SqlType::Decimal { precision: 6, scale: 2 }, "random(1,99999)", 16_005),
            (SqlType::DateTime, "datetime(\"Q\")", 16_005),
            (SqlType::DateTime, "datetime(\"y\")", 16_005),
            (SqlType::Date, "datetime(\"h\")", 16_005),
            (SqlType::Time { scale: 7 }, "datetime(\"Y\")", 16_005),
            (text, "default", 16_006),
            (text, "default)", 16_006),
            (text, "partial(1,\"x\",1", 16_006),
        ] {
            assert_eq!(mask_of("a", sql_type, written).unwrap_err().number, number, "{written}");
        }
    }
}
