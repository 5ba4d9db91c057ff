//! The extents of a database that were written since the last full backup ([`crate::buffer::ChangeMap`]).

use super::Database;
use crate::backup::plan_pages;
use crate::cancel;
use crate::error::Result;
use crate::page::{EXTENT_PAGES, ObjectId, PAGE_BYTES, PageId, PageRef};
use crate::store::Finding;
use std::collections::BTreeMap;

impl Database {
    /// `modified_extent_page_count`: pages in use, by file, of extents that changed since the last full backup, whether they are written already or
    /// not. Nothing without such a backup.
    pub fn modified_pages(&self) -> BTreeMap<u16, u64> {
        let mut counts = BTreeMap::new();
        let storage = &self.storage;
        let Some((_, mut changed)) = storage.files.changes().changed() else {
            return counts;
        };
        storage.pool.each_dirty(storage.id, &mut |page| {
            changed.insert(page);
        });
        for run in plan_pages(storage, &self.space, Some(&changed)) {
            *counts.entry(run.first.file).or_default() += u64::from(run.page_count);
        }
        counts
    }

    /// Every page in use as its file has it: one that was changed since the last full backup must be in an extent that says so. What is damaged
    /// other checks say.
    ///
    /// # Errors
    /// 3617, 823.
    pub(super) fn check_changes(&self) -> Result<Vec<Finding>> {
        let (files, changes) = (&self.storage.files, self.storage.files.changes());
        let mut findings = Vec::new();
        if changes.changed().is_none() {
            return Ok(findings);
        }
        let runs = plan_pages(&self.storage, &self.space, None);
        let longest = runs.iter().map(|run| run.page_count).max().unwrap_or(EXTENT_PAGES);
        let mut buffer = disk::AlignedBuffer::with_len(longest as usize * PAGE_BYTES);
        for run in runs {
            cancel::look()?;
            let bytes = &mut buffer[..run.page_count as usize * PAGE_BYTES];
            let torn = files.copy_run(run.first, bytes)?;
            let (pages, _) = bytes.as_chunks::<PAGE_BYTES>();
            for (page, number) in pages.iter().zip(run.first.page..) {
                let (id, view) = (PageId::new(run.first.file, number), PageRef::new(page));
                if !torn.contains(&id) && changes.lacks(id, view.lsn()) {
                    findings.push(not_marked(id, view.object()));
                }
            }
        }
        Ok(findings)
    }
}

/// 2515. SQL Server's sentence names the index and its partition too.
fn not_marked(page: PageId, object: ObjectId) -> Finding {
    let text = format!(
        "The page {page}, allocation unit ID {object}, has been modified, but is not marked as modified in the differential backup bitmap."
    );
    Finding {
        number: 2515,
        object,
        page,
        text,
    }
}
