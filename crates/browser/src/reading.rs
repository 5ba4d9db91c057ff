//! Finds out from their bytes what dropped files and pasted texts are, in the order in which the command line does.

use crate::answers::Open;
use crate::question::FileNamed;
use advisor::database::{
    DatabaseInspection, FileKind, begins_with_page_zero, inspect_database, inspect_differential, kind_of,
    logs_of_backup,
};
use advisor::live::recording::Recording;
use advisor::pasted::decoded;
use advisor::snapshot::{Snapshot, of_text};
use advisor::{Depth, Inspection, inspect};
use genuine::container::{Backup, BackupSet, SetKind};
use genuine::verdicts::Verdicts;
use genuine::{DataFiles, Fault};
use vlf::{ReadAt, ServerVersion};

/// The longest text that is read, in bytes; a hundred thousand VLFs as JSON have a third of it.
const TEXT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The kinds of files and texts that the page has an answer for.
pub(crate) enum Read {
    Log(Box<Inspection>),
    /// Rows of VLFs, or a snapshot of a server.
    Rows(Box<Snapshot>),
    Recording(Box<Recording>),
    Database {
        found: Box<DatabaseInspection>,
        /// The log that is in the backup, by the ids of its files.
        logs: Vec<(u32, Inspection)>,
    },
    /// A backup that holds only log.
    LogSet {
        sets: Vec<BackupSet>,
        logs: Vec<(u32, Inspection)>,
    },
}

/// Reads the files of one database, one log file or one text.
pub(crate) fn read_files(files: &[FileNamed], open: &Open<'_>, version: ServerVersion) -> Result<Read, String> {
    let sources: Vec<Box<dyn ReadAt + Sync>> = files
        .iter()
        .enumerate()
        .map(|(number, file)| open(number, file.bytes))
        .collect();
    let sources: Vec<&(dyn ReadAt + Sync)> = sources.iter().map(AsRef::as_ref).collect();
    let (Some(first), Some(source)) = (files.first(), sources.first().copied()) else {
        return Err("no file was chosen".to_owned());
    };
    let told = |reason: String| format!("{}: {reason}", first.name);
    let of_fault = |fault: Fault| told(fault.to_string());
    match kind_of(source) {
        FileKind::Backup => read_backup(sources).map_err(of_fault),
        FileKind::Data => Ok(Read::Database {
            found: Box::new(inspect_database(
                &DataFiles::open(sources).map_err(of_fault)?,
                Verdicts::default(),
            )),
            logs: Vec::new(),
        }),
        FileKind::Log if files.len() > 1 => Err(told(
            "not a data file nor a backup, and only those are read together with others".to_owned(),
        )),
        FileKind::Log => {
            if !begins_with_page_zero(source)
                && let Some(text) = text_of(source)
            {
                return read_text(&text, &first.name, version).map_err(told);
            }
            let inspection = inspect(source, Depth::Blocks).map_err(|fault| told(fault.to_string()))?;
            match inspection.is_no_log() {
                true => Err(told(
                    "neither a log file, a data file, a backup, nor text with rows of VLFs".to_owned(),
                )),
                false => Ok(Read::Log(Box::new(inspection))),
            }
        }
    }
}

/// The first set of a backup.
fn read_backup(sources: Vec<&(dyn ReadAt + Sync)>) -> Result<Read, Fault> {
    let backup = Backup::open(sources)?;
    let logs = logs_of_backup(&backup, 0)?;
    let first = backup.sets().first();
    if first.is_some_and(|set| set.page_bytes == 0) {
        let sets = backup.sets().to_vec();
        return Ok(Read::LogSet { sets, logs });
    }
    let mut verdicts = Verdicts::default();
    let pages = backup.pages(0, &mut |id, bytes| verdicts.look(id, bytes))?;
    let mut found = match first.map(|set| set.header.kind) {
        Some(SetKind::Differential) => inspect_differential(&pages, verdicts),
        _ => inspect_database(&pages, verdicts),
    };
    found.sets = backup.sets().to_vec();
    found.set = Some(1);
    backup
        .faults()
        .iter()
        .for_each(|fault| found.container.add(fault.clone()));
    Ok(Read::Database {
        found: Box::new(found),
        logs,
    })
}

/// The file as text, unless it is binary or longer than [`TEXT_BYTES_MAX`].
fn text_of(source: &dyn ReadAt) -> Option<String> {
    if source.len() > TEXT_BYTES_MAX {
        return None;
    }
    let mut bytes = vec![0; usize::try_from(source.len()).ok()?];
    source.read_at(0, &mut bytes).ok()?;
    // A file of zeros is text to UTF-8, and none to a reader.
    decoded(bytes).ok().filter(|text| !text.contains('\0'))
}

/// A snapshot, a recording, or rows of VLFs.
pub(crate) fn read_text(text: &str, name: &str, version: ServerVersion) -> Result<Read, String> {
    if text.contains("id=\"recording\"") {
        return Recording::from_html(text).map(|recording| Read::Recording(Box::new(recording)));
    }
    let snapshot = match Snapshot::is_json_of_one(text) {
        true => Snapshot::from_json(text)?,
        false => of_text(text, name, version).map_err(|error| error.to_string())?,
    };
    Ok(Read::Rows(Box::new(snapshot)))
}
