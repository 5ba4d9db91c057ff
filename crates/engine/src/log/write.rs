//! Writing sealed blocks: each gets its checksum, blocks that lie one behind the other become one durable write.
//!
//! ```text
//!   VLF s                               VLF s + 1, behind it in the file
//!   ... | block | block | zeros (gap) | header | block | block ...
//!         `------------- one durable write ------------'
//! ```
//! A write goes on in the next VLF where that one lies next in the file: what is unused at the end of the VLF it leaves is
//! written as zeros, and the next VLF's header says where the write began ([`VlfHeader::write_start`]). So a header proves
//! that the log before its write was durable, and nothing about the blocks of its own write ([`super::scan`] has the rules).
//!
//! Invariant: a write begins only when the one before it is durable, and `durable` never runs ahead of the disk.

use super::LogManager;
use super::counters::add;
use super::policy::{CommitFlush, LogPolicy, VlfSwitch};
use super::state::{LogPosition, QueuedBlock};
use crate::waits::WaitType;
use disk::{AlignedBuffer, DiskError, File};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use vlf::{Lsn, SECTOR_BYTES, VLF_HEADER_BYTES, VlfHeader};

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

/// Finishes blocks in order and writes them in runs.
pub(super) struct Writer<'a> {
    log: &'a LogManager,
    policy: LogPolicy,
    link: u32,
    run: Run,
    buffers: Vec<AlignedBuffer>,
}

/// What a writer leaves behind when it is done.
pub(super) struct Left {
    /// The checksum the next block continues.
    pub(super) link: u32,
    /// Buffers of the blocks written.
    pub(super) buffers: Vec<AlignedBuffer>,
    pub(super) staging: Option<AlignedBuffer>,
}

impl Writer<'_> {
    /// `link` is the checksum of the block before the first; `staging` is what the last writer left.
    pub(super) fn new(log: &LogManager, policy: LogPolicy, link: u32, staging: Option<AlignedBuffer>) -> Writer<'_> {
        Writer {
            log,
            policy,
            link,
            run: Run::new(staging),
            buffers: Vec::new(),
        }
    }

    /// Writes the blocks, each run durably before the next.
    pub(super) fn write_all(&mut self, batch: VecDeque<QueuedBlock>) -> std::result::Result<(), DiskError> {
        batch.into_iter().try_for_each(|block| self.take(block))?;
        self.write_run()
    }

    pub(super) fn finish(self) -> Left {
        Left {
            link: self.link,
            buffers: self.buffers,
            staging: self.run.staging,
        }
    }

    fn take(&mut self, mut block: QueuedBlock) -> std::result::Result<(), DiskError> {
        let header_rides = self.policy.vlf_switch == VlfSwitch::FreeList;
        let joins = self.policy.commit_flush == CommitFlush::Joined && self.run.continues_with(&block, header_rides);
        if !joins {
            self.write_run()?;
            block.builder.mark_write_start();
        }
        let ticks = self.log.env.clock.unix_micros();
        let finished = block.builder.finish(self.link, ticks);
        self.link = finished.crc;
        if let Some(entered) = &mut block.entered {
            entered.header.write_start = self.run.start().filter(|_| joins).unwrap_or(Lsn::ZERO);
            if entered.clear_first {
                let zeros = AlignedBuffer::with_len(CLEARED_BYTES);
                block.file.write_durable_at(block.file_offset, &zeros)?;
            }
            if !header_rides {
                self.write_header(&*block.file, &entered.header)?;
            }
        }
        self.run.pieces.push(Piece {
            buffer: finished.buffer,
            bytes: finished.bytes,
            file: block.file,
            file_offset: block.file_offset,
            header: block.entered.map(|entered| entered.header).filter(|_| header_rides),
            end: block.end,
        });
        Ok(())
    }

    /// Classic: the header on its own, then a flush of the file.
    fn write_header(&self, file: &dyn File, header: &VlfHeader) -> std::result::Result<(), DiskError> {
        file.write_at(header.start_offset, &header_page(header))?;
        let log = self.log;
        log.env
            .waits
            .time(&*log.env.clock, WaitType::PreemptiveFlushFileBuffers, || file.sync())
    }

    fn write_run(&mut self) -> std::result::Result<(), DiskError> {
        let Some(end) = self.run.pieces.last().map(|piece| piece.end) else {
            return Ok(());
        };
        let start = self.log.env.clock.now_micros();
        let written_bytes = self.run.write()?;
        let log = self.log;
        let micros = log.env.clock.now_micros().saturating_sub(start);
        add(&log.counters.flushes, 1);
        add(&log.counters.bytes_flushed, written_bytes as u64);
        add(&log.counters.flush_write_micros, micros);
        log.durable.store(end.0, Ordering::Release);
        self.buffers.extend(self.run.pieces.drain(..).map(|piece| piece.buffer));
        Ok(())
    }
}

/// A finished block and where it goes.
struct Piece {
    buffer: AlignedBuffer,
    bytes: usize,
    file: Arc<dyn File>,
    file_offset: u64,
    header: Option<VlfHeader>,
    end: LogPosition,
}

impl Piece {
    /// Where it lies in the log: the header, if it has one, is at block 0 of its VLF.
    fn start(&self) -> Lsn {
        let end = self.end.lsn(1);
        let block = match self.header {
            Some(_) => 0,
            None => end.block.saturating_sub((self.bytes / SECTOR_BYTES) as u32),
        };
        Lsn::new(end.vlf, block, 1)
    }

    /// Where it begins in the file.
    fn write_offset(&self) -> u64 {
        self.header
            .as_ref()
            .map_or(self.file_offset, |header| header.start_offset)
    }
}

/// Blocks that lie one behind the other in one file, and become one write.
struct Run {
    pieces: Vec<Piece>,
    /// Where several pieces are put together; allocated when first needed.
    staging: Option<AlignedBuffer>,
}

impl Run {
    fn new(staging: Option<AlignedBuffer>) -> Run {
        Run {
            pieces: Vec::new(),
            staging,
        }
    }

    /// Where the write begins in the log, if it has anything to write.
    fn start(&self) -> Option<Lsn> {
        self.pieces.first().map(Piece::start)
    }

    /// The block follows the run's last piece in the same file, directly or as the first of the VLF that lies there, and the
    /// write stays small enough. A place that must be cleared first waits for what is before it.
    fn continues_with(&self, block: &QueuedBlock, header_rides: bool) -> bool {
        let (Some(first), Some(last)) = (self.pieces.first(), self.pieces.last()) else {
            return false;
        };
        let end = last.file_offset + last.bytes as u64;
        let follows = match &block.entered {
            None => block.file_offset == end,
            Some(entered) => {
                let borders = self.pieces[1..].iter().filter(|piece| piece.header.is_some()).count();
                let gap = entered.header.start_offset.checked_sub(end);
                let is_near = gap.is_some_and(|gap| gap <= GAP_BYTES_MAX);
                is_near && header_rides && !entered.clear_first && borders < BORDERS_MAX
            }
        };
        let bytes = (block.file_offset + block.bytes as u64).saturating_sub(first.file_offset);
        follows && Arc::ptr_eq(&last.file, &block.file) && bytes <= JOINED_BYTES_MAX as u64
    }

    /// Writes the run durably; answers the bytes written. A single block goes to the disk from where it was built.
    fn write(&mut self) -> std::result::Result<usize, DiskError> {
        let Some(first) = self.pieces.first() else { return Ok(0) };
        if let ([only], None) = (self.pieces.as_slice(), first.header) {
            only.file
                .write_durable_at(only.file_offset, &only.buffer[..only.bytes])?;
            return Ok(only.bytes);
        }
        let room = || AlignedBuffer::with_len(WRITE_BYTES_MAX);
        let staging = self.staging.get_or_insert_with(room);
        let (mut filled, offset) = (0, first.write_offset());
        for piece in &self.pieces {
            let begin = (piece.write_offset() - offset) as usize;
            staging[filled..begin].fill(0);
            filled = (piece.file_offset - offset) as usize;
            if let Some(header) = &piece.header {
                staging[begin..filled].copy_from_slice(&header_page(header));
            }
            staging[filled..filled + piece.bytes].copy_from_slice(&piece.buffer[..piece.bytes]);
            filled += piece.bytes;
        }
        first.file.write_durable_at(offset, &staging[..filled])?;
        Ok(filled)
    }
}

/// The 8 KB a VLF begins with.
pub(super) fn header_page(header: &VlfHeader) -> AlignedBuffer {
    let mut page = AlignedBuffer::with_len(VLF_HEADER_BYTES as usize);
    let sector = header.encode();
    page[..sector.len()].copy_from_slice(&sector);
    page
}
