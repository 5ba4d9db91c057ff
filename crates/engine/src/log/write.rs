//! Writing sealed blocks: each gets its checksum, and adjacent blocks become one durable write.
//!
//! ```text
//!   VLF s                               VLF s + 1, behind it in the file
//!   ... | block | block | zeros (gap) | header | block | block ...
//!         `------------- one durable write ------------'
//! ```
//! A write continues into the next VLF if that VLF is adjacent in the file; the unused end of the first VLF is written as zeros. Each write
//! carries the durable position at its preparation, in its first block ([`vlf::block::FLAG_WRITE_START`]) and in every header
//! ([`VlfHeader::durable_before`]). Both prove that the log before that position was durable. They prove nothing about their own write or
//! other writes in flight ([`super::end`] has the rules).
//!
//! Invariant: a block's bytes are final when its write is prepared, and writes are prepared in log order. So the chain of checksums does
//! not depend on the order in which the disk completes writes ([`super::flight`]).
use super::LogManager;
use super::counters::add;
use super::flight::WRITES_MAX;
use super::policy::{CommitFlush, LogPolicy, VlfSwitch};
use super::state::{LogState, QueuedBlock};
use crate::waits::WaitType;
use disk::{AlignedBuffer, DiskError, File, ZEROS_BYTES_MAX, zeros};
use std::collections::VecDeque;
use std::sync::Arc;
use vlf::{BlockBuilder, Lsn, SealedBlock, UsedBuffer, VLF_HEADER_BYTES, VlfHeader};

/// One joined write at most, without the VLF header that may go before it.
const JOINED_BYTES_MAX: usize = 1 << 20;
/// Enough of a block to make it none.
pub(super) const CLEARED_BYTES: usize = 4096;
/// What a write covers of the unused end of a VLF in order to go on in the next: reaching the disk, it must cost less than the
/// write of its own that it spares.
const GAP_BYTES_MAX: u64 = 64 << 10;
/// Borders between VLFs that one write crosses at most: 1 MB has room for no more whole VLFs of the smallest usual size.
const BORDERS_MAX: usize = 4;
/// VLFs that one write may enter: the one it begins with, and one behind each border.
pub(super) const VLFS_ENTERED_MAX: usize = BORDERS_MAX + 1;
/// What one write of the log covers at most.
pub(super) const WRITE_BYTES_MAX: usize = VLF_HEADER_BYTES as usize + JOINED_BYTES_MAX;
/// What writes under way may reach, which is zeroed behind the end of a log that goes on.
pub(super) const REACHED_BYTES_MAX: usize = WRITES_MAX * WRITE_BYTES_MAX;
const _: () = assert!(REACHED_BYTES_MAX <= ZEROS_BYTES_MAX);

/// Takes from the queue what becomes one write: blocks that lie one after another in one file. Classic: one block.
pub(super) fn take_one_write(queue: &mut VecDeque<QueuedBlock>, policy: LogPolicy) -> Vec<QueuedBlock> {
    let header_rides = policy.vlf_switch == VlfSwitch::FreeList;
    let mut taken: Vec<QueuedBlock> = queue.pop_front().into_iter().collect();
    while policy.commit_flush == CommitFlush::Joined
        && let Some(block) = queue.pop_front_if(|block| continues(&taken, block, header_rides))
    {
        taken.push(block);
    }
    taken
}

/// The block follows the last one taken in the same file, directly or as the first of the VLF that lies there, and the write
/// stays small enough. A place that must be cleared first begins a write of its own.
fn continues(taken: &[QueuedBlock], block: &QueuedBlock, header_rides: bool) -> bool {
    let (Some(first), Some(last)) = (taken.first(), taken.last()) else {
        return false;
    };
    let end = last.file_offset + last.bytes as u64;
    let follows = match &block.entered {
        None => block.file_offset == end,
        Some(entered) => {
            let borders = taken[1..].iter().filter(|block| block.entered.is_some()).count();
            let gap = entered.header.start_offset.checked_sub(end);
            let is_near = gap.is_some_and(|gap| gap <= GAP_BYTES_MAX);
            is_near && header_rides && !entered.clear_first && borders < BORDERS_MAX
        }
    };
    let bytes = (block.file_offset + block.bytes as u64).saturating_sub(first.file_offset);
    follows && Arc::ptr_eq(&last.file, &block.file) && bytes <= JOINED_BYTES_MAX as u64
}

/// What is known when a write is put together.
pub(super) struct Preparation {
    pub(super) header_rides: bool,
    /// CRC of the block before the first; of the last block, once that is finished.
    pub(super) link: u32,
    /// What the write says was durable before it.
    pub(super) durable_before: Lsn,
    pub(super) write_ticks: u64,
    /// Where several blocks are put together, if there is one to spare.
    pub(super) staging: Option<AlignedBuffer>,
}

/// A write that is ready for the disk.
pub(super) struct PreparedWrite {
    pub(super) file: Arc<dyn File>,
    /// Where it begins in the file.
    pub(super) offset: u64,
    buffer: WriteBuffer,
    bytes: usize,
    /// Where zeros must be durable first.
    pub(super) clear_at: Option<u64>,
    /// Classic: the header of the VLF that is entered, written on its own.
    header_first: Option<VlfHeader>,
}

/// Where a write lies in memory.
enum WriteBuffer {
    /// Where its only block was built.
    Block(UsedBuffer<AlignedBuffer>),
    /// Where several blocks were put together.
    Staging(AlignedBuffer),
}

/// What putting a write together leaves behind.
pub(super) struct Left {
    /// CRC of the last block.
    pub(super) link: u32,
    /// Buffers of blocks that were copied.
    pub(super) block_buffers: Vec<UsedBuffer<AlignedBuffer>>,
    /// The staging buffer that was not needed.
    pub(super) staging: Option<AlignedBuffer>,
}

impl Preparation {
    /// Finishes the blocks and puts them together; `None` when there are none. A single block goes to the disk from where it was
    /// built.
    pub(super) fn prepare(mut self, mut blocks: Vec<QueuedBlock>) -> Option<(PreparedWrite, Left)> {
        let count = blocks.len();
        let first = blocks.first_mut()?;
        first.builder.mark_write_start(self.durable_before);
        let (file, offset) = (first.file.clone(), self.begin_of(first));
        let clears = first.entered.is_some_and(|entered| entered.clear_first);
        let clear_at = clears.then_some(first.file_offset);
        let header_first = self.header_of(first).filter(|_| !self.header_rides);
        let is_staged = count > 1 || offset < first.file_offset;
        let mut block_buffers = Vec::new();
        let (buffer, bytes) = match is_staged {
            true => {
                let (staging, bytes) = self.put_together(offset, blocks, &mut block_buffers);
                (WriteBuffer::Staging(staging), bytes)
            }
            false => {
                let finished = self.finish(blocks.pop()?.builder);
                (WriteBuffer::Block(finished.buffer), finished.bytes)
            }
        };
        let left = Left {
            link: self.link,
            block_buffers,
            staging: self.staging,
        };
        let prepared = PreparedWrite {
            file,
            offset,
            buffer,
            bytes,
            clear_at,
            header_first,
        };
        Some((prepared, left))
    }

    fn finish(&mut self, builder: BlockBuilder<AlignedBuffer>) -> SealedBlock<AlignedBuffer> {
        let finished = builder.finish(self.link, self.write_ticks);
        self.link = finished.crc;
        finished
    }

    /// The header that goes to the disk no later than the block.
    fn header_of(&self, block: &QueuedBlock) -> Option<VlfHeader> {
        block.entered.map(|entered| VlfHeader {
            durable_before: self.durable_before,
            ..entered.header
        })
    }

    /// Where the block begins in the file, or the header that rides before it.
    fn begin_of(&self, block: &QueuedBlock) -> u64 {
        let riding = block.entered.as_ref().filter(|_| self.header_rides);
        riding.map_or(block.file_offset, |entered| entered.header.start_offset)
    }

    /// Copies headers and blocks to where they lie from `offset` on, zeros between. Answers the bytes and how many they are.
    fn put_together(
        &mut self,
        offset: u64,
        blocks: Vec<QueuedBlock>,
        block_buffers: &mut Vec<UsedBuffer<AlignedBuffer>>,
    ) -> (AlignedBuffer, usize) {
        let room = || AlignedBuffer::with_len(WRITE_BYTES_MAX);
        let mut staging = self.staging.take().unwrap_or_else(room);
        let mut filled = 0;
        for block in blocks {
            let begin = (self.begin_of(&block) - offset) as usize;
            staging[filled..begin].fill(0);
            filled = (block.file_offset - offset) as usize;
            if let Some(header) = self.header_of(&block).filter(|_| begin < filled) {
                staging[begin..filled].copy_from_slice(&header_page(&header));
            }
            let finished = self.finish(block.builder);
            staging[filled..filled + finished.bytes].copy_from_slice(&finished.buffer[..finished.bytes]);
            filled += finished.bytes;
            block_buffers.push(finished.buffer);
        }
        (staging, filled)
    }
}

impl PreparedWrite {
    pub(super) fn bytes(&self) -> &[u8] {
        match &self.buffer {
            WriteBuffer::Block(buffer) => &buffer[..self.bytes],
            WriteBuffer::Staging(buffer) => &buffer[..self.bytes],
        }
    }

    /// Writes it durably.
    pub(super) fn write(&self, log: &LogManager) -> std::result::Result<(), DiskError> {
        if let Some(offset) = self.clear_at {
            self.file.write_durable_at(offset, zeros(CLEARED_BYTES))?;
        }
        if let Some(header) = &self.header_first {
            self.file.write_at(header.start_offset, &header_page(header))?;
            let sync = || self.file.sync();
            log.env
                .waits
                .time(&*log.env.clock, WaitType::PreemptiveFlushFileBuffers, sync)?;
        }
        let start = log.env.clock.now_micros();
        self.file.write_durable_at(self.offset, self.bytes())?;
        let micros = log.env.clock.now_micros().saturating_sub(start);
        add(&log.counters.flushes, 1);
        add(&log.counters.bytes_flushed, self.bytes as u64);
        add(&log.counters.flush_write_micros, micros);
        log.flush_times.record(micros);
        Ok(())
    }

    /// Gives the buffer back to where it came from.
    pub(super) fn give_back(self, state: &mut LogState) {
        match self.buffer {
            WriteBuffer::Staging(buffer) => state.staging.push(buffer),
            WriteBuffer::Block(buffer) => state.spare(buffer),
        }
    }
}

/// The 8 KB a VLF begins with.
pub(super) fn header_page(header: &VlfHeader) -> AlignedBuffer {
    let mut page = AlignedBuffer::with_len(VLF_HEADER_BYTES as usize);
    let sector = header.encode();
    page[..sector.len()].copy_from_slice(&sector);
    page
}
