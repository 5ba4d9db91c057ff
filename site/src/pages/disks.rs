//! The modelled disks: every figure, what it means, and where it is said.

use super::cell;
use crate::{Outcome, SiteError};
use device::parameter::{Kind, Range};
use lab::disks;
use std::fmt::Write as _;

const HEAD: &str = "# Modelled disks\n\n\
An experiment can run on the model of a disk in place of your own: `vlflab run recovery --scale full --disk hdd-7200-2006`. Every statement is \
executed. The time that the disk takes is computed from the figures below, so you do not wait for it.\n\n\
Each figure has a source, or says that it is assumed. Where a figure is a range, the model takes the typical value, and `vlflab plan --disk` shows \
the seconds at both ends of the range. [How accurate the models are](validity.md) compares them with measurements. [The cost \
model](cost-model.md) has their equations.\n\n\
For your own disk, [copy one of these files, or have it measured](#a-disk-of-your-own).\n\n";

const TAIL: &str = "\n## A disk of your own\n\n\
`vlflab disks NAME` prints what is known of a disk. `vlflab disks NAME --toml > mine.toml` writes its file: change it, and run on it with \
`--disk mine.toml`. `vlflab disks probe` measures the disk of this machine in less than a minute, fits a model to it and writes such a file.\n";

/// The page.
///
/// # Errors
/// A disk of the program that cannot be read.
pub fn page() -> Outcome<String> {
    let mut page = HEAD.to_string();
    page += "| name | disk |\n|---|---|\n";
    let mut all = Vec::new();
    for name in disks::names() {
        all.push(disks::load(name).map_err(|error| SiteError(error.to_string()))?);
    }
    for disk in &all {
        let _ = writeln!(page, "| [`{0}`](#{0}) | {1} |", disk.name, cell(&disk.title));
    }
    for disk in &all {
        let _ = write!(page, "\n## {}\n\n{}. {}\n\n", disk.name, disk.title, disk.about);
        if let Kind::Rotating(durable_write) = disk.ranges.kind() {
            let _ = writeln!(
                page,
                "Durable writes: **{}** ({}).\n",
                durable_write.name(),
                disk.durable_write_source
            );
        }
        page += "| figure | low | typical | high | meaning | source |\n|---|---:|---:|---:|---|---|\n";
        for (parameter, Range { low, typical, high }) in disk.ranges.iter() {
            let source = disk.sources.get(parameter.name).map_or("", String::as_str);
            let ends = match low == high {
                true => format!("| {typical} | "),
                false => format!("{low} | {typical} | {high}"),
            };
            let (meaning, source) = (cell(parameter.meaning), cell(source));
            let _ = writeln!(page, "| `{}` | {ends} | {meaning} | {source} |", parameter.name);
        }
    }
    page += TAIL;
    Ok(page)
}
