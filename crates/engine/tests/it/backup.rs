//! Backup and restore of whole databases on a simulated disk, with power cuts, damaged and cut files, and full disks.
//!
//! Depth: 35 moments of two chains; deep: 1,000 and 400.
#![allow(clippy::unwrap_used)]

use crate::support;

use disk::sim::CutPolicy;
use disk::sim::SimDisk;
use engine::backup::{
    AfterRestore, BackupEvent, BackupKind, BackupRequest, LogTail, RestoreKind, RestoreRequest, StopPoint,
};
use engine::error::Error;
use engine::instance::Instance;
use engine::log::LogPolicy;
use engine::recovery::RecoveryModel;
use engine::seams::DateTimeTicks;
use engine::session::Session;
use std::path::Path;
use std::sync::Arc;
use support::*;

const MEDIA: &str = "c:\\vlf.bak";

fn request(kind: BackupKind) -> BackupRequest {
    BackupRequest {
        kind,
        path: MEDIA.into(),
        user: "sa".into(),
        ..BackupRequest::default()
    }
}

fn backup(instance: &Instance, session: &Session, request: &BackupRequest) -> Result<Vec<String>, Vec<i32>> {
    let mut lines = Vec::new();
    let done = instance.backup("vlf", request, session, &mut |event| {
        if let BackupEvent::Message(message) = event {
            lines.push(message.message);
        }
        Ok(())
    });
    done.map(|_| lines).map_err(|errors| numbers(&errors))
}

fn restore_request(kind: RestoreKind, file: u32, after: AfterRestore) -> RestoreRequest {
    RestoreRequest {
        kind,
        path: Some(MEDIA.into()),
        file,
        after,
        ..RestoreRequest::default()
    }
}

fn restore(instance: &Instance, session: &Session, name: &str, request: &RestoreRequest) -> Result<(), Vec<i32>> {
    let restored = instance.restore(name, request, session, &mut |_| Ok(()));
    restored.map(|_| ()).map_err(|errors| numbers(&errors))
}

fn moved(mut request: RestoreRequest, name: &str) -> RestoreRequest {
    request.moves = vec![
        ("vlf".into(), format!("c:\\{name}.mdf")),
        ("vlf_log".into(), format!("c:\\{name}.ldf")),
    ];
    request
}

fn content(instance: &Instance, name: &str) -> Vec<(i32, i32)> {
    let database = instance.database(name).unwrap();
    let session = instance.open_session().unwrap();
    assert!(database.check().unwrap().is_empty(), "{:?}", database.check().unwrap());
    let mut found = rows(&session, &open_table(&database, "t"));
    found.sort_unstable();
    found
}

/// States of the table after each commit, with the time from which each is the newest.
struct History {
    states: Vec<(DateTimeTicks, Vec<(i32, i32)>)>,
    full_end: DateTimeTicks,
}

impl History {
    fn at(&self, time: DateTimeTicks) -> &[(i32, i32)] {
        let newest = self.states.iter().rev().find(|(since, _)| *since <= time);
        &newest.unwrap().1
    }
}

/// A full backup and `logs` log backups, with commits, rollbacks and a long transaction over all of it.
fn build_chain(instance: &Arc<Instance>, clock: &engine::seams::ManualClock, logs: u32) -> History {
    let database = instance.create_database(&statement("vlf", 1 << 20, 512 << 20)).unwrap();
    let mut session = instance.open_session().unwrap();
    let control = instance.open_session().unwrap();
    let table = create_table(&mut session, &database, "t");
    insert(&mut session, &table, 1, 0);
    session.commit().unwrap();
    let mut history = History {
        states: Vec::new(),
        full_end: DateTimeTicks::default(),
    };
    let mut state = vec![(1, 0)];
    let mut note = |state: &[(i32, i32)]| {
        history.states.push((instance.env.clock.wall_ticks(), state.to_vec()));
        clock.advance(20_000);
    };
    note(&state);
    let mut other = instance.open_session().unwrap();
    let lost = create_table(&mut other, &database, "never_committed");
    insert(&mut other, &lost, 7, 7);
    backup(instance, &control, &request(BackupKind::Database)).unwrap();
    let full_end = instance.env.clock.wall_ticks();
    clock.advance(50_000);
    let mut round = 0;
    for log in 0..logs {
        for _ in 0..12 {
            round += 1;
            clock.advance(30_000);
            if round % 6 == 0 {
                insert(&mut session, &table, round, round);
                state.push((round, round));
            }
            update(&mut session, &table, if round % 2 == 0 { "a" } else { "b" }, round).unwrap();
            if round % 5 == 3 {
                session.roll_back().unwrap();
                state.retain(|row| row.0 != round);
                continue;
            }
            state.iter_mut().for_each(|row| row.1 = round);
            clock.advance(10_000);
            session.commit().unwrap();
            note(&state);
        }
        if log % 2 == 0 {
            database.checkpoint().unwrap();
        }
        clock.advance(10_000);
        backup(instance, &control, &request(BackupKind::Log)).unwrap();
        clock.advance(10_000);
    }
    drop(other);
    history.full_end = full_end;
    history
}

fn clocked(disk: &SimDisk, policy: LogPolicy) -> (Arc<Instance>, Arc<engine::seams::ManualClock>) {
    let clock = Arc::new(engine::seams::ManualClock::starting_at(1_700_000_000_000_000));
    let mut env = environment(disk);
    env.clock = clock.clone();
    (Instance::start(options(policy), env).unwrap(), clock)
}

fn numbers(errors: &[Error]) -> Vec<i32> {
    errors.iter().map(|error| error.number).collect()
}

#[test]
fn backups_tell_what_sql_server_tells_and_move_the_chain_on() {
    for policy in [LogPolicy::classic(), LogPolicy::native()] {
        let disk = SimDisk::new(3);
        let instance = start(&disk, policy);
        let database = instance.create_database(&statement("vlf", 1 << 20, 64 << 20)).unwrap();
        let mut session = instance.open_session().unwrap();
        let control = instance.open_session().unwrap();
        let table = create_table(&mut session, &database, "t");
        insert(&mut session, &table, 1, 0);
        session.commit().unwrap();
        assert_eq!(
            backup(&instance, &control, &request(BackupKind::Log)),
            Err(vec![4214, 3013])
        );
        let with_stats = BackupRequest {
            stats_percent: Some(10),
            ..request(BackupKind::Database)
        };
        let lines = backup(&instance, &control, &with_stats).unwrap();
        let stats = |line: &&String| line.ends_with("percent processed.");
        assert_eq!(lines.iter().rfind(stats).unwrap(), "100 percent processed.");
        let told: Vec<&str> = lines.iter().filter(|line| !stats(line)).map(String::as_str).collect();
        assert!(
            told[0].starts_with("Processed ") && told[0].ends_with(" pages for database 'vlf', file 'vlf' on file 1.")
        );
        assert!(
            told[1].ends_with(" pages for database 'vlf', file 'vlf_log' on file 1."),
            "{told:?}"
        );
        assert!(
            told[2].starts_with("BACKUP DATABASE successfully processed "),
            "{told:?}"
        );
        for round in 0..60 {
            update(&mut session, &table, if round % 2 == 0 { "a" } else { "b" }, round).unwrap();
            session.commit().unwrap();
        }
        database.checkpoint().unwrap();
        let active = database.storage.log.space().active_vlfs;
        assert_eq!(database.reuse_wait().name(), "LOG_BACKUP");
        backup(&instance, &control, &request(BackupKind::Log)).unwrap();
        assert!(database.storage.log.space().active_vlfs < active);
        let sets = instance.backup_headers(&[MEDIA.to_owned()]).unwrap();
        assert_eq!(
            sets.iter()
                .map(|set| (set.position, set.kind.number()))
                .collect::<Vec<_>>(),
            [(1, 1), (2, 2)]
        );
        assert_eq!(sets[1].first_lsn, sets[0].last_lsn);
        assert_eq!(sets[1].database_backup_lsn, sets[0].checkpoint_lsn);
        for file in [1, 2] {
            instance
                .verify_backup(&[MEDIA.to_owned()], Some(file), &mut |_| Ok(()))
                .unwrap();
        }
        database.set_recovery_model(RecoveryModel::Simple).unwrap();
        assert_eq!(
            backup(&instance, &control, &request(BackupKind::Log)),
            Err(vec![4208, 3013])
        );
    }
}

/// NUL counts as a backup and is none: the chain starts and moves on, log is freed, no file appears, and the log backup that
/// follows does not fit on the set from before.
#[test]
fn backups_to_the_null_device_count_and_leave_nothing() {
    let disk = SimDisk::new(3);
    let instance = start(&disk, LogPolicy::native());
    let database = instance.create_database(&statement("vlf", 1 << 20, 64 << 20)).unwrap();
    let mut session = instance.open_session().unwrap();
    let control = instance.open_session().unwrap();
    let table = create_table(&mut session, &database, "t");
    insert(&mut session, &table, 1, 0);
    session.commit().unwrap();
    let nowhere = |kind, device: &str| BackupRequest {
        path: device.into(),
        ..request(kind)
    };
    backup(&instance, &control, &nowhere(BackupKind::Database, "Nul:")).unwrap();
    assert_ne!(database.boot().log_backup_start, vlf::Lsn::ZERO, "the chain has begun");
    backup(&instance, &control, &request(BackupKind::Database)).unwrap();
    let files = || disk::Disk::list(&disk, Path::new("/instance")).unwrap();
    let before = files();
    for device in ["NUL", "nul", " nul: "] {
        for round in 0..60 {
            update(&mut session, &table, if round % 2 == 0 { "a" } else { "b" }, round).unwrap();
            session.commit().unwrap();
        }
        database.checkpoint().unwrap();
        let active = database.storage.log.space().active_vlfs;
        let operations = disk.operation_count();
        let lines = backup(&instance, &control, &nowhere(BackupKind::Log, device)).unwrap();
        assert!(lines[0].ends_with(" on file 1."), "{lines:?}");
        assert!(
            database.storage.log.space().active_vlfs < active,
            "log counts as backed up"
        );
        assert!(
            disk.operation_count() - operations < 20,
            "only the boot record is written"
        );
    }
    assert_eq!(files(), before);
    backup(&instance, &control, &request(BackupKind::Log)).unwrap();
    let full = moved(
        restore_request(RestoreKind::Database, 1, AfterRestore::NoRecovery),
        "copy",
    );
    restore(&instance, &control, "copy", &full).unwrap();
    let log = restore_request(RestoreKind::Log, 2, AfterRestore::Recovery);
    assert_eq!(restore(&instance, &control, "copy", &log), Err(vec![4305, 3013]));
    assert_eq!(
        numbers(&instance.backup_headers(&["nul".to_owned()]).unwrap_err()),
        [3254, 3013]
    );
}

#[test]
fn a_chain_comes_back_whole_and_goes_on() {
    for policy in [LogPolicy::classic(), LogPolicy::native()] {
        let disk = SimDisk::new(5);
        let (instance, clock) = clocked(&disk, policy);
        let history = build_chain(&instance, &clock, 6);
        let session = instance.open_session().unwrap();
        let source = instance.database("vlf").unwrap();
        let full = moved(
            restore_request(RestoreKind::Database, 1, AfterRestore::NoRecovery),
            "copy",
        );
        restore(&instance, &session, "copy", &full).unwrap();
        assert_eq!(instance.database("copy").err().unwrap().number, 927);
        for file in 2..=7 {
            let after = if file == 7 {
                AfterRestore::Recovery
            } else {
                AfterRestore::NoRecovery
            };
            restore(
                &instance,
                &session,
                "copy",
                &restore_request(RestoreKind::Log, file, after),
            )
            .unwrap();
        }
        assert_eq!(content(&instance, "copy"), history.states.last().unwrap().1);
        let copy = instance.database("copy").unwrap();
        assert!(copy.catalog.find("dbo", "never_committed", 0).is_none());
        assert_eq!(copy.storage.log.vlfs().len(), source.storage.log.vlfs().len());
        let mut writer = instance.open_session().unwrap();
        let table = open_table(&copy, "t");
        for round in 1..80 {
            update(&mut writer, &table, "q", 1_000 + round).unwrap();
            writer.commit().unwrap();
        }
        let copy_log = BackupRequest {
            path: "c:\\copy.bak".into(),
            ..request(BackupKind::Log)
        };
        instance.backup("copy", &copy_log, &session, &mut |_| Ok(())).unwrap();
        assert!(content(&instance, "copy").iter().all(|row| row.1 == 1_079));
        assert_eq!(content(&instance, "vlf"), history.states.last().unwrap().1);
    }
}

/// Restores to `times` moments chosen over a chain of `logs` log backups; each state must be the recorded one.
fn restore_to_moments(policy: LogPolicy, logs: u32, times: u64, seed: u64) {
    let disk = SimDisk::new(seed);
    let (instance, clock) = clocked(&disk, policy);
    let history = build_chain(&instance, &clock, logs);
    let session = instance.open_session().unwrap();
    let sets = instance.backup_headers(&[MEDIA.to_owned()]).unwrap();
    let (first, last) = (
        history.full_end.unix_micros() + 20_000,
        sets.last().unwrap().log_end.unix_micros(),
    );
    let mut random = seed;
    for _ in 0..times {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let time = DateTimeTicks::from_unix_micros(first + (random >> 20) % (last - first));
        let mut full = moved(
            restore_request(RestoreKind::Database, 1, AfterRestore::NoRecovery),
            "copy",
        );
        full.replace = true;
        restore(&instance, &session, "copy", &full).unwrap();
        for set in &sets[1..] {
            let mut log = restore_request(RestoreKind::Log, set.position, AfterRestore::Recovery);
            log.stop_at = Some(StopPoint::Time(time));
            restore(&instance, &session, "copy", &log).unwrap();
            if instance.database("copy").is_ok() {
                break;
            }
        }
        assert_eq!(content(&instance, "copy"), history.at(time), "{}", time.errorlog_text());
    }
}

#[test]
fn any_moment_of_a_chain_can_be_restored() {
    let depth = workbench::depth("moments of chains that are restored", 35, 1_400);
    let of_native = depth.units * 5 / 7;
    restore_to_moments(LogPolicy::native(), 10, of_native, 11);
    restore_to_moments(LogPolicy::classic(), 10, depth.units - of_native, 12);
    depth.count();
}

#[test]
#[ignore = "twenty seconds: a thousand moments over twenty log backups"]
fn any_of_a_thousand_moments_can_be_restored() {
    restore_to_moments(LogPolicy::native(), 20, 1_000, 13);
}

#[test]
fn chains_out_of_order_and_wrong_targets_are_refused() {
    let disk = SimDisk::new(5);
    let (instance, clock) = clocked(&disk, LogPolicy::native());
    build_chain(&instance, &clock, 3);
    let mut session = instance.open_session().unwrap();
    let database = instance.database("vlf").unwrap();
    let full = restore_request(RestoreKind::Database, 1, AfterRestore::NoRecovery);
    let log = |file| restore_request(RestoreKind::Log, file, AfterRestore::NoRecovery);
    assert_eq!(restore(&instance, &session, "none", &log(2)), Err(vec![3118, 3013]));
    assert_eq!(restore(&instance, &session, "vlf", &log(2)), Err(vec![3117, 3013]));
    assert_eq!(restore(&instance, &session, "vlf", &full), Err(vec![3159, 3013]));
    assert_eq!(
        restore(&instance, &session, "new", &full),
        Err(vec![1834, 3156, 3119, 3013])
    );
    let mut unknown = moved(full.clone(), "copy");
    unknown.moves[0].0 = "nothing".into();
    assert_eq!(
        restore(&instance, &session, "copy", &unknown),
        Err(vec![3234, 3119, 3013])
    );
    let mut missing = full.clone();
    missing.path = Some("c:\\missing.bak".into());
    assert_eq!(restore(&instance, &session, "copy", &missing), Err(vec![3201, 3013]));
    assert_eq!(restore(&instance, &session, "copy", &log(9)), Err(vec![3287, 3013]));
    instance
        .create_database(&statement("stranger", 1 << 20, 64 << 20))
        .unwrap();
    let stranger = moved(full.clone(), "copy");
    assert_eq!(
        restore(&instance, &session, "stranger", &stranger),
        Err(vec![3154, 3013])
    );
    session.use_database(&database).unwrap();
    let mut replace = full.clone();
    replace.replace = true;
    assert_eq!(restore(&instance, &session, "vlf", &replace), Err(vec![3102, 3013]));
    let other = instance.open_session().unwrap();
    assert_eq!(restore(&instance, &other, "vlf", &replace), Err(vec![3101, 3013]));
    restore(&instance, &session, "copy", &moved(full, "copy")).unwrap();
    assert_eq!(restore(&instance, &session, "copy", &log(3)), Err(vec![4305, 3013]));
    restore(&instance, &session, "copy", &log(2)).unwrap();
    assert_eq!(restore(&instance, &session, "copy", &log(2)), Err(vec![4326, 3013]));
    restore(&instance, &session, "copy", &log(3)).unwrap();
    restore(&instance, &session, "copy", &log(4)).unwrap();
    let mut recover = log(1);
    recover.path = None;
    recover.after = AfterRestore::Recovery;
    restore(&instance, &session, "copy", &recover).unwrap();
    assert_eq!(content(&instance, "copy"), content(&instance, "vlf"));
}

#[test]
fn the_tail_of_the_log_carries_the_last_commit_over_a_replaced_database() {
    let disk = SimDisk::new(5);
    let (instance, clock) = clocked(&disk, LogPolicy::native());
    let history = build_chain(&instance, &clock, 2);
    let session = instance.open_session().unwrap();
    let tail = BackupRequest {
        tail: LogTail::NoRecovery,
        ..request(BackupKind::Log)
    };
    backup(&instance, &session, &tail).unwrap();
    assert_eq!(instance.database("vlf").err().unwrap().number, 927);
    restore(
        &instance,
        &session,
        "vlf",
        &restore_request(RestoreKind::Database, 1, AfterRestore::NoRecovery),
    )
    .unwrap();
    for file in 2..=4 {
        let after = if file == 4 {
            AfterRestore::Recovery
        } else {
            AfterRestore::NoRecovery
        };
        restore(
            &instance,
            &session,
            "vlf",
            &restore_request(RestoreKind::Log, file, after),
        )
        .unwrap();
    }
    assert_eq!(content(&instance, "vlf"), history.states.last().unwrap().1);
}

fn small_backup(compression: bool) -> (SimDisk, Arc<Instance>, Session) {
    let disk = SimDisk::new(9);
    let instance = start(&disk, LogPolicy::native());
    let database = instance.create_database(&statement("vlf", 1 << 20, 64 << 20)).unwrap();
    let mut session = instance.open_session().unwrap();
    let table = create_table(&mut session, &database, "t");
    insert(&mut session, &table, 1, 5);
    session.commit().unwrap();
    let full = BackupRequest {
        compression,
        ..request(BackupKind::Database)
    };
    backup(&instance, &session, &full).unwrap();
    (disk, instance, session)
}

#[test]
fn every_damaged_byte_of_a_backup_is_noticed() {
    let (disk, instance, _session) = small_backup(true);
    let path = Path::new("/instance/c/vlf.bak");
    let bytes = disk::Disk::len(&disk, path).unwrap().unwrap();
    assert!(bytes < 100_000, "{bytes}");
    for byte in 0..bytes {
        let bit = (byte % 8) as u32;
        disk.flip_bit(path, byte, bit).unwrap();
        let found = instance.verify_backup(&[MEDIA.to_owned()], Some(1), &mut |_| Ok(()));
        let numbers = numbers(&found.expect_err("damage was not noticed"));
        assert!(
            [3241, 3242, 3189, 3287].contains(&numbers[0]),
            "byte {byte}: {numbers:?}"
        );
        disk.flip_bit(path, byte, bit).unwrap();
    }
    instance
        .verify_backup(&[MEDIA.to_owned()], Some(1), &mut |_| Ok(()))
        .unwrap();
}

#[test]
fn a_damaged_backup_replaces_nothing() {
    let (disk, instance, session) = small_backup(false);
    let path = Path::new("/instance/c/vlf.bak");
    let bytes = disk::Disk::len(&disk, path).unwrap().unwrap();
    disk.flip_bit(path, bytes / 2, 3).unwrap();
    let mut replace = restore_request(RestoreKind::Database, 1, AfterRestore::Recovery);
    replace.replace = true;
    assert_eq!(restore(&instance, &session, "vlf", &replace), Err(vec![3189, 3013]));
    assert_eq!(content(&instance, "vlf"), [(1, 5)]);
}

#[test]
fn a_full_disk_fails_the_backup_and_nothing_else() {
    let (disk, instance, session) = small_backup(false);
    let before = instance.backup_headers(&[MEDIA.to_owned()]).unwrap();
    let mut failures = 0;
    for init in [false, true] {
        let full = BackupRequest {
            init,
            ..request(BackupKind::Database)
        };
        for nth in 1.. {
            disk.clear_faults();
            disk.fail_next(
                disk::sim::OperationKind::Write,
                "vlf.bak",
                nth,
                disk::sim::FaultError::NoSpace,
                disk::sim::Repetition::Once,
            );
            let Err(numbers) = backup(&instance, &session, &full) else {
                break;
            };
            assert_eq!(numbers, [3202, 3013]);
            assert_eq!(instance.backup_headers(&[MEDIA.to_owned()]).unwrap()[0], before[0]);
            failures += 1;
        }
    }
    disk.clear_faults();
    assert!(failures >= 3, "{failures}");
    assert_eq!(content(&instance, "vlf"), [(1, 5)]);
    let init = BackupRequest {
        init: true,
        ..request(BackupKind::Database)
    };
    backup(&instance, &session, &init).unwrap();
    instance
        .verify_backup(&[MEDIA.to_owned()], Some(1), &mut |_| Ok(()))
        .unwrap();
}

/// The power goes at every change of the disk while a backup is appended: afterwards the file has the old set, or both.
#[test]
fn a_power_cut_during_a_backup_leaves_whole_sets_only() {
    let (disk, instance, session) = small_backup(false);
    let begin = disk.operation_count();
    let probe = disk.snapshot();
    backup(&instance, &session, &request(BackupKind::Database)).unwrap();
    let end = disk.operation_count();
    drop((session, instance));
    let mut points = 0;
    for cut in begin + 1..=end {
        let disk = probe.snapshot();
        let instance = start(&disk, LogPolicy::native());
        let session = instance.open_session().unwrap();
        disk.power_cut_at(disk.operation_count() + (cut - begin));
        let outcome = backup(&instance, &session, &request(BackupKind::Database));
        std::mem::forget((session, instance));
        let disk = disk.after_power_cut(CutPolicy::RandomSectors, cut);
        let instance = start(&disk, LogPolicy::native());
        let sets = instance.backup_headers(&[MEDIA.to_owned()]).unwrap();
        assert!(sets.len() == 1 || sets.len() == 2, "{}", sets.len());
        assert!(outcome.is_err() || sets.len() == 2);
        for set in &sets {
            instance
                .verify_backup(&[MEDIA.to_owned()], Some(set.position), &mut |_| Ok(()))
                .unwrap();
        }
        assert_eq!(content(&instance, "vlf"), [(1, 5)]);
        let session = instance.open_session().unwrap();
        backup(&instance, &session, &request(BackupKind::Database)).unwrap();
        assert_eq!(
            instance.backup_headers(&[MEDIA.to_owned()]).unwrap().len(),
            sets.len() + 1
        );
        points += 1;
    }
    println!("{points} points");
}

/// After a cut: the database is not there, whole, or in the middle of its restore, which then goes on. Answers its state.
fn finish_cut_restore(instance: &Arc<Instance>, cut: u64, failed: bool) -> Option<(u8, &'static str)> {
    let state = instance
        .slots()
        .into_iter()
        .find(|slot| slot.entry().name == "copy")
        .map(|slot| slot.state().number_and_name());
    match state {
        None => assert!(failed),
        Some((0, _)) => {}
        Some((1, _)) => {
            let session = instance.open_session().unwrap();
            let again = |file, after| {
                restore(
                    instance,
                    &session,
                    "copy",
                    &restore_request(RestoreKind::Log, file, after),
                )
            };
            // What was restored already says so with 4326.
            for file in 2..=3 {
                let outcome = again(file, AfterRestore::NoRecovery);
                assert!(
                    outcome.is_ok() || outcome == Err(vec![4326, 3013]),
                    "cut {cut}: {outcome:?}"
                );
            }
            let mut recover = restore_request(RestoreKind::Database, 1, AfterRestore::Recovery);
            recover.path = None;
            restore(instance, &session, "copy", &recover).unwrap();
        }
        other => panic!(
            "cut {cut}: {other:?} {:#?}",
            instance.env.errorlog.lines().iter().rev().take(8).collect::<Vec<_>>()
        ),
    }
    state
}

/// The power goes at changes of the disk while a chain is restored: afterwards the restore can be begun again.
#[test]
fn a_power_cut_during_a_restore_never_leaves_half_a_database() {
    let disk = SimDisk::new(5);
    let (instance, clock) = clocked(&disk, LogPolicy::native());
    let history = build_chain(&instance, &clock, 2);
    instance.shutdown(false).unwrap();
    drop(instance);
    let chain = |instance: &Arc<Instance>, first: u32| -> Result<(), Vec<i32>> {
        let session = instance.open_session().unwrap();
        let full = moved(
            restore_request(RestoreKind::Database, 1, AfterRestore::NoRecovery),
            "copy",
        );
        if first == 1 {
            restore(instance, &session, "copy", &full)?;
        }
        restore(
            instance,
            &session,
            "copy",
            &restore_request(RestoreKind::Log, 2, AfterRestore::NoRecovery),
        )?;
        restore(
            instance,
            &session,
            "copy",
            &restore_request(RestoreKind::Log, 3, AfterRestore::Recovery),
        )
    };
    let whole = disk.snapshot();
    let (instance, _) = clocked(&whole, LogPolicy::native());
    let begin = whole.operation_count();
    chain(&instance, 1).unwrap();
    let total = whole.operation_count() - begin;
    drop(instance);
    for cut in (1..=total).step_by((total as usize / 60).max(1)) {
        let cut_disk = disk.snapshot();
        let (instance, _) = clocked(&cut_disk, LogPolicy::native());
        cut_disk.power_cut_at(cut_disk.operation_count() + cut);
        let outcome = chain(&instance, 1);
        std::mem::forget(instance);
        let after = cut_disk.after_power_cut(CutPolicy::RandomSectors, cut);
        let (instance, _) = clocked(&after, LogPolicy::native());
        let state = finish_cut_restore(&instance, cut, outcome.is_err());
        if state.is_some() {
            assert_eq!(
                content(&instance, "copy"),
                history.states.last().unwrap().1,
                "cut {cut}"
            );
        }
        assert_eq!(content(&instance, "vlf"), history.states.last().unwrap().1);
    }
}

/// Sessions go on while a full backup runs: the restored database is what was committed when the set's log ended.
#[test]
fn a_full_backup_under_changes_is_the_database_at_its_end() {
    for policy in [LogPolicy::classic(), LogPolicy::native()] {
        let disk = SimDisk::new(21);
        let (instance, clock) = clocked(&disk, policy);
        let database = instance.create_database(&statement("vlf", 1 << 20, 256 << 20)).unwrap();
        let mut session = instance.open_session().unwrap();
        let control = instance.open_session().unwrap();
        let table = create_table(&mut session, &database, "t");
        for number in 1..=400 {
            insert(&mut session, &table, number, 0);
        }
        session.commit().unwrap();
        let mut open = instance.open_session().unwrap();
        let pending = create_table(&mut open, &database, "pending");
        insert(&mut open, &pending, 1, 1);
        let mut states = vec![(instance.env.clock.wall_ticks(), 0)];
        let (mut round, mut events) = (0, 0);
        let full = request(BackupKind::Database);
        let done = instance.backup("vlf", &full, &control, &mut |event| {
            if let BackupEvent::Progress { .. } = event
                && events < 8
            {
                events += 1;
                round += 1;
                clock.advance(10_000);
                let dropped = session.create_table(&database, table_definition("scratch"))?;
                session.commit()?;
                update(&mut session, &table, if round % 2 == 0 { "m" } else { "n" }, round)?;
                session.commit()?;
                states.push((instance.env.clock.wall_ticks(), round));
                session.drop_object(&database, &dropped)?;
                session.commit()?;
                database.checkpoint()?;
                clock.advance(10_000);
            }
            Ok(())
        });
        done.map_err(|errors| numbers(&errors)).unwrap();
        assert!(events >= 5, "{events}");
        let set = &instance.backup_headers(&[MEDIA.to_owned()]).unwrap()[0];
        let expected = states.iter().rev().find(|(time, _)| *time <= set.log_end).unwrap().1;
        assert!(expected >= 2, "{expected}");
        let restored = moved(
            restore_request(RestoreKind::Database, 1, AfterRestore::Recovery),
            "copy",
        );
        restore(&instance, &control, "copy", &restored).unwrap();
        let found = content(&instance, "copy");
        assert_eq!(found.len(), 400);
        assert!(found.iter().all(|row| row.1 == expected), "{expected}: {:?}", found[0]);
        assert!(
            instance
                .database("copy")
                .unwrap()
                .catalog
                .find("dbo", "pending", 0)
                .is_none()
        );
    }
}

fn standby(mut request: RestoreRequest) -> RestoreRequest {
    request.after = AfterRestore::NoRecovery;
    request.standby = Some("c:\\undo.dat".into());
    request
}

/// What is committed after the full backup and so many log backups of [`build_chain`].
fn committed_after(history: &History, logs: usize) -> &[(i32, i32)] {
    let commits = (1..=12 * logs).filter(|round| round % 5 != 3).count();
    &history.states[commits].1
}

fn recover(instance: &Instance, session: &Session, name: &str) -> Result<(), Vec<i32>> {
    let mut request = restore_request(RestoreKind::Database, 1, AfterRestore::Recovery);
    request.path = None;
    restore(instance, session, name, &request)
}

/// Between two sets a standby database shows what is committed by then, and only that, whatever happens to it in between; it
/// takes every following set, and in the end it goes on as a database of its own.
fn read_between_sets(policy: LogPolicy) {
    const LOGS: usize = 5;
    let disk = SimDisk::new(5);
    let (mut instance, clock) = clocked(&disk, policy);
    let history = build_chain(&instance, &clock, LOGS as u32);
    let mut session = instance.open_session().unwrap();
    let log = |file| standby(restore_request(RestoreKind::Log, file, AfterRestore::NoRecovery));
    let full = restore_request(RestoreKind::Database, 1, AfterRestore::NoRecovery);
    let mut own_file = moved(standby(full.clone()), "bad");
    own_file.standby = Some("c:\\vlf.mdf".into());
    assert_eq!(restore(&instance, &session, "bad", &own_file), Err(vec![1834, 3013]));
    restore(&instance, &session, "copy", &moved(standby(full), "copy")).unwrap();
    for logs in 0..=LOGS {
        let read = content(&instance, "copy");
        assert_eq!(read, committed_after(&history, logs), "after {logs} log backups");
        let database = instance.database("copy").unwrap();
        let mut writer = instance.open_session().unwrap();
        let table = open_table(&database, "t");
        assert_eq!(try_insert(&mut writer, &table, -1, 0).unwrap_err().number, 3906);
        database.checkpoint().unwrap();
        // What does not follow leaves the database as it is; so does a reader.
        if logs + 2 <= LOGS {
            let too_early = restore(&instance, &session, "copy", &log(logs as u32 + 3));
            assert_eq!(too_early, Err(vec![4305, 3013]));
        }
        writer.use_database(&database).unwrap();
        let next = log(logs as u32 + 2);
        if logs < LOGS {
            assert_eq!(restore(&instance, &session, "copy", &next), Err(vec![3101, 3013]));
        }
        let refused = instance.backup("copy", &request(BackupKind::Database), &session, &mut |_| Ok(()));
        assert_eq!(numbers(&refused.unwrap_err()), [3036, 3013]);
        drop((writer, table, database));
        assert_eq!(content(&instance, "copy"), read);
        if logs == 2 {
            drop(session);
            instance.shutdown(false).unwrap();
            drop(instance);
            instance = clocked(&disk, policy).0;
            session = instance.open_session().unwrap();
            assert!(instance.database("copy").unwrap().is_standby());
            assert_eq!(content(&instance, "copy"), read, "after a restart");
        }
        if logs < LOGS {
            restore(&instance, &session, "copy", &next).unwrap();
        }
    }
    recover(&instance, &session, "copy").unwrap();
    let database = instance.database("copy").unwrap();
    insert(&mut session, &open_table(&database, "t"), 1_000, 1_000);
    session.commit().unwrap();
    let mut expected = committed_after(&history, LOGS).to_vec();
    expected.push((1_000, 1_000));
    assert_eq!(content(&instance, "copy"), expected);
    let undo_file = instance.resolve("c:\\undo.dat").unwrap();
    assert_eq!(
        instance.env.disk.len(&undo_file).unwrap(),
        None,
        "the undo file is deleted"
    );
}

#[test]
fn a_standby_database_is_read_between_log_restores() {
    for policy in [LogPolicy::native(), LogPolicy::classic()] {
        read_between_sets(policy);
    }
}

/// The power goes while sets are restored WITH STANDBY: the restore goes on from where it was, and nothing is lost or too much.
#[test]
fn a_power_cut_between_standby_and_restoring_loses_nothing() {
    let disk = SimDisk::new(5);
    let (instance, clock) = clocked(&disk, LogPolicy::native());
    let history = build_chain(&instance, &clock, 2);
    let session = instance.open_session().unwrap();
    let full = restore_request(RestoreKind::Database, 1, AfterRestore::NoRecovery);
    restore(&instance, &session, "copy", &moved(standby(full), "copy")).unwrap();
    drop(session);
    instance.shutdown(false).unwrap();
    drop(instance);
    let log = |file| standby(restore_request(RestoreKind::Log, file, AfterRestore::NoRecovery));
    let both = |instance: &Arc<Instance>| -> Result<(), Vec<i32>> {
        let session = instance.open_session().unwrap();
        (2..=3).try_for_each(|file| restore(instance, &session, "copy", &log(file)))
    };
    let whole = disk.snapshot();
    let (instance, _) = clocked(&whole, LogPolicy::native());
    let begin = whole.operation_count();
    both(&instance).unwrap();
    let total = whole.operation_count() - begin;
    drop(instance);
    let (mut points, mut standing_by) = (0, 0);
    for cut in (1..total).step_by((total as usize / 50).max(1)).chain([total]) {
        let cut_disk = disk.snapshot();
        let (instance, _) = clocked(&cut_disk, LogPolicy::native());
        let cut_at = cut_disk.operation_count() + cut;
        cut_disk.power_cut_at(cut_at);
        let outcome = both(&instance);
        std::mem::forget(instance);
        // The very last operation saves the directory of VLFs, which may fail unnoticed: the headers are the truth.
        assert!(outcome.is_err() || cut == total, "cut {cut} is within the work");
        assert!(cut_disk.operation_count() >= cut_at, "the power was cut at {cut}");
        let after = cut_disk.after_power_cut(CutPolicy::RandomSectors, cut);
        let (instance, _) = clocked(&after, LogPolicy::native());
        let session = instance.open_session().unwrap();
        standing_by += u32::from(instance.database("copy").is_ok());
        for file in 2..=3 {
            let outcome = restore(&instance, &session, "copy", &log(file));
            let done = outcome == Err(vec![4326, 3013]);
            assert!(outcome.is_ok() || done, "cut {cut}, file {file}: {outcome:?}");
        }
        recover(&instance, &session, "copy").unwrap();
        assert_eq!(content(&instance, "copy"), committed_after(&history, 2), "cut {cut}");
        points += 1;
    }
    println!("{points} points, {standing_by} of them with the database readable after the cut");
    assert!(
        standing_by > 0 && standing_by < points,
        "both sides of the change were cut"
    );
}

/// A set of the format before recovery forks, or of a later one, is named as that, not taken for damage; so is appending to it.
#[test]
fn sets_of_another_format_are_refused_by_name() {
    [1, 2, 5, 99].into_iter().for_each(a_set_of_format_is_refused_by_name);
}

fn a_set_of_format_is_refused_by_name(format: u32) {
    let disk = SimDisk::new(5);
    let instance = start(&disk, LogPolicy::native());
    instance.create_database(&statement("vlf", 1 << 20, 64 << 20)).unwrap();
    let session = instance.open_session().unwrap();
    backup(&instance, &session, &request(BackupKind::Database)).unwrap();
    let path = instance.resolve(MEDIA).unwrap();
    let file = instance.env.disk.open(&path, disk::Access::Buffered).unwrap();
    let mut header = vec![0; 512];
    file.read_at(4096, &mut header).unwrap();
    header[8..12].copy_from_slice(&format.to_le_bytes());
    let crc = crc32c::crc32c(&header[..508]);
    header[508..].copy_from_slice(&crc.to_le_bytes());
    file.write_at(4096, &header).unwrap();
    drop(file);
    let full = restore_request(RestoreKind::Database, 1, AfterRestore::Recovery);
    assert_eq!(
        restore(&instance, &session, "copy", &moved(full, "copy")),
        Err(vec![3169, 3013])
    );
    assert_eq!(
        numbers(&instance.backup_headers(&[MEDIA.to_owned()]).unwrap_err()),
        [3169, 3013]
    );
    assert_eq!(
        backup(&instance, &session, &request(BackupKind::Log)),
        Err(vec![3169, 3013])
    );
}
