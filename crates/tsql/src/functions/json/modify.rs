//! JSON_MODIFY (sql-docs, page of that name).
//!
//! | the path leads | lax | strict |
//! |---|---|---|
//! | to a value | replaces it; NULL removes a member, and becomes null in an array | replaces it, null for NULL |
//! | to a missing member of an object | adds the member, unless the value is NULL | 13608 |
//! | elsewhere | unchanged | 13608 |
//!
//! With `append` the value is added to the array that the path leads to, or to a new one.

use std::ops::Range;

use engine::error::Result;
use engine::types::{SqlType, Text, Value, string_room};

use super::Call;
use super::path::{Path, Step, any_path_of};
use super::reader::{Kind, child_behind, find};
use crate::messages;
use crate::scalar::json::{push_string, push_value};
use crate::scalar::json_type::json_of;

/// As a function whose new value is not JSON.
pub(super) fn json_modify(call: &Call<'_>) -> Result<Value> {
    modify(call, false)
}

/// As a function whose new value is JSON.
pub(crate) fn modify_with(call: &Call<'_>) -> Result<Value> {
    modify(call, true)
}

/// The method of json; the last argument is what errors call the document.
///
/// # Errors
/// 5302 for NULL; those of JSON_MODIFY.
pub(crate) fn change_json(call: &Call<'_>) -> Result<Value> {
    changed(call, false)
}

/// The same with a new value that is JSON.
pub(crate) fn change_with(call: &Call<'_>) -> Result<Value> {
    changed(call, true)
}

fn changed(call: &Call<'_>, is_json: bool) -> Result<Value> {
    match call.value(0).is_null() {
        true => Err(messages::mutator_of_null("modify()", call.text(3).unwrap_or_default())),
        false => modify(call, is_json),
    }
}

fn modify(call: &Call<'_>, is_json: bool) -> Result<Value> {
    let (Some(text), Some(path)) = (call.text(0), call.text(1)) else {
        return Ok(Value::Null);
    };
    let path = any_path_of(path)?;
    // Of the whole text only an array can be changed, by appending to it.
    let last = match path.steps.last() {
        None if !path.appends => return Err(messages::unsupported_json_path(2, "JSON_MODIFY")),
        last => last,
    };
    let value = call.value(2);
    let mut written = String::new();
    push_value(&mut written, value, call.argument_type(2), is_json)?;
    let room = text.len() + written.len() + path.steps.len() * 4;
    let charge = string_room(room)?;
    let change = match find(text, &path)? {
        Some((Kind::Array, place)) if path.appends => Some(appended(text, &place, &written)),
        Some(_) if path.appends && path.strict => return Err(messages::no_json_array()),
        Some(_) if path.appends => None,
        Some((_, place)) if value.is_null() && !path.strict => {
            last.map(|last| without(text, &path, last, place)).transpose()?
        }
        Some((_, place)) => Some((place, written)),
        None if path.strict => return Err(messages::no_json_property()),
        None if value.is_null() => None,
        None => last
            .map(|last| added(text, &path, last, &written))
            .transpose()?
            .flatten(),
    };
    let Some((place, new)) = change else {
        return Ok(call.value(0).clone());
    };
    let mut changed = String::with_capacity(room);
    changed.push_str(text.get(..place.start).unwrap_or_default());
    changed.push_str(&new);
    changed.push_str(text.get(place.end..).unwrap_or_default());
    match call.argument_type(0) {
        SqlType::Json => json_of(&changed),
        _ => Ok(Value::Text(Text::charged(changed, charge))),
    }
}

/// Where to write what.
type Change = (Range<usize>, String);

/// A value at the end of an object or array.
fn behind_last(text: &str, place: &Range<usize>, is_object: bool, written: String) -> Change {
    let (first, mut at) = (place.start + 1, place.start + 1);
    while let Some(child) = child_behind(text, at, is_object) {
        at = child.place.end;
    }
    match at == first {
        true => (at..at, written),
        false => (at..at, format!(",{written}")),
    }
}

fn appended(text: &str, place: &Range<usize>, written: &str) -> Change {
    behind_last(text, place, false, written.to_owned())
}

/// Takes a member out of its object; an element of an array becomes null.
fn without(text: &str, path: &Path, last: &Step, place: Range<usize>) -> Result<Change> {
    let null = (place.clone(), "null".to_owned());
    let Step::Member(_) = last else { return Ok(null) };
    let Some((Kind::Object, object)) = find(text, &parent_of(path))? else {
        return Ok(null);
    };
    let (first, mut at) = (object.start + 1, object.start + 1);
    let mut begin = None;
    while let Some(child) = child_behind(text, at, true) {
        if child.place == place {
            begin = Some(child.begin);
            break;
        }
        at = child.place.end;
    }
    // `at` is where the member before ends.
    let Some(begin) = begin else { return Ok(null) };
    let taken = match child_behind(text, place.end, true) {
        Some(next) => begin..next.begin,
        None if at == first => begin..place.end,
        None => at..place.end,
    };
    Ok((taken, String::new()))
}

/// A member that its object has not.
fn added(text: &str, path: &Path, last: &Step, written: &str) -> Result<Option<Change>> {
    let (Step::Member(name), Some((Kind::Object, object))) = (last, find(text, &parent_of(path))?) else {
        return Ok(None);
    };
    let mut member = String::new();
    push_string(&mut member, name);
    member.push(':');
    match path.appends {
        true => member.push_str(&format!("[{written}]")),
        false => member.push_str(written),
    }
    Ok(Some(behind_last(text, &object, true, member)))
}

/// The path without its last step.
fn parent_of(path: &Path) -> Path {
    let steps = path.steps.iter().take(path.steps.len().saturating_sub(1));
    let steps = steps.map(|step| match step {
        Step::Member(name) => Step::Member(name.clone()),
        Step::Element(index) => Step::Element(*index),
    });
    Path {
        appends: false,
        strict: false,
        steps: steps.collect(),
    }
}
