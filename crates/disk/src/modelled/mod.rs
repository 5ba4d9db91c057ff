//! A disk that stores its bytes on another disk and takes its time from a model.
//!
//! ```text
//! read, write, sync --> bytes: backing disk, through its page cache, zeros as holes, never synced
//!                  `--> time:  volume -> places -> device -> VirtualTime
//! ```
//! So an experiment that needs hours on a slow disk runs only for its processor time, and reports the time of the slow disk. Only one
//! thread works at a time: see [`VirtualTime`].
//!
//! Device time is charged for:
//!
//! - reads and writes of [`Access::Direct`] files, at once
//! - writes of [`Access::Buffered`] files, when they are synced
//! - reads of [`Access::Buffered`] files of which this process has not read or written anything
//! - each sync: a flush, after the metadata if the length changed
//! - each change of a name: metadata and a flush
//!
//! Growth reserves space and costs nothing until the sync.
//!
//! Here, durable means that data survive the end of the process. Whether they survive a crash of the machine depends on the backing disk,
//! so this disk is for experiments only. Data still in the device's cache when the process ends count as written.
//!
//! Invariant: the time of a request depends on the requests before it and the seed alone, not on the backing disk.

mod file;
mod ledger;
#[cfg(test)]
mod tests;
mod time;

pub use time::{TimeParts, VirtualTime};

use crate::{Access, Disk, DiskError, DiskErrorKind, File, FileIdentity, Found};
use device::parameter::Figures;
use device::volume::{Extent, FileSpace, Volume};
use device::{Device, Durability, Moment};
use file::ModelledFile;
use ledger::Ledger;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name of the ledger in the folder that a modelled disk is given.
pub const LEDGER_FILE: &str = "modelled-disk.extents";

/// What the page cache reads and writes at once.
const PAGE_BYTES: u64 = 4096;
/// ENOSPC of Linux.
const OS_ERROR_NO_SPACE: i32 = 28;

pub struct ModelledDisk {
    backing: Arc<dyn Disk>,
    shared: Arc<Shared>,
}

/// What the disk and its open files share.
struct Shared {
    time: Arc<VirtualTime>,
    sector_bytes: u32,
    state: Mutex<State>,
}

struct State {
    device: Device,
    volume: Volume,
    files: BTreeMap<FileIdentity, Node>,
    /// Files that were there before, until they are opened.
    known: BTreeMap<FileIdentity, Vec<Extent>>,
    ledger: Option<Ledger>,
}

/// The metadata of a file.
#[derive(Debug, Default)]
struct Node {
    space: FileSpace,
    /// From here on the file holds nothing but zeros that were never written.
    written_to: u64,
    /// What a sync has to bring to the device: ranges written through the page cache.
    unsynced: Vec<(u64, u64)>,
    /// The page cache holds it.
    is_warm: bool,
}

impl ModelledDisk {
    /// A disk of these figures on `backing`, beginning empty but for what `folder`'s ledger knows; the folder need not be there yet.
    ///
    /// # Errors
    /// The ledger is there and cannot be read.
    pub fn new(
        backing: Arc<dyn Disk>,
        folder: &Path,
        figures: &Figures,
        seed: u64,
        time: Arc<VirtualTime>,
    ) -> Result<ModelledDisk, DiskError> {
        let mut state = State {
            device: Device::new(figures, seed),
            volume: Volume::new(figures.capacity_bytes(), figures.metadata_blocks()),
            files: BTreeMap::new(),
            known: BTreeMap::new(),
            ledger: None,
        };
        let path = folder.join(LEDGER_FILE);
        backing.create_directories(folder)?;
        let file = match backing.open(&path, Access::Buffered) {
            Err(error) if error.kind == DiskErrorKind::NotFound => backing.create(&path, Access::Buffered)?,
            opened => opened?,
        };
        let (ledger, known) = Ledger::open(file)?;
        known.files.values().for_each(|extents| state.volume.claim(extents));
        (state.ledger, state.known) = (Some(ledger), known.files);
        time.follows(known.processes);
        time.leave_out();
        Ok(ModelledDisk {
            backing,
            shared: Arc::new(Shared {
                time,
                sector_bytes: figures.sector_bytes(),
                state: Mutex::new(state),
            }),
        })
    }

    fn wrap(&self, path: &Path, file: Arc<dyn File>, access: Access) -> Result<Arc<dyn File>, DiskError> {
        let identity = file.identity()?;
        let len = file.len()?;
        self.shared.state.lock().enter(identity, len, path)?;
        Ok(Arc::new(ModelledFile {
            file,
            identity,
            access,
            shared: Arc::clone(&self.shared),
        }))
    }

    /// Does something to names, and charges metadata and a flush for it.
    fn change_names<T>(&self, change: impl FnOnce() -> Result<T, DiskError>) -> Result<T, DiskError> {
        let _span = Span::begin(&self.shared.time);
        let changed = change()?;
        self.shared.charge(|state, now| {
            let now = state.write_metadata(now);
            state.device.flush(now)
        });
        Ok(changed)
    }

    /// Gives back the space of a file that has no name any more.
    fn forget(&self, identity: FileIdentity, path: &Path) -> Result<(), DiskError> {
        let mut state = self.shared.state.lock();
        state.enter(identity, 0, path)?;
        state.cut(identity, 0)?;
        state.files.remove(&identity);
        Ok(())
    }
}

/// From here to the drop the calling thread works for the model: its own computation does not count.
struct Span<'t>(&'t VirtualTime);

impl Span<'_> {
    fn begin(time: &VirtualTime) -> Span<'_> {
        // What was computed before counts.
        time.parts();
        Span(time)
    }
}

impl Drop for Span<'_> {
    fn drop(&mut self) {
        self.0.leave_out();
    }
}

impl Shared {
    /// Lets the device do something from now on; now is when it is done, afterwards. Called within a [`Span`].
    fn charge(&self, work: impl FnOnce(&mut State, Moment) -> Moment) {
        let mut state = self.state.lock();
        let now = self.time.moment();
        let done = work(&mut state, now);
        self.time.device_works(now, done);
    }
}

impl State {
    /// A file that is opened. A file without a place is put after the others, in one piece if possible.
    fn enter(&mut self, identity: FileIdentity, len: u64, path: &Path) -> Result<(), DiskError> {
        if self.files.contains_key(&identity) {
            return Ok(());
        }
        let space = FileSpace::at(self.known.remove(&identity).unwrap_or_default());
        let node = Node {
            space,
            written_to: len,
            ..Node::default()
        };
        self.files.insert(identity, node);
        self.reserve(identity, len, path)
    }

    /// Gives a file the space for `bytes` in all.
    fn reserve(&mut self, identity: FileIdentity, bytes: u64, path: &Path) -> Result<(), DiskError> {
        let Some(node) = self.files.get_mut(&identity) else {
            return Ok(());
        };
        if bytes <= node.space.bytes() {
            return Ok(());
        }
        let before = node.space.extents().to_vec();
        let given = self.volume.grow(&mut node.space, bytes);
        given.map_err(|_| DiskError::new(DiskErrorKind::DiskFull, "grow", path).with_os_error(OS_ERROR_NO_SPACE))?;
        match &mut self.ledger {
            Some(ledger) => ledger.note(identity, &before, &node.space),
            None => Ok(()),
        }
    }

    /// Undoes what a file has beyond `bytes`.
    fn cut(&mut self, identity: FileIdentity, bytes: u64) -> Result<(), DiskError> {
        let Some(node) = self.files.get_mut(&identity) else {
            return Ok(());
        };
        let before = node.space.extents().to_vec();
        self.volume.shrink(&mut node.space, bytes);
        node.written_to = node.written_to.min(bytes);
        match &mut self.ledger {
            Some(ledger) => ledger.note(identity, &before, &node.space),
            None => Ok(()),
        }
    }

    /// Where the units of `unit` bytes lie that hold a part of a file.
    fn places(&self, identity: FileIdentity, offset: u64, bytes: u64, unit: u64) -> Vec<Extent> {
        let from = offset / unit * unit;
        let to = (offset + bytes).div_ceil(unit) * unit;
        let node = self.files.get(&identity);
        node.map_or_else(Vec::new, |node| node.space.places(from, to - from))
    }

    fn read(&mut self, at: Moment, places: &[Extent]) -> Moment {
        let each = |now, place: &Extent| self.device.read(now, place.place, place.bytes);
        places.iter().fold(at, each)
    }

    fn write(&mut self, at: Moment, places: &[Extent], durability: Durability) -> Moment {
        let each = |now, place: &Extent| self.device.write(now, place.place, place.bytes, durability);
        places.iter().fold(at, each)
    }

    fn write_metadata(&mut self, at: Moment) -> Moment {
        let blocks = self.volume.metadata_writes();
        self.write(at, &blocks, Durability::Cached)
    }

    /// Writes what the page cache holds of a file and its changed length, and flushes.
    fn sync(&mut self, at: Moment, identity: FileIdentity) -> Moment {
        let (unsynced, is_length_dirty) = match self.files.get_mut(&identity) {
            Some(node) => (
                std::mem::take(&mut node.unsynced),
                std::mem::take(&mut node.space.is_length_dirty),
            ),
            None => (Vec::new(), false),
        };
        let mut now = at;
        for (offset, bytes) in unsynced {
            let places = self.places(identity, offset, bytes, PAGE_BYTES);
            now = self.write(now, &places, Durability::Cached);
        }
        if is_length_dirty {
            now = self.write_metadata(now);
        }
        self.device.flush(now)
    }
}

impl Disk for ModelledDisk {
    fn open(&self, path: &Path, access: Access) -> Result<Arc<dyn File>, DiskError> {
        let _span = Span::begin(&self.shared.time);
        let file = self.backing.open(path, Access::Buffered)?;
        self.wrap(path, file, access)
    }

    fn create(&self, path: &Path, access: Access) -> Result<Arc<dyn File>, DiskError> {
        let file = self.change_names(|| self.backing.create(path, Access::Buffered))?;
        let _span = Span::begin(&self.shared.time);
        // The file system may have given it the number of one that was deleted behind this disk's back.
        self.forget(file.identity()?, path)?;
        self.wrap(path, file, access)
    }

    fn delete(&self, path: &Path) -> Result<(), DiskError> {
        let found = self.backing.look(path)?;
        self.change_names(|| self.backing.delete(path))?;
        let _span = Span::begin(&self.shared.time);
        found.map_or(Ok(()), |found| self.forget(found.identity, path))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        let replaced = self.backing.look(to)?;
        let moved = self.backing.look(from)?;
        self.change_names(|| self.backing.rename(from, to))?;
        let _span = Span::begin(&self.shared.time);
        match (replaced, moved) {
            (Some(replaced), Some(moved)) if replaced.identity != moved.identity => self.forget(replaced.identity, to),
            _ => Ok(()),
        }
    }

    fn rename_new(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.change_names(|| self.backing.rename_new(from, to))
    }

    fn create_directories(&self, path: &Path) -> Result<(), DiskError> {
        self.change_names(|| self.backing.create_directories(path))
    }

    fn list(&self, directory: &Path) -> Result<Vec<PathBuf>, DiskError> {
        self.backing.list(directory)
    }

    fn len(&self, path: &Path) -> Result<Option<u64>, DiskError> {
        self.backing.len(path)
    }

    fn look(&self, path: &Path) -> Result<Option<Found>, DiskError> {
        self.backing.look(path)
    }

    fn folders(&self) -> &[PathBuf] {
        self.backing.folders()
    }

    fn available_bytes(&self, path: &Path) -> Result<u64, DiskError> {
        let free = self.shared.state.lock().volume.free_bytes();
        Ok(free.min(self.backing.available_bytes(path)?))
    }

    fn lock_exclusive(&self, path: &Path) -> Result<Box<dyn Send + Sync>, DiskError> {
        self.backing.lock_exclusive(path)
    }
}

/// Joins a range to those that were written before and not synced.
fn add_range(ranges: &mut Vec<(u64, u64)>, offset: u64, bytes: u64) {
    const RANGES_MAX: usize = 256;
    match ranges.last_mut() {
        Some((start, len)) if *start + *len == offset => *len += bytes,
        _ => ranges.push((offset, bytes)),
    }
    if ranges.len() <= RANGES_MAX {
        return;
    }
    ranges.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (start, len) in ranges.drain(..) {
        match joined.last_mut() {
            Some((from, bytes)) if *from + *bytes >= start => *bytes = (start + len - *from).max(*bytes),
            _ => joined.push((start, len)),
        }
    }
    *ranges = joined;
}
