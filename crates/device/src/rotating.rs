//! A rotating disk with a cache.
//!
//! ```text
//! T = 60 / rpm            track = rate * T           gap = place - head
//! 0 <= gap < track :      wait = (gap / rate - idle since the last use of the head) mod T
//! anywhere else :         seek + U(0, T)
//! seek = track seek + (average - track seek) / 0.533 * sqrt(distance / capacity);  0 within a track
//! service = overhead + wait + bytes / rate
//! ```
//! `T` is one turn, `track` the bytes of a track, and `U(0, T)` a random part of a turn.
//!
//! The seek curve is that of Ruemmler and Wilkes, "An introduction to disk drive modeling" (1994), but only its square-root part, because
//! data sheets give two figures, not four. 0.533 is the mean of the root of the distance between two random places. Angles are not computed
//! across tracks. They would make fixed strides resonate, which disks with zones, skews and spare sectors do not show.
//!
//! After a read the drive reads ahead until another request moves the head. So a read slightly further on completes when the head passes
//! it. For the host, a cached write completes when it is in the cache. The head later writes the cache out, always the nearest of the first
//! [`QUEUE`] writes.

use crate::parameter::{DurableWrite, Rotating};
use crate::random::Random;
use crate::{Durability, Moment, NS_PER_MS, NS_PER_S};

/// Requests that a drive looks at to choose the next (native command queuing of SATA).
pub const QUEUE: usize = 32;
/// E(sqrt(x)) of the distance x of two places that are uniformly distributed: 8/15.
pub(crate) const MEAN_ROOT_DISTANCE: f64 = 8.0 / 15.0;
/// A wait that is nearly a whole turn is none: the platter stands where it stood, up to rounding.
const ALMOST_A_TURN: f64 = 0.9999;

/// A write that the cache holds.
#[derive(Debug, Clone, Copy)]
struct Dirty {
    place: f64,
    bytes: f64,
    /// When it came, nanoseconds.
    since: f64,
}

/// What the drive has read: everything from `from` to `to`, the last of it at `at`.
#[derive(Debug, Clone, Copy)]
struct ReadAhead {
    from: f64,
    to: f64,
    at: f64,
}

/// The disk with its head and cache. Times in nanoseconds, rates in bytes a nanosecond.
#[derive(Debug, Clone)]
pub struct RotatingDevice {
    geometry: Geometry,
    durable_write: DurableWrite,
    overhead: f64,
    cache_bytes: f64,
    host_rate: f64,
    /// When the head was last used.
    head_at: f64,
    /// Where it stood then.
    head: f64,
    dirty: Vec<Dirty>,
    dirty_bytes: f64,
    read_ahead: Option<ReadAhead>,
    random: Random,
}

/// What follows from the figures alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Geometry {
    pub turn: f64,
    /// Bytes a nanosecond.
    pub rate: f64,
    /// Bytes of a track.
    pub track: f64,
    seek_track: f64,
    /// What the root of the share of the capacity is multiplied by.
    seek_slope: f64,
    capacity: f64,
}

impl Geometry {
    pub(crate) fn new(disk: &Rotating) -> Geometry {
        let figures = &disk.figures;
        let turn = 60.0 * NS_PER_S / figures.rpm;
        let rate = figures.rate_mb_s * 1e6 / NS_PER_S;
        let seek_track = figures.seek_track_ms * NS_PER_MS;
        let seek_average = figures.seek_average_ms * NS_PER_MS;
        Geometry {
            turn,
            rate,
            track: rate * turn,
            seek_track,
            seek_slope: (seek_average - seek_track).max(0.0) / MEAN_ROOT_DISTANCE,
            capacity: figures.capacity_gb * 1e9,
        }
    }

    /// A seek over so many bytes.
    pub(crate) fn seek(&self, distance: f64) -> f64 {
        if distance < self.track {
            return 0.0;
        }
        self.seek_track + self.seek_slope * (distance / self.capacity).min(1.0).sqrt()
    }
}

impl RotatingDevice {
    pub(crate) fn new(disk: &Rotating, seed: u64) -> RotatingDevice {
        RotatingDevice {
            geometry: Geometry::new(disk),
            durable_write: disk.durable_write,
            overhead: disk.figures.overhead_ms * NS_PER_MS,
            cache_bytes: disk.figures.cache_mb * f64::from(1 << 20),
            host_rate: disk.figures.host_mb_s * 1e6 / NS_PER_S,
            head_at: 0.0,
            head: 0.0,
            dirty: Vec::new(),
            dirty_bytes: 0.0,
            read_ahead: None,
            random: Random::new(seed),
        }
    }

    pub(crate) fn read(&mut self, at: Moment, place: u64, bytes: u64) -> Moment {
        let (place, bytes) = (place as f64, bytes as f64);
        let at = at.ns() + self.overhead;
        self.work_until(at);
        if self.is_cached(place, bytes) {
            return Moment::from_ns(at + bytes / self.host_rate);
        }
        let end = place + bytes;
        if let Some(mut ahead) = self.read_ahead.filter(|ahead| self.reads_on(ahead, place)) {
            if end > ahead.to {
                ahead.at += (end - ahead.to) / self.geometry.rate;
                ahead.to = end;
                (self.head, self.head_at) = (end, ahead.at);
            }
            ahead.from = ahead.from.max(ahead.to - self.cache_bytes);
            self.read_ahead = Some(ahead);
            return Moment::from_ns(ahead.at.max(at + bytes / self.host_rate));
        }
        self.move_head(place, bytes, at);
        self.read_ahead = Some(ReadAhead {
            from: place,
            to: end,
            at: self.head_at,
        });
        Moment::from_ns(self.head_at)
    }

    pub(crate) fn write(&mut self, at: Moment, place: u64, bytes: u64, durability: Durability) -> Moment {
        let (place, bytes) = (place as f64, bytes as f64);
        let mut at = at.ns() + self.overhead;
        self.work_until(at);
        if self.reaches_the_platter(durability) || bytes > self.cache_bytes {
            self.move_head(place, bytes, at);
            return Moment::from_ns(self.head_at);
        }
        if self.dirty_bytes + bytes > self.cache_bytes {
            self.make_room(bytes);
            at = at.max(self.head_at);
        }
        self.dirty_bytes += bytes;
        match self.dirty.last_mut() {
            Some(last) if last.place + last.bytes == place => last.bytes += bytes,
            _ => self.dirty.push(Dirty {
                place,
                bytes,
                since: at,
            }),
        }
        Moment::from_ns(at + bytes / self.host_rate)
    }

    pub(crate) fn flush(&mut self, at: Moment) -> Moment {
        let at = at.ns() + self.overhead;
        if self.durable_write == DurableWrite::Battery {
            self.work_until(at);
            return Moment::from_ns(at);
        }
        self.make_room(self.cache_bytes);
        Moment::from_ns(at.max(self.head_at))
    }

    fn reaches_the_platter(&self, durability: Durability) -> bool {
        match self.durable_write {
            DurableWrite::CacheOff => true,
            DurableWrite::Honoured => durability == Durability::Durable,
            DurableWrite::Ignored | DurableWrite::Battery => false,
        }
    }

    /// Whether what is asked for waits in the cache to be written.
    fn is_cached(&self, place: f64, bytes: f64) -> bool {
        let mut dirty = self.dirty.iter();
        dirty.any(|each| each.place <= place && place + bytes <= each.place + each.bytes)
    }

    /// Whether a place is in what the drive has read, or within a track behind it, and the head was nowhere else since.
    fn reads_on(&self, ahead: &ReadAhead, place: f64) -> bool {
        ahead.from <= place && place <= ahead.to + self.geometry.track && self.head_at <= ahead.at
    }

    /// Lets the head work on cached writes as far as it begins before `until`.
    fn work_until(&mut self, until: f64) {
        while !self.dirty.is_empty() && self.head_at < until {
            self.write_nearest();
        }
    }

    /// Lets the head work on cached writes until `bytes` have room.
    fn make_room(&mut self, bytes: f64) {
        while !self.dirty.is_empty() && self.dirty_bytes + bytes > self.cache_bytes {
            self.write_nearest();
        }
    }

    /// Writes the cached write nearest to the head, of those that are there when the head is free.
    fn write_nearest(&mut self) {
        let Some(first) = self.dirty.first() else { return };
        let free_at = self.head_at.max(first.since);
        let distance = |each: &Dirty| (each.place - self.head).abs();
        let known = self.dirty.iter().enumerate().take(QUEUE);
        let nearest = known
            .filter(|(_, each)| each.since <= free_at)
            .min_by(|(_, one), (_, other)| distance(one).total_cmp(&distance(other)))
            .map_or(0, |(index, _)| index);
        let chosen = self.dirty.remove(nearest);
        self.dirty_bytes = (self.dirty_bytes - chosen.bytes).max(0.0);
        self.move_head(chosen.place, chosen.bytes, chosen.since);
    }

    /// Brings the head over a place, not before `from`, and passes it over `bytes`.
    fn move_head(&mut self, place: f64, bytes: f64, from: f64) {
        let start = self.head_at.max(from);
        let geometry = self.geometry;
        let gap = place - self.head;
        let wait = if (0.0..geometry.track).contains(&gap) {
            let turns = (gap / geometry.track - (start - self.head_at) / geometry.turn).rem_euclid(1.0);
            if turns > ALMOST_A_TURN {
                0.0
            } else {
                turns * geometry.turn
            }
        } else {
            geometry.seek(gap.abs()) + self.random.share() * geometry.turn
        };
        self.head_at = start + wait + bytes / geometry.rate;
        self.head = place + bytes;
    }
}
