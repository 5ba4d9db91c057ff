//! Fixed pages: a pin, a latch, and the page's bytes for as long as both are held.

#![allow(
    unsafe_code,
    reason = "a guard holds the latch that makes a reference to its frame's bytes sound"
)]

use super::arena::Frame;
use super::pool::BufferPool;
use super::{DatabaseId, key_parts, page_use};
use crate::error::Result;
use crate::page::{PageBytes, PageId, PageMut, PageOperation, PageRef, apply};
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::atomic::Ordering;
use vlf::Lsn;

/// A guard stays on the thread that took its latch.
type OneThread = PhantomData<*const ()>;

/// A page fixed with the shared latch.
pub struct PageRead<'p> {
    pool: &'p BufferPool,
    frame: usize,
    one_thread: OneThread,
}

impl<'p> PageRead<'p> {
    /// Takes over a pin and a shared latch.
    ///
    /// # Safety
    /// The caller holds both and gives them up to the guard.
    pub(super) unsafe fn adopt(pool: &'p BufferPool, frame: usize) -> PageRead<'p> {
        PageRead {
            pool,
            frame,
            one_thread: PhantomData,
        }
    }

    fn frame(&self) -> &'p Frame {
        self.pool.frame(self.frame)
    }

    /// Which page this is.
    pub fn id(&self) -> PageId {
        key_parts(self.frame().key.load(Ordering::Relaxed)).1
    }

    /// Header fields and rows.
    pub fn view(&self) -> PageRef<'_> {
        PageRef::new(self)
    }
}

impl Deref for PageRead<'_> {
    type Target = PageBytes;

    fn deref(&self) -> &PageBytes {
        // SAFETY: the guard holds the shared latch until it is dropped, and the reference cannot outlive the guard.
        unsafe { self.pool.arena.shared(self.frame) }
    }
}

impl Drop for PageRead<'_> {
    fn drop(&mut self) {
        let frame = self.frame();
        // SAFETY: the guard holds the latch and gives it back once.
        unsafe { frame.latch.release_shared() };
        frame.pins.fetch_sub(1, Ordering::Release);
    }
}

/// A page fixed with the exclusive latch.
pub struct PageWrite<'p> {
    pool: &'p BufferPool,
    frame: usize,
    /// The frame was made without reading the file and nothing was applied yet: its bytes are not a page yet.
    unborn: bool,
    one_thread: OneThread,
}

impl<'p> PageWrite<'p> {
    /// Takes over a pin and an exclusive latch.
    ///
    /// # Safety
    /// The caller holds both and gives them up to the guard.
    pub(super) unsafe fn adopt(pool: &'p BufferPool, frame: usize, unborn: bool) -> PageWrite<'p> {
        PageWrite {
            pool,
            frame,
            unborn,
            one_thread: PhantomData,
        }
    }

    fn frame(&self) -> &'p Frame {
        self.pool.frame(self.frame)
    }

    fn key(&self) -> (DatabaseId, PageId) {
        key_parts(self.frame().key.load(Ordering::Relaxed))
    }

    fn bytes(&mut self) -> &mut PageBytes {
        // SAFETY: the guard holds the exclusive latch, and its own exclusive borrow makes this the only reference.
        unsafe { self.pool.arena.exclusive(self.frame) }
    }

    /// Which page this is.
    pub fn id(&self) -> PageId {
        self.key().1
    }

    /// Header fields and rows.
    pub fn view(&self) -> PageRef<'_> {
        PageRef::new(self)
    }

    /// Its last change; [`Lsn::ZERO`] for a page made without reading the file, to which nothing was applied yet.
    pub fn last_change(&self) -> Lsn {
        if self.unborn { Lsn::ZERO } else { self.view().lsn() }
    }

    /// Step 6 of the recipe: applies a logged operation, stamps the page with the record's LSN and marks it dirty.
    ///
    /// # Errors
    /// 824 when page and operation contradict each other; the page is then unchanged.
    pub fn apply(&mut self, operation: &PageOperation<'_>, lsn: Lsn) -> Result<()> {
        let (database, id) = self.key();
        apply(id, self.bytes(), operation, lsn).map_err(|damage| self.pool.damaged(database, id, damage.0))?;
        self.unborn = false;
        let frame = self.frame();
        if !frame.dirty.load(Ordering::Relaxed) {
            let mut state = frame.state.lock();
            state.recovery_lsn = Some(lsn);
            state.rebuildable = operation.replaces_page();
            frame.dirty.store(true, Ordering::Release);
            page_use::count_dirtied();
        }
        Ok(())
    }

    /// Frees the page's reserve once no active transaction can need it ([`PageMut::release_reserved`]).
    pub fn release_reserved(&mut self, oldest_active: Lsn) {
        PageMut::new(self.bytes()).release_reserved(oldest_active);
    }

    /// Keeps the page fixed, now shared.
    pub fn downgrade(self) -> PageRead<'p> {
        let (pool, frame) = (self.pool, self.frame);
        if self.unborn {
            self.pool.unmap(self.frame);
        }
        std::mem::forget(self);
        // SAFETY: the forgotten guard held the exclusive latch and the pin; both pass to the new guard, the latch as shared.
        unsafe {
            pool.frame(frame).latch.downgrade();
            PageRead::adopt(pool, frame)
        }
    }
}

impl Deref for PageWrite<'_> {
    type Target = PageBytes;

    fn deref(&self) -> &PageBytes {
        // SAFETY: the guard holds the latch until it is dropped, and the reference cannot outlive the guard.
        unsafe { self.pool.arena.shared(self.frame) }
    }
}

impl Drop for PageWrite<'_> {
    fn drop(&mut self) {
        if self.unborn {
            self.pool.unmap(self.frame);
        }
        let frame = self.frame();
        // SAFETY: the guard holds the latch and gives it back once.
        unsafe { frame.latch.release_exclusive() };
        frame.pins.fetch_sub(1, Ordering::Release);
    }
}
