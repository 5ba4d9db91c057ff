//! What was found in a database of SQL Server, as text.

use super::advice::csv_cell;
use super::table::{Align, Table};
use crate::database::DatabaseInspection;
use crate::size::{format_bytes, group_digits};
use genuine::PAGE_BYTES;
use genuine::catalog::Catalog;
use genuine::container::{BackupSet, SetKind, TapeDate};
use genuine::survey::{FileSurvey, TableSurvey};
use serde::Serialize;
use std::fmt::Write as _;
use std::io;

/// Damage that a table for people lists.
const DAMAGE_ROWS_MAX: usize = 20;

fn facts(found: &DatabaseInspection) -> Vec<(&'static str, String)> {
    let mut facts = catalog_facts(found);
    facts.extend(page_facts(found));
    let damage = match found.damage().1 {
        0 => "none".to_owned(),
        1 => "1 place".to_owned(),
        count => format!("{} places", group_digits(count)),
    };
    facts.push(("damage", damage));
    facts
}

fn catalog_facts(found: &DatabaseInspection) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if let Ok(catalog) = &found.catalog {
        let boot = &catalog.boot;
        facts.push(("database", boot.name.clone()));
        let mut version = format!("SQL Server {} (version {})", boot.version.release(), boot.version.0);
        if boot.created_version != boot.version {
            let _ = write!(
                version,
                ", made by {} (version {})",
                boot.created_version.release(),
                boot.created_version.0
            );
        }
        facts.push(("version", version));
        let rows: u64 = found.tables.iter().map(|table| table.rows).sum();
        let agreement = match found.miscounted() {
            0 => "as many as the catalog says".to_owned(),
            count => format!("{count} tables have others than the catalog says"),
        };
        facts.push((
            "tables",
            format!(
                "{}, with {} rows, {agreement}",
                group_digits(catalog.tables.len() as u64),
                group_digits(rows)
            ),
        ));
        facts.push(("modules", group_digits(catalog.modules.len() as u64)));
    }
    facts
}

fn page_facts(found: &DatabaseInspection) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let pages = |count: fn(&FileSurvey) -> u64| found.pages.files.iter().map(count).sum::<u64>();
    facts.push((
        "pages",
        format!(
            "{} allocated: {} of rows, {} of indexes, {} of large values, {} of the system",
            group_digits(pages(|file| file.allocated)),
            group_digits(pages(|file| file.data)),
            group_digits(pages(|file| file.index)),
            group_digits(pages(|file| file.text)),
            group_digits(pages(|file| file.system))
        ),
    ));
    facts.push((
        "page checks",
        format!(
            "{} by checksum, {} by torn bits, {} have neither, {} damaged",
            group_digits(pages(|file| file.checksummed)),
            group_digits(pages(|file| file.torn_bits)),
            group_digits(pages(|file| file.unprotected)),
            group_digits(found.pages.faults.count)
        ),
    ));
    let in_free = pages(|file| file.in_free_extents);
    facts.push((
        "allocation",
        match in_free {
            0 => "GAM and PFS agree".to_owned(),
            count => format!(
                "{} pages are free by the GAM and allocated by the PFS",
                group_digits(count)
            ),
        },
    ));
    facts
}

fn file_table(found: &DatabaseInspection) -> Table {
    let mut table = Table::new(&[
        ("file", Align::Right),
        ("size", Align::Right),
        ("pages", Align::Right),
        ("allocated", Align::Right),
    ]);
    for file in &found.pages.files {
        table.row(vec![
            file.id.to_string(),
            format_bytes(u64::from(file.pages) * PAGE_BYTES as u64),
            group_digits(u64::from(file.pages)),
            group_digits(file.allocated),
        ]);
    }
    table
}

fn table_table(catalog: &Catalog, tables: &[TableSurvey]) -> Table {
    let mut table = Table::new(&[
        ("table", Align::Left),
        ("rows", Align::Right),
        ("in the catalog", Align::Right),
        ("size", Align::Right),
        ("", Align::Left),
    ]);
    for (each, found) in catalog.tables.iter().zip(tables) {
        let said = u64::try_from(each.catalog_rows()).unwrap_or(0);
        let note = match (each.unreadable, found.faults.count) {
            (Some(reason), _) => reason.to_owned(),
            (None, 0) if found.rows == said => String::new(),
            (None, 0) => "another number of rows".to_owned(),
            (None, count) => format!("{} faults", group_digits(count)),
        };
        table.row(vec![
            each.name.to_string(),
            group_digits(found.rows),
            group_digits(said),
            format_bytes(
                u64::try_from(each.used_pages())
                    .unwrap_or(0)
                    .saturating_mul(PAGE_BYTES as u64),
            ),
            note,
        ]);
    }
    table
}

fn kind_name(kind: SetKind) -> &'static str {
    match kind.backup_type() {
        1 => "database",
        2 => "log",
        5 => "differential",
        _ => "other",
    }
}

fn date_text(date: Option<TapeDate>) -> String {
    date.map_or_else(String::new, |date| date.to_string())
}

fn version_text(set: &BackupSet) -> String {
    let (major, minor, build) = set.configuration.server_version;
    format!("{major}.{minor}.{build}")
}

fn set_table(sets: &[BackupSet]) -> Table {
    let mut table = Table::new(&[
        ("set", Align::Right),
        ("kind", Align::Left),
        ("database", Align::Left),
        ("server", Align::Left),
        ("version", Align::Left),
        ("finished", Align::Left),
        ("first LSN", Align::Left),
        ("last LSN", Align::Left),
    ]);
    for (number, set) in (1..).zip(sets) {
        let configuration = &set.configuration;
        table.row(vec![
            format!("{number}"),
            kind_name(set.header.kind).to_owned(),
            configuration.database.clone(),
            configuration.server.clone(),
            version_text(set),
            date_text(configuration.finished),
            configuration.first_lsn.to_string(),
            configuration.last_lsn.to_string(),
        ]);
    }
    table
}

fn damage_table(found: &DatabaseInspection) -> (Table, u64) {
    let (faults, count) = found.damage();
    let mut table = Table::new(&[("place", Align::Left), ("what is wrong", Align::Left)]);
    for fault in faults.iter().take(DAMAGE_ROWS_MAX) {
        table.row(vec![fault.place.to_string(), fault.reason.clone()]);
    }
    (table, count.saturating_sub(DAMAGE_ROWS_MAX.min(faults.len()) as u64))
}

fn sections(found: &DatabaseInspection) -> Vec<(&'static str, Table, u64)> {
    let mut sections = Vec::new();
    if !found.sets.is_empty() {
        sections.push(("Backup sets", set_table(&found.sets), 0));
    }
    sections.push(("Files", file_table(found), 0));
    if let Ok(catalog) = &found.catalog {
        sections.push(("Tables", table_table(catalog, &found.tables), 0));
    }
    let (damage, left_out) = damage_table(found);
    if found.damage().1 > 0 {
        sections.push(("Damage", damage, left_out));
    }
    sections
}

/// For a terminal; `name` is the file's.
pub fn database_table(found: &DatabaseInspection, name: &str) -> String {
    let mut out = format!("{name}\n");
    for (label, value) in facts(found) {
        let _ = writeln!(out, "  {label:<16}  {value}");
    }
    for (title, table, left_out) in sections(found) {
        let _ = write!(out, "\n{title}\n{}", table.text());
        if left_out > 0 {
            let _ = writeln!(out, "  ({} rows left out)", group_digits(left_out));
        }
    }
    out
}

/// For a ticket or a wiki; `name` is the file's.
pub fn database_markdown(found: &DatabaseInspection, name: &str) -> String {
    let mut out = format!("# {name}\n\n");
    for (label, value) in facts(found) {
        let _ = writeln!(out, "- {label}: {value}");
    }
    for (title, table, left_out) in sections(found) {
        let _ = write!(out, "\n## {title}\n\n{}", table.markdown());
        if left_out > 0 {
            let _ = writeln!(out, "\n{} rows left out.", group_digits(left_out));
        }
    }
    out
}

/// Every table, one row each.
///
/// # Errors
/// `out` refuses a write.
pub fn database_csv(found: &DatabaseInspection, out: &mut dyn io::Write) -> io::Result<()> {
    writeln!(out, "schema,table,rows,catalog_rows,used_pages,faults")?;
    let Ok(catalog) = &found.catalog else { return Ok(()) };
    for (table, survey) in catalog.tables.iter().zip(&found.tables) {
        writeln!(
            out,
            "{},{},{},{},{},{}",
            csv_cell(&table.name.schema),
            csv_cell(&table.name.name),
            survey.rows,
            table.catalog_rows(),
            table.used_pages(),
            survey.faults.count
        )?;
    }
    Ok(())
}

#[derive(Serialize)]
struct Document<'a> {
    database: Option<&'a str>,
    version: Option<u16>,
    release: Option<&'static str>,
    created_version: Option<u16>,
    backup_sets: Vec<SetRow<'a>>,
    backup_set: Option<usize>,
    files: Vec<FileRow>,
    tables: Vec<TableRow<'a>>,
    modules: usize,
    miscounted_tables: usize,
    damage_count: u64,
    damage: Vec<DamageRow<'a>>,
}

#[derive(Serialize)]
struct SetRow<'a> {
    kind: &'static str,
    database: &'a str,
    server: &'a str,
    server_version: String,
    started: String,
    finished: String,
    first_lsn: String,
    last_lsn: String,
    checkpoint_lsn: String,
    database_backup_lsn: String,
    is_complete: bool,
}

#[derive(Serialize)]
struct FileRow {
    id: u16,
    pages: u32,
    allocated: u64,
    data: u64,
    index: u64,
    large_values: u64,
    system: u64,
    checksummed: u64,
    torn_bits: u64,
    unprotected: u64,
    in_free_extents: u64,
}

#[derive(Serialize)]
struct TableRow<'a> {
    schema: &'a str,
    name: &'a str,
    rows: u64,
    catalog_rows: i64,
    used_pages: i64,
    unreadable: Option<&'static str>,
    faults: u64,
}

#[derive(Serialize)]
struct DamageRow<'a> {
    place: String,
    what: &'a str,
}

fn set_row(set: &BackupSet) -> SetRow<'_> {
    let configuration = &set.configuration;
    SetRow {
        kind: kind_name(set.header.kind),
        database: &configuration.database,
        server: &configuration.server,
        server_version: version_text(set),
        started: date_text(configuration.started),
        finished: date_text(configuration.finished),
        first_lsn: configuration.first_lsn.to_string(),
        last_lsn: configuration.last_lsn.to_string(),
        checkpoint_lsn: configuration.checkpoint_lsn.to_string(),
        database_backup_lsn: configuration.database_backup_lsn.to_string(),
        is_complete: set.is_complete,
    }
}

fn file_row(file: &FileSurvey) -> FileRow {
    FileRow {
        id: file.id,
        pages: file.pages,
        allocated: file.allocated,
        data: file.data,
        index: file.index,
        large_values: file.text,
        system: file.system,
        checksummed: file.checksummed,
        torn_bits: file.torn_bits,
        unprotected: file.unprotected,
        in_free_extents: file.in_free_extents,
    }
}

/// One JSON object, ended by a line break.
///
/// # Errors
/// `out` refuses a write.
pub fn database_json(found: &DatabaseInspection, out: &mut dyn io::Write) -> io::Result<()> {
    let catalog = found.catalog.as_ref().ok();
    let tables = catalog
        .into_iter()
        .flat_map(|catalog| catalog.tables.iter().zip(&found.tables));
    let (damage, damage_count) = found.damage();
    let document = Document {
        database: catalog.map(|catalog| catalog.boot.name.as_str()),
        version: catalog.map(|catalog| catalog.boot.version.0),
        release: catalog.map(|catalog| catalog.boot.version.release()),
        created_version: catalog.map(|catalog| catalog.boot.created_version.0),
        backup_sets: found.sets.iter().map(set_row).collect(),
        backup_set: found.set,
        files: found.pages.files.iter().map(file_row).collect(),
        tables: tables
            .map(|(table, survey)| TableRow {
                schema: &table.name.schema,
                name: &table.name.name,
                rows: survey.rows,
                catalog_rows: table.catalog_rows(),
                used_pages: table.used_pages(),
                unreadable: table.unreadable,
                faults: survey.faults.count,
            })
            .collect(),
        modules: catalog.map_or(0, |catalog| catalog.modules.len()),
        miscounted_tables: found.miscounted(),
        damage_count,
        damage: damage
            .into_iter()
            .map(|fault| DamageRow {
                place: fault.place.to_string(),
                what: &fault.reason,
            })
            .collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}
