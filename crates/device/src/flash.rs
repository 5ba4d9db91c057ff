//! Flash, and volumes behind a network.
//!
//! ```text
//! start = max(asked for, a unit is free)
//! done  = max(start + latency + bytes / rate,  the allowance of requests,  the allowance of bytes,  of a read: that of reads)
//! ```
//! A provider counts requests in units of some size (256 KB on Amazon's EBS and Azure's disks); a larger request counts several times. An
//! allowance is the number of requests, or of bytes, that the provider grants a second. A request waits until its allowance is available.
//! Unused allowance expires.
//!
//! A durable write is a write and a flush. Only one flush runs at a time. It makes everything durable that was written before it began.
//! Requests that need a flush in the meantime share the next one. A flush does not wait for writes in flight, and does not delay them.

use crate::parameter::FlashFigures;
use crate::{Durability, Moment, NS_PER_S};

const NS_PER_US: f64 = 1e3;

/// The device and when it is free. Times in nanoseconds, rates in bytes a nanosecond.
#[derive(Debug, Clone)]
pub struct FlashDevice {
    read: Cost,
    write: Cost,
    flush: f64,
    /// When the last flush begins and ends.
    flushing: (f64, f64),
    /// When each unit is free.
    units: Vec<f64>,
    requests: Allowance,
    bytes: Allowance,
    /// Grants the bytes of reads, beside those of all requests.
    read_bytes: Allowance,
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
            flushing: (f64::NEG_INFINITY, 0.0),
            units: vec![0.0; (figures.units as usize).max(1)],
            requests: Allowance::new(figures.iops),
            bytes: Allowance::new(figures.throughput_mb_s * 1e6),
            read_bytes: Allowance::new(figures.reads_mb_s * 1e6),
            counted_bytes: counted_bytes(figures),
        }
    }

    pub(crate) fn read(&mut self, at: Moment, bytes: u64) -> Moment {
        let granted = self.read_bytes.grant(at.ns(), bytes as f64);
        let done = self.serve(at.ns(), bytes, self.read, granted);
        Moment::from_ns(done)
    }

    pub(crate) fn write(&mut self, at: Moment, bytes: u64, durability: Durability) -> Moment {
        let done = self.serve(at.ns(), bytes, self.write, 0.0);
        match durability {
            Durability::Cached => Moment::from_ns(done),
            Durability::Durable => self.flush(Moment::from_ns(done)),
        }
    }

    pub(crate) fn flush(&mut self, at: Moment) -> Moment {
        if self.flush == 0.0 {
            return at;
        }
        let (begins, ends) = self.flushing;
        if at.ns() > begins {
            let begin = at.ns().max(ends);
            self.flushing = (begin, begin + self.flush);
        }
        Moment::from_ns(self.flushing.1)
    }

    /// When a request of this cost that is not done before `granted` is done.
    fn serve(&mut self, at: f64, bytes: u64, cost: Cost, granted: f64) -> f64 {
        let counted = counted_by(self.counted_bytes, bytes);
        let granted = granted.max(self.requests.grant(at, counted as f64));
        let granted = granted.max(self.bytes.grant(at, bytes as f64));
        let first = self.units.iter_mut().min_by(|one, other| one.total_cmp(other));
        let unit = first.expect("a device has a unit");
        let done = (at.max(*unit) + cost.latency + bytes as f64 / cost.rate).max(granted);
        *unit = done;
        done
    }
}

/// How many requests one of `bytes` counts as.
pub(crate) fn counted_requests(figures: &FlashFigures, bytes: u64) -> u64 {
    counted_by(counted_bytes(figures), bytes)
}

fn counted_bytes(figures: &FlashFigures) -> u64 {
    (figures.counted_kb * 1024.0) as u64
}

fn counted_by(counted_bytes: u64, bytes: u64) -> u64 {
    bytes.div_ceil(counted_bytes.max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIGURES: FlashFigures = FlashFigures {
        read_us: 50.0,
        write_us: 40.0,
        flush_us: 1_000.0,
        read_mb_s: 1_000.0,
        write_mb_s: 1_000.0,
        units: 8.0,
        iops: 0.0,
        throughput_mb_s: 0.0,
        reads_mb_s: 0.0,
        counted_kb: 256.0,
        capacity_gb: 100.0,
        sector_bytes: 4096.0,
        metadata_blocks: 0.0,
    };

    /// Mean nanoseconds from one durable write of 4 KB to the next, with so many under way at once.
    fn share_ns(at_once: usize) -> u64 {
        const WRITES: u64 = 800;
        let mut device = FlashDevice::new(&FIGURES);
        let mut lanes = vec![Moment(0); at_once];
        for _ in 0..WRITES {
            lanes.sort();
            lanes[0] = device.write(lanes[0], 4096, Durability::Durable);
        }
        lanes.into_iter().max().unwrap_or_default().0 / WRITES
    }

    /// Eight writers had eight flushes one after the other, and took as long each as one writer alone: 45 times what a disk took.
    #[test]
    fn writers_under_way_at_once_share_flushes() {
        let (alone, eight) = (share_ns(1), share_ns(8));
        // 40 us, 4 KB at 1,000 MB/s, and a flush.
        assert!((1_044_000..1_045_000).contains(&alone), "{alone}");
        // In turns: seven wait for the next flush while one is under way.
        assert!(eight < alone / 3, "{eight} of {alone}");
        assert!(eight >= 1_000_000 / 8, "no flush is shorter for being shared: {eight}");
    }

    #[test]
    fn a_flush_holds_up_no_read() {
        let mut device = FlashDevice::new(&FIGURES);
        let flushed = device.flush(Moment(1_000));
        assert_eq!(flushed, Moment(1_001_000));
        assert!(device.read(Moment(2_000), 4096) < flushed);
        // One asked for before another begins is served by it.
        let next = device.flush(Moment(3_000));
        assert_eq!(
            (next, device.flush(Moment(500_000))),
            (Moment(2_001_000), Moment(2_001_000))
        );
    }
}
