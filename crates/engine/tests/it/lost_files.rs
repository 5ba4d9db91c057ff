//! A second instance on a folder whose lock file was deleted, files that another program has open, and files deleted,
//! replaced or moved under an open database: nothing is acknowledged into a file that is gone.
#![allow(clippy::unwrap_used)]

use crate::support;

use disk::sim::SimDisk;
use disk::{Access, Disk, DiskErrorKind};
use engine::backup::{BackupKind, BackupRequest};
use engine::instance::{DatabaseState, Instance, LOOK_EVERY_MICROS};
use engine::log::LogPolicy;
use engine::seams::{Environment, ManualClock};
use engine::session::Table;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::*;

const FOLDER: &str = "/instance";

struct Machine {
    disk: SimDisk,
    clock: Arc<ManualClock>,
    instance: Arc<Instance>,
}

fn environment_of(disk: &SimDisk, clock: &Arc<ManualClock>) -> Environment {
    Environment {
        clock: clock.clone(),
        ..environment(disk)
    }
}

impl Machine {
    /// An instance with a database `vlf` that has a table of one row.
    fn with_database() -> (Machine, Table) {
        let disk = SimDisk::new(5);
        let clock = Arc::new(ManualClock::starting_at(1_700_000_000_000_000));
        let instance = Instance::start(options(LogPolicy::native()), environment_of(&disk, &clock)).unwrap();
        let database = instance.create_database(&statement("vlf", 1 << 20, 64 << 20)).unwrap();
        let machine = Machine { disk, clock, instance };
        let mut session = machine.instance.open_session().unwrap();
        let table = create_table(&mut session, &database, "t");
        insert(&mut session, &table, 1, 1);
        session.commit().unwrap();
        machine.end(session);
        (machine, table)
    }

    fn end(&self, session: engine::session::Session) {
        let id = session.id;
        drop(session);
        self.instance.close_session(id);
    }

    fn path_of(&self, database: &str, is_log: bool) -> PathBuf {
        let entry = self.instance.database(database).unwrap().entry();
        let file = entry.files.iter().find(|file| file.log == is_log).unwrap();
        self.instance.resolve(&file.physical_name).unwrap()
    }

    /// Inserts a row and commits; the number of the error.
    fn commit_one(&self, table: &Table, number: i32) -> Result<(), i32> {
        let mut session = self.instance.open_session().map_err(|error| error.number)?;
        let done = try_insert(&mut session, table, number, number).and_then(|()| session.commit());
        self.end(session);
        done.map_err(|error| error.number)
    }

    fn state_of(&self, name: &str) -> &'static str {
        let slots = self.instance.slots();
        let slot = slots.iter().find(|slot| slot.entry().name == name).unwrap();
        slot.state().number_and_name().1
    }

    fn look(&self) {
        self.clock.advance(LOOK_EVERY_MICROS);
        self.instance.run_due_checkpoints();
    }

    fn said(&self, words: &str) -> bool {
        let lines = self.instance.env.errorlog.lines();
        lines.iter().any(|line| format!("{line:?}").contains(words))
    }

    fn set_online(&self) -> Result<(), i32> {
        let session = self.instance.open_session().unwrap();
        let outcome = self.instance.bring_online("vlf", &session);
        self.end(session);
        outcome.map_err(|error| error.number)
    }
}

fn content(disk: &SimDisk, folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in disk.list(Path::new(folder)).unwrap_or_default() {
        found.extend(content(disk, path.to_str().unwrap()));
        found.push(path);
    }
    found
}

/// After deleting the folder's lock file one could start a second server, and each wrote over what the other had acknowledged.
#[test]
fn a_second_instance_is_refused_although_the_lock_of_the_folder_was_deleted() {
    let (machine, table) = Machine::with_database();
    machine.disk.delete(&Path::new(FOLDER).join(".lock")).unwrap();
    let before = content(&machine.disk, FOLDER);
    let second = Instance::start(
        options(LogPolicy::native()),
        environment_of(&machine.disk, &machine.clock),
    );
    let error = second.err().unwrap();
    assert_eq!((error.number, error.severity), (17113, 16));
    let words = "Error 32(The process cannot access the file because it is being used by another process.) occurred while opening file \
                 '/instance/data/master.mdf' to obtain configuration information at startup.";
    assert!(error.message.starts_with(words), "{}", error.message);
    let lock = Path::new(FOLDER).join(".lock");
    let after: Vec<PathBuf> = content(&machine.disk, FOLDER)
        .into_iter()
        .filter(|path| *path != lock)
        .collect();
    let before: Vec<PathBuf> = before.into_iter().filter(|path| *path != lock).collect();
    assert_eq!(after, before, "nothing else was made, renamed or deleted");
    machine.commit_one(&table, 2).unwrap();
    // What the first had is the second's when the first is gone.
    machine.instance.shutdown(false).unwrap();
    let Machine { disk, clock, instance } = machine;
    drop((table, instance));
    let next = Instance::start(options(LogPolicy::native()), environment_of(&disk, &clock)).unwrap();
    let session = next.open_session().unwrap();
    let table = open_table(&next.database("vlf").unwrap(), "t");
    assert_eq!(rows(&session, &table), [(1, 1), (2, 2)]);
}

/// Every data and log file is locked while its database is open, and unlocked when it is not, even if something still holds
/// it open.
#[test]
fn files_are_locked_while_their_database_is_open() {
    let (machine, table) = Machine::with_database();
    let places = [false, true].map(|is_log| machine.path_of("vlf", is_log));
    let system =
        ["master", "model", "msdb", "tempdb"].map(|name| [false, true].map(|is_log| machine.path_of(name, is_log)));
    let locked = |path: &PathBuf| {
        machine
            .disk
            .open(path, Access::Buffered)
            .unwrap()
            .lock()
            .map_err(|error| error.kind)
    };
    for path in places.iter().chain(system.iter().flatten()) {
        assert_eq!(locked(path), Err(DiskErrorKind::InUse), "{path:?}");
    }
    let session = machine.instance.open_session().unwrap();
    machine.instance.take_offline("vlf", &session).unwrap();
    for path in &places {
        assert_eq!(
            locked(path),
            Ok(()),
            "{path:?}, which {:?} has open",
            table.definition().name
        );
    }
    machine.instance.bring_online("vlf", &session).unwrap();
    for path in &places {
        assert_eq!(locked(path), Err(DiskErrorKind::InUse), "{path:?}");
    }
    machine.end(session);
}

#[test]
fn a_database_whose_file_another_has_open_waits_for_it() {
    for is_log in [false, true] {
        let (machine, table) = Machine::with_database();
        let path = machine.path_of("vlf", is_log);
        let session = machine.instance.open_session().unwrap();
        machine.instance.take_offline("vlf", &session).unwrap();
        drop(table);
        let elsewhere = machine.disk.open(&path, Access::Direct).unwrap();
        elsewhere.lock().unwrap();
        assert!(machine.instance.bring_online("vlf", &session).is_err());
        assert_eq!(machine.state_of("vlf"), "RECOVERY_PENDING");
        let in_use = "32(The process cannot access the file because it is being used by another process.)";
        assert!(
            machine.said(&format!("Could not open file {}", path.display())),
            "17204"
        );
        assert!(
            machine.said(in_use) && machine.said("Unable to open the physical file"),
            "5120"
        );
        drop(elsewhere);
        machine.instance.bring_online("vlf", &session).unwrap();
        machine.end(session);
    }
}

/// Commits went on into the deleted file until the end of the process, and were gone then.
#[test]
fn no_commit_is_acknowledged_into_a_log_that_was_deleted() {
    for policy in [LogPolicy::native(), LogPolicy::classic()] {
        let (machine, table) = Machine::with_database();
        machine.instance.set_policy(policy);
        machine.disk.delete(&machine.path_of("vlf", true)).unwrap();
        assert_eq!(machine.commit_one(&table, 2), Err(9001));
        assert_eq!(machine.state_of("vlf"), "RECOVERY_PENDING");
        assert!(machine.said("It was deleted, moved or replaced while it was open."));
        assert!(!machine.instance.must_stop(), "the other databases go on");
        assert!(machine.set_online().is_err(), "there is nothing to recover from");
    }
}

/// So with a file of the same name in its place, which is another one.
#[test]
fn no_commit_is_acknowledged_into_a_log_that_was_replaced() {
    let (machine, table) = Machine::with_database();
    let path = machine.path_of("vlf", true);
    let other = path.with_extension("other");
    machine.disk.create(&other, Access::Buffered).unwrap();
    machine.disk.rename(&other, &path).unwrap();
    assert_eq!(machine.commit_one(&table, 2), Err(9001));
}

/// A look a second finds what the log cannot see: a data file that is gone, and files that are elsewhere.
#[test]
fn a_data_file_that_is_gone_closes_the_database() {
    let (machine, table) = Machine::with_database();
    let path = machine.path_of("vlf", false);
    machine.disk.delete(&path).unwrap();
    machine.instance.run_due_checkpoints();
    machine.look();
    assert_eq!(machine.commit_one(&table, 2), Err(9001));
    let words = format!("File '{}' of database 'vlf': Operating system error 2(", path.display());
    assert!(machine.said(&words), "the error log names the file");
    assert!(!machine.instance.must_stop());
}

/// BACKUP and CREATE DATABASE made the folder again, beside the one that the server went on to write to.
#[test]
fn a_moved_folder_stops_the_instance_and_no_statement_makes_another() {
    for by_statement in [false, true] {
        let (machine, table) = Machine::with_database();
        machine
            .disk
            .move_directory(Path::new(FOLDER), Path::new("/elsewhere"))
            .unwrap();
        if by_statement {
            let created = machine.instance.create_database(&statement("other", 1 << 20, 64 << 20));
            let error = created.err().unwrap();
            assert!(
                error.message.contains("2(The system cannot find the file specified.)"),
                "{error}"
            );
        } else {
            machine.look();
        }
        assert!(machine.instance.must_stop());
        assert!(machine.said("SQL Server must shut down in order to recover a database (database ID 1)"));
        assert_eq!(machine.commit_one(&table, 2), Err(9001));
        let session = machine.instance.open_session().unwrap();
        let request = BackupRequest {
            kind: BackupKind::Database,
            path: "vlf.bak".into(),
            ..BackupRequest::default()
        };
        assert!(
            machine
                .instance
                .backup("vlf", &request, &session, &mut |_| Ok(()))
                .is_err()
        );
        machine.end(session);
        machine.instance.shutdown(true).unwrap();
        assert_eq!(machine.disk.look(Path::new(FOLDER)).unwrap(), None, "no second folder");
        // Back in its place, it has all that was acknowledged.
        let Machine { disk, clock, instance } = machine;
        drop((table, instance));
        disk.move_directory(Path::new("/elsewhere"), Path::new(FOLDER)).unwrap();
        let next = Instance::start(options(LogPolicy::native()), environment_of(&disk, &clock)).unwrap();
        let session = next.open_session().unwrap();
        assert_eq!(
            rows(&session, &open_table(&next.database("vlf").unwrap(), "t")),
            [(1, 1)]
        );
    }
}

/// Files that statements delete or take out of a database are no lost ones.
#[test]
fn what_statements_delete_is_not_missed() {
    let (machine, table) = Machine::with_database();
    machine
        .instance
        .create_database(&statement("other", 1 << 20, 64 << 20))
        .unwrap();
    machine.look();
    let session = machine.instance.open_session().unwrap();
    machine.instance.drop_database("other", &session).unwrap();
    machine.end(session);
    machine.look();
    assert!(!machine.instance.must_stop() && !machine.said("while it was open"));
    let slots = machine.instance.slots();
    assert!(
        slots
            .iter()
            .all(|slot| matches!(slot.state(), DatabaseState::Online(_)))
    );
    machine.commit_one(&table, 2).unwrap();
}
