//! The state under the log's mutex: the table of VLFs, the writing end, the queue of sealed blocks, and space accounts.
//!
//! ```text
//!   append -> [ open block ] --seal--> [ sealed | sealed | ... ] --a leader takes what one write takes--> disk
//!                 ^ room in its VLF, else the next free VLF is entered
//! ```
//! **Space.** A record of a transaction is admitted only if every open transaction could still be rolled back afterwards with the available
//! space. In the worst case, compensation for `b` reserved bytes needs:
//!
//! - `b` itself, and per pair of neighbouring blocks (which hold more than 60 KB together, or they would be one) two block
//!   headers and two roundings to the sector size: [`LogState::spread`];
//! - at the end of each VLF, the space into which the largest compensation record did not fit: subtracted from every VLF.
//!
//! In addition, a policy may reserve a *surplus*, so that the log grows when SQL Server's would. It must be free without the worst-case
//! surcharge: [`LogState::leaves_room`].
//!
//! A flush that rounds up a block before it is full costs up to one sector more. Each transaction reserves that once, for its end; other
//! flushes draw on [`SYSTEM_RESERVE_BYTES`]. If all of that is used up in the middle of a rollback, the log grows past MAXSIZE rather than
//! let the rollback fail. It also does so for the one case without a reservation: before a bulk-filled leaf is emptied, the leaves that
//! split off from it are emptied.

use super::directory::DirectoryState;
use super::flight::{Flight, WRITES_MAX};
use super::policy::LogPolicy;
use super::record::{RecordHeader, TransactionChain};
use super::table::{VlfPlace, VlfTable, WRITTEN_ALL};
use super::write::{VLFS_ENTERED_MAX, take_one_write};
use crate::seams::{Journal, LogEventKind};
use disk::{AlignedBuffer, File};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use vlf::block::{BLOCK_OVERHEAD_BYTES, RECORD_BYTES_MAX, sealed_length};
use vlf::{
    BLOCK_BYTES_MAX, BlockBuilder, BlockOrigin, Lsn, Parity, SECTOR_BYTES, ServerVersion, UsedBuffer, VLF_HEADER_BYTES,
    VlfHeader,
};

/// How often the background is asked to warm the space ahead, in bytes of log. A good part at a time: every zero written makes
/// the next durable write pay for an update of the file system's own journal.
const WARM_EVERY_BYTES: u64 = 16 << 20;
/// Sealed bytes after which the background is asked to write them: as many as one write takes, less the headers and the unused
/// ends of VLFs that it may cover. Bytes and not blocks: in small VLFs every few blocks one is short.
const FULL_WRITE_BYTES: u64 = 960 << 10;
/// Log blocks in memory at most: open, sealed or being written.
const BUFFERS_MAX: usize = 64;
/// Kept free of transactions' records for checkpoints and for blocks that are flushed before they are full.
const SYSTEM_RESERVE_BYTES: u64 = 32 * 1024;

/// A block on its way to the disk.
pub(crate) struct QueuedBlock {
    pub(crate) builder: BlockBuilder<AlignedBuffer>,
    /// Length it will have once finished.
    pub(crate) bytes: usize,
    pub(crate) file: Arc<dyn File>,
    /// Where it goes, from the start of the file.
    pub(crate) file_offset: u64,
    /// It is the first of its VLF, whose header is not on disk yet.
    pub(crate) entered: Option<EnteredVlf>,
    /// The log is durable up to here once the block is.
    pub(crate) end: LogPosition,
}

impl QueuedBlock {
    /// Where its write begins in the log, if it is the first: the header of its VLF is at block 0.
    pub(super) fn start(&self) -> Lsn {
        match &self.entered {
            Some(_) => Lsn::new(self.end.sequence(), 0, 1),
            None => self.builder.next_lsn().with_slot(1),
        }
    }
}

/// A VLF the log has entered in memory but not yet on disk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EnteredVlf {
    pub(crate) header: VlfHeader,
    /// The place of its first block must be cleared first: it is among the first VLFs entered since a restart, and what an
    /// interrupted write has left there may carry the very same sequence and parity.
    pub(crate) clear_first: bool,
}

/// A place between blocks: VLF sequence and sector, packed so that it fits an atomic and orders as LSNs do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LogPosition(pub(crate) u64);

impl LogPosition {
    pub(crate) fn new(sequence: u32, block: u32) -> LogPosition {
        LogPosition(u64::from(sequence) << 32 | u64::from(block))
    }

    /// Where the block of a record begins.
    pub(crate) fn of(lsn: Lsn) -> LogPosition {
        LogPosition::new(lsn.vlf, lsn.block)
    }

    pub(crate) fn lsn(self, slot: u16) -> Lsn {
        Lsn::new((self.0 >> 32) as u32, self.0 as u32, slot)
    }

    pub(crate) fn sequence(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// The writing end of the log.
pub(crate) struct Tail {
    pub(crate) place: VlfPlace,
    pub(crate) sequence: u32,
    pub(crate) parity: Parity,
    pub(crate) file: Arc<dyn File>,
    pub(crate) vlf_offset: u64,
    pub(crate) vlf_bytes: u64,
    /// Where the open block begins, or the next one will, from the start of the VLF.
    pub(crate) block_offset: u64,
    pub(crate) previous_block_bytes: u16,
    pub(crate) open: Option<BlockBuilder<AlignedBuffer>>,
    /// Until its first block is queued.
    pub(crate) entered: Option<EnteredVlf>,
}

impl Tail {
    fn bytes_left(&self) -> u64 {
        self.vlf_bytes - self.block_offset
    }

    pub(crate) fn position(&self) -> LogPosition {
        LogPosition::new(self.sequence, (self.block_offset / SECTOR_BYTES as u64) as u32)
    }

    /// LSN the next record gets if it finds room where the log stands.
    pub(crate) fn next_lsn(&self) -> Lsn {
        self.open
            .as_ref()
            .map_or_else(|| self.position().lsn(1), BlockBuilder::next_lsn)
    }
}

/// Why a record finds no place right now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// Every buffer is sealed or being written.
    NoBuffer,
    /// There is no VLF to go on in, or the rollback reserve would suffer.
    NoSpace,
    /// The background is writing zeros just there; over in a moment.
    Warming,
    /// The log is not open for appending.
    NotResumed,
    /// VLF sequence numbers are used up.
    SequencesUsedUp,
}

/// On whose account a record takes log space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// A transaction's work; so many bytes more must stay free for its rollback.
    Work { undo_reserve: u64 },
    /// A checkpoint: may use the system's reserve.
    System,
    /// Changes that are carried forward: may use half of the system's reserve, and never has the log grow.
    Carried,
    /// Space was set aside before (compensation, commit, abort), or has to be found: what a rollback changes beside taking records
    /// back, the checkpoint that ends recovery.
    Promised,
}

/// A range of a VLF in which the background writes zeros.
pub(crate) struct WarmChunk {
    pub(crate) place: VlfPlace,
    /// From the start of the VLF.
    pub(crate) range: Range<u64>,
}

/// Everything behind the mutex.
pub(crate) struct LogState {
    pub(crate) table: VlfTable,
    pub(crate) policy: LogPolicy,
    pub(crate) version: ServerVersion,
    pub(crate) sector_bytes: u16,
    /// `None` until the log is resumed.
    pub(crate) tail: Option<Tail>,
    pub(crate) queue: VecDeque<QueuedBlock>,
    spare_buffers: Vec<UsedBuffer<AlignedBuffer>>,
    buffers_out: usize,
    pub(crate) flight: Flight,
    /// CRC of the last block put into a write; only who prepares one touches it.
    pub(crate) link: u32,
    /// Where several blocks are put together for one write; allocated when first needed.
    pub(crate) staging: Vec<AlignedBuffer>,
    /// A file is being grown or shrunk.
    pub(crate) resizing: bool,
    /// The last free VLF was entered: grow before it is full.
    pub(crate) growth_due: bool,
    /// A growth ahead of need waits for a checkpoint to free some of the log.
    pub(crate) growth_withheld: bool,
    /// A block was sealed or a VLF entered since the fullness of the log was last looked at.
    pub(crate) fullness_due: bool,
    /// Sequence of the VLF in which the owner was last called because the log is nearly full.
    pub(crate) told_full_at: u32,
    /// The log has moved on by [`WARM_EVERY_BYTES`] since the background last looked for cold space.
    pub(crate) warming_due: bool,
    sealed_since_warming: u64,
    /// The queue has grown by [`FULL_WRITE_BYTES`] since the background was last asked to write it.
    pub(crate) write_due: bool,
    queued_bytes: u64,
    /// Of all blocks sealed, what went to space never written before; see [`super::LogCounters::cold_bytes`].
    pub(super) cold_bytes: u64,
    pub(crate) warming: Option<WarmChunk>,
    /// How many of the VLFs to be entered next the writes cut off by the last stop may have reached. What they have left
    /// in the n-th of them carries the sequence that the n-th VLF entered since gets, and no later one.
    pub(crate) to_clear: usize,
    pub(crate) reserved_bytes: u64,
    /// Of them, what no rollback needs.
    pub(crate) surplus_bytes: u64,
    largest_undo_bytes: u64,
    pub(crate) reuse_wait: &'static str,
    pub(super) directory: DirectoryState,
    journal: Journal,
}

impl LogState {
    pub(crate) fn new(
        table: VlfTable,
        policy: LogPolicy,
        version: ServerVersion,
        sector_bytes: u16,
        journal: Journal,
    ) -> LogState {
        LogState {
            table,
            policy,
            version,
            sector_bytes,
            tail: None,
            queue: VecDeque::new(),
            spare_buffers: Vec::new(),
            buffers_out: 0,
            flight: Flight::new(),
            link: 0,
            staging: Vec::new(),
            resizing: false,
            growth_due: false,
            growth_withheld: false,
            fullness_due: false,
            told_full_at: 0,
            warming_due: false,
            sealed_since_warming: 0,
            write_due: false,
            queued_bytes: 0,
            cold_bytes: 0,
            warming: None,
            to_clear: WRITES_MAX * VLFS_ENTERED_MAX,
            reserved_bytes: 0,
            surplus_bytes: 0,
            largest_undo_bytes: 0,
            reuse_wait: "NOTHING",
            directory: DirectoryState::default(),
            journal,
        }
    }

    /// Length of a block that holds one record.
    pub(super) fn block_bytes(&self, record_bytes: usize) -> u64 {
        sealed_length(BLOCK_OVERHEAD_BYTES + record_bytes, usize::from(self.sector_bytes)) as u64
    }

    /// Makes sure that the open block has room for a record of `record_bytes` on this account.
    pub(crate) fn make_room(&mut self, record_bytes: usize, claim: Claim) -> Result<(), Obstacle> {
        if !self.admits(record_bytes, claim)? {
            return Err(Obstacle::NoSpace);
        }
        let needed_bytes = self.block_bytes(record_bytes);
        loop {
            let tail = self.tail.as_ref().ok_or(Obstacle::NotResumed)?;
            match &tail.open {
                Some(open) if open.fits(record_bytes) => return Ok(()),
                Some(_) => self.seal_open(),
                None if tail.bytes_left() < needed_bytes => self.enter_next_vlf()?,
                None => self.open_block()?,
            }
        }
    }

    /// Whether a record may be appended without endangering any rollback. See the module.
    fn admits(&self, record_bytes: usize, claim: Claim) -> Result<bool, Obstacle> {
        let tail = self.tail.as_ref().ok_or(Obstacle::NotResumed)?;
        let (undo_reserve, system_reserve) = match claim {
            Claim::Promised => return Ok(true),
            Claim::System => (0, 0),
            Claim::Carried => (0, SYSTEM_RESERVE_BYTES / 2),
            Claim::Work { undo_reserve } => (undo_reserve, SYSTEM_RESERVE_BYTES),
        };
        let largest = self.largest_undo_bytes.max(undo_reserve.min(RECORD_BYTES_MAX as u64));
        let lost_per_vlf = self.block_bytes(largest as usize);
        let all_free = self.table.free_body_bytes();
        let free = all_free.saturating_sub(self.table.free_count() as u64 * lost_per_vlf);
        let own_bytes = self.block_bytes(record_bytes);
        let open_bytes = tail.open.as_ref().map_or(0, |open| open.sealed_bytes() as u64);
        let here = tail.bytes_left().checked_sub(open_bytes + own_bytes);
        let (left, all_left) = match here {
            Some(here) => (free + here.saturating_sub(lost_per_vlf), all_free + here),
            None => match free.checked_sub(own_bytes) {
                Some(left) if self.table.free_count() > 0 => (left, all_free - own_bytes),
                _ => return Ok(false),
            },
        };
        Ok(self.leaves_room(undo_reserve, system_reserve, left, all_left))
    }

    /// Whether so much space is enough for every rollback and for the surplus: `left` = less what is lost at the ends of VLFs,
    /// `all_left` = all of it.
    fn leaves_room(&self, undo_reserve: u64, system_reserve: u64, left: u64, all_left: u64) -> bool {
        let needed = self.reserved_bytes.saturating_sub(self.surplus_bytes) + undo_reserve;
        self.spread(needed) + system_reserve <= left && self.reserved_bytes + undo_reserve + system_reserve <= all_left
    }

    /// Log space that so many bytes of records may take at worst, see the module.
    fn spread(&self, record_bytes: u64) -> u64 {
        let per_block = (BLOCK_OVERHEAD_BYTES + usize::from(self.sector_bytes)) as u64;
        let stamps = record_bytes.div_ceil(SECTOR_BYTES as u64 - 1);
        let pairs = record_bytes / (BLOCK_BYTES_MAX as u64 - 1024) + 1;
        record_bytes + stamps + 2 * pairs * per_block
    }

    /// Writes a record into the room that [`LogState::make_room`] has made.
    pub(crate) fn push(
        &mut self,
        header: &RecordHeader,
        record_bytes: usize,
        payload: &[&[u8]],
        locks: &[u8],
    ) -> Option<Lsn> {
        let tail = self.tail.as_mut()?;
        let lsn = tail.next_lsn();
        let (_, place) = tail.open.as_mut()?.reserve(record_bytes)?;
        header.encode(place, payload, locks);
        Some(lsn)
    }

    /// A place inside the last block that has a record: durable when the log is.
    pub(crate) fn last_block(&self) -> LogPosition {
        match &self.tail {
            Some(tail) if tail.open.as_ref().is_some_and(|open| !open.is_empty()) => tail.position(),
            _ => {
                let end = self.queue.back().map_or(self.flight.end(), |block| block.end);
                LogPosition(end.0.saturating_sub(1))
            }
        }
    }

    /// Whether every open transaction could still be rolled back without `vlf_count` free VLFs of `body_bytes` together.
    pub(crate) fn can_spare(&self, vlf_count: usize, body_bytes: u64) -> bool {
        let lost_per_vlf = self.block_bytes(self.largest_undo_bytes as usize);
        let free_count = (self.table.free_count() - vlf_count) as u64;
        let all_free = self.table.free_body_bytes() - body_bytes;
        let free = all_free.saturating_sub(free_count * lost_per_vlf);
        let all_here = self.bytes_left_in_vlf();
        let here = all_here.saturating_sub(lost_per_vlf);
        self.leaves_room(0, SYSTEM_RESERVE_BYTES, free + here, all_free + all_here)
    }

    /// Whether the rest of the VLF in which the log stands may be given up: another is free, and every open transaction could be
    /// rolled back without that rest.
    pub(super) fn can_leave_vlf(&self) -> bool {
        let lost_per_vlf = self.block_bytes(self.largest_undo_bytes as usize);
        let lost = self.table.free_count() as u64 * lost_per_vlf;
        let all_free = self.table.free_body_bytes();
        let free = all_free.saturating_sub(lost);
        self.table.free_count() > 0 && self.leaves_room(0, SYSTEM_RESERVE_BYTES, free, all_free)
    }

    /// Bytes between the open block and the end of its VLF.
    pub(super) fn bytes_left_in_vlf(&self) -> u64 {
        self.tail.as_ref().map_or(0, |tail| {
            let open_bytes = tail.open.as_ref().map_or(0, |open| open.sealed_bytes() as u64);
            tail.bytes_left().saturating_sub(open_bytes)
        })
    }

    /// Sets space aside for one record of a rollback.
    pub(crate) fn reserve(&mut self, bytes: u64) {
        self.reserved_bytes += bytes;
        self.largest_undo_bytes = self.largest_undo_bytes.max(bytes.min(RECORD_BYTES_MAX as u64));
    }

    /// Gives rollback space back.
    pub(crate) fn release(&mut self, bytes: u64) {
        self.reserved_bytes = self.reserved_bytes.saturating_sub(bytes);
        if self.reserved_bytes == 0 {
            self.largest_undo_bytes = 0;
        }
    }

    /// Gives back all that a transaction still holds.
    pub(crate) fn release_all(&mut self, chain: &mut TransactionChain) {
        self.surplus_bytes = self
            .surplus_bytes
            .saturating_sub(std::mem::take(&mut chain.surplus_bytes));
        self.release(std::mem::take(&mut chain.reserved_bytes));
    }

    /// What a transaction sets aside for its commit or abort record: a block of its own, flushed at once.
    pub(crate) fn end_reserve_bytes(&self) -> u64 {
        u64::from(self.sector_bytes)
    }

    /// Closes the open block and queues it. A block without records stays open.
    pub(crate) fn seal_open(&mut self) {
        let Some(tail) = self.tail.as_mut() else { return };
        let Some(builder) = tail.open.take_if(|open| !open.is_empty()) else {
            return;
        };
        let bytes = builder.sealed_bytes();
        let file_offset = tail.vlf_offset + tail.block_offset;
        let written_bytes = self.table.vlf(tail.place).map_or(WRITTEN_ALL, |vlf| vlf.written_bytes);
        self.cold_bytes += (bytes as u64).min((tail.block_offset + bytes as u64).saturating_sub(written_bytes));
        tail.block_offset += bytes as u64;
        tail.previous_block_bytes = bytes as u16; // at most 60 KB
        self.sealed_since_warming += bytes as u64;
        if self.sealed_since_warming >= WARM_EVERY_BYTES {
            self.sealed_since_warming = 0;
            self.warming_due = true;
        }
        let queued_bytes = self.queued_bytes;
        self.queued_bytes += bytes as u64;
        self.fullness_due = true;
        self.write_due |= queued_bytes / FULL_WRITE_BYTES < self.queued_bytes / FULL_WRITE_BYTES;
        self.queue.push_back(QueuedBlock {
            builder,
            bytes,
            file: tail.file.clone(),
            file_offset,
            entered: tail.entered.take(),
            end: tail.position(),
        });
    }

    /// Takes from the queue what becomes one write.
    pub(super) fn take_one_write(&mut self) -> Vec<QueuedBlock> {
        let taken = take_one_write(&mut self.queue, self.policy);
        self.queued_bytes -= taken.iter().map(|block| block.bytes as u64).sum::<u64>();
        taken
    }

    /// Whether another write may begin, when so many commits wait for it. The table is in [`super::flight`].
    pub(super) fn may_begin_write(&self, commits: u32) -> bool {
        let has_full_write = self.queued_bytes >= FULL_WRITE_BYTES;
        let limit = self.policy.commit_flush.writes_max();
        self.flight.may_begin(limit, has_full_write, commits)
    }

    fn open_block(&mut self) -> Result<(), Obstacle> {
        let tail = self.tail.as_ref().ok_or(Obstacle::NotResumed)?;
        let bytes_max = tail.bytes_left().min(BLOCK_BYTES_MAX as u64);
        let place = tail.block_offset..tail.block_offset + bytes_max;
        let warms_here = |chunk: &WarmChunk| {
            chunk.place == tail.place && chunk.range.start < place.end && place.start < chunk.range.end
        };
        if self.warming.as_ref().is_some_and(warms_here) {
            return Err(Obstacle::Warming);
        }
        let origin = BlockOrigin {
            lsn: tail.position().lsn(1),
            parity: tail.parity,
            previous_block_bytes: tail.previous_block_bytes,
            sector_bytes: self.sector_bytes,
            bytes_max: bytes_max as usize,
        };
        let buffer = self.take_buffer().ok_or(Obstacle::NoBuffer)?;
        if let Some(tail) = self.tail.as_mut() {
            tail.open = BlockBuilder::again(buffer, origin);
        }
        Ok(())
    }

    fn enter_next_vlf(&mut self) -> Result<(), Obstacle> {
        let tail = self.tail.as_ref().ok_or(Obstacle::NotResumed)?;
        let sequence = tail.sequence.checked_add(1).ok_or(Obstacle::SequencesUsedUp)?;
        let next = self.table.next_free(self.policy.vlf_switch);
        let place = next.ok_or(Obstacle::NoSpace)?;
        let (previous_block_bytes, left, from) = (tail.previous_block_bytes, tail.place, tail.sequence);
        let former = self.table.vlf(place).map_or(0, |vlf| vlf.header.sequence.0);
        let header = self.table.enter(place, sequence).ok_or(Obstacle::NoSpace)?;
        self.directory.note_entered(place, former);
        let file = self.table.files.get(&place.file).ok_or(Obstacle::NoSpace)?;
        let clear_first = self.to_clear > 0;
        self.to_clear = self.to_clear.saturating_sub(1);
        self.tail = Some(Tail {
            place,
            sequence,
            parity: header.parity,
            file: file.handle.clone(),
            vlf_offset: header.start_offset,
            vlf_bytes: header.vlf_bytes,
            block_offset: VLF_HEADER_BYTES,
            previous_block_bytes,
            open: None,
            entered: Some(EnteredVlf { header, clear_first }),
        });
        self.growth_due = self.table.free_count() == 0;
        self.fullness_due = true;
        self.journal.tell(LogEventKind::Switched {
            from,
            to: sequence,
            file_id: place.file,
            offset: header.start_offset,
            bytes: header.vlf_bytes,
            former,
            wrapped: place < left,
        });
        Ok(())
    }

    fn take_buffer(&mut self) -> Option<UsedBuffer<AlignedBuffer>> {
        if let Some(buffer) = self.spare_buffers.pop() {
            return Some(buffer);
        }
        let allowed = self.buffers_out < BUFFERS_MAX;
        self.buffers_out += usize::from(allowed);
        allowed.then(|| UsedBuffer::zeroed(AlignedBuffer::with_len(BLOCK_BYTES_MAX)))
    }

    /// Takes a buffer back.
    pub(super) fn spare(&mut self, buffer: UsedBuffer<AlignedBuffer>) {
        self.spare_buffers.push(buffer);
    }

    pub(crate) fn give_back(&mut self, buffers: &mut Vec<UsedBuffer<AlignedBuffer>>) {
        self.spare_buffers.append(buffers);
    }

    /// Bytes of log in use: active VLFs, the one being written up to where it is written.
    pub(crate) fn used_bytes(&self) -> u64 {
        self.table.active_bytes().saturating_sub(self.bytes_left_in_vlf())
    }
}
