//! Writing sealed blocks: each gets its checksum, blocks that lie one behind the other become one durable write.
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
use vlf::{VLF_HEADER_BYTES, VlfHeader};

/// One joined write at most, without the VLF header that may go before it.
const JOINED_BYTES_MAX: usize = 1 << 20;
/// Enough of a block to make it none.
const CLEARED_BYTES: usize = 4096;
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
        let joins = self.policy.commit_flush == CommitFlush::Joined && self.run.continues_with(&block);
        if !joins {
            self.write_run()?;
            block.builder.mark_write_start();
        }
        let ticks = self.log.env.clock.unix_micros();
        let finished = block.builder.finish(self.link, ticks);
        self.link = finished.crc;
        let header_rides = self.policy.vlf_switch == VlfSwitch::FreeList;
        if let Some(entered) = block.entered {
            if entered.clear_first {
                let zeros = AlignedBuffer::with_len(CLEARED_BYTES);
                block.file.write_durable_at(block.file_offset, &zeros)?;
            }
            if !header_rides {
                self.write_header(&*block.file, &entered.header)?;
            }
        }
        self.run.push(Piece {
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

/// Blocks that lie one behind the other in one file, and become one write.
struct Run {
    pieces: Vec<Piece>,
    bytes: usize,
    /// Where several pieces are put together; allocated when first needed.
    staging: Option<AlignedBuffer>,
}

impl Run {
    fn new(staging: Option<AlignedBuffer>) -> Run {
        Run {
            pieces: Vec::new(),
            bytes: 0,
            staging,
        }
    }

    /// The block follows the run's last piece in the same file, is not first of its VLF, and the write stays small enough.
    fn continues_with(&self, block: &QueuedBlock) -> bool {
        self.pieces.last().is_some_and(|last| {
            Arc::ptr_eq(&last.file, &block.file)
                && last.file_offset + last.bytes as u64 == block.file_offset
                && block.entered.is_none()
                && self.bytes + block.bytes <= JOINED_BYTES_MAX
        })
    }

    fn push(&mut self, piece: Piece) {
        self.bytes = piece.bytes + if self.pieces.is_empty() { 0 } else { self.bytes };
        self.pieces.push(piece);
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
        let (mut filled, mut offset) = (0, first.file_offset);
        if let Some(header) = &first.header {
            filled = VLF_HEADER_BYTES as usize;
            offset = header.start_offset;
            staging[..filled].copy_from_slice(&header_page(header));
        }
        for piece in &self.pieces {
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
