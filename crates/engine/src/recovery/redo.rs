//! Redo: every change of the log that its page does not show yet, in the order of the log.
//!
//! A file is grown durably before any page in the new part is used, so every page that the log names exists.

use super::analysis::PROGRESS_RECORDS;
use crate::buffer::{DamagedPages, DatabaseStorage};
use crate::error::{Error, Result};
use crate::log::RecordKind;
use crate::page::Change;
use vlf::Lsn;

/// What redo did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Redone {
    /// Records read.
    pub records: u64,
    /// Changes of pages applied.
    pub applied: u64,
    /// Commit records at or before the end asked for.
    pub committed: u64,
    /// The last record looked at.
    pub last: Lsn,
}

/// Reads the log from `from` and applies what pages lack, up to and including `until` (`Lsn::MAX`: the end of the log).
///
/// Errors: 824 for a page that is damaged and that nothing later in the log makes anew; 9004 for damaged records.
pub fn redo(storage: &DatabaseStorage, from: Lsn, until: Lsn, progress: &mut dyn FnMut(Lsn)) -> Result<Redone> {
    let (redone, damaged) = redo_noting_damage(storage, from, until, progress)?;
    damaged.into_result()?;
    Ok(redone)
}

/// As [`redo`], but leaves it to the caller which damaged pages matter.
pub fn redo_noting_damage(
    storage: &DatabaseStorage,
    from: Lsn,
    until: Lsn,
    progress: &mut dyn FnMut(Lsn),
) -> Result<(Redone, DamagedPages)> {
    let mut redone = Redone::default();
    let mut damaged = DamagedPages::new();
    let mut scan = storage.log.scan(from)?;
    while let Some(record) = scan.next()? {
        if record.lsn > until {
            break;
        }
        redone.records += 1;
        redone.last = record.lsn;
        redone.committed += u64::from(record.header.kind == RecordKind::Commit);
        if matches!(record.header.kind, RecordKind::Change | RecordKind::Compensation) && !record.payload.is_empty() {
            let damage = |what: &str| Error::log_damaged(&storage.name, &format!("record {}: {what}", record.lsn));
            let change = Change::decode(record.payload).map_err(|found| damage(found.0))?;
            redone.applied += storage.pool.redo(storage.id, &change, record.lsn, &mut damaged)? as u64;
        }
        if redone.records % PROGRESS_RECORDS == 0 {
            progress(scan.position());
        }
    }
    Ok((redone, damaged))
}
