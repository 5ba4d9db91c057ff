//! The files of the error log.
//!
//! ```text
//! <folder>/log/ERRORLOG        the lines of this run, from its start or the last cycle on
//! <folder>/log/ERRORLOG.1      those before; .2 .. .6 older ones. A cycle moves each on by one, and the seventh is gone.
//! ```
//! A cycle is made at each start, and when an administrator asks for it (sql-docs, "sp_cycle_errorlog").
//!
//! Invariant: nobody writes to the log while its files are cycled, so each line is in one file.

use super::Instance;
use super::start::banner;
use crate::error::{Error, Result};
use crate::seams::Environment;
use disk::{Access, Disk, DiskError, File};
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Former error logs kept, as SQL Server keeps six.
pub const FORMER_ERRORLOGS: usize = 6;

/// The file that lines go to, and where the next one goes.
struct Current {
    file: Arc<dyn File>,
    end: u64,
}

/// See the module.
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
fn cycle(disk: &dyn Disk, folder: &Path) -> std::result::Result<Current, DiskError> {
    for number in (0..FORMER_ERRORLOGS).rev() {
        if disk.len(&path_of(folder, number))?.is_some() {
            disk.rename(&path_of(folder, number), &path_of(folder, number + 1))?;
        }
    }
    let file = disk.create(&path_of(folder, 0), Access::Buffered)?;
    Ok(Current { file, end: 0 })
}

impl ErrorLogFiles {
    /// Cycles the files of former runs, and directs the lines of this run to a new one.
    pub(super) fn begin(env: &Environment, folder: &Path) -> Result<ErrorLogFiles> {
        let made = cycle(env.disk.as_ref(), folder).map_err(|error| {
            Error::cannot_create_file(&path_of(folder, 0).display().to_string(), &Error::cause(&error))
        })?;
        let files = ErrorLogFiles {
            folder: folder.to_path_buf(),
            current: Arc::new(Mutex::new(made)),
        };
        let current = files.current.clone();
        env.errorlog.add_sink(Box::new(move |line| {
            let text = format!("{}\n", line.file_text());
            let mut current = current.lock();
            // A line that cannot be written is still in memory; there is nobody else to tell.
            if current.file.write_at(current.end, text.as_bytes()).is_ok() {
                current.end += text.len() as u64;
            }
        }));
        Ok(files)
    }
}

impl Instance {
    /// The path of an error log: 0 is that of this run, 1 to [`FORMER_ERRORLOGS`] are former ones, the newest first.
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
            *files.current.lock() = cycle(self.env.disk.as_ref(), &files.folder).map_err(|error| {
                let [from, to] = [0, 1].map(|number| path_of(&files.folder, number).display().to_string());
                Error::cannot_cycle_errorlog(&from, &to, &Error::cause(&error))
            })?;
            Ok(())
        })?;
        log.write("Server", banner(&self.options));
        let begun = "The error log has been reinitialized. See the previous log for older entries.";
        log.write(source, begun);
        Ok(())
    }
}
