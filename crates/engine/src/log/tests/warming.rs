//! Zeros written ahead of the log change nothing that can be read.

use super::*;
use disk::sim::OperationKind;

#[test]
fn warming_reaches_all_that_lies_ahead_and_nothing_else() {
    let bench = Bench::new(file(40 * MB, 0, 40 * MB), LogPolicy::native());
    let log = bench.create();
    let synced = bench.disk.count(OperationKind::Sync);
    let mut chain = TransactionChain::new(TransactionId(1));
    let (mut written, mut chunks) = (0, 0);
    while log.end().vlf < 43 {
        let lsn = log
            .append(&mut chain, RecordKind::Change, &[&payload(written, 50_000)], 0)
            .unwrap();
        written += 1;
        if written % 20 == 0 {
            log.flush_to(lsn).unwrap();
            chunks += usize::from(log.warm_one_chunk());
        }
    }
    while log.warm_one_chunk() {
        chunks += 1;
    }
    assert!((20..40).contains(&chunks), "{chunks} chunks of 1 MB");
    assert_eq!(bench.disk.count(OperationKind::Sync), synced, "zeros are not synced");
    log.flush_to(Lsn::MAX).unwrap();
    drop(log);
    let (log, records) = bench.recover().unwrap();
    assert!(
        records
            .iter()
            .enumerate()
            .all(|(index, record)| number_of(record) as usize == index)
    );
    assert_eq!(records.len() as u32, written);
    // Log that is free again is not wiped: a restart may still look at it.
    log.truncate(log.end());
    let before = bench.disk.count(OperationKind::Write);
    while log.warm_one_chunk() {}
    let warmed = bench.disk.count(OperationKind::Write) - before;
    assert!(warmed <= 10, "at most what was never used: {warmed}");
}

/// Zeros were once written right behind the border of a small VLF, where the log came next and had to wait for them: a bulk load
/// in VLFs of 256 KB took a tenth longer than in large ones.
#[test]
fn zeros_keep_their_distance_across_the_borders_of_small_vlfs() {
    let bench = Bench::new(file(MB, 0, 40 * MB), LogPolicy::native());
    let log = bench.create();
    for size in 2..40 {
        log.grow_file(2, size * MB).unwrap();
    }
    assert!(log.vlfs().len() > 40, "small ones");
    let state = log.hold();
    let (_, _, offset) = state.next_cold_chunk().unwrap();
    let tail = state.tail.as_ref().unwrap();
    let distance = offset - (tail.vlf_offset + tail.block_offset);
    assert!((8 * MB..10 * MB).contains(&distance), "{distance}");
}

/// The log waits for a chunk that is being zeroed just where it wants to write, and goes on when it is done.
#[test]
fn the_log_does_not_write_where_zeros_are_being_written() {
    let bench = Bench::new(file(MB, 0, MB), LogPolicy::native());
    let log = bench.create();
    let place = table::VlfPlace { file: 2, index: 0 };
    log.hold().warming = Some(state::WarmChunk {
        place,
        range: 8192..200_000,
    });
    let claim = state::Claim::Work { undo_reserve: 0 };
    assert_eq!(log.hold().make_room(100, claim), Err(state::Obstacle::Warming));
    std::thread::scope(|scope| {
        let appended = scope.spawn(|| {
            let mut chain = TransactionChain::new(TransactionId(1));
            log.append(&mut chain, RecordKind::Begin, &[], 0)
        });
        log.hold().warming = None;
        log.room.notify_all();
        assert_eq!(appended.join().unwrap().unwrap(), Lsn::new(40, 16, 1));
    });
}

/// A log that grows by small steps never came to space that zeros had been written over: what a step adds is nearer to its end than the
/// zeros keep away from it, and every durable write paid for the file system's journal (1.2 GB of 8 KB commits took 1.7 times as long as
/// in a log made at once). Whatever the step, no log goes to space nobody has written, but what there was at the start.
#[test]
fn no_log_goes_to_space_that_growth_by_small_steps_has_only_reserved() {
    for (step, version) in [
        (MB, ServerVersion::V2012),
        (MB, ServerVersion::V2022),
        (4 * MB, ServerVersion::V2012),
    ] {
        let disk = SimDisk::new(7);
        disk.create_directories(std::path::Path::new("/log")).unwrap();
        let env = Environment {
            background: Background::Threads,
            ..environment(Arc::new(disk.clone()))
        };
        let spec = file(MB, step, 64 * MB);
        let log = LogManager::create(
            &env,
            "test",
            std::slice::from_ref(&spec),
            version,
            LogPolicy::native(),
            40,
        )
        .unwrap();
        let mut written = 0;
        while log.space().used_bytes < 24 * MB {
            let mut chain = TransactionChain::new(TransactionId(1));
            let lsn = log
                .append(&mut chain, RecordKind::Change, &[&payload(written, 7_000)], 0)
                .unwrap();
            log.forget(&mut chain);
            log.flush_to(lsn).unwrap();
            written += 1;
        }
        let counters = log.counters();
        assert!(
            counters.growths >= 5 && counters.cold_bytes < MB,
            "{step}, {version:?}: {counters:?}"
        );
        log.close();
        drop(log);
        let (log, _) = LogManager::open(&env, "test", &[spec], version, LogPolicy::native()).unwrap();
        let (records, _) = read_all(&log, oldest(&log)).unwrap();
        let numbers: Vec<u32> = records.iter().map(number_of).collect();
        assert_eq!(numbers, (0..written).collect::<Vec<_>>(), "{step}, {version:?}");
    }
}
