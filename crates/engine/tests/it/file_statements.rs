//! Every statement that makes or removes files, with a power cut at every operation of the disk, and with each operation
//! refused: databases are sound, no file is left over, and the same statement succeeds afterwards. Counts are printed.
//!
//! Depth: one operation in 13, one refusal in 11; deep: every one.
#![allow(clippy::unwrap_used)]

use crate::support;

use disk::sim::{CutPolicy, FaultError, OperationKind, Repetition, SimDisk};
use disk::{Access, Disk};
use engine::backup::{AfterRestore, BackupKind, BackupRequest, RestoreKind, RestoreRequest};
use engine::catalog::{FileEntry, GrowthEntry};
use engine::error::Error;
use engine::instance::{CreateCopy, DatabaseState, Instance, Work};
use engine::log::LogPolicy;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::*;

const MEDIA: &str = "c:\\vlf.bak";
const UNDO: &str = "c:\\undo.dat";

/// A statement on the prepared instance: databases `vlf`, with a second data file and a second log file, and `standby`, which is
/// one; a media file with a full set and a log set.
struct Scenario {
    name: &'static str,
    run: fn(&Arc<Instance>) -> Result<(), Error>,
    /// Whether what it asks for holds.
    is_done: fn(&Arc<Instance>) -> bool,
    /// What is there when it is done, beside or instead of what was there before.
    databases: &'static [&'static str],
    /// Databases that may be RESTORING when it was cut off.
    may_be_restoring: &'static [&'static str],
}

fn first(errors: Vec<Error>) -> Error {
    errors.into_iter().next().unwrap()
}

fn back_up(instance: &Instance, kind: BackupKind, path: &str, change: fn(&mut BackupRequest)) -> Result<(), Error> {
    let mut request = BackupRequest {
        kind,
        path: path.into(),
        user: "sa".into(),
        ..BackupRequest::default()
    };
    change(&mut request);
    let session = instance.open_session()?;
    let done = instance.backup("vlf", &request, &session, &mut |_| Ok(()));
    let id = session.id;
    drop(session);
    instance.close_session(id);
    done.map(|_| ()).map_err(first)
}

fn restore(instance: &Instance, name: &str, change: impl FnOnce(&mut RestoreRequest)) -> Result<(), Error> {
    let mut request = RestoreRequest {
        kind: RestoreKind::Database,
        path: Some(MEDIA.into()),
        file: 1,
        ..RestoreRequest::default()
    };
    for file in ["vlf", "vlf_log", "more", "more_log"] {
        request.moves.push((file.into(), format!("c:\\{name}_{file}")));
    }
    change(&mut request);
    let session = instance.open_session()?;
    let done = instance.restore(name, &request, &session, &mut |_| Ok(()));
    let id = session.id;
    drop(session);
    instance.close_session(id);
    done.map(|_| ()).map_err(first)
}

fn next_log(request: &mut RestoreRequest) {
    request.kind = RestoreKind::Log;
    request.file = 2;
    request.moves.clear();
}

fn file(name: &str, file_id: u16, log: bool) -> FileEntry {
    FileEntry {
        file_id,
        log,
        name: name.into(),
        physical_name: format!("c:\\{name}"),
        max_bytes: None,
        growth: GrowthEntry::Bytes(1 << 20),
        filegroup: 1,
    }
}

fn has_file(instance: &Instance, name: &str) -> bool {
    let entry = instance.database("vlf").unwrap().entry();
    entry.files.iter().any(|file| file.name == name)
}

fn add(instance: &Arc<Instance>, file: FileEntry) -> Result<(), Error> {
    instance.add_file(&instance.alter("vlf", Work::Files)?, file, 1 << 20)
}

fn remove(instance: &Arc<Instance>, name: &str) -> Result<(), Error> {
    instance.remove_file(&instance.alter("vlf", Work::Files)?, name)
}

fn drop_database(instance: &Arc<Instance>, name: &str) -> Result<(), Error> {
    let session = instance.open_session()?;
    let dropped = instance.drop_database(name, &session);
    let id = session.id;
    drop(session);
    instance.close_session(id);
    dropped
}

fn sets(instance: &Instance, path: &str) -> usize {
    instance.backup_headers(&[path.to_owned()]).map_or(0, |sets| sets.len())
}

fn standby_of(instance: &Instance) -> Option<String> {
    instance
        .slots()
        .iter()
        .find(|slot| slot.entry().name == "standby")?
        .entry()
        .standby
}

fn plain(
    name: &'static str,
    run: fn(&Arc<Instance>) -> Result<(), Error>,
    is_done: fn(&Arc<Instance>) -> bool,
) -> Scenario {
    Scenario {
        name,
        run,
        is_done,
        databases: &["vlf", "standby"],
        may_be_restoring: &[],
    }
}

/// An import: a database is made under a name for the time being, and gets its own when it is filled.
fn import(instance: &Arc<Instance>, name: &str, replaces: bool) -> Result<(), Error> {
    let unfinished = format!("{name} (import)");
    if instance.slots().iter().any(|slot| slot.entry().name == unfinished) {
        drop_database(instance, &unfinished)?;
    }
    instance.create_unfinished_database(&statement(&unfinished, 1 << 20, 2 << 20))?;
    let session = instance.open_session()?;
    let published = instance.publish_database(&unfinished, name, replaces, &session);
    let id = session.id;
    drop(session);
    instance.close_session(id);
    published.or_else(|error| drop_database(instance, &unfinished).and(Err(error)))
}

fn scenarios() -> Vec<Scenario> {
    let mut all = scenarios_with_files();
    all.extend(scenarios_of_imports());
    all.extend(scenarios_with_backups());
    all
}

fn scenarios_with_files() -> Vec<Scenario> {
    vec![
        Scenario {
            databases: &["vlf", "standby", "new"],
            ..plain(
                "CREATE DATABASE",
                |instance| {
                    instance
                        .create_database(&statement("new", 1 << 20, 2 << 20))
                        .map(|_| ())
                },
                |instance| instance.database("new").is_ok(),
            )
        },
        Scenario {
            databases: &["vlf", "standby", "copied"],
            ..plain(
                "CREATE DATABASE ... AS COPY OF",
                |instance| {
                    let statement = CreateCopy {
                        name: "copied".into(),
                        source: "vlf".into(),
                        ..CreateCopy::default()
                    };
                    instance.create_copy(&statement).map(|_| ())
                },
                |instance| instance.database("copied").is_ok(),
            )
        },
        Scenario {
            databases: &["standby"],
            ..plain(
                "DROP DATABASE",
                |instance| drop_database(instance, "vlf"),
                |instance| instance.database("vlf").is_err(),
            )
        },
        plain(
            "ADD FILE",
            |instance| add(instance, file("third", 5, false)),
            |instance| has_file(instance, "third"),
        ),
        plain(
            "ADD LOG FILE",
            |instance| add(instance, file("third_log", 5, true)),
            |instance| has_file(instance, "third_log"),
        ),
        plain(
            "REMOVE FILE",
            |instance| remove(instance, "more"),
            |instance| !has_file(instance, "more"),
        ),
        plain(
            "REMOVE FILE of the log",
            |instance| remove(instance, "more_log"),
            |instance| !has_file(instance, "more_log"),
        ),
    ]
}

fn scenarios_of_imports() -> Vec<Scenario> {
    vec![
        Scenario {
            databases: &["vlf", "standby", "imported"],
            ..plain(
                "import of a new database",
                |instance| import(instance, "imported", false),
                |instance| instance.database("imported").is_ok(),
            )
        },
        plain(
            "import over a database",
            |instance| import(instance, "standby", true),
            |instance| standby_of(instance).is_none() && instance.database("standby").is_ok(),
        ),
    ]
}

fn scenarios_with_backups() -> Vec<Scenario> {
    vec![
        plain(
            "BACKUP to a new file",
            |instance| back_up(instance, BackupKind::Database, "c:\\new.bak", |_| {}),
            |instance| sets(instance, "c:\\new.bak") == 1,
        ),
        plain(
            "BACKUP WITH INIT",
            |instance| back_up(instance, BackupKind::Database, MEDIA, |request| request.init = true),
            |instance| sets(instance, MEDIA) == 1,
        ),
        plain(
            "BACKUP WITH FORMAT",
            |instance| back_up(instance, BackupKind::Database, MEDIA, |request| request.format = true),
            |instance| sets(instance, MEDIA) == 1,
        ),
        plain(
            "BACKUP LOG",
            |instance| back_up(instance, BackupKind::Log, MEDIA, |_| {}),
            |instance| sets(instance, MEDIA) == 3,
        ),
        Scenario {
            databases: &["vlf", "standby", "copy"],
            may_be_restoring: &["copy"],
            ..plain(
                "RESTORE of a new database",
                |instance| restore(instance, "copy", |_| {}),
                |instance| instance.database("copy").is_ok(),
            )
        },
        Scenario {
            may_be_restoring: &["vlf"],
            ..plain(
                "RESTORE WITH REPLACE",
                |instance| restore(instance, "vlf", |request| request.replace = true),
                |instance| {
                    let entry = instance.database("vlf").map(|database| database.entry());
                    entry.is_ok_and(|entry| entry.files[0].physical_name == "c:\\vlf_vlf")
                },
            )
        },
        plain(
            "RESTORE WITH STANDBY",
            |instance| {
                let standby = |path: Option<&str>| {
                    restore(instance, "standby", |request| {
                        next_log(request);
                        request.path = path.map(str::to_string);
                        request.after = AfterRestore::NoRecovery;
                        request.standby = Some("c:\\undo2.dat".into());
                    })
                };
                match standby(Some(MEDIA)) {
                    // The set is in already; what is left is to make it readable.
                    Err(error) if error.number == 4326 => standby(None),
                    outcome => outcome,
                }
            },
            |instance| standby_of(instance).is_some_and(|path| path.ends_with("undo2.dat")),
        ),
        plain(
            "RESTORE WITH RECOVERY of a standby database",
            |instance| restore(instance, "standby", |request| request.path = None),
            |instance| standby_of(instance).is_none() && instance.database("standby").is_ok(),
        ),
    ]
}

fn prepared() -> SimDisk {
    let disk = SimDisk::new(5);
    let instance = start(&disk, LogPolicy::native());
    let database = instance.create_database(&statement("vlf", 1 << 20, 2 << 20)).unwrap();
    add(&instance, file("more", 3, false)).unwrap();
    add(&instance, file("more_log", 4, true)).unwrap();
    let mut session = instance.open_session().unwrap();
    let table = create_table(&mut session, &database, "t");
    insert(&mut session, &table, 1, 1);
    session.commit().unwrap();
    back_up(&instance, BackupKind::Database, MEDIA, |_| {}).unwrap();
    insert(&mut session, &table, 2, 2);
    session.commit().unwrap();
    back_up(&instance, BackupKind::Log, MEDIA, |_| {}).unwrap();
    insert(&mut session, &table, 3, 3);
    session.commit().unwrap();
    restore(&instance, "standby", |request| {
        request.after = AfterRestore::NoRecovery;
        request.standby = Some(UNDO.into());
    })
    .unwrap();
    instance.shutdown(false).unwrap();
    disk
}

/// Every file below a folder.
fn files_below(disk: &SimDisk, folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in disk.list(folder).unwrap() {
        match disk.len(&path).unwrap() {
            Some(_) => files.push(path),
            None => files.extend(files_below(disk, &path)),
        }
    }
    files
}

/// Files that neither a database nor the instance nor a backup has.
fn left_over(instance: &Instance, disk: &SimDisk) -> Vec<PathBuf> {
    let mut known: BTreeSet<PathBuf> = ["c:\\vlf.bak", "c:\\new.bak"]
        .iter()
        .map(|name| instance.resolve(name).unwrap())
        .collect();
    for slot in instance.slots() {
        let entry = slot.entry();
        known.extend(entry.standby.map(PathBuf::from));
        for file in &entry.files {
            let path = instance.resolve(&file.physical_name).unwrap();
            let companion = |suffix: &str| PathBuf::from(format!("{}.{suffix}", path.display()));
            known.extend([companion("vlfs"), companion("dwb"), path]);
        }
    }
    let is_own = |path: &PathBuf| path.ends_with(".lock") || path.starts_with("/instance/log");
    let files = files_below(disk, Path::new("/instance"));
    files
        .into_iter()
        .filter(|path| !known.contains(path) && !is_own(path))
        .collect()
}

fn names(instance: &Instance) -> Vec<String> {
    instance
        .slots()
        .iter()
        .map(|slot| slot.entry().name)
        .filter(|name| !is_system(name))
        .collect()
}

fn is_system(name: &str) -> bool {
    ["master", "model", "msdb", "tempdb"].contains(&name)
}

/// What must hold whatever happened: every database usable, sound and with its rows; every file accounted for.
fn check(instance: &Arc<Instance>, disk: &SimDisk, scenario: &Scenario, what: &str) {
    for slot in instance.slots() {
        let name = slot.entry().name;
        match slot.state() {
            DatabaseState::Online(database) => {
                assert!(database.check().unwrap().is_empty(), "{what}: {name} is not sound");
                if name == "vlf" && !scenario.may_be_restoring.contains(&"vlf") {
                    let session = instance.open_session().unwrap();
                    assert_eq!(
                        rows(&session, &open_table(&database, "t")),
                        [(1, 1), (2, 2), (3, 3)],
                        "{what}"
                    );
                }
            }
            DatabaseState::Restoring if name == "standby" || scenario.may_be_restoring.contains(&name.as_str()) => {}
            state => panic!(
                "{what}: {name} is {}: {:#?}",
                state.number_and_name().1,
                instance.env.errorlog.lines()
            ),
        }
    }
    assert_eq!(left_over(instance, disk), Vec::<PathBuf>::new(), "{what}");
}

/// The statement again, after it was cut off or refused: it goes through, unless it had its effect already.
fn again(instance: &Arc<Instance>, disk: &SimDisk, scenario: &Scenario, what: &str) {
    if !(scenario.is_done)(instance) {
        let repeated = (scenario.run)(instance);
        assert!(
            repeated.is_ok(),
            "{what}: {repeated:?}: {:#?}",
            instance.env.errorlog.lines()
        );
    }
    assert!((scenario.is_done)(instance), "{what}");
    let wanted: BTreeSet<String> = scenario.databases.iter().map(|name| name.to_string()).collect();
    assert_eq!(names(instance).into_iter().collect::<BTreeSet<_>>(), wanted, "{what}");
    check(instance, disk, scenario, what);
}

/// Cuts the power at every operation of one statement. Answers at how many.
fn cut_everywhere(prepared: &SimDisk, scenario: &Scenario, one_in: usize) -> (u64, u64) {
    let whole = prepared.snapshot();
    let instance = start(&whole, LogPolicy::native());
    let before = whole.operation_count();
    assert!(
        !(scenario.is_done)(&instance),
        "{}: there is nothing to do",
        scenario.name
    );
    (scenario.run)(&instance).unwrap();
    let after = whole.operation_count();
    check(&instance, &whole, scenario, scenario.name);
    let mut cuts = 0;
    for cut in (before + 1..=after).step_by(one_in) {
        cuts += 1;
        let policy = [
            CutPolicy::AllLost,
            CutPolicy::AllKept,
            CutPolicy::RandomSectors,
            CutPolicy::TornLastWrite { sectors_kept: 1 },
        ][cut as usize % 4];
        let what = format!(
            "{}, cut at {} of {}, {policy:?}",
            scenario.name,
            cut - before,
            after - before
        );
        let disk = prepared.snapshot();
        let instance = start(&disk, LogPolicy::native());
        disk.power_cut_at(cut);
        let acknowledged = (scenario.run)(&instance).is_ok();
        assert!(disk.power_is_cut(), "{what}: the power was not cut");
        std::mem::forget(instance);
        let disk = disk.after_power_cut(policy, cut);
        let instance = start(&disk, LogPolicy::native());
        check(&instance, &disk, scenario, &what);
        assert!(
            !acknowledged || (scenario.is_done)(&instance),
            "{what}: acknowledged, and not done"
        );
        let gone = |name: &&&str| instance.slots().iter().all(|slot| slot.entry().name != **name);
        for name in ["vlf", "standby"].iter().filter(gone) {
            let may_be_gone = !scenario.databases.contains(name);
            assert!(may_be_gone, "{what}: {name} is gone");
        }
        again(&instance, &disk, scenario, &what);
    }
    (after - before, cuts)
}

#[test]
fn a_power_cut_at_every_operation_of_every_statement_leaves_nothing_behind() {
    let prepared = prepared();
    let sample = workbench::sample("operations of statements on files with a power cut", 13);
    let mut cuts = 0;
    for scenario in scenarios() {
        let (operations, cut) = cut_everywhere(&prepared, &scenario, sample.one_in);
        println!("{}: power cut at {cut} of {operations} operations", scenario.name);
        assert!(operations >= 5, "{}: touches no files", scenario.name);
        cuts += cut;
    }
    assert!(cuts * sample.one_in as u64 > 280, "{cuts} cuts");
    sample.count(cuts);
}

const FAULTY: [OperationKind; 9] = [
    OperationKind::Create,
    OperationKind::Delete,
    OperationKind::Rename,
    OperationKind::Write,
    OperationKind::WriteDurable,
    OperationKind::Sync,
    OperationKind::Grow,
    OperationKind::SetLen,
    OperationKind::Open,
];

/// Has the disk refuse one operation after the other of a statement. Answers how many faults struck, and after how many of them the
/// statement went through at once, without a restart.
fn refuse_everywhere(prepared: &SimDisk, scenario: &Scenario, one_in: usize) -> (u64, u64) {
    let (mut struck, mut at_once) = (0, 0);
    for kind in FAULTY {
        for nth in (1..).step_by(one_in) {
            let error = [FaultError::NoSpace, FaultError::Denied, FaultError::Io][nth as usize % 3];
            let what = format!("{}, {error:?} at {kind:?} {nth}", scenario.name);
            let disk = prepared.snapshot();
            let instance = start(&disk, LogPolicy::native());
            disk.fail_next(kind, "/instance/", nth, error, Repetition::Once);
            let outcome = (scenario.run)(&instance);
            let faults = disk.fault_count();
            disk.clear_faults();
            if faults == 0 {
                break;
            }
            struck += 1;
            // A log or a data file that could not be written stays closed until the restart.
            let closed = instance
                .slots()
                .iter()
                .filter_map(|slot| slot.database().ok())
                .any(|database| match database.is_standby() {
                    true => database.storage.files.failure().is_some(),
                    false => database.checkpoint().is_err(),
                });
            if outcome.is_ok() {
                assert!((scenario.is_done)(&instance), "{what}: acknowledged, and not done");
            }
            if !closed && instance.slots().iter().all(|slot| slot.database().is_ok()) {
                // What could not be deleted is deleted before the next statement that makes files.
                instance
                    .create_database(&statement("scratch", 1 << 20, 2 << 20))
                    .unwrap();
                drop_database(&instance, "scratch").unwrap();
                again(&instance, &disk, scenario, &what);
                at_once += 1;
            }
            drop(instance);
            let instance = start(&disk, LogPolicy::native());
            again(&instance, &disk, scenario, &format!("{what}, restarted"));
        }
    }
    (struck, at_once)
}

#[test]
fn a_disk_that_refuses_any_operation_of_any_statement_leaves_nothing_behind() {
    let prepared = prepared();
    let sample = workbench::sample("operations of statements on files that are refused", 11);
    let (mut struck, mut at_once) = (0, 0);
    for scenario in scenarios() {
        let (faults, without_restart) = refuse_everywhere(&prepared, &scenario, sample.one_in);
        println!(
            "{}: {faults} faults, {without_restart} times without a restart",
            scenario.name
        );
        (struck, at_once) = (struck + faults, at_once + without_restart);
    }
    let one_in = sample.one_in as u64;
    assert!(
        struck * one_in > 300 && at_once * one_in > 125,
        "{struck} faults, {at_once} times without a restart"
    );
    sample.count(struck);
}

/// The first start makes the system databases; one that was cut off is begun again.
#[test]
fn a_power_cut_at_every_operation_of_the_first_start_is_survived() {
    let whole = SimDisk::new(3);
    drop(start(&whole, LogPolicy::native()));
    let total = whole.operation_count();
    for cut in 1..=total {
        let disk = SimDisk::new(3);
        disk.power_cut_at(cut);
        let started = Instance::start(options(LogPolicy::native()), environment(&disk));
        assert!(disk.power_is_cut());
        std::mem::forget(started);
        let policy = [CutPolicy::AllLost, CutPolicy::AllKept, CutPolicy::RandomSectors][cut as usize % 3];
        let disk = disk.after_power_cut(policy, cut);
        let instance = start(&disk, LogPolicy::native());
        assert_eq!(
            left_over(&instance, &disk),
            Vec::<PathBuf>::new(),
            "cut at {cut} of {total}"
        );
        instance.create_database(&statement("vlf", 1 << 20, 2 << 20)).unwrap();
    }
}

/// A user's own file appears where a statement that was cut off was about to make one: startup leaves it alone.
#[test]
fn start_up_deletes_no_file_that_the_statement_did_not_make() {
    let whole = SimDisk::new(8);
    let instance = start(&whole, LogPolicy::native());
    let before = whole.operation_count();
    instance.create_database(&statement("new", 1 << 20, 2 << 20)).unwrap();
    let total = whole.operation_count();
    drop(instance);
    let (place, mut left_alone) = (Path::new("/instance/c/new.mdf"), 0);
    for cut in before + 1..=total {
        let disk = SimDisk::new(8);
        let instance = start(&disk, LogPolicy::native());
        disk.power_cut_at(cut);
        let created = instance.create_database(&statement("new", 1 << 20, 2 << 20));
        std::mem::forget((instance, created));
        let disk = disk.after_power_cut(CutPolicy::AllLost, cut);
        let was_made = disk.len(place).unwrap().is_some();
        if was_made || disk.list(Path::new("/instance/c")).is_err() {
            continue;
        }
        let mine = disk.create(place, Access::Buffered).unwrap();
        mine.write_at(0, b"mine").unwrap();
        mine.sync().unwrap();
        let instance = start(&disk, LogPolicy::native());
        assert_eq!(disk.len(place).unwrap(), Some(4), "cut at {cut}");
        let refused = instance.create_database(&statement("new", 1 << 20, 2 << 20));
        assert_eq!(refused.err().unwrap().number, 5170);
        left_alone += 1;
    }
    assert!(left_alone > 2);
}

/// Between "the file is empty" and the entry without it, others go on allocating: elsewhere, or the rows are in a file that is
/// deleted.
#[test]
fn nothing_is_allocated_in_a_file_that_is_being_removed() {
    let disk = prepared();
    let instance = start(&disk, LogPolicy::native());
    let database = instance.database("vlf").unwrap();
    let mut session = instance.open_session().unwrap();
    let table = open_table(&database, "t");
    let mut allocations = 0;
    let removed = database.remove_data_file(3, "more", &mut || {
        // Each row takes a page: many extents, alternating between the files that have room.
        for number in 10..60 {
            insert(&mut session, &table, number, number);
        }
        session.commit().unwrap();
        allocations += 1;
        Ok(())
    });
    removed.unwrap();
    assert_eq!(allocations, 1);
    assert_eq!(rows(&session, &table).len(), 53);
    assert!(database.check().unwrap().is_empty(), "{:?}", database.check().unwrap());
}

/// A file whose removal could not be stored is used again.
#[test]
fn a_file_that_stays_is_allocated_in_again() {
    let disk = prepared();
    let instance = start(&disk, LogPolicy::native());
    let database = instance.database("vlf").unwrap();
    let refused = database.remove_data_file(3, "more", &mut || Err(Error::assertion("not now").into()));
    assert!(refused.is_err());
    let mut session = instance.open_session().unwrap();
    let table = open_table(&database, "t");
    for number in 10..60 {
        insert(&mut session, &table, number, number);
    }
    session.commit().unwrap();
    assert!(database.space.used_pages(3) > 8, "{}", database.space.used_pages(3));
    assert!(database.check().unwrap().is_empty());
}
