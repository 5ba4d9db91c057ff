//! The cost of repeated work on a device in closed form, without simulating each request.
//!
//! ```text
//! go = seek over the distance + T / 2         step = spacing / rate within a track, else go         T = a turn
//! growth      rotating  zeros + headers + page 0 + (the way to the file system's blocks and back)
//!             flash     each request for itself, and 3 flushes
//! discovery   rotating  step for each VLF
//!             flash     a read for each VLF
//! VLF switch  rotating  T, because the place of the next block has just passed
//!             flash     a write and a flush
//! log backup  rotating  bytes / rate
//!             flash     each request for itself, or its share where several are under way, as far as the device grants it
//! commit      rotating  T + n / rate where durable writes are honoured, n at the pace of cache or platter where they are not
//!             flash     write + flush
//! ```
//! The work is that of the classic policy, which works like SQL Server 2005 to 2012. A growth writes zeros by the megabyte, flushes, writes
//! a header for each VLF, flushes, and writes page 0 durably and its copy. Discovery reads one header after the other. A switch writes the
//! header of the VLF and flushes. A log backup makes 6 reads at a time, of at most 1 MB and within one VLF. [`crate::practice`] has the
//! sources, and the behaviour of other versions.
//!
//! Invariant: on flash these are the equations of [`crate::flash`] for one request at a time, to rounding. On a rotating disk they are
//! averages of [`crate::rotating`] and [`crate::volume`]. Many requests, or a long one, come within 15 % of them. With a battery-backed
//! cache the result depends on the cache's content, and they come within a factor of two. A test of the lab compares them over disks and
//! layouts.
//!
//! Processor time and concurrent requests to the device are not included.

use crate::flash::counted_requests;
use crate::head::Head;
use crate::parameter::{Case, DurableWrite, Figures, FlashFigures, Ranges};
use crate::practice::{BACKUP_READ_BYTES, BACKUP_READS};

/// What is written of a VLF to make it, and to enter it: a page.
const HEADER_BYTES: f64 = 8192.0;
/// What is read of a VLF to find it.
const HEADER_READ_BYTES: f64 = 4096.0;
/// A copy of page 0.
const PAGE_COPY_BYTES: f64 = 4096.0;
/// One write of zeros over new space.
const ZERO_WRITE_BYTES: f64 = 1_048_576.0;
/// What of the head's ways is left where a cache holds many growths and the drive takes the nearest of its queue first: played, not
/// derived.
const NEAREST_FIRST: f64 = 0.57;

/// Seconds that something costs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Price {
    pub fast_s: f64,
    pub typical_s: f64,
    pub slow_s: f64,
}

impl Price {
    /// What `cost` says at the device's best, typical and worst figures, from the least to the most: with little to do a disk that turns
    /// faster may just miss its sector, and wait for it longer than a slower one.
    pub fn of(ranges: &Ranges, cost: impl Fn(&Figures) -> f64) -> Price {
        let at = |case| cost(&ranges.at(case));
        Price::spanning(at(Case::Fast), at(Case::Typical), at(Case::Slow))
    }

    /// From the least to the most of what was found at the best, typical and worst figures.
    pub fn spanning(best_s: f64, typical_s: f64, worst_s: f64) -> Price {
        Price {
            fast_s: best_s.min(typical_s).min(worst_s),
            typical_s,
            slow_s: best_s.max(typical_s).max(worst_s),
        }
    }

    /// With a range that holds `seconds` too.
    pub fn holding(self, seconds: f64) -> Price {
        Price {
            fast_s: self.fast_s.min(seconds),
            slow_s: self.slow_s.max(seconds),
            ..self
        }
    }

    /// Both, one after the other.
    pub fn plus(self, other: Price) -> Price {
        Price {
            fast_s: self.fast_s + other.fast_s,
            typical_s: self.typical_s + other.typical_s,
            slow_s: self.slow_s + other.slow_s,
        }
    }
}

/// VLFs of one size, one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VlfRun {
    pub count: u64,
    /// Bytes of each, header included.
    pub vlf_bytes: u64,
}

/// Growths of a log by the same number of bytes and VLFs, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GrowthRun {
    pub times: u64,
    /// Bytes added by each.
    pub step_bytes: u64,
    /// VLFs added by each.
    pub vlfs: u64,
    /// Whether zeros are written over the new space.
    pub is_zeroed: bool,
}

/// Seconds of one growth of a log by `step_bytes` that makes `vlfs` VLFs, among others like it.
pub fn growth_s(figures: &Figures, step_bytes: u64, vlfs: u64) -> f64 {
    let growth = GrowthRun {
        times: 1,
        step_bytes,
        vlfs,
        is_zeroed: true,
    };
    growths_s(figures, growth, 0)
}

/// Seconds of growths of a log that has `file_bytes` before them.
pub fn growths_s(figures: &Figures, growths: GrowthRun, file_bytes: u64) -> f64 {
    let made = VlfRun {
        count: growths.vlfs.max(1),
        vlf_bytes: growths.step_bytes / growths.vlfs.max(1),
    };
    let middle_bytes = file_bytes + growths.step_bytes * (growths.times.max(1) - 1) / 2;
    let space = NewSpace {
        times: growths.times as f64,
        file_bytes: middle_bytes as f64,
        bytes: growths.step_bytes as f64,
        is_zeroed: growths.is_zeroed,
    };
    space.seconds(figures, &[made])
}

/// Seconds of making a log file of these VLFs at once, as a restore does: zeros over all of it, their headers, page 0.
pub fn creation_s(figures: &Figures, vlfs: &[VlfRun]) -> f64 {
    let space = NewSpace {
        times: 1.0,
        file_bytes: 0.0,
        bytes: vlfs.iter().map(|run| run.count as f64 * run.vlf_bytes as f64).sum(),
        is_zeroed: true,
    };
    space.seconds(figures, vlfs)
}

/// Seconds of looking at every VLF of a log of `vlfs` VLFs, `spacing_bytes` apart.
pub fn discovery_s(figures: &Figures, vlfs: u64, spacing_bytes: u64) -> f64 {
    let each = match figures {
        Figures::Rotating(disk) => {
            let head = Head::of(disk);
            head.read_step_s(spacing_bytes as f64, HEADER_READ_BYTES)
        }
        Figures::Flash(flash) => read_s(flash, HEADER_READ_BYTES),
    };
    vlfs as f64 * each
}

/// Seconds that the log waits where it goes on in the next VLF, when all before is durable.
pub fn switch_s(figures: &Figures) -> f64 {
    match figures {
        Figures::Rotating(disk) => {
            let head = Head::of(disk);
            match head.durable_write {
                DurableWrite::Battery => head.host_s(HEADER_BYTES) + head.overhead_s,
                _ => head.turn_s + head.pass_s(HEADER_BYTES),
            }
        }
        Figures::Flash(flash) => write_s(flash, HEADER_BYTES) + flush_s(flash),
    }
}

/// Seconds of reading all of the log in these VLFs for a backup: from a server that keeps all its buffers in use to one that fills them
/// one after the other on the disk at its worst.
pub fn log_backup(ranges: &Ranges, vlfs: &[VlfRun]) -> Price {
    let seconds = |case, reads| log_backup_s(&ranges.at(case), vlfs, reads);
    Price::spanning(
        seconds(Case::Fast, BACKUP_READS),
        seconds(Case::Typical, BACKUP_READS),
        seconds(Case::Slow, 1),
    )
}

/// Seconds of reading all of the log in these VLFs in pieces of [`BACKUP_READ_BYTES`], `reads` of them under way.
pub fn log_backup_s(figures: &Figures, vlfs: &[VlfRun], reads: usize) -> f64 {
    let each = |vlf_bytes: u64| {
        let body = (vlf_bytes as f64 - HEADER_BYTES).max(0.0);
        let piece = BACKUP_READ_BYTES as f64;
        match figures {
            Figures::Rotating(disk) => {
                let head = Head::of(disk);
                let requests = in_pieces(body, piece, |bytes| head.host_s(bytes)) / reads.max(1) as f64;
                head.pass_s(vlf_bytes as f64).max(requests)
            }
            Figures::Flash(flash) => in_pieces(body, piece, |bytes| shared_read_s(flash, bytes, reads)),
        }
    };
    vlfs.iter().map(|run| run.count as f64 * each(run.vlf_bytes)).sum()
}

/// Seconds of one durable write of `bytes` behind the one before, when `processor_s` went by since.
pub fn commit_s(figures: &Figures, bytes: u64, processor_s: f64) -> f64 {
    let bytes = bytes as f64;
    match figures {
        Figures::Rotating(disk) => {
            let head = Head::of(disk);
            match head.durable_write {
                DurableWrite::Honoured | DurableWrite::CacheOff => {
                    // What is missed of the circle is waited for: whole turns.
                    let between = head.overhead_s + processor_s;
                    head.pass_s(bytes) + head.turn_s * (between / head.turn_s).ceil().max(1.0)
                }
                DurableWrite::Ignored | DurableWrite::Battery => {
                    (processor_s + head.host_s(bytes)).max(head.pass_s(bytes))
                }
            }
        }
        Figures::Flash(flash) => processor_s + write_s(flash, bytes) + flush_s(flash),
    }
}

/// Seconds of reading `bytes` one after the other, in requests of `request_bytes`.
pub fn sequential_read_s(figures: &Figures, bytes: u64, request_bytes: u64) -> f64 {
    let (bytes, request) = (bytes as f64, request_bytes.max(1) as f64);
    match figures {
        Figures::Rotating(disk) => {
            let head = Head::of(disk);
            head.pass_s(bytes)
                .max(in_pieces(bytes, request, |bytes| head.host_s(bytes)))
        }
        Figures::Flash(flash) => in_pieces(bytes, request, |bytes| read_s(flash, bytes)),
    }
}

/// Space that a log file gets, so many times, with VLFs in it.
struct NewSpace {
    times: f64,
    /// What the file has before; in the middle, if there are several.
    file_bytes: f64,
    bytes: f64,
    is_zeroed: bool,
}

impl NewSpace {
    fn seconds(&self, figures: &Figures, vlfs: &[VlfRun]) -> f64 {
        match figures {
            Figures::Rotating(disk) => {
                let head = Head::of(disk);
                match head.durable_write {
                    DurableWrite::Battery => self.behind_a_battery(&head, vlfs),
                    _ => self.times * self.on_platters(&head, vlfs, 1.0),
                }
            }
            Figures::Flash(flash) => self.times * self.on_flash(flash, vlfs),
        }
    }

    fn on_flash(&self, flash: &FlashFigures, vlfs: &[VlfRun]) -> f64 {
        let write = |bytes: f64| write_s(flash, bytes);
        let metadata = [HEADER_BYTES, PAGE_COPY_BYTES, PAGE_COPY_BYTES];
        let blocks = flash.metadata_blocks.round() as usize;
        let metadata: f64 = metadata.into_iter().take(blocks).map(write).sum();
        let zeros = match self.is_zeroed {
            true => in_pieces(self.bytes, ZERO_WRITE_BYTES, write) + flush_s(flash),
            false => 0.0,
        };
        let page = 2.0 * write(PAGE_COPY_BYTES) + flush_s(flash);
        zeros + metadata + count(vlfs) * write(HEADER_BYTES) + flush_s(flash) + page
    }

    /// Once, when everything waits for the platter. `far` is what of each long way counts.
    fn on_platters(&self, head: &Head, vlfs: &[VlfRun], far: f64) -> f64 {
        let zeros = match (self.is_zeroed, head.durable_write) {
            (false, _) => 0.0,
            (true, DurableWrite::CacheOff) => {
                head.pass_s(self.bytes) + (self.bytes / ZERO_WRITE_BYTES).ceil() * head.turn_s
            }
            (true, _) => head.pass_s(self.bytes).max(self.zero_requests_s(head)),
        };
        let step = |run: &VlfRun| head.step_s(run.vlf_bytes as f64, HEADER_BYTES);
        let headers: f64 = vlfs.iter().map(|run| run.count as f64 * step(run)).sum();
        let headers = headers - vlfs.first().map_or(0.0, step) + head.pass_s(HEADER_BYTES);
        // From page 0 to the new space, to the file system's blocks and back. After zeros the headers are there, and page 0 is another
        // way; without zeros they are written on the way out.
        let out = head.go_s(self.file_bytes) + head.metadata_s().max(head.go_s(self.bytes));
        let back = match self.is_zeroed {
            true => head.go_s(self.file_bytes + self.bytes),
            false => 0.0,
        };
        let copy = match head.durable_write {
            DurableWrite::Honoured | DurableWrite::CacheOff => head.turn_s,
            DurableWrite::Ignored | DurableWrite::Battery => 0.0,
        };
        zeros + far * (out + headers + back) + head.pass_s(2.0 * PAGE_COPY_BYTES) + copy
    }

    /// All of them: as long as it takes to fill the cache, or until the platter has all that the cache has no room for.
    fn behind_a_battery(&self, head: &Head, vlfs: &[VlfRun]) -> f64 {
        let headers = count(vlfs);
        let small = headers + head.metadata_blocks() + 2.0;
        let zeros = if self.is_zeroed { self.bytes } else { 0.0 };
        let cached = self.zero_requests_s(head) + small * head.host_s(HEADER_BYTES) + 2.0 * head.overhead_s;
        let written = self.times * (zeros + small * HEADER_BYTES);
        let beyond = (1.0 - head.cache_bytes() / written).max(0.0);
        self.times * cached.max(beyond * self.on_platters(head, vlfs, NEAREST_FIRST))
    }

    fn zero_requests_s(&self, head: &Head) -> f64 {
        match self.is_zeroed {
            true => in_pieces(self.bytes, ZERO_WRITE_BYTES, |bytes| head.host_s(bytes)),
            false => 0.0,
        }
    }
}

fn count(vlfs: &[VlfRun]) -> f64 {
    vlfs.iter().map(|run| run.count as f64).sum()
}

/// The sum over the pieces of `bytes` that have `piece` bytes each, and the rest.
fn in_pieces(bytes: f64, piece: f64, seconds: impl Fn(f64) -> f64) -> f64 {
    let whole = (bytes / piece).floor();
    let rest = bytes - whole * piece;
    let last = if rest > 0.0 { seconds(rest) } else { 0.0 };
    whole * seconds(piece) + last
}

fn read_s(flash: &FlashFigures, bytes: f64) -> f64 {
    shared_read_s(flash, bytes, 1)
}

fn write_s(flash: &FlashFigures, bytes: f64) -> f64 {
    of_requests_s(flash, flash.write_us, flash.write_mb_s, bytes, 1.0)
}

fn flush_s(flash: &FlashFigures) -> f64 {
    flash.flush_us / 1e6
}

/// A read's share of the time, where `reads` are under way.
fn shared_read_s(flash: &FlashFigures, bytes: f64, reads: usize) -> f64 {
    let at_once = (reads as f64).min(flash.units).max(1.0);
    let share = of_requests_s(flash, flash.read_us, flash.read_mb_s, bytes, at_once);
    share.max(granted_s(bytes, flash.reads_mb_s * 1e6))
}

/// A request's share of the time, where so many are under way: of what it takes by itself, or until it is granted.
fn of_requests_s(flash: &FlashFigures, latency_us: f64, rate_mb_s: f64, bytes: f64, at_once: f64) -> f64 {
    let counted = counted_requests(flash, bytes as u64) as f64;
    let itself = latency_us / 1e6 + bytes / (rate_mb_s * 1e6);
    (itself / at_once)
        .max(granted_s(counted, flash.iops))
        .max(granted_s(bytes, flash.throughput_mb_s * 1e6))
}

/// Seconds until so much is granted, at so much a second; 0 where there is no limit.
fn granted_s(amount: f64, per_second: f64) -> f64 {
    if per_second > 0.0 { amount / per_second } else { 0.0 }
}
