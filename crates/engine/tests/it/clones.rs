//! Clones of a database: a power cut while one is made leaves a whole one or none, and no file of it; the source is as it was.
//!
//! Depth: one operation in 8; deep: every one.
#![allow(clippy::unwrap_used)]

use crate::support;

use disk::Disk;
use disk::sim::{FaultError, OperationKind, Repetition, SimDisk};
use engine::error::Result;
use engine::instance::{CloneDatabase, Instance};
use engine::log::LogPolicy;
use engine::session::Table;
use std::path::Path;
use std::sync::Arc;
use support::*;

const POLICIES: [fn() -> LogPolicy; 2] = [LogPolicy::classic, LogPolicy::native];

fn prepare(disk: &SimDisk, policy: LogPolicy) -> Arc<Instance> {
    let instance = start(disk, policy);
    let database = instance.create_database(&statement("vlf", 1 << 20, 64 << 20)).unwrap();
    let mut session = instance.open_session().unwrap();
    for name in ["t", "u"] {
        let object = session.create_table(&database, table_definition(name)).unwrap();
        let table = Table::open(&database, &object).unwrap();
        for number in 0..20 {
            try_insert(&mut session, &table, number, 0).unwrap();
        }
        session.commit().unwrap();
    }
    instance
}

fn clone(instance: &Arc<Instance>) -> Result<()> {
    let mut session = instance.open_session()?;
    let statement = CloneDatabase {
        source: "vlf".into(),
        target: "copy".into(),
        has_statistics: true,
    };
    instance.clone_database(&statement, &mut session).map(|_| ())
}

/// The files of clones: their names have a number.
fn files(disk: &SimDisk) -> Vec<String> {
    let listed = disk.list(Path::new("/instance/c")).unwrap();
    let names = listed.iter().map(|path| path.display().to_string());
    names
        .filter(|name| name.contains("vlf_") && !name.contains("vlf_log."))
        .collect()
}

/// Whether there is a clone, which is whole then, and alone in its folder otherwise.
fn is_there(instance: &Arc<Instance>, disk: &SimDisk) -> bool {
    let source = instance.database("vlf").unwrap();
    assert!(source.check().unwrap().is_empty());
    assert_eq!(open_table(&source, "t").row_count().unwrap_or(20), 20);
    let Ok(copy) = instance.database("copy") else {
        assert_eq!(
            instance
                .slots()
                .iter()
                .filter(|slot| slot.entry().database_id > 4)
                .count(),
            1
        );
        assert_eq!(files(disk), Vec::<String>::new());
        return false;
    };
    let report = copy.check().unwrap();
    assert!(report.is_empty(), "{report:?}");
    assert!(copy.is_clone() && copy.is_read_only());
    for name in ["t", "u"] {
        assert_eq!(
            open_table(&copy, name).row_count(),
            Some(20),
            "what is believed of {name}"
        );
    }
    true
}

#[test]
fn a_power_cut_while_a_clone_is_made_leaves_a_whole_one_or_none() {
    let sample = workbench::sample("operations of a clone with a power cut", 8);
    let (mut points, mut made) = (0, 0);
    for policy in POLICIES {
        let whole = SimDisk::new(91);
        let instance = prepare(&whole, policy());
        let before = whole.operation_count();
        clone(&instance).unwrap();
        let total = whole.operation_count();
        assert!(is_there(&instance, &whole));
        drop(instance);
        for cut in (before + 1..total).step_by(sample.one_in).chain([total, total + 1]) {
            let disk = SimDisk::new(91);
            let instance = prepare(&disk, policy());
            disk.power_cut_at(cut);
            let outcome = clone(&instance);
            assert!(
                outcome.is_err() || disk.power_is_cut() || cut > total,
                "{cut} of {total}"
            );
            std::mem::forget(instance);
            let disk = disk.after_power_cut(cut_policy(cut), cut);
            let instance = start(&disk, policy());
            let found = is_there(&instance, &disk);
            assert!(
                found || outcome.is_err() || cut <= total,
                "an acknowledged clone is gone: {cut} of {total}"
            );
            made += u64::from(found);
            if !found {
                clone(&instance).unwrap();
                assert!(is_there(&instance, &disk));
            }
            points += 1;
        }
    }
    sample.count(points);
    assert!(made > 0 && made < points, "{made} of {points}");
}

#[test]
fn a_clone_that_has_no_room_leaves_nothing() {
    let disk = SimDisk::new(92);
    let instance = prepare(&disk, LogPolicy::native());
    for (kind, write) in [
        (OperationKind::Write, 1),
        (OperationKind::Write, 3),
        (OperationKind::Create, 2),
    ] {
        disk.fail_next(kind, "vlf_", write, FaultError::NoSpace, Repetition::Once);
        clone(&instance).unwrap_err();
        assert!(!is_there(&instance, &disk));
    }
    clone(&instance).unwrap();
    assert!(is_there(&instance, &disk));
}
