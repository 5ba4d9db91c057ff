//! TEXTVALID (sql-docs, "Text and Image Functions - TEXTVALID"). TEXTPTR, which needs the row that its column is of, is bound by
//! `bind/text.rs`.

use engine::catalog::ObjectDefinition;
use engine::error::Result;
use engine::session::Table;
use engine::store::ReadMode;
use engine::types::Value;

use super::Parameter::{Any, Text};
use super::{Call, INT, Signature, signature};
use crate::ast::Name;
use crate::plan::find_pointed;
use crate::scalar::text_pointer::{TextColumn, pointed_row};

pub(super) const FUNCTIONS: &[Signature] = &[signature("textvalid", 2, &[Text, Any], INT, textvalid)
    .told("column, pointer: 1 if a text pointer points to a row of a column, which is named with its table")];

/// 1 for a pointer to a row that is there, be its change committed or not; 0 for anything else, and for a name of no column of type text,
/// ntext or image.
fn textvalid(call: &Call<'_>) -> Result<Value> {
    let (Some(name), Value::Binary(pointer)) = (call.text(0), call.value(1)) else {
        return Ok(Value::Int(0));
    };
    is_valid(call, name, pointer).map(|is_valid| Value::Int(i32::from(is_valid)))
}

fn is_valid(call: &Call<'_>, name: &str, pointer: &[u8]) -> Result<bool> {
    let Some(mut table) = Name::parse(name) else {
        return Ok(false);
    };
    let Some(column) = table.parts.pop().filter(|_| !table.parts.is_empty()) else {
        return Ok(false);
    };
    let session = call.context.session;
    let Some((database, object)) = session.find_source(&table)? else {
        return Ok(false);
    };
    let ObjectDefinition::Table(definition) = &object.definition else {
        return Ok(false);
    };
    let wanted = column.text.to_lowercase();
    let mut columns = definition.columns.iter();
    let place = columns.position(|own| own.name.to_lowercase() == wanted && own.sql_type.is_large_object());
    let named = place.and_then(|place| pointed_row(TextColumn::new(definition.object_id, place), pointer));
    let Some(named) = named else { return Ok(false) };
    session.hold(&database, &object, Default::default())?;
    let table = Table::open(&database, &object)?;
    let found = find_pointed(&table, &named, &session.locks, ReadMode::Uncommitted, &mut Vec::new())?;
    Ok(found.is_some())
}
