//! The VLFs of a log file that is not open as a log, as RESTORE finds them.

use disk::{AlignedBuffer, DiskError, File};
use vlf::{FIRST_VLF_OFFSET, FileHeader, LayoutSteps, PAGE_BYTES, SECTOR_BYTES, VLF_HEADER_BYTES, VlfHeader, VlfSpan};

/// A VLF and its header, if it has one: see [`FileHeader::never_entered`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredVlf {
    pub span: VlfSpan,
    /// What is at its start.
    pub header: Option<VlfHeader>,
}

/// What a log file holds, as far as it is sound.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredLog {
    /// Page 0.
    pub page: Option<FileHeader>,
    /// Its VLFs from the first on, up to the end of the file or to one that is neither there nor named by page 0.
    pub vlfs: Vec<StoredVlf>,
}

impl StoredLog {
    /// Reads page 0 and every VLF header.
    ///
    /// # Errors
    /// Those of reading; damage ends the list.
    pub fn read(file: &dyn File) -> Result<StoredLog, DiskError> {
        let file_bytes = file.len()?;
        if file_bytes < PAGE_BYTES {
            return Ok(StoredLog::default());
        }
        let mut bytes = AlignedBuffer::with_len(PAGE_BYTES as usize);
        file.read_at(0, &mut bytes)?;
        let page = FileHeader::decode(&bytes).ok();
        let named = page.as_ref().and_then(FileHeader::named);
        let mut spans = named.iter().flat_map(LayoutSteps::spans).peekable();
        let (mut vlfs, mut offset, mut sector) = (Vec::new(), FIRST_VLF_OFFSET, [0; SECTOR_BYTES]);
        while offset + VLF_HEADER_BYTES <= file_bytes {
            file.read_at(offset, &mut sector)?;
            while spans.next_if(|span| span.offset < offset).is_some() {}
            let named = page.as_ref().zip(spans.next_if(|span| span.offset == offset));
            let found = match named.and_then(|(page, span)| page.never_entered(span, &sector)) {
                Some(unused) => StoredVlf {
                    span: unused.span(),
                    header: None,
                },
                None => match VlfHeader::decode_at(&sector, offset) {
                    Ok(header) => StoredVlf {
                        span: header.span(),
                        header: Some(header),
                    },
                    Err(_) => break,
                },
            };
            if found.span.bytes > file_bytes - offset {
                break;
            }
            offset = found.span.end();
            vlfs.push(found);
        }
        Ok(StoredLog { page, vlfs })
    }
}
