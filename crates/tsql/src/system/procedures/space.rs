//! `sp_spaceused`: the space of a table, or of the current database.

use engine::error::{Error, Result};
use engine::types::{Length, SqlType, Value};

use super::super::{Host, SystemContext, Table};
use super::{NAME, SystemProcedure, text};
use crate::views::{storage_of, table_of};

pub(super) const PROCEDURES: &[SystemProcedure] = &[SystemProcedure {
    name: "sp_spaceused",
    parameters: &[
        ("@objname", NAME, false),
        ("@updateusage", SqlType::VarChar(Length::Limited(5)), false),
    ],
    run: space_used,
}];

/// Space in pages.
#[derive(Default)]
struct Space {
    rows: u64,
    reserved: u64,
    data: u64,
    index: u64,
}

impl Space {
    fn unused(&self) -> u64 {
        self.reserved.saturating_sub(self.data + self.index)
    }
}

const SIZE: SqlType = SqlType::VarChar(Length::Limited(18));

fn kilobytes(pages: u64) -> Value {
    format!("{} KB", pages * 8).into()
}

fn megabytes(pages: u64) -> Value {
    format!("{:.2} MB", pages as f64 / 128.0).into()
}

fn space_used(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    match text(arguments, 0) {
        Some(name) => of_table(context, host, name),
        None => of_database(context, host),
    }
}

/// 15009: no such object.
pub(super) fn no_object(context: &SystemContext<'_>, name: &str) -> Error {
    let text = format!(
        "The object '{name}' does not exist in database '{}' or is invalid for this operation.",
        context.database.name()
    );
    Error::new(15009, 16, 1, text)
}

fn of_table(context: &SystemContext<'_>, host: &mut dyn Host, written: &str) -> Result<i32> {
    let name = crate::ast::Name::parse(written).ok_or_else(|| no_object(context, written))?;
    if name
        .database()
        .is_some_and(|database| !database.eq_ignore_ascii_case(&context.database.name()))
    {
        return Err(Error::new(
            15250,
            16,
            1,
            "The database name component of the object qualifier must be the name of the current database.",
        ));
    }
    let object = context
        .database
        .catalog
        .find(name.schema().unwrap_or("dbo"), name.object(), context.session_id);
    let object = object.ok_or_else(|| no_object(context, written))?;
    let Some(table) = table_of(&object) else {
        return Err(no_object(context, written));
    };
    let space = space_of(context, table, true)?;
    let mut answer = Table::new(&[
        ("name", SqlType::SYSNAME),
        ("rows", SqlType::Char(20)),
        ("reserved", SIZE),
        ("data", SIZE),
        ("index_size", SIZE),
        ("unused", SIZE),
    ]);
    answer.push(vec![
        table.name.as_str().into(),
        format!("{:<20}", space.rows).into(),
        kilobytes(space.reserved),
        kilobytes(space.data),
        kilobytes(space.index),
        kilobytes(space.unused()),
    ]);
    answer.send(host).map(|()| 0)
}

/// The rows' own pages are data, everything else is index.
fn space_of(context: &SystemContext<'_>, table: &engine::catalog::TableDefinition, counts_rows: bool) -> Result<Space> {
    let mut space = Space::default();
    for (index, _, root) in table.partition_roots() {
        let is_of_rows = index.is_none_or(|index| index.index_id == 1);
        let storage = storage_of(context, table, index, root, counts_rows && is_of_rows)?;
        let (large, large_reserved) = storage.all_large_pages();
        space.reserved += storage.usage.reserved_pages + large_reserved;
        space.index += storage.usage.index_pages;
        // What lies outside of the rows is their data.
        space.data += large;
        if is_of_rows {
            space.rows += storage.rows;
            space.data += storage.usage.data_pages;
        } else {
            space.index += storage.usage.data_pages;
        }
    }
    Ok(space)
}

fn of_database(context: &SystemContext<'_>, host: &mut dyn Host) -> Result<i32> {
    let database = &context.database;
    let data_pages: u64 = database
        .storage
        .files
        .file_ids()
        .into_iter()
        .map(|file| u64::from(database.storage.files.page_count(file)))
        .sum();
    let log_pages: u64 = database.storage.log.files().iter().map(|file| file.bytes / 8192).sum();
    let mut total = Space::default();
    for object in database.catalog.objects(context.session_id) {
        let Some(table) = table_of(&object) else { continue };
        let space = space_of(context, table, false)?;
        total.reserved += space.reserved;
        total.data += space.data;
        total.index += space.index;
    }
    let mut size = Table::new(&[
        ("database_name", SqlType::SYSNAME),
        ("database_size", SIZE),
        ("unallocated space", SIZE),
    ]);
    size.push(vec![
        database.name().into(),
        megabytes(data_pages + log_pages),
        megabytes(data_pages.saturating_sub(total.reserved)),
    ]);
    size.send(host)?;
    let mut usage = Table::new(&[
        ("reserved", SIZE),
        ("data", SIZE),
        ("index_size", SIZE),
        ("unused", SIZE),
    ]);
    usage.push(vec![
        kilobytes(total.reserved),
        kilobytes(total.data),
        kilobytes(total.index),
        kilobytes(total.unused()),
    ]);
    usage.send(host).map(|()| 0)
}
