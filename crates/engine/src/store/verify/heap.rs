//! Heaps: every page sound, every stub with its row and every row with its stub.

use super::Verdict;
use crate::buffer::DatabaseStorage;
use crate::page::{PageId, PageKind, PageRef};
use crate::store::large::LargeCheck;
use crate::store::row::{HeapRow, Rid, is_ghost, parse_heap_row};
use crate::store::space::{EXTENT_PAGES, ObjectRoot, extents_of};
use std::collections::BTreeMap;

pub fn verify(
    storage: &DatabaseStorage,
    root: ObjectRoot,
    mut large: Option<&mut LargeCheck<'_>>,
    verdict: &mut Verdict,
) {
    // An unreadable list is the allocation check's finding; here it leaves nothing to look at.
    let Ok(lists) = extents_of(storage, root) else { return };
    let mut stubs = BTreeMap::new();
    let mut forwarded = BTreeMap::new();
    for (index, extent) in lists.extents.iter().enumerate() {
        let first = u32::from(lists.lists.binary_search(&index).is_ok());
        for id in (first..EXTENT_PAGES).map(|page| extent.page(page)) {
            if super::tree::is_in_use(storage, id, root.object) {
                let pairs = (&mut stubs, &mut forwarded);
                verify_page(storage, root, id, pairs, large.as_deref_mut(), verdict);
                if let Some(large) = &mut large {
                    large.end_of_page(id, verdict);
                }
            }
        }
    }
    compare_pairs(root, &stubs, &forwarded, verdict);
}

type Pairs = BTreeMap<Rid, Rid>;

fn verify_page(
    storage: &DatabaseStorage,
    root: ObjectRoot,
    id: PageId,
    (stubs, forwarded): (&mut Pairs, &mut Pairs),
    mut large: Option<&mut LargeCheck<'_>>,
    verdict: &mut Verdict,
) {
    let Some(page) = verdict.open(storage, root.object, id) else {
        return;
    };
    verdict.pages += 1;
    if page.view().kind() != Some(PageKind::Heap) {
        let text = format!(
            "Table error: Object ID {}, page {id}. Test (it is a heap page) failed.",
            root.object
        );
        verdict.add(8939, root.object, id, text);
        return;
    }
    for (slot, row) in live_rows(page.view()) {
        let rid = Rid { page: id, slot };
        match parse_heap_row(row) {
            Some(HeapRow::Plain(payload)) => {
                verdict.rows += 1;
                if let Some(large) = &mut large {
                    large.row(slot, payload);
                }
            }
            Some(HeapRow::Stub(target)) => {
                verdict.rows += 1;
                stubs.insert(rid, target);
            }
            Some(HeapRow::Forwarded(stub, payload)) => {
                if let Some(large) = &mut large {
                    large.row(slot, payload);
                }
                forwarded.insert(rid, stub);
            }
            None => {
                let object = root.object;
                let text =
                    format!("Table error: Object ID {object}, page {id}, row {slot}. Test (its bytes add up) failed.");
                verdict.add(8939, object, id, text);
            }
        }
    }
}

fn live_rows(page: PageRef<'_>) -> impl Iterator<Item = (u16, &[u8])> {
    page.rows().filter(|(_, row)| !is_ghost(row))
}

fn compare_pairs(root: ObjectRoot, stubs: &Pairs, forwarded: &Pairs, verdict: &mut Verdict) {
    let object = root.object;
    for (stub, target) in stubs
        .iter()
        .filter(|(stub, target)| forwarded.get(target) != Some(stub))
    {
        let text = format!(
            "Object ID {object}, forwarding row page {}, slot {} points to page {}, slot {}. Did not encounter forwarded row. \
             Possible allocation error.",
            stub.page, stub.slot, target.page, target.slot
        );
        verdict.add(8993, object, stub.page, text);
    }
    for (row, stub) in forwarded.iter().filter(|(row, stub)| stubs.get(stub) != Some(row)) {
        let text = format!(
            "Object ID {object}, forwarded row page {}, slot {} should be pointed to by forwarding row page {}, slot {}. Did \
             not encounter forwarding row. Possible allocation error.",
            row.page, row.slot, stub.page, stub.slot
        );
        verdict.add(8994, object, row.page, text);
    }
}
