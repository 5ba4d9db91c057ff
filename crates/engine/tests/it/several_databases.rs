//! A transaction that has changed several databases, master among them or not, commits in all of them or in none: with a power cut at every
//! write and sync of it, and with a log that fails. What a restart finds is what was acknowledged, or what was being committed.
//!
//! Depth: one operation in 3, deep every one, for each of the fates that what was not synced may have.
#![allow(clippy::unwrap_used)]

use crate::support;

use disk::sim::{CutPolicy, SimDisk};
use engine::error::Result;
use engine::instance::Instance;
use engine::log::LogPolicy;
use engine::session::{Session, Table};
use std::sync::Arc;
use support::*;

const USERS: [&str; 3] = ["one", "two", "three"];
const WITH_MASTER: [&str; 2] = ["one", "master"];

fn tables(instance: &Instance, names: &[&str]) -> Vec<Table> {
    let open = |name: &&str| open_table(&instance.database(name).unwrap(), "shared");
    names.iter().map(open).collect()
}

/// The databases, each with an empty table.
fn set_up(disk: &SimDisk, policy: LogPolicy, names: &[&str]) -> Arc<Instance> {
    let instance = start(disk, policy);
    let mut session = instance.open_session().unwrap();
    for name in names {
        if *name != "master" {
            instance.create_database(&statement(name, 1 << 20, 4 << 20)).unwrap();
        }
        create_table(&mut session, &instance.database(name).unwrap(), "shared");
        session.commit().unwrap();
    }
    instance
}

/// Transactions in all databases: every third is rolled back. Answers the numbers acknowledged, and the one whose commit was under way.
fn work(session: &mut Session, tables: &[Table]) -> (Vec<i32>, Option<i32>) {
    let mut settled = Vec::new();
    for number in 1..=4 {
        let inserted = tables
            .iter()
            .try_for_each(|table| try_insert(session, table, number, number));
        if inserted.is_err() {
            return (settled, None);
        }
        if number % 3 == 0 {
            if session.roll_back().is_err() {
                return (settled, None);
            }
            continue;
        }
        match session.commit() {
            Ok(()) => settled.push(number),
            Err(_) => return (settled, Some(number)),
        }
    }
    (settled, None)
}

fn found(instance: &Arc<Instance>, names: &[&str]) -> Vec<Vec<i32>> {
    let session = instance.open_session().unwrap();
    let numbers = |table: &Table| rows(&session, table).into_iter().map(|row| row.0).collect();
    tables(instance, names).iter().map(numbers).collect()
}

/// Cuts the power at every operation. Answers how often what was under way was there afterwards, and how often it was not.
fn cut_everywhere(policy: LogPolicy, names: &[&str]) -> (u32, u32) {
    let sample = workbench::sample("operations of a commit in several databases with a power cut", 3);
    let (mut with, mut without) = (0, 0);
    for fate in [CutPolicy::AllKept, CutPolicy::AllLost, CutPolicy::RandomSectors] {
        let mut cut = 0;
        for number in (1..).step_by(sample.one_in) {
            let disk = SimDisk::new(7);
            let instance = set_up(&disk, policy, names);
            let mut session = instance.open_session().unwrap();
            let opened = tables(&instance, names);
            cut = number;
            disk.power_cut_at(disk.operation_count() + cut);
            let (settled, under_way) = work(&mut session, &opened);
            if !disk.power_is_cut() {
                break;
            }
            drop((opened, session));
            std::mem::forget(instance);
            let instance = start(&disk.after_power_cut(fate, cut), policy);
            let found = found(&instance, names);
            let told = format!("{names:?}, {fate:?}, cut at {cut}: {found:?}, {settled:?}, {under_way:?}");
            assert!(found.windows(2).all(|pair| pair[0] == pair[1]), "{told}");
            let whole: Vec<i32> = settled.iter().copied().chain(under_way).collect();
            assert!(found[0] == settled || found[0] == whole, "{told}");
            if under_way.is_some() {
                match found[0] == whole {
                    true => with += 1,
                    false => without += 1,
                }
            }
            // The databases go on together.
            let mut session = instance.open_session().unwrap();
            for table in tables(&instance, names) {
                try_insert(&mut session, &table, 9, 9).unwrap();
            }
            session.commit().unwrap();
            for name in names {
                assert!(instance.database(name).unwrap().check().unwrap().is_empty(), "{told}");
            }
        }
        assert!(cut > 10, "{cut} operations");
        sample.count(cut / sample.one_in as u64);
    }
    (with, without)
}

#[test]
fn a_power_cut_leaves_all_of_it_or_nothing() {
    for policy in [LogPolicy::native(), LogPolicy::classic()] {
        for names in [&USERS[..], &WITH_MASTER] {
            let (with, without) = cut_everywhere(policy, names);
            println!("{names:?}: committed after all {with} times, rolled back {without} times");
            assert!(with > 0 && without > 0, "{with} and {without}");
        }
    }
}

/// The order of databases does not count, and one alone asks nobody: it makes no decision.
#[test]
fn a_transaction_in_one_database_makes_no_decision() -> Result<()> {
    let disk = SimDisk::new(7);
    let instance = set_up(&disk, LogPolicy::native(), &USERS);
    let opened = tables(&instance, &USERS);
    let mut session = instance.open_session()?;
    let decisions = |instance: &Instance| instance.database("master").unwrap().transactions.finished().0;
    let before = decisions(&instance);
    for number in 1..=3 {
        try_insert(&mut session, &opened[0], number, number)?;
        session.commit()?;
    }
    assert_eq!(decisions(&instance), before);
    for table in opened.iter().rev() {
        try_insert(&mut session, table, 4, 4)?;
    }
    session.commit()?;
    assert!(decisions(&instance) > before);
    Ok(())
}
