//! Random work on a heap against a map: committed rows are there, rolled-back ones are not, and the log says the same.

use super::*;

#[derive(Default)]
struct Model {
    committed: BTreeMap<Rid, Vec<u8>>,
}

fn random_transaction(bench: &Bench, heap: &Heap, model: &mut Model, random: &mut Random) {
    let mut work = bench.begin();
    let mut rows = model.committed.clone();
    let mut savepoint: Option<(Lsn, BTreeMap<Rid, Vec<u8>>)> = None;
    for _ in 0..random.below(40) {
        let picked = (!rows.is_empty()).then(|| random.below(rows.len() as u64) as usize);
        let picked = picked.and_then(|index| rows.keys().nth(index).copied());
        let row = random.row();
        match (random.below(10), picked) {
            (0..=3, _) | (_, None) => {
                let placement = if random.below(8) == 0 {
                    Placement::AtEnd
                } else {
                    Placement::Anywhere
                };
                let rid = heap.insert(&mut bench.ctx(&mut work), &row, placement).unwrap();
                assert!(rows.insert(rid, row).is_none(), "slot {rid} is in use");
            }
            (4..=6, Some(rid)) => {
                assert!(heap.update(&mut bench.ctx(&mut work), rid, &row).unwrap());
                rows.insert(rid, row);
            }
            (7, Some(_)) if random.below(4) == 0 => savepoint = Some((work.chain.last, rows.clone())),
            (8, Some(_)) if random.below(4) == 0 && savepoint.is_some() => {
                let (lsn, saved) = savepoint.take().unwrap();
                bench.roll_back_to(&mut work, lsn);
                rows = saved;
            }
            (_, Some(rid)) => {
                assert!(heap.delete(&mut bench.ctx(&mut work), rid).unwrap());
                assert!(!heap.delete(&mut bench.ctx(&mut work), rid).unwrap());
                rows.remove(&rid);
            }
        }
    }
    if random.below(3) == 0 {
        bench.roll_back(work);
    } else {
        bench.commit(work);
        model.committed = rows;
    }
}

/// What a scan finds that leaves the rows' bytes out.
fn locators(bench: &Bench, heap: &Heap, mode: ReadMode) -> std::collections::BTreeSet<Rid> {
    let locks = bench.owner();
    let mut scan = heap.scan(&bench.storage, &locks, mode).unwrap();
    scan.leave_out_bytes();
    let (mut batch, mut found) = (RowBatch::new(), std::collections::BTreeSet::new());
    while scan.next_page(&mut batch).unwrap() {
        assert!(batch.iter().all(|(rid, _)| found.insert(rid)), "a row is met twice");
    }
    locks.release_transaction(|_| false);
    found
}

fn run(seed: u64, frames: usize, policy: LogPolicy) {
    let bench = Bench::new(frames, policy);
    let heap = bench.heap(1);
    let (mut model, mut random) = (Model::default(), Random(seed));
    for _ in 0..60 {
        random_transaction(&bench, &heap, &mut model, &mut random);
        assert_eq!(
            heap_rows(&bench, &heap, ReadMode::Committed),
            model.committed,
            "seed {seed}"
        );
        for mode in [
            ReadMode::Committed,
            ReadMode::Uncommitted,
            ReadMode::Locked(crate::lock::Mode::U),
        ] {
            let found = locators(&bench, &heap, mode);
            assert!(found.iter().eq(model.committed.keys()), "seed {seed}, {mode:?}");
        }
        let counted = bench.storage.row_counts.get(heap.root().object);
        assert_eq!(counted, Some(model.committed.len() as u64), "seed {seed}");
    }
    let locks = bench.owner();
    let mut row = Vec::new();
    for (rid, expected) in &model.committed {
        assert!(
            heap.fetch(&bench.storage, &locks, ReadMode::Committed, *rid, &mut row)
                .unwrap()
        );
        assert_eq!(&row, expected);
    }
    bench.assert_sound(&[(heap.root(), ObjectKind::Heap)]);
    bench.assert_redo_makes_the_same_pages();
    let reopened = SpaceMap::open(&bench.storage).unwrap();
    let heap = Heap::open(&bench.storage, &reopened, heap.root(), TABLE).unwrap();
    assert_eq!(heap_rows(&bench, &heap, ReadMode::Uncommitted), model.committed);
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

#[test]
fn an_open_transaction_keeps_its_room_while_others_insert() {
    let bench = Bench::new(32, LogPolicy::native());
    let heap = bench.heap(1);
    let mut setup = bench.begin();
    let long = vec![7u8; 700];
    let rids: Vec<Rid> = (0..11)
        .map(|_| {
            heap.insert(&mut bench.ctx(&mut setup), &long, Placement::Anywhere)
                .unwrap()
        })
        .collect();
    bench.commit(setup);
    assert!(rids.iter().all(|rid| rid.page == rids[0].page), "one full page");
    let mut shrinker = bench.begin();
    for rid in &rids {
        assert!(heap.update(&mut bench.ctx(&mut shrinker), *rid, b"short").unwrap());
    }
    let mut other = bench.begin();
    for _ in 0..200 {
        let rid = heap
            .insert(&mut bench.ctx(&mut other), &long, Placement::Anywhere)
            .unwrap();
        assert_ne!(rid.page, rids[0].page, "the shrunken rows may grow back");
    }
    bench.commit(other);
    bench.roll_back(shrinker);
    let rows = heap_rows(&bench, &heap, ReadMode::Committed);
    assert!(rids.iter().all(|rid| rows[rid] == long));
    assert_eq!(rows.len(), 211);
}

#[test]
fn space_of_deleted_rows_is_used_again_once_the_delete_is_over() {
    let bench = Bench::new(32, LogPolicy::native());
    let heap = bench.heap(1);
    let row = vec![1u8; 1_000];
    for _ in 0..30 {
        let mut work = bench.begin();
        let rids: Vec<Rid> = (0..70)
            .map(|_| {
                heap.insert(&mut bench.ctx(&mut work), &row, Placement::Anywhere)
                    .unwrap()
            })
            .collect();
        bench.commit(work);
        let mut work = bench.begin();
        for rid in rids {
            assert!(heap.delete(&mut bench.ctx(&mut work), rid).unwrap());
        }
        bench.commit(work);
    }
    assert!(heap_rows(&bench, &heap, ReadMode::Committed).is_empty());
    let used = heap.space_usage().data_pages;
    assert!(used < 60, "2,100 rows of 1,000 bytes came and went in {used} pages");
}

#[test]
fn an_insert_from_the_scanned_heap_into_itself_ends() {
    let bench = Bench::new(64, LogPolicy::native());
    let heap = bench.heap(1);
    let mut work = bench.begin();
    for number in 0..3_000u32 {
        heap.insert(&mut bench.ctx(&mut work), &number.to_le_bytes(), Placement::Anywhere)
            .unwrap();
    }
    bench.commit(work);
    for placement in [Some(Placement::AtEnd), Some(Placement::AtEnd), None] {
        let before = heap_rows(&bench, &heap, ReadMode::Committed).len();
        let mut work = bench.begin();
        let locks = bench.owner();
        let mut scan = heap.scan(&bench.storage, &locks, ReadMode::Uncommitted).unwrap();
        let (mut batch, mut fill, mut read) = (RowBatch::new(), HeapFill::new(&heap), 0);
        while scan.next_page(&mut batch).unwrap() {
            for (_, row) in batch.iter() {
                read += 1;
                match placement {
                    Some(placement) => heap.insert(&mut bench.ctx(&mut work), row, placement).unwrap(),
                    None => fill.push(&mut bench.ctx(&mut work), row).unwrap(),
                };
            }
        }
        fill.finish(&mut bench.ctx(&mut work)).unwrap();
        bench.commit(work);
        assert_eq!(read, before);
        assert_eq!(heap_rows(&bench, &heap, ReadMode::Committed).len(), 2 * before);
    }
    bench.assert_redo_makes_the_same_pages();
}

#[test]
fn a_filled_heap_is_emptied_by_rollback() {
    let bench = Bench::new(32, LogPolicy::native());
    let heap = bench.heap(1);
    let mut work = bench.begin();
    let mut fill = HeapFill::new(&heap);
    let mut rids = Vec::new();
    for number in 0..5_000u32 {
        rids.push(fill.push(&mut bench.ctx(&mut work), &number.to_le_bytes()).unwrap());
    }
    fill.finish(&mut bench.ctx(&mut work)).unwrap();
    let rows = heap_rows(&bench, &heap, ReadMode::Uncommitted);
    assert!(
        rids.iter()
            .zip(0..5_000u32)
            .all(|(rid, number)| rows[rid] == number.to_le_bytes())
    );
    assert!(heap.delete(&mut bench.ctx(&mut work), rids[17]).unwrap());
    bench.roll_back(work);
    assert!(heap_rows(&bench, &heap, ReadMode::Committed).is_empty());
    bench.assert_sound(&[(heap.root(), ObjectKind::Heap)]);
    bench.assert_redo_makes_the_same_pages();
}

#[test]
fn a_reader_waits_for_the_writer_of_a_row_and_sees_what_it_decided() {
    for commits in [true, false] {
        let bench = Bench::new(64, LogPolicy::native());
        let heap = bench.heap(1);
        let mut work = bench.begin();
        let kept = heap
            .insert(&mut bench.ctx(&mut work), b"old value", Placement::Anywhere)
            .unwrap();
        let deleted = heap
            .insert(&mut bench.ctx(&mut work), b"deleted?", Placement::Anywhere)
            .unwrap();
        bench.commit(work);
        let mut writer = bench.begin();
        assert!(
            heap.update(&mut bench.ctx(&mut writer), kept, b"a new and longer value")
                .unwrap()
        );
        assert!(heap.delete(&mut bench.ctx(&mut writer), deleted).unwrap());
        let rows = std::thread::scope(|scope| {
            let reader = scope.spawn(|| heap_rows(&bench, &heap, ReadMode::Committed));
            while bench.manager.rows().iter().all(|row| row.granted) {
                std::thread::yield_now();
            }
            if commits {
                bench.commit(writer);
            } else {
                bench.roll_back(writer);
            }
            reader.join().unwrap()
        });
        let expected: &[(Rid, &[u8])] = match commits {
            true => &[(kept, b"a new and longer value")],
            false => &[(kept, b"old value"), (deleted, b"deleted?")],
        };
        let expected: BTreeMap<Rid, Vec<u8>> = expected.iter().map(|(rid, row)| (*rid, row.to_vec())).collect();
        assert_eq!(rows, expected);
    }
}

#[test]
fn a_change_behind_a_stub_on_a_settled_page_is_waited_for() {
    let bench = Bench::new(64, LogPolicy::native());
    let heap = bench.heap(1);
    let mut work = bench.begin();
    let rids: Vec<Rid> = (0..4)
        .map(|_| {
            heap.insert(&mut bench.ctx(&mut work), &[1; 1_900], Placement::Anywhere)
                .unwrap()
        })
        .collect();
    assert!(heap.update(&mut bench.ctx(&mut work), rids[0], &[1; 4_000]).unwrap());
    // The block of the log that the stub's page was changed in must be over for the page to count as settled.
    bench.commit(work);
    bench.storage.log.flush_to(bench.storage.log.end()).unwrap();
    let mut writer = bench.begin();
    assert!(heap.update(&mut bench.ctx(&mut writer), rids[0], &[2; 4_000]).unwrap());
    let home_is_settled = change::is_settled(
        &bench.storage,
        change::read(&bench.storage, rids[0].page).unwrap().view(),
    );
    assert!(home_is_settled, "only the forwarded row's page has changed");
    let locks = bench.owner();
    locks.set_timeout_ms(0);
    let outcome = heap.fetch(&bench.storage, &locks, ReadMode::Committed, rids[0], &mut Vec::new());
    assert_eq!(outcome.unwrap_err().number, 1222);
    let mut scan = heap.scan(&bench.storage, &locks, ReadMode::Committed).unwrap();
    assert_eq!(scan.next_page(&mut RowBatch::new()).unwrap_err().number, 1222);
    bench.roll_back(writer);
    assert_eq!(heap_rows(&bench, &heap, ReadMode::Committed)[&rids[0]], [1; 4_000]);
    assert!(locks.mode_of(&heap.resource(&bench.storage, rids[0])).is_none());
}

#[test]
fn sessions_insert_update_and_delete_in_one_heap_at_once() {
    let bench = Bench::new(64, LogPolicy::native());
    let heap = bench.heap(1);
    let committed = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for session in 0..3u64 {
            let (bench, heap, committed) = (&bench, &heap, &committed);
            scope.spawn(move || {
                let mut random = Random(session);
                let mut mine: BTreeMap<Rid, Vec<u8>> = BTreeMap::new();
                for _ in 0..150 {
                    let (mut work, mut rows) = (bench.begin(), mine.clone());
                    for _ in 0..8 {
                        let row = random.row();
                        let picked = rows
                            .keys()
                            .nth(random.below(rows.len().max(1) as u64) as usize)
                            .copied();
                        match (random.below(4), picked) {
                            (0, Some(rid)) => {
                                assert!(heap.delete(&mut bench.ctx(&mut work), rid).unwrap());
                                rows.remove(&rid);
                            }
                            (1, Some(rid)) => {
                                assert!(heap.update(&mut bench.ctx(&mut work), rid, &row).unwrap());
                                rows.insert(rid, row);
                            }
                            _ => {
                                let rid = heap
                                    .insert(&mut bench.ctx(&mut work), &row, Placement::Anywhere)
                                    .unwrap();
                                assert!(rows.insert(rid, row).is_none());
                            }
                        }
                    }
                    if random.below(3) == 0 {
                        bench.roll_back(work);
                    } else {
                        bench.commit(work);
                        mine = rows;
                    }
                }
                committed.lock().extend(mine);
            });
        }
    });
    assert_eq!(heap_rows(&bench, &heap, ReadMode::Committed), committed.into_inner());
    bench.assert_sound(&[(heap.root(), ObjectKind::Heap)]);
    bench.assert_redo_makes_the_same_pages();
}
