//! An instance as its users see it: databases come and go, transactions commit and roll back, crashes are survived.
#![allow(clippy::unwrap_used)]

use crate::support;

use disk::sim::{CutPolicy, FaultError, OperationKind, Repetition, SimDisk};
use engine::catalog::{ObjectDefinition, StatisticsDefinition};
use engine::instance::{Instance, WorkName};
use engine::log::LogPolicy;
use engine::seams::{Background, Environment};
use engine::session::{CountPlan, Sampling, leading_of, update_statistics_aside};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::*;

#[test]
fn committed_work_survives_a_crash_and_uncommitted_work_does_not() {
    for policy in [LogPolicy::classic(), LogPolicy::native()] {
        let disk = SimDisk::new(7);
        let instance = start(&disk, policy);
        let database = instance.create_database(&statement("vlf", 1 << 20, 64 << 20)).unwrap();
        let mut session = instance.open_session().unwrap();
        let table = create_table(&mut session, &database, "vlf_test");
        insert(&mut session, &table, 1, 0);
        session.commit().unwrap();
        // Open to the end, so that no checkpoint frees any log.
        let mut other = instance.open_session().unwrap();
        create_table(&mut other, &database, "opentran");
        for round in 1..=150 {
            update(&mut session, &table, if round % 2 == 0 { "a" } else { "b" }, round).unwrap();
            session.commit().unwrap();
        }
        update(&mut session, &table, "z", 999).unwrap();
        assert!(database.storage.log.vlfs().len() > 4, "the log had to grow");
        database.storage.log.flush_to(database.storage.log.end()).unwrap();
        // The power goes: both sessions are in the middle of something.
        disk.power_cut_at(disk.operation_count() + 1);
        std::mem::forget((session, other, instance));

        let disk = disk.after_power_cut(CutPolicy::RandomSectors, 3);
        let instance = start(&disk, policy);
        let database = instance.database("VLF").unwrap();
        let session = instance.open_session().unwrap();
        assert_eq!(rows(&session, &open_table(&database, "vlf_test")), [(1, 150)]);
        assert!(database.catalog.find("dbo", "opentran", 0).is_none());
        assert_eq!(database.recovery().rolled_back, 2, "{:?}", database.recovery());
        let lines: Vec<String> = instance
            .env
            .errorlog
            .lines()
            .into_iter()
            .map(|line| line.text)
            .collect();
        for phrase in [
            "Starting up database 'vlf'.",
            "transactions rolled forward in database 'vlf' (5:0)",
            "Recovery is complete.",
        ] {
            assert!(lines.iter().any(|line| line.contains(phrase)), "{phrase}: {lines:#?}");
        }
    }
}

#[test]
fn rollback_takes_back_rows_tables_and_their_pages() {
    let disk = SimDisk::new(7);
    let instance = start(&disk, LogPolicy::native());
    let database = instance.create_database(&statement("shop", 4 << 20, 64 << 20)).unwrap();
    let mut session = instance.open_session().unwrap();
    let kept = create_table(&mut session, &database, "kept");
    insert(&mut session, &kept, 1, 10);
    session.commit().unwrap();
    let mark = session.mark();
    let lost = create_table(&mut session, &database, "lost");
    insert(&mut session, &lost, 1, 1);
    update(&mut session, &kept, "x", 11).unwrap();
    session.roll_back_to(&mark).unwrap();
    assert!(database.catalog.find("dbo", "lost", session.id).is_none());
    insert(&mut session, &kept, 2, 20);
    session.commit().unwrap();
    assert_eq!(rows(&session, &kept), [(1, 10), (2, 20)]);
}

#[test]
fn a_full_log_says_why_and_everything_goes_on_after_rollback() {
    let disk = SimDisk::new(7);
    let instance = start(&disk, LogPolicy::native());
    let database = instance.create_database(&statement("small", 1 << 20, 3 << 20)).unwrap();
    let mut session = instance.open_session().unwrap();
    let table = create_table(&mut session, &database, "t");
    insert(&mut session, &table, 1, 0);
    session.commit().unwrap();
    database.checkpoint().unwrap();
    let error =
        (1..10_000).find_map(|round| update(&mut session, &table, if round % 2 == 0 { "a" } else { "b" }, round).err());
    let error = error.unwrap();
    assert_eq!((error.number, error.severity), (9002, 17));
    assert_eq!(
        error.message,
        "The transaction log for database 'small' is full due to 'ACTIVE_TRANSACTION'."
    );
    assert_eq!(database.storage.log.vlfs().len(), 12, "3 MB grown by 1 MB");
    session.roll_back().unwrap();
    assert_eq!(rows(&session, &table), [(1, 0)]);
    database.checkpoint().unwrap();
    update(&mut session, &table, "c", 5).unwrap();
    session.commit().unwrap();
    assert_eq!(rows(&session, &table), [(1, 5)]);
}

#[test]
fn identity_values_skip_at_most_a_thousand_after_a_crash_and_none_after_a_clean_stop() {
    let disk = SimDisk::new(7);
    let instance = start(&disk, LogPolicy::native());
    let database = instance.create_database(&statement("ids", 4 << 20, 64 << 20)).unwrap();
    let mut session = instance.open_session().unwrap();
    create_table(&mut session, &database, "t");
    session.commit().unwrap();
    let next = |instance: &Arc<Instance>| {
        let database = instance.database("ids").unwrap();
        let object = database.catalog.find("dbo", "t", 0).unwrap();
        let ObjectDefinition::Table(table) = &object.definition else {
            unreachable!()
        };
        let locks = database.internal_locks();
        database
            .next_identity(table, table.identity().unwrap().1, locks)
            .unwrap()
    };
    assert_eq!([next(&instance), next(&instance)], [1, 2]);
    drop(session);
    instance.shutdown(false).unwrap();
    drop((database, instance));
    let instance = start(&disk, LogPolicy::native());
    assert_eq!(next(&instance), 3);
    let database = instance.database("ids").unwrap();
    database.storage.log.flush_to(database.storage.log.end()).unwrap();
    disk.power_cut_at(disk.operation_count() + 1);
    std::mem::forget((database, instance));
    let disk = disk.after_power_cut(CutPolicy::AllLost, 1);
    let instance = start(&disk, LogPolicy::native());
    assert_eq!(next(&instance), 1_003);
}

#[test]
fn a_database_can_be_dropped_and_made_again_under_the_same_names() {
    let disk = SimDisk::new(7);
    let instance = start(&disk, LogPolicy::native());
    let session = instance.open_session().unwrap();
    for _ in 0..3 {
        instance.create_database(&statement("again", 1 << 20, 4 << 20)).unwrap();
        let taken = instance.create_database(&statement("AGAIN", 1 << 20, 4 << 20));
        assert_eq!(taken.err().map(|error| error.number), Some(1801));
        instance.drop_database("again", &session).unwrap();
        assert_eq!(instance.drop_database("again", &session).unwrap_err().number, 3701);
    }
    assert_eq!(instance.drop_database("master", &session).unwrap_err().number, 3708);
}

/// Every plan that was made while statistics were being counted left the same work once more, and all of it was kept. A panic in one
/// piece of it ended the thread for good, and whatever was left to it from then on was forgotten.
#[test]
fn work_that_is_left_is_done_once_however_often_it_is_asked_for_and_a_panic_costs_no_other() {
    let env = Environment {
        background: Background::Threads,
        ..environment(&SimDisk::new(7))
    };
    let instance = Instance::start(options(LogPolicy::native()), env).unwrap();
    let (begin, begun) = channel();
    let (go, may_go) = channel::<()>();
    let under_way = move |_: &[WorkName]| {
        begin.send(()).unwrap();
        may_go.recv().unwrap();
    };
    instance.leave([(5, 1)], under_way);
    begun.recv().unwrap();
    let done = Arc::new(Mutex::new(Vec::new()));
    for names in [[(5, 1), (5, 1)], [(5, 1), (5, 2)], [(5, 2), (5, 1)]] {
        let done = done.clone();
        instance.leave(names, move |taken| done.lock().unwrap().extend_from_slice(taken));
    }
    go.send(()).unwrap();
    let (tell, told) = channel();
    let telling = || {
        let tell = tell.clone();
        move |_: &[WorkName]| tell.send(()).unwrap()
    };
    instance.leave([(5, 3)], telling());
    told.recv().unwrap();
    assert_eq!(*done.lock().unwrap(), [(5, 2)]);
    instance.leave([(5, 4)], |_| panic!("as the test wants it"));
    while told.recv_timeout(Duration::from_millis(10)).is_err() {
        instance.leave([(5, 4)], telling());
    }
    instance.shutdown(true).unwrap();
}

/// Statistics are never worth an error, and with the error went the news that the disk fails.
#[test]
fn a_page_that_cannot_be_read_while_statistics_are_counted_aside_is_told() {
    let disk = SimDisk::new(7);
    let instance = start(&disk, LogPolicy::native());
    let database = instance.create_database(&statement("vlf", 1 << 20, 64 << 20)).unwrap();
    let mut session = instance.open_session().unwrap();
    let table = create_table(&mut session, &database, "vlf_test");
    // More pages than the pool has.
    for number in 0..1_000 {
        insert(&mut session, &table, number, 0);
    }
    session.commit().unwrap();
    let counted = table.count_statistics(session.locks(), &[CountPlan::of(vec![2])], Sampling::Full, (1, 1));
    let made = StatisticsDefinition {
        object_id: 0,
        table: table.definition().object_id,
        stats_id: 2,
        name: "_WA_Sys_c".into(),
        of_index: false,
        auto_created: true,
        no_recompute: false,
        leading: leading_of(table.definition(), &[2]),
        columns: vec![2],
        content: counted.unwrap().remove(0).map(Arc::new),
        modified: 0,
        filter: None,
    };
    database.store_own_statistics(vec![made]).unwrap();
    database.checkpoint().unwrap();
    let kept = || -> Vec<StatisticsDefinition> {
        let kept = database.catalog.statistics_of(table.definition().object_id, 0);
        kept.iter().filter_map(|object| object.statistics().cloned()).collect()
    };
    let told = || {
        let lines = instance.env.errorlog.lines().into_iter();
        lines.filter(|line| line.text.starts_with("Error: 823,")).count()
    };
    disk.fail_next(OperationKind::Read, "vlf.mdf", 1, FaultError::Io, Repetition::Forever);
    update_statistics_aside(&database, table.object(), kept(), (2, 2));
    assert_eq!(told(), 1);
    disk.clear_faults();
    update_statistics_aside(&database, table.object(), kept(), (3, 3));
    assert_eq!(kept()[0].content.as_ref().unwrap().updated, (3, 3));
    assert_eq!(told(), 1);
}
