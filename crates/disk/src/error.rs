//! The one error type of file access: what was tried, where, and why it failed.
//!
//! Callers decide by [`DiskErrorKind`]; people read the sentence of `Display`. The operating system's number is kept
//! for the messages that quote it ("Operating system error 112(...)" in SQL Server's style).

use std::fmt;
use std::path::{Path, PathBuf};

/// Why an operation failed, as far as callers must tell cases apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DiskErrorKind {
    /// No file or directory has that name.
    NotFound,
    /// The name is taken.
    AlreadyExists,
    /// The operating system refused access.
    PermissionDenied,
    /// No space, or no quota, is left; the operation may succeed once space is freed.
    DiskFull,
    /// Any other failure of the device or the file system.
    Io,
    /// The file ends before the bytes asked for.
    UnexpectedEnd,
    /// The simulated power is gone; nothing works any more on this disk.
    PowerCut,
    /// Another process, or another part of this one, holds the lock.
    InUse,
    /// The caller no longer wants it. Users of a disk raise it, a disk never does.
    Cancelled,
    /// The name leads to a directory, a device, a FIFO, a socket or a symbolic link.
    NotAFile,
    /// The path leads out of the folders the disk is confined to.
    Outside,
    /// The open file has no name left: what is written to it is gone when it is closed.
    Deleted,
}

impl DiskErrorKind {
    fn reason(self) -> &'static str {
        match self {
            DiskErrorKind::NotFound => "there is no such file or directory",
            DiskErrorKind::AlreadyExists => "the name is already taken",
            DiskErrorKind::PermissionDenied => "the operating system denies access",
            DiskErrorKind::DiskFull => "there is not enough space on the disk",
            DiskErrorKind::Io => "the device or the file system failed",
            DiskErrorKind::UnexpectedEnd => "the file ends before the bytes asked for",
            DiskErrorKind::PowerCut => "the power was cut",
            DiskErrorKind::InUse => "it is locked by another user",
            DiskErrorKind::Cancelled => "the request was cancelled",
            DiskErrorKind::NotAFile => "it is not a regular file",
            DiskErrorKind::Outside => "the path leads out of the folders that may be used",
            DiskErrorKind::Deleted => "the file was deleted while it was open",
        }
    }
}

/// A failed operation on a disk. Its `Display` is one sentence without a full stop: what, where, why.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiskError {
    /// The case callers decide by.
    pub kind: DiskErrorKind,
    /// What was tried, a verb: "open", "read", "write", "sync", ...
    pub operation: &'static str,
    /// The file or directory it was tried on.
    pub path: PathBuf,
    /// Offset in bytes where the operation began, for reads, writes and growth.
    pub offset: Option<u64>,
    /// The operating system's error number, when it came from there.
    pub os_error: Option<i32>,
}

impl DiskError {
    /// An error without offset and without a number of the operating system.
    pub fn new(kind: DiskErrorKind, operation: &'static str, path: &Path) -> DiskError {
        DiskError {
            kind,
            operation,
            path: path.to_path_buf(),
            offset: None,
            os_error: None,
        }
    }

    /// The same error with the offset in bytes where the operation began.
    pub fn at(mut self, offset: u64) -> DiskError {
        self.offset = Some(offset);
        self
    }

    /// The same error with the operating system's number.
    pub fn with_os_error(mut self, os_error: i32) -> DiskError {
        self.os_error = Some(os_error);
        self
    }

    pub(crate) fn from_errno(errno: rustix::io::Errno, operation: &'static str, path: &Path) -> DiskError {
        use rustix::io::Errno;
        let kind = match errno {
            Errno::NOENT | Errno::NOTDIR => DiskErrorKind::NotFound,
            Errno::EXIST => DiskErrorKind::AlreadyExists,
            Errno::ACCESS | Errno::PERM | Errno::ROFS => DiskErrorKind::PermissionDenied,
            Errno::NOSPC | Errno::DQUOT => DiskErrorKind::DiskFull,
            Errno::WOULDBLOCK => DiskErrorKind::InUse,
            Errno::LOOP | Errno::ISDIR | Errno::NXIO => DiskErrorKind::NotAFile,
            Errno::XDEV => DiskErrorKind::Outside,
            _ => DiskErrorKind::Io,
        };
        DiskError::new(kind, operation, path).with_os_error(errno.raw_os_error())
    }
}

impl fmt::Display for DiskError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "cannot {} '{}'", self.operation, self.path.display())?;
        if let Some(offset) = self.offset {
            write!(formatter, " at byte {offset}")?;
        }
        write!(formatter, ": {}", self.kind.reason())?;
        if let Some(os_error) = self.os_error {
            write!(formatter, " (operating system error {os_error})")?;
        }
        Ok(())
    }
}

impl std::error::Error for DiskError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_sentence_with_what_where_and_why() {
        let error = DiskError::new(DiskErrorKind::DiskFull, "write", Path::new("/d/a.ldf"))
            .at(8192)
            .with_os_error(28);
        assert_eq!(
            error.to_string(),
            "cannot write '/d/a.ldf' at byte 8192: there is not enough space on the disk (operating system error 28)"
        );
    }

    #[test]
    fn numbers_of_the_operating_system_become_kinds() {
        use rustix::io::Errno;
        for (errno, kind) in [
            (Errno::NOSPC, DiskErrorKind::DiskFull),
            (Errno::DQUOT, DiskErrorKind::DiskFull),
            (Errno::IO, DiskErrorKind::Io),
            (Errno::NOENT, DiskErrorKind::NotFound),
            (Errno::EXIST, DiskErrorKind::AlreadyExists),
            (Errno::ROFS, DiskErrorKind::PermissionDenied),
            (Errno::WOULDBLOCK, DiskErrorKind::InUse),
            (Errno::LOOP, DiskErrorKind::NotAFile),
            (Errno::XDEV, DiskErrorKind::Outside),
        ] {
            let error = DiskError::from_errno(errno, "open", Path::new("/x"));
            assert_eq!(error.kind, kind, "{errno}");
            assert_eq!(error.os_error, Some(errno.raw_os_error()));
        }
    }
}
