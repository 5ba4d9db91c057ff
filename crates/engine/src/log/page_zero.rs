//! Page 0 of a log file at database startup: which copy counts, and how damage from a power cut is repaired.
//!
//! A rewrite makes the first copy durable and then writes the second ([`super::files::write_page`]), before a shrink cuts the
//! file and after a growth has made it longer.
//!
//! | first copy | second copy | length of the file | action |
//! |---|---|---|---|
//! | sound | the same | as page 0 says | nothing |
//! | sound | older, or not sound | as page 0 says | the second is written again |
//! | not sound, or older | sound | as page 0 says | its rewrite was torn, so the second copy counts: the first is written again |
//! | | | longer than the copy that counts says | a growth or shrink was interrupted: the rest is cut off |
//! | not sound | sound | longer, and the VLF behind the end was entered | 9004: the first copy was lost, and the second is older than the log |
//! | | | shorter | 9004: the file was truncated |
//! | checksum wrong | not sound | any | the headers are walked and the page is recreated; 9004 if a VLF has no header |
//! | has another file id | | any | 9004: the files were mixed up |
//! | anything else | not sound | any | 9004: not a log file of ours, or one of another format |

use super::discover::{Discoverer, Fault, layout_of, read_sector};
use super::files::{LogFileSpec, write_page};
use disk::{AlignedBuffer, File};
use vlf::file_header::COPY_BYTES;
use vlf::{FIRST_VLF_OFFSET, FileHeader, FileHeaderFault, LayoutSteps, PAGE_BYTES, VlfHeader};

/// Page 0, and the headers if they had to be read to make it again.
pub(super) type PageZero = (FileHeader, Option<Vec<VlfHeader>>);

impl Discoverer<'_> {
    /// Reads page 0 and mends it and the file's length by the table of the module.
    pub(super) fn read_page(&self, spec: &LogFileSpec, file: &dyn File) -> Result<PageZero, Fault> {
        let file_bytes = file.len()?;
        let mut bytes = AlignedBuffer::with_len(PAGE_BYTES as usize);
        if file_bytes < PAGE_BYTES {
            return Err(Fault::Damage(format!("it has {file_bytes} bytes, less than a page")));
        }
        file.read_at(0, &mut bytes)?;
        let copies = FileHeader::decode_copies(&bytes);
        let page = match FileHeader::decode(&bytes) {
            Ok(page) => page,
            Err(FileHeaderFault::Checksum) => return self.rebuild(spec, file, file_bytes),
            Err(fault) => return Err(Fault::Damage(fault.to_string())),
        };
        if page.file_id != spec.file_id {
            let (found, wanted) = (page.file_id, spec.file_id);
            let what = format!("it is file {found} of its database, not file {wanted}");
            return Err(Fault::Damage(what));
        }
        if file_bytes < page.file_bytes {
            let wanted = page.file_bytes;
            let what = format!("the file was cut: it has {file_bytes} of {wanted} bytes");
            return Err(Fault::Damage(what));
        }
        if file_bytes > page.file_bytes {
            if copies[0].is_err() && was_entered(file, page.file_bytes)? {
                let what =
                    "the first copy of page 0 is lost, and the log has gone on behind the end that the second knows";
                return Err(Fault::Damage(what.to_string()));
            }
            file.set_len(page.file_bytes)?;
            file.sync()?;
        }
        for (index, copy) in copies.iter().enumerate() {
            if copy.as_ref() != Ok(&page) {
                let mut mended = AlignedBuffer::with_len(COPY_BYTES);
                mended.copy_from_slice(&page.encode_copy());
                file.write_durable_at((index * COPY_BYTES) as u64, &mended)?;
            }
        }
        Ok((page, None))
    }

    /// No copy is sound: the headers say what the page should say.
    fn rebuild(&self, spec: &LogFileSpec, file: &dyn File, file_bytes: u64) -> Result<PageZero, Fault> {
        let headers = self.walk(file, None, FIRST_VLF_OFFSET, file_bytes)?;
        let layout =
            layout_of(self.version, &headers).ok_or_else(|| Fault::Damage("its VLFs do not add up".to_string()))?;
        let mut page = FileHeader {
            file_id: spec.file_id,
            database_id: spec.database_guid,
            created_ticks: self.env.clock.unix_micros(),
            server_version: self.version,
            sector_bytes: if file.sector_bytes() >= 4096 { 4096 } else { 512 },
            generation: 1,
            file_bytes: 0,
            headers_when_entered: false,
            runs: Vec::new(),
            growths: Vec::new(),
        };
        page.set_layout(&LayoutSteps::of(&layout));
        write_page(file, &page)?;
        file.sync()?;
        Ok((page, Some(headers)))
    }
}

/// Whether a VLF at `offset` has the header of one that the log has entered.
fn was_entered(file: &dyn File, offset: u64) -> Result<bool, Fault> {
    if file.len()? < offset + PAGE_BYTES {
        return Ok(false);
    }
    let sector = read_sector(file, offset)?;
    Ok(VlfHeader::decode_at(&sector, offset).is_ok_and(|header| header.use_count > 0))
}
