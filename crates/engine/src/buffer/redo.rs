//! Redo of one log record on its pages.

use super::{BufferPool, DatabaseId, PageWrite};
use crate::error::{Error, Result};
use crate::page::{Change, PageId};
use std::collections::BTreeMap;
use vlf::Lsn;

/// Pages redo could not read, or whose change did not fit, and why. Not yet an error: a page that was made again later in the log
/// may have been torn when the power went, and is made again by redo as well.
#[derive(Debug, Default)]
pub struct DamagedPages(BTreeMap<PageId, Error>);

impl DamagedPages {
    /// None.
    pub fn new() -> DamagedPages {
        DamagedPages::default()
    }

    /// Forgets pages that do not matter.
    pub fn retain(&mut self, matters: impl Fn(PageId) -> bool) {
        self.0.retain(|id, _| matters(*id));
    }

    /// At the end of redo: the first page that nothing made whole.
    ///
    /// # Errors
    /// That page's error, 824.
    pub fn into_result(self) -> Result<()> {
        self.0.into_values().next().map_or(Ok(()), Err)
    }
}

/// The page of the entries being redone.
enum Target<'p> {
    /// Older than the record: its operations are to be applied.
    Behind(PageWrite<'p>),
    /// Has the record's change already, or is damaged.
    Left,
}

impl BufferPool {
    /// Applies those entries of a logged change that their pages lack. Whether a page lacks the record is decided once, by the
    /// page's LSN before the record's first entry for it. Returns how many operations were applied.
    ///
    /// # Errors
    /// Anything but damaged pages, which are noted in `damaged`.
    pub fn redo(
        &self,
        database: DatabaseId,
        change: &Change<'_>,
        lsn: Lsn,
        damaged: &mut DamagedPages,
    ) -> Result<usize> {
        let mut applied = 0;
        let mut current: Option<(PageId, Target<'_>)> = None;
        for entry in change.entries() {
            let (id, operation) = entry.map_err(|found| Error::log_damaged(&database.to_string(), found.0))?;
            if current.as_ref().is_none_or(|(page, _)| *page != id) {
                // The former page is let go before the next is fixed, as the order of latches asks.
                drop(current.take());
                let target = self.redo_target(database, id, operation.replaces_page(), lsn, damaged)?;
                current = Some((id, target));
            }
            let Some((_, Target::Behind(page))) = &mut current else {
                continue;
            };
            match page.apply(&operation, lsn) {
                Ok(()) => applied += 1,
                Err(error) if error.number == 824 => {
                    damaged.0.insert(id, error);
                    current = Some((id, Target::Left));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(applied)
    }

    fn redo_target(
        &self,
        database: DatabaseId,
        id: PageId,
        replaces_page: bool,
        lsn: Lsn,
        damaged: &mut DamagedPages,
    ) -> Result<Target<'_>> {
        let fixed = match replaces_page {
            true => self.fresh(database, id),
            false if damaged.0.contains_key(&id) => return Ok(Target::Left),
            false => self.write(database, id),
        };
        let page = match fixed {
            Ok(page) => page,
            Err(error) if error.number == 824 => {
                damaged.0.insert(id, error);
                return Ok(Target::Left);
            }
            Err(error) => return Err(error),
        };
        if replaces_page {
            damaged.0.remove(&id);
        }
        Ok(if page.view().lsn() < lsn {
            Target::Behind(page)
        } else {
            Target::Left
        })
    }
}
