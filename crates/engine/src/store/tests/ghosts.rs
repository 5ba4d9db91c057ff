//! Freeing space: ghosts are cleaned, pages and extents are freed, and other sessions see correct data meanwhile.

use super::tree_model::tree_rows;
use super::*;
use crate::error::Error;
use crate::page::PAGE_BYTES;
use crate::store::ghosts::relieve;
use crate::store::space::ObjectSpace;
use std::ops::Bound;

const NO_BUDGET: usize = 1_000_000;

fn number_key(number: u32) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

fn reserved_pages(bench: &Bench) -> u64 {
    bench.space.used_pages(1)
}

fn space_of(bench: &Bench, object: ObjectId) -> Arc<ObjectSpace> {
    let open = bench.space.open_objects();
    open.into_iter().find(|space| space.root().object == object).unwrap()
}

fn clean(bench: &Bench) -> Cleaned {
    bench.space.clean(&bench.storage, NO_BUDGET).unwrap()
}

/// 500 rows in, 500 out, 50 times: the third round's pages are enough for all that follow.
#[test]
fn a_heap_of_constant_size_keeps_its_pages() {
    let bench = Bench::new(64, LogPolicy::native());
    let heap = bench.heap(1);
    let row = vec![7u8; 900];
    let mut pages = Vec::new();
    for _ in 0..50 {
        let mut work = bench.begin();
        for _ in 0..500 {
            heap.insert(&mut bench.ctx(&mut work), &row, Placement::Anywhere)
                .unwrap();
        }
        bench.commit(work);
        let mut work = bench.begin();
        for rid in heap_rows(&bench, &heap, ReadMode::Committed).into_keys() {
            assert!(heap.delete(&mut bench.ctx(&mut work), rid).unwrap());
        }
        bench.commit(work);
        clean(&bench);
        pages.push(reserved_pages(&bench));
    }
    assert!(pages[3..].iter().all(|now| *now <= pages[2]), "{pages:?}");
    assert!(pages[49] <= 16, "{pages:?}");
    bench.assert_sound(&[(heap.root(), ObjectKind::Heap)]);
    bench.assert_redo_makes_the_same_pages();
}

/// Keys that only grow, in at one end and out at the other: leaves leave, branches with them, and extents go back to the file.
#[test]
fn a_queue_in_a_tree_keeps_its_pages() {
    let bench = Bench::new(64, LogPolicy::native());
    let tree = bench.tree(1);
    let row = vec![7u8; 900];
    let mut pages = Vec::new();
    for round in 0..50u32 {
        let mut work = bench.begin();
        for number in round * 500..(round + 1) * 500 {
            assert!(
                tree.insert(&mut bench.ctx(&mut work), &number_key(number), &row)
                    .unwrap()
            );
        }
        bench.commit(work);
        let mut work = bench.begin();
        for number in (round * 500).saturating_sub(100)..(round + 1) * 500 - 100 {
            let was_there = tree.delete(&mut bench.ctx(&mut work), &number_key(number)).unwrap();
            assert!(was_there, "round {round}, key {number}");
        }
        bench.commit(work);
        clean(&bench);
        pages.push(reserved_pages(&bench));
    }
    assert!(pages[3..].iter().all(|now| *now <= pages[2] + 8), "{pages:?}");
    assert_eq!(tree_rows(&bench, &tree, ReadMode::Committed, false).len(), 100);
    bench.assert_sound(&[(tree.root(), ObjectKind::Tree)]);
    bench.assert_redo_makes_the_same_pages();
}

/// Long keys make many branches. With all rows gone the tree is its root, a way down and one leaf.
#[test]
fn a_tree_of_several_levels_is_given_back_but_for_its_last_leaf() {
    let bench = Bench::new(256, LogPolicy::native());
    let tree = bench.tree(1);
    let key = |number: u32| {
        let mut key = number_key(number);
        key.resize(900, b'k');
        key
    };
    let mut work = bench.begin();
    for number in 0..2_000 {
        // From both ends and the middle, so that all kinds of splits occur.
        let number = number * 7_919 % 2_000;
        tree.insert(&mut bench.ctx(&mut work), &key(number), &[1; 900]).unwrap();
    }
    bench.commit(work);
    let full = reserved_pages(&bench);
    let mut work = bench.begin();
    for number in 0..2_000 {
        tree.delete(&mut bench.ctx(&mut work), &key(number * 4_001 % 2_000))
            .unwrap();
    }
    assert_eq!(clean(&bench).pages_freed, 0, "the deletions may be undone");
    bench.commit(work);
    while clean(&bench).pages > 0 {}
    bench.assert_sound(&[(tree.root(), ObjectKind::Tree)]);
    assert!(
        full > 900 && reserved_pages(&bench) <= 48,
        "{full}, {}",
        reserved_pages(&bench)
    );
    let physical = tree.physical(&bench.storage, PhysicalMode::Detailed).unwrap();
    assert!(physical.levels.iter().all(|level| level.pages == 1), "{physical:?}");
    assert_eq!(physical.levels[0].contents.unwrap().ghosts, 0);
    let mut work = bench.begin();
    for number in (0..2_000).rev() {
        assert!(tree.insert(&mut bench.ctx(&mut work), &key(number), &[2; 300]).unwrap());
    }
    bench.commit(work);
    assert_eq!(tree_rows(&bench, &tree, ReadMode::Committed, true).len(), 2_000);
    bench.assert_sound(&[(tree.root(), ObjectKind::Tree)]);
    bench.assert_redo_makes_the_same_pages();
}

/// A transaction that deletes keeps every ghost of its own, whatever the cleaner does around it, and finds the rows again.
#[test]
fn deletions_are_undone_after_the_cleaner_has_been_by() {
    let bench = Bench::new(64, LogPolicy::native());
    let (tree, heap) = (bench.tree(1), bench.heap(2));
    let row = vec![5u8; 700];
    let mut work = bench.begin();
    let mut rids = Vec::new();
    for number in 0..400 {
        tree.insert(&mut bench.ctx(&mut work), &number_key(number), &row)
            .unwrap();
        rids.push(
            heap.insert(&mut bench.ctx(&mut work), &row, Placement::Anywhere)
                .unwrap(),
        );
    }
    bench.commit(work);
    let mut committed = bench.begin();
    let mut open = bench.begin();
    for number in 0..400u32 {
        // Whole leaves of one and of the other, and leaves of both.
        let work = match number / 50 % 3 {
            0 => &mut committed,
            1 => &mut open,
            _ if number % 2 == 0 => &mut committed,
            _ => &mut open,
        };
        tree.delete(&mut bench.ctx(work), &number_key(number)).unwrap();
        heap.delete(&mut bench.ctx(work), rids[number as usize]).unwrap();
    }
    bench.commit(committed);
    clean(&bench);
    bench.roll_back(open);
    let mine = |number: &u32| number / 50 % 3 == 1 || number / 50 % 3 == 2 && number % 2 == 1;
    let expected: Vec<Vec<u8>> = (0..400).filter(mine).map(number_key).collect();
    let found = tree_rows(&bench, &tree, ReadMode::Committed, false);
    assert_eq!(found.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>(), expected);
    assert_eq!(heap_rows(&bench, &heap, ReadMode::Committed).len(), expected.len());
    clean(&bench);
    assert_eq!(
        tree_rows(&bench, &tree, ReadMode::Committed, true).len(),
        expected.len()
    );
    bench.assert_sound(&[(tree.root(), ObjectKind::Tree), (heap.root(), ObjectKind::Heap)]);
    bench.assert_redo_makes_the_same_pages();
}

/// Leaves go while scans stand between them, forward and backward, and pages come back elsewhere in the tree at once. Each scan meets every
/// row that is there all the time, once, in order.
#[test]
fn scans_go_on_while_leaves_leave_the_tree() {
    for is_backward in [false, true] {
        for seed in 0..20 {
            let bench = Bench::new(64, LogPolicy::native());
            let tree = bench.tree(1);
            let mut random = Random(seed);
            let row = vec![5u8; 700];
            let mut work = bench.begin();
            for number in 0..600 {
                tree.insert(&mut bench.ctx(&mut work), &number_key(number), &row)
                    .unwrap();
            }
            bench.commit(work);
            let stays = |number: u32| number % 100 < 3 || number >= 590;
            let locks = bench.owner();
            let bounds = (Bound::Unbounded, Bound::Excluded(number_key(600)));
            let mut scan = tree.scan(&bench.storage, &locks, ReadMode::Committed, bounds, is_backward);
            let (mut batch, mut met) = (TreeBatch::new(), Vec::new());
            while scan.next_page(&mut batch).unwrap() {
                met.extend(
                    batch
                        .iter()
                        .map(|(key, _)| u32::from_be_bytes(*key.first_chunk().unwrap())),
                );
                let mut work = bench.begin();
                let from = random.below(600) as u32;
                for number in from..(from + 150).min(600) {
                    if !stays(number) {
                        tree.delete(&mut bench.ctx(&mut work), &number_key(number)).unwrap();
                    }
                }
                bench.commit(work);
                clean(&bench);
                let mut work = bench.begin();
                for number in 0..20 {
                    // Other keys, at the right end: the pages given up are taken again.
                    let number = 10_000 + random.below(1 << 30) as u32 + number;
                    tree.insert(&mut bench.ctx(&mut work), &number_key(number), &row)
                        .unwrap();
                }
                bench.commit(work);
            }
            let in_order = met.windows(2).all(|pair| (pair[0] < pair[1]) != is_backward);
            assert!(in_order, "seed {seed}: {met:?}");
            let missing: Vec<u32> = (0..600)
                .filter(|number| stays(*number) && !met.contains(number))
                .collect();
            assert!(missing.is_empty(), "seed {seed}: {missing:?}");
            bench.assert_sound(&[(tree.root(), ObjectKind::Tree)]);
        }
    }
}

/// What was deleted before a restart is found by the lists, and free pages are used again.
#[test]
fn a_restart_knows_where_rows_were_deleted() {
    let bench = Bench::new(64, LogPolicy::native());
    let (tree, heap) = (bench.tree(1), bench.heap(2));
    let row = vec![5u8; 900];
    let mut work = bench.begin();
    for number in 0..800 {
        tree.insert(&mut bench.ctx(&mut work), &number_key(number), &row)
            .unwrap();
        heap.insert(&mut bench.ctx(&mut work), &row, Placement::Anywhere)
            .unwrap();
    }
    bench.commit(work);
    let full = reserved_pages(&bench);
    let mut work = bench.begin();
    for number in 0..790 {
        tree.delete(&mut bench.ctx(&mut work), &number_key(number)).unwrap();
    }
    for rid in heap_rows(&bench, &heap, ReadMode::Uncommitted).into_keys().skip(10) {
        heap.delete(&mut bench.ctx(&mut work), rid).unwrap();
    }
    bench.commit(work);
    for _ in 0..5 {
        // A few pages, and another restart.
        bench.space.reload(&bench.storage).unwrap();
        Tree::open(&bench.storage, &bench.space, tree.root(), TABLE).unwrap();
        Heap::open(&bench.storage, &bench.space, heap.root(), TABLE).unwrap();
        bench.space.clean(&bench.storage, 17).unwrap();
    }
    let (tree, heap) = (
        Tree::open(&bench.storage, &bench.space, tree.root(), TABLE).unwrap(),
        Heap::open(&bench.storage, &bench.space, heap.root(), TABLE).unwrap(),
    );
    clean(&bench);
    assert!(
        full >= 200 && reserved_pages(&bench) <= 40,
        "{full}, {}",
        reserved_pages(&bench)
    );
    bench.assert_sound(&[(tree.root(), ObjectKind::Tree), (heap.root(), ObjectKind::Heap)]);
    let mut work = bench.begin();
    for number in 1_000..1_780 {
        tree.insert(&mut bench.ctx(&mut work), &number_key(number), &row)
            .unwrap();
        heap.insert(&mut bench.ctx(&mut work), &row, Placement::Anywhere)
            .unwrap();
    }
    bench.commit(work);
    assert!(reserved_pages(&bench) <= full + 8);
    assert_eq!(heap_rows(&bench, &heap, ReadMode::Committed).len(), 790);
    bench.assert_sound(&[(tree.root(), ObjectKind::Tree), (heap.root(), ObjectKind::Heap)]);
    bench.assert_redo_makes_the_same_pages();
}

/// A full file takes rows again when what was in it is deleted, without anybody having cleaned in between.
#[test]
fn a_full_file_that_is_emptied_by_delete_is_filled_again() {
    let limit = Some(256 * PAGE_BYTES as u64);
    let bench = Bench::with_files(32, LogPolicy::native(), &[data_file(1, 64, limit)]);
    let (tree, heap) = (bench.tree(1), bench.heap(2));
    let row = vec![3u8; 3_000];
    let mut counts = Vec::new();
    for round in 0..20u32 {
        let mut count = 0;
        loop {
            let mut work = bench.begin();
            let key = number_key(round << 16 | count);
            let mut ctx = bench.ctx(&mut work);
            let inserted = match round % 2 {
                0 => tree.insert(&mut ctx, &key, &row).map(|_| ()),
                _ => heap.insert(&mut ctx, &row, Placement::Anywhere).map(|_| ()),
            };
            if let Err(error) = inserted {
                assert_eq!(error.number, 1105);
                bench.roll_back(work);
                break;
            }
            bench.commit(work);
            count += 1;
        }
        counts.push(count);
        let mut work = bench.begin();
        for (key, _) in tree_rows(&bench, &tree, ReadMode::Uncommitted, false) {
            tree.delete(&mut bench.ctx(&mut work), &key).unwrap();
        }
        for rid in heap_rows(&bench, &heap, ReadMode::Uncommitted).into_keys() {
            heap.delete(&mut bench.ctx(&mut work), rid).unwrap();
        }
        bench.commit(work);
    }
    assert!(counts.iter().all(|count| *count > 60), "{counts:?}");
    bench.assert_sound(&[(tree.root(), ObjectKind::Tree), (heap.root(), ObjectKind::Heap)]);
}

/// Who pins an object, or keeps all still, finds every page where it was.
#[test]
fn pinned_pages_stay() {
    let bench = Bench::new(64, LogPolicy::native());
    let tree = bench.tree(1);
    let mut work = bench.begin();
    for number in 0..100 {
        tree.insert(&mut bench.ctx(&mut work), &number_key(number), &[1; 900])
            .unwrap();
    }
    bench.commit(work);
    let mut work = bench.begin();
    for number in 0..100 {
        tree.delete(&mut bench.ctx(&mut work), &number_key(number)).unwrap();
    }
    bench.commit(work);
    let pin = tree.pin();
    assert_eq!(clean(&bench).pages, 0);
    drop(pin);
    let still = bench.space.keep_still();
    assert_eq!(clean(&bench).pages, 0);
    drop(still);
    assert!(clean(&bench).pages_freed > 5);
}

/// Pages that are looked at and give nothing are no room: what failed for want of a page would be tried again and again, as long as others
/// leave pages to look at.
#[test]
fn pages_that_give_no_room_relieve_nothing() {
    let bench = Bench::new(64, LogPolicy::native());
    let heap = bench.heap(1);
    let mut work = bench.begin();
    let full = heap
        .insert(&mut bench.ctx(&mut work), &[7u8; 8_000], Placement::Anywhere)
        .unwrap();
    bench.commit(work);
    let failure = || Error::filegroup_full("t", "d", "PRIMARY");
    let mut work = bench.begin();
    for _ in 0..3 {
        space_of(&bench, heap.root().object).note_shrunk(full.page, Lsn::ZERO);
        let error = relieve(&mut bench.ctx(&mut work), failure()).unwrap_err();
        assert!(error.is_data_full(), "{error}");
    }
    bench.commit(work);
    let mut work = bench.begin();
    assert!(heap.delete(&mut bench.ctx(&mut work), full).unwrap());
    bench.commit(work);
    let done = clean(&bench);
    assert_eq!(
        (done.pages, done.pages_freed + done.pages_with_room),
        (1, 1),
        "{done:?}"
    );
}
