//! Indexed views under random changes of their tables: by three sessions beside each other at every isolation level, with savepoints,
//! rollbacks and row versions; and with the power cut at any operation of the disk. Counts are printed.
//!
//! After each round, and after each start, the stored rows of every view are those that its definition computes, and CHECKDB finds nothing.
//!
//! Depth: 8 rounds of 3 sessions with 12 transactions each, and 30 power cuts; deep: 120 rounds, and 500 cuts.
#![allow(clippy::unwrap_used)]

use crate::answers::{answers, rows, run};
use crate::story::{Story, numbers};
use crate::transcript;

use std::collections::BTreeMap;
use std::sync::Arc;

use disk::sim::CutPolicy;
use engine::instance::Instance;
use engine::seams::SystemClock;
use tsql::session::Session;

const SESSIONS: u64 = 3;
const TRANSACTIONS: u64 = 12;
const VIEWS: [&str; 4] = ["totals", "by_region", "noted", "regions"];

/// Keys, groups and names are few, so that changes meet.
const KEYS: u64 = 12;

/// What a statement may be refused by beside others: a deadlock (1205), no lock in time (1222), a key that is there (2601, 2627), a row changed since
/// the snapshot (3960), a definition changed since (3961), a savepoint or transaction that is over (628, 3903, 6401).
const ALLOWED: &[i32] = &[628, 1205, 1222, 2601, 2627, 3903, 3960, 3961, 6401];

const LEVELS: [&str; 5] = [
    "read uncommitted",
    "read committed",
    "repeatable read",
    "serializable",
    "snapshot",
];

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Two tables; groups of one, groups and rows of their join, and a view with a second unique key. Rows of `b` are long, so that a scan of it
/// goes over several pages, and most views do not name its key: rows may move while they are scanned.
const DEFINITIONS: &[&str] = &[
    "create table a (id int not null primary key, region int, name varchar(10) not null)",
    "create table b (k int not null primary key, a int not null, n int not null, note varchar(10), filler char(1900) not null default 'x')",
    "create view totals with schemabinding as select a, count_big(*) as rows, sum(n) as n from dbo.b group by a",
    "create unique clustered index ix on totals (a)",
    "create view by_region with schemabinding as select a.region, count_big(*) as rows, sum(b.n) as n from dbo.a join dbo.b on b.a = a.id \
     where b.n > 1 group by a.region",
    "create unique clustered index ix on by_region (region)",
    "create index ix_n on by_region (n)",
    "create view noted with schemabinding as select b.k, a.name, a.region, b.note from dbo.a join dbo.b on b.a = a.id where b.note is not null",
    "create unique clustered index ix on noted (k)",
    "create index ix_name on noted (name) include (note)",
    "create view regions with schemabinding as select region, name, count_big(*) as rows from dbo.a group by region, name",
    "create unique clustered index ix on regions (region, name)",
];

fn statement(random: &mut Random) -> String {
    let (key, other, number) = (random.below(KEYS), random.below(KEYS), random.below(5));
    let (group, row) = (random.below(3), random.below(60));
    match random.below(17) {
        0 => format!("insert a values ({key}, {group}, 'n{number}')"),
        1 | 2 => format!("insert b (k, a, n, note) values ({row}, {key}, {number}, 'x{number}')"),
        3 => format!(
            "insert b (k, a, n, note) select k + {}, a, n + 1, note from b where a = {key}",
            60 + random.below(40)
        ),
        4 => format!("update a set region = {group} where id = {key}"),
        5 => format!("update a set name = 'n{number}', region = nullif(region, {group}) where id in ({key}, {other})"),
        6 => format!("update b set n = n + {number} where a = {key}"),
        7 => format!("update b set a = {other} where a = {key} and k % 2 = 0"),
        8 => format!("update b set note = nullif('x{number}', 'x0') where k % 5 = {number}"),
        9 => format!("delete b where a = {key} and k % 3 = 0"),
        10 => format!("delete a where id = {key}"),
        11 => format!("update b set k = k + 1000 where k = {row} update b set k = k - 1000 where k >= 1000"),
        12 => format!(
            "merge b t using (select {key} k) s on t.a = s.k and t.n > 2 when matched then delete \
             when not matched then insert (k, a, n) values ({row}, s.k, {number});"
        ),
        13 | 14 => format!("update b set k = {} where k = {row}", random.below(160)),
        15 => format!("update a set region = {group}, name = name where id >= {key}"),
        _ => format!(
            "select count(*) from by_region with (noexpand) where region = {group} select sum(n) from totals with (noexpand)"
        ),
    }
}

fn transaction(random: &mut Random) -> Vec<String> {
    let level = LEVELS[random.below(LEVELS.len() as u64) as usize];
    let mut batches = vec![format!("set transaction isolation level {level} begin transaction")];
    for _ in 0..1 + random.below(4) {
        match random.below(8) {
            0 => batches.push("if @@trancount > 0 save transaction s".to_owned()),
            1 => batches.push("if @@trancount > 0 rollback transaction s".to_owned()),
            _ => batches.push(statement(random)),
        }
    }
    let end = if random.below(4) == 0 { "rollback" } else { "commit" };
    batches.push(format!("if @@trancount > 0 {end}"));
    batches
}

/// Changes the tables; answers how often each error was met.
fn work(instance: &Arc<Instance>, seed: u64) -> BTreeMap<i32, u64> {
    let mut random = Random(seed);
    let mut refused = BTreeMap::new();
    let mut session = transcript::session(instance);
    run(&mut session, &["use d", "set lock_timeout 20000"]);
    for _ in 0..TRANSACTIONS {
        for batch in transaction(&mut random) {
            let answered = answers(&mut session, &batch);
            let Some((number, _, text)) = answered.errors.first() else {
                *refused.entry(0).or_default() += 1;
                continue;
            };
            assert!(ALLOWED.contains(number), "{batch}: {number} {text}");
            *refused.entry(*number).or_default() += 1;
        }
        run(&mut session, &["if @@trancount > 0 rollback"]);
    }
    refused
}

/// What differs between the stored rows of a view and those of its definition.
fn differing(view: &str) -> String {
    format!(
        "select count(*) from (select * from {view} with (noexpand) except select * from {view}) x \
         select count(*) from (select * from {view} except select * from {view} with (noexpand)) x \
         select (select count_big(*) from {view} with (noexpand)) - (select count_big(*) from {view})"
    )
}

fn are_right(session: &mut Session, told: &str) {
    for view in VIEWS {
        let differ = rows(session, &differing(view));
        assert_eq!(differ, "0|0|0", "{view} {told}");
    }
}

#[test]
fn views_stay_right_beside_other_sessions() {
    let depth = workbench::depth("rounds of changes of indexed views beside each other", 8, 120);
    let mut refused: BTreeMap<i32, u64> = BTreeMap::new();
    let instance = transcript::instance_with(Arc::new(SystemClock::new()));
    let mut owner = transcript::session(&instance);
    run(
        &mut owner,
        &[
            "create database d",
            "alter database d set allow_snapshot_isolation on",
            "use d",
        ],
    );
    run(&mut owner, DEFINITIONS);
    for round in 0..depth.units {
        let versions = if round % 2 == 0 { "off" } else { "on" };
        run(
            &mut owner,
            &[
                "use master",
                &format!("alter database d set read_committed_snapshot {versions}"),
                "use d",
            ],
        );
        std::thread::scope(|scope| {
            let sessions = (0..SESSIONS).map(|own| {
                let (instance, seed) = (&instance, round * SESSIONS + own + 1);
                scope.spawn(move || work(instance, seed))
            });
            let sessions: Vec<_> = sessions.collect();
            for counts in sessions.into_iter().map(|session| session.join().unwrap()) {
                for (number, count) in counts {
                    *refused.entry(number).or_default() += count;
                }
            }
        });
        are_right(&mut owner, &format!("after round {round}"));
    }
    run(&mut owner, &["dbcc checkdb (d) with no_infomsgs"]);
    println!("{} rounds of {SESSIONS} sessions: {refused:?}", depth.units);
    assert!(
        refused.get(&0).is_some_and(|done| *done > depth.units * 50),
        "{refused:?}"
    );
    depth.count();
}

#[test]
fn views_are_right_after_a_power_cut_at_any_operation() {
    let depth = workbench::depth("power cuts while indexed views are changed", 30, 500);
    let mut cuts = 0;
    for seed in depth.seeds() {
        let mut random = Random(seed + 1);
        let mut story = Story::begin();
        story.run("create database d");
        story.run("use d");
        for definition in DEFINITIONS {
            story.run(definition);
        }
        story.run("checkpoint");
        story
            .disk
            .power_cut_at(story.disk.operation_count() + 1 + random.below(60));
        while !story.disk.power_is_cut() {
            for batch in transaction(&mut random) {
                story.answer(&batch);
            }
            if random.below(4) == 0 {
                story.answer("if @@trancount = 0 checkpoint");
            }
        }
        cuts += 1;
        let policy = [
            CutPolicy::AllLost,
            CutPolicy::AllKept,
            CutPolicy::RandomSectors,
            CutPolicy::RandomWrites,
        ][seed as usize % 4];
        let disk = story.disk.after_power_cut(policy, seed);
        story.start_on(disk);
        story.is_sound("d");
        story.run("use d");
        for view in VIEWS {
            let differ = story.answer(&format!("set nocount on {}", differing(view)));
            assert!(numbers(&differ).is_empty(), "{seed}: {differ}");
            let counts: Vec<&str> = differ
                .lines()
                .map(str::trim)
                .filter(|line| !line.starts_with('['))
                .collect();
            assert_eq!(counts, ["0", "0", "0"], "{view} after the cut of seed {seed}");
        }
    }
    println!("{cuts} power cuts");
    assert_eq!(cuts, depth.units);
    depth.count();
}
