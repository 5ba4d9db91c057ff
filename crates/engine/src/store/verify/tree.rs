//! Trees: level by level from the root, each page between its separators and its neighbours.

use super::Verdict;
use crate::buffer::DatabaseStorage;
use crate::page::{ObjectId, PageId, PageKind, PageRef};
use crate::store::change::read;
use crate::store::large::LargeCheck;
use crate::store::row::{is_ghost, parse_tree_row};
use crate::store::space::{EXTENT_PAGES, ObjectRoot, extents_of};
use crate::store::tree::root_page;
use std::collections::HashSet;

/// A page as its parent describes it.
struct Expected {
    id: PageId,
    level: u8,
    /// Keys are not below it; `None` = minus infinity.
    low: Option<Vec<u8>>,
    /// Keys are below it; `None` = plus infinity.
    high: Option<Vec<u8>>,
}

/// True when a page was formatted for the object. Unreadable pages count: their check tells what is wrong.
pub fn is_in_use(storage: &DatabaseStorage, id: PageId, object: ObjectId) -> bool {
    match read(storage, id) {
        Ok(page) => page.view().kind().is_some_and(PageKind::has_rows) && page.view().object() == object,
        Err(_) => true,
    }
}

pub fn verify(
    storage: &DatabaseStorage,
    root: ObjectRoot,
    mut large: Option<&mut LargeCheck<'_>>,
    verdict: &mut Verdict,
) {
    let id = root_page(root);
    let Some(level) = verdict.open(storage, root.object, id).map(|page| page.view().level()) else {
        return;
    };
    let mut level_pages = vec![Expected {
        id,
        level,
        low: None,
        high: None,
    }];
    let mut seen = HashSet::new();
    while !level_pages.is_empty() {
        let mut children = Vec::new();
        verify_links(storage, root.object, &level_pages, verdict);
        for expected in level_pages {
            if !seen.insert(expected.id) {
                let text = format!(
                    "Table error: Object ID {}. Page {} has two parents.",
                    root.object, expected.id
                );
                verdict.add(8977, root.object, expected.id, text);
                continue;
            }
            verify_page(
                storage,
                root.object,
                &expected,
                &mut children,
                large.as_deref_mut(),
                verdict,
            );
            if let Some(large) = &mut large {
                large.end_of_page(expected.id, verdict);
            }
        }
        level_pages = children;
    }
    verify_reached(storage, root, &seen, verdict);
}

fn verify_page(
    storage: &DatabaseStorage,
    object: ObjectId,
    expected: &Expected,
    children: &mut Vec<Expected>,
    large: Option<&mut LargeCheck<'_>>,
    verdict: &mut Verdict,
) {
    let id = expected.id;
    let Some(page) = verdict.open(storage, object, id) else {
        return;
    };
    verdict.pages += 1;
    let (view, level) = (page.view(), expected.level);
    let kind = if level > 0 {
        PageKind::TreeBranch
    } else {
        PageKind::TreeLeaf
    };
    if view.level() != level || view.kind() != Some(kind) {
        let found = view.level();
        let text = format!(
            "Table error: Object ID {object}. B-tree level mismatch, page {id}. Level {found} does not match level {level} from the parent."
        );
        verdict.add(8931, object, id, text);
        return;
    }
    verify_keys(object, expected, view, verdict);
    if level == 0 {
        verdict.rows += view.rows().filter(|(_, row)| !is_ghost(row)).count() as u64;
        if let Some(large) = large {
            for (slot, row) in view.rows().filter(|(_, row)| !is_ghost(row)) {
                if let Some((_, payload)) = parse_tree_row(row) {
                    large.row(slot, payload);
                }
            }
        }
    } else {
        collect_children(object, expected, view, children, verdict);
    }
}

/// Keys rise, and lie within what the parent says.
fn verify_keys(object: ObjectId, expected: &Expected, view: PageRef<'_>, verdict: &mut Verdict) {
    let id = expected.id;
    // A branch's first separator stands for minus infinity.
    let first = u16::from(expected.level > 0);
    let mut previous: Option<&[u8]> = None;
    for slot in first..view.slot_count() {
        let Some((key, _)) = view.row(slot).and_then(parse_tree_row) else {
            let text =
                format!("Table error: Object ID {object}, page {id}, row {slot}. Test (its bytes add up) failed.");
            verdict.add(8939, object, id, text);
            continue;
        };
        if previous.is_some_and(|previous| previous >= key) {
            let text = format!(
                "Table error: Object ID {object}. Keys out of order on page {id}, slots {} and {slot}.",
                slot - 1
            );
            verdict.add(2511, object, id, text);
        }
        if expected.low.as_ref().is_some_and(|low| key < &low[..]) {
            let text = format!(
                "Table error: Object ID {object}. The low key value on page {id} is not >= the key value in the parent."
            );
            verdict.add(8933, object, id, text);
        }
        if expected.high.as_ref().is_some_and(|high| key >= &high[..]) {
            let text = format!(
                "Table error: Object ID {object}. The high key value on page {id} is not less than the low key value in the parent of the next page."
            );
            verdict.add(8934, object, id, text);
        }
        previous = Some(key);
    }
}

fn collect_children(
    object: ObjectId,
    expected: &Expected,
    view: PageRef<'_>,
    children: &mut Vec<Expected>,
    verdict: &mut Verdict,
) {
    let separators: Vec<(Vec<u8>, PageId)> = view
        .rows()
        .filter_map(|(_, row)| {
            let (key, child) = parse_tree_row(row)?;
            Some((key.to_vec(), PageId::from_bytes(*child.first_chunk()?)))
        })
        .collect();
    if separators.is_empty() {
        let text = format!(
            "Table error: Object ID {object}, page {}. Test (a branch has children) failed.",
            expected.id
        );
        verdict.add(8939, object, expected.id, text);
    }
    for (index, (key, child)) in separators.iter().enumerate() {
        let next = separators.get(index + 1).map(|(key, _)| key.clone());
        children.push(Expected {
            id: *child,
            level: expected.level - 1,
            low: if index == 0 {
                expected.low.clone()
            } else {
                Some(key.clone())
            },
            high: next.or_else(|| expected.high.clone()),
        });
    }
}

/// The pages of a level, in the order of their parents, are each other's neighbours.
fn verify_links(storage: &DatabaseStorage, object: ObjectId, level: &[Expected], verdict: &mut Verdict) {
    let mut previous = PageId::NONE;
    for (index, expected) in level.iter().enumerate() {
        let next = level.get(index + 1).map_or(PageId::NONE, |next| next.id);
        // A page that cannot be read is reported when its content is checked.
        if let Ok(page) = read(storage, expected.id) {
            let (id, view) = (expected.id, page.view());
            if view.next() != next {
                let found = view.next();
                let text = format!(
                    "Table error: Object ID {object}. B-tree chain linkage mismatch. {id}->next = {found}, but its parent's next child is {next}."
                );
                verdict.add(8936, object, id, text);
            }
            if view.previous() != previous {
                let text = format!(
                    "Table error: Object ID {object}. Page {id} is missing a reference from previous page {previous}. Possible chain linkage problem."
                );
                verdict.add(8978, object, id, text);
            }
        }
        previous = expected.id;
    }
}

/// Every page formatted for the tree was met on the way down.
fn verify_reached(storage: &DatabaseStorage, root: ObjectRoot, seen: &HashSet<PageId>, verdict: &mut Verdict) {
    let Ok(lists) = extents_of(storage, root) else { return };
    for (index, extent) in lists.extents.iter().enumerate() {
        let first = u32::from(lists.lists.binary_search(&index).is_ok());
        for id in (first..EXTENT_PAGES).map(|page| extent.page(page)) {
            if !seen.contains(&id) && is_in_use(storage, id, root.object) {
                let object = root.object;
                let text = format!(
                    "Table error: page {id} allocated to object ID {object} was not seen. The page may be invalid or may have an \
                     incorrect alloc unit ID in its header."
                );
                verdict.add(2533, object, id, text);
            }
        }
    }
}
