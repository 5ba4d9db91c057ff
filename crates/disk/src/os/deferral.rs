//! Syncs that are put off until a work is finished ([`crate::Disk::defer_syncs`]).
//!
//! ```text
//!   begin          create, write, sync, rename: the paths are noted        finish
//!     |--------------------------------------------------------------------|-- files, then directories, are synced
//! ```
//! A path is synced as what it leads to at the end. One that leads nowhere was renamed, and is noted by its new name, or deleted.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::uninterrupted;
use super::walk::Entry;
use crate::{DeferredSyncs, DiskError};

/// Whether a disk's syncs are put off, and which.
#[derive(Debug, Default)]
pub(super) struct Deferral {
    /// So that a sync of an ordinary time costs one load.
    is_begun: AtomicBool,
    noted: Mutex<Noted>,
}

#[derive(Debug, Default)]
struct Noted {
    files: BTreeSet<PathBuf>,
    /// Paths of which the directory is to be synced, one of each directory.
    names: BTreeSet<PathBuf>,
}

/// Syncs that are being put off; see [`DeferredSyncs`].
pub(super) struct Begun {
    deferral: Arc<Deferral>,
    folders: Vec<PathBuf>,
}

impl Deferral {
    /// Puts syncs off from here on; `None` when they are already.
    pub fn begin(deferral: &Arc<Deferral>, folders: &[PathBuf]) -> Option<Begun> {
        let was_begun = deferral.is_begun.swap(true, Ordering::AcqRel);
        (!was_begun).then(|| Begun {
            deferral: Arc::clone(deferral),
            folders: folders.to_vec(),
        })
    }

    /// Whether the sync of a file is put off; it is noted then.
    pub fn puts_off(&self, path: &Path) -> bool {
        self.note(|noted| noted.files.insert(path.to_path_buf()))
    }

    /// Whether the sync of the directory that holds the name `path` is put off; it is noted then.
    pub fn puts_off_names(&self, path: &Path) -> bool {
        self.note(|noted| {
            let is_known = noted.names.iter().any(|known| known.parent() == path.parent());
            is_known || noted.names.insert(path.to_path_buf())
        })
    }

    fn note(&self, note: impl FnOnce(&mut Noted) -> bool) -> bool {
        if !self.is_begun.load(Ordering::Acquire) {
            return false;
        }
        let mut noted = self.noted.lock();
        // Looked at again: the end may have come in between, and what is noted behind it would be forgotten.
        let is_begun = self.is_begun.load(Ordering::Acquire);
        if is_begun {
            note(&mut noted);
        }
        is_begun
    }

    fn end(&self) -> Noted {
        let mut noted = self.noted.lock();
        self.is_begun.store(false, Ordering::Release);
        std::mem::take(&mut noted)
    }
}

impl DeferredSyncs for Begun {
    fn finish(self: Box<Self>) -> Result<(), DiskError> {
        let noted = self.deferral.end();
        let sync = |path: &Path, sync: fn(&Entry) -> Result<(), Errno>| {
            let synced = Entry::of(&self.folders, path).and_then(|entry| sync(&entry));
            match synced {
                Err(Errno::NOENT) => Ok(()),
                outcome => outcome.map_err(|errno| DiskError::from_errno(errno, "sync", path)),
            }
        };
        noted.files.iter().try_for_each(|path| sync(path, sync_file))?;
        noted
            .names
            .iter()
            .try_for_each(|path| sync(path, Entry::sync_directory))
    }
}

fn sync_file(entry: &Entry) -> Result<(), Errno> {
    let file = entry.open_file(OFlags::empty(), Mode::empty())?;
    uninterrupted(|| rustix::fs::fsync(&file))
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.deferral.end();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{Access, ConfinedDisk, Disk};

    /// A disk on a folder of its own, and what was noted in it.
    fn disk(name: &str) -> (ConfinedDisk, PathBuf) {
        let folder = std::env::temp_dir().join(format!("vlflab-deferral-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        (ConfinedDisk::new(vec![folder.clone()]), folder)
    }

    fn noted(deferral: &Deferral) -> (Vec<PathBuf>, usize) {
        let noted = deferral.noted.lock();
        (noted.files.iter().cloned().collect(), noted.names.len())
    }

    #[test]
    fn what_is_put_off_is_noted_until_the_end_and_not_behind_it() {
        let (disk, folder) = disk("noted");
        let deferral = Arc::default();
        let begun = Deferral::begin(&deferral, &disk.folders).unwrap();
        assert!(Deferral::begin(&deferral, &disk.folders).is_none(), "once at a time");
        for name in ["a", "b", "a"] {
            assert!(deferral.puts_off(&folder.join(name)));
            assert!(deferral.puts_off_names(&folder.join(name)));
        }
        assert_eq!(noted(&deferral), (vec![folder.join("a"), folder.join("b")], 1));
        Box::new(begun).finish().unwrap();
        assert!(!deferral.puts_off(&folder.join("a")) && !deferral.puts_off_names(&folder.join("a")));
        assert_eq!(noted(&deferral), (Vec::new(), 0));
        assert!(Deferral::begin(&deferral, &disk.folders).is_some());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn every_call_that_makes_durable_is_put_off() {
        let (disk, folder) = disk("calls");
        let begun = disk.defer_syncs().unwrap();
        let (old, new) = (folder.join("old"), folder.join("below/new"));
        let file = disk.create(&old, Access::Direct).unwrap();
        assert_eq!(noted(&disk.deferral), (vec![old.clone()], 1));
        disk.deferral.noted.lock().files.clear();
        file.write_durable_at(0, &[7; 4096]).unwrap();
        assert_eq!(noted(&disk.deferral).0, std::slice::from_ref(&old));
        disk.deferral.noted.lock().files.clear();
        file.sync().unwrap();
        assert_eq!(noted(&disk.deferral).0, std::slice::from_ref(&old));
        disk.create_directories(&folder.join("below")).unwrap();
        disk.rename(&old, &new).unwrap();
        assert_eq!(noted(&disk.deferral), (vec![new.clone(), old], 2));
        begun.finish().unwrap();
        let mut bytes = [0; 4096];
        disk.open(&new, Access::Buffered)
            .unwrap()
            .read_at(0, &mut bytes)
            .unwrap();
        assert_eq!(bytes, [7; 4096]);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_end_goes_to_every_path_and_says_which_one_fails() {
        let (disk, folder) = disk("failing");
        let begun = disk.defer_syncs().unwrap();
        let (gone, replaced) = (folder.join("gone"), folder.join("replaced"));
        drop(disk.create(&gone, Access::Buffered).unwrap());
        disk.delete(&gone).unwrap();
        drop(disk.create(&replaced, Access::Buffered).unwrap());
        std::fs::remove_file(&replaced).unwrap();
        std::fs::create_dir(&replaced).unwrap();
        assert_eq!(begun.finish().unwrap_err().path, replaced);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
