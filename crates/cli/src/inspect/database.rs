//! `vlflab inspect` of data files and backups of SQL Server: the command line of [`advisor::database`].

use super::{FileSource, InspectOptions, backup_log, open};
use crate::exit::Failure;
use advisor::database::{DatabaseInspection, FileKind, inspect_database, inspect_differential, logs_of_backup};
use advisor::render::{NamedFile, database_csv, database_json, database_markdown, database_next_steps, database_table};
use advisor::{Format, Inspection};
use genuine::catalog::{Catalog, Table};
use genuine::container::{Backup, SetKind};
use genuine::scan::for_each_row;
use genuine::schema::{Dialect, after_modules, after_rows, before_rows};
use genuine::survey::Faults;
use genuine::types::Value;
use genuine::verdicts::Verdicts;
use genuine::{DataFiles, Fault, PageSource};
use serde_json::{Map, Value as Json};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Inspects the files of one database, or those of one backup.
pub(super) fn inspect(files: &[PathBuf], kind: FileKind, options: &InspectOptions) -> Result<(), Failure> {
    let sources = files.iter().map(|path| open(path)).collect::<Result<Vec<_>, _>>()?;
    let name = shown_name(files);
    let failed = |fault: Fault| Failure::Failed(format!("{name}: {fault}"));
    match kind {
        FileKind::Backup => {
            let backup = Backup::open(sources).map_err(failed)?;
            let set = options.set.unwrap_or(1);
            let chosen = set.checked_sub(1).filter(|at| *at < backup.sets().len());
            let Some(at) = chosen else {
                let count = backup.sets().len();
                return Err(Failure::Usage(format!(
                    "{name}: it has {count} backup sets, and no number {set}"
                )));
            };
            check_stripes(&backup, at, &name)?;
            let asks_for_rows = options.tables || options.schema || options.rows.is_some();
            if backup.sets()[at].page_bytes == 0 && !asks_for_rows {
                return backup_log::show_log_set(&backup, at, (&name, files), options.format);
            }
            let mut verdicts = Verdicts::default();
            let pages = backup
                .pages(at, &mut |id, bytes| verdicts.look(id, bytes))
                .map_err(failed)?;
            let logs = match asks_for_rows {
                true => Vec::new(),
                false => logs_of_backup(&backup, at).map_err(failed)?,
            };
            let mut container = Faults::default();
            backup.faults().iter().for_each(|fault| container.add(fault.clone()));
            let read: fn(&dyn PageSource, Verdicts) -> DatabaseInspection = match backup.sets()[at].header.kind {
                SetKind::Differential => inspect_differential,
                _ => inspect_database,
            };
            show(&pages, (&name, files), options, &logs, |source| {
                let mut found = read(source, verdicts);
                found.sets = backup.sets().to_vec();
                found.set = Some(set);
                found.container = container;
                found
            })
        }
        _ => {
            let data = DataFiles::open(sources).map_err(failed)?;
            show(&data, (&name, files), options, &[], |source| {
                inspect_database(source, Verdicts::default())
            })
        }
    }
}

/// A backup in several files is read with all of them.
fn check_stripes(backup: &Backup<FileSource>, at: usize, name: &str) -> Result<(), Failure> {
    let (families, missing) = backup.missing_families();
    if missing.is_empty() {
        return Ok(());
    }
    let set = &backup.sets()[at];
    let (kind, database) = (set.header.kind, &set.configuration.database);
    let missing = missing.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
    Err(Failure::Failed(format!(
        "{name}: a {kind} backup of {database} in {families} files (stripes), of which number {missing} is missing. Name all of them: vlflab inspect FILE FILE ..."
    )))
}

fn shown_name(files: &[PathBuf]) -> String {
    let names = files
        .iter()
        .map(|path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy());
    names.collect::<Vec<_>>().join(", ")
}

/// The files as they were named, and by their whole paths.
pub(super) fn named(files: &[PathBuf]) -> Vec<NamedFile> {
    let named = files.iter().map(|path| NamedFile {
        named: path.display().to_string(),
        whole: std::path::absolute(path)
            .unwrap_or_else(|_| path.clone())
            .display()
            .to_string(),
    });
    named.collect()
}

fn show(
    source: &dyn PageSource,
    (name, files): (&str, &[PathBuf]),
    options: &InspectOptions,
    logs: &[(u32, Inspection)],
    read: impl FnOnce(&dyn PageSource) -> DatabaseInspection,
) -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    if options.tables || options.schema || options.rows.is_some() {
        let catalog = Catalog::open(source).map_err(|fault| Failure::Failed(format!("{name}: {fault}")))?;
        let outcome = match &options.rows {
            Some(table) => write_rows(source, &catalog, table, options.format, &mut out),
            None if options.schema => write_schema(&catalog, &mut out),
            None => write_tables(&catalog, options.format, &mut out),
        };
        out.flush()?;
        return outcome;
    }
    let found = read(source);
    match options.format {
        Format::Table => out.write_all(database_table(&found, name).as_bytes())?,
        Format::Markdown => out.write_all(database_markdown(&found, name).as_bytes())?,
        Format::Csv => database_csv(&found, &mut out)?,
        Format::Json if logs.is_empty() => database_json(&found, &mut out)?,
        Format::Json => {
            let mut text = Vec::new();
            database_json(&found, &mut text)?;
            let mut whole: Json = serde_json::from_slice(&text).map_err(io::Error::from)?;
            whole["logs"] = backup_log::to_json(logs)?;
            serde_json::to_writer_pretty(&mut out, &whole).map_err(io::Error::from)?;
            writeln!(out)?;
        }
    }
    if matches!(options.format, Format::Table | Format::Markdown) {
        backup_log::write(logs, options.format, &mut out)?;
    }
    if options.format == Format::Table {
        out.write_all(database_next_steps(&found, &named(files)).as_bytes())?;
    }
    out.flush()?;
    let is_damaged = found.damage().1 > 0 || logs.iter().any(|(_, log)| log.damage_count > 0);
    match is_damaged {
        false => Ok(()),
        true => Err(Failure::Corruption),
    }
}

/// The tables as the catalog has them: at once, whatever the size.
fn write_tables(catalog: &Catalog, format: Format, out: &mut dyn Write) -> Result<(), Failure> {
    match format {
        Format::Json => {
            let tables: Vec<Json> = catalog.tables.iter().map(table_json).collect();
            serde_json::to_writer_pretty(&mut *out, &tables).map_err(io::Error::from)?;
            writeln!(out)?;
        }
        Format::Csv => {
            writeln!(out, "schema,table,rows,used_pages")?;
            for table in &catalog.tables {
                let (schema, name) = (csv_cell(&table.name.schema), csv_cell(&table.name.name));
                writeln!(out, "{schema},{name},{},{}", table.catalog_rows(), table.used_pages())?;
            }
        }
        _ => {
            for table in &catalog.tables {
                writeln!(out, "{}  {} rows", table.name, table.catalog_rows())?;
                for column in &table.columns {
                    let null = if column.is_nullable { "NULL" } else { "NOT NULL" };
                    writeln!(out, "    {}  {}  {null}", column.name, column.declared_type())?;
                }
            }
        }
    }
    Ok(())
}

fn table_json(table: &Table) -> Json {
    let columns = table.columns.iter().map(|column| {
        serde_json::json!({
            "name": column.name,
            "type": column.declared_type(),
            "is_nullable": column.is_nullable,
        })
    });
    serde_json::json!({
        "schema": table.name.schema,
        "name": table.name.name,
        "rows": table.catalog_rows(),
        "used_pages": table.used_pages(),
        "columns": columns.collect::<Vec<_>>(),
    })
}

fn write_schema(catalog: &Catalog, out: &mut dyn Write) -> Result<(), Failure> {
    let before = before_rows(catalog, Dialect::SqlServer);
    let after = after_rows(catalog, Dialect::SqlServer);
    let last: Vec<_> = after_modules(catalog).collect();
    for statement in before.iter().chain(&after).chain(&last) {
        writeln!(out, "-- {}", statement.makes.replace(['\r', '\n'], " "))?;
        out.write_all(statement.in_script().as_bytes())?;
    }
    Ok(())
}

/// All rows of one table. A row that cannot be read is said on the standard error, and the others follow.
fn write_rows(
    source: &dyn PageSource,
    catalog: &Catalog,
    wanted: &str,
    format: Format,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let table = catalog
        .table(wanted)
        .ok_or_else(|| Failure::Usage(format!("--rows {wanted}: the database has no such table")))?;
    if let Some(reason) = table.unreadable {
        return Err(Failure::Failed(format!("{}: {reason}", table.name)));
    }
    let mut writer = RowWriter::new(table, format)?;
    writer.begin(out)?;
    let mut failed = None;
    let mut is_damaged = false;
    for rowset in &table.rowsets {
        for_each_row(source, rowset, &mut |row| {
            let written = match row {
                Ok(values) => writer.row(&values, out),
                Err(fault) => {
                    is_damaged = true;
                    writeln!(io::stderr(), "{fault}")
                }
            };
            match written {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        });
    }
    failed.map_or(Ok(()), Err)?;
    writer.end(out)?;
    match is_damaged {
        true => Err(Failure::Corruption),
        false => Ok(()),
    }
}

/// Writes rows as CSV, or as a JSON array of objects.
struct RowWriter {
    names: Vec<String>,
    is_json: bool,
    count: u64,
}

impl RowWriter {
    fn new(table: &Table, format: Format) -> Result<RowWriter, Failure> {
        let is_json = match format {
            Format::Json => true,
            Format::Csv | Format::Table => false,
            Format::Markdown => return Err(Failure::Usage("--rows writes csv or json".to_owned())),
        };
        Ok(RowWriter {
            names: table.stored_columns().map(|column| column.name.clone()).collect(),
            is_json,
            count: 0,
        })
    }

    fn begin(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.is_json {
            true => write!(out, "["),
            false => {
                let cells: Vec<String> = self.names.iter().map(|name| csv_cell(name)).collect();
                writeln!(out, "{}", cells.join(","))
            }
        }
    }

    fn row(&mut self, values: &[Value], out: &mut dyn Write) -> io::Result<()> {
        self.count += 1;
        if !self.is_json {
            let cells: Vec<String> = values.iter().map(csv_value).collect();
            return writeln!(out, "{}", cells.join(","));
        }
        let separator = if self.count == 1 { "\n" } else { ",\n" };
        let members = self.names.iter().cloned().zip(values.iter().map(json_value));
        let object = Json::Object(members.collect::<Map<String, Json>>());
        write!(out, "{separator}{object}")
    }

    fn end(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.is_json {
            true => writeln!(out, "\n]"),
            false => Ok(()),
        }
    }
}

/// NULL is nothing between the commas, and an empty string is a pair of quotes.
pub(super) fn csv_value(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Text(text) if text.is_empty() => "\"\"".to_owned(),
        other => csv_cell(&other.to_string()),
    }
}

pub(super) fn csv_cell(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

/// Numbers as numbers where JSON has them whole; decimals and money as text, which keeps every digit.
pub(super) fn json_value(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bit(bit) => Json::Bool(*bit),
        Value::Integer(number) => Json::from(*number),
        Value::Real(number) => Json::from(*number),
        Value::Float(number) => Json::from(*number),
        Value::Variant(_, value) => json_value(value),
        other => Json::String(other.to_string()),
    }
}
