//! The layout of the log files in a backup set, in separate chunks.
//!
//! ```text
//! u16 file id | page 0 (8192) | u32 VLFs | for each: u64 bytes | u32 sequence | u32 uses | create lsn (10)      and so on
//! ```
//! Sizes add up to offsets, which page 0 confirms; parities follow from the uses.

use crate::error::{Error, Result};
use crate::log::LogFileImage;
use vlf::{FIRST_VLF_OFFSET, FileHeader, Lsn, PAGE_BYTES, Parity, VLF_HEADER_BYTES, VlfHeader, VlfSequence};

const VLF_BYTES: usize = 26;

/// The log files of a database: their header pages and VLF headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogImage {
    /// By file id.
    pub files: Vec<LogFileImage>,
}

impl LogImage {
    /// The layout as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for file in &self.files {
            bytes.extend(file.page.file_id.to_le_bytes());
            bytes.extend(file.page.encode());
            bytes.extend((file.headers.len() as u32).to_le_bytes());
            for header in &file.headers {
                bytes.extend(header.vlf_bytes.to_le_bytes());
                bytes.extend(header.sequence.0.to_le_bytes());
                bytes.extend(header.use_count.to_le_bytes());
                bytes.extend(header.create_lsn.to_bytes());
            }
        }
        bytes
    }

    /// Reads a layout.
    ///
    /// # Errors
    /// 3189 when it is none.
    pub fn decode(mut bytes: &[u8]) -> Result<LogImage> {
        let mut files = Vec::new();
        while !bytes.is_empty() {
            let (file, rest) = decode_file(bytes).ok_or_else(Error::damaged_set)?;
            files.push(file);
            bytes = rest;
        }
        Ok(LogImage { files })
    }
}

fn decode_file(bytes: &[u8]) -> Option<(LogFileImage, &[u8])> {
    let (id, bytes) = bytes.split_first_chunk::<2>()?;
    let (page, bytes) = bytes.split_at_checked(PAGE_BYTES as usize)?;
    let (count, bytes) = bytes.split_first_chunk::<4>()?;
    let vlf_bytes = (u32::from_le_bytes(*count) as usize).checked_mul(VLF_BYTES)?;
    let (vlfs, bytes) = bytes.split_at_checked(vlf_bytes)?;
    let page = FileHeader::decode(page).ok()?;
    let mut offset = FIRST_VLF_OFFSET;
    let mut headers = Vec::with_capacity(vlfs.len() / VLF_BYTES);
    for vlf in vlfs.chunks_exact(VLF_BYTES) {
        let header = decode_vlf(vlf, offset)?;
        offset = offset.checked_add(header.vlf_bytes)?;
        headers.push(header);
    }
    let named = page.named()?;
    let is_one_layout = page.file_bytes == offset
        && named.vlf_count() <= headers.len() as u64
        && named.spans().zip(&headers).all(|(span, header)| span == header.span());
    let same_file = page.file_id == u16::from_le_bytes(*id);
    (is_one_layout && same_file).then_some((LogFileImage { page, headers }, bytes))
}

fn decode_vlf(bytes: &[u8], start_offset: u64) -> Option<VlfHeader> {
    let vlf_bytes = u64::from_le_bytes(*bytes.first_chunk()?);
    let use_count = u32::from_le_bytes(*bytes.get(12..)?.first_chunk()?);
    let mut header = VlfHeader::unused(
        vlf::VlfSpan {
            offset: start_offset,
            bytes: vlf_bytes,
        },
        Lsn::read(bytes, 16)?,
    );
    header.sequence = VlfSequence(u32::from_le_bytes(*bytes.get(8..)?.first_chunk()?));
    header.use_count = use_count;
    // A VLF is restored when all of the log before it is.
    if header.sequence != VlfSequence::UNUSED {
        header.durable_before = Lsn::new(header.sequence.0, 0, 1);
    }
    header.parity = Parity::of_use_count(use_count);
    (vlf_bytes > VLF_HEADER_BYTES && vlf_bytes.is_multiple_of(PAGE_BYTES)).then_some(header)
}
