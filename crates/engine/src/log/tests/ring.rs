//! Which VLF comes next: the table of the module `table`, logs that SQL Server has written, and the same answer after a
//! crash.

use super::super::table::{VlfPlace, VlfTable, unused_vlfs};
use super::*;
use vlf::{VlfSequence, VlfSpan};

const SWITCHES: [VlfSwitch; 2] = [VlfSwitch::FreeList, VlfSwitch::SearchAndFlush];

/// A table whose VLFs were used last under these sequences (0 = never); those from `needed` on are active.
fn table(sequences: &[u32], needed: u32) -> VlfTable {
    let bench = Bench::new(file(4 * MB, 0, 4 * MB), LogPolicy::native());
    let log = bench.create();
    let mut files = std::mem::take(&mut log.hold().table.files);
    let span = |index: usize| VlfSpan {
        offset: 8192 + index as u64 * 256 * KB,
        bytes: 256 * KB,
    };
    let vlfs = &mut files.get_mut(&2).unwrap().vlfs;
    *vlfs = unused_vlfs((0..sequences.len()).map(span), Lsn::ZERO, true, policy_headers());
    for (vlf, sequence) in vlfs.iter_mut().zip(sequences).filter(|(_, sequence)| **sequence > 0) {
        vlf.header = vlf.header.entered(VlfSequence(*sequence));
    }
    VlfTable::opened(files, needed).unwrap()
}

fn policy_headers() -> VlfHeaders {
    LogPolicy::native().vlf_headers
}

/// Every order of the numbers below `count`.
fn orders(count: usize) -> Vec<Vec<usize>> {
    let shorter = match count {
        0 => return vec![Vec::new()],
        count => orders(count - 1),
    };
    let with_last = |order: Vec<usize>| {
        (0..count).map(move |at| {
            let mut order = order.clone();
            order.insert(at, count - 1);
            order
        })
    };
    shorter.into_iter().flat_map(with_last).collect()
}

/// The table, every combination: five VLFs of which some were never used, the others in every order, of which some are active.
#[test]
fn the_vlf_used_longest_ago_comes_next() {
    const VLFS: usize = 5;
    let mut combinations = 0;
    for order in orders(VLFS) {
        for never_used in 0..VLFS {
            for active in 1..=VLFS - never_used {
                // `order` begins with those that were never used; then it rises to the one that the log stands in.
                let mut sequences = vec![0; VLFS];
                for (rank, place) in order.iter().enumerate().skip(never_used) {
                    sequences[*place] = 100 + rank as u32;
                }
                let needed = 100 + (VLFS - active) as u32;
                let table = table(&sequences, needed);
                let expected = match (never_used, VLFS - never_used - active) {
                    (0, 0) => None,
                    (0, _) => Some(order[0]),
                    _ => order[..never_used].iter().min().copied(),
                };
                let expected = expected.map(|index| VlfPlace { file: 2, index });
                for how in SWITCHES {
                    assert_eq!(table.next_free(how), expected, "{sequences:?} from {needed}, {how:?}");
                }
                assert_eq!((table.active_count(), table.free_count()), (active, VLFS - active));
                combinations += 1;
            }
        }
    }
    assert_eq!(combinations, 120 * 15);
}

/// The sequences of all VLFs, by place, when the log has come to `until`. `growths` = the sequence at which each came, and its VLFs.
/// Nothing becomes free until the last of them; after it the log keeps only the VLF that it stands in.
fn replay(sequences: &[u32], growths: &[(u32, usize)], until: u32) -> Vec<u32> {
    let oldest = sequences
        .iter()
        .copied()
        .filter(|sequence| *sequence > 0)
        .min()
        .unwrap();
    let mut table = table(sequences, oldest);
    let mut last = sequences.iter().copied().max().unwrap();
    let mut growths = growths.iter().peekable();
    loop {
        while let Some((_, count)) = growths.next_if(|(at, _)| *at == last) {
            let file = &table.files[&2];
            let (page, layout) = (file.page.clone(), file.layout.clone());
            let end = file.vlfs.last().unwrap().header.span().end();
            let span = |index: usize| VlfSpan {
                offset: end + index as u64 * 256 * KB,
                bytes: 256 * KB,
            };
            let create_lsn = Lsn::new(last, 16, 1);
            let added = unused_vlfs((0..*count).map(span), create_lsn, true, policy_headers());
            table.grown(2, page, layout, added);
        }
        if last == until {
            let sequence_of = |place| table.vlf(place).unwrap().header.sequence.0;
            return table.places().map(sequence_of).collect();
        }
        if growths.peek().is_none() {
            table.free_before(last);
        }
        let next = table.next_free(VlfSwitch::FreeList).unwrap();
        assert_eq!(table.next_free(VlfSwitch::SearchAndFlush), Some(next));
        last += 1;
        table.enter(next, last).unwrap();
    }
}

/// Logs written by SQL Server: what their VLF headers say of growths (CreateLSN) and of the last use of each VLF (FSeqNo).
#[test]
fn genuine_logs_were_written_in_this_order() {
    // 832 KB, 2012: grown while the log stood in its first VLF, the second of which was never used.
    assert_eq!(replay(&[31, 0], &[(31, 1)], 37), [37, 35, 36]);
    // 1600 KB, 2014 or 2016: two growths while one VLF was written, another two VLFs later.
    let grown = [(75, 1), (75, 1), (77, 1)];
    assert_eq!(replay(&[73, 74, 75], &grown, 80), [79, 80, 75, 76, 77, 78]);
    // 2816 KB, 2008: grown by seven VLFs in the middle of a round, three of them while VLF 2 was written. VLFs 3, 4 and 1 come
    // behind them ever after.
    let grown = [(98, 1), (98, 1), (98, 1), (99, 1), (100, 1), (100, 1), (100, 1)];
    assert_eq!(
        replay(&[97, 98, 95, 96], &grown, 130),
        [130, 120, 128, 129, 121, 122, 123, 124, 125, 126, 127]
    );
    // 3456 KB, 2008 R2: its first four VLFs are used backward, before the growths and two rounds later.
    let grown = [22, 23, 23, 24, 24, 25, 25, 26, 26].map(|at| (at, 1));
    assert_eq!(
        replay(&[22, 21, 20, 19], &grown, 50),
        [48, 47, 46, 45, 49, 50, 38, 39, 40, 41, 42, 43, 44]
    );
}

fn enter_next(log: &LogManager) -> VlfInfo {
    let last = log.end().vlf;
    let mut chain = TransactionChain::new(TransactionId(1));
    while log.end().vlf == last {
        let lsn = log.append(&mut chain, RecordKind::Change, &[&[5; 30_000]], 0).unwrap();
        log.forget(&mut chain);
        log.flush_to(lsn).unwrap();
    }
    log.vlfs().into_iter().max_by_key(|vlf| vlf.sequence).unwrap()
}

/// What a log enters next that was stopped here, found by each way of discovery, with the directory and without.
fn next_after_crash(bench: &Bench, needed: Lsn) -> Vec<u64> {
    let mut offsets = Vec::new();
    for (discovery, keeps_directory) in [
        (DiscoveryMode::Walk, true),
        (DiscoveryMode::Directory, true),
        (DiscoveryMode::Directory, false),
    ] {
        let policy = LogPolicy {
            discovery,
            ..bench.policy
        };
        let crashed = Bench::on(bench.disk.snapshot(), bench.spec.clone(), policy);
        if !keeps_directory {
            delete_directory(&crashed.disk, &crashed.spec.path).unwrap();
        }
        let log = crashed.open().unwrap();
        let (_, end) = read_all(&log, needed).unwrap();
        log.truncate(needed);
        log.resume(end).unwrap();
        offsets.push(enter_next(&log).offset);
    }
    offsets
}

/// Four VLFs, the first two of them filled again while 3 and 4 were needed; then the log grew by 5 to 8, and all was freed. The log
/// went on in VLF 1 behind VLF 8, where SQL Server goes on in VLF 3 (dba.stackexchange.com 262490). Stopped anywhere, it goes on
/// where it would have.
#[test]
fn behind_a_growth_in_the_middle_of_a_round_comes_the_vlf_used_longest_ago() {
    for policy in policies() {
        let bench = Bench::new(file(MB, MB, 8 * MB), policy);
        let log = bench.create();
        let offsets: Vec<u64> = log.vlfs().iter().map(|vlf| vlf.offset).collect();
        let mut needed = Lsn::new(40, vlf::FIRST_BLOCK, 1);
        let enter = |log: &LogManager, needed| {
            let promised = next_after_crash(&bench, needed);
            let entered = enter_next(log);
            assert_eq!(promised, [entered.offset; 3], "{policy}, sequence {}", entered.sequence);
            entered.offset
        };
        assert_eq!([enter(&log, needed), enter(&log, needed)], offsets[1..3]);
        needed.vlf = 42;
        log.truncate(needed);
        assert_eq!(
            [(); 3].map(|()| enter(&log, needed)),
            [offsets[3], offsets[0], offsets[1]]
        );
        let first_added = enter(&log, needed);
        assert_eq!(log.vlfs().len(), 8, "{policy}");
        let added: Vec<u64> = log.vlfs()[4..].iter().map(|vlf| vlf.offset).collect();
        assert_eq!(first_added, added[0]);
        needed.vlf = 46;
        log.truncate(needed);
        log.save_directory();
        let entered = [(); 7].map(|()| enter(&log, needed));
        let expected = [&added[1..], &offsets[2..], &offsets[..2]].concat();
        assert_eq!(entered[..], expected, "{policy}");
        assert_eq!(
            log.counters().growths,
            1 + u64::from(policy.growth == GrowthTiming::AheadOfNeed)
        );
    }
}
