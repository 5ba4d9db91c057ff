//! Rows of JSON: an array of objects, at the top or as a member of an object.

use serde_json::Value;

use super::columns::{self, Column};
use super::rows::{Row, row_of};
use super::{PastedError, error};

/// Every row of the document.
pub(super) fn rows(text: &str) -> Result<Vec<Row>, PastedError> {
    let document: Value = serde_json::from_str(text).map_err(|fault| PastedError {
        line: fault.line(),
        reason: format!("no JSON: {fault}"),
    })?;
    let Some(list) = list_of(&document) else {
        return error(
            0,
            "the JSON has no array 'vlfs'; expected is the output of vlflab inspect or plan, or rows",
        );
    };
    list.iter()
        .enumerate()
        .map(|(index, row)| row_of_value(row, index + 1))
        .collect()
}

/// The rows: `vlfs` of our own documents, the one array under the root that `FOR JSON ROOT` names, or the document itself.
fn list_of(document: &Value) -> Option<&[Value]> {
    let Value::Object(object) = document else {
        return document.as_array().map(Vec::as_slice);
    };
    if let Some(vlfs) = object.get("vlfs") {
        return vlfs.as_array().map(Vec::as_slice);
    }
    let mut members = object.values();
    match (members.next(), members.next()) {
        (Some(Value::Array(rows)), None) => Some(rows),
        // ConvertTo-Json makes one row no array.
        _ if object.keys().any(|name| columns::by_name(name) == Some(Column::Offset)) => {
            Some(std::slice::from_ref(document))
        }
        _ => None,
    }
}

fn row_of_value(value: &Value, line: usize) -> Result<Row, PastedError> {
    let Some(object) = value.as_object() else {
        return error(line, "a VLF is an object with 'offset' and 'size'");
    };
    let cells: Vec<(Column, String)> = object
        .iter()
        .filter(|(_, value)| !value.is_null())
        .filter_map(|(name, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            Some((columns::by_name(name)?, text))
        })
        .collect();
    row_of(cells.iter().map(|(column, text)| (*column, text.as_str())), line)
}
