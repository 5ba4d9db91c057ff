//! The only door to files.
//!
//! The engine reaches files only through two traits: [`Disk`] is the name space (open, create, rename, delete) and [`File`] is one open
//! file (positioned reads and writes, growth, durability). There are four implementations: [`OsDisk`] is the operating system
//! ([`ConfinedDisk`] is limited to a few folders), [`MemoryDisk`] keeps a folder in this process's memory, [`sim::SimDisk`] is a disk in
//! memory that loses power on demand, and [`modelled::ModelledDisk`] stores its bytes on another disk and takes its time from a model.
//!
//! Invariants of every implementation ([`modelled::ModelledDisk`] and [`MemoryDisk`] keep them only within the process, and define what
//! durable means there):
//!
//! * `create`, `delete`, `rename` and `create_directories` are durable when they return, unless syncs are put off ([`Disk::defer_syncs`]).
//! * Written bytes are durable only after `sync()` or when written by `write_durable_at`; before that a power cut may
//!   keep any part of them, sector by sector.
//! * Reads and writes are exact: short transfers and interrupted calls are continued inside.
//! * Durable data can be found again: `sync()` and durable writes fail with `Deleted` if the open file has no name left when they end. So
//!   nothing that was acknowledged after them was written into a deleted file.
//! * A failed `sync()` or durable write is final for that open file, unless the disk was full: the state of the kernel's dirty pages is
//!   unknown, so every later attempt repeats the error instead of claiming success.
//! * Only regular files are opened, locked, measured or replaced, and the last name of a path is never followed as a symbolic
//!   link: devices, FIFOs, sockets, directories and links are `NotAFile`.
//! * Methods may be called from many threads at once; overlapping writes have no order among them.

mod aligned;
mod content;
mod error;
mod host;
mod memory;
pub mod modelled;
mod os;
pub mod probe;
pub mod sim;

pub use aligned::{AlignedBuffer, BUFFER_ALIGNMENT_BYTES, ZEROS_BYTES_MAX, zeros};
pub use error::{DiskError, DiskErrorKind};
pub use host::{Host, host};
pub use memory::MemoryDisk;
pub use os::{ConfinedDisk, OsDisk};

use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How the bytes of a file travel between the process and the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Past the page cache (O_DIRECT) where the file system has it, through the page cache otherwise. For log and data
    /// files, whose pages the engine caches itself.
    Direct,
    /// Through the page cache. For small files: settings, error logs, backups' headers.
    Buffered,
}

/// What a name leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// A file that holds bytes.
    Regular,
    Directory,
    /// A device, FIFO, socket or symbolic link.
    Other,
}

/// Which file of this machine it is, by whatever name it was reached: equal for two hard links, two spellings, and two ways
/// through symbolic links. Says nothing once the file is deleted: its number may be given to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileIdentity {
    pub device: u64,
    /// The file's number there.
    pub inode: u64,
}

/// What [`Disk::look`] sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Found {
    /// What the name leads to.
    pub kind: FileKind,
    /// Which one it is.
    pub identity: FileIdentity,
    /// Length in bytes; 0 for anything but a regular file.
    pub len: u64,
}

/// The temporary name of a file while it is being created, before it gets the name `path`. It is unique, because the token, a guid, is part
/// of it.
pub fn temporary_path(path: &Path, token: &[u8; 16]) -> PathBuf {
    let token: String = token.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut name = path.as_os_str().to_os_string();
    name.push(format!(".{token}.{TEMPORARY_SUFFIX}"));
    PathBuf::from(name)
}

/// How the names of [`temporary_path`] end.
pub const TEMPORARY_SUFFIX: &str = "making";

/// The name space of files: everything the engine asks of a disk that is not about the bytes of one open file.
pub trait Disk: Send + Sync {
    /// Opens an existing file for reading and writing. Fails with `NotFound` when there is none.
    fn open(&self, path: &Path, access: Access) -> Result<Arc<dyn File>, DiskError>;

    /// Creates an empty file durably: the file and its directory entry are synced on return. Fails with
    /// `AlreadyExists` when the name is taken, `NotFound` when the directory does not exist.
    fn create(&self, path: &Path, access: Access) -> Result<Arc<dyn File>, DiskError>;

    /// Creates a file that holds `first` from its first moment: no power cut leaves it with anything else at its begin. Until
    /// then it has the name of [`temporary_path`], and what a former try left there is replaced. Fails as `create`.
    fn create_holding(
        &self,
        path: &Path,
        access: Access,
        first: &[u8],
        token: &[u8; 16],
    ) -> Result<Arc<dyn File>, DiskError> {
        let temporary = temporary_path(path, token);
        match self.delete(&temporary) {
            Err(error) if error.kind != DiskErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = self.create(&temporary, Access::Buffered)?;
        let made = file
            .write_at(0, first)
            .and_then(|()| file.sync())
            .and_then(|()| self.rename_new(&temporary, path));
        if let Err(error) = made {
            // The next start deletes what this cannot: it knows the temporary name.
            let _ = self.delete(&temporary);
            return Err(DiskError {
                path: path.to_path_buf(),
                ..error
            });
        }
        let opened = self.open(path, access)?;
        match opened.identity()? == file.identity()? {
            true => Ok(opened),
            false => Err(DiskError::new(DiskErrorKind::AlreadyExists, "create", path)),
        }
    }

    /// Deletes a file durably (its directory is synced on return). Open handles stay readable until dropped.
    fn delete(&self, path: &Path) -> Result<(), DiskError>;

    /// Renames a file durably, replacing a file that has the new name. After a power cut the new name leads either to
    /// the old file or to the new one, never to neither. Contents must have been synced by the caller before.
    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError>;

    /// Renames a file durably to a name that is free. `AlreadyExists` when it is taken; both files are as before then.
    fn rename_new(&self, from: &Path, to: &Path) -> Result<(), DiskError>;

    /// Creates a directory and all its missing parents durably. Existing directories are no error.
    fn create_directories(&self, path: &Path) -> Result<(), DiskError>;

    /// Lists a directory: full paths (directory joined with name) of files and directories in it, sorted.
    fn list(&self, directory: &Path) -> Result<Vec<PathBuf>, DiskError>;

    /// Length of a file in bytes; `None` when no file has that name (a directory is not a file).
    fn len(&self, path: &Path) -> Result<Option<u64>, DiskError>;

    /// What has this name, without following it when it is a symbolic link; `None` when nothing has.
    fn look(&self, path: &Path) -> Result<Option<Found>, DiskError>;

    /// The folders outside of which this disk refuses everything as `Outside`; none for a disk that refuses nothing.
    fn folders(&self) -> &[PathBuf] {
        &[]
    }

    /// Free bytes an unprivileged process may still allocate on the file system which holds `path`.
    fn available_bytes(&self, path: &Path) -> Result<u64, DiskError>;

    /// Takes the exclusive lock of an instance on a lock file, creating the file when it is missing. Held until the
    /// returned guard is dropped or the process ends. Fails with `InUse` at once when it is held.
    fn lock_exclusive(&self, path: &Path) -> Result<Box<dyn Send + Sync>, DiskError>;

    /// Puts every sync off for a work whose files are worth nothing before its end, such as the first start of an instance: what
    /// was created, written, synced, renamed or deleted from here on is durable when [`DeferredSyncs::finish`] has returned, and a power
    /// cut before that may keep any part of it. Everything behind the disk is concerned, by whatever file. `None` for a disk that puts
    /// nothing off, and for one that does so already.
    fn defer_syncs(&self) -> Option<Box<dyn DeferredSyncs>> {
        None
    }

    /// Whether everything on it is gone with the process.
    fn is_volatile(&self) -> bool {
        false
    }
}

/// Syncs of a disk that are put off, until this is finished or dropped. What is dropped unfinished leaves nothing of it durable.
pub trait DeferredSyncs: Send {
    /// Makes everything durable that was put off.
    ///
    /// # Errors
    /// That of the first file or directory that cannot be synced; the work is worth nothing then.
    fn finish(self: Box<Self>) -> Result<(), DiskError>;
}

/// A read that was begun: when a modelled disk is done with it.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadUnderWay(Option<device::Moment>);

/// One open file with positioned reads and writes.
#[allow(
    clippy::len_without_is_empty,
    reason = "an empty file has no meaning of its own to the engine"
)]
pub trait File: Send + Sync {
    /// The path the file was opened with (a later rename does not change it).
    fn path(&self) -> &Path;

    /// Which file it is, as the open file itself says.
    fn identity(&self) -> Result<FileIdentity, DiskError>;

    /// Takes the exclusive lock of the file for this open file, until [`File::unlock`], until it is dropped, or until the process
    /// ends. Fails with `InUse` at once while another open file has it, in this process or another one. The lock keeps nobody
    /// from reading or writing but those who ask for it.
    fn lock(&self) -> Result<(), DiskError>;

    /// Gives the lock back, if this open file has it, although the file stays open.
    fn unlock(&self);

    /// Length in bytes.
    fn len(&self) -> Result<u64, DiskError>;

    /// Fills the whole buffer from `offset`; `UnexpectedEnd` when the file ends before.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), DiskError>;

    /// As [`File::read_at`], for a read that is to be under way with others: the bytes are there on return, and what is answered goes to
    /// [`File::finish_read`] before they are used. On a disk whose time is a model's, such reads pass their time side by side; anywhere
    /// else the caller's threads see to that, and this is `read_at`.
    fn begin_read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<ReadUnderWay, DiskError> {
        self.read_at(offset, buffer).map(|()| ReadUnderWay::default())
    }

    /// Waits for a read that was begun.
    fn finish_read(&self, _read: ReadUnderWay) {}

    /// Writes all bytes at `offset`, growing the file when they reach past its end. Not durable until `sync()`.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError>;

    /// Writes all bytes at `offset` and returns when they are durable, together with the length they need. Other
    /// unsynced writes of the file may or may not become durable with it. One O_DIRECT|O_DSYNC write when offset and
    /// length are multiples of `sector_bytes()`; a write and an fdatasync otherwise.
    fn write_durable_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError>;

    /// Writes the parts one after another from `offset`. Not durable until `sync()`.
    fn write_vectored_at(&self, offset: u64, parts: &[&[u8]]) -> Result<(), DiskError>;

    /// Makes every earlier write and length change of this file durable (fdatasync).
    fn sync(&self) -> Result<(), DiskError>;

    /// Grows the file to `new_len` bytes with the space reserved on disk; the new part reads as zeros. `DiskFull`
    /// leaves the file as it was. A file already that long is left alone. Not durable until `sync()`.
    fn grow_reserved(&self, new_len: u64) -> Result<(), DiskError>;

    /// Sets the length in bytes: cuts the tail off, or extends with zeros without reserving space. Not durable until
    /// `sync()`.
    fn set_len(&self, len: u64) -> Result<(), DiskError>;

    /// The alignment in bytes that offset and length of a write should have to be one device write: 512 or 4096, and
    /// 4096 (the physical block of today's devices) wherever the file system accepts it.
    fn sector_bytes(&self) -> u32;
}
