//! Copying the pages of the extents in use, while they change.

use super::Progress;
use super::format::ChunkKind;
use super::writer::{Payload, SetWriter};
use crate::buffer::{DatabaseStorage, ExtentSet, is_change_map};
use crate::error::{Error, Result};
use crate::ordered::Ordered;
use crate::page::{PAGE_BYTES, PageBytes, PageId, seal};
use crate::store::{BOOT_PAGES, PageRun, SpaceMap};
use std::sync::Arc;

/// Pages of one chunk.
const RUN_PAGES: u32 = 128;
/// Reads in flight.
const READERS: usize = 4;
/// Runs read or being read before they are wanted.
const RUNS_AHEAD: usize = 8;

/// Every run of pages in use, in the order of files; none is longer than a chunk. With `changed`, of these extents alone.
pub fn plan_pages(storage: &DatabaseStorage, space: &SpaceMap, changed: Option<&ExtentSet>) -> Vec<PageRun> {
    let is_wanted = |first: PageId| changed.is_none_or(|changed| changed.contains(first));
    let files = storage.files.file_ids().into_iter();
    files
        .flat_map(|file| space.runs_in_use(file, storage.files.page_count(file), RUN_PAGES, &is_wanted))
        .collect()
}

/// Copies the runs into the set. Answers the pages copied of each file. Reads run ahead of the copying.
///
/// A page that a session is just writing may be read torn. Then the pool has it, and its copy there is taken.
///
/// # Errors
/// 3043 for a page that is damaged, 3202.
pub fn copy_pages(
    storage: &Arc<DatabaseStorage>,
    runs: &[PageRun],
    set: &mut SetWriter,
    progress: &mut Progress<'_, '_>,
) -> Result<Vec<(u16, u64)>> {
    let mut counts: Vec<(u16, u64)> = storage.files.file_ids().into_iter().map(|file| (file, 0)).collect();
    let mut reads = Ordered::new(storage.env.background, "backup-read", READERS, || {
        let storage = storage.clone();
        move |(run, payload): (PageRun, Payload)| read_run(&storage, run, payload)
    });
    let mut left = runs.iter();
    loop {
        while reads.under_way() < RUNS_AHEAD
            && let Some(run) = left.next()
        {
            reads.submit((*run, set.payload()));
        }
        let Some(read) = reads.next() else { break };
        let (run, payload) = read?;
        let bytes = payload.len as u64;
        let address = u64::from(run.first.file) << 32 | u64::from(run.first.page);
        set.append(ChunkKind::Pages, address, payload)?;
        if let Some(count) = counts.iter_mut().find(|(file, _)| *file == run.first.file) {
            count.1 += u64::from(run.page_count);
        }
        progress.add(bytes)?;
    }
    Ok(counts)
}

/// Reads a run of pages, each of them whole.
fn read_run(storage: &DatabaseStorage, run: PageRun, mut payload: Payload) -> Result<(PageRun, Payload)> {
    payload.len = run.page_count as usize * PAGE_BYTES;
    let bytes = &mut payload.buffer[..payload.len];
    for torn in storage.files.copy_run(run.first, bytes)? {
        let place = (torn.page - run.first.page) as usize * PAGE_BYTES;
        let page = &mut bytes[place..place + PAGE_BYTES];
        match BOOT_PAGES.contains(&torn) || is_change_map(torn) {
            // The pool never holds these; a restore makes its own.
            true => page.fill(0),
            false => page.copy_from_slice(&copy_from_pool(storage, torn)?[..]),
        }
    }
    Ok((run, payload))
}

fn copy_from_pool(storage: &DatabaseStorage, id: PageId) -> Result<Box<PageBytes>> {
    let read = storage.pool.read(storage.id, id).map_err(|error| {
        storage.env.errorlog.write_error("Backup", &error);
        Error::page_not_backed_up(&storage.name, &id.to_string(), &storage.files.path_text(id.file))
    })?;
    let mut page: Box<PageBytes> = Box::new([0; PAGE_BYTES]);
    page.copy_from_slice(&read[..]);
    seal(&mut page);
    Ok(page)
}
