//! The file that a backup replaces is held open until it is replaced, so that nothing else takes its place on the disk.
#![allow(clippy::unwrap_used)]

use crate::support;

use disk::sim::SimDisk;
use disk::{Access, Disk, DiskError, File, Found};
use engine::backup::BackupRequest;
use engine::instance::Instance;
use engine::log::LogPolicy;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use support::*;

const MEDIA: &str = "c:\\vlf.bak";

/// A disk that sees whether a file that a rename replaces is open at that moment.
struct RenameWatch {
    disk: SimDisk,
    opened: Mutex<Vec<(PathBuf, Weak<dyn File>)>>,
    /// Handles of the replaced file, for each rename of one.
    held: Mutex<Vec<usize>>,
}

impl RenameWatch {
    fn open_handles(&self, path: &Path) -> usize {
        let opened = self.opened.lock().unwrap();
        let of_path = opened.iter().filter(|(name, _)| name == path);
        of_path.filter(|(_, file)| file.strong_count() > 0).count()
    }
}

impl Disk for RenameWatch {
    fn open(&self, path: &Path, access: Access) -> Result<Arc<dyn File>, DiskError> {
        let file = self.disk.open(path, access)?;
        self.opened
            .lock()
            .unwrap()
            .push((path.to_path_buf(), Arc::downgrade(&file)));
        Ok(file)
    }

    fn create(&self, path: &Path, access: Access) -> Result<Arc<dyn File>, DiskError> {
        self.disk.create(path, access)
    }

    fn delete(&self, path: &Path) -> Result<(), DiskError> {
        self.disk.delete(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        if self.disk.len(to)?.is_some() {
            self.held.lock().unwrap().push(self.open_handles(to));
        }
        self.disk.rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
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

/// The rename at the end of a backup WITH INIT took a quarter of a second for 800 MB: the file system freed the former file, of
/// which nobody had a handle, before it returned. It is held over the rename, by nobody afterwards, whether INIT
/// or FORMAT replaces it.
#[test]
fn the_file_that_a_backup_replaces_is_held_open_until_it_is_replaced() {
    let watch = Arc::new(RenameWatch {
        disk: SimDisk::new(3),
        opened: Mutex::default(),
        held: Mutex::default(),
    });
    let mut env = environment(&watch.disk);
    env.disk = watch.clone();
    let instance = Instance::start(options(LogPolicy::native()), env).unwrap();
    instance.create_database(&statement("vlf", 1 << 20, 64 << 20)).unwrap();
    let session = instance.open_session().unwrap();
    let media = instance.resolve(MEDIA).unwrap();
    for (init, format) in [(true, false), (true, false), (false, true)] {
        watch.held.lock().unwrap().clear();
        let replaces = watch.disk.len(&media).unwrap().is_some();
        let full = BackupRequest {
            path: MEDIA.into(),
            init,
            format,
            ..BackupRequest::default()
        };
        instance.backup("vlf", &full, &session, &mut |_| Ok(())).unwrap();
        assert_eq!(*watch.held.lock().unwrap(), vec![1; usize::from(replaces)]);
        assert_eq!(watch.open_handles(&media), 0, "its space can be freed");
    }
}
