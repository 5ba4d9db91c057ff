//! The log leaves the last VLF of its file so that the file can shrink; a power cut at any moment loses nothing.

use super::*;
use disk::sim::CutPolicy;

/// Appends small records until the log stands in the last VLF, and frees all before it as it goes. Answers the last record's number.
fn fill_to_last_vlf(log: &LogManager, chain: &mut TransactionChain) -> u32 {
    let mut number = 0;
    while log.vlfs().last().unwrap().status != 2 {
        number += 1;
        log.append(chain, RecordKind::Change, &[&payload(number, 9_000)], 0)
            .unwrap();
        log.forget(chain);
        log.flush_to(Lsn::MAX).unwrap();
        log.truncate(log.end());
    }
    number
}

fn bench(policy: LogPolicy) -> Bench {
    Bench::new(file(2 * MB, MB, 8 * MB), policy)
}

/// The numbers of the records that say something.
fn told(records: &[OwnedRecord]) -> Vec<u32> {
    let says = |record: &&OwnedRecord| record.header.kind == RecordKind::Change;
    records.iter().filter(says).map(number_of).collect()
}

/// DBCC SHRINKFILE answered 9008 forever: nothing moved the log out of the last VLF. Under every policy the first round moves it, and
/// the second, once the log was truncated, cuts the file.
#[test]
fn a_log_at_the_end_of_its_file_moves_on_and_the_second_round_shrinks() {
    for policy in policies() {
        let bench = bench(policy);
        let log = bench.create();
        let mut chain = TransactionChain::new(TransactionId(1));
        fill_to_last_vlf(&log, &mut chain);
        assert_eq!(log.shrink_file(2, MB).unwrap().refusal.unwrap().number, 9008);
        assert!(!log.leave_last_vlf(2, 2 * MB).unwrap(), "the target keeps part of it");
        assert!(!log.leave_last_vlf(3, MB).unwrap(), "another file");
        assert!(log.leave_last_vlf(2, MB).unwrap());
        assert!(!log.leave_last_vlf(2, MB).unwrap(), "it stands there no more");
        assert_eq!(
            (log.files()[0].bytes, log.counters().growths),
            (2 * MB, 0),
            "{policy:?}"
        );
        let states: Vec<u8> = log.vlfs().iter().map(|vlf| vlf.status).collect();
        assert_eq!(states, [2, 0, 0, 2], "{policy:?}");
        assert_eq!(log.flushed().vlf, log.end().vlf, "what fills it is durable");
        log.truncate(log.end());
        let outcome = log.shrink_file(2, MB).unwrap();
        assert_eq!(
            (outcome.refusal.unwrap().number, log.vlfs().len()),
            (9007, 3),
            "{policy:?}"
        );
        assert_eq!(log.shrink_file(2, 0).unwrap().refusal.unwrap().number, 9006);
        let vlfs = log.vlfs();
        drop(log);
        let (log, records) = bench.recover().unwrap();
        assert_eq!((log.vlfs(), told(&records)), (vlfs, vec![]), "{policy:?}");
    }
}

/// `fn_dblog` beside DBCC SHRINKFILE was 9001: a large read goes on beyond the log, to an end of the file that is cut off meanwhile.
#[test]
fn a_reader_goes_on_when_the_end_of_the_file_is_cut_off() {
    for policy in policies() {
        let log = bench(policy).create();
        let mut chain = TransactionChain::new(TransactionId(1));
        let mut appended = Vec::new();
        while log.vlfs()[1].status != 2 {
            let number = appended.len() as u32;
            let lsn = log.append(&mut chain, RecordKind::Change, &[&payload(number, 9_000)], 0);
            appended.push(lsn.unwrap());
            log.flush_to(Lsn::MAX).unwrap();
        }
        let last = *appended.last().unwrap();
        let mut scan = log.scan(last).unwrap();
        log.shrink_file(2, 0).unwrap();
        assert!(log.files()[0].bytes < 2 * MB, "{policy:?}");
        assert!(scan.next().unwrap().is_some(), "{policy:?}");
        assert!(scan.next().unwrap().is_none(), "{policy:?}");
    }
}

/// The rest of the VLF is not given up while a rollback may need it, or while no other is free.
#[test]
fn a_rollback_and_a_full_log_keep_the_rest_of_the_last_vlf() {
    let log = bench(LogPolicy::native()).create();
    let mut chain = TransactionChain::new(TransactionId(1));
    fill_to_last_vlf(&log, &mut chain);
    while log.append(&mut chain, RecordKind::Change, &[b"x"], 50_000).is_ok() && log.space().reserved_bytes < MB {}
    let before = log.end();
    assert!(!log.leave_last_vlf(2, 0).unwrap());
    assert_eq!(log.end(), before, "nothing was written");
    log.forget(&mut chain);
    assert!(log.leave_last_vlf(2, 0).unwrap());

    let log = bench(LogPolicy::classic()).create();
    while log.vlfs().iter().any(|vlf| vlf.status == 0) {
        log.append(&mut chain, RecordKind::Change, &[&[5; 9_000]], 0).unwrap();
        log.forget(&mut chain);
    }
    assert!(!log.leave_last_vlf(2, 0).unwrap(), "no VLF is free");
}

/// Cuts the power at every operation of both rounds.
#[test]
fn a_power_cut_in_either_round_loses_nothing() {
    for policy in [LogPolicy::classic(), LogPolicy::native()] {
        let (mut cuts, mut at) = (0, 1);
        loop {
            let bench = bench(policy);
            let log = bench.create();
            let mut chain = TransactionChain::new(TransactionId(1));
            let last = fill_to_last_vlf(&log, &mut chain);
            let keep = log
                .append(&mut chain, RecordKind::Change, &[&payload(last + 1, 500)], 0)
                .unwrap();
            log.forget(&mut chain);
            log.flush_to(keep).unwrap();
            bench.disk.power_cut_at(bench.disk.operation_count() + at);
            let rounds = || -> Result<bool> {
                log.leave_last_vlf(2, 0)?;
                let mut chain = TransactionChain::new(TransactionId(2));
                let behind = log.append(&mut chain, RecordKind::Change, &[&payload(last + 2, 500)], 0)?;
                log.flush_to(behind)?;
                log.truncate(behind);
                log.shrink_file(2, 0)?;
                Ok(true)
            };
            let is_over = rounds().is_ok();
            drop(log);
            for cut in [CutPolicy::RandomSectors, CutPolicy::RandomWrites] {
                let disk = bench.disk.after_power_cut(cut, at);
                let after = Bench::on(disk, bench.spec.clone(), policy);
                let log = after
                    .open()
                    .unwrap_or_else(|error| panic!("{policy:?}, cut {at}: {error}"));
                let was_cut_off = log.require(keep).is_err();
                let from = if was_cut_off { oldest(&log) } else { keep };
                let (records, end) = read_all(&log, from).unwrap();
                let expected = match told(&records).as_slice() {
                    [first] => *first == last + 1 || (was_cut_off && *first == last + 2),
                    [first, second] => (*first, *second) == (last + 1, last + 2),
                    _ => false,
                };
                assert!(expected, "{policy:?}, cut {at}: {:?} of {last}", told(&records));
                log.resume(end).unwrap();
                let lsn = log
                    .append(&mut chain, RecordKind::Change, &[&payload(7, 500)], 0)
                    .unwrap();
                log.flush_to(lsn).unwrap();
            }
            if is_over {
                break;
            }
            (cuts, at) = (cuts + 1, at + 1);
        }
        assert!(cuts > 7, "{policy:?}: {cuts}");
    }
}
