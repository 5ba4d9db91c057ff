//! Rebuilds a log step by step: clears it, shrinks it, grows it, sets its autogrowth. This module chooses the next step from the server's
//! current state; the caller runs it, asks and waits.
//!
//! ```text
//! snapshot --> Task (the target, kept in a file before anything is changed)
//!                |
//! snapshot --> Applying::next --> Run statement --> (run, then a new snapshot) --.
//!                 ^          `--> AwaitLogBackup, Stop, Done                      |
//!                 `--------------------------------------------------------------'
//! ```
//! Only the task survives an interrupted run: whether a log is being shrunk or grown is derived from its VLFs. So the next run continues a
//! killed one.
//!
//! Invariant: no statement here backs up a log, changes a recovery model, or names a path. A held log is left alone.

use serde::{Deserialize, Serialize};
use vlf::ServerVersion;

use crate::advice::{Holding, holding, rebuild_of};
use crate::price::PricedDisk;
use crate::search::{Found, advised_autogrowth_bytes};
use crate::size::{KB, MB, format_bytes, group_digits};
use crate::snapshot::{DatabaseFacts, FileGrowth, LogFile, Service, Snapshot};

/// Version of the file that keeps a task.
pub const TASK_VERSION: u32 = 1;
/// Shrinks that are tried. A log that was never backed up needs two backups before its first VLFs are free (Microsoft's Tiger team, Fixing-VLFs
/// notebook), and the first shrink only moves the end of the log to the front of the file (KB 256650).
const SHRINKS_MAX: u32 = 4;

/// The target state of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub task_version: u32,
    /// `host:port`.
    pub server: String,
    pub database: String,
    /// Logical name of the log file.
    pub log_file: String,
    pub file_id: i64,
    /// How the log was before.
    pub before: Shape,
    /// What a shrink comes to at best, in bytes; `None` = the log only grows, or only gets another growth setting.
    pub shrunk_bytes: Option<u64>,
    /// The file's size after each growth, and its VLFs then.
    pub growths: Vec<Shape>,
    /// The largest VLF of the planned layout.
    pub vlf_bytes_max: u64,
    /// FILEGROWTH to leave.
    pub autogrowth_bytes: u64,
}

/// A log's size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    pub file_bytes: u64,
    pub vlf_count: u64,
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plural = if self.vlf_count == 1 { "" } else { "s" };
        let (bytes, vlfs) = (format_bytes(self.file_bytes), group_digits(self.vlf_count));
        write!(f, "{bytes} in {vlfs} VLF{plural}")
    }
}

/// Why nothing is applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It could not be judged: no such database, no VLFs.
    NotJudged(String),
    /// The layout is not worth a rebuild; the verdict.
    NothingToDo(String),
    /// The T-SQL is printed and not run, because.
    PrintOnly { because: String, tsql: String },
}

impl Task {
    /// What is advised for a database's log.
    ///
    /// # Errors
    /// Nothing is to be applied, and why.
    pub fn of(snapshot: &Snapshot, disk: &PricedDisk, name: &str) -> Result<Task, Refusal> {
        let database = snapshot
            .databases
            .iter()
            .find(|each| each.name.eq_ignore_ascii_case(name));
        let not_judged = |reason: String| Err(Refusal::NotJudged(reason));
        let Some(database) = database else {
            return not_judged(format!("no database '{name}' exists, or it is not visible"));
        };
        let with_vlfs: Vec<&LogFile> = database.log_files.iter().filter(|file| !file.vlfs.is_empty()).collect();
        let [file] = with_vlfs.as_slice() else {
            return not_judged(match with_vlfs.len() {
                0 => "its VLFs could not be read".to_owned(),
                count => format!("its log has {count} files; remove all but one first"),
            });
        };
        if file.name.is_empty() {
            return not_judged("the logical name of its log file could not be read".to_owned());
        }
        let version = snapshot.version().unwrap_or(ServerVersion::V2022);
        let Some((found, tsql)) = rebuild_of(snapshot, disk, database, file) else {
            let verdict = crate::advice::advise(snapshot, disk).verdicts;
            let verdict = verdict.into_iter().find(|verdict| verdict.database == database.name);
            return Err(Refusal::NothingToDo(
                verdict.map_or_else(String::new, |verdict| verdict.text),
            ));
        };
        if let Some(because) = only_printed(snapshot, database) {
            return Err(Refusal::PrintOnly {
                because: because.to_owned(),
                tsql,
            });
        }
        Ok(Task::to_reach(snapshot, database, file, &found, version))
    }

    fn to_reach(
        snapshot: &Snapshot,
        database: &DatabaseFacts,
        file: &LogFile,
        found: &Found,
        version: ServerVersion,
    ) -> Task {
        let plan = &found.plan;
        let mut vlf_count = plan.steps.first().map_or(0, |step| u64::from(step.vlfs_added));
        let growths = plan.growths().iter().map(|step| {
            vlf_count += u64::from(step.vlfs_added);
            Shape {
                file_bytes: step.file_bytes,
                vlf_count,
            }
        });
        Task {
            task_version: TASK_VERSION,
            server: snapshot.name.clone(),
            database: database.name.clone(),
            log_file: file.name.clone(),
            file_id: file.file_id,
            before: Shape {
                file_bytes: file.bytes,
                vlf_count: file.vlfs.len() as u64,
            },
            shrunk_bytes: found
                .shrink_to_vlfs
                .and_then(|_| plan.steps.first().map(|step| step.file_bytes)),
            growths: growths.collect(),
            vlf_bytes_max: plan.vlf_bytes_max(),
            autogrowth_bytes: advised_autogrowth_bytes(version, plan.layout.file_bytes()),
        }
    }

    /// The size and VLFs at the end.
    pub fn target(&self) -> Shape {
        self.growths.last().copied().unwrap_or(self.before)
    }

    /// Every statement in its order, as one text to read before it is agreed to.
    pub fn tsql(&self) -> String {
        let mut lines = Vec::new();
        if let Some(bytes) = self.shrunk_bytes {
            lines.push(format!(
                "-- Until the log has {} or less, with the usual log backup in between where the recovery model asks for one:",
                format_bytes(bytes)
            ));
            lines.push(self.shrink());
        }
        lines.extend(self.growths.iter().map(|shape| self.grow(shape.file_bytes)));
        lines.push(self.autogrowth());
        lines.join("\n")
    }

    fn shrink(&self) -> String {
        format!(
            "USE {}; CHECKPOINT; DBCC SHRINKFILE ({}, 1) WITH NO_INFOMSGS;",
            identifier(&self.database),
            literal(&self.log_file)
        )
    }

    fn grow(&self, bytes: u64) -> String {
        self.modify("SIZE", bytes)
    }

    fn autogrowth(&self) -> String {
        self.modify("FILEGROWTH", self.autogrowth_bytes)
    }

    fn modify(&self, what: &str, bytes: u64) -> String {
        let size = match bytes.is_multiple_of(MB) {
            true => format!("{}MB", bytes / MB),
            false => format!("{}KB", bytes / KB),
        };
        format!(
            "ALTER DATABASE {} MODIFY FILE (NAME = {}, {what} = {size});",
            identifier(&self.database),
            literal(&self.log_file)
        )
    }

    /// # Errors
    /// No task, or one of a later version.
    pub fn from_json(text: &str) -> Result<Task, String> {
        let task: Task =
            serde_json::from_str(text).map_err(|error| format!("no task of vlflab advise --apply: {error}"))?;
        match task.task_version {
            1..=TASK_VERSION => Ok(task),
            other => Err(format!(
                "a task of version {other}; this program knows versions up to {TASK_VERSION}"
            )),
        }
    }

    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a task has texts and whole numbers only")
    }
}

/// Where T-SQL is printed and left to people: what it does there reaches beyond this server, or is not ours to do.
fn only_printed(snapshot: &Snapshot, database: &DatabaseFacts) -> Option<&'static str> {
    match snapshot.service() {
        Service::AzureSqlDatabase => return Some("Azure SQL Database keeps the layout of its logs itself"),
        Service::ManagedInstance => return Some("it is a Managed Instance, which makes the log backups itself"),
        Service::Rds => return Some("it is an instance of RDS, which makes the log backups itself"),
        Service::SqlServer => {}
    }
    if database.is_in_availability_group {
        return Some(
            "it is in an availability group: shrink and growth are redone on each secondary, so look at their disks first",
        );
    }
    database
        .mirroring
        .is_some()
        .then_some("it is mirrored: shrink and growth are redone on the mirror, so look at its disk first")
}

fn identifier(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

fn literal(name: &str) -> String {
    format!("N'{}'", name.replace('\'', "''"))
}

/// The next step of the rebuild.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Run this, however long it takes: a growth whose client gives up is cancelled (error 5144).
    Run(String),
    /// Only a log backup goes further. It has come once the server's mark is another than this.
    AwaitLogBackup { mark: Option<String> },
    /// It stops here, and can be begun again.
    Stop(String),
    /// The log is as it was to be.
    Done(Shape),
}

/// A task under way.
#[derive(Debug)]
pub struct Applying {
    task: Task,
    shrinks: u32,
    /// What was freed since the last shrink is not tried yet.
    may_shrink: bool,
    /// The size that the last growth was to reach.
    grown_to: u64,
    is_growth_set: bool,
}

impl Applying {
    pub fn begin(task: Task) -> Applying {
        Applying {
            task,
            shrinks: 0,
            may_shrink: true,
            grown_to: 0,
            is_growth_set: false,
        }
    }

    pub fn task(&self) -> &Task {
        &self.task
    }

    /// The next step, by a snapshot taken after the last one.
    pub fn next(&mut self, snapshot: &Snapshot, disk: &PricedDisk) -> Step {
        let stop = |text: &str| Step::Stop(text.to_owned());
        let database = snapshot.databases.iter().find(|each| each.name == self.task.database);
        let Some(database) = database else {
            return stop("the database is gone, or cannot be seen any more");
        };
        if !database.is_online() {
            return Step::Stop(format!("the database is {}", database.state));
        }
        if let Some(because) = only_printed(snapshot, database) {
            return stop(because);
        }
        let file = database.log_files.iter().find(|file| file.file_id == self.task.file_id);
        let Some(file) = file.filter(|file| !file.vlfs.is_empty()) else {
            return stop("the VLFs of its log cannot be read");
        };
        let now = Shape {
            file_bytes: file.bytes,
            vlf_count: file.vlfs.len() as u64,
        };
        if self.must_shrink(file, now) {
            return self.shrink(snapshot, disk, database, file);
        }
        self.grow(file, now)
    }

    /// How the log stands after a statement that the server refused, and what the error asks for: 5149 is a volume without room, 5040 a
    /// MAXSIZE that is too small. Empty where the log cannot be seen.
    pub fn left_by_refusal(&self, snapshot: &Snapshot, error: i32) -> String {
        let database = snapshot.databases.iter().find(|each| each.name == self.task.database);
        let mut files = database.into_iter().flat_map(|database| &database.log_files);
        let Some(file) = files.find(|file| file.file_id == self.task.file_id && !file.vlfs.is_empty()) else {
            return String::new();
        };
        let now = Shape {
            file_bytes: file.bytes,
            vlf_count: file.vlfs.len() as u64,
        };
        let first = match error {
            5149 => "; make room on its volume first",
            5040 => "; raise its MAXSIZE first",
            _ => "",
        };
        format!("The log has {now}, and is to have {}{first}", self.task.target())
    }

    /// Whether VLFs are in the file that the plan does not have. A log that an earlier run began to grow has the size of one of its steps, and
    /// no more VLFs than the plan has there.
    fn must_shrink(&self, file: &LogFile, now: Shape) -> bool {
        if self.grown_to > 0 || self.task.shrunk_bytes.is_none_or(|bytes| now.file_bytes <= bytes) {
            return false;
        }
        let mut steps = self.task.growths.iter();
        let planned = steps.find(|planned| planned.file_bytes == now.file_bytes);
        let largest = file.vlfs.iter().map(|vlf| vlf.bytes).max().unwrap_or(0);
        planned.is_none_or(|planned| now.vlf_count > planned.vlf_count || largest > self.task.vlf_bytes_max)
    }

    fn shrink(&mut self, snapshot: &Snapshot, disk: &PricedDisk, database: &DatabaseFacts, file: &LogFile) -> Step {
        if let Holding::Held(who) = holding(snapshot, disk, database) {
            return Step::Stop(format!("the log is held: {who}"));
        }
        if self.may_shrink && self.shrinks < SHRINKS_MAX {
            self.may_shrink = false;
            self.shrinks += 1;
            return Step::Run(self.task.shrink());
        }
        if self.shrinks >= SHRINKS_MAX {
            let last = file.vlfs.iter().rposition(|vlf| vlf.status == 2);
            let place = last.map_or_else(String::new, |index| {
                format!(
                    ", and VLF {} of {} in the file is still active",
                    index + 1,
                    file.vlfs.len()
                )
            });
            return Step::Stop(format!(
                "the log does not shrink: it has {} after {SHRINKS_MAX} shrinks{place}. Only VLFs behind the last active one are cut off; the end \
                 of the log moves to the front of the file as the database is written to",
                format_bytes(file.bytes)
            ));
        }
        self.may_shrink = true;
        let begun = database.marks.chain_has_begun != Some(false);
        match database.needs_log_backups() && begun {
            true => Step::AwaitLogBackup {
                mark: database.marks.last_log_backup_lsn.clone(),
            },
            false => self.shrink(snapshot, disk, database, file),
        }
    }

    fn grow(&mut self, file: &LogFile, now: Shape) -> Step {
        if now.file_bytes < self.grown_to {
            return Step::Stop(format!(
                "the log has {} after a growth to {}",
                format_bytes(now.file_bytes),
                format_bytes(self.grown_to)
            ));
        }
        if let Some(next) = self.task.growths.iter().find(|shape| shape.file_bytes > now.file_bytes) {
            self.grown_to = next.file_bytes;
            return Step::Run(self.task.grow(next.file_bytes));
        }
        if file.growth == FileGrowth::Bytes(self.task.autogrowth_bytes) {
            return Step::Done(now);
        }
        if self.is_growth_set {
            return Step::Stop(format!("FILEGROWTH is {} after it was set", file.growth));
        }
        self.is_growth_set = true;
        Step::Run(self.task.autogrowth())
    }
}
