//! JSON_CONTAINS: whether one of the scalars that a path leads to is a value (sql-docs, "JSON_CONTAINS").
//!
//! What its page leaves open is as the SqlServerSimulator project has probed it on SQL Server 2025 (its notes on "JSON_CONTAINS"):
//!
//! | | |
//! |---|---|
//! | the document | json alone |
//! | the value | a whole number, `decimal`, `bit`, or a string of limited length; NULL is in no document |
//! | without a path | `$[*]` |
//! | a path that leads nowhere | NULL, also when it is strict |
//! | a number | equals numbers, `bit` equals true and false, a string equals strings: none equals one of another kind |
//! | a string of the document | is read as `varchar` in the collation of the database, and compared by that of the value |

use engine::cancel;
use engine::error::Result;
use engine::types::{Length, SqlType, Value};

use super::path::selection_of;
use super::reader::{Kind, unescaped};
use super::select::{root_of, visit_selected};
use crate::messages;
use crate::plan::{Call, Expr};
use crate::scalar::compare::compare;
use crate::scalar::convert::convert;
use crate::scalar::like::{Blanks, Pattern};
use crate::scalar::number::parse_decimal;

/// The types of the arguments, each judged as it is written.
///
/// # Errors
/// 8116
pub(super) fn answer_type(arguments: &[Expr]) -> Result<SqlType> {
    for (index, argument) in arguments.iter().enumerate() {
        let own = argument.sql_type;
        let is_short_text = own.is_character() && !engine::types::off_row::is_unlimited(own);
        let is_taken = match index {
            0 => own == SqlType::Json || argument.is_null_constant(),
            1 => {
                let is_number = own.is_integer() || matches!(own, SqlType::Decimal { .. } | SqlType::Bit);
                (is_number || is_short_text) && !argument.is_null_constant()
            }
            2 => own.is_character() || argument.is_null_constant(),
            _ => own == SqlType::Int,
        };
        if !is_taken {
            let name = if argument.is_null_constant() {
                "NULL"
            } else {
                own.name()
            };
            return Err(messages::invalid_argument_type(name, index + 1, "json_contains"));
        }
    }
    Ok(SqlType::Int)
}

pub(super) fn json_contains(call: &Call<'_>) -> Result<Value> {
    let Some(text) = call.text(0) else {
        return Ok(Value::Null);
    };
    let is_pattern = match call.integer(3) {
        None | Some(0) => false,
        Some(1) => true,
        Some(mode) => return Err(messages::json_search_mode(mode)),
    };
    let path = match (call.values.len(), call.text(2)) {
        (2, _) => "$[*]",
        (_, Some(path)) => path,
        (_, None) => return Ok(Value::Null),
    };
    let path = selection_of(path)?;
    cancel::spend_bytes(text.len())?;
    let search = Search { call, is_pattern };
    let mut is_somewhere = false;
    let is_found = visit_selected(text, root_of(text), &path.selectors, &mut |(kind, place)| {
        is_somewhere = true;
        search.is_it(kind, text.get(place).unwrap_or_default())
    })?;
    Ok(match (is_found, is_somewhere) {
        (true, _) => Value::Int(1),
        (false, true) => Value::Int(0),
        (false, false) => Value::Null,
    })
}

/// What is searched in a document.
struct Search<'c> {
    call: &'c Call<'c>,
    /// Whether the value is a pattern of LIKE.
    is_pattern: bool,
}

impl Search<'_> {
    fn is_it(&self, kind: Kind, written: &str) -> Result<bool> {
        let value = self.call.value(1);
        Ok(match (kind, value) {
            (Kind::Truth, Value::Bit(bit)) => *bit == (written == "true"),
            (Kind::Number, value) if !matches!(value, Value::Null | Value::Bit(_) | Value::Text(_)) => {
                let exact = SqlType::Decimal {
                    precision: 38,
                    scale: 0,
                };
                let value = match value {
                    Value::Decimal(_) => value.clone(),
                    whole => convert(whole, self.call.argument_type(1), exact, None)?,
                };
                let number = parse_decimal(written).map(Value::Decimal);
                number.is_ok_and(|number| compare(&number, &value).is_some_and(std::cmp::Ordering::is_eq))
            }
            (Kind::Text, Value::Text(wanted)) => {
                let database = self.call.context.session.database_collation();
                let own = Value::from(unescaped(written)).collated(database);
                let own = convert(
                    &own,
                    SqlType::NVarChar(Length::Max),
                    SqlType::VarChar(Length::Max),
                    None,
                )?;
                let collation = wanted.collation();
                match (self.is_pattern, own.as_str()) {
                    (true, Some(own)) => Pattern::matches_again((wanted, None), collation, own, Blanks::Count)?,
                    _ => compare(&own.collated(collation), value).is_some_and(std::cmp::Ordering::is_eq),
                }
            }
            _ => false,
        })
    }
}
