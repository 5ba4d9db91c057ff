//! The files of the error log.
//!
//! ```text
//! <folder>/log/ERRORLOG        the lines of this run, from its start or the last cycle on
//! <folder>/log/ERRORLOG.1      the previous file; .2 and so on are older. A cycle renames each to the next number and deletes the last.
//! ```
//! The log is cycled at each start, on request (sql-docs, "sp_cycle_errorlog"), and when the file has reached its limit. The log's
//! `FileLimits` give the limit and the number of old files to keep.
//!
//! Invariant: no thread writes to the log while its files are cycled, so each line is in one file.

use super::start::banner;
use super::{Instance, InstanceOptions};
use crate::error::{Error, Result};
use crate::errorlog::FileLimits;
use crate::seams::Environment;
use disk::{Access, Disk, DiskError, File};
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The highest number that SQL Server lets be configured (sql-docs, "Configure SQL Server error logs"): files beyond a smaller one are
/// looked for up to it.
pub const FORMER_ERRORLOGS_MAX: usize = 99;

/// What a new log begins with after its banner.
const BEGUN: &str = "The error log has been reinitialized. See the previous log for older entries.";

/// The file that lines go to, and where the next one goes.
struct Current {
    file: Arc<dyn File>,
    end: u64,
}

pub(super) struct ErrorLogFiles {
    folder: PathBuf,
    current: Arc<Mutex<Current>>,
}

/// The path of a log in an instance's folder: 0 is that of this run.
fn path_of(folder: &Path, number: usize) -> PathBuf {
    let name = match number {
        0 => "ERRORLOG".to_owned(),
        _ => format!("ERRORLOG.{number}"),
    };
    folder.join("log").join(name)
}

/// Moves each file on by one, and makes a new one.
fn cycle(disk: &dyn Disk, folder: &Path, limits: FileLimits) -> std::result::Result<Current, DiskError> {
    for number in (0..limits.former).rev() {
        if disk.len(&path_of(folder, number))?.is_some() {
            disk.rename(&path_of(folder, number), &path_of(folder, number + 1))?;
        }
    }
    let file = disk.create(&path_of(folder, 0), Access::Buffered)?;
    Ok(Current { file, end: 0 })
}

/// Removes the files that a start with a larger limit has left.
fn remove_beyond(disk: &dyn Disk, folder: &Path, limits: FileLimits) -> std::result::Result<(), DiskError> {
    for number in limits.former + 1..=FORMER_ERRORLOGS_MAX {
        if disk.len(&path_of(folder, number))?.is_none() {
            return Ok(());
        }
        disk.delete(&path_of(folder, number))?;
    }
    Ok(())
}

impl ErrorLogFiles {
    /// Cycles the files of former runs, and directs the lines of this run to a new one.
    pub(super) fn begin(env: &Environment, options: &InstanceOptions) -> Result<ErrorLogFiles> {
        let folder = options.folder.as_path();
        let limits = env.errorlog.file_limits();
        let failed = |error: DiskError| {
            Error::cannot_create_file(&path_of(folder, 0).display().to_string(), &Error::cause(&error))
        };
        remove_beyond(env.disk.as_ref(), folder, limits).map_err(failed)?;
        let made = cycle(env.disk.as_ref(), folder, limits).map_err(failed)?;
        let files = ErrorLogFiles {
            folder: folder.to_path_buf(),
            current: Arc::new(Mutex::new(made)),
        };
        let current = files.current.clone();
        env.errorlog.add_sink(Box::new(move |line| {
            let text = format!("{}\n", line.file_text());
            let mut current = current.lock();
            // A line that cannot be written is still in memory; it cannot be reported anywhere else.
            if current.file.write_at(current.end, text.as_bytes()).is_ok() {
                current.end += text.len() as u64;
            }
        }));
        files.cycle_when_full(env, options, limits);
        Ok(files)
    }

    /// Has the log begin again once its file has reached the limit.
    fn cycle_when_full(&self, env: &Environment, options: &InstanceOptions, limits: FileLimits) {
        let (current, folder, disk) = (self.current.clone(), self.folder.clone(), env.disk.clone());
        let banner = banner(options);
        env.errorlog.set_turn(Box::new(move || {
            let mut current = current.lock();
            if current.end < limits.bytes {
                return None;
            }
            // Where no file can be moved or made, lines go on where they went.
            *current = cycle(disk.as_ref(), &folder, limits).ok()?;
            let first = [banner.as_str(), BEGUN];
            Some(first.map(|text| ("Server".to_owned(), text.to_owned())).into())
        }));
    }
}

impl Instance {
    /// The path of an error log: 0 is that of this run, 1 and on are former ones, the newest first.
    pub fn errorlog_path(&self, number: usize) -> PathBuf {
        path_of(self.folder(), number)
    }

    /// Ends the error log, which becomes the first of the former ones, and begins a new one (sp_cycle_errorlog, DBCC ERRORLOG).
    ///
    /// # Errors
    /// 17049 when a file cannot be moved or made: then lines go on where they went.
    pub fn cycle_errorlog(&self, source: &str) -> Result<()> {
        let log = &self.env.errorlog;
        let attempt =
            "Attempting to cycle error log. This is an informational message only; no user action is required.";
        log.write(source, attempt);
        let files = &self.errorlog_files;
        log.begin_anew(|| {
            *files.current.lock() =
                cycle(self.env.disk.as_ref(), &files.folder, log.file_limits()).map_err(|error| {
                    let [from, to] = [0, 1].map(|number| path_of(&files.folder, number).display().to_string());
                    Error::cannot_cycle_errorlog(&from, &to, &Error::cause(&error))
                })?;
            Ok(())
        })?;
        log.write("Server", banner(&self.options));
        log.write(source, BEGUN);
        Ok(())
    }
}
