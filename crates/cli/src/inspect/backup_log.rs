//! The log in a backup: its VLFs and records as in `vlflab inspect FILE.ldf`, and sets that contain only log.
//!
//! The log of a backup is read as the log file that it came from ([`genuine::container::log_image`]). The backup has only part of that
//! file; missing parts do not count as damage.

use crate::exit::Failure;
use advisor::render::{
    backup_sets_json, backup_sets_text, inspection_json, inspection_markdown, inspection_table, log_next_steps,
};
use advisor::{Depth, Format, Inspection, inspect};
use genuine::Fault;
use genuine::container::{Backup, LogImage};
use serde_json::{Value as Json, json};
use std::io::{self, Write};
use std::path::PathBuf;
use vlf::ReadAt;

/// The log files of set `set`: their ids, and what of them is in the backup.
pub(super) fn inspections<S: ReadAt>(backup: &Backup<S>, set: usize) -> Result<Vec<(u32, Inspection)>, Fault> {
    let logs = backup.logs(set)?;
    logs.iter()
        .map(|image| Ok((image.file_id(), present(image)?)))
        .collect()
}

/// What the inspector finds in `image`, without the damage that a missing part of a log file would be.
fn present<S: ReadAt>(image: &LogImage<'_, S>) -> Result<Inspection, Fault> {
    let mut found = inspect(image, Depth::Blocks)?;
    found.damage.retain(|damage| image.is_present(damage.offset));
    found.damage_count = found.damage.len() as u64;
    for vlf in &mut found.vlfs {
        let span = vlf.header.span();
        let is_within = |offset: u64| (span.offset..span.end()).contains(&offset);
        vlf.damaged = found.damage.iter().any(|damage| is_within(damage.offset));
    }
    Ok(found)
}

/// Writes the logs behind what was written of the set's pages.
pub(super) fn write(logs: &[(u32, Inspection)], format: Format, out: &mut dyn Write) -> io::Result<()> {
    for (file, log) in logs {
        let title = format!("log file {file}, as far as the backup has it");
        match format {
            Format::Markdown => write!(out, "\n{}", inspection_markdown(log, &title, false))?,
            _ => write!(out, "\n{}", inspection_table(log, &title, false))?,
        }
    }
    Ok(())
}

/// The logs as values of JSON.
pub(super) fn to_json(logs: &[(u32, Inspection)]) -> io::Result<Json> {
    let mut all = Vec::new();
    for (file, log) in logs {
        let mut text = Vec::new();
        inspection_json(log, &mut text)?;
        let log: Json = serde_json::from_slice(&text)?;
        all.push(json!({ "file": file, "log": log }));
    }
    Ok(Json::Array(all))
}

/// Shows a set that has log and no pages.
pub(super) fn show_log_set<S: ReadAt>(
    backup: &Backup<S>,
    set: usize,
    (name, files): (&str, &[PathBuf]),
    format: Format,
) -> Result<(), Failure> {
    let logs = inspections(backup, set).map_err(|fault| Failure::Failed(format!("{name}: {fault}")))?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    match format {
        Format::Csv => {
            return Err(Failure::Usage(
                "a backup of the log is shown as table, md or json".to_owned(),
            ));
        }
        Format::Json => {
            let mut text = Vec::new();
            backup_sets_json(backup.sets(), &mut text)?;
            let sets: Json = serde_json::from_slice(&text).map_err(io::Error::from)?;
            let whole = json!({ "backup_sets": sets, "backup_set": set + 1, "logs": to_json(&logs)? });
            serde_json::to_writer_pretty(&mut out, &whole).map_err(io::Error::from)?;
            writeln!(out)?;
        }
        Format::Table | Format::Markdown => {
            let (chosen, is_markdown) = (&backup.sets()[set], format == Format::Markdown);
            out.write_all(backup_sets_text(backup.sets(), chosen, name, is_markdown).as_bytes())?;
            write(&logs, format, &mut out)?;
            if let (false, [file]) = (is_markdown, files) {
                out.write_all(log_next_steps(chosen, &file.display().to_string()).as_bytes())?;
            }
        }
    }
    out.flush()?;
    let is_damaged = !backup.faults().is_empty() || logs.iter().any(|(_, log)| log.damage_count > 0);
    drop(out);
    for fault in backup.faults() {
        writeln!(io::stderr(), "{name}: {fault}")?;
    }
    match is_damaged {
        true => Err(Failure::Corruption),
        false => Ok(()),
    }
}
