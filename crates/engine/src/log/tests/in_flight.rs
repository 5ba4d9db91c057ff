//! Several writes in flight at a power cut, in every combination of lost, torn and whole: the log ends where the chain of blocks breaks,
//! nothing acknowledged is lost, and leftovers are never seen again. The log itself creates the writes; the test passes them to the disk.
//!
//! Depth: one combination in 5; deep: every one.

use super::*;
use crate::log::flight::WRITES_MAX;
use crate::log::flush::LedWrite;
use disk::{Access, DiskError, DiskErrorKind};
use std::collections::VecDeque;
use std::path::Path;

const LOG: &str = "/log/test_log.ldf";
/// One block each, four to a VLF of 256 KB, 45 KB of which stay unused.
const LARGE: usize = 50_000;
const SMALL: usize = 3_000;

fn append(log: &LogManager, number: u32, bytes: usize) -> Lsn {
    let mut chain = TransactionChain::new(TransactionId(1));
    let payload = payload(number, bytes);
    let lsn = log.append(&mut chain, RecordKind::Change, &[&payload], 0).unwrap();
    log.forget(&mut chain);
    lsn
}

fn begin(log: &LogManager) -> LedWrite {
    let mut state = log.hold();
    state.seal_open();
    log.begin_write(&mut state).expect("something is queued")
}

fn end(log: &LogManager, led: LedWrite) {
    led.write.write(log).unwrap();
    log.end_write(&mut log.hold(), led, Ok(())).unwrap();
}

fn bench(disk: SimDisk, discovery: DiscoveryMode) -> Bench {
    let policy = LogPolicy {
        discovery,
        ..LogPolicy::native()
    };
    Bench::on(disk, file(MB, MB, 8 * MB), policy)
}

/// Bytes of a log file from some place on.
#[derive(Clone)]
struct Part {
    offset: u64,
    bytes: Vec<u8>,
}

fn is_on(disk: &SimDisk, part: &Part) -> bool {
    let mut found = vec![0; part.bytes.len()];
    let file = disk.open(Path::new(LOG), Access::Buffered).unwrap();
    file.read_at(part.offset, &mut found).unwrap();
    found == part.bytes
}

/// What becomes of a write that the power cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Lost,
    Whole,
    FirstSector,
    AllButFirstSector,
    AllButLastSector,
    SecondHalf,
}

const FATES: [Fate; 6] = [
    Fate::Lost,
    Fate::Whole,
    Fate::FirstSector,
    Fate::AllButFirstSector,
    Fate::AllButLastSector,
    Fate::SecondHalf,
];

impl Fate {
    fn befall(self, disk: &SimDisk, write: &Part) {
        let len = write.bytes.len();
        let kept = match self {
            Fate::Lost => return,
            Fate::Whole => 0..len,
            Fate::FirstSector => 0..512,
            Fate::AllButFirstSector => 512..len,
            Fate::AllButLastSector => 0..len - 512,
            Fate::SecondHalf => len / 1024 * 512..len,
        };
        let file = disk.open(Path::new(LOG), Access::Buffered).unwrap();
        let offset = write.offset + kept.start as u64;
        file.write_durable_at(offset, &write.bytes[kept]).unwrap();
    }
}

/// A log whose last writes are under way.
struct UnderWay {
    before: SimDisk,
    writes: Vec<Part>,
    /// Blocks, and the first sectors of headers, in the order of the log.
    pieces: Vec<(Part, bool)>,
    from: Lsn,
    /// Numbers of the first record read, and of the first that is not acknowledged.
    numbers: (u32, u32),
}

/// `sizes` = records of each write.
fn under_way(discovery: DiscoveryMode, durable: &[usize], sizes: &[&[usize]]) -> UnderWay {
    let disk = SimDisk::new(7);
    disk.create_directories(Path::new("/log")).unwrap();
    let bench = bench(disk, discovery);
    let log = bench.create();
    let mut from = Lsn::ZERO;
    for (number, bytes) in durable.iter().enumerate() {
        let lsn = append(&log, number as u32, *bytes);
        from = if number == 0 { lsn } else { from };
        log.flush_to(lsn).unwrap();
    }
    log.save_directory();
    let acknowledged = durable.len() as u32;
    let before = bench.disk.snapshot();
    let (mut lsns, mut writes, mut number) = (Vec::new(), Vec::new(), acknowledged);
    for sizes in sizes {
        for bytes in *sizes {
            lsns.push(append(&log, number, *bytes));
            number += 1;
        }
        let led = begin(&log);
        let (offset, bytes) = (led.write.offset, led.write.bytes().to_vec());
        writes.push(Part { offset, bytes });
    }
    let pieces = pieces(&log, &writes, &lsns);
    UnderWay {
        before,
        writes,
        pieces,
        from,
        numbers: (0, acknowledged),
    }
}

fn pieces(log: &LogManager, writes: &[Part], lsns: &[Lsn]) -> Vec<(Part, bool)> {
    let vlfs = log.vlfs();
    let part = |start: u64, end: u64| {
        let write = writes.iter().rev().find(|write| write.offset <= start).unwrap();
        let range = (start - write.offset) as usize..(end - write.offset) as usize;
        Part {
            offset: start,
            bytes: write.bytes[range].to_vec(),
        }
    };
    let mut pieces = Vec::new();
    for lsn in lsns {
        let vlf = vlfs.iter().find(|vlf| vlf.sequence == lsn.vlf).unwrap();
        let start = vlf.offset + lsn.offset_in_vlf();
        if lsn.block == FIRST_BLOCK {
            pieces.push((part(vlf.offset, vlf.offset + 512), false));
        }
        let first = part(start, start + 512);
        let bytes = vlf::block::peek_block_length(&first.bytes).unwrap() as u64;
        pieces.push((part(start, start + bytes), true));
    }
    pieces
}

impl UnderWay {
    fn after(&self, fates: &[Fate]) -> SimDisk {
        let disk = self.before.snapshot();
        for (write, fate) in self.writes.iter().zip(fates) {
            fate.befall(&disk, write);
        }
        disk
    }

    /// Numbers of the records that must be found: up to the first piece that is not whole.
    fn expected(&self, disk: &SimDisk) -> Vec<u32> {
        let whole = self.pieces.iter().take_while(|(part, _)| is_on(disk, part));
        let blocks = whole.filter(|(_, is_block)| *is_block).count() as u32;
        (self.numbers.0..self.numbers.1 + blocks).collect()
    }
}

fn numbers(log: &Arc<LogManager>, from: Lsn, what: &str) -> (Vec<u32>, EndOfLog) {
    let (records, end) = read_all(log, from).unwrap_or_else(|error| panic!("{what}: {error}"));
    (records.iter().map(number_of).collect(), end)
}

/// Restarts with what the writes have left. The log goes on and is cut off again with two writes under way, over the left-overs
/// of the first cut; then it goes on by a block, and by several VLFs.
fn goes_on(story: &UnderWay, bench: &Bench, fates: &[Fate], what: &str) {
    let mut expected = story.expected(&bench.disk);
    let turn = fates.iter().fold(0, |sum, fate| 5 * sum + *fate as usize);
    for (restart, appended) in [0, 2, 1, 12, 0].into_iter().enumerate() {
        let log = bench.open().unwrap_or_else(|error| panic!("{what}: {error}"));
        let (found, end) = numbers(&log, story.from, what);
        assert_eq!(found, expected, "{what}, restart {restart}");
        log.truncate(story.from);
        log.resume(end).unwrap_or_else(|error| panic!("{what}: {error}"));
        let highest = log.vlfs().iter().map(|vlf| vlf.sequence).max();
        assert_eq!(highest, Some(end.next.vlf), "{what}");
        if restart == 1 {
            expected.extend(cut_again(&log, bench, turn));
            continue;
        }
        for index in 0..appended {
            let number = 1_000 * (restart as u32 + 1) + index;
            let lsn = append(&log, number, LARGE);
            if !turn.is_multiple_of(3) {
                log.flush_to(lsn).unwrap();
            }
            expected.push(number);
        }
        log.flush_to(Lsn::MAX).unwrap();
    }
}

/// Two more writes, of which this and that reaches the disk; answers the records that do.
fn cut_again(log: &LogManager, bench: &Bench, turn: usize) -> Vec<u32> {
    let (mut writes, mut lsns) = (Vec::new(), Vec::new());
    for number in 500..502 {
        lsns.push(append(log, number, if turn.is_multiple_of(2) { LARGE } else { SMALL }));
        let led = begin(log);
        if let Some(at) = led.write.clear_at {
            let file = bench.disk.open(Path::new(LOG), Access::Buffered).unwrap();
            file.write_durable_at(at, &[0; write::CLEARED_BYTES]).unwrap();
        }
        let (offset, bytes) = (led.write.offset, led.write.bytes().to_vec());
        writes.push(Part { offset, bytes });
    }
    for (write, fate) in writes.iter().zip([FATES[turn % 6], FATES[turn / 6 % 6]]) {
        fate.befall(&bench.disk, write);
    }
    let pieces = pieces(log, &writes, &lsns);
    let whole = pieces.iter().take_while(|(part, _)| is_on(&bench.disk, part));
    (500..).take(whole.filter(|(_, is_block)| *is_block).count()).collect()
}

/// Every combination of fates of two and of three writes: in one VLF, over a border inside a write, and with a write that
/// begins with a header.
#[test]
fn whatever_writes_under_way_leave_the_log_ends_and_goes_on() {
    let fill: &[usize] = &[LARGE, LARGE, LARGE];
    let stories: [(&[usize], &[&[usize]]); 5] = [
        (&[SMALL], &[&[SMALL], &[SMALL]]),
        (&[SMALL], &[&[SMALL], &[LARGE, SMALL], &[SMALL]]),
        (fill, &[&[LARGE, LARGE], &[SMALL], &[LARGE]]),
        (fill, &[&[LARGE], &[LARGE], &[LARGE]]),
        (fill, &[&[LARGE], &[LARGE, LARGE, LARGE, LARGE, LARGE], &[SMALL]]),
    ];
    let sample = workbench::sample("fates of writes under way", 5);
    let mut tried = 0;
    for discovery in [DiscoveryMode::Directory, DiscoveryMode::Walk] {
        for (durable, sizes) in stories {
            let story = under_way(discovery, durable, sizes);
            for combination in (0..FATES.len().pow(sizes.len() as u32)).step_by(sample.one_in) {
                let fates: Vec<Fate> = (0..sizes.len())
                    .map(|write| FATES[combination / FATES.len().pow(write as u32) % FATES.len()])
                    .collect();
                let what = format!("{discovery:?}, {sizes:?}: {fates:?}");
                goes_on(&story, &bench(story.after(&fates), discovery), &fates, &what);
                tried += 1;
            }
        }
    }
    let of = |combinations: u64| combinations.div_ceil(sample.one_in as u64);
    assert_eq!(tried, 2 * (of(36) + 4 * of(216)));
    sample.count(tried);
}

/// Four writes are always under way, and each new one knows that the fourth before it is durable. So damage of any write but the
/// last four is reported as damage.
#[test]
fn damage_is_told_as_soon_as_a_write_knows_that_the_block_was_durable() {
    for (discovery, bytes) in [(DiscoveryMode::Directory, SMALL), (DiscoveryMode::Walk, LARGE)] {
        let disk = SimDisk::new(7);
        disk.create_directories(Path::new("/log")).unwrap();
        let bench = bench(disk, discovery);
        let log = bench.create();
        let (mut under_way, mut parts) = (VecDeque::new(), Vec::new());
        let mut from = Lsn::ZERO;
        for number in 0..12 {
            let lsn = append(&log, number, bytes);
            from = if number == 0 { lsn } else { from };
            let led = begin(&log);
            let at = log.vlfs().iter().find(|vlf| vlf.sequence == lsn.vlf).unwrap().offset + lsn.offset_in_vlf();
            parts.push(at);
            under_way.push_back(led);
            if under_way.len() == WRITES_MAX {
                end(&log, under_way.pop_front().unwrap());
            }
        }
        under_way.into_iter().for_each(|led| end(&log, led));
        drop(log);
        for (number, at) in parts.iter().enumerate() {
            for zeroed in [false, true] {
                let bench = self::bench(bench.disk.snapshot(), discovery);
                let file = bench.disk.open(Path::new(LOG), Access::Buffered).unwrap();
                match zeroed {
                    true => file.write_durable_at(*at, &[0; 4096]).unwrap(),
                    false => bench.disk.flip_bit(Path::new(LOG), at + 600, 3).unwrap(),
                }
                let outcome = bench.open().and_then(|log| read_all(&log, from));
                match outcome {
                    Err(error) => assert_eq!(error.number, 9004, "{discovery:?}, write {number}: {error}"),
                    Ok((records, _)) => assert!(
                        number >= 12 - WRITES_MAX && records.len() == number,
                        "{discovery:?}: damage of write {number} of 12 passes for the end of the log"
                    ),
                }
            }
        }
    }
}

/// Writes end in any order; `durable` and acknowledgements wait for those before.
#[test]
fn a_write_is_acknowledged_when_all_before_it_are_durable() {
    let bench = Bench::new(file(MB, 0, MB), LogPolicy::native());
    let log = bench.create();
    let start = log.flushed();
    let (mut lsns, mut writes) = (Vec::new(), Vec::new());
    for number in 0..3 {
        lsns.push(append(&log, number, SMALL));
        writes.push(begin(&log));
    }
    let [first, second, third] = writes.try_into().ok().unwrap();
    end(&log, third);
    end(&log, second);
    assert_eq!(log.flushed(), start);
    end(&log, first);
    assert!(log.flushed() > lsns[2]);
}

/// A write fails while those beside it succeed: what is before it stays acknowledged, what is behind it never is.
#[test]
fn nothing_behind_a_failed_write_is_acknowledged() {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let bench = Bench::new(file(2 * MB, 0, 2 * MB), LogPolicy::native());
        let log = bench.create();
        let mut lsns = Vec::new();
        let mut led = Vec::new();
        for number in 0..3 {
            lsns.push(append(&log, number, SMALL));
            led.push(Some(begin(&log)));
        }
        for index in order {
            let led = led[index].take().unwrap();
            if index != 1 {
                led.write.write(&log).unwrap();
                let mut state = log.hold();
                // Closed by the failure, perhaps; what counts is what is durable.
                let _ = log.end_write(&mut state, led, Ok(()));
                continue;
            }
            let failed = DiskError::new(DiskErrorKind::Io, "write", Path::new(LOG));
            let result = log.end_write(&mut log.hold(), led, Err(failed));
            assert_eq!(result, Err(Error::log_not_available("test")));
        }
        assert_eq!(log.flush_to(lsns[0]), Ok(()), "{order:?}");
        for lsn in &lsns[1..] {
            assert_eq!(log.flush_to(*lsn), Err(Error::log_not_available("test")), "{order:?}");
        }
        log.close();
        unlock_files(&log);
        let (_, records) = bench.recover().unwrap();
        assert!(!records.is_empty());
    }
}

/// A cut-off write leaves the header of a VLF that a growth has added. After the restart others become free before it, and the log
/// gives one of them the same sequence: two headers with one number. That was 9004 at the restart after.
#[test]
fn a_left_over_header_does_not_stand_against_the_vlf_that_was_entered() {
    for discovery in [DiscoveryMode::Directory, DiscoveryMode::Walk] {
        for kept in [[false, true, false], [false, false, true], [false, true, true]] {
            let disk = SimDisk::new(7);
            disk.create_directories(Path::new("/log")).unwrap();
            let bench = bench(disk, discovery);
            let log = bench.create();
            let (mut number, mut needed) = (0, Lsn::ZERO);
            // 40 to 43, round to 44 and 45 while 42 and 43 are needed, and three blocks into 45.
            let mut lsn = Lsn::ZERO;
            while (lsn.vlf, lsn.block) < (45, 200) {
                lsn = append(&log, number, LARGE);
                log.flush_to(lsn).unwrap();
                needed = if lsn.vlf <= 42 { lsn } else { needed };
                log.truncate(needed);
                number += 1;
            }
            log.save_directory();
            // The rest of 45, and two new VLFs.
            let mut writes = Vec::new();
            for records in [1, 4, 4] {
                for _ in 0..records {
                    lsn = append(&log, number, LARGE);
                }
                writes.push(begin(&log));
            }
            assert_eq!((lsn.vlf, log.vlfs().len()), (47, 8), "grown");
            for (led, kept) in writes.into_iter().zip(kept) {
                if kept {
                    led.write.write(&log).unwrap();
                }
            }
            drop(log);
            let what = format!("{discovery:?}, {kept:?}");
            let mut expected = None;
            for restart in 0..6 {
                let log = bench
                    .open()
                    .unwrap_or_else(|error| panic!("{what}, restart {restart}: {error}"));
                let (found, end) = numbers(&log, needed, &what);
                assert_eq!(
                    *expected.get_or_insert(found.clone()),
                    found,
                    "{what}, restart {restart}"
                );
                log.resume(end).unwrap();
                // Everything before is free now, and lies before the left-over.
                needed = append(&log, 1_000 * restart, LARGE);
                log.flush_to(needed).unwrap();
                log.truncate(needed);
                let more: Vec<u32> = (1..6).map(|index| 1_000 * restart + index).collect();
                more.iter()
                    .for_each(|number| log.flush_to(append(&log, *number, LARGE)).unwrap());
                expected = Some(std::iter::once(1_000 * restart).chain(more).collect());
            }
        }
    }
}
