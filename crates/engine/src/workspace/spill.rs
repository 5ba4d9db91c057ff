//! A spill file of a query that is out of memory: append-only, read at any offset, never synced, deleted at the end. Reading and writing
//! are IO_COMPLETION waits, as sorts in tempdb are in SQL Server (sql-docs, "sys.dm_os_wait_stats").
//!
//! Each thread counts what it has spilled ([`SpillUse`]), so that the total for an operator is known.

use super::Workspace;
use crate::error::Result;
use crate::page::PAGE_BYTES;
use crate::waits::WaitType;
use disk::{Access, File};
use std::cell::Cell;
use std::ops::Add;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What a file is for: SQL Server puts rows of hash joins and hash aggregates into workfiles, those of sorts and spools into worktables
/// (sql-docs, "SQL Server, Access Methods object").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpillKind {
    Workfile,
    Worktable,
}

/// Why a file is made.
#[derive(Debug, Clone, Copy)]
pub struct Spilling {
    pub kind: SpillKind,
    /// How often rows go to a file until they are there: 1 the first time.
    pub level: u32,
    /// What the operator was granted, and what of it was in use, in bytes.
    pub granted_bytes: u64,
    pub used_bytes: u64,
}

/// What files of one kind came to, in pages of 8 KB: whatever is written or read at a time begins a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpillUse {
    /// The highest level at which a file was made; 0 if none was.
    pub level: u32,
    /// Memory of the operator when it made its first file, in bytes.
    pub granted_bytes: u64,
    pub used_bytes: u64,
    pub pages_written: u64,
    pub pages_read: u64,
    /// Requests that read them.
    pub reads: u64,
    /// How often rows were read from their first one on.
    pub scans: u64,
}

impl Add for SpillUse {
    type Output = SpillUse;

    fn add(self, more: SpillUse) -> SpillUse {
        SpillUse {
            level: self.level.max(more.level),
            granted_bytes: self.granted_bytes.max(more.granted_bytes),
            used_bytes: self.used_bytes.max(more.used_bytes),
            pages_written: self.pages_written + more.pages_written,
            pages_read: self.pages_read + more.pages_read,
            reads: self.reads + more.reads,
            scans: self.scans + more.scans,
        }
    }
}

/// What files of both kinds came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpillUses {
    pub workfiles: SpillUse,
    pub worktables: SpillUse,
}

impl SpillUses {
    fn of(&mut self, kind: SpillKind) -> &mut SpillUse {
        match kind {
            SpillKind::Workfile => &mut self.workfiles,
            SpillKind::Worktable => &mut self.worktables,
        }
    }
}

impl Add for SpillUses {
    type Output = SpillUses;

    fn add(self, more: SpillUses) -> SpillUses {
        SpillUses {
            workfiles: self.workfiles + more.workfiles,
            worktables: self.worktables + more.worktables,
        }
    }
}

thread_local! {
    static USES: Cell<SpillUses> = const { Cell::new(SpillUses {
        workfiles: NOTHING,
        worktables: NOTHING,
    }) };
}

const NOTHING: SpillUse = SpillUse {
    level: 0,
    granted_bytes: 0,
    used_bytes: 0,
    pages_written: 0,
    pages_read: 0,
    reads: 0,
    scans: 0,
};

/// What this thread has spilled since this was last called; it goes on from `from`. So who hands in nothing and hands the answer back later
/// counts what came between by itself.
pub fn replace_spill_uses(from: SpillUses) -> SpillUses {
    USES.replace(from)
}

fn count(kind: SpillKind, more: SpillUse) {
    let mut uses = USES.get();
    *uses.of(kind) = *uses.of(kind) + more;
    USES.set(uses);
}

/// A stretch of a spill file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
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
    kind: SpillKind,
}

impl SpillFile {
    pub(super) fn create(workspace: Arc<Workspace>, path: PathBuf, why: Spilling) -> Result<SpillFile> {
        let disk = workspace.env.disk.as_ref();
        let made = disk
            .create_directories(&workspace.folder)
            .and_then(|()| disk.create(&path, Access::Buffered));
        let file = made.map_err(|error| workspace.failed(&error))?;
        let made = SpillUse {
            level: why.level,
            granted_bytes: why.granted_bytes,
            used_bytes: why.used_bytes,
            ..NOTHING
        };
        count(why.kind, made);
        Ok(SpillFile {
            workspace,
            file,
            path,
            end: 0,
            kind: why.kind,
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
        let written = SpillUse {
            pages_written: extent.bytes.div_ceil(PAGE_BYTES as u64),
            ..NOTHING
        };
        count(self.kind, written);
        Ok(extent)
    }

    /// Refuses a file that has more bytes than its disk has left: for files whose length someone else decides. A disk that does not tell is taken
    /// to have room.
    ///
    /// # Errors
    /// 1105 for tempdb.
    pub fn require_as_much_left(&self) -> Result<()> {
        match self.workspace.env.disk.available_bytes(&self.workspace.folder) {
            Ok(left) if left < self.end => Err(Workspace::full()),
            _ => Ok(()),
        }
    }

    /// Fills `bytes` from the file.
    ///
    /// # Errors
    /// 823 when the read fails.
    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        self.time(|| self.file.read_at(offset, bytes))?;
        let read = SpillUse {
            pages_read: (bytes.len() as u64).div_ceil(PAGE_BYTES as u64),
            reads: 1,
            ..NOTHING
        };
        count(self.kind, read);
        Ok(())
    }

    /// Notes that rows are read from their first one on.
    pub fn note_scan(&self) {
        count(self.kind, SpillUse { scans: 1, ..NOTHING });
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
