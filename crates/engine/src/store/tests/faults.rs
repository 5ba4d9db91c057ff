//! The errors that `DBCC CHECKDB` finds on damaged pages, and the state after a full log.

use super::*;
use crate::page::{PageKind, PageOperation};

/// Writes an operation on a page behind everybody's back.
fn spoil(bench: &Bench, id: PageId, operation: &PageOperation<'_>) {
    let mut page = change::write(&bench.storage, id).unwrap();
    let lsn = bench.storage.log.end();
    page.apply(operation, lsn).unwrap();
}

fn numbers(findings: &[Finding]) -> std::collections::BTreeSet<i32> {
    findings.iter().map(|finding| finding.number).collect()
}

fn grown_tree(bench: &Bench) -> Tree {
    let tree = bench.tree(1);
    let mut work = bench.begin();
    for number in 0..400u32 {
        assert!(
            tree.insert(&mut bench.ctx(&mut work), &number.to_be_bytes(), &[1; 100])
                .unwrap()
        );
    }
    bench.commit(work);
    bench.assert_sound(&[(tree.root(), ObjectKind::Tree)]);
    tree
}

#[test]
fn keys_out_of_order_and_broken_links_are_found() {
    let bench = Bench::new(64, LogPolicy::native());
    let tree = grown_tree(&bench);
    let leaf = PageId::new(1, tree.root_page().page + 1);
    let none = PageId::NONE.to_bytes();
    let (key_at, high) = (3, 0xFFu8);
    spoil(
        &bench,
        leaf,
        &PageOperation::PatchRow {
            slot: 5,
            offset: key_at,
            before: &[0],
            after: &[high],
        },
    );
    let findings = verify_object(&bench.storage, tree.root(), ObjectKind::Tree, None).findings;
    assert_eq!(numbers(&findings), [2511, 8934].into());
    spoil(
        &bench,
        leaf,
        &PageOperation::PatchRow {
            slot: 5,
            offset: key_at,
            before: &[high],
            after: &[0],
        },
    );
    spoil(
        &bench,
        leaf,
        &PageOperation::SetBytes {
            offset: 36,
            before: &[],
            after: &none,
        },
    );
    let findings = verify_object(&bench.storage, tree.root(), ObjectKind::Tree, None).findings;
    assert_eq!(numbers(&findings), [8936].into());
    assert_eq!(findings[0].page, leaf);
}

#[test]
fn a_lost_leaf_and_a_page_of_another_object_are_found_and_never_believed() {
    let bench = Bench::new(64, LogPolicy::native());
    let tree = grown_tree(&bench);
    spoil(
        &bench,
        tree.root_page(),
        &PageOperation::RemoveShift { slot: 2, before: &[] },
    );
    let findings = verify_object(&bench.storage, tree.root(), ObjectKind::Tree, None).findings;
    assert!(numbers(&findings).contains(&2533), "{findings:?}");
    let leaf = PageId::new(1, tree.root_page().page + 1);
    let foreign = PageOperation::Format {
        kind: PageKind::TreeLeaf,
        level: 0,
        object: ObjectId(77),
        next: PageId::NONE,
        previous: PageId::NONE,
    };
    spoil(&bench, leaf, &foreign);
    let findings = verify_object(&bench.storage, tree.root(), ObjectKind::Tree, None).findings;
    assert!(numbers(&findings).contains(&2534), "{findings:?}");
    let locks = bench.owner();
    let mut row = Vec::new();
    let outcome = tree.fetch(
        &bench.storage,
        &locks,
        ReadMode::Uncommitted,
        &0u32.to_be_bytes(),
        &mut row,
    );
    assert_eq!(outcome.unwrap_err().number, 824);
}

#[test]
fn a_branch_that_leads_back_to_itself_is_an_error_and_not_a_loop() {
    let bench = Bench::new(64, LogPolicy::native());
    let tree = grown_tree(&bench);
    let root = tree.root_page();
    let first = change::read(&bench.storage, root)
        .unwrap()
        .view()
        .row(0)
        .unwrap()
        .to_vec();
    let mut loops = first[..first.len() - 6].to_vec();
    loops.extend_from_slice(&root.to_bytes());
    spoil(
        &bench,
        root,
        &PageOperation::ReplaceRow {
            slot: 0,
            before: &[],
            after: &loops,
        },
    );
    let locks = bench.owner();
    let outcome = tree.fetch(
        &bench.storage,
        &locks,
        ReadMode::Uncommitted,
        &0u32.to_be_bytes(),
        &mut Vec::new(),
    );
    assert!(outcome.is_err());
}

#[test]
fn a_stub_without_its_row_is_found() {
    let bench = Bench::new(64, LogPolicy::native());
    let heap = bench.heap(1);
    let mut work = bench.begin();
    let rids: Vec<Rid> = (0..2)
        .map(|_| {
            heap.insert(&mut bench.ctx(&mut work), &[1; 3_900], Placement::Anywhere)
                .unwrap()
        })
        .collect();
    assert!(heap.update(&mut bench.ctx(&mut work), rids[0], &[2; 7_000]).unwrap());
    bench.commit(work);
    bench.assert_sound(&[(heap.root(), ObjectKind::Heap)]);
    let row = change::read(&bench.storage, rids[0].page)
        .unwrap()
        .view()
        .row(rids[0].slot)
        .unwrap()
        .to_vec();
    let target = Rid::from_bytes(&row[1..]).unwrap();
    spoil(
        &bench,
        target.page,
        &PageOperation::RemoveAt {
            slot: target.slot,
            before: &[],
        },
    );
    let findings = verify_object(&bench.storage, heap.root(), ObjectKind::Heap, None).findings;
    assert_eq!(numbers(&findings), [8993].into());
    let locks = bench.owner();
    let outcome = heap.fetch(&bench.storage, &locks, ReadMode::Uncommitted, rids[0], &mut Vec::new());
    assert_eq!(outcome.unwrap_err().number, 824);
}

#[test]
fn a_full_log_refuses_the_change_and_rolls_back_all_the_same() {
    let bench = Bench::with_log_limit(32, 1 << 20);
    let (heap, tree) = (bench.heap(1), bench.tree(2));
    let mut work = bench.begin();
    let mut random = Random(5);
    let error = loop {
        let row = random.row();
        let key = random.next().to_be_bytes();
        let outcome = heap
            .insert(&mut bench.ctx(&mut work), &row, Placement::Anywhere)
            .and_then(|_| tree.insert(&mut bench.ctx(&mut work), &key, &row));
        if let Err(error) = outcome {
            break error;
        }
    };
    assert!(error.is_log_full(), "{error}");
    bench.roll_back(work);
    assert!(heap_rows(&bench, &heap, ReadMode::Committed).is_empty());
    assert!(tree_model::tree_rows(&bench, &tree, ReadMode::Committed, false).is_empty());
    bench.assert_sound(&[(heap.root(), ObjectKind::Heap), (tree.root(), ObjectKind::Tree)]);
}
