//! A table of every file of SQL Server below some folders: what it is, and whether it reads as it says of itself. `every_file FOLDER...`
//!
//! ```text
//!   rows        rows that were read, of as many as the catalog says (sysrowsets.rcrows)
//!   pages       with a checksum that fits, with torn bits that fit, with neither, damaged
//!   extents     that the backup set has, of as many as its GAM calls allocated and as have a map
//!   redo        pages built from the log alone, from LOP_FORMAT_PAGE to the last record, that equal those of the data file; others
//! ```
//!
//! Files belong together by what they say: the files of a media set, the data files of one folder of which one is the first, a log whose name
//! begins as its data file's does. The last lines are what failed, and why; the exit code is 1 then.

use genuine::catalog::Catalog;
use genuine::catalog::stored::Compression;
use genuine::chain::{check_log, logs_of};
use genuine::container::{Backup, BackupPages, BackupSet, SetKind, is_backup};
use genuine::log::record::PageChange;
use genuine::log::replay::{PageState, rebuilt};
use genuine::log::{LogReader, LogRecord, Unlogged};
use genuine::page::maps::{Gam, is_place_of_map};
use genuine::recovery::Recovered;
use genuine::survey::{self, PageSurvey};
use genuine::verdicts::Verdicts;
use genuine::{DataFiles, Page, PageId, PageSource};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use vlf::record::{Operation, SqlRecord};
use vlf::{FormatVersion, Lsn, ReadAt};

/// One line of the table.
#[derive(Default)]
struct Line {
    file: String,
    kind: String,
    version: String,
    tables: String,
    rows: String,
    pages: String,
    extents: String,
    log: String,
    redo: String,
    failures: Vec<String>,
}

/// What the files of a folder are.
#[derive(Default)]
struct Found {
    backups: Vec<PathBuf>,
    data: Vec<PathBuf>,
    logs: Vec<PathBuf>,
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut found = Found::default();
    for folder in std::env::args().skip(1) {
        collect(Path::new(&folder), &mut found)?;
    }
    let mut lines = backups(&found.backups)?;
    lines.extend(databases(&found)?);
    println!("| file | what | version | tables | rows | pages | extents | log records | redo |");
    println!("|---|---|---|--:|--:|--:|--:|--:|--:|");
    for line in &lines {
        println!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            line.file, line.kind, line.version, line.tables, line.rows, line.pages, line.extents, line.log, line.redo
        );
    }
    let failed = lines.iter().filter(|line| !line.failures.is_empty()).count();
    println!("\n{} sets, databases and logs; {failed} with a failure", lines.len());
    for line in &lines {
        for failure in &line.failures {
            println!("- {}: {failure}", line.file);
        }
    }
    Ok(ExitCode::from(u8::from(failed > 0)))
}

/// Sorts the files below `folder` by their first bytes.
fn collect(folder: &Path, found: &mut Found) -> Result<(), Box<dyn Error>> {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, found)?;
            continue;
        }
        let bytes = std::fs::read(&path)?;
        let is_first_page = bytes.get(..2) == Some(&[1, 15]);
        match bytes.get(8192..8194) {
            _ if is_backup(&bytes) => found.backups.push(path),
            Some([1, 11]) if is_first_page => found.data.push(path),
            Some(_) if is_first_page => found.logs.push(path),
            _ => {}
        }
    }
    Ok(())
}

fn shown(path: &Path) -> String {
    let parts: Vec<_> = path.iter().rev().take(3).map(|part| part.to_string_lossy()).collect();
    parts.into_iter().rev().collect::<Vec<_>>().join("/")
}

/// The media sets, and each of their backup sets.
fn backups(paths: &[PathBuf]) -> Result<Vec<Line>, Box<dyn Error>> {
    let mut media: Vec<(Vec<PathBuf>, Backup<Vec<u8>>)> = Vec::new();
    let mut lines = Vec::new();
    for path in paths {
        let mut alone = Backup::default();
        let bytes = std::fs::read(path)?;
        let others = media.iter_mut().find_map(|(together, backup)| {
            let lacks_files = !backup.missing_families().1.is_empty();
            (lacks_files && backup.add(bytes.clone()).unwrap_or(false)).then_some(together)
        });
        match others {
            Some(together) => together.push(path.clone()),
            None => match alone.add(bytes) {
                Ok(_) => media.push((vec![path.clone()], alone)),
                Err(fault) => lines.push(Line {
                    file: shown(path),
                    kind: "backup".to_owned(),
                    failures: vec![fault.to_string()],
                    ..Line::default()
                }),
            },
        }
    }
    for (together, backup) in &media {
        for at in 0..backup.sets().len() {
            lines.push(backup_line(together, backup, at));
        }
    }
    Ok(lines)
}

fn kind_of(files: usize, backup: &Backup<Vec<u8>>, at: usize) -> String {
    let set = &backup.sets()[at];
    let mut kind = match set.header.kind {
        SetKind::Full => "full".to_owned(),
        SetKind::Differential => "differential".to_owned(),
        SetKind::Log => "log".to_owned(),
        other @ SetKind::Other(_) => other.to_string(),
    };
    if backup.media().iter().any(|media| media.is_compressed()) {
        kind.push_str(", compressed");
    }
    if files > 1 {
        kind.push_str(&format!(", {files} stripes"));
    }
    if backup.sets().len() > 1 {
        kind.push_str(&format!(", set {} of {}", at + 1, backup.sets().len()));
    }
    let data_files = set.configuration.files.iter().filter(|file| !file.is_log()).count();
    if data_files > 1 {
        kind.push_str(&format!(", {data_files} data files"));
    }
    kind
}

fn backup_line(files: &[PathBuf], backup: &Backup<Vec<u8>>, at: usize) -> Line {
    let set = &backup.sets()[at];
    let (major, minor, build) = set.configuration.server_version;
    let mut line = Line {
        file: shown(&files[0]),
        kind: kind_of(files.len(), backup, at),
        version: format!("{major}.{minor}.{build} ({})", set.configuration.database_version),
        failures: backup.faults().iter().map(ToString::to_string).collect(),
        ..Line::default()
    };
    match backup.pages(at, &mut |_, _| {}) {
        Ok(pages) if set.page_bytes > 0 => set_with_pages(&mut line, backup, at, &pages),
        Ok(_) => {}
        Err(fault) => line.failures.push(fault.to_string()),
    }
    match logs_of(backup, at) {
        Ok(logs) => {
            let sources = logs.iter().map(|log| log as &dyn ReadAt).collect();
            count_log(&mut line, &LogReader::new(sources));
            if let Err(fault) = check_log(set, &logs) {
                line.failures.push(fault.to_string());
            }
        }
        Err(fault) => line.failures.push(fault.to_string()),
    }
    line
}

fn set_with_pages(line: &mut Line, backup: &Backup<Vec<u8>>, at: usize, pages: &BackupPages<'_, Vec<u8>>) {
    note_pages(line, &survey::pages(pages, &mut Verdicts::default()));
    let set: &BackupSet = &backup.sets()[at];
    if set.header.kind != SetKind::Full {
        line.extents = pages.extents().count().to_string();
        if let Err(fault) = pages.check_changed() {
            line.failures.push(fault.to_string());
        }
        return;
    }
    let (mut allocated, mut both) = (0u64, 0u64);
    for file in pages.files() {
        for first in (0..file.pages).step_by(8).map(|page| PageId::new(file.id, page)) {
            let has_map = (0..8).any(|page| is_place_of_map(PageId::new(first.file, first.page + page)));
            if has_map || Gam::covering(pages, first).is_ok_and(|gam| gam.is_allocated(first)) {
                allocated += 1;
                both += u64::from(pages.has(first));
            }
        }
    }
    let in_set = pages.extents().count() as u64;
    line.extents = format!("{in_set} of {allocated}");
    if in_set != allocated || both != allocated {
        line.failures.push(format!(
            "{in_set} extents, of which {both} are among the {allocated} allocated ones"
        ));
    }
    let logs = backup.logs(at).unwrap_or_default();
    let log = LogReader::new(logs.iter().map(|log| log as &dyn ReadAt).collect());
    match Recovered::open(pages, &log) {
        Ok(recovered) => {
            let done = recovered.done();
            line.redo = format!("{} done, {} undone", done.records_redone, done.records_undone);
            note_tables(line, &recovered);
        }
        Err(fault) => line.failures.push(fault.to_string()),
    }
}

fn note_pages(line: &mut Line, found: &PageSurvey) {
    let sum = |count: fn(&survey::FileSurvey) -> u64| found.files.iter().map(count).sum::<u64>();
    line.pages = format!(
        "{} + {} + {}, {} damaged",
        sum(|file| file.checksummed),
        sum(|file| file.torn_bits),
        sum(|file| file.unprotected),
        found.faults.count
    );
    let faults = found.faults.kept.iter().take(3).map(ToString::to_string);
    line.failures.extend(faults);
}

/// Rows of each table, counted and compared.
fn note_tables(line: &mut Line, source: &dyn PageSource) {
    let catalog = match Catalog::open(source) {
        Ok(catalog) => catalog,
        Err(fault) => return line.failures.push(fault.to_string()),
    };
    let boot = &catalog.boot;
    line.version = format!(
        "{} ({} from {})",
        boot.version.release(),
        boot.version.0,
        boot.created_version.0
    );
    line.tables = catalog.tables.len().to_string();
    let (mut rows, mut said) = (0, 0);
    for (table, found) in catalog
        .tables
        .iter()
        .zip(survey::tables(source, &catalog, &Verdicts::default()))
    {
        rows += found.rows;
        said += table.catalog_rows();
        let compressed = table
            .rowsets
            .iter()
            .any(|rowset| rowset.compression != Compression::None);
        if compressed && !line.kind.contains("compressed rows") {
            line.kind.push_str(", compressed rows");
        }
        if let Some(reason) = table.unreadable {
            line.failures.push(format!("{}: {reason}", table.name));
        }
        if let Some(fault) = found.faults.kept.first() {
            line.failures
                .push(format!("{}: {} faults, {fault}", table.name, found.faults.count));
        }
        if i64::try_from(found.rows) != Ok(table.catalog_rows()) {
            line.failures.push(format!(
                "{}: {} rows of {}",
                table.name,
                found.rows,
                table.catalog_rows()
            ));
        }
    }
    line.rows = format!("{rows} of {said}");
}

fn count_log(line: &mut Line, log: &LogReader<'_>) {
    let mut unlogged = Unlogged::default();
    match log.each(&mut |record| unlogged.add(record)) {
        Ok(extent) => {
            line.log = extent.records.to_string();
            if unlogged.unformatted_extents() + unlogged.marked_extents() > 0 {
                let (allocated, marked) = (unlogged.unformatted_extents(), unlogged.marked_extents());
                line.log
                    .push_str(&format!(", {allocated} + {marked} extents without pages"));
            }
            if extent.unread > 0 {
                line.log.push_str(&format!(", {} of 2000", extent.unread));
            }
            if extent.gaps > 0 {
                line.failures.push(format!("log is missing in {} places", extent.gaps));
            }
        }
        Err(fault) => line.failures.push(fault.to_string()),
    }
}

/// Data files with what belongs to them, and the logs that are left.
fn databases(found: &Found) -> Result<Vec<Line>, Box<dyn Error>> {
    let mut lines = Vec::new();
    let mut with_data: Vec<&PathBuf> = Vec::new();
    for path in &found.data {
        let stem = stem_of(path);
        let beside = |log: &&PathBuf| log.parent() == path.parent() && stem_of(log).starts_with(&stem);
        let logs: Vec<&PathBuf> = found.logs.iter().filter(beside).collect();
        // One that is longer by a name of its own belongs to a data file of that name.
        let log = logs.into_iter().min_by_key(|log| stem_of(log).len());
        with_data.extend(log);
        lines.push(data_line(path, log)?);
    }
    for path in found.logs.iter().filter(|path| !with_data.contains(path)) {
        let bytes = std::fs::read(path)?;
        let mut line = Line {
            file: shown(path),
            kind: "log alone".to_owned(),
            ..Line::default()
        };
        let log = LogReader::new(vec![&bytes]);
        line.version = version_of(&log).map_or_else(String::new, |version| format!("({version})"));
        count_log(&mut line, &log);
        lines.push(line);
    }
    Ok(lines)
}

fn stem_of(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().to_lowercase()
}

/// The version of the database, as checkpoints say it.
fn version_of(log: &LogReader<'_>) -> Option<u16> {
    /// LOP_BEGIN_CKPT.
    const BEGIN_CHECKPOINT: u8 = 150;
    let mut version = None;
    let read = log.each(&mut |record| {
        let header = SqlRecord::decode(record.format, record.bytes);
        if header.is_some_and(|header| header.operation == Operation(BEGIN_CHECKPOINT)) {
            version = record
                .bytes
                .get(42..44)
                .map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
        }
    });
    read.ok().and(version)
}

fn data_line(path: &Path, log: Option<&PathBuf>) -> Result<Line, Box<dyn Error>> {
    let mut line = Line {
        file: shown(path),
        kind: if log.is_some() {
            "data file and log"
        } else {
            "data file"
        }
        .to_owned(),
        ..Line::default()
    };
    let files = match DataFiles::open(vec![std::fs::read(path)?]) {
        Ok(files) => files,
        Err(fault) => {
            line.failures.push(fault.to_string());
            return Ok(line);
        }
    };
    note_pages(&mut line, &survey::pages(&files, &mut Verdicts::default()));
    let Some(log) = log else {
        note_tables(&mut line, &files);
        return Ok(line);
    };
    let bytes = std::fs::read(log)?;
    let log = LogReader::new(vec![&bytes]);
    count_log(&mut line, &log);
    match Recovered::open(&files, &log) {
        Ok(recovered) => note_tables(&mut line, &recovered),
        Err(fault) => {
            note_tables(&mut line, &files);
            line.failures.push(fault.to_string());
        }
    }
    note_redo(&mut line, &files, &log);
    Ok(line)
}

type Kept = (Lsn, FormatVersion, Vec<u8>);

/// Builds every page that the log formats, and compares its rows with those in the file.
fn note_redo(line: &mut Line, files: &dyn PageSource, log: &LogReader<'_>) {
    let mut records: BTreeMap<PageId, Vec<Kept>> = BTreeMap::new();
    let read = log.each(&mut |record| {
        if let Some(change) = PageChange::read(record) {
            let kept = (record.lsn, record.format, record.bytes.to_vec());
            records.entry(change.page).or_default().push(kept);
        }
    });
    if let Err(fault) = read {
        return line.failures.push(fault.to_string());
    }
    let (mut equal, mut different) = (0, 0);
    for (id, kept) in &records {
        let Ok(page) = Page::read(files, *id) else { continue };
        match is_rebuilt(&page, kept) {
            Some(true) => equal += 1,
            Some(false) => {
                different += 1;
                line.failures.push(format!("page {id} is not what its log makes of it"));
            }
            None => {}
        }
    }
    line.redo = format!("{equal} equal, {different} not");
}

/// Whether the page is what the log makes of it; `None` if the log does not have all of it.
fn is_rebuilt(page: &Page, kept: &[Kept]) -> Option<bool> {
    let changes: Vec<PageChange<'_>> = kept
        .iter()
        .filter_map(|(lsn, format, bytes)| {
            PageChange::read(LogRecord {
                lsn: *lsn,
                format: *format,
                bytes,
            })
        })
        .take_while(|change| change.lsn <= page.lsn())
        .collect();
    let replayed = rebuilt(&changes).filter(|_| changes.last().is_some_and(|last| last.lsn == page.lsn()))?;
    let stored = PageState::of(page);
    let mut rows = replayed.rows().zip(stored.rows());
    let is_same = rows.all(|rows| match rows {
        (Some(replayed), Some(stored)) => stored.starts_with(replayed) || replayed.starts_with(stored),
        (replayed, stored) => replayed.is_none() && stored.is_none(),
    });
    Some(is_same && replayed.rows().count() == stored.rows().count())
}
