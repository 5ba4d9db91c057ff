//! The buffer pool under many threads with few frames.

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
fn no_change_is_lost_under_threads_eviction_checkpoints_and_lending() {
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
        let borrower = scope.spawn(|| {
            let mut frames_least = usize::MAX;
            while !over.load(Ordering::Relaxed) {
                bench.pool.set_lent(12);
                bench.pool.give_way();
                frames_least = frames_least.min(bench.pool.counters().frames_used);
                bench.pool.set_lent(0);
            }
            frames_least
        });
        // The other two end, whatever becomes of the workers.
        let outcomes: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        over.store(true, Ordering::Relaxed);
        outcomes.into_iter().for_each(|outcome| outcome.unwrap());
        assert!(checkpoint.join().unwrap() > 0);
        assert!(borrower.join().unwrap() < 20, "the pool gave way while it was used");
    });
    bench.pool.flush_database(DATABASE, None).unwrap();
    let (reopened, _) = Bench::open(bench.disk.snapshot(), bench.log.clone(), 20);
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

#[test]
fn a_checkpoint_counts_a_change_that_is_logged_but_not_yet_applied() {
    let bench = Bench::new(20);
    let id = PageId::new(1, 1);
    bench.create(id, 0);
    bench.pool.flush_database(DATABASE, None).unwrap();
    let mut page = bench.pool.write(DATABASE, id).unwrap();
    // The record is in the log, the page does not show it yet: the moment a checkpoint must not overlook.
    let logged = bench.log.next();
    let asked = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let checkpoint = scope.spawn(|| {
            asked.store(true, Ordering::SeqCst);
            bench.pool.oldest_dirty(DATABASE)
        });
        while !asked.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        for _ in 0..1_000 {
            std::thread::yield_now();
        }
        assert!(!checkpoint.is_finished(), "it waits for the latch");
        let after = row(1);
        page.apply(
            &PageOperation::ReplaceRow {
                slot: 0,
                before: &[],
                after: &after,
            },
            logged,
        )
        .unwrap();
        drop(page);
        assert_eq!(checkpoint.join().unwrap(), Some(logged));
    });
}

#[test]
fn threads_that_meet_on_a_damaged_page_all_get_824() {
    let bench = Bench::new(20);
    for number in 1..=PAGES {
        bench.create(PageId::new(1, number), 0);
    }
    bench.pool.flush_database(DATABASE, None).unwrap();
    bench.pool.forget_database(DATABASE);
    bench.pool.attach(DATABASE, bench.files.clone(), bench.log.clone());
    bench
        .disk
        .flip_bit(&primary_path(), 7 * PAGE_BYTES as u64 + 1_000, 0)
        .unwrap();
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let bench = &bench;
            scope.spawn(move || {
                for step in 0..300 {
                    assert_eq!(bench.fill_of(PageId::new(1, 7)).unwrap_err().number, 824);
                    bench.fill_of(PageId::new(1, 10 + (seed * 11 + step) % 40)).unwrap();
                }
            });
        }
    });
    assert!(bench.pool.counters().frames_used <= 20);
}

#[test]
fn the_lazy_writer_writes_ahead_of_eviction_and_ends_with_its_pool() {
    let mut bench = Bench::new(64);
    bench.environment.background = Background::Threads;
    let pool = Arc::new(BufferPool::new(bench.environment.clone(), 64 * PAGE_BYTES as u64));
    pool.attach(DATABASE, bench.files.clone(), bench.log.clone());
    pool.start_lazy_writer();
    bench.pool = BufferPool::new(bench.environment.clone(), 0);
    for round in 0..40 {
        for number in 1..120 {
            let lsn = bench.log.next();
            let mut page = pool
                .fresh(DATABASE, PageId::new(1 + 2 * (number % 2) as u16, 1 + number / 2))
                .unwrap();
            let format = PageOperation::Format {
                kind: PageKind::Heap,
                level: 0,
                object: ObjectId(round),
                next: PageId::NONE,
                previous: PageId::NONE,
            };
            page.apply(&format, lsn).unwrap();
        }
    }
    let weak = Arc::downgrade(&pool);
    pool.flush_database(DATABASE, None).unwrap();
    assert_eq!(pool.counters().pages_dirty, 0);
    for number in 1..120 {
        let id = PageId::new(1 + 2 * (number % 2) as u16, 1 + number / 2);
        assert_eq!(pool.read(DATABASE, id).unwrap().view().object(), ObjectId(39));
    }
    drop(pool);
    while weak.strong_count() > 0 {
        std::thread::yield_now();
    }
}
