//! ACCELERATED_DATABASE_RECOVERY: an open transaction does not hold the log, whatever it did, and can still roll back: savepoints, several
//! rounds of the log, log backups, snapshots, restarts, and a power cut at every operation.
//!
//! Depth: one operation in 5; deep: every one.
#![allow(clippy::unwrap_used)]

use crate::story;

use disk::sim::SimDisk;
use engine::log::LogPolicy;
use story::cuts::{Run, cuts};
use story::{Again, Story, told};
use tsql::session::Session;

const ROUNDS: usize = 14;
/// More log than a seventh of what there is.
const FILL: &str = "use d update fill set v += 1, f = replicate(char(65 + v % 26), 700) checkpoint";
/// Rows, a definition, large values, parts of them, and storage that is given back.
const WORK: &str = "use d begin tran
    update kept set v += 100 where id < 10 delete kept where id = 50 insert kept values (1000, 1, 'new')
    create table made (id int not null primary key, f char(300) not null) insert made values (1, 'made'), (2, 'made')
    alter table kept add extra int null
    truncate table emptied
    update large set v = replicate(cast('y' as varchar(max)), 15000) where id = 1
    declare @p binary(16) = (select textptr(v) from texts) updatetext texts.v @p 100 500 'part'
    select @p = textptr(n) from texts writetext texts.n @p N'written'";

fn database(policy: LogPolicy, is_accelerated: bool) -> Story {
    let mut story = Story::on(SimDisk::new(3), policy);
    story.run(
        "create database d on (name = d, filename = 'c:\\d.mdf') log on (name = l, filename = 'c:\\d.ldf', size = 4MB, maxsize = 4MB)
         alter database d set recovery simple",
    );
    if is_accelerated {
        story.run("alter database d set accelerated_database_recovery = on");
    }
    story.run(
        "use d create table kept (id int not null primary key, v int not null, f char(200) not null)
         declare @i int = 0 while @i < 60 begin insert kept values (@i, 0, 'old') set @i += 1 end
         create table emptied (id int not null) insert emptied select id from kept
         create table large (id int not null primary key, v varchar(max) not null) insert large values (1, replicate(cast('x' as varchar(max)), 20000))
         create table texts (v text not null, n ntext not null) insert texts values (replicate(cast('x' as varchar(max)), 9000), N'kept')
         create table fill (id int not null primary key, v int not null, f varchar(700) not null)
         insert fill select top (400) row_number() over (order by (select null)), 0, '' from kept a cross join kept b
         checkpoint use master",
    );
    story
}

/// What the transaction leaves as it was when it rolls back.
fn state_of(story: &mut Story) -> Vec<String> {
    [
        "select count(*), sum(id), sum(v), min(f), max(f) from d.dbo.kept",
        "select count(*) from d.sys.columns where object_id = object_id('d.dbo.kept')",
        "select count(*), sum(id) from d.dbo.emptied",
        "select len(v), left(v, 1) from d.dbo.large",
        "select datalength(v), substring(v, 99, 9), cast(n as nvarchar(9)) from d.dbo.texts",
        "select count(*), min(name), max(name) from d.sys.tables",
    ]
    .iter()
    .flat_map(|query| story.rows(query))
    .collect()
}

/// A session with a transaction that stays open.
fn open_transaction(story: &Story) -> Session {
    let mut session = story.beside();
    let answer = told(&mut session, WORK);
    assert!(!answer.contains("Level 16"), "{answer}");
    session
}

/// How often changes of open transactions were carried, as far as the log tells.
fn carried(story: &mut Story) -> usize {
    let count = "select count(*) from d.sys.fn_dblog(null, null) where Operation = 'LOP_VLFLAB_CARRY_END'";
    story.rows(count)[0].parse().unwrap()
}

fn reuse_wait(story: &mut Story) -> String {
    story
        .rows("select log_reuse_wait_desc from sys.databases where name = 'd'")
        .remove(0)
}

#[test]
fn without_it_an_open_transaction_fills_the_log() {
    for policy in [LogPolicy::native(), LogPolicy::classic()] {
        let mut story = database(policy, false);
        let _open = open_transaction(&story);
        let filled = (0..ROUNDS).find_map(|_| Some(story.errors(FILL)).filter(|errors| !errors.is_empty()));
        assert_eq!(filled.unwrap()[0], 9002);
        assert_eq!(reuse_wait(&mut story), "ACTIVE_TRANSACTION");
        assert_eq!(carried(&mut story), 0);
    }
}

/// The log goes round many times under an open transaction, which then ends in each way.
#[test]
fn with_it_the_log_is_reused_and_the_transaction_ends_as_it_likes() {
    for (round, policy) in [LogPolicy::native(), LogPolicy::classic()]
        .into_iter()
        .cycle()
        .take(6)
        .enumerate()
    {
        let mut story = database(policy, true);
        let before = state_of(&mut story);
        let mut open = open_transaction(&story);
        let fill = |story: &mut Story| (0..ROUNDS).for_each(|_| story.run(FILL));
        fill(&mut story);
        assert!(carried(&mut story) > 0, "the log tells of what was carried");
        assert_ne!(reuse_wait(&mut story), "ACTIVE_TRANSACTION");
        // A savepoint from before the log went on once more, and one from behind.
        let savepoint = told(
            &mut open,
            "save tran a update kept set v += 1 insert made values (3, 'later')",
        );
        assert!(!savepoint.contains("Level 16"), "{savepoint}");
        fill(&mut story);
        let back = told(
            &mut open,
            "rollback tran a save tran b update kept set v += 7 rollback tran b select count(*) from made select sum(v) from kept",
        );
        assert!(back.contains("  2\n") && back.contains("  1001\n"), "{back}");
        fill(&mut story);
        match round / 2 {
            0 => {
                assert!(!told(&mut open, "rollback").contains("Level 16"));
                assert_eq!(state_of(&mut story), before);
            }
            1 => {
                assert!(!told(&mut open, "commit").contains("Level 16"));
                let after = state_of(&mut story);
                assert!(after[0].starts_with("60 2720 1001 new"), "{after:?}");
                assert_eq!(&after[1..4], ["4", "0 NULL", "15000 y"], "{after:?}");
                story.again(Again::Kill, "d");
                assert_eq!(state_of(&mut story), after);
            }
            _ => {
                // A session's end rolls it back.
                drop(open);
                assert_eq!(state_of(&mut story), before);
            }
        }
        story.is_sound("d");
        story.run(FILL);
        assert_eq!(reuse_wait(&mut story), "NOTHING");
    }
}

/// What recovery finds open is undone from what was carried, at each way of starting again, and once more when it is cut off.
#[test]
fn recovery_undoes_from_what_was_carried() {
    for policy in [LogPolicy::native(), LogPolicy::classic()] {
        for goes_on in [false, true] {
            let mut story = database(policy, true);
            let before = state_of(&mut story);
            let mut open = open_transaction(&story);
            for _ in 0..ROUNDS {
                story.run(FILL);
                if goes_on {
                    told(
                        &mut open,
                        "update kept set v += 1 where id = 3 save tran a insert kept values (2000, 1, 'x') rollback tran a",
                    );
                }
            }
            assert!(carried(&mut story) > 0);
            std::mem::forget(open);
            let fill = story.rows("select min(v), max(v), min(f), count(*) from d.dbo.fill");
            story.again(Again::Kill, "d");
            assert_eq!(state_of(&mut story), before, "{policy:?} {goes_on}");
            assert_eq!(
                story.rows("select min(v), max(v), min(f), count(*) from d.dbo.fill"),
                fill
            );
            story.is_sound("d");
            (0..3).for_each(|_| story.run(FILL));
            assert_eq!(reuse_wait(&mut story), "NOTHING");
        }
    }
}

/// A snapshot, a full backup and a chain of log backups made while a transaction is open undo it from what was carried.
#[test]
fn backups_and_snapshots_undo_from_what_was_carried() {
    let mut story = database(LogPolicy::native(), true);
    let before = state_of(&mut story);
    let _open = open_transaction(&story);
    (0..ROUNDS).for_each(|_| story.run(FILL));
    assert!(carried(&mut story) > 0);
    story.run("create database s on (name = d, filename = 'c:\\s.ss') as snapshot of d");
    assert_eq!(story.rows("select count(*), sum(v) from s.dbo.kept"), ["60 0"]);
    story.run("drop database s alter database d set recovery full backup database d to disk = 'c:\\full.bak'");
    for number in 0..4 {
        (0..3).for_each(|_| story.run(FILL));
        story.run(&format!("backup log d to disk = 'c:\\log{number}.trn' {FILL}"));
    }
    let moved = "move 'd' to 'c:\\r.mdf', move 'l' to 'c:\\r.ldf'";
    story.run(&format!(
        "restore database r from disk = 'c:\\full.bak' with {moved}, norecovery"
    ));
    for number in 0..4 {
        story.run(&format!(
            "restore log r from disk = 'c:\\log{number}.trn' with norecovery"
        ));
    }
    story.run("restore database r with recovery dbcc checkdb (r) with no_infomsgs");
    let of_copy: Vec<String> = [
        "select count(*), sum(id), sum(v), min(f), max(f) from r.dbo.kept",
        "select len(v), left(v, 1) from r.dbo.large",
    ]
    .iter()
    .flat_map(|query| story.rows(query))
    .collect();
    assert_eq!(of_copy, [before[0].clone(), before[3].clone()]);
    assert_eq!(
        story.rows("select is_accelerated_database_recovery_on from sys.databases where name = 'r'"),
        ["1"]
    );
}

/// A log that is full because of a transaction that nobody ends is freed by the next checkpoint, which is asked for; before that, log backups freed
/// nothing.
#[test]
fn a_log_that_is_full_already_is_freed() {
    for policy in [LogPolicy::native(), LogPolicy::classic()] {
        let mut story = database(policy, false);
        story.run("alter database d set recovery full backup database d to disk = 'nul'");
        let mut open = story.beside();
        assert!(!told(&mut open, "use d begin tran update kept set v += 100 where id = 7").contains("Level 16"));
        let errors = (0..ROUNDS)
            .map(|_| story.errors(FILL))
            .find(|errors| !errors.is_empty());
        assert_eq!(errors.unwrap()[0], 9002);
        story.run("backup log d to disk = 'nul'");
        assert_eq!(reuse_wait(&mut story), "ACTIVE_TRANSACTION");
        assert_eq!(story.errors(FILL)[0], 9002);
        story.run("alter database d set accelerated_database_recovery = on backup log d to disk = 'nul'");
        let d = story.instance.database("d").unwrap();
        assert!(
            d.wants_checkpoint(),
            "the log backup asks for the checkpoint that frees it"
        );
        drop(d);
        let sizes = story.rows("select size from d.sys.database_files where type = 1");
        story.run("use d checkpoint backup log d to disk = 'nul'");
        assert_ne!(reuse_wait(&mut story), "ACTIVE_TRANSACTION");
        (0..ROUNDS).for_each(|_| story.run(&format!("{FILL} backup log d to disk = 'nul'")));
        assert_eq!(
            story.rows("select size from d.sys.database_files where type = 1"),
            sizes
        );
        assert!(!told(&mut open, "rollback").contains("Level 16"));
        assert_eq!(story.rows("select sum(v) from d.dbo.kept"), ["0"]);
    }
}

/// Of many transactions those are carried that hold the log; one that has written much holds it for those behind it, which are not copied in vain.
#[test]
fn transactions_are_carried_oldest_first_up_to_one_that_is_too_large() {
    let mut story = database(LogPolicy::native(), true);
    let open: Vec<Session> = (0..12)
        .map(|id| {
            let mut session = story.beside();
            let large = "update kept set f = replicate('y', 200) where id >= 20 update kept set f = replicate('z', 200) where id >= 20";
            let work = match id {
                6 => format!("{large} {large} {large} {large} {large} {large}"),
                _ => format!("update kept set v += 1 where id = {id}"),
            };
            let answer = told(&mut session, &format!("use d begin tran {work}"));
            assert!(!answer.contains("Level 16"), "{answer}");
            story.run("update d.dbo.fill set v += 0 where id < 40");
            session
        })
        .collect();
    (0..3).for_each(|_| story.run(FILL));
    let copied = "select count(distinct [Transaction ID]) from d.sys.fn_dblog(null, null) where Operation = 'LOP_VLFLAB_CARRY_END'";
    assert_eq!(story.rows(copied), ["6"]);
    assert_eq!(reuse_wait(&mut story), "ACTIVE_TRANSACTION");
    drop(open);
    (0..ROUNDS).for_each(|_| story.run(FILL));
    let kept = "select sum(v), rtrim(min(f)), rtrim(max(f)) from d.dbo.kept";
    assert_eq!(story.rows(kept), ["0 old old"]);
    assert_eq!(reuse_wait(&mut story), "NOTHING");
}

/// Rounds of the log in which the power is cut.
const CUT_ROUNDS: usize = 4;

/// The last that was carried, as far as the log tells.
fn last_carried(story: &mut Story) -> String {
    let last = "select max([Current LSN]) from d.sys.fn_dblog(null, null) where Operation = 'LOP_VLFLAB_CARRY_END'";
    story.rows(last).remove(0)
}

/// The open transaction goes on behind a round of the log.
const MORE: &str = "update kept set v += 1 where id = 3 save tran a insert kept values (2000, 1, 'x') rollback tran a";

/// A database whose log has gone round under a transaction, which is open.
fn begun(policy: LogPolicy) -> (Story, Session, Vec<String>) {
    let mut story = database(policy, true);
    let before = state_of(&mut story);
    let open = open_transaction(&story);
    (0..3).for_each(|_| story.run(FILL));
    (story, open, before)
}

/// Cuts the power at every operation while the log goes round and the transaction goes on in between; answers how many there were.
fn cut_everywhere(policy: LogPolicy) -> u64 {
    let sample = workbench::sample("operations while changes are carried, with a power cut", 5);
    let (_, _, before) = begun(policy);
    let begin = || {
        let (story, open, _) = begun(policy);
        (story, Some(open))
    };
    let run = |run: &mut Run<'_>| {
        for round in 1..=CUT_ROUNDS {
            let errors = run.story.errors(FILL);
            assert!(errors.is_empty() || run.story.disk.power_is_cut(), "{errors:?}");
            run.is_answered();
            let open = run.beside.as_mut().unwrap();
            told(open, if round == CUT_ROUNDS { "rollback" } else { MORE });
        }
    };
    let (mut story, cuts) = cuts(sample.one_in, begin, run);
    let count = cuts.len() as u64;
    for cut in cuts {
        let (number, answered) = (cut.number, cut.answered);
        let filled = 3 + answered;
        story.start_on(cut.found());
        assert_eq!(state_of(&mut story), before, "cut at {number}");
        let found = story.rows("select min(v), max(v) from d.dbo.fill").remove(0);
        let expected = [filled, filled + 1].map(|v| format!("{v} {v}"));
        assert!(expected.contains(&found), "cut at {number}: {found} of {filled}");
        story.is_sound("d");
        (0..3).for_each(|_| story.run(FILL));
        assert_eq!(reuse_wait(&mut story), "NOTHING", "cut at {number}");
    }
    sample.count(count);
    count
}

#[test]
fn a_power_cut_while_changes_are_carried_loses_nothing() {
    for policy in [LogPolicy::native(), LogPolicy::classic()] {
        let (mut story, mut open, _) = begun(policy);
        let first = last_carried(&mut story);
        for _ in 1..CUT_ROUNDS {
            story.run(FILL);
            told(&mut open, MORE);
        }
        assert_ne!(last_carried(&mut story), first, "what is cut carries");
        let cuts = cut_everywhere(policy);
        println!("{cuts} cuts");
        assert!(cuts >= 4, "{cuts}");
    }
}
