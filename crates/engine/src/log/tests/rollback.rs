//! A full log refuses new work but never a rollback, with the smallest VLFs there are.

use super::super::Trailer;
use super::*;
use std::collections::BTreeMap;

/// When the rollback flushes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flushes {
    /// Only with each transaction's end.
    AtEnd,
    /// After every tenth compensation record, as evictions of pages would.
    Sometimes,
    /// After every single one: more than any reserve expects.
    Always,
}

/// Appends changes of `payload_bytes` for `transactions` in turn until the log is full; answers their records.
fn fill(
    log: &LogManager,
    transactions: u64,
    payload_bytes: usize,
    undo_bytes: u32,
) -> BTreeMap<u64, (TransactionChain, Vec<Lsn>)> {
    let mut open = BTreeMap::new();
    for number in 0.. {
        let id = number % transactions + 1;
        let (chain, changes) = open
            .entry(id)
            .or_insert_with(|| (TransactionChain::new(TransactionId(id)), Vec::new()));
        let work = vec![number as u8; payload_bytes + (number as usize * 37) % (payload_bytes / 2 + 1)];
        match log.append(chain, RecordKind::Change, &[&work], undo_bytes) {
            Ok(lsn) => changes.push(lsn),
            Err(error) => {
                assert!(error.is_log_full(), "{error}");
                return open;
            }
        }
    }
    unreachable!("the log has an end");
}

fn roll_back(log: &LogManager, open: BTreeMap<u64, (TransactionChain, Vec<Lsn>)>, undo_bytes: u32, flushes: Flushes) {
    let undo = vec![0xAA; undo_bytes as usize];
    let mut undone = 0;
    for (mut chain, changes) in open.into_values() {
        for lsn in changes.iter().rev() {
            let previous = log.read_record(*lsn).unwrap().header.previous;
            let lsn = log
                .append_compensation(&mut chain, previous, &[&undo], Trailer::NONE)
                .unwrap();
            undone += 1;
            if flushes == Flushes::Always || (flushes == Flushes::Sometimes && undone % 10 == 0) {
                log.flush_to(lsn).unwrap();
            }
        }
        let end = log.append(&mut chain, RecordKind::Abort, &[], 0).unwrap();
        log.flush_to(end).unwrap();
        assert_eq!(chain.reserved_bytes, 0);
    }
    assert_eq!(log.space().reserved_bytes, 0);
}

#[test]
fn whatever_filled_the_log_can_be_rolled_back_within_it() {
    for (bytes, version) in [
        (504 * KB, ServerVersion::V2008),
        (MB, ServerVersion::V2008),
        (4 * MB, ServerVersion::V2022),
    ] {
        for (transactions, payload_bytes, undo_bytes) in [
            (1, 60, 40),
            (30, 100, 100),
            (5, 3_000, 3_000),
            (3, 20_000, 8_100),
            (7, 8_000, 60),
            (2, 30_000, 45_000),
        ] {
            for flushes in [Flushes::AtEnd, Flushes::Sometimes] {
                let bench = Bench::new(file(bytes, 0, bytes), LogPolicy::native());
                let spec = std::slice::from_ref(&bench.spec);
                let log = LogManager::create(&bench.env, "test", spec, version, bench.policy, 1).unwrap();
                let open = fill(&log, transactions, payload_bytes, undo_bytes);
                let filled = log.space();
                assert!(filled.used_percent() > 15.0, "{filled:?}");
                roll_back(&log, open, undo_bytes, flushes);
                let what = format!("{bytes} bytes, {transactions} x {payload_bytes}/{undo_bytes}, {flushes:?}");
                if flushes == Flushes::AtEnd {
                    assert_eq!(log.counters().growths, 0, "grew past its limit: {what}");
                }
            }
        }
    }
}

/// The last resort: flushing every record wastes more space than was set aside, and the log grows past MAXSIZE.
#[test]
fn a_rollback_that_wastes_its_reserve_still_ends() {
    let bench = Bench::new(file(MB, 0, MB), LogPolicy::native());
    let log = bench.create();
    let open = fill(&log, 10, 100, 100);
    roll_back(&log, open, 100, Flushes::Always);
    assert!(log.counters().growths > 0);
    let mut chain = TransactionChain::new(TransactionId(99));
    assert!(
        log.append(&mut chain, RecordKind::Change, &[b"still usable"], 0)
            .is_ok()
    );
}

#[test]
fn a_full_log_says_why_and_works_again_once_it_is_truncated() {
    let bench = Bench::new(file(MB, 0, MB), LogPolicy::classic());
    let log = bench.create();
    log.set_reuse_wait("ACTIVE_TRANSACTION");
    let open = fill(&log, 4, 500, 300);
    let before = log.end();
    let mut chain = TransactionChain::new(TransactionId(77));
    let error = log.append(&mut chain, RecordKind::Begin, &[], 0).unwrap_err();
    assert_eq!(error, Error::log_full("test", "ACTIVE_TRANSACTION"));
    assert_eq!(
        (log.end(), &chain),
        (before, &TransactionChain::new(TransactionId(77))),
        "nothing changed"
    );
    assert!(
        log.append_system(RecordKind::CheckpointBegin, &[&[0; 2_000]]).is_ok(),
        "checkpoints have a reserve"
    );
    roll_back(&log, open, 300, Flushes::AtEnd);
    log.truncate(log.end());
    assert!(log.append(&mut chain, RecordKind::Begin, &[], 0).is_ok());
}

/// Commits take what their transactions set aside, however full the log is.
#[test]
fn every_transaction_that_wrote_can_also_commit() {
    let bench = Bench::new(file(504 * KB, 0, 504 * KB), LogPolicy::native());
    let log = bench.create();
    for (mut chain, _) in fill(&log, 20, 900, 400).into_values() {
        let lsn = log.append(&mut chain, RecordKind::Commit, &[b"time"], 0).unwrap();
        log.flush_to(lsn).unwrap();
    }
    assert_eq!((log.counters().growths, log.space().reserved_bytes), (0, 0));
}

/// What is set aside beside the needs of rollbacks has to be free as it is, without what the worst case of a rollback adds. It is never
/// refused; records that come later are, until it is given back.
#[test]
fn a_surplus_takes_the_space_that_it_says_and_no_more() {
    let bench = Bench::new(file(MB, 0, MB), LogPolicy::classic());
    let log = bench.create();
    let mut chain = TransactionChain::new(TransactionId(1));
    let append = |chain: &mut TransactionChain| log.append(chain, RecordKind::Change, &[b"x"], 100);
    append(&mut chain).unwrap();
    let needed = chain.reserved_bytes;
    log.set_aside(&mut chain, 900_000);
    append(&mut chain).unwrap();
    assert_eq!(log.space().reserved_bytes, chain.reserved_bytes);
    log.set_aside(&mut chain, 100_000);
    assert!(append(&mut chain).unwrap_err().is_log_full());
    // The rollback uses what it needs, and leaves the rest until the transaction ends.
    log.append_compensation(&mut chain, Lsn::ZERO, &[&[0; 100]], Trailer::NONE)
        .unwrap();
    log.append_compensation(&mut chain, Lsn::ZERO, &[&[0; 100]], Trailer::NONE)
        .unwrap();
    assert!(chain.reserved_bytes >= 1_000_000 && chain.reserved_bytes < 1_000_000 + needed);
    log.append(&mut chain, RecordKind::Abort, &[], 0).unwrap();
    assert_eq!((log.space().reserved_bytes, chain.reserved_bytes), (0, 0));
    append(&mut TransactionChain::new(TransactionId(2))).unwrap();
}
