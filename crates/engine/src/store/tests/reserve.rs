//! The classic policy reserves as much for a rollback as SQL Server, and a rollback never lacks log space.

use super::*;

/// Published: see the module `reserve`.
const ROW: u64 = 74;
const NEW_PAGE: u64 = 1_890;
const SPLIT: u64 = 2_263;

/// Pages that structures have gained by the records behind the first `skipped`: behind the last one, and by splits.
fn gained(bench: &Bench, skipped: usize) -> (u64, u64) {
    let (mut new_pages, mut splits) = (0, 0);
    for record in bench.records().iter().skip(skipped) {
        if record.header.kind != RecordKind::Change {
            continue;
        }
        let change = Change::decode(&record.payload).unwrap();
        let operations: Vec<PageOperation<'_>> = change.entries().map(|entry| entry.unwrap().1).collect();
        let has_rows = |kind| matches!(kind, PageKind::Heap | PageKind::TreeLeaf);
        match operations[..] {
            [PageOperation::Image { .. }, PageOperation::Image { .. }] => new_pages += 1,
            [PageOperation::Image { .. }, PageOperation::Image { .. }, ..] => splits += 1,
            [PageOperation::Format { kind, .. }, ..] if has_rows(kind) => new_pages += 1,
            _ => {}
        }
    }
    (new_pages, splits)
}

/// 205 bytes were set aside for four rows of SQL Server's 296, and nothing for pages, so that the log of a bulk load grew less than
/// published. Rows of every size, keys that rise (new pages) and that fall (splits).
#[test]
fn classic_sets_aside_what_is_published_for_rows_pages_and_splits() {
    let mut seen = (0, 0);
    for (row_bytes, count) in [(4, 3), (1_000, 6), (15, 2_000), (1_000, 60)] {
        for is_rising in [true, false] {
            let bench = Bench::new(256, LogPolicy::classic());
            let tree = bench.tree(1);
            let mut work = bench.begin();
            let (skipped, before) = (bench.records().len(), work.chain.reserved_bytes);
            for number in 0..count {
                let key = if is_rising { number } else { count - number };
                let row = vec![7; row_bytes];
                assert!(
                    tree.insert(&mut bench.ctx(&mut work), &u32::to_be_bytes(key), &row)
                        .unwrap()
                );
            }
            let (new_pages, splits) = gained(&bench, skipped);
            let expected = ROW * u64::from(count) + NEW_PAGE * new_pages + SPLIT * splits;
            let what =
                format!("{count} rows of {row_bytes}, rising {is_rising}: {new_pages} new pages, {splits} splits");
            assert_eq!(work.chain.reserved_bytes - before, expected, "{what}");
            seen = (seen.0 + new_pages, seen.1 + splits);
            bench.roll_back(work);
            assert_eq!(bench.storage.log.space().reserved_bytes, 0, "{what}");
        }
    }
    assert!(seen.0 > 10 && seen.1 > 10, "{seen:?}");
}

/// Rows of a heap count like those of an index; native sets aside what the rollback takes.
#[test]
fn a_heap_counts_as_an_index_and_native_sets_aside_what_it_needs() {
    for (policy, is_classic) in [(LogPolicy::classic(), true), (LogPolicy::native(), false)] {
        let bench = Bench::new(64, policy);
        let heap = bench.heap(1);
        let mut work = bench.begin();
        let (skipped, before) = (bench.records().len(), work.chain.reserved_bytes);
        for _ in 0..20 {
            heap.insert(&mut bench.ctx(&mut work), &[7; 900], Placement::Anywhere)
                .unwrap();
        }
        let (new_pages, _) = gained(&bench, skipped);
        assert!(new_pages > 1);
        let reserved = work.chain.reserved_bytes - before;
        match is_classic {
            true => assert_eq!(reserved, 20 * ROW + new_pages * NEW_PAGE),
            false => assert!((20..20 * ROW).contains(&reserved), "{reserved}"),
        }
        bench.roll_back(work);
    }
}

/// A log that may not grow, filled to 9002: everything is undone in it all the same.
#[test]
fn what_classic_sets_aside_suffices_for_every_rollback() {
    for (row_bytes, is_rising) in [(10, true), (10, false), (1_500, true), (1_500, false)] {
        let bench = Bench::on(
            environment(),
            256,
            LogPolicy::classic(),
            &[data_file(1, 64, None)],
            log_file(2 << 20, crate::log::FileGrowth::None),
        );
        let tree = bench.tree(1);
        let mut work = bench.begin();
        let full = (0u32..).find_map(|number| {
            let key = if is_rising { number } else { u32::MAX - number };
            let row = vec![7; row_bytes];
            tree.insert(&mut bench.ctx(&mut work), &key.to_be_bytes(), &row).err()
        });
        assert!(full.unwrap().is_log_full());
        bench.roll_back(work);
        let space = bench.storage.log.space();
        assert_eq!((space.reserved_bytes, bench.storage.log.counters().growths), (0, 0));
    }
}
