//! Recovery forks: a database is restored and continues on another path, and log backups of the old path are refused. Also STOPAT, standby
//! and copies.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use std::sync::Arc;

use engine::instance::Instance;
use engine::seams::ManualClock;
use transcript::{Transcript, instance_with, session};
use tsql::session::{BatchOutcome, Session};

const REFUSED: &[i32] = &[4330, 3013];

struct Story {
    clock: Arc<ManualClock>,
    instance: Arc<Instance>,
    session: Session,
}

impl Story {
    /// Rows 1 in the full backup F, 2 in the log backup L1, 3 and much more in L2, 4 in L3.
    fn begin() -> Story {
        let clock = Arc::new(ManualClock::starting_at(1_700_000_000_000_000));
        let instance = instance_with(clock.clone());
        let session = session(&instance);
        let mut story = Story {
            clock,
            instance,
            session,
        };
        story.run("create database d");
        story.run("create table d.dbo.t (i int not null primary key, w char(2000) not null default 'w')");
        story.run("create table d.dbo.n (i int identity)");
        story.work(1..=1);
        story.run("backup database d to disk = 'F'");
        story.work(2..=2);
        story.run("backup log d to disk = 'L1'");
        story.work(3..=3);
        story.work(100..=140);
        story.run("backup log d to disk = 'L2'");
        story.work(4..=4);
        story.run("backup log d to disk = 'L3'");
        story
    }

    fn answer(&mut self, batch: &str) -> (String, BatchOutcome) {
        self.clock.advance(50_000);
        let mut transcript = Transcript::default();
        let outcome = self.session.execute(batch, &mut transcript);
        (transcript.text, outcome)
    }

    /// The numbers of the errors that a batch fails with.
    fn errors(&mut self, batch: &str) -> Vec<i32> {
        let (text, _) = self.answer(batch);
        let messages = text.split("Msg ").skip(1);
        let errors = messages.filter(|message| !message.contains(", Level 10,"));
        errors
            .map(|message| message.split(',').next().unwrap().parse().unwrap())
            .collect()
    }

    fn run(&mut self, batch: &str) {
        let (text, outcome) = self.answer(batch);
        let has_failed = text
            .split("Msg ")
            .skip(1)
            .any(|message| !message.contains(", Level 10,"));
        assert!(outcome == BatchOutcome::Completed && !has_failed, "{batch}: {text}");
    }

    /// The rows of a query, their values as text.
    fn rows(&mut self, query: &str) -> Vec<Vec<String>> {
        let (text, _) = self.answer(&format!("set nocount on {query}"));
        assert!(!text.contains("Msg "), "{query}: {text}");
        let rows = text.lines().skip(1).filter(|line| !line.trim().starts_with('('));
        rows.map(|row| row.trim().split(" | ").map(str::to_owned).collect())
            .collect()
    }

    fn work(&mut self, numbers: std::ops::RangeInclusive<i32>) {
        for number in numbers {
            self.run(&format!("insert d.dbo.t (i) values ({number})"));
        }
    }

    /// The rows of the table, without those that only fill the log; the database must be sound.
    fn content(&mut self) -> String {
        self.run("dbcc checkdb (d) with no_infomsgs");
        let rows = self.rows("select i from d.dbo.t where i < 100 order by i");
        rows.concat().join(" ")
    }

    /// F and then each of the log backups, the last of them too without recovery.
    fn restore(&mut self, logs: &[&str]) {
        self.run("restore database d from disk = 'F' with replace, norecovery");
        for log in logs {
            self.run(&format!("restore log d from disk = '{log}' with norecovery"));
        }
    }

    fn log(&mut self, log: &str) -> Vec<i32> {
        self.errors(&format!("restore log d from disk = '{log}' with norecovery"))
    }

    fn recover(&mut self) {
        self.run("restore database d with recovery");
    }

    /// RecoveryForkID, FirstRecoveryForkID, ForkPointLSN, FirstLSN and LastLSN of a backup.
    fn header(&mut self, device: &str) -> [String; 5] {
        let (text, _) = self.answer(&format!("restore headeronly from disk = '{device}'"));
        let mut lines = text.lines();
        let heads = lines.next().unwrap().trim().trim_matches(['[', ']']).to_owned();
        let row = lines.next().unwrap().trim().to_owned();
        [
            "RecoveryForkID",
            "FirstRecoveryForkID",
            "ForkPointLSN",
            "FirstLSN",
            "LastLSN",
        ]
        .map(|name| {
            let place = heads.split(" | ").position(|head| head.split(' ').next() == Some(name));
            row.split(" | ").nth(place.unwrap()).unwrap().to_owned()
        })
    }

    /// recovery_fork_guid, first_recovery_fork_guid, fork_point_lsn and last_log_backup_lsn of the database.
    fn status(&mut self) -> [String; 4] {
        let query = "select recovery_fork_guid, first_recovery_fork_guid, fork_point_lsn, last_log_backup_lsn \
                     from sys.database_recovery_status where database_id = db_id('d')";
        self.rows(query).concat().try_into().unwrap()
    }

    /// The time as STOPAT takes it.
    fn now(&mut self) -> String {
        let now = self
            .rows("select convert(varchar(30), getdate(), 121)")
            .concat()
            .concat();
        self.clock.advance(1_000_000);
        now
    }
}

#[test]
fn old_log_does_not_fit_the_new_path_and_new_log_does() {
    let mut story = Story::begin();
    let [fork_a, first, point, _, _] = story.header("L3");
    assert_eq!((fork_a.as_str(), point.as_str()), (first.as_str(), "NULL"));
    assert_eq!(story.status()[..3], [fork_a.clone(), fork_a.clone(), "NULL".into()]);
    story.restore(&["L1"]);
    story.recover();
    assert_eq!(story.content(), "1 2");
    let [fork_b, first, point, next] = story.status();
    assert!(fork_b != fork_a && first == fork_a && point == next);
    let l1_end = story.header("L1")[4].clone();
    assert_eq!(point, l1_end, "the fork begins where L1 ends");
    story.work(20..=20);
    story.run("backup log d to disk = 'L2b'");
    assert_eq!(
        story.header("L2b")[..4],
        [fork_b.clone(), fork_a, l1_end.clone(), l1_end]
    );
    story.work(21..=21);
    story.run("backup log d to disk = 'L3b' with norecovery");
    let [last, first, point, ..] = story.header("L3b");
    assert_eq!((last, first, point.as_str()), (fork_b.clone(), fork_b, "NULL"));
    // The database is on B in the middle of what A has in L2.
    for old in ["L2", "L3"] {
        assert_eq!(story.log(old), REFUSED, "{old}");
    }
    assert_eq!(story.log("L1"), [4326, 3013]);
    story.recover();
    assert_eq!(story.content(), "1 2 20 21", "refusals have changed nothing");
    story.restore(&["L1", "L2b"]);
    assert_eq!(story.log("L2"), REFUSED);
    story.run("restore log d from disk = 'L3b' with recovery");
    assert_eq!(story.content(), "1 2 20 21");
    story.restore(&["L1", "L2"]);
    assert_eq!(story.log("L2b"), REFUSED);
    assert_eq!(story.log("L3b"), REFUSED);
    story.run("restore log d from disk = 'L3' with recovery");
    assert_eq!(story.content(), "1 2 3 4", "the first path is still there, too");
    story.restore(&[]);
    assert_eq!(story.log("L2b"), [4305, 3013], "L1 is missing");
    story.run("restore log d from disk = 'L1' with norecovery");
    assert_eq!(story.log("L3b"), [4305, 3013], "L2b is missing");
}

#[test]
fn a_full_backup_alone_begins_a_fork() {
    let mut story = Story::begin();
    story.restore(&[]);
    story.recover();
    story.work(20..=20);
    story.run("backup log d to disk = 'tail' with norecovery");
    for old in ["L1", "L2", "L3"] {
        assert_eq!(story.log(old), REFUSED, "{old}");
    }
    story.recover();
    let third = story.status();
    assert_ne!(
        third[0],
        story.header("tail")[0],
        "bringing it online begins another one"
    );
    story.run("backup database d to disk = 'F2'");
    let [last, first, point, ..] = story.header("F2");
    assert_eq!(
        (&last, &first, point.as_str()),
        (&third[0], &third[0], "NULL"),
        "data backups have one fork"
    );
    story.work(21..=21);
    story.run("backup log d to disk = 'last' with norecovery");
    story.run("restore database d from disk = 'F2' with norecovery");
    assert_eq!(story.log("L1"), [4326, 3013]);
    story.run("restore log d from disk = 'last' with recovery");
    assert_eq!(story.content(), "1 20 21");
}

#[test]
fn a_fork_inside_a_log_backup_is_exact_to_the_record() {
    let mut story = Story::begin();
    story.restore(&["L1", "L2", "L3"]);
    story.recover();
    let mut times = Vec::new();
    for number in 30..=34 {
        story.work(number..=number);
        times.push(story.now());
    }
    story.work(35..=35);
    story.run("backup log d to disk = 'M'");
    story.work(36..=36);
    story.run("backup log d to disk = 'N'");
    let logs = ["L1", "L2", "L3"];
    let stopped = |story: &mut Story, time: &str, after: &str| {
        story.restore(&logs);
        story.run(&format!(
            "restore log d from disk = 'M' with stopat = '{time}', {after}"
        ));
    };
    stopped(&mut story, &times[2], "recovery");
    assert_eq!(story.content(), "1 2 3 4 30 31 32");
    let (fork, parent) = (story.status()[0].clone(), story.header("M")[0].clone());
    story.work(40..=40);
    story.run("backup log d to disk = 'Nb'");
    let header = story.header("Nb");
    assert_eq!((&header[0], &header[1]), (&fork, &parent));
    assert!(header[2] > header[3] && header[2] < header[4], "{header:?}");
    // Which of five moments of M, or its end, Nb goes on from.
    for (place, time) in times.iter().enumerate() {
        stopped(&mut story, time, "norecovery");
        let expected: &[i32] = match place {
            0 | 1 => &[4305, 3013],
            2 => &[],
            _ => REFUSED,
        };
        assert_eq!(story.log("Nb"), expected, "moment {place}");
        if place == 2 {
            story.recover();
            assert_eq!(story.content(), "1 2 3 4 30 31 32 40");
        } else {
            // A refused set leaves the way open for the one that fits.
            story.run("restore log d from disk = 'M' with norecovery");
            assert_eq!(story.log("Nb"), REFUSED);
            story.run("restore log d from disk = 'N' with recovery");
            assert_eq!(story.content(), "1 2 3 4 30 31 32 33 34 35 36", "moment {place}");
        }
    }
}

#[test]
fn stopping_inside_a_log_backup_that_begins_with_a_fork() {
    let mut story = Story::begin();
    story.restore(&["L1"]);
    story.recover();
    let fork_b = story.status()[0].clone();
    story.work(20..=20);
    let time = story.now();
    story.work(21..=21);
    story.run("backup log d to disk = 'L2b'");
    story.restore(&["L1"]);
    story.run(&format!(
        "restore log d from disk = 'L2b' with stopat = '{time}', recovery"
    ));
    assert_eq!(story.content(), "1 2 20");
    let status = story.status();
    assert_eq!(status[1], fork_b, "the new fork comes from B, not from A");
    story.work(22..=22);
    story.run("backup log d to disk = 'L2c'");
    story.restore(&["L1", "L2b"]);
    assert_eq!(story.log("L2c"), REFUSED);
    story.restore(&["L1"]);
    story.run(&format!(
        "restore log d from disk = 'L2b' with stopat = '{time}', norecovery"
    ));
    story.run("restore log d from disk = 'L2c' with recovery");
    assert_eq!(story.content(), "1 2 20 22");
}

#[test]
fn a_standby_database_forks_when_it_is_recovered_and_not_before() {
    let mut story = Story::begin();
    let fork_a = story.header("L1")[0].clone();
    story.run("restore database d from disk = 'F' with replace, standby = 'undo'");
    story.run("restore log d from disk = 'L1' with standby = 'undo'");
    assert_eq!(story.status()[0], fork_a);
    story.run("restore log d from disk = 'L2' with standby = 'undo'");
    assert_eq!(story.content(), "1 2 3");
    story.recover();
    let status = story.status();
    assert!(status[0] != fork_a && status[1] == fork_a && status[2] == story.header("L2")[4]);
    story.work(20..=20);
    story.run("backup log d to disk = 'S' with norecovery");
    assert_eq!(story.log("L3"), REFUSED);
    story.run("restore database d from disk = 'F' with replace, norecovery");
    story.run("restore log d from disk = 'L1' with norecovery");
    story.run("restore log d from disk = 'L2' with standby = 'undo'");
    assert_eq!(story.content(), "1 2 3");
    story.run("restore log d from disk = 'S' with standby = 'undo'");
    assert_eq!(
        story.errors("restore log d from disk = 'L3' with standby = 'undo'"),
        REFUSED
    );
    assert_eq!(
        story.content(),
        "1 2 3 20",
        "a refused set leaves the standby database readable"
    );
    story.recover();
    assert_eq!(story.content(), "1 2 3 20");
}

/// Two databases of one family go on independently: neither takes the other's log.
#[test]
fn a_copy_has_a_path_of_its_own() {
    let mut story = Story::begin();
    story.run("restore database e from disk = 'F' with move 'd' to 'c:\\e.mdf', move 'd_log' to 'c:\\e.ldf', recovery");
    story.run("insert e.dbo.t (i) values (50)");
    story.run("backup log e to disk = 'E1' with norecovery");
    assert_eq!(story.errors("restore log e from disk = 'L1' with norecovery"), REFUSED);
    story.restore(&[]);
    story.run("restore log d from disk = 'E1' with recovery");
    assert_eq!(story.content(), "1 50");
    drop(story.instance);
}

/// A log backup brings the options that were set before it. Those of row versions were left behind: an application that relies on readers who wait for
/// no writer waited after the restore, and SNAPSHOT was 3952.
#[test]
fn a_log_backup_brings_the_options_of_its_database() {
    let mut story = Story::begin();
    let options = |story: &mut Story| {
        let query = "select recovery_model_desc, compatibility_level, is_read_committed_snapshot_on, snapshot_isolation_state_desc, \
                     is_parameterization_forced, is_recursive_triggers_on, is_auto_create_stats_on, is_auto_update_stats_on, \
                     is_auto_update_stats_async_on from sys.databases where name = 'd'";
        story.rows(query).concat()
    };
    let before = options(&mut story);
    for option in [
        "recovery bulk_logged",
        "compatibility_level = 110",
        "read_committed_snapshot on",
        "allow_snapshot_isolation on",
        "parameterization forced",
        "recursive_triggers on",
        "auto_create_statistics off",
        "auto_update_statistics off",
        "auto_update_statistics_async on",
    ] {
        story.run(&format!("alter database d set {option}"));
    }
    let set = options(&mut story);
    for (before, set) in before.iter().zip(&set) {
        assert_ne!(before, set, "each option is another one");
    }
    story.run("backup log d to disk = 'L4'");
    story.restore(&["L1", "L2", "L3", "L4"]);
    story.recover();
    assert_eq!(options(&mut story), set);
    story.restore(&["L1"]);
    story.recover();
    assert_eq!(options(&mut story), before);
}

/// A database that waits for log, or is read between two sets of it, is not altered.
#[test]
fn a_database_under_restore_is_not_altered() {
    let alterations = [
        ("set recovery simple", 5063),
        ("set compatibility_level = 150", 5063),
        ("set read_write", 5063),
        ("set auto_shrink off", 5063),
        ("add file (name = x, filename = 'c:\\x.ndf')", 5004),
        ("add log file (name = x, filename = 'c:\\x.ldf')", 5004),
        ("remove file d_log", 5004),
        ("modify file (name = d_log, filegrowth = 5 MB)", 5004),
        ("set single_user", 0),
        ("set multi_user", 0),
        ("set offline", 0),
        ("set online", 0),
    ];
    let mut story = Story::begin();
    story.restore(&["L1"]);
    for (alteration, _) in alterations {
        assert_eq!(
            story.errors(&format!("alter database d {alteration}")),
            [5052, 5069],
            "restoring: {alteration}"
        );
    }
    assert_eq!(story.errors("alter database d modify name = f"), [5052, 5069]);
    story.run("restore log d from disk = 'L2' with standby = 'undo'");
    for (alteration, number) in alterations {
        let errors = story.errors(&format!("alter database d {alteration}"));
        match number {
            0 => assert!(errors.is_empty(), "standby: {alteration}: {errors:?}"),
            _ => assert_eq!(errors, [number, 5069], "standby: {alteration}"),
        }
    }
    assert_eq!(story.errors("insert d.dbo.t (i) values (9)"), [3906]);
    assert_eq!(story.errors("create table d.dbo.u (i int)"), [3906]);
    assert_eq!(story.errors("use d dbcc shrinkfile (d_log, 1)"), [7992]);
    assert_eq!(story.errors("use d dbcc shrinkfile (d, 1)"), [7992]);
    assert_eq!(story.errors("use d dbcc checkident ('n', reseed, 40)"), [3906]);
    assert_eq!(story.errors("insert d.dbo.n default values"), [3906]);
    story.run("use master");
    assert_eq!(story.content(), "1 2 3");
    story.run("restore log d from disk = 'L3' with recovery");
    assert_eq!(story.content(), "1 2 3 4");
    story.run("alter database d set recovery simple");
}

/// A script that backs up a database and its log and restores both failed with 4326 where nobody had written in between: both sets ended at
/// the same LSN, so the log held nothing new.
#[test]
fn a_log_backup_right_behind_a_full_one_is_restored_behind_it() {
    let mut story = Story::begin();
    for options in ["init", "init, copy_only"] {
        story.run(&format!("backup database d to disk = 'F' with {options}"));
        story.run("backup log d to disk = 'L' with init");
        story.restore(&["L"]);
        story.recover();
        assert_eq!(story.content(), "1 2 3 4", "{options}");
    }
}
