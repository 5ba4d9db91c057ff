//! `vlflab serve --restore`: restores databases from backups before the server is ready.
//!
//! It runs the T-SQL that a DBA would write: RESTORE HEADERONLY and FILELISTONLY for the contents, then RESTORE DATABASE with a MOVE for
//! each file.

use super::console::Console;
use crate::exit::Failure;
use engine::instance::Instance;
use engine::types::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::Builder;
use tsql::session::{BatchOutcome, DoneKind, Login, Message, ResultColumn, ResultSink, Session, SinkClosed};
use tsql::stack;

/// The folders of the files, in which statements may then name files.
pub(super) fn folders(files: &[PathBuf]) -> impl Iterator<Item = PathBuf> + '_ {
    let folder = |file: &PathBuf| std::path::absolute(file).ok()?.parent().map(Path::to_path_buf);
    files.iter().filter_map(folder).filter(|folder| folder.is_dir())
}

/// Restores each file's database that is not there.
///
/// # Errors
/// A file is not a backup, has no full one, or cannot be restored: with the engine's words.
pub(super) fn restore(instance: &Arc<Instance>, files: &[PathBuf], console: Console) -> Result<(), Failure> {
    for file in files {
        let path = std::path::absolute(file)?;
        let (instance, shown) = (Arc::clone(instance), file.display().to_string());
        // Statements need their own stack, as in a connection.
        let thread = Builder::new()
            .name("restore".to_owned())
            .stack_size(stack::THREAD_BYTES);
        let running = thread.spawn(move || {
            stack::begin_thread(stack::THREAD_BYTES);
            restore_one(&instance, &path)
        })?;
        let outcome = running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match outcome.map_err(|why| Failure::Failed(format!("--restore {shown}: {why}")))? {
            Restored::New => {}
            Restored::WasThere(name) => {
                console.warn(&format!(
                    "database {name} already exists; --restore {shown} leaves it unchanged"
                ));
            }
        }
    }
    Ok(())
}

enum Restored {
    New,
    /// A database of the name, which stays.
    WasThere(String),
}

fn restore_one(instance: &Arc<Instance>, path: &Path) -> Result<Restored, String> {
    let login = Login {
        login: "sa".into(),
        host: instance.options.server_name.clone(),
        application: "vlflab serve --restore".into(),
        ..Login::default()
    };
    let mut session = Session::new(Arc::clone(instance), login).map_err(|error| error.message)?;
    let from = format!("FROM DISK = N'{}'", path.to_string_lossy().replace('\'', "''"));
    let sets = run(&mut session, &format!("RESTORE HEADERONLY {from}"))?;
    let full = sets.iter().rfind(|set| text(set, "BackupType") == FULL);
    let full = full.ok_or("it has no full backup of a database")?;
    let (name, position) = (text(full, "DatabaseName"), text(full, "Position"));
    if instance
        .slots()
        .iter()
        .any(|slot| slot.entry().name.eq_ignore_ascii_case(&name))
    {
        return Ok(Restored::WasThere(name));
    }
    let files = run(
        &mut session,
        &format!("RESTORE FILELISTONLY {from} WITH FILE = {position}"),
    )?;
    let folder = instance.folder().join("data");
    let moves = files.iter().enumerate().map(|(index, file)| {
        let end = match (text(file, "Type") == LOG, index) {
            (true, _) => "ldf",
            (false, 0) => "mdf",
            (false, _) => "ndf",
        };
        let logical = text(file, "LogicalName");
        let target = folder.join(format!("{}.{end}", file_name(&logical, &name, index)));
        format!(
            ", MOVE N'{}' TO N'{}'",
            quoted(&logical),
            quoted(&target.to_string_lossy())
        )
    });
    let moves: String = moves.collect();
    let bracketed = name.replace(']', "]]");
    run(
        &mut session,
        &format!("RESTORE DATABASE [{bracketed}] {from} WITH FILE = {position}{moves}"),
    )?;
    Ok(Restored::New)
}

/// `BackupType` of a full backup; `Type` of a log file.
const FULL: &str = "1";
const LOG: &str = "L";

fn quoted(text: &str) -> String {
    text.replace('\'', "''")
}

/// A name for the file of a database that no other database's file has: both names, of which letters, digits and a few signs stay.
fn file_name(logical: &str, database: &str, index: usize) -> String {
    const CHARACTERS_MAX: usize = 60;
    let plain = |text: &str| -> String {
        let kept = text.chars().map(|c| {
            if c.is_alphanumeric() || "-_".contains(c) {
                c
            } else {
                '_'
            }
        });
        kept.take(CHARACTERS_MAX).collect()
    };
    match index {
        0 => plain(database),
        _ => format!("{}-{index}-{}", plain(database), plain(logical)),
    }
}

/// A row by the names of its columns.
type Row = Vec<(String, Value)>;

fn text(row: &Row, column: &str) -> String {
    let found = row.iter().find(|(name, _)| name.eq_ignore_ascii_case(column));
    found.map_or(String::new(), |(_, value)| match value {
        Value::Text(text) => text.to_string(),
        Value::TinyInt(number) => number.to_string(),
        Value::SmallInt(number) => number.to_string(),
        Value::Int(number) => number.to_string(),
        _ => String::new(),
    })
}

/// Runs a batch and answers its rows, or the first error.
fn run(session: &mut Session, batch: &str) -> Result<Vec<Row>, String> {
    let mut rows = Rows::default();
    let outcome = session.execute(batch, &mut rows);
    match (outcome, rows.error) {
        (BatchOutcome::Completed, None) => Ok(rows.rows),
        (_, Some(error)) => Err(error),
        (_, None) => Err("it was stopped".to_owned()),
    }
}

#[derive(Default)]
struct Rows {
    names: Vec<String>,
    rows: Vec<Row>,
    error: Option<String>,
}

impl ResultSink for Rows {
    fn columns(&mut self, columns: &[ResultColumn]) -> Result<(), SinkClosed> {
        self.names = columns.iter().map(|column| column.name.clone()).collect();
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> Result<(), SinkClosed> {
        self.rows
            .push(self.names.iter().cloned().zip(row.iter().cloned()).collect());
        Ok(())
    }

    fn done(&mut self, _row_count: Option<u64>, _kind: DoneKind) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn message(&mut self, message: &Message) -> Result<(), SinkClosed> {
        const ERROR_SEVERITY_MIN: u8 = 11;
        if message.severity >= ERROR_SEVERITY_MIN && self.error.is_none() {
            self.error = Some(format!("error {}: {}", message.number, message.text));
        }
        Ok(())
    }
}
