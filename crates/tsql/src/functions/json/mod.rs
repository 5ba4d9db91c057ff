//! Functions of JSON (sql-docs, "JSON functions"; paths: "JSON path expressions").
//!
//! ```text
//! path.rs     paths to values
//! select.rs   the values that a path with [*], [last], [1 to 3] or [0, 2] leads to
//! reader.rs   reads a text once, and finds the positions of values in it
//! modify.rs   JSON_MODIFY
//! build.rs    JSON_OBJECT, JSON_ARRAY
//! open.rs     OPENJSON
//! contains.rs JSON_CONTAINS
//! ```
//! A text is read once, from beginning to end, and the value at the path is kept as a position in the text: other values are not built.
//! Numbers are returned as written.

mod build;
mod contains;
mod modify;
mod open;
mod path;
mod reader;
mod select;

pub(crate) use build::{json_array, json_element, json_member, json_object};
pub(crate) use modify::{change_json, change_with, modify_with};
pub(super) use open::open_json;
pub use open::{JsonColumn, JsonValueKind, open_json_columns};

use engine::cancel;
use engine::error::{Error, Result};
use engine::memory::Charge;
use engine::types::{Length, SqlType, Value, string_room};

use super::Answer::{Computed, Fixed};
use super::Parameter::{Any, Text};
use super::{Call, INT, Signature, signature};
use crate::messages;
use crate::plan::Expr;
use crate::scalar::json_type::json_of;
use path::{path_of, selection_of};
use reader::{Kind, Reader, find, unescaped};
use select::{root_of, visit_selected};

/// `nvarchar(max)`, which texts of JSON are.
const JSON: SqlType = SqlType::NVarChar(Length::Max);

pub(super) const FUNCTIONS: &[Signature] = &[
    signature(
        "json_value",
        2,
        &[Text, Text],
        Fixed(SqlType::NVarChar(Length::Limited(VALUE_CHARACTERS_MAX as u16))),
        json_value,
    )
    .told("json, path: the scalar value at a path"),
    signature("json_query", 1, &[Text, Text], Computed(of_document), json_query)
        .told("json, path: the object or array at a path; of json, WITH ARRAY WRAPPER, an array of the values that a path leads to"),
    signature("isjson", 1, &[Text, Text], INT, isjson)
        .told("text, kind: 1 if the text is a JSON object or array, or of the kind VALUE, SCALAR, ARRAY or OBJECT"),
    signature("json_path_exists", 2, &[Text, Text], INT, json_path_exists)
        .told("json, path: 1 if there is a value at a path"),
    signature(
        "json_contains",
        2,
        &[Any, Any, Any, Any],
        Computed(contains::answer_type),
        contains::json_contains,
    )
    .told("json, value, path, mode: 1 if one of the values at a path is the value, or is LIKE it in mode 1"),
    signature(
        "json_modify",
        3,
        &[Text, Text, Any],
        Computed(of_document),
        modify::json_modify,
    )
    .told("json, path, value: the text with another value at a path"),
];

/// What is taken out of a document of type json, or changed in it, is json.
fn of_document(arguments: &[Expr]) -> Result<SqlType> {
    let is_json = arguments
        .first()
        .is_some_and(|document| document.sql_type == SqlType::Json);
    Ok(if is_json { SqlType::Json } else { JSON })
}

/// What JSON_VALUE answers is nvarchar(4000).
const VALUE_CHARACTERS_MAX: usize = 4000;

fn json_value(call: &Call<'_>) -> Result<Value> {
    let (Some(text), Some(path)) = (call.text(0), call.text(1)) else {
        return Ok(Value::Null);
    };
    let path = path_of(path)?;
    let strictly = |error: fn() -> Error| if path.strict { Err(error()) } else { Ok(Value::Null) };
    let Some((kind, place)) = find(text, &path)? else {
        return strictly(messages::no_json_property);
    };
    let written = &text[place];
    let value = match kind {
        Kind::Null => return Ok(Value::Null),
        Kind::Object | Kind::Array => return strictly(messages::no_json_scalar),
        Kind::Number | Kind::Truth => written.to_owned(),
        Kind::Text => unescaped(written),
    };
    match value.encode_utf16().count() > VALUE_CHARACTERS_MAX {
        true => strictly(messages::json_value_too_long),
        false => Ok(value.into()),
    }
}

fn json_query(call: &Call<'_>) -> Result<Value> {
    let Some(text) = call.text(0) else {
        return Ok(Value::Null);
    };
    let path = match (call.values.len(), call.text(1)) {
        (1, _) => "$",
        (_, Some(path)) => path,
        (_, None) => return Ok(Value::Null),
    };
    if call.argument_type(0) == SqlType::Json {
        return json_selected(text, path, call.integer(2) == Some(1));
    }
    let path = path_of(path)?;
    match find(text, &path)? {
        Some((Kind::Object | Kind::Array, place)) => Ok(text[place].into()),
        None if path.strict => Err(messages::no_json_property()),
        Some(_) if path.strict => Err(messages::no_json_object()),
        _ => Ok(Value::Null),
    }
}

/// What a path leads to in a document of type json: an array of all values where it is wrapped, else the one object or array. Without a
/// wrapper several values are none, and an error of a strict path.
fn json_selected(text: &str, path: &str, is_wrapped: bool) -> Result<Value> {
    let path = selection_of(path)?;
    cancel::spend_bytes(text.len())?;
    let (mut made, mut charge) = (String::new(), Charge::default());
    let mut found = None;
    let mut count = 0_usize;
    visit_selected(text, root_of(text), &path.selectors, &mut |(kind, place)| {
        count += 1;
        if is_wrapped {
            // With its comma or bracket.
            let bytes = made.len() + place.len() + 2;
            string_room(bytes)?;
            charge.grow_to(bytes as u64)?;
            made.push(if count == 1 { '[' } else { ',' });
            made.push_str(text.get(place).unwrap_or_default());
        } else {
            found = Some((kind, place));
        }
        Ok(!is_wrapped && count > 1)
    })?;
    match (count, found) {
        (0, _) if path.strict => Err(messages::no_json_property()),
        (0, _) => Ok(Value::Null),
        (1.., _) if is_wrapped => {
            made.push(']');
            json_of(&made)
        }
        (1, Some((Kind::Object | Kind::Array, place))) => Ok(text.get(place).unwrap_or_default().into()),
        _ if path.strict => Err(messages::no_json_object()),
        _ => Ok(Value::Null),
    }
}

/// Whether a text is JSON of a kind; without one an object or an array (sql-docs, "ISJSON").
fn isjson(call: &Call<'_>) -> Result<Value> {
    let Some(text) = call.text(0) else {
        return Ok(Value::Null);
    };
    cancel::spend_bytes(text.len())?;
    let Ok(Some((kind, _))) = Reader::new(text).whole(&[]) else {
        return Ok(Value::Int(0));
    };
    let is_it = match call.text(1) {
        None => matches!(kind, Kind::Object | Kind::Array),
        Some("value") => true,
        Some("scalar") => matches!(kind, Kind::Text | Kind::Number),
        Some("array") => kind == Kind::Array,
        Some(_) => kind == Kind::Object,
    };
    Ok(Value::Int(i32::from(is_it)))
}

/// "Returns an int value of 1 or 0 or NULL. [...] doesn't return errors" for a path that leads nowhere (sql-docs, "JSON_PATH_EXISTS").
fn json_path_exists(call: &Call<'_>) -> Result<Value> {
    let (Some(text), Some(path)) = (call.text(0), call.text(1)) else {
        return Ok(Value::Null);
    };
    cancel::spend_bytes(text.len())?;
    if call.argument_type(0) == SqlType::Json {
        let path = selection_of(path)?;
        let found = visit_selected(text, root_of(text), &path.selectors, &mut |_| Ok(true))?;
        return Ok(Value::Int(i32::from(found)));
    }
    let path = path_of(path)?;
    let found = Reader::new(text).whole(&path.steps);
    Ok(Value::Int(i32::from(matches!(found, Ok(Some(_))))))
}
