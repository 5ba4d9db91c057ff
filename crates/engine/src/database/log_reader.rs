//! Reads a database's log record by record while sessions continue: for `fn_dblog` and similar functions.
//!
//! A reader begins at the oldest record that is still needed, or at an LSN, and ends at the last record at the time it was opened. It first
//! makes that record durable, as a commit would, and then reads only the files: it takes no lock that a commit waits for. It uses one
//! window of the file as memory, whatever the log's length.
//!
//! While it reads, the log from its position on is kept, and `log_reuse_wait_desc` says LOG_SCAN if nothing older holds the log (sql-docs,
//! "sys.databases": 8 = "a log scan"). Nothing keeps VLFs that are already free. If one is reused under a reader of those
//! ([`LogExtent::Kept`]), the reader continues after it.

use super::Database;
use crate::error::Result;
use crate::log::{LogRecord, LogScan};
use std::sync::Arc;
use vlf::{FIRST_BLOCK, Lsn};

/// How much of the log is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogExtent {
    /// What is still needed.
    Needed,
    /// What is still there: VLFs that may be reused, and have not been, as well.
    Kept,
}

/// Where the reading of a log stands; the log from there on is kept until it is dropped.
pub struct LogReader {
    database: Arc<Database>,
    scan: LogScan,
    extent: LogExtent,
    /// From where on the log is kept for this reader.
    held: Lsn,
    /// Behind the last record to be read.
    end: Lsn,
}

impl LogReader {
    /// Opens a reader of the records of the VLF of `from` on; `None`: the oldest there are. A place before the oldest is the oldest, and
    /// behind the newest there is nothing. Any LSN will do: blocks are found from the start of their VLF on.
    ///
    /// # Errors
    /// 9001 when the log is closed.
    pub fn open(database: &Arc<Database>, from: Option<Lsn>, extent: LogExtent) -> Result<LogReader> {
        let log = &database.storage.log;
        let end = match log.end() {
            // A log that nothing is appended to is read to its end.
            Lsn::ZERO => Lsn::MAX,
            end => end,
        };
        log.flush_to(end)?;
        let (from, end) = match from {
            Some(from) if from >= end => (None, Lsn::ZERO),
            from => (from, end),
        };
        loop {
            let needed = database.truncation_point().0;
            database.scans.add(needed);
            let oldest = match (extent, log.oldest_kept()) {
                (LogExtent::Kept, Some(sequence)) if sequence <= needed.vlf => Lsn::new(sequence, FIRST_BLOCK, 1),
                _ => needed,
            };
            let start = from.map_or(oldest, |from| Lsn::new(from.vlf, FIRST_BLOCK, 1).max(oldest));
            let scan = match extent {
                LogExtent::Needed => log.scan(start),
                LogExtent::Kept => log.scan_kept(start),
            };
            match scan {
                Ok(scan) => {
                    return Ok(LogReader {
                        database: database.clone(),
                        scan,
                        extent,
                        held: needed,
                        end,
                    });
                }
                Err(error) => {
                    database.scans.remove(needed);
                    // The log was truncated between the two looks.
                    if database.truncation_point().0 == needed {
                        return Err(error);
                    }
                }
            }
        }
    }

    /// The database whose log it is.
    pub fn database(&self) -> &Arc<Database> {
        &self.database
    }

    /// The next record; `None` at the end.
    ///
    /// # Errors
    /// 9001 when the log is closed or cannot be read, 9004 when it is damaged.
    #[allow(
        clippy::should_implement_trait,
        reason = "records borrow the reader's window, which Iterator cannot express"
    )]
    pub fn next(&mut self) -> Result<Option<LogRecord<'_>>> {
        loop {
            let place = self.scan.position();
            match self.scan.has_next() {
                Ok(true) => break,
                Ok(false) => return Ok(None),
                Err(error) => self.skip_what_is_gone(place).ok_or(error)?,
            }
        }
        let place = self.scan.position();
        if place >= self.end {
            return Ok(None);
        }
        self.hold_from(place);
        self.scan.next()
    }

    /// Behind VLFs that were entered again while they were read; `None` where that is not what happened.
    fn skip_what_is_gone(&mut self, place: Lsn) -> Option<()> {
        let log = &self.database.storage.log;
        if self.extent == LogExtent::Needed || log.is_active(place.vlf) {
            return None;
        }
        let oldest = log.oldest_kept().filter(|oldest| *oldest > place.vlf)?;
        self.scan = log.scan_kept(Lsn::new(oldest, FIRST_BLOCK, 1)).ok()?;
        Some(())
    }

    /// What was read is no longer kept.
    fn hold_from(&mut self, place: Lsn) {
        if place.vlf > self.held.vlf {
            self.database.scans.add(place);
            self.database.scans.remove(self.held);
            self.held = place;
        }
    }
}

impl Drop for LogReader {
    fn drop(&mut self) {
        self.database.scans.remove(self.held);
    }
}
