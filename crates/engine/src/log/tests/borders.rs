//! One write across the borders of three VLFs, interrupted: whichever pieces reached the disk, the log ends where the chain of blocks
//! breaks, continues there, and never sees the rest of that write again.
//!
//! Depth: one combination of pieces in 5; deep: every one.

use super::*;
use disk::Access;
use std::ops::Range;
use std::path::Path;

const LOG: &str = "/log/test_log.ldf";
/// One block each, four to a VLF, 45 KB of which stay unused.
const RECORD_BYTES: usize = 50_000;

/// A log before and after its last write, and where the pieces of that write lie.
struct Interrupted {
    before: SimDisk,
    after: SimDisk,
    /// In the order of the file: blocks and headers.
    pieces: Vec<Range<u64>>,
    from: Lsn,
    acknowledged: u32,
    appended: u32,
}

fn append(log: &LogManager, number: u32) -> Lsn {
    let mut chain = TransactionChain::new(TransactionId(1));
    let payload = payload(number, RECORD_BYTES);
    let lsn = log.append(&mut chain, RecordKind::Change, &[&payload], 0).unwrap();
    log.forget(&mut chain);
    lsn
}

/// Four VLFs of 256 KB to begin with.
fn bench(disk: SimDisk, discovery: DiscoveryMode) -> Bench {
    let policy = LogPolicy {
        discovery,
        ..LogPolicy::native()
    };
    Bench::on(disk, file(MB, MB, 8 * MB), policy)
}

/// `round` = how often the log has gone round before.
fn interrupted(discovery: DiscoveryMode, round: u32) -> Interrupted {
    let disk = SimDisk::new(7);
    disk.create_directories(Path::new("/log")).unwrap();
    let bench = bench(disk, discovery);
    let log = bench.create();
    let vlf_count = log.vlfs().len() as u32;
    let mut number = 0;
    let first = 40 + round * vlf_count;
    // Three blocks of the first VLF are durable.
    let mut from = Lsn::ZERO;
    let mut here = 0;
    while here < 3 {
        let lsn = append(&log, number);
        log.flush_to(lsn).unwrap();
        log.truncate(lsn);
        number += 1;
        if lsn.vlf == first {
            here += 1;
            from = if here == 1 { lsn } else { from };
        }
    }
    log.save_directory();
    let (before, acknowledged) = (bench.disk.snapshot(), number);
    let lsns: Vec<Lsn> = (0..6).map(|index| append(&log, number + index)).collect();
    let flushes = log.counters().flushes;
    log.flush_to(lsns[5]).unwrap();
    assert_eq!(log.counters().flushes, flushes + 1, "one write");
    let sequences: Vec<u32> = lsns.iter().map(|lsn| lsn.vlf - first).collect();
    assert_eq!(sequences, [0, 1, 1, 1, 1, 2]);
    let vlfs = log.vlfs();
    let offset_of = |sequence: u32| vlfs.iter().find(|vlf| vlf.sequence == sequence).unwrap().offset;
    let block_bytes = lsns[2].offset_in_vlf() - lsns[1].offset_in_vlf();
    let block = |lsn: &Lsn| {
        let start = offset_of(lsn.vlf) + lsn.offset_in_vlf();
        start..start + block_bytes
    };
    let header = |sequence| offset_of(sequence)..offset_of(sequence) + 512;
    let mut pieces: Vec<Range<u64>> = lsns.iter().map(block).collect();
    pieces.extend([header(first + 1), header(first + 2)]);
    pieces.sort_by_key(|piece| piece.start);
    Interrupted {
        before,
        after: bench.disk.snapshot(),
        pieces,
        from,
        acknowledged: acknowledged - 3,
        appended: acknowledged + 6,
    }
}

impl Interrupted {
    fn copy(&self, to: &SimDisk, from: &SimDisk, range: Range<u64>) {
        let open = |disk: &SimDisk| disk.open(Path::new(LOG), Access::Buffered).unwrap();
        let mut bytes = vec![0; (range.end - range.start) as usize];
        open(from).read_at(range.start, &mut bytes).unwrap();
        open(to).write_durable_at(range.start, &bytes).unwrap();
    }

    /// The disk with the pieces of `mask`; of the others nothing, or with `torn` the second half of every block.
    fn with(&self, mask: usize, torn: bool) -> SimDisk {
        let disk = self.before.snapshot();
        for (index, piece) in self.pieces.iter().enumerate() {
            let half = piece.start + (piece.end - piece.start) / 1024 * 512;
            match mask & 1 << index != 0 {
                true => self.copy(&disk, &self.after, piece.clone()),
                false if torn && piece.end - piece.start > 512 => self.copy(&disk, &self.after, half..piece.end),
                false => {}
            }
        }
        disk
    }

    /// Records that must be there: the whole pieces from the first on, less the headers among them.
    fn survivors(&self, mask: usize) -> u32 {
        let whole = (0..self.pieces.len()).take_while(|index| mask & 1 << index != 0);
        let blocks = whole.filter(|index| self.pieces[*index].end - self.pieces[*index].start > 512);
        self.appended - 6 + blocks.count() as u32
    }
}

fn numbers(log: &Arc<LogManager>, from: Lsn, what: &str) -> (Vec<u32>, EndOfLog) {
    let (records, end) = read_all(log, from).unwrap_or_else(|error| panic!("{what}: {error}"));
    (records.iter().map(number_of).collect(), end)
}

#[test]
fn whatever_a_write_over_vlf_borders_leaves_the_log_ends_and_goes_on() {
    let sample = workbench::sample("pieces of a write over borders of VLFs", 5);
    let mut tried = 0;
    for discovery in [DiscoveryMode::Directory, DiscoveryMode::Walk] {
        for round in [0, 1, 2] {
            let log = interrupted(discovery, round);
            assert_eq!(log.pieces.len(), 8);
            for mask in (0..1usize << 8).step_by(sample.one_in) {
                let torn = (mask.count_ones() + round) % 2 == 0;
                let what = format!("{discovery:?}, round {round}, pieces {mask:08b}, torn {torn}");
                goes_on(&log, mask, bench(log.with(mask, torn), discovery), &what);
                tried += 1;
            }
        }
    }
    sample.count(tried);
}

fn goes_on(interrupted: &Interrupted, mask: usize, bench: Bench, what: &str) {
    let from = interrupted.from;
    let mut expected: Vec<u32> = (interrupted.acknowledged..interrupted.survivors(mask)).collect();
    let open = || bench.open().unwrap_or_else(|error| panic!("{what}: {error}"));
    // Nothing written after the first restart; one block after the second; several VLFs after the third, in one write or in many.
    for (restart, appended) in [0, 1, 12, 0].into_iter().enumerate() {
        let log = open();
        let (found, end) = numbers(&log, from, what);
        assert_eq!(found, expected, "{what}, restart {restart}");
        log.truncate(from);
        log.resume(end).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(
            log.vlfs().iter().map(|vlf| vlf.sequence).max(),
            Some(end.next.vlf),
            "{what}"
        );
        for index in 0..appended {
            let number = 1_000 * (restart as u32 + 1) + index;
            let lsn = append(&log, number);
            if !mask.is_multiple_of(3) {
                log.flush_to(lsn).unwrap();
            }
            expected.push(number);
        }
        log.flush_to(Lsn::MAX).unwrap();
    }
}

/// What a later write proves durable is not given up: a block of the write over the borders that is gone or damaged is 9004.
#[test]
fn a_block_lost_before_a_later_write_is_damage() {
    for discovery in [DiscoveryMode::Directory, DiscoveryMode::Walk] {
        for round in [0, 1] {
            let mut log = interrupted(discovery, round);
            let bench_after = bench(log.after.snapshot(), discovery);
            let opened = bench_after.open().unwrap();
            let (_, end) = numbers(&opened, log.from, "whole");
            opened.truncate(log.from);
            opened.resume(end).unwrap();
            append(&opened, log.appended);
            opened.flush_to(Lsn::MAX).unwrap();
            drop(opened);
            log.after = bench_after.disk.snapshot();
            for index in 0..log.pieces.len() {
                let bench = bench(log.after.snapshot(), discovery);
                let piece = log.pieces[index].clone();
                let is_header = piece.end - piece.start == 512;
                if is_header {
                    bench.disk.flip_bit(Path::new(LOG), piece.start + 5, 1).unwrap();
                    delete_directory(&bench.disk, Path::new(LOG)).unwrap();
                } else {
                    log.copy(&bench.disk, &log.before, piece);
                }
                let outcome = bench.open().and_then(|opened| read_all(&opened, log.from));
                let error = outcome.err().map(|error| error.number);
                assert_eq!(error, Some(9004), "{discovery:?}, round {round}, piece {index}");
            }
        }
    }
}
