//! Flash, and volumes behind a network.
//!
//! ```text
//! start = max(asked for, a unit is free)
//! done  = max(start + latency + bytes / rate,  the allowance of requests,  the allowance of bytes)
//! ```
//! A request of more bytes than are counted as one counts several times (256 KB on Amazon's EBS and Azure's disks). An allowance is what
//! a provider grants: the n-th request is not done before n / IOPS seconds of work were granted; what is not used is not kept.
//! A durable write is a write and a flush. A flush waits for all units.

use crate::parameter::FlashFigures;
use crate::{Durability, Moment, NS_PER_S};

const NS_PER_US: f64 = 1e3;

/// The device and when it is free. Times in nanoseconds, rates in bytes a nanosecond.
#[derive(Debug, Clone)]
pub struct FlashDevice {
    read: Cost,
    write: Cost,
    flush: f64,
    /// When each unit is free.
    units: Vec<f64>,
    requests: Allowance,
    bytes: Allowance,
    counted_bytes: u64,
}

/// What a request costs beside its bytes, and what a byte does.
#[derive(Debug, Clone, Copy)]
struct Cost {
    latency: f64,
    rate: f64,
}

/// So much a nanosecond is granted.
#[derive(Debug, Clone, Copy)]
struct Allowance {
    /// None grants everything.
    rate: Option<f64>,
    /// When all that was asked for is granted.
    granted_at: f64,
}

impl Allowance {
    fn new(per_second: f64) -> Allowance {
        Allowance {
            rate: (per_second > 0.0).then_some(per_second / NS_PER_S),
            granted_at: 0.0,
        }
    }

    /// When `amount`, asked for at `at`, is granted.
    fn grant(&mut self, at: f64, amount: f64) -> f64 {
        let Some(rate) = self.rate else { return at };
        self.granted_at = self.granted_at.max(at) + amount / rate;
        self.granted_at
    }
}

impl FlashDevice {
    pub(crate) fn new(figures: &FlashFigures) -> FlashDevice {
        let cost = |latency_us: f64, mb_s: f64| Cost {
            latency: latency_us * NS_PER_US,
            rate: mb_s * 1e6 / NS_PER_S,
        };
        FlashDevice {
            read: cost(figures.read_us, figures.read_mb_s),
            write: cost(figures.write_us, figures.write_mb_s),
            flush: figures.flush_us * NS_PER_US,
            units: vec![0.0; (figures.units as usize).max(1)],
            requests: Allowance::new(figures.iops),
            bytes: Allowance::new(figures.throughput_mb_s * 1e6),
            counted_bytes: (figures.counted_kb * 1024.0) as u64,
        }
    }

    pub(crate) fn read(&mut self, at: Moment, bytes: u64) -> Moment {
        let done = self.serve(at.ns(), bytes, self.read);
        Moment::from_ns(done)
    }

    pub(crate) fn write(&mut self, at: Moment, bytes: u64, durability: Durability) -> Moment {
        let done = self.serve(at.ns(), bytes, self.write);
        match durability {
            Durability::Cached => Moment::from_ns(done),
            Durability::Durable => self.flush(Moment::from_ns(done)),
        }
    }

    pub(crate) fn flush(&mut self, at: Moment) -> Moment {
        if self.flush == 0.0 {
            return at;
        }
        let idle = self.units.iter().copied().fold(at.ns(), f64::max);
        let done = idle + self.flush;
        self.units.fill(done);
        Moment::from_ns(done)
    }

    fn serve(&mut self, at: f64, bytes: u64, cost: Cost) -> f64 {
        let counted = bytes.div_ceil(self.counted_bytes.max(1)).max(1);
        let granted = self.requests.grant(at, counted as f64);
        let granted = granted.max(self.bytes.grant(at, bytes as f64));
        let first = self.units.iter_mut().min_by(|one, other| one.total_cmp(other));
        let unit = first.expect("a device has a unit");
        let done = (at.max(*unit) + cost.latency + bytes as f64 / cost.rate).max(granted);
        *unit = done;
        done
    }
}
