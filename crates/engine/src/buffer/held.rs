//! The pages in the pool, for `sys.dm_os_buffer_descriptors`.

#![allow(
    unsafe_code,
    reason = "a pin and a latch taken here pass to a guard that gives them back"
)]

use super::arena::NO_KEY;
use super::{BufferPool, DatabaseId, PageRead, key_parts};
use crate::page::{ObjectId, PageId, PageKind};
use std::sync::atomic::Ordering;

/// A page in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldPage {
    /// Whose it is.
    pub database: DatabaseId,
    /// Where it is in its file.
    pub page: PageId,
    /// Whether it differs from its file.
    pub is_dirty: bool,
    /// What it says of itself; nothing while it is being changed or read in.
    pub header: Option<HeldHeader>,
}

/// What a page's header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldHeader {
    /// `None` for a page that was never formatted.
    pub kind: Option<PageKind>,
    /// Height above the leaves.
    pub level: u8,
    /// The heap or tree it belongs to.
    pub object: ObjectId,
    /// Its rows, deleted ones included.
    pub rows: u16,
    /// Bytes that no row takes.
    pub free_bytes: usize,
}

impl BufferPool {
    /// Calls `each` for the pages in memory, each as it is at its moment. It waits for no latch, and counts as no use of a page.
    ///
    /// # Errors
    /// The first error of `each`.
    pub fn for_each_held<E>(&self, mut each: impl FnMut(HeldPage) -> Result<(), E>) -> Result<(), E> {
        for index in 0..self.frames_touched() {
            let frame = self.frame(index);
            let key = frame.key.load(Ordering::Acquire);
            if key == NO_KEY {
                continue;
            }
            let (database, page) = key_parts(key);
            each(HeldPage {
                database,
                page,
                is_dirty: frame.dirty.load(Ordering::Relaxed),
                header: self.header_of(index, key),
            })?;
        }
        Ok(())
    }

    /// The header of the page in a frame, if the frame still holds the page and is not latched exclusively.
    fn header_of(&self, index: usize, key: u64) -> Option<HeldHeader> {
        let pinned = self.pin(key)?;
        let frame = self.frame(pinned);
        if !frame.latch.try_shared() {
            frame.pins.fetch_sub(1, Ordering::Release);
            return None;
        }
        // SAFETY: pinned and latched just now.
        let page = unsafe { PageRead::adopt(self, pinned) };
        if pinned != index || frame.key.load(Ordering::Acquire) != key {
            return None;
        }
        let view = page.view();
        Some(HeldHeader {
            kind: (view.version() != 0).then(|| view.kind()).flatten(),
            level: view.level(),
            object: view.object(),
            rows: view.slot_count(),
            free_bytes: view.contiguous_free() + usize::from(view.hole_bytes()),
        })
    }
}
