//! Records that are appended and flushed are read back, wherever blocks and VLFs end.

use super::*;

/// Sizes from nothing to the largest record, so that blocks close for every reason.
const SIZES: [usize; 9] = [0, 1, 100, 400, 3_000, 8_000, 20_000, 61_000, PAYLOAD_BYTES_MAX - 4];

#[test]
fn records_of_every_size_come_back_in_order_under_every_policy() {
    for policy in policies() {
        let bench = Bench::new(file(MB, MB, 16 * MB), policy);
        let log = bench.create();
        let mut chain = TransactionChain::new(TransactionId(9));
        let mut written = Vec::new();
        for number in 0..200u32 {
            let payload = payload(number, 4 + SIZES[number as usize % SIZES.len()]);
            let previous = chain.last;
            let lsn = log
                .append(&mut chain, RecordKind::Change, &[&payload[..3], &payload[3..]], 0)
                .unwrap();
            written.push((lsn, previous, payload));
            if number % 7 == 0 {
                log.flush_to(lsn).unwrap();
                assert!(log.flushed() > lsn);
            }
        }
        assert!(written.windows(2).all(|pair| pair[0].0 < pair[1].0));
        log.flush_to(Lsn::MAX).unwrap();
        let check = |log: &Arc<LogManager>| {
            let (records, end) = read_all(log, written[0].0).unwrap();
            assert_eq!(records.len(), written.len(), "{policy:?}");
            for (record, (lsn, previous, payload)) in records.iter().zip(&written) {
                assert_eq!(
                    (record.lsn, record.header.previous, &record.payload),
                    (*lsn, *previous, payload)
                );
                assert_eq!(&log.read_record(*lsn).unwrap(), record);
            }
            end
        };
        let end = check(&log);
        assert_eq!(end.next.with_slot(0), log.flushed());
        drop(log);
        let log = bench.open().unwrap();
        let end = check(&log);
        log.resume(end).unwrap();
        check(&log);
    }
}

#[test]
fn a_scan_starts_at_any_record_and_follows_a_growing_log() {
    for policy in policies() {
        let bench = Bench::new(file(MB, MB, 16 * MB), policy);
        let log = bench.create();
        let mut chain = TransactionChain::new(TransactionId(1));
        let mut lsns = Vec::new();
        let mut scan = log.scan(oldest(&log)).unwrap();
        let mut seen = 0;
        for number in 0..600u32 {
            lsns.push(
                log.append(&mut chain, RecordKind::Change, &[&payload(number, 3_000)], 0)
                    .unwrap(),
            );
            if number % 5 == 0 {
                log.flush_to(lsns[number as usize]).unwrap();
                while let Some(record) = scan.next().unwrap() {
                    assert_eq!((record.lsn, number_of(&record.to_owned())), (lsns[seen as usize], seen));
                    seen += 1;
                }
                assert_eq!(seen, number + 1);
            }
        }
        for start in [0, 1, 17, 300, 595] {
            let (records, _) = read_all(&log, lsns[start]).unwrap();
            assert_eq!(number_of(&records[0]) as usize, start);
            assert_eq!(records.last().map(number_of), Some(595));
        }
        let error = log.scan(Lsn::new(39, 16, 1)).err().unwrap();
        assert_eq!(error.number, 9003);
    }
}

/// The log goes round and round in 1 MB while it is truncated; sequences rise by one, parity alternates in each VLF.
#[test]
fn a_truncated_log_wraps_and_reuses_its_vlfs() {
    for policy in policies() {
        let bench = Bench::new(file(MB, 0, MB), policy);
        let log = bench.create();
        let mut chain = TransactionChain::new(TransactionId(1));
        for number in 0..2_000u32 {
            let lsn = log
                .append(&mut chain, RecordKind::Change, &[&payload(number, 4_000)], 0)
                .unwrap();
            if number % 10 == 9 {
                log.flush_to(lsn).unwrap();
                log.truncate(lsn);
                log.forget(&mut chain);
            }
        }
        log.flush_to(Lsn::MAX).unwrap();
        let vlfs = log.vlfs();
        assert_eq!(vlfs.len(), 4, "no growth: {policy:?}");
        let mut sequences: Vec<u32> = vlfs.iter().map(|vlf| vlf.sequence).collect();
        let uses = |vlf: &VlfInfo| (vlf.sequence - 40) / 4 + 1;
        assert!(
            vlfs.iter()
                .all(|vlf| vlf.parity == if uses(vlf) % 2 == 1 { 64 } else { 128 }),
            "{vlfs:?}"
        );
        sequences.sort_unstable();
        assert!(sequences[0] > 65 && sequences.windows(2).all(|pair| pair[0] + 1 == pair[1]));
        assert!(log.counters().truncations > 20);
        drop(log);
        let (_, records) = bench.recover().unwrap();
        assert_eq!(records.last().map(number_of), Some(1_999));
    }
}

#[test]
fn blocks_lie_on_whole_sectors_and_a_commit_takes_one() {
    let bench = Bench::new(file(MB, 0, MB), LogPolicy::native());
    let log = bench.create();
    let sector_blocks = log.end_reserve_bytes as u32 / 512;
    let first = log.end();
    assert_eq!(first, Lsn::new(40, 16, 1));
    for number in 0..5u32 {
        let mut chain = TransactionChain::new(TransactionId(u64::from(number) + 1));
        log.append(&mut chain, RecordKind::Begin, &[], 0).unwrap();
        let lsn = log.append(&mut chain, RecordKind::Commit, &[], 0).unwrap();
        assert_eq!(lsn, Lsn::new(40, 16 + number * sector_blocks, 2));
        assert_eq!(chain.reserved_bytes, 0);
        log.flush_to(lsn).unwrap();
    }
    assert_eq!(log.counters().flushes, 5);
    assert_eq!(log.space().reserved_bytes, 0);
}

#[test]
fn a_record_in_memory_is_read_without_a_flush() {
    let bench = Bench::new(file(MB, 0, MB), LogPolicy::native());
    let log = bench.create();
    let mut chain = TransactionChain::new(TransactionId(3));
    let lsns: Vec<Lsn> = (0..30)
        .map(|n| {
            log.append(&mut chain, RecordKind::Change, &[&payload(n, 9_000)], 0)
                .unwrap()
        })
        .collect();
    for (number, lsn) in lsns.iter().enumerate() {
        assert_eq!(number_of(&log.read_record(*lsn).unwrap()), number as u32);
    }
    assert_eq!((log.counters().flushes, log.counters().cache_reads), (0, 30));
    for lsn in [
        lsns[29].with_slot(500),
        Lsn::new(40, 17, 1),
        Lsn::new(90, 16, 1),
        Lsn::new(40, 3, 1),
    ] {
        assert_eq!(log.read_record(lsn).unwrap_err().number / 10, 900, "{lsn}");
    }
}

/// What is taken back page by page goes back through a transaction's log once for each page. Of forty blocks on the way eight were kept, and each
/// record had its block read and verified anew.
#[test]
fn blocks_that_are_used_again_and_again_are_read_once() {
    const BLOCKS: u64 = 40;
    let bench = Bench::new(file(4 * MB, 0, 4 * MB), LogPolicy::native());
    let log = bench.create();
    let mut chain = TransactionChain::new(TransactionId(5));
    let mut append = |number| log.append(&mut chain, RecordKind::Change, &[&payload(number, 50_000)], 0);
    let lsns: Vec<Lsn> = (0..BLOCKS as u32).map(|number| append(number).unwrap()).collect();
    log.flush_to(Lsn::MAX).unwrap();
    let read_all = || {
        for (number, lsn) in lsns.iter().enumerate().rev() {
            assert_eq!(number_of(&log.read_record(*lsn).unwrap()), number as u32);
        }
    };
    (0..5).for_each(|_| read_all());
    let counters = log.counters();
    assert_eq!((counters.pool_reads, counters.cache_reads), (5 * BLOCKS, 0));
    assert_eq!(counters.pool_misses, BLOCKS);
    log.empty_pool();
    read_all();
    assert_eq!(log.counters().pool_misses, 2 * BLOCKS, "its memory was given back");
}

/// The same calls on equal disks leave equal bytes.
#[test]
fn the_same_calls_make_the_same_bytes() {
    let run = || {
        let bench = Bench::new(file(MB, MB, 8 * MB), LogPolicy::native());
        let log = bench.create();
        let mut chain = TransactionChain::new(TransactionId(1));
        for number in 0..1_000u32 {
            let lsn = log
                .append(&mut chain, RecordKind::Change, &[&payload(number, 2_500)], 0)
                .unwrap();
            if number % 3 == 0 {
                log.flush_to(lsn).unwrap();
            }
        }
        let ldf = bench.disk.open(&bench.spec.path, disk::Access::Direct).unwrap();
        let mut bytes = vec![0; ldf.len().unwrap() as usize];
        ldf.read_at(0, &mut bytes).unwrap();
        bytes
    };
    assert!(run() == run());
}

/// Read ahead by a thread or not, a scan meets the same records and the same end, from wherever it begins, also where VLFs do
/// not follow each other in the file.
#[test]
fn a_scan_that_reads_ahead_meets_the_same_records() {
    let bench = Bench::new(file(24 << 20, 0, 24 << 20), LogPolicy::native());
    let log = bench.create();
    let mut chain = TransactionChain::new(TransactionId(1));
    let mut append = |log: &Arc<LogManager>, count: u32| {
        for number in 0..count {
            let payload = payload(number, 20_000 + number as usize % 7_000);
            let lsn = log.append(&mut chain, RecordKind::Change, &[&payload], 0).unwrap();
            if number % 5 == 0 {
                log.flush_to(lsn).unwrap();
            }
        }
        log.flush_to(log.end()).unwrap();
        log.end()
    };
    // Twice round: the second use of the first VLFs follows the last ones of the file.
    let middle = append(&log, 700);
    log.truncate(middle);
    append(&log, 400);
    drop(log);
    let threads = Bench {
        env: Environment {
            background: Background::Threads,
            ..bench.env.clone()
        },
        ..Bench::on(bench.disk.clone(), bench.spec.clone(), bench.policy)
    };
    let alone = bench.open().unwrap();
    unlock_files(&alone);
    let ahead = threads.open().unwrap();
    let first = oldest(&alone);
    let (records, end) = read_all(&alone, first).unwrap();
    assert!(records.len() > 400 && records.iter().map(|record| record.payload.len()).sum::<usize>() > 9 << 20);
    for from in [0, 1, 90, 200, records.len() - 30] {
        let (same, same_end) = read_all(&ahead, records[from].lsn).unwrap();
        assert!(
            same == records[from..],
            "from record {from}: {} of {}",
            same.len(),
            records.len() - from
        );
        assert_eq!(same_end, end, "from record {from}");
    }
}
