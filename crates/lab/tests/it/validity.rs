//! The table of docs/validity.md that puts each modelled disk beside published measurements: every figure is computed again
//! by playing the measured requests to the model.
#![allow(clippy::unwrap_used)]

use device::parameter::{Case, Figures};
use device::{Device, Durability, Moment};
use lab::disks;
use std::collections::BTreeSet;
use std::path::Path;

/// A modelled figure counts as right from here on.
const RATIO_LOW: f64 = 0.75;
/// And up to here.
const RATIO_HIGH: f64 = 1.25;
/// Requests that are played: enough for the mean of angles and distances to stand still.
const REQUESTS: u64 = 20_000;

/// What was done to a disk: `random reads of 4 KB, 8 at once, 16,000 /s provisioned`.
#[derive(Debug)]
struct Access {
    work: Work,
    bytes: u64,
    /// Requests under way at once.
    depth: usize,
    /// Requests a second that were paid for, where that is another number than the disk's.
    provisioned: Option<f64>,
}

#[derive(Debug, Clone, Copy)]
enum Work {
    RandomReads,
    SequentialReads,
    /// From one end of the disk to the other.
    CrossingReads,
    RandomWrites,
    SequentialWrites,
    DurableWrites,
    FlushedWrites,
    /// Three reads to a write.
    RandomMixed,
}

const WORKS: [(&str, Work); 8] = [
    ("random reads of ", Work::RandomReads),
    ("sequential reads of ", Work::SequentialReads),
    ("reads across the whole disk of ", Work::CrossingReads),
    ("random writes of ", Work::RandomWrites),
    ("sequential writes of ", Work::SequentialWrites),
    ("durable writes of ", Work::DurableWrites),
    ("writes, each flushed, of ", Work::FlushedWrites),
    ("random reads and writes of ", Work::RandomMixed),
];

fn access(text: &str) -> Access {
    let (text, provisioned) = match text.rsplit_once(", ") {
        Some((rest, last)) if last.ends_with(" /s provisioned") => {
            let number = last.trim_end_matches(" /s provisioned").replace(',', "");
            (rest, Some(number.parse().unwrap()))
        }
        _ => (text, None),
    };
    let (work, rest) = WORKS
        .iter()
        .find_map(|(name, work)| Some((*work, text.strip_prefix(name)?)))
        .unwrap_or_else(|| panic!("{text}"));
    let (size, depth) = match rest.split_once(", ") {
        Some((size, depth)) => (size, depth.strip_suffix(" at once").unwrap().parse().unwrap()),
        None => (rest, 1),
    };
    let (number, unit) = size.split_once(' ').unwrap();
    let unit = match unit {
        "B" => 1,
        "KB" => 1 << 10,
        "MB" => 1 << 20,
        other => panic!("{other}"),
    };
    Access {
        work,
        bytes: number.parse::<u64>().unwrap() * unit,
        depth,
        provisioned,
    }
}

/// Mean latency of a request, and seconds of all of them.
fn play(figures: &Figures, access: &Access) -> (f64, f64) {
    let mut device = Device::new(figures, 7);
    let places = figures.capacity_bytes() / access.bytes - 1;
    let mut lanes = vec![Moment(0); access.depth];
    let (mut waited_s, mut state) = (0.0, 0x9E37_79B9_7F4A_7C15_u64);
    for index in 0..REQUESTS {
        // Xorshift of Marsaglia, "Xorshift RNGs", 2003.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let (random, next) = (state % places * access.bytes, index % places * access.bytes);
        let lane = (0..lanes.len()).min_by_key(|lane| lanes[*lane]).unwrap();
        let (now, bytes) = (lanes[lane], access.bytes);
        let done = match access.work {
            Work::RandomReads => device.read(now, random, bytes),
            Work::SequentialReads => device.read(now, next, bytes),
            Work::CrossingReads => device.read(now, index % 2 * places * bytes, bytes),
            Work::RandomWrites => device.write(now, random, bytes, Durability::Cached),
            Work::SequentialWrites => device.write(now, next, bytes, Durability::Cached),
            Work::DurableWrites => device.write(now, next, bytes, Durability::Durable),
            Work::FlushedWrites => {
                let written = device.write(now, next, bytes, Durability::Cached);
                device.flush(written)
            }
            Work::RandomMixed if index % 4 == 3 => device.write(now, random, bytes, Durability::Cached),
            Work::RandomMixed => device.read(now, random, bytes),
        };
        waited_s += done.seconds_since(now);
        lanes[lane] = done;
    }
    let all_s = lanes.into_iter().max().unwrap().seconds_since(Moment(0));
    (waited_s / REQUESTS as f64, all_s)
}

/// The modelled figure in the unit of the published one.
fn modelled(disk: &str, what: &str, unit: &str) -> f64 {
    let (access, mut figures) = (access(what), disks::load(disk).unwrap().ranges.at(Case::Typical));
    if let (Figures::Flash(flash), Some(provisioned)) = (&mut figures, access.provisioned) {
        flash.iops = provisioned;
    }
    let (latency_s, all_s) = play(&figures, &access);
    match unit {
        "us" => latency_s * 1e6,
        "ms" => latency_s * 1e3,
        "/s" => REQUESTS as f64 / all_s,
        "MB/s" => (REQUESTS * access.bytes) as f64 / all_s / 1e6,
        other => panic!("{other}"),
    }
}

/// With three digits.
fn shown(value: f64) -> String {
    match value {
        v if v >= 1_000.0 => {
            let whole = v.round() as u64;
            format!("{},{:03}", whole / 1_000, whole % 1_000)
        }
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// A line of the table, with what its computed cells have to be.
struct Row {
    cells: Vec<String>,
    computed: [String; 2],
    ratio: f64,
}

/// `disk | what was measured | published | modelled | ratio | source | why it misses`
fn rows(document: &str) -> Vec<Row> {
    let (_, section) = document
        .split_once("## Each disk beside published measurements")
        .unwrap();
    let section = section.split("\n## ").next().unwrap();
    let lines = section.lines().filter(|line| line.starts_with("| `"));
    let row = |line: &str| {
        let cells: Vec<String> = line
            .trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().to_string())
            .collect();
        assert_eq!(cells.len(), 7, "{line}");
        let (published, unit) = cells[2].split_once(' ').unwrap();
        let published: f64 = published.replace(',', "").parse().unwrap();
        let value = modelled(cells[0].trim_matches('`'), &cells[1], unit);
        let ratio = value / published;
        Row {
            computed: [format!("{} {unit}", shown(value)), format!("{ratio:.2}")],
            cells,
            ratio,
        }
    };
    lines.map(row).collect()
}

#[test]
fn every_figure_beside_measurements_of_others_is_the_models() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/validity.md");
    let document = std::fs::read_to_string(path).unwrap();
    let rows = rows(&document);
    let is_right = |row: &Row| (RATIO_LOW..=RATIO_HIGH).contains(&row.ratio);
    let mut wrong = Vec::new();
    for row in &rows {
        let mut expected = row.cells.clone();
        expected[3..5].clone_from_slice(&row.computed);
        if expected != row.cells {
            wrong.push(format!("| {} |", expected.join(" | ")));
        }
        if row.cells[6].is_empty() != is_right(row) {
            wrong.push(format!("a miss has its reason, and nothing else has one: {expected:?}"));
        }
        assert!(
            row.cells[5].contains("http") || row.cells[5].contains("github.com"),
            "{expected:?} has no address"
        );
    }
    assert!(wrong.is_empty(), "the models say otherwise:\n{}", wrong.join("\n"));
    let said = format!(
        "{} of {} are within 25 %",
        rows.iter().filter(|row| is_right(row)).count(),
        rows.len()
    );
    assert!(document.contains(&said), "the text has to say: {said}");
}

#[test]
fn every_disk_has_a_measurement_of_others() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/validity.md");
    let rows = rows(&std::fs::read_to_string(path).unwrap());
    let beside: BTreeSet<&str> = rows.iter().map(|row| row.cells[0].trim_matches('`')).collect();
    for disk in disks::names() {
        assert!(beside.contains(disk), "{disk}");
    }
}
