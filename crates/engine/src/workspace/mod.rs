//! Memory for queries: what sorts, hash tables and kept rows may take, and the files they go on in when that is used up.
//!
//! ```text
//! max server memory   |------------------- pages -------------------|
//! beside it           |- workspace, taken as queries need it -|           at most 3/4 of it
//!                     |- one query -|                                     at most 1/4 of the workspace, where it can spill
//! ```
//! The shares are SQL Server's (sql-docs, "Memory management architecture guide" and "resource governor": a query's grant is
//! at most 25 % of workspace memory by default; the workspace is some three quarters of the target). Unlike SQL Server's it
//! comes on top of the buffer pool, which gives nothing up for it.
//!
//! Invariant: what is taken never exceeds the limit. Who is refused spills to a [`SpillFile`], or fails with 701.
//! Invariant: spill files lie in one folder beside tempdb, and none outlives the instance: start-up empties the folder.

mod spill;

pub use spill::{Extent, SpillFile};

use crate::error::{Error, Result};
use crate::seams::Environment;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// SQL Server's least `max server memory` (sql-docs): the workspace is never sized for less.
const SERVER_MEMORY_BYTES_MIN: u64 = 128 << 20;
/// The query that can spill takes at most one part in so many of the workspace.
const QUERY_SHARE_DIVISOR: u64 = 4;

/// Query memory of an instance.
pub struct Workspace {
    env: Environment,
    folder: PathBuf,
    limit_bytes: u64,
    used_bytes: AtomicU64,
    files_made: AtomicU64,
    spilled_bytes: AtomicU64,
}

impl Workspace {
    /// A workspace for an instance of so much memory, whose spill files go to `folder`. Files left there by a crash are
    /// deleted.
    pub fn new(env: Environment, folder: PathBuf, server_memory_bytes: u64) -> Workspace {
        empty(&env, &folder);
        Workspace {
            env,
            folder,
            limit_bytes: limit_of(server_memory_bytes),
            used_bytes: AtomicU64::new(0),
            files_made: AtomicU64::new(0),
            spilled_bytes: AtomicU64::new(0),
        }
    }

    /// Bytes that all queries together may take.
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// Bytes that one query may take before it spills.
    pub fn query_limit_bytes(&self) -> u64 {
        self.limit_bytes() / QUERY_SHARE_DIVISOR
    }

    /// Bytes taken now.
    pub fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Ordering::Relaxed)
    }

    /// Bytes written to spill files since the start.
    pub fn spilled_bytes(&self) -> u64 {
        self.spilled_bytes.load(Ordering::Relaxed)
    }

    /// Takes memory; false when there is not so much left.
    pub fn take(&self, bytes: u64) -> bool {
        let limit = self.limit_bytes();
        let grown = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= limit);
        self.used_bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown)
            .is_ok()
    }

    /// Gives memory back.
    pub fn give_back(&self, bytes: u64) {
        self.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// A new, empty spill file, deleted when it is dropped.
    ///
    /// # Errors
    /// 1105 for tempdb when the disk is full, 823 for other failures.
    pub fn spill_file(self: &Arc<Workspace>) -> Result<SpillFile> {
        let number = self.files_made.fetch_add(1, Ordering::Relaxed);
        SpillFile::create(self.clone(), self.folder.join(format!("{number}.spill")))
    }

    fn failed(&self, error: &disk::DiskError) -> Error {
        if error.kind == disk::DiskErrorKind::DiskFull {
            return Error::filegroup_full("<temporary system object>", "tempdb", "PRIMARY");
        }
        let path = error.path.display().to_string();
        Error::data_file_io(error.operation, error.offset.unwrap_or(0), &path, &Error::cause(error))
    }
}

/// Three quarters of what the server may use.
fn limit_of(server_memory_bytes: u64) -> u64 {
    server_memory_bytes.max(SERVER_MEMORY_BYTES_MIN) / 4 * 3
}

/// Deletes what a former run left. A file that cannot be deleted is in nobody's way but takes space, so that is told.
fn empty(env: &Environment, folder: &Path) {
    for path in env.disk.list(folder).unwrap_or_default() {
        if let Err(error) = env.disk.delete(&path) {
            env.errorlog
                .write("Server", format!("A spill file is left over: {error}."));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::errorlog::ErrorLog;
    use crate::seams::{Background, ManualClock};
    use crate::waits::{WaitStatistics, WaitType};
    use disk::sim::SimDisk;
    use disk::{Access, Disk};

    fn environment(disk: &SimDisk) -> Environment {
        let clock = Arc::new(ManualClock::starting_at(0));
        Environment {
            disk: Arc::new(disk.clone()),
            errorlog: Arc::new(ErrorLog::new(clock.clone())),
            clock,
            background: Background::Inline,
            waits: Arc::new(WaitStatistics::new()),
            activity: Arc::default(),
        }
    }

    #[test]
    fn no_more_is_taken_than_the_limit() {
        let workspace = Workspace::new(environment(&SimDisk::new(1)), "/spill".into(), 1 << 30);
        assert_eq!(workspace.limit_bytes(), 768 << 20);
        assert_eq!(workspace.query_limit_bytes(), 192 << 20);
        assert!(workspace.take(700 << 20));
        assert!(!workspace.take(69 << 20));
        assert!(!workspace.take(u64::MAX));
        workspace.give_back(700 << 20);
        assert!(workspace.take(768 << 20));
        assert!(!workspace.take(1));
        let least = Workspace::new(environment(&SimDisk::new(1)), "/spill".into(), 1);
        assert_eq!(least.limit_bytes(), 96 << 20);
    }

    #[test]
    fn spilled_bytes_come_back_and_the_file_goes() {
        let disk = SimDisk::new(1);
        let workspace = Arc::new(Workspace::new(environment(&disk), "/spill".into(), 1 << 30));
        let mut file = workspace.spill_file().unwrap();
        let first = file.append(b"abc").unwrap();
        let second = file.append(b"defgh").unwrap();
        let mut bytes = vec![0; second.bytes as usize];
        file.read(second.offset, &mut bytes).unwrap();
        assert_eq!(bytes, b"defgh");
        assert_eq!((first.offset, first.bytes), (0, 3));
        assert_eq!(workspace.spilled_bytes(), 8);
        assert_eq!(disk.list(Path::new("/spill")).unwrap().len(), 1);
        drop(file);
        assert!(disk.list(Path::new("/spill")).unwrap().is_empty());
        let waits = workspace.env.waits.rows();
        let io = waits.iter().find(|row| row.wait_type == WaitType::IoCompletion);
        assert_eq!(io.unwrap().waiting_tasks, 3);
    }

    #[test]
    fn a_crash_leaves_files_that_the_next_start_deletes() {
        let disk = SimDisk::new(1);
        disk.create_directories(Path::new("/spill")).unwrap();
        disk.create(Path::new("/spill/0.spill"), Access::Buffered).unwrap();
        let workspace = Arc::new(Workspace::new(environment(&disk), "/spill".into(), 1 << 30));
        assert!(disk.list(Path::new("/spill")).unwrap().is_empty());
        workspace.spill_file().unwrap().append(b"x").unwrap();
    }
}
