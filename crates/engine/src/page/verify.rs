//! The structural check of one page, for DBCC CHECKDB.

use super::layout::{PREFIX_BYTES, PageRef, VERSION};
use super::{HEADER_BYTES, PAGE_BYTES, PageBytes, PageId, ROW_GHOST};

/// Everything that is wrong with the page `id`, one sentence each; empty for a sound page. The checksum is not looked at,
/// since a page in memory carries that of its last write.
pub fn verify_page(id: PageId, bytes: &PageBytes) -> Vec<String> {
    let page = PageRef::new(bytes);
    let mut problems = Vec::new();
    if page.version() != VERSION {
        problems.push(format!("page {id}: header version {} is unknown", page.version()));
        return problems;
    }
    if page.id() != id {
        problems.push(format!("page {id}: its header names page {}", page.id()));
    }
    match page.kind() {
        None => problems.push(format!("page {id}: its kind is unknown")),
        Some(kind) if kind.has_rows() => verify_rows(id, page, &mut problems),
        Some(_) => {
            if usize::from(page.free_offset()) != PAGE_BYTES || page.slot_count() != 0 {
                problems.push(format!("page {id}: a page without rows has slots or free space"));
            }
        }
    }
    problems
}

fn verify_rows(id: PageId, page: PageRef<'_>, problems: &mut Vec<String>) {
    let free_offset = usize::from(page.free_offset());
    let slot_bytes = 2 * usize::from(page.slot_count());
    if free_offset < HEADER_BYTES || free_offset + slot_bytes > PAGE_BYTES {
        problems.push(format!(
            "page {id}: {slot_bytes} bytes of slots and rows up to {free_offset} overlap"
        ));
        return;
    }
    let mut spans = Vec::new();
    let mut ghost_count = 0;
    for slot in 0..page.slot_count() {
        match page.locate(slot) {
            Err(damage) => problems.push(format!("page {id}, slot {slot}: {damage}")),
            Ok(None) if page.kind() == Some(super::PageKind::Heap) => {}
            Ok(None) => problems.push(format!("page {id}, slot {slot}: an empty slot in a tree")),
            Ok(Some((start, row_bytes))) => {
                ghost_count += u16::from(page.bytes()[start] & ROW_GHOST);
                spans.push((start - PREFIX_BYTES, start + row_bytes, slot));
            }
        }
    }
    spans.sort_unstable();
    for pair in spans.windows(2) {
        if pair[0].1 > pair[1].0 {
            problems.push(format!(
                "page {id}: the rows of slots {} and {} overlap",
                pair[0].2, pair[1].2
            ));
        }
    }
    let row_bytes: usize = spans.iter().map(|(from, to, _)| to - from).sum();
    let accounted = HEADER_BYTES + row_bytes + usize::from(page.hole_bytes());
    if accounted != free_offset {
        problems.push(format!(
            "page {id}: header, rows and holes add up to {accounted}, the rows end at {free_offset}"
        ));
    }
    if ghost_count != page.ghost_count() {
        let counted = page.ghost_count();
        problems.push(format!("page {id}: {ghost_count} ghosts, its header counts {counted}"));
    }
}
