//! The directory of VLF states: however old, lost or damaged it is, startup knows what the headers say.

use super::super::directory::{ENTRIES_PER_PART, directory_path};
use super::super::follow::{Known, Source, follow};
use super::*;
use disk::Access;
use std::convert::Infallible;
use std::path::Path;
use vlf::{VlfHeader, VlfSequence, VlfSpan};

/// A log as `follow` sees it: sequences in physical order, and from which on they are needed.
#[derive(Clone)]
struct Model {
    sequences: Vec<u32>,
    needed: u32,
    last: u32,
}

impl Model {
    fn new() -> Model {
        Model {
            sequences: vec![5, 0, 0],
            needed: 5,
            last: 5,
        }
    }

    /// 0 = enter the next VLF, or grow when none is free; 1 = free the oldest; 2 = grow by one VLF.
    fn step(&mut self, step: u32) {
        match step {
            0 => {
                let is_free = |index: &usize| self.sequences[*index] < self.needed;
                let used_longest_ago = |index: &usize| self.sequences[*index];
                match (0..self.sequences.len()).filter(is_free).min_by_key(used_longest_ago) {
                    Some(index) => {
                        self.last += 1;
                        self.sequences[index] = self.last;
                    }
                    None => self.sequences.push(0),
                }
            }
            1 => self.needed = (self.needed + 1).min(self.last),
            _ => self.sequences.push(0),
        }
    }

    fn header(&self, index: usize) -> VlfHeader {
        let span = VlfSpan {
            offset: 8192,
            bytes: 256 * KB,
        };
        VlfHeader {
            sequence: VlfSequence(self.sequences[index]),
            ..VlfHeader::unused(span, Lsn::ZERO)
        }
    }
}

/// What the directory knew at `then`, with the headers of `damaged` VLFs (a bit each) read `now`.
fn known(then: &Model, now: &Model, damaged: usize) -> Vec<Known> {
    let of = |(index, sequence): (usize, &u32)| match then.sequences.get(index) {
        Some(then) if damaged & 1 << index == 0 => Known {
            sequence: *then,
            source: Source::Directory,
        },
        then => Known {
            sequence: *sequence,
            source: if then.is_some() { Source::Header } else { Source::Added },
        },
    };
    now.sequences.iter().enumerate().map(of).collect()
}

/// Every history of eight steps, the directory taken at every moment of it, with every part of it damaged: what `follow`
/// finds is the truth, or it says that it does not know, and that only when a VLF was used again since.
#[test]
fn following_finds_the_truth_or_says_that_it_cannot() {
    let (mut trusted, mut distrusted, mut probes_most) = (0, 0, 0);
    for history in 0..3u32.pow(8) {
        let mut moments = vec![Model::new()];
        for step in 0..8 {
            let mut next = moments[step as usize].clone();
            next.step(history / 3u32.pow(step) % 3);
            moments.push(next);
        }
        let now = &moments[8];
        for then in &moments {
            for damaged in [0, 1, 2, 4, 6] {
                let mut known = known(then, now, damaged);
                let mut probes = 0;
                let probe = |index| {
                    probes += 1;
                    Ok::<_, Infallible>(now.header(index))
                };
                let Ok(found) = follow(&mut known, then.last, probe, |_, _| {});
                match found {
                    Some(last) => {
                        let needed = |known: &[u32]| -> Vec<u32> {
                            let relevant = known
                                .iter()
                                .map(|sequence| if *sequence < then.needed { 0 } else { *sequence });
                            relevant.collect()
                        };
                        let sequences: Vec<u32> = known.iter().map(|vlf| vlf.sequence).collect();
                        assert_eq!(last, now.last, "history {history}, damaged {damaged}");
                        assert_eq!(needed(&sequences), needed(&now.sequences), "history {history}");
                        trusted += 1;
                        probes_most = probes_most.max(probes);
                    }
                    None => {
                        let used_again = |index: usize| {
                            let (before, after) = (then.sequences[index], now.sequences[index]);
                            after != before
                                && (before >= then.needed || damaged & 1 << index != 0 || after > then.last + 1)
                        };
                        assert!(
                            (0..then.sequences.len()).any(used_again),
                            "history {history}, damaged {damaged}"
                        );
                        distrusted += 1;
                    }
                }
            }
        }
    }
    assert!(
        trusted > 10 * distrusted && distrusted > 0,
        "{trusted} trusted, {distrusted} not"
    );
    assert!(probes_most <= 9, "{probes_most}");
}

/// The directory belongs to another moment of another log: never trusted where it would be wrong.
#[test]
fn a_directory_of_another_log_is_not_followed() {
    let mut here = Model::new();
    (0..9).for_each(|step| here.step(u32::from(step % 3 == 2)));
    let mut there = Model::new();
    there.step(0);
    let mut known = known(&here, &there, 0);
    let probe = |index| Ok::<_, Infallible>(there.header(index));
    let Ok(found) = follow(&mut known, here.last, probe, |_, _| {});
    assert_eq!(found, None);
}

/// Compares a log just opened with what a walk of its headers finds: every VLF that may be needed is the same.
pub(super) fn assert_needed_as_headers_say(log: &LogManager, bench: &Bench, what: &str) {
    let walking = Bench::on(bench.disk.snapshot(), bench.spec.clone(), LogPolicy::classic());
    let walked = walking.open().unwrap_or_else(|error| panic!("{what}: {error}")).vlfs();
    let found = log.vlfs();
    let oldest = found.iter().filter(|vlf| vlf.status == 2).map(|vlf| vlf.sequence).min();
    assert_eq!(found.len(), walked.len(), "{what}");
    for (found, walked) in found.iter().zip(&walked) {
        let needed = walked.sequence >= oldest.unwrap_or(0);
        // Of a VLF that was never entered, only the directory may know the create LSN.
        let knows_growth = walked.create_lsn != Lsn::ZERO || walked.parity != 0;
        let shown = |vlf: &VlfInfo| {
            (
                vlf.offset,
                vlf.bytes,
                knows_growth.then_some(vlf.create_lsn),
                needed.then_some((vlf.sequence, vlf.parity)),
            )
        };
        assert_eq!(shown(found), shown(walked), "{what}");
        assert_eq!(found.status, if needed { 2 } else { 0 }, "{what}");
    }
}

const LOG: &str = "/log/test_log.ldf";
/// VLFs of 256 KB, three parts of the directory and a bit.
const VLFS: u64 = 3 * ENTRIES_PER_PART as u64 + 20;

fn bytes_of(disk: &SimDisk, path: &Path) -> Vec<u8> {
    let file = disk.open(path, Access::Buffered).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(0, &mut bytes).unwrap();
    bytes
}

fn write(disk: &SimDisk, path: &Path, bytes: &[u8]) {
    let file = disk.open(path, Access::Buffered).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
    file.write_at(0, bytes).unwrap();
    file.sync().unwrap();
}

fn enter_vlfs(log: &LogManager, count: u32) {
    let target = log.end().vlf + count;
    let mut chain = TransactionChain::new(TransactionId(1));
    while log.end().vlf < target {
        let lsn = log.append(&mut chain, RecordKind::Change, &[&[5; 50_000]], 0).unwrap();
        log.flush_to(lsn).unwrap();
        log.forget(&mut chain);
    }
}

/// A log of many VLFs that has gone round, with a directory of a moment when some are needed.
fn many() -> (Bench, Arc<LogManager>) {
    let bench = Bench::new(file(MB, MB, 4096 * MB), LogPolicy::native());
    let log = bench.create();
    let mut megabytes = 1;
    while (log.vlfs().len() as u64) < VLFS {
        megabytes += 1;
        log.grow_file(2, megabytes * MB).unwrap();
    }
    enter_vlfs(&log, 30);
    log.truncate(Lsn::new(60, vlf::FIRST_BLOCK, 1));
    log.save_directory();
    (bench, log)
}

/// What is done to the directory or to the log before the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Missing,
    BothHeadersDamaged,
    NewerHeaderDamaged,
    PartDamaged(usize),
    CutShort,
    OlderLog,
    OtherLog,
    Nothing,
}

fn befall(bench: &Bench, fate: Fate, older_log: &[u8]) {
    let path = directory_path(Path::new(LOG));
    let mut bytes = bytes_of(&bench.disk, &path);
    match fate {
        Fate::Missing => bench.disk.delete(&path).unwrap(),
        Fate::BothHeadersDamaged => {
            bytes[20] ^= 1;
            bytes[4096 + 20] ^= 1;
        }
        Fate::NewerHeaderDamaged => {
            let generation = |slot: usize| {
                bytes[slot * 4096 + 16..][..8]
                    .iter()
                    .rev()
                    .fold(0u64, |sum, byte| sum << 8 | u64::from(*byte))
            };
            let newer = usize::from(generation(1) > generation(0));
            bytes[newer * 4096 + 30] ^= 1;
        }
        Fate::PartDamaged(part) => bytes[8192 + part * 4096 + 100] ^= 1,
        Fate::CutShort => bytes.truncate(8192 + 4096),
        Fate::OlderLog => write(&bench.disk, Path::new(LOG), older_log),
        Fate::OtherLog => bytes[32 + 8] ^= 1,
        Fate::Nothing => {}
    }
    if fate == Fate::OtherLog {
        bytes[4096 + 32 + 8] ^= 1;
        for slot in [0, 4096] {
            let crc = crc32c::crc32c(&bytes[slot..slot + 4092]).to_le_bytes();
            bytes[slot + 4092..slot + 4096].copy_from_slice(&crc);
        }
    }
    if fate != Fate::Missing {
        write(&bench.disk, &path, &bytes);
    }
}

/// Opens the log: it knows what the headers say, and has read as many of them as the table promises.
fn assert_start_as_promised(bench: &Bench, fate: Fate, what: &str) {
    let files = std::slice::from_ref(&bench.spec);
    let opened = LogManager::open(&bench.env, "test", files, ServerVersion::V2008, bench.policy);
    let (log, discovery) = opened.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_needed_as_headers_say(&log, bench, what);
    let most = match fate {
        Fate::Nothing => 4 + 4 + 5,
        Fate::PartDamaged(_) | Fate::NewerHeaderDamaged => 2 * ENTRIES_PER_PART + 20,
        _ => discovery.vlf_count,
    };
    assert!(
        discovery.headers_read <= most,
        "{what}: {} headers read",
        discovery.headers_read
    );
    let all = [
        Fate::Missing,
        Fate::BothHeadersDamaged,
        Fate::CutShort,
        Fate::OlderLog,
        Fate::OtherLog,
    ];
    assert_eq!(
        discovery.headers_read == discovery.vlf_count,
        all.contains(&fate),
        "{what}"
    );
}

/// The table of the module `directory`, each row with what happens in the log after the save: nothing, growths, VLFs entered,
/// both. The start finds what the headers say, and reads as few headers as the table promises.
#[test]
fn every_case_of_the_directory_finds_what_the_headers_say() {
    let fates = [
        Fate::Missing,
        Fate::BothHeadersDamaged,
        Fate::NewerHeaderDamaged,
        Fate::PartDamaged(0),
        Fate::PartDamaged(2),
        Fate::CutShort,
        Fate::OlderLog,
        Fate::OtherLog,
        Fate::Nothing,
    ];
    let (bench, log) = many();
    let older_log = bytes_of(&bench.disk, Path::new(LOG));
    enter_vlfs(&log, 3);
    log.save_directory();
    for (grown, entered, saved) in (0..8).map(|bits| (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0)) {
        let disk = bench.disk.snapshot();
        let bench = Bench::on(disk, bench.spec.clone(), bench.policy);
        let (log, _) = bench.recover().unwrap();
        if grown {
            let bytes = log.files()[0].bytes;
            log.grow_file(2, bytes + MB).unwrap();
        }
        if entered {
            enter_vlfs(&log, 3);
        }
        if saved {
            log.save_directory();
        }
        drop(log);
        for fate in fates {
            let what = format!("{fate:?}, grown {grown}, entered {entered}, saved {saved}");
            let bench = Bench::on(bench.disk.snapshot(), bench.spec.clone(), bench.policy);
            befall(&bench, fate, &older_log);
            assert_start_as_promised(&bench, fate, &what);
        }
    }
}

/// A clean stop leaves a directory that needs nothing but its witnesses, and the step to the next VLF.
#[test]
fn a_clean_stop_needs_no_more_headers_than_a_log_of_a_few_vlfs() {
    let (bench, log) = many();
    log.flush_to(Lsn::MAX).unwrap();
    log.close();
    drop(log);
    let files = std::slice::from_ref(&bench.spec);
    let (log, discovery) = LogManager::open(&bench.env, "test", files, ServerVersion::V2008, bench.policy).unwrap();
    assert!(discovery.headers_read <= 5, "{} headers read", discovery.headers_read);
    assert_needed_as_headers_say(&log, &bench, "clean stop");
}

/// A shrink, then growths that lay out other VLFs in the place of those that are gone.
#[test]
fn a_shrink_makes_the_directory_anew() {
    let (bench, log) = many();
    let bytes = log.files()[0].bytes;
    log.shrink_file(2, bytes / 2).unwrap();
    assert!(log.files()[0].bytes < bytes * 2 / 3);
    let path = directory_path(Path::new(LOG));
    assert!(Disk::len(&bench.disk, &path).unwrap().is_some());
    log.grow_file(2, bytes).unwrap();
    enter_vlfs(&log, 2);
    drop(log);
    assert_needed_as_headers_say(&bench.open().unwrap(), &bench, "shrunk");
}

/// Classic discovery keeps no directory, and leaves none behind that native would follow.
#[test]
fn a_policy_without_directory_deletes_it() {
    let (bench, log) = many();
    drop(log);
    let path = directory_path(Path::new(LOG));
    assert!(Disk::len(&bench.disk, &path).unwrap().is_some());
    let classic = Bench::on(bench.disk.clone(), bench.spec.clone(), LogPolicy::classic());
    let (log, _) = classic.recover().unwrap();
    assert_eq!(Disk::len(&bench.disk, &path).unwrap(), None);
    log.set_policy(LogPolicy::native());
    log.save_directory();
    assert!(Disk::len(&bench.disk, &path).unwrap().is_some());
    log.set_policy(LogPolicy::classic());
    log.save_directory();
    assert_eq!(Disk::len(&bench.disk, &path).unwrap(), None);
}

/// The disk refuses the directory: the log goes on, the error log tells it, the next save is whole again.
#[test]
fn a_failed_save_is_told_and_made_good() {
    use disk::sim::{FaultError, OperationKind, Repetition};
    for kind in [OperationKind::Write, OperationKind::Sync, OperationKind::WriteDurable] {
        let (bench, log) = many();
        enter_vlfs(&log, 2);
        bench.disk.fail_next(kind, ".vlfs", 1, FaultError::Io, Repetition::Once);
        log.save_directory();
        assert_eq!(bench.disk.fault_count(), 1, "{kind:?}");
        let told = bench
            .env
            .errorlog
            .lines()
            .into_iter()
            .any(|line| line.text.contains("VLF directory"));
        assert!(told, "{kind:?}");
        enter_vlfs(&log, 2);
        unlock_files(&log);
        assert_needed_as_headers_say(&bench.open().unwrap(), &bench, "after the failure");
        log.save_directory();
        enter_vlfs(&log, 1);
        drop(log);
        assert_needed_as_headers_say(&bench.open().unwrap(), &bench, "after the next save");
    }
}
