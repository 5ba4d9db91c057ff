//! The boot page: a small payload that must be readable before the log, in two alternating copies.
//!
//! ```text
//! page 9 or 10: header (kind 13) | u64 generation | u16 payload bytes | payload
//! ```
//! The copies bypass the buffer pool and the log. A durable write goes to the older copy. A power cut can tear only that copy, and then the
//! other one, one generation older, is intact. Readers must accept that older state: a checkpoint before the newest one.

use crate::buffer::DataFiles;
use crate::error::{Error, Result};
use crate::page::{
    HEADER_BYTES, ObjectId, PAGE_BYTES, PageBytes, PageId, PageKind, PageOperation, PageRef, apply, checksum_holds,
};
use parking_lot::Mutex;
use vlf::Lsn;

/// The two copies: page 9 of the primary file, where SQL Server has its boot page too, and the page behind it.
pub const BOOT_PAGES: [PageId; 2] = [PageId::new(1, 9), PageId::new(1, 10)];
const PAYLOAD_AT: usize = HEADER_BYTES + 10;
/// The longest payload.
pub const BOOT_PAYLOAD_BYTES_MAX: usize = PAGE_BYTES - PAYLOAD_AT;

/// Writes the boot page; knows which copy is the older one.
pub struct BootPage {
    generation: Mutex<u64>,
}

impl BootPage {
    /// Writes the first boot page of a new database, both copies.
    ///
    /// # Errors
    /// 823 when a copy cannot be written.
    pub fn create(files: &DataFiles, payload: &[u8]) -> Result<BootPage> {
        let boot = BootPage {
            generation: Mutex::new(0),
        };
        boot.write(files, payload)?;
        boot.write(files, payload)?;
        Ok(boot)
    }

    /// Reads the newest whole copy.
    ///
    /// # Errors
    /// 824 when neither copy is whole.
    pub fn open(files: &DataFiles) -> Result<(BootPage, Vec<u8>)> {
        let copies = BOOT_PAGES.map(|id| {
            let page = files.read_page(id)?;
            decode(&page).ok_or_else(|| files.damaged(id, "the boot page contradicts itself"))
        });
        let newest = copies.iter().flatten().max_by_key(|(generation, _)| *generation);
        if let Some((generation, payload)) = newest {
            let boot = BootPage {
                generation: Mutex::new(*generation),
            };
            return Ok((boot, payload.clone()));
        }
        let [first, _] = copies;
        Err(first
            .err()
            .unwrap_or_else(|| Error::assertion("a boot page was found and lost")))
    }

    /// Reads the newest whole copy from a primary file that nobody has opened: for what must be known before it is. `None` when
    /// there is none to be read.
    pub fn peek(file: &dyn disk::File) -> Option<Vec<u8>> {
        let read = |id: PageId| {
            let mut page: Box<PageBytes> = Box::new([0; PAGE_BYTES]);
            file.read_at(u64::from(id.page) * PAGE_BYTES as u64, &mut page[..])
                .ok()?;
            (PageRef::new(&page).id() == id && checksum_holds(&page)).then_some(())?;
            decode(&page)
        };
        let copies = BOOT_PAGES.into_iter().filter_map(read);
        copies
            .max_by_key(|(generation, _)| *generation)
            .map(|(_, payload)| payload)
    }

    /// Replaces the payload, durable on return. A crash in between leaves the old payload or the new one.
    ///
    /// # Errors
    /// 823 when the copy cannot be written; 3624 for a payload longer than [`BOOT_PAYLOAD_BYTES_MAX`].
    pub fn write(&self, files: &DataFiles, payload: &[u8]) -> Result<()> {
        if payload.len() > BOOT_PAYLOAD_BYTES_MAX {
            return Err(Error::assertion("the boot page's payload is longer than its page"));
        }
        let mut generation = self.generation.lock();
        let next = *generation + 1;
        let id = BOOT_PAGES[(next % 2) as usize];
        let mut page: PageBytes = [0; PAGE_BYTES];
        let format = PageOperation::Format {
            kind: PageKind::Boot,
            level: 0,
            object: ObjectId(0),
            next: PageId::NONE,
            previous: PageId::NONE,
        };
        let formatted = apply(id, &mut page, &format, Lsn::ZERO);
        formatted.map_err(|found| Error::assertion(found.0))?;
        page[HEADER_BYTES..HEADER_BYTES + 8].copy_from_slice(&next.to_le_bytes());
        page[HEADER_BYTES + 8..PAYLOAD_AT].copy_from_slice(&(payload.len() as u16).to_le_bytes());
        page[PAYLOAD_AT..PAYLOAD_AT + payload.len()].copy_from_slice(payload);
        files.write_page(id, &mut page)?;
        *generation = next;
        Ok(())
    }
}

/// Generation and payload of a copy; `None` when it contradicts itself.
fn decode(page: &PageBytes) -> Option<(u64, Vec<u8>)> {
    if PageRef::new(page).kind() != Some(PageKind::Boot) {
        return None;
    }
    let body = &page[HEADER_BYTES..];
    let generation = u64::from_le_bytes(*body.first_chunk()?);
    let payload_bytes = usize::from(u16::from_le_bytes([body[8], body[9]]));
    let payload = body.get(10..10 + payload_bytes)?;
    Some((generation, payload.to_vec()))
}
