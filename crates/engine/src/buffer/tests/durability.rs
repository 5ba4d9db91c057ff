//! The buffer pool and durability: log before pages, torn pages, failed writes, damaged bytes.

use super::*;
use disk::sim::{CutPolicy, FaultError, OperationKind, Repetition};

const PAGES: std::ops::Range<u32> = 1..25;

fn id(number: u32) -> PageId {
    PageId::new(if number < 13 { 1 } else { 3 }, number)
}

/// Pages 1 to 24 written with fill 1, then 2 to 24 by steps changed to fill 2 and two made again.
fn prepared() -> Bench {
    let bench = Bench::new(64);
    for number in PAGES {
        bench.create(id(number), 1);
    }
    bench.pool.flush_database(DATABASE, None).unwrap();
    for number in PAGES.filter(|number| number % 3 != 0) {
        bench.change(id(number), 2);
    }
    bench
}

#[test]
fn the_log_is_flushed_before_any_page_is_written() {
    let bench = Bench::new(8);
    for number in PAGES {
        let lsn = bench.create(id(number), 1);
        let at_most = bench.log.flushed();
        assert!(at_most < lsn, "nothing asked for the newest record yet");
        // Whatever has reached the files by now has an LSN the log has flushed.
        for written in PAGES.take_while(|other| *other <= number) {
            if let Ok(page) = bench.files.read_page(id(written)) {
                assert!(PageRef::new(&page).lsn() <= bench.log.flushed());
            }
        }
    }
    bench.log.refuse_flushes(Some(Error::log_not_available("vlf")));
    let writes = bench.disk.operation_count();
    assert_eq!(bench.pool.flush_database(DATABASE, None).unwrap_err().number, 9001);
    assert_eq!(bench.disk.operation_count(), writes, "no file was touched");
    let dirty = bench.pool.counters().pages_dirty;
    assert!(dirty > 0 && bench.pool.oldest_dirty(DATABASE).is_some());
    bench.log.refuse_flushes(None);
    assert_eq!(bench.pool.flush_database(DATABASE, None).unwrap(), dirty);
}

#[test]
fn a_power_cut_anywhere_in_a_flush_leaves_every_page_old_or_new() {
    let whole = prepared();
    let before = whole.disk.operation_count();
    whole.pool.flush_database(DATABASE, None).unwrap();
    let operations = whole.disk.operation_count() - before;
    let policies = [
        CutPolicy::AllLost,
        CutPolicy::AllKept,
        CutPolicy::RandomSectors,
        CutPolicy::RandomWrites,
        CutPolicy::TornLastWrite { sectors_kept: 5 },
        CutPolicy::GarbageSectors,
    ];
    let (mut points, mut torn, mut new_images) = (0, 0, 0);
    for cut in 1..=operations {
        for (seed, policy) in policies.into_iter().enumerate() {
            let bench = prepared();
            bench.disk.power_cut_at(bench.disk.operation_count() + cut);
            bench.pool.flush_database(DATABASE, None).unwrap_err();
            let found = bench.disk.after_power_cut(policy, cut * 31 + seed as u64);
            let (reopened, report) = Bench::open(found.clone(), bench.log.clone(), 64);
            points += 1;
            torn += report.pages_restored.len();
            for number in PAGES {
                let fill = reopened.fill_of(id(number)).unwrap();
                let expected = if number % 3 == 0 { 1..=1 } else { 1..=2 };
                assert!(
                    expected.contains(&fill),
                    "cut {cut} {policy:?}: page {number} holds {fill}"
                );
                new_images += usize::from(fill == 2);
            }
            let (_, again) = Bench::open(found.snapshot(), bench.log.clone(), 64);
            assert_eq!(again.pages_restored, [], "restoring is durable and needed once");
        }
    }
    println!("{points} cuts, {torn} torn pages restored, {new_images} pages found new");
    assert!(points >= 30 && torn > 20 && new_images > 50);
}

#[test]
fn without_the_double_write_file_the_same_cuts_lose_pages() {
    let bench = prepared();
    bench.unlock_files();
    let copies = DataFiles::open(
        &bench.environment,
        identity(),
        &specifications(),
        FileOptions {
            double_write: false,
            ..FileOptions::default()
        },
    );
    bench
        .pool
        .attach(DATABASE, Arc::new(copies.unwrap()), bench.log.clone());
    bench.disk.power_cut_at(bench.disk.operation_count() + 2);
    bench.pool.flush_database(DATABASE, None).unwrap_err();
    let (reopened, _) = Bench::open(
        bench.disk.after_power_cut(CutPolicy::RandomSectors, 3),
        bench.log.clone(),
        64,
    );
    let lost = PAGES.filter(|number| reopened.fill_of(id(*number)).is_err_and(|error| error.number == 824));
    assert!(
        lost.count() > 0,
        "the test of the double-write file would notice its absence"
    );
}

#[test]
fn the_first_failed_write_or_sync_closes_the_files_for_good() {
    for (kind, path) in [
        (OperationKind::Write, "vlf.mdf"),
        (OperationKind::Sync, "vlf2.ndf"),
        (OperationKind::WriteDurable, "vlf.mdf.dwb"),
    ] {
        let bench = prepared();
        bench.disk.fail_next(kind, path, 1, FaultError::Io, Repetition::Once);
        let first = bench.pool.flush_database(DATABASE, None).unwrap_err();
        assert_eq!(first.number, 823, "{first}");
        assert_eq!(bench.files.failure(), Some(&first));
        let operations = bench.disk.operation_count();
        assert_eq!(bench.pool.flush_database(DATABASE, None).unwrap_err(), first);
        assert_eq!(bench.files.grow(1, 1).unwrap_err(), first);
        assert_eq!(bench.disk.operation_count(), operations, "no retry, no pretending");
        assert!(
            bench.pool.oldest_dirty(DATABASE).is_some(),
            "what failed is still dirty"
        );
        assert!(
            bench
                .environment
                .errorlog
                .lines()
                .iter()
                .any(|line| line.text.contains("Error: 823"))
        );
    }
}

#[test]
fn a_flipped_byte_is_824_and_a_failing_read_823() {
    let bench = prepared();
    bench.pool.flush_database(DATABASE, None).unwrap();
    let (reopened, _) = Bench::open(bench.disk.snapshot(), bench.log.clone(), 8);
    reopened
        .disk
        .flip_bit(&primary_path(), 4 * PAGE_BYTES as u64 + 3_000, 1)
        .unwrap();
    let error = reopened.fill_of(id(4)).unwrap_err();
    assert_eq!(error.number, 824);
    assert!(
        error.message.contains("incorrect checksum (expected: 0x") && error.message.contains("(1:4)"),
        "{error}"
    );
    assert_eq!(reopened.fill_of(id(5)).unwrap(), 2, "its neighbour is well");
    reopened
        .disk
        .flip_bit(&primary_path(), 4 * PAGE_BYTES as u64 + 3_000, 1)
        .unwrap();
    assert_eq!(
        reopened.fill_of(id(4)).unwrap(),
        2,
        "a failed read leaves nothing behind"
    );
    reopened
        .disk
        .fail_next(OperationKind::Read, "vlf.mdf", 1, FaultError::Io, Repetition::Once);
    assert_eq!(reopened.fill_of(id(7)).unwrap_err().number, 823);
    assert_eq!(reopened.fill_of(id(7)).unwrap(), 2);
}

#[test]
fn a_page_in_the_wrong_place_is_824() {
    let bench = prepared();
    let mut page = bench.files.read_page(id(1)).unwrap();
    bench.files.write_page(id(2), &mut page).unwrap();
    let error = bench.files.read_page(id(2)).unwrap_err();
    assert!(
        error.number == 824 && error.message.contains("expected (1:2); actual (1:1)"),
        "{error}"
    );
}
