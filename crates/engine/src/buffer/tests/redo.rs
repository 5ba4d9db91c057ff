//! Redo on pages that are behind, ahead, torn or never written.

use super::*;
use crate::page::{Change, UndoKind};
use disk::sim::CutPolicy;

fn id(number: u32) -> PageId {
    PageId::new(1, number)
}

fn change<'a>(encoded: &'a mut Vec<u8>, entries: &[(PageId, PageOperation<'_>)]) -> Change<'a> {
    encoded.clear();
    Change::encode(ObjectId(9), UndoKind::None, &[], entries, encoded);
    Change::decode(encoded).unwrap()
}

fn format() -> PageOperation<'static> {
    PageOperation::Format {
        kind: PageKind::Heap,
        level: 0,
        object: ObjectId(9),
        next: PageId::NONE,
        previous: PageId::NONE,
    }
}

#[test]
fn a_record_is_applied_to_the_pages_that_lack_it_and_only_once() {
    let bench = Bench::new(16);
    let row = row(5);
    let entries = [
        (id(1), format()),
        (id(1), PageOperation::InsertAt { slot: 0, row: &row }),
        (id(2), format()),
    ];
    let (mut encoded, mut damaged) = (Vec::new(), DamagedPages::new());
    let lsn = bench.log.next();
    let record = change(&mut encoded, &entries);
    assert_eq!(
        bench.pool.redo(DATABASE, &record, lsn, &mut damaged).unwrap(),
        3,
        "both entries of page 1"
    );
    assert_eq!(
        bench.pool.redo(DATABASE, &record, lsn, &mut damaged).unwrap(),
        0,
        "a second time changes nothing"
    );
    assert_eq!(bench.fill_of(id(1)).unwrap(), 5);
    damaged.into_result().unwrap();
}

#[test]
fn a_torn_page_that_the_log_makes_anew_is_healed_and_any_other_is_an_error() {
    let bench = Bench::new(16);
    for number in [1, 2] {
        bench.create(id(number), 1);
    }
    bench.pool.flush_database(DATABASE, None).unwrap();
    let old_change = bench.change(id(1), 2);
    bench.pool.flush_database(DATABASE, None).unwrap();
    let rebuilt = bench.create(id(1), 3);
    bench.disk.power_cut_at(bench.disk.operation_count() + 2);
    bench.pool.flush_database(DATABASE, None).unwrap_err();
    let torn = (0..50).map(|seed| bench.disk.after_power_cut(CutPolicy::GarbageSectors, seed));
    let mut healed = 0;
    for disk in torn {
        let (reopened, _) = Bench::open(disk, bench.log.clone(), 16);
        // The copy in the double-write file is older than the page made again, and restoring it is as good as any.
        reopened
            .disk
            .flip_bit(&primary_path(), PAGE_BYTES as u64 + 500, 0)
            .unwrap();
        let (mut encoded, mut damaged, row) = (Vec::new(), DamagedPages::new(), row(3));
        let early = [(
            id(1),
            PageOperation::ReplaceRow {
                slot: 0,
                before: &[],
                after: &row,
            },
        )];
        let record = change(&mut encoded, &early);
        assert_eq!(
            reopened.pool.redo(DATABASE, &record, old_change, &mut damaged).unwrap(),
            0
        );
        let late = [
            (id(1), format()),
            (id(1), PageOperation::InsertAt { slot: 0, row: &row }),
        ];
        let record = change(&mut encoded, &late);
        assert_eq!(reopened.pool.redo(DATABASE, &record, rebuilt, &mut damaged).unwrap(), 2);
        damaged.into_result().unwrap();
        assert_eq!(reopened.fill_of(id(1)).unwrap(), 3);
        healed += 1;
    }
    assert_eq!(healed, 50);
    bench.disk.clear_faults();
    let (reopened, _) = Bench::open(bench.disk.after_power_cut(CutPolicy::AllLost, 1), bench.log.clone(), 16);
    reopened
        .disk
        .flip_bit(&primary_path(), 2 * PAGE_BYTES as u64 + 500, 0)
        .unwrap();
    let (mut encoded, mut damaged, row) = (Vec::new(), DamagedPages::new(), row(3));
    let record = [(
        id(2),
        PageOperation::ReplaceRow {
            slot: 0,
            before: &[],
            after: &row,
        },
    )];
    let record = change(&mut encoded, &record);
    assert_eq!(reopened.pool.redo(DATABASE, &record, rebuilt, &mut damaged).unwrap(), 0);
    assert_eq!(damaged.into_result().unwrap_err().number, 824);
}
