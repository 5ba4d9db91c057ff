//! Checkpoints that come by time, or because a log backup waits for one; the tests move the clock.
#![allow(clippy::unwrap_used)]

use crate::support;

use disk::sim::SimDisk;
use engine::backup::{BackupKind, BackupRequest};
use engine::database::Database;
use engine::instance::Instance;
use engine::log::LogPolicy;
use engine::recovery::RecoveryModel;
use engine::seams::{Environment, ManualClock};
use engine::session::{Session, Table};
use std::sync::Arc;
use support::*;

const SECOND: u64 = 1_000_000;

/// An instance whose clock the test moves, with a table of a few large rows.
struct Bench {
    clock: Arc<ManualClock>,
    instance: Arc<Instance>,
    database: Arc<Database>,
    session: Session,
    table: Table,
}

impl Bench {
    fn new(policy: LogPolicy, model: RecoveryModel) -> Bench {
        let clock = Arc::new(ManualClock::starting_at(1_700_000_000_000_000));
        let env = Environment {
            clock: clock.clone(),
            ..environment(&SimDisk::new(3))
        };
        let instance = Instance::start(options(policy), env).unwrap();
        let database = instance.create_database(&statement("vlf", 4 << 20, 512 << 20)).unwrap();
        database.set_recovery_model(model).unwrap();
        let mut session = instance.open_session().unwrap();
        let table = create_table(&mut session, &database, "t");
        for number in 0..8 {
            insert(&mut session, &table, number, 0);
        }
        session.commit().unwrap();
        Bench {
            clock,
            instance,
            database,
            session,
            table,
        }
    }

    /// Some 120 KB of log.
    fn work(&mut self, round: u64) {
        let letter = if round.is_multiple_of(2) { "a" } else { "b" };
        update(&mut self.session, &self.table, letter, round as i32).unwrap();
        self.session.commit().unwrap();
    }

    fn backup(&self, kind: BackupKind, number: u64) {
        let request = BackupRequest {
            kind,
            path: format!("c:\\{number}.bak"),
            user: "sa".into(),
            ..BackupRequest::default()
        };
        self.instance
            .backup("vlf", &request, &self.session, &mut |_| Ok(()))
            .unwrap();
    }

    fn pass(&self, micros: u64) {
        self.clock.advance(micros);
        self.instance.run_due_checkpoints();
    }

    fn log_bytes(&self) -> u64 {
        self.database.storage.log.space().total_bytes
    }
}

/// Log backups every 5 seconds under load: the log grew by all that was written between two indirect checkpoints by volume, 128 MB
/// and more, and waited for CHECKPOINT.
#[test]
fn a_log_that_is_backed_up_often_stays_small() {
    for (policy, limit) in [(LogPolicy::native(), 16 << 20), (LogPolicy::classic(), 48 << 20)] {
        let mut bench = Bench::new(policy, RecoveryModel::Full);
        bench.backup(BackupKind::Database, 0);
        let mut written = 0;
        for round in 1..=400 {
            bench.work(round);
            bench.pass(SECOND);
            if round.is_multiple_of(5) {
                bench.backup(BackupKind::Log, round);
            }
            written = bench.database.storage.log.counters().bytes_flushed;
        }
        assert!(
            written > 48 << 20,
            "{written} bytes of log are too few to show anything"
        );
        assert!(bench.log_bytes() < limit, "{} of {written}", bench.log_bytes());
    }
}

/// While something is committed, however little, a checkpoint comes after half a minute, and redo begins at the one before; in a
/// database where nothing happens none is written.
#[test]
fn an_indirect_checkpoint_comes_by_time_where_something_is_committed() {
    let mut bench = Bench::new(LogPolicy::native(), RecoveryModel::Simple);
    let mut former = bench.database.boot();
    for round in 1..=5 {
        bench.work(round);
        bench.pass(20 * SECOND);
        assert_eq!(bench.database.boot().checkpoint, former.checkpoint, "too early");
        bench.pass(11 * SECOND);
        let boot = bench.database.boot();
        assert!(boot.checkpoint > former.checkpoint, "none in round {round}");
        assert!(boot.redo_start >= former.redo_start);
        if round > 1 {
            assert!(boot.redo_start >= former.checkpoint, "the budget suffices for 8 pages");
        }
        former = boot;
    }
    for _ in 0..10 {
        bench.pass(31 * SECOND);
        assert_eq!(
            bench.database.boot().checkpoint,
            former.checkpoint,
            "nothing was committed"
        );
    }
}

/// Under the classic policy checkpoints come by the recovery interval; what waits for one gets it within a minute, and by
/// time alone there is none.
#[test]
fn the_classic_policy_has_no_checkpoints_by_time_alone() {
    let mut bench = Bench::new(LogPolicy::classic(), RecoveryModel::Simple);
    let former = bench.database.boot().checkpoint;
    for round in 1..=5 {
        bench.work(round);
        bench.pass(300 * SECOND);
    }
    assert_eq!(bench.database.boot().checkpoint, former);
}
