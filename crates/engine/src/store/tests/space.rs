//! Extents, space maps and boot pages.

use super::*;
use crate::store::space::LIST_ENTRIES;

#[test]
fn objects_take_extents_give_them_back_and_survive_a_reload() {
    let bench = Bench::new(64, LogPolicy::native());
    let (first, second) = (bench.heap(1), bench.heap(2));
    let row = vec![3u8; 4_000];
    let mut work = bench.begin();
    for index in 0..100 {
        let heap = if index % 2 == 0 { &first } else { &second };
        heap.insert(&mut bench.ctx(&mut work), &row, Placement::Anywhere)
            .unwrap();
    }
    bench.commit(work);
    bench.assert_sound(&[(first.root(), ObjectKind::Heap), (second.root(), ObjectKind::Heap)]);
    let before = bench.space.used_extents().len();
    bench.space.free_object(&bench.storage, first.root()).unwrap();
    assert!(bench.space.used_extents().len() < before);
    bench.assert_sound(&[(second.root(), ObjectKind::Heap)]);
    bench.space.reload(&bench.storage).unwrap();
    bench.assert_sound(&[(second.root(), ObjectKind::Heap)]);
    let third = bench.heap(3);
    assert!(
        heap_rows(&bench, &third, ReadMode::Committed).is_empty(),
        "stale pages of the freed object are not read"
    );
    bench.assert_redo_makes_the_same_pages();
}

#[test]
fn extents_that_nobody_owns_are_found_after_a_crash() {
    let bench = Bench::new(64, LogPolicy::native());
    let (kept, lost) = (bench.heap(1), bench.heap(2));
    let findings = verify_allocation(&bench.storage, &bench.space, &[kept.root()]).findings;
    assert_eq!(
        findings.iter().map(|finding| finding.number).collect::<Vec<_>>(),
        [8905]
    );
    drop(lost);
    assert_eq!(bench.space.reconcile(&bench.storage, &[kept.root()]).unwrap(), 1);
    assert_eq!(bench.space.reconcile(&bench.storage, &[kept.root()]).unwrap(), 0);
    bench.assert_sound(&[(kept.root(), ObjectKind::Heap)]);
}

#[test]
fn a_second_extent_list_follows_when_the_first_is_full() {
    let bench = Bench::new(64, LogPolicy::native());
    let heap = bench.heap(1);
    let mut work = bench.begin();
    let pages = LIST_ENTRIES as u64 * 8 + 200;
    for _ in 0..pages {
        let page = heap
            .object_space()
            .take_page(&bench.storage, &bench.space, &mut work.chain, Placement::AtEnd)
            .unwrap();
        assert_ne!(page.page % 512_000, 2);
    }
    bench.commit(work);
    bench.assert_sound(&[(heap.root(), ObjectKind::Heap)]);
    let reopened = SpaceMap::open(&bench.storage).unwrap();
    assert_eq!(reopened.used_extents(), bench.space.used_extents());
    let usage = heap.space_usage();
    assert_eq!((usage.index_pages, usage.data_pages), (2, pages));
}

#[test]
fn a_full_filegroup_says_1105_and_growth_alternates_between_files() {
    let limit = Some(96 * PAGE_BYTES as u64);
    let bench = Bench::with_files(
        32,
        LogPolicy::native(),
        &[data_file(1, 64, limit), data_file(3, 64, limit)],
    );
    let heap = bench.heap(1);
    let row = vec![3u8; 8_000];
    let mut work = bench.begin();
    let mut files = std::collections::BTreeSet::new();
    let error = loop {
        match heap.insert(&mut bench.ctx(&mut work), &row, Placement::Anywhere) {
            Ok(rid) => files.insert(rid.page.file),
            Err(error) => break error,
        };
    };
    assert_eq!(error.number, 1105);
    assert_eq!(files.into_iter().collect::<Vec<_>>(), [1, 3]);
    bench.roll_back(work);
    assert!(heap_rows(&bench, &heap, ReadMode::Committed).is_empty());
    bench.assert_sound(&[(heap.root(), ObjectKind::Heap)]);
}

#[test]
fn the_boot_page_survives_the_loss_of_its_newest_copy() {
    let bench = Bench::new(16, LogPolicy::native());
    let files = &bench.storage.files;
    let boot = BootPage::create(files, b"one").unwrap();
    boot.write(files, b"two").unwrap();
    let (boot, payload) = BootPage::open(files).unwrap();
    assert_eq!(payload, b"two");
    boot.write(files, b"three").unwrap();
    assert_eq!(BootPage::open(files).unwrap().1, b"three");
    // Generations: create wrote 1 and 2, then 3 and 4; the fourth lies in page 9.
    let disk = bench.storage.env.disk.clone();
    let file = disk.open(&PathBuf::from("/data1.mdf"), disk::Access::Buffered).unwrap();
    file.write_at(9 * PAGE_BYTES as u64 + 200, &[0xAA; 512]).unwrap();
    let (boot, payload) = BootPage::open(files).unwrap();
    assert_eq!(payload, b"two", "the older copy");
    boot.write(files, b"four").unwrap();
    assert_eq!(BootPage::open(files).unwrap().1, b"four");
    assert_eq!(
        boot.write(files, &[0; BOOT_PAYLOAD_BYTES_MAX + 1]).unwrap_err().number,
        3624
    );
}
