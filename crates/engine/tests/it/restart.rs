//! Startup after a crash: a database opens before undo, with every user against it, and the power is cut between opening and
//! the end of undo. Counts of work are printed.
//!
//! Depth: one operation in 5; deep: every one.
#![allow(clippy::unwrap_used)]

use crate::support;

use disk::sim::{CutPolicy, SimDisk};
use engine::database::Database;
use engine::error::Result;
use engine::instance::Instance;
use engine::lock::Mode;
use engine::log::LogPolicy;
use engine::session::{Session, Table};
use engine::store::{Placement, ReadMode};
use std::sync::Arc;
use support::small::*;
use support::*;

/// A page that is changed all the time stays dirty; indirect checkpoints write it all the same, so that redo starts at the
/// checkpoint before the last. Without a budget for pages, redo stays where the page was first changed.
#[test]
fn indirect_checkpoints_keep_the_start_of_redo_close_to_the_end_of_the_log() {
    for (pages_max, is_close) in [(8, true), (0, false)] {
        let instance = start(&SimDisk::new(3), LogPolicy::native());
        let database = instance.create_database(&statement("vlf", 8 << 20, 64 << 20)).unwrap();
        let mut session = instance.open_session().unwrap();
        let table = create_table(&mut session, &database, "t");
        insert(&mut session, &table, 1, 0);
        session.commit().unwrap();
        database.checkpoint().unwrap();
        let first = database.boot();
        let mut before = first.checkpoint;
        for round in 1..=6 {
            update(&mut session, &table, if round % 2 == 0 { "a" } else { "b" }, round).unwrap();
            session.commit().unwrap();
            database.indirect_checkpoint(pages_max).unwrap();
            let boot = database.boot();
            assert!(boot.checkpoint > before, "analysis starts at the newest checkpoint");
            assert!(boot.redo_start >= first.checkpoint);
            assert!(boot.redo_start <= boot.checkpoint);
            assert_eq!(
                boot.redo_start >= before,
                is_close || round == 1,
                "round {round}, budget {pages_max}: redo starts at {}, the checkpoint before was at {before}",
                boot.redo_start
            );
            before = boot.checkpoint;
        }
    }
}

/// What the transaction under way at the crash has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    /// An inserted row (11), an updated one (2), a deleted one (3).
    Rows,
    /// Many rows in fresh pages, in one go.
    Fill,
    /// The same rows, and a new table beside.
    Definitions,
}

/// Where the last checkpoint was, from the transaction's point of view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Checkpointed {
    Before,
    InTheMiddle,
    After,
}

fn begin_work(work: Work, checkpointed: Checkpointed, database: &Arc<Database>, session: &mut Session, table: &Table) {
    session.begin();
    match work {
        Work::Rows | Work::Definitions => {
            assert!(set(table, session, 2, 999).unwrap());
            if work == Work::Definitions {
                create_table(session, database, "beside");
            }
            if checkpointed == Checkpointed::InTheMiddle {
                database.indirect_checkpoint(100).unwrap();
            }
            table.insert(session, &pair(11, 999), Placement::Anywhere).unwrap();
            assert!(
                with_row(table, session, 3, |session, place, old| table
                    .delete(session, place, &old))
                .unwrap()
            );
        }
        Work::Fill => {
            table.lock(session.locks(), Mode::X).unwrap();
            let mut fill = table.fill().unwrap();
            for a in 100..3_000 {
                fill.push(session, &pair(a, 999)).unwrap();
            }
            fill.finish(session).unwrap();
            if checkpointed == Checkpointed::InTheMiddle {
                database.indirect_checkpoint(100).unwrap();
            }
            assert!(set(table, session, 2, 999).unwrap());
        }
    }
    if checkpointed == Checkpointed::After {
        database.indirect_checkpoint(100).unwrap();
    }
}

const COMMITTED: [(i32, i32); 5] = [(1, 10), (2, 20), (3, 30), (4, 40), (5, 50)];

/// A database with five committed rows and a transaction under way, as a crash leaves it.
fn crashed(is_clustered: bool, work: Work, checkpointed: Checkpointed) -> SimDisk {
    let disk = SimDisk::new(5);
    let instance = start(&disk, LogPolicy::native());
    let database = instance.create_database(&statement("vlf", 1 << 20, 64 << 20)).unwrap();
    let mut session = instance.open_session().unwrap();
    let object = session
        .create_table(&database, small_rows(is_clustered, work != Work::Fill))
        .unwrap();
    session.commit().unwrap();
    let table = Table::open(&database, &object).unwrap();
    for (a, c) in COMMITTED {
        table.insert(&mut session, &pair(a, c), Placement::Anywhere).unwrap();
    }
    session.commit().unwrap();
    database.checkpoint().unwrap();
    begin_work(work, checkpointed, &database, &mut session, &table);
    database.storage.log.flush_to(database.storage.log.end()).unwrap();
    disk.power_cut_at(disk.operation_count() + 1);
    std::mem::forget((session, instance));
    disk.after_power_cut(CutPolicy::AllKept, 9)
}

fn open(disk: &SimDisk) -> Result<(Arc<Instance>, Arc<Database>, Table)> {
    let instance = Instance::open(options(LogPolicy::native()), environment(disk))?;
    let database = instance.database("vlf")?;
    let table = open_table(&database, "t");
    Ok((instance, database, table))
}

const WORKS: [Work; 3] = [Work::Rows, Work::Fill, Work::Definitions];
const CHECKPOINTS: [Checkpointed; 3] = [Checkpointed::Before, Checkpointed::InTheMiddle, Checkpointed::After];

/// Every kind of transaction under way, met by every kind of user before it is undone.
#[test]
fn an_open_database_shows_and_yields_nothing_that_is_still_to_be_undone() {
    for is_clustered in [false, true] {
        for work in WORKS {
            for checkpointed in CHECKPOINTS {
                let case = format!("clustered {is_clustered}, {work:?}, checkpoint {checkpointed:?}");
                let (instance, database, table) = open(&crashed(is_clustered, work, checkpointed)).unwrap();
                let is_guarded = work != Work::Definitions;
                assert!(database.is_recovering(), "{case}");
                assert_eq!(
                    database.transactions.snapshot().len(),
                    usize::from(is_guarded),
                    "{case}"
                );
                let mut session = instance.open_session().unwrap();
                session.locks().set_timeout_ms(0);
                let locks = session.locks().clone();
                if is_guarded {
                    let dirty = content(&table, &locks, ReadMode::Uncommitted).unwrap();
                    assert!(dirty.contains(&(2, 999)), "{case}: {dirty:?}");
                    assert_eq!(
                        content(&table, &locks, ReadMode::Committed).unwrap_err().number,
                        1222,
                        "{case}"
                    );
                    assert_eq!(set(&table, &mut session, 2, 7).unwrap_err().number, 1222, "{case}");
                    session.roll_back().unwrap();
                    assert_eq!(
                        instance
                            .env
                            .errorlog
                            .lines()
                            .iter()
                            .filter(|line| line.text.contains("rolled back"))
                            .count(),
                        0
                    );
                }
                // Rows that it has not touched are everybody's, unless it had the whole table.
                let other = set(&table, &mut session, 4, 41);
                assert_eq!(other.is_ok(), work != Work::Fill, "{case}: {other:?}");
                session.commit().unwrap();
                let expected_4 = if other.is_ok() { 41 } else { 40 };

                instance.finish_recoveries().unwrap();
                assert!(!database.is_recovering());
                assert_eq!(database.recovery().rolled_back, 1, "{case}");
                let expected = COMMITTED.map(|(a, c)| (a, if a == 4 { expected_4 } else { c }));
                assert_eq!(
                    content(&table, &locks, ReadMode::Committed).unwrap(),
                    expected,
                    "{case}"
                );
                assert!(set(&table, &mut session, 2, 7).unwrap(), "{case}: its locks are gone");
                session.commit().unwrap();
                assert!(database.catalog.find("dbo", "beside", 0).is_none());
                assert!(database.check().unwrap().is_empty(), "{case}");
                drop(session);
                let session = instance.open_session().unwrap();
                instance.drop_database("vlf", &session).unwrap();
            }
        }
    }
}

/// Users work, undo is stopped half-way, checkpoints are written, then the power goes: at every write and sync of it.
#[test]
fn a_power_cut_while_undo_waits_or_works_leaves_what_was_committed() {
    // Goes round the two tables and the three fates of what was not synced.
    let sample = workbench::sample("operations while undo waits or works, with a power cut", 5);
    let mut points = 0;
    for (work, checkpointed) in [
        (Work::Rows, Checkpointed::Before),
        (Work::Rows, Checkpointed::InTheMiddle),
        (Work::Rows, Checkpointed::After),
        (Work::Fill, Checkpointed::InTheMiddle),
        (Work::Definitions, Checkpointed::Before),
    ] {
        let bases = [false, true].map(|is_clustered| crashed(is_clustered, work, checkpointed));
        for cut in (1..).step_by(sample.one_in) {
            let disk = bases[cut as usize % 2].after_power_cut(CutPolicy::AllKept, 1);
            disk.power_cut_at(disk.operation_count() + cut);
            let mut promised = COMMITTED.to_vec();
            let outcome = work_before_undo(&disk, work, &mut promised);
            if !disk.power_is_cut() {
                outcome.unwrap();
                break;
            }
            points += 1;
            let policy = [CutPolicy::AllLost, CutPolicy::RandomSectors, CutPolicy::AllKept][cut as usize % 3];
            let (instance, database, table) = open(&disk.after_power_cut(policy, cut)).unwrap();
            instance.finish_recoveries().unwrap();
            let session = instance.open_session().unwrap();
            let found = content(&table, session.locks(), ReadMode::Committed).unwrap();
            let mut next = promised.clone();
            next[3].1 += 1;
            assert!(
                found == promised || found == next,
                "{work:?} {checkpointed:?} cut {cut}: {found:?}, promised {promised:?}"
            );
            assert!(
                database.check().unwrap().is_empty(),
                "{work:?} {checkpointed:?} cut {cut}"
            );
        }
    }
    println!("power cut at {points} points between opening and the end of undo");
    assert!(points > 20, "{points}");
    sample.count(points);
}

fn work_before_undo(disk: &SimDisk, work: Work, promised: &mut [(i32, i32)]) -> Result<()> {
    let (instance, database, table) = open(disk)?;
    let mut session = instance.open_session()?;
    // Nothing is to be cleaned up by sessions and instances that a power cut ends.
    let outcome = (|| {
        for round in 0..3 {
            if work != Work::Fill {
                set(&table, &mut session, 4, promised[3].1 + 1)?;
                session.commit()?;
                promised[3].1 += 1;
            }
            match round {
                0 => database.indirect_checkpoint(1)?,
                1 => assert!(!database.finish_recovery(&|| false)? || work == Work::Definitions),
                _ => database.checkpoint()?,
            }
        }
        database.finish_recovery(&|| true)?;
        Ok(())
    })();
    std::mem::forget((session, instance));
    outcome
}
