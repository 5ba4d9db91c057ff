//! Random work on a tree against a map, and the shapes of trees.

use super::*;
use crate::lock::Mode;
use std::ops::Bound;

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

pub fn tree_rows(bench: &Bench, tree: &Tree, mode: ReadMode, is_backward: bool) -> Vec<(Vec<u8>, Vec<u8>)> {
    range_rows(bench, tree, mode, (Bound::Unbounded, Bound::Unbounded), is_backward)
}

fn range_rows(
    bench: &Bench,
    tree: &Tree,
    mode: ReadMode,
    bounds: (Bound<Vec<u8>>, Bound<Vec<u8>>),
    is_backward: bool,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let locks = bench.owner();
    let mut scan = tree.scan(&bench.storage, &locks, mode, bounds, is_backward);
    let mut batch = TreeBatch::new();
    let mut rows = Vec::new();
    while scan.next_page(&mut batch).unwrap() {
        rows.extend(batch.iter().map(|(key, row)| (key.to_vec(), row.to_vec())));
    }
    rows
}

fn key(random: &mut Random, keys: u64) -> Vec<u8> {
    let number = random.below(keys) as u32;
    let mut key = number.to_be_bytes().to_vec();
    // Some keys are long, so that branches split too.
    if number.is_multiple_of(7) {
        key.resize(4 + (number as usize * 13) % 600, b'k');
    }
    key
}

fn random_transaction(bench: &Bench, tree: &Tree, committed: &mut Rows, random: &mut Random, keys: u64) {
    let mut work = bench.begin();
    let mut rows = committed.clone();
    let mut savepoint: Option<(Lsn, Rows)> = None;
    for _ in 0..random.below(60) {
        let key = key(random, keys);
        let row = random.row();
        match random.below(10) {
            0..=4 => {
                let inserted = tree.insert(&mut bench.ctx(&mut work), &key, &row).unwrap();
                assert_eq!(inserted, !rows.contains_key(&key));
                rows.entry(key).or_insert(row);
            }
            5..=6 => {
                let updated = tree.update(&mut bench.ctx(&mut work), &key, &row).unwrap();
                assert_eq!(updated, rows.contains_key(&key));
                rows.entry(key).and_modify(|old| *old = row);
            }
            7 if random.below(4) == 0 => savepoint = Some((work.chain.last, rows.clone())),
            7 if random.below(2) == 0 => {
                if let Some((lsn, saved)) = savepoint.take() {
                    bench.roll_back_to(&mut work, lsn);
                    rows = saved;
                }
            }
            _ => {
                let deleted = tree.delete(&mut bench.ctx(&mut work), &key).unwrap();
                assert_eq!(deleted, rows.remove(&key).is_some());
            }
        }
    }
    if random.below(3) == 0 {
        bench.roll_back(work);
    } else {
        bench.commit(work);
        *committed = rows;
    }
}

fn run(seed: u64, frames: usize, policy: LogPolicy) {
    let bench = Bench::new(frames, policy);
    let tree = bench.tree(1);
    let (mut committed, mut random) = (Rows::new(), Random(seed));
    for round in 0..80 {
        random_transaction(&bench, &tree, &mut committed, &mut random, 600);
        let counted = bench.storage.row_counts.get(tree.root().object);
        assert_eq!(counted, Some(committed.len() as u64), "seed {seed}, round {round}");
        if round % 8 == 0 {
            let expected: Vec<_> = committed.clone().into_iter().collect();
            assert_eq!(
                tree_rows(&bench, &tree, ReadMode::Committed, false),
                expected,
                "seed {seed}"
            );
        }
    }
    let mut backward: Vec<_> = committed.clone().into_iter().collect();
    backward.reverse();
    assert_eq!(
        tree_rows(&bench, &tree, ReadMode::Uncommitted, true),
        backward,
        "seed {seed}"
    );
    let locks = bench.owner();
    let mut row = Vec::new();
    for _ in 0..50 {
        let key = self::key(&mut random, 600);
        let found = tree
            .fetch(&bench.storage, &locks, ReadMode::Committed, &key, &mut row)
            .unwrap();
        assert_eq!(found.then_some(&row), committed.get(&key));
        let (low, high) = (
            Bound::Excluded(key.clone()),
            Bound::Included(self::key(&mut random, 600)),
        );
        if low_is_below(&low, &high) {
            let expected: Vec<_> = committed
                .range((low.clone(), high.clone()))
                .map(|(key, row)| (key.clone(), row.clone()))
                .collect();
            assert_eq!(
                range_rows(&bench, &tree, ReadMode::Committed, (low, high), false),
                expected
            );
        }
    }
    assert_eq!(tree.last_key(&bench.storage).unwrap().as_ref(), committed.keys().last());
    bench.assert_sound(&[(tree.root(), ObjectKind::Tree)]);
    bench.assert_redo_makes_the_same_pages();
}

fn low_is_below(low: &Bound<Vec<u8>>, high: &Bound<Vec<u8>>) -> bool {
    matches!((low, high), (Bound::Excluded(low), Bound::Included(high)) if low < high)
}

#[test]
fn random_work_equals_the_model_and_its_redo() {
    for seed in 0..12 {
        let frames = [16, 24, 64][seed as usize % 3];
        run(seed, frames, LogPolicy::native());
    }
}

#[test]
fn random_work_logged_in_whole_rows_equals_the_model_and_its_redo() {
    for seed in 100..106 {
        run(seed, 32, LogPolicy::classic());
    }
}

/// Such a scan looks first at the leaf that it began with before, which may have split or emptied since.
#[test]
fn a_scan_begun_anew_finds_what_is_there_by_then() {
    let bench = Bench::new(200, LogPolicy::native());
    let tree = bench.tree(1);
    let (mut committed, mut random) = (Rows::new(), Random(5));
    let (locks, mut batch) = (bench.owner(), TreeBatch::new());
    let everything = (Bound::Unbounded, Bound::Unbounded);
    let mut scan = tree.scan(&bench.storage, &locks, ReadMode::Committed, everything, false);
    for _ in 0..60 {
        random_transaction(&bench, &tree, &mut committed, &mut random, 600);
        let mut number = 0_u64;
        while number < 600 {
            let low = (number as u32).to_be_bytes().to_vec();
            let high = (number as u32 + 2).to_be_bytes().to_vec();
            let low = if random.below(2) == 0 {
                Bound::Included(low)
            } else {
                Bound::Excluded(low)
            };
            let range = (low, Bound::Excluded(high));
            scan.restart(range.clone());
            let mut found = Vec::new();
            while scan.next_page(&mut batch).unwrap() {
                found.extend(batch.iter().map(|(key, row)| (key.to_vec(), row.to_vec())));
            }
            let expected = committed.range(range).map(|(key, row)| (key.clone(), row.clone()));
            assert_eq!(found, expected.collect::<Vec<_>>(), "{number}");
            // Mostly neighbours, and now and then a step back.
            number = match random.below(9) {
                0 => number.saturating_sub(20),
                step => number + step,
            };
        }
    }
}

#[test]
fn keys_that_only_grow_leave_full_pages_behind() {
    let bench = Bench::new(64, LogPolicy::native());
    let tree = bench.tree(1);
    let row = vec![5u8; 93];
    let mut work = bench.begin();
    for number in 0..8_000u32 {
        assert!(
            tree.insert(&mut bench.ctx(&mut work), &number.to_be_bytes(), &row)
                .unwrap()
        );
    }
    bench.commit(work);
    let rows_per_page = 8_096 / (93 + 7 + 4);
    let usage = tree.space_usage(&bench.storage).unwrap();
    assert!(usage.data_pages <= 8_000 / rows_per_page + 1, "{usage:?}");
    let locks = bench.owner();
    let unbounded = (Bound::Unbounded, Bound::Unbounded);
    let mut scan = tree.scan(&bench.storage, &locks, ReadMode::Uncommitted, unbounded, false);
    scan.stop_at_current_end().unwrap();
    let mut work = bench.begin();
    let (mut batch, mut read) = (TreeBatch::new(), 0u32);
    while scan.next_page(&mut batch).unwrap() {
        for (_, row) in batch.iter() {
            let key = (8_000 + read).to_be_bytes();
            assert!(tree.insert(&mut bench.ctx(&mut work), &key, row).unwrap());
            read += 1;
        }
    }
    bench.roll_back(work);
    assert_eq!(read, 8_000, "a statement does not read the rows it inserts");
    assert_eq!(tree_rows(&bench, &tree, ReadMode::Committed, false).len(), 8_000);
    bench.assert_sound(&[(tree.root(), ObjectKind::Tree)]);
}

#[test]
fn keys_that_only_fall_or_jump_find_their_places() {
    let bench = Bench::new(64, LogPolicy::native());
    for (object, step) in [(1, 7_919u64), (2, 8_191)] {
        let tree = bench.tree(object);
        let mut work = bench.begin();
        for number in 0..3_000u64 {
            let key = if object == 1 {
                3_000 - number
            } else {
                number * step % 8_192
            };
            assert!(
                tree.insert(&mut bench.ctx(&mut work), &key.to_be_bytes(), &[9; 200])
                    .unwrap()
            );
        }
        bench.commit(work);
        assert_eq!(tree_rows(&bench, &tree, ReadMode::Committed, false).len(), 3_000);
        bench.assert_sound(&[(tree.root(), ObjectKind::Tree)]);
        bench.space.free_object(&bench.storage, tree.root()).unwrap();
    }
}

#[test]
fn a_filled_tree_equals_an_inserted_one_and_is_emptied_by_rollback() {
    let bench = Bench::new(64, LogPolicy::native());
    let tree = bench.tree(1);
    let fill_keys = |work: &mut Work, keys: std::ops::Range<u32>| {
        let mut fill = TreeFill::new(&tree);
        for number in keys {
            assert!(
                fill.push(&mut bench.ctx(work), &(number * 2).to_be_bytes(), &[8; 50])
                    .unwrap()
            );
        }
        assert!(
            !fill.push(&mut bench.ctx(work), &0u32.to_be_bytes(), &[]).unwrap(),
            "out of order"
        );
        fill.finish(&mut bench.ctx(work)).unwrap();
    };
    let mut work = bench.begin();
    fill_keys(&mut work, 0..3_000);
    bench.commit(work);
    let mut work = bench.begin();
    fill_keys(&mut work, 3_000..6_000);
    // Odd keys split the filled leaves, before the transaction rolls back.
    for number in 0..2_500u32 {
        assert!(
            tree.insert(&mut bench.ctx(&mut work), &(6_001 + number * 2).to_be_bytes(), &[1; 60])
                .unwrap()
        );
    }
    assert_eq!(tree_rows(&bench, &tree, ReadMode::Uncommitted, false).len(), 8_500);
    bench.assert_sound(&[(tree.root(), ObjectKind::Tree)]);
    bench.roll_back(work);
    let rows = tree_rows(&bench, &tree, ReadMode::Committed, false);
    assert_eq!(rows.len(), 3_000);
    assert!(
        rows.iter()
            .zip(0..)
            .all(|((key, _), number)| key[..] == (number * 2u32).to_be_bytes())
    );
    bench.assert_sound(&[(tree.root(), ObjectKind::Tree)]);
    let mut work = bench.begin();
    fill_keys(&mut work, 3_000..4_000);
    bench.commit(work);
    assert_eq!(tree_rows(&bench, &tree, ReadMode::Committed, true).len(), 4_000);
    bench.assert_redo_makes_the_same_pages();
}

#[test]
fn an_empty_leaf_that_waits_for_higher_keys_does_not_stop_a_fill() {
    let bench = Bench::new(64, LogPolicy::native());
    let tree = bench.tree(1);
    let long = vec![1u8; 2_500];
    let mut work = bench.begin();
    for number in 0..3u32 {
        assert!(
            tree.insert(&mut bench.ctx(&mut work), &number.to_be_bytes(), &long)
                .unwrap()
        );
    }
    bench.commit(work);
    let mut work = bench.begin();
    assert!(
        tree.insert(&mut bench.ctx(&mut work), &1_000u32.to_be_bytes(), &long)
            .unwrap()
    );
    bench.roll_back(work);
    let mut work = bench.begin();
    let mut fill = TreeFill::new(&tree);
    for number in 3..500u32 {
        assert!(
            fill.push(&mut bench.ctx(&mut work), &number.to_be_bytes(), &[2; 100])
                .unwrap()
        );
    }
    fill.finish(&mut bench.ctx(&mut work)).unwrap();
    bench.commit(work);
    assert_eq!(tree_rows(&bench, &tree, ReadMode::Committed, false).len(), 500);
    bench.assert_sound(&[(tree.root(), ObjectKind::Tree)]);
}

#[test]
fn sessions_insert_and_read_at_once_without_losing_a_row() {
    let bench = Bench::new(64, LogPolicy::native());
    let tree = bench.tree(1);
    std::thread::scope(|scope| {
        for session in 0..3u32 {
            let (bench, tree) = (&bench, &tree);
            scope.spawn(move || {
                for number in 0..400u32 {
                    let mut work = bench.begin();
                    let key = (number * 3 + session).to_be_bytes();
                    assert!(
                        tree.insert(&mut bench.ctx(&mut work), &key, &[session as u8; 40])
                            .unwrap()
                    );
                    if number % 5 == 4 {
                        bench.roll_back(work)
                    } else {
                        bench.commit(work)
                    }
                }
            });
        }
        let (bench, tree) = (&bench, &tree);
        scope.spawn(move || {
            for _ in 0..20 {
                let rows = tree_rows(bench, tree, ReadMode::Committed, false);
                assert!(rows.windows(2).all(|pair| pair[0].0 < pair[1].0));
            }
        });
    });
    assert_eq!(tree_rows(&bench, &tree, ReadMode::Committed, false).len(), 3 * 320);
    bench.assert_sound(&[(tree.root(), ObjectKind::Tree)]);
    bench.assert_redo_makes_the_same_pages();
}

#[test]
fn lengths_beyond_a_page_are_refused() {
    let bench = Bench::new(16, LogPolicy::native());
    let tree = bench.tree(1);
    let mut work = bench.begin();
    let long_key = vec![1u8; KEY_BYTES_MAX];
    assert!(tree.insert(&mut bench.ctx(&mut work), &long_key, &[1; 6_329]).unwrap());
    for (key, payload, number) in [
        (KEY_BYTES_MAX + 1, 0, 1946),
        (4, 8_061, 511),
        (KEY_BYTES_MAX, 6_330, 511),
    ] {
        let error = tree
            .insert(&mut bench.ctx(&mut work), &vec![2; key], &vec![0; payload])
            .unwrap_err();
        assert_eq!(error.number, number);
    }
    bench.commit(work);
}

/// A statement finds a row, and before it changes it, others fill the leaf it was on until it is on another one.
#[test]
fn a_row_that_moved_between_search_and_change_is_found_where_it_is_now() {
    let bench = Bench::new(64, LogPolicy::native());
    let tree = bench.tree(100);
    let key = |number: u32| number.to_be_bytes().to_vec();
    let mut work = bench.begin();
    for number in (0..100).map(|number| number * 1_000) {
        assert!(tree.insert(&mut bench.ctx(&mut work), &key(number), &[1; 60]).unwrap());
    }
    bench.commit(work);
    let mut splits = 0;
    for number in (0..100).map(|number| number * 1_000) {
        let mut work = bench.begin();
        let searched = key(number);
        let bounds = (Bound::Included(searched.clone()), Bound::Included(searched.clone()));
        let mut batch = TreeBatch::new();
        let mut scan = tree.scan(&bench.storage, &work.locks, ReadMode::Locked(Mode::U), bounds, false);
        assert!(scan.next_page(&mut batch).unwrap() && batch.len() == 1);
        drop(scan);
        let pages_before = tree.page_count();
        let mut other = bench.begin();
        // Until the leaf splits: on the same thread, and without a search that locks.
        for neighbour in number + 1..number + 200 {
            assert!(
                tree.insert(&mut bench.ctx(&mut other), &key(neighbour), &[2; 60])
                    .unwrap()
            );
            if tree.page_count() > pages_before {
                splits += 1;
                break;
            }
        }
        bench.commit(other);
        assert!(tree.update(&mut bench.ctx(&mut work), &searched, &[3; 60]).unwrap());
        bench.commit(work);
    }
    assert!(splits > 50, "{splits}");
    let rows = tree_rows(&bench, &tree, ReadMode::Uncommitted, false);
    assert_eq!(rows.iter().filter(|(_, row)| row[..] == [3; 60]).count(), 100);
    assert!(rows.is_sorted());
}

/// The leaf a thread remembers may belong to another tree, and to the past.
#[test]
fn a_remembered_leaf_of_another_tree_is_not_written_to() {
    let bench = Bench::new(64, LogPolicy::native());
    let trees = [bench.tree(100), bench.tree(101)];
    let mut work = bench.begin();
    for (tree, row) in trees.iter().zip([b"one", b"two"]) {
        assert!(tree.insert(&mut bench.ctx(&mut work), b"key", row).unwrap());
    }
    let bounds = (Bound::Included(b"key".to_vec()), Bound::Included(b"key".to_vec()));
    let mut batch = TreeBatch::new();
    let mut scan = trees[0].scan(&bench.storage, &work.locks, ReadMode::Locked(Mode::U), bounds, false);
    assert!(scan.next_page(&mut batch).unwrap());
    drop(scan);
    assert!(trees[1].update(&mut bench.ctx(&mut work), b"key", b"new").unwrap());
    bench.commit(work);
    let rows = trees.map(|tree| tree_rows(&bench, &tree, ReadMode::Uncommitted, false));
    assert_eq!(rows[0], [(b"key".to_vec(), b"one".to_vec())]);
    assert_eq!(rows[1], [(b"key".to_vec(), b"new".to_vec())]);
}
