//! One data file: its size, its growth, its page 0, and its I/O statistics.
//!
//! Page 0 is a file header page; behind its page header:
//! ```text
//! 96 "vlflabdf" (8) | 104 u32 format 1 | 108 database guid (16) | 124 u16 file id | 126 u16 name length, name (UTF-8)
//! ```

use super::files::DatabaseIdentity;
use crate::cancel;
use crate::error::{Error, Result};
use crate::page::{
    HEADER_BYTES, ObjectId, PAGE_BYTES, PageBytes, PageId, PageKind, PageOperation, PageRef, apply, checksum_holds,
    seal,
};
use crate::seams::Environment;
use crate::waits::WaitType;
use disk::{Access, AlignedBuffer, File, zeros};
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use vlf::Lsn;

const MAGIC: &[u8; 8] = b"vlflabdf";
const FORMAT: u32 = 1;
const AT_GUID: usize = HEADER_BYTES + 12;
const AT_FILE: usize = AT_GUID + 16;
const AT_NAME: usize = AT_FILE + 4;
/// Zeros are written this many bytes at a time.
const ZERO_BYTES: usize = 1 << 20;
/// The most pages a file has: page numbers are 32 bits, and SQL Server's data files end at 16 TB.
const PAGES_MAX: u64 = 1 << 31;

/// FILEGROWTH.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileGrowth {
    /// By this many bytes; 0 = the file stays as it is.
    Bytes(u64),
    /// By this percentage of the current size.
    Percent(u32),
}

/// How a data file is declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFileSpecification {
    /// `file_id`: 1 is the primary file; 2 is the log's in SQL Server, so further data files begin at 3.
    pub id: u16,
    /// Where the file is.
    pub path: PathBuf,
    /// Its name in SQL.
    pub logical_name: String,
    /// Initial size in bytes, rounded up to whole pages; not looked at when opening.
    pub bytes: u64,
    /// MAXSIZE in bytes; `None` = UNLIMITED.
    pub bytes_max: Option<u64>,
    /// FILEGROWTH.
    pub growth: FileGrowth,
    /// The number of its filegroup.
    pub filegroup: u16,
}

/// What I/O on a file has cost, as `sys.dm_io_virtual_file_stats` shows it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoStatistics {
    /// Read calls.
    pub reads: u64,
    pub read_bytes: u64,
    /// Time spent in reads, microseconds.
    pub read_stall_micros: u64,
    /// Write calls.
    pub writes: u64,
    pub written_bytes: u64,
    /// Time spent in writes and syncs, microseconds.
    pub write_stall_micros: u64,
}

/// A data file as system views show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFileInformation {
    /// `file_id`.
    pub id: u16,
    /// Where the file is.
    pub path: PathBuf,
    /// Its name in SQL.
    pub logical_name: String,
    /// Size in pages.
    pub page_count: u32,
    /// MAXSIZE in bytes; `None` = UNLIMITED.
    pub bytes_max: Option<u64>,
    /// FILEGROWTH.
    pub growth: FileGrowth,
    /// I/O since the file was opened.
    pub io: IoStatistics,
    /// The bytes that a snapshot's sparse file has on disk; `None` for any other file.
    pub sparse_bytes: Option<u64>,
}

/// What ALTER DATABASE MODIFY FILE can change.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub logical_name: String,
    pub bytes_max: Option<u64>,
    pub growth: FileGrowth,
}

#[derive(Default)]
struct IoCounters {
    reads: AtomicU64,
    read_bytes: AtomicU64,
    read_stall_micros: AtomicU64,
    writes: AtomicU64,
    written_bytes: AtomicU64,
    write_stall_micros: AtomicU64,
}

/// One open data file.
pub(super) struct DataFile {
    pub id: u16,
    pub filegroup: u16,
    pub path: PathBuf,
    pub settings: Mutex<Settings>,
    handle: Arc<dyn File>,
    page_count: AtomicU32,
    io: IoCounters,
    environment: Environment,
    database: String,
}

fn io_error(operation: &str, offset: u64, path: &Path, error: &disk::DiskError) -> Error {
    Error::data_file_io(operation, offset, &path.display().to_string(), &Error::cause(error))
}

/// A database's file is its own while it is open: another server that is started on it is refused (operating system error 32).
fn locked(file: Arc<dyn File>) -> std::result::Result<Arc<dyn File>, disk::DiskError> {
    file.lock().map(|()| file)
}

impl DataFile {
    pub fn handle(&self) -> &Arc<dyn File> {
        &self.handle
    }

    /// Creates the file, durable on return. From its first moment it has its header page, which says whose it is.
    pub fn create(
        environment: &Environment,
        identity: &DatabaseIdentity,
        specification: &DataFileSpecification,
        instant: bool,
    ) -> Result<DataFile> {
        let path = &specification.path;
        let failed =
            |error: disk::DiskError| Error::cannot_create_file(&path.display().to_string(), &Error::cause(&error));
        let header = header_page(identity, specification);
        let create = || {
            environment
                .disk
                .create_holding(path, Access::Direct, header.as_slice(), &identity.guid)
                .and_then(locked)
        };
        let clock = environment.clock.as_ref();
        let handle = environment
            .waits
            .time(clock, WaitType::PreemptiveFileOps, create)
            .map_err(failed)?;
        let file = DataFile::with_handle(environment, identity, specification, handle, 0);
        let pages = specification.bytes.div_ceil(PAGE_BYTES as u64).max(1);
        if let Err(error) = file.extend(pages.min(PAGES_MAX) as u32, instant) {
            // A file that cannot be deleted now says whose it is, and the caller knows its name.
            let _ = environment.disk.delete(path);
            return Err(failed(error));
        }
        Ok(file)
    }

    /// Opens the file and checks that it belongs to the database.
    pub fn open(
        environment: &Environment,
        identity: &DatabaseIdentity,
        specification: &DataFileSpecification,
    ) -> Result<DataFile> {
        let path = &specification.path;
        let text = path.display().to_string();
        let failed = |error: disk::DiskError| {
            let cause = Error::cause(&error);
            let untold = Error::file_open_failed(&text, specification.id, &cause);
            environment.errorlog.write_error("Server", &untold);
            Error::cannot_open_file(&text, &cause)
        };
        let open = || environment.disk.open(path, Access::Direct).and_then(locked);
        let clock = environment.clock.as_ref();
        let handle = environment
            .waits
            .time(clock, WaitType::PreemptiveFileOps, open)
            .map_err(failed)?;
        // A server that was killed may have left pages and the boot record in the system's cache alone. Recovery builds on
        // what it reads, so they are made durable first.
        handle.sync().map_err(failed)?;
        let pages = (handle.len().map_err(failed)? / PAGE_BYTES as u64).min(PAGES_MAX) as u32;
        if pages == 0 {
            return Err(Error::not_a_data_file(&text));
        }
        let file = DataFile::with_handle(environment, identity, specification, handle, pages);
        let mut page = AlignedBuffer::with_len(PAGE_BYTES);
        file.read(0, &mut page)?;
        let found = read_header(&page).ok_or_else(|| Error::not_a_data_file(&text))?;
        if found != (identity.guid, specification.id) {
            return Err(Error::file_of_another_database());
        }
        Ok(file)
    }

    /// A file of a database snapshot or a copy; what its handle holds was checked when it was opened.
    pub fn of_snapshot(
        environment: &Environment,
        identity: &DatabaseIdentity,
        specification: &DataFileSpecification,
        handle: Arc<dyn File>,
    ) -> Result<DataFile> {
        let path = &specification.path;
        let failed = |error| io_error("read", 0, path, &error);
        let handle = locked(handle).map_err(failed)?;
        let pages = (handle.len().map_err(failed)? / PAGE_BYTES as u64).min(PAGES_MAX) as u32;
        Ok(DataFile::with_handle(
            environment,
            identity,
            specification,
            handle,
            pages,
        ))
    }

    fn with_handle(
        environment: &Environment,
        identity: &DatabaseIdentity,
        specification: &DataFileSpecification,
        handle: Arc<dyn File>,
        pages: u32,
    ) -> DataFile {
        DataFile {
            id: specification.id,
            filegroup: specification.filegroup,
            path: specification.path.clone(),
            settings: Mutex::new(Settings {
                logical_name: specification.logical_name.clone(),
                bytes_max: specification.bytes_max,
                growth: specification.growth,
            }),
            handle,
            page_count: AtomicU32::new(pages),
            io: IoCounters::default(),
            environment: environment.clone(),
            database: identity.name.clone(),
        }
    }

    pub fn page_count(&self) -> u32 {
        self.page_count.load(Ordering::Acquire)
    }

    /// Makes the file `pages` pages long, durably. Without instant initialization the new part is written with zeros.
    pub fn extend(&self, pages: u32, instant: bool) -> std::result::Result<(), disk::DiskError> {
        let from = u64::from(self.page_count()) * PAGE_BYTES as u64;
        let to = u64::from(pages) * PAGE_BYTES as u64;
        self.handle.grow_reserved(to)?;
        let (waits, clock) = (&self.environment.waits, self.environment.clock.as_ref());
        if !instant {
            waits.time(clock, WaitType::PreemptiveWriteFileGather, || {
                self.write_zeros(from, to)
            })?;
        }
        waits.time(clock, WaitType::PreemptiveFlushFileBuffers, || self.handle.sync())?;
        self.page_count.fetch_max(pages, Ordering::AcqRel);
        Ok(())
    }

    /// Makes the file `pages` pages long, which is shorter than it is; not durable until [`DataFile::sync`].
    pub fn cut(&self, pages: u32) -> std::result::Result<(), disk::DiskError> {
        let former = self.page_count.swap(pages, Ordering::AcqRel);
        let (waits, clock) = (&self.environment.waits, self.environment.clock.as_ref());
        let cut = || self.handle.set_len(u64::from(pages) * PAGE_BYTES as u64);
        waits
            .time(clock, WaitType::PreemptiveFileOps, cut)
            .inspect_err(|_| self.page_count.store(former, Ordering::Release))
    }

    fn write_zeros(&self, from: u64, to: u64) -> std::result::Result<(), disk::DiskError> {
        let zeroing = self.environment.begin_zeroing(&self.database, &self.path, from..to);
        // Page 0 says whose file it is, at every moment.
        let mut at = from.max(PAGE_BYTES as u64);
        while at < to {
            if cancel::is_asked_to_stop() {
                return Err(disk::DiskError::new(
                    disk::DiskErrorKind::Cancelled,
                    "extend",
                    &self.path,
                ));
            }
            let count = (to - at).min(ZERO_BYTES as u64);
            self.handle.write_at(at, zeros(count as usize))?;
            at += count;
            zeroing.reached(at);
        }
        zeroing.completed();
        Ok(())
    }

    /// Reads pages from `page` on until the buffer is full. Checks nothing.
    pub fn read(&self, page: u32, buffer: &mut [u8]) -> Result<()> {
        let offset = u64::from(page) * PAGE_BYTES as u64;
        let start = self.environment.clock.now_micros();
        let outcome = self.handle.read_at(offset, buffer);
        let stall = self.environment.clock.now_micros().saturating_sub(start);
        self.io.reads.fetch_add(1, Ordering::Relaxed);
        self.io.read_bytes.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        self.io.read_stall_micros.fetch_add(stall, Ordering::Relaxed);
        outcome.map_err(|error| io_error("read", offset, &self.path, &error))
    }

    /// Writes whole pages from `page` on; not durable until [`DataFile::sync`].
    pub fn write(&self, page: u32, bytes: &[u8]) -> Result<()> {
        let offset = u64::from(page) * PAGE_BYTES as u64;
        let start = self.environment.clock.now_micros();
        let outcome = self.handle.write_at(offset, bytes);
        self.count_write(bytes.len(), start);
        let end = u64::from(page) + (bytes.len() / PAGE_BYTES) as u64;
        outcome.map_err(|error| io_error("write", offset, &self.path, &error))?;
        self.page_count.fetch_max(end.min(PAGES_MAX) as u32, Ordering::AcqRel);
        Ok(())
    }

    /// Makes every earlier write durable.
    pub fn sync(&self) -> Result<()> {
        let (waits, clock) = (&self.environment.waits, self.environment.clock.as_ref());
        let start = clock.now_micros();
        let outcome = waits.time(clock, WaitType::PreemptiveFlushFileBuffers, || self.handle.sync());
        let stall = clock.now_micros().saturating_sub(start);
        self.io.write_stall_micros.fetch_add(stall, Ordering::Relaxed);
        outcome.map_err(|error| io_error("flush", 0, &self.path, &error))
    }

    fn count_write(&self, bytes: usize, start_micros: u64) {
        let stall = self.environment.clock.now_micros().saturating_sub(start_micros);
        self.io.writes.fetch_add(1, Ordering::Relaxed);
        self.io.written_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.io.write_stall_micros.fetch_add(stall, Ordering::Relaxed);
    }

    /// The size in pages that the next growth leads to, for at least `pages_needed` more; `None` when FILEGROWTH and MAXSIZE
    /// allow none.
    pub fn next_page_count(&self, pages_needed: u32) -> Option<u32> {
        let current = u64::from(self.page_count());
        let settings = self.settings.lock();
        let step_bytes = match settings.growth {
            FileGrowth::Bytes(0) | FileGrowth::Percent(0) => return None,
            FileGrowth::Bytes(bytes) => bytes,
            FileGrowth::Percent(percent) => current.saturating_mul(PAGE_BYTES as u64 * u64::from(percent)) / 100,
        };
        let limit = settings
            .bytes_max
            .map_or(PAGES_MAX, |bytes| (bytes / PAGE_BYTES as u64).min(PAGES_MAX));
        let step = step_bytes.div_ceil(PAGE_BYTES as u64).max(u64::from(pages_needed));
        let next = current.saturating_add(step).min(limit);
        (next >= current + u64::from(pages_needed)).then_some(next as u32)
    }

    pub fn information(&self) -> DataFileInformation {
        let settings = self.settings.lock().clone();
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        DataFileInformation {
            id: self.id,
            path: self.path.clone(),
            logical_name: settings.logical_name,
            page_count: self.page_count(),
            bytes_max: settings.bytes_max,
            growth: settings.growth,
            sparse_bytes: None,
            io: IoStatistics {
                reads: load(&self.io.reads),
                read_bytes: load(&self.io.read_bytes),
                read_stall_micros: load(&self.io.read_stall_micros),
                writes: load(&self.io.writes),
                written_bytes: load(&self.io.written_bytes),
                write_stall_micros: load(&self.io.write_stall_micros),
            },
        }
    }
}

pub(super) fn header_page(identity: &DatabaseIdentity, specification: &DataFileSpecification) -> Box<PageBytes> {
    let mut page = Box::new([0; PAGE_BYTES]);
    let format = PageOperation::Format {
        kind: PageKind::FileHeader,
        level: 0,
        object: ObjectId(0),
        next: PageId::NONE,
        previous: PageId::NONE,
    };
    apply(PageId::new(specification.id, 0), &mut page, &format, Lsn::ZERO).expect("any page can be formatted");
    // SQL Server's names are at most 128 characters, so at most 384 bytes.
    let name = specification.logical_name.as_bytes();
    let name = &name[..name.len().min(PAGE_BYTES - AT_NAME)];
    page[HEADER_BYTES..HEADER_BYTES + 8].copy_from_slice(MAGIC);
    page[HEADER_BYTES + 8..AT_GUID].copy_from_slice(&FORMAT.to_le_bytes());
    page[AT_GUID..AT_FILE].copy_from_slice(&identity.guid);
    page[AT_FILE..AT_FILE + 2].copy_from_slice(&specification.id.to_le_bytes());
    page[AT_FILE + 2..AT_NAME].copy_from_slice(&(name.len() as u16).to_le_bytes());
    page[AT_NAME..AT_NAME + name.len()].copy_from_slice(name);
    seal(&mut page);
    page
}

/// Whose data file begins with these bytes; `None` when they begin none. Damage behind the guid is not looked for.
pub fn data_file_owner(begin: &[u8]) -> Option<[u8; 16]> {
    begin.get(HEADER_BYTES..)?.strip_prefix(MAGIC)?;
    begin.get(AT_GUID..AT_FILE)?.try_into().ok()
}

/// Database guid and file id of a header page; `None` when it is none or damaged.
fn read_header(bytes: &[u8]) -> Option<([u8; 16], u16)> {
    let page: &PageBytes = bytes.first_chunk()?;
    let is_header = PageRef::new(page).kind() == Some(PageKind::FileHeader) && checksum_holds(page);
    let rest = page[HEADER_BYTES..]
        .strip_prefix(MAGIC)?
        .strip_prefix(&FORMAT.to_le_bytes())?;
    let (guid, rest) = rest.split_first_chunk::<16>()?;
    let file = u16::from_le_bytes(*rest.first_chunk()?);
    is_header.then_some((*guid, file))
}
