//! VLFs without a header until the log enters them: what they cost, how they are known, and how a lost header differs from
//! one never written.

use super::*;
use disk::Access;
use disk::sim::OperationKind;
use std::path::Path;
use vlf::file_header::RUNS_MAX;
use vlf::{FileHeader, SECTOR_BYTES};

const LOG: &str = "/log/test_log.ldf";

fn bytes_at(disk: &SimDisk, at: u64, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    disk.open(Path::new(LOG), Access::Buffered)
        .unwrap()
        .read_at(at, &mut bytes)
        .unwrap();
    bytes
}

fn overwrite(disk: &SimDisk, at: u64, bytes: &[u8]) {
    let file = disk.open(Path::new(LOG), Access::Buffered).unwrap();
    file.write_at(at, bytes).unwrap();
    file.sync().unwrap();
}

fn page(disk: &SimDisk) -> FileHeader {
    FileHeader::decode(&bytes_at(disk, 0, 8192)).unwrap()
}

/// Enters so many VLFs, each with some flushed blocks.
fn enter(log: &LogManager, count: u32) {
    let target = log.end().vlf + count;
    let mut chain = TransactionChain::new(TransactionId(1));
    while log.end().vlf < target {
        let lsn = log.append(&mut chain, RecordKind::Change, &[&[5; 30_000]], 0).unwrap();
        log.flush_to(lsn).unwrap();
        log.forget(&mut chain);
    }
}

/// Writes and syncs since the counts given.
fn operations(disk: &SimDisk) -> [u64; 3] {
    [OperationKind::Write, OperationKind::WriteDurable, OperationKind::Sync].map(|kind| disk.count(kind))
}

/// A growth costs the same whether it makes 4 VLFs or 16, and its VLFs are zeros on disk.
#[test]
fn a_growth_writes_nothing_per_vlf() {
    let costs = |policy: LogPolicy, growth: u64| {
        let bench = Bench::new(file(MB, 0, MB), policy);
        let log = bench.create();
        let before = operations(&bench.disk);
        log.grow_file(2, MB + growth).unwrap();
        let after = operations(&bench.disk);
        let made: Vec<VlfInfo> = log.vlfs().split_off(4);
        let lacking = made
            .iter()
            .filter(|vlf| bytes_at(&bench.disk, vlf.offset, SECTOR_BYTES) == [0; SECTOR_BYTES]);
        (
            made.len(),
            lacking.count(),
            [0, 1, 2].map(|kind| after[kind] - before[kind]),
        )
    };
    let native = LogPolicy::native();
    assert_eq!(costs(native, MB), (4, 4, [1, 1, 1]));
    assert_eq!(costs(native, 1100 * MB), (16, 16, [1, 1, 1]));
    let eager = LogPolicy {
        vlf_headers: VlfHeaders::WhenCreated,
        ..native
    };
    assert_eq!(costs(eager, MB), (4, 0, [5, 1, 1]));
    assert_eq!(costs(eager, 1100 * MB), (16, 0, [17, 1, 1]));
}

/// Whatever policy goes on with the same files, it finds the same VLFs, and so does the next.
#[test]
fn policies_take_turns_on_the_same_files() {
    for (first, second) in [
        (LogPolicy::native(), LogPolicy::classic()),
        (LogPolicy::classic(), LogPolicy::native()),
    ] {
        let bench = Bench::new(file(MB, MB, 64 * MB), first);
        let log = bench.create();
        let mut bytes = MB;
        let mut expected = log.vlfs();
        drop(log);
        for (turn, policy) in [second, first, second, second, first].into_iter().enumerate() {
            let bench = Bench::on(bench.disk.clone(), bench.spec.clone(), policy);
            let log = bench.open().unwrap();
            assert_eq!(log.vlfs(), expected, "turn {turn}");
            let (_, end) = read_all(&log, oldest(&log)).unwrap();
            log.resume(end).unwrap();
            bytes += 2 * MB;
            log.grow_file(2, bytes).unwrap();
            enter(&log, 3);
            log.flush_to(Lsn::MAX).unwrap();
            expected = log.vlfs();
            if turn % 2 == 0 {
                log.close();
            }
        }
        let lacking = |vlf: &&VlfInfo| bytes_at(&bench.disk, vlf.offset, SECTOR_BYTES) == [0; SECTOR_BYTES];
        let lacking: Vec<u8> = expected.iter().filter(lacking).map(|vlf| vlf.parity).collect();
        assert!(!lacking.is_empty() && lacking.iter().all(|parity| *parity == 0));
        assert!(page(&bench.disk).headers_when_entered);
    }
}

/// What becomes of a log with the header of one VLF zeroed. `None` = it opens and holds all its records.
fn with_lost_header(bench: &Bench, vlf: &VlfInfo, keeps_directory: bool, records: usize) -> Option<Error> {
    let disk = bench.disk.snapshot();
    overwrite(&disk, vlf.offset, &[0; SECTOR_BYTES]);
    if !keeps_directory {
        delete_directory(&disk, Path::new(LOG)).unwrap();
    }
    let bench = Bench::on(disk, bench.spec.clone(), bench.policy);
    let first = Lsn::new(40, vlf::FIRST_BLOCK, 1);
    let read = bench.open().and_then(|log| {
        log.require(first)?;
        read_all(&log, first)
    });
    match read {
        Ok((found, _)) => {
            assert_eq!(found.len(), records, "the log of VLF {} is lost silently", vlf.sequence);
            None
        }
        Err(error) => Some(error),
    }
}

/// A header that was on disk and reads as zeros: whichever VLF of a needed log it is, first, middle or last, the log is damaged,
/// with the directory and without. Only where the directory vouches for an older VLF is nothing lost.
#[test]
fn a_lost_header_of_a_needed_vlf_is_found() {
    let bench = Bench::new(file(MB, MB, 64 * MB), LogPolicy::native());
    let log = bench.create();
    enter(&log, 9);
    log.save_directory();
    enter(&log, 2);
    let mut chain = TransactionChain::new(TransactionId(1));
    for _ in 0..2 {
        let lsn = log.append(&mut chain, RecordKind::Change, &[b"last"], 0).unwrap();
        log.flush_to(lsn).unwrap();
    }
    let used: Vec<VlfInfo> = log.vlfs().into_iter().filter(|vlf| vlf.sequence > 0).collect();
    let (records, _) = read_all(&log, oldest(&log)).unwrap();
    drop(log);
    assert_eq!(used.len(), 12);
    let mut vouched = 0;
    for vlf in &used {
        let without = with_lost_header(&bench, vlf, false, records.len());
        assert!(
            without.as_ref().is_some_and(|error| error.number == 9004),
            "VLF {}: {without:?}",
            vlf.sequence
        );
        match with_lost_header(&bench, vlf, true, records.len()) {
            Some(error) => assert_eq!(error.number, 9004, "VLF {}: {error}", vlf.sequence),
            None => vouched += 1,
        }
    }
    assert_eq!(
        vouched, 5,
        "40 to 44: the save knew 48 as the last one on disk, and looked at four when it was opened"
    );
    // Never entered: nothing to find.
    let next = Bench::on(bench.disk.snapshot(), bench.spec.clone(), bench.policy);
    assert!(next.open().is_ok());
}

/// In a file whose VLFs all have headers, zeros are no header.
#[test]
fn a_zeroed_header_of_a_classic_log_is_damage() {
    let bench = Bench::new(file(MB, 0, MB), LogPolicy::classic());
    let never_entered = bench.create().vlfs()[2];
    overwrite(&bench.disk, never_entered.offset, &[0; SECTOR_BYTES]);
    for policy in [LogPolicy::classic(), LogPolicy::native()] {
        let error = Bench::on(bench.disk.snapshot(), bench.spec.clone(), policy)
            .open()
            .map(drop)
            .unwrap_err();
        assert!(
            error.number == 9004 && error.message.contains(&never_entered.offset.to_string()),
            "{error}"
        );
    }
}

/// A layout that page 0 has no room for: what it names stays as it is, and the VLFs behind have headers. Every policy finds
/// them, and shrinking back makes the layout whole again.
#[test]
fn vlfs_that_page_zero_cannot_name_have_headers() {
    let bench = Bench::new(file(504 * KB, 0, 504 * KB), LogPolicy::native());
    let log = bench.create();
    let mut bytes = log.files()[0].bytes;
    for step in 0..RUNS_MAX as u64 + 8 {
        bytes += 256 * KB + step % 2 * 8 * KB;
        log.grow_file(2, bytes).unwrap();
    }
    enter(&log, 5);
    let (vlfs, named_end) = (log.vlfs(), page(&bench.disk).named_end());
    assert!(named_end < bytes);
    for vlf in &vlfs {
        let has_header = bytes_at(&bench.disk, vlf.offset, SECTOR_BYTES) != [0; SECTOR_BYTES];
        assert_eq!(
            has_header,
            vlf.parity != 0 || vlf.offset >= named_end,
            "at {}",
            vlf.offset
        );
    }
    drop(log);
    for (policy, keeps_directory) in [
        (LogPolicy::native(), true),
        (LogPolicy::native(), false),
        (LogPolicy::classic(), true),
    ] {
        let bench = Bench::on(bench.disk.snapshot(), bench.spec.clone(), policy);
        if !keeps_directory {
            delete_directory(&bench.disk, Path::new(LOG)).unwrap();
        }
        let (log, _) = bench.recover().unwrap();
        let shown = |vlfs: &[VlfInfo]| -> Vec<_> {
            vlfs.iter()
                .map(|vlf| (vlf.offset, vlf.bytes, vlf.sequence, vlf.status))
                .collect()
        };
        assert_eq!(shown(&log.vlfs()), shown(&vlfs));
        log.grow_file(2, bytes + MB).unwrap();
        assert_eq!(page(&bench.disk).named_end(), named_end);
        log.shrink_file(2, named_end - 600 * KB).unwrap();
        let shrunk = page(&bench.disk);
        assert_eq!(
            (shrunk.named_end(), shrunk.file_bytes),
            (log.files()[0].bytes, log.files()[0].bytes)
        );
        let kept = log.vlfs();
        drop(log);
        assert_eq!(shown(&bench.open().unwrap().vlfs()), shown(&kept));
    }
}

/// The LSN of every growth is known after a crash, whether or not its VLFs were entered: page 0 remembers the last growths, the
/// directory all before.
#[test]
fn create_lsns_survive_a_crash() {
    for growths in [1, 7, 8, 9, 20, 50] {
        let bench = Bench::new(file(MB, 0, MB), LogPolicy::native());
        let log = bench.create();
        let mut chain = TransactionChain::new(TransactionId(1));
        for growth in 1..=growths {
            log.append(&mut chain, RecordKind::Change, &[b"between growths"], 0)
                .unwrap();
            log.grow_file(2, (1 + growth) * MB).unwrap();
        }
        log.flush_to(Lsn::MAX).unwrap();
        let vlfs = log.vlfs();
        let made: std::collections::BTreeSet<Lsn> = vlfs.iter().map(|vlf| vlf.create_lsn).collect();
        assert_eq!(made.len() as u64, growths + 1);
        let crashed = bench.disk.after_power_cut(disk::sim::CutPolicy::AllLost, 1);
        let reopened = Bench::on(crashed, bench.spec.clone(), bench.policy).open().unwrap();
        assert_eq!(reopened.vlfs(), vlfs, "{growths} growths");
    }
}

/// What lies in the two copies of page 0 before a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CopyState {
    Sound,
    Former,
    Torn,
}

/// The table of the module `page_zero`: a growth whose page was not written, or in part.
#[test]
fn every_state_of_page_zero_is_mended_or_refused() {
    let bench = Bench::new(file(MB, MB, 64 * MB), LogPolicy::native());
    let log = bench.create();
    let former = bytes_at(&bench.disk, 0, 4096);
    log.grow_file(2, 2 * MB).unwrap();
    let newer = bytes_at(&bench.disk, 0, 4096);
    let before_entering = bench.disk.snapshot();
    enter(&log, 5);
    drop(log);
    let (mut mended, mut refused) = (0, 0);
    let states = [CopyState::Sound, CopyState::Former, CopyState::Torn];
    for (first, second) in states.iter().flat_map(|first| states.map(|second| (*first, second))) {
        for entered in [false, true] {
            let disk = if entered {
                bench.disk.snapshot()
            } else {
                before_entering.snapshot()
            };
            for (at, state) in [(0, first), (4096, second)] {
                let mut copy = newer.clone();
                match state {
                    CopyState::Sound => {}
                    CopyState::Former => copy.clone_from(&former),
                    CopyState::Torn => copy[2048] ^= 1,
                }
                overwrite(&disk, at, &copy);
            }
            let opened = Bench::on(disk.clone(), bench.spec.clone(), bench.policy).open();
            let what = format!("{first:?}, {second:?}, entered {entered}");
            let has_newer = [first, second].contains(&CopyState::Sound);
            let has_none = [first, second] == [CopyState::Torn; 2];
            // The first copy is durable before a VLF of the growth is entered.
            if entered && first == CopyState::Former && !has_newer {
                continue;
            }
            let lost_first = (first, second, entered) == (CopyState::Torn, CopyState::Former, true);
            if has_none || lost_first {
                assert_eq!(opened.map(drop).unwrap_err().number, 9004, "{what}");
                assert_eq!(
                    Disk::len(&disk, Path::new(LOG)).unwrap(),
                    Some(2 * MB),
                    "{what}: nothing is cut off"
                );
                refused += 1;
                continue;
            }
            assert_eq!(
                opened.unwrap().files()[0].bytes,
                if has_newer { 2 * MB } else { MB },
                "{what}"
            );
            let copies = FileHeader::decode_copies(&bytes_at(&disk, 0, 8192));
            assert!(copies[0].is_ok() && copies[0] == copies[1], "{what}");
            mended += 1;
        }
    }
    assert_eq!((mended, refused), (13, 3));
}
