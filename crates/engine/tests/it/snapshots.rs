//! Database snapshots show the old state of the database whatever happens to it and whenever the power is cut, and the base goes on if a
//! page cannot be copied.
//!
//! Depth: one operation in 13, of a revert one in 7; deep: every one.
#![allow(clippy::unwrap_used)]

use crate::support;

use disk::sim::{CutPolicy, FaultError, OperationKind, Repetition, SimDisk};
use engine::backup::{BackupKind, BackupRequest};
use engine::database::{Database, ReuseWait};
use engine::error::Result;
use engine::instance::{CreateSnapshot, Instance, Work};
use engine::log::LogPolicy;
use engine::session::{Session, Table};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use support::*;

const POLICIES: [fn() -> LogPolicy; 2] = [LogPolicy::classic, LogPolicy::native];

type Rows = Vec<(i32, i32)>;

fn snapshot_of(name: &str, base: &str) -> CreateSnapshot {
    CreateSnapshot {
        name: name.into(),
        base: base.into(),
        files: vec![(base.into(), format!("c:\\{name}.ss"))],
    }
}

fn make(instance: &Arc<Instance>, name: &str) -> Result<Arc<Database>> {
    instance.create_snapshot(&snapshot_of(name, "vlf"))
}

fn drop_database(instance: &Arc<Instance>, name: &str) -> Result<()> {
    let session = instance.open_session()?;
    instance.drop_database(name, &session)
}

/// All rows of the two tables there may be, from a database that CHECKDB finds whole.
fn content(database: &Arc<Database>) -> Rows {
    let report = database.check().unwrap();
    assert!(report.is_empty(), "{}: {report:?}", database.name());
    let mut found = Vec::new();
    for table in ["t", "later"] {
        if let Some(table) = open_table_if_there(database, table) {
            found.extend(all(database, &table));
        }
    }
    found.sort_unstable();
    found
}

/// Rows without locks of a session: of a snapshot, or where nobody writes.
fn all(database: &Arc<Database>, table: &Table) -> Rows {
    let mut scan = table
        .scan(database.internal_locks(), engine::store::ReadMode::Uncommitted)
        .unwrap();
    let mut rows = Vec::new();
    while scan.next_batch().unwrap() {
        for index in 0..scan.len() {
            let row = scan.row(index).unwrap();
            let number = |column| table.layout().column(row, column).unwrap().as_i64().unwrap() as i32;
            rows.push((number(0), number(2)));
        }
    }
    drop(scan);
    database.internal_locks().release_all();
    rows
}

fn create(instance: &Arc<Instance>, row_count: i32) -> Result<(Session, Table)> {
    let database = instance.create_database(&statement("vlf", 1 << 20, 64 << 20))?;
    let mut session = instance.open_session()?;
    let object = session.create_table(&database, table_definition("t"))?;
    let table = Table::open(&database, &object)?;
    for number in 0..row_count {
        try_insert(&mut session, &table, number, 0)?;
    }
    session.commit()?;
    Ok((session, table))
}

fn change(session: &mut Session, table: &Table, round: i32) -> Result<()> {
    try_insert(session, table, 10_000 + round, round)?;
    update(session, table, if round % 2 == 0 { "a" } else { "b" }, round)?;
    session.commit()
}

#[test]
fn a_snapshot_shows_its_base_as_it_was_without_what_was_not_committed() {
    for policy in POLICIES {
        let disk = SimDisk::new(71);
        let instance = start(&disk, policy());
        let (mut session, table) = create(&instance, 40).unwrap();
        let base = instance.database("vlf").unwrap();
        let committed = content(&base);
        // Under way at the moment: rows of before the checkpoint and of behind it, a table, and rows that are gone.
        let mut open = instance.open_session().unwrap();
        let pending = create_table(&mut open, &base, "pending");
        insert(&mut open, &pending, 1, 1);
        update(&mut open, &table, "z", 99).unwrap();
        base.checkpoint().unwrap();
        try_insert(&mut open, &table, 77_777, 99).unwrap();
        let first = make(&instance, "first").unwrap();
        assert_eq!(content(&first), committed);
        assert!(first.catalog.find("dbo", "pending", 0).is_none());
        open.roll_back().unwrap();
        change(&mut session, &table, 1).unwrap();
        base.checkpoint().unwrap();
        let second = make(&instance, "second").unwrap();
        let at_second = content(&base);
        for round in 2..6 {
            change(&mut session, &table, round).unwrap();
            base.checkpoint().unwrap();
        }
        let object = session.create_table(&base, table_definition("later")).unwrap();
        try_insert(&mut session, &Table::open(&base, &object).unwrap(), 5, 5).unwrap();
        session.commit().unwrap();
        base.checkpoint().unwrap();
        assert_eq!(content(&first), committed);
        assert_eq!(content(&second), at_second);
        assert_ne!(content(&base), at_second);
        // What is kept is what was changed, and none of it twice.
        let sparse = |database: &Database| database.storage.files.information()[0].sparse_bytes.unwrap();
        let whole = base.storage.files.information()[0].page_count as u64 * 8192;
        assert!(sparse(&first) < whole && sparse(&second) < whole, "{whole}");
        drop((open, session, table, pending, base, first, second));
        instance.shutdown(false).unwrap();
        drop(instance);
        let instance = start(&disk, policy());
        assert_eq!(content(&instance.database("first").unwrap()), committed);
        assert_eq!(content(&instance.database("second").unwrap()), at_second);
    }
}

#[test]
fn what_a_snapshot_and_its_base_refuse_has_numbers() {
    let disk = SimDisk::new(72);
    let instance = start(&disk, LogPolicy::native());
    let (mut session, table) = create(&instance, 3).unwrap();
    let number = |statement: CreateSnapshot| instance.create_snapshot(&statement).map(|_| ()).unwrap_err().number;
    assert_eq!(number(snapshot_of("s", "none")), 911);
    assert_eq!(number(snapshot_of("s", "master")), 1816);
    assert_eq!(number(snapshot_of("vlf", "vlf")), 1801);
    let files = |files: &[(&str, &str)]| CreateSnapshot {
        files: files
            .iter()
            .map(|(name, path)| (name.to_string(), path.to_string()))
            .collect(),
        ..snapshot_of("s", "vlf")
    };
    assert_eq!(number(files(&[])), 5127);
    assert_eq!(number(files(&[("vlf_log", "c:\\s.ss")])), 5014);
    assert_eq!(number(files(&[("vlf", "c:\\vlf.mdf")])), 5170);
    let snapshot = make(&instance, "s").unwrap();
    assert_eq!(number(snapshot_of("s", "vlf")), 1801);
    assert_eq!(number(snapshot_of("t", "s")), 1821);
    let of_snapshot = open_table(&snapshot, "t");
    let refused = try_insert(&mut session, &of_snapshot, 1, 1).unwrap_err();
    assert_eq!(refused.number, 3906);
    session.roll_back().unwrap();
    assert_eq!(drop_database(&instance, "vlf").unwrap_err().number, 3709);
    assert_eq!(instance.alter("s", Work::Alter).map(|_| ()).unwrap_err().number, 5093);
    assert_eq!(instance.rename_database("s", "r").unwrap_err().number, 5093);
    let other = instance.open_session().unwrap();
    assert_eq!(instance.take_offline("vlf", &other).unwrap_err().number, 5094);
    let request = BackupRequest {
        kind: BackupKind::Database,
        path: "c:\\s.bak".into(),
        ..BackupRequest::default()
    };
    let backed_up = instance.backup("s", &request, &other, &mut |_| Ok(()));
    assert_eq!(backed_up.map(|_| ()).unwrap_err()[0].number, 3002);
    instance.backup("vlf", &request, &other, &mut |_| Ok(())).unwrap();
    drop((snapshot, of_snapshot));
    drop_database(&instance, "s").unwrap();
    assert!(
        disk::Disk::len(&disk, std::path::Path::new("/instance/c/s.ss"))
            .unwrap()
            .is_none()
    );
    change(&mut session, &table, 1).unwrap();
    drop((session, table));
    drop_database(&instance, "vlf").unwrap();
}

/// While the base's log is read for a snapshot, the log is kept for it: afterwards nothing is.
#[test]
fn the_log_is_held_while_a_snapshot_is_made_and_no_longer() {
    let disk = SimDisk::new(73);
    let seam = support::seam::SeamDisk::new(disk.clone());
    let mut environment = environment(&disk);
    environment.disk = seam.clone();
    let instance = Instance::start(options(LogPolicy::native()), environment).unwrap();
    let (mut session, table) = create(&instance, 10).unwrap();
    let base = instance.database("vlf").unwrap();
    let (watched, seen) = (base.clone(), Arc::new(std::sync::Mutex::new(Vec::new())));
    let noted = seen.clone();
    // The log of the snapshot is made when the moment is over.
    seam.set_hook("s.ss.undo", move |_| {
        let (point, reason) = watched.truncation_point();
        noted.lock().unwrap().push((point, reason));
    });
    make(&instance, "s").unwrap();
    seam.clear_hook();
    let seen = seen.lock().unwrap().clone();
    assert!(
        seen.iter()
            .any(|(_, reason)| *reason == ReuseWait::DatabaseSnapshotCreation),
        "{seen:?}"
    );
    change(&mut session, &table, 1).unwrap();
    base.checkpoint().unwrap();
    assert_ne!(base.truncation_point().1, ReuseWait::DatabaseSnapshotCreation);
}

/// The snapshot is given up durably before its base is written, so it is not believed after a restart either.
#[test]
fn a_snapshot_that_cannot_keep_a_page_is_suspect_and_its_base_goes_on() {
    for error in [FaultError::NoSpace, FaultError::Io] {
        let disk = SimDisk::new(74);
        let instance = start(&disk, LogPolicy::native());
        let (mut session, table) = create(&instance, 40).unwrap();
        let kept = make(&instance, "kept").unwrap();
        let at_moment = content(&kept);
        let lost = make(&instance, "lost").unwrap();
        disk.fail_next(OperationKind::Write, "lost.ss", 1, error, Repetition::Once);
        for round in 1..4 {
            change(&mut session, &table, round).unwrap();
            instance.database("vlf").unwrap().checkpoint().unwrap();
        }
        assert_eq!(instance.database("lost").map(|_| ()).unwrap_err().number, 926);
        drop(lost);
        assert_eq!(content(&kept), at_moment);
        let now = content(&instance.database("vlf").unwrap());
        std::mem::forget((session, table, kept));
        std::mem::forget(instance);
        let disk = disk.after_power_cut(CutPolicy::AllLost, 3);
        let instance = start(&disk, LogPolicy::native());
        assert_eq!(instance.database("lost").map(|_| ()).unwrap_err().number, 926);
        assert_eq!(content(&instance.database("kept").unwrap()), at_moment);
        assert_eq!(content(&instance.database("vlf").unwrap()), now);
        drop_database(&instance, "lost").unwrap();
        drop_database(&instance, "kept").unwrap();
        drop_database(&instance, "vlf").unwrap();
    }
}

/// A file that is missing at a start may come back later: by then its base has gone on, so it is not believed.
#[test]
fn a_snapshot_whose_file_is_missing_at_a_start_is_suspect_for_good() {
    use disk::Disk;
    let disk = SimDisk::new(75);
    let instance = start(&disk, LogPolicy::native());
    let (session, table) = create(&instance, 10).unwrap();
    make(&instance, "s").unwrap();
    drop((session, table));
    instance.shutdown(false).unwrap();
    drop(instance);
    let (place, away) = (
        std::path::Path::new("/instance/c/s.ss"),
        std::path::Path::new("/instance/c/away.ss"),
    );
    disk.rename(place, away).unwrap();
    let instance = start(&disk, LogPolicy::native());
    assert_eq!(instance.database("s").map(|_| ()).unwrap_err().number, 926);
    instance.database("vlf").unwrap();
    instance.shutdown(false).unwrap();
    drop(instance);
    disk.rename(away, place).unwrap();
    let instance = start(&disk, LogPolicy::native());
    assert_eq!(instance.database("s").map(|_| ()).unwrap_err().number, 926);
    drop_database(&instance, "s").unwrap();
}

/// Readers of a snapshot find every page as it was while the base overwrites it.
#[test]
fn readers_of_a_snapshot_and_writers_of_its_base_go_side_by_side() {
    let disk = SimDisk::new(76);
    let mut small = options(LogPolicy::native());
    // Fewer frames than pages: both are read and written again and again.
    small.max_server_memory_bytes = 512 << 10;
    let instance = Instance::start(small, environment(&disk)).unwrap();
    let (mut session, table) = create(&instance, 60).unwrap();
    let snapshot = make(&instance, "s").unwrap();
    let expected = content(&snapshot);
    let stop = Arc::new(AtomicBool::new(false));
    let reader = {
        let (stop, snapshot, expected) = (stop.clone(), snapshot.clone(), expected.clone());
        std::thread::spawn(move || {
            let table = open_table(&snapshot, "t");
            let mut rounds = 0;
            while !stop.load(Ordering::Relaxed) || rounds == 0 {
                let mut found = all(&snapshot, &table);
                found.sort_unstable();
                assert_eq!(found, expected);
                rounds += 1;
            }
        })
    };
    for round in 1..20 {
        change(&mut session, &table, round).unwrap();
        instance.database("vlf").unwrap().checkpoint().unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    reader.join().unwrap();
    assert_eq!(content(&snapshot), expected);
}

/// On a file system of the machine's own a snapshot takes what was changed, whatever the length of its file says.
#[test]
fn the_file_of_a_snapshot_has_holes_on_a_real_file_system() {
    use std::os::unix::fs::MetadataExt;
    let folder = std::env::temp_dir().join(format!("vlflab-snapshots-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let begin = || {
        let mut environment = environment(&SimDisk::new(1));
        environment.disk = Arc::new(disk::ConfinedDisk::new(vec![folder.clone()]));
        let options = engine::instance::InstanceOptions {
            folder: folder.clone(),
            ..options(LogPolicy::native())
        };
        Instance::start(options, environment).unwrap()
    };
    let instance = begin();
    let (mut session, table) = create(&instance, 20).unwrap();
    let snapshot = make(&instance, "s").unwrap();
    let expected = content(&snapshot);
    change(&mut session, &table, 1).unwrap();
    instance.database("vlf").unwrap().checkpoint().unwrap();
    let file = std::fs::metadata(folder.join("c/s.ss")).unwrap();
    assert!(
        file.blocks() * 512 * 2 < file.len(),
        "{} of {}",
        file.blocks() * 512,
        file.len()
    );
    assert_eq!(content(&snapshot), expected);
    drop((session, table, snapshot));
    instance.shutdown(false).unwrap();
    drop(instance);
    let instance = begin();
    assert_eq!(content(&instance.database("s").unwrap()), expected);
    let session = instance.open_session().unwrap();
    instance.revert_database("vlf", "s", &session).unwrap();
    assert_eq!(content(&instance.database("vlf").unwrap()), expected);
    drop((session, instance));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Snapshots made and dropped between changes, with a transaction under way. Answers what each has to show, as far as it came.
fn workload(instance: &Arc<Instance>, shown: &mut BTreeMap<String, Rows>) -> Result<()> {
    let (mut session, table) = create(instance, 30)?;
    let base = instance.database("vlf")?;
    let mut made = |instance: &Arc<Instance>, name: &str| -> Result<()> {
        // Nothing is under way in this table.
        let mut rows = all(&base, &table);
        rows.sort_unstable();
        shown.insert(format!("{name}?"), rows.clone());
        make(instance, name)?;
        shown.insert(name.to_string(), rows);
        Ok(())
    };
    change(&mut session, &table, 1)?;
    made(instance, "one")?;
    change(&mut session, &table, 2)?;
    let mut open = instance.open_session()?;
    let pending = open.create_table(&base, table_definition("pending"))?;
    try_insert(&mut open, &Table::open(&base, &pending)?, 1, 1)?;
    base.checkpoint()?;
    change(&mut session, &table, 3)?;
    made(instance, "two")?;
    change(&mut session, &table, 4)?;
    base.checkpoint()?;
    drop_database(instance, "one")?;
    shown.insert("one-dropped".into(), Vec::new());
    open.roll_back()?;
    change(&mut session, &table, 5)?;
    base.indirect_checkpoint(2)?;
    change(&mut session, &table, 6)?;
    base.checkpoint()
}

/// Every snapshot that was made is there and shows what it has to; one that was being made is so or is not there.
fn compare(instance: &Arc<Instance>, shown: &BTreeMap<String, Rows>, cut: u64) -> u64 {
    let mut compared = 0;
    for name in ["one", "two"] {
        let is_dropped = shown.contains_key(&format!("{name}-dropped"));
        let found = instance.database(name);
        if shown.contains_key(name) && name != "one" {
            assert!(found.is_ok(), "cut {cut}: {name} is gone or closed: {:?}", found.err());
        }
        match found {
            Ok(found) => {
                assert!(!is_dropped, "cut {cut}: {name} was dropped");
                let expected = shown.get(&format!("{name}?"));
                assert_eq!(Some(&content(&found)), expected, "cut {cut}: {name}");
                compared += 1;
            }
            Err(error) => assert_eq!(error.number, 911, "cut {cut}: {name}: {error}"),
        }
    }
    compared
}

#[test]
fn snapshots_show_what_they_showed_after_a_power_cut_at_any_operation() {
    let sample = workbench::sample("operations with a power cut", 13);
    let (mut points, mut compared) = (0, 0);
    for policy in POLICIES {
        let whole = SimDisk::new(77);
        let instance = start(&whole, policy());
        let before = whole.operation_count();
        workload(&instance, &mut BTreeMap::new()).unwrap();
        let total = whole.operation_count();
        drop(instance);
        for cut in (before + 1..=total).step_by(sample.one_in) {
            let disk = SimDisk::new(77);
            let instance = start(&disk, policy());
            disk.power_cut_at(cut);
            let mut shown = BTreeMap::new();
            let outcome = workload(&instance, &mut shown);
            assert!(
                outcome.is_err() || disk.power_is_cut(),
                "the power was not cut at {cut} of {total}"
            );
            std::mem::forget(instance);
            let disk = disk.after_power_cut(cut_policy(cut), cut);
            let instance = start(&disk, policy());
            compared += compare(&instance, &shown, cut);
            // The base goes on, and so does what is kept of it; then the power goes again.
            if let Ok(base) = instance.database("vlf")
                && let Some(table) = open_table_if_there(&base, "t")
            {
                let mut session = instance.open_session().unwrap();
                change(&mut session, &table, 9).unwrap();
                base.checkpoint().unwrap();
                compare(&instance, &shown, cut);
                change(&mut session, &table, 10).unwrap();
                std::mem::forget((session, table, base));
            }
            std::mem::forget(instance);
            let again = start(&disk.after_power_cut(cut_policy(cut + 1), cut), policy());
            compare(&again, &shown, cut);
            points += 1;
        }
    }
    sample.count(points);
    assert!(compared * 4 > points, "{compared} of {points}");
}

/// Until a revert is acknowledged the database is what it was or what the snapshot shows; from the moment it begins to write, it is the latter
/// at the next start.
#[test]
fn a_power_cut_in_a_revert_leaves_the_database_of_before_or_that_of_the_snapshot() {
    let sample = workbench::sample("operations of a revert with a power cut", 7);
    let (mut points, mut reverted) = (0, 0);
    for policy in POLICIES {
        let prepare = |disk: &SimDisk| {
            let instance = start(disk, policy());
            let (mut session, table) = create(&instance, 40).unwrap();
            let at_moment = content(&make(&instance, "s").unwrap());
            // More than it was: the file grows, too.
            for number in 0..1_100 {
                try_insert(&mut session, &table, 20_000 + number, 1).unwrap();
            }
            session.commit().unwrap();
            change(&mut session, &table, 1).unwrap();
            let base = instance.database("vlf").unwrap();
            base.checkpoint().unwrap();
            let now = content(&base);
            (instance, at_moment, now)
        };
        let revert = |instance: &Arc<Instance>| {
            let session = instance.open_session()?;
            instance.revert_database("vlf", "s", &session)
        };
        let whole = SimDisk::new(78);
        let (instance, at_moment, now) = prepare(&whole);
        assert_ne!(at_moment, now);
        let before = whole.operation_count();
        revert(&instance).unwrap();
        let total = whole.operation_count();
        assert_eq!(content(&instance.database("vlf").unwrap()), at_moment);
        drop(instance);
        for cut in (before + 1..=total).step_by(sample.one_in) {
            let disk = SimDisk::new(78);
            let (instance, ..) = prepare(&disk);
            disk.power_cut_at(cut);
            let outcome = revert(&instance);
            assert!(
                outcome.is_err() || disk.power_is_cut(),
                "the power was not cut at {cut} of {total}"
            );
            std::mem::forget(instance);
            // The next start is cut off as well, somewhere in what it has to end.
            let disk = disk.after_power_cut(cut_policy(cut), cut);
            let started = disk.operation_count();
            disk.power_cut_at(started + 1 + cut % 60);
            std::mem::forget(Instance::start(options(policy()), environment(&disk)));
            let disk = disk.after_power_cut(cut_policy(cut + 1), cut);
            let instance = start(&disk, policy());
            let base = instance.database("vlf").unwrap();
            let found = content(&base);
            assert!(found == at_moment || found == now && outcome.is_err(), "cut {cut}");
            assert_eq!(content(&instance.database("s").unwrap()), at_moment, "cut {cut}");
            reverted += u64::from(found == at_moment);
            // It goes on from there, and can be reverted again.
            let mut session = instance.open_session().unwrap();
            let table = open_table(&base, "t");
            change(&mut session, &table, 2).unwrap();
            drop((session, table, base));
            revert(&instance).unwrap();
            assert_eq!(content(&instance.database("vlf").unwrap()), at_moment, "cut {cut}");
            points += 1;
        }
    }
    sample.count(points);
    assert!(reverted * 2 > points, "{reverted} of {points}");
}
