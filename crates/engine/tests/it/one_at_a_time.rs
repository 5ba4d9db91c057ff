//! Statements that create, change, drop, open and close one database from several sessions: at every seam of the first a
//! second is tried. It waits or is refused, and what was acknowledged is there after a restart.
#![allow(clippy::unwrap_used)]

use crate::support;

use disk::sim::{CutPolicy, SimDisk};
use engine::backup::{AfterRestore, BackupKind, BackupRequest, LogTail, RestoreKind, RestoreRequest};
use engine::cancel;
use engine::catalog::{FileEntry, GrowthEntry};
use engine::error::{Error, Result};
use engine::instance::{DatabaseState, Instance, Work};
use engine::log::LogPolicy;
use engine::session::Session;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex};
use support::seam::SeamDisk;
use support::*;

const MEDIA: &str = "c:\\set.bak";
/// Files of `vlf` have this in their names, and those of no other database.
const FILES: &str = "/vlf";

fn with_session<T>(instance: &Instance, work: impl FnOnce(&mut Session) -> T) -> T {
    let mut session = instance.open_session().unwrap();
    let done = work(&mut session);
    let id = session.id;
    drop(session);
    instance.close_session(id);
    done
}

fn first(errors: Vec<Error>) -> Error {
    errors.into_iter().next().unwrap()
}

fn back_up(instance: &Instance, kind: BackupKind, path: &str, tail: LogTail) -> Result<()> {
    let request = BackupRequest {
        kind,
        path: path.into(),
        tail,
        ..BackupRequest::default()
    };
    let done = with_session(instance, |session| {
        instance.backup("vlf", &request, session, &mut |_| Ok(()))
    });
    done.map(|_| ()).map_err(first)
}

fn restore(instance: &Instance, name: &str, change: impl FnOnce(&mut RestoreRequest)) -> Result<()> {
    let mut request = RestoreRequest {
        kind: RestoreKind::Database,
        path: Some(MEDIA.into()),
        replace: true,
        after: AfterRestore::Recovery,
        ..RestoreRequest::default()
    };
    change(&mut request);
    let done = with_session(instance, |session| {
        instance.restore(name, &request, session, &mut |_| Ok(()))
    });
    done.map(|_| ()).map_err(first)
}

fn without_recovery(request: &mut RestoreRequest) {
    request.after = AfterRestore::NoRecovery;
}

fn log_set(request: &mut RestoreRequest) {
    request.kind = RestoreKind::Log;
    request.file = 2;
}

fn recovery_alone(request: &mut RestoreRequest) {
    request.path = None;
}

fn add_file(instance: &Instance) -> Result<()> {
    let file = FileEntry {
        file_id: 3,
        log: false,
        name: "more".into(),
        physical_name: "c:\\vlf_more.ndf".into(),
        max_bytes: None,
        growth: GrowthEntry::Bytes(1 << 20),
        filegroup: 1,
    };
    instance.add_file(&instance.alter("vlf", Work::Files)?, file, 1 << 20)
}

fn remove_file(instance: &Instance) -> Result<()> {
    instance.remove_file(&instance.alter("vlf", Work::Files)?, "more")
}

fn modify_file(instance: &Instance) -> Result<()> {
    instance.update_entry(&instance.alter("vlf", Work::Alter)?, |entry| {
        entry.files[0].growth = GrowthEntry::Percent(11);
        Ok(())
    })
}

fn create(instance: &Instance) -> Result<()> {
    instance
        .create_database(&statement("vlf", 1 << 20, 64 << 20))
        .map(|_| ())
}

fn drop_database(instance: &Instance) -> Result<()> {
    with_session(instance, |session| instance.drop_database("vlf", session))
}

fn take_offline(instance: &Instance) -> Result<()> {
    with_session(instance, |session| instance.take_offline("vlf", session))
}

fn bring_online(instance: &Instance) -> Result<()> {
    with_session(instance, |session| instance.bring_online("vlf", session))
}

type Statement = (&'static str, fn(&Instance) -> Result<()>);

/// Every statement about a database.
const STATEMENTS: [Statement; 14] = [
    ("CREATE", create),
    ("DROP", drop_database),
    ("RESTORE", |instance| restore(instance, "vlf", |_| ())),
    ("RESTORE NORECOVERY", |instance| {
        restore(instance, "vlf", without_recovery)
    }),
    ("RESTORE LOG", |instance| restore(instance, "vlf", log_set)),
    ("RECOVERY", |instance| restore(instance, "vlf", recovery_alone)),
    ("OFFLINE", take_offline),
    ("ONLINE", bring_online),
    ("RENAME", |instance| instance.rename_database("vlf", "renamed")),
    ("ADD FILE", add_file),
    ("REMOVE FILE", remove_file),
    ("MODIFY FILE", modify_file),
    ("BACKUP", |instance| {
        back_up(instance, BackupKind::Database, "NUL", LogTail::default())
    }),
    ("TAIL", |instance| {
        back_up(instance, BackupKind::Log, "NUL", LogTail::NoRecovery)
    }),
];

fn statement_named(name: &str) -> fn(&Instance) -> Result<()> {
    STATEMENTS.iter().find(|(other, _)| *other == name).unwrap().1
}

/// A machine with `vlf`, which holds two rows, and a media file with a full set and a log set of it.
fn prepared() -> SimDisk {
    let disk = SimDisk::new(7);
    let instance = start(&disk, LogPolicy::native());
    create(&instance).unwrap();
    back_up(&instance, BackupKind::Database, "NUL", LogTail::default()).unwrap();
    with_session(&instance, |session| {
        let vlf = instance.database("vlf").unwrap();
        let table = create_table(session, &vlf, "t");
        insert(session, &table, 1, 1);
        session.commit().unwrap();
    });
    back_up(&instance, BackupKind::Database, MEDIA, LogTail::default()).unwrap();
    with_session(&instance, |session| {
        let vlf = instance.database("vlf").unwrap();
        insert(session, &open_table(&vlf, "t"), 2, 2);
        session.commit().unwrap();
    });
    back_up(&instance, BackupKind::Log, MEDIA, LogTail::default()).unwrap();
    instance.shutdown(false).unwrap();
    disk
}

fn start_with_seam(disk: &SimDisk) -> (Arc<Instance>, Arc<SeamDisk>) {
    let seam = SeamDisk::new(disk.clone());
    let mut env = environment(disk);
    env.disk = seam.clone();
    (Instance::start(options(LogPolicy::native()), env).unwrap(), seam)
}

fn states(instance: &Instance) -> BTreeMap<String, &'static str> {
    let slots = instance.slots().into_iter();
    let users = slots.filter(|slot| slot.entry().database_id > 4);
    users
        .map(|slot| (slot.entry().name, slot.state().number_and_name().1))
        .collect()
}

/// A first statement, what comes before it, and the state of `vlf` after it.
struct First {
    name: &'static str,
    before: &'static [&'static str],
    state: Option<&'static str>,
}

const FIRSTS: [First; 9] = [
    First {
        name: "CREATE",
        before: &["DROP"],
        state: Some("ONLINE"),
    },
    First {
        name: "DROP",
        before: &[],
        state: None,
    },
    First {
        name: "RESTORE",
        before: &[],
        state: Some("ONLINE"),
    },
    First {
        name: "RESTORE",
        before: &["DROP"],
        state: Some("ONLINE"),
    },
    First {
        name: "RESTORE LOG",
        before: &["RESTORE NORECOVERY"],
        state: Some("ONLINE"),
    },
    First {
        name: "RECOVERY",
        before: &["RESTORE NORECOVERY"],
        state: Some("ONLINE"),
    },
    First {
        name: "ONLINE",
        before: &["OFFLINE"],
        state: Some("ONLINE"),
    },
    First {
        name: "ADD FILE",
        before: &[],
        state: Some("ONLINE"),
    },
    First {
        name: "REMOVE FILE",
        before: &["ADD FILE"],
        state: Some("ONLINE"),
    },
];

/// The errors a second statement may get while a first one is at work: it had to wait and was asked to stop (3617), the database is
/// in use, or there is no such database, yet or any more.
fn is_kept_out(error: &Error) -> bool {
    let beside_restore = [3702, 3101, 5052, 927];
    // Nor are there files of the name that anybody may make.
    let no_database = [1801, 3701, 3118, 5011, 911, 5123, 5170];
    error.number == 3617 || beside_restore.contains(&error.number) || no_database.contains(&error.number)
}

/// A RESTORE under a new name took no lock: DROP DATABASE of it succeeded, another database got its id, and the RESTORE then took that
/// one's row out of master. Two sessions that brought one database online opened its files twice. Here every pair of statements
/// meets at every operation on the database's files; the second is asked to stop, so that waiting shows.
#[test]
fn no_statement_about_a_database_begins_in_the_middle_of_another() {
    let prepared = prepared();
    let mut met = 0;
    for first in &FIRSTS {
        let disk = prepared.snapshot();
        let (instance, seam) = start_with_seam(&disk);
        for before in first.before {
            statement_named(before)(&instance).unwrap();
        }
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (hooked, taker) = (instance.clone(), seen.clone());
        seam.set_hook(FILES, move |operation| {
            for (second, run) in STATEMENTS {
                let serving = cancel::serve(Some(Arc::new(true.into())));
                let outcome = run(&hooked);
                drop(serving);
                taker.lock().unwrap().push((operation.to_string(), second, outcome));
            }
        });
        let outcome = statement_named(first.name)(&instance);
        seam.clear_hook();
        outcome.unwrap_or_else(|error| panic!("{}: {error}", first.name));
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        assert!(seen.len() >= STATEMENTS.len(), "{} has no seam", first.name);
        for (operation, second, outcome) in &seen {
            let is_out = outcome.as_ref().is_err_and(is_kept_out);
            assert!(is_out, "{second} at {operation} of {}: {outcome:?}", first.name);
        }
        met += seen.len();
        let expected: BTreeMap<String, &str> = first
            .state
            .map(|state| ("vlf".to_string(), state))
            .into_iter()
            .collect();
        assert_eq!(states(&instance), expected, "after {}", first.name);
        drop(instance);
        let again = start(&disk.after_power_cut(CutPolicy::AllLost, 1), LogPolicy::native());
        assert_eq!(states(&again), expected, "after {} and a power cut", first.name);
    }
    assert!(met > 20 * STATEMENTS.len(), "only {met} meetings");
}

/// Runs `between` once, in the middle of a RESTORE of `copy`, and answers what the RESTORE answers when `between` does.
fn restore_copy(instance: &Arc<Instance>, between: impl Fn(&Instance) -> Result<()>) -> Result<()> {
    let mut request = RestoreRequest {
        path: Some(MEDIA.into()),
        after: AfterRestore::Recovery,
        stats_percent: Some(10),
        ..RestoreRequest::default()
    };
    for file in ["vlf", "vlf_log"] {
        request.moves.push((file.into(), format!("c:\\copy_{file}")));
    }
    let mut has_met = false;
    let done = with_session(instance, |session| {
        instance.restore(
            "copy",
            &request,
            session,
            &mut |_| match std::mem::replace(&mut has_met, true) {
                true => Ok(()),
                false => between(instance),
            },
        )
    });
    assert!(has_met, "nobody came between");
    done.map(|_| ()).map_err(first)
}

fn create_with_a_row(instance: &Instance, name: &str) {
    let other = instance.create_database(&statement(name, 1 << 20, 64 << 20)).unwrap();
    with_session(instance, |session| {
        let table = create_table(session, &other, "t");
        insert(session, &table, 7, 7);
        session.commit().unwrap();
    });
}

fn holds_its_row(instance: &Instance, name: &str) -> bool {
    let database = instance.database(name).unwrap();
    with_session(instance, |session| {
        rows(session, &open_table(&database, "t")) == [(7, 7)]
    })
}

/// A RESTORE that failed removed the database that had got its id meanwhile, and a RESTORE that succeeded its row in master.
#[test]
fn a_database_made_while_another_is_restored_stays_whether_that_succeeds_or_fails() {
    for fails in [false, true] {
        let disk = prepared().snapshot();
        let instance = start(&disk, LogPolicy::native());
        let outcome = restore_copy(&instance, |instance| {
            let dropped = with_session(instance, |session| instance.drop_database("copy", session));
            assert_eq!(dropped.unwrap_err().number, 3702);
            create_with_a_row(instance, "other");
            match fails {
                true => Err(Error::cancelled()),
                false => Ok(()),
            }
        });
        assert_eq!(outcome.is_err(), fails);
        assert!(holds_its_row(&instance, "other"));
        let ids: BTreeSet<u16> = instance.slots().iter().map(|slot| slot.entry().database_id).collect();
        assert_eq!(ids.len(), instance.slots().len());
        drop(instance);
        let again = start(&disk.after_power_cut(CutPolicy::AllLost, 1), LogPolicy::native());
        let expected = if fails {
            vec!["other", "vlf"]
        } else {
            vec!["copy", "other", "vlf"]
        };
        assert_eq!(states(&again).into_keys().collect::<Vec<_>>(), expected);
        assert!(holds_its_row(&again, "other"));
    }
}

/// BACKUP held nothing: DROP DATABASE beside it succeeded, and a file was removed whose pages the set had.
#[test]
fn beside_a_backup_nothing_is_dropped_closed_or_replaced_and_no_file_comes_or_goes() {
    let disk = prepared();
    let instance = start(&disk, LogPolicy::native());
    let expected: [(&str, Option<i32>); 14] = [
        ("CREATE", Some(1801)),
        ("DROP", Some(3702)),
        ("RESTORE", Some(3101)),
        ("RESTORE NORECOVERY", Some(3101)),
        ("RESTORE LOG", Some(3117)),
        ("RECOVERY", Some(3117)),
        ("OFFLINE", Some(5061)),
        ("ONLINE", None),
        ("RENAME", None),
        ("ADD FILE", Some(3023)),
        ("REMOVE FILE", Some(3023)),
        ("MODIFY FILE", None),
        ("BACKUP", None),
        ("TAIL", Some(3101)),
    ];
    for kind in [BackupKind::Database, BackupKind::Log] {
        let request = BackupRequest {
            kind,
            path: "NUL".into(),
            stats_percent: Some(10),
            ..BackupRequest::default()
        };
        let mut told = Vec::new();
        let done = with_session(&instance, |session| {
            instance.backup("vlf", &request, session, &mut |_| {
                if told.is_empty() {
                    for (name, run) in STATEMENTS {
                        // A log backup beside a log backup waits for it.
                        if name != "TAIL" || kind == BackupKind::Database {
                            told.push((name, run(&instance).err().map(|error| error.number)));
                        }
                        if name == "RENAME" {
                            instance.rename_database("renamed", "vlf").unwrap();
                        }
                    }
                }
                Ok(())
            })
        });
        done.unwrap();
        assert_eq!(told, expected[..told.len()], "{kind:?}");
        assert!(told.len() >= 13, "nobody came between");
    }
    drop_database(&instance).unwrap();
}

/// Four sessions that brought one database online at once opened its files two, three or four times, each with a log of its own:
/// commits of all but one were gone after the next start.
#[test]
fn sessions_that_bring_a_database_online_at_once_open_it_once() {
    const ROUNDS: i32 = 40;
    let disk = prepared();
    let instance = start(&disk, LogPolicy::native());
    let next = AtomicI32::new(100);
    let acknowledged = Mutex::new(BTreeSet::from([1, 2]));
    for _ in 0..ROUNDS {
        take_offline(&instance).unwrap();
        let opened = Mutex::new(Vec::new());
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    bring_online(&instance).unwrap();
                    let database = instance.database("vlf").unwrap();
                    with_session(&instance, |session| {
                        let a = next.fetch_add(1, Ordering::Relaxed);
                        insert(session, &open_table(&database, "t"), a, a);
                        session.commit().unwrap();
                        acknowledged.lock().unwrap().insert(a);
                    });
                    opened.lock().unwrap().push(database);
                });
            }
        });
        let opened = opened.into_inner().unwrap();
        assert!(
            opened.iter().all(|one| Arc::ptr_eq(one, &opened[0])),
            "opened more than once"
        );
    }
    drop(instance);
    let again = start(&disk.after_power_cut(CutPolicy::AllLost, 1), LogPolicy::native());
    let database = again.database("vlf").unwrap();
    let found = with_session(&again, |session| rows(session, &open_table(&database, "t")));
    let found: BTreeSet<i32> = found.into_iter().map(|(a, _)| a).collect();
    assert_eq!(found, acknowledged.into_inner().unwrap());
}

/// CREATE, DROP, OFFLINE, ONLINE and RESTORE of one name by four sessions at once: what is left at the end is one database or none, and
/// the same after a restart.
#[test]
fn sessions_that_make_and_remove_one_database_leave_it_whole_or_not_at_all() {
    const ROUNDS: usize = 60;
    let disk = prepared();
    let instance = start(&disk, LogPolicy::native());
    let done = AtomicI32::new(0);
    std::thread::scope(|threads| {
        for names in [
            ["CREATE", "OFFLINE", "DROP"],
            ["RESTORE", "DROP", "CREATE"],
            ["ONLINE", "OFFLINE", "RESTORE"],
            ["ADD FILE", "REMOVE FILE", "ONLINE"],
        ] {
            let (instance, done) = (&instance, &done);
            threads.spawn(move || {
                for name in names.into_iter().cycle().take(ROUNDS) {
                    let Err(error) = statement_named(name)(instance) else {
                        done.fetch_add(1, Ordering::Relaxed);
                        continue;
                    };
                    // 5123 and 5170: a DROP that is at its end has taken the name away and still deletes the files.
                    let others_came_first = [
                        911, 942, 952, 1801, 1828, 3101, 3701, 3702, 5009, 5011, 5052, 5061, 5123, 5170, 3154, 3159,
                    ];
                    assert!(others_came_first.contains(&error.number), "{name}: {error}");
                }
            });
        }
    });
    assert!(done.into_inner() > 20, "nothing came through");
    let is_usable = |instance: &Instance| {
        let slots = instance.slots();
        let slot = slots.iter().find(|slot| slot.entry().name == "vlf")?;
        matches!(slot.state(), DatabaseState::Offline).then(|| bring_online(instance).unwrap());
        Some(instance.database("vlf").unwrap().entry())
    };
    let entry = is_usable(&instance);
    drop(instance);
    let again = start(&disk.after_power_cut(CutPolicy::AllLost, 1), LogPolicy::native());
    assert_eq!(is_usable(&again), entry);
}

/// A session that asked for a database in the middle of its CREATE got 945, inaccessible, as for one that cannot be opened.
#[test]
fn a_database_that_is_being_made_is_in_transition() {
    let disk = prepared();
    let (instance, seam) = start_with_seam(&disk);
    drop_database(&instance).unwrap();
    let told = Arc::new(Mutex::new(BTreeSet::new()));
    let (hooked, taker) = (instance.clone(), told.clone());
    seam.set_hook(FILES, move |_| {
        let number = hooked.database("vlf").err().map(|error| error.number);
        taker.lock().unwrap().insert(number);
    });
    let done = create(&instance);
    seam.clear_hook();
    done.unwrap();
    let told = std::mem::take(&mut *told.lock().unwrap());
    // Before it has its name there is none of that name.
    assert!(told.contains(&Some(952)), "{told:?}");
    assert!(told.iter().all(|number| matches!(number, Some(911 | 952))), "{told:?}");
    instance.database("vlf").unwrap();
}

/// A RESTORE that failed, or was killed, behind the removal of the former files leaves a database that is RESTORING and has none.
/// WITH RECOVERY and RESTORE LOG failed because a file could not be opened (5120).
#[test]
fn a_restore_that_was_interrupted_is_begun_anew_and_not_rolled_forward() {
    for is_killed in [false, true] {
        let disk = prepared();
        let instance = start(&disk, LogPolicy::native());
        // The power goes, or the request is to stop, when the first pages of the set are to be written.
        let mut at_its_interruption = None;
        let mut request = RestoreRequest {
            path: Some(MEDIA.into()),
            replace: true,
            stats_percent: Some(10),
            ..RestoreRequest::default()
        };
        request.after = AfterRestore::Recovery;
        let outcome = with_session(&instance, |session| {
            instance.restore("vlf", &request, session, &mut |_| {
                at_its_interruption.get_or_insert_with(|| disk.snapshot());
                Err(Error::cancelled())
            })
        });
        assert_eq!(first(outcome.unwrap_err()).number, 3617);
        let instance = match (is_killed, at_its_interruption) {
            (false, _) => instance,
            (true, Some(killed)) => start(&killed.after_power_cut(CutPolicy::AllLost, 1), LogPolicy::native()),
            (true, None) => panic!("nothing came between"),
        };
        assert_eq!(states(&instance)["vlf"], "RESTORING", "{is_killed}");
        for name in ["RECOVERY", "RESTORE LOG"] {
            let refused = statement_named(name)(&instance).unwrap_err();
            assert_eq!((refused.number, refused.severity), (4319, 16), "{name}: {refused}");
            assert!(refused.message.contains("on file 'vlf'."), "{refused}");
        }
        assert_eq!(states(&instance)["vlf"], "RESTORING", "{is_killed}");
        for name in ["RESTORE NORECOVERY", "RESTORE LOG"] {
            statement_named(name)(&instance).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        instance.database("vlf").unwrap();
    }
}
