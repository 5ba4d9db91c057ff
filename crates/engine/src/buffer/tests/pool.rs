//! The buffer pool finds, reads and evicts pages, up to the limits of files.

use super::*;
use crate::waits::WaitType;
use disk::sim::OperationKind;
use std::collections::HashMap;

/// Lends so many frames in all, and waits until pages gave way.
fn lend(bench: &Bench, frames: usize) {
    bench.pool.set_lent(frames);
    bench.pool.give_way();
}

fn page(number: u32) -> PageId {
    PageId::new(if number.is_multiple_of(2) { 1 } else { 3 }, 1 + number / 2)
}

#[test]
fn eight_frames_serve_a_hundred_pages_and_every_page_keeps_its_last_image() {
    let bench = Bench::new(8);
    let mut model: HashMap<u32, u8> = HashMap::new();
    let mut random = 88_172_645_463_325_252_u64;
    for step in 0..6_000_u32 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let number = (random % 100) as u32;
        let fill = (step % 251) as u8;
        match model.contains_key(&number) {
            false => bench.create(page(number), fill),
            true if random & (1 << 40) == 0 => bench.change(page(number), fill),
            true => {
                assert_eq!(bench.fill_of(page(number)).unwrap(), model[&number], "step {step}");
                continue;
            }
        };
        model.insert(number, fill);
    }
    let counters = bench.pool.counters();
    assert!(
        counters.frames_used <= 8 && counters.pages_written_by_eviction > 1_000,
        "{counters:?}"
    );
    bench.pool.flush_database(DATABASE, None).unwrap();
    assert_eq!(
        (bench.pool.oldest_dirty(DATABASE), bench.pool.counters().pages_dirty),
        (None, 0)
    );
    let (reopened, report) = Bench::open(bench.disk.snapshot(), bench.log.clone(), 8);
    assert_eq!(report.pages_restored, []);
    for (number, fill) in model {
        assert_eq!(reopened.fill_of(page(number)).unwrap(), fill);
    }
}

#[test]
fn a_pool_with_every_page_fixed_says_701_and_recovers() {
    let bench = Bench::new(8);
    for number in 0..9 {
        bench.create(page(number), 1);
    }
    let fixed: Vec<_> = (0..8)
        .map(|number| bench.pool.read(DATABASE, page(number)).unwrap())
        .collect();
    assert_eq!(bench.fill_of(page(8)).unwrap_err().number, 701);
    drop(fixed);
    assert_eq!(bench.fill_of(page(8)).unwrap(), 1);
}

#[test]
fn dirt_is_known_by_its_first_change_until_it_is_written() {
    let bench = Bench::new(16);
    let first = bench.create(page(0), 1);
    bench.change(page(0), 2);
    let second = bench.create(page(1), 1);
    assert_eq!(bench.pool.oldest_dirty(DATABASE), Some(first));
    assert_eq!(bench.pool.flush_database(DATABASE, Some(first)).unwrap(), 1);
    assert_eq!(bench.pool.oldest_dirty(DATABASE), Some(second));
    assert_eq!(bench.pool.flush_database(DATABASE, None).unwrap(), 1);
    assert_eq!(
        bench.pool.flush_database(DATABASE, None).unwrap(),
        0,
        "nothing is dirty any more"
    );
}

#[test]
fn a_fresh_page_that_nothing_was_applied_to_is_dropped_again() {
    let bench = Bench::new(8);
    bench.create(page(0), 7);
    bench.pool.flush_database(DATABASE, None).unwrap();
    bench.pool.forget_database(DATABASE);
    bench.pool.attach(DATABASE, bench.files.clone(), bench.log.clone());
    let untouched = bench.pool.fresh(DATABASE, page(0)).unwrap();
    assert_eq!(untouched.view().version(), 0);
    drop(untouched);
    assert_eq!(bench.fill_of(page(0)).unwrap(), 7, "the file's image, not the zeros");
}

#[test]
fn forgetting_a_database_drops_its_pages_and_asks_for_it_fail() {
    let bench = Bench::new(8);
    bench.create(page(0), 7);
    bench.pool.forget_database(DATABASE);
    assert_eq!(bench.pool.counters().frames_used, 0);
    assert_eq!(bench.fill_of(page(0)).unwrap_err().number, 3624);
}

/// DROP DATABASE gives its id to the next CREATE DATABASE. A page of the catalog that a background thread read while the one was dropped
/// was then found by the other, which took the rows in it for its own and did not open after a power cut.
#[test]
fn no_page_of_a_forgotten_database_is_found_by_the_next_one_of_its_id() {
    let bench = Bench::new(64);
    for number in 0..20 {
        bench.create(page(number), 7);
    }
    bench.pool.flush_database(DATABASE, None).unwrap();
    for _ in 0..300 {
        std::thread::scope(|scope| {
            let readers: Vec<_> = (0..2)
                .map(|reader| {
                    let (bench, begin) = (&bench, reader * 7);
                    scope.spawn(move || {
                        let mut numbers = (0..20).cycle().skip(begin);
                        let read = |number| bench.fill_of(page(number));
                        numbers.find_map(|number| read(number).err()).map(|error| error.number)
                    })
                })
                .collect();
            std::thread::yield_now();
            bench.pool.forget_database(DATABASE);
            for reader in readers {
                assert_eq!(reader.join().unwrap(), Some(3624));
            }
        });
        assert_eq!(bench.pool.counters().frames_used, 0);
        bench.pool.attach(DATABASE, bench.files.clone(), bench.log.clone());
    }
}

#[test]
fn a_page_whose_read_began_before_its_database_was_forgotten_stays_out_of_the_next_one() {
    let bench = Bench::new(8);
    bench.create(page(0), 7);
    bench.pool.flush_database(DATABASE, None).unwrap();
    let late = bench.pool.attached(DATABASE).unwrap();
    let index = bench.pool.claim().unwrap();
    bench.pool.forget_database(DATABASE);
    bench.pool.attach(DATABASE, bench.files.clone(), bench.log.clone());
    let published = bench.pool.publish(index, page_key(DATABASE, page(0)), &late);
    assert_eq!(published.unwrap_err().number, 3624);
    assert_eq!(bench.pool.counters().frames_used, 0);
    assert_eq!(bench.fill_of(page(0)).unwrap(), 7);
}

#[test]
fn read_ahead_reads_runs_and_leaves_pages_in_memory_alone() {
    let bench = Bench::new(256);
    for number in 1..60 {
        bench.create(PageId::new(1, number), number as u8);
    }
    bench.pool.flush_database(DATABASE, None).unwrap();
    bench.pool.forget_database(DATABASE);
    bench.pool.attach(DATABASE, bench.files.clone(), bench.log.clone());
    bench.change(PageId::new(1, 30), 200);
    let reads_before = bench.disk.count(OperationKind::Read);
    assert_eq!(bench.pool.read_ahead(DATABASE, PageId::new(1, 1), 1_000).unwrap(), 62);
    let reads = bench.disk.count(OperationKind::Read) - reads_before;
    assert_eq!(reads, 2, "one run before the page in memory, one behind it");
    for number in 1..60 {
        let fill = if number == 30 { 200 } else { number as u8 };
        assert_eq!(bench.fill_of(PageId::new(1, number)).unwrap(), fill);
    }
    assert_eq!(bench.disk.count(OperationKind::Read), reads_before + reads);
    let waits = bench.environment.waits.rows();
    assert!(waits[WaitType::PageIoLatchShared as usize].waiting_tasks >= 2);
}

#[test]
fn files_grow_by_their_setting_up_to_their_limit() {
    let bench = Bench::new(8);
    let megabyte = 128;
    let limit = Some(64 * PAGE_BYTES as u64 + (5 << 19));
    assert!(bench.files.modify(1, "vlf1", limit, FileGrowth::Bytes(1 << 20)));
    for (expected, step) in [(64 + megabyte, 1), (64 + 2 * megabyte, 8), (64 + 320, 8)] {
        let grown = bench.files.grow(1, step).unwrap().unwrap();
        assert_eq!((grown.pages_after, bench.files.page_count(1)), (expected, expected));
    }
    assert_eq!(bench.files.grow(1, 1).unwrap(), None, "MAXSIZE is reached");
    assert!(bench.files.modify(1, "vlf1", None, FileGrowth::Percent(10)));
    assert_eq!(bench.files.grow(1, 1).unwrap().unwrap().pages_after, 384 + 39);
    assert!(bench.files.modify(1, "vlf1", None, FileGrowth::Bytes(0)));
    assert!(bench.files.modify(3, "vlf3", None, FileGrowth::Bytes(0)));
    assert!(!bench.files.grow_in(crate::buffer::PRIMARY_FILEGROUP, 1).unwrap());
    let information = bench.files.information();
    assert_eq!((information[0].page_count, information[1].id), (423, 3));
    assert_eq!(bench.fill_of(PageId::new(1, 5_000)).unwrap_err().number, 824);
}

#[test]
fn a_full_disk_at_growth_is_1101_and_changes_nothing() {
    let bench = Bench::new(8);
    bench.disk.set_capacity_bytes(Some(6 << 20));
    assert_eq!(bench.files.grow(1, 1).unwrap_err().number, 1101);
    assert_eq!((bench.files.page_count(1), bench.files.failure()), (64, None));
    bench.disk.set_capacity_bytes(None);
    assert!(bench.files.grow(1, 1).unwrap().is_some());
}

#[test]
fn files_that_do_not_belong_are_refused() {
    let bench = Bench::new(8);
    bench.unlock_files();
    let open = |identity, specifications: &[DataFileSpecification]| {
        let outcome = DataFiles::open(&bench.environment, identity, specifications, FileOptions::default());
        outcome.err().map(|error| error.number)
    };
    let stranger = DatabaseIdentity {
        id: 6,
        name: "x".to_string(),
        guid: [1; 16],
    };
    assert_eq!(open(identity(), &specifications()), None);
    assert_eq!(open(stranger, &specifications()), Some(5173));
    assert_eq!(open(identity(), &[specification(3, "/vlf.mdf", 0)]), Some(5173));
    assert_eq!(open(identity(), &[specification(1, "/none.mdf", 0)]), Some(5120));
    bench.disk.flip_bit(&primary_path(), 200, 3).unwrap();
    assert_eq!(open(identity(), &specifications()), Some(5171));
}

#[test]
fn creating_over_an_existing_file_fails_and_removes_what_it_made() {
    let bench = Bench::new(8);
    let specifications = [specification(1, "/new.mdf", 8), specification(3, "/vlf.mdf", 8)];
    let outcome = DataFiles::create(&bench.environment, identity(), &specifications, FileOptions::default());
    assert_eq!(outcome.err().unwrap().number, 5123);
    assert_eq!(bench.environment.disk.len(&PathBuf::from("/new.mdf")).unwrap(), None);
    assert!(
        bench.files.read_page(PageId::new(1, 0)).is_ok(),
        "the file in the way is untouched"
    );
}

#[test]
fn without_instant_initialization_new_space_is_written_with_zeros() {
    for instant_initialization in [true, false] {
        let disk = SimDisk::new(1);
        let environment = environment(Arc::new(disk.clone()));
        let options = FileOptions {
            instant_initialization,
            double_write: false,
        };
        let files = DataFiles::create(&environment, identity(), &[specification(1, "/a.mdf", 512)], options).unwrap();
        let writes = disk.count(OperationKind::Write);
        // The header page, and zeros behind it.
        assert_eq!(writes, if instant_initialization { 1 } else { 5 });
        files.grow(1, 1).unwrap();
        assert_eq!(
            disk.count(OperationKind::Write) - writes,
            u64::from(!instant_initialization)
        );
        let waited = environment.waits.rows()[WaitType::PreemptiveWriteFileGather as usize].waiting_tasks;
        assert_eq!(waited, if instant_initialization { 0 } else { 2 });
    }
}

#[test]
fn a_full_pool_gives_way_to_queries_and_loses_nothing() {
    let bench = Bench::new(64);
    for number in 0..100 {
        bench.create(page(number), number as u8);
    }
    assert_eq!(bench.pool.counters().frames_used, 64);
    assert!(
        bench.pool.counters().pages_dirty > 0,
        "some must be written to give way"
    );
    lend(&bench, 40);
    let counters = bench.pool.counters();
    assert_eq!((counters.frames, counters.frames_used), (24, 24));
    assert_eq!(bench.pool.memory_bytes(), 24 * PAGE_BYTES as u64);
    for number in 0..100 {
        assert_eq!(bench.fill_of(page(number)).unwrap(), number as u8);
    }
    assert_eq!(bench.pool.memory_bytes(), 24 * PAGE_BYTES as u64);
    lend(&bench, 1_040);
    assert_eq!(bench.pool.counters().frames_used, 16, "a quarter stays");
    bench.pool.set_lent(0);
    for number in 0..100 {
        assert_eq!(bench.fill_of(page(number)).unwrap(), number as u8);
    }
    assert_eq!(bench.pool.counters().frames_used, 64, "what was parked is used again");
}

#[test]
fn a_pool_that_is_not_full_gives_up_room_it_never_used() {
    let bench = Bench::new(64);
    for number in 0..10 {
        bench.create(page(number), 1);
    }
    lend(&bench, 40);
    assert_eq!(bench.pool.counters().frames_used, 10, "nobody had to give way");
    for number in 10..60 {
        bench.create(page(number), 1);
    }
    assert_eq!(bench.pool.counters().frames_used, 24);
}

#[test]
fn a_pool_made_smaller_and_larger_stays_within_what_it_was_made_for() {
    let bench = Bench::new(64);
    for number in 0..100 {
        bench.create(page(number), number as u8);
    }
    for (pages, limit) in [(32, 32), (1, 8), (1_000, 64), (63, 63)] {
        bench.pool.resize(pages * PAGE_BYTES as u64);
        assert!(bench.pool.counters().frames_used <= limit);
        for number in 0..100 {
            assert_eq!(bench.fill_of(page(number)).unwrap(), number as u8);
        }
        assert_eq!(bench.pool.counters().frames_used, limit, "{pages}");
    }
}

#[test]
fn a_pool_whose_pages_are_fixed_gives_way_later() {
    let bench = Bench::new(32);
    for number in 0..32 {
        bench.create(page(number), 1);
    }
    let fixed: Vec<_> = (0..30)
        .map(|number| bench.pool.read(DATABASE, page(number)).unwrap())
        .collect();
    lend(&bench, 16);
    assert_eq!(
        bench.pool.counters().frames_used,
        30,
        "two gave way, the others are fixed"
    );
    drop(fixed);
    lend(&bench, 17);
    assert_eq!(bench.pool.counters().frames_used, 15);
}
