//! `vlflab sample`: sample databases. There is one: Credit, the database of the published growth experiment.
//!
//! The database is created in the instance folder, backed up to the place from which the published script restores it, and dropped again
//! unless it is to be kept. Nothing existing is replaced without asking.

mod credit;
mod random;
mod schema;
#[cfg(test)]
mod tests;

use crate::exit::Failure;
use crate::instance::{self, Choices};
use clap::{Args, Subcommand};
use credit::{CHARGES, Credit};
use engine::database::Database;
use engine::error::{Error, Result as EngineResult};
use engine::instance::Instance;
use engine::lock::Mode;
use engine::log::LogPolicy;
use engine::session::Table;
use engine::types::Value;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tsql::session::{BatchOutcome, DoneKind, Login, Message, ResultColumn, ResultSink, Session, SinkClosed};
use vlf::ServerVersion;

pub const SAMPLE_EXAMPLES: &str = "Examples:
  vlflab sample credit                       for the published growth experiment: 1.6 million charges
  vlflab sample credit --keep                the database stays: vlflab sql -d Credit
  vlflab sample credit --charge-rows 16000   a small one";

const CREDIT_AFTER: &str = "Drive letters are folders of the instance: C:\\SQLBackups is DIR/c/SQLBackups.
Needs about 1.6 GB of disk while it works, and 250 MB for the backup.";

/// Options of `vlflab sample`.
#[derive(Debug, Args)]
pub struct SampleOptions {
    #[command(subcommand)]
    sample: Sample,
}

#[derive(Debug, Subcommand)]
enum Sample {
    /// The Credit database of the published growth experiment, as a backup of SQL Server 2008.
    #[command(after_help = CREDIT_AFTER)]
    Credit(CreditOptions),
}

/// Options of `vlflab sample credit`.
#[derive(Debug, Args)]
struct CreditOptions {
    /// Instance folder; created if it does not exist. No server may be using it.
    #[arg(long, value_name = "DIR", default_value = crate::arguments::DEFAULT_DATA)]
    data: PathBuf,
    /// Where the backup goes, as a script would name it.
    #[arg(long, value_name = "PATH", default_value = r"C:\SQLBackups\CreditBackup100.bak")]
    backup: String,
    /// Another seed gives other rows with the same distributions.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Rows of the table charge.
    #[arg(long, value_name = "N", default_value_t = CHARGES, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    charge_rows: u32,
    /// Keep the database in addition to its backup.
    #[arg(long)]
    keep: bool,
    /// Replace a database Credit, or a backup, that exists.
    #[arg(long)]
    replace: bool,
}

pub fn sample(options: &SampleOptions) -> Result<(), Failure> {
    let Sample::Credit(options) = &options.sample;
    let begin = Instant::now();
    let choices = Choices {
        folder: options.data.clone(),
        // The version the backup is of: its rules make the 15 VLFs.
        version: Some(ServerVersion::V2008),
        policy: Some(LogPolicy::native()),
        memory_mb: None,
        instant_file_initialization: true,
        allowed_paths: folder_of_backup(&options.backup),
        modelled: None,
        in_memory: false,
    };
    let instance = instance::open_embedded(choices)?;
    let outcome = make(&instance, options);
    let closed = instance.shutdown(false).map_err(|error| Failure::Failed(error.message));
    outcome.and(closed)?;
    writeln!(io::stdout(), "done in {:.1} s", begin.elapsed().as_secs_f64())?;
    Ok(())
}

/// Naming a folder for the backup allows it.
fn folder_of_backup(backup: &str) -> Vec<PathBuf> {
    let path = std::path::Path::new(backup);
    let folder = path.parent().filter(|folder| folder.is_absolute());
    folder.map(std::path::Path::to_path_buf).into_iter().collect()
}

fn make(instance: &Arc<Instance>, options: &CreditOptions) -> Result<(), Failure> {
    let backup = instance
        .resolve(&options.backup)
        .map_err(|error| Failure::Usage(error.message))?;
    let mut maker = Maker::new(instance)?;
    refuse_existing(instance, options, &backup)?;
    if instance.database(schema::DATABASE).is_ok() {
        maker.run("ALTER DATABASE Credit SET SINGLE_USER WITH ROLLBACK IMMEDIATE DROP DATABASE Credit")?;
    }
    for batch in schema::FILES {
        maker.run(batch)?;
    }
    let made = maker.fill(options).and_then(|()| maker.back_up(options));
    if made.is_err() || !options.keep {
        // Half a database is of no use to anybody; why it is only half is what the user has to know.
        let dropped = maker.run("USE master DROP DATABASE Credit");
        made.and(dropped)?;
        remove_folder_if_empty(instance);
    }
    let size_mb = std::fs::metadata(&backup)?.len() as f64 / f64::from(1 << 20);
    writeln!(
        io::stdout(),
        "backup:  {} = {} ({size_mb:.0} MB)",
        options.backup,
        backup.display()
    )?;
    if options.keep {
        writeln!(io::stdout(), "database Credit: {}", schema::FOLDER)?;
    }
    Ok(())
}

fn refuse_existing(instance: &Instance, options: &CreditOptions, backup: &std::path::Path) -> Result<(), Failure> {
    if options.replace {
        return Ok(());
    }
    if instance
        .slots()
        .iter()
        .any(|slot| slot.entry().name.eq_ignore_ascii_case(schema::DATABASE))
    {
        let text = "the instance has a database Credit; --replace drops and recreates it";
        return Err(Failure::Usage(text.into()));
    }
    if backup.exists() {
        let text = format!("{} exists; --replace overwrites it", backup.display());
        return Err(Failure::Usage(text));
    }
    Ok(())
}

/// Once the database is gone its folder is no longer needed; a folder with something in it stays.
fn remove_folder_if_empty(instance: &Instance) {
    if let Ok(file) = instance.resolve(&format!(r"{}\CreditData.mdf", schema::FOLDER))
        && let Some(folder) = file.parent()
    {
        // Not empty, or gone already: both are as they should be.
        let _ = std::fs::remove_dir(folder);
    }
}

/// Makes the database by T-SQL, and its rows by the engine's bulk fill.
struct Maker {
    instance: Arc<Instance>,
    session: Session,
    progress: Progress,
}

impl Maker {
    fn new(instance: &Arc<Instance>) -> Result<Maker, Failure> {
        let login = Login {
            login: "sa".into(),
            host: instance.options.server_name.clone(),
            application: "vlflab sample".into(),
            ..Login::default()
        };
        Ok(Maker {
            session: Session::new(Arc::clone(instance), login).map_err(|error| Failure::Failed(error.message))?,
            instance: Arc::clone(instance),
            progress: Progress::new(),
        })
    }

    fn run(&mut self, batch: &str) -> Result<(), Failure> {
        let mut errors = Errors::default();
        let outcome = self.session.execute(batch, &mut errors);
        match (outcome, errors.first) {
            (BatchOutcome::Completed, None) => Ok(()),
            (_, error) => Err(Failure::Failed(error.unwrap_or_else(|| "the batch was ended".into()))),
        }
    }

    fn fill(&mut self, options: &CreditOptions) -> Result<(), Failure> {
        self.run("USE Credit")?;
        self.run(schema::TYPES)?;
        let sample = Credit::new(options.seed, options.charge_rows);
        let database = self
            .instance
            .database(schema::DATABASE)
            .map_err(|error| Failure::Failed(error.message))?;
        for table in schema::TABLES {
            let name = table.name;
            self.run(table.create)?;
            // The fill looks at no constraint, so they are off until the rows have been judged by them.
            self.run(&format!("ALTER TABLE dbo.{name} NOCHECK CONSTRAINT ALL"))?;
            let filled = self.fill_table(&database, name, &sample);
            let rows = filled.map_err(|error| Failure::Failed(format!("table {name}: {}", error.message)))?;
            self.run(&format!("ALTER TABLE dbo.{name} WITH CHECK CHECK CONSTRAINT ALL"))?;
            for (index, column) in table.indexes {
                self.run(&format!("CREATE NONCLUSTERED INDEX {index} ON dbo.{name} ({column})"))?;
            }
            writeln!(io::stdout(), "{name:<12}{rows:>10} rows")?;
        }
        self.run("CHECKPOINT")
    }

    fn fill_table(&mut self, database: &Arc<Database>, name: &str, sample: &Credit) -> EngineResult<u32> {
        let mut session = self.instance.open_session()?;
        let id = session.id;
        let outcome = match sample.rows(name) {
            Some(rows) => {
                let count = rows.len() as u32;
                let mut rows = rows.into_iter();
                let next = |row: &mut Vec<Value>| match rows.next() {
                    Some(next) => *row = next,
                    None => row.clear(),
                };
                fill(&mut session, database, name, count, next).map(|()| count)
            }
            None => self.fill_charges(&mut session, database, sample),
        };
        drop(session);
        self.instance.close_session(id);
        outcome
    }

    /// In transactions of some rows each, so that the log of 400 MB is enough for any number of them.
    fn fill_charges(
        &mut self,
        session: &mut engine::session::Session,
        database: &Arc<Database>,
        sample: &Credit,
    ) -> EngineResult<u32> {
        const ROWS_AT_ONCE: u32 = 100_000;
        let count = sample.charge_count();
        self.progress.begin(count);
        let mut place = 0;
        while place < count {
            let rows = ROWS_AT_ONCE.min(count - place);
            let next = |row: &mut Vec<Value>| {
                sample.charge_row(place, row);
                place += 1;
            };
            fill(session, database, "charge", rows, next)?;
            self.progress.advance(place);
        }
        self.progress.end();
        Ok(count)
    }

    fn back_up(&mut self, options: &CreditOptions) -> Result<(), Failure> {
        let path = options.backup.replace('\'', "''");
        self.run(&format!(
            "BACKUP DATABASE Credit TO DISK = N'{path}' WITH FORMAT, INIT, NAME = N'Credit-Full Database Backup'"
        ))
    }
}

/// Appends rows to a table in one transaction. The identity goes on behind the last of them.
fn fill(
    session: &mut engine::session::Session,
    database: &Arc<Database>,
    name: &str,
    count: u32,
    mut next: impl FnMut(&mut Vec<Value>),
) -> EngineResult<()> {
    let object = database.catalog.find("dbo", name, session.id);
    let object = object.ok_or_else(|| Error::invalid_object(name))?;
    let table = Table::open(database, &object)?;
    let locks = Arc::clone(session.locks());
    session.begin();
    table.lock(&locks, Mode::X)?;
    let mut filling = table.fill()?;
    let mut row = Vec::new();
    for _ in 0..count {
        next(&mut row);
        filling.push(session, &row)?;
    }
    filling.finish(session)?;
    session.commit()?;
    let definition = table.definition();
    if let (Some((column, identity)), Some(last)) = (definition.identity(), row.first())
        && let (0, Some(last)) = (column, last.as_i64())
    {
        database.identity_used(definition, identity, last, session.locks())?;
    }
    Ok(())
}

/// Keeps the first error of a batch.
#[derive(Default)]
struct Errors {
    first: Option<String>,
}

impl ResultSink for Errors {
    fn columns(&mut self, _: &[ResultColumn]) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn row(&mut self, _: &[Value]) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn done(&mut self, _: Option<u64>, _: DoneKind) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn message(&mut self, message: &Message) -> Result<(), SinkClosed> {
        if message.severity > 10 && self.first.is_none() {
            self.first = Some(format!("Msg {}: {}", message.number, message.text));
        }
        Ok(())
    }
}

/// Rows of `charge` done: a bar with the time left on a terminal, a line now and then elsewhere.
struct Progress {
    bar: Option<ProgressBar>,
    begin: Instant,
    said: Instant,
    rows: u32,
}

impl Progress {
    fn new() -> Progress {
        Progress {
            bar: None,
            begin: Instant::now(),
            said: Instant::now(),
            rows: 0,
        }
    }

    fn begin(&mut self, rows: u32) {
        *self = Progress::new();
        self.rows = rows;
        if io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(Some(u64::from(rows)), ProgressDrawTarget::stderr());
            // The template is fixed text; should it ever be refused, the default style shows the same figures.
            if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3}%  {eta} left  table charge") {
                bar.set_style(style);
            }
            self.bar = Some(bar);
        }
    }

    fn advance(&mut self, done: u32) {
        const INTERVAL: Duration = Duration::from_secs(2);
        if let Some(bar) = &self.bar {
            bar.set_position(u64::from(done));
        } else if self.said.elapsed() >= INTERVAL {
            self.said = Instant::now();
            let left = self.begin.elapsed().as_secs_f64() * f64::from(self.rows - done) / f64::from(done.max(1));
            // Progress that cannot be written does not stop the work.
            let _ = writeln!(io::stderr(), "charge: {done} of {} rows, {left:.0} s left", self.rows);
        }
    }

    fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
