//! The double-write file: whole copies of the pages that are about to be overwritten in place.
//!
//! ```text
//! 0                 8192       16384
//! | batch header    | copy 0   | copy 1 ...
//!
//! batch header: 0 "vlflabdw" (8) | 8 u32 crc32c of what follows | 12 database guid (16) | 28 u16 count | 30 u16 zero
//!               32.. page ids, 6 bytes each
//! ```
//! Every batch starts again at the beginning of the file. That is safe because the previous batch is already synced in its final places. If
//! the power fails while copies are written, the pages themselves are still intact; if it fails later, the copies are durable.

use super::files::DatabaseIdentity;
use crate::error::{Error, Result};
use crate::page::{PAGE_BYTES, PageBytes, PageId, PageRef, checksum_holds, seal};
use crate::seams::Environment;
use disk::{Access, AlignedBuffer, Disk, DiskErrorKind, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Pages in one batch at most: 4 MB.
pub(super) const BATCH_PAGES_MAX: usize = 512;
/// Room of a batch at first.
const ROOM_BYTES_MIN: usize = 16 * PAGE_BYTES;
const MAGIC: &[u8; 8] = b"vlflabdw";
const AT_CHECKSUM: usize = 8;
const AT_GUID: usize = 12;
const AT_COUNT: usize = 28;
const AT_IDS: usize = 32;

/// What [`super::DataFiles::recover_torn`] found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TornReport {
    /// Copies in the last batch.
    pub pages_checked: usize,
    /// Pages that were torn in their place and are whole again.
    pub pages_restored: Vec<PageId>,
}

/// Sealed page images one after another, with their ids.
#[derive(Default)]
pub(super) struct PageRunBuffer {
    bytes: Option<AlignedBuffer>,
    ids: Vec<PageId>,
    /// Pages in front of the first image, for a header.
    lead: usize,
}

impl PageRunBuffer {
    fn with_lead(lead: usize) -> PageRunBuffer {
        PageRunBuffer {
            lead,
            ..Default::default()
        }
    }

    pub fn ids(&self) -> &[PageId] {
        &self.ids
    }

    fn clear(&mut self) {
        self.ids.clear();
    }

    /// Adds a copy of the page, to be sealed later. Room doubles as needed: most databases never write a large batch.
    pub fn push(&mut self, id: PageId, page: &PageBytes) {
        let at = (self.lead + self.ids.len()) * PAGE_BYTES;
        if self.bytes.as_ref().is_none_or(|bytes| bytes.len() < at + PAGE_BYTES) {
            let mut larger = AlignedBuffer::with_len((2 * at).max(ROOM_BYTES_MIN));
            if let Some(bytes) = &self.bytes {
                larger[..at].copy_from_slice(&bytes[..at]);
            }
            self.bytes = Some(larger);
        }
        if let Some(bytes) = &mut self.bytes {
            bytes[at..at + PAGE_BYTES].copy_from_slice(page);
            self.ids.push(id);
        }
    }

    fn seal_all(&mut self) {
        let Some(bytes) = &mut self.bytes else { return };
        let from = self.lead * PAGE_BYTES;
        let (pages, _) = bytes[from..from + self.ids.len() * PAGE_BYTES].as_chunks_mut::<PAGE_BYTES>();
        pages.iter_mut().for_each(seal);
    }

    /// Runs of pages that lie one after another in a file, with their bytes.
    pub fn runs(&self) -> impl Iterator<Item = (PageId, &[u8])> {
        let chunks = self
            .ids
            .chunk_by(|one, next| one.file == next.file && one.page.checked_add(1) == Some(next.page));
        chunks.scan(self.lead, |at, run| {
            let from = *at * PAGE_BYTES;
            *at += run.len();
            let bytes = self.bytes.as_ref()?.get(from..*at * PAGE_BYTES)?;
            Some((*run.first()?, bytes))
        })
    }
}

/// The pages of one batch: those that need a copy first, and those that redo can make from nothing.
pub(super) struct Batch {
    /// Pages to be copied before they are written; begins with the header page.
    pub copied: PageRunBuffer,
    /// Pages to be written only.
    pub rebuildable: PageRunBuffer,
}

impl Batch {
    pub fn new() -> Batch {
        Batch {
            copied: PageRunBuffer::with_lead(1),
            rebuildable: PageRunBuffer::with_lead(0),
        }
    }

    pub fn clear(&mut self) {
        self.copied.clear();
        self.rebuildable.clear();
    }

    pub fn seal_all(&mut self) {
        self.copied.seal_all();
        self.rebuildable.seal_all();
    }
}

pub(super) struct DoubleWriteFile {
    path: PathBuf,
    handle: Arc<dyn File>,
    guid: [u8; 16],
}

/// The name of the double-write file that belongs to a primary data file.
pub fn double_write_path(primary: &Path) -> PathBuf {
    let mut name = primary.as_os_str().to_os_string();
    name.push(".dwb");
    PathBuf::from(name)
}

impl DoubleWriteFile {
    /// Creates the file, durable and with its space reserved. One that outlived its data file is replaced.
    pub fn create(environment: &Environment, identity: &DatabaseIdentity, primary: &Path) -> Result<DoubleWriteFile> {
        let path = double_write_path(primary);
        let text = path.display().to_string();
        let failed = |error: disk::DiskError| Error::cannot_create_file(&text, &Error::cause(&error));
        if is_left_over(environment.disk.as_ref(), &path) {
            environment.disk.delete(&path).map_err(failed)?;
        }
        let handle = environment.disk.create(&path, Access::Direct).map_err(failed)?;
        handle
            .grow_reserved(((1 + BATCH_PAGES_MAX) * PAGE_BYTES) as u64)
            .map_err(failed)?;
        handle.sync().map_err(failed)?;
        Ok(DoubleWriteFile {
            path,
            handle,
            guid: identity.guid,
        })
    }

    /// Opens the file; a missing one is made again, as when the data files came from elsewhere.
    pub fn open(environment: &Environment, identity: &DatabaseIdentity, primary: &Path) -> Result<DoubleWriteFile> {
        let path = double_write_path(primary);
        match environment.disk.open(&path, Access::Direct) {
            Ok(handle) => Ok(DoubleWriteFile {
                path,
                handle,
                guid: identity.guid,
            }),
            Err(error) if error.kind == DiskErrorKind::NotFound => {
                DoubleWriteFile::create(environment, identity, primary)
            }
            Err(error) => Err(Error::cannot_open_file(
                &path.display().to_string(),
                &Error::cause(&error),
            )),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the copies of a batch, durable on return.
    pub fn write(&self, copied: &mut PageRunBuffer) -> Result<()> {
        let count = copied.ids.len();
        let Some(bytes) = copied.bytes.as_mut().filter(|_| count > 0) else {
            return Ok(());
        };
        let header = &mut bytes[..PAGE_BYTES];
        header.fill(0);
        header[..AT_CHECKSUM].copy_from_slice(MAGIC);
        header[AT_GUID..AT_COUNT].copy_from_slice(&self.guid);
        header[AT_COUNT..AT_COUNT + 2].copy_from_slice(&(count as u16).to_le_bytes());
        for (index, id) in copied.ids.iter().enumerate() {
            let at = AT_IDS + index * PageId::BYTES;
            header[at..at + PageId::BYTES].copy_from_slice(&id.to_bytes());
        }
        let checksum = crc32c::crc32c(&header[AT_GUID..]);
        header[AT_CHECKSUM..AT_GUID].copy_from_slice(&checksum.to_le_bytes());
        let used = &bytes[..(1 + count) * PAGE_BYTES];
        self.handle
            .write_durable_at(0, used)
            .map_err(|error| self.failed("write", &error))
    }

    fn failed(&self, operation: &str, error: &disk::DiskError) -> Error {
        Error::data_file_io(operation, 0, &self.path.display().to_string(), &Error::cause(error))
    }

    /// The whole copies of the last batch. Empty when there was none or its header was torn.
    pub fn copies(&self) -> Result<Vec<(PageId, AlignedBuffer)>> {
        let mut header = AlignedBuffer::with_len(PAGE_BYTES);
        let len = self.handle.len().map_err(|error| self.failed("read", &error))?;
        if len < PAGE_BYTES as u64 {
            return Ok(Vec::new());
        }
        self.handle
            .read_at(0, &mut header)
            .map_err(|error| self.failed("read", &error))?;
        let mut copies = Vec::new();
        for (index, id) in self.ids(&header).into_iter().enumerate() {
            let offset = ((1 + index) * PAGE_BYTES) as u64;
            let mut copy = AlignedBuffer::with_len(PAGE_BYTES);
            if offset + PAGE_BYTES as u64 > len {
                break;
            }
            self.handle
                .read_at(offset, &mut copy)
                .map_err(|error| self.failed("read", &error))?;
            if is_whole(id, &copy) {
                copies.push((id, copy));
            }
        }
        Ok(copies)
    }

    fn ids(&self, header: &[u8]) -> Vec<PageId> {
        let is_sound = header.starts_with(MAGIC)
            && header[AT_CHECKSUM..AT_GUID] == crc32c::crc32c(&header[AT_GUID..]).to_le_bytes()
            && header[AT_GUID..AT_COUNT] == self.guid;
        let count = usize::from(u16::from_le_bytes([header[AT_COUNT], header[AT_COUNT + 1]]));
        if !is_sound || count > BATCH_PAGES_MAX {
            return Vec::new();
        }
        let (ids, _) = header[AT_IDS..AT_IDS + count * PageId::BYTES].as_chunks::<{ PageId::BYTES }>();
        ids.iter().map(|id| PageId::from_bytes(*id)).collect()
    }
}

/// Whether a file is a double-write file, written or not.
fn is_left_over(disk: &dyn Disk, path: &Path) -> bool {
    let Ok(file) = disk.open(path, Access::Buffered) else {
        return false;
    };
    let mut begin = [0; MAGIC.len()];
    file.len() == Ok(0) || file.read_at(0, &mut begin).is_ok() && (&begin == MAGIC || begin == [0; MAGIC.len()])
}

/// True when the bytes are the page `id`, complete.
pub(super) fn is_whole(id: PageId, bytes: &[u8]) -> bool {
    let page: Option<&PageBytes> = bytes.first_chunk();
    page.is_some_and(|page| PageRef::new(page).id() == id && checksum_holds(page))
}
