//! `vlflab disks`: the modelled disks for experiments, with their figures.

use crate::exit::Failure;
use crate::probe::{self, ProbeOptions};
use crate::wrap;
use clap::{Args, Subcommand};
use device::parameter::{DurableWrite, Figures, Kind};
use device::price::{self, Price, VlfRun};
use lab::disks::{self, DiskDescription};
use std::io::{self, Write};

/// Examples in the help.
pub const DISKS_EXAMPLES: &str = "Examples:
  vlflab disks                               all disks, with the cost of VLFs on each
  vlflab disks hdd-7200-2006                 its figures, with their sources
  vlflab disks hdd-7200-2006 --toml > mine.toml
  vlflab run recovery --disk mine.toml       an experiment on a disk of your own
  vlflab disks probe /var/opt/mssql          measures the disk of that folder and writes probed-disk.toml

Except for a probe, all seconds are computed from the figures, not measured.";

/// Options of `vlflab disks`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct DisksOptions {
    #[command(subcommand)]
    pub work: Option<DisksWork>,
    /// A built-in disk, or your own file ending in .toml; without one, all built-in disks are listed.
    #[arg(value_name = "DISK")]
    pub disk: Option<String>,
    /// Print the disk's file, to copy and change.
    #[arg(long, requires = "disk")]
    pub toml: bool,
}

/// What `vlflab disks` does beside listing and explaining.
#[derive(Debug, Subcommand)]
pub enum DisksWork {
    /// Measures the disk of a folder in less than a minute, fits a device to it and writes its file.
    Probe(ProbeOptions),
}

const MB: u64 = 1 << 20;
/// The log of the published experiment on recovery: 5 GB grown by 1 MB.
const KNOWN_VLFS: u64 = 20_480;
const KNOWN_LOG: [VlfRun; 1] = [VlfRun {
    count: KNOWN_VLFS,
    vlf_bytes: MB / 4,
}];

pub fn run(options: &DisksOptions) -> Result<(), Failure> {
    if let Some(DisksWork::Probe(options)) = &options.work {
        return probe::run(options);
    }
    let failed = |error: disks::DiskFileError| Failure::Usage(error.to_string());
    let mut out = io::stdout().lock();
    match &options.disk {
        None => {
            let known: Result<Vec<DiskDescription>, _> = disks::names().into_iter().map(disks::load).collect();
            list(&mut out, &known.map_err(failed)?)?;
        }
        Some(name) => {
            let disk = disks::load(name).map_err(failed)?;
            match options.toml {
                true => out.write_all(disk.text.as_bytes())?,
                false => explain(&mut out, &disk)?,
            }
        }
    }
    out.flush()?;
    Ok(())
}

fn list(out: &mut dyn Write, known: &[DiskDescription]) -> io::Result<()> {
    writeln!(
        out,
        "{:<18} {:>12} {:>12} {:>12}  what it is",
        "", "20,480 VLFs", "growth by", "commit of"
    )?;
    writeln!(out, "{:<18} {:>12} {:>12} {:>12}", "disk", "found", "1 MB", "16 KB")?;
    for disk in known {
        let typical = |cost: Cost| shown(Price::of(&disk.ranges, cost).typical_s);
        writeln!(
            out,
            "{:<18} {:>12} {:>12} {:>12}  {}",
            disk.name,
            typical(discovery),
            typical(growth),
            typical(commit),
            disk.title
        )?;
    }
    writeln!(
        out,
        "\nComputed from typical figures; 'vlflab disks NAME' shows them with their sources and ranges."
    )
}

fn explain(out: &mut dyn Write, disk: &DiskDescription) -> io::Result<()> {
    writeln!(out, "{}: {}\n", disk.name, disk.title)?;
    wrapped(out, "", &disk.about)?;
    if let Kind::Rotating(durable_write) = disk.ranges.kind() {
        let text = format!("durable writes: {}. {}", durable_write.name(), meaning(durable_write));
        writeln!(out)?;
        wrapped(out, "", &text)?;
        wrapped(out, "    ", &disk.durable_write_source)?;
    }
    writeln!(out, "\n{:<18} {:>10} {:>10} {:>10}", "figure", "low", "typical", "high")?;
    for (parameter, range) in disk.ranges.iter() {
        let Some(source) = disk.sources.get(parameter.name) else {
            continue;
        };
        writeln!(
            out,
            "{:<18} {:>10} {:>10} {:>10}  {}",
            parameter.name, range.low, range.typical, range.high, parameter.meaning
        )?;
        wrapped(out, "    ", source)?;
    }
    writeln!(
        out,
        "\n{:<40} {:>10} {:>10} {:>10}",
        "computed", "fast", "typical", "slow"
    )?;
    let of = |cost: Cost| Price::of(&disk.ranges, cost);
    let rows = [
        ("finding 20,480 VLFs, 256 KB apart", of(discovery)),
        ("a growth by 1 MB with 4 VLFs", of(growth)),
        (
            "a growth by 64 MB with 4 VLFs",
            of(|figures| price::growth_s(figures, 64 * MB, 4)),
        ),
        ("a commit of 16 KB, without processor", of(commit)),
        (
            "a backup's reads of 5 GB of log",
            price::log_backup(&disk.ranges, &KNOWN_LOG),
        ),
    ];
    for (what, price) in rows {
        let [fast, typical, slow] = [price.fast_s, price.typical_s, price.slow_s].map(shown);
        writeln!(out, "{what:<40} {fast:>10} {typical:>10} {slow:>10}")?;
    }
    Ok(())
}

/// Seconds that some work takes on a disk.
type Cost = fn(&Figures) -> f64;

fn discovery(figures: &Figures) -> f64 {
    price::discovery_s(figures, KNOWN_VLFS, MB / 4)
}

fn growth(figures: &Figures) -> f64 {
    price::growth_s(figures, MB, 4)
}

fn commit(figures: &Figures) -> f64 {
    price::commit_s(figures, 16 << 10, 0.0)
}

fn meaning(durable_write: DurableWrite) -> &'static str {
    match durable_write {
        DurableWrite::Honoured => "A commit waits for the platter.",
        DurableWrite::Ignored => {
            "A commit waits for the cache alone; what flushes, such as a growth, waits for the platter."
        }
        DurableWrite::Battery => "Nothing waits for the platter, because the cache survives the loss of power.",
        DurableWrite::CacheOff => "Every write waits for the platter.",
    }
}

/// Seconds with three digits, in the unit that suits them.
pub fn shown(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s => (s * 1e6, "us"),
    };
    let decimals = match value {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$} {unit}")
}

/// Writes a text in lines of 100 characters, broken at words.
fn wrapped(out: &mut dyn Write, indent: &str, text: &str) -> io::Result<()> {
    wrap::write(out, wrap::WIDTH_MAX, (indent, indent), text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn text(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
        let mut bytes = Vec::new();
        write(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn every_disk_is_listed_and_every_figure_of_one_explained() {
        let known: Vec<DiskDescription> = disks::names()
            .into_iter()
            .map(|name| disks::load(name).unwrap())
            .collect();
        let listed = text(|out| list(out, &known));
        let explained = text(|out| explain(out, &known[0]));
        assert!(known.iter().all(|disk| listed.contains(&disk.name)));
        for (parameter, _) in known[0].ranges.iter() {
            assert!(explained.contains(parameter.name) && explained.contains(parameter.meaning));
        }
        assert!(explained.lines().all(|line| line.len() <= 140), "{explained}");
    }

    #[test]
    fn seconds_have_three_digits() {
        for (seconds, expected) in [
            (94.2, "94.2 s"),
            (0.0836, "83.6 ms"),
            (109.0, "109 s"),
            (0.000_052, "52.0 us"),
        ] {
            assert_eq!(shown(seconds), expected);
        }
    }
}
