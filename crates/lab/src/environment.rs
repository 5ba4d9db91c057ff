//! The machine of a run: the facts that a reader needs to judge its figures.

use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// What was found out about the machine. Texts are `unknown` where the system does not tell.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Environment {
    /// Maker's name of the machine, or its processor architecture.
    pub machine: String,
    pub cpu: String,
    /// Processors this program may use.
    pub cores: usize,
    /// Main memory, MB.
    pub memory_mb: u64,
    pub operating_system: String,
    /// The kernel's release.
    pub kernel: String,
    /// The file system the databases lay on.
    pub filesystem: String,
    /// Median time of an 8 KB write made durable into blocks written before, microseconds.
    pub durable_write_us_median: f64,
    /// The slowest 1 % took at least this long, microseconds.
    pub durable_write_us_p99: f64,
    /// Writing a file from front to back in large pieces until it is durable, MB per second.
    #[serde(default)]
    pub sequential_write_mb_per_s: f64,
    /// Reading it from front to back, after the system was asked to forget it, MB per second.
    #[serde(default)]
    pub sequential_read_mb_per_s: f64,
    /// Processes that wanted a processor during the last minute, on average, before the run began.
    #[serde(default)]
    pub load_average: f64,
    /// Version of this program.
    pub vlflab_version: String,
    /// Whether it was built for speed.
    pub optimized_build: bool,
}

/// Durable writes timed.
const WRITES: usize = 200;
const WRITE_BYTES: usize = 8192;
const MEGABYTE_KB: u64 = 1024;
const MEGABYTE: usize = 1 << 20;
/// The sequential probe writes at most so much, and no longer than [`SEQUENTIAL_TIME_MAX`].
const SEQUENTIAL_BYTES_MAX: usize = 256 * MEGABYTE;
/// Made durable this often, so that the time spent is known before the system has taken in more than the disk can write.
const SYNC_BYTES: usize = 32 * MEGABYTE;
const SEQUENTIAL_TIME_MAX: Duration = Duration::from_millis(900);
/// Durable writes take no longer than this together, however slow the disk.
const DURABLE_TIME_MAX: Duration = Duration::from_millis(900);

/// Looks at the machine; the disk under `folder` is measured by durable writes and by one file written and read, in less
/// than 3 seconds.
///
/// # Errors
/// The folder cannot be written to.
pub fn capture(folder: &Path) -> io::Result<Environment> {
    let (durable_write_us_median, durable_write_us_p99) = durable_write_us(folder)?;
    let described = describe(folder);
    let (sequential_write_mb_per_s, sequential_read_mb_per_s) = sequential_mb_per_s(folder)?;
    Ok(Environment {
        durable_write_us_median,
        durable_write_us_p99,
        sequential_write_mb_per_s,
        sequential_read_mb_per_s,
        ..described
    })
}

/// The same without measuring anything.
pub fn describe(folder: &Path) -> Environment {
    let load_average = first_line("/proc/loadavg")
        .and_then(|line| line.split(' ').next()?.parse().ok())
        .unwrap_or_default();
    Environment {
        machine: first_line("/sys/class/dmi/id/product_name").unwrap_or_else(|| std::env::consts::ARCH.into()),
        cpu: field("/proc/cpuinfo", "model name", ':').unwrap_or_else(unknown),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        memory_mb: memory_mb().unwrap_or_default(),
        operating_system: field("/etc/os-release", "PRETTY_NAME", '=')
            .map_or_else(unknown, |name| name.trim_matches('"').to_string()),
        kernel: first_line("/proc/sys/kernel/osrelease").unwrap_or_else(unknown),
        filesystem: filesystem(folder).unwrap_or_else(unknown),
        load_average,
        vlflab_version: env!("CARGO_PKG_VERSION").into(),
        optimized_build: !cfg!(debug_assertions),
        ..Environment::default()
    }
}

impl Environment {
    /// What two machines have in common whose times may stand side by side: maker, processor, memory in GB, file system, and a build for
    /// speed or not. The release of the kernel is not part of it.
    pub fn class(&self) -> String {
        let optimized = if self.optimized_build { "" } else { ", not optimized" };
        format!(
            "{}, {}, {} processors, {} GB, {}{optimized}",
            self.machine,
            self.cpu,
            self.cores,
            (self.memory_mb + MEGABYTE_KB / 2) / MEGABYTE_KB,
            self.filesystem
        )
    }
}

fn unknown() -> String {
    "unknown".into()
}

fn first_line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines()
        .next()
        .map(|line| line.trim().to_string())
        .filter(|line| !line.is_empty())
}

/// The value of the first line of a file that begins with `name`.
fn field(path: &str, name: &str, separator: char) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_once(separator).map(|(_, value)| value.trim().to_string())
}

fn memory_mb() -> Option<u64> {
    let text = field("/proc/meminfo", "MemTotal", ':')?;
    let kilobytes: u64 = text.split_whitespace().next()?.parse().ok()?;
    let limit_bytes = first_line("/sys/fs/cgroup/memory.max").and_then(|text| text.parse::<u64>().ok());
    let limit_kilobytes = limit_bytes.map_or(u64::MAX, |bytes| bytes / 1024);
    Some(kilobytes.min(limit_kilobytes) / MEGABYTE_KB)
}

/// Type of the file system with the longest mount point above `folder`.
fn filesystem(folder: &Path) -> Option<String> {
    let folder = folder.canonicalize().ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let above = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        let mount_point = Path::new(words.next()?);
        let kind = words.next()?;
        folder
            .starts_with(mount_point)
            .then_some((mount_point.components().count(), kind))
    });
    above.max_by_key(|(depth, _)| *depth).map(|(_, kind)| kind.to_string())
}

/// Median and 99th percentile of small durable writes.
fn durable_write_us(folder: &Path) -> io::Result<(f64, f64)> {
    fs::create_dir_all(folder)?;
    let path = folder.join("durable-write-probe");
    let timed = time_writes(&path);
    let removed = fs::remove_file(&path);
    let mut micros = timed?;
    removed?;
    micros.sort_by(f64::total_cmp);
    let at = |share: usize| micros.get(micros.len() * share / 100).copied().unwrap_or_default();
    Ok((at(50), at(99)))
}

fn time_writes(path: &Path) -> io::Result<Vec<f64>> {
    let block = [0x5A_u8; WRITE_BYTES];
    let file = fs::File::create(path)?;
    let offset = |index: usize| (index * WRITE_BYTES) as u64;
    for index in 0..WRITES {
        file.write_all_at(&block, offset(index))?;
    }
    file.sync_all()?;
    let begin = Instant::now();
    let mut micros = Vec::with_capacity(WRITES);
    for index in 0..WRITES {
        let write = Instant::now();
        file.write_all_at(&block, offset(index))?;
        file.sync_data()?;
        micros.push(write.elapsed().as_secs_f64() * 1e6);
        if begin.elapsed() > DURABLE_TIME_MAX {
            break;
        }
    }
    Ok(micros)
}

/// Rates of writing and of reading one file in large pieces.
fn sequential_mb_per_s(folder: &Path) -> io::Result<(f64, f64)> {
    let path = folder.join("sequential-probe");
    let measured = write_and_read(&path);
    let removed = fs::remove_file(&path);
    let rates = measured?;
    removed?;
    Ok(rates)
}

fn write_and_read(path: &Path) -> io::Result<(f64, f64)> {
    // Not all the same byte: some disks and file systems make nothing of that.
    let mut piece: Vec<u8> = (0..MEGABYTE).map(|index| (index * 31 % 251) as u8).collect();
    let mut file = fs::File::create(path)?;
    let begin = Instant::now();
    let mut bytes = 0;
    while bytes < SEQUENTIAL_BYTES_MAX && begin.elapsed() < SEQUENTIAL_TIME_MAX {
        file.write_all(&piece)?;
        bytes += piece.len();
        if bytes % SYNC_BYTES == 0 {
            file.sync_data()?;
        }
    }
    file.sync_data()?;
    let write_rate = rate(bytes, begin.elapsed());
    let mut file = fs::File::open(path)?;
    // A file system that keeps the pages all the same shows the memory's rate; the figure is the best that can be had.
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
    let begin = Instant::now();
    let mut bytes = 0;
    while begin.elapsed() < SEQUENTIAL_TIME_MAX {
        match file.read(&mut piece)? {
            0 => break,
            read => bytes += read,
        }
    }
    Ok((write_rate, rate(bytes, begin.elapsed())))
}

fn rate(bytes: usize, time: Duration) -> f64 {
    (bytes as f64 / MEGABYTE as f64 / time.as_secs_f64().max(f64::MIN_POSITIVE)).round()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_machine_is_described_and_the_probe_is_gone() {
        let folder = std::env::temp_dir().join(format!("vlflab-environment-{}", std::process::id()));
        let environment = capture(&folder).unwrap();
        assert!(environment.cores > 0 && environment.memory_mb > 0);
        assert!(environment.durable_write_us_median > 0.0);
        assert!(environment.sequential_write_mb_per_s > 0.0 && environment.sequential_read_mb_per_s > 0.0);
        assert!(environment.durable_write_us_median <= environment.durable_write_us_p99);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::remove_dir_all(&folder).unwrap();
    }
}
