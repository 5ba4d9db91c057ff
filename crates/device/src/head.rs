//! Seconds of what a rotating disk does, on average: where the equations of [`crate::rotating`] draw an angle, half a turn.

use crate::parameter::{DurableWrite, Rotating};
use crate::rotating::Geometry;
use crate::{NS_PER_S, volume};

/// A rotating disk as averages. Times in seconds, rates in bytes a second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    geometry: Geometry,
    pub(crate) durable_write: DurableWrite,
    pub(crate) turn_s: f64,
    /// Host, controller and command, for each request.
    pub(crate) overhead_s: f64,
    rate: f64,
    host_rate: f64,
    capacity_bytes: f64,
    cache_bytes: f64,
    metadata_blocks: usize,
}

impl Head {
    pub(crate) fn of(disk: &Rotating) -> Head {
        let geometry = Geometry::new(disk);
        Head {
            geometry,
            durable_write: disk.durable_write,
            turn_s: geometry.turn / NS_PER_S,
            overhead_s: disk.figures.overhead_ms / 1e3,
            rate: disk.figures.rate_mb_s * 1e6,
            host_rate: disk.figures.host_mb_s * 1e6,
            capacity_bytes: disk.figures.capacity_gb * 1e9,
            cache_bytes: disk.figures.cache_mb * f64::from(1 << 20),
            metadata_blocks: disk.figures.metadata_blocks.round() as usize,
        }
    }

    /// `bytes` pass under the head.
    pub(crate) fn pass_s(&self, bytes: f64) -> f64 {
        bytes / self.rate
    }

    /// A request of `bytes` as far as the cache.
    pub(crate) fn host_s(&self, bytes: f64) -> f64 {
        self.overhead_s + bytes / self.host_rate
    }

    /// The head goes over `distance` bytes and waits for the place: half a turn.
    pub(crate) fn go_s(&self, distance: f64) -> f64 {
        self.geometry.seek(distance) / NS_PER_S + self.turn_s / 2.0
    }

    /// From a place to one `spacing` bytes behind it, where `bytes` are read or written: the platter turns past what lies between, or
    /// the head goes there.
    pub(crate) fn step_s(&self, spacing: f64, bytes: f64) -> f64 {
        if spacing < self.geometry.track + bytes {
            self.pass_s(spacing)
        } else {
            self.go_s(spacing) + self.pass_s(bytes)
        }
    }

    /// From a read to one of `bytes` a `spacing` behind it: the drive has read on as far as a track reaches.
    pub(crate) fn read_step_s(&self, spacing: f64, bytes: f64) -> f64 {
        let step = self.step_s(spacing, bytes);
        if spacing < self.geometry.track + bytes {
            step.max(self.host_s(bytes))
        } else {
            step + self.overhead_s
        }
    }

    /// From the files to what a change of length makes the file system write, and back to the files.
    pub(crate) fn metadata_s(&self) -> f64 {
        let route = volume::metadata_route(self.capacity_bytes, self.metadata_blocks);
        route.windows(2).map(|hop| self.go_s((hop[1] - hop[0]).abs())).sum()
    }

    /// Bytes that the cache holds.
    pub(crate) fn cache_bytes(&self) -> f64 {
        self.cache_bytes
    }

    /// How many blocks these are.
    pub(crate) fn metadata_blocks(&self) -> f64 {
        self.metadata_blocks as f64
    }
}
