//! The figures of a device: names, units, limits; as one value each, or as a range.
//!
//! Each kind has one table, which its structure, its files and its explanations are made from. A figure has a low, a typical and a
//! high value; the device at its fastest takes the low of what costs time and the high of what is done in a second.

use std::fmt;

/// What a figure is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Its name in files; ends with its unit.
    pub name: &'static str,
    pub meaning: &'static str,
    /// Whether a device with more of it is faster.
    pub more: More,
    /// The least and the most that a file may say.
    pub limits: (f64, f64),
    /// What a file that does not name it says by that; `None` where every file has to name it.
    pub unnamed: Option<f64>,
}

/// What more of a figure does to a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum More {
    Faster,
    Slower,
}

/// Which values of the ranges are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Case {
    /// Of each figure the better end.
    Fast,
    Typical,
    /// Of each figure the worse end.
    Slow,
}

/// The description of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    pub low: f64,
    pub typical: f64,
    pub high: f64,
}

/// Why a range cannot be taken.
#[derive(Debug, Clone, PartialEq)]
pub enum RangeError {
    /// Low, typical and high are not in this order, or no numbers.
    Order,
    /// One of them is beyond the limits of the parameter.
    Limits { value: f64, limits: (f64, f64) },
}

impl fmt::Display for RangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RangeError::Order => f.write_str("low, typical and high are not in ascending order"),
            RangeError::Limits {
                value,
                limits: (low, high),
            } => write!(f, "{value} is not between {low} and {high}"),
        }
    }
}

impl std::error::Error for RangeError {}

impl Range {
    /// A range that is one value.
    pub fn exactly(value: f64) -> Range {
        Range {
            low: value,
            typical: value,
            high: value,
        }
    }

    fn at(&self, case: Case, more: More) -> f64 {
        match (case, more) {
            (Case::Typical, _) => self.typical,
            (Case::Fast, More::Faster) | (Case::Slow, More::Slower) => self.high,
            (Case::Fast, More::Slower) | (Case::Slow, More::Faster) => self.low,
        }
    }
}

impl Parameter {
    /// Whether a range may be one of this parameter.
    ///
    /// # Errors
    /// See [`RangeError`].
    pub fn check(&self, range: Range) -> Result<(), RangeError> {
        let values = [range.low, range.typical, range.high];
        if !(range.low <= range.typical && range.typical <= range.high) {
            return Err(RangeError::Order);
        }
        let (least, most) = self.limits;
        match values.into_iter().find(|value| !(least..=most).contains(value)) {
            Some(value) => Err(RangeError::Limits {
                value,
                limits: self.limits,
            }),
            None => Ok(()),
        }
    }
}

/// Makes a structure of figures and the table of its parameters from one list.
macro_rules! figures {
    ($(#[$about:meta])* $name:ident { $( $field:ident: $meaning:literal, $more:ident, $least:literal to $most:literal $(, or $unnamed:literal)?; )* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub struct $name {
            $( #[doc = $meaning] pub $field: f64, )*
        }

        impl $name {
            /// Every figure, in the order files have them.
            pub const PARAMETERS: &'static [Parameter] = &[
                $( Parameter {
                    name: stringify!($field),
                    meaning: $meaning,
                    more: More::$more,
                    limits: ($least, $most),
                    unnamed: [$( $unnamed )?].first().copied(),
                }, )*
            ];

            /// Takes the value of each parameter from `value`.
            fn from_parameters(mut value: impl FnMut(&Parameter) -> f64) -> $name {
                let mut values = Self::PARAMETERS.iter().map(|parameter| value(parameter));
                let mut next = || values.next().expect("the table has an entry for each field");
                $name { $( $field: next(), )* }
            }
        }
    };
}

figures! {
    /// A rotating disk, or an array of them behind a controller. Rates in 10^6 bytes a second.
    RotatingFigures {
        rpm: "turns a minute", Faster, 1000.0 to 30000.0;
        seek_average_ms: "seek between two random places", Slower, 0.1 to 100.0;
        seek_track_ms: "seek to a track nearby", Slower, 0.01 to 50.0;
        rate_mb_s: "bytes that pass under the heads in a second", Faster, 1.0 to 10000.0;
        capacity_gb: "10^9 bytes: how far places lie apart", Faster, 0.001 to 100000.0;
        overhead_ms: "host, controller and command, for each request", Slower, 0.0 to 100.0;
        cache_mb: "2^20 bytes of cache, for reads ahead and for writes", Faster, 0.0 to 100000.0;
        host_mb_s: "the way between host and cache", Faster, 1.0 to 100000.0;
        sector_bytes: "what is written at once", Slower, 512.0 to 4096.0;
        metadata_blocks: "blocks that a change of a file's length makes the file system write", Slower, 0.0 to 3.0;
    }
}

figures! {
    /// Flash, or a volume behind a network. Rates in 10^6 bytes a second.
    FlashFigures {
        read_us: "latency of a small read", Slower, 0.1 to 1000000.0;
        write_us: "latency of a small write", Slower, 0.1 to 1000000.0;
        flush_us: "making what was written durable; 0 where nothing is volatile", Slower, 0.0 to 1000000.0;
        read_mb_s: "transfer of one read", Faster, 0.1 to 100000.0;
        write_mb_s: "transfer of one write", Faster, 0.1 to 100000.0;
        units: "requests served at once", Faster, 1.0 to 1024.0;
        iops: "requests a second that are allowed; 0 for no limit", Faster, 0.0 to 100000000.0;
        throughput_mb_s: "transfer of all requests that is allowed; 0 for no limit", Faster, 0.0 to 1000000.0;
        reads_mb_s: "transfer of all reads together; 0 for no limit of their own", Faster, 0.0 to 1000000.0, or 0.0;
        counted_kb: "2^10 bytes that count as one request", Faster, 1.0 to 1048576.0;
        capacity_gb: "10^9 bytes", Faster, 0.001 to 1000000.0;
        sector_bytes: "what is written at once", Slower, 512.0 to 4096.0;
        metadata_blocks: "blocks that a change of a file's length makes the file system write", Slower, 0.0 to 3.0;
    }
}

/// What a rotating disk makes of a write that is asked to be durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DurableWrite {
    /// It reaches the platter first.
    Honoured,
    /// It ends in the cache as any write; a flush does reach the platter. SATA disks under Windows up to 7.
    Ignored,
    /// It ends in a cache that survives the loss of power; a flush costs nothing.
    Battery,
    /// Every write reaches the platter first: the cache is off for writes.
    CacheOff,
}

impl DurableWrite {
    /// All of them with the words files have for them.
    pub const NAMES: [(&'static str, DurableWrite); 4] = [
        ("honoured", DurableWrite::Honoured),
        ("ignored", DurableWrite::Ignored),
        ("battery", DurableWrite::Battery),
        ("cache-off", DurableWrite::CacheOff),
    ];

    /// Its word in files.
    pub fn name(self) -> &'static str {
        let found = Self::NAMES.iter().find(|(_, each)| *each == self);
        found.map_or("honoured", |(name, _)| name)
    }
}

/// The kind of a device, with the settings that are not figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Rotating(DurableWrite),
    Flash,
}

impl Kind {
    /// The parameters of the kind.
    pub fn parameters(self) -> &'static [Parameter] {
        match self {
            Kind::Rotating(_) => RotatingFigures::PARAMETERS,
            Kind::Flash => FlashFigures::PARAMETERS,
        }
    }
}

/// Everything a device is computed from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Figures {
    Rotating(Rotating),
    Flash(FlashFigures),
}

/// A rotating disk: its figures, and what it makes of durable writes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rotating {
    pub figures: RotatingFigures,
    pub durable_write: DurableWrite,
}

impl Figures {
    /// Bytes that the device holds.
    pub fn capacity_bytes(&self) -> u64 {
        let gb = match self {
            Figures::Rotating(disk) => disk.figures.capacity_gb,
            Figures::Flash(figures) => figures.capacity_gb,
        };
        (gb * 1e9) as u64
    }

    /// What the device writes at once: 512 or 4096.
    pub fn sector_bytes(&self) -> u32 {
        let bytes = match self {
            Figures::Rotating(disk) => disk.figures.sector_bytes,
            Figures::Flash(figures) => figures.sector_bytes,
        };
        if bytes < 4096.0 { 512 } else { 4096 }
    }

    /// Blocks that a change of a file's length makes the file system write.
    pub fn metadata_blocks(&self) -> usize {
        let blocks = match self {
            Figures::Rotating(disk) => disk.figures.metadata_blocks,
            Figures::Flash(figures) => figures.metadata_blocks,
        };
        blocks.round() as usize
    }
}

/// A device as far as it is known: a range for each parameter of its kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranges {
    kind: Kind,
    /// In the order of the kind's table.
    ranges: Vec<Range>,
}

/// Which parameter is wrong, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterError {
    pub name: &'static str,
    /// None when it is missing.
    pub range: Option<RangeError>,
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.range {
            None => write!(f, "{} is missing", self.name),
            Some(error) => write!(f, "{}: {error}", self.name),
        }
    }
}

impl std::error::Error for ParameterError {}

impl Ranges {
    /// Asks `find` for each parameter of the kind. One that a file need not name ([`Parameter::unnamed`]) is taken for that.
    ///
    /// # Errors
    /// Every parameter that is missing or wrong.
    pub fn collect(kind: Kind, mut find: impl FnMut(&str) -> Option<Range>) -> Result<Ranges, Vec<ParameterError>> {
        let mut ranges = Vec::new();
        let mut faults = Vec::new();
        for parameter in kind.parameters() {
            let range = find(parameter.name).or(parameter.unnamed.map(Range::exactly));
            let error = match range.map(|range| parameter.check(range)) {
                Some(Ok(())) => None,
                Some(Err(error)) => Some(Some(error)),
                None => Some(None),
            };
            match error {
                Some(range) => faults.push(ParameterError {
                    name: parameter.name,
                    range,
                }),
                None => ranges.extend(range),
            }
        }
        if faults.is_empty() {
            Ok(Ranges { kind, ranges })
        } else {
            Err(faults)
        }
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Every parameter with its range.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Parameter, Range)> + '_ {
        self.kind.parameters().iter().zip(self.ranges.iter().copied())
    }

    /// One value of each range.
    pub fn at(&self, case: Case) -> Figures {
        let mut ranges = self.ranges.iter();
        let value = |parameter: &Parameter| {
            let range = ranges.next().expect("a range was collected for each parameter");
            range.at(case, parameter.more)
        };
        match self.kind {
            Kind::Rotating(durable_write) => Figures::Rotating(Rotating {
                figures: RotatingFigures::from_parameters(value),
                durable_write,
            }),
            Kind::Flash => Figures::Flash(FlashFigures::from_parameters(value)),
        }
    }
}
