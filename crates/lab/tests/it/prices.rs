//! The closed forms that price a layout against the same work played request by request, on every disk of the program, at
//! both ends of its range and in the middle.
#![allow(clippy::unwrap_used)]

use device::layout::LogShape;
use device::parameter::{Case, DurableWrite, Figures, Rotating};
use device::price::{self, GrowthRun, VlfRun};
use device::volume::{Extent, FileSpace, Volume};
use device::{Device, Durability, Moment};
use std::ops::RangeInclusive;
use vlf::{FIRST_VLF_OFFSET, LayoutRun, LogLayout, ServerVersion};

const KB: u64 = 1 << 10;
const MB: u64 = 1 << 20;
const SEED: u64 = 5;
const HEADER_BYTES: u64 = 8192;
const PAGE_COPY_BYTES: u64 = 4096;
const BLOCK_BYTES: u64 = 60 * KB;

/// A log on a device, with the clock of a user that does one thing after the other.
struct Played {
    device: Device,
    volume: Volume,
    file: FileSpace,
    now: Moment,
}

impl Played {
    fn on(figures: &Figures) -> Played {
        Played {
            device: Device::new(figures, SEED),
            volume: Volume::new(figures.capacity_bytes(), figures.metadata_blocks()),
            file: FileSpace::default(),
            now: Moment(0),
        }
    }

    /// A log of these VLFs that was there before.
    fn with(figures: &Figures, layout: &LogLayout) -> Played {
        let mut played = Played::on(figures);
        played.volume.grow(&mut played.file, layout.file_bytes()).unwrap();
        played.file.is_length_dirty = false;
        played
    }

    fn write(&mut self, offset: u64, bytes: u64, durability: Durability) {
        for place in self.file.places(offset, bytes) {
            self.now = self.device.write(self.now, place.place, place.bytes, durability);
        }
    }

    fn read(&mut self, offset: u64, bytes: u64) {
        for place in self.file.places(offset, bytes) {
            self.now = self.device.read(self.now, place.place, place.bytes);
        }
    }

    fn sync(&mut self) {
        if std::mem::take(&mut self.file.is_length_dirty) {
            for Extent { place, bytes } in self.volume.metadata_writes() {
                self.now = self.device.write(self.now, place, bytes, Durability::Cached);
            }
        }
        self.now = self.device.flush(self.now);
    }

    /// Space with zeros, a header for each VLF, page 0, as the classic policy makes it.
    fn add(&mut self, vlfs: impl Iterator<Item = (u64, u64)>, from: u64, to: u64, is_zeroed: bool) {
        self.volume.grow(&mut self.file, to).unwrap();
        if is_zeroed {
            for offset in (from..to).step_by(MB as usize) {
                self.write(offset, MB.min(to - offset), Durability::Cached);
            }
            self.sync();
        }
        for (offset, _) in vlfs {
            self.write(offset, HEADER_BYTES, Durability::Cached);
        }
        self.sync();
        self.write(0, PAGE_COPY_BYTES, Durability::Durable);
        self.write(PAGE_COPY_BYTES, PAGE_COPY_BYTES, Durability::Cached);
    }

    fn discover(&mut self, layout: &LogLayout) {
        for vlf in layout.vlfs() {
            self.read(vlf.span.offset, 4096);
        }
    }

    /// Reads every VLF, each a block at a time.
    fn read_log(&mut self, layout: &LogLayout) {
        for vlf in layout.vlfs() {
            for offset in (vlf.span.offset + HEADER_BYTES..vlf.span.end()).step_by(BLOCK_BYTES as usize) {
                self.read(offset, BLOCK_BYTES.min(vlf.span.end() - offset));
            }
        }
    }

    /// Goes from VLF to VLF, each with a durable block; answers the seconds of the headers, when all before is durable.
    fn switch(&mut self, layout: &LogLayout) -> f64 {
        let mut seconds = 0.0;
        for vlf in layout.vlfs() {
            self.sync();
            let begin = self.now;
            self.write(vlf.span.offset, HEADER_BYTES, Durability::Cached);
            self.sync();
            seconds += self.now.seconds_since(begin);
            let end = vlf.span.end();
            self.write(end - BLOCK_BYTES, BLOCK_BYTES, Durability::Durable);
        }
        seconds
    }

    fn seconds(&self) -> f64 {
        self.now.seconds_since(Moment(0))
    }
}

/// A log's history: where it began, and the growths since.
struct History {
    name: &'static str,
    version: ServerVersion,
    first_bytes: u64,
    steps: &'static [(u64, u64)],
    is_zeroed: bool,
}

const HISTORIES: [History; 7] = [
    History {
        name: "by 1 MB, 2012",
        version: ServerVersion::V2012,
        first_bytes: MB,
        steps: &[(400, MB)],
        is_zeroed: true,
    },
    History {
        name: "by 64 MB, 2012",
        version: ServerVersion::V2012,
        first_bytes: 8 * MB,
        steps: &[(20, 64 * MB)],
        is_zeroed: true,
    },
    History {
        name: "by 64 MB without zeros, 2022",
        version: ServerVersion::V2022,
        first_bytes: 8 * MB,
        steps: &[(40, 64 * MB)],
        is_zeroed: false,
    },
    History {
        name: "by 1 GB, 2019",
        version: ServerVersion::V2019,
        first_bytes: 8 * MB,
        steps: &[(4, 1024 * MB)],
        is_zeroed: true,
    },
    History {
        name: "by 8,000 MB, 2016",
        version: ServerVersion::V2016,
        first_bytes: MB,
        steps: &[(1, 8000 * MB)],
        is_zeroed: true,
    },
    History {
        name: "by 1 MB for long, 2012",
        version: ServerVersion::V2012,
        first_bytes: MB,
        steps: &[(3_000, MB)],
        is_zeroed: true,
    },
    History {
        name: "of all sizes, 2012",
        version: ServerVersion::V2012,
        first_bytes: MB,
        steps: &[(50, MB), (20, 16 * MB), (5, 256 * MB), (1, 4000 * MB)],
        is_zeroed: true,
    },
];

impl History {
    fn layout(&self) -> LogLayout {
        let mut layout = LogLayout::create(self.version, self.first_bytes).unwrap();
        for (times, step) in self.steps {
            (0..*times).for_each(|_| {
                layout.grow(*step).unwrap();
            });
        }
        layout
    }

    fn shape(&self, layout: &LogLayout) -> LogShape {
        let growth = |run: &LayoutRun| GrowthRun {
            times: u64::from(run.repeat),
            step_bytes: run.checked_bytes().unwrap() / u64::from(run.repeat),
            vlfs: u64::from(run.vlf_count),
            is_zeroed: self.is_zeroed,
        };
        let runs = layout.runs();
        assert_eq!(runs[0].repeat, 1, "the file is made otherwise than grown");
        LogShape {
            first_bytes: self.first_bytes,
            growths: runs[1..].iter().map(growth).collect(),
            vlfs: vlf_runs(layout),
        }
    }
}

fn vlf_runs(layout: &LogLayout) -> Vec<VlfRun> {
    let runs = layout.vlfs().chunk_by(|one, other| one.span.bytes == other.span.bytes);
    let run = |vlfs: &[vlf::LaidVlf]| VlfRun {
        count: vlfs.len() as u64,
        vlf_bytes: vlfs[0].span.bytes,
    };
    runs.map(run).collect()
}

/// Seconds of everything that has a price, played.
fn played(figures: &Figures, history: &History, layout: &LogLayout) -> [(&'static str, f64); 5] {
    let spans = |step: u32| {
        let of_step = layout.vlfs().iter().filter(move |vlf| vlf.growth_step == step);
        of_step.map(|vlf| (vlf.span.offset, vlf.span.bytes))
    };
    let mut first = layout.clone();
    first.truncate(spans(0).count());
    let mut growing = Played::with(figures, &first);
    let mut end = first.file_bytes();
    for step in 1..=layout.growth_step() {
        let to = spans(step).map(|(offset, bytes)| offset + bytes).max().unwrap();
        growing.add(spans(step), end, to, history.is_zeroed);
        end = to;
    }
    let mut finding = Played::with(figures, layout);
    finding.discover(layout);
    let mut restoring = Played::on(figures);
    let all = layout.vlfs().iter().map(|vlf| (vlf.span.offset, vlf.span.bytes));
    restoring.add(all, FIRST_VLF_OFFSET, layout.file_bytes(), true);
    restoring.discover(layout);
    let few = first_vlfs(layout);
    let mut reading = Played::with(figures, &few);
    reading.read_log(&few);
    let mut switching = Played::with(figures, &few);
    [
        ("growths", growing.seconds()),
        ("discovery", finding.seconds()),
        ("restore", restoring.seconds()),
        ("log backup", reading.seconds()),
        ("switch", switching.switch(&few) / few.vlf_count() as f64),
    ]
}

/// As many VLFs as show what reading them costs.
fn first_vlfs(layout: &LogLayout) -> LogLayout {
    let mut few = layout.clone();
    few.truncate(layout.vlfs().iter().filter(|vlf| vlf.span.offset < 200 * MB).count());
    few
}

/// The same in closed form.
fn priced(figures: &Figures, shape: &LogShape, layout: &LogLayout) -> [f64; 5] {
    [
        shape.growths_s(figures),
        shape.discovery_s(figures),
        shape.restore_s(figures),
        price::log_read_s(figures, &vlf_runs(&first_vlfs(layout))),
        price::switch_s(figures),
    ]
}

/// Every disk of the program in every case; a rotating one with everything that drives make of durable writes, but a battery only where
/// there is one: caches of drives are too small for it.
fn devices() -> Vec<(String, Figures)> {
    let mut devices = Vec::new();
    for name in lab::disks::names() {
        let ranges = lab::disks::load(name).unwrap().ranges;
        for case in [Case::Fast, Case::Typical, Case::Slow] {
            let figures = ranges.at(case);
            let Figures::Rotating(disk) = figures else {
                devices.push((format!("{name} {case:?}"), figures));
                continue;
            };
            for (word, durable_write) in DurableWrite::NAMES {
                if durable_write == DurableWrite::Battery && disk.durable_write != durable_write {
                    continue;
                }
                let disk = Figures::Rotating(Rotating { durable_write, ..disk });
                devices.push((format!("{name} {case:?} {word}"), disk));
            }
        }
    }
    devices
}

/// How far a price may be off, as a share. Behind a battery it matters what the cache happens to hold: a factor of two.
fn tolerated(figures: &Figures) -> RangeInclusive<f64> {
    match figures {
        Figures::Flash(_) => -1e-3..=1e-3,
        Figures::Rotating(disk) if disk.durable_write == DurableWrite::Battery => -0.5..=1.0,
        Figures::Rotating(_) => -0.15..=0.15,
    }
}

/// A long history is there for caches that it fills.
fn is_for(history: &History, figures: &Figures) -> bool {
    let has_battery = matches!(figures, Figures::Rotating(disk) if disk.durable_write == DurableWrite::Battery);
    has_battery || !history.name.contains("for long")
}

#[test]
fn a_priced_layout_costs_what_its_requests_cost() {
    let mut wrong = Vec::new();
    for history in &HISTORIES {
        let layout = history.layout();
        let shape = history.shape(&layout);
        assert_eq!(shape.vlf_count(), layout.vlf_count() as u64);
        for (device, figures) in devices().into_iter().filter(|(_, figures)| is_for(history, figures)) {
            let played = played(&figures, history, &layout);
            for ((what, played), priced) in played.into_iter().zip(priced(&figures, &shape, &layout)) {
                let off = priced / played - 1.0;
                if !tolerated(&figures).contains(&off) {
                    wrong.push(format!(
                        "{}, {device}, {what}: priced {priced:.4} s, played {played:.4} s, {:+.1} %",
                        history.name,
                        off * 100.0
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} are off:\n{}", wrong.len(), wrong.join("\n"));
}
