//! The progress of an export: a file of JSON Lines, from which a killed export resumes.
//!
//! A line is appended and synced after its step is done. A truncated last line is ignored, and its step is found done or repeated.
//!
//! The first line names source and destination. A file that begins differently does not belong to an export, and stays unchanged.

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// How every file of an export begins.
const FIRST_LINE: &str = "{\"export\":";
/// Key of the line that says that the destination is the export's.
const OWN: &str = "destination was empty";

#[derive(Debug)]
pub(super) struct State {
    path: PathBuf,
    file: File,
    /// Something was there.
    pub(super) is_resumed: bool,
    /// The destination was empty when this export began there: what it has is the export's, which may empty tables.
    pub(super) owns_destination: bool,
    statements: BTreeSet<String>,
    /// What was kept of a table when it was complete.
    tables: BTreeMap<String, Value>,
}

impl State {
    /// Opens the file, or makes it. `what` names source and destination.
    ///
    /// # Errors
    /// It cannot be read or written, is not an export's, is another export's, or one that runs has it.
    pub(super) fn open(path: &Path, what: &str) -> io::Result<State> {
        let wrong = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
        let mut file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => wrong("an export that is running has it".to_owned()),
            TryLockError::Error(error) => error,
        })?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        if !text.is_empty() && !text.starts_with(FIRST_LINE) {
            return Err(wrong("it is there, and not an export's".to_owned()));
        }
        let whole = text.rfind('\n').map_or(0, |last| last + 1);
        file.set_len(whole as u64)?;
        let mut state = State {
            path: path.to_owned(),
            file,
            is_resumed: false,
            owns_destination: false,
            statements: BTreeSet::new(),
            tables: BTreeMap::new(),
        };
        for (index, line) in text.get(..whole).unwrap_or_default().lines().enumerate() {
            let line: Value = serde_json::from_str(line)
                .map_err(|error| wrong(format!("line {} is none of an export's: {error}", index + 1)))?;
            let of = |key: &str| line.get(key).and_then(Value::as_str).map(str::to_owned);
            match (of("export"), of("statement"), of("table")) {
                (Some(export), ..) if export != what => {
                    return Err(wrong(format!("it is of another export, {export}; this one is {what}")));
                }
                (_, Some(statement), _) => {
                    state.statements.insert(statement);
                }
                (_, _, Some(table)) => {
                    state.tables.insert(table, line);
                }
                _ => state.owns_destination |= line.get(OWN).is_some(),
            }
            state.is_resumed = true;
        }
        if !state.is_resumed {
            state.add(&json!({"export": what}))?;
        }
        Ok(state)
    }

    fn add(&mut self, line: &Value) -> io::Result<()> {
        self.file.write_all(format!("{line}\n").as_bytes())?;
        self.file.sync_data()
    }

    /// The destination is empty, and the export begins there.
    pub(super) fn own_destination(&mut self) -> io::Result<()> {
        self.add(&json!({OWN: true}))?;
        self.owns_destination = true;
        Ok(())
    }

    pub(super) fn has_statement(&self, name: &str) -> bool {
        self.statements.contains(name)
    }

    pub(super) fn statement(&mut self, name: &str) -> io::Result<()> {
        self.add(&json!({"statement": name}))?;
        self.statements.insert(name.to_owned());
        Ok(())
    }

    pub(super) fn table(&self, name: &str) -> Option<&Value> {
        self.tables.get(name)
    }

    /// `kept` is an object.
    pub(super) fn add_table(&mut self, name: &str, mut kept: Value) -> io::Result<()> {
        kept["table"] = json!(name);
        self.add(&kept)?;
        self.tables.insert(name.to_owned(), kept);
        Ok(())
    }

    /// The export is complete: nothing is left to resume.
    pub(super) fn remove(self) -> io::Result<()> {
        std::fs::remove_file(&self.path)
    }
}
