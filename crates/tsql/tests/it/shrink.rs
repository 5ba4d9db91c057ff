//! DBCC SHRINKFILE past the VLF that the log is in, step by step, as an administrator does it. Power cuts during it:
//! `engine/src/log/tests/shrink.rs`.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use std::sync::Arc;

use engine::instance::Instance;
use engine::log::{LogPolicy, RecordKind};
use transcript::{Transcript, instance, session};
use tsql::session::{BatchOutcome, Session};

struct Story {
    instance: Arc<Instance>,
    session: Session,
}

impl Story {
    fn begin(policy: LogPolicy, recovery: &str) -> Story {
        let instance = instance();
        let session = session(&instance);
        let mut story = Story { instance, session };
        story.run("create database d on (name = d, filename = 'd.mdf') log on (name = d_log, filename = 'd.ldf', size = 8 MB, filegrowth = 0)");
        story.instance.database("d").unwrap().storage.log.set_policy(policy);
        story.run(&format!("alter database d set recovery {recovery}"));
        story.run("create table d.dbo.t (i int, w char(6000) not null)");
        story.run("insert d.dbo.t values (0, 'first')");
        story.run("backup database d to disk = 'F' with init");
        story
    }

    fn run(&mut self, batch: &str) -> String {
        let mut transcript = Transcript::default();
        let outcome = self.session.execute(batch, &mut transcript);
        assert_eq!(outcome, BatchOutcome::Completed, "{batch}: {}", transcript.text);
        transcript.text
    }

    /// The state of every VLF, and the size of the log file in pages.
    fn log(&self) -> (Vec<u8>, u64) {
        let database = self.instance.database("d").unwrap();
        let log = &database.storage.log;
        let states = log.vlfs().iter().map(|vlf| vlf.status).collect();
        (states, log.files()[0].bytes / 8192)
    }

    /// Works until the log stands in the last of its four VLFs and that alone is needed.
    fn reach_the_end(&mut self, frees: &str) {
        while self.log().0[3] != 2 {
            self.run("update d.dbo.t set w = replicate('b', 6000) update d.dbo.t set w = replicate('a', 6000)");
            if self.log().0[2] == 2 {
                self.run("use d checkpoint");
                self.run(frees);
            }
        }
        self.run("use d checkpoint");
        self.run(frees);
        assert_eq!(self.log().0, [0, 0, 0, 2]);
    }

    /// The noops in the log from its oldest active VLF on.
    fn fillings(&self) -> usize {
        let database = self.instance.database("d").unwrap();
        let log = &database.storage.log;
        let vlfs = log.vlfs();
        let oldest = vlfs.iter().filter(|vlf| vlf.status == 2).min_by_key(|vlf| vlf.sequence);
        let mut scan = log.scan(oldest.unwrap().first_lsn).unwrap();
        let mut count = 0;
        while let Some(record) = scan.next().unwrap() {
            count += usize::from(record.header.kind == RecordKind::ShrinkNoop);
        }
        count
    }
}

/// The first round fills the VLF in which the log stands, the second shrinks: in both recovery models, under both policies. What a log
/// backup holds of the filling is restored as nothing.
#[test]
fn the_second_round_shrinks_past_where_the_log_stood() {
    for policy in [LogPolicy::classic(), LogPolicy::native()] {
        for (recovery, frees) in [
            ("full", "backup log d to disk = 'L' with init"),
            ("simple", "use d checkpoint"),
        ] {
            let told = format!("{recovery} {policy:?}");
            let mut story = Story::begin(policy, recovery);
            story.reach_the_end(frees);
            story.run("backup database d to disk = 'F' with init");
            let first = story.run("use d dbcc shrinkfile (d_log, 1)");
            assert!(first.contains("Msg 9008, Level 10"), "{told}: {first}");
            assert_eq!(story.log(), (vec![2, 0, 0, 2], 1024), "{told}");
            assert!(story.fillings() > 3, "{told}");
            story.run("insert d.dbo.t values (1, 'between')");
            story.run(frees);
            story.run("use d dbcc shrinkfile (d_log, 1)");
            assert_eq!(story.log(), (vec![2, 0], 497), "{told}");
            assert_eq!(story.fillings(), 1, "{told}: the one that went to the next VLF");
            let rows = story.run("set nocount on select i from d.dbo.t order by i");
            assert!(rows.contains('1'), "{told}: {rows}");
            story.run("dbcc checkdb (d) with no_infomsgs");
            if recovery == "full" {
                story.run("restore database d from disk = 'F' with replace, norecovery");
                story.run("restore log d from disk = 'L' with recovery");
                assert_eq!(
                    story.run("set nocount on select i from d.dbo.t order by i"),
                    rows,
                    "{told}"
                );
            }
        }
    }
}

/// TRUNCATEONLY "doesn't move information in the log" (sql-docs, DBCC SHRINKFILE), and neither does a target that the last VLF begins before.
#[test]
fn what_moves_nothing_leaves_the_log_where_it_is() {
    let mut story = Story::begin(LogPolicy::native(), "simple");
    story.reach_the_end("use d checkpoint");
    for command in [
        "dbcc shrinkfile (d_log, 1, truncateonly)",
        "dbcc shrinkfile (d_log, 7)",
        "dbcc shrinkdatabase (d, truncateonly)",
    ] {
        story.run(&format!("use d {command}"));
        assert_eq!(story.log(), (vec![0, 0, 0, 2], 1024), "{command}");
    }
    story.run("use d dbcc shrinkdatabase (d)");
    assert_eq!(story.log(), (vec![2, 0, 0, 2], 1024));
    story.run("use d dbcc shrinkdatabase (d)");
    assert_eq!(story.log(), (vec![2, 0], 497));
}
