//! The log of a backup set, record by record, for `fn_dump_dblog`.
//!
//! Blocks lie in the set as in the log file, without the VLF headers between them. The set's layout shows to which VLF a block belongs, and
//! so which stamps it must have. It uses the memory of one chunk and of the VLF headers.

use super::format::ChunkKind;
use super::layout::LogImage;
use super::media_set::SetReader;
use crate::error::{Error, Result};
use crate::log::LogRecord;
use std::collections::HashMap;
use vlf::block::BlockHeader;
use vlf::{Expectations, FIRST_BLOCK, SECTOR_BYTES, VlfHeader, parse_block};

/// Where the reading of a set's log stands.
pub struct SetLog {
    set: SetReader,
    /// As far as it was read.
    layout: Vec<u8>,
    /// By sequence, once the first block is met.
    vlfs: HashMap<u32, VlfHeader>,
    chunk: Vec<u8>,
    /// Where the next block lies: in the chunk, and in the log.
    at: usize,
    sequence: u32,
    block: u32,
    last: Option<BlockHeader>,
    /// The block whose records are being handed out, restored.
    bytes: Vec<u8>,
    next_slot: u16,
}

impl SetLog {
    /// The log of a set that was just opened.
    pub fn new(set: SetReader) -> SetLog {
        SetLog {
            set,
            layout: Vec::new(),
            vlfs: HashMap::new(),
            chunk: Vec::new(),
            at: 0,
            sequence: 0,
            block: 0,
            last: None,
            bytes: Vec::new(),
            next_slot: 1,
        }
    }

    /// The next record; `None` behind the last.
    ///
    /// # Errors
    /// 3189 for damage, 3203 when the file cannot be read.
    #[allow(
        clippy::should_implement_trait,
        reason = "records borrow the reader's block, which Iterator cannot express"
    )]
    pub fn next(&mut self) -> Result<Option<LogRecord<'_>>> {
        let header = loop {
            if let Some(header) = self.last.filter(|header| self.next_slot <= header.slot_count) {
                break header;
            }
            if !self.next_block()? {
                return Ok(None);
            }
        };
        let slot = self.next_slot;
        self.next_slot += 1;
        let lsn = header.lsn.with_slot(slot);
        let record = header.record(&self.bytes, slot);
        let record = record.and_then(|bytes| LogRecord::decode(lsn, bytes));
        record.map(Some).ok_or_else(Error::damaged_set)
    }

    /// Steps to the next block; false behind the last.
    fn next_block(&mut self) -> Result<bool> {
        if self.at >= self.chunk.len() && !self.next_chunk()? {
            return Ok(false);
        }
        // What does not go on in this VLF must be the begin of the next.
        let found = match self.parse()? {
            Some(header) => Some(header),
            None if self.at > 0 => {
                (self.sequence, self.block) = (self.sequence.saturating_add(1), FIRST_BLOCK);
                self.parse()?
            }
            None => None,
        };
        let header = found.ok_or_else(Error::damaged_set)?;
        self.at += usize::from(header.block_bytes);
        self.block = header.lsn.next_block(usize::from(header.block_bytes)).block;
        self.last = Some(header);
        self.next_slot = 1;
        Ok(true)
    }

    fn parse(&mut self) -> Result<Option<BlockHeader>> {
        let vlf = self.vlfs.get(&self.sequence).ok_or_else(Error::damaged_set)?;
        let base = match &self.last {
            Some(last) => Expectations::first_of_after(vlf, last),
            None => Expectations::first_of(vlf),
        };
        let expected = Expectations {
            block: self.block,
            bytes_max: vlf
                .vlf_bytes
                .saturating_sub(u64::from(self.block) * SECTOR_BYTES as u64),
            ..base
        };
        let rest = self.chunk.get(self.at..).unwrap_or_default();
        let parsed = parse_block(rest, &expected, &mut self.bytes);
        Ok(parsed.ok().map(|block| *block.header()))
    }

    /// Reads on to the next chunk of log blocks; false behind the last.
    fn next_chunk(&mut self) -> Result<bool> {
        while let Some(chunk) = self.set.next_chunk()? {
            let payload = self.set.payload(&chunk);
            match chunk.kind {
                ChunkKind::Pages => {}
                ChunkKind::LogLayout => self.layout.extend_from_slice(payload),
                ChunkKind::LogBlocks => {
                    self.chunk.clear();
                    self.chunk.extend_from_slice(payload);
                    (self.at, self.sequence, self.block) = (0, (chunk.address >> 32) as u32, chunk.address as u32);
                    if self.vlfs.is_empty() {
                        let files = LogImage::decode(&self.layout)?.files.into_iter();
                        let headers = files.flat_map(|file| file.headers);
                        let used = headers.filter(|header| header.sequence.0 != 0);
                        self.vlfs = used.map(|header| (header.sequence.0, header)).collect();
                    }
                    return Ok(true);
                }
                ChunkKind::Description => return Err(Error::damaged_set()),
            }
        }
        Ok(false)
    }
}
