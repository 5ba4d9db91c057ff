//! A file that a query goes on in when its memory is used up: appended to, read anywhere, never made durable, deleted at the
//! end. Reading and writing are IO_COMPLETION waits, as sorts in tempdb are in SQL Server (sql-docs, "sys.dm_os_wait_stats").

use super::Workspace;
use crate::error::Result;
use crate::waits::WaitType;
use disk::{Access, File};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A stretch of a spill file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Where it begins.
    pub offset: u64,
    /// How long it is.
    pub bytes: u64,
}

/// The file of one operator.
pub struct SpillFile {
    workspace: Arc<Workspace>,
    file: Arc<dyn File>,
    path: PathBuf,
    end: u64,
}

impl SpillFile {
    pub(super) fn create(workspace: Arc<Workspace>, path: PathBuf) -> Result<SpillFile> {
        let disk = workspace.env.disk.as_ref();
        let made = disk
            .create_directories(&workspace.folder)
            .and_then(|()| disk.create(&path, Access::Buffered));
        let file = made.map_err(|error| workspace.failed(&error))?;
        Ok(SpillFile {
            workspace,
            file,
            path,
            end: 0,
        })
    }

    /// Writes bytes behind all others.
    ///
    /// # Errors
    /// 1105 for tempdb when the disk is full, 823 for other failures.
    pub fn append(&mut self, bytes: &[u8]) -> Result<Extent> {
        let extent = Extent {
            offset: self.end,
            bytes: bytes.len() as u64,
        };
        self.time(|| self.file.write_at(extent.offset, bytes))?;
        self.end += extent.bytes;
        self.workspace.spilled_bytes.fetch_add(extent.bytes, Ordering::Relaxed);
        Ok(extent)
    }

    /// Fills `bytes` from the file.
    ///
    /// # Errors
    /// 823.
    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        self.time(|| self.file.read_at(offset, bytes))
    }

    fn time(&self, work: impl FnOnce() -> std::result::Result<(), disk::DiskError>) -> Result<()> {
        let env = &self.workspace.env;
        let outcome = env.waits.time(env.clock.as_ref(), WaitType::IoCompletion, work);
        outcome.map_err(|error| self.workspace.failed(&error))
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        // What cannot be deleted now is deleted at the next start.
        let _ = self.workspace.env.disk.delete(&self.path);
    }
}
