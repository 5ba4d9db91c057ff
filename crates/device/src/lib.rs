//! Storage devices as arithmetic: the cost of a read, a write, a durable write and a flush on a disk with given figures. Pure: no I/O, no
//! clock, and randomness only from a seed.
//!
//! There are two kinds of device: a [`rotating`] disk, with a moving head and a turning platter, and a [`flash`] or network volume, with a
//! latency for each request and a limit on requests. Each carries a [`volume`], which places the bytes of files and writes metadata when a
//! file's length changes.
//!
//! ```text
//! request at a moment, place, bytes -> Device -> the moment it is done
//!   file, offset -> Volume -> places ----^            |
//!                      metadata of length changes ----+
//! ```
//!
//! - [`parameter`]: the figures of each kind, their units and limits, each as a range from low to high
//! - [`rotating`], [`flash`]: the equations, request by request
//! - [`volume`]: extents, and the blocks that a change of length makes dirty
//! - [`practice`]: the requests that SQL Server makes, by version
//! - [`price`]: the same costs in closed form, for work that repeats many times
//! - [`layout`]: the price of a log's layout
//! - [`probe`]: the requests that measure a disk, and a device fitted to the results
//!
//! The model omits effects that do not affect these measurements: zones and head switches of rotating disks, garbage collection and wear of
//! flash, RAID parity, burst credits, and tail latency (occasional slow requests).
//!
//! Invariant: the same requests at the same moments with the same seed end at the same moments, to the nanosecond.

pub mod flash;
mod head;
pub mod layout;
pub mod parameter;
pub mod practice;
pub mod price;
pub mod probe;
mod random;
pub mod rotating;
pub mod volume;

use flash::FlashDevice;
use parameter::Figures;
use rotating::RotatingDevice;

/// Nanoseconds since the device was switched on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Moment(pub u64);

impl Moment {
    /// From nanoseconds as the equations have them; never before the device was switched on.
    fn from_ns(ns: f64) -> Moment {
        Moment(ns.max(0.0).ceil() as u64)
    }

    fn ns(self) -> f64 {
        self.0 as f64
    }

    /// Seconds from `earlier` to here; 0 when that is later.
    pub fn seconds_since(self, earlier: Moment) -> f64 {
        self.0.saturating_sub(earlier.0) as f64 / NS_PER_S
    }
}

const NS_PER_S: f64 = 1e9;
const NS_PER_MS: f64 = 1e6;

/// Whether a write has to be durable when it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Durability {
    /// It may lie in a cache that loses it with the power.
    Cached,
    /// It is asked to be durable: force unit access. What a device makes of that is its own matter.
    Durable,
}

/// A device with the state it is in: where its head is, what its cache holds, when it is free.
#[derive(Debug, Clone)]
pub enum Device {
    Rotating(RotatingDevice),
    Flash(FlashDevice),
}

impl Device {
    /// A device that was idle so far. `seed` decides the angles at which seeks end.
    pub fn new(figures: &Figures, seed: u64) -> Device {
        match figures {
            Figures::Rotating(figures) => Device::Rotating(RotatingDevice::new(figures, seed)),
            Figures::Flash(figures) => Device::Flash(FlashDevice::new(figures)),
        }
    }

    /// Reads `bytes` at `place`, asked for at `at`. Answers when they are there.
    pub fn read(&mut self, at: Moment, place: u64, bytes: u64) -> Moment {
        match self {
            Device::Rotating(device) => device.read(at, place, bytes),
            Device::Flash(device) => device.read(at, bytes),
        }
    }

    /// Writes `bytes` at `place`. Answers when the device says that it is done.
    pub fn write(&mut self, at: Moment, place: u64, bytes: u64, durability: Durability) -> Moment {
        match self {
            Device::Rotating(device) => device.write(at, place, bytes, durability),
            Device::Flash(device) => device.write(at, bytes, durability),
        }
    }

    /// Makes everything written before durable. Answers when it is.
    pub fn flush(&mut self, at: Moment) -> Moment {
        match self {
            Device::Rotating(device) => device.flush(at),
            Device::Flash(device) => device.flush(at),
        }
    }
}
