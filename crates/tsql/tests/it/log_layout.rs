//! The VLFs in use as an administrator sees them: their order after a growth in the middle of a round, and their number
//! after small transactions in a log that checkpoints free.

use crate::transcript::{Transcript, instance, session};
use engine::instance::Instance;
use engine::log::LogPolicy;
use std::sync::Arc;
use tsql::session::{BatchOutcome, Session};

const NEWEST: &str = "select max(vlf_sequence_number) from sys.dm_db_log_info(db_id())";
const VLFS: &str = "select count(*) from sys.dm_db_log_info(db_id())";

struct Story {
    instance: Arc<Instance>,
    session: Session,
}

impl Story {
    fn begin(policy: LogPolicy, growth: &str, recovery: &str) -> Story {
        let instance = instance();
        let session = session(&instance);
        let mut story = Story { instance, session };
        story.run(&format!(
            "create database d on (name = d, filename = 'd.mdf')
             log on (name = d_log, filename = 'd.ldf', size = 1 MB, filegrowth = {growth})"
        ));
        story.instance.database("d").unwrap().storage.log.set_policy(policy);
        story.run(&format!("alter database d set recovery {recovery}"));
        story.run("use d");
        story
    }

    fn run(&mut self, batch: &str) -> String {
        let mut transcript = Transcript::default();
        let outcome = self.session.execute(batch, &mut transcript);
        assert_eq!(outcome, BatchOutcome::Completed, "{batch}: {}", transcript.text);
        transcript.text
    }

    /// The number that a query answers.
    fn number(&mut self, query: &str) -> u64 {
        let text = self.run(query);
        let row = text.lines().nth(1).unwrap_or_else(|| panic!("{query}: {text}"));
        row.trim().parse().unwrap_or_else(|_| panic!("{query}: {text}"))
    }

    /// Inserts rows until the log has entered `count` VLFs more; every so many rows the log is backed up, if asked for.
    fn enter(&mut self, count: u64, backs_up: bool) {
        let target = self.number(NEWEST) + count;
        while self.number(NEWEST) < target {
            self.run("insert t values ('x')");
            if backs_up {
                self.free();
            }
        }
    }

    fn free(&mut self) {
        self.run("backup log d to disk = 'nul' checkpoint backup log d to disk = 'nul'");
    }
}

fn policies() -> [LogPolicy; 2] {
    [LogPolicy::native(), LogPolicy::classic()]
}

/// Of four VLFs 1 and 2 are filled again while 3 and 4 are needed, and the log grows; then all is backed up and filling goes on. Behind
/// the last new VLF the log went on in VLF 1; SQL Server goes on in VLF 3, used longest ago (dba.stackexchange.com, question 262490).
#[test]
fn behind_a_growth_the_log_goes_on_in_the_vlf_with_the_lowest_fseqno() {
    for policy in policies() {
        let mut story = Story::begin(policy, "1 MB", "full");
        story.run("create table t (c char(3000)) backup database d to disk = 'nul' backup log d to disk = 'nul'");
        story.enter(2, false);
        story.free();
        story.enter(3, false);
        assert_eq!(story.number(VLFS) > 4, policy == LogPolicy::native());
        story.enter(1, false);
        let vlfs = story.number(VLFS);
        assert!(vlfs > 4, "the log has grown");
        story.free();
        // Through the rest of the new VLFs, and one further: to the one that was used longest ago.
        let oldest = story.number(
            "select top 1 vlf_begin_offset from sys.dm_db_log_info(db_id())
             where vlf_sequence_number > 0 order by vlf_sequence_number",
        );
        assert_ne!(oldest, 8_192, "{policy}: the first VLF of the file was used later");
        story.enter(vlfs - 4, true);
        let newest = "select top 1 vlf_begin_offset from sys.dm_db_log_info(db_id()) order by vlf_sequence_number desc";
        assert_eq!(story.number(newest), oldest, "{policy}");
    }
}

/// 500 transactions of one row in a log of 1 MB under SIMPLE left 5 to 9 VLFs, where SQL Server has 4: its checkpoint at 70 % comes in
/// time. So it is under FULL before the first full backup.
#[test]
fn small_transactions_do_not_make_a_small_log_grow() {
    for policy in policies() {
        for recovery in ["simple", "full"] {
            let mut story = Story::begin(policy, "10 %", recovery);
            story.run("create table t (a int, b varchar(50))");
            let first = story.number(NEWEST);
            for _ in 0..5_000 {
                story.run("insert t values (1, 'a few words for the log')");
            }
            let vlfs = story.number(VLFS);
            assert_eq!(vlfs, 4, "{policy}, {recovery}");
            let entered = story.number(NEWEST) - first;
            assert!(entered > 4, "{policy}, {recovery}: {entered} VLFs entered show nothing");
        }
    }
}

/// FILEGROWTH = 0 is "no growth" (ALTER DATABASE file options). A log that was created with it, not altered to it, grew by 64 KB and more.
#[test]
fn a_log_created_without_growth_is_full_at_its_size() {
    let mut story = Story::begin(LogPolicy::native(), "0", "full");
    story.run("create table t (a char(8000) not null)");
    let mut transcript = Transcript::default();
    let fill = "begin tran declare @i int = 0 while @i < 400 begin insert t values ('x') set @i += 1 end";
    story.session.execute(fill, &mut transcript);
    assert!(transcript.text.contains("Msg 9002"), "{}", transcript.text);
    assert_eq!(story.number("select size from sys.database_files where type = 1"), 128);
}
