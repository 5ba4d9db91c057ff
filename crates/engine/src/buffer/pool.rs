//! The pool itself: finding, reading in and fixing pages.

#![allow(
    unsafe_code,
    reason = "pins and latches taken here pass to the guards that give them back"
)]

use super::arena::{Arena, Frame, Frames, NO_KEY};
use super::bell::Bell;
use super::sizing::Sizing;
use super::{DataFiles, DatabaseId, LogFlush, PageRead, PageWrite, key_parts, page_key, page_use};
use crate::error::{Error, Result};
use crate::page::{PAGE_BYTES, PageBytes, PageId};
use crate::seams::Environment;
use crate::waits::WaitType;
use disk::AlignedBuffer;
use foldhash::fast::RandomState;
use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Shards of the page table: enough that threads seldom meet.
const SHARDS: usize = 128;
/// The fewest frames a pool has: a thread may fix six pages at once, and a second one must find room beside it.
pub(super) const FRAMES_MIN: usize = 8;
/// Pages one read-ahead reads at most (512 KB, as SQL Server's reads ahead).
const READ_AHEAD_PAGES_MAX: usize = 64;
/// Use counts end here, so that a page once popular can still be evicted.
const USAGE_MAX: u8 = 3;

/// Keys are spread by the shard's multiplication already, so one more by an odd constant is hash enough.
#[derive(Default)]
pub(super) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        let mixed = (self.0 ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 29);
    }
}

type Shard = RwLock<HashMap<u64, u32, BuildHasherDefault<KeyHasher>>>;

/// A database the pool serves.
pub(super) struct Attached {
    pub files: Arc<DataFiles>,
    pub log: Arc<dyn LogFlush>,
}

impl Attached {
    fn unlock_files(&self) {
        let files = self.files.open_files().into_iter().chain(self.log.open_files());
        files.for_each(|file| file.unlock());
    }
}

/// What the pool has done since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PoolCounters {
    /// Frames that may be in use.
    pub frames: usize,
    /// Frames that hold a page.
    pub frames_used: usize,
    /// Pages that differ from their file.
    pub pages_dirty: usize,
    /// Pages read from files, one by one or ahead.
    pub pages_read: u64,
    /// Of these, pages read ahead.
    pub pages_read_ahead: u64,
    pub pages_written_by_checkpoint: u64,
    /// Pages written to make room.
    pub pages_written_by_eviction: u64,
}

#[derive(Default)]
pub(super) struct Counters {
    pub pages_read: AtomicU64,
    pub pages_read_ahead: AtomicU64,
    pub pages_written_by_checkpoint: AtomicU64,
    pub pages_written_by_eviction: AtomicU64,
}

/// The buffer pool of an instance.
pub struct BufferPool {
    pub(super) arena: Arena,
    pub(super) frames: Frames,
    shards: Box<[Shard]>,
    databases: RwLock<HashMap<DatabaseId, Arc<Attached>, RandomState>>,
    pub(super) environment: Environment,
    pub(super) counters: Counters,
    /// Frames never used yet begin here.
    pub(super) next_unused: AtomicUsize,
    /// The clock's hand.
    pub(super) hand: AtomicUsize,
    /// Frames just written by eviction: likely clean, to be looked at before the hand moves on.
    pub(super) likely_clean: Mutex<Vec<u32>>,
    pub(super) lazy_writer: Arc<Bell>,
    pub(super) memory_ahead: Arc<Bell>,
    pub(super) sizing: Sizing,
    /// When checkpoints have to give up, microseconds of the environment's clock.
    pub(super) write_until_micros: AtomicU64,
}

fn not_open() -> Error {
    Error::assertion("a page of a database that is not open is asked for")
}

impl Drop for BufferPool {
    fn drop(&mut self) {
        self.lazy_writer.end();
        self.memory_ahead.end();
    }
}

impl BufferPool {
    /// A pool of `bytes / 8192` frames at most, at least eight. Memory is taken as frames are used.
    pub fn new(environment: Environment, bytes: u64) -> BufferPool {
        let frame_count = usize::try_from(bytes / PAGE_BYTES as u64).unwrap_or(usize::MAX);
        let frame_count = frame_count.clamp(FRAMES_MIN, u32::MAX as usize);
        BufferPool {
            arena: Arena::new(frame_count),
            frames: Frames::new(frame_count),
            shards: (0..SHARDS).map(|_| Shard::default()).collect(),
            databases: RwLock::default(),
            environment,
            counters: Counters::default(),
            next_unused: AtomicUsize::new(0),
            hand: AtomicUsize::new(0),
            likely_clean: Mutex::new(Vec::new()),
            lazy_writer: Arc::default(),
            memory_ahead: Arc::default(),
            sizing: Sizing::new(frame_count),
            write_until_micros: AtomicU64::new(u64::MAX),
        }
    }

    /// Makes a database's pages known to the pool.
    pub fn attach(&self, database: DatabaseId, files: Arc<DataFiles>, log: Arc<dyn LogFlush>) {
        self.databases
            .write()
            .insert(database, Arc::new(Attached { files, log }));
    }

    /// Drops all pages of a database, including dirty ones, and forgets its files. The database must no longer be in use. Its files may be
    /// opened by others from then on, although a plan or a session may keep them open.
    ///
    /// The next database may get this one's id. So that none of its pages are left under it, a thread that is late finds no files to read
    /// from, and one that had found them looks again once its page is in the table ([`BufferPool::publish`]).
    pub fn forget_database(&self, database: DatabaseId) {
        let attached = self.databases.write().remove(&database);
        self.forget_pages(|of, _| of == database);
        if let Some(attached) = attached {
            attached.unlock_files();
        }
    }

    /// Lets others open the files of all databases: nothing is written any more.
    pub fn unlock_files(&self) {
        self.databases
            .read()
            .values()
            .for_each(|attached| attached.unlock_files());
    }

    /// The pages of one file leave memory without being written.
    pub fn forget_file(&self, database: DatabaseId, file: u16) {
        self.forget_pages(|of, page| of == database && page.file == file);
    }

    pub(super) fn forget_pages(&self, is_meant: impl Fn(DatabaseId, PageId) -> bool) {
        for index in 0..self.frames_touched() {
            let frame = self.frame(index);
            let key = frame.key.load(Ordering::Acquire);
            let (database, page) = key_parts(key);
            if key == NO_KEY || !is_meant(database, page) {
                continue;
            }
            match self.pin(key) {
                Some(pinned) if pinned == index => {}
                // It was evicted meanwhile, and read again.
                Some(pinned) => {
                    self.unpin(pinned);
                    continue;
                }
                None => continue,
            }
            frame.latch.exclusive();
            *frame.state.lock() = Default::default();
            frame.dirty.store(false, Ordering::Release);
            self.unmap(index);
            // SAFETY: latched above.
            unsafe { frame.latch.release_exclusive() };
            frame.pins.fetch_sub(1, Ordering::Release);
        }
    }

    pub(super) fn attached(&self, database: DatabaseId) -> Result<Arc<Attached>> {
        let attached = self.databases.read().get(&database).cloned();
        attached.ok_or_else(not_open)
    }

    pub(super) fn damaged(&self, database: DatabaseId, id: PageId, what: &str) -> Error {
        match self.attached(database) {
            Ok(attached) => attached.files.damaged(id, what),
            Err(error) => error,
        }
    }

    pub(super) fn frame(&self, index: usize) -> &Frame {
        self.frames.get(index)
    }

    /// Frames from 0 up to here may hold pages; those behind were never used.
    pub(super) fn frames_touched(&self) -> usize {
        self.next_unused.load(Ordering::Acquire).min(self.frames.made())
    }

    pub(super) fn shard(&self, key: u64) -> &Shard {
        &self.shards[(key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 57) as usize % SHARDS]
    }

    /// Pins the frame that holds the page, if one does. The pin is taken under the shard's lock, under which eviction unmaps.
    pub(super) fn pin(&self, key: u64) -> Option<usize> {
        let shard = self.shard(key).read();
        let index = *shard.get(&key)? as usize;
        self.frame(index).pins.fetch_add(1, Ordering::Acquire);
        Some(index)
    }

    /// Whether a page is in memory at this moment.
    pub fn holds(&self, database: DatabaseId, id: PageId) -> bool {
        let key = page_key(database, id);
        self.shard(key).read().contains_key(&key)
    }

    fn unpin(&self, index: usize) {
        self.frame(index).pins.fetch_sub(1, Ordering::Release);
    }

    /// Takes the page out of the table. The caller holds a pin and the exclusive latch; the frame must be clean.
    pub(super) fn unmap(&self, index: usize) {
        let frame = self.frame(index);
        let key = frame.key.load(Ordering::Acquire);
        let mut shard = self.shard(key).write();
        if shard.get(&key) == Some(&(index as u32)) {
            shard.remove(&key);
        }
        frame.key.store(NO_KEY, Ordering::Release);
    }

    fn touch(frame: &Frame) {
        let usage = frame.usage.load(Ordering::Relaxed);
        if usage < USAGE_MAX {
            frame.usage.store(usage + 1, Ordering::Relaxed);
        }
    }

    /// Fixes a page with the shared latch, reading it in if needed.
    ///
    /// # Errors
    /// 823 when the operating system fails, 824 when the page is damaged, 701 when every frame is in use.
    pub fn read(&self, database: DatabaseId, id: PageId) -> Result<PageRead<'_>> {
        loop {
            if let Some(page) = self.read_cached(database, id) {
                return Ok(page);
            }
            if let Some(index) = self.load(database, id, WaitType::PageIoLatchShared)? {
                // SAFETY: `load` returns its frame pinned and exclusively latched.
                unsafe {
                    self.frame(index).latch.downgrade();
                    return Ok(PageRead::adopt(self, index));
                }
            }
        }
    }

    /// Fixes a page with the shared latch if it is in memory.
    #[inline]
    pub fn read_cached(&self, database: DatabaseId, id: PageId) -> Option<PageRead<'_>> {
        let key = page_key(database, id);
        let index = self.pin(key)?;
        let frame = self.frame(index);
        if !frame.latch.try_shared() {
            self.wait_shared(frame);
        }
        if frame.key.load(Ordering::Acquire) == key {
            BufferPool::touch(frame);
            page_use::count_fixed();
            // SAFETY: pinned and latched just now.
            return Some(unsafe { PageRead::adopt(self, index) });
        }
        // The thread that read the page in failed. SAFETY: latched above.
        unsafe { frame.latch.release_shared() };
        self.unpin(index);
        None
    }

    /// Fixes a page with the exclusive latch, reading it in if needed. Errors as [`BufferPool::read`].
    pub fn write(&self, database: DatabaseId, id: PageId) -> Result<PageWrite<'_>> {
        loop {
            if let Some(page) = self.write_cached(database, id) {
                return Ok(page);
            }
            if let Some(index) = self.load(database, id, WaitType::PageIoLatchExclusive)? {
                // SAFETY: `load` returns its frame pinned and exclusively latched.
                return Ok(unsafe { PageWrite::adopt(self, index, false) });
            }
        }
    }

    /// Fixes a page whose former content does not matter: nothing is read, the bytes are zeros unless the page is in memory. A
    /// page that nothing is applied to is dropped again.
    ///
    /// # Errors
    /// 701 when every frame is in use; errors of writing others' dirty pages to make room.
    pub fn fresh(&self, database: DatabaseId, id: PageId) -> Result<PageWrite<'_>> {
        loop {
            if let Some(page) = self.write_cached(database, id) {
                return Ok(page);
            }
            let attached = self.attached(database)?;
            let index = self.claim()?;
            // SAFETY: a claimed frame is latched exclusively by this thread.
            unsafe { self.arena.exclusive(index) }.fill(0);
            if self.publish(index, page_key(database, id), &attached)? {
                page_use::count_fixed();
                // SAFETY: claimed frames are pinned and exclusively latched.
                return Ok(unsafe { PageWrite::adopt(self, index, true) });
            }
        }
    }

    /// Fixes a page with the exclusive latch if it is in memory.
    pub fn write_cached(&self, database: DatabaseId, id: PageId) -> Option<PageWrite<'_>> {
        let key = page_key(database, id);
        let index = self.pin(key)?;
        let frame = self.frame(index);
        if !frame.latch.try_exclusive() {
            self.wait_exclusive(frame);
        }
        if frame.key.load(Ordering::Acquire) == key {
            BufferPool::touch(frame);
            page_use::count_fixed();
            // SAFETY: pinned and latched just now.
            return Some(unsafe { PageWrite::adopt(self, index, false) });
        }
        // SAFETY: latched above.
        unsafe { frame.latch.release_exclusive() };
        self.unpin(index);
        None
    }

    #[cold]
    fn wait_shared(&self, frame: &Frame) {
        let wait_type = match frame.loading.load(Ordering::Relaxed) {
            true => WaitType::PageIoLatchShared,
            false => WaitType::PageLatchShared,
        };
        let clock = self.environment.clock.as_ref();
        self.environment.waits.time(clock, wait_type, || frame.latch.shared());
    }

    #[cold]
    fn wait_exclusive(&self, frame: &Frame) {
        let wait_type = match frame.loading.load(Ordering::Relaxed) {
            true => WaitType::PageIoLatchExclusive,
            false => WaitType::PageLatchExclusive,
        };
        let clock = self.environment.clock.as_ref();
        self.environment
            .waits
            .time(clock, wait_type, || frame.latch.exclusive());
    }

    /// Puts a claimed frame into the table, for a page of the database that `attached` is. False when another thread was first; the frame
    /// is then given back, as it is after an error.
    ///
    /// # Errors
    /// 3624 when the database has been forgotten since `attached` was found: [`BufferPool::forget_database`] takes its files away
    /// first and looks through the frames then, so one of the two sees the other.
    pub(super) fn publish(&self, index: usize, key: u64, attached: &Arc<Attached>) -> Result<bool> {
        let frame = self.frame(index);
        let mut shard = self.shard(key).write();
        if shard.contains_key(&key) {
            drop(shard);
            self.give_back(index);
            return Ok(false);
        }
        frame.key.store(key, Ordering::Release);
        frame.usage.store(1, Ordering::Relaxed);
        shard.insert(key, index as u32);
        drop(shard);
        let now = self.attached(key_parts(key).0);
        if now.as_ref().is_ok_and(|now| Arc::ptr_eq(now, attached)) {
            return Ok(true);
        }
        self.unmap(index);
        self.give_back(index);
        now.and_then(|_| Err(not_open()))
    }

    /// Ends the hold on a claimed or loaded frame.
    pub(super) fn give_back(&self, index: usize) {
        let frame = self.frame(index);
        frame.loading.store(false, Ordering::Relaxed);
        // SAFETY: claimed and loading frames are latched exclusively by their thread.
        unsafe { frame.latch.release_exclusive() };
        self.unpin(index);
    }

    /// Reads a page into a frame, returned pinned and exclusively latched. `None` when another thread is already at it.
    fn load(&self, database: DatabaseId, id: PageId, wait_type: WaitType) -> Result<Option<usize>> {
        let attached = self.attached(database)?;
        let index = self.claim()?;
        self.frame(index).loading.store(true, Ordering::Relaxed);
        if !self.publish(index, page_key(database, id), &attached)? {
            return Ok(None);
        }
        // SAFETY: a claimed frame is latched exclusively by this thread.
        let page: &mut PageBytes = unsafe { self.arena.exclusive(index) };
        let clock = self.environment.clock.as_ref();
        let outcome = self
            .environment
            .waits
            .time(clock, wait_type, || attached.files.read_run(id, page));
        self.counters.pages_read.fetch_add(1, Ordering::Relaxed);
        if let Err(error) = outcome.and_then(|()| attached.files.check_page(id, page)) {
            self.unmap(index);
            self.give_back(index);
            return Err(error);
        }
        self.frame(index).loading.store(false, Ordering::Relaxed);
        page_use::count_loaded();
        Ok(Some(index))
    }

    /// Reads up to `page_count` consecutive pages into the pool with few large reads; for scans. Pages in memory end a read,
    /// damaged ones are left to [`BufferPool::read`] to report. Returns how many pages were read.
    pub fn read_ahead(&self, database: DatabaseId, first: PageId, page_count: u32) -> Result<usize> {
        let attached = self.attached(database)?;
        let end = first
            .page
            .saturating_add(page_count)
            .min(attached.files.page_count(first.file));
        let run_max = READ_AHEAD_PAGES_MAX.min(self.frame_limit() / 4);
        let (mut next, mut read) = (first.page, 0);
        while next < end {
            let id = PageId::new(first.file, next);
            let run = self.claim_run(&attached, database, id, run_max.min((end - next) as usize))?;
            if !run.is_empty() {
                match self.read_run(&attached, id, &run) {
                    // The file has become shorter meanwhile.
                    Err(_) if attached.files.page_count(first.file) < end => break,
                    outcome => outcome?,
                }
                read += run.len();
            }
            next += run.len().max(1) as u32;
        }
        Ok(read)
    }

    /// Frames for the pages from `id` on, published as loading, up to the first page that is in memory already.
    fn claim_run(
        &self,
        attached: &Arc<Attached>,
        database: DatabaseId,
        id: PageId,
        count: usize,
    ) -> Result<Vec<usize>> {
        let mut run = Vec::with_capacity(count);
        for page in (id.page..).take(count) {
            let key = page_key(database, PageId::new(id.file, page));
            if self.shard(key).read().contains_key(&key) {
                break;
            }
            let index = match self.claim() {
                Ok(index) => index,
                Err(_) if !run.is_empty() => break,
                Err(error) => return Err(error),
            };
            self.frame(index).loading.store(true, Ordering::Relaxed);
            match self.publish(index, key, attached) {
                Ok(true) => run.push(index),
                Ok(false) => break,
                // Those in front of it were published while the database was there: their reader gives them back.
                Err(_) if !run.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(run)
    }

    fn read_run(&self, attached: &Attached, first: PageId, run: &[usize]) -> Result<()> {
        let mut buffer = AlignedBuffer::with_len(run.len() * PAGE_BYTES);
        let clock = self.environment.clock.as_ref();
        let read = || attached.files.read_run(first, &mut buffer);
        let outcome = self.environment.waits.time(clock, WaitType::PageIoLatchShared, read);
        let (pages, _) = buffer.as_chunks::<PAGE_BYTES>();
        for ((index, page), number) in run.iter().zip(pages).zip(first.page..) {
            let id = PageId::new(first.file, number);
            if outcome.is_ok() && attached.files.check_page(id, page).is_ok() {
                // SAFETY: a claimed frame is latched exclusively by this thread.
                unsafe { self.arena.exclusive(*index) }.copy_from_slice(page);
            } else {
                self.unmap(*index);
            }
            self.give_back(*index);
        }
        page_use::count_ahead(run.len());
        self.counters.pages_read.fetch_add(run.len() as u64, Ordering::Relaxed);
        self.counters
            .pages_read_ahead
            .fetch_add(run.len() as u64, Ordering::Relaxed);
        outcome
    }

    /// A copy of the counters. Counting dirty pages looks at every frame.
    pub fn counters(&self) -> PoolCounters {
        let touched = (0..self.frames_touched()).map(|index| self.frame(index));
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        PoolCounters {
            frames: self.frame_limit(),
            frames_used: touched
                .clone()
                .filter(|frame| frame.key.load(Ordering::Relaxed) != NO_KEY)
                .count(),
            pages_dirty: touched.filter(|frame| frame.dirty.load(Ordering::Relaxed)).count(),
            pages_read: load(&self.counters.pages_read),
            pages_read_ahead: load(&self.counters.pages_read_ahead),
            pages_written_by_checkpoint: load(&self.counters.pages_written_by_checkpoint),
            pages_written_by_eviction: load(&self.counters.pages_written_by_eviction),
        }
    }
}
