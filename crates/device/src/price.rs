//! What happens many times over, in closed form: what a plan's layout costs on a device, without playing it through.
//!
//! ```text
//! p = short seek + T / 2       v = spacing of VLFs       m = blocks of metadata
//! growth      rotating  step / rate + (4 + m) p + (VLFs - 1) min(v / rate, p)
//!             flash     step / rate + 3 flushes + (VLFs + m + 2) writes
//! discovery   rotating  VLFs * (v / rate  within a track, else track seek + T / 2)
//!             flash     VLFs * read
//! commit      rotating  T + n / rate where durable writes are honoured, n at the pace of cache or platter where they are not
//!             flash     write + flush
//! ```
//! A growth here is that of the classic policy: zeros, a flush, a header for each VLF, a flush, page 0 durable.

use crate::NS_PER_S;
use crate::parameter::{Case, DurableWrite, Figures, FlashFigures, Ranges, Rotating};
use crate::rotating::Geometry;

/// How far the head goes between data, journal and file table, as a share of the capacity: see [`crate::volume`].
const SHORT_SEEK_SHARE: f64 = 1.0 / 16.0;
/// What is read of a VLF to find it.
const HEADER_BYTES: f64 = 8192.0;

/// Seconds that something costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    pub fast_s: f64,
    pub typical_s: f64,
    pub slow_s: f64,
}

impl Price {
    /// What `cost` says at the device's best, typical and worst figures.
    pub fn of(ranges: &Ranges, cost: impl Fn(&Figures) -> f64) -> Price {
        let at = |case| cost(&ranges.at(case));
        Price {
            fast_s: at(Case::Fast),
            typical_s: at(Case::Typical),
            slow_s: at(Case::Slow),
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

/// Seconds of one growth of a log by `step_bytes` that makes `vlfs` VLFs.
pub fn growth_s(figures: &Figures, step_bytes: u64, vlfs: u64) -> f64 {
    let (step, vlfs) = (step_bytes as f64, vlfs.max(1) as f64);
    let m = figures.metadata_blocks() as f64;
    match figures {
        Figures::Rotating(disk) if is_battery(disk) => {
            let small = vlfs + m + 2.0;
            step / streaming(disk) + small * overhead_s(disk) + 3.0 * overhead_s(disk)
        }
        Figures::Rotating(disk) => {
            let pause = pause_s(disk);
            let passing = (step / vlfs / rate(disk)).min(pause);
            step / rate(disk) + (4.0 + m) * pause + (vlfs - 1.0) * passing
        }
        Figures::Flash(flash) => {
            let small = vlfs + m + 2.0;
            transfer_s(flash, step, flash.write_mb_s)
                + 3.0 * flash.flush_us / 1e6
                + small * latency_s(flash, flash.write_us)
        }
    }
}

/// Seconds of looking at every VLF of a log of `vlfs` VLFs, `spacing_bytes` apart.
pub fn discovery_s(figures: &Figures, vlfs: u64, spacing_bytes: u64) -> f64 {
    let (vlfs, spacing) = (vlfs as f64, spacing_bytes as f64);
    match figures {
        Figures::Rotating(disk) => {
            let geometry = Geometry::new(disk);
            let each = if spacing < geometry.track {
                spacing / rate(disk)
            } else {
                (disk.figures.seek_track_ms / 1e3) + geometry.turn / NS_PER_S / 2.0 + HEADER_BYTES / rate(disk)
            };
            vlfs * each.max(overhead_s(disk))
        }
        Figures::Flash(flash) => {
            vlfs * (latency_s(flash, flash.read_us) + transfer_s(flash, HEADER_BYTES, flash.read_mb_s))
        }
    }
}

/// Seconds of one durable write of `bytes` behind the one before, when `processor_s` went by since.
pub fn commit_s(figures: &Figures, bytes: u64, processor_s: f64) -> f64 {
    let bytes = bytes as f64;
    match figures {
        Figures::Rotating(disk) => match disk.durable_write {
            DurableWrite::Honoured | DurableWrite::CacheOff => {
                let turn = Geometry::new(disk).turn / NS_PER_S;
                let passing = bytes / rate(disk);
                // What is missed of the circle is waited for: whole turns.
                let between = overhead_s(disk) + processor_s;
                passing + turn * (between / turn).ceil().max(1.0)
            }
            DurableWrite::Ignored | DurableWrite::Battery => {
                let host = processor_s + overhead_s(disk) + bytes / (disk.figures.host_mb_s * 1e6);
                host.max(bytes / rate(disk))
            }
        },
        Figures::Flash(flash) => {
            let write = latency_s(flash, flash.write_us) + transfer_s(flash, bytes, flash.write_mb_s);
            processor_s + write + flash.flush_us / 1e6
        }
    }
}

/// Seconds of reading `bytes` one after the other, in requests of `request_bytes`.
pub fn sequential_read_s(figures: &Figures, bytes: u64, request_bytes: u64) -> f64 {
    let requests = bytes.div_ceil(request_bytes.max(1)) as f64;
    match figures {
        Figures::Rotating(disk) => {
            let host = request_bytes as f64 / (disk.figures.host_mb_s * 1e6) + overhead_s(disk);
            (bytes as f64 / rate(disk)).max(requests * host)
        }
        Figures::Flash(flash) => {
            requests * latency_s(flash, flash.read_us) + transfer_s(flash, bytes as f64, flash.read_mb_s)
        }
    }
}

/// Seconds of writing `bytes` one after the other, in requests of `request_bytes`, and one flush.
pub fn sequential_write_s(figures: &Figures, bytes: u64, request_bytes: u64) -> f64 {
    let requests = bytes.div_ceil(request_bytes.max(1)) as f64;
    match figures {
        Figures::Rotating(disk) => {
            let host = request_bytes as f64 / (disk.figures.host_mb_s * 1e6) + overhead_s(disk);
            (bytes as f64 / rate(disk)).max(requests * host)
        }
        Figures::Flash(flash) => {
            let written = requests * latency_s(flash, flash.write_us);
            written + transfer_s(flash, bytes as f64, flash.write_mb_s) + flash.flush_us / 1e6
        }
    }
}

fn is_battery(disk: &Rotating) -> bool {
    disk.durable_write == DurableWrite::Battery
}

fn rate(disk: &Rotating) -> f64 {
    disk.figures.rate_mb_s * 1e6
}

fn streaming(disk: &Rotating) -> f64 {
    rate(disk).min(disk.figures.host_mb_s * 1e6)
}

fn overhead_s(disk: &Rotating) -> f64 {
    disk.figures.overhead_ms / 1e3
}

/// A short seek and half a turn.
fn pause_s(disk: &Rotating) -> f64 {
    let geometry = Geometry::new(disk);
    let seek = geometry.seek(disk.figures.capacity_gb * 1e9 * SHORT_SEEK_SHARE);
    (seek + geometry.turn / 2.0) / NS_PER_S
}

/// A request's latency, or its share of the requests that are allowed.
fn latency_s(flash: &FlashFigures, latency_us: f64) -> f64 {
    let allowed = if flash.iops > 0.0 { 1.0 / flash.iops } else { 0.0 };
    (latency_us / 1e6).max(allowed)
}

/// The time of bytes at the request's rate or at the one that is allowed.
fn transfer_s(flash: &FlashFigures, bytes: f64, rate_mb_s: f64) -> f64 {
    let allowed = if flash.throughput_mb_s > 0.0 {
        rate_mb_s.min(flash.throughput_mb_s)
    } else {
        rate_mb_s
    };
    bytes / (allowed * 1e6)
}
