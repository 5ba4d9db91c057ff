//! A disk that lets a test act between two operations of a statement.
#![allow(clippy::unwrap_used, dead_code)]

use disk::sim::SimDisk;
use disk::{Access, Disk, DiskError, File, Found};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

type Hook = Box<dyn FnMut(&str) + Send>;

/// Calls a hook, in the thread of the statement, before every operation on a file whose path has a certain part.
pub struct SeamDisk {
    pub disk: SimDisk,
    hook: Mutex<Option<(String, Hook)>>,
}

impl SeamDisk {
    pub fn new(disk: SimDisk) -> Arc<SeamDisk> {
        Arc::new(SeamDisk {
            disk,
            hook: Mutex::default(),
        })
    }

    /// From now on `hook` is called with the name of the operation; it is not called by what it does itself.
    pub fn set_hook(&self, path_part: &str, hook: impl FnMut(&str) + Send + 'static) {
        *self.hook.lock().unwrap() = Some((path_part.to_string(), Box::new(hook)));
    }

    pub fn clear_hook(&self) {
        *self.hook.lock().unwrap() = None;
    }

    fn at(&self, operation: &str, path: &Path) {
        let mut place = self.hook.lock().unwrap();
        let is_meant = |(part, _): &mut (String, Hook)| path.to_string_lossy().contains(part.as_str());
        let Some((part, mut hook)) = place.take_if(is_meant) else {
            return;
        };
        drop(place);
        hook(operation);
        *self.hook.lock().unwrap() = Some((part, hook));
    }
}

impl Disk for SeamDisk {
    fn open(&self, path: &Path, access: Access) -> Result<Arc<dyn File>, DiskError> {
        self.at("open", path);
        self.disk.open(path, access)
    }

    fn create(&self, path: &Path, access: Access) -> Result<Arc<dyn File>, DiskError> {
        self.at("create", path);
        self.disk.create(path, access)
    }

    fn delete(&self, path: &Path) -> Result<(), DiskError> {
        self.at("delete", path);
        self.disk.delete(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.at("rename", to);
        self.disk.rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.at("rename", to);
        self.disk.rename_new(from, to)
    }

    fn look(&self, path: &Path) -> Result<Option<Found>, DiskError> {
        self.disk.look(path)
    }

    fn create_directories(&self, path: &Path) -> Result<(), DiskError> {
        self.disk.create_directories(path)
    }

    fn list(&self, directory: &Path) -> Result<Vec<PathBuf>, DiskError> {
        self.disk.list(directory)
    }

    fn len(&self, path: &Path) -> Result<Option<u64>, DiskError> {
        self.disk.len(path)
    }

    fn available_bytes(&self, path: &Path) -> Result<u64, DiskError> {
        self.disk.available_bytes(path)
    }

    fn lock_exclusive(&self, path: &Path) -> Result<Box<dyn Send + Sync>, DiskError> {
        self.disk.lock_exclusive(path)
    }
}
