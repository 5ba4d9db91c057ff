//! Redo: every change of the log that its page does not show yet, in the order of the log.
//!
//! A file is grown durably before any page in the new part is used, so every page that the log names exists.

use super::analysis::PROGRESS_RECORDS;
use crate::buffer::{DamagedPages, DatabaseStorage};
use crate::error::{Error, Result};
use crate::log::{LogRecord, RecordKind};
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
    let mut redo = Redo::new(storage);
    let mut scan = storage.log.scan(from)?;
    while let Some(record) = scan.next()? {
        if record.lsn > until {
            break;
        }
        redo.meet(&record)?;
        if redo.done.records.is_multiple_of(PROGRESS_RECORDS) {
            progress(scan.position());
        }
    }
    Ok((redo.done, redo.damaged))
}

/// Redo, record by record.
pub(super) struct Redo<'s> {
    storage: &'s DatabaseStorage,
    pub(super) done: Redone,
    pub(super) damaged: DamagedPages,
}

impl<'s> Redo<'s> {
    pub(super) fn new(storage: &'s DatabaseStorage) -> Redo<'s> {
        Redo {
            storage,
            done: Redone::default(),
            damaged: DamagedPages::new(),
        }
    }

    /// Applies what the record's pages lack of it.
    pub(super) fn meet(&mut self, record: &LogRecord<'_>) -> Result<()> {
        let (storage, kind) = (self.storage, record.header.kind);
        self.done.records += 1;
        self.done.last = record.lsn;
        self.done.committed += u64::from(kind == RecordKind::Commit);
        if matches!(kind, RecordKind::Change | RecordKind::Compensation) && !record.payload.is_empty() {
            let damage = |what: &str| Error::log_damaged(&storage.name, &format!("record {}: {what}", record.lsn));
            let change = Change::decode(record.payload).map_err(|found| damage(found.0))?;
            let applied = storage.pool.redo(storage.id, &change, record.lsn, &mut self.damaged)?;
            self.done.applied += applied as u64;
        }
        Ok(())
    }
}
