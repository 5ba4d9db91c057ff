//! `log_reuse_wait_desc`: why the log was not cleared at the last attempt.
#![allow(clippy::unwrap_used)]

use crate::story;

use story::Story;

const DATABASE: &str = "create database d on (name = d, filename = 'd.mdf')
    log on (name = d_log, filename = 'd.ldf', size = 1MB, filegrowth = 1MB)";
const WAIT: &str = "select log_reuse_wait_desc from sys.databases where name = 'd'";
const LOG_MB: &str = "select size / 128 from d.sys.database_files where type = 1";

/// Inserts until the log has grown.
fn grow(story: &mut Story) {
    let before = story.rows(LOG_MB);
    let mut batches = 0;
    while story.rows(LOG_MB) == before {
        story
            .run("declare @n int = 0 while @n < 50 begin insert d.dbo.t values (replicate('x', 7000)) set @n += 1 end");
        batches += 1;
        assert!(batches < 100, "the log does not grow");
    }
}

/// Under FULL the reason stayed NOTHING through any number of growths, until a checkpoint was forced.
#[test]
fn a_growth_says_what_kept_the_log_from_being_reused() {
    let mut story = Story::begin();
    story.run(DATABASE);
    story.run("use d create table t (x char(7000))");
    story.run("use master alter database d set recovery full backup database d to disk = 'nul'");
    assert_eq!(story.rows(WAIT), ["NOTHING"]);
    grow(&mut story);
    assert_eq!(story.rows(WAIT), ["LOG_BACKUP"]);
    // The last reason stays until the log is cleared again.
    story.run("backup log d to disk = 'nul'");
    assert_ne!(story.rows(WAIT), ["LOG_BACKUP"]);
}

#[test]
fn a_growth_names_the_transaction_that_holds_the_log() {
    let mut story = Story::begin();
    story.run(DATABASE);
    story.run("use d create table t (x char(7000)) create table held (x int)");
    story.run("use master alter database d set recovery simple");
    let mut beside = story.beside();
    story::told(&mut beside, "use d begin tran insert held values (1)");
    grow(&mut story);
    assert_eq!(story.rows(WAIT), ["ACTIVE_TRANSACTION"]);
    story::told(&mut beside, "commit");
    assert_eq!(story.rows(WAIT), ["ACTIVE_TRANSACTION"], "the last known reason");
    story.run("use d checkpoint");
    assert_eq!(story.rows(WAIT), ["NOTHING"]);
}

/// A growth by statement is not an attempt to clear the log.
#[test]
fn a_growth_by_hand_says_nothing() {
    let mut story = Story::begin();
    story.run(DATABASE);
    story.run("use master alter database d set recovery full backup database d to disk = 'nul'");
    story.run("alter database d modify file (name = d_log, size = 9MB)");
    assert_eq!(story.rows(LOG_MB), ["9"]);
    assert_eq!(story.rows(WAIT), ["NOTHING"]);
}
