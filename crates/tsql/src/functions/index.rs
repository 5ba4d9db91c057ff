//! Functions about indexes: INDEX_COL, INDEXKEY_PROPERTY, INDEXPROPERTY (sql-docs, each by its page). NULL for whatever is not there.

use engine::catalog::{IndexDefinition, ObjectDefinition, TableDefinition};
use engine::error::Result;
use engine::session::all_statistics;
use engine::types::Value;

use super::Parameter::{Int, Name};
use super::{Call, INT, NAME, Signature, signature};

pub(super) const FUNCTIONS: &[Signature] = &[
    signature("index_col", 3, &[Name, Int, Int], NAME, index_col)
        .told("table, index_id, key: name of a column of an index's key, from 1"),
    signature("indexkey_property", 4, &[Int, Int, Int, Name], INT, indexkey_property)
        .told("object_id, index_id, key, property: ColumnId or IsDescending of a column of an index's key"),
    signature("indexproperty", 3, &[Int, Name, Name], INT, indexproperty)
        .told("object_id, index or statistics, property: a property of an index or of statistics"),
];

fn index_of(table: &TableDefinition, id: Option<i64>) -> Option<&IndexDefinition> {
    let mut indexes = table.every_index();
    indexes.find(|index| Some(i64::from(index.index_id)) == id)
}

fn key_of(index: &IndexDefinition, key: Option<i64>) -> Option<(usize, bool)> {
    let place = usize::try_from(key?.checked_sub(1)?).ok()?;
    index.keys.get(place).copied()
}

fn index_col(call: &Call<'_>) -> Result<Value> {
    let found = call
        .text(0)
        .and_then(|name| call.context.session.find_object_by_text(name));
    let name = found.and_then(|(_, object)| {
        let ObjectDefinition::Table(table) = &object.definition else {
            return None;
        };
        let (column, _) = key_of(index_of(table, call.integer(1))?, call.integer(2))?;
        Some(Value::from(table.columns.get(column)?.name.as_str()))
    });
    Ok(name.unwrap_or(Value::Null))
}

/// Answers a property of the table that the first argument names by its id.
fn of_table(
    call: &Call<'_>,
    answer: impl FnOnce(&engine::database::Database, &TableDefinition) -> Option<i32>,
) -> Value {
    let database = call.context.session.database();
    let id = call.integer(0).and_then(|id| u32::try_from(id).ok());
    let object = id.and_then(|id| database.catalog.by_id(id, call.context.session.id));
    let property = object.and_then(|object| match &object.definition {
        ObjectDefinition::Table(table) => answer(&database, table),
        _ => None,
    });
    property.map_or(Value::Null, Value::Int)
}

fn indexkey_property(call: &Call<'_>) -> Result<Value> {
    Ok(of_table(call, |_, table| {
        let (column, descending) = key_of(index_of(table, call.integer(1))?, call.integer(2))?;
        match call.text(3)?.to_ascii_lowercase().as_str() {
            "columnid" => i32::try_from(column + 1).ok(),
            "isdescending" => Some(i32::from(descending)),
            _ => None,
        }
    }))
}

fn indexproperty(call: &Call<'_>) -> Result<Value> {
    Ok(of_table(call, |database, table| {
        let name = call.text(1)?;
        let property = call.text(2)?.to_ascii_lowercase();
        let index = table.every_index().find(|index| index.name.eq_ignore_ascii_case(name));
        match index {
            Some(index) => index_property(index, &property),
            None => {
                let all = all_statistics(database, table, call.context.session.id);
                let own = all.iter().find(|own| own.name.eq_ignore_ascii_case(name))?;
                statistics_property(own.stats_id, own.auto_created, &property)
            }
        }
    }))
}

fn index_property(index: &IndexDefinition, property: &str) -> Option<i32> {
    let is = |answer: bool| Some(i32::from(answer));
    match property {
        "indexid" => i32::try_from(index.index_id).ok(),
        "indexfillfactor" => Some(i32::from(index.options.fill_factor_percent)),
        "isclustered" => is(index.index_id == 1),
        "isdisabled" => is(index.is_disabled),
        "isoptimizedforsequentialkey" => is(index.options.is_optimized_for_sequential_key),
        "ispadindex" => is(index.options.is_padded),
        "ispagelockdisallowed" => is(!index.options.allows_page_locks),
        "isrowlockdisallowed" => is(!index.options.allows_row_locks),
        "isunique" => is(index.unique),
        "isautostatistics" | "iscolumnstore" | "isfulltextkey" | "ishypothetical" | "isstatistics" => Some(0),
        _ => None,
    }
}

fn statistics_property(id: u32, is_automatic: bool, property: &str) -> Option<i32> {
    match property {
        "indexid" => i32::try_from(id).ok(),
        "isautostatistics" => Some(i32::from(is_automatic)),
        "isstatistics" => Some(1),
        "isclustered" | "iscolumnstore" | "isdisabled" | "isfulltextkey" | "ishypothetical" | "isunique" => Some(0),
        _ => None,
    }
}
