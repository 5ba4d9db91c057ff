//! The simulated disk that other tests build on: synced bytes survive a power cut, unsynced ones go by policy, a cut that is kept is the one
//! that would have been, and faults (torn sectors, EIO, ENOSPC, flipped bits) strike where they were set.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::*;

const LOG: &str = "/data/log.ldf";
const SECTOR: u64 = SECTOR_BYTES as u64;

fn disk_with_log() -> (SimDisk, Arc<dyn File>) {
    let disk = SimDisk::new(1);
    disk.create_directories(Path::new("/data")).unwrap();
    let file = disk.create(Path::new(LOG), Access::Direct).unwrap();
    (disk, file)
}

fn content(disk: &SimDisk, path: &str) -> Vec<u8> {
    let file = disk.open(Path::new(path), Access::Direct).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(0, &mut bytes).unwrap();
    bytes
}

fn after(disk: &SimDisk, policy: CutPolicy, seed: u64) -> Vec<u8> {
    content(&disk.after_power_cut(policy, seed), LOG)
}

#[test]
fn what_is_synced_while_syncs_are_put_off_is_durable_at_their_end() {
    let (disk, file) = disk_with_log();
    let deferred = disk.defer_syncs().unwrap();
    assert!(disk.defer_syncs().is_none(), "once at a time");
    file.write_durable_at(0, &[1; 512]).unwrap();
    file.write_at(512, &[2; 512]).unwrap();
    file.sync().unwrap();
    assert_eq!(after(&disk, CutPolicy::AllLost, 1), []);
    let cut = disk.snapshot();
    deferred.finish().unwrap();
    assert_eq!(after(&disk, CutPolicy::AllLost, 1), [[1; 512], [2; 512]].concat());
    file.write_durable_at(0, &[3; 512]).unwrap();
    assert_eq!(after(&disk, CutPolicy::AllLost, 1)[..512], [3; 512]);
    assert_eq!(after(&cut, CutPolicy::AllLost, 1), []);
}

#[test]
fn a_power_cut_at_the_end_of_putting_off_makes_nothing_durable() {
    let (disk, file) = disk_with_log();
    let deferred = disk.defer_syncs().unwrap();
    file.write_durable_at(0, &[1; 512]).unwrap();
    disk.power_cut_at(disk.operation_count() + 1);
    assert_eq!(deferred.finish().unwrap_err().kind, DiskErrorKind::PowerCut);
    assert_eq!(after(&disk, CutPolicy::AllLost, 1), []);
}

#[test]
fn synced_bytes_stay_and_unsynced_ones_follow_the_policy() {
    let (disk, file) = disk_with_log();
    file.write_at(0, &[1; 1024]).unwrap();
    assert!(disk.has_unsynced(Path::new(LOG)).unwrap());
    file.sync().unwrap();
    assert!(!disk.has_unsynced(Path::new(LOG)).unwrap());
    file.write_at(512, &[2; 1024]).unwrap();
    let lost = [1; 1024].to_vec();
    let kept = [[1; 512].as_slice(), &[2; 1024]].concat();
    assert_eq!(content(&disk, LOG), kept, "programs read what they wrote");
    assert_eq!(after(&disk, CutPolicy::AllLost, 7), lost);
    assert_eq!(after(&disk, CutPolicy::AllKept, 7), kept);
    let torn = [[1; 512].as_slice(), &[2; 512]].concat();
    let policy = CutPolicy::TornLastWrite { sectors_kept: 1 };
    assert_eq!(after(&disk, policy, 7), torn);
    for seed in 0..20 {
        let bytes = after(&disk, CutPolicy::RandomWrites, seed);
        assert!(bytes == lost || bytes == kept);
    }
}

#[test]
fn a_durable_write_keeps_its_own_bytes_and_length_and_nothing_else() {
    let (disk, file) = disk_with_log();
    file.grow_reserved(8192).unwrap();
    file.write_at(0, &[1; 512]).unwrap();
    file.write_at(512, &[3; 512]).unwrap();
    file.write_durable_at(512, &[2; 512]).unwrap();
    let lost = after(&disk, CutPolicy::AllLost, 0);
    assert_eq!(lost, [[0; 512], [2; 512]].concat(), "growth is unsynced");
    for seed in 0..50 {
        let bytes = after(&disk, CutPolicy::RandomSectors, seed);
        assert_eq!(bytes[512..1024], [2; 512], "no older write comes back");
    }
    file.sync().unwrap();
    assert_eq!(after(&disk, CutPolicy::AllLost, 0).len(), 8192);
}

#[test]
fn sectors_tear_and_fill_with_garbage_but_only_unsynced_ones() {
    let (disk, file) = disk_with_log();
    file.write_durable_at(0, &[1; 512 * 64]).unwrap();
    file.write_at(512 * 8, &[2; 512 * 32]).unwrap();
    let mut seen = BTreeSet::new();
    for seed in 0..10 {
        for policy in [CutPolicy::RandomSectors, CutPolicy::GarbageSectors] {
            let bytes = after(&disk, policy, seed);
            for (index, sector) in bytes.chunks(SECTOR_BYTES).enumerate() {
                let unsynced = (8..40).contains(&index);
                let value = match sector {
                    [1, ..] if sector == [1; 512] => "old",
                    [2, ..] if sector == [2; 512] && unsynced => "new",
                    _ if unsynced && policy == CutPolicy::GarbageSectors => "garbage",
                    _ => panic!("sector {index} holds what nobody wrote"),
                };
                if unsynced {
                    seen.insert((format!("{policy:?}"), value));
                }
            }
        }
    }
    assert_eq!(seen.len(), 5, "{seen:?}");
}

#[test]
fn one_seed_gives_one_outcome_and_others_differ() {
    let (disk, file) = disk_with_log();
    file.write_at(0, &[5; 512 * 100]).unwrap();
    let policy = CutPolicy::GarbageSectors;
    assert_eq!(after(&disk, policy, 42), after(&disk, policy, 42));
    assert_eq!(after(&disk.snapshot(), policy, 42), after(&disk, policy, 42));
    let outcomes: BTreeSet<Vec<u8>> = (0..8).map(|seed| after(&disk, policy, seed)).collect();
    assert!(outcomes.len() > 4);
}

/// The plain model of a file that a random walk is compared with: whole versions instead of shared chunks.
#[derive(Default)]
struct Model {
    durable: Vec<u8>,
    current: Vec<u8>,
}

impl Model {
    fn put(bytes: &mut Vec<u8>, offset: usize, part: &[u8]) {
        let len = bytes.len().max(offset + part.len());
        bytes.resize(len, 0);
        bytes[offset..offset + part.len()].copy_from_slice(part);
    }
}

/// One step of the random walk; the model moves only when the disk reports success.
fn step(file: &dyn File, model: &mut Model, random: &mut Random) -> Result<(), DiskError> {
    let offset = random.up_to(120) * SECTOR_BYTES;
    // Of zeros the disk keeps only how many they are.
    let byte = if random.coin() { 0 } else { random.up_to(254) as u8 + 1 };
    let part = vec![byte; (random.up_to(40) + 1) * SECTOR_BYTES];
    match random.up_to(9) {
        0..=3 => {
            file.write_at(offset as u64, &part)?;
            Model::put(&mut model.current, offset, &part);
        }
        4 | 5 => {
            file.write_durable_at(offset as u64, &part)?;
            Model::put(&mut model.current, offset, &part);
            Model::put(&mut model.durable, offset, &part);
        }
        6 => {
            let len = model.current.len() + offset;
            file.grow_reserved(len as u64)?;
            model.current.resize(len, 0);
        }
        7 => {
            file.set_len(offset as u64)?;
            model.current.resize(offset, 0);
        }
        _ => {
            file.sync()?;
            model.durable = model.current.clone();
        }
    }
    Ok(())
}

#[test]
fn a_cut_at_every_operation_of_a_random_walk_agrees_with_the_model() {
    for seed in 0..4 {
        for cut in 3..100 {
            let (disk, file) = disk_with_log();
            disk.power_cut_at(cut);
            let (mut model, mut random) = (Model::default(), Random::new(seed));
            let error = loop {
                if let Err(error) = step(file.as_ref(), &mut model, &mut random) {
                    break error;
                }
            };
            assert_eq!(error.kind, DiskErrorKind::PowerCut);
            assert!(disk.power_is_cut());
            assert_eq!(disk.operation_count(), cut);
            let left = after(&disk, CutPolicy::AllLost, 0);
            assert!(left == model.durable, "seed {seed} cut {cut}");
        }
        let (disk, file) = disk_with_log();
        let (mut model, mut random) = (Model::default(), Random::new(seed));
        for _ in 0..100 {
            step(file.as_ref(), &mut model, &mut random).unwrap();
            assert!(content(&disk, LOG) == model.current);
            assert!(after(&disk, CutPolicy::AllKept, 0) == model.current);
            assert!(after(&disk, CutPolicy::AllLost, 0) == model.durable);
        }
    }
}

/// All names of a disk, and what is in its files.
fn whole(disk: &SimDisk) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let names = disk.list(Path::new("/data")).unwrap().into_iter();
    names
        .map(|path| match disk.open(&path, Access::Direct) {
            Ok(_) => (path.clone(), Some(content(disk, path.to_str().unwrap()))),
            Err(_) => (path, None),
        })
        .collect()
}

/// A walk over a file with changes of names in between; goes on whatever fails.
fn walk_with_names(disk: &SimDisk, file: &dyn File, seed: u64) {
    let (mut model, mut random) = (Model::default(), Random::new(seed));
    for round in 0..60 {
        let _ = step(file, &mut model, &mut random);
        let [other, third] = ["/data/other", "/data/third"].map(Path::new);
        let _ = match round % 6 {
            0 => disk
                .create(other, Access::Direct)
                .and_then(|file| file.write_at(0, &[1; 700])),
            2 => disk.rename(other, third),
            3 => disk.create_directories(&Path::new("/data").join(round.to_string())),
            4 => disk.delete(third),
            _ => Ok(()),
        };
    }
}

#[test]
fn a_cut_that_is_kept_is_the_cut_that_would_have_been() {
    const POLICIES: [CutPolicy; 6] = [
        CutPolicy::AllLost,
        CutPolicy::AllKept,
        CutPolicy::RandomSectors,
        CutPolicy::RandomWrites,
        CutPolicy::TornLastWrite { sectors_kept: 1 },
        CutPolicy::GarbageSectors,
    ];
    for (seed, every) in [(1, 1), (2, 1), (3, 7)] {
        let (disk, file) = disk_with_log();
        let begun_at = disk.operation_count();
        disk.keep_cuts(every);
        walk_with_names(&disk, file.as_ref(), seed);
        assert!(!disk.power_is_cut());
        let changes = disk.operation_count() - begun_at;
        let kept = disk.take_kept_cuts();
        let numbers: Vec<u64> = kept.iter().map(|cut| cut.operation_number).collect();
        let expected: Vec<u64> = (begun_at + 1..=begun_at + changes).step_by(every as usize).collect();
        assert_eq!(numbers, expected);
        assert!(changes > 90, "{changes}");
        for cut in kept {
            assert!(cut.disk.power_is_cut());
            let (disk, file) = disk_with_log();
            disk.power_cut_at(cut.operation_number);
            walk_with_names(&disk, file.as_ref(), seed);
            assert!(disk.power_is_cut());
            for policy in POLICIES {
                let [kept, cut] = [&cut.disk, &disk].map(|disk| whole(&disk.after_power_cut(policy, 9)));
                assert!(kept == cut, "seed {seed}, {policy:?}");
            }
        }
        walk_with_names(&disk, file.as_ref(), seed);
        assert!(
            disk.take_kept_cuts().is_empty(),
            "no cut is kept behind the last that was asked for"
        );
    }
}

#[test]
fn everything_fails_after_the_cut_and_works_on_the_disk_found_afterwards() {
    let (disk, file) = disk_with_log();
    file.write_durable_at(0, &[1; 512]).unwrap();
    disk.power_cut_at(disk.operation_count() + 1);
    let log = Path::new(LOG);
    let mut buffer = [0; 512];
    file.read_at(0, &mut buffer).unwrap();
    assert_eq!(
        file.sync().err().unwrap().kind,
        DiskErrorKind::PowerCut,
        "the chosen operation"
    );
    let errors = [
        file.read_at(0, &mut buffer).err(),
        file.write_at(0, &[9]).err(),
        file.len().err(),
        disk.open(log, Access::Direct).err(),
        disk.create(Path::new("/data/x"), Access::Direct).err(),
        disk.delete(log).err(),
        disk.rename(log, Path::new("/data/y")).err(),
        disk.list(Path::new("/data")).err(),
        disk.lock_exclusive(log).err(),
    ];
    for error in errors {
        assert_eq!(error.unwrap().kind, DiskErrorKind::PowerCut);
    }
    let found = disk.after_power_cut(CutPolicy::AllLost, 0);
    let file = found.open(log, Access::Direct).unwrap();
    file.write_durable_at(512, &[2; 512]).unwrap();
    assert_eq!(content(&found, LOG), [[1; 512], [2; 512]].concat());
}

#[test]
fn a_write_in_flight_may_be_torn_at_any_sector_even_a_durable_one() {
    for sectors_kept in 0..=4 {
        let (disk, file) = disk_with_log();
        file.write_durable_at(0, &[1; 512 * 4]).unwrap();
        disk.power_cut_at(1);
        file.write_durable_at(0, &[2; 512 * 4]).err().unwrap();
        let bytes = after(&disk, CutPolicy::TornLastWrite { sectors_kept }, 0);
        let kept = bytes.iter().filter(|byte| **byte == 2).count();
        assert_eq!(kept, sectors_kept * SECTOR_BYTES);
        assert!(bytes[..kept].iter().all(|byte| *byte == 2));
    }
}

#[test]
fn names_in_flight_have_changed_or_not_and_earlier_ones_stay() {
    let log = Path::new(LOG);
    let other = Path::new("/data/other");
    type Change = fn(&SimDisk, &Path, &Path) -> Result<(), DiskError>;
    let changes: [(Change, [&[&str]; 2]); 3] = [
        (
            |disk, _, other| disk.create(other, Access::Direct).map(|_| ()),
            [&["/data/log.ldf"], &["/data/log.ldf", "/data/other"]],
        ),
        (
            |disk, log, other| disk.rename(log, other),
            [&["/data/log.ldf"], &["/data/other"]],
        ),
        (|disk, log, _| disk.delete(log), [&["/data/log.ldf"], &[]]),
    ];
    for (change, [before, done]) in changes {
        let (disk, _) = disk_with_log();
        disk.power_cut_at(1);
        let error = change(&disk, log, other).err().unwrap();
        assert_eq!(error.kind, DiskErrorKind::PowerCut);
        for (policy, expected) in [(CutPolicy::AllLost, before), (CutPolicy::AllKept, done)] {
            let found = disk.after_power_cut(policy, 3);
            let names = found.list(Path::new("/data")).unwrap();
            assert_eq!(names, expected.iter().map(PathBuf::from).collect::<Vec<_>>());
        }
        let (disk, _) = disk_with_log();
        change(&disk, log, other).unwrap();
        let names = disk.after_power_cut(CutPolicy::AllLost, 3).list(Path::new("/data"));
        assert_eq!(
            names.unwrap(),
            done.iter().map(PathBuf::from).collect::<Vec<_>>(),
            "durable on return"
        );
    }
}

#[test]
fn faults_strike_the_chosen_operation_once_or_forever() {
    let (disk, file) = disk_with_log();
    let kind = OperationKind::Write;
    disk.fail_next(kind, "log.ldf", 3, FaultError::Io, Repetition::Once);
    disk.fail_next(kind, "other", 1, FaultError::Io, Repetition::Forever);
    let outcomes: Vec<bool> = (0..5)
        .map(|index| file.write_at(index * SECTOR, &[1; 512]).is_ok())
        .collect();
    assert_eq!(outcomes, [true, true, false, true, true]);
    assert_eq!(disk.fault_count(), 1);
    assert_eq!(disk.count(OperationKind::Write), 5);

    disk.fail_next(OperationKind::Grow, "ldf", 2, FaultError::NoSpace, Repetition::Forever);
    file.grow_reserved(10_000).unwrap();
    for _ in 0..3 {
        let error = file.grow_reserved(20_000).err().unwrap();
        assert_eq!(error.kind, DiskErrorKind::DiskFull);
        assert_eq!(error.os_error, Some(28));
    }
    assert_eq!(file.len().unwrap(), 10_000);
    assert_eq!(disk.fault_count(), 4);
    disk.clear_faults();
    file.grow_reserved(20_000).unwrap();

    disk.fail_next(OperationKind::Read, "", 1, FaultError::Io, Repetition::Once);
    let mut buffer = [0; 512];
    let error = file.read_at(0, &mut buffer).err().unwrap();
    assert_eq!((error.kind, error.os_error), (DiskErrorKind::Io, Some(5)));
    file.read_at(0, &mut buffer).unwrap();
    assert_eq!(buffer, [1; 512]);
}

#[test]
fn a_failed_sync_loses_cached_data_and_is_never_taken_back() {
    let (disk, file) = disk_with_log();
    file.write_durable_at(0, &[1; 512 * 32]).unwrap();
    file.write_at(0, &[2; 512 * 32]).unwrap();
    disk.fail_next(OperationKind::Sync, "log", 1, FaultError::Io, Repetition::Once);
    assert_eq!(file.sync().err().unwrap().kind, DiskErrorKind::Io);
    assert_eq!(disk.fault_count(), 1);
    assert_eq!(file.sync().err().unwrap().kind, DiskErrorKind::Io);
    assert_eq!(
        file.write_durable_at(0, &[3; 512]).err().unwrap().kind,
        DiskErrorKind::Io
    );
    let seen = content(&disk, LOG);
    assert!(seen.contains(&1) && seen.contains(&2), "some sectors each");
    assert_eq!(after(&disk, CutPolicy::AllLost, 0), seen);
    disk.open(Path::new(LOG), Access::Direct).unwrap().sync().unwrap();
}

#[test]
fn a_full_disk_refuses_and_changes_nothing_until_space_is_freed() {
    let (disk, file) = disk_with_log();
    disk.set_capacity_bytes(Some(64 * 1024));
    let ballast = disk.create(Path::new("/data/ballast"), Access::Buffered).unwrap();
    ballast.grow_reserved(32 * 1024).unwrap();
    file.write_at(0, &[1; 16 * 1024]).unwrap();
    assert_eq!(disk.available_bytes(Path::new(LOG)).unwrap(), 16 * 1024);
    let refused = [
        file.grow_reserved(48 * 1024).err(),
        file.write_at(16 * 1024, &[2; 20 * 1024]).err(),
        file.write_durable_at(40 * 1024, &[2; 512]).err(),
    ];
    for error in refused {
        assert_eq!(error.unwrap().kind, DiskErrorKind::DiskFull);
    }
    assert_eq!(content(&disk, LOG), [1; 16 * 1024]);
    file.write_at(0, &[3; 16 * 1024]).unwrap();
    disk.delete(Path::new("/data/ballast")).unwrap();
    file.grow_reserved(64 * 1024).unwrap();
    assert_eq!(disk.available_bytes(Path::new(LOG)).unwrap(), 0);
    file.set_len(0).unwrap();
    assert_eq!(disk.available_bytes(Path::new(LOG)).unwrap(), 64 * 1024);
}

#[test]
fn the_medium_can_be_damaged() {
    let (disk, file) = disk_with_log();
    let log = Path::new(LOG);
    file.write_durable_at(0, &[0; 1000]).unwrap();
    disk.flip_bit(log, 999, 3).unwrap();
    let error = disk.flip_bit(log, 1000, 3).err().unwrap();
    assert_eq!(error.kind, DiskErrorKind::UnexpectedEnd);
    let mut byte = [0];
    file.read_at(999, &mut byte).unwrap();
    assert_eq!(byte, [8]);
    assert_eq!(after(&disk, CutPolicy::AllLost, 0)[999], 8);
    disk.truncate_behind(log, 600).unwrap();
    assert_eq!(file.len().unwrap(), 600);
    let error = file.read_at(599, &mut [0; 2]).err().unwrap();
    assert_eq!(error.kind, DiskErrorKind::UnexpectedEnd);
    assert_eq!(after(&disk, CutPolicy::AllLost, 0).len(), 600);
}

#[test]
fn a_snapshot_lives_apart_from_its_disk() {
    let (disk, file) = disk_with_log();
    file.write_durable_at(0, &[1; 4096]).unwrap();
    file.write_at(0, &[2; 512]).unwrap();
    let snapshot = disk.snapshot();
    file.write_at(0, &[3; 4096]).unwrap();
    file.sync().unwrap();
    disk.delete(Path::new(LOG)).unwrap();
    assert_eq!(content(&snapshot, LOG)[..512], [2; 512]);
    assert_eq!(after(&snapshot, CutPolicy::AllLost, 0), [1; 4096]);
}

#[test]
fn names_behave_as_those_of_a_file_system() {
    let (disk, file) = disk_with_log();
    let kind = |result: Result<Arc<dyn File>, DiskError>| result.err().map(|error| error.kind);
    assert_eq!(
        kind(disk.create(Path::new("/data/./log.ldf"), Access::Direct)),
        Some(DiskErrorKind::AlreadyExists)
    );
    assert_eq!(
        kind(disk.create(Path::new("/none/x"), Access::Direct)),
        Some(DiskErrorKind::NotFound)
    );
    file.write_at(0, &[1; 10]).unwrap();
    disk.delete(Path::new(LOG)).unwrap();
    let mut byte = [0];
    file.read_at(9, &mut byte).unwrap();
    assert_eq!(byte, [1], "an open file outlives its name");
    let inode_count = || disk.state.lock().inodes.len();
    assert_eq!(inode_count(), 1);
    drop(file);
    assert_eq!(inode_count(), 0);
    assert_eq!(disk.len(Path::new(LOG)).unwrap(), None);
    let lock = Path::new("/data/lock");
    let guard = disk.lock_exclusive(lock).unwrap();
    let error = disk.lock_exclusive(lock).err().unwrap();
    assert_eq!(error.kind, DiskErrorKind::InUse);
    drop(guard);
    disk.lock_exclusive(lock).unwrap();
}

/// The disk is everybody else's while one operation is held, and the held one comes after theirs.
#[test]
fn a_held_operation_waits_alone() {
    let (disk, file) = disk_with_log();
    file.write_durable_at(0, &[1; 512]).unwrap();
    std::thread::scope(|scope| {
        let held = disk.hold_next(OperationKind::Write, "log");
        let never = disk.hold_next(OperationKind::Grow, "log");
        let writer = scope.spawn(|| file.write_at(0, &[2; 512]).unwrap());
        assert!(held.is_reached_within(Duration::from_secs(60)));
        assert!(!never.is_reached_within(Duration::ZERO));
        file.write_at(0, &[3; 512]).unwrap();
        assert!(!writer.is_finished());
        drop(held);
    });
    let mut byte = [0];
    file.read_at(0, &mut byte).unwrap();
    assert_eq!(byte, [2]);
}

#[test]
fn a_file_is_locked_by_one_open_file_at_a_time() {
    let disk = SimDisk::new(1);
    disk.create_directories(Path::new("/data")).unwrap();
    let path = Path::new("/data/f");
    let first = disk.create(path, Access::Direct).unwrap();
    let second = disk.open(path, Access::Direct).unwrap();
    first.lock().unwrap();
    first.lock().unwrap();
    assert_eq!(second.lock().unwrap_err().kind, DiskErrorKind::InUse);
    second.write_at(0, b"nobody asks").unwrap();
    second.unlock();
    assert_eq!(
        second.lock().unwrap_err().kind,
        DiskErrorKind::InUse,
        "it has nothing to give back"
    );
    first.unlock();
    second.lock().unwrap();
    assert!(first.lock().is_err());
    drop(second);
    first.lock().unwrap();
    // Locks end with the power.
    let found = disk.after_power_cut(CutPolicy::AllKept, 0);
    found.open(path, Access::Direct).unwrap().lock().unwrap();
    disk.snapshot().open(path, Access::Direct).unwrap().lock().unwrap();
}

#[test]
fn what_is_made_durable_in_a_deleted_file_is_an_error() {
    let disk = SimDisk::new(1);
    disk.create_directories(Path::new("/data")).unwrap();
    let path = Path::new("/data/f");
    let deleted = disk.create(path, Access::Direct).unwrap();
    deleted.write_durable_at(0, &[1; 512]).unwrap();
    disk.delete(path).unwrap();
    let other = disk.create(path, Access::Direct).unwrap();
    assert_eq!(
        deleted.write_durable_at(0, &[2; 512]).unwrap_err().kind,
        DiskErrorKind::Deleted
    );
    deleted.write_at(0, &[3; 512]).unwrap();
    assert_eq!(deleted.sync().unwrap_err().kind, DiskErrorKind::Deleted);
    other.write_durable_at(0, &[4; 512]).unwrap();
}

#[test]
fn a_folder_moves_with_what_is_in_it_and_open_files_stay_open() {
    let disk = SimDisk::new(1);
    disk.create_directories(Path::new("/data/sub")).unwrap();
    let file = disk.create(Path::new("/data/sub/f"), Access::Direct).unwrap();
    disk.move_directory(Path::new("/data"), Path::new("/moved")).unwrap();
    file.write_durable_at(0, &[7; 512]).unwrap();
    assert_eq!(disk.look(Path::new("/data/sub/f")).unwrap(), None);
    assert!(disk.list(Path::new("/data")).is_err());
    let found = disk.open(Path::new("/moved/sub/f"), Access::Direct).unwrap();
    assert_eq!(found.identity().unwrap(), file.identity().unwrap());
    assert_eq!(found.len().unwrap(), 512);
}
