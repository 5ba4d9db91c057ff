//! The sparse files of a database snapshot or of a copy: the base's pages as they were, kept before the base overwrites them, and the pages
//! that a copy has written itself.
//!
//! ```text
//! page 0  a data file's header page, with the snapshot's guid
//! page 1  "vlflabss" (8), of a copy "vlflabcp" | u32 format 1 | u32 crc32c of what follows | guid of the base (16) | u32 pages | u16 file id
//! page 2  "vlflabxx" (8) once the snapshot is lost
//! page 3  the map, one bit per page of the base's file: 1 = the page is here; as many pages as it takes
//! then    page n of the base's file at page lead + n
//! ```
//! The file has the length for all pages, but is sparse: only copied pages take space. A page without a bit in the map is read from the
//! base's file, where it is unchanged. SQL Server's snapshots are also sparse files, written at the first change of a page (sql-docs, "View
//! the size of the sparse file of a database snapshot").
//!
//! **Order of writes.** The images of a batch are durable before their bits, and the bits before the first byte of the batch reaches the
//! base. Bits are only ever set, so a map page torn by a power cut has bits for some of the images, all of which are complete. It does not
//! matter which ones, because the base has not been touched yet. The snapshot's own pages are written when it is created, before its entry
//! in master; without that entry, the next startup deletes the file.
//!
//! **A copy** (`CREATE DATABASE ... AS COPY OF`) is the same file, written on. What it writes gets its bit as what the base keeps for it does:
//! the first of the two decides, and from then on the page is the copy's. A page whose bit is not durable when the power fails is the base's
//! again, as it was at the copy's moment; the copy's log has what was changed. A page that has its bit is overwritten in place, so a copy
//! has a double-write file. Pages behind those of the base need no bit: they are the copy's. Its length is that of the file. Where a copy is
//! cut shorter than its base was, the pages cut off get their bits, so what it grows by later is empty.
//!
//! **Room of a copy.** A copy may have a bound on the pages of its own. A page counts from the moment a change of it is to be logged
//! ([`SnapshotFiles::claim`]), so a checkpoint never meets the bound. What the base keeps counts, and is never refused.
//!
//! **Readers** take no lock. They check the bit, read the base, and check again: if the bit is still clear, the page had not been
//! overwritten.
//!
//! **Lost.** If a page cannot be copied, the snapshot is abandoned and the base goes on. The mark on page 2 is durable before the base is
//! written. If even that fails, the file is deleted; if that fails as well, the base stops (823). The base must never go on while the next
//! startup could trust an incomplete snapshot.

use super::data_file::{data_file_owner, header_page};
use super::files::DatabaseIdentity;
use super::{DataFileSpecification, data_file, double_write_path};
use crate::error::{Error, Result};
use crate::page::{PAGE_BYTES, PageId};
use crate::seams::Environment;
use disk::{Access, AlignedBuffer, DiskError, DiskErrorKind, File, FileIdentity};
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

const MAGIC: &[u8; 8] = b"vlflabss";
const MAGIC_OF_COPY: &[u8; 8] = b"vlflabcp";
const LOST: &[u8; 8] = b"vlflabxx";
const FORMAT: u32 = 1;
const AT_CHECKSUM: usize = 12;
const AT_BASE: usize = 16;
const AT_PAGES: usize = 32;
const AT_FILE: usize = 36;
const END: usize = 38;
const ABOUT_PAGE: u64 = 1;
const LOST_PAGE: u64 = 2;
const MAP_PAGE: u64 = 3;
const MAP_PAGE_BITS: u32 = 8 * PAGE_BYTES as u32;
/// Pages kept by one read and one write at most.
const RUN_PAGES_MAX: usize = 64;

/// What a sparse file is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SparseKind {
    /// A database snapshot: written by its base alone once it is made, and as long as its base was.
    Snapshot,
    /// A copy: a database that is written, and grows and shrinks.
    Copy,
}

impl SparseKind {
    fn magic(self) -> &'static [u8; 8] {
        match self {
            SparseKind::Snapshot => MAGIC,
            SparseKind::Copy => MAGIC_OF_COPY,
        }
    }
}

/// One sparse file, as a file that has every page of the base's as it was.
pub(super) struct SnapshotFile {
    sparse: Arc<dyn File>,
    kind: SparseKind,
    /// Pages of the base's file at the moment: those that have a bit.
    pages: u32,
    /// Pages that the file has; those of a snapshot for good.
    length: AtomicU32,
    /// Pages before that of the base's page 0.
    lead: u64,
    has: Box<[AtomicU64]>,
    room: Arc<Room>,
    /// The pages that count: those that it has, and those of which a change is to be logged.
    claimed: Box<[AtomicU64]>,
    /// Map pages that the file does not have as they are. Held while images are written and made durable.
    unsaved: Mutex<BTreeSet<u32>>,
    base: RwLock<Option<Arc<dyn File>>>,
    is_being_made: Arc<AtomicBool>,
    is_lost: Arc<AtomicBool>,
}

/// The pages that a copy has of its own, in all of its files, and how many there may be.
struct Room {
    own: AtomicU64,
    own_max: u64,
}

impl Room {
    fn new(bytes_max: Option<u64>) -> Arc<Room> {
        Arc::new(Room {
            own: AtomicU64::new(0),
            own_max: bytes_max.map_or(u64::MAX, |bytes| bytes / PAGE_BYTES as u64),
        })
    }

    fn has_bound(&self) -> bool {
        self.own_max != u64::MAX
    }

    fn may_have(&self, more: u64) -> bool {
        self.own.load(Ordering::SeqCst).saturating_add(more) <= self.own_max
    }
}

/// Sets a page's bit; true when it was not set.
fn set_bit(words: &[AtomicU64], page: u32) -> bool {
    let bit = 1 << (page % 64);
    let word = words.get(page as usize / 64);
    word.is_some_and(|word| word.fetch_or(bit, Ordering::SeqCst) & bit == 0)
}

/// Clears a page's bit; true when it was set.
fn clear_bit(words: &[AtomicU64], page: u32) -> bool {
    let bit = 1 << (page % 64);
    let word = words.get(page as usize / 64);
    word.is_some_and(|word| word.fetch_and(!bit, Ordering::SeqCst) & bit != 0)
}

fn has_bit(words: &[AtomicU64], page: u32) -> bool {
    let word = words.get(page as usize / 64);
    word.is_some_and(|word| word.load(Ordering::SeqCst) >> (page % 64) & 1 == 1)
}

fn no_bits(pages: u32) -> Box<[AtomicU64]> {
    (0..pages.div_ceil(64)).map(|_| AtomicU64::new(0)).collect()
}

/// What sparse files are over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SparseBase {
    pub kind: SparseKind,
    /// `database_id` of the base.
    pub database_id: u16,
    /// The guid in the files of the base.
    pub guid: [u8; 16],
    /// The most bytes of pages that a copy may have of its own; `None` = as many as there is disk.
    pub bytes_max: Option<u64>,
}

impl Common {
    fn new(base: SparseBase) -> Common {
        Common {
            room: Room::new(base.bytes_max),
            is_being_made: Arc::new(AtomicBool::new(false)),
            is_lost: Arc::new(AtomicBool::new(false)),
        }
    }
}

/// The sparse files of one snapshot, or of one copy.
pub struct SnapshotFiles {
    /// What they are.
    pub kind: SparseKind,
    /// The guid of the snapshot.
    pub guid: [u8; 16],
    /// Its name, for messages.
    pub name: String,
    /// `database_id` and guid of the database it is of.
    pub base: (u16, [u8; 16]),
    files: BTreeMap<u16, Arc<SnapshotFile>>,
    room: Arc<Room>,
    is_being_made: Arc<AtomicBool>,
    is_lost: Arc<AtomicBool>,
    /// Whether the error log has the loss.
    is_written: AtomicBool,
    /// Whether the loss is durable. Held while it is being made so.
    is_told: Mutex<bool>,
}

/// How long a file of so many pages is, in pages, before that of page 0.
fn lead_of(pages: u32) -> u64 {
    MAP_PAGE + u64::from(pages.div_ceil(MAP_PAGE_BITS))
}

fn about_page(kind: SparseKind, base: [u8; 16], pages: u32, file: u16) -> AlignedBuffer {
    let mut page = AlignedBuffer::with_len(PAGE_BYTES);
    page[..8].copy_from_slice(kind.magic());
    page[8..AT_CHECKSUM].copy_from_slice(&FORMAT.to_le_bytes());
    page[AT_BASE..AT_PAGES].copy_from_slice(&base);
    page[AT_PAGES..AT_FILE].copy_from_slice(&pages.to_le_bytes());
    page[AT_FILE..END].copy_from_slice(&file.to_le_bytes());
    let checksum = crc32c::crc32c(&page[AT_BASE..END]);
    page[AT_CHECKSUM..AT_BASE].copy_from_slice(&checksum.to_le_bytes());
    page
}

/// Base, pages and file id; `None` when the bytes are no page about a file of this kind.
fn read_about(kind: SparseKind, page: &[u8]) -> Option<([u8; 16], u32, u16)> {
    let rest = page.strip_prefix(kind.magic())?.strip_prefix(&FORMAT.to_le_bytes())?;
    let checksum = u32::from_le_bytes(*rest.first_chunk()?);
    let number = |range: Range<usize>| page.get(range);
    (crc32c::crc32c(number(AT_BASE..END)?) == checksum).then_some(())?;
    Some((
        number(AT_BASE..AT_PAGES)?.try_into().ok()?,
        u32::from_le_bytes(number(AT_PAGES..AT_FILE)?.try_into().ok()?),
        u16::from_le_bytes(number(AT_FILE..END)?.try_into().ok()?),
    ))
}

/// What the files of one snapshot or copy have in common.
struct Common {
    room: Arc<Room>,
    /// A copy that is being made: see [`SnapshotFiles::finish`].
    is_being_made: Arc<AtomicBool>,
    is_lost: Arc<AtomicBool>,
}

impl SnapshotFile {
    fn new(kind: SparseKind, sparse: Arc<dyn File>, pages: u32, common: &Common) -> SnapshotFile {
        SnapshotFile {
            sparse,
            kind,
            pages,
            length: AtomicU32::new(pages),
            lead: lead_of(pages),
            has: no_bits(pages),
            claimed: no_bits(if common.room.has_bound() { pages } else { 0 }),
            room: common.room.clone(),
            unsaved: Mutex::default(),
            base: RwLock::new(None),
            is_being_made: common.is_being_made.clone(),
            is_lost: common.is_lost.clone(),
        }
    }

    /// Creates the file; that of a snapshot is durable on return.
    fn create(
        environment: &Environment,
        identity: &DatabaseIdentity,
        specification: &DataFileSpecification,
        (kind, base, pages): (SparseKind, [u8; 16], u32),
        common: &Common,
    ) -> std::result::Result<SnapshotFile, DiskError> {
        let header = header_page(identity, specification);
        let sparse =
            environment
                .disk
                .create_holding(&specification.path, Access::Direct, header.as_slice(), &identity.guid)?;
        sparse.lock()?;
        let file = SnapshotFile::new(kind, sparse, pages, common);
        file.sparse
            .set_len((file.lead + u64::from(pages)) * PAGE_BYTES as u64)?;
        let about = about_page(kind, base, pages, specification.id);
        file.sparse.write_at(ABOUT_PAGE * PAGE_BYTES as u64, &about)?;
        // The blocks of the mark and of the map are taken now: they have to be writable when the disk is full.
        let empty = AlignedBuffer::with_len(PAGE_BYTES);
        for page in LOST_PAGE..file.lead {
            file.sparse.write_at(page * PAGE_BYTES as u64, &empty)?;
        }
        if kind == SparseKind::Copy {
            // What it begins with is the copy's own.
            let mut own = AlignedBuffer::with_len(PAGE_BYTES);
            own.copy_from_slice(header.as_slice());
            file.put(0, &own, true)?;
        }
        file.sync()?;
        Ok(file)
    }

    fn open(
        environment: &Environment,
        identity: &DatabaseIdentity,
        specification: &DataFileSpecification,
        (kind, common): (SparseKind, &Common),
    ) -> Result<(SnapshotFile, [u8; 16])> {
        let text = specification.path.display().to_string();
        let failed = |error: DiskError| Error::cannot_open_file(&text, &Error::cause(&error));
        let sparse = environment
            .disk
            .open(&specification.path, Access::Direct)
            .map_err(failed)?;
        sparse.lock().map_err(failed)?;
        // What a killed server left in the system's cache is what the base was written on the strength of.
        sparse.sync().map_err(failed)?;
        let mut page = AlignedBuffer::with_len(PAGE_BYTES);
        let read =
            |number: u64, page: &mut AlignedBuffer| sparse.read_at(number * PAGE_BYTES as u64, page).map_err(failed);
        read(0, &mut page)?;
        if data_file_owner(&page) != Some(identity.guid) {
            return Err(Error::file_of_another_database());
        }
        read(ABOUT_PAGE, &mut page)?;
        let (base, pages, id) = read_about(kind, &page).ok_or_else(|| Error::not_a_data_file(&text))?;
        if id != specification.id {
            return Err(Error::file_of_another_database());
        }
        read(LOST_PAGE, &mut page)?;
        if page.starts_with(LOST) {
            common.is_lost.store(true, Ordering::SeqCst);
        }
        let mut words = Vec::with_capacity(pages.div_ceil(64) as usize);
        for number in MAP_PAGE..lead_of(pages) {
            read(number, &mut page)?;
            let (map, _) = page.as_chunks::<8>();
            words.extend(map.iter().map(|word| AtomicU64::new(u64::from_le_bytes(*word))));
        }
        words.truncate(pages.div_ceil(64) as usize);
        let file = SnapshotFile {
            has: words.into_boxed_slice(),
            ..SnapshotFile::new(kind, sparse, pages, common)
        };
        if kind == SparseKind::Copy {
            file.take_up().map_err(failed)?;
        }
        Ok((file, base))
    }

    /// Learns how long a copy's file is, ends a cut that the power interrupted, and counts its pages.
    fn take_up(&self) -> std::result::Result<(), DiskError> {
        let pages = (self.sparse.len()? / PAGE_BYTES as u64).saturating_sub(self.lead);
        self.length
            .store(u32::try_from(pages).unwrap_or(u32::MAX), Ordering::SeqCst);
        self.own_what_is_cut(&mut self.unsaved.lock());
        self.settle()?;
        let own = (0..self.pages.min(self.length())).filter(|page| has_bit(&self.has, *page));
        own.for_each(|page| self.count(page));
        let grown = u64::from(self.length().saturating_sub(self.pages));
        self.room.own.fetch_add(grown, Ordering::SeqCst);
        Ok(())
    }

    fn length(&self) -> u32 {
        self.length.load(Ordering::SeqCst)
    }

    fn has(&self, page: u32) -> bool {
        page >= self.pages || has_bit(&self.has, page)
    }

    /// Counts one of the base's pages as one of the copy's own.
    fn count(&self, page: u32) {
        if page < self.pages && set_bit(&self.claimed, page) {
            self.room.own.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// What is behind the end of a copy is not the base's if it grows again.
    fn own_what_is_cut(&self, unsaved: &mut BTreeSet<u32>) {
        for page in self.length()..self.pages {
            if set_bit(&self.has, page) {
                unsaved.insert(page / MAP_PAGE_BITS);
            }
            if clear_bit(&self.claimed, page) {
                self.room.own.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }

    /// Cuts a copy off behind so many pages. The base keeps no image there meanwhile: it would lie behind the end, and the file would be longer
    /// at the next start. The cut is durable before the bits are.
    fn shorten(&self, pages: u32) -> std::result::Result<(), DiskError> {
        let mut unsaved = self.unsaved.lock();
        self.sparse.set_len(self.place(pages))?;
        let former = self.length.swap(pages, Ordering::SeqCst);
        let grown = former.max(self.pages) - pages.max(self.pages);
        self.room.own.fetch_sub(u64::from(grown), Ordering::SeqCst);
        self.own_what_is_cut(&mut unsaved);
        self.sync_sparse()?;
        drop(unsaved);
        self.settle()
    }

    fn place(&self, page: u32) -> u64 {
        (self.lead + u64::from(page)) * PAGE_BYTES as u64
    }

    /// Pages of the base's file that the snapshot has of its own. What a copy has cut off has a bit and no room on disk.
    fn pages_kept(&self) -> u64 {
        let there = 0..self.pages.min(self.length());
        there.filter(|page| has_bit(&self.has, *page)).count() as u64
    }

    /// Runs of pages that the snapshot does not have, among those that it knows.
    fn missing(&self, pages: Range<u32>) -> Vec<Range<u32>> {
        let mut runs: Vec<Range<u32>> = Vec::new();
        for page in (pages.start..pages.end.min(self.pages)).filter(|page| !self.has(*page)) {
            match runs.last_mut() {
                Some(run) if run.end == page && run.len() < RUN_PAGES_MAX => run.end += 1,
                _ => runs.push(page..page + 1),
            }
        }
        runs
    }

    /// Writes images of pages that the snapshot lacks, or, where it `replaces`, of all.
    fn put(&self, first: u32, bytes: &[u8], replaces: bool) -> std::result::Result<(), DiskError> {
        let mut unsaved = self.unsaved.lock();
        let (images, _) = bytes.as_chunks::<PAGE_BYTES>();
        let pages = first..first + images.len() as u32;
        match replaces || pages.clone().all(|page| !self.has(page)) {
            true => self.sparse.write_at(self.place(first), bytes)?,
            // Another writer has kept one of them meanwhile.
            false => {
                let lacked = pages.clone().zip(images).filter(|(page, _)| !self.has(*page));
                for (page, image) in lacked {
                    let mut aligned = AlignedBuffer::with_len(PAGE_BYTES);
                    aligned.copy_from_slice(image);
                    self.sparse.write_at(self.place(page), &aligned)?;
                }
            }
        }
        for page in pages.start..pages.end.min(self.pages) {
            if set_bit(&self.has, page) {
                unsaved.insert(page / MAP_PAGE_BITS);
            }
            self.count(page);
        }
        Ok(())
    }

    fn copy_to(&self, base: &dyn File) -> std::result::Result<(), DiskError> {
        self.check("read")?;
        let mut images = AlignedBuffer::with_len(RUN_PAGES_MAX * PAGE_BYTES);
        let mut page = 0;
        while page < self.pages {
            let run = (page..self.pages)
                .take(RUN_PAGES_MAX)
                .take_while(|page| self.has(*page));
            let count = run.count();
            if count > 0 {
                let bytes = &mut images[..count * PAGE_BYTES];
                self.sparse.read_at(self.place(page), bytes)?;
                base.write_at(u64::from(page) * PAGE_BYTES as u64, bytes)?;
            }
            page += count.max(1) as u32;
        }
        base.set_len(u64::from(self.pages) * PAGE_BYTES as u64)?;
        base.sync()
    }

    /// Makes durable what was kept, and that it was.
    fn settle(&self) -> std::result::Result<(), DiskError> {
        let mut unsaved = self.unsaved.lock();
        if unsaved.is_empty() {
            return Ok(());
        }
        self.sync_sparse()?;
        self.write_map(&unsaved)?;
        self.sync_sparse()?;
        unsaved.clear();
        Ok(())
    }

    /// Makes the file durable. Where that fails nobody knows which of its images are, so none is believed.
    fn sync_sparse(&self) -> std::result::Result<(), DiskError> {
        self.sparse
            .sync()
            .inspect_err(|_| self.is_lost.store(true, Ordering::SeqCst))
    }

    fn write_map(&self, changed: &BTreeSet<u32>) -> std::result::Result<(), DiskError> {
        const PAGE_WORDS: usize = PAGE_BYTES / 8;
        for number in changed {
            let mut page = AlignedBuffer::with_len(PAGE_BYTES);
            let words = self.has.chunks(PAGE_WORDS).nth(*number as usize).unwrap_or_default();
            let (places, _) = page.as_chunks_mut::<8>();
            for (place, word) in places.iter_mut().zip(words) {
                *place = word.load(Ordering::SeqCst).to_le_bytes();
            }
            let offset = (MAP_PAGE + u64::from(*number)) * PAGE_BYTES as u64;
            self.sparse.write_at(offset, &page)?;
        }
        Ok(())
    }

    /// Says durably that the snapshot is lost.
    fn mark_lost(&self) -> std::result::Result<(), DiskError> {
        let mut page = AlignedBuffer::with_len(PAGE_BYTES);
        page[..8].copy_from_slice(LOST);
        self.sparse
            .write_at(LOST_PAGE * PAGE_BYTES as u64, &page)
            .and_then(|()| self.sparse.sync())
    }

    /// Deletes the file, which could not be marked: a missing file is a loss, too. Another file that has got its name stays.
    fn remove(&self, environment: &Environment, failed: DiskError) -> std::result::Result<(), DiskError> {
        let path = self.sparse.path();
        match (environment.disk.look(path), self.sparse.identity()) {
            (Ok(None), _) => Ok(()),
            (Ok(Some(found)), Ok(own)) if found.identity != own => Ok(()),
            (Ok(Some(_)), Ok(_)) => environment.disk.delete(path),
            _ => Err(failed),
        }
    }

    fn error(&self, kind: DiskErrorKind, operation: &'static str) -> DiskError {
        DiskError::new(kind, operation, self.sparse.path())
    }

    fn check(&self, operation: &'static str) -> std::result::Result<(), DiskError> {
        match self.is_lost.load(Ordering::SeqCst) {
            true => Err(self.error(DiskErrorKind::Io, operation)),
            false => Ok(()),
        }
    }

    /// The file has become at least so many bytes long.
    fn lengthen(&self, bytes: u64) {
        let pages = bytes.div_ceil(PAGE_BYTES as u64) as u32;
        let former = self.length.fetch_max(pages, Ordering::SeqCst);
        let grown = pages.max(former).max(self.pages) - former.max(self.pages);
        self.room.own.fetch_add(u64::from(grown), Ordering::SeqCst);
    }

    fn read_page(&self, page: u32, buffer: &mut [u8]) -> std::result::Result<(), DiskError> {
        if !self.has(page) {
            let base = self.base.read().clone();
            let base = base.ok_or_else(|| self.error(DiskErrorKind::NotFound, "read"))?;
            let read = base.read_at(u64::from(page) * PAGE_BYTES as u64, buffer);
            // A snapshot that was lost meanwhile has kept nothing of what the base was overwritten with.
            self.check("read")?;
            if !self.has(page) {
                return read;
            }
        }
        self.sparse.read_at(self.place(page), buffer)
    }
}

impl File for SnapshotFile {
    fn path(&self) -> &Path {
        self.sparse.path()
    }

    fn identity(&self) -> std::result::Result<FileIdentity, DiskError> {
        self.sparse.identity()
    }

    fn lock(&self) -> std::result::Result<(), DiskError> {
        self.sparse.lock()
    }

    fn unlock(&self) {
        self.sparse.unlock();
    }

    fn len(&self) -> std::result::Result<u64, DiskError> {
        Ok(u64::from(self.length()) * PAGE_BYTES as u64)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::result::Result<(), DiskError> {
        self.check("read")?;
        let end = offset + buffer.len() as u64;
        if !offset.is_multiple_of(PAGE_BYTES as u64) || end > self.len()? {
            return Err(self.error(DiskErrorKind::UnexpectedEnd, "read").at(offset));
        }
        let first = (offset / PAGE_BYTES as u64) as u32;
        let (pages, _) = buffer.as_chunks_mut::<PAGE_BYTES>();
        for (page, number) in pages.iter_mut().zip(first..) {
            self.read_page(number, page)?;
        }
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> std::result::Result<(), DiskError> {
        self.check("write")?;
        let end = offset + bytes.len() as u64;
        if self.kind == SparseKind::Snapshot && end > self.len()? {
            return Err(self.error(DiskErrorKind::DiskFull, "write").at(offset));
        }
        self.put((offset / PAGE_BYTES as u64) as u32, bytes, true)?;
        self.lengthen(end);
        Ok(())
    }

    fn write_durable_at(&self, offset: u64, bytes: &[u8]) -> std::result::Result<(), DiskError> {
        self.write_at(offset, bytes).and_then(|()| self.sync())
    }

    fn write_vectored_at(&self, offset: u64, parts: &[&[u8]]) -> std::result::Result<(), DiskError> {
        let mut at = offset;
        for part in parts {
            self.write_at(at, part)?;
            at += part.len() as u64;
        }
        Ok(())
    }

    fn sync(&self) -> std::result::Result<(), DiskError> {
        self.check("sync")?;
        if self.is_being_made.load(Ordering::SeqCst) {
            return Ok(());
        }
        // What was written in the place of an image has no bit to be set.
        self.sync_sparse()?;
        self.settle()
    }

    /// A snapshot is as large as its base was. A copy gets space for what it has more.
    fn grow_reserved(&self, new_len: u64) -> std::result::Result<(), DiskError> {
        if new_len <= self.len()? {
            return Ok(());
        }
        if self.kind == SparseKind::Snapshot {
            return Err(self.error(DiskErrorKind::DiskFull, "extend").at(new_len));
        }
        self.sparse.grow_reserved(self.lead * PAGE_BYTES as u64 + new_len)?;
        self.lengthen(new_len);
        Ok(())
    }

    fn set_len(&self, len: u64) -> std::result::Result<(), DiskError> {
        if self.kind == SparseKind::Snapshot {
            return Err(self.error(DiskErrorKind::DiskFull, "resize").at(len));
        }
        if len <= self.len()? {
            return self.shorten((len / PAGE_BYTES as u64) as u32);
        }
        self.sparse.set_len(self.lead * PAGE_BYTES as u64 + len)?;
        self.lengthen(len);
        Ok(())
    }

    fn sector_bytes(&self) -> u32 {
        self.sparse.sector_bytes()
    }
}

impl SnapshotFiles {
    /// Creates the files of a snapshot, durable on return, or of a copy, durable by [`SnapshotFiles::finish`]; each `(specification, pages)` is a file of the base as long as it is now.
    ///
    /// # Errors
    /// 5123. Files made before it are the caller's to delete.
    pub fn create(
        environment: &Environment,
        identity: &DatabaseIdentity,
        base: SparseBase,
        files: &[(DataFileSpecification, u32)],
    ) -> Result<SnapshotFiles> {
        let common = Common::new(base);
        let is_deferred = base.kind == SparseKind::Copy;
        common.is_being_made.store(is_deferred, Ordering::SeqCst);
        let mut made = BTreeMap::new();
        for (specification, pages) in files {
            let what = (base.kind, base.guid, *pages);
            let file = SnapshotFile::create(environment, identity, specification, what, &common);
            let path = specification.path.display().to_string();
            let file = file.map_err(|error| Error::cannot_create_file(&path, &Error::cause(&error)))?;
            made.insert(specification.id, Arc::new(file));
        }
        Ok(SnapshotFiles::of(identity, base, made, common))
    }

    fn of(
        identity: &DatabaseIdentity,
        base: SparseBase,
        files: BTreeMap<u16, Arc<SnapshotFile>>,
        common: Common,
    ) -> SnapshotFiles {
        SnapshotFiles {
            kind: base.kind,
            guid: identity.guid,
            name: identity.name.clone(),
            base: (base.database_id, base.guid),
            files,
            room: common.room,
            is_being_made: common.is_being_made,
            is_lost: common.is_lost,
            is_written: AtomicBool::new(false),
            is_told: Mutex::default(),
        }
    }

    /// Opens the files of a snapshot.
    ///
    /// # Errors
    /// 5120, 5171, 5173 for files that are missing or not what they were; 3420 for one that says that it was lost.
    pub fn open(
        environment: &Environment,
        identity: &DatabaseIdentity,
        base: SparseBase,
        specifications: &[DataFileSpecification],
    ) -> Result<SnapshotFiles> {
        let common = Common::new(base);
        let mut files = BTreeMap::new();
        for specification in specifications {
            let (file, of) = SnapshotFile::open(environment, identity, specification, (base.kind, &common))?;
            if of != base.guid {
                return Err(Error::file_of_another_database());
            }
            files.insert(specification.id, Arc::new(file));
        }
        let files = SnapshotFiles::of(identity, base, files, common);
        match files.is_lost() {
            true => Err(files.loss()),
            false => Ok(files),
        }
    }

    /// Makes a copy durable, before master names it. Until then its own writes are not: a crash deletes its files. What the base keeps for it
    /// is durable at once, as always.
    ///
    /// # Errors
    /// 823, and then the copy is of no use.
    pub fn finish(&self) -> Result<()> {
        self.is_being_made.store(false, Ordering::SeqCst);
        let finished = self.files.values().try_for_each(|file| file.sync());
        finished.map_err(|error| {
            let path = error.path.display().to_string();
            Error::data_file_io("flush", 0, &path, &Error::cause(&error))
        })
    }

    /// What the error log says of one that is lost.
    pub fn loss(&self) -> Error {
        match self.kind {
            SparseKind::Snapshot => Error::snapshot_is_lost(&self.name),
            SparseKind::Copy => Error::copy_is_lost(&self.name),
        }
    }

    /// For a copy with a bound: has these pages count as its own. Where one of them does not yet and there is no room for it, `is_refused`
    /// says whether that is an error.
    ///
    /// # Errors
    /// 40544.
    pub(super) fn claim(&self, pages: impl Iterator<Item = PageId> + Clone, is_refused: bool) -> Result<()> {
        if !self.room.has_bound() {
            return Ok(());
        }
        let file_of = |id: &PageId| self.files.get(&id.file).filter(|file| id.page < file.pages);
        let is_new = |id: &PageId| file_of(id).is_some_and(|file| !has_bit(&file.claimed, id.page));
        let more = pages.clone().filter(is_new).count() as u64;
        if more > 0 && is_refused && !self.room.may_have(more) {
            return Err(Error::size_quota_reached(&self.name));
        }
        pages.for_each(|id| {
            if let Some(file) = file_of(&id) {
                file.count(id.page);
            }
        });
        Ok(())
    }

    /// The pages by which a copy may grow: as many as are `wanted` or there is room for.
    ///
    /// # Errors
    /// 40544 when there is no room for as many as are `needed`.
    pub(super) fn growth(&self, needed: u32, wanted: u32) -> Result<u32> {
        if !self.room.has_bound() {
            return Ok(wanted);
        }
        let left = self.room.own_max.saturating_sub(self.room.own.load(Ordering::SeqCst));
        let pages = u64::from(wanted).min(left) as u32;
        match pages >= needed {
            true => Ok(pages),
            false => Err(Error::size_quota_reached(&self.name)),
        }
    }

    /// Whether it was given up because a page could not be kept.
    pub fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::SeqCst)
    }

    /// Whether the base's files are known, so that every page can be read.
    pub fn has_base(&self) -> bool {
        self.files.values().all(|file| file.base.read().is_some())
    }

    pub(super) fn handles(&self) -> impl Iterator<Item = (u16, Arc<SnapshotFile>)> {
        self.files.iter().map(|(id, file)| (*id, file.clone()))
    }

    /// From now on pages that are not kept are read from this file.
    pub(super) fn set_base(&self, id: u16, handle: &Arc<dyn File>) {
        if let Some(file) = self.files.get(&id) {
            *file.base.write() = Some(handle.clone());
        }
    }

    /// Keeps those of a run of pages that are not kept yet, as `file` has them; not durable until [`SnapshotFiles::settle`].
    ///
    /// # Errors
    /// Those of the sparse file, and of the base's: what cannot be read cannot be kept.
    pub(super) fn keep(&self, file: &data_file::DataFile, pages: Range<u32>) -> std::result::Result<(), DiskError> {
        let Some(own) = self.files.get(&file.id) else {
            return Ok(());
        };
        for run in own.missing(pages) {
            let mut images = AlignedBuffer::with_len(run.len() * PAGE_BYTES);
            file.handle()
                .read_at(u64::from(run.start) * PAGE_BYTES as u64, &mut images)?;
            own.put(run.start, &images, false)?;
        }
        Ok(())
    }

    /// Makes durable what was kept.
    pub(super) fn settle(&self) -> std::result::Result<(), DiskError> {
        self.files.values().try_for_each(|file| file.settle())
    }

    /// The file ids of the base that it has.
    pub fn file_ids(&self) -> Vec<u16> {
        self.files.keys().copied().collect()
    }

    /// RESTORE ... FROM DATABASE_SNAPSHOT: every page kept goes back to its place in the base's files, which nobody has open, and what they
    /// have grown by is cut off. Durable on return, harmless to repeat.
    ///
    /// # Errors
    /// 823 and 5120 for the files.
    pub fn copy_to_base(&self, environment: &Environment, specifications: &[DataFileSpecification]) -> Result<()> {
        let primary = specifications.first().map(|one| double_write_path(&one.path));
        if let Some(copies) = primary {
            // What it holds of the last batch is of pages that are no more.
            match environment.disk.delete(&copies) {
                Err(error) if error.kind != DiskErrorKind::NotFound => {
                    let path = copies.display().to_string();
                    return Err(Error::cannot_open_file(&path, &Error::cause(&error)));
                }
                _ => {}
            }
        }
        for specification in specifications {
            let Some(own) = self.files.get(&specification.id) else {
                continue;
            };
            let copied = environment
                .disk
                .open(&specification.path, Access::Direct)
                .and_then(|base| own.copy_to(base.as_ref()));
            copied.map_err(|error| {
                let path = error.path.display().to_string();
                Error::data_file_io("write", 0, &path, &Error::cause(&error))
            })?;
        }
        Ok(())
    }

    /// Gives the snapshot up. Durable on return: the base may be written.
    ///
    /// # Errors
    /// Where neither a mark nor the removal of a file could be made durable.
    pub(super) fn lose(&self, environment: &Environment, cause: &DiskError) -> std::result::Result<(), DiskError> {
        // The second thread waits: if the base were overwritten before the loss is durable, the next startup would trust the snapshot. And
        // a base that stopped because it could not be made durable tries again when it is opened again.
        let mut is_told = self.is_told.lock();
        if *is_told {
            return Ok(());
        }
        self.is_lost.store(true, Ordering::SeqCst);
        if !self.is_written.swap(true, Ordering::SeqCst) {
            self.write_loss(environment, cause);
        }
        let mut outcome = Err(cause.clone());
        // One file that says so is enough.
        for file in self.files.values() {
            let marked = file.mark_lost();
            outcome = outcome.or(marked.or_else(|failed| file.remove(environment, failed)));
        }
        *is_told = outcome.is_ok();
        outcome
    }

    /// Why nothing is kept for a snapshot that is lost.
    pub(super) fn unkept(&self) -> DiskError {
        let path = self.files.values().next().map(|file| file.sparse.path());
        DiskError::new(DiskErrorKind::Io, "write", path.unwrap_or_else(|| Path::new("")))
    }

    /// Whether the next start knows that the snapshot was given up.
    pub(super) fn is_loss_told(&self) -> bool {
        *self.is_told.lock()
    }

    /// What the error log says of a loss.
    fn write_loss(&self, environment: &Environment, cause: &DiskError) {
        let path = cause.path.display().to_string();
        let error = match cause.kind {
            DiskErrorKind::DiskFull => Error::sparse_file_full(&path),
            _ => Error::operating_system(&format!("write of '{path}'"), &Error::cause(cause)),
        };
        environment.errorlog.write_error("Server", &error);
        environment.errorlog.write_error("Server", &self.loss());
    }

    /// The bytes of a file that are its own: the pages kept, and what stands before them.
    pub(super) fn bytes_on_disk(&self, id: u16) -> Option<u64> {
        let file = self.files.get(&id)?;
        let grown = file.length().saturating_sub(file.pages);
        Some((file.lead + file.pages_kept() + u64::from(grown)) * PAGE_BYTES as u64)
    }
}

/// The snapshots of an instance's databases that are open: a base that is opened has to know them before its first
/// page is written.
#[derive(Default)]
pub struct OpenSnapshots(Mutex<Vec<Arc<SnapshotFiles>>>);

impl OpenSnapshots {
    pub fn add(&self, snapshot: Arc<SnapshotFiles>) {
        self.0.lock().push(snapshot);
    }

    pub fn remove(&self, guid: [u8; 16]) -> Option<Arc<SnapshotFiles>> {
        let mut all = self.0.lock();
        let place = all.iter().position(|snapshot| snapshot.guid == guid)?;
        Some(all.swap_remove(place))
    }

    pub fn find(&self, guid: [u8; 16]) -> Option<Arc<SnapshotFiles>> {
        self.0.lock().iter().find(|snapshot| snapshot.guid == guid).cloned()
    }

    /// Those of a database, by its id and guid: an id is given again.
    pub fn of(&self, base: (u16, [u8; 16])) -> Vec<Arc<SnapshotFiles>> {
        let all = self.0.lock();
        all.iter().filter(|snapshot| snapshot.base == base).cloned().collect()
    }
}
