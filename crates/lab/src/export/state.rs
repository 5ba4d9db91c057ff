//! What an export has done so far: a file of JSON Lines beside it, so that an export that was killed goes on where it was.
//!
//! A line is appended and synced after what it tells of is done. A last line that a kill cut off counts for nothing: what it told of is found or
//! begun anew.

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(super) struct State {
    path: PathBuf,
    file: File,
    /// Something was there.
    pub(super) is_resumed: bool,
    statements: BTreeSet<String>,
    /// What was kept of a table when it was complete.
    tables: BTreeMap<String, Value>,
}

impl State {
    /// Opens the file, or makes it. `what` names source and destination: the file of another export is refused.
    pub(super) fn open(path: &Path, what: &str) -> io::Result<State> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let whole = text.rfind('\n').map_or(0, |last| last + 1);
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        file.set_len(whole as u64)?;
        let mut state = State {
            path: path.to_owned(),
            file,
            is_resumed: false,
            statements: BTreeSet::new(),
            tables: BTreeMap::new(),
        };
        let wrong = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
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
                _ => {}
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
