//! JSON_OBJECT and JSON_ARRAY, and the parts of which JSON_OBJECTAGG and JSON_ARRAYAGG are put together (sql-docs, pages of these names).
//!
//! The binder arranges their arguments: whether NULL is kept, then for each value whether it is JSON, and the value. In an object the name
//! comes before both.

use engine::cancel;
use engine::error::Result;
use engine::types::{Text, Value, string_room};

use super::Call;
use crate::messages;
use crate::scalar::json::{push_string, push_value};

/// `{"name":value}`
pub(crate) fn json_object(call: &Call<'_>) -> Result<Value> {
    let mut text = String::from("{");
    for place in (1..call.values.len()).step_by(3) {
        let name = call.text(place).ok_or_else(messages::json_name_null)?;
        if is_left_out(call, place + 2) {
            continue;
        }
        if text.len() > 1 {
            text.push(',');
        }
        push_string(&mut text, name);
        text.push(':');
        push_argument(&mut text, call, place + 1)?;
    }
    text.push('}');
    finished(text)
}

/// `[value,value]`
pub(crate) fn json_array(call: &Call<'_>) -> Result<Value> {
    let mut text = String::from("[");
    for place in (1..call.values.len()).step_by(2) {
        if is_left_out(call, place + 1) {
            continue;
        }
        if text.len() > 1 {
            text.push(',');
        }
        push_argument(&mut text, call, place)?;
    }
    text.push(']');
    finished(text)
}

/// An element of JSON_ARRAYAGG; NULL when it is left out.
pub(crate) fn json_element(call: &Call<'_>) -> Result<Value> {
    if is_left_out(call, 2) {
        return Ok(Value::Null);
    }
    let mut text = String::new();
    push_argument(&mut text, call, 1)?;
    finished(text)
}

/// A member of JSON_OBJECTAGG, with its name; NULL when it is left out.
pub(crate) fn json_member(call: &Call<'_>) -> Result<Value> {
    let name = call.text(1).ok_or_else(messages::json_name_null)?;
    if is_left_out(call, 3) {
        return Ok(Value::Null);
    }
    let mut text = String::new();
    push_string(&mut text, name);
    text.push(':');
    push_argument(&mut text, call, 2)?;
    finished(text)
}

fn is_left_out(call: &Call<'_>, value: usize) -> bool {
    call.value(value).is_null() && call.integer(0) == Some(0)
}

/// The value behind the place that says whether it is JSON.
fn push_argument(text: &mut String, call: &Call<'_>, place: usize) -> Result<()> {
    let is_json = call.integer(place) == Some(1);
    cancel::spend_bytes(call.text(place + 1).map_or(0, str::len))?;
    push_value(text, call.value(place + 1), call.argument_type(place + 1), is_json)
}

fn finished(text: String) -> Result<Value> {
    let charge = string_room(text.len())?;
    Ok(Value::Text(Text::charged(text, charge)))
}
