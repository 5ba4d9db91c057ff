//! From a path to the directory that holds its last name, without leaving the folders a disk is confined to.
//!
//! | folders | the path | what happens |
//! |---|---|---|
//! | none | any | the system's own way to the directory |
//! | some | has `..`, or is below none of them | `Outside` |
//! | some | is below one, through directories and links that stay below it | reached |
//! | some | is below one, through a link that leads below another of them | reached |
//! | some | is below one, through a link that leads elsewhere | `Outside` |
//!
//! The kernel itself refuses to leave a folder (openat2 with RESOLVE_BENEATH), so no other program can replace a directory by a link
//! between a check and its use. Without openat2 the path is walked name by name, and no link is followed.
//!
//! The caller then uses the directory's descriptor and the last name, and never follows that name.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use super::uninterrupted;
use crate::{FileIdentity, FileKind, Found};

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A name in an open directory.
pub(super) struct Entry {
    directory: OwnedFd,
    name: OsString,
}

impl Entry {
    /// The entry that `path` leads to. `XDEV` when it leads out of the folders.
    pub fn of(folders: &[PathBuf], path: &Path) -> Result<Entry, Errno> {
        let name = path.file_name().ok_or(Errno::ISDIR)?.to_os_string();
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let directory = open_directory(folders, parent)?;
        Ok(Entry { directory, name })
    }

    pub fn name(&self) -> &OsStr {
        &self.name
    }

    pub fn directory(&self) -> &OwnedFd {
        &self.directory
    }

    pub fn into_directory(self) -> OwnedFd {
        self.directory
    }

    /// Opens the name; a symbolic link is `LOOP`.
    pub fn open(&self, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        uninterrupted(|| rustix::fs::openat(&self.directory, &self.name, flags | OFlags::NOFOLLOW, mode))
    }

    /// Opens a regular file for reading and writing. The open file decides: anything but a regular file is `NXIO`. It is
    /// looked at first all the same, because opening a device can do things.
    pub fn open_file(&self, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        let kind = |status: Stat| found(&status).kind;
        match self.status() {
            Ok(status) if kind(status) != FileKind::Regular => return Err(Errno::NXIO),
            _ => {}
        }
        let flags = flags | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let descriptor = self.open(flags, mode)?;
        match kind(uninterrupted(|| rustix::fs::fstat(&descriptor))?) {
            FileKind::Regular => Ok(descriptor),
            _ => Err(Errno::NXIO),
        }
    }

    /// What has the name.
    pub fn status(&self) -> Result<Stat, Errno> {
        uninterrupted(|| rustix::fs::statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW))
    }

    /// Makes the names of the directory durable.
    pub fn sync_directory(&self) -> Result<(), Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = uninterrupted(|| rustix::fs::openat(&self.directory, ".", flags, Mode::empty()))?;
        uninterrupted(|| rustix::fs::fsync(&directory))
    }
}

/// Opens a directory as far as the folders allow. `XDEV` when it lies outside.
pub(super) fn open_directory(folders: &[PathBuf], path: &Path) -> Result<OwnedFd, Errno> {
    if folders.is_empty() {
        return uninterrupted(|| rustix::fs::open(path, DIRECTORY, Mode::empty()));
    }
    match open_beneath(folders, path) {
        // A link on the way leads out of this folder. Where it leads, taken as a path of its own, may be allowed.
        Err(Errno::XDEV) => {
            let real = std::fs::canonicalize(path).map_err(|_| Errno::XDEV)?;
            let real_folders: Vec<PathBuf> = folders.iter().filter_map(|folder| folder.canonicalize().ok()).collect();
            open_beneath(&real_folders, &real)
        }
        outcome => outcome,
    }
}

fn open_beneath(folders: &[PathBuf], path: &Path) -> Result<OwnedFd, Errno> {
    if path.components().any(|part| part == Component::ParentDir) {
        return Err(Errno::XDEV);
    }
    // The innermost folder: a link out of an outer one may stay inside it.
    let below = folders
        .iter()
        .filter_map(|folder| Some((folder, path.strip_prefix(folder).ok()?)));
    let (folder, rest) = below
        .min_by_key(|(_, rest)| rest.as_os_str().len())
        .ok_or(Errno::XDEV)?;
    let folder = uninterrupted(|| rustix::fs::open(folder, DIRECTORY, Mode::empty()))?;
    if rest.as_os_str().is_empty() {
        return Ok(folder);
    }
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match uninterrupted(|| rustix::fs::openat2(&folder, rest, DIRECTORY, Mode::empty(), resolve)) {
        // PERM: a container whose filter does not know the call.
        Err(Errno::NOSYS | Errno::PERM) => walk(folder, rest),
        outcome => outcome,
    }
}

/// Goes down name by name; no name may be a link.
fn walk(folder: OwnedFd, rest: &Path) -> Result<OwnedFd, Errno> {
    rest.components().try_fold(folder, |directory, part| {
        let flags = DIRECTORY | OFlags::NOFOLLOW;
        match uninterrupted(|| rustix::fs::openat(&directory, part.as_os_str(), flags, Mode::empty())) {
            Err(Errno::LOOP | Errno::NOTDIR) => {
                let status = rustix::fs::statat(&directory, part.as_os_str(), AtFlags::SYMLINK_NOFOLLOW)?;
                match FileType::from_raw_mode(status.st_mode) {
                    FileType::Symlink => Err(Errno::XDEV),
                    _ => Err(Errno::NOTDIR),
                }
            }
            outcome => outcome,
        }
    })
}

pub(super) fn identity_of(descriptor: impl AsFd) -> Result<FileIdentity, Errno> {
    uninterrupted(|| rustix::fs::fstat(&descriptor)).map(|status| found(&status).identity)
}

pub(super) fn found(status: &Stat) -> Found {
    let kind = match FileType::from_raw_mode(status.st_mode) {
        FileType::RegularFile => FileKind::Regular,
        FileType::Directory => FileKind::Directory,
        _ => FileKind::Other,
    };
    Found {
        kind,
        identity: FileIdentity {
            device: status.st_dev,
            inode: status.st_ino,
        },
        len: match kind {
            FileKind::Regular => u64::try_from(status.st_size).unwrap_or(0),
            _ => 0,
        },
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The walk of kernels without openat2 comes to the same, links apart.
    #[test]
    fn the_walk_reaches_directories_and_follows_no_link() {
        let base = std::env::temp_dir().join(format!("vlflab-walk-{}", std::process::id()));
        std::fs::create_dir_all(base.join("a/b")).unwrap();
        std::os::unix::fs::symlink("/", base.join("a/out")).unwrap();
        std::fs::write(base.join("file"), "x").unwrap();
        let folder = || rustix::fs::open(&base, DIRECTORY, Mode::empty()).unwrap();
        assert!(walk(folder(), Path::new("a/b")).is_ok());
        assert_eq!(walk(folder(), Path::new("a/out/etc")).unwrap_err(), Errno::XDEV);
        assert_eq!(walk(folder(), Path::new("file/x")).unwrap_err(), Errno::NOTDIR);
        assert_eq!(walk(folder(), Path::new("none")).unwrap_err(), Errno::NOENT);
        std::fs::remove_dir_all(&base).unwrap();
    }
}
