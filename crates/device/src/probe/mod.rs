//! Probing a disk: the requests, their measured times, and their times on a device with given figures.
//!
//! ```text
//! Measure -> requests -> a disk  -> seconds -> Measured -> fit -> Ranges
//!                     -> a model -> seconds -> Measured: beside the first, what the fit is worth
//! ```
//! A prober makes the requests of each [`Measure`] by [`Measure::place`] and reports the time of each. [`predict`] sends the same requests
//! to a model. Growth is computed in closed form ([`crate::price`]).
//!
//! Invariant: disk and model get the same requests in the same order.

mod fit;

pub use fit::{Fitted, FittedFigure, Surroundings, fit};

use crate::parameter::Figures;
use crate::practice::{BACKUP_READ_BYTES, BACKUP_READS};
use crate::random::Random;
use crate::{Device, Durability, Moment, price};
use std::collections::BTreeMap;

const KB: u64 = 1 << 10;
const MB: u64 = 1 << 20;
/// Requests that are played to a model for each measure.
const PLAYED: u64 = 400;

/// Something that is measured of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    SequentialWrite,
    SequentialRead,
    SmallSequentialRead,
    SkippingRead,
    NearRead,
    RandomRead,
    RandomReadDeep,
    SequentialReadDeep,
    CachedWrite,
    Flush,
    DurableWrite4,
    DurableWrite16,
    DurableWrite60,
    DurableWriteDeep,
    Growth,
}

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Request {
    Read,
    /// A write that may stay in a cache.
    Write,
    DurableWrite,
    /// Makes the write before it durable.
    Flush,
    /// A growth by 1 MB as the classic policy does it.
    Growth,
}

/// The line of a measure.
struct Line {
    measure: Measure,
    name: &'static str,
    request: Request,
    bytes: u64,
    /// Distance in bytes from one request to the next; 0 = random places.
    stride: u64,
    /// Requests under way at once.
    depth: usize,
}

const fn line(measure: Measure, name: &'static str, request: Request, bytes: u64, stride: u64, depth: usize) -> Line {
    Line {
        measure,
        name,
        request,
        bytes,
        stride,
        depth,
    }
}

/// Every measure, in the order they are taken: what is read was written before.
const LINES: [Line; 15] = {
    use Measure as M;
    use Request as R;
    [
        line(
            M::SequentialWrite,
            "write of 1 MB, one behind the other",
            R::Write,
            MB,
            MB,
            1,
        ),
        line(
            M::SequentialRead,
            "read of 1 MB, one behind the other",
            R::Read,
            MB,
            MB,
            1,
        ),
        line(
            M::SmallSequentialRead,
            "read of 8 KB, one behind the other",
            R::Read,
            8 * KB,
            8 * KB,
            1,
        ),
        line(
            M::SkippingRead,
            "read of 8 KB every 256 KB",
            R::Read,
            8 * KB,
            256 * KB,
            1,
        ),
        line(M::NearRead, "read of 8 KB every 4 MB", R::Read, 8 * KB, 4 * MB, 1),
        line(M::RandomRead, "read of 8 KB at random places", R::Read, 8 * KB, 0, 1),
        line(
            M::RandomReadDeep,
            "the same, 8 at once: each one's share",
            R::Read,
            8 * KB,
            0,
            8,
        ),
        line(
            M::SequentialReadDeep,
            "read of 1 MB, 6 at once as a log backup reads: each one's share",
            R::Read,
            BACKUP_READ_BYTES,
            BACKUP_READ_BYTES,
            BACKUP_READS,
        ),
        line(
            M::CachedWrite,
            "write of 4 KB into the cache",
            R::Write,
            4 * KB,
            4 * KB,
            1,
        ),
        line(M::Flush, "flush of such a write", R::Flush, 0, 4 * KB, 1),
        line(
            M::DurableWrite4,
            "durable write of 4 KB",
            R::DurableWrite,
            4 * KB,
            4 * KB,
            1,
        ),
        line(
            M::DurableWrite16,
            "durable write of 16 KB",
            R::DurableWrite,
            16 * KB,
            16 * KB,
            1,
        ),
        line(
            M::DurableWrite60,
            "durable write of 60 KB",
            R::DurableWrite,
            60 * KB,
            60 * KB,
            1,
        ),
        line(
            M::DurableWriteDeep,
            "durable write of 4 KB, 8 at once: each one's share",
            R::DurableWrite,
            4 * KB,
            4 * KB,
            8,
        ),
        line(M::Growth, "growth of a log by 1 MB with 4 VLFs", R::Growth, MB, MB, 1),
    ]
};

impl Measure {
    /// Every measure, in the order in which they are taken.
    pub fn all() -> impl Iterator<Item = Measure> {
        LINES.iter().map(|line| line.measure)
    }

    fn line(self) -> &'static Line {
        let found = LINES.iter().find(|line| line.measure == self);
        found.expect("each measure has a line")
    }

    pub fn name(self) -> &'static str {
        self.line().name
    }

    pub fn request(self) -> Request {
        self.line().request
    }

    /// Bytes of one request; 0 for a flush.
    pub fn bytes(self) -> u64 {
        self.line().bytes
    }

    /// Requests under way at once.
    pub fn depth(self) -> usize {
        self.line().depth
    }

    /// Where request `index` goes in a file of `span_bytes`; `lane` is which of [`Measure::depth`] makes it.
    pub fn place(self, index: u64, lane: usize, span_bytes: u64) -> u64 {
        let line = self.line();
        let lane_bytes = span_bytes / line.depth as u64;
        let room = (lane_bytes / line.bytes.max(4 * KB)).max(1);
        let begin = lane as u64 * (lane_bytes / (4 * KB) * (4 * KB));
        match line.stride {
            0 => begin + (random(index, lane) * room as f64) as u64 % room * line.bytes,
            stride => begin + (index % (lane_bytes / stride.max(line.bytes)).max(1)) * stride,
        }
    }
}

/// A number from 0 to 1 that belongs to a request.
fn random(index: u64, lane: usize) -> f64 {
    Random::new(index.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (lane as u64) << 32).share()
}

/// Seconds that requests of one measure took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// A tenth of the requests took no longer.
    pub low_s: f64,
    pub typical_s: f64,
    /// A tenth of the requests took longer.
    pub high_s: f64,
    pub requests: usize,
}

impl Spread {
    /// Of the seconds of single requests; `None` of none.
    pub fn of(mut seconds: Vec<f64>) -> Option<Spread> {
        seconds.sort_by(f64::total_cmp);
        let last = seconds.len().checked_sub(1)?;
        let at = |share: f64| seconds[(last as f64 * share).round() as usize];
        Some(Spread {
            low_s: at(0.1),
            typical_s: at(0.5),
            high_s: at(0.9),
            requests: seconds.len(),
        })
    }

    /// Of requests that were under way at once: the share of each in the time of all.
    pub fn shared(elapsed_s: f64, requests: usize) -> Option<Spread> {
        let each = elapsed_s / requests.max(1) as f64;
        (requests > 0).then_some(Spread {
            low_s: each,
            typical_s: each,
            high_s: each,
            requests,
        })
    }
}

/// What was measured of a disk. A measure that was not taken is missing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measured(pub BTreeMap<Measure, Spread>);

impl Measured {
    /// The median of a measure in seconds.
    pub fn typical_s(&self, measure: Measure) -> Option<f64> {
        self.0.get(&measure).map(|spread| spread.typical_s)
    }
}

/// What the requests of every measure take on a device with these figures, in a file of `span_bytes`.
pub fn predict(figures: &Figures, span_bytes: u64) -> Measured {
    let mut measured = Measured::default();
    for measure in Measure::all() {
        let spread = match measure {
            Measure::Growth => Spread::of(vec![price::growth_s(figures, MB, 4)]),
            _ if measure.depth() > 1 => play_at_once(measure, figures, span_bytes),
            _ => play(measure, figures, span_bytes),
        };
        measured.0.extend(spread.map(|spread| (measure, spread)));
    }
    measured
}

fn play(measure: Measure, figures: &Figures, span_bytes: u64) -> Option<Spread> {
    let mut device = Device::new(figures, 1);
    let mut now = Moment(0);
    let mut seconds = Vec::new();
    for index in 0..PLAYED.min(span_bytes / measure.bytes().max(1)) {
        let place = measure.place(index, 0, span_bytes);
        if matches!(measure, Measure::Flush) {
            now = device.write(now, place, 4 * KB, Durability::Cached);
        }
        let done = request(&mut device, measure, now, place);
        seconds.push(done.seconds_since(now));
        now = done;
        if matches!(measure, Measure::CachedWrite) {
            now = device.flush(now);
        }
    }
    Spread::of(seconds)
}

/// Each lane makes its next request when its last is done.
fn play_at_once(measure: Measure, figures: &Figures, span_bytes: u64) -> Option<Spread> {
    let mut device = Device::new(figures, 1);
    let mut lanes = vec![(Moment(0), 0u64); measure.depth()];
    for _ in 0..PLAYED {
        let earliest = (0..lanes.len()).min_by_key(|lane| lanes[*lane].0)?;
        let (now, index) = lanes[earliest];
        let done = request(&mut device, measure, now, measure.place(index, earliest, span_bytes));
        lanes[earliest] = (done, index + 1);
    }
    let last = lanes.iter().map(|lane| lane.0).max()?;
    Spread::shared(last.seconds_since(Moment(0)), PLAYED as usize)
}

fn request(device: &mut Device, measure: Measure, now: Moment, place: u64) -> Moment {
    let bytes = measure.bytes();
    match measure.request() {
        Request::Read => device.read(now, place, bytes),
        Request::Write => device.write(now, place, bytes, Durability::Cached),
        Request::DurableWrite => device.write(now, place, bytes, Durability::Durable),
        Request::Flush | Request::Growth => device.flush(now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every place of every measure lies in its lane, whole, and is a place for direct access.
    #[test]
    fn requests_stay_in_their_lane() {
        for measure in Measure::all() {
            for span_bytes in [64 * MB, 100 * MB, 1 << 30] {
                let lane_bytes = span_bytes / measure.depth() as u64 / (4 * KB) * (4 * KB);
                for lane in 0..measure.depth() {
                    for index in 0..5_000 {
                        let place = measure.place(index, lane, span_bytes);
                        let begin = lane as u64 * lane_bytes;
                        assert!(place.is_multiple_of(4 * KB), "{measure:?} {place}");
                        assert!(
                            place >= begin && place + measure.bytes() <= begin + lane_bytes,
                            "{measure:?} {index} {place}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_spread_is_made_of_deciles() {
        let spread = Spread::of((0..=100).rev().map(f64::from).collect());
        let expected = Spread {
            low_s: 10.0,
            typical_s: 50.0,
            high_s: 90.0,
            requests: 101,
        };
        assert_eq!(spread, Some(expected));
        assert_eq!(Spread::of(Vec::new()), None);
    }
}
