//! Zeros written ahead of the log change nothing that anybody can read.

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
    let state = log.state.lock();
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
    log.state.lock().warming = Some(state::WarmChunk {
        place,
        range: 8192..200_000,
    });
    let claim = state::Claim::Work { undo_reserve: 0 };
    assert_eq!(log.state.lock().make_room(100, claim), Err(state::Obstacle::Warming));
    std::thread::scope(|scope| {
        let appended = scope.spawn(|| {
            let mut chain = TransactionChain::new(TransactionId(1));
            log.append(&mut chain, RecordKind::Begin, &[], 0)
        });
        log.state.lock().warming = None;
        log.room.notify_all();
        assert_eq!(appended.join().unwrap().unwrap(), Lsn::new(40, 16, 1));
    });
}
