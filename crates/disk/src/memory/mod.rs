//! A folder whose files are in this process's memory; other folders belong to another disk.
//!
//! Nothing outlives the process, however it ends, and [`Disk::is_volatile`] says so. Within the process the invariants of the traits hold.
//!
//! Space is counted by the lengths of files. A reservation only counts; memory is allocated when bytes are written.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};

use crate::content::Content;
use crate::{Access, Disk, DiskError, DiskErrorKind, File, FileIdentity, FileKind, Found};

/// ENOSPC of Linux.
const OS_ERROR_NO_SPACE: i32 = 28;
/// No device of Linux has this number: it is twelve bits of major and twenty of minor, in 64 bits with gaps (makedev(3)).
const DEVICE: u64 = u64::MAX;
const SECTOR_BYTES: u32 = 4096;

/// The disk. Paths below its folder are in memory, all others are the other disk's.
pub struct MemoryDisk {
    folder: PathBuf,
    others: Arc<dyn Disk>,
    space: Arc<Space>,
    names: Mutex<Names>,
}

#[derive(Default)]
struct Names {
    files: BTreeMap<PathBuf, Arc<Stored>>,
    /// With their numbers. None is ever removed.
    directories: BTreeMap<PathBuf, u64>,
    /// Of files and directories.
    last_number: u64,
}

/// What files may take together, and take.
struct Space {
    capacity_bytes: u64,
    used_bytes: AtomicU64,
}

/// A file, with or without a name.
struct Stored {
    number: u64,
    content: RwLock<Content>,
    has_name: AtomicBool,
    is_locked: AtomicBool,
    space: Arc<Space>,
}

/// One open file.
struct MemoryFile {
    path: PathBuf,
    stored: Arc<Stored>,
    has_lock: AtomicBool,
}

impl MemoryDisk {
    /// `folder`, an absolute path without `..`, in memory; everything else on `others`. The files of the folder have `capacity_bytes`.
    pub fn new(folder: PathBuf, others: Arc<dyn Disk>, capacity_bytes: u64) -> MemoryDisk {
        let mut names = Names::default();
        names.make_directories(&folder);
        MemoryDisk {
            folder,
            others,
            space: Arc::new(Space {
                capacity_bytes,
                used_bytes: AtomicU64::new(0),
            }),
            names: Mutex::new(names),
        }
    }

    /// The name of a path in memory; `None` when it is the other disk's.
    fn name(&self, operation: &'static str, path: &Path) -> Result<Option<PathBuf>, DiskError> {
        let name: PathBuf = path.components().filter(|part| *part != Component::CurDir).collect();
        if !name.starts_with(&self.folder) {
            return Ok(None);
        }
        match name.components().any(|part| part == Component::ParentDir) {
            true => Err(DiskError::new(DiskErrorKind::Outside, operation, path)),
            false => Ok(Some(name)),
        }
    }

    fn opened(path: &Path, stored: &Arc<Stored>) -> Arc<dyn File> {
        Arc::new(MemoryFile {
            path: path.to_path_buf(),
            stored: Arc::clone(stored),
            has_lock: AtomicBool::new(false),
        })
    }

    fn rename_if(&self, from: &Path, to: &Path, may_replace: bool) -> Result<(), DiskError> {
        let (old, new) = match (self.name("rename", from)?, self.name("rename", to)?) {
            (Some(old), Some(new)) => (old, new),
            (None, None) if may_replace => return self.others.rename(from, to),
            (None, None) => return self.others.rename_new(from, to),
            _ => return Err(DiskError::new(DiskErrorKind::Outside, "rename", from)),
        };
        let mut names = self.names.lock();
        if !names.files.contains_key(&old) {
            return Err(DiskError::new(DiskErrorKind::NotFound, "rename", from));
        }
        if names.directories.contains_key(&new) {
            return Err(DiskError::new(DiskErrorKind::NotAFile, "rename", to));
        }
        if !may_replace && names.files.contains_key(&new) {
            return Err(DiskError::new(DiskErrorKind::AlreadyExists, "rename", to));
        }
        names.check_parent("rename", &new, to)?;
        if old != new
            && let Some(stored) = names.files.remove(&old)
            && let Some(replaced) = names.files.insert(new, stored)
        {
            replaced.has_name.store(false, Ordering::Release);
        }
        Ok(())
    }
}

impl Names {
    /// The folder of a new name is there.
    fn check_parent(&self, operation: &'static str, name: &Path, path: &Path) -> Result<(), DiskError> {
        match name
            .parent()
            .is_some_and(|parent| self.directories.contains_key(parent))
        {
            true => Ok(()),
            false => Err(DiskError::new(DiskErrorKind::NotFound, operation, path)),
        }
    }

    fn make_directories(&mut self, path: &Path) {
        for directory in path.ancestors() {
            if !self.directories.contains_key(directory) {
                self.last_number += 1;
                self.directories.insert(directory.to_path_buf(), self.last_number);
            }
        }
    }

    fn make(&mut self, name: PathBuf, space: &Arc<Space>) -> Arc<Stored> {
        self.last_number += 1;
        let stored = Arc::new(Stored {
            number: self.last_number,
            content: RwLock::default(),
            has_name: AtomicBool::new(true),
            is_locked: AtomicBool::new(false),
            space: Arc::clone(space),
        });
        self.files.insert(name, Arc::clone(&stored));
        stored
    }
}

impl Space {
    /// Takes bytes, if there are so many.
    fn take(&self, bytes: u64) -> bool {
        let taken = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= self.capacity_bytes);
        self.used_bytes
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, taken)
            .is_ok()
    }

    fn give_back(&self, bytes: u64) {
        self.used_bytes.fetch_sub(bytes, Ordering::AcqRel);
    }

    fn available_bytes(&self) -> u64 {
        self.capacity_bytes
            .saturating_sub(self.used_bytes.load(Ordering::Acquire))
    }
}

impl Drop for Stored {
    fn drop(&mut self) {
        self.space.give_back(self.content.get_mut().len());
    }
}

impl Disk for MemoryDisk {
    fn open(&self, path: &Path, access: Access) -> Result<Arc<dyn File>, DiskError> {
        let Some(name) = self.name("open", path)? else {
            return self.others.open(path, access);
        };
        let names = self.names.lock();
        match names.files.get(&name) {
            Some(stored) => Ok(MemoryDisk::opened(path, stored)),
            None if names.directories.contains_key(&name) => Err(DiskError::new(DiskErrorKind::NotAFile, "open", path)),
            None => Err(DiskError::new(DiskErrorKind::NotFound, "open", path)),
        }
    }

    fn create(&self, path: &Path, access: Access) -> Result<Arc<dyn File>, DiskError> {
        let Some(name) = self.name("create", path)? else {
            return self.others.create(path, access);
        };
        let mut names = self.names.lock();
        if names.files.contains_key(&name) || names.directories.contains_key(&name) {
            return Err(DiskError::new(DiskErrorKind::AlreadyExists, "create", path));
        }
        names.check_parent("create", &name, path)?;
        let stored = names.make(name, &self.space);
        Ok(MemoryDisk::opened(path, &stored))
    }

    fn delete(&self, path: &Path) -> Result<(), DiskError> {
        let Some(name) = self.name("delete", path)? else {
            return self.others.delete(path);
        };
        let removed = self.names.lock().files.remove(&name);
        let removed = removed.ok_or_else(|| DiskError::new(DiskErrorKind::NotFound, "delete", path))?;
        removed.has_name.store(false, Ordering::Release);
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.rename_if(from, to, true)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.rename_if(from, to, false)
    }

    fn create_directories(&self, path: &Path) -> Result<(), DiskError> {
        let Some(name) = self.name("create directory", path)? else {
            return self.others.create_directories(path);
        };
        let mut names = self.names.lock();
        if name.ancestors().any(|ancestor| names.files.contains_key(ancestor)) {
            return Err(DiskError::new(DiskErrorKind::AlreadyExists, "create directory", path));
        }
        names.make_directories(&name);
        Ok(())
    }

    fn list(&self, directory: &Path) -> Result<Vec<PathBuf>, DiskError> {
        let Some(name) = self.name("list", directory)? else {
            return self.others.list(directory);
        };
        let names = self.names.lock();
        if !names.directories.contains_key(&name) {
            return Err(DiskError::new(DiskErrorKind::NotFound, "list", directory));
        }
        let all = names.files.keys().chain(names.directories.keys());
        let inside = all.filter(|path| path.parent() == Some(&name));
        let mut paths: Vec<PathBuf> = inside
            .filter_map(|path| Some(directory.join(path.file_name()?)))
            .collect();
        paths.sort();
        Ok(paths)
    }

    fn len(&self, path: &Path) -> Result<Option<u64>, DiskError> {
        let Some(name) = self.name("measure", path)? else {
            return self.others.len(path);
        };
        Ok(self
            .names
            .lock()
            .files
            .get(&name)
            .map(|stored| stored.content.read().len()))
    }

    fn look(&self, path: &Path) -> Result<Option<Found>, DiskError> {
        let Some(name) = self.name("measure", path)? else {
            return self.others.look(path);
        };
        let names = self.names.lock();
        if let Some(number) = names.directories.get(&name) {
            return Ok(Some(Found {
                kind: FileKind::Directory,
                identity: identity_of(*number),
                len: 0,
            }));
        }
        Ok(names.files.get(&name).map(|stored| Found {
            kind: FileKind::Regular,
            identity: identity_of(stored.number),
            len: stored.content.read().len(),
        }))
    }

    fn folders(&self) -> &[PathBuf] {
        self.others.folders()
    }

    fn available_bytes(&self, path: &Path) -> Result<u64, DiskError> {
        match self.name("measure free space of", path)? {
            Some(_) => Ok(self.space.available_bytes()),
            None => self.others.available_bytes(path),
        }
    }

    fn lock_exclusive(&self, path: &Path) -> Result<Box<dyn Send + Sync>, DiskError> {
        let Some(name) = self.name("lock", path)? else {
            return self.others.lock_exclusive(path);
        };
        let mut names = self.names.lock();
        names.check_parent("lock", &name, path)?;
        let stored = match names.files.get(&name) {
            Some(stored) => Arc::clone(stored),
            None => names.make(name, &self.space),
        };
        match stored.is_locked.swap(true, Ordering::AcqRel) {
            true => Err(DiskError::new(DiskErrorKind::InUse, "lock", path)),
            false => Ok(Box::new(Guard(stored))),
        }
    }

    fn is_volatile(&self) -> bool {
        true
    }
}

fn identity_of(number: u64) -> FileIdentity {
    FileIdentity {
        device: DEVICE,
        inode: number,
    }
}

/// The lock of an instance, until it is dropped.
struct Guard(Arc<Stored>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.is_locked.store(false, Ordering::Release);
    }
}

impl MemoryFile {
    fn error(&self, kind: DiskErrorKind, operation: &'static str) -> DiskError {
        DiskError::new(kind, operation, &self.path)
    }

    /// Extends the file, if there is room.
    fn extend(&self, content: &mut Content, len: u64, operation: &'static str) -> Result<(), DiskError> {
        let missing = len.saturating_sub(content.len());
        if !self.stored.space.take(missing) {
            let error = self.error(DiskErrorKind::DiskFull, operation);
            return Err(error.with_os_error(OS_ERROR_NO_SPACE).at(content.len()));
        }
        content.extend_to(len);
        Ok(())
    }

    fn write(&self, offset: u64, parts: &[&[u8]]) -> Result<(), DiskError> {
        let len: u64 = parts.iter().map(|part| part.len() as u64).sum();
        let end = offset.checked_add(len);
        let end = end.ok_or_else(|| self.error(DiskErrorKind::DiskFull, "write").at(offset))?;
        let mut content = self.stored.content.write();
        if len > 0 {
            self.extend(&mut content, end, "write")?;
        }
        let mut at = offset;
        for part in parts {
            content.write_within(at, part);
            at += part.len() as u64;
        }
        Ok(())
    }

    fn check_has_name(&self, operation: &'static str) -> Result<(), DiskError> {
        match self.stored.has_name.load(Ordering::Acquire) {
            true => Ok(()),
            false => Err(self.error(DiskErrorKind::Deleted, operation)),
        }
    }
}

impl File for MemoryFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn identity(&self) -> Result<FileIdentity, DiskError> {
        Ok(identity_of(self.stored.number))
    }

    fn lock(&self) -> Result<(), DiskError> {
        if !self.has_lock.load(Ordering::Acquire) {
            if self.stored.is_locked.swap(true, Ordering::AcqRel) {
                return Err(self.error(DiskErrorKind::InUse, "lock"));
            }
            self.has_lock.store(true, Ordering::Release);
        }
        Ok(())
    }

    fn unlock(&self) {
        if self.has_lock.swap(false, Ordering::AcqRel) {
            self.stored.is_locked.store(false, Ordering::Release);
        }
    }

    fn len(&self) -> Result<u64, DiskError> {
        Ok(self.stored.content.read().len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), DiskError> {
        if buffer.is_empty() {
            return Ok(());
        }
        let content = self.stored.content.read();
        let end = offset.checked_add(buffer.len() as u64);
        if end.is_none_or(|end| end > content.len()) {
            return Err(self.error(DiskErrorKind::UnexpectedEnd, "read").at(offset));
        }
        content.read(offset, buffer);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.write(offset, &[bytes])
    }

    fn write_durable_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.write(offset, &[bytes])?;
        self.check_has_name("write")
    }

    fn write_vectored_at(&self, offset: u64, parts: &[&[u8]]) -> Result<(), DiskError> {
        self.write(offset, parts)
    }

    fn sync(&self) -> Result<(), DiskError> {
        self.check_has_name("sync")
    }

    fn grow_reserved(&self, new_len: u64) -> Result<(), DiskError> {
        self.extend(&mut self.stored.content.write(), new_len, "grow")
    }

    fn set_len(&self, len: u64) -> Result<(), DiskError> {
        let mut content = self.stored.content.write();
        let before = content.len();
        if len > before {
            return self.extend(&mut content, len, "set the length of");
        }
        content.set_len(len);
        self.stored.space.give_back(before - len);
        Ok(())
    }

    fn sector_bytes(&self) -> u32 {
        SECTOR_BYTES
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        self.unlock();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
