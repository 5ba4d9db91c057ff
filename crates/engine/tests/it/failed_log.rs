//! Each write or sync of the log fails in turn under a database in use, with readers beside the writers, shared commits, two
//! databases and full memory. A ledger of what was acknowledged, tried and seen shows that nothing undurable is ever
//! visible.
//!
//! A failed write leaves some of its sectors on the simulated disk, so a commit that was answered with 9001 may be found by
//! recovery, or not: both are right, if nobody has read it in between.
#![allow(clippy::unwrap_used)]

use crate::support;

use disk::sim::{CutPolicy, FaultError, OperationKind, Repetition, SimDisk};
use engine::cancel;
use engine::error::{Error, Result};
use engine::instance::{DatabaseState, Instance};
use engine::lock::Mode;
use engine::log::LogPolicy;
use engine::recovery::RecoveryModel;
use engine::session::{Session, Table};
use engine::store::{Placement, ReadMode};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use support::small::*;
use support::*;

type Content = BTreeSet<(i32, i32)>;

const LOG_FILE: &str = "vlf_log.ldf";

/// A small table in a new database, committed.
fn make_table(instance: &Instance, name: &str, is_clustered: bool) -> Table {
    let database = instance.create_database(&statement(name, 1 << 20, 64 << 20)).unwrap();
    database.set_recovery_model(RecoveryModel::Simple).unwrap();
    let mut session = instance.open_session().unwrap();
    let object = session
        .create_table(&database, small_rows(is_clustered, false))
        .unwrap();
    session.commit().unwrap();
    let table = Table::open(&database, &object).unwrap();
    let id = session.id;
    drop(session);
    instance.close_session(id);
    table
}

/// What a session reads of a table.
fn read(session: &Session, table: &Table, mode: ReadMode) -> Result<Content> {
    let locks = session.locks().clone();
    let mut found = Content::new();
    let mut scan = table.scan(&locks, mode)?;
    while scan.next_batch()? {
        for index in 0..scan.len() {
            let row = scan.row(index).unwrap();
            let number = |column| table.layout().column(row, column).unwrap().as_i64().unwrap() as i32;
            found.insert((number(0), number(1)));
        }
    }
    Ok(found)
}

/// The error that a use of the database gets when its log has failed.
fn is_closed(error: &Error) -> bool {
    (error.number, error.severity) == (9001, 21) && error.message.contains("'vlf'")
}

/// ALTER DATABASE vlf SET ONLINE. The sessions in it must have ended.
fn set_online(instance: &Instance) -> Result<()> {
    let session = instance.open_session()?;
    let outcome = instance.bring_online("vlf", &session);
    end(instance, session);
    outcome
}

fn state_of(instance: &Instance) -> &'static str {
    let slot = instance
        .slots()
        .into_iter()
        .find(|slot| slot.entry().name == "vlf")
        .unwrap();
    slot.state().number_and_name().1
}

fn end(instance: &Instance, session: Session) {
    let id = session.id;
    drop(session);
    instance.close_session(id);
}

/// What was promised, what was tried, and what readers have seen.
#[derive(Debug, Default)]
struct Ledger {
    settled: Content,
    tried: Content,
    seen: Content,
}

impl Ledger {
    fn check(&self, found: &Content, what: &str) {
        assert!(
            self.settled.is_subset(found),
            "{what}: {:?} lost",
            self.settled.difference(found)
        );
        assert!(
            self.seen.is_subset(found),
            "{what}: {:?} was read and is gone",
            self.seen.difference(found)
        );
        assert!(
            found.is_subset(&self.tried),
            "{what}: {:?} was never tried",
            found.difference(&self.tried)
        );
    }
}

/// Commits rows one by one, checkpoints and rolls back, with a reader who looks after every step; until the first error.
fn work(instance: &Instance, table: &Table, ledger: &mut Ledger) -> Result<()> {
    let (mut writer, reader) = (instance.open_session()?, instance.open_session()?);
    reader.locks().set_timeout_ms(0);
    let outcome = (1..=24).try_for_each(|number| {
        let row = (number, 10 * number);
        table.insert(&mut writer, &pair(row.0, row.1), Placement::Anywhere)?;
        assert!(!read(&reader, table, ReadMode::Committed).is_ok_and(|seen| seen.contains(&row)));
        if number % 7 == 0 {
            writer.roll_back()?;
        } else {
            ledger.tried.insert(row);
            writer.commit()?;
            ledger.settled.insert(row);
        }
        if number % 5 == 0 {
            table.database().checkpoint()?;
        }
        ledger.seen.extend(read(&reader, table, ReadMode::Committed)?);
        reader.locks().release_transaction(|_| false);
        Ok(())
    });
    if outcome.is_err() {
        assert_nobody_gets_in(instance, table, &mut writer, &reader);
    }
    end(instance, writer);
    end(instance, reader);
    outcome
}

/// Readers, writers, waiters, dirty readers: 9001 for all.
fn assert_nobody_gets_in(instance: &Instance, table: &Table, writer: &mut Session, reader: &Session) {
    for mode in [ReadMode::Committed, ReadMode::Uncommitted, ReadMode::Locked(Mode::S)] {
        assert!(
            read(reader, table, mode).is_err_and(|error| is_closed(&error)),
            "{mode:?}"
        );
    }
    let insert = table.insert(writer, &pair(1_000, 0), Placement::Anywhere);
    assert!(is_closed(&insert.unwrap_err()));
    assert!(is_closed(&instance.database("vlf").err().unwrap()));
    assert_eq!(state_of(instance), "RECOVERY_PENDING");
    let lines = instance.env.errorlog.lines();
    let told = |text: &str| lines.iter().filter(|line| line.text.contains(text)).count();
    assert_eq!(told("Error: 17053,"), 1, "{lines:#?}");
    assert_eq!(told("Database vlf was shutdown due to error 9001"), 1, "{lines:#?}");
}

fn assert_works(instance: &Instance, other: &Table, number: i32) {
    let mut session = instance.open_session().unwrap();
    other
        .insert(&mut session, &pair(number, 0), Placement::Anywhere)
        .unwrap();
    session.commit().unwrap();
    assert!(
        read(&session, other, ReadMode::Committed)
            .unwrap()
            .contains(&(number, 0))
    );
    end(instance, session);
}

fn table_now(instance: &Instance) -> Table {
    open_table(&instance.database("vlf").unwrap(), "t")
}

fn content(instance: &Instance) -> Content {
    let session = instance.open_session().unwrap();
    let found = read(&session, &table_now(instance), ReadMode::Committed).unwrap();
    end(instance, session);
    assert!(instance.database("vlf").unwrap().check().unwrap().is_empty());
    found
}

/// The n-th write of the log fails, for every n of a workload; the disk works again, the database is set online, and goes on.
/// The same disk after a power cut instead is recovered to no less than what was seen.
#[test]
fn whichever_write_of_the_log_fails_nothing_that_was_seen_is_lost() {
    let mut struck = 0;
    for (policy, is_clustered) in [(LogPolicy::native(), true), (LogPolicy::classic(), false)] {
        for kind in [OperationKind::WriteDurable, OperationKind::Write, OperationKind::Sync] {
            for nth in 1.. {
                let disk = SimDisk::new(nth);
                let instance = start(&disk, policy);
                let table = make_table(&instance, "vlf", is_clustered);
                let other = make_table(&instance, "other", is_clustered);
                disk.fail_next(kind, LOG_FILE, nth, FaultError::Io, Repetition::Once);
                let mut ledger = Ledger::default();
                let outcome = work(&instance, &table, &mut ledger);
                if disk.fault_count() == 0 {
                    outcome.unwrap();
                    break;
                }
                let Err(error) = outcome else { continue };
                assert!(is_closed(&error), "{kind:?} {nth}: {error}");
                struck += 1;
                let what = format!("{kind:?} {nth} of {policy:?}");
                assert_works(&instance, &other, 1);
                let restarted = start(&disk.after_power_cut(CutPolicy::RandomSectors, nth), policy);
                ledger.check(&content(&restarted), &format!("restarted after {what}"));
                set_online(&instance).unwrap();
                let found = content(&instance);
                ledger.check(&found, &what);
                let mut again = Ledger {
                    settled: found,
                    ..Ledger::default()
                };
                work_on(&instance, &mut again);
                assert_eq!(content(&instance), again.settled, "{what}");
                assert_works(&instance, &other, 2);
            }
        }
    }
    println!("{struck} failed writes of the log");
    assert!(struck > 40, "{struck}");
}

/// Some commits in the database that was set online.
fn work_on(instance: &Instance, ledger: &mut Ledger) {
    let (table, mut session) = (table_now(instance), instance.open_session().unwrap());
    for number in 500..510 {
        table
            .insert(&mut session, &pair(number, 0), Placement::Anywhere)
            .unwrap();
        session.commit().unwrap();
        ledger.settled.insert((number, 0));
    }
    end(instance, session);
}

/// Sessions that were waiting for the locks of a commit whose write fails were granted them by the failed commit's end, and read
/// its row: it was gone after the next start. Now they get 9001, whether they wait for a row or for the table.
#[test]
fn who_waits_for_the_locks_of_a_commit_that_fails_gets_9001() {
    for mode in [ReadMode::Committed, ReadMode::Locked(Mode::U)] {
        let disk = SimDisk::new(7);
        let instance = start(&disk, LogPolicy::native());
        let table = Arc::new(make_table(&instance, "vlf", true));
        let mut writer = instance.open_session().unwrap();
        table.insert(&mut writer, &pair(1, 10), Placement::Anywhere).unwrap();
        let (reading, machine) = (table.clone(), instance.clone());
        let reader = std::thread::spawn(move || {
            let session = machine.open_session().unwrap();
            let outcome = read(&session, &reading, mode);
            end(&machine, session);
            outcome
        });
        while instance.locks.rows().iter().all(|row| row.granted) {
            std::thread::yield_now();
        }
        disk.fail_next(
            OperationKind::WriteDurable,
            LOG_FILE,
            1,
            FaultError::Io,
            Repetition::Once,
        );
        assert!(is_closed(&writer.commit().unwrap_err()));
        let outcome = reader.join().unwrap();
        assert!(outcome.as_ref().is_err_and(is_closed), "{mode:?}: {outcome:?}");
        let kept = instance
            .locks
            .rows()
            .into_iter()
            .filter(|row| row.mode == Mode::X)
            .count();
        assert_eq!(
            (kept, disk.fault_count()),
            (1, 1),
            "the row's lock stays, after the session as well"
        );
        end(&instance, writer);
        assert!(
            instance
                .locks
                .rows()
                .iter()
                .any(|row| row.mode == Mode::X && row.granted)
        );
        set_online(&instance).unwrap();
        assert!(instance.locks.rows().is_empty());
    }
}

/// The rollback of a deadlock's victim could not read a page: what it had not undone stayed locked, the log was in order, and those who
/// waited for the locks waited without end. They get 9001, and recovery undoes the rest.
#[test]
fn who_waits_for_the_locks_of_a_rollback_that_fails_gets_9001() {
    for policy in [LogPolicy::native(), LogPolicy::classic()] {
        let disk = SimDisk::new(7);
        let instance = start(&disk, policy);
        let table = Arc::new(make_table(&instance, "vlf", true));
        let mut writer = instance.open_session().unwrap();
        table.insert(&mut writer, &pair(1, 10), Placement::Anywhere).unwrap();
        table.database().checkpoint().unwrap();
        let (reading, machine) = (table.clone(), instance.clone());
        let reader = std::thread::spawn(move || {
            let session = machine.open_session().unwrap();
            let outcome = read(&session, &reading, ReadMode::Committed);
            end(&machine, session);
            outcome
        });
        while instance.locks.rows().iter().all(|row| row.granted) {
            std::thread::yield_now();
        }
        instance.pool.drop_clean();
        disk.fail_next(OperationKind::Read, "vlf.mdf", 1, FaultError::Io, Repetition::Forever);
        assert_eq!(writer.roll_back().unwrap_err().number, 823);
        assert!(disk.fault_count() > 0);
        disk.clear_faults();
        let outcome = reader.join().unwrap();
        assert!(outcome.as_ref().is_err_and(is_closed), "{policy:?}: {outcome:?}");
        end(&instance, writer);
        assert_eq!(state_of(&instance), "RECOVERY_PENDING");
        let lines = instance.env.errorlog.lines();
        let told = |text: &str| lines.iter().any(|line| line.text.contains(text));
        assert!(told("Error: 823,") && told("Error: 3314, Severity: 21"), "{lines:#?}");
        assert!(told("shutdown due to error 3314 in routine 'Rollback'"), "{lines:#?}");
        set_online(&instance).unwrap();
        assert_eq!(
            content(&instance),
            Content::new(),
            "recovery undoes what the rollback did not"
        );
    }
}

/// A dirty reader and a scan under way find out at the next page, and at the end of the page they are at.
#[test]
fn a_scan_under_way_ends_in_9001() {
    let disk = SimDisk::new(7);
    let instance = start(&disk, LogPolicy::native());
    let table = make_table(&instance, "vlf", false);
    let mut writer = instance.open_session().unwrap();
    for number in 1..=3_000 {
        table
            .insert(&mut writer, &pair(number, 0), Placement::Anywhere)
            .unwrap();
    }
    writer.commit().unwrap();
    let readers = [instance.open_session().unwrap(), instance.open_session().unwrap()];
    let locks: Vec<_> = readers.iter().map(|reader| reader.locks().clone()).collect();
    let mut scans: Vec<_> = [ReadMode::Committed, ReadMode::Uncommitted]
        .into_iter()
        .zip(&locks)
        .map(|(mode, locks)| table.scan(locks, mode).unwrap())
        .collect();
    scans.iter_mut().for_each(|scan| assert!(scan.next_batch().unwrap()));
    table.insert(&mut writer, &pair(5_000, 0), Placement::Anywhere).unwrap();
    disk.fail_next(
        OperationKind::WriteDurable,
        LOG_FILE,
        1,
        FaultError::Io,
        Repetition::Once,
    );
    assert!(is_closed(&writer.commit().unwrap_err()));
    for scan in &mut scans {
        assert!(is_closed(&scan.next_batch().unwrap_err()));
    }
}

/// Writers that share writes, four of them under way at once, and readers beside them; one write fails. What a reader has seen
/// was acknowledged or durable all the same: it is there afterwards. Without held locks readers see commits of the failed
/// write and of those behind it, which recovery does not find.
#[test]
fn commits_that_share_a_failed_write_are_seen_by_nobody() {
    let mut struck = 0;
    for nth in 1..=30 {
        let disk = SimDisk::new(100 + nth);
        let instance = start(&disk, LogPolicy::native());
        let table = Arc::new(make_table(&instance, "vlf", true));
        disk.fail_next(
            OperationKind::WriteDurable,
            LOG_FILE,
            3 * nth,
            FaultError::Io,
            Repetition::Once,
        );
        let ledger = Arc::new(Mutex::new(Ledger::default()));
        let start_line = Arc::new(Barrier::new(9));
        let stop = Arc::new(AtomicBool::new(false));
        let threads: Vec<_> = (0..9)
            .map(|thread| {
                let (instance, table, ledger) = (instance.clone(), table.clone(), ledger.clone());
                let (start_line, stop) = (start_line.clone(), stop.clone());
                std::thread::spawn(move || {
                    let mut session = instance.open_session().unwrap();
                    start_line.wait();
                    let outcome = match thread {
                        0..6 => write_until_closed(&mut session, &table, &ledger, thread),
                        _ => read_until_closed(&session, &table, &ledger, &stop),
                    };
                    stop.store(outcome.is_err(), Ordering::SeqCst);
                    end(&instance, session);
                    outcome
                })
            })
            .collect();
        for outcome in threads.into_iter().map(|thread| thread.join().unwrap()) {
            assert!(outcome.as_ref().map_or_else(is_closed, |()| true), "{outcome:?}");
        }
        assert_eq!(disk.fault_count(), 1, "write {nth} did not fail");
        struck += 1;
        set_online(&instance).unwrap();
        ledger
            .lock()
            .unwrap()
            .check(&content(&instance), &format!("write {nth}"));
    }
    assert_eq!(struck, 30);
}

fn write_until_closed(session: &mut Session, table: &Table, ledger: &Mutex<Ledger>, thread: i32) -> Result<()> {
    (1..=2_000).try_for_each(|number| {
        let row = (thread * 10_000 + number, number);
        ledger.lock().unwrap().tried.insert(row);
        table.insert(session, &pair(row.0, row.1), Placement::Anywhere)?;
        session.commit()?;
        ledger.lock().unwrap().settled.insert(row);
        Ok(())
    })
}

fn read_until_closed(session: &Session, table: &Table, ledger: &Mutex<Ledger>, stop: &AtomicBool) -> Result<()> {
    // One more look after the failure: that is when the locks of failed commits would be free.
    loop {
        let is_last = stop.load(Ordering::SeqCst);
        let seen = read(session, table, ReadMode::Committed)?;
        session.locks().release_transaction(|_| false);
        ledger.lock().unwrap().seen.extend(seen);
        if is_last {
            return Ok(());
        }
    }
}

/// A transaction of two databases: the log of one has failed before its commit. It commits in neither, and what it changed in
/// the sound one is free again.
#[test]
fn a_transaction_of_two_databases_commits_in_neither_when_one_is_closed() {
    let disk = SimDisk::new(7);
    let instance = start(&disk, LogPolicy::native());
    let (broken, sound) = (make_table(&instance, "vlf", true), make_table(&instance, "other", true));
    let (mut both, mut single) = (instance.open_session().unwrap(), instance.open_session().unwrap());
    sound.insert(&mut both, &pair(1, 1), Placement::Anywhere).unwrap();
    broken.insert(&mut both, &pair(1, 1), Placement::Anywhere).unwrap();
    broken.insert(&mut single, &pair(2, 2), Placement::Anywhere).unwrap();
    disk.fail_next(
        OperationKind::WriteDurable,
        LOG_FILE,
        1,
        FaultError::Io,
        Repetition::Once,
    );
    assert!(is_closed(&single.commit().unwrap_err()));
    assert!(is_closed(&both.commit().unwrap_err()));
    assert_eq!(read(&single, &sound, ReadMode::Committed).unwrap(), Content::new());
    end(&instance, both);
    end(&instance, single);
    set_online(&instance).unwrap();
    assert!(content(&instance).iter().all(|row| *row == (2, 2)));
}

/// The same, but the failed write is the transaction's own, in the database it commits in first or last: the first write, before it is decided that
/// the transaction commits, or the second one, of its Commit. It is in both databases then as soon as they are open again, or in none.
#[test]
fn a_transaction_of_two_databases_whose_own_write_fails_leaves_no_row_to_be_seen_and_lost() {
    for (broken_first, write) in [(true, 1), (false, 1), (true, 2), (false, 2)] {
        let disk = SimDisk::new(7);
        let instance = start(&disk, LogPolicy::native());
        let tables = [make_table(&instance, "vlf", true), make_table(&instance, "other", true)];
        let order = if broken_first { [0, 1] } else { [1, 0] };
        let mut both = instance.open_session().unwrap();
        for place in order {
            tables[place]
                .insert(&mut both, &pair(1, 1), Placement::Anywhere)
                .unwrap();
        }
        disk.fail_next(
            OperationKind::WriteDurable,
            LOG_FILE,
            write,
            FaultError::Io,
            Repetition::Once,
        );
        assert!(is_closed(&both.commit().unwrap_err()));
        let reader = instance.open_session().unwrap();
        let seen = read(&reader, &tables[1], ReadMode::Committed).unwrap();
        assert_eq!(seen.is_empty(), write == 1, "{broken_first}, {write}");
        assert!(is_closed(&read(&reader, &tables[0], ReadMode::Committed).unwrap_err()));
        end(&instance, both);
        end(&instance, reader);
        let restarted = start(&disk.after_power_cut(CutPolicy::AllLost, 1), LogPolicy::native());
        let session = restarted.open_session().unwrap();
        for name in ["vlf", "other"] {
            let table = open_table(&restarted.database(name).unwrap(), "t");
            let found = read(&session, &table, ReadMode::Committed).unwrap();
            assert_eq!(found, seen, "{name}: {broken_first}, {write}");
        }
    }
}

/// Pages that the failed log does not reach fill the memory: they give way to those of other databases.
#[test]
fn other_databases_get_the_memory_of_one_that_is_closed() {
    let disk = SimDisk::new(7);
    let instance = start(&disk, LogPolicy::native());
    let wide_table = |name: &str| {
        let database = instance.create_database(&statement(name, 32 << 20, 64 << 20)).unwrap();
        let mut session = instance.open_session().unwrap();
        let table = create_table(&mut session, &database, "t");
        session.commit().unwrap();
        end(&instance, session);
        table
    };
    let (broken, sound) = (wide_table("vlf"), wide_table("other"));
    // A row fills a page.
    let rows = 3 * instance.pool.counters().frames as i32;
    disk.fail_next(
        OperationKind::WriteDurable,
        LOG_FILE,
        1,
        FaultError::Io,
        Repetition::Forever,
    );
    let mut writer = instance.open_session().unwrap();
    let closed = (0..rows).find_map(|number| try_insert(&mut writer, &broken, number, 0).err());
    let closed = closed.expect("the memory is too small for what was inserted");
    assert!(is_closed(&closed), "{closed}");
    end(&instance, writer);
    let mut writer = instance.open_session().unwrap();
    for number in 0..rows {
        insert(&mut writer, &sound, number, 0);
    }
    writer.commit().unwrap();
    end(&instance, writer);
    disk.clear_faults();
    set_online(&instance).unwrap();
    assert_eq!(content(&instance), Content::new());
}

/// SET ONLINE while the disk still fails: RECOVERY_PENDING as before, and the next try works.
#[test]
fn set_online_fails_while_the_disk_does_and_works_afterwards() {
    let disk = SimDisk::new(7);
    let instance = start(&disk, LogPolicy::native());
    let table = make_table(&instance, "vlf", true);
    let mut writer = instance.open_session().unwrap();
    table.insert(&mut writer, &pair(1, 1), Placement::Anywhere).unwrap();
    writer.commit().unwrap();
    table.insert(&mut writer, &pair(2, 2), Placement::Anywhere).unwrap();
    disk.fail_next(
        OperationKind::WriteDurable,
        LOG_FILE,
        1,
        FaultError::Io,
        Repetition::Forever,
    );
    assert!(is_closed(&writer.commit().unwrap_err()));
    end(&instance, writer);
    for _ in 0..2 {
        assert!(set_online(&instance).is_err());
        assert_eq!(state_of(&instance), "RECOVERY_PENDING");
    }
    disk.clear_faults();
    set_online(&instance).unwrap();
    assert!(content(&instance).contains(&(1, 1)));
}

/// A statement that waited for the sessions of a closed database to end could not be stopped for the ten seconds they
/// have.
#[test]
fn who_waits_for_the_sessions_of_a_closed_database_can_be_stopped() {
    let disk = SimDisk::new(7);
    let instance = start(&disk, LogPolicy::native());
    let table = make_table(&instance, "vlf", true);
    let mut writer = instance.open_session().unwrap();
    writer.use_database(table.database()).unwrap();
    table.insert(&mut writer, &pair(1, 1), Placement::Anywhere).unwrap();
    disk.fail_next(
        OperationKind::WriteDurable,
        LOG_FILE,
        1,
        FaultError::Io,
        Repetition::Once,
    );
    assert!(is_closed(&writer.commit().unwrap_err()));
    // Nobody drives this session, so it does not end.
    assert_eq!(instance.users_of(table.database().id, 0), [writer.id]);
    let (asking, flag) = (instance.open_session().unwrap(), Arc::new(AtomicBool::new(false)));
    let error = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !instance.has_ended(writer.id) {
                std::thread::yield_now();
            }
            flag.store(true, Ordering::Relaxed);
        });
        let _serving = cancel::serve(Some(flag.clone()));
        instance.bring_online("vlf", &asking).unwrap_err()
    });
    assert_eq!(error.number, 3617, "{error}");
    end(&instance, asking);
    end(&instance, writer);
    set_online(&instance).unwrap();
}

/// The log of a system database cannot be opened again under those who use it: the instance stops, as SQL Server does.
#[test]
fn a_failed_log_of_a_system_database_stops_the_instance() {
    for file in ["mastlog.ldf", "templog.ldf"] {
        let disk = SimDisk::new(7);
        let instance = start(&disk, LogPolicy::native());
        let told = Arc::new(AtomicBool::new(false));
        let tell = told.clone();
        instance.on_fatal(move || tell.store(true, Ordering::SeqCst));
        disk.fail_next(OperationKind::WriteDurable, file, 1, FaultError::Io, Repetition::Once);
        let database = instance
            .database(if file == "mastlog.ldf" { "master" } else { "tempdb" })
            .unwrap();
        assert_eq!(database.checkpoint().unwrap_err().number, 9001);
        assert!(told.load(Ordering::SeqCst) && instance.must_stop());
        let lines = instance.env.errorlog.lines();
        assert!(
            lines.iter().any(|line| line.text.contains("Error: 3449, Severity: 21")),
            "{lines:#?}"
        );
        instance.shutdown(true).unwrap();
    }
}

/// A data file that cannot be written (823) closes no log: what is committed afterwards is recovered from it.
#[test]
fn commits_after_a_failed_write_of_a_data_file_are_recovered() {
    let disk = SimDisk::new(7);
    let instance = start(&disk, LogPolicy::native());
    let table = make_table(&instance, "vlf", true);
    let mut writer = instance.open_session().unwrap();
    let mut settled = Content::new();
    disk.fail_next(OperationKind::Write, "vlf.mdf", 1, FaultError::Io, Repetition::Once);
    for number in 1..=60 {
        table
            .insert(&mut writer, &pair(number, 0), Placement::Anywhere)
            .unwrap();
        writer.commit().unwrap();
        settled.insert((number, 0));
        if number % 20 == 0 {
            assert_eq!(table.database().checkpoint().unwrap_err().number, 823);
        }
    }
    assert!(disk.fault_count() > 0);
    assert!(matches!(
        instance
            .slots()
            .into_iter()
            .find(|slot| slot.entry().name == "vlf")
            .unwrap()
            .state(),
        DatabaseState::Online(_)
    ));
    assert_eq!(read(&writer, &table, ReadMode::Committed).unwrap(), settled);
    std::mem::forget((writer, table, instance));
    let restarted = start(&disk.after_power_cut(CutPolicy::AllLost, 1), LogPolicy::native());
    assert_eq!(content(&restarted), settled);
}
