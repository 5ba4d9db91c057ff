//! Statistics through close and open, a kill, a power cut and a restore: committed ones are there, histogram included.
#![allow(clippy::unwrap_used)]

use crate::story;

use disk::sim::CutPolicy;
use story::{Again, Story};

const TABLE: &str = "use d set nocount on create table t (a int not null primary key, b int not null, c varchar(10) not null) \
    declare @i int = 0 while @i < 600 begin insert t values (@i, @i % 30, 'x') set @i += 1 end";
/// Of a user, of an index, and made by a plan.
const MADE: &str = "create statistics sb on t (b) with fullscan, norecompute create index ic on t (c)";
const WANTED: &str = "select count(*) from t where b = 3 and a > 5";
/// Each with its flags, its rows, and what its steps add up to.
const KEPT: &str = "select s.name, s.auto_created, s.no_recompute, p.rows, p.steps, \
    (select cast(sum(h.equal_rows + h.range_rows) as int) from sys.dm_db_stats_histogram(s.object_id, s.stats_id) h) \
    from sys.stats s cross apply sys.dm_db_stats_properties(s.object_id, s.stats_id) p \
    where s.object_id = object_id('t') and p.rows is not null order by s.stats_id";
const COUNTED: &str = "select p.modification_counter from sys.stats s cross apply sys.dm_db_stats_properties(s.object_id, s.stats_id) p \
    where s.name = 'sb'";

fn made() -> Story {
    let mut story = Story::begin();
    story.run("create database d");
    story.run(TABLE);
    story.run(MADE);
    story.run(WANTED);
    story
}

#[test]
fn statistics_are_there_however_a_database_comes_to_be_opened_again() {
    for again in Again::ALL {
        let mut story = made();
        story.run("update t set b = b + 1 where a < 100");
        let kept = story.rows(KEPT);
        assert!(
            kept.iter().any(|line| line.starts_with("sb 0 1 600 30 600")),
            "{kept:?}"
        );
        assert!(kept.iter().any(|line| line.starts_with("ic 0 0 600 1 600")), "{kept:?}");
        assert_eq!(story.rows(COUNTED), ["100"]);
        story.again(again, "d");
        story.run("use d");
        assert_eq!(story.rows(KEPT), kept, "{again:?}");
        // How much was modified is kept in memory, and stored when a database is closed.
        let counted = if again == Again::Kill { "0" } else { "100" };
        assert_eq!(story.rows(COUNTED), [counted], "{again:?}");
        story.is_sound("d");
    }
}

/// Rows are counted in memory. Until they were counted again, plans made after a restart took a table of small rows for a quarter of it.
#[test]
fn after_a_start_a_table_has_as_many_rows_as_its_statistics() {
    for again in Again::ALL {
        let mut story = made();
        story.again(again, "d");
        story.run("use d");
        story.run("set showplan_all on");
        let shown = story.rows("select b from t where c <> 'y'").join(" ");
        story.run("set showplan_all off");
        // All but the few that may equal a value which no step has.
        assert!(shown.split_whitespace().any(|word| word == "599"), "{again:?}: {shown}");
    }
}

#[test]
fn a_power_cut_leaves_what_was_committed_and_nothing_else() {
    for policy in [CutPolicy::AllKept, CutPolicy::AllLost] {
        let mut story = made();
        let kept = story.rows(KEPT);
        story.run("begin tran drop statistics t.sb create statistics sa on t (a, b) update statistics t ic checkpoint");
        let disk = story.disk.after_power_cut(policy, 1);
        story.start_on(disk);
        story.run("use d");
        assert_eq!(story.rows(KEPT), kept, "{policy:?}");
        story.is_sound("d");
    }
}

#[test]
fn a_restore_brings_back_those_of_the_backup() {
    let mut story = made();
    let kept = story.rows(KEPT);
    story.run("backup database d to disk = 'd.bak'");
    story.run("delete t where a >= 100 update statistics t drop statistics t.sb");
    assert_ne!(story.rows(KEPT), kept);
    story.run("use master restore database d from disk = 'd.bak' with replace");
    story.run("use d");
    assert_eq!(story.rows(KEPT), kept);
    story.is_sound("d");
}
