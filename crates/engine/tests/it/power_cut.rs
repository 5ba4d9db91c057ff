//! The power is cut at every write, sync, growth, creation and deletion of a small workload, under both log policies:
//! exactly what was committed is there. The workload grows its log, wraps it, checkpoints, truncates, rolls back, and
//! creates and drops a table.
//!
//! Depth: one operation in 11; deep: every one.
#![allow(clippy::unwrap_used)]

use crate::support;

use disk::sim::SimDisk;
use engine::error::Result;
use engine::instance::Instance;
use engine::log::LogPolicy;
use engine::recovery::RecoveryModel;
use engine::session::Table;
use std::sync::Arc;
use support::*;

/// What must be in the database: the last state whose commit returned, or the one whose commit was under way.
#[derive(Debug, Clone, Default, PartialEq)]
struct Model {
    settled: Vec<(i32, i32)>,
    under_way: Option<Vec<(i32, i32)>>,
}

impl Model {
    fn committing(&mut self, rows: Vec<(i32, i32)>) {
        self.under_way = Some(rows);
    }

    fn committed(&mut self) {
        self.settled = self.under_way.take().unwrap();
    }

    fn allows(&self, rows: &[(i32, i32)]) -> bool {
        rows == self.settled || self.under_way.as_deref() == Some(rows)
    }
}

/// Runs until the end or the first error. `model` follows what was promised.
fn run(instance: &Arc<Instance>, model: &mut Model) -> Result<usize> {
    let database = instance.create_database(&statement("vlf", 1 << 20, 2 << 20))?;
    database.set_recovery_model(RecoveryModel::Simple)?;
    let mut session = instance.open_session()?;
    let object = session.create_table(&database, table_definition("t"))?;
    let table = Table::open(&database, &object)?;
    session.commit()?;
    let mut content = Vec::new();
    for round in 1..=90 {
        if round % 20 == 1 {
            try_insert(&mut session, &table, round, round)?;
            content.push((round, round));
        }
        update(&mut session, &table, if round % 2 == 0 { "a" } else { "b" }, round)?;
        content.iter_mut().for_each(|row: &mut (i32, i32)| row.1 = round);
        model.committing(content.clone());
        session.commit()?;
        model.committed();
        match round % 15 {
            2 => database.indirect_checkpoint(1)?,
            5 => database.checkpoint()?,
            9 => {
                update(&mut session, &table, "z", -1)?;
                session.roll_back()?;
            }
            12 => {
                let lost = session.create_table(&database, table_definition("scratch"))?;
                session.commit()?;
                session.drop_object(&database, &lost)?;
                session.commit()?;
            }
            _ => {}
        }
    }
    let vlfs = database.storage.log.vlfs();
    Ok(vlfs.iter().filter(|vlf| vlf.parity == 128).count())
}

fn state_after(disk: &SimDisk, policy: LogPolicy) -> Option<Vec<(i32, i32)>> {
    let instance = start(disk, policy);
    let database = match instance.database("vlf") {
        Ok(database) => database,
        Err(error) if error.number == 911 => return None,
        Err(error) => panic!("{error}: {:#?}", instance.env.errorlog.lines()),
    };
    let table = open_table_if_there(&database, "t")?;
    let session = instance.open_session().unwrap();
    let found = rows(&session, &table);
    assert!(
        database.check().unwrap().is_empty(),
        "the database is not sound after recovery"
    );
    Some(found)
}

fn cut_everywhere(policy: LogPolicy) -> (u64, u64) {
    let whole = SimDisk::new(11);
    let mut model = Model::default();
    let instance = start(&whole, policy);
    let before = whole.operation_count();
    let reused = run(&instance, &mut model).unwrap();
    assert!(reused >= 1, "no VLF was used twice: the workload does not wrap the log");
    let total = whole.operation_count();
    drop(instance);
    let (mut points, mut with_data) = (0, 0);
    let sample = workbench::sample("operations with a power cut", 11);
    for cut in (before + 1..=total).step_by(sample.one_in) {
        let disk = SimDisk::new(11);
        let instance = start(&disk, policy);
        disk.power_cut_at(cut);
        let mut model = Model::default();
        let outcome = run(&instance, &mut model);
        assert!(
            outcome.is_err() || disk.power_is_cut(),
            "the power was not cut at {cut} of {total}"
        );
        std::mem::forget(instance);
        let fate = cut_policy(cut);
        let found = state_after(&disk.after_power_cut(fate, cut), policy);
        match found {
            Some(rows) => assert!(
                model.allows(&rows),
                "cut {cut} ({fate:?}): {rows:?} is not in {model:?}"
            ),
            None => assert_eq!(model.settled, [], "cut {cut} ({fate:?}): the database is gone"),
        }
        with_data += u64::from(!model.settled.is_empty());
        points += 1;
    }
    sample.count(points);
    (points, with_data)
}

#[test]
fn every_cut_recovers_to_the_committed_state_native() {
    let (points, with_data) = cut_everywhere(LogPolicy::native());
    println!("power cut at {points} points (native), {with_data} of them with committed rows at stake");
    assert!(with_data > 10, "{with_data}");
}

#[test]
fn every_cut_recovers_to_the_committed_state_classic() {
    let (points, with_data) = cut_everywhere(LogPolicy::classic());
    println!("power cut at {points} points (classic), {with_data} of them with committed rows at stake");
    assert!(with_data > 10, "{with_data}");
}
