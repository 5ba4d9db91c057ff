//! ACCELERATED_DATABASE_RECOVERY: the rollback of a large transaction is over at once, and what others then read and change is as if it had never
//! been. The same statements run in a database with the option and in one without, whose rollbacks are in order; both have the same rows at every
//! look: heaps, clustered trees, entries of indexes, changed keys, long values, definitions, filled pages, savepoints, restarts, backups, snapshots, power
//! cuts.
//!
//! Depth: 12 histories, one operation in 12 with a power cut; deep: 120, and every one.
#![allow(clippy::unwrap_used)]

use crate::story;

use disk::sim::{CutPolicy, SimDisk};
use engine::log::LogPolicy;
use story::cuts::{Run, cuts};
use story::{Again, Story, numbers, told};
use tsql::session::Session;

/// The two databases: with the option and without it.
const BOTH: [&str; 2] = ["d", "e"];

/// Numbers drawn from a seed.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn databases(policy: LogPolicy) -> Story {
    let mut story = Story::on(SimDisk::new(3), policy);
    for name in BOTH {
        story.run(&format!(
            "create database {name} on (name = d, filename = 'c:\\{name}.mdf') log on (name = l, filename = 'c:\\{name}.ldf', size = 4MB)
             alter database {name} set recovery simple"
        ));
    }
    story.run("alter database d set accelerated_database_recovery = on");
    for name in BOTH {
        story.run(&format!(
            "use {name} create table tree (id int not null primary key, k int not null, f varchar(400) not null)
             create index by_k on tree (k) include (f)
             create table heap (id int not null, k int not null, f varchar(400) not null)
             create unique index by_id on heap (id)
             create table small (id int not null primary key, n int not null) insert small values (1, 0)
             create table large (id int not null primary key, v varchar(max) not null) create table pile (id int not null, f varchar(400) not null)
             create table keyed (id int not null primary key, f varchar(400) not null) insert keyed values (-1, 'first')
             insert large select value, replicate(cast(char(97 + value % 26) as varchar(max)), 2000 + value * 700) from generate_series(1, 30)
             insert tree select value * 10, value % 37, replicate('a', value % 90) from generate_series(0, 599)
             insert heap select value * 10, value % 37, replicate('b', value % 90) from generate_series(0, 599) checkpoint"
        ));
    }
    story.run("use master");
    story
}

/// A change of many rows, drawn.
fn large_change(draw: &mut Draw) -> String {
    let table = ["tree", "heap"][draw.below(2) as usize];
    let (from, length) = (draw.below(5_000), draw.below(390));
    let letter = (b'c' + draw.below(20) as u8) as char;
    match draw.below(19) {
        0 | 1 => format!("update {table} set f = replicate('{letter}', {length}) where id >= {from}"),
        2 => format!("update {table} set k += {length} where id < {from}"),
        3 => format!("delete {table} where id % 7 = {} and id >= {from}", draw.below(7)),
        4 => format!(
            "insert {table} select id + {}, k, replicate('{letter}', {length}) from {table} where id % 10 = 0",
            1 + draw.below(4)
        ),
        5 => format!("update {table} set id = id + 100000 where id >= {from} and id < 100000"),
        6 => format!("delete {table} where id < {from} and id % 3 = 0"),
        7 => format!(
            "update large set v = v + replicate(cast('{letter}' as varchar(max)), {from} * 5) where id % 5 = {}",
            draw.below(5)
        ),
        8 => format!(
            "delete large where id between {} and {}",
            draw.below(30),
            draw.below(30)
        ),
        9 => format!(
            "insert large select id + {}, v + '{letter}' from large where id % 4 = 0",
            50 * (1 + draw.below(9))
        ),
        10 => format!(
            "save tran s update large set v = v + v where id < {} rollback tran s",
            draw.below(20)
        ),
        11 => format!(
            "create table made{length} (id int primary key, f varchar(400)) insert made{length} select id, f from {table} where id < {from}"
        ),
        12 => format!("create index new{length} on {table} (f) update {table} set f = '{letter}' where id < {from}"),
        13 => format!("alter table {table} add c{length} int not null default 7 with values"),
        15 => "checkpoint".to_owned(),
        16 => format!("insert keyed with (tablock) select id + 100 * {length}, f from {table} where id < {from}"),
        17 => format!(
            "insert keyed select id + {}, replicate('{letter}', 300) from keyed where id % 10 = 0",
            1 + draw.below(9)
        ),
        14 => format!("insert pile with (tablock) select id, f from {table} where id < {from}"),
        _ => format!("save tran s update {table} set k = 5, f = f + 'x' where id >= {from} rollback tran s"),
    }
}

/// A change of few rows, drawn.
fn small_change(draw: &mut Draw) -> String {
    let table = ["tree", "heap"][draw.below(2) as usize];
    let id = draw.below(6_000);
    match draw.below(11) {
        9 => format!(
            "insert keyed values ({id}, 'behind') delete keyed where id = {}",
            id + 1
        ),
        0 => format!("update {table} set f = 'other' where id between {id} and {}", id + 60),
        1 => format!("update tree set f = left(f + 'k', 400) where k = {}", draw.below(40)),
        2 => format!("delete {table} where id between {id} and {}", id + 30),
        3 => format!(
            "insert {table} values ({}, 3, replicate('n', {}))",
            id - id % 10 + 1,
            draw.below(300)
        ),
        4 => format!("insert {table} values ({}, 4, 'behind')", 100_000 + id),
        5 => format!("update {table} set id = id + 5 where id = {}", id - id % 10),
        6 => format!("update large set v = 'short' where id = {}", 1 + id % 30),
        7 => format!("delete large where id = {}", 1 + id % 30),
        8 => format!(
            "insert large values ({}, replicate(cast('L' as varchar(max)), {}))",
            1 + id % 40,
            id * 10
        ),
        _ => {
            "begin tran update tree set k += 1 where id < 300 update heap set k += 1 where id < 300 rollback".to_owned()
        }
    }
}

/// What both databases have to agree about; some by an index, some by the rows themselves.
const LOOKS: [&str; 9] = [
    "select id, k, f from tree order by id",
    "select k, f from tree with (index(by_k)) order by k, f",
    "select id, k, f from heap order by id",
    "select id from heap with (index(by_id)) order by id",
    "select id, datalength(v), left(v, 3), right(v, 3), checksum(v) from large order by id",
    "select id, f from keyed order by id",
    "select count(*), max(f) from pile",
    "select count(*), sum(k) from heap",
    "select count(*), min(f), max(f) from tree where k between 3 and 30",
];

fn agree(story: &mut Story, looks: &[&str], when: &str) {
    for look in looks {
        let [with, without] = BOTH.map(|name| {
            story.run(&format!("use {name}"));
            story.rows(look)
        });
        assert_eq!(with.len(), without.len(), "{when}: {look}");
        for (with, without) in with.iter().zip(&without) {
            assert_eq!(with, without, "{when}: {look}");
        }
    }
    story.run("use master");
}

/// Runs the same in both; the errors are the same.
fn both(sessions: &mut [Session; 2], batch: &str, when: &str) {
    let [with, without] = sessions.each_mut().map(|session| told(session, batch));
    assert_eq!(numbers(&with), numbers(&without), "{when}: {batch}\n{with}\n{without}");
}

fn sessions(story: &Story) -> [Session; 2] {
    BOTH.map(|name| {
        let mut session = story.beside();
        told(&mut session, &format!("use {name}"));
        session
    })
}

fn count_of(story: &mut Story, operation: &str) -> usize {
    let count = format!("select count(*) from d.sys.fn_dblog(null, null) where Operation = '{operation}'");
    story.rows(&count)[0].parse().unwrap()
}

/// Transactions of the database with the option that are under way.
fn under_way(story: &Story) -> usize {
    let database = story.instance.database("d").unwrap();
    database.transactions.snapshot().len()
}

/// One history: large transactions that roll back, small ones beside and behind them, restarts in between. Answers how often a transaction was still
/// under way when others went on behind its rollback.
fn history(seed: u64, policy: LogPolicy) -> usize {
    let mut draw = Draw(seed);
    let mut story = databases(policy);
    let mut seen_under_way = 0;
    for round in 0..4 {
        let when = format!("seed {seed}, round {round}");
        let [mut large, mut others] = [sessions(&story), sessions(&story)];
        both(&mut large, "begin tran", &when);
        while story
            .instance
            .database("d")
            .unwrap()
            .transactions
            .snapshot()
            .iter()
            .all(|(_, one)| one.end.logged_records() < 3_000)
        {
            both(&mut large, &large_change(&mut draw), &when);
        }
        let goes_down = draw.below(4) == 0;
        if goes_down {
            // It is under way when the server dies.
            std::mem::forget(large);
            std::mem::forget(others);
            story.again(Again::Kill, "d");
            others = sessions(&story);
        } else {
            both(&mut large, "rollback", &when);
            seen_under_way += under_way(&story);
            drop(large);
        }
        for step in 0..draw.below(12) {
            let when = format!("{when}, step {step}");
            both(&mut others, &small_change(&mut draw), &when);
            if draw.below(3) == 0 {
                agree(&mut story, &LOOKS[draw.below(9) as usize..][..1], &when);
            }
            if draw.below(9) == 0 {
                let how = [Again::Kill, Again::StopStart, Again::OfflineOnline][draw.below(3) as usize];
                match how {
                    Again::Kill => std::mem::forget(others),
                    Again::StopStart | Again::OfflineOnline => drop(others),
                }
                story.again(how, "d");
                others = sessions(&story);
            }
        }
        agree(&mut story, &LOOKS, &when);
        if draw.below(2) == 0 {
            BOTH.iter().for_each(|name| story.is_sound(name));
        }
    }
    (0..8).for_each(|_| story.run("use d update small set n += 1 use master"));
    assert_eq!(under_way(&story), 0, "seed {seed}: everything is taken back in the end");
    BOTH.iter().for_each(|name| story.is_sound(name));
    agree(&mut story, &LOOKS, &format!("seed {seed}, in the end"));
    seen_under_way
}

#[test]
fn what_others_see_is_as_if_the_transaction_had_never_been() {
    let depth = workbench::depth("histories of marked rollbacks beside rollbacks in order", 12, 120);
    let mut seen_under_way = 0;
    for seed in depth.seeds() {
        let policy = [LogPolicy::native(), LogPolicy::classic()][seed as usize % 2];
        seen_under_way += history(seed, policy);
    }
    depth.count();
    assert!(
        seen_under_way > 0,
        "some rollback was over before everything was taken back"
    );
}

/// The rollback writes one record, holds no lock, and others read and change the rows at once.
#[test]
fn a_rollback_is_one_record_and_no_lock_stays() {
    let mut story = databases(LogPolicy::native());
    let mut open = story.beside();
    let told_open = told(
        &mut open,
        "use d begin tran update tree set k += 1, f = replicate('z', 300) delete heap where id >= 3000",
    );
    assert!(numbers(&told_open).is_empty(), "{told_open}");
    assert_eq!(count_of(&mut story, "LOP_VLFLAB_MARK_XACT"), 0);
    told(&mut open, "rollback");
    assert_eq!(count_of(&mut story, "LOP_VLFLAB_MARK_XACT"), 1);
    assert_eq!(under_way(&story), 1);
    let shown = "select count(*), max(database_transaction_state) from sys.dm_tran_database_transactions where database_id = db_id('d')";
    assert_eq!(story.rows(shown), ["1 11"]);
    let aborted = "select count(*), sum(a.transaction_id - s.oldest_aborted_transaction_id), max(s.current_aborted_transaction_count)
        from sys.dm_tran_aborted_transactions a join sys.dm_tran_persistent_version_store_stats s on s.database_id = a.database_id";
    assert_eq!(story.rows(aborted), ["1 0 1"]);
    story.run("set lock_timeout 0 use d update tree set k = 77 where id = 10");
    assert_eq!(story.rows("select k, f from tree where id = 10"), ["77 a"]);
    assert_eq!(story.rows("select count(*), max(len(f)) from tree"), ["600 89"]);
    assert_eq!(story.rows("select count(*) from heap"), ["600"]);
    (0..8).for_each(|_| story.run("update small set n += 1"));
    assert_eq!(under_way(&story), 0);
    story.is_sound("d");
}

/// Statements behind a rollback, each of which is one transaction.
const BEHIND: [&str; 8] = [
    "update tree set f = f + '1', k += 1 where id between 100 and 900",
    "insert heap values (3, 1, 'new') insert tree values (3, 1, 'new')",
    "delete heap where id between 3000 and 3600",
    "update tree set id = id + 1 where id in (10, 2000, 4000)",
    "update heap set f = replicate('q', 350) where id between 1000 and 1400",
    "delete tree where k = 5",
    "update large set v = 'short' where id in (6, 22) delete large where id = 12 insert pile values (1, 'one') insert keyed values (33, 'behind')",
    "insert large values (70, replicate(cast('n' as varchar(max)), 30000))",
];
const LARGE: &str = "begin tran
    update tree set k += 1, f = replicate('z', 300) update heap set f = replicate('y', 310) where id < 4000
    delete tree where id % 30 = 0 insert tree select id + 2, k, 'mine' from tree where id % 20 = 0 update heap set id = id + 200000 where id > 5000
    delete heap where id < 500 create table made (id int primary key, f varchar(400)) insert made select id, f from tree
    update large set v = v + 'more' where id < 12 delete large where id between 12 and 14 insert large select id + 50, v from large where id > 25
    insert keyed with (tablock) select id, f from tree insert keyed select id + 3, replicate('s', 300) from tree
    insert pile with (tablock) select id, f from tree alter table pile add c int null";

/// A large transaction is under way.
fn begun(policy: LogPolicy) -> (Story, Session) {
    let story = databases(policy);
    let mut open = story.beside();
    let answer = told(&mut open, &format!("use d {LARGE}"));
    assert!(numbers(&answer).is_empty(), "{answer}");
    (story, open)
}

/// It rolls back, and others go on.
fn goes_on(run: &mut Run<'_>) {
    told(run.beside.as_mut().unwrap(), "rollback");
    for (number, batch) in BEHIND.iter().enumerate() {
        if number == 3 {
            run.story.errors("use d checkpoint use master");
        }
        let errors = run.story.errors(&format!("use d begin tran {batch} commit use master"));
        assert!(
            errors.is_empty() || run.story.disk.power_is_cut(),
            "{batch}: {errors:?}"
        );
        run.is_answered();
    }
}

/// What a database has, in one text.
fn contents(story: &mut Story, name: &str) -> Vec<String> {
    story.run(&format!("use {name}"));
    let rows = LOOKS[..7].iter().flat_map(|look| story.rows(look)).collect();
    story.run("use master");
    rows
}

/// Cuts the power at every operation from the rollback on; answers how many there were.
fn cut_everywhere(policy: LogPolicy, states: &[Vec<String>]) -> u64 {
    let sample = workbench::sample("operations behind a marked rollback, with a power cut", 12);
    let begin = || {
        let (story, open) = begun(policy);
        (story, Some(open))
    };
    let (mut story, cuts) = cuts(sample.one_in, begin, goes_on);
    assert_eq!(contents(&mut story, "d"), states[BEHIND.len()]);
    let count = cuts.len() as u64;
    for cut in cuts {
        let (number, answered) = (cut.number, cut.answered);
        let disk = cut.found();
        // A second cut in the recovery, or behind it.
        let again = disk.operation_count() + 1 + number * 7 % 60;
        disk.power_cut_at(again);
        let _ = Story::try_on(disk.clone(), policy);
        story.start_on(disk.after_power_cut(CutPolicy::RandomSectors, again));
        let found = contents(&mut story, "d");
        let expected = &states[answered..states.len().min(answered + 2)];
        assert!(expected.contains(&found), "cut at {number}, {answered} statements");
        story.is_sound("d");
        (0..8).for_each(|_| story.run("use d update small set n += 1 use master"));
        assert_eq!(under_way(&story), 0, "cut at {number}");
        assert_eq!(contents(&mut story, "d"), found, "cut at {number}");
    }
    sample.count(count);
    count
}

#[test]
fn a_power_cut_behind_a_marked_rollback_loses_nothing() {
    for policy in [LogPolicy::native(), LogPolicy::classic()] {
        let mut story = databases(policy);
        let mut states = vec![contents(&mut story, "e")];
        for batch in BEHIND {
            story.run(&format!("use e begin tran {batch} commit use master"));
            states.push(contents(&mut story, "e"));
        }
        let (story, mut open) = begun(policy);
        told(&mut open, "rollback");
        assert_eq!(under_way(&story), 1, "what is cut takes back");
        let cuts = cut_everywhere(policy, &states);
        println!("{cuts} cuts");
        assert!(cuts >= 4, "{cuts}");
    }
}

/// Sets, chains of log backups and snapshots made while changes are still on the pages have none of them.
#[test]
fn backups_and_snapshots_have_nothing_of_a_marked_transaction() {
    for policy in [LogPolicy::native(), LogPolicy::classic()] {
        let mut story = databases(policy);
        let before = contents(&mut story, "d");
        story.run("alter database d set recovery full backup database d to disk = 'c:\\base.bak'");
        let mut open = story.beside();
        assert!(numbers(&told(&mut open, &format!("use d {LARGE}"))).is_empty());
        told(&mut open, "rollback");
        assert_eq!(under_way(&story), 1);
        story.run("backup database d to disk = 'c:\\full.bak' backup log d to disk = 'c:\\one.trn'");
        assert_eq!(
            under_way(&story),
            1,
            "the sets are of a moment at which it is under way"
        );
        story.run("use d update tree set f = f where id = 70 use master backup log d to disk = 'c:\\two.trn'");
        let moved = "move 'd' to 'c:\\r.mdf', move 'l' to 'c:\\r.ldf', replace";
        for restore in [
            format!("restore database r from disk = 'c:\\full.bak' with {moved}"),
            format!(
                "restore database r from disk = 'c:\\base.bak' with {moved}, norecovery
                 restore log r from disk = 'c:\\one.trn' with norecovery restore log r from disk = 'c:\\two.trn'"
            ),
            format!(
                "restore database r from disk = 'c:\\base.bak' with {moved}, norecovery
                 restore log r from disk = 'c:\\one.trn' with standby = 'c:\\r.undo'"
            ),
        ] {
            story.run(&restore);
            assert_eq!(contents(&mut story, "r"), before, "{restore}");
            story.is_sound("r");
        }
        story.run("restore log r from disk = 'c:\\two.trn' with recovery");
        assert_eq!(contents(&mut story, "r"), before);
        story.run("create database s on (name = d, filename = 'c:\\s.ss') as snapshot of d");
        assert_eq!(contents(&mut story, "s"), before);
        assert_eq!(contents(&mut story, "d"), before);
    }
}

/// The option is switched off, or the database dropped, while changes are still on the pages.
#[test]
fn the_option_goes_off_once_everything_is_taken_back() {
    let (mut story, mut open) = begun(LogPolicy::native());
    told(&mut open, "rollback");
    assert_eq!(under_way(&story), 1);
    story.run("alter database d set accelerated_database_recovery = off");
    assert_eq!(under_way(&story), 0);
    agree(&mut story, &LOOKS, "switched off");
    let answer = told(&mut open, LARGE);
    assert!(numbers(&answer).is_empty(), "{answer}");
    told(&mut open, "rollback");
    assert_eq!(
        count_of(&mut story, "LOP_VLFLAB_MARK_XACT"),
        1,
        "it was rolled back in order"
    );
    story.run("alter database d set accelerated_database_recovery = on");
    assert!(numbers(&told(&mut open, LARGE)).is_empty());
    told(&mut open, "rollback");
    drop(open);
    assert_eq!(under_way(&story), 1);
    story.run("drop database d");
}

/// Work of a transaction, and how many transactions are marked behind its rollback.
fn cases() -> Vec<(String, usize)> {
    let many = "update tree set k += 1, f = replicate('z', 300) update heap set k += 1, f = replicate('y', 300)";
    vec![
        (many.to_owned(), 1),
        ("update tree set k += 1 where id < 500".to_owned(), 0),
        (format!("create table made (id int) {many}"), 1),
        (format!("{many} truncate table small"), 1),
        (
            format!("{many} truncate table heap insert heap select id, k, f from tree"),
            1,
        ),
        (format!("{many} select * into filled from tree"), 1),
        (
            format!(
                "{many} insert pile with (tablock) select id, f from tree update pile set f = f + 'b' delete pile where id > 300"
            ),
            1,
        ),
        (
            format!(
                "insert keyed with (tablock) select id, f from tree insert keyed select id + 3, replicate('s', 300) from tree {many}"
            ),
            1,
        ),
        (
            format!("{many} create clustered index by_f on pile (f) insert pile select id, f from tree"),
            1,
        ),
        (
            format!("{many} alter table tree add c int not null default 3 with values update tree set c = 4"),
            1,
        ),
        (format!("{many} drop table pile drop index by_k on tree"), 1),
        (format!("{many} update large set v = v + 'y'"), 1),
        (format!("{many} delete large"), 1),
        (
            format!("{many} delete large insert large select id, f from tree where id > 0"),
            1,
        ),
    ]
}

/// What is marked and what is rolled back in order all the same: each row of the table at the head of `txn::marked`, each kind of change.
#[test]
fn a_large_transaction_is_marked_whatever_it_did() {
    let mut story = databases(LogPolicy::native());
    let looks = [&LOOKS[..], &["select id, n from small"]].concat();
    let newest_mark =
        "select max([Current LSN]) from d.sys.fn_dblog(null, null) where Operation = 'LOP_VLFLAB_MARK_XACT'";
    for (work, marked) in cases() {
        for goes_down in [false, true] {
            let what = format!("{work}; the server dies: {goes_down}");
            let mut open = story.beside();
            let answer = told(&mut open, &format!("use d begin tran {work}"));
            assert!(numbers(&answer).is_empty(), "{answer}");
            if goes_down {
                let before = story.rows(newest_mark);
                std::mem::forget(open);
                story.again(Again::Kill, "d");
                assert_eq!(story.rows(newest_mark) > before, marked == 1, "{what}");
            } else {
                told(&mut open, "rollback");
                assert_eq!(under_way(&story), marked, "{what}");
            }
            // Others write into the middle of what was filled.
            BOTH.iter()
                .for_each(|name| story.run(&format!("insert {name}.dbo.keyed values (3333, 'behind')")));
            agree(&mut story, &looks, &what);
            BOTH.iter()
                .for_each(|name| story.run(&format!("delete {name}.dbo.keyed where id = 3333")));
            (0..8).for_each(|_| story.run("update d.dbo.small set n += 0"));
            assert_eq!(under_way(&story), 0, "{what}");
            story.is_sound("d");
        }
    }
}

/// A transaction whose changes were carried forward has few of them, compared with the log that it holds.
#[test]
fn what_was_carried_is_rolled_back_in_order() {
    let mut story = databases(LogPolicy::native());
    let mut open = story.beside();
    let answer = told(
        &mut open,
        "use d begin tran update heap set k += 1 declare @i int = 0 while @i < 500 begin update small set n += 1 set @i += 1 end",
    );
    assert!(numbers(&answer).is_empty(), "{answer}");
    let carried = "select count(*) from d.sys.fn_dblog(null, null) where Operation = 'LOP_VLFLAB_CARRY_END'";
    let filled = (0..200).any(|_| {
        story.run(
            "update d.dbo.tree set f = replicate('a', 390) update d.dbo.tree set f = '' use d checkpoint use master",
        );
        story.rows(carried)[0] != "0"
    });
    assert!(filled, "the log went round");
    told(&mut open, "rollback");
    assert_eq!(under_way(&story), 0);
    assert_eq!(story.rows("select sum(n) from d.dbo.small"), ["0"]);
    story.is_sound("d");
}

/// Links of a transaction whose changes were carried forward lead to records that are gone. After a crash behind that it was taken for one that can be
/// undone page by page: its copies were passed over, and its changes stayed.
#[test]
fn what_was_carried_is_undone_in_order_after_a_crash() {
    for policy in [LogPolicy::native(), LogPolicy::classic()] {
        let mut story = databases(policy);
        let mut open = story.beside();
        let work =
            "use d begin tran update small set n += 5 update heap set k += 1 where id < 100 delete heap where id = 200";
        assert!(numbers(&told(&mut open, work)).is_empty());
        let carried = "select count(*) from d.sys.fn_dblog(null, null) where Operation = 'LOP_VLFLAB_CARRY_END'";
        let is_carried = (0..200).any(|_| {
            story.run("update d.dbo.tree set f = replicate('a', 390) update d.dbo.tree set f = '' use d checkpoint use master");
            story.rows(carried)[0] != "0"
        });
        assert!(is_carried);
        story.run("use d checkpoint use master");
        std::mem::forget(open);
        story.again(Again::Kill, "d");
        agree(
            &mut story,
            &["select id, n from small", "select id, k, f from heap order by id"],
            "carried",
        );
        assert_eq!(under_way(&story), 0);
        story.is_sound("d");
    }
}

/// The option goes off under an open transaction. Its rollback is in order then: compensations have no links, and a crash on the way would have had
/// everything taken back twice, over what others had committed.
#[test]
fn a_transaction_that_the_option_leaves_is_undone_in_order() {
    for policy in [LogPolicy::native(), LogPolicy::classic()] {
        let (mut story, mut open) = begun(policy);
        story.run("alter database d set accelerated_database_recovery = off");
        told(&mut open, "rollback");
        assert_eq!(under_way(&story), 0);
        agree(&mut story, &LOOKS, "off");
        // Off and on again under an open transaction: links are missing in between.
        let answer = told(&mut open, LARGE);
        assert!(numbers(&answer).is_empty(), "{answer}");
        story.run("update d.dbo.small set n += 1 update e.dbo.small set n += 1");
        story.run("alter database d set accelerated_database_recovery = on");
        told(&mut open, "update small set n += 1 where id = 9 rollback");
        for batch in BEHIND {
            for name in BOTH {
                story.run(&format!("use {name} begin tran {batch} commit use master"));
            }
        }
        agree(&mut story, &LOOKS, "off and on");
        story.again(Again::Kill, "d");
        agree(&mut story, &LOOKS, "off and on, killed");
        BOTH.iter().for_each(|name| story.is_sound(name));
    }
}

/// The option goes off under an open transaction that a checkpoint has listed as one that can be undone page by page, and that then does what is undone
/// in order only. After a crash it was marked, and this stayed.
#[test]
fn what_is_done_behind_the_option_is_undone_after_a_crash() {
    for policy in [LogPolicy::native(), LogPolicy::classic()] {
        let mut story = databases(policy);
        for name in BOTH {
            story.run(&format!(
                "use {name} create table plain (id int not null, f char(300) not null) use master"
            ));
        }
        let mut open = story.beside();
        assert!(
            numbers(&told(
                &mut open,
                "use d begin tran update tree set k += 1 where id < 500"
            ))
            .is_empty()
        );
        story.run("alter database d set accelerated_database_recovery = off use d checkpoint use master");
        let answer = told(
            &mut open,
            "insert plain with (tablock) select id, f from heap create table made (id int not null) truncate table small",
        );
        assert!(numbers(&answer).is_empty(), "{answer}");
        // Their commit takes the transaction's records to the disk.
        for name in BOTH {
            story.run(&format!("insert {name}.dbo.tree values (999999, 1, 'behind')"));
        }
        std::mem::forget(open);
        story.again(Again::Kill, "d");
        agree(&mut story, &LOOKS, "killed");
        agree(
            &mut story,
            &[
                "select id, n from small",
                "select count(*) from plain",
                "select count(*) from sys.tables",
            ],
            "killed",
        );
        BOTH.iter().for_each(|name| story.is_sound(name));
    }
}
/// The option goes on under an open transaction that has filled the log. Its changes have no links and reserved no room for them, so its compensations
/// may not have any either: with them (22 bytes each) the rollback outgrows its reserve, passes MAXSIZE, and on a full disk breaks the log down
/// (log/grow.rs, `break_down`).
#[test]
fn the_option_goes_on_under_a_transaction_that_has_filled_the_log() {
    for policy in [LogPolicy::native(), LogPolicy::classic()] {
        let mut story = Story::on(SimDisk::new(3), policy);
        story.run(
            "create database f on (name = d, filename = 'c:\\f.mdf') log on (name = l, filename = 'c:\\f.ldf', size = 4MB, maxsize = 4MB)
             alter database f set recovery simple",
        );
        story.run(
            "use f create table r (id int not null primary key, n int not null)
             declare @i int = 0 while @i < 3000 begin insert r values (@i, 0) set @i += 1 end checkpoint use master",
        );
        let update = "update r set n += 1";
        let mut open = story.beside();
        assert!(numbers(&told(&mut open, "use f begin tran")).is_empty());
        let fit = (0..200)
            .position(|_| !numbers(&told(&mut open, update)).is_empty())
            .unwrap();
        told(&mut open, "if @@trancount > 0 rollback checkpoint begin tran");
        for _ in 0..fit - 1 {
            let answer = told(&mut open, update);
            assert!(numbers(&answer).is_empty(), "{answer}");
        }
        let size = "select size from f.sys.database_files where type = 1";
        let before = story.rows(size);
        story.run("alter database f set accelerated_database_recovery = on");
        let answer = told(&mut open, "rollback");
        assert!(numbers(&answer).is_empty(), "{answer}");
        assert_eq!(story.rows(size), before, "the rollback had its room set aside");
        assert_eq!(story.rows("select sum(n) from f.dbo.r"), ["0"]);
        story.is_sound("f");
    }
}

/// A page of a marked transaction cannot be read any more. The table can be dropped, and then the transaction ends; and the database can be dropped.
/// (The file is written to beside the open database: if SimDisk refuses that, damage it between a kill and `start_on`.)
#[test]
fn a_damaged_page_keeps_neither_the_transaction_nor_the_database() {
    for drops_table in [true, false] {
        let (mut story, mut open) = begun(LogPolicy::native());
        story.run("use d checkpoint use master");
        told(&mut open, "rollback use master");
        drop(open);
        assert_eq!(under_way(&story), 1);
        story.run("use d checkpoint use master dbcc dropcleanbuffers");
        let file = disk::Disk::open(
            &story.disk,
            std::path::Path::new("/instance/c/d.mdf"),
            disk::Access::Buffered,
        )
        .unwrap();
        let mut page = [0; 8192];
        let mut damaged = 0;
        for number in 0..4_000_u64 {
            if file.read_at(number * 8192, &mut page).is_err() {
                break;
            }
            // A heap page (kind 1) with rows of LARGE.
            if page[1] == 1 && page.windows(40).any(|bytes| bytes == [b'y'; 40]) {
                page[4000] ^= 1;
                file.write_at(number * 8192, &page).unwrap();
                damaged += 1;
            }
        }
        assert!(damaged > 0);
        if drops_table {
            story.run("use d drop table heap");
            (0..12).for_each(|_| story.run("use d update small set n += 1 use master"));
            assert_eq!(under_way(&story), 0, "pages of a dropped table are left out");
        }
        story.run("drop database d");
    }
}

/// Pages of values that a marked transaction gave up are its own until the background has taken that back. Who gives up the same values waits for it: its
/// own deletion would be taken back with the other.
#[test]
fn values_given_up_by_a_marked_transaction_can_be_given_up_again() {
    for policy in [LogPolicy::native(), LogPolicy::classic()] {
        let mut story = databases(policy);
        let mut open = story.beside();
        // The values come first, so that the background, which begins with the newest changes, comes to them last.
        let work = "use d begin tran delete large where id = 13 update large set v = v + 'more' where id < 12
            update tree set k += 1 update heap set k += 1 update tree set k += 1 update heap set k += 1";
        assert!(numbers(&told(&mut open, work)).is_empty());
        told(&mut open, "rollback");
        assert_eq!(under_way(&story), 1);
        let pages =
            "select sum(used_page_count) from d.sys.dm_db_partition_stats where object_id = object_id('d.dbo.large')";
        BOTH.iter().for_each(|name| {
            story.run(&format!("use {name} delete large where id between 4 and 14 use master"));
        });
        assert_eq!(under_way(&story), 0, "the statement has waited");
        agree(&mut story, &LOOKS, "given up again");
        BOTH.iter().for_each(|name| story.is_sound(name));
        std::mem::forget(open);
        story.again(Again::Kill, "d");
        BOTH.iter().for_each(|name| {
            story.run(&format!(
                "use {name} delete large update small set n += 1 checkpoint use master"
            ));
        });
        story.is_sound("d");
        let [with, without] = BOTH.map(|name| {
            story.instance.database(name).unwrap().free_large_values().unwrap();
            story.rows(&pages.replace("d.", &format!("{name}.")))
        });
        assert_eq!(with, without, "no page of a value is left behind");
    }
}
