//! A promised page that belongs to another object or is of another kind is 824 with its name, and nothing is changed on it.
//! Scans in allocation order skip it, and readers without locks get 601.

use super::*;
use crate::error::Error;
use crate::lock::{Mode, Resource};
use crate::page::{PageBytes, PageKind, PageOperation};
use std::ops::Bound;

/// What a page has become behind everybody's back.
fn strangers(own: u32) -> [(PageKind, ObjectId); 3] {
    [
        (PageKind::Heap, ObjectId(77)),
        (PageKind::TreeLeaf, ObjectId(77)),
        (PageKind::ExtentList, ObjectId(own)),
    ]
}

fn replace(bench: &Bench, id: PageId, (kind, object): (PageKind, ObjectId)) -> Box<PageBytes> {
    let operation = PageOperation::Format {
        kind,
        level: 0,
        object,
        next: PageId::NONE,
        previous: PageId::NONE,
    };
    let mut page = change::write(&bench.storage, id).unwrap();
    page.apply(&operation, bench.storage.log.end()).unwrap();
    drop(page);
    bytes(bench, id)
}

fn bytes(bench: &Bench, id: PageId) -> Box<PageBytes> {
    Box::new(*change::read(&bench.storage, id).unwrap().view().bytes())
}

fn is_named(error: &Error, id: PageId) -> bool {
    error.number == 824 && error.message.contains(&id.to_string())
}

/// A reader under READ UNCOMMITTED: all he has is the table's stability.
fn dirty_reader(bench: &Bench) -> LockOwner {
    let locks = bench.owner();
    locks.lock(Resource::Object(DATABASE.0, TABLE), Mode::SchS).unwrap();
    locks
}

/// A heap of three pages whose first row has moved to the last of them.
fn heap_with_a_moved_row(bench: &Bench) -> (Heap, Vec<Rid>, PageId) {
    let heap = bench.heap(1);
    let mut work = bench.begin();
    let rids: Vec<Rid> = (0..16u8)
        .map(|number| {
            heap.insert(&mut bench.ctx(&mut work), &[number; 1_000], Placement::Anywhere)
                .unwrap()
        })
        .collect();
    assert!(heap.update(&mut bench.ctx(&mut work), rids[0], &[100; 6_000]).unwrap());
    bench.commit(work);
    let moved_to = PageId::new(1, rids[15].page.page + 1);
    assert_eq!(rids[0].page.page + 2, moved_to.page);
    (heap, rids, moved_to)
}

#[test]
fn a_row_of_a_heap_is_never_looked_for_on_another_objects_page() {
    for stranger in strangers(1) {
        let bench = Bench::new(64, LogPolicy::native());
        let (heap, rids, _) = heap_with_a_moved_row(&bench);
        let (row, page) = (rids[3], rids[3].page);
        let before = replace(&bench, page, stranger);
        let mut out = Vec::new();
        for mode in [ReadMode::Uncommitted, ReadMode::Committed, ReadMode::Locked(Mode::S)] {
            let read = heap.fetch(&bench.storage, &bench.owner(), mode, row, &mut out);
            assert!(is_named(&read.unwrap_err(), page), "{mode:?}");
        }
        let read = heap.fetch(
            &bench.storage,
            &dirty_reader(&bench),
            ReadMode::Uncommitted,
            row,
            &mut out,
        );
        assert_eq!(read.unwrap_err().number, 601);
        let mut work = bench.begin();
        assert!(is_named(
            &heap.update(&mut bench.ctx(&mut work), row, b"new").unwrap_err(),
            page
        ));
        assert!(is_named(
            &heap.delete(&mut bench.ctx(&mut work), row).unwrap_err(),
            page
        ));
        assert_eq!(bytes(&bench, page), before);
        let rows = heap_rows(&bench, &heap, ReadMode::Committed);
        assert!(
            !rows.is_empty() && rows.keys().all(|rid| rid.page != page),
            "a scan skips what is not its own"
        );
    }
}

#[test]
fn a_stub_never_leads_to_a_row_of_another_object() {
    for stranger in strangers(1) {
        let bench = Bench::new(64, LogPolicy::native());
        let (heap, rids, moved_to) = heap_with_a_moved_row(&bench);
        let before = replace(&bench, moved_to, stranger);
        let scan = |locks: &LockOwner, mode| {
            let mut scan = heap.scan(&bench.storage, locks, mode).unwrap();
            scan.next_page(&mut RowBatch::new()).unwrap_err()
        };
        assert!(is_named(&scan(&bench.owner(), ReadMode::Committed), moved_to));
        assert!(is_named(&scan(&bench.owner(), ReadMode::Uncommitted), moved_to));
        assert_eq!(scan(&dirty_reader(&bench), ReadMode::Uncommitted).number, 601);
        let mut work = bench.begin();
        let updated = heap.update(&mut bench.ctx(&mut work), rids[0], &[1; 7_000]);
        assert!(is_named(&updated.unwrap_err(), moved_to));
        assert_eq!(bytes(&bench, moved_to), before);
    }
}

#[test]
fn a_row_is_never_put_on_another_objects_page() {
    for stranger in strangers(1) {
        let bench = Bench::new(64, LogPolicy::native());
        let (heap, rids, moved_to) = heap_with_a_moved_row(&bench);
        let pages = [rids[15].page, moved_to];
        let before = pages.map(|page| replace(&bench, page, stranger));
        let mut work = bench.begin();
        let inserted = heap
            .insert(&mut bench.ctx(&mut work), b"row", Placement::Anywhere)
            .unwrap_err();
        assert!(pages.iter().any(|page| is_named(&inserted, *page)), "{inserted}");
        assert_eq!(pages.map(|page| bytes(&bench, page)), before);
    }
}

/// A tree of several leaves; the second of them is the one spoilt.
fn tree_and_its_second_leaf(bench: &Bench) -> (Tree, Vec<PageId>) {
    let tree = bench.tree(1);
    let mut work = bench.begin();
    for number in (0..400u32).map(|number| number * 2) {
        assert!(
            tree.insert(&mut bench.ctx(&mut work), &number.to_be_bytes(), &[1; 100])
                .unwrap()
        );
    }
    bench.commit(work);
    let leaves = tree.leaves(&bench.storage).unwrap();
    assert!(leaves.len() > 3);
    (tree, leaves)
}

fn first_key(bench: &Bench, leaf: PageId) -> Vec<u8> {
    let page = change::read(&bench.storage, leaf).unwrap();
    let (key, _) = row::parse_tree_row(page.view().row(0).unwrap()).unwrap();
    key.to_vec()
}

#[test]
fn a_tree_never_reads_or_changes_a_leaf_of_another_object() {
    for stranger in strangers(1) {
        let bench = Bench::new(64, LogPolicy::native());
        let (tree, leaves) = tree_and_its_second_leaf(&bench);
        let (leaf, key) = (leaves[1], first_key(&bench, leaves[1]));
        let before = replace(&bench, leaf, stranger);
        let mut out = Vec::new();
        let read = tree.fetch(&bench.storage, &bench.owner(), ReadMode::Committed, &key, &mut out);
        assert!(is_named(&read.unwrap_err(), leaf));
        let mut work = bench.begin();
        let mut ctx = bench.ctx(&mut work);
        assert!(is_named(&tree.update(&mut ctx, &key, b"new").unwrap_err(), leaf));
        assert!(is_named(&tree.delete(&mut ctx, &key).unwrap_err(), leaf));
        assert!(is_named(
            &tree.insert(&mut ctx, &[&key[..], &[0]].concat(), b"new").unwrap_err(),
            leaf
        ));
        assert_eq!(bytes(&bench, leaf), before);
    }
}

#[test]
fn a_scan_of_a_tree_never_goes_on_into_another_object() {
    for stranger in strangers(1) {
        for is_backward in [false, true] {
            let bench = Bench::new(64, LogPolicy::native());
            let (tree, leaves) = tree_and_its_second_leaf(&bench);
            replace(&bench, leaves[1], stranger);
            let scan = |locks: &LockOwner, mode| {
                let range = (Bound::Unbounded, Bound::Unbounded);
                let mut scan = tree.scan(&bench.storage, locks, mode, range, is_backward);
                let mut batch = TreeBatch::new();
                loop {
                    match scan.next_page(&mut batch) {
                        Ok(goes_on) => assert!(goes_on, "the scan went through"),
                        Err(error) => break error,
                    }
                }
            };
            assert!(is_named(&scan(&bench.owner(), ReadMode::Committed), leaves[1]));
            assert!(is_named(&scan(&bench.owner(), ReadMode::Uncommitted), leaves[1]));
            assert_eq!(scan(&dirty_reader(&bench), ReadMode::Uncommitted).number, 601);
        }
    }
}

/// A split links the new page with its right neighbour: not if that is another object's.
#[test]
fn a_split_never_links_a_page_of_another_object() {
    for stranger in strangers(1) {
        let bench = Bench::new(64, LogPolicy::native());
        let (tree, leaves) = tree_and_its_second_leaf(&bench);
        let (key, before) = (first_key(&bench, leaves[0]), replace(&bench, leaves[1], stranger));
        let mut work = bench.begin();
        let split = (0..100u8).find_map(|number| {
            let key = [&key[..], &[number]].concat();
            tree.insert(&mut bench.ctx(&mut work), &key, &[1; 1_000]).err()
        });
        assert!(is_named(&split.unwrap(), leaves[1]));
        assert_eq!(bytes(&bench, leaves[1]), before);
    }
}

/// Taking back goes by the page a record names: not if that has become another object's.
#[test]
fn a_rollback_never_changes_a_page_of_another_object() {
    for stranger in strangers(1) {
        let bench = Bench::new(64, LogPolicy::native());
        let heap = bench.heap(1);
        let tree = bench.tree(2);
        let mut work = bench.begin();
        let rid = heap
            .insert(&mut bench.ctx(&mut work), b"row", Placement::Anywhere)
            .unwrap();
        let in_heap = work.chain.last;
        tree.insert(&mut bench.ctx(&mut work), b"key", b"row").unwrap();
        let in_tree = work.chain.last;
        for (lsn, page) in [(in_heap, rid.page), (in_tree, tree.root_page())] {
            let record = bench.records().into_iter().find(|record| record.lsn == lsn).unwrap();
            let before = replace(&bench, page, stranger);
            let undone = undo(
                &bench.storage,
                &bench.space,
                &mut work.chain,
                &record,
                &mut super::super::FilledPages::default(),
            );
            assert!(is_named(&undone.unwrap_err(), page));
            assert_eq!(bytes(&bench, page), before);
        }
    }
}
