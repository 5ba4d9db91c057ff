//! Reading the log ahead of a forward reader.
//!
//! ```text
//! piece k:      | room 64 KB | 1 MB of the file |
//! piece k + 1:                      | room 64 KB | the next 1 MB |
//!                                     ^ the block that piece k cuts in two is copied here
//! ```
//! Pieces follow one another in the file without a gap, with several reads in flight. The native scan's pieces cross VLF borders, so the
//! log is read at the disk's speed however many VLFs it has. The pieces of a classic log backup end at VLF borders ([`Ahead::Backup`]).
//! Where the log jumps, read-ahead starts again.

use super::state::LogPosition;
use crate::ordered::Ordered;
use crate::seams::Background;
use disk::{AlignedBuffer, DiskError, File, ReadUnderWay};
use std::sync::Arc;
use vlf::{BLOCK_BYTES_MAX, VLF_HEADER_BYTES};

/// Bytes of one read.
pub(super) const PIECE_BYTES: u64 = 1 << 20;
/// Room for the begin of a block: the longest block, in the unit of direct reads.
const ROOM_BYTES: usize = BLOCK_BYTES_MAX + 4096;
/// Reads in flight for a native scan.
const READS_AHEAD: usize = 3;
/// Reads in flight for a classic log backup: the buffers of a backup to one file (`device::practice`, whose model issues the same).
const BACKUP_READS: usize = 6;

/// The reader of the pieces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ahead<'t> {
    /// The native scan.
    Scan,
    /// A classic log backup. Where the VLFs of the file end, in ascending order.
    Backup(&'t [u64]),
}

impl Ahead<'_> {
    fn reads(self) -> usize {
        match self {
            Ahead::Scan => READS_AHEAD,
            Ahead::Backup(_) => BACKUP_READS,
        }
    }

    /// Bytes of the read at `offset` of a file of `limit` bytes.
    fn piece_bytes(self, offset: u64, limit: u64) -> u64 {
        let border = match self {
            Ahead::Scan => None,
            Ahead::Backup(ends) => ends.get(ends.partition_point(|end| *end <= offset)),
        };
        let end = border.map_or(limit, |border| limit.min(*border));
        PIECE_BYTES.min(end.saturating_sub(offset))
    }
}

struct Job {
    file: Arc<dyn File>,
    piece: Piece,
}

/// A part of a log file, behind the room for what came before it.
struct Piece {
    file_id: u16,
    start: u64,
    len: usize,
    buffer: AlignedBuffer,
    durable: LogPosition,
    outcome: Result<ReadUnderWay, DiskError>,
}

/// Bytes of a log file held in memory.
pub(super) struct Window {
    buffer: AlignedBuffer,
    /// Bytes of the buffer before the window.
    skipped: usize,
    pub(super) file_id: u16,
    pub(super) start: u64,
    pub(super) len: usize,
    /// Blocks before this were durable when the window was read.
    pub(super) durable: LogPosition,
}

impl Window {
    pub(super) fn empty() -> Window {
        Window {
            buffer: AlignedBuffer::with_len(0),
            skipped: 0,
            file_id: 0,
            start: 0,
            len: 0,
            durable: LogPosition(0),
        }
    }

    /// What the window holds of the file from `offset` on.
    pub(super) fn at(&mut self, file_id: u16, offset: u64) -> Option<&mut [u8]> {
        let from = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        let held = file_id == self.file_id && from < self.len;
        held.then(|| &mut self.buffer[self.skipped + from..self.skipped + self.len])
    }

    /// Where it ends in the file.
    fn end(&self) -> u64 {
        self.start + self.len as u64
    }

    /// A buffer of at least `len` bytes to read into; the window is empty until it is said what it holds.
    pub(super) fn room(&mut self, len: usize) -> &mut [u8] {
        (self.len, self.skipped) = (0, 0);
        if self.buffer.len() < len {
            self.buffer = AlignedBuffer::with_len(len);
        }
        &mut self.buffer[..len]
    }
}

/// Reads under way for one reader.
pub(super) struct ReadAhead {
    reads: Option<Ordered<Job, Piece>>,
    background: Background,
    /// File and offset of the next piece to be handed out, and of the next to be asked for.
    next: (u16, u64),
    asked: u64,
    spare: Vec<AlignedBuffer>,
}

impl ReadAhead {
    pub(super) fn new(background: Background) -> ReadAhead {
        ReadAhead {
            reads: None,
            background,
            next: (0, 0),
            asked: 0,
            spare: Vec::new(),
        }
    }

    /// Moves the window on so that it holds the file from `start` on, which it already reaches, and the piece behind it.
    /// `durable` = what is durable now; `limit` = where the file ends. False when that cannot be done; the window is then as
    /// it was.
    pub(super) fn advance(
        &mut self,
        window: &mut Window,
        (file, start, limit): (&Arc<dyn File>, u64, u64),
        durable: LogPosition,
        ahead: Ahead<'_>,
    ) -> bool {
        let end = window.end();
        // Behind a piece that ends with its VLF stands the header of the next, which nobody reads.
        let start = match start.saturating_sub(end) <= VLF_HEADER_BYTES {
            true => start.min(end),
            false => start,
        };
        let kept = end.saturating_sub(start) as usize;
        if start < window.start || start > end || kept > ROOM_BYTES || end >= limit || !end.is_multiple_of(4096) {
            return false;
        }
        let background = self.background;
        let reads = self
            .reads
            .get_or_insert_with(|| Ordered::new(background, "log-read-ahead", ahead.reads(), || read));
        if self.next != (window.file_id, end) {
            for piece in reads.by_ref() {
                self.spare.push(piece.buffer);
            }
            (self.next, self.asked) = ((window.file_id, end), end);
        }
        while reads.under_way() < ahead.reads() && self.asked < limit {
            let len = ahead.piece_bytes(self.asked, limit);
            let room = || AlignedBuffer::with_len(ROOM_BYTES + PIECE_BYTES as usize);
            reads.submit(Job {
                file: file.clone(),
                piece: Piece {
                    file_id: window.file_id,
                    start: self.asked,
                    len: len as usize,
                    buffer: self.spare.pop().unwrap_or_else(room),
                    durable,
                    outcome: Ok(ReadUnderWay::default()),
                },
            });
            self.asked += len;
        }
        let Some(mut piece) = reads.next() else { return false };
        self.next = (piece.file_id, piece.start + piece.len as u64);
        let Ok(read) = piece.outcome else {
            // The next read of the same place meets the same fault and reports it.
            self.next = (0, 0);
            return false;
        };
        file.finish_read(read);
        let tail = window.skipped + window.len - kept..window.skipped + window.len;
        piece.buffer[ROOM_BYTES - kept..ROOM_BYTES].copy_from_slice(&window.buffer[tail]);
        let former = std::mem::replace(&mut window.buffer, piece.buffer);
        if former.len() == ROOM_BYTES + PIECE_BYTES as usize {
            self.spare.push(former);
        }
        (window.start, window.len) = (start, kept + piece.len);
        window.skipped = ROOM_BYTES - kept;
        window.durable = window.durable.min(piece.durable);
        true
    }
}

fn read(job: Job) -> Piece {
    let Job { file, mut piece } = job;
    let place = ROOM_BYTES..ROOM_BYTES + piece.len;
    piece.outcome = file.begin_read_at(piece.start, &mut piece.buffer[place]);
    piece
}
