//! Fits a device to measurements: each figure comes from the measure that shows it.
//!
//! ```text
//! rotating if   a small read behind the last one takes a fifth of one at a random place, and that more than 1.5 ms
//! rotating      rate = 1 MB / sequential read         T = (high - low of near reads) / 0.8: angles are uniform
//!               track seek = near read - overhead - T/2 - n/rate       average seek: from random reads and the share of the disk
//! flash         rate = (1 MB - 8 KB) / (their difference)              latency = small request - its transfer
//!               all reads together = 1 MB / each one's share of 6 reads at once
//!               flush = durable write - cached write
//! both          blocks of metadata: what brings the growth nearest to the one measured
//! ```
//! The low and the high of a figure are the 10th and 90th percentiles of its requests.

use super::{KB, MB, Measure, Measured, Spread};
use crate::parameter::{DurableWrite, Kind, Parameter, ParameterError, Range, Ranges};
use crate::price;

/// A random read takes at least so long where a head has to get somewhere, seconds.
const ROTATING_READ_S_MIN: f64 = 0.0015;
/// How much faster the read behind it is there.
const ROTATING_GAIN_MIN: f64 = 5.0;
/// Turns a minute that disks have.
const RPM_KNOWN: [f64; 6] = [4_200.0, 5_400.0, 5_900.0, 7_200.0, 10_000.0, 15_000.0];
/// From this on a write has waited for the platter, seconds.
const PLATTER_S_MIN: f64 = 0.0015;

/// Properties of a disk that need no measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Surroundings {
    /// Bytes of the file that was probed.
    pub span_bytes: u64,
    /// Bytes of the file system it lies on.
    pub capacity_bytes: u64,
    /// Bytes of an atomic write: 512 or 4096.
    pub sector_bytes: u32,
}

/// A figure with where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedFigure {
    pub name: &'static str,
    pub range: Range,
    pub source: String,
}

/// A device that behaves as the measured one did.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    pub kind: Kind,
    /// In the order of the kind's parameters.
    pub figures: Vec<FittedFigure>,
}

/// A measure that a fit cannot do without was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotMeasured(pub Measure);

impl Fitted {
    /// The figures as ranges.
    ///
    /// # Errors
    /// None of a fit as [`fit`] makes it: every figure is held within its limits.
    pub fn ranges(&self) -> Result<Ranges, Vec<ParameterError>> {
        let find = |name: &str| self.figures.iter().find(|figure| figure.name == name);
        Ranges::collect(self.kind, |name| find(name).map(|figure| figure.range))
    }
}

/// Fits a device to what was measured.
///
/// # Errors
/// The first measure that is missing.
pub fn fit(measured: &Measured, surroundings: &Surroundings) -> Result<Fitted, NotMeasured> {
    let random = spread(measured, Measure::RandomRead)?;
    let behind = spread(measured, Measure::SmallSequentialRead)?;
    let is_rotating =
        random.typical_s >= ROTATING_READ_S_MIN && random.typical_s >= ROTATING_GAIN_MIN * behind.typical_s;
    let mut fitted = match is_rotating {
        true => rotating(measured, surroundings)?,
        false => flash(measured, surroundings)?,
    };
    fitted.choose_metadata_blocks(spread(measured, Measure::Growth)?);
    Ok(fitted)
}

fn spread(measured: &Measured, measure: Measure) -> Result<Spread, NotMeasured> {
    measured.0.get(&measure).copied().ok_or(NotMeasured(measure))
}

/// Collects figures in the order of a kind's parameters.
struct Collector {
    kind: Kind,
    figures: Vec<FittedFigure>,
}

impl Collector {
    fn new(kind: Kind) -> Collector {
        Collector {
            kind,
            figures: Vec::new(),
        }
    }

    /// A figure as low, typical and high in any order, held within its limits.
    fn add(&mut self, name: &str, values: [f64; 3], source: impl Into<String>) {
        let Some(parameter) = self.parameter(name) else { return };
        let (least, most) = parameter.limits;
        let held = values.map(|value| rounded(value.clamp(least, most)));
        let [_, typical, _] = held;
        self.figures.push(FittedFigure {
            name: parameter.name,
            range: Range {
                low: held.into_iter().fold(f64::INFINITY, f64::min),
                typical,
                high: held.into_iter().fold(0.0, f64::max),
            },
            source: source.into(),
        });
    }

    fn exactly(&mut self, name: &str, value: f64, source: &str) {
        self.add(name, [value; 3], source);
    }

    fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.kind.parameters().iter().find(|parameter| parameter.name == name)
    }

    fn surroundings(&mut self, surroundings: &Surroundings) {
        let capacity_gb = surroundings.capacity_bytes as f64 / 1e9;
        self.exactly("capacity_gb", capacity_gb, "the size of the file system");
        let sector = f64::from(surroundings.sector_bytes);
        self.exactly(
            "sector_bytes",
            sector,
            "what the file system asks direct access to be aligned to",
        );
        self.add("metadata_blocks", [0.0, 2.0, 3.0], "");
    }

    fn done(self) -> Fitted {
        Fitted {
            kind: self.kind,
            figures: self.figures,
        }
    }
}

/// Four digits.
fn rounded(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let scale = 10f64.powi(3 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

fn said(measure: Measure, spread: &Spread) -> String {
    format!(
        "measured: {} ({} of them); low and high are their deciles",
        measure.name(),
        spread.requests
    )
}

fn flash(measured: &Measured, surroundings: &Surroundings) -> Result<Fitted, NotMeasured> {
    let find = |measure| spread(measured, measure);
    let (random, skipping) = (find(Measure::RandomRead)?, find(Measure::SkippingRead)?);
    let (read, write) = (find(Measure::SequentialRead)?, find(Measure::SequentialWrite)?);
    let (small_write, flush) = (find(Measure::CachedWrite)?, find(Measure::Flush)?);
    let durable = find(Measure::DurableWrite4)?;
    let mut all = Collector::new(Kind::Flash);
    let read_rate = Rate::of(&read, &skipping, 8 * KB);
    let write_rate = Rate::of(&write, &small_write, 4 * KB);
    let latency = |seconds: f64, bytes: u64, rate: &Rate| (seconds - bytes as f64 / rate.typical) * 1e6;
    let of_read = |seconds| latency(seconds, 8 * KB, &read_rate);
    let reads = [
        skipping.low_s.min(random.low_s),
        skipping.typical_s,
        skipping.high_s.max(random.high_s),
    ];
    let source = "measured: small reads as startup makes them, every 256 KB; low and high are deciles of these and of random ones";
    all.add("read_us", reads.map(of_read), source);
    let of_write = |seconds| latency(seconds, 4 * KB, &write_rate);
    let writes = [small_write.low_s, small_write.typical_s, small_write.high_s];
    all.add(
        "write_us",
        writes.map(of_write),
        said(Measure::CachedWrite, &small_write),
    );
    let of_durable = durable.typical_s - small_write.typical_s;
    let flushes = [of_durable.min(flush.low_s), of_durable, of_durable.max(flush.high_s)];
    let source =
        "measured: what a durable write of 4 KB takes beyond a cached one; low and high with flushes on their own";
    all.add("flush_us", flushes.map(|seconds| seconds * 1e6), source);
    all.add("read_mb_s", read_rate.mb_s(), said(Measure::SequentialRead, &read));
    all.add("write_mb_s", write_rate.mb_s(), said(Measure::SequentialWrite, &write));
    let deep = measured.0.get(&Measure::RandomReadDeep);
    let at_once = deep.map_or(1.0, |deep| (random.typical_s / deep.typical_s).round());
    let source = match deep {
        Some(_) => "measured: what 8 random reads at once gain over one at a time; more were not tried",
        None => "not measured: one request at a time",
    };
    all.exactly("units", at_once, source);
    all.exactly("iops", 0.0, "no limit was met while it was measured");
    transfers(&mut all, measured, read_rate.mb_s(), write_rate.mb_s());
    all.exactly("counted_kb", 1024.0, "of no matter without a limit");
    all.surroundings(surroundings);
    Ok(all.done())
}

/// What all requests have together, and all reads: several reads of 1 MB have no more than the path to the disk lets through.
fn transfers(all: &mut Collector, measured: &Measured, reads: [f64; 3], writes: [f64; 3]) {
    let deep = measured.0.get(&Measure::SequentialReadDeep);
    let together = deep.map(|deep| {
        let [_, typical, _] = reads;
        let mb_s = MB as f64 / deep.typical_s.max(1e-9) / 1e6;
        reads.map(|one| mb_s * one / typical)
    });
    let fastest = [0, 1, 2].map(|case| {
        reads[case]
            .max(writes[case])
            .max(together.map_or(0.0, |reads| reads[case]))
    });
    all.add(
        "throughput_mb_s",
        fastest,
        "measured: the faster of reads and writes of 1 MB; several writes at once were not tried",
    );
    let (mb_s, source) = match together {
        Some(together) => (
            together,
            "measured: reads of 1 MB, 6 at once; low and high as far from it as those of one at a time",
        ),
        None => ([0.0; 3], "not measured: one request at a time"),
    };
    all.add("reads_mb_s", mb_s, source);
}

/// Bytes a second, beside the latency that every request has.
struct Rate {
    low: f64,
    typical: f64,
    high: f64,
}

impl Rate {
    fn of(large: &Spread, small: &Spread, small_bytes: u64) -> Rate {
        let of = |seconds: f64| {
            let more = seconds - small.typical_s;
            match more > seconds / 20.0 {
                true => (MB - small_bytes) as f64 / more,
                false => MB as f64 / seconds.max(1e-9),
            }
        };
        Rate {
            low: of(large.high_s),
            typical: of(large.typical_s),
            high: of(large.low_s),
        }
    }

    fn mb_s(&self) -> [f64; 3] {
        [self.low, self.typical, self.high].map(|rate| rate / 1e6)
    }
}

fn rotating(measured: &Measured, surroundings: &Surroundings) -> Result<Fitted, NotMeasured> {
    let find = |measure| spread(measured, measure);
    let (read, near, random) = (
        find(Measure::SequentialRead)?,
        find(Measure::NearRead)?,
        find(Measure::RandomRead)?,
    );
    let (cached, flush) = (find(Measure::CachedWrite)?, find(Measure::Flush)?);
    let durable = find(Measure::DurableWrite4)?;
    let durable_write = match (cached.typical_s, durable.typical_s, flush.typical_s) {
        (cached, ..) if cached >= PLATTER_S_MIN => DurableWrite::CacheOff,
        (_, durable, _) if durable >= PLATTER_S_MIN => DurableWrite::Honoured,
        (_, _, flush) if flush >= PLATTER_S_MIN => DurableWrite::Ignored,
        _ => DurableWrite::Battery,
    };
    let turn_s = (near.high_s - near.low_s) / 0.8;
    let rpm = known_rpm(60.0 / turn_s.max(1e-4));
    let turn_s = 60.0 / rpm;
    let rate = MB as f64 / read.typical_s;
    let overhead_s = match durable_write {
        DurableWrite::CacheOff => 0.000_15,
        _ => cached.typical_s,
    };
    let seek_s = |spread: &Spread| spread.typical_s - overhead_s - turn_s / 2.0 - (8 * KB) as f64 / rate;
    let track_s = seek_s(&near).max(0.000_1);
    let share = (surroundings.span_bytes as f64 / surroundings.capacity_bytes.max(1) as f64).min(1.0);
    let average_s = (track_s + (seek_s(&random) - track_s) / share.sqrt().max(0.01)).max(track_s);
    let mut all = Collector::new(Kind::Rotating(durable_write));
    all.exactly(
        "rpm",
        rpm,
        "measured: near reads end at any angle; the nearest that disks have",
    );
    let spread = [average_s * 0.7, average_s, average_s * 1.3].map(|seconds| seconds * 1e3);
    all.add(
        "seek_average_ms",
        spread,
        "measured: random reads within the probed part, carried over to the whole disk",
    );
    all.add(
        "seek_track_ms",
        [track_s * 0.8, track_s, track_s * 1.2].map(|seconds| seconds * 1e3),
        said(Measure::NearRead, &near),
    );
    let rates = [read.high_s, read.typical_s, read.low_s].map(|seconds| MB as f64 / seconds / 1e6);
    all.add("rate_mb_s", rates, said(Measure::SequentialRead, &read));
    all.exactly(
        "overhead_ms",
        overhead_s * 1e3,
        "measured: a write that ends in the cache",
    );
    all.add("cache_mb", [8.0, 16.0, 64.0], "assumed");
    all.add("host_mb_s", [150.0, 250.0, 500.0], "assumed");
    all.surroundings(surroundings);
    Ok(all.done())
}

/// The pace that disks have, if one is near.
fn known_rpm(rpm: f64) -> f64 {
    let near = RPM_KNOWN
        .into_iter()
        .min_by(|one, other| (one / rpm).ln().abs().total_cmp(&(other / rpm).ln().abs()));
    near.filter(|known| (known / rpm).ln().abs() < 0.2).unwrap_or(rpm)
}

impl Fitted {
    fn choose_metadata_blocks(&mut self, growth: Spread) {
        let mut best = (f64::INFINITY, 2.0);
        for blocks in 0..=3 {
            let blocks = f64::from(blocks);
            self.set_metadata_blocks(blocks, growth.requests);
            let Ok(ranges) = self.ranges() else { continue };
            let priced = price::growth_s(&ranges.at(crate::parameter::Case::Typical), MB, 4);
            let miss = (priced / growth.typical_s).ln().abs();
            if miss < best.0 {
                best = (miss, blocks);
            }
        }
        self.set_metadata_blocks(best.1, growth.requests);
    }

    fn set_metadata_blocks(&mut self, blocks: f64, growths: usize) {
        let range = Range {
            low: (blocks - 1.0).max(0.0),
            typical: blocks,
            high: (blocks + 1.0).min(3.0),
        };
        let source =
            format!("measured: the number that comes nearest to {growths} growths by 1 MB, and one more and less");
        for figure in &mut self.figures {
            if figure.name == "metadata_blocks" {
                (figure.range, figure.source) = (range, source.clone());
            }
        }
    }
}
