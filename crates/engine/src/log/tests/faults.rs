//! The log on failing and full disks, and with damaged bytes.

use super::super::Trailer;
use super::*;
use disk::sim::{FaultError, OperationKind, Repetition};
use std::path::Path;

/// The n-th write or sync of the log fails, once: everything after it answers 9001, and a restart finds what was
/// acknowledged.
#[test]
fn the_first_failed_write_closes_the_log_for_good() {
    let mut struck = 0;
    for policy in [LogPolicy::native(), LogPolicy::classic()] {
        for kind in [OperationKind::WriteDurable, OperationKind::Sync, OperationKind::Write] {
            for nth in 1..20 {
                let bench = Bench::new(file(MB, 0, MB), policy);
                let log = bench.create();
                bench
                    .disk
                    .fail_next(kind, "_log.ldf", nth, FaultError::Io, Repetition::Once);
                let mut chain = TransactionChain::new(TransactionId(1));
                let mut acknowledged = 0;
                for number in 0..60u32 {
                    let appended = log.append(&mut chain, RecordKind::Change, &[&payload(number, 12_000)], 0);
                    if appended.and_then(|lsn| log.flush_to(lsn)).is_err() {
                        break;
                    }
                    acknowledged = number + 1;
                }
                if bench.disk.fault_count() == 0 {
                    continue;
                }
                struck += 1;
                let closed = Error::log_not_available("test");
                assert_eq!(log.append(&mut chain, RecordKind::Change, &[], 0).unwrap_err(), closed);
                assert_eq!(
                    log.append_compensation(&mut chain, Lsn::ZERO, &[], Trailer::NONE)
                        .unwrap_err(),
                    closed
                );
                assert_eq!(log.flush_to(Lsn::MAX).unwrap_err(), closed);
                let lines = bench.env.errorlog.lines();
                assert_eq!(
                    lines.iter().filter(|line| line.text == closed.message).count(),
                    1,
                    "said once"
                );
                drop(log);
                let (_, records) = bench.recover().unwrap();
                assert!(records.len() as u32 >= acknowledged, "{kind:?} {nth}");
            }
        }
    }
    assert!(struck > 40, "{struck}");
}

#[test]
fn a_full_disk_at_growth_is_9002_with_its_reason_and_no_harm() {
    for policy in [LogPolicy::native(), LogPolicy::classic()] {
        let bench = Bench::new(file(MB, MB, 100 * MB), policy);
        let log = bench.create();
        bench.disk.set_capacity_bytes(Some(3 * MB + 512 * KB));
        let mut chain = TransactionChain::new(TransactionId(1));
        let full = loop {
            if let Err(error) = log.append(&mut chain, RecordKind::Change, &[&[7; 5_000]], 0) {
                break error;
            }
        };
        assert!(full.is_log_full());
        assert_eq!(
            log.files()[0].bytes,
            3 * MB,
            "what the failed growth took was given back"
        );
        let texts: Vec<String> = bench.env.errorlog.lines().into_iter().map(|line| line.text).collect();
        for part in [
            "Error: 5149",
            "Error: 17053",
            "112(There is not enough space on the disk.)",
            "is full due to",
        ] {
            assert!(
                texts.iter().any(|text| text.contains(part)),
                "{part} is missing in {texts:?}"
            );
        }
        bench.disk.set_capacity_bytes(None);
        log.append(&mut chain, RecordKind::Change, &[&[8; 50_000]], 0).unwrap();
        log.flush_to(Lsn::MAX).unwrap();
        drop(log);
        let (log, records) = bench.recover().unwrap();
        assert_eq!(records.last().map(|record| record.payload[0]), Some(8));
        assert!(log.files()[0].bytes > 3 * MB);
    }
}

/// A block left over from an interrupted write has the right place, sequence and parity, and checks out in itself; only
/// the checksum of its predecessor gives it away.
#[test]
fn a_stale_block_behind_the_end_is_not_resurrected() {
    let bench = Bench::new(file(MB, 0, MB), LogPolicy::native());
    let log = bench.create();
    let before = bench.disk.snapshot();
    let append = |log: &LogManager, number| {
        let mut chain = TransactionChain::new(TransactionId(1));
        let lsn = log
            .append(&mut chain, RecordKind::Change, &[&payload(number, 3_000)], 0)
            .unwrap();
        log.flush_to(lsn).unwrap();
        lsn
    };
    append(&log, 1);
    let stale_at = 8192 + append(&log, 2).offset_in_vlf();
    let mut stale = vec![0; 4096];
    let open = |disk: &SimDisk| disk.open(&bench.spec.path, disk::Access::Direct).unwrap();
    open(&bench.disk).read_at(stale_at, &mut stale).unwrap();

    let again = Bench::on(before, bench.spec.clone(), bench.policy);
    let (log, records) = again.recover().unwrap();
    assert!(records.is_empty());
    append(&log, 3);
    open(&again.disk).write_durable_at(stale_at, &stale).unwrap();
    drop(log);
    let log = again.open().unwrap();
    let (records, end) = read_all(&log, oldest(&log)).unwrap();
    assert_eq!(records.iter().map(number_of).collect::<Vec<_>>(), [3]);
    assert!(matches!(end.fault, Some(vlf::BlockFault::Chain { .. })), "{end:?}");

    log.resume(end).unwrap();
    let mut zeros = vec![1; 4096];
    open(&again.disk).read_at(stale_at, &mut zeros).unwrap();
    assert!(zeros.iter().all(|byte| *byte == 0), "resuming removes it");
}

/// One flipped bit anywhere in the file: either nothing is lost, or the log says that it is damaged, or what is lost is the
/// very last write, where damage cannot be told from a torn write.
#[test]
fn damage_inside_the_log_is_told_from_its_end() {
    let bench = Bench::new(file(MB, 0, MB), LogPolicy::native());
    let log = bench.create();
    let mut chain = TransactionChain::new(TransactionId(1));
    let mut lsns = Vec::new();
    for number in 0..100u32 {
        lsns.push(
            log.append(&mut chain, RecordKind::Change, &[&payload(number, 5_000)], 0)
                .unwrap(),
        );
        log.flush_to(lsns[number as usize]).unwrap();
    }
    let last = lsns[99];
    assert!(last.vlf >= 42, "three VLFs are needed");
    let last_vlf = log.vlfs()[(last.vlf - 40) as usize];
    drop(log);
    let read = |at: u64, bit: u32| {
        let disk = bench.disk.snapshot();
        disk.flip_bit(Path::new("/log/test_log.ldf"), at, bit).unwrap();
        let log = Bench::on(disk, bench.spec.clone(), bench.policy).open()?;
        let (records, end) = read_all(&log, lsns[0])?;
        assert!(
            records
                .iter()
                .enumerate()
                .all(|(index, record)| number_of(record) as usize == index)
        );
        Ok::<_, Error>((records.len(), end.is_torn()))
    };
    let (mut damaged, mut whole, mut shorter) = (0, 0, 0);
    // Stamps at the start of sectors, headers of blocks, records, padding: strides that hit all of them.
    for at in (8192..MB).step_by(512).chain((8192..MB).step_by(1_531)) {
        match read(at, (at % 8) as u32) {
            Err(error) => {
                assert_eq!(error.number, 9004, "byte {at}: {error}");
                damaged += 1;
            }
            Ok((100, _)) => whole += 1,
            Ok((count, _)) => {
                assert!(at >= last_vlf.offset && count == 99, "byte {at}: {count} records");
                shorter += 1;
            }
        }
    }
    assert!(
        damaged > 900 && whole > 200 && shorter > 5,
        "{damaged} {whole} {shorter}"
    );
    assert_eq!(
        read(last_vlf.offset + last.offset_in_vlf() + 700, 3).unwrap(),
        (99, true)
    );
}
