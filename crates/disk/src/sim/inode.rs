//! One simulated file: what is on the platter, what programs read, and the changes in between.
//!
//! ```text
//!   durable  --- pending[0] --- pending[1] --- ... --- pending[n] ---> current
//! ```
//!
//! Invariants: `current` is `durable` with every pending change applied in order; with no pending change the two are
//! equal. A pending write holds whole sectors of 512 bytes as they would reach the device (a write of part of a
//! sector carries the rest of that sector along), and the end it needs the file to have.

use std::sync::Arc;

use super::random::Random;
use super::{CutPolicy, SECTOR_BYTES};
use crate::aligned::{ZEROS_BYTES_MAX, zeros};
use crate::content::Content;

/// What a write brings to the device. A log's zeroed space is megabytes of zeros, of which nothing is kept but how many there are.
#[derive(Debug, Clone)]
enum Sectors {
    Zeros(usize),
    Bytes(Arc<[u8]>),
}

impl Sectors {
    fn of(bytes: &[u8]) -> Sectors {
        match bytes.len() <= ZEROS_BYTES_MAX && bytes == zeros(bytes.len()) {
            true => Sectors::Zeros(bytes.len()),
            false => Sectors::Bytes(bytes.into()),
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Sectors::Zeros(len) => zeros(*len),
            Sectors::Bytes(bytes) => bytes,
        }
    }
}

#[derive(Debug, Clone)]
enum Change {
    /// Whole sectors from `offset` (a multiple of 512), of which the file's length needs to reach `end`.
    Bytes {
        offset: u64,
        sectors: Sectors,
        end: u64,
    },
    Grow(u64),
    SetLen(u64),
}

#[derive(Debug, Clone)]
struct Pending {
    change: Change,
    /// Order among all changes of the disk.
    sequence: u64,
    /// The change is on the platter already and stands here only because older pending ones lie under it.
    durable: bool,
}

/// One simulated file.
#[derive(Debug, Clone, Default)]
pub(super) struct Inode {
    current: Content,
    durable: Content,
    pending: Vec<Pending>,
    /// Bytes of the disk's capacity the file takes: up to the highest byte reserved or written, in blocks of 4096.
    allocated_bytes: u64,
}

/// What becomes of one unsynced sector.
enum Fate {
    Lost,
    Kept,
    Garbage,
}

/// The blocks a file that reaches to `end` takes.
pub(super) fn allocation_for(end: u64) -> u64 {
    end.div_ceil(4096).saturating_mul(4096)
}

impl Inode {
    pub(super) fn len(&self) -> u64 {
        self.current.len()
    }

    pub(super) fn allocated_bytes(&self) -> u64 {
        self.allocated_bytes
    }

    pub(super) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    pub(super) fn last_sequence(&self) -> Option<u64> {
        self.pending
            .iter()
            .rev()
            .find(|pending| !pending.durable && matches!(pending.change, Change::Bytes { .. }))
            .map(|pending| pending.sequence)
    }

    pub(super) fn read(&self, offset: u64, buffer: &mut [u8]) {
        self.current.read(offset, buffer);
    }

    /// Writes; `end` is offset plus length, checked by the caller.
    pub(super) fn write(&mut self, offset: u64, bytes: &[u8], sequence: u64, durable: bool) {
        if bytes.is_empty() {
            return;
        }
        let end = offset + bytes.len() as u64;
        self.current.extend_to(end);
        self.current.write_within(offset, bytes);
        self.allocated_bytes = self.allocated_bytes.max(allocation_for(end));
        if durable && self.pending.is_empty() {
            self.durable.adopt(&self.current, offset, bytes.len());
            return;
        }
        let sector = SECTOR_BYTES as u64;
        let first = offset - offset % sector;
        let sectors = match first == offset && end.is_multiple_of(sector) {
            true => Sectors::of(bytes),
            false => {
                let mut sectors = vec![0; (end.next_multiple_of(sector) - first) as usize];
                self.current.read(first, &mut sectors);
                Sectors::Bytes(sectors.into())
            }
        };
        self.pending.push(Pending {
            change: Change::Bytes {
                offset: first,
                sectors,
                end,
            },
            sequence,
            durable,
        });
    }

    pub(super) fn grow(&mut self, len: u64, sequence: u64) {
        self.current.extend_to(len);
        self.allocated_bytes = self.allocated_bytes.max(allocation_for(len));
        self.push_length(Change::Grow(len), sequence);
    }

    pub(super) fn set_len(&mut self, len: u64, sequence: u64) {
        self.current.set_len(len);
        self.allocated_bytes = self.allocated_bytes.min(allocation_for(len));
        self.push_length(Change::SetLen(len), sequence);
    }

    fn push_length(&mut self, change: Change, sequence: u64) {
        self.pending.push(Pending {
            change,
            sequence,
            durable: false,
        });
    }

    pub(super) fn sync(&mut self) {
        let lengths_changed = self
            .pending
            .iter()
            .any(|pending| !matches!(pending.change, Change::Bytes { .. }));
        if lengths_changed {
            self.durable = self.current.clone();
        } else {
            for pending in &self.pending {
                if let Change::Bytes { offset, sectors, .. } = &pending.change {
                    self.durable.adopt(&self.current, *offset, sectors.bytes().len());
                }
            }
        }
        self.pending.clear();
    }

    /// A sync that failed: some unsynced sectors reached the device, the cached rest is dropped by the kernel, and
    /// programs read from then on what the device has.
    pub(super) fn fail_sync(&mut self, random: &mut Random) {
        *self = self.after_power_cut(CutPolicy::RandomSectors, random, None);
    }

    /// Damages the stored bytes behind the programs' back, current and durable alike.
    pub(super) fn flip_bit(&mut self, byte: u64, bit: u32) {
        for content in [&mut self.current, &mut self.durable] {
            let mut value = [0];
            content.read(byte, &mut value);
            content.write_within(byte, &[value[0] ^ (1 << bit)]);
        }
    }

    /// Loses everything behind `len`, current and durable alike, unsynced changes included.
    pub(super) fn truncate_behind(&mut self, len: u64) {
        self.current.set_len(len.min(self.current.len()));
        self.durable = self.current.clone();
        self.pending.clear();
        self.allocated_bytes = self.allocated_bytes.min(allocation_for(len));
    }

    /// The file as a power cut leaves it. `torn` is the sequence of the last unsynced write of the whole disk.
    pub(super) fn after_power_cut(&self, policy: CutPolicy, random: &mut Random, torn: Option<u64>) -> Inode {
        let mut content = self.durable.clone();
        let length_changes = self
            .pending
            .iter()
            .filter(|pending| !matches!(pending.change, Change::Bytes { .. }))
            .count();
        // A journal replays length changes in order, so those that survive are a prefix.
        let mut lengths_kept = match policy {
            CutPolicy::AllLost => 0,
            CutPolicy::AllKept | CutPolicy::TornLastWrite { .. } => length_changes,
            _ => random.up_to(length_changes),
        };
        for pending in &self.pending {
            match &pending.change {
                Change::Bytes { offset, sectors, end } if pending.durable => {
                    content.extend_to(*end);
                    content.write_within(*offset, sectors.bytes());
                }
                Change::Bytes { offset, sectors, end } => {
                    let is_torn = torn == Some(pending.sequence);
                    keep_some(&mut content, policy, random, is_torn, (*offset, sectors.bytes(), *end));
                }
                Change::Grow(_) | Change::SetLen(_) if lengths_kept == 0 => {}
                Change::Grow(len) => {
                    lengths_kept -= 1;
                    content.extend_to(*len);
                }
                Change::SetLen(len) => {
                    lengths_kept -= 1;
                    content.set_len(*len);
                }
            }
        }
        Inode {
            current: content.clone(),
            allocated_bytes: self
                .allocated_bytes
                .min(allocation_for(self.durable.len().max(content.len()))),
            durable: content,
            pending: Vec::new(),
        }
    }
}

/// Applies the part of one unsynced write that the policy lets reach the device.
fn keep_some(
    content: &mut Content,
    policy: CutPolicy,
    random: &mut Random,
    is_torn: bool,
    (offset, sectors, end): (u64, &[u8], u64),
) {
    let whole_write_kept = random.coin();
    let torn_at = match policy {
        CutPolicy::TornLastWrite { sectors_kept } if is_torn => sectors_kept,
        _ => usize::MAX,
    };
    let reach = match policy {
        CutPolicy::AllLost => 0,
        CutPolicy::AllKept => end,
        CutPolicy::TornLastWrite { .. } => {
            end.min(offset.saturating_add((torn_at as u64).saturating_mul(SECTOR_BYTES as u64)))
        }
        _ if whole_write_kept => end,
        _ => 0,
    };
    content.extend_to(reach);
    for (index, sector) in sectors.chunks(SECTOR_BYTES).enumerate() {
        let fate = match policy {
            CutPolicy::AllLost => Fate::Lost,
            CutPolicy::AllKept => Fate::Kept,
            CutPolicy::TornLastWrite { .. } if index < torn_at => Fate::Kept,
            CutPolicy::TornLastWrite { .. } => Fate::Lost,
            CutPolicy::RandomWrites if whole_write_kept => Fate::Kept,
            CutPolicy::RandomWrites => Fate::Lost,
            CutPolicy::RandomSectors if random.coin() => Fate::Kept,
            CutPolicy::RandomSectors => Fate::Lost,
            CutPolicy::GarbageSectors => match random.up_to(2) {
                0 => Fate::Lost,
                1 => Fate::Kept,
                _ => Fate::Garbage,
            },
        };
        let at = offset + (index * SECTOR_BYTES) as u64;
        match fate {
            Fate::Lost => {}
            Fate::Kept => content.write_within(at, sector),
            Fate::Garbage => {
                let mut garbage = [0; SECTOR_BYTES];
                random.fill(&mut garbage);
                content.write_within(at, &garbage);
            }
        }
    }
}
