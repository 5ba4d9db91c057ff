//! Many threads, few frames.

use super::*;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

const PAGES: u32 = 60;

/// Each page's row is one byte repeated, which a reader under a latch must never see half changed.
fn work(bench: &Bench, seed: u64, steps: u32, expected: &[AtomicU32]) {
    let mut random = seed;
    for _ in 0..steps {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let number = 1 + (random % u64::from(PAGES)) as u32;
        let id = PageId::new(1, number);
        if random & (1 << 33) == 0 {
            bench.fill_of(id).unwrap();
            continue;
        }
        let mut page = bench.pool.write(DATABASE, id).unwrap();
        let before = fill_of(page.view());
        let lsn = bench.log.next();
        let after = row(before.wrapping_add(1));
        page.apply(
            &PageOperation::ReplaceRow {
                slot: 0,
                before: &[],
                after: &after,
            },
            lsn,
        )
        .unwrap();
        expected[number as usize].fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn no_change_is_lost_under_threads_eviction_and_checkpoints() {
    let bench = Bench::new(20);
    for number in 1..=PAGES {
        bench.create(PageId::new(1, number), 0);
    }
    let expected: Vec<AtomicU32> = (0..=PAGES).map(|_| AtomicU32::new(0)).collect();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (1..=4)
            .map(|seed| {
                let (bench, expected) = (&bench, &expected);
                scope.spawn(move || work(bench, seed * 0x9E37_79B9, 2_500, expected))
            })
            .collect();
        let checkpoint = scope.spawn(|| {
            let mut rounds = 0;
            while !over.load(Ordering::Relaxed) {
                bench.pool.flush_database(DATABASE, None).unwrap();
                if let Some(oldest) = bench.pool.oldest_dirty(DATABASE) {
                    assert!(oldest > Lsn::ZERO);
                }
                rounds += 1;
            }
            rounds
        });
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        over.store(true, Ordering::Relaxed);
        assert!(checkpoint.join().unwrap() > 0);
    });
    bench.pool.flush_database(DATABASE, None).unwrap();
    let (reopened, _) = Bench::open(bench.disk.clone(), bench.log.clone(), 20);
    for number in 1..=PAGES {
        let changes = expected[number as usize].load(Ordering::Relaxed);
        assert_eq!(
            reopened.fill_of(PageId::new(1, number)).unwrap(),
            changes as u8,
            "page {number}"
        );
    }
    assert!(bench.pool.counters().pages_written_by_eviction > 0);
}
