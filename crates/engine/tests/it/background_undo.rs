//! Users, DROP, RESTORE ... REPLACE, SHUTDOWN, backups, SHRINKFILE and power cuts against a database whose recovery still
//! undoes transactions from before the crash.
//!
//! The test pauses undo between two changes, through the cancellation check after each of them, and lets it continue later.
#![allow(clippy::unwrap_used)]

use crate::support;

use disk::sim::{CutPolicy, FaultError, OperationKind, Repetition, SimDisk};
use engine::backup::{AfterRestore, BackupKind, BackupRequest, RestoreKind, RestoreRequest};
use engine::database::Database;
use engine::error::Error;
use engine::instance::Instance;
use engine::log::LogPolicy;
use engine::session::{Session, Table};
use engine::store::{Placement, ReadMode};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::time::Duration;
use support::small::*;
use support::*;

const MEDIA: &str = "c:\\vlf.bak";
/// Rows committed before the crash, numbered from 1.
const ROWS: i32 = 120;
/// Of these, so many were changed by each of two transactions that the crash ended.
const CHANGED: i32 = 40;

fn committed() -> Vec<(i32, i32)> {
    (1..=ROWS).map(|a| (a, 10 * a)).collect()
}

fn backup(instance: &Instance, session: &Session, kind: BackupKind) {
    let request = BackupRequest {
        kind,
        path: MEDIA.into(),
        user: "sa".into(),
        ..BackupRequest::default()
    };
    instance.backup("vlf", &request, session, &mut |_| Ok(())).unwrap();
}

fn restore(
    instance: &Instance,
    session: &Session,
    name: &str,
    file: u32,
    after: AfterRestore,
) -> Result<(), Vec<Error>> {
    let request = RestoreRequest {
        kind: RestoreKind::Database,
        path: Some(MEDIA.into()),
        file,
        after,
        replace: true,
        moves: vec![
            ("vlf".into(), format!("c:\\{name}.mdf")),
            ("vlf_log".into(), format!("c:\\{name}_log.ldf")),
        ],
        ..RestoreRequest::default()
    };
    instance.restore(name, &request, session, &mut |_| Ok(())).map(|_| ())
}

/// A database with a full backup, committed rows, and two transactions under way that changed every other one of many of them.
fn crashed(is_clustered: bool) -> SimDisk {
    let disk = SimDisk::new(5);
    let instance = start(&disk, LogPolicy::native());
    let database = instance.create_database(&statement("vlf", 1 << 20, 64 << 20)).unwrap();
    let mut session = instance.open_session().unwrap();
    let object = session.create_table(&database, small_rows(is_clustered, true)).unwrap();
    session.commit().unwrap();
    let table = Table::open(&database, &object).unwrap();
    for (a, c) in committed() {
        table.insert(&mut session, &pair(a, c), Placement::Anywhere).unwrap();
    }
    session.commit().unwrap();
    backup(&instance, &instance.open_session().unwrap(), BackupKind::Database);
    let mut other = instance.open_session().unwrap();
    session.begin();
    other.begin();
    for number in 1..=CHANGED {
        assert!(set(&table, &mut session, 2 * number, -1).unwrap());
        assert!(set(&table, &mut other, 2 * number + 1, -2).unwrap());
        let new = pair(1_000 + number, -1);
        table.insert(&mut session, &new, Placement::Anywhere).unwrap();
    }
    database.indirect_checkpoint(100).unwrap();
    assert!(set(&table, &mut other, 1, -2).unwrap());
    database.storage.log.flush_to(database.storage.log.end()).unwrap();
    power_cut(&disk, (other, session, instance))
}

/// The power goes now.
fn power_cut<T>(disk: &SimDisk, running: T) -> SimDisk {
    disk.power_cut_at(disk.operation_count() + 1);
    std::mem::forget(running);
    disk.after_power_cut(CutPolicy::AllKept, 9)
}

fn open(disk: &SimDisk) -> (Arc<Instance>, Arc<Database>, Table) {
    let instance = Instance::open(options(LogPolicy::native()), environment(disk)).unwrap();
    let database = instance.database("vlf").unwrap();
    let table = open_table(&database, "t");
    (instance, database, table)
}

/// Undoes so many changes and stops. False when that was all.
fn undo_some(database: &Database, changes: u32) -> bool {
    let left = Cell::new(changes);
    let goes_on = || {
        left.set(left.get().saturating_sub(1));
        left.get() > 0
    };
    !database.finish_recovery(&goes_on).unwrap()
}

/// Undo on a thread of its own: it does some changes, waits while `meanwhile` works, then goes on to its end. What has to wait for
/// that end goes into the thread that `meanwhile` answers with.
fn during_undo<'s, T: Send + 's>(
    database: &Arc<Database>,
    scope: &'s std::thread::Scope<'s, '_>,
    meanwhile: impl FnOnce() -> std::thread::ScopedJoinHandle<'s, T>,
) -> T {
    let ((reached, is_there), (go_on, may_go_on)) = (channel(), channel());
    let undoing = database.clone();
    let undo = scope.spawn(move || {
        let asked = Cell::new(0);
        undoing.finish_recovery(&|| {
            asked.set(asked.get() + 1);
            if asked.get() == 20 {
                reached.send(()).unwrap();
                let () = may_go_on.recv().unwrap();
            }
            true
        })
    });
    is_there.recv_timeout(Duration::from_secs(60)).unwrap();
    assert!(database.is_recovering());
    let waiting = meanwhile();
    go_on.send(()).unwrap();
    assert!(undo.join().unwrap().unwrap());
    waiting.join().unwrap()
}

fn assert_recovered(instance: &Instance, name: &str) {
    let database = instance.database(name).unwrap();
    assert!(!database.is_recovering());
    let session = instance.open_session().unwrap();
    let found = content(&open_table(&database, "t"), session.locks(), ReadMode::Committed).unwrap();
    assert_eq!(found, committed());
    assert!(database.check().unwrap().is_empty());
}

/// DROP DATABASE waits for undo, or ends it when nobody is at it; nothing of the database is left.
#[test]
fn a_database_is_dropped_during_undo() {
    for is_clustered in [false, true] {
        let disk = crashed(is_clustered);
        for is_at_work in [true, false] {
            let disk = disk.after_power_cut(CutPolicy::AllKept, 1);
            let (instance, database, table) = open(&disk);
            drop(table);
            let session = instance.open_session().unwrap();
            if is_at_work {
                std::thread::scope(|scope| {
                    let dropping = || scope.spawn(|| instance.drop_database("vlf", &session));
                    during_undo(&database, scope, dropping).unwrap();
                });
            } else {
                assert!(undo_some(&database, 20));
                instance.drop_database("vlf", &session).unwrap();
            }
            assert_eq!(instance.database("vlf").err().unwrap().number, 911);
            for name in ["c:\\vlf.mdf", "c:\\vlf_log.ldf"] {
                let path = instance.resolve(name).unwrap();
                assert_eq!(disk::Disk::len(&disk, &path).unwrap(), None, "{name}");
            }
            drop(database);
            instance.create_database(&statement("vlf", 1 << 20, 64 << 20)).unwrap();
            assert!(instance.database("vlf").unwrap().check().unwrap().is_empty());
            instance.finish_recoveries().unwrap();
        }
    }
}

/// A session in the database keeps it from being dropped, whatever undo does.
#[test]
fn a_database_in_use_is_not_dropped_during_undo() {
    let (instance, database, _) = open(&crashed(true));
    let session = instance.open_session().unwrap();
    let mut user = instance.open_session().unwrap();
    user.use_database(&database).unwrap();
    assert!(undo_some(&database, 20));
    assert_eq!(instance.drop_database("vlf", &session).unwrap_err().number, 3702);
    assert_recovered(&instance, "vlf");
}

/// RESTORE ... REPLACE waits for undo, then replaces.
#[test]
fn a_database_is_replaced_during_undo() {
    for is_at_work in [true, false] {
        let disk = crashed(true);
        let (instance, database, table) = open(&disk);
        drop(table);
        let session = instance.open_session().unwrap();
        let replace = || restore(&instance, &session, "vlf", 1, AfterRestore::Recovery);
        if is_at_work {
            std::thread::scope(|scope| during_undo(&database, scope, || scope.spawn(replace))).unwrap();
        } else {
            assert!(undo_some(&database, 20));
            replace().unwrap();
        }
        drop(database);
        assert_recovered(&instance, "vlf");
        instance.finish_recoveries().unwrap();
        drop((session, instance));
        let instance = start(&disk, LogPolicy::native());
        assert_recovered(&instance, "vlf");
    }
}

/// Undo is broken off again and again, by SHUTDOWN, by SHUTDOWN WITH NOWAIT and by power cuts, each time a little later; users work
/// in between. In the end everything is undone, once.
#[test]
fn undo_that_is_broken_off_goes_on_at_the_next_start() {
    for is_clustered in [false, true] {
        let mut disk = crashed(is_clustered);
        let mut broken_off = 0;
        let mut expected = committed();
        for round in 0.. {
            let (instance, database, table) = open(&disk);
            if !undo_some(&database, 5 + round) {
                assert_eq!(database.transactions.snapshot().len(), 0);
                break;
            }
            broken_off += 1;
            let unfinished = database.transactions.snapshot().len();
            assert!(unfinished > 0);
            // Row 100 is not locked: users change it as usual.
            let mut session = instance.open_session().unwrap();
            session.locks().set_timeout_ms(0);
            assert!(set(&table, &mut session, 100, round as i32).unwrap());
            session.commit().unwrap();
            expected[99].1 = round as i32;
            // Each transaction keeps all of its locks until all of it is undone.
            let locked = [1, 2].map(|row| set(&table, &mut session, row, 7).is_err_and(|error| error.number == 1222));
            session.roll_back().unwrap();
            assert_eq!(
                locked.iter().filter(|locked| **locked).count(),
                unfinished,
                "round {round}"
            );
            match round % 4 {
                0 => {
                    drop(session);
                    instance.shutdown(false).unwrap();
                    drop((table, database, instance));
                    disk = disk.after_power_cut(CutPolicy::AllLost, 3);
                }
                1 => {
                    instance.shutdown(true).unwrap();
                    drop((session, table, database, instance));
                }
                2 => disk = power_cut(&disk, (session, table, database, instance)),
                _ => {
                    database.checkpoint().unwrap();
                    disk = power_cut(&disk, (session, table, database, instance));
                }
            }
        }
        assert!(broken_off > 4, "{broken_off}");
        let instance = start(&disk, LogPolicy::native());
        let database = instance.database("vlf").unwrap();
        let session = instance.open_session().unwrap();
        let found = content(&open_table(&database, "t"), session.locks(), ReadMode::Committed).unwrap();
        assert_eq!(found, expected);
        assert!(database.check().unwrap().is_empty());
    }
}

/// Log and full backups made in the midst of undo: databases restored from them are what was committed, with and without the log of
/// the rest of undo.
#[test]
fn backups_are_made_during_undo() {
    let (instance, database, _) = open(&crashed(true));
    let session = instance.open_session().unwrap();
    assert!(undo_some(&database, 20));
    backup(&instance, &session, BackupKind::Log);
    database.checkpoint().unwrap();
    assert!(undo_some(&database, 20));
    backup(&instance, &session, BackupKind::Database);
    backup(&instance, &session, BackupKind::Log);
    assert!(database.is_recovering());
    std::thread::scope(|scope| {
        during_undo(&database, scope, || {
            backup(&instance, &session, BackupKind::Log);
            scope.spawn(|| ())
        });
    });
    assert_recovered(&instance, "vlf");
    backup(&instance, &session, BackupKind::Log);
    // Sets: 1 full, 2 log, 3 full, 4 log, 5 log, 6 log after the end of undo.
    for (full, logs) in [
        (1, &[][..]),
        (1, &[2]),
        (1, &[2, 4]),
        (1, &[2, 4, 5]),
        (1, &[2, 4, 5, 6]),
        (3, &[]),
        (3, &[4, 5]),
        (3, &[4, 5, 6]),
    ] {
        restore(&instance, &session, "copy", full, AfterRestore::NoRecovery).unwrap();
        for log in logs {
            let outcome = restore(&instance, &session, "copy", *log, AfterRestore::NoRecovery);
            let numbers = outcome.map_err(|errors| errors.iter().map(|error| error.number).collect::<Vec<_>>());
            // A log backup that ends where the full one ends has nothing to add.
            assert!(
                numbers.is_ok() || numbers == Err(vec![4326, 3013]) && full == 3 && *log == 4,
                "{numbers:?}"
            );
        }
        let recover = RestoreRequest::default();
        instance.restore("copy", &recover, &session, &mut |_| Ok(())).unwrap();
        assert_recovered(&instance, "copy");
    }
}

/// DBCC SHRINKFILE cuts free VLFs off while undo works; what undo needs stays, and after a crash everything is found.
#[test]
fn the_log_is_shrunk_during_undo() {
    let base = crashed(false);
    let (instance, database, _) = open(&base);
    database.storage.log.grow_file(2, 8 << 20).unwrap();
    drop(database);
    let disk = power_cut(&base, instance);
    for has_crashed in [false, true] {
        let disk = disk.after_power_cut(CutPolicy::AllKept, 1);
        let (instance, database, table) = open(&disk);
        let before: u64 = database.storage.log.files().iter().map(|file| file.bytes).sum();
        let shrink = || {
            database.checkpoint().unwrap();
            database.storage.log.shrink_file(2, 0).unwrap().bytes
        };
        assert!(undo_some(&database, 20));
        let between = shrink();
        assert!(between < before, "{between} of {before}");
        if has_crashed {
            drop(table);
            let disk = power_cut(&disk, (database, instance));
            let instance = start(&disk, LogPolicy::native());
            assert_recovered(&instance, "vlf");
            continue;
        }
        std::thread::scope(|scope| {
            during_undo(&database, scope, || {
                assert!(shrink() <= between);
                scope.spawn(|| ())
            });
        });
        assert_recovered(&instance, "vlf");
        shrink();
        drop((table, database));
        let disk = power_cut(&disk, instance);
        let instance = start(&disk, LogPolicy::native());
        assert_recovered(&instance, "vlf");
    }
}

/// A session that waits for a lock of a transaction being undone can be cancelled, and can wait until it gets it.
#[test]
fn users_wait_for_undo_and_are_cancelled() {
    let (instance, database, table) = open(&crashed(true));
    let mut cancelled = instance.open_session().unwrap();
    let mut patient = instance.open_session().unwrap();
    let flag = cancelled.cancel_flag();
    let table = &table;
    std::thread::scope(|scope| {
        let got = during_undo(&database, scope, || {
            let waiting = scope.spawn(move || {
                let outcome = set(table, &mut cancelled, 2, 7);
                cancelled.roll_back().unwrap();
                (outcome, cancelled)
            });
            let patient = scope.spawn(move || {
                let read = content(table, patient.locks(), ReadMode::Committed);
                let changed = set(table, &mut patient, 3, 7);
                patient.roll_back().unwrap();
                (read, changed)
            });
            flag.store(true, Ordering::Relaxed);
            let (outcome, mut cancelled) = waiting.join().unwrap();
            assert_eq!(outcome.unwrap_err().number, 3617);
            assert!(database.is_recovering(), "undo has not moved on meanwhile");
            flag.store(false, Ordering::Relaxed);
            cancelled.locks().set_timeout_ms(0);
            assert_eq!(set(table, &mut cancelled, 2, 7).unwrap_err().number, 1222);
            cancelled.roll_back().unwrap();
            assert!(!patient.is_finished());
            patient
        });
        assert_eq!(got.0.unwrap(), committed());
        assert!(got.1.unwrap(), "the row is free once its transaction is undone");
    });
    assert_recovered(&instance, "vlf");
}

/// Undo at a restart cannot read a page. The database is SUSPECT, and a session that waits for a row that is not undone gets 9001; it waited
/// without end.
#[test]
fn users_do_not_wait_for_undo_that_has_failed() {
    let disk = crashed(true);
    let (instance, database, table) = open(&disk);
    let mut waiting = instance.open_session().unwrap();
    std::thread::scope(|scope| {
        let outcome = scope.spawn(|| {
            let outcome = set(&table, &mut waiting, 2, 7);
            (outcome, waiting.roll_back())
        });
        while instance.locks.rows().iter().all(|row| row.granted) {
            std::thread::yield_now();
        }
        database.checkpoint().unwrap();
        instance.pool.drop_clean();
        disk.fail_next(OperationKind::Read, "vlf.mdf", 1, FaultError::Io, Repetition::Forever);
        instance.finish_recoveries().unwrap();
        assert!(disk.fault_count() > 0);
        let (outcome, rolled_back) = outcome.join().unwrap();
        assert_eq!(outcome.unwrap_err().number, 9001);
        assert_eq!(rolled_back.unwrap_err().number, 9001, "the log is closed");
    });
    assert!(!database.storage.log.is_broken());
    let slot = instance
        .slots()
        .into_iter()
        .find(|slot| slot.entry().name == "vlf")
        .unwrap();
    assert_eq!(slot.state().number_and_name().1, "SUSPECT");
}
