//! The machine a run was made on: what a reader must know to judge its figures.

use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

/// What was found out about the machine. Texts are `unknown` where the system does not tell.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Environment {
    /// Maker's name of the machine, or its processor architecture.
    pub machine: String,
    /// The processor's name.
    pub cpu: String,
    /// Processors this program may use.
    pub cores: usize,
    /// Main memory, MB.
    pub memory_mb: u64,
    /// The operating system.
    pub operating_system: String,
    /// The kernel's release.
    pub kernel: String,
    /// The file system the databases lay on.
    pub filesystem: String,
    /// Median time of an 8 KB write made durable into blocks written before, microseconds.
    pub durable_write_us_median: f64,
    /// The slowest 1 % took at least this long, microseconds.
    pub durable_write_us_p99: f64,
    /// Version of this program.
    pub vlflab_version: String,
    /// Whether it was built for speed.
    pub optimized_build: bool,
}

/// Durable writes timed.
const WRITES: usize = 200;
const WRITE_BYTES: usize = 8192;
const MEGABYTE_KB: u64 = 1024;

/// Looks at the machine; the disk under `folder` is measured by a few durable writes.
///
/// # Errors
/// The folder cannot be written to.
pub fn capture(folder: &Path) -> io::Result<Environment> {
    let (durable_write_us_median, durable_write_us_p99) = durable_write_us(folder)?;
    Ok(Environment {
        machine: first_line("/sys/class/dmi/id/product_name").unwrap_or_else(|| std::env::consts::ARCH.into()),
        cpu: field("/proc/cpuinfo", "model name", ':').unwrap_or_else(unknown),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        memory_mb: memory_mb().unwrap_or_default(),
        operating_system: field("/etc/os-release", "PRETTY_NAME", '=')
            .map_or_else(unknown, |name| name.trim_matches('"').to_string()),
        kernel: first_line("/proc/sys/kernel/osrelease").unwrap_or_else(unknown),
        filesystem: filesystem(folder).unwrap_or_else(unknown),
        durable_write_us_median,
        durable_write_us_p99,
        vlflab_version: env!("CARGO_PKG_VERSION").into(),
        optimized_build: !cfg!(debug_assertions),
    })
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
    Some(kilobytes / MEGABYTE_KB)
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
    let timed = (0..WRITES).map(|index| {
        let begin = Instant::now();
        file.write_all_at(&block, offset(index))?;
        file.sync_data()?;
        Ok(begin.elapsed().as_secs_f64() * 1e6)
    });
    timed.collect()
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
        assert!(environment.durable_write_us_median <= environment.durable_write_us_p99);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::remove_dir_all(&folder).unwrap();
    }
}
