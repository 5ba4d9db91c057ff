//! What was found in a database of SQL Server, as text.

use super::advice::csv_cell;
use super::table::{Align, Table};
use crate::database::DatabaseInspection;
use crate::size::{format_bytes, group_digits};
use genuine::PAGE_BYTES;
use genuine::catalog::Catalog;
use genuine::catalog::objects::quoted;
use genuine::container::{BackupSet, SetKind, TapeDate};
use genuine::survey::{FileSurvey, TableSurvey};
use serde::Serialize;
use std::fmt::Write as _;
use std::io;

/// Damage that a table for people lists.
const DAMAGE_ROWS_MAX: usize = 20;

/// What there is to say first, and whether all is sound.
fn facts(found: &DatabaseInspection) -> Vec<(&'static str, String)> {
    let mut facts = found.backup_set().map_or_else(Vec::new, set_facts);
    facts.extend(catalog_facts(found));
    facts.extend(page_facts(found));
    let damage = match found.damage().1 {
        0 => "none".to_owned(),
        1 => "1 place".to_owned(),
        count => format!("{} places", group_digits(count)),
    };
    facts.push(("damage", damage));
    facts
}

/// What a backup set says of itself.
fn set_facts(set: &BackupSet) -> Vec<(&'static str, String)> {
    let configuration = &set.configuration;
    let mut facts = Vec::new();
    let mut kind = format!("{} backup of {}", set.header.kind, configuration.database);
    if set.header.copy_only {
        kind.push_str(", copy only");
    }
    if !set.header.name.is_empty() {
        let _ = write!(kind, ", named {}", set.header.name);
    }
    facts.push(("backup", kind));
    if !set.is_complete {
        facts.push(("end", "missing: the file was cut off".to_owned()));
    }
    let (started, finished) = (configuration.started, configuration.finished);
    facts.push((
        "made",
        match (started, finished) {
            (Some(started), Some(finished)) => format!("{started} to {finished}"),
            (started, finished) => date_text(finished.or(started)),
        },
    ));
    facts.push(("server", format!("{} ({})", configuration.server, version_text(set))));
    facts.push((
        "LSNs",
        format!("{} to {}", configuration.first_lsn, configuration.last_lsn),
    ));
    if set.header.kind == SetKind::Differential {
        let base = configuration.database_backup_lsn;
        facts.push(("based on", format!("the full backup whose checkpoint is {base}")));
    }
    facts
}

fn catalog_facts(found: &DatabaseInspection) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if found.is_differential {
        let text = "only what changed: tables are read of the full backup";
        facts.push(("tables", text.to_owned()));
    }
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
        let modules = group_digits(catalog.modules.len() as u64);
        facts.push(("modules", format!("{modules} (views, procedures, functions, triggers)")));
    }
    facts
}

/// Counts with their words, those that are not 0.
fn counted(counts: &[(u64, &str)]) -> String {
    let there = counts.iter().filter(|(count, _)| *count > 0);
    let texts: Vec<String> = there
        .map(|(count, what)| format!("{} {what}", group_digits(*count)))
        .collect();
    match texts.is_empty() {
        true => "none".to_owned(),
        false => texts.join(", "),
    }
}

fn page_facts(found: &DatabaseInspection) -> Vec<(&'static str, String)> {
    let pages = |count: fn(&FileSurvey) -> u64| found.pages.files.iter().map(count).sum::<u64>();
    let kinds = counted(&[
        (pages(|file| file.data), "of rows"),
        (pages(|file| file.index), "of indexes"),
        (pages(|file| file.text), "large values"),
        (pages(|file| file.system), "system"),
    ]);
    let checks = counted(&[
        (pages(|file| file.checksummed), "checksums right"),
        (pages(|file| file.torn_bits), "torn bits right"),
        (pages(|file| file.unprotected), "with neither"),
        (found.pages.faults.count, "DAMAGED"),
    ]);
    vec![
        (
            "pages in use",
            format!("{}: {kinds}", group_digits(pages(|file| file.allocated))),
        ),
        ("page checks", checks),
        (
            "allocation maps",
            match pages(|file| file.in_free_extents) {
                0 => "GAM and PFS agree".to_owned(),
                count => format!("{} pages free by the GAM, in use by the PFS", group_digits(count)),
            },
        ),
    ]
}

/// The files: of a backup with the names that RESTORE ... WITH MOVE takes, and its logs.
fn file_table(found: &DatabaseInspection) -> Table {
    let mut table = Table::new(&[
        ("file", Align::Right),
        ("name", Align::Left),
        ("size", Align::Right),
        ("pages", Align::Right),
        ("in use", Align::Right),
    ]);
    let named = found.backup_set().map_or(&[][..], |set| &set.configuration.files[..]);
    for file in &found.pages.files {
        let said = named.iter().find(|other| other.id == u32::from(file.id));
        table.row(vec![
            file.id.to_string(),
            said.map_or_else(String::new, |file| file.logical_name.clone()),
            format_bytes(u64::from(file.pages) * PAGE_BYTES as u64),
            group_digits(u64::from(file.pages)),
            group_digits(file.allocated),
        ]);
    }
    for log in named.iter().filter(|file| file.is_log()) {
        table.row(vec![
            log.id.to_string(),
            log.logical_name.clone(),
            format_bytes(log.file_bytes),
            "log".to_owned(),
            String::new(),
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

/// A file, as it was named and by its whole path.
pub struct NamedFile {
    pub named: String,
    pub whole: String,
}

/// A word of a command line. T-SQL has single quotes, so such a word stands in double ones where the shell leaves it as it is.
fn shell(text: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+:".contains(letter);
    let is_changed_in_quotes = text.contains(['"', '$', '`', '\\', '!']);
    match text.chars().all(is_plain) {
        true => text.to_owned(),
        false if text.contains('\'') && !is_changed_in_quotes => format!("\"{text}\""),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// What can be done next, for a terminal: command lines to copy.
pub fn database_next_steps(found: &DatabaseInspection, files: &[NamedFile]) -> String {
    let names: Vec<String> = files.iter().map(|file| shell(&file.named)).collect();
    let set = found.set.filter(|set| *set > 1);
    let inspect = match set {
        Some(set) => format!("vlflab inspect {} --set {set}", names.join(" ")),
        None => format!("vlflab inspect {}", names.join(" ")),
    };
    let mut steps = Vec::new();
    if let Ok(catalog) = &found.catalog {
        let largest = catalog.tables.iter().max_by_key(|table| table.catalog_rows());
        if let Some(table) = largest {
            steps.push(("columns of its tables", format!("{inspect} --tables")));
            let table = match table.name.schema.as_str() {
                "dbo" => shell(&table.name.name),
                _ => shell(&table.name.to_string()),
            };
            steps.push(("rows of one of them", format!("{inspect} --rows {table} --format csv")));
        }
        steps.push(("T-SQL that makes them", format!("{inspect} --schema")));
    }
    if let Some(statement) = copying(found, files) {
        let folder = files
            .first()
            .and_then(|file| std::path::Path::new(&file.whole).parent());
        let folder = folder.map_or_else(|| "/".to_owned(), |folder| folder.display().to_string());
        let command = format!("vlflab sql --allow-path {} -Q {}", shell(&folder), shell(&statement));
        steps.push(("a copy of it here, to query", command));
    }
    if found.is_differential {
        let text = "RESTORE DATABASE ... WITH NORECOVERY of the full backup, then of this one".to_owned();
        steps.push(("its database, from two files", text));
    }
    let texts: Vec<String> = steps
        .iter()
        .map(|(what, command)| format!("  {what}\n    {command}\n"))
        .collect();
    match texts.is_empty() {
        true => String::new(),
        false => format!("\nNext\n{}", texts.concat()),
    }
}

/// The statement that makes a database of ours of what was found.
fn copying(found: &DatabaseInspection, files: &[NamedFile]) -> Option<String> {
    let database = quoted(name_for_copy(&found.catalog.as_ref().ok()?.boot.name));
    let literals = files
        .iter()
        .map(|file| format!("N'{}'", file.whole.replace('\'', "''")));
    match found.backup_set().map(|set| set.header.kind) {
        Some(SetKind::Full) => {
            let disks: Vec<String> = literals.map(|file| format!("DISK = {file}")).collect();
            let set = found.set.filter(|set| *set > 1);
            let with = set.map_or_else(String::new, |set| format!(" WITH FILE = {set}"));
            Some(format!("RESTORE DATABASE {database} FROM {}{with}", disks.join(", ")))
        }
        None => {
            let files: Vec<String> = literals.map(|file| format!("(FILENAME = {file})")).collect();
            Some(format!("CREATE DATABASE {database} ON {} FOR ATTACH", files.join(", ")))
        }
        Some(_) => None,
    }
}

/// A database that was attached from a file without a name is called by the whole path of the file: its copy, by the file's own name.
fn name_for_copy(name: &str) -> &str {
    let file = name.rsplit(['\\', '/']).next().unwrap_or(name);
    let is_path = file.len() < name.len() && !file.is_empty();
    match (is_path, file.rsplit_once('.')) {
        (true, Some((stem, _))) if !stem.is_empty() => stem,
        (true, _) => file,
        (false, _) => name,
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
        ("finished", Align::Left),
        ("last LSN", Align::Left),
    ]);
    for (number, set) in (1..).zip(sets) {
        let configuration = &set.configuration;
        table.row(vec![
            format!("{number}"),
            kind_name(set.header.kind).to_owned(),
            configuration.database.clone(),
            date_text(configuration.finished),
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
    if found.sets.len() > 1 {
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

/// What a set without pages says of itself, beside the others of its file; `name` is the file's.
pub fn backup_sets_text(sets: &[BackupSet], set: &BackupSet, name: &str, is_markdown: bool) -> String {
    let mut out = if is_markdown {
        format!("# {name}\n\n")
    } else {
        format!("{name}\n")
    };
    for (label, value) in set_facts(set) {
        let _ = match is_markdown {
            true => writeln!(out, "- {label}: {value}"),
            false => writeln!(out, "  {label:<16}  {value}"),
        };
    }
    if sets.len() > 1 {
        let table = set_table(sets);
        let _ = match is_markdown {
            true => write!(out, "\n## Backup sets\n\n{}", table.markdown()),
            false => write!(out, "\nBackup sets\n{}", table.text()),
        };
    }
    out
}

/// What can be done next with a set without pages.
pub fn log_next_steps(set: &BackupSet, file: &str) -> String {
    let (file, database) = (shell(file), &set.configuration.database);
    format!(
        "\nNext\n  who did what in it\n    vlflab inspect {file} --transactions\n  rows that were deleted in it, with a full backup of {database} for the names\n    \
         vlflab inspect {file} --data FULL.bak --who-deleted TABLE\n"
    )
}

/// The backup sets as [`database_json`] has them.
///
/// # Errors
/// `out` refuses a write.
pub fn backup_sets_json(sets: &[BackupSet], out: &mut dyn io::Write) -> io::Result<()> {
    let rows: Vec<SetRow<'_>> = sets.iter().map(set_row).collect();
    serde_json::to_writer_pretty(out, &rows).map_err(io::Error::from)
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
    name: &'a str,
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
        name: &set.header.name,
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

#[cfg(test)]
mod tests {
    use super::name_for_copy;

    #[test]
    fn a_copy_is_not_called_by_a_path() {
        assert_eq!(name_for_copy("Sales"), "Sales");
        assert_eq!(name_for_copy("Sales.2024"), "Sales.2024");
        assert_eq!(name_for_copy(r"F:\APPS\APP_DATA\DATABASE1.MDF"), "DATABASE1");
        assert_eq!(name_for_copy("C:/data/"), "C:/data/");
    }
}
