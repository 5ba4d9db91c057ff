//! `sp_depends` (sql-docs, page of that name; messages and columns as the procedure's text has them, which `sp_helptext` shows): what an object
//! uses, with its columns, and what uses it.

use engine::error::{Error, Result};
use engine::types::{Length, SqlType, Value};

use super::super::{Host, SystemContext, Table};
use super::help::{find, kind};
use super::space::no_object;
use super::{NAME, SystemProcedure, text};
use crate::ast::Name;
use crate::views::{ObjectRow, object_rows, referencing_ids, used_by};

pub(super) const PROCEDURES: &[SystemProcedure] = &[SystemProcedure {
    name: "sp_depends",
    parameters: &[("@objname", NAME, true)],
    run: depends,
}];

const OBJECT_NAME: SqlType = SqlType::NVarChar(Length::Limited(257));
const OBJECT_TYPE: SqlType = SqlType::NVarChar(Length::Limited(16));
/// Characters of a type that are shown.
const TYPE_CHARACTERS_MAX: usize = 16;

fn depends(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let written = text(arguments, 0).unwrap_or_default();
    let name = Name::parse(written).ok_or_else(|| no_object(context, written))?;
    let database = name.database().filter(|database| !database.is_empty());
    if database.is_some_and(|database| !database.eq_ignore_ascii_case(&context.database.name())) {
        let text = "The database name component of the object qualifier must be the name of the current database.";
        return Err(Error::new(15_250, 16, 1, text));
    }
    let object = find(context, written)?;
    let rows = object_rows(context);
    let row_of = |id: u32| rows.iter().find(|row| row.object_id == id as i32);
    let used = used_by(context, &object);
    let using = referencing_ids(context, object.definition.object_id());
    if used.is_empty() && using.is_empty() {
        let text = "Object does not reference any object, and no objects reference it.";
        return host.message(&said(15461, text)).map(|()| 0);
    }
    if !used.is_empty() {
        host.message(&said(
            15459,
            "In the current database, the specified object references the following:",
        ))?;
        let word = |is_so: bool| Value::from(if is_so { "yes" } else { "no" });
        let mut answer = Table::new(&[
            ("name", OBJECT_NAME),
            ("type", OBJECT_TYPE),
            ("updated", SqlType::NVarChar(Length::Limited(7))),
            ("selected", SqlType::NVarChar(Length::Limited(8))),
            ("column", SqlType::SYSNAME),
        ]);
        for own in used {
            let Some(row) = row_of(own.object_id) else { continue };
            let (name, kind) = shown(row);
            let (updated, selected) = (word(own.usage.is_updated), word(own.usage.is_selected));
            answer.push(vec![name, kind, updated, selected, own.column.into()]);
        }
        answer.send(host)?;
    }
    if !using.is_empty() {
        host.message(&said(
            15460,
            "In the current database, the specified object is referenced by the following:",
        ))?;
        let mut answer = Table::new(&[("name", OBJECT_NAME), ("type", OBJECT_TYPE)]);
        for row in using.iter().filter_map(|id| row_of(*id)) {
            let (name, kind) = shown(row);
            answer.push(vec![name, kind]);
        }
        answer.send(host)?;
    }
    Ok(0)
}

fn said(number: i32, text: &str) -> Error {
    Error::new(number, 10, 1, text.to_owned())
}

/// The name with its schema, and the type.
fn shown(row: &ObjectRow) -> (Value, Value) {
    let kind: String = kind(row).chars().take(TYPE_CHARACTERS_MAX).collect();
    (format!("{}.{}", row.schema, row.name).into(), kind.into())
}
