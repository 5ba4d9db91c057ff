//! The operating system's disk: names here, the bytes of one open file in `file`.
//!
//! Every change of the name space is followed by an fsync of the directory it happened in, so that it is durable on
//! return. Locks are `flock` locks: they belong to the open file description and vanish with the process.

mod deferral;
mod file;
mod walk;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::{Access, DeferredSyncs, Disk, DiskError, File, FileKind, Found};
use deferral::Deferral;
use file::OsFile;
use walk::{Entry, found, open_directory};

/// Databases and passwords are private to the user, whatever the umask.
const FILE_MODE: Mode = Mode::from_raw_mode(0o600);
const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o700);

/// The files of the operating system. Paths are taken as they are; relative ones start at the working directory.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsDisk;

/// The files of the operating system that lie in a few folders; see [`walk`] for what lies there.
#[derive(Debug, Clone)]
pub struct ConfinedDisk {
    folders: Vec<PathBuf>,
    deferral: Arc<Deferral>,
}

impl ConfinedDisk {
    /// The folders, as absolute paths without `..`; each may be missing yet. At least one.
    pub fn new(folders: Vec<PathBuf>) -> ConfinedDisk {
        assert!(
            !folders.is_empty(),
            "a disk confined to nothing would be confined to no folder at all"
        );
        ConfinedDisk {
            folders,
            deferral: Arc::default(),
        }
    }
}

/// Repeats a system call that a signal interrupted.
fn uninterrupted<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => continue,
            result => return result,
        }
    }
}

/// What both disks do.
#[derive(Clone, Copy)]
struct Reach<'a> {
    /// In these folders or, without any, everywhere.
    folders: &'a [PathBuf],
    /// What can put syncs off.
    deferral: Option<&'a Arc<Deferral>>,
}

impl Reach<'_> {
    /// Makes the names of the directory that a path lies in durable, or puts that off.
    fn sync_names(self, path: &Path, entry: &Entry) -> Result<(), Errno> {
        match self.deferral.is_some_and(|deferral| deferral.puts_off_names(path)) {
            true => Ok(()),
            false => entry.sync_directory(),
        }
    }

    /// Does something with the entry of a path.
    fn at<T>(
        self,
        operation: &'static str,
        path: &Path,
        work: impl FnOnce(&Entry) -> Result<T, Errno>,
    ) -> Result<T, DiskError> {
        let done = Entry::of(self.folders, path).and_then(|entry| work(&entry));
        done.map_err(|errno| DiskError::from_errno(errno, operation, path))
    }

    fn open(self, path: &Path, access: Access) -> Result<Arc<dyn File>, DiskError> {
        let opened = |entry: Entry| {
            entry
                .open_file(OFlags::empty(), Mode::empty())
                .map(|file| (entry, file))
        };
        let opened = Entry::of(self.folders, path).and_then(opened);
        let (entry, descriptor) = opened.map_err(|errno| DiskError::from_errno(errno, "open", path))?;
        Ok(Arc::new(OsFile::new(
            path,
            &entry,
            descriptor,
            access,
            self.deferral.cloned(),
        )?))
    }

    fn create(self, path: &Path, access: Access) -> Result<Arc<dyn File>, DiskError> {
        let failed = |errno| DiskError::from_errno(errno, "create", path);
        let entry = Entry::of(self.folders, path).map_err(failed)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let descriptor = entry.open(flags, FILE_MODE).map_err(failed)?;
        if !self.deferral.is_some_and(|deferral| deferral.puts_off(path)) {
            uninterrupted(|| rustix::fs::fsync(&descriptor)).map_err(failed)?;
        }
        self.sync_names(path, &entry).map_err(failed)?;
        Ok(Arc::new(OsFile::new(
            path,
            &entry,
            descriptor,
            access,
            self.deferral.cloned(),
        )?))
    }

    fn delete(self, path: &Path) -> Result<(), DiskError> {
        self.at("delete", path, |entry| {
            if found(&entry.status()?).kind == FileKind::Directory {
                return Err(Errno::ISDIR);
            }
            uninterrupted(|| rustix::fs::unlinkat(entry.directory(), entry.name(), AtFlags::empty()))?;
            self.sync_names(path, entry)
        })
    }

    fn rename(self, from: &Path, to: &Path, flags: RenameFlags) -> Result<(), DiskError> {
        self.at("rename", from, |source| {
            let target = Entry::of(self.folders, to)?;
            let taken = target.status().map(|status| found(&status).kind);
            if taken.is_ok_and(|kind| kind != FileKind::Regular) {
                return Err(Errno::ISDIR);
            }
            let rename = |flags| {
                let (source_at, target_at) = (source.directory(), target.directory());
                uninterrupted(|| rustix::fs::renameat_with(source_at, source.name(), target_at, target.name(), flags))
            };
            match rename(flags) {
                Err(Errno::INVAL | Errno::NOSYS) if !flags.is_empty() => link_and_unlink(source, &target)?,
                outcome => outcome?,
            }
            if let Some(deferral) = self.deferral {
                // Its bytes may have been put off under the name it had.
                deferral.puts_off(to);
            }
            self.sync_names(to, &target)?;
            match from.parent() == to.parent() {
                true => Ok(()),
                false => self.sync_names(from, source),
            }
        })
    }

    /// Makes a folder and those above it that are missing, from the top down: a path may have thousands of parts.
    fn create_directories(self, path: &Path) -> Result<(), DiskError> {
        let mut missing = Vec::new();
        for folder in path.ancestors().filter(|folder| !folder.as_os_str().is_empty()) {
            match open_directory(self.reach_to(folder).folders, folder) {
                Ok(_) => break,
                Err(Errno::NOENT) => missing.push(folder),
                Err(errno) => return Err(DiskError::from_errno(errno, "create directory", folder)),
            }
        }
        missing.into_iter().rev().try_for_each(|folder| {
            self.reach_to(folder).at("create directory", folder, |entry| {
                match uninterrupted(|| rustix::fs::mkdirat(entry.directory(), entry.name(), DIRECTORY_MODE)) {
                    // Another process made the directory in between, which is what was asked for.
                    Err(Errno::EXIST) if found(&entry.status()?).kind == FileKind::Directory => {}
                    outcome => outcome?,
                }
                self.sync_names(folder, entry)
            })
        })
    }

    /// What lies above a folder of the disk, and that folder's own entry, is made as it is everywhere.
    fn reach_to(self, path: &Path) -> Self {
        match self.folders.iter().any(|folder| folder.starts_with(path)) {
            true => Reach { folders: &[], ..self },
            false => self,
        }
    }

    fn list(self, path: &Path) -> Result<Vec<PathBuf>, DiskError> {
        let listed = || -> Result<Vec<PathBuf>, Errno> {
            let directory = open_directory(self.folders, path)?;
            let mut paths = Vec::new();
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let readable = uninterrupted(|| rustix::fs::openat(&directory, ".", flags, Mode::empty()))?;
            for entry in rustix::fs::Dir::new(readable)? {
                let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_os_string();
                if name != "." && name != ".." {
                    paths.push(path.join(name));
                }
            }
            Ok(paths)
        };
        let mut paths = listed().map_err(|errno| DiskError::from_errno(errno, "list", path))?;
        paths.sort();
        Ok(paths)
    }

    fn look(self, path: &Path) -> Result<Option<Found>, DiskError> {
        // What a folder of the disk lies in is out of reach, the folder itself is not.
        let seen = match self.folders.iter().any(|folder| folder == path) {
            true => open_directory(self.folders, path).and_then(|folder| uninterrupted(|| rustix::fs::fstat(&folder))),
            false => Entry::of(self.folders, path).and_then(|entry| entry.status()),
        };
        match seen {
            Ok(status) => Ok(Some(found(&status))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(errno) => Err(DiskError::from_errno(errno, "measure", path)),
        }
    }

    fn len(self, path: &Path) -> Result<Option<u64>, DiskError> {
        let found = self.look(path)?;
        Ok(found
            .filter(|found| found.kind == FileKind::Regular)
            .map(|found| found.len))
    }

    fn available_bytes(self, path: &Path) -> Result<u64, DiskError> {
        let directory = match open_directory(self.folders, path) {
            Err(Errno::NOTDIR) => Entry::of(self.folders, path).map(Entry::into_directory),
            outcome => outcome,
        };
        let space = directory.and_then(|directory| uninterrupted(|| rustix::fs::fstatvfs(&directory)));
        let space = space.map_err(|errno| DiskError::from_errno(errno, "measure free space of", path))?;
        Ok(space.f_bavail.saturating_mul(space.f_frsize))
    }

    fn defer_syncs(self) -> Option<Box<dyn DeferredSyncs>> {
        let begun = Deferral::begin(self.deferral?, self.folders)?;
        Some(Box::new(begun))
    }

    fn lock_exclusive(self, path: &Path) -> Result<Box<dyn Send + Sync>, DiskError> {
        self.at("lock", path, |entry| {
            let descriptor = entry.open_file(OFlags::CREATE, FILE_MODE)?;
            uninterrupted(|| rustix::fs::flock(&descriptor, FlockOperation::NonBlockingLockExclusive))?;
            Ok(Box::new(descriptor) as Box<dyn Send + Sync>)
        })
    }
}

/// Gives a file a free name on a file system whose renames cannot ask for one: a link is made only where the name is free. Without
/// links as well, the name is looked at, and that has to do.
fn link_and_unlink(source: &Entry, target: &Entry) -> Result<(), Errno> {
    let (source_at, target_at) = (source.directory(), target.directory());
    match rustix::fs::linkat(source_at, source.name(), target_at, target.name(), AtFlags::empty()) {
        Err(Errno::PERM | Errno::NOSYS | Errno::OPNOTSUPP) if target.status().is_err() => {
            return rustix::fs::renameat(source_at, source.name(), target_at, target.name());
        }
        outcome => outcome?,
    }
    target.sync_directory()?;
    uninterrupted(|| rustix::fs::unlinkat(source_at, source.name(), AtFlags::empty()))
}

/// Both disks are a reach.
macro_rules! disk_of_the_system {
    ($disk:ty, $reach:expr) => {
        impl Disk for $disk {
            fn open(&self, path: &Path, access: Access) -> Result<Arc<dyn File>, DiskError> {
                $reach(self).open(path, access)
            }

            fn create(&self, path: &Path, access: Access) -> Result<Arc<dyn File>, DiskError> {
                $reach(self).create(path, access)
            }

            fn delete(&self, path: &Path) -> Result<(), DiskError> {
                $reach(self).delete(path)
            }

            fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
                $reach(self).rename(from, to, RenameFlags::empty())
            }

            fn rename_new(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
                $reach(self).rename(from, to, RenameFlags::NOREPLACE)
            }

            fn create_directories(&self, path: &Path) -> Result<(), DiskError> {
                $reach(self).create_directories(path)
            }

            fn list(&self, directory: &Path) -> Result<Vec<PathBuf>, DiskError> {
                $reach(self).list(directory)
            }

            fn len(&self, path: &Path) -> Result<Option<u64>, DiskError> {
                $reach(self).len(path)
            }

            fn look(&self, path: &Path) -> Result<Option<Found>, DiskError> {
                $reach(self).look(path)
            }

            fn folders(&self) -> &[PathBuf] {
                $reach(self).folders
            }

            fn available_bytes(&self, path: &Path) -> Result<u64, DiskError> {
                $reach(self).available_bytes(path)
            }

            fn lock_exclusive(&self, path: &Path) -> Result<Box<dyn Send + Sync>, DiskError> {
                $reach(self).lock_exclusive(path)
            }

            fn defer_syncs(&self) -> Option<Box<dyn DeferredSyncs>> {
                $reach(self).defer_syncs()
            }
        }
    };
}

fn everywhere(_: &OsDisk) -> Reach<'_> {
    Reach {
        folders: &[],
        deferral: None,
    }
}

fn in_folders(disk: &ConfinedDisk) -> Reach<'_> {
    Reach {
        folders: &disk.folders,
        deferral: Some(&disk.deferral),
    }
}

disk_of_the_system!(OsDisk, everywhere);
disk_of_the_system!(ConfinedDisk, in_folders);

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
