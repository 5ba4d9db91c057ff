//! RESTORE VERIFYONLY of a backup of SQL Server: every page of a set as it was written, and the log from its first block to its last.
//!
//! Every page that the maps call allocated must be in the set, say that it is the page whose place it has, and have a checksum or torn bits
//! that fit (sql-docs, "RESTORE Statements - VERIFYONLY"); of a differential set, every page in an extent that has changed. Other pages are
//! not checked, because their bytes belong to something else. The checksum of the whole backup is not checked, because SQL Server's
//! algorithm is not published.

use engine::error::{Error, Result};
use engine::instance::ForeignFile;
use genuine::chain::check_log;
use genuine::container::{Backup, BackupPages, LogImage};
use genuine::log::LogReader;
use genuine::page::PAGE_BYTES;
use genuine::verdicts::Verdicts;
use genuine::{Fault, survey};
use vlf::ReadAt;

use super::super::super::Host;
use super::{damaged, set_at};

/// Reads and checks the set at a position. Success is message 3262.
///
/// # Errors
/// 3203 for the first thing that is damaged, and 3189 behind it; 3287 for a set that is not there.
pub(super) fn verify(
    host: &mut dyn Host,
    backup: &Backup<ForeignFile>,
    (path, position, step): (&str, u32, Option<u64>),
) -> Result<()> {
    let at = set_at(backup, position, path)?;
    let found = match backup.faults().first() {
        Some(fault) => Err(fault.clone()),
        None if !backup.sets()[at].is_complete => Err(Fault::whole("the end of the backup set is missing")),
        None => read_set(host, backup, at, step)?,
    };
    if let Err(fault) = found {
        host.message(&damaged(path, &fault))?;
        return Err(Error::damaged_set());
    }
    host.message(&Error::set_is_valid(position))
}

/// What is damaged in the set, if anything is. The outer error is the client's.
fn read_set(
    host: &mut dyn Host,
    backup: &Backup<ForeignFile>,
    at: usize,
    step: Option<u64>,
) -> Result<std::result::Result<(), Fault>> {
    Ok(read_pages(host, backup, at, step)?.and_then(|pages| {
        pages.check_changed()?;
        let faults = survey::pages(&pages, &mut Verdicts::default()).faults;
        faults
            .kept
            .into_iter()
            .next()
            .map_or_else(|| check_set_log(backup, at), Err)
    }))
}

/// Reads the pages of a set, and says after each `step` percent how far it is. The outer error is the client's.
pub(super) fn read_pages<'b>(
    host: &mut dyn Host,
    backup: &'b Backup<ForeignFile>,
    at: usize,
    step: Option<u64>,
) -> Result<std::result::Result<BackupPages<'b, ForeignFile>, Fault>> {
    let all = backup.sets()[at].page_bytes / PAGE_BYTES as u64;
    let (mut seen, mut told) = (0, 0);
    let mut gone = Ok(());
    let mut tell = |seen: u64| {
        while let Some(step) = step
            && told + step <= 100
            && (told + step) * all <= seen * 100
            && gone.is_ok()
        {
            told += step;
            gone = host.message(&Error::percent_processed(told));
        }
    };
    let pages = backup.pages(at, &mut |_, _| {
        seen += 1;
        tell(seen);
    });
    if all == 0 {
        tell(0);
    }
    gone?;
    Ok(pages)
}

/// The log of the set has no gap. Of stripes whose log has no known place, what has one.
fn check_set_log(backup: &Backup<ForeignFile>, at: usize) -> std::result::Result<(), Fault> {
    let logs = backup.logs(at)?;
    match logs.iter().all(|log| log.left_out_bytes() == 0) {
        true => check_log(&backup.sets()[at], &logs),
        false => check_gaps(&logs),
    }
}

fn check_gaps(logs: &[LogImage<'_, ForeignFile>]) -> std::result::Result<(), Fault> {
    for log in logs {
        let extent = LogReader::new(vec![log as &dyn ReadAt]).each(&mut |_| {})?;
        if extent.gaps > 0 {
            let missing = format!("log file {}: log is missing in {} places", log.file_id(), extent.gaps);
            return Err(Fault::whole(missing));
        }
    }
    Ok(())
}
