//! The operating system's disk: names here, the bytes of one open file in `file`.
//!
//! Every change of the name space is followed by an fsync of the directory it happened in, so that it is durable on
//! return. Locks are `flock` locks: they belong to the open file description and vanish with the process.

mod file;

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::{Access, Disk, DiskError, File};
use file::OsFile;

/// Databases and passwords are nobody else's, whatever the umask says.
const FILE_MODE: Mode = Mode::from_raw_mode(0o600);
const FOLDER_MODE: u32 = 0o700;

/// The files of the operating system. Paths are taken as they are; relative ones start at the working directory.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsDisk;

/// Repeats a system call that a signal interrupted.
fn uninterrupted<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => continue,
            result => return result,
        }
    }
}

/// The directory that holds the entry of `path`.
fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) => Path::new("."),
        None => path,
    }
}

fn sync_directory(directory: &Path) -> Result<(), DiskError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    uninterrupted(|| rustix::fs::open(directory, flags, Mode::empty()))
        .and_then(|descriptor| uninterrupted(|| rustix::fs::fsync(&descriptor)))
        .map_err(|errno| DiskError::from_errno(errno, "sync directory", directory))
}

impl Disk for OsDisk {
    fn open(&self, path: &Path, access: Access) -> Result<Arc<dyn File>, DiskError> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let descriptor = uninterrupted(|| rustix::fs::open(path, flags, Mode::empty()))
            .map_err(|errno| DiskError::from_errno(errno, "open", path))?;
        Ok(Arc::new(OsFile::new(path, descriptor, access)?))
    }

    fn create(&self, path: &Path, access: Access) -> Result<Arc<dyn File>, DiskError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let descriptor = uninterrupted(|| rustix::fs::open(path, flags, FILE_MODE))
            .map_err(|errno| DiskError::from_errno(errno, "create", path))?;
        uninterrupted(|| rustix::fs::fsync(&descriptor))
            .map_err(|errno| DiskError::from_errno(errno, "create", path))?;
        sync_directory(directory_of(path))?;
        Ok(Arc::new(OsFile::new(path, descriptor, access)?))
    }

    fn delete(&self, path: &Path) -> Result<(), DiskError> {
        uninterrupted(|| rustix::fs::unlink(path)).map_err(|errno| DiskError::from_errno(errno, "delete", path))?;
        sync_directory(directory_of(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        uninterrupted(|| rustix::fs::rename(from, to)).map_err(|errno| DiskError::from_errno(errno, "rename", from))?;
        let (source, target) = (directory_of(from), directory_of(to));
        sync_directory(target)?;
        if source != target {
            sync_directory(source)?;
        }
        Ok(())
    }

    fn create_directories(&self, path: &Path) -> Result<(), DiskError> {
        if path.is_dir() || path.as_os_str().is_empty() {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            self.create_directories(parent)?;
        }
        match std::fs::DirBuilder::new().mode(FOLDER_MODE).create(path) {
            Ok(()) => sync_directory(directory_of(path)),
            // Somebody else made the directory in between, which is what was asked for.
            Err(_) if path.is_dir() => sync_directory(directory_of(path)),
            Err(error) => Err(DiskError::from_std(&error, "create directory", path)),
        }
    }

    fn list(&self, directory: &Path) -> Result<Vec<PathBuf>, DiskError> {
        let failed = |error: std::io::Error| DiskError::from_std(&error, "list", directory);
        let mut paths = std::fs::read_dir(directory)
            .map_err(failed)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<Vec<PathBuf>, std::io::Error>>()
            .map_err(failed)?;
        paths.sort();
        Ok(paths)
    }

    fn len(&self, path: &Path) -> Result<Option<u64>, DiskError> {
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => Ok(Some(metadata.len())),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(DiskError::from_std(&error, "measure", path)),
        }
    }

    fn available_bytes(&self, path: &Path) -> Result<u64, DiskError> {
        let space = uninterrupted(|| rustix::fs::statvfs(path))
            .map_err(|errno| DiskError::from_errno(errno, "measure free space of", path))?;
        Ok(space.f_bavail.saturating_mul(space.f_frsize))
    }

    fn lock_exclusive(&self, path: &Path) -> Result<Box<dyn Send + Sync>, DiskError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
        let descriptor = uninterrupted(|| rustix::fs::open(path, flags, FILE_MODE))
            .map_err(|errno| DiskError::from_errno(errno, "lock", path))?;
        uninterrupted(|| rustix::fs::flock(&descriptor, FlockOperation::NonBlockingLockExclusive))
            .map_err(|errno| DiskError::from_errno(errno, "lock", path))?;
        Ok(Box::new(descriptor))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
