//! A copy of a database is a database of its own: it and its source are written independently, both keep what was acknowledged whenever the
//! power is cut, and the source goes on if a page cannot be kept for a copy.
//!
//! Depth: one operation in 17; deep: every one.
#![allow(clippy::unwrap_used)]

use crate::support;

use disk::sim::{CutPolicy, FaultError, OperationKind, Repetition, SimDisk};
use engine::backup::{AfterRestore, BackupKind, BackupRequest, RestoreKind, RestoreRequest};
use engine::database::Database;
use engine::error::Result;
use engine::instance::{CreateCopy, CreateSnapshot, Instance, Work};
use engine::log::LogPolicy;
use engine::session::{Session, Table};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use support::*;

const POLICIES: [fn() -> LogPolicy; 2] = [LogPolicy::classic, LogPolicy::native];
const PAGE_BYTES: u64 = 8192;

type Rows = Vec<(i32, i32)>;

fn copy_of(name: &str, source: &str) -> CreateCopy {
    CreateCopy {
        name: name.into(),
        source: source.into(),
        files: vec![
            ("vlf".into(), format!("c:\\{name}.mdf")),
            ("vlf_log".into(), format!("c:\\{name}_log.ldf")),
        ],
        bytes_max: None,
    }
}

fn make(instance: &Arc<Instance>, name: &str) -> Result<Arc<Database>> {
    instance.create_copy(&copy_of(name, "vlf"))
}

fn drop_database(instance: &Arc<Instance>, name: &str) -> Result<()> {
    let session = instance.open_session()?;
    instance.drop_database(name, &session)
}

/// All rows, from a database that CHECKDB finds whole.
fn content(database: &Arc<Database>) -> Rows {
    let report = database.check().unwrap();
    assert!(report.is_empty(), "{}: {report:?}", database.name());
    all(database, &open_table(database, "t"))
}

/// Rows without locks of a session, where nobody else writes.
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
    rows.sort_unstable();
    rows
}

fn create(instance: &Arc<Instance>, row_count: i32) -> Result<Arc<Database>> {
    let database = instance.create_database(&statement("vlf", 1 << 20, 64 << 20))?;
    let mut session = instance.open_session()?;
    let object = session.create_table(&database, table_definition("t"))?;
    let table = Table::open(&database, &object)?;
    for number in 0..row_count {
        try_insert(&mut session, &table, number, 0)?;
    }
    session.commit()?;
    Ok(database)
}

/// A row more, and every row changed. Not committed.
fn change(session: &mut Session, table: &Table, round: i32) -> Result<()> {
    try_insert(session, table, 10_000 + round, round)?;
    update(session, table, if round % 2 == 0 { "a" } else { "b" }, round)
}

fn change_and_commit(instance: &Arc<Instance>, database: &Arc<Database>, round: i32) -> Result<()> {
    let mut session = instance.open_session()?;
    change(&mut session, &open_table(database, "t"), round)?;
    session.commit()
}

fn is_there(disk: &SimDisk, path: &str) -> bool {
    let path = std::path::Path::new("/instance/c").join(path);
    disk::Disk::len(disk, &path).unwrap().is_some()
}

#[test]
fn a_copy_and_its_source_are_written_independently_and_survive_a_restart() {
    for policy in POLICIES {
        let disk = SimDisk::new(171);
        let instance = start(&disk, policy());
        let source = create(&instance, 40).unwrap();
        let committed = content(&source);
        // Under way at the moment: rows of before the checkpoint and of behind it, and a table.
        let mut open = instance.open_session().unwrap();
        create_table(&mut open, &source, "pending");
        let table = open_table(&source, "t");
        update(&mut open, &table, "z", 99).unwrap();
        source.checkpoint().unwrap();
        try_insert(&mut open, &table, 77_777, 99).unwrap();
        let copy = make(&instance, "one").unwrap();
        assert_eq!(content(&copy), committed);
        assert!(copy.catalog.find("dbo", "pending", 0).is_none());
        assert!(!copy.is_snapshot() && copy.entry().guid != source.entry().guid);
        open.roll_back().unwrap();
        for round in 1..6 {
            change_and_commit(&instance, &copy, round).unwrap();
            copy.checkpoint().unwrap();
            assert_eq!(content(&source), committed, "the source does not change with the copy");
        }
        let of_copy = content(&copy);
        for round in 20..25 {
            change_and_commit(&instance, &source, round).unwrap();
            source.checkpoint().unwrap();
            assert_eq!(content(&copy), of_copy, "the copy does not change with the source");
        }
        let (of_source, second) = (content(&source), make(&instance, "two").unwrap());
        assert_eq!(content(&second), of_source);
        drop((table, open, source, copy, second));
        instance.shutdown(false).unwrap();
        drop(instance);
        let instance = start(&disk, policy());
        for (name, expected) in [("vlf", &of_source), ("one", &of_copy), ("two", &of_source)] {
            assert_eq!(&content(&instance.database(name).unwrap()), expected, "{name}");
        }
        assert_eq!(drop_database(&instance, "vlf").unwrap_err().number, 3709);
        for name in ["one", "two"] {
            drop_database(&instance, name).unwrap();
            let files = [
                format!("{name}.mdf"),
                format!("{name}.mdf.dwb"),
                format!("{name}_log.ldf"),
            ];
            assert!(files.iter().all(|file| !is_there(&disk, file)), "{name}");
        }
        assert_eq!(content(&instance.database("vlf").unwrap()), of_source);
        drop_database(&instance, "vlf").unwrap();
    }
}

#[test]
fn what_a_copy_and_its_source_refuse_has_numbers() {
    let disk = SimDisk::new(172);
    let instance = start(&disk, LogPolicy::native());
    create(&instance, 3).unwrap();
    let number = |statement: CreateCopy| instance.create_copy(&statement).map(|_| ()).unwrap_err().number;
    assert_eq!(number(copy_of("c", "none")), 911);
    assert_eq!(number(copy_of("c", "master")), 1816);
    assert_eq!(number(copy_of("vlf", "vlf")), 1801);
    let files = |files: &[(&str, &str)]| CreateCopy {
        files: files
            .iter()
            .map(|(name, path)| (name.to_string(), path.to_string()))
            .collect(),
        ..copy_of("c", "vlf")
    };
    assert_eq!(number(files(&[("other", "c:\\c.mdf")])), 5014);
    assert_eq!(number(files(&[("vlf", "c:\\vlf.mdf")])), 5170);
    assert_eq!(number(files(&[("vlf", "c:\\c.mdf"), ("VLF", "c:\\d.mdf")])), 1828);
    instance.create_copy(&files(&[])).unwrap();
    assert_eq!(number(copy_of("d", "c")), 1821);
    let snapshot = |name: &str, base: &str| CreateSnapshot {
        name: name.into(),
        base: base.into(),
        files: vec![("vlf".into(), format!("c:\\{name}.ss"))],
    };
    let refused = instance.create_snapshot(&snapshot("s", "c")).map(|_| ()).unwrap_err();
    assert_eq!(refused.number, 1821);
    let session = instance.open_session().unwrap();
    assert_eq!(instance.take_offline("vlf", &session).unwrap_err().number, 5094);
    assert_eq!(drop_database(&instance, "vlf").unwrap_err().number, 3709);
    // A snapshot is possible beside it, but the source cannot become what it shows.
    instance.create_snapshot(&snapshot("s", "vlf")).unwrap();
    assert_eq!(number(copy_of("d", "s")), 1821);
    assert_eq!(instance.revert_database("vlf", "s", &session).unwrap_err().number, 3137);
}

/// What is backed up of a copy is a whole database; nothing is restored over a copy, or over its source.
#[test]
fn a_copy_is_backed_up_taken_offline_and_renamed_as_any_database() {
    let disk = SimDisk::new(182);
    let instance = start(&disk, LogPolicy::native());
    create(&instance, 3).unwrap();
    make(&instance, "c").unwrap();
    let session = instance.open_session().unwrap();
    let request = |path: &str| BackupRequest {
        kind: BackupKind::Database,
        path: path.into(),
        ..BackupRequest::default()
    };
    instance
        .backup("c", &request("c:\\c.bak"), &session, &mut |_| Ok(()))
        .unwrap();
    let restore = |name: &str, moves: Vec<(String, String)>| {
        let request = RestoreRequest {
            kind: RestoreKind::Database,
            path: Some("c:\\c.bak".into()),
            after: AfterRestore::Recovery,
            replace: true,
            moves,
            ..RestoreRequest::default()
        };
        let restored = instance.restore(name, &request, &session, &mut |_| Ok(()));
        restored.map(|_| ()).map_err(|errors| errors[0].number)
    };
    assert_eq!(restore("c", Vec::new()), Err(5093));
    assert_eq!(restore("vlf", Vec::new()), Err(5094));
    let moves =
        [("vlf", "c:\\r.mdf"), ("vlf_log", "c:\\r.ldf")].map(|(file, path)| (file.to_string(), path.to_string()));
    restore("r", moves.to_vec()).unwrap();
    let of_copy = content(&instance.database("c").unwrap());
    assert_eq!(content(&instance.database("r").unwrap()), of_copy);
    drop(instance.alter("c", Work::Alter).unwrap());
    instance.rename_database("c", "renamed").unwrap();
    instance.take_offline("renamed", &session).unwrap();
    // Its source goes on, and keeps pages for it.
    let source = instance.database("vlf").unwrap();
    change_and_commit(&instance, &source, 1).unwrap();
    source.checkpoint().unwrap();
    instance.bring_online("renamed", &session).unwrap();
    assert_eq!(content(&instance.database("renamed").unwrap()), of_copy);
    instance.take_offline("renamed", &session).unwrap();
    drop((session, source));
    instance.shutdown(false).unwrap();
    drop(instance);
    let instance = start(&disk, LogPolicy::native());
    assert_eq!(instance.database("renamed").map(|_| ()).unwrap_err().number, 942);
    let session = instance.open_session().unwrap();
    instance.bring_online("renamed", &session).unwrap();
    assert_eq!(content(&instance.database("renamed").unwrap()), of_copy);
}

/// The copy is given up durably before its source is written, so it is not believed after a restart either.
#[test]
fn a_copy_for_which_a_page_cannot_be_kept_is_suspect_and_its_source_goes_on() {
    for error in [FaultError::NoSpace, FaultError::Io] {
        let disk = SimDisk::new(173);
        let instance = start(&disk, LogPolicy::native());
        let source = create(&instance, 40).unwrap();
        let kept = make(&instance, "kept").unwrap();
        change_and_commit(&instance, &kept, 1).unwrap();
        let of_kept = content(&kept);
        let lost = make(&instance, "lost").unwrap();
        disk.fail_next(OperationKind::Write, "lost.mdf", 1, error, Repetition::Once);
        for round in 1..4 {
            change_and_commit(&instance, &source, round).unwrap();
            source.checkpoint().unwrap();
        }
        assert_eq!(instance.database("lost").map(|_| ()).unwrap_err().number, 926);
        assert_eq!(content(&kept), of_kept);
        let now = content(&source);
        std::mem::forget((source, kept, lost));
        std::mem::forget(instance);
        let disk = disk.after_power_cut(CutPolicy::AllLost, 3);
        let instance = start(&disk, LogPolicy::native());
        assert_eq!(instance.database("lost").map(|_| ()).unwrap_err().number, 926);
        assert_eq!(content(&instance.database("kept").unwrap()), of_kept);
        assert_eq!(content(&instance.database("vlf").unwrap()), now);
        for name in ["lost", "kept", "vlf"] {
            drop_database(&instance, name).unwrap();
        }
    }
}

/// A lost copy is still open, with a log, dirty pages and locks: DROP closes it first. Its log took commits behind the drop.
#[test]
fn a_copy_that_is_lost_is_closed_before_it_is_dropped() {
    let disk = SimDisk::new(175);
    let instance = start(&disk, LogPolicy::native());
    let source = create(&instance, 40).unwrap();
    let lost = make(&instance, "lost").unwrap();
    change_and_commit(&instance, &lost, 1).unwrap();
    disk.fail_next(
        OperationKind::Write,
        "lost.mdf",
        1,
        FaultError::NoSpace,
        Repetition::Once,
    );
    change_and_commit(&instance, &source, 2).unwrap();
    source.checkpoint().unwrap();
    assert_eq!(instance.database("lost").map(|_| ()).unwrap_err().number, 926);
    drop_database(&instance, "lost").unwrap();
    assert!(change_and_commit(&instance, &lost, 3).is_err());
    let again = make(&instance, "lost").unwrap();
    assert_eq!(content(&again), content(&source));
    assert!(again.check().unwrap().is_empty());
}

/// What the copy itself cannot write closes it, as any database; opened again it has all that was acknowledged, and its source never noticed.
#[test]
fn a_copy_that_cannot_write_a_page_is_recovered_when_it_is_opened_again() {
    for error in [FaultError::NoSpace, FaultError::Io] {
        let disk = SimDisk::new(174);
        let instance = start(&disk, LogPolicy::native());
        let source = create(&instance, 20).unwrap();
        let copy = make(&instance, "c").unwrap();
        change_and_commit(&instance, &copy, 1).unwrap();
        let acknowledged = content(&copy);
        disk.fail_next(OperationKind::Write, "c.mdf", 1, error, Repetition::Once);
        let failed = copy.checkpoint().unwrap_err();
        assert_eq!(failed.number, 823, "the fault happened");
        change_and_commit(&instance, &source, 5).unwrap();
        source.checkpoint().unwrap();
        drop(copy);
        drop(source);
        std::mem::forget(instance);
        let disk = disk.after_power_cut(CutPolicy::RandomSectors, 4);
        let instance = start(&disk, LogPolicy::native());
        assert_eq!(content(&instance.database("c").unwrap()), acknowledged);
    }
}

/// After a sync that failed nobody knows what is on the disk: the source must not trust the copy's own writes to have saved a page.
#[test]
fn a_copy_whose_sync_failed_is_not_believed_once_its_source_has_gone_on() {
    let disk = SimDisk::new(175);
    let instance = start(&disk, LogPolicy::native());
    let source = create(&instance, 20).unwrap();
    let copy = make(&instance, "c").unwrap();
    change_and_commit(&instance, &copy, 1).unwrap();
    disk.fail_next(OperationKind::Sync, "c.mdf", 1, FaultError::Io, Repetition::Once);
    copy.checkpoint().unwrap_err();
    assert_eq!(instance.database("c").map(|_| ()).unwrap_err().number, 926);
    change_and_commit(&instance, &source, 5).unwrap();
    source.checkpoint().unwrap();
    let now = content(&source);
    drop((source, copy));
    std::mem::forget(instance);
    let disk = disk.after_power_cut(CutPolicy::AllLost, 4);
    let instance = start(&disk, LogPolicy::native());
    assert_eq!(instance.database("c").map(|_| ()).unwrap_err().number, 926);
    assert_eq!(content(&instance.database("vlf").unwrap()), now);
}

/// A copy grows on its own behind the pages that it shares, and so does its source.
#[test]
fn a_copy_and_its_source_grow_apart() {
    let disk = SimDisk::new(176);
    let instance = start(&disk, LogPolicy::native());
    let source = create(&instance, 20).unwrap();
    let copy = make(&instance, "c").unwrap();
    let pages = |database: &Arc<Database>| database.storage.files.page_count(1);
    let before = pages(&source);
    assert_eq!(pages(&copy), before);
    let fill = |database: &Arc<Database>, count: i32, value: i32| {
        let mut session = instance.open_session().unwrap();
        let table = open_table(database, "t");
        for number in 0..count {
            insert(&mut session, &table, 1_000 + number, value);
        }
        session.commit().unwrap();
        database.checkpoint().unwrap();
    };
    fill(&copy, 500, 1);
    fill(&source, 300, 2);
    assert!(pages(&copy) > pages(&source) && pages(&source) > before);
    let expected = [("vlf", content(&source)), ("c", content(&copy))];
    assert_eq!(expected.each_ref().map(|(_, rows)| rows.len()), [320, 520]);
    let length = pages(&copy);
    drop((source, copy));
    std::mem::forget(instance);
    let disk = disk.after_power_cut(CutPolicy::AllLost, 5);
    let instance = start(&disk, LogPolicy::native());
    assert_eq!(pages(&instance.database("c").unwrap()), length);
    for (name, rows) in expected {
        assert_eq!(content(&instance.database(name).unwrap()), rows, "{name}");
    }
}

/// The bound is met where a page is first changed, not where it is written: the transaction fails and can be rolled back, and checkpoints go on.
#[test]
fn a_copy_with_a_bound_refuses_changes_of_more_pages_and_nothing_else() {
    let disk = SimDisk::new(177);
    let instance = start(&disk, LogPolicy::native());
    let source = create(&instance, 60).unwrap();
    let bound = 40 * PAGE_BYTES;
    let copy = instance.create_copy(&CreateCopy {
        bytes_max: Some(bound),
        ..copy_of("c", "vlf")
    });
    let copy = copy.unwrap();
    let before = content(&copy);
    let own = |database: &Arc<Database>| {
        database.checkpoint().unwrap();
        database.storage.files.information()[0].sparse_bytes.unwrap()
    };
    let small = |instance: &Arc<Instance>, copy: &Arc<Database>, round: i32| -> Result<()> {
        let mut session = instance.open_session()?;
        try_insert(&mut session, &open_table(copy, "t"), 5_000 + round, round)?;
        session.commit()
    };
    small(&instance, &copy, 0).unwrap();
    assert_eq!(change_and_commit(&instance, &copy, 1).unwrap_err().number, 40544);
    // The session that was dropped has rolled back.
    assert_eq!(content(&copy).len(), before.len() + 1);
    assert!(own(&copy) <= bound + 8 * PAGE_BYTES, "{}", own(&copy));
    // A page that it has may be changed again.
    small(&instance, &copy, 300).unwrap();
    assert_eq!(change_and_commit(&instance, &copy, 2).unwrap_err().number, 40544);
    // What the source overwrites is kept all the same.
    change_and_commit(&instance, &source, 7).unwrap();
    source.checkpoint().unwrap();
    assert!(own(&copy) > bound);
    let expected = content(&copy);
    drop((source, copy));
    // The system's own work goes on: identity values are stored when it is closed.
    let session = instance.open_session().unwrap();
    instance.take_offline("c", &session).unwrap();
    instance.bring_online("c", &session).unwrap();
    assert_eq!(content(&instance.database("c").unwrap()), expected);
    drop(session);
    std::mem::forget(instance);
    let disk = disk.after_power_cut(CutPolicy::AllLost, 6);
    let instance = start(&disk, LogPolicy::native());
    let copy = instance.database("c").unwrap();
    assert_eq!(content(&copy), expected);
    assert_eq!(copy.storage.files.grow(1, 8).unwrap_err().number, 40544);
}

/// Readers and writers of a copy find its pages as they are to be while its source overwrites its own.
#[test]
fn a_copy_and_its_source_are_used_side_by_side() {
    let disk = SimDisk::new(178);
    let mut small = options(LogPolicy::native());
    // Fewer frames than pages: both are read and written again and again.
    small.max_server_memory_bytes = 512 << 10;
    let instance = Instance::start(small, environment(&disk)).unwrap();
    let source = create(&instance, 60).unwrap();
    let copy = make(&instance, "c").unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let writer = {
        let (stop, instance, copy) = (stop.clone(), instance.clone(), copy.clone());
        std::thread::spawn(move || {
            let mut rounds = 0;
            while !stop.load(Ordering::Relaxed) || rounds == 0 {
                rounds += 1;
                change_and_commit(&instance, &copy, rounds).unwrap();
                copy.checkpoint().unwrap();
                let found = all(&copy, &open_table(&copy, "t"));
                assert_eq!(found.len() as i32, 60 + rounds);
                assert!(found.iter().all(|(_, value)| *value == rounds), "{found:?}");
            }
            rounds
        })
    };
    for round in 1..20 {
        change_and_commit(&instance, &source, 1_000 + round).unwrap();
        source.checkpoint().unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    let rounds = writer.join().unwrap();
    assert_eq!(content(&copy).len() as i32, 60 + rounds);
    assert!(content(&source).iter().all(|(_, value)| *value == 1_019));
}

/// Every copy shows one moment of its source: all rows as one transaction left them, and one row more for each.
#[test]
fn copies_made_beside_a_writer_show_one_moment_each() {
    let disk = SimDisk::new(180);
    let instance = start(&disk, LogPolicy::native());
    let source = create(&instance, 30).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let writer = {
        let (stop, instance, source) = (stop.clone(), instance.clone(), source.clone());
        std::thread::spawn(move || {
            let mut rounds = 0;
            while !stop.load(Ordering::Relaxed) {
                rounds += 1;
                change_and_commit(&instance, &source, rounds).unwrap();
                if rounds % 3 == 0 {
                    source.checkpoint().unwrap();
                }
            }
        })
    };
    let mut moments = Vec::new();
    for number in 0..12 {
        let copy = make(&instance, &format!("c{number}")).unwrap();
        let rows = content(&copy);
        let round = rows.last().map_or(0, |(_, value)| *value);
        assert_eq!(rows.len() as i32, 30 + round, "{rows:?}");
        assert!(rows.iter().all(|(_, value)| *value == round), "{rows:?}");
        change_and_commit(&instance, &copy, 500).unwrap();
        moments.push(round);
    }
    stop.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    assert!(moments.is_sorted(), "{moments:?}");
    for number in 0..12 {
        let rows = content(&instance.database(&format!("c{number}")).unwrap());
        assert!(rows.iter().all(|(_, value)| *value == 500), "{rows:?}");
    }
}

/// What copies took comes back with them: files, numbers, the pages that master has for them.
#[test]
fn copies_in_a_row_leave_nothing_behind() {
    let disk = SimDisk::new(181);
    let instance = start(&disk, LogPolicy::native());
    let source = create(&instance, 10).unwrap();
    let mut seen = Vec::new();
    for round in 1..=60 {
        let copy = make(&instance, "c").unwrap();
        change_and_commit(&instance, &copy, round).unwrap();
        copy.checkpoint().unwrap();
        let id = copy.entry().database_id;
        drop(copy);
        drop_database(&instance, "c").unwrap();
        assert!(instance.snapshots_of(source.entry().database_id).is_empty());
        let master = instance.database("master").unwrap();
        seen.push((id, master.storage.files.page_count(1), instance.slots().len()));
    }
    assert!(seen[9..].iter().all(|one| *one == seen[9]), "{seen:?}");
    let files = ["c.mdf", "c.mdf.dwb", "c_log.ldf", "c_log.ldf.vlfs"];
    assert!(files.iter().all(|file| !is_there(&disk, file)));
    change_and_commit(&instance, &source, 1).unwrap();
    source.checkpoint().unwrap();
    drop(source);
    drop_database(&instance, "vlf").unwrap();
}

/// On a file system of the machine's own a copy takes what was changed, whatever the length of its file says.
#[test]
fn the_file_of_a_copy_has_holes_on_a_real_file_system() {
    use std::os::unix::fs::MetadataExt;
    let folder = std::env::temp_dir().join(format!("vlflab-copies-{}", std::process::id()));
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
    let source = create(&instance, 20).unwrap();
    let copy = make(&instance, "c").unwrap();
    change_and_commit(&instance, &copy, 1).unwrap();
    copy.checkpoint().unwrap();
    change_and_commit(&instance, &source, 2).unwrap();
    source.checkpoint().unwrap();
    let file = std::fs::metadata(folder.join("c/c.mdf")).unwrap();
    let taken = file.blocks() * 512;
    assert!(taken * 2 < file.len(), "{taken} of {}", file.len());
    let expected = [content(&source), content(&copy)];
    drop((source, copy));
    instance.shutdown(false).unwrap();
    drop(instance);
    let instance = begin();
    let found = ["vlf", "c"].map(|name| content(&instance.database(name).unwrap()));
    assert_eq!(found, expected);
    drop(instance);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// What a database has to show.
#[derive(Clone, Default)]
struct Promise {
    /// Its creation was acknowledged.
    is_made: bool,
    /// Its drop was asked for.
    is_dropping: bool,
    is_dropped: bool,
    acknowledged: Rows,
    /// What it shows if the commit that was asked for last came through.
    asked: Option<Rows>,
}

type Ledger = BTreeMap<String, Promise>;

/// Changes a database and commits, through the ledger.
fn change_in(ledger: &mut Ledger, instance: &Arc<Instance>, database: &Arc<Database>, round: i32) -> Result<()> {
    let mut session = instance.open_session()?;
    let table = open_table(database, "t");
    change(&mut session, &table, round)?;
    let promise = ledger.get_mut(&database.name()).unwrap();
    promise.asked = Some(all(database, &table));
    session.commit()?;
    promise.acknowledged = promise.asked.take().unwrap();
    Ok(())
}

fn copy_in(ledger: &mut Ledger, instance: &Arc<Instance>, name: &str) -> Result<Arc<Database>> {
    let promise = Promise {
        acknowledged: ledger["vlf"].acknowledged.clone(),
        ..Promise::default()
    };
    ledger.insert(name.into(), promise);
    let made = make(instance, name)?;
    ledger.get_mut(name).unwrap().is_made = true;
    Ok(made)
}

/// Copies made, written and dropped between changes of their source, with a transaction under way in it.
fn workload(instance: &Arc<Instance>, ledger: &mut Ledger) -> Result<()> {
    let source = create(instance, 24)?;
    let promise = Promise {
        is_made: true,
        acknowledged: all(&source, &open_table(&source, "t")),
        ..Promise::default()
    };
    ledger.insert("vlf".into(), promise);
    change_in(ledger, instance, &source, 1)?;
    let one = copy_in(ledger, instance, "one")?;
    change_in(ledger, instance, &one, 51)?;
    change_in(ledger, instance, &source, 2)?;
    one.checkpoint()?;
    source.checkpoint()?;
    let mut open = instance.open_session()?;
    let pending = open.create_table(&source, table_definition("pending"))?;
    try_insert(&mut open, &Table::open(&source, &pending)?, 1, 1)?;
    source.checkpoint()?;
    change_in(ledger, instance, &source, 3)?;
    let two = copy_in(ledger, instance, "two")?;
    change_in(ledger, instance, &two, 71)?;
    change_in(ledger, instance, &source, 4)?;
    source.checkpoint()?;
    change_in(ledger, instance, &two, 72)?;
    two.checkpoint()?;
    drop(one);
    ledger.get_mut("one").unwrap().is_dropping = true;
    drop_database(instance, "one")?;
    ledger.get_mut("one").unwrap().is_dropped = true;
    open.roll_back()?;
    change_in(ledger, instance, &source, 5)?;
    change_in(ledger, instance, &two, 73)?;
    two.indirect_checkpoint(2)?;
    source.indirect_checkpoint(2)?;
    change_in(ledger, instance, &two, 74)?;
    two.checkpoint()?;
    source.checkpoint()
}

/// Every database shows what it promised; what was asked for last is there or not. Answers how many copies were there.
fn compare(instance: &Arc<Instance>, ledger: &mut Ledger, cut: u64) -> u64 {
    let mut compared = 0;
    for (name, promise) in ledger {
        match instance.database(name) {
            Ok(found) => {
                assert!(!promise.is_dropped, "cut {cut}: {name} was dropped");
                let rows = content(&found);
                let is_promised = rows == promise.acknowledged || Some(&rows) == promise.asked.as_ref();
                assert!(is_promised, "cut {cut}: {name}: {rows:?}, {:?}", promise.acknowledged);
                promise.acknowledged = rows;
                promise.asked = None;
                promise.is_made = true;
                compared += u64::from(name != "vlf");
            }
            Err(error) => {
                assert_eq!(error.number, 911, "cut {cut}: {name}: {error}");
                assert!(!promise.is_made || promise.is_dropping, "cut {cut}: {name} is gone");
                promise.is_dropped = true;
            }
        }
    }
    compared
}

#[test]
fn copies_and_their_source_keep_what_was_acknowledged_after_a_power_cut_at_any_operation() {
    let sample = workbench::sample("operations of copies with a power cut", 17);
    let (mut points, mut compared) = (0, 0);
    for policy in POLICIES {
        let whole = SimDisk::new(179);
        let instance = start(&whole, policy());
        let before = whole.operation_count();
        workload(&instance, &mut Ledger::new()).unwrap();
        let total = whole.operation_count();
        drop(instance);
        for cut in (before + 1..=total).step_by(sample.one_in) {
            let disk = SimDisk::new(179);
            let instance = start(&disk, policy());
            disk.power_cut_at(cut);
            let mut ledger = Ledger::new();
            let outcome = workload(&instance, &mut ledger);
            assert!(
                outcome.is_err() || disk.power_is_cut(),
                "the power was not cut at {cut} of {total}"
            );
            std::mem::forget(instance);
            let disk = disk.after_power_cut(cut_policy(cut), cut);
            let instance = start(&disk, policy());
            compared += compare(&instance, &mut ledger, cut);
            // All go on; then the power goes again, in the middle of it.
            disk.power_cut_at(disk.operation_count() + 1 + cut % 40);
            let _ = go_on(&instance, &mut ledger);
            std::mem::forget(instance);
            let again = start(&disk.after_power_cut(cut_policy(cut + 1), cut), policy());
            compare(&again, &mut ledger, cut);
            go_on(&again, &mut ledger).unwrap();
            compare(&again, &mut ledger, cut);
            points += 1;
        }
    }
    sample.count(points);
    assert!(compared * 4 > points, "{compared} of {points}");
}

fn go_on(instance: &Arc<Instance>, ledger: &mut Ledger) -> Result<()> {
    let names: Vec<String> = ledger.keys().cloned().collect();
    for round in 0..2 {
        for name in &names {
            if let Ok(database) = instance.database(name) {
                change_in(ledger, instance, &database, 90 + round)?;
                database.checkpoint()?;
            }
        }
    }
    Ok(())
}
