//! Copying log blocks byte for byte.

use super::Progress;
use super::format::{CHUNK_BYTES_MAX, ChunkKind};
use super::writer::{Payload, SetWriter};
use crate::error::Result;
use crate::log::LogManager;
use std::sync::Arc;
use vlf::{FIRST_BLOCK, Lsn};

/// Copies the log from `from` up to `end`, both the begin of a block. Answers the bytes copied.
///
/// # Errors
/// 9003 when the log does not reach back to `from`, 9004 when it is damaged, 3202.
pub fn copy_log(
    log: &Arc<LogManager>,
    from: Lsn,
    end: Lsn,
    set: &mut SetWriter,
    progress: &mut Progress<'_, '_>,
) -> Result<u64> {
    let mut piece = Piece {
        first: Lsn::ZERO,
        next: Lsn::ZERO,
        payload: set.payload(),
    };
    let mut copied = 0;
    if from.with_slot(0) >= end.with_slot(0) {
        return Ok(0);
    }
    let mut scan = log.scan_for_backup(from)?;
    while scan.position().with_slot(0) < end.with_slot(0) {
        let Some(block) = scan.next_raw_block()? else { break };
        if block.lsn.with_slot(0) >= end.with_slot(0) {
            break;
        }
        if !piece.takes(block.lsn, block.bytes.len()) {
            copied += piece.write(set, progress)?;
        }
        piece.push(block.lsn, block.bytes);
    }
    copied += piece.write(set, progress)?;
    Ok(copied)
}

/// Blocks that follow one another in the log, from one VLF to the next as well: chunks are as long with many VLFs as with few.
struct Piece {
    first: Lsn,
    /// Where the next block of the same VLF belongs.
    next: Lsn,
    payload: Payload,
}

impl Piece {
    fn takes(&self, lsn: Lsn, block_bytes: usize) -> bool {
        let len = self.payload.len;
        let (vlf, block) = (self.next.vlf, self.next.block);
        let follows =
            (lsn.vlf, lsn.block) == (vlf, block) || vlf.checked_add(1) == Some(lsn.vlf) && lsn.block == FIRST_BLOCK;
        len == 0 || follows && len + block_bytes <= CHUNK_BYTES_MAX
    }

    fn push(&mut self, lsn: Lsn, block: &[u8]) {
        let start = self.payload.len;
        if start == 0 {
            self.first = lsn;
        }
        self.next = lsn.next_block(block.len());
        self.payload.len += block.len();
        self.payload.buffer[start..self.payload.len].copy_from_slice(block);
    }

    fn write(&mut self, set: &mut SetWriter, progress: &mut Progress<'_, '_>) -> Result<u64> {
        if self.payload.len == 0 {
            return Ok(0);
        }
        let address = u64::from(self.first.vlf) << 32 | u64::from(self.first.block);
        let bytes = self.payload.len as u64;
        let full = std::mem::replace(&mut self.payload, set.payload());
        set.append(ChunkKind::LogBlocks, address, full)?;
        progress.add(bytes)?;
        Ok(bytes)
    }
}
