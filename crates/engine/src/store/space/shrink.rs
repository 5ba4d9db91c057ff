//! Shortens a data file: keeps its end free, then truncates it.
//!
//! ```text
//! | 0 | 1 | used | free | used | free | free |      extents
//!                              ^ end: nothing is allocated from here on while there is a free extent before it
//!                              ^ cut, when no object has an extent behind it
//! ```
//! Invariant: nothing is allocated between the check of the map and the cut. If there is no other space, an allocation uses the end after
//! all: it is then no longer kept free, and the cut keeps the extents in use.

use super::{Allocation, EXTENT_PAGES, ExtentId, Goal, RESERVED_EXTENTS, SpaceMap};
use crate::buffer::DatabaseStorage;
use crate::error::Result;

impl SpaceMap {
    /// The length in pages below which a file cannot be cut: it ends behind the last extent of an object.
    pub fn pages_needed(&self, file: u16) -> u32 {
        self.last_used_below(file, u32::MAX)
            .map_or(RESERVED_EXTENTS, |last| last + 1)
            .saturating_mul(EXTENT_PAGES)
    }

    /// The length in pages of a file that has its extents in use at its begin.
    pub fn pages_packed(&self, file: u16) -> u32 {
        let allocation = self.allocation.lock();
        let map = allocation.files.iter().find(|map| map.file == file);
        let mut left = map.map_or(0, |map| map.used_count);
        let mut end = RESERVED_EXTENTS;
        while left > 0 {
            left -= u32::from(!ExtentId { file, extent: end }.is_reserved());
            end += 1;
        }
        end.saturating_mul(EXTENT_PAGES)
    }

    /// The last extent before `end` that an object has in a file.
    pub fn last_used_below(&self, file: u16, end: u32) -> Option<u32> {
        let allocation = self.allocation.lock();
        let map = allocation.files.iter().find(|map| map.file == file)?;
        let end = end.min(map.used.len() as u32 * 64);
        (RESERVED_EXTENTS..end)
            .rev()
            .find(|&extent| map.is_used(extent) && !ExtentId { file, extent }.is_reserved())
    }

    /// Keeps a file free behind its first `pages` pages, as far as there is room elsewhere, until [`SpaceMap::cut_file`] or
    /// [`SpaceMap::use_end_again`].
    pub fn keep_end_free(&self, file: u16, pages: u32) {
        self.allocation.lock().ends.insert(file, pages.div_ceil(EXTENT_PAGES));
    }

    /// The end of a file is allocated again like any other part of it.
    pub fn use_end_again(&self, file: u16) {
        self.allocation.lock().ends.remove(&file);
    }

    /// Cuts a file to so many pages, or to what objects have of it if that is more; durable on return. No page behind may be dirty.
    ///
    /// # Errors
    /// 3140 when the operating system refuses; 823.
    pub fn cut_file(&self, storage: &DatabaseStorage, file: u16, pages: u32) -> Result<()> {
        let mut allocation = self.allocation.lock();
        allocation.ends.remove(&file);
        let Some(map) = allocation.files.iter_mut().find(|map| map.file == file) else {
            return Ok(());
        };
        let used = (RESERVED_EXTENTS..map.used.len() as u32 * 64)
            .rev()
            .find(|extent| map.is_used(*extent));
        let needed = used.map_or(RESERVED_EXTENTS, |last| last + 1) * EXTENT_PAGES;
        let pages = pages.max(needed);
        storage.files.cut(file, pages)?;
        storage.pool.forget_end_of_file(storage.id, file, pages);
        map.search_from = map.search_from.min(pages / EXTENT_PAGES);
        Ok(())
    }
}

impl Allocation {
    /// Grows a file of a filegroup that takes extents, by its own increment. False when none may grow.
    pub(super) fn grow_another(&self, storage: &DatabaseStorage, filegroup: u16) -> Result<bool> {
        let files = storage.files.file_ids_in(filegroup).into_iter();
        for file in files.filter(|file| !self.closed.contains(file)) {
            if storage.files.grow(file, EXTENT_PAGES)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The first free extent where pages that move may go.
    pub(super) fn find_free_where(&self, storage: &DatabaseStorage, goal: Goal) -> Option<ExtentId> {
        for map in &self.files {
            if self.closed.contains(&map.file) && !matches!(goal, Goal::Before(end) if end.file == map.file) {
                continue;
            }
            let extent_count = storage.files.page_count(map.file) / EXTENT_PAGES;
            let end = match goal {
                Goal::Before(end) if end.file == map.file => end.extent.min(extent_count),
                Goal::Before(_) => continue,
                Goal::OutOf { file, .. } if file == map.file => continue,
                Goal::OutOf { filegroup, .. } if storage.files.filegroup_of(map.file) != filegroup => continue,
                Goal::OutOf { .. } => extent_count,
            };
            let file = map.file;
            let is_free = |extent: &u32| !map.is_used(*extent) && !ExtentId { file, extent: *extent }.is_reserved();
            if let Some(extent) = (0..end).find(is_free) {
                return Some(ExtentId { file, extent });
            }
        }
        None
    }
}
