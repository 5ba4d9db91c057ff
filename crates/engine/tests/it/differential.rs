//! Differential backups: what they hold, what they can be restored on, and that no change is missing from one, whenever the power is cut.
//!
//! Depth: one operation in 11, of a restore one in 13; deep: every one.
#![allow(clippy::unwrap_used)]

use crate::support;

use disk::sim::{CutPolicy, SimDisk};
use engine::backup::{AfterRestore, BackupKind, BackupRequest, RestoreKind, RestoreRequest, SetDescription, SetKind};
use engine::buffer::ChangeBase;
use engine::instance::Instance;
use engine::log::LogPolicy;
use engine::session::{Session, Table};
use std::sync::Arc;
use support::*;

const MEDIA: &str = "c:\\vlf.bak";
const OTHER_MEDIA: &str = "c:\\other.bak";

type Refused = Vec<i32>;

fn refused(errors: Vec<engine::error::Error>) -> Refused {
    errors.iter().map(|error| error.number).collect()
}

fn full(path: &str) -> BackupRequest {
    BackupRequest {
        kind: BackupKind::Database,
        path: path.into(),
        user: "sa".into(),
        ..BackupRequest::default()
    }
}

fn differential(path: &str) -> BackupRequest {
    BackupRequest {
        differential: true,
        ..full(path)
    }
}

fn backup(instance: &Instance, request: &BackupRequest) -> Result<SetDescription, Refused> {
    let session = instance.open_session().map_err(|error| vec![error.number])?;
    let summary = instance
        .backup("vlf", request, &session, &mut |_| Ok(()))
        .map_err(refused)?;
    let sets = instance
        .backup_headers(std::slice::from_ref(&request.path))
        .map_err(refused)?;
    Ok(sets[summary.position as usize - 1].clone())
}

fn restore(
    instance: &Instance,
    (path, file): (&str, u32),
    kind: RestoreKind,
    after: AfterRestore,
) -> Result<(), Refused> {
    let session = instance.open_session().unwrap();
    let request = RestoreRequest {
        kind,
        path: (!path.is_empty()).then(|| path.into()),
        file,
        after,
        moves: vec![
            ("vlf".into(), "c:\\copy.mdf".into()),
            ("vlf_log".into(), "c:\\copy.ldf".into()),
        ],
        ..RestoreRequest::default()
    };
    let restored = instance.restore("copy", &request, &session, &mut |_| Ok(()));
    restored.map(|_| ()).map_err(refused)
}

fn restore_data(instance: &Instance, set: (&str, u32), after: AfterRestore) -> Result<(), Refused> {
    restore(instance, set, RestoreKind::Database, after)
}

fn content(instance: &Instance, name: &str) -> Vec<(i32, i32)> {
    let database = instance.database(name).unwrap();
    let report = database.check().unwrap();
    assert!(report.is_empty(), "{report:?}");
    let session = instance.open_session().unwrap();
    let mut found = Vec::new();
    for table in ["t", "still"] {
        if let Some(table) = open_table_if_there(&database, table) {
            found.extend(rows(&session, &table));
        }
    }
    found.sort_unstable();
    found
}

fn data_bytes(set: &SetDescription) -> u64 {
    let data = set.files.iter().filter(|file| !file.file.log);
    data.map(|file| file.backup_bytes).sum()
}

/// A table that changes, and a larger one that does not.
fn create(instance: &Arc<Instance>, still_rows: i32) -> engine::error::Result<(Session, Table)> {
    let database = instance.create_database(&statement("vlf", 1 << 20, 64 << 20))?;
    let mut session = instance.open_session()?;
    let object = session.create_table(&database, table_definition("still"))?;
    let still = Table::open(&database, &object)?;
    for number in 0..still_rows {
        try_insert(&mut session, &still, number, -1)?;
    }
    let object = session.create_table(&database, table_definition("t"))?;
    let table = Table::open(&database, &object)?;
    try_insert(&mut session, &table, 9_999, 0)?;
    session.commit()?;
    Ok((session, table))
}

/// The next commit of the workload: a row more, all rows changed.
fn change(session: &mut Session, table: &Table, round: i32) -> engine::error::Result<()> {
    try_insert(session, table, 10_000 + round, round)?;
    update(session, table, if round % 2 == 0 { "a" } else { "b" }, round)?;
    session.commit()
}

const POLICIES: [fn() -> LogPolicy; 2] = [LogPolicy::classic, LogPolicy::native];

#[test]
fn a_differential_backup_holds_what_was_written_since_its_base_and_is_restored_on_it_alone() {
    for policy in POLICIES {
        let disk = SimDisk::new(41);
        let instance = start(&disk, policy());
        let (mut session, table) = create(&instance, 4_000).unwrap();
        let database = instance.database("vlf").unwrap();
        assert_eq!(backup(&instance, &differential(MEDIA)).unwrap_err(), [3035, 3013]);
        let base = backup(&instance, &full(MEDIA)).unwrap();
        change(&mut session, &table, 1).unwrap();
        assert!(database.modified_pages()[&1] > 0);
        let first = backup(&instance, &differential(MEDIA)).unwrap();
        assert_eq!(first.kind, SetKind::Differential);
        let of_first = first.differential_base.unwrap();
        assert_eq!((of_first.guid, of_first.lsn), (base.set_guid, base.checkpoint_lsn));
        assert!(data_bytes(&first) * 2 < data_bytes(&base), "{first:?}");
        // COPY_ONLY moves nothing, and a transaction under way is undone.
        let copy_only = BackupRequest {
            copy_only: true,
            ..full(OTHER_MEDIA)
        };
        backup(&instance, &copy_only).unwrap();
        change(&mut session, &table, 2).unwrap();
        let mut open = instance.open_session().unwrap();
        let pending = create_table(&mut open, &database, "pending");
        insert(&mut open, &pending, 1, 1);
        let second = backup(&instance, &differential(MEDIA)).unwrap();
        assert_eq!(second.differential_base.unwrap().guid, base.set_guid);
        let at_second = content(&instance, "vlf");
        change(&mut session, &table, 3).unwrap();
        let log = BackupRequest {
            kind: BackupKind::Log,
            ..full(MEDIA)
        };
        backup(&instance, &log).unwrap();
        let at_end = content(&instance, "vlf");
        let no_recovery = AfterRestore::NoRecovery;
        assert_eq!(restore_data(&instance, (MEDIA, 2), no_recovery), Err(vec![3118, 3013]));
        restore_data(&instance, (OTHER_MEDIA, 1), no_recovery).unwrap();
        assert_eq!(restore_data(&instance, (MEDIA, 2), no_recovery), Err(vec![3136, 3013]));
        restore_data(&instance, (MEDIA, 1), no_recovery).unwrap();
        restore_data(&instance, (MEDIA, 3), AfterRestore::Recovery).unwrap();
        assert_eq!(content(&instance, "copy"), at_second);
        assert!(
            instance
                .database("copy")
                .unwrap()
                .catalog
                .find("dbo", "pending", 0)
                .is_none()
        );
        assert_eq!(restore_data(&instance, (MEDIA, 3), no_recovery), Err(vec![3117, 3013]));
        drop_copy(&instance);
        // One after the other, and the log behind the second; the first comes too late then.
        restore_data(&instance, (MEDIA, 1), no_recovery).unwrap();
        restore_data(&instance, (MEDIA, 2), no_recovery).unwrap();
        restore_data(&instance, (MEDIA, 3), no_recovery).unwrap();
        assert_eq!(restore_data(&instance, (MEDIA, 2), no_recovery), Err(vec![3136, 3013]));
        restore(&instance, (MEDIA, 4), RestoreKind::Log, AfterRestore::Recovery).unwrap();
        assert_eq!(content(&instance, "copy"), at_end);
        // The next full backup is the next base.
        let next = backup(&instance, &full(OTHER_MEDIA)).unwrap();
        let third = backup(&instance, &differential(MEDIA)).unwrap();
        assert_eq!(third.differential_base.unwrap().guid, next.set_guid);
        assert_ne!(next.set_guid, base.set_guid);
        drop_copy(&instance);
        restore_data(&instance, (MEDIA, 1), no_recovery).unwrap();
        assert_eq!(restore_data(&instance, (MEDIA, 5), no_recovery), Err(vec![3136, 3013]));
    }
}

fn drop_copy(instance: &Arc<Instance>) {
    let session = instance.open_session().unwrap();
    instance.drop_database("copy", &session).unwrap();
}

/// A full backup of a restored database need not come first: what was restored is its base.
#[test]
fn the_map_outlives_restarts_and_a_restored_database_has_the_base_that_was_restored() {
    for policy in POLICIES {
        let disk = SimDisk::new(43);
        let instance = start(&disk, policy());
        let (mut session, table) = create(&instance, 4_000).unwrap();
        let base = backup(&instance, &full(MEDIA)).unwrap();
        change(&mut session, &table, 1).unwrap();
        drop((session, table));
        instance.database("vlf").unwrap().checkpoint().unwrap();
        instance.shutdown(false).unwrap();
        drop(instance);
        let instance = start(&disk, policy());
        let made = backup(&instance, &differential(MEDIA)).unwrap();
        assert!(data_bytes(&made) * 2 < data_bytes(&base), "{made:?}");
        assert_eq!(made.differential_base.unwrap().guid, base.set_guid);
        restore_data(&instance, (MEDIA, 1), AfterRestore::Recovery).unwrap();
        let copy = instance.database("copy").unwrap();
        assert_eq!(copy.boot().change_base, base.set_guid);
        assert!(copy.check().unwrap().is_empty());
    }
}

/// What CHECKDB would say if a page were written without its mark.
#[test]
fn a_page_that_was_written_and_is_not_marked_is_found() {
    let disk = SimDisk::new(47);
    let instance = start(&disk, LogPolicy::native());
    let (mut session, table) = create(&instance, 10).unwrap();
    let base = backup(&instance, &full(MEDIA)).unwrap();
    change(&mut session, &table, 1).unwrap();
    let database = instance.database("vlf").unwrap();
    database.checkpoint().unwrap();
    assert!(database.check().unwrap().is_empty());
    database.storage.files.changes().keep(Some(ChangeBase {
        guid: base.set_guid,
        since: base.last_lsn,
    }));
    let report = database.check().unwrap();
    assert!(!report.allocation.is_empty());
    assert!(
        report.allocation.iter().all(|finding| finding.number == 2515),
        "{report:?}"
    );
}

/// Pages reach their file before a checkpoint that would write the map; then the power goes, and redo has nothing to do for them. No page is
/// new: redo makes those from the log and writes them again, whatever the file has.
#[test]
fn what_was_written_before_a_power_cut_and_after_the_map_is_marked_by_redo() {
    for policy in POLICIES {
        let disk = SimDisk::new(61);
        let instance = start(&disk, policy());
        let (mut session, table) = create(&instance, 60).unwrap();
        backup(&instance, &full(MEDIA)).unwrap();
        update(&mut session, &table, "b", 1).unwrap();
        session.commit().unwrap();
        let storage = instance.database("vlf").unwrap().storage.clone();
        assert!(storage.pool.flush_database(storage.id, None).unwrap() > 0);
        std::mem::forget(instance);
        let after = start(&disk.after_power_cut(CutPolicy::AllLost, 1), policy());
        assert!(compare_after_cut(&after, 0));
    }
}

/// Two full backups, a differential one and changes between them.
fn workload(instance: &Arc<Instance>) -> Result<(), Refused> {
    let of = |error: engine::error::Error| vec![error.number];
    let (mut session, table) = create(instance, 60).map_err(of)?;
    backup(instance, &full(MEDIA))?;
    for round in 1..=8 {
        change(&mut session, &table, round).map_err(of)?;
        let database = instance.database("vlf").map_err(of)?;
        match round {
            2 | 6 => database.checkpoint().map_err(of)?,
            3 => drop(backup(instance, &differential(MEDIA))?),
            4 => database.indirect_checkpoint(1).map_err(of)?,
            5 => drop(backup(instance, &full(OTHER_MEDIA))?),
            _ => {}
        }
    }
    Ok(())
}

/// After a power cut the map has everything: base and a differential backup of now are the database as it is.
fn compare_after_cut(instance: &Arc<Instance>, cut: u64) -> bool {
    let Ok(database) = instance.database("vlf") else {
        return false;
    };
    let base = database.boot().change_base;
    let live = content(instance, "vlf");
    if base == [0; 16] {
        assert_eq!(
            backup(instance, &differential("c:\\after.bak")).unwrap_err(),
            [3035, 3013]
        );
        return false;
    }
    let position = |path: &'static str| {
        let sets = instance.backup_headers(&[path.to_owned()]).ok()?;
        let place = sets.iter().position(|set| set.set_guid == base)?;
        Some((path, place as u32 + 1))
    };
    let found = position(MEDIA).or_else(|| position(OTHER_MEDIA));
    let of_base = found.unwrap_or_else(|| panic!("cut {cut}: the base is in no set"));
    backup(instance, &differential("c:\\after.bak")).unwrap();
    restore_data(instance, of_base, AfterRestore::NoRecovery).unwrap();
    restore_data(instance, ("c:\\after.bak", 1), AfterRestore::Recovery).unwrap();
    assert_eq!(content(instance, "copy"), live, "cut {cut}");
    true
}

#[test]
fn no_change_is_missing_from_a_differential_backup_after_a_power_cut() {
    let sample = workbench::sample("operations with a power cut", 11);
    let (mut points, mut compared) = (0, 0);
    for policy in POLICIES {
        let whole = SimDisk::new(53);
        let instance = start(&whole, policy());
        let before = whole.operation_count();
        workload(&instance).unwrap();
        let total = whole.operation_count();
        drop(instance);
        for cut in (before + 1..=total).step_by(sample.one_in) {
            let disk = SimDisk::new(53);
            let instance = start(&disk, policy());
            disk.power_cut_at(cut);
            let outcome = workload(&instance);
            assert!(
                outcome.is_err() || disk.power_is_cut(),
                "the power was not cut at {cut} of {total}"
            );
            std::mem::forget(instance);
            let after = start(&disk.after_power_cut(cut_policy(cut), cut), policy());
            compared += u64::from(compare_after_cut(&after, cut));
            points += 1;
        }
    }
    sample.count(points);
    assert!(compared * 3 > points, "{compared} of {points}");
}

/// A differential set that was copied in part leaves pages of two moments: nothing but the set goes on from there.
#[test]
fn a_power_cut_in_the_restore_of_a_differential_backup_leaves_a_database_that_takes_it_again() {
    let sample = workbench::sample("operations of a restore with a power cut", 13);
    let (mut points, mut interrupted) = (0, 0);
    for policy in POLICIES {
        let prepare = |disk: &SimDisk| {
            let instance = start(disk, policy());
            let (mut session, table) = create(&instance, 60).unwrap();
            backup(&instance, &full(MEDIA)).unwrap();
            let at_base = content(&instance, "vlf");
            change(&mut session, &table, 1).unwrap();
            backup(&instance, &differential(MEDIA)).unwrap();
            restore_data(&instance, (MEDIA, 1), AfterRestore::NoRecovery).unwrap();
            let live = content(&instance, "vlf");
            (instance, at_base, live)
        };
        let whole = SimDisk::new(59);
        let (instance, ..) = prepare(&whole);
        let before = whole.operation_count();
        restore_data(&instance, (MEDIA, 2), AfterRestore::NoRecovery).unwrap();
        let total = whole.operation_count();
        drop(instance);
        for cut in (before + 1..=total).step_by(sample.one_in) {
            let disk = SimDisk::new(59);
            let (instance, at_base, live) = prepare(&disk);
            disk.power_cut_at(cut);
            let outcome = restore_data(&instance, (MEDIA, 2), AfterRestore::NoRecovery);
            assert!(
                outcome.is_err() || disk.power_is_cut(),
                "the power was not cut at {cut} of {total}"
            );
            std::mem::forget(instance);
            let after = start(&disk.after_power_cut(cut_policy(cut), cut), policy());
            points += 1;
            if points % 2 == 0 {
                match restore_data(&after, ("", 1), AfterRestore::Recovery) {
                    Ok(()) => {
                        let found = content(&after, "copy");
                        assert!(found == at_base || found == live, "cut {cut}: {found:?}");
                        continue;
                    }
                    Err(numbers) => assert_eq!(numbers, [4319, 3013], "cut {cut}"),
                }
                interrupted += 1;
            }
            restore_data(&after, (MEDIA, 2), AfterRestore::Recovery).unwrap();
            assert_eq!(content(&after, "copy"), live, "cut {cut}");
        }
    }
    sample.count(points);
    assert!(interrupted > 0, "no cut of {points} came while pages were copied");
}
