//! The undo file of a standby database: pages as they were before recovery undid uncommitted changes.
//!
//! ```text
//!    0 "vlflabun" (8) | u32 format 1 | u32 crc32c of the note | guid of the database (16) | u32 note bytes | note
//! 4096 entry | entry | ...
//! entry: u32 page | u16 file | u16 0 | u32 crc32c of the page and its number | u32 0 | page (8192)
//! ```
//! Invariant: an entry is durable before the page in the data file changes; each page has one entry, the oldest. The file ends
//! at the first entry that does not hold.

use crate::error::{Error, Result};
use crate::page::{PAGE_BYTES, PageId};
use disk::{Access, Disk, DiskError, File};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

const MAGIC: &[u8; 8] = b"vlflabun";
const FORMAT: u32 = 1;
const AT_NOTE: usize = 36;
const ENTRIES_AT: u64 = 4096;
const HEAD_BYTES: usize = 16;
const ENTRY_BYTES: usize = HEAD_BYTES + PAGE_BYTES;

pub struct BeforeImages {
    file: Arc<dyn File>,
    note: Vec<u8>,
    kept: Mutex<Kept>,
}

struct Kept {
    pages: HashSet<PageId>,
    end: u64,
}

fn refused(path: &Path) -> impl Fn(DiskError) -> Error + '_ {
    move |error| Error::cannot_open_file(&path.display().to_string(), &Error::cause(&error))
}

/// Whose undo file begins with these bytes; `None` when they begin none.
pub fn undo_file_owner(begin: &[u8]) -> Option<[u8; 16]> {
    begin.strip_prefix(MAGIC)?;
    begin.get(16..32)?.try_into().ok()
}

fn checksum(page: &[u8], id: PageId) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(page), &id.page.to_le_bytes()) ^ u32::from(id.file)
}

impl BeforeImages {
    /// Makes the file, durable on return. `note` is kept with it: at most 4,060 bytes.
    ///
    /// # Errors
    /// 5120 when it cannot be made.
    pub fn create(disk: &dyn Disk, path: &Path, guid: [u8; 16], note: &[u8]) -> Result<BeforeImages> {
        let failed = refused(path);
        let mut head = vec![0; ENTRIES_AT as usize];
        let end = AT_NOTE + note.len();
        let place = head.get_mut(AT_NOTE..end);
        place
            .ok_or_else(|| Error::assertion("the note of an undo file is too long"))?
            .copy_from_slice(note);
        head[..8].copy_from_slice(MAGIC);
        head[8..12].copy_from_slice(&FORMAT.to_le_bytes());
        head[12..16].copy_from_slice(&crc32c::crc32c(note).to_le_bytes());
        head[16..32].copy_from_slice(&guid);
        head[32..36].copy_from_slice(&(note.len() as u32).to_le_bytes());
        let file = disk.create_holding(path, Access::Buffered, &head, &guid);
        let file = file.map_err(&failed)?;
        Ok(BeforeImages {
            file,
            note: note.to_vec(),
            kept: Mutex::new(Kept {
                pages: HashSet::new(),
                end: ENTRIES_AT,
            }),
        })
    }

    /// Opens the file and finds its entries.
    ///
    /// # Errors
    /// 5120 when it cannot be read; 5173 when it belongs to another database or is none.
    pub fn open(disk: &dyn Disk, path: &Path, guid: [u8; 16]) -> Result<BeforeImages> {
        let failed = refused(path);
        let file = disk.open(path, Access::Buffered).map_err(&failed)?;
        let mut head = vec![0; ENTRIES_AT as usize];
        file.read_at(0, &mut head).map_err(&failed)?;
        let note = read_note(&head, guid).ok_or_else(Error::file_of_another_database)?;
        let images = BeforeImages {
            file,
            note,
            kept: Mutex::new(Kept {
                pages: HashSet::new(),
                end: ENTRIES_AT,
            }),
        };
        let mut pages = HashSet::new();
        images.each(&mut |id, _| {
            pages.insert(id);
            Ok(())
        })?;
        let end = ENTRIES_AT + pages.len() as u64 * ENTRY_BYTES as u64;
        *images.kept.lock() = Kept { pages, end };
        Ok(images)
    }

    /// What was kept with the file.
    pub fn note(&self) -> &[u8] {
        &self.note
    }

    /// True when a page has its entry already.
    pub fn has(&self, id: PageId) -> bool {
        self.kept.lock().pages.contains(&id)
    }

    /// Adds a page as it is now; not durable until [`BeforeImages::sync`].
    pub fn keep(&self, id: PageId, page: &[u8]) -> std::result::Result<(), DiskError> {
        let mut kept = self.kept.lock();
        let mut entry = Vec::with_capacity(ENTRY_BYTES);
        entry.extend_from_slice(&id.page.to_le_bytes());
        entry.extend_from_slice(&id.file.to_le_bytes());
        entry.extend_from_slice(&[0; 2]);
        entry.extend_from_slice(&checksum(page, id).to_le_bytes());
        entry.extend_from_slice(&[0; 4]);
        entry.extend_from_slice(page);
        self.file.write_at(kept.end, &entry)?;
        kept.end += ENTRY_BYTES as u64;
        kept.pages.insert(id);
        Ok(())
    }

    /// Makes every entry durable.
    pub fn sync(&self) -> std::result::Result<(), DiskError> {
        self.file.sync()
    }

    /// Every page kept, in the order in which they were.
    ///
    /// # Errors
    /// Those of `visit`; 823 when the file cannot be read.
    pub fn each(&self, visit: &mut dyn FnMut(PageId, &[u8]) -> Result<()>) -> Result<()> {
        let failed =
            |error: DiskError| Error::cannot_open_file(&self.file.path().display().to_string(), &Error::cause(&error));
        let bytes = self.file.len().map_err(failed)?;
        let mut entry = vec![0; ENTRY_BYTES];
        let mut at = ENTRIES_AT;
        while at + ENTRY_BYTES as u64 <= bytes {
            self.file.read_at(at, &mut entry).map_err(failed)?;
            let (head, page) = entry.split_at(HEAD_BYTES);
            let number =
                |range: std::ops::Range<usize>| head[range].iter().rev().fold(0u32, |n, b| n << 8 | u32::from(*b));
            let id = PageId::new(number(4..6) as u16, number(0..4));
            if number(8..12) != checksum(page, id) {
                break;
            }
            visit(id, page)?;
            at += ENTRY_BYTES as u64;
        }
        Ok(())
    }
}

/// The note of a sound header that carries the guid.
fn read_note(head: &[u8], guid: [u8; 16]) -> Option<Vec<u8>> {
    let rest = head.strip_prefix(MAGIC)?.strip_prefix(&FORMAT.to_le_bytes())?;
    let (crc, rest) = rest.split_first_chunk::<4>()?;
    let rest = rest.strip_prefix(&guid)?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let note = rest.get(..u32::from_le_bytes(*length) as usize)?;
    (crc32c::crc32c(note) == u32::from_le_bytes(*crc)).then(|| note.to_vec())
}
