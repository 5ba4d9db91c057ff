//! `vlflab inspect` for the changes in a log: transactions, records, who deleted rows, the history of a row, a script that undoes a
//! transaction. The command line of [`genuine::log`].
//!
//! Logs are one or several log files of one SQL Server database, or the log in its backups. Names come from the data files or the backup
//! given by `--data`, or from the backup itself; without them, numbers are shown.

use super::database::{csv_cell, csv_value, json_value};
use super::sheet::{Field, Sheet};
use super::{FileSource, open};
use crate::exit::Failure;
use advisor::Format;
use advisor::database::{FileKind, kind_of};
use clap::Args;
use genuine::catalog::Table;
use genuine::catalog::objects::IndexRole;
use genuine::catalog::stored::RowSet;
use genuine::container::{Backup, LogImage};
use genuine::log::names::{is_of_statement, sid_text};
use genuine::log::record::PageChange;
use genuine::log::rows::RowChangeKind;
use genuine::log::undo::undo_script;
use genuine::log::{
    Cell, LogExtent, LogReader, LogRecord, Names, Outcome, RowChange, RowChanges, RowImage, Transaction, Transactions,
    Unlogged,
};
use genuine::types::Value;
use genuine::{DataFiles, Fault, PageSource};
use std::io::{self, Write};
use std::path::PathBuf;
use vlf::ReadAt;
use vlf::record::{RecordTime, SqlRecord, SqlTransactionId};

/// Options of `vlflab inspect` about the changes in a log.
#[derive(Debug, Args)]
pub struct ChangesOptions {
    /// Of logs of SQL Server, or of those in backups: the transactions, with times, names and SIDs.
    #[arg(long, conflicts_with_all = ["server", "records", "who_deleted", "history", "undo_script"])]
    pub transactions: bool,
    /// Of such logs, every record.
    #[arg(long, conflicts_with_all = ["server", "who_deleted", "history", "undo_script"])]
    pub records: bool,
    /// Of such logs, the rows deleted from this table: values, transaction, time, user. Needs --data, or a full backup.
    #[arg(long, value_name = "TABLE", conflicts_with_all = ["server", "history", "undo_script"])]
    pub who_deleted: Option<String>,
    /// Of such logs, every change of the row with this key (parts of a key with commas between them).
    #[arg(long, num_args = 2, value_names = ["TABLE", "KEY"], conflicts_with_all = ["server", "undo_script"])]
    pub history: Option<Vec<String>>,
    /// Of such logs, the T-SQL that undoes this transaction, by its id.
    #[arg(long, value_name = "TRANSACTION", conflicts_with = "server")]
    pub undo_script: Option<String>,
    /// The data files, or a full backup, of the logs' database: for names, and for rows of which the log has only parts.
    #[arg(long, value_name = "FILE", conflicts_with = "server")]
    pub data: Vec<PathBuf>,
}

impl ChangesOptions {
    /// One of them is given.
    pub(super) fn is_asked(&self) -> bool {
        self.transactions
            || self.records
            || self.who_deleted.is_some()
            || self.history.is_some()
            || self.undo_script.is_some()
    }
}

/// Answers what `options` ask of the logs in `files`.
pub(super) fn inspect(files: &[PathBuf], options: &ChangesOptions, format: Format) -> Result<(), Failure> {
    if format == Format::Markdown {
        return Err(Failure::Usage(
            "what a log has of changes is shown as table, csv or json".to_owned(),
        ));
    }
    let mut logs = Vec::new();
    let mut backups = Vec::new();
    let mut stripes = Vec::new();
    for path in files {
        let source = open(path)?;
        match kind_of(&source) {
            FileKind::Data => {
                return Err(Failure::Usage(format!(
                    "{}: a data file; name it with --data, and the log as FILE",
                    path.display()
                )));
            }
            FileKind::Log => logs.push(source),
            FileKind::Backup => {
                let backup = Backup::open(vec![source]).map_err(failed)?;
                match backup.missing_families().1.is_empty() {
                    true => backups.push(backup),
                    false => stripes.push(open(path)?),
                }
            }
        }
    }
    if !stripes.is_empty() {
        backups.push(Backup::open(stripes).map_err(failed)?);
    }
    let images = images_of(&backups)?;
    let sources: Vec<&dyn ReadAt> = logs
        .iter()
        .map(|log| log as &dyn ReadAt)
        .chain(images.iter().map(|image| image as &dyn ReadAt))
        .collect();
    let reader = LogReader::new(sources);
    with_pages(&backups, options, &mut |pages| answer(&reader, pages, options, format))
}

fn failed(fault: Fault) -> Failure {
    Failure::Failed(fault.to_string())
}

/// The logs of all sets.
fn images_of(backups: &[Backup<FileSource>]) -> Result<Vec<LogImage<'_, FileSource>>, Failure> {
    let mut images = Vec::new();
    for backup in backups {
        for set in 0..backup.sets().len() {
            images.extend(backup.logs(set).map_err(failed)?);
        }
    }
    Ok(images)
}

type Answer<'a> = dyn FnMut(Option<&dyn PageSource>) -> Result<(), Failure> + 'a;

/// Calls `answer` with the pages of the database: those of `--data`, or of the newest set with pages.
fn with_pages(
    backups: &[Backup<FileSource>],
    options: &ChangesOptions,
    answer: &mut Answer<'_>,
) -> Result<(), Failure> {
    let Some(first) = options.data.first() else {
        let with_pages = backups.iter().rev().find_map(|backup| {
            let set = backup.sets().iter().rposition(|set| set.page_bytes > 0)?;
            Some((backup, set))
        });
        return match with_pages {
            Some((backup, set)) => answer(Some(&backup.pages(set, &mut |_, _| {}).map_err(failed)?)),
            None => answer(None),
        };
    };
    let sources = options
        .data
        .iter()
        .map(|path| open(path))
        .collect::<Result<Vec<_>, _>>()?;
    if kind_of(&open(first)?) != FileKind::Backup {
        return answer(Some(&DataFiles::open(sources).map_err(failed)?));
    }
    let backup = Backup::open(sources).map_err(failed)?;
    let set = backup.sets().iter().rposition(|set| set.page_bytes > 0);
    let set = set.ok_or_else(|| Failure::Usage(format!("{}: it has no pages, only log", first.display())))?;
    answer(Some(&backup.pages(set, &mut |_, _| {}).map_err(failed)?))
}

fn answer(
    reader: &LogReader<'_>,
    pages: Option<&dyn PageSource>,
    options: &ChangesOptions,
    format: Format,
) -> Result<(), Failure> {
    let names = pages.map(Names::open).transpose().map_err(failed)?;
    if options.records {
        return show_records(reader, names.as_ref(), format);
    }
    if options.transactions {
        return show_transactions(reader, names.as_ref(), format);
    }
    let Some(names) = names else {
        return Err(Failure::Usage(
            "rows have names and values only with the database's own catalog: name its data files, or a full backup, with --data".to_owned(),
        ));
    };
    let story = Story { reader, pages, names };
    match (&options.who_deleted, &options.history, &options.undo_script) {
        (Some(table), _, _) => story.who_deleted(table, format),
        (_, Some(asked), _) => story.history(&asked[0], &asked[1], format),
        (_, _, Some(id)) => story.undo(id),
        (None, None, None) => Ok(()),
    }
}

fn time_text(time: Option<RecordTime>) -> String {
    time.map_or_else(String::new, |time| {
        let days_since_1900 = i32::try_from(time.days).unwrap_or(i32::MAX / 2);
        let ticks = time.ticks.min(86_400 * 300 - 1);
        Value::DateTime { days_since_1900, ticks }.to_string()
    })
}

fn user_text(names: Option<&Names>, sid: &[u8]) -> String {
    names.and_then(|names| names.user(sid)).unwrap_or_default().to_owned()
}

fn show_transactions(reader: &LogReader<'_>, names: Option<&Names>, format: Format) -> Result<(), Failure> {
    let mut transactions = Transactions::default();
    let mut unlogged = Unlogged::default();
    let extent = reader.each(&mut |record| {
        transactions.add(record);
        unlogged.add(record);
    });
    let extent = extent.map_err(failed)?;
    transactions.check_all_kept().map_err(failed)?;
    let mut sheet = Sheet::new(&[
        "transaction",
        "name",
        "began",
        "ended",
        "outcome",
        "records",
        "row_records",
        "user",
        "sid",
        "first_lsn",
        "last_lsn",
    ]);
    let mut all: Vec<&Transaction> = transactions.all().collect();
    all.sort_by_key(|transaction| (transaction.begin, transaction.last));
    for transaction in all {
        sheet.row(vec![
            Field::text(transaction.id),
            Field::text(&transaction.name),
            Field::text(time_text(transaction.began)),
            Field::text(time_text(transaction.ended)),
            Field::text(transaction.outcome.name()),
            Field::number(transaction.records),
            Field::number(transaction.row_records),
            Field::text(user_text(names, &transaction.sid)),
            Field::text(sid_text(&transaction.sid)),
            Field::text(transaction.begin.map_or_else(String::new, |lsn| lsn.to_string())),
            Field::text(transaction.last),
        ]);
    }
    sheet.write(format)?;
    write_notes(&notes(&extent, &transactions, &unlogged), format)
}

/// Every record as it is read: a log can have more of them than fit into memory.
fn show_records(reader: &LogReader<'_>, names: Option<&Names>, format: Format) -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    if format == Format::Csv {
        writeln!(out, "lsn,operation,context,transaction,page,slot,table,bytes")?;
    } else if format == Format::Json {
        write!(out, "[")?;
    }
    let mut count = 0u64;
    let mut outcome = Ok(());
    let (mut transactions, mut unlogged) = (Transactions::default(), Unlogged::default());
    let extent = reader
        .each(&mut |record| {
            transactions.add(record);
            unlogged.add(record);
            if outcome.is_ok() {
                outcome = write_record(record, names, format, count, &mut out);
                count += 1;
            }
        })
        .map_err(failed)?;
    outcome?;
    if format == Format::Json {
        writeln!(out, "\n]")?;
    }
    out.flush()?;
    drop(out);
    transactions.check_all_kept().map_err(failed)?;
    write_notes(&notes(&extent, &transactions, &unlogged), format)
}

fn write_record(
    record: LogRecord<'_>,
    names: Option<&Names>,
    format: Format,
    count: u64,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(header) = SqlRecord::decode(record.format, record.bytes) else {
        return Ok(());
    };
    let (lsn, operation, context) = (record.lsn, header.operation, header.context);
    let (transaction, bytes) = (header.transaction, record.bytes.len());
    let page = header
        .page
        .map_or_else(String::new, |page| format!("({}:{})", page.file, page.page));
    let slot = header.page.map_or_else(String::new, |page| page.slot.to_string());
    let change = PageChange::read(record);
    let table = change
        .and_then(|change| {
            names?
                .table(change.unit, change.rowset)
                .map(|(table, _)| table.name.to_string())
        })
        .unwrap_or_default();
    match format {
        Format::Csv => writeln!(
            out,
            "{lsn},{operation},{context},{transaction},{},{slot},{},{bytes}",
            csv_cell(&page),
            csv_cell(&table)
        ),
        Format::Json => {
            let separator = if count == 0 { "\n" } else { ",\n" };
            let object = serde_json::json!({
                "lsn": lsn.to_string(), "operation": operation.to_string(), "context": context.to_string(),
                "transaction": transaction.to_string(), "page": page, "slot": slot, "table": table, "bytes": bytes,
            });
            write!(out, "{separator}{object}")
        }
        Format::Table | Format::Markdown => writeln!(
            out,
            "{lsn}  {operation:<22} {context:<22} {transaction}  {page:<10} {slot:<5} {bytes:>5}  {table}"
        ),
    }
}

/// Rows of tables with a name.
struct Story<'a> {
    reader: &'a LogReader<'a>,
    pages: Option<&'a dyn PageSource>,
    names: Names,
}

/// What every change is shown with.
const CHANGE_COLUMNS: [&str; 8] = [
    "action",
    "ended",
    "user",
    "sid",
    "transaction",
    "name",
    "outcome",
    "lsn",
];

impl Story<'_> {
    fn table(&self, written: &str) -> Result<&Table, Failure> {
        let found = self.names.catalog().table(written);
        found.ok_or_else(|| Failure::Usage(format!("the database has no table {written}")))
    }

    fn changes_of(&self, table: &Table) -> Result<RowChanges, Failure> {
        RowChanges::read(self.reader, self.pages, &|change| self.names.is_of(change, table.id)).map_err(failed)
    }

    /// The changes of `table` that statements made, with their transactions.
    fn of_statements<'c>(
        &'c self,
        found: &'c RowChanges,
    ) -> impl Iterator<Item = (&'c RowChange, &'c RowSet, &'c Transaction)> {
        found.changes.iter().filter_map(|change| {
            let (_, rowset) = self.names.table(change.unit, change.rowset)?;
            let transaction = found.transactions.get(change.transaction)?;
            is_of_statement(change, rowset, &transaction.name).then_some((change, rowset, transaction))
        })
    }

    fn who_deleted(&self, written: &str, format: Format) -> Result<(), Failure> {
        let table = self.table(written)?;
        let found = self.changes_of(table)?;
        let mut sheet = Sheet::new(&CHANGE_COLUMNS);
        let stored: Vec<&str> = table.stored_columns().map(|column| column.name.as_str()).collect();
        sheet.add_row_columns(&stored);
        for (change, rowset, transaction) in self.of_statements(&found) {
            if change.kind == RowChangeKind::Delete && transaction.outcome != Outcome::RolledBack {
                let mut fields = self.fields(change, transaction);
                fields.extend(self.cells(rowset, &change.before));
                sheet.row(fields);
            }
        }
        sheet.write(format)?;
        write_notes(&self.notes(&found), format)
    }

    fn history(&self, written: &str, key: &str, format: Format) -> Result<(), Failure> {
        let table = self.table(written)?;
        let found = self.changes_of(table)?;
        let parts: Vec<&str> = key.split(',').map(str::trim).collect();
        let mut sheet = Sheet::new(&CHANGE_COLUMNS);
        sheet.add_columns(&["image"]);
        let stored: Vec<&str> = table.stored_columns().map(|column| column.name.as_str()).collect();
        sheet.add_row_columns(&stored);
        for (change, rowset, transaction) in self.of_statements(&found) {
            let images = [("before", &change.before), ("after", &change.after)];
            let is_asked = images
                .iter()
                .any(|(_, image)| self.has_key(table, rowset, image, &parts));
            for (name, image) in images
                .into_iter()
                .filter(|(_, image)| is_asked && **image != RowImage::Absent)
            {
                let mut fields = self.fields(change, transaction);
                fields.push(Field::text(name));
                fields.extend(self.cells(rowset, image));
                sheet.row(fields);
            }
        }
        sheet.write(format)?;
        write_notes(&self.notes(&found), format)
    }

    fn undo(&self, id: &str) -> Result<(), Failure> {
        let id = transaction_id(id).ok_or_else(|| {
            Failure::Usage(format!(
                "{id}: a transaction's id is written as --transactions shows it, 0000:00001b07"
            ))
        })?;
        let found = RowChanges::read(self.reader, self.pages, &|change| {
            change.transaction == id || self.names.table(change.unit, change.rowset).is_some()
        })
        .map_err(failed)?;
        let script = undo_script(&found, &self.names, id).map_err(failed)?;
        let mut out = io::stdout().lock();
        out.write_all(script.text.as_bytes())?;
        writeln!(
            io::stderr(),
            "{} changes undone, {} not; read the script before you run it",
            script.undone,
            script.missing
        )?;
        Ok(())
    }

    fn fields(&self, change: &RowChange, transaction: &Transaction) -> Vec<Field> {
        vec![
            Field::text(change.kind.name()),
            Field::text(time_text(transaction.ended.or(transaction.began))),
            Field::text(user_text(Some(&self.names), &transaction.sid)),
            Field::text(sid_text(&transaction.sid)),
            Field::text(transaction.id),
            Field::text(&transaction.name),
            Field::text(transaction.outcome.name()),
            Field::text(change.lsn),
        ]
    }

    fn cells(&self, rowset: &RowSet, image: &RowImage) -> Vec<Field> {
        let cells = self.names.cells(rowset, image);
        cells
            .into_iter()
            .map(|cell| match cell {
                Cell::Known(value) => Field {
                    text: value.to_string(),
                    csv: csv_value(&value),
                    json: json_value(&value),
                },
                Cell::Missing(why) => Field::text(format!("({why})")),
            })
            .collect()
    }

    /// Whether the key of the row is `parts`: the primary key, or the first column of a table without one.
    fn has_key(&self, table: &Table, rowset: &RowSet, image: &RowImage, parts: &[&str]) -> bool {
        let primary = table.indexes.iter().find(|index| index.role == IndexRole::PrimaryKey);
        let keys: Vec<i64> = match primary {
            Some(index) => index.keys.iter().map(|(id, _)| *id).collect(),
            None => table.columns.first().map(|column| column.id).into_iter().collect(),
        };
        let cells = self.names.cells(rowset, image);
        let text_of = |id: i64| {
            let at = rowset.columns.iter().position(|column| i64::from(column.id) == id)?;
            Some(cells.get(at)?.value()?.to_string().trim_end().to_owned())
        };
        keys.len() == parts.len()
            && keys
                .iter()
                .zip(parts)
                .all(|(id, part)| text_of(*id).is_some_and(|text| text.eq_ignore_ascii_case(part)))
    }

    fn notes(&self, found: &RowChanges) -> Vec<String> {
        let mut lines = notes(&found.extent, &found.transactions, &found.unlogged);
        if found.in_pieces > 0 {
            lines.push(format!(
                "{} updates have only the changed bytes in the log that is left: the rows around them cannot be rebuilt",
                found.in_pieces
            ));
        }
        lines
    }
}

/// `0000:00001b07`.
fn transaction_id(text: &str) -> Option<SqlTransactionId> {
    let (high, low) = text.split_once(':')?;
    Some(SqlTransactionId {
        high: u16::from_str_radix(high, 16).ok()?,
        low: u32::from_str_radix(low, 16).ok()?,
    })
}

/// What the log cannot say.
fn notes(extent: &LogExtent, transactions: &Transactions, unlogged: &Unlogged) -> Vec<String> {
    let mut lines = Vec::new();
    match (extent.first, extent.last) {
        (Some(first), Some(last)) => lines.push(format!(
            "The log that is left has {} records, from {first} to {last}. What was changed before is not in it",
            extent.records
        )),
        _ => lines.push("The log has no records".to_owned()),
    }
    let cut = transactions
        .all()
        .filter(|transaction| transaction.begin.is_none())
        .count();
    if cut > 0 {
        lines.push(format!("{cut} transactions began before it"));
    }
    if extent.gaps > 0 {
        lines.push(format!("Log is missing in {} places", extent.gaps));
    }
    if extent.unread > 0 {
        lines.push(format!(
            "{} records are of SQL Server 2000 or older, or vlflab's own: they are not read",
            extent.unread
        ));
    }
    let without_rows = |transaction: &&Transaction| matches!(transaction.name.as_str(), "TRUNCATE TABLE" | "DROPOBJ");
    let freed = transactions.all().filter(without_rows).count();
    if freed > 0 {
        lines.push(format!(
            "{freed} transactions truncated or dropped tables: the log has no rows of that"
        ));
    }
    if unlogged.marked_extents() > 0 {
        lines.push(format!(
            "Minimally logged work changed {} extents: the log does not have the rows that it wrote",
            unlogged.marked_extents()
        ));
    }
    if unlogged.unformatted_extents() > 0 {
        lines.push(format!(
            "{} extents were allocated of which the log has no page, as bulk loads and index builds do that are minimally logged: rows in them \
             are in no record",
            unlogged.unformatted_extents()
        ));
    }
    lines
}

/// Behind a table; beside what programs read.
fn write_notes(lines: &[String], format: Format) -> Result<(), Failure> {
    let mut text = String::new();
    for line in lines {
        text.push_str(line);
        text.push_str(".\n");
    }
    match format {
        Format::Table | Format::Markdown => write!(io::stdout().lock(), "\n{text}")?,
        Format::Csv | Format::Json => io::stderr().lock().write_all(text.as_bytes())?,
    }
    Ok(())
}
