//! The log in a backup: its VLFs and records as in `vlflab inspect FILE.ldf`, and sets that contain only log.
//!
//! The log of a backup is read as the log file that it came from ([`genuine::container::log_image`]). The backup has only part of that
//! file; missing parts do not count as damage.

use crate::exit::Failure;
use advisor::database::logs_of_backup;
use advisor::render::{
    backup_sets_json, backup_sets_text, inspection_json, inspection_markdown, inspection_table, log_next_steps,
};
use advisor::{Format, Inspection};
use genuine::container::Backup;
use serde_json::{Value as Json, json};
use std::io::{self, Write};
use std::path::PathBuf;
use vlf::ReadAt;

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
    let logs = logs_of_backup(backup, set).map_err(|fault| Failure::Failed(format!("{name}: {fault}")))?;
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
