//! FOR JSON (sql-docs, "FOR JSON", "Format nested JSON output with PATH mode", "Format JSON output automatically with AUTO mode").

use engine::error::Result;

use super::{Columns, by_tables};
use crate::ast::ForJson;
use crate::messages;
use crate::plan::{JsonContent, JsonForm, JsonLevel, JsonMember, WrittenColumn};

/// # Errors
/// 13600 for AUTO without a table, 13601 for two members of one name, 13605 for a column without a name, 13620.
pub(super) fn form(clause: &ForJson, columns: &Columns<'_>) -> Result<JsonForm> {
    if clause.root.is_some() && clause.without_array_wrapper {
        return Err(messages::root_without_wrapper());
    }
    if columns.iter().any(|(column, ..)| column.name.is_empty()) {
        return Err(messages::json_unnamed());
    }
    let levels = match clause.is_auto {
        true => levels(columns)?,
        false => {
            let mut members = Vec::new();
            for (column, _, written) in columns {
                let path: Vec<&str> = column.name.split('.').collect();
                insert(&mut members, &path, &column.name, *written)?;
            }
            vec![JsonLevel {
                name: String::new(),
                members,
            }]
        }
    };
    Ok(JsonForm {
        root: clause.root.clone(),
        has_nulls: clause.include_null_values,
        is_array: !clause.without_array_wrapper,
        levels,
    })
}

fn levels(columns: &Columns<'_>) -> Result<Vec<JsonLevel>> {
    let mut levels = Vec::new();
    for (name, places) in by_tables(columns) {
        let mut members = Vec::new();
        for (column, _, written) in places.iter().filter_map(|place| columns.get(*place)) {
            insert(&mut members, &[&column.name], &column.name, *written)?;
        }
        levels.push(JsonLevel { name, members });
    }
    match levels.is_empty() {
        true => Err(messages::json_auto_without_table()),
        false => Ok(levels),
    }
}

/// Puts a column where its path says: into the object that was written last, or into a new one.
fn insert(members: &mut Vec<JsonMember>, path: &[&str], whole: &str, column: WrittenColumn) -> Result<()> {
    let Some((name, rest)) = path.split_first() else {
        return Ok(());
    };
    let conflict = || messages::json_name_conflict(whole);
    let is_last = members.last().is_some_and(|member| member.name == *name);
    if !is_last && members.iter().any(|member| member.name == *name) {
        return Err(conflict());
    }
    if is_last {
        return match members.last_mut().map(|member| &mut member.content) {
            Some(JsonContent::Object(inner)) if !rest.is_empty() => insert(inner, rest, whole, column),
            _ => Err(conflict()),
        };
    }
    let content = match rest {
        [] => JsonContent::Column(column),
        rest => {
            let mut inner = Vec::new();
            insert(&mut inner, rest, whole, column)?;
            JsonContent::Object(inner)
        }
    };
    members.push(JsonMember {
        name: (*name).to_owned(),
        content,
    });
    Ok(())
}
