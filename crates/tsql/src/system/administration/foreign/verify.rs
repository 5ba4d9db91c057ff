//! RESTORE VERIFYONLY of a backup of SQL Server: every page of a set as it was written, and the log from its first block to its last.
//!
//! A page must say that it is the page whose place it has, and its checksum or its torn bits must fit (sql-docs, "RESTORE Statements - VERIFYONLY").
//! Pages that no table has are not looked at: their bytes are those of something else. The checksum of the backup as a whole is not checked, for
//! how SQL Server computes it is not published.

use engine::error::{Error, Result};
use engine::instance::ForeignFile;
use genuine::Fault;
use genuine::container::Backup;
use genuine::log::LogReader;
use genuine::page::maps::Pfs;
use genuine::page::{PAGE_BYTES, Page, PageId, PageKind};
use vlf::ReadAt;

use super::super::super::Host;
use super::{damaged, set_at};

/// Damaged pages that are looked up in the maps; with more of them the set is damaged anyway.
const SUSPECTS_MAX: usize = 10_000;

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
    let all = backup.sets()[at].page_bytes / PAGE_BYTES as u64;
    let (mut seen, mut told) = (0, 0);
    let mut gone = Ok(());
    let mut suspects = Vec::new();
    let pages = backup.pages(at, &mut |id, bytes| {
        if is_suspect(id, bytes) && suspects.len() < SUSPECTS_MAX {
            suspects.push(id);
        }
        seen += 1;
        while let Some(step) = step
            && told + step <= 100
            && (told + step) * all <= seen * 100
            && gone.is_ok()
        {
            told += step;
            gone = host.message(&Error::percent_processed(told));
        }
    });
    gone?;
    Ok(pages.and_then(|pages| {
        for id in suspects {
            if Pfs::covering(&pages, id)?.byte(id).is_allocated() {
                Page::read(&pages, id)?;
            }
        }
        check_log(backup, at)
    }))
}

/// Whether a page is not as it was written, or not the one that belongs here.
fn is_suspect(id: PageId, bytes: &[u8; PAGE_BYTES]) -> bool {
    let page = Page::of(Box::new(*bytes));
    let is_formatted = page.kind() != PageKind::Other(0);
    page.soundness().is_damaged() || is_formatted && page.id() != id
}

/// The log of the set has no gap.
fn check_log(backup: &Backup<ForeignFile>, at: usize) -> std::result::Result<(), Fault> {
    for log in backup.logs(at)? {
        let extent = LogReader::new(vec![&log as &dyn ReadAt]).each(&mut |_| {})?;
        if extent.gaps > 0 {
            let missing = format!("log file {}: log is missing in {} places", log.file_id(), extent.gaps);
            return Err(Fault::whole(missing));
        }
    }
    Ok(())
}
