//! `vlflab export`: copies a database's definitions and rows from a server to another one or to a folder.
//!
//! Definitions are read from the views of `sys` ([`catalog`]), become T-SQL in an order that runs ([`script`]), and run before and after
//! the data. Rows are bulk copied as TDS bytes, several tables at a time. Identity values are kept; the destination computes computed and
//! rowversion columns. At the end, the destination's script is compared with the source's, and so are counts and sums by column.
//!
//! Invariant: a table that the state file calls complete is complete; any other is emptied and copied again. Tables are emptied only if the
//! destination was empty when the export began.

mod catalog;
mod copy;
mod folder;
mod script;
mod state;
mod sums;
mod target;
mod words;

pub use catalog::{Catalog, Table};
pub use folder::{CsvFile, DataColumn, DataKind, MakeFile, RowFile};
pub use script::{Script, Statement};
pub use sums::Sums;
pub use target::Lack;

use crate::client::{ClientError, Connection, Identity, Target};
use state::State;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where the database is copied to.
pub enum Destination {
    /// A database of a server: `Target::database` names it.
    Server(Target),
    Folder {
        path: PathBuf,
        /// Of the files of rows, without a dot.
        extension: &'static str,
        make: Box<MakeFile>,
    },
}

pub struct Options {
    /// The server that has the database; `Target::database` names it.
    pub source: Target,
    pub to: Destination,
    /// Tables at a time.
    pub jobs: usize,
    /// Objects that the destination has no place for are left out; without, nothing is begun.
    pub leaves_out: bool,
    /// The file that says what is done.
    pub state: PathBuf,
    pub interrupt: Arc<AtomicBool>,
}

/// Sees an export go on.
pub trait Watcher: Sync {
    /// Tables, their rows as far as the source knows, and what is not exported.
    fn begin(&self, tables: usize, rows: u64, left_out: &[String]);
    /// More rows of a table have arrived.
    fn rows(&self, table: &str, rows: u64);
    /// A table is complete.
    fn table(&self, table: &str, rows: u64);
    fn say(&self, line: &str);
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Summary {
    pub tables: usize,
    pub rows: u64,
    /// Statements and tables that failed, and why.
    pub failed: Vec<String>,
    /// What is not the same on both sides.
    pub differences: Vec<String>,
}

/// Why an export did not come to its end.
#[derive(Debug)]
pub enum ExportError {
    /// The destination has no place for these; nothing was begun.
    Lacks(Vec<Lack>),
    /// The destination's database has objects already.
    NotEmpty(String),
    Client(ClientError),
    /// A file, and why not.
    File(String),
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExportError::Lacks(lacks) => {
                f.write_str("the destination lacks what the source has; --leave-out exports the rest:")?;
                for lack in lacks {
                    let objects: Vec<&str> = lack.objects.iter().map(String::as_str).collect();
                    write!(f, "\n        {}: {}", lack.what, objects.join(", "))?;
                }
                Ok(())
            }
            ExportError::NotEmpty(database) => write!(
                f,
                "the database {database} of the destination has objects already, and no state file says that they are this export's"
            ),
            ExportError::Client(error) => error.fmt(f),
            ExportError::File(why) => f.write_str(why),
        }
    }
}

impl From<ClientError> for ExportError {
    fn from(error: ClientError) -> ExportError {
        ExportError::Client(error)
    }
}

/// As Management Studio's scripts expect them; indexes over computed columns and filtered ones need all of these (Msg 1934).
const SETTINGS: &str = "SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL, QUOTED_IDENTIFIER ON; \
    SET NUMERIC_ROUNDABORT OFF";
/// What SqlBulkCopy asks for.
const PACKET_BYTES: u16 = 8000;

fn connect(target: &Target, database: Option<&str>) -> Result<Connection, ClientError> {
    let target = Target {
        database: database.map(str::to_owned),
        ..target.clone()
    };
    let identity = Identity {
        application: "vlflab export".to_owned(),
        packet_bytes: PACKET_BYTES,
        ..Identity::default()
    };
    let mut connection = Connection::open_as(&target, &identity)?;
    connection.rows(SETTINGS)?;
    Ok(connection)
}

fn here(target: &Target) -> Result<Connection, ClientError> {
    connect(target, target.database.as_deref())
}

/// An export under way.
struct Export<'a> {
    options: &'a Options,
    watcher: &'a dyn Watcher,
    catalog: Catalog,
    script: Script,
    /// Objects that are left out.
    skipped: BTreeSet<String>,
    state: Mutex<State>,
    summary: Mutex<Summary>,
}

/// Exports a database.
///
/// # Errors
/// [`ExportError`]. Single statements and tables that fail are in the [`Summary`].
pub fn export(options: &Options, watcher: &dyn Watcher) -> Result<Summary, ExportError> {
    let catalog = Catalog::read(&mut here(&options.source)?)?;
    let script = Script::of(&catalog);
    let (skipped, lacks) = skipped(options, &catalog)?;
    let state = State::open(&options.state, &what(options)).map_err(|error| {
        let path = options.state.display();
        ExportError::File(format!("{path}: {error}"))
    })?;
    let export = Export {
        options,
        watcher,
        catalog,
        script,
        skipped,
        state: Mutex::new(state),
        summary: Mutex::new(Summary::default()),
    };
    for lack in lacks {
        let objects: Vec<String> = lack.objects.into_iter().collect();
        watcher.say(&format!(
            "left out, as the destination lacks {}: {}",
            lack.what,
            objects.join(", ")
        ));
    }
    export.run()?;
    let (state, summary) = (export.state.into_inner(), export.summary.into_inner());
    let summary = summary.unwrap_or_else(PoisonError::into_inner);
    if summary.failed.is_empty() && summary.differences.is_empty() {
        let removed = state.unwrap_or_else(PoisonError::into_inner).remove();
        removed.map_err(|error| ExportError::File(format!("{}: {error}", options.state.display())))?;
    }
    Ok(summary)
}

/// Source and destination, as the state file names them.
fn what(options: &Options) -> String {
    let named = |target: &Target| {
        let database = target.database.as_deref().unwrap_or_default();
        format!("{}:{}/{database}", target.host, target.port)
    };
    let to = match &options.to {
        Destination::Server(target) => named(target),
        Destination::Folder { path, extension, .. } => format!("{} as {extension}", path.display()),
    };
    format!("{} to {to}", named(&options.source))
}

/// What the destination has no place for. Nothing is changed yet.
fn skipped(options: &Options, catalog: &Catalog) -> Result<(BTreeSet<String>, Vec<Lack>), ExportError> {
    let Destination::Server(target) = &options.to else {
        return Ok((BTreeSet::new(), Vec::new()));
    };
    let server = target::Server::read(&mut connect(target, None)?)?;
    let lacks = server.lacks(catalog);
    if !lacks.is_empty() && !options.leaves_out {
        return Err(ExportError::Lacks(lacks));
    }
    let objects = lacks.iter().flat_map(|lack| lack.objects.iter().cloned()).collect();
    Ok((objects, lacks))
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Export<'_> {
    fn goes_on(&self) -> bool {
        !self.options.interrupt.load(Ordering::Relaxed)
    }

    fn tables(&self) -> Vec<&Table> {
        let mut tables: Vec<&Table> = self
            .catalog
            .tables
            .iter()
            .filter(|table| !table.is_type && !self.skipped.contains(&table.name))
            .collect();
        // The largest first, so that the last to end is a small one.
        tables.sort_by(|left, right| right.rows.cmp(&left.rows).then_with(|| left.name.cmp(&right.name)));
        tables
    }

    fn run(&self) -> Result<(), ExportError> {
        let tables = self.tables();
        let rows = tables.iter().map(|table| table.rows).sum();
        self.watcher.begin(tables.len(), rows, &self.catalog.left_out);
        match &self.options.to {
            Destination::Folder { path, .. } => {
                self.write_script(path)?;
                self.copy(&tables)
            }
            Destination::Server(target) => {
                let mut connection = self.open_database(target)?;
                self.statements(&mut connection, &self.script.before_data)?;
                self.copy(&tables)?;
                if !held(&self.summary).failed.is_empty() {
                    // Keys and checks over tables that are not complete would keep the next run from completing them.
                    return Ok(());
                }
                self.statements(&mut connection, &self.script.after_data)?;
                self.compare(target, &mut connection, &tables)
            }
        }
    }

    fn open_database(&self, target: &Target) -> Result<Connection, ExportError> {
        let name = target.database.as_deref().unwrap_or_default();
        let collation = here(&self.options.source)?
            .rows("SELECT CONVERT(nvarchar(128), DATABASEPROPERTYEX(DB_NAME(), 'Collation'))")?
            .into_iter()
            .flatten()
            .flatten()
            .next();
        let is_there = target::database(&mut connect(target, None)?, name, collation.as_deref())?;
        let mut connection = here(target)?;
        // A file of state alone does not say that the objects are the export's: it may have ended before it came here.
        if !held(&self.state).owns_destination {
            if is_there && target::has_objects(&mut connection)? {
                // Nothing was done that a later run could resume.
                let _ = std::fs::remove_file(&self.options.state);
                return Err(ExportError::NotEmpty(name.to_owned()));
            }
            let owned = held(&self.state).own_destination();
            owned.map_err(|error| self.state_failed(&error))?;
        }
        Ok(connection)
    }

    fn write_script(&self, folder: &std::path::Path) -> Result<(), ExportError> {
        let failed = |error: std::io::Error| ExportError::File(format!("{}: {error}", folder.display()));
        std::fs::create_dir_all(folder.join("data")).map_err(failed)?;
        for (name, statements) in [
            ("before-data.sql", &self.script.before_data),
            ("after-data.sql", &self.script.after_data),
        ] {
            std::fs::write(folder.join(name), folder::script_text(statements)).map_err(failed)?;
        }
        Ok(())
    }

    /// Runs what is not done yet. A statement that fails is noted, and the next one runs.
    fn statements(&self, connection: &mut Connection, statements: &[Statement]) -> Result<(), ExportError> {
        let mut settings = (true, true);
        let is_resumed = held(&self.state).is_resumed;
        for statement in statements {
            if !self.goes_on() {
                return Err(ClientError::Interrupted.into());
            }
            if self.skipped.contains(&statement.owner) || held(&self.state).has_statement(&statement.name) {
                continue;
            }
            // A kill may have come between a statement and its line in the file.
            let is_there = is_resumed
                && !statement.exists.is_empty()
                && connection.number(&format!("SELECT CASE WHEN {} THEN 1 ELSE 0 END", statement.exists))? > 0.0;
            if !is_there {
                if settings != statement.settings {
                    settings = statement.settings;
                    let word = |is: bool| if is { "ON" } else { "OFF" };
                    connection.rows(&format!(
                        "SET ANSI_NULLS {}; SET QUOTED_IDENTIFIER {}",
                        word(settings.0),
                        word(settings.1)
                    ))?;
                }
                match connection.rows(&statement.text) {
                    Ok(_) => {}
                    Err(ClientError::Server(message)) => {
                        let why = format!("{}: {message}", statement.name);
                        held(&self.summary).failed.push(why);
                        continue;
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            let noted = held(&self.state).statement(&statement.name);
            noted.map_err(|error| self.state_failed(&error))?;
        }
        Ok(())
    }

    fn state_failed(&self, error: &std::io::Error) -> ExportError {
        ExportError::File(format!("{}: {error}", self.options.state.display()))
    }

    /// Copies the tables that are not complete, some at a time, each over connections of its own.
    fn copy(&self, tables: &[&Table]) -> Result<(), ExportError> {
        let next = AtomicUsize::new(0);
        let ended: Mutex<Option<ExportError>> = Mutex::new(None);
        let work = || {
            while let Some(table) = tables.get(next.fetch_add(1, Ordering::Relaxed)) {
                if held(&ended).is_some() {
                    return;
                }
                match self.table(table) {
                    Ok(()) => {}
                    Err(ExportError::Client(ClientError::Server(message))) => {
                        held(&self.summary).failed.push(format!("{}: {message}", table.name));
                    }
                    Err(error) => {
                        held(&ended).get_or_insert(error);
                        return;
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..self.options.jobs.clamp(1, tables.len().max(1)) {
                scope.spawn(work);
            }
        });
        ended
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .map_or(Ok(()), Err)
    }

    fn table(&self, table: &Table) -> Result<(), ExportError> {
        if held(&self.state).table(&table.name).is_some() {
            held(&self.summary).tables += 1;
            return Ok(());
        }
        let mut goes_on = || self.goes_on();
        let mut told = |rows| self.watcher.rows(&table.name, rows);
        let mut source = here(&self.options.source)?;
        let rows = match &self.options.to {
            Destination::Server(target) => {
                copy::into_server(&mut source, &mut here(target)?, table, &mut goes_on, &mut told)?
            }
            Destination::Folder { path, extension, make } => {
                let path = folder::path_of(path, table, extension);
                let (rows, differences) =
                    copy::into_file(&mut source, &path, make.as_ref(), table, &mut goes_on, &mut told)?;
                if !differences.is_empty() {
                    held(&self.summary).differences.extend(differences);
                    return Ok(());
                }
                rows
            }
        };
        let kept = serde_json::json!({ "rows": rows });
        let noted = held(&self.state).add_table(&table.name, kept);
        noted.map_err(|error| self.state_failed(&error))?;
        let mut summary = held(&self.summary);
        summary.tables += 1;
        summary.rows += rows;
        drop(summary);
        self.watcher.table(&table.name, rows);
        Ok(())
    }

    /// Scripts the destination as the source was, and compares; then counts and sums.
    fn compare(&self, target: &Target, there: &mut Connection, tables: &[&Table]) -> Result<(), ExportError> {
        let texts = |script: &Script| -> BTreeMap<String, String> {
            let all = script.before_data.iter().chain(&script.after_data);
            all.filter(|statement| !statement.is_of_a_moment && !self.skipped.contains(&statement.owner))
                .map(|statement| (statement.name.clone(), statement.text.clone()))
                .collect()
        };
        let (ours, theirs) = (texts(&self.script), texts(&Script::of(&Catalog::read(there)?)));
        let mut found = Vec::new();
        for (name, text) in &ours {
            match theirs.get(name) {
                None => found.push(format!("{name} is not there")),
                Some(other) if other != text => found.push(format!("{name} is another there")),
                Some(_) => {}
            }
        }
        let more = theirs.keys().filter(|name| !ours.contains_key(*name));
        found.extend(more.map(|name| format!("{name} is there alone")));
        let (mut source, mut other) = (here(&self.options.source)?, here(target)?);
        for table in tables {
            let mut goes_on = || self.goes_on();
            let here = sums::sums(&mut source, table, &mut goes_on)?;
            match sums::sums(&mut other, table, &mut goes_on) {
                Ok(there) => found.extend(here.differences(&table.name, &there)),
                Err(ClientError::Server(message)) => found.push(format!("{}: {message}", table.name)),
                Err(error) => return Err(error.into()),
            }
        }
        held(&self.summary).differences.extend(found);
        Ok(())
    }
}
