//! Which extents of each data file are in use, in memory, and where the next one comes from.
//!
//! Invariant: an extent for an object comes from a file of the object's filegroup, or from none: then 1105 names the filegroup.

use super::{EXTENT_PAGES, ExtentId, RESERVED_EXTENTS};
use crate::buffer::{DatabaseStorage, PRIMARY_FILEGROUP};
use crate::error::{Error, Result};
use crate::page::{HEADER_BYTES, INTERVAL_EXTENTS, ObjectId, PageKind};
use crate::store::change::read;
use std::collections::{BTreeMap, BTreeSet};

/// Which extent is wanted, and what for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) object: ObjectId,
    pub(super) claim: super::Claim,
    pub(super) filegroup: u16,
}

/// 1105 for an extent that a filegroup has not; 622 where it has no file.
pub(super) fn full(storage: &DatabaseStorage, wanted: Wanted) -> Error {
    let filegroup = storage.files.filegroup_name(wanted.filegroup);
    if storage.files.file_ids_in(wanted.filegroup).is_empty() {
        return Error::filegroup_has_no_files(&filegroup);
    }
    Error::filegroup_full(&wanted.object.to_string(), &storage.name, &filegroup)
}

/// Which extents are in use, by file.
pub(super) struct Allocation {
    pub(super) files: Vec<FileMap>,
    /// Files in which nothing may be allocated, because they are about to be removed.
    pub(super) closed: BTreeSet<u16>,
    /// By file that is to become shorter: extents from there on are the last to be allocated.
    pub(super) ends: BTreeMap<u16, u32>,
    pub(super) turn: usize,
}

pub(super) struct FileMap {
    pub(super) file: u16,
    pub(super) used: Vec<u64>,
    /// Bits set in `used`.
    pub(super) used_count: u32,
    pub(super) search_from: u32,
}

impl FileMap {
    fn new(file: u16) -> FileMap {
        FileMap {
            file,
            used: Vec::new(),
            used_count: 0,
            search_from: 0,
        }
    }

    pub(super) fn is_used(&self, extent: u32) -> bool {
        let word = self.used.get(extent as usize / 64).copied().unwrap_or(0);
        word >> (extent % 64) & 1 == 1
    }

    pub(super) fn set(&mut self, extent: u32, used: bool) {
        let word = extent as usize / 64;
        if word >= self.used.len() {
            self.used.resize(word + 1, 0);
        }
        let bit = 1 << (extent % 64);
        if (self.used[word] & bit != 0) != used {
            self.used_count = match used {
                true => self.used_count + 1,
                false => self.used_count.saturating_sub(1),
            };
        }
        if used {
            self.used[word] |= bit;
        } else {
            self.used[word] &= !bit;
            self.search_from = self.search_from.min(extent);
        }
    }

    /// The first free extent below `extent_count`.
    pub(super) fn find_free(&mut self, extent_count: u32) -> Option<u32> {
        let file = self.file;
        let is_free = |extent: &u32| !self.is_used(*extent) && !ExtentId { file, extent: *extent }.is_reserved();
        let found = (self.search_from..extent_count).find(is_free);
        self.search_from = found.unwrap_or(extent_count);
        found
    }
}

impl Allocation {
    pub(super) fn of(files: Vec<FileMap>) -> Allocation {
        Allocation {
            files,
            closed: BTreeSet::new(),
            ends: BTreeMap::new(),
            turn: 0,
        }
    }

    /// Files that were added have no extent in use.
    pub(super) fn meet_files(&mut self, storage: &DatabaseStorage) {
        for file in storage.files.file_ids() {
            if self.files.iter().all(|map| map.file != file) {
                self.files.push(FileMap::new(file));
            }
        }
    }

    /// A free extent of a filegroup, taking its files in turn. The end of a file that is to become shorter is kept free while there is
    /// another.
    pub(super) fn find_free(&mut self, storage: &DatabaseStorage, filegroup: u16) -> Option<ExtentId> {
        self.meet_files(storage);
        let found = self.find_free_before_ends(storage, filegroup);
        if found.is_some() || self.ends.is_empty() {
            return found;
        }
        self.ends.clear();
        self.find_free_before_ends(storage, filegroup)
    }

    fn find_free_before_ends(&mut self, storage: &DatabaseStorage, filegroup: u16) -> Option<ExtentId> {
        let count = self.files.len();
        for offset in 0..count {
            let index = (self.turn + offset) % count;
            let map = &mut self.files[index];
            if self.closed.contains(&map.file) || storage.files.filegroup_of(map.file) != filegroup {
                continue;
            }
            let extent_count = storage.files.page_count(map.file) / EXTENT_PAGES;
            let end = self.ends.get(&map.file).copied().unwrap_or(extent_count);
            if let Some(extent) = map.find_free(extent_count.min(end)) {
                let file = map.file;
                self.turn = (index + 1) % count;
                return Some(ExtentId { file, extent });
            }
        }
        None
    }

    /// True when no more extents of a filegroup are free, in files that take any, than are to be kept. A filegroup beside PRIMARY keeps a
    /// quarter of its extents at most: it may be small, and the catalog is not in it.
    pub(super) fn has_at_most(&self, storage: &DatabaseStorage, (filegroup, kept): (u16, u32)) -> bool {
        let (mut free, mut all) = (0, 0);
        for file in storage.files.file_ids_in(filegroup) {
            if self.closed.contains(&file) {
                continue;
            }
            let extent_count = storage.files.page_count(file) / EXTENT_PAGES;
            let used = self
                .files
                .iter()
                .find(|map| map.file == file)
                .map_or(0, |map| map.used_count);
            let reserved = RESERVED_EXTENTS + extent_count.saturating_sub(1) / INTERVAL_EXTENTS;
            free += extent_count.saturating_sub(used).saturating_sub(reserved);
            all += extent_count;
        }
        let kept = match filegroup {
            PRIMARY_FILEGROUP => kept,
            _ => kept.min(all / 4),
        };
        kept > 0 && free <= kept
    }

    pub(super) fn mark(&mut self, extent: ExtentId, used: bool) {
        if let Some(map) = self.files.iter_mut().find(|map| map.file == extent.file) {
            map.set(extent.extent, used);
        }
    }
}

pub(super) fn read_file_map(storage: &DatabaseStorage, file: u16) -> Result<FileMap> {
    let extent_count = storage.files.page_count(file) / EXTENT_PAGES;
    let mut map = FileMap::new(file);
    for interval in 0..extent_count.div_ceil(INTERVAL_EXTENTS) {
        let first = interval * INTERVAL_EXTENTS;
        let (page_id, ..) = ExtentId { file, extent: first }.map_bit();
        if page_id.page >= storage.files.page_count(file) {
            break;
        }
        let page = read(storage, page_id)?;
        if page.view().kind() != Some(PageKind::SpaceMap) {
            continue;
        }
        let bits = &page.view().bytes()[HEADER_BYTES..HEADER_BYTES + INTERVAL_EXTENTS as usize / 8];
        // Most of the map stands for extents that are free, or behind the end of the file.
        for (eighth, byte) in (0..).zip(bits).filter(|(_, byte)| **byte != 0) {
            let used = (0..8).filter(|bit| byte >> bit & 1 == 1);
            used.for_each(|bit| map.set(first + eighth * 8 + bit, true));
        }
    }
    Ok(map)
}
