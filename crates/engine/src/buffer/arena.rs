//! The frames: one region of memory divided into pages, and the state of each.
//!
//! Both are address space until they are used. The states of a pool for 512 GB take 4 GB, which no start waits for.
//!
//! ```text
//! bytes:  | frame 0 | frame 1 | ... used ... | never touched ............................. |
//! states: | made in stretches of 1,024 ............ | never touched ...................... |
//! ```
//!
//! The engine's unsafe code is here, in `guard`, and where `pool`, `batch` and `sizing` pass frames on. It relies on one rule: reading the
//! bytes of a frame requires its latch, shared or exclusive; changing them requires it exclusive.

#![allow(
    unsafe_code,
    reason = "frames are handed out as page references under latches that the compiler cannot see"
)]

use crate::page::{PAGE_BYTES, PageBytes};
use parking_lot::Mutex;
use parking_lot::RawRwLock;
use parking_lot::lock_api::{RawRwLock as _, RawRwLockDowngrade as _};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::alloc::{Layout, handle_alloc_error};
use std::cell::UnsafeCell;
use std::mem::{MaybeUninit, needs_drop};
use std::ops::Range;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use vlf::Lsn;

/// Key of a frame that holds no page. File 0 names no page, so no page has this key.
pub(super) const NO_KEY: u64 = 0;
/// So many states are made at once: 64 KB of them, for 8 MB of pages.
const STRETCH_FRAMES: usize = 1024;

/// Memory for all frames, mapped for them alone: an allocator may hand out memory that was used, and would have to clear all of it at once.
/// A mapping begins at a page of the system, as direct I/O wants.
pub(super) struct Arena {
    first: NonNull<u8>,
    frame_count: usize,
}

// SAFETY: the arena is plain memory that it alone owns; who may touch which frame is settled by the frames' latches.
unsafe impl Send for Arena {}
// SAFETY: as above; the arena itself never reads or writes a frame.
unsafe impl Sync for Arena {}

impl Arena {
    /// Room for `frame_count` pages, at least one.
    pub fn new(frame_count: usize) -> Arena {
        let frame_count = frame_count.max(1);
        let layout = Layout::array::<PageBytes>(frame_count).expect("a pool is smaller than half the address space");
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // Memory is reserved for no frame: the system counts what is touched.
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: the system chooses the address, so nothing is mapped over.
        let mapped = unsafe { mmap_anonymous(null_mut(), layout.size(), access, flags) };
        let first = mapped.ok().and_then(|mapped| NonNull::new(mapped.cast()));
        Arena {
            first: first.unwrap_or_else(|| handle_alloc_error(layout)),
            frame_count,
        }
    }

    /// Where a frame's bytes are.
    pub fn page(&self, frame: usize) -> NonNull<PageBytes> {
        assert!(frame < self.frame_count, "a frame of this arena");
        // SAFETY: the frame lies inside the allocation, as just checked.
        unsafe { self.first.add(frame * PAGE_BYTES).cast() }
    }

    /// Has the system give memory to some frames now rather than at their first touch; false when it cannot.
    pub fn populate(&self, frames: Range<usize>) -> bool {
        let (start, count) = (frames.start, frames.len());
        assert!(frames.end <= self.frame_count, "frames of this arena");
        if count == 0 {
            return true;
        }
        let advice = rustix::mm::Advice::LinuxPopulateWrite;
        // SAFETY: the frames lie inside the allocation, as just checked; what the advice does to memory is that of a write which
        // changes no byte, so it does not matter who else uses them.
        unsafe { rustix::mm::madvise(self.page(start).as_ptr().cast(), count * PAGE_BYTES, advice) }.is_ok()
    }

    /// Gives the memory of some frames back to the system. Their bytes are zeros afterwards.
    ///
    /// # Safety
    /// The caller has pinned the frames, and they are in no table, so no other thread uses them.
    pub unsafe fn release(&self, frames: Range<usize>) {
        assert!(
            frames.start < frames.end && frames.end <= self.frame_count,
            "frames of this arena"
        );
        let (start, bytes) = (self.page(frames.start).as_ptr().cast(), frames.len() * PAGE_BYTES);
        // SAFETY: the frames lie inside the allocation, as just checked, and are whole system pages, for they are aligned; they
        // stay readable and writable. The only error is about the address, which is the arena's.
        let _ = unsafe { rustix::mm::madvise(start, bytes, rustix::mm::Advice::LinuxDontNeed) };
    }

    /// The bytes of a frame whose latch the caller holds.
    ///
    /// # Safety
    /// The caller holds the frame's latch for as long as the reference lives.
    pub unsafe fn shared(&self, frame: usize) -> &PageBytes {
        // SAFETY: the memory is initialized (zeroed at first), aligned, and by the caller's promise nobody changes it.
        unsafe { self.page(frame).as_ref() }
    }

    /// The bytes of a frame whose latch the caller holds exclusively.
    ///
    /// # Safety
    /// The caller holds the frame's latch exclusively for as long as the reference lives, and makes no other reference.
    #[allow(clippy::mut_from_ref, reason = "the exclusive latch stands for the exclusive borrow")]
    pub unsafe fn exclusive(&self, frame: usize) -> &mut PageBytes {
        // SAFETY: as in `shared`, and by the caller's promise this is the only reference.
        unsafe { self.page(frame).as_mut() }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this length, unmapped once; guards borrow the pool, so none is left. The only error is about the
        // address, which is the arena's.
        let _ = unsafe { munmap(self.first.as_ptr().cast(), self.frame_count * PAGE_BYTES) };
    }
}

/// From when on a page differs from its file.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DirtyState {
    /// LSN of the first change since the page was last taken for writing.
    pub recovery_lsn: Option<Lsn>,
    /// The same of the change being written now, until it is durable.
    pub writing_lsn: Option<Lsn>,
    /// The first change replaced the whole page, so redo can make the page again from nothing.
    pub rebuildable: bool,
}

/// A latch: shared by readers, exclusive for a writer. Not reentrant.
pub(super) struct Latch(RawRwLock);

impl Latch {
    pub fn try_shared(&self) -> bool {
        self.0.try_lock_shared()
    }

    pub fn shared(&self) {
        self.0.lock_shared();
    }

    pub fn try_exclusive(&self) -> bool {
        self.0.try_lock_exclusive()
    }

    pub fn exclusive(&self) {
        self.0.lock_exclusive();
    }

    pub fn is_exclusive(&self) -> bool {
        self.0.is_locked_exclusive()
    }

    /// Gives a shared latch back.
    ///
    /// # Safety
    /// The caller holds it.
    pub unsafe fn release_shared(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.0.unlock_shared() }
    }

    /// Gives an exclusive latch back.
    ///
    /// # Safety
    /// The caller holds it.
    pub unsafe fn release_exclusive(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.0.unlock_exclusive() }
    }

    /// Turns an exclusive latch into a shared one.
    ///
    /// # Safety
    /// The caller holds it exclusively.
    pub unsafe fn downgrade(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.0.downgrade() }
    }
}

/// The state of one frame.
#[repr(align(64))]
pub(super) struct Frame {
    /// Guards the bytes.
    pub latch: Latch,
    /// Set while the page is being read in, which tells PAGEIOLATCH from PAGELATCH waits.
    pub loading: AtomicBool,
    /// Set while `state.recovery_lsn` is: read without its mutex.
    pub dirty: AtomicBool,
    /// Clock eviction: raised on use, lowered as the hand passes.
    pub usage: AtomicU8,
    /// How many use the frame now. A frame with a pin is never evicted.
    pub pins: AtomicU32,
    /// The page held, or [`NO_KEY`]. Changes only while mapped nowhere and pinned by the changer.
    pub key: AtomicU64,
    /// Dirt. Taken last, never held across I/O.
    pub state: Mutex<DirtyState>,
}

impl Frame {
    pub fn new() -> Frame {
        Frame {
            latch: Latch(RawRwLock::INIT),
            loading: AtomicBool::new(false),
            dirty: AtomicBool::new(false),
            usage: AtomicU8::new(0),
            pins: AtomicU32::new(0),
            key: AtomicU64::new(NO_KEY),
            state: Mutex::new(DirtyState::default()),
        }
    }
}

/// The states of all frames, made as frames are used for the first time.
///
/// Invariant: those below `made` are made, and `made` never falls.
pub(super) struct Frames {
    places: Box<[UnsafeCell<MaybeUninit<Frame>>]>,
    made: AtomicUsize,
    /// Held by the thread that makes some.
    making: Mutex<()>,
}

// SAFETY: a place is written once, under the mutex, before `made` passes it, and only read from then on; a frame may be shared.
unsafe impl Sync for Frames {}

impl Frames {
    /// Places for `frame_count` states, none of them made.
    pub fn new(frame_count: usize) -> Frames {
        const { assert!(!needs_drop::<Frame>(), "states are not dropped") };
        let places = Box::<[UnsafeCell<MaybeUninit<Frame>>]>::new_uninit_slice(frame_count);
        Frames {
            // SAFETY: a cell of memory that may be uninitialized is one whatever its bytes are.
            places: unsafe { places.assume_init() },
            made: AtomicUsize::new(0),
            making: Mutex::new(()),
        }
    }

    /// How many frames there can be.
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// How many are made, from 0 on.
    pub fn made(&self) -> usize {
        self.made.load(Ordering::Acquire)
    }

    /// Makes the states up to that of a frame, if they are not.
    pub fn make(&self, index: usize) {
        if index < self.made() {
            return;
        }
        let _making = self.making.lock();
        let made = self.made();
        let end = (index + 1).next_multiple_of(STRETCH_FRAMES).min(self.count());
        for place in &self.places[made.min(end)..end] {
            // SAFETY: the place is not below `made`, so nobody reads it, and the mutex keeps other writers away.
            unsafe { (*place.get()).write(Frame::new()) };
        }
        self.made.store(end.max(made), Ordering::Release);
    }

    /// The state of a frame that is made.
    pub fn get(&self, index: usize) -> &Frame {
        assert!(index < self.made(), "a frame in use");
        // SAFETY: it is below `made`, which is at most the number of places, so it was written before this thread read `made`, and is
        // not written again.
        unsafe { (*self.places.get_unchecked(index).get()).assume_init_ref() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A start touched the state of every frame that the memory had room for, 0.8 % of `max server memory`.
    #[test]
    fn states_are_made_when_their_frames_are_used() {
        let frames = Frames::new(3 * STRETCH_FRAMES - 100);
        assert_eq!((frames.made(), frames.count()), (0, 3 * STRETCH_FRAMES - 100));
        frames.make(5);
        frames.get(5).pins.store(7, Ordering::Relaxed);
        assert_eq!(frames.made(), STRETCH_FRAMES);
        frames.make(STRETCH_FRAMES - 1);
        assert_eq!(frames.made(), STRETCH_FRAMES);
        frames.make(3 * STRETCH_FRAMES - 101);
        assert_eq!(frames.made(), frames.count());
        assert_eq!(frames.get(5).pins.load(Ordering::Relaxed), 7, "made once");
        let keys = (0..frames.count()).map(|index| frames.get(index).key.load(Ordering::Relaxed));
        assert_eq!(keys.max(), Some(NO_KEY));
    }

    #[test]
    fn threads_that_make_states_at_once_find_each_others() {
        let frames = Frames::new(64 * STRETCH_FRAMES);
        let next = AtomicUsize::new(0);
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        if index >= frames.count() {
                            return;
                        }
                        frames.make(index);
                        frames.get(index).pins.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert!((0..frames.count()).all(|index| frames.get(index).pins.load(Ordering::Relaxed) == 1));
    }

    #[test]
    #[should_panic(expected = "a frame in use")]
    fn a_state_that_is_not_made_is_not_read() {
        let frames = Frames::new(2 * STRETCH_FRAMES);
        frames.make(0);
        frames.get(STRETCH_FRAMES);
    }
}
