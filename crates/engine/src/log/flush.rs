//! Making the log durable: leader and followers, without handing work to another thread.
//!
//! ```text
//! session A  append commit -> nobody writes: seal, write 1 ------------> done
//! session B      append commit -> A writes: wait ......... lead write 2 ----------> done
//! session C          append commit -> A writes: wait ......................... covered by write 2
//! ```
//! The first to come writes everything sealed so far, itself. Who comes meanwhile waits; when the write is done, those it
//! covered go on and exactly one of the others leads the next write, which covers all of them.
//!
//! Two condition variables alternate, one per write number's parity, so that the end of write `n` wakes all who wait for
//! `n` and one of those who wait for `n + 1`. No wake-up is lost: whoever waits does so for `n` or `n + 1` under the mutex,
//! the end of every write signals both, and the one woken as leader either leads or finds that a newcomer does, whose end
//! will signal again.
//!
//! Writes are strictly in order, each durable before the next begins. So what a power cut leaves is a prefix of the log, but
//! for the one write it interrupts, whose torn blocks the chain of checksums cuts off. The first failed write closes the log
//! for good: what the device holds is unknown then, and a second try could only pretend (error 9001 from then on).

use super::LogManager;
use super::counters::add;
use super::policy::{CommitFlush, LogPolicy, VlfSwitch};
use super::state::{LogPosition, LogState, QueuedBlock};
use crate::error::{Error, Result};
use crate::waits::WaitType;
use disk::{AlignedBuffer, DiskError, File};
use parking_lot::MutexGuard;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use vlf::{Lsn, VLF_HEADER_BYTES, VlfHeader};

/// One joined write at most, without the VLF header that may go before it.
const JOINED_BYTES_MAX: usize = 1 << 20;
/// Enough of a block to make it none.
const CLEARED_BYTES: usize = 4096;
/// What one write of the log covers at most.
pub(super) const WRITE_BYTES_MAX: usize = VLF_HEADER_BYTES as usize + JOINED_BYTES_MAX;

impl LogManager {
    /// Returns when the record at `lsn`, and all before it, are durable. LSNs beyond the end of the log mean its end. A log that
    /// is not resumed yet has nothing to write; see [`LogManager::sync`].
    ///
    /// # Errors
    /// 9001 when a write of the log has failed, now or before, unless the record was durable already.
    pub fn flush_to(&self, lsn: Lsn) -> Result<()> {
        let target = LogPosition::of(lsn);
        if target < self.durable() || !self.is_resumed() {
            return Ok(());
        }
        let start = self.env.clock.now_micros();
        let result = self.wait_until_durable(target);
        let waited_micros = self.env.clock.now_micros().saturating_sub(start);
        self.env.waits.record(WaitType::WriteLog, waited_micros, 0);
        add(&self.counters.flush_waits, 1);
        add(&self.counters.flush_wait_micros, waited_micros);
        result
    }

    fn wait_until_durable(&self, target: LogPosition) -> Result<()> {
        let mut state = self.state.lock();
        let target = target.min(state.last_block());
        while target >= self.durable() {
            self.check_usable()?;
            if !state.writer_busy {
                state.seal_open();
                self.write_queue(&mut state)?;
                continue;
            }
            let awaited = if target < state.batch_end {
                state.batch
            } else {
                state.batch + 1
            };
            self.done[(awaited % 2) as usize].wait(&mut state);
        }
        Ok(())
    }

    /// Writes all sealed blocks as their leader. Nobody else writes when this is called.
    pub(super) fn write_queue(&self, state: &mut MutexGuard<'_, LogState>) -> Result<()> {
        let Some(last) = state.queue.back() else { return Ok(()) };
        state.batch_end = last.end;
        state.batch += 1;
        state.writer_busy = true;
        let batch = std::mem::take(&mut state.queue);
        let staging = state.staging.take();
        let mut writer = Writer {
            log: self,
            policy: state.policy,
            link: state.link,
            run: Run::new(staging),
            buffers: Vec::new(),
        };
        let outcome = MutexGuard::unlocked(state, || {
            let written = batch.into_iter().try_for_each(|block| writer.take(block));
            written.and_then(|()| writer.write_run())
        });
        state.writer_busy = false;
        state.link = writer.link;
        state.give_back(&mut writer.buffers);
        state.staging = writer.run.staging.take();
        let result = outcome.map_err(|error| self.latch(&error));
        self.announce(state.batch, result.is_err());
        result
    }

    fn announce(&self, batch: u64, failed: bool) {
        let ended = (batch % 2) as usize;
        self.done[ended].notify_all();
        if failed {
            self.done[1 - ended].notify_all();
        } else {
            self.done[1 - ended].notify_one();
        }
        self.room.notify_all();
    }

    /// The log failed: says so once, and refuses everything from now on.
    pub(super) fn latch(&self, error: &DiskError) -> Error {
        let closed = Error::log_not_available(&self.database);
        if !self.failed.swap(true, Ordering::SeqCst) {
            let what = format!("LogWriter: write of '{}'", error.path.display());
            let cause = Error::operating_system(&what, &Error::cause(error));
            self.env.errorlog.write_error("Server", &cause);
            self.env.errorlog.write_error("Server", &closed);
        }
        closed
    }
}

/// Finishes blocks in order and writes them in runs.
struct Writer<'a> {
    log: &'a LogManager,
    policy: LogPolicy,
    link: u32,
    run: Run,
    buffers: Vec<AlignedBuffer>,
}

impl Writer<'_> {
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
