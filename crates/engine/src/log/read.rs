//! Reading single records by LSN: undo follows a transaction's chain backward.
//!
//! A record still in memory is copied from there. Otherwise its block comes from the log pool, the blocks that were used last, or from a
//! cached window of the file. The window extends *backward* from the wanted block, because the blocks needed next lie before it.
//!
//! What is taken back page by page (`store/revert.rs`) goes back through a transaction's log once for each page. Pages that were changed one
//! behind the other have their records in the same blocks, one for each time that the transaction passed: so many have to be kept.

use super::LogManager;
use super::counters::add;
use super::record::{LogRecord, OwnedRecord};
use super::state::LogPosition;
use crate::error::{Error, Result};
use crate::waits::WaitType;
use disk::{AlignedBuffer, File};
use std::collections::VecDeque;
use std::sync::Arc;
use vlf::block::BlockHeader;
use vlf::{BLOCK_BYTES_MAX, Expectations, FIRST_BLOCK, Lsn, VLF_HEADER_BYTES, VlfHeader, parse_block};

/// Blocks kept, of at most 60 KB.
const BLOCKS_MAX: usize = 64;
/// How far a read reaches back.
const BACKWARD_BYTES: u64 = 256 << 10;
/// How far one reaches back that goes on where the one before it ended: of a long way back, most is waiting for the disk.
const FURTHER_BACKWARD_BYTES: u64 = 1 << 20;
/// Reads are aligned to this.
const READ_UNIT: u64 = 4096;

struct CachedBlock {
    header: BlockHeader,
    bytes: Vec<u8>,
}

/// Raw bytes of one VLF.
struct Window {
    sequence: u32,
    /// From the start of the file.
    start: u64,
    bytes: AlignedBuffer,
}

/// Blocks and bytes read lately.
#[derive(Default)]
pub(super) struct ReadCache {
    /// The one that was used last comes first.
    blocks: VecDeque<CachedBlock>,
    window: Option<Window>,
}

/// A log in which transactions began that end in another one.
pub(crate) struct FormerLog {
    log: Arc<LogManager>,
    until_sequence: u32,
}

impl LogManager {
    /// Records of VLFs below this sequence are read from another log: a database snapshot undoes what it finds under way in the log of
    /// its base, and logs that in its own.
    pub fn follow(&self, log: Arc<LogManager>, until_sequence: u32) {
        // A log is made to follow once, when it is made.
        let _ = self.former.set(FormerLog { log, until_sequence });
    }

    /// The record at `lsn`.
    ///
    /// # Errors
    /// 9003 when the log holds no such record, 9004 when its block is damaged, 9001 when it cannot be read.
    pub fn read_record(&self, lsn: Lsn) -> Result<OwnedRecord> {
        add(&self.counters.pool_reads, 1);
        if let Some(record) = self.record_in_memory(lsn) {
            add(&self.counters.cache_reads, 1);
            return Ok(record);
        }
        if let Some(former) = self.former.get()
            && lsn.vlf < former.until_sequence
        {
            return former.log.read_record(lsn);
        }
        if self.is_resumed() {
            self.flush_to(lsn)?;
        }
        let mut cache = self.read_cache.lock();
        let place = cache.blocks.iter().position(|block| is_block_of(&block.header, lsn));
        if place != Some(0) {
            let block = match place.and_then(|place| cache.blocks.remove(place)) {
                Some(block) => block,
                None => {
                    add(&self.counters.pool_misses, 1);
                    self.read_block(&mut cache, lsn)?
                }
            };
            cache.blocks.truncate(BLOCKS_MAX - 1);
            cache.blocks.push_front(block);
        }
        let block = cache.blocks.front();
        let bytes = block.and_then(|block| block.header.record(&block.bytes, lsn.slot));
        let record = bytes.and_then(|bytes| LogRecord::decode(lsn, bytes));
        record
            .map(|record| record.to_owned())
            .ok_or_else(|| self.no_record(lsn))
    }

    /// Gives back the memory of the log pool, up to 5 MB. Where records are still needed, it fills again.
    pub(crate) fn empty_pool(&self) {
        *self.read_cache.lock() = ReadCache::default();
    }

    fn no_record(&self, lsn: Lsn) -> Error {
        Error::log_position_invalid(&lsn.to_string(), &self.database)
    }

    /// The record if its block is open or sealed. While it is being written nobody can look at it.
    fn record_in_memory(&self, lsn: Lsn) -> Option<OwnedRecord> {
        let position = LogPosition::of(lsn);
        if position < self.durable() {
            return None;
        }
        let state = self.hold();
        let tail = state.tail.as_ref()?;
        let builder = if tail.position() == position {
            tail.open.as_ref()?
        } else {
            let queued = state
                .queue
                .iter()
                .find(|block| block.builder.next_lsn().with_slot(0) == lsn.with_slot(0))?;
            &queued.builder
        };
        Some(LogRecord::decode(lsn, builder.record(lsn.slot)?)?.to_owned())
    }

    fn read_block(&self, cache: &mut ReadCache, lsn: Lsn) -> Result<CachedBlock> {
        let (header, file) = self.vlf_of(lsn).ok_or_else(|| self.no_record(lsn))?;
        let first_offset = VLF_HEADER_BYTES;
        let skipped = lsn
            .offset_in_vlf()
            .checked_sub(first_offset)
            .filter(|_| lsn.block >= FIRST_BLOCK);
        let skipped = skipped
            .filter(|_| lsn.offset_in_vlf() < header.vlf_bytes)
            .ok_or_else(|| self.no_record(lsn))?;
        let expected = Expectations::first_of(&header).skip(skipped);
        let offset = header.start_offset + lsn.offset_in_vlf();
        if let Some(block) = cache.window.as_ref().and_then(|window| window.block(offset, &expected)) {
            return Ok(block);
        }
        let goes_on = cache
            .window
            .as_ref()
            .is_some_and(|window| window.sequence == lsn.vlf && is_just_before(offset, window.start));
        let back = if goes_on {
            FURTHER_BACKWARD_BYTES
        } else {
            BACKWARD_BYTES
        };
        let start = offset.saturating_sub(back).max(header.start_offset) / READ_UNIT * READ_UNIT;
        let end = (offset + BLOCK_BYTES_MAX as u64)
            .next_multiple_of(READ_UNIT)
            .min(header.span().end());
        let mut bytes = AlignedBuffer::with_len((end - start) as usize);
        let read = self.env.waits.time(&*self.env.clock, WaitType::IoCompletion, || {
            file.read_at(start, &mut bytes)
        });
        read.map_err(|_| Error::log_not_available(&self.database))?;
        let window = cache.window.insert(Window {
            sequence: lsn.vlf,
            start,
            bytes,
        });
        window.block(offset, &expected).ok_or_else(|| {
            Error::log_damaged(
                &self.database,
                &format!(
                    "log block {lsn} at byte {offset} of '{}' cannot be read",
                    file.path().display()
                ),
            )
        })
    }

    fn vlf_of(&self, lsn: Lsn) -> Option<(VlfHeader, Arc<dyn File>)> {
        let state = self.hold();
        let place = state.table.of_sequence(lsn.vlf)?;
        let file = state.table.files.get(&place.file)?.handle.clone();
        Some((state.table.vlf(place)?.header, file))
    }
}

impl Window {
    fn block(&self, offset: u64, expected: &Expectations) -> Option<CachedBlock> {
        let from = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        let bytes = self
            .bytes
            .get(from..)
            .filter(|_| self.sequence == expected.sequence.0)?;
        let mut restored = Vec::new();
        let header = *parse_block(bytes, expected, &mut restored).ok()?.header();
        Some(CachedBlock {
            header,
            bytes: restored,
        })
    }
}

/// Whether a block at an offset is the last one, or nearly, that begins before a window.
fn is_just_before(offset: u64, window_start: u64) -> bool {
    offset < window_start && window_start - offset <= 2 * BLOCK_BYTES_MAX as u64
}

fn is_block_of(header: &BlockHeader, lsn: Lsn) -> bool {
    header.lsn.with_slot(0) == lsn.with_slot(0)
}
