//! `vlflab disks probe`: measures this machine's disk, fits a device to it, writes its file, and reports the quality of the fit.
//!
//! The two test files have no name once they are open, so nothing remains of them, however the program ends.

use crate::disks::shown;
use crate::exit::Failure;
use crate::run::watch_signals;
use clap::Args;
use device::parameter::Case;
use device::probe::{self, Measure, Measured, Surroundings};
use disk::probe::{Bounds, FILE_BYTES_MIN, GROWTHS_MAX, Probe, ProbeError, Probed};
use disk::{Access, Disk, File, OsDisk};
use lab::disks::{self, DiskDescription};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Seconds that a probe takes at most, but for what its last requests overrun.
const SECONDS: f64 = 45.0;
const MB: u64 = 1 << 20;

/// Options of `vlflab disks probe`.
#[derive(Debug, Args)]
pub struct ProbeOptions {
    /// A folder on the disk to measure.
    #[arg(value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
    /// The file to write; its name is that of the disk.
    #[arg(long, value_name = "FILE", default_value = "probed-disk.toml")]
    pub out: PathBuf,
    /// Replace the file if it exists.
    #[arg(long)]
    pub overwrite: bool,
    /// Space to measure in, MB; at most a quarter of the free space.
    #[arg(long, value_name = "MB", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(64..=65_536))]
    pub space: u64,
}

pub fn run(options: &ProbeOptions) -> Result<(), Failure> {
    check_out(options)?;
    let began = Instant::now();
    let file_bytes = room(options)?;
    let stop = watch_signals()?;
    clear_leftovers(&options.folder);
    let places = ProbedFile::create(&options.folder, "places")?;
    let growth = ProbedFile::create(&options.folder, "growth")?;
    let surroundings = surroundings(&options.folder, &*places.file)?;
    eprintln!(
        "measuring the disk of {} with {} MB, for {SECONDS:.0} s at most",
        options.folder.display(),
        file_bytes / MB + GROWTHS_MAX
    );
    let probe = Probe {
        file: &*places.file,
        growing: &*growth.file,
        clock: &|| began.elapsed().as_secs_f64(),
        stop: &stop,
        bounds: Bounds {
            file_bytes,
            seconds: SECONDS,
            several_at_once: true,
        },
    };
    let probed = probe.run(|measure| eprintln!("  {}", measure.name()));
    let probed = probed.map_err(|error| told(&options.folder, error))?;
    let disk = described(options, &probed, surroundings)?;
    write_out(options, &disk.text)?;
    let mut out = io::stdout().lock();
    compare(&mut out, &disk, &probed)?;
    writeln!(
        out,
        "\n{}, measured in {:.0} s. 'vlflab disks {0}' explains it, 'vlflab run --disk {0}' runs on its model.",
        options.out.display(),
        began.elapsed().as_secs_f64()
    )?;
    Ok(())
}

fn failed(folder: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::Failed(format!("cannot measure the disk of {}: {error}", folder.display()))
}

fn told(folder: &Path, error: ProbeError) -> Failure {
    match error {
        ProbeError::Stopped => {
            Failure::Interrupted("interrupted; nothing was written, and nothing is left behind".into())
        }
        ProbeError::TooSlow { written_bytes } => {
            let text = format!(
                "it wrote {} MB in {:.0} s; {} are needed",
                written_bytes / MB,
                SECONDS / 4.0,
                FILE_BYTES_MIN / MB
            );
            failed(folder, &text)
        }
        ProbeError::Disk(error) => failed(folder, &error),
    }
}

fn check_out(options: &ProbeOptions) -> Result<(), Failure> {
    let path = &options.out;
    if path.extension().is_none_or(|extension| extension != "toml") {
        return Err(Failure::Usage(format!(
            "--out {}: the file of a disk ends in .toml",
            path.display()
        )));
    }
    match path.exists() && !options.overwrite {
        true => Err(Failure::Usage(format!(
            "{} exists; --overwrite replaces it",
            path.display()
        ))),
        false => Ok(()),
    }
}

/// Bytes of the file that is read and written.
fn room(options: &ProbeOptions) -> Result<u64, Failure> {
    let available = OsDisk
        .available_bytes(&options.folder)
        .map_err(|error| failed(&options.folder, &error))?;
    let bytes = (options.space * MB).min(available / 4) / MB * MB;
    match bytes >= FILE_BYTES_MIN {
        true => Ok(bytes),
        false => {
            let needed = 4 * FILE_BYTES_MIN / MB;
            Err(failed(
                &options.folder,
                &format!("{} MB are free, {needed} are needed", available / MB),
            ))
        }
    }
}

/// How the files of a probe are called. They keep their names while they are measured: nothing is durable in a file without one.
const PROBED_FILES: &str = ".vlflab-probe-";

/// A file that is measured, locked so that another probe can tell that it is in use, and deleted at the end.
struct ProbedFile {
    file: Arc<dyn File>,
}

impl ProbedFile {
    fn create(folder: &Path, part: &str) -> Result<ProbedFile, Failure> {
        let path = folder.join(format!("{PROBED_FILES}{}-{part}", std::process::id()));
        let file = OsDisk.create(&path, Access::Direct);
        let file = file.map_err(|error| failed(folder, &error))?;
        let probed = ProbedFile { file };
        probed.file.lock().map_err(|error| failed(folder, &error))?;
        Ok(probed)
    }
}

impl Drop for ProbedFile {
    fn drop(&mut self) {
        // What cannot be deleted now the next probe of the folder deletes.
        let _ = OsDisk.delete(self.file.path());
    }
}

/// Deletes leftovers of a killed probe: files that are not locked. If one cannot be deleted, the probe still runs.
fn clear_leftovers(folder: &Path) {
    let found = OsDisk.list(folder).unwrap_or_default();
    let is_of_a_probe = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(PROBED_FILES)
    };
    for path in found.into_iter().filter(is_of_a_probe) {
        let is_free = OsDisk.open(&path, Access::Buffered).and_then(|file| file.lock());
        if is_free.is_ok() {
            let _ = OsDisk.delete(&path);
        }
    }
}

fn surroundings(folder: &Path, file: &dyn File) -> Result<Surroundings, Failure> {
    let system = rustix::fs::statvfs(folder).map_err(|error| failed(folder, &error))?;
    Ok(Surroundings {
        span_bytes: 0,
        capacity_bytes: system.f_blocks.saturating_mul(system.f_frsize),
        sector_bytes: file.sector_bytes(),
    })
}

/// The device that fits, as its file describes it.
fn described(options: &ProbeOptions, probed: &Probed, surroundings: Surroundings) -> Result<DiskDescription, Failure> {
    let surroundings = Surroundings {
        span_bytes: probed.span_bytes,
        ..surroundings
    };
    let fitted = probe::fit(&probed.measured, &surroundings).map_err(|missing| {
        let text = format!("no time was left for this measure: {}", missing.0.name());
        failed(&options.folder, &text)
    })?;
    let whole = std::path::absolute(&options.folder)?;
    let title = format!("The disk of {}, measured", whole.display());
    let about = format!(
        "Fitted by 'vlflab disks probe' to requests of 4 KB to 1 MB within {} MB, past the page cache.",
        probed.span_bytes / MB
    );
    let name = options
        .out
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let text = disks::document_of(&fitted, &title, &about);
    disks::parse(&name, &text).map_err(|error| failed(&options.folder, &error))
}

fn write_out(options: &ProbeOptions, text: &str) -> Result<(), Failure> {
    let path = &options.out;
    let opened = match options.overwrite {
        true => OpenOptions::new().write(true).create(true).truncate(true).open(path),
        false => OpenOptions::new().write(true).create_new(true).open(path),
    };
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Failure::Failed(format!("cannot write {}: {error}", path.display())))
}

/// What each measure took, and what it would take on the device that was fitted.
fn compare(out: &mut dyn Write, disk: &DiskDescription, probed: &Probed) -> io::Result<()> {
    let predicted: Measured = probe::predict(&disk.ranges.at(Case::Typical), probed.span_bytes);
    writeln!(
        out,
        "{:<52} {:>10} {:>10} {:>10} {:>7}",
        "", "measured", "", "", "fitted"
    )?;
    writeln!(
        out,
        "{:<52} {:>10} {:>10} {:>10} {:>10} {:>7}",
        "measured", "low", "median", "high", "fitted", "ratio"
    )?;
    for measure in Measure::all() {
        let (Some(found), Some(fitted)) = (probed.measured.0.get(&measure), predicted.typical_s(measure)) else {
            continue;
        };
        writeln!(
            out,
            "{:<52} {:>10} {:>10} {:>10} {:>10} {:>7.2}",
            measure.name(),
            shown(found.low_s),
            shown(found.typical_s),
            shown(found.high_s),
            shown(fitted),
            fitted / found.typical_s.max(1e-9)
        )?;
    }
    writeln!(
        out,
        "\nlow and high: a tenth of the requests took no longer, or longer; ratio: fitted to median"
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use device::price;
    use disk::MemoryDisk;
    use disk::modelled::{ModelledDisk, VirtualTime};
    use std::sync::atomic::AtomicBool;

    /// A probe measures files of the operating system, whose syncs fail once their names are gone. Its files go at the end, and so do those
    /// that a killed one has left.
    #[test]
    fn a_probe_measures_a_real_disk_and_leaves_nothing() {
        let folder = std::env::temp_dir().join(format!("vlflab-probed-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{PROBED_FILES}1-places")), "left").unwrap();
        let options = ProbeOptions {
            folder: folder.clone(),
            out: folder.join("mine.toml"),
            overwrite: false,
            space: 64,
        };
        run(&options).unwrap_or_else(|failure| panic!("{failure:?}"));
        let left: Vec<_> = std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left, ["mine.toml"]);
        let text = std::fs::read_to_string(&options.out).unwrap();
        disks::parse("mine", &text).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// A probe of every disk of the program, in virtual time, fits a device on which growth, discovery, commits and reads take what they
    /// take on the one that was probed.
    #[test]
    fn the_device_fitted_to_a_probe_costs_what_the_probed_one_does() {
        let folder = std::env::temp_dir().join(format!("vlflab-probe-{}", std::process::id()));
        let mut missed = Vec::new();
        for name in disks::names() {
            let known = disks::load(name).unwrap();
            let figures = known.ranges.at(Case::Typical);
            let time = Arc::new(VirtualTime::new(false));
            // In memory, as only the model's time counts.
            let backing = Arc::new(MemoryDisk::new(folder.clone(), Arc::new(OsDisk), 2048 * MB));
            let modelled = ModelledDisk::new(backing, &folder, &figures, 1, Arc::clone(&time)).unwrap();
            let file = modelled.create(&folder.join("places"), Access::Direct).unwrap();
            let growing = modelled.create(&folder.join("growth"), Access::Direct).unwrap();
            let probe = Probe {
                file: &*file,
                growing: &*growing,
                clock: &|| time.now_ns() as f64 / 1e9,
                stop: &AtomicBool::new(false),
                bounds: Bounds {
                    // What a cache holds tells nothing of the disk behind it.
                    file_bytes: if name.contains("battery") { 1024 * MB } else { 256 * MB },
                    seconds: SECONDS,
                    several_at_once: false,
                },
            };
            let probed = probe.run(|_| ()).unwrap();
            assert!(time.now_ns() < 60_000_000_000, "{name}: {} ns", time.now_ns());
            let surroundings = Surroundings {
                span_bytes: probed.span_bytes,
                capacity_bytes: figures.capacity_bytes(),
                sector_bytes: figures.sector_bytes(),
            };
            let fitted = probe::fit(&probed.measured, &surroundings).unwrap();
            let text = disks::document_of(&fitted, "A title", "About \"it\"");
            let again = disks::parse(name, &text).unwrap();
            assert_eq!(
                again.ranges,
                fitted.ranges().unwrap(),
                "{name}: the file holds what was fitted"
            );
            let fitted = again.ranges.at(Case::Typical);
            let costs = [figures, fitted].map(|figures| {
                [
                    price::discovery_s(&figures, 20_480, MB / 4),
                    price::growth_s(&figures, MB, 4),
                    price::commit_s(&figures, 16 << 10, 0.0),
                    // Closed forms leave out that a request waits for its latency and its tokens at once.
                    probe::predict(&figures, probed.span_bytes)
                        .typical_s(Measure::SequentialRead)
                        .unwrap(),
                ]
            });
            for (which, what) in ["discovery", "growth", "commit", "read"].iter().enumerate() {
                let ratio = costs[1][which] / costs[0][which];
                if !(0.75..1.25).contains(&ratio) {
                    missed.push(format!("{name}: {what} {ratio:.2}"));
                }
            }
        }
        assert!(missed.is_empty(), "{}", missed.join(", "));
    }
}
