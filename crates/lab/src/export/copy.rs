//! The rows of one table: read by one connection, sent by another or written to a file, a batch at a time.

use super::ExportError;
use super::catalog::{Column, Table};
use super::folder::{Counter, MakeFile, comparable, data_column, tidy};
use super::sums;
use super::words::quoted;
use crate::client::{BulkMessage, ClientError, Connection};
use std::path::Path;

/// Of a message: what the source's reader, this program and the destination hold at a time. A single row may be larger.
const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// Rows between two calls of `told`, for files.
const TOLD_ROWS: u64 = 1000;

fn with_data(table: &Table) -> Vec<&Column> {
    table.columns.iter().filter(|column| column.has_data()).collect()
}

/// The column in a form that a bulk load takes, and the type that is announced for it.
fn transported(column: &Column) -> (String, String) {
    let name = quoted(&column.name);
    let converted = |to: &str| (format!("CONVERT({to}, {name}) AS {name}"), format!("{name} {to}"));
    match column.base.as_str() {
        "text" => converted("varchar(max)"),
        "ntext" => converted("nvarchar(max)"),
        "image" | "hierarchyid" | "geometry" | "geography" => converted("varbinary(max)"),
        "xml" => (
            format!("CONVERT(nvarchar(max), {name}) AS {name}"),
            format!("{name} xml"),
        ),
        _ => {
            let collate = column.collation.as_ref();
            let collate = collate.map_or_else(String::new, |collation| format!(" COLLATE {collation}"));
            (name.clone(), format!("{name} {}{collate}", column.type_text))
        }
    }
}

/// All rows, in the order of the clustered index, so that they are appended.
fn query(table: &Table) -> String {
    let columns: Vec<String> = with_data(table)
        .into_iter()
        .map(|column| transported(column).0)
        .collect();
    let clustered = table
        .indexes
        .iter()
        .find(|index| index.is_clustered && !index.is_disabled);
    let order = clustered.map_or_else(String::new, |index| format!(" ORDER BY {}", index.keys.join(", ")));
    format!("SELECT {} FROM {}{order}", columns.join(", "), table.name)
}

/// Empties the table of the destination and loads it; how many rows.
pub(super) fn into_server(
    source: &mut Connection,
    destination: &mut Connection,
    table: &Table,
    goes_on: &mut dyn FnMut() -> bool,
    told: &mut dyn FnMut(u64),
) -> Result<u64, ExportError> {
    destination.rows(&format!("TRUNCATE TABLE {}", table.name))?;
    let announced: Vec<String> = with_data(table)
        .into_iter()
        .map(|column| transported(column).1)
        .collect();
    if announced.is_empty() {
        return Ok(0);
    }
    let announcement = format!(
        "INSERT BULK {} ({}) WITH (TABLOCK, KEEP_NULLS)",
        table.name,
        announced.join(", ")
    );
    let nullable = with_data(table).into_iter().map(|column| column.is_nullable);
    let mut message = BulkMessage::new(nullable.collect());
    let mut rows = 0;
    let mut send = |message: &mut BulkMessage| -> Result<(), ClientError> {
        let count = message.rows();
        destination.bulk_load(&announcement, &message.take())?;
        rows += count;
        told(count);
        Ok(())
    };
    source.wire_rows(&query(table), goes_on, &mut |row| {
        message.push(&row)?;
        match message.len() >= BATCH_BYTES {
            true => send(&mut message),
            false => Ok(()),
        }
    })?;
    if !message.is_empty() {
        send(&mut message)?;
    }
    Ok(rows)
}

/// Writes a table's file; how many rows, and what the source counts otherwise than was written.
pub(super) fn into_file(
    source: &mut Connection,
    path: &Path,
    make: &MakeFile,
    table: &Table,
    goes_on: &mut dyn FnMut() -> bool,
    told: &mut dyn FnMut(u64),
) -> Result<(u64, Vec<String>), ExportError> {
    let columns = with_data(table);
    let described: Vec<_> = columns.iter().map(|column| data_column(column)).collect();
    let mut file = make(path, &described).map_err(ExportError::File)?;
    let mut counter = Counter::new(&columns);
    let mut failure = None;
    let mut untold = 0;
    let read = source.wire_rows(&query(table), goes_on, &mut |row| {
        let mut values = row.values()?;
        counter.add(&values);
        tidy(&described, &mut values);
        if let Err(why) = file.row(&values) {
            failure = Some(why);
            // The rest of the rows has nowhere to go.
            return Err(ClientError::Interrupted);
        }
        untold += 1;
        if untold == TOLD_ROWS {
            told(std::mem::take(&mut untold));
        }
        Ok(())
    });
    if let Some(why) = failure {
        return Err(ExportError::File(why));
    }
    read?;
    told(untold);
    file.finish().map_err(ExportError::File)?;
    let written = counter.finish();
    let there = comparable(sums::sums(source, table, goes_on)?, &columns);
    Ok((written.rows, there.differences(&table.name, &written)))
}
