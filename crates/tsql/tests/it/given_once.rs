//! Ids are given once: random definitions with rollbacks, power cuts, backups and restores, against a model that knows every
//! id. No later table takes an earlier one's pages, name in the views or identity.
//!
//! Depth: 3 lives of 100 steps; deep: 40.
#![allow(clippy::unwrap_used)]

use crate::story;

use std::collections::BTreeMap;

use disk::sim::{CutPolicy, SimDisk};
use engine::log::LogPolicy;
use story::{Again, Ids, Story};

const FILL: &str = "declare @i int = 0 while @i < 100 begin insert t values (@i, 'old') set @i += 1 end";

/// How storage loses its owner, and the rows of `t` afterwards, if there is a `t`.
const ENDS: [(&str, Option<usize>); 6] = [
    ("drop table t", None),
    ("truncate table t", Some(0)),
    ("begin tran truncate table t FILL rollback", Some(100)),
    (
        "drop table t begin tran create table t (id int not null primary key, f char(800) not null) FILL rollback",
        None,
    ),
    ("create index i on t (f) drop index i on t", Some(100)),
    ("begin tran create index i on t (f) rollback", Some(100)),
];

/// The defect as it was found: the second table takes pages of the first for its own, and its rows are not seen.
#[test]
fn a_table_never_takes_pages_of_one_that_is_gone() {
    for (end, left) in ENDS {
        for again in Again::ALL {
            for second in ["id int not null", "id int not null primary key"] {
                let what = format!("{end}; {again:?}; create table h ({second})");
                let mut story = Story::begin();
                story.run("create database d");
                story.run("use d create table t (id int not null primary key, f char(800) not null)");
                story.run(&format!("use d {FILL}"));
                story.run(&format!("use d {}", end.replace("FILL", FILL)));
                story.again(again, "d");
                story.run(&format!("use d create table h ({second}, f char(10) not null)"));
                story.run("use d declare @i int = 0 while @i < 100 begin insert h values (@i, 'new') set @i += 1 end");
                assert_eq!(
                    story.rows("select count(*), sum(id), min(f), max(f) from h"),
                    ["100 4950 new        new"],
                    "{what}"
                );
                if let Some(left) = left {
                    assert_eq!(story.rows("select count(*) from t"), [left.to_string()], "{what}");
                }
                story.is_sound("d");
            }
        }
    }
}

/// A table of the model: clustered or not, and its rows by id.
#[derive(Debug, Clone, Default, PartialEq)]
struct Table {
    indexes: u32,
    rows: BTreeMap<u64, u64>,
}

type Content = BTreeMap<String, Table>;

/// What is in the database, and which ids it has.
#[derive(Debug, Clone, Default)]
struct State {
    content: Content,
    ids: Ids,
}

/// A database when it was backed up.
#[derive(Debug, Clone)]
struct BackedUp {
    state: State,
    ever: Ids,
}

struct Random(u64);

impl Random {
    /// The next number below `limit` (splitmix64).
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// A database that random definitions come over, and what must be in it.
struct Life {
    story: Story,
    random: Random,
    state: State,
    /// Every id ever seen on the way to here, in transactions that rolled back too. A restore goes back on it: what was given
    /// behind the point restored to was given on another recovery fork, whose pages and log never come together with this one's.
    ever: Ids,
    next_name: u32,
    /// What the database was when the full backup and each log backup after it were made.
    backups: Vec<BackedUp>,
    cuts: u32,
    restores: u32,
}

impl Life {
    fn begin(seed: u64, policy: LogPolicy) -> Life {
        let mut story = Story::on(SimDisk::new(seed), policy);
        story.run("create database d alter database d set recovery full");
        Life {
            story,
            random: Random(seed),
            state: State::default(),
            ever: Ids::new(),
            next_name: 0,
            backups: Vec::new(),
            cuts: 0,
            restores: 0,
        }
    }

    /// Notes the ids there are: one that was not known to this transaction has never been there.
    fn meet_ids(&mut self, known: &mut Ids) {
        for id in self.story.ids("d") {
            assert!(
                !known.insert(id) || self.ever.insert(id),
                "{id:?} is given a second time"
            );
        }
    }

    /// A random change of definitions or rows, as a statement, and its effect on the model.
    fn change(&mut self, content: &mut Content) -> String {
        let names: Vec<String> = content.keys().cloned().collect();
        let kind = if names.is_empty() { 0 } else { self.random.below(9) };
        let pick = self.random.below(names.len().max(1) as u64) as usize;
        let name = names.get(pick).cloned().unwrap_or_default();
        match kind {
            0 | 1 => {
                self.next_name += 1;
                let name = format!("t{}", self.next_name);
                let key = ["", "primary key nonclustered", "primary key", "unique"][self.random.below(4) as usize];
                content.insert(name.clone(), Table::default());
                format!(
                    "create table {name} (id int not null {key}, v int not null check (v >= 0), f char(900) not null default 'f')"
                )
            }
            2 => {
                content.remove(&name);
                format!("drop table {name}")
            }
            3 => {
                content.get_mut(&name).unwrap().rows.clear();
                format!("truncate table {name}")
            }
            4 => {
                let table = content.get_mut(&name).unwrap();
                table.indexes += 1;
                let number = table.indexes;
                format!("create index i{number} on {name} (v)")
            }
            5 if content[&name].indexes > 0 => {
                let table = content.get_mut(&name).unwrap();
                table.indexes -= 1;
                format!("drop index i{} on {name}", table.indexes + 1)
            }
            _ => {
                let table = content.get_mut(&name).unwrap();
                let first = table.rows.keys().next_back().map_or(0, |last| last + 1);
                let count = 1 + self.random.below(25);
                let value = self.random.below(1_000_000);
                table.rows.extend((first..first + count).map(|id| (id, value)));
                format!(
                    "declare @i int = {first} while @i < {} begin insert {name} (id, v) values (@i, {value}) set @i += 1 end",
                    first + count
                )
            }
        }
    }

    /// One transaction of several changes, committed or rolled back.
    fn transaction(&mut self) {
        let before = self.state.ids.clone();
        let mut known = before.clone();
        let mut content = self.state.content.clone();
        self.story.run("use d begin transaction");
        for _ in 0..1 + self.random.below(4) {
            let statement = self.change(&mut content);
            self.story.run(&statement);
            self.meet_ids(&mut known);
        }
        if self.random.below(3) == 0 {
            self.story.run("rollback");
            assert_eq!(self.story.ids("d"), before, "a rollback leaves no trace");
        } else {
            self.story.run("commit");
            self.state = State {
                content,
                ids: self.story.ids("d"),
            };
        }
    }

    /// The power goes somewhere in a transaction. What it was committing is there or not.
    fn cut(&mut self) {
        let mut content = self.state.content.clone();
        let statements: Vec<String> = (0..1 + self.random.below(3))
            .map(|_| self.change(&mut content))
            .collect();
        let at = self.story.disk.operation_count() + 1 + self.random.below(6);
        self.story.disk.power_cut_at(at);
        self.story
            .answer(&format!("use d begin transaction {} commit", statements.join(" ")));
        self.cuts += u32::from(self.story.disk.power_is_cut());
        let policy = match self.random.below(3) {
            0 => CutPolicy::AllLost,
            1 => CutPolicy::AllKept,
            _ => CutPolicy::RandomSectors,
        };
        let disk = self.story.disk.after_power_cut(policy, at);
        self.story.start_on(disk);
        let found = self.found();
        if found != self.state.content {
            assert_eq!(found, content);
            let mut known = self.state.ids.clone();
            self.meet_ids(&mut known);
            self.state = State {
                content,
                ids: self.story.ids("d"),
            };
        }
    }

    /// Everything in the database.
    fn found(&mut self) -> Content {
        let mut found = Content::new();
        for name in self.story.rows("select name from d.sys.tables") {
            let indexes = format!(
                "select name from d.sys.indexes where object_id = object_id('d.dbo.{name}') and name like 'i%'"
            );
            let mut table = Table {
                indexes: self.story.rows(&indexes).len() as u32,
                ..Table::default()
            };
            for row in self.story.rows(&format!("select id, v from d.dbo.{name}")) {
                let mut numbers = row.split(' ').map(|number| number.parse().unwrap());
                let (id, v) = (numbers.next().unwrap(), numbers.next().unwrap());
                assert_eq!(table.rows.insert(id, v), None, "a row twice");
            }
            found.insert(name, table);
        }
        found
    }

    fn back_up(&mut self) {
        let made = BackedUp {
            state: self.state.clone(),
            ever: self.ever.clone(),
        };
        if self.backups.is_empty() || self.random.below(4) == 0 {
            self.story.run("use master backup database d to disk = 'F' with format");
            self.backups = vec![made];
        } else {
            let number = self.backups.len();
            self.story
                .run(&format!("use master backup log d to disk = 'L{number}' with format"));
            self.backups.push(made);
        }
    }

    /// Back to one of the backups: later ids were given in another life of the database.
    fn restore(&mut self) {
        let Some(last) = self.backups.len().checked_sub(1) else {
            return;
        };
        let to = self.random.below(last as u64 + 1) as usize;
        self.story
            .run("use master restore database d from disk = 'F' with replace, norecovery");
        for log in 1..=to {
            self.story
                .run(&format!("restore log d from disk = 'L{log}' with norecovery"));
        }
        self.story.run("restore database d with recovery");
        let BackedUp { state, ever } = self.backups[to].clone();
        (self.state, self.ever) = (state, ever);
        // The log goes on from here on a fork of its own.
        self.backups.clear();
        self.restores += 1;
    }

    fn check(&mut self) {
        assert_eq!(self.found(), self.state.content);
        assert_eq!(self.story.ids("d"), self.state.ids);
        self.story.is_sound("d");
    }

    fn step(&mut self) {
        match self.random.below(20) {
            0 | 1 => self.cut(),
            2 => self.story.again(Again::OfflineOnline, "d"),
            3 => self.story.again(Again::StopStart, "d"),
            4 => self.story.again(Again::Kill, "d"),
            5 | 6 => self.back_up(),
            7 => self.restore(),
            _ => self.transaction(),
        }
    }
}

/// Random definitions, rollbacks, restarts, power cuts and restores: no id comes twice, and the rows are those of the model.
#[test]
fn no_id_is_given_twice_in_a_database_that_lives_dangerously() {
    let (mut cuts, mut restores) = (0, 0);
    let depth = workbench::depth("lives of a database", 3, 40);
    for seed in depth.seeds() {
        let policy = if seed % 2 == 0 {
            LogPolicy::classic()
        } else {
            LogPolicy::native()
        };
        let mut life = Life::begin(seed, policy);
        for _ in 0..100 {
            life.step();
            life.check();
        }
        (cuts, restores) = (cuts + life.cuts, restores + life.restores);
    }
    assert!(cuts > 1 && restores > 1, "{cuts} cuts, {restores} restores");
    depth.count();
}

/// Constraints have ids of their own, the same in every view, which stay when the table around them changes and never come again.
#[test]
fn a_constraint_keeps_its_id_and_nobody_else_gets_it() {
    let mut story = Story::begin();
    story.run("create database d");
    story.run("use d create table p (id int not null primary key)");
    story.run(
        "use d create table t (id int not null constraint pk primary key, u int not null constraint uq unique, \
         c int not null constraint ck check (c > 0), d int not null constraint df default 1, \
         f int not null constraint fk references p (id))",
    );
    let names = "('pk', 'uq', 'ck', 'df', 'fk')";
    let of_objects = format!("select name, object_id from sys.objects where name in {names} order by name");
    let before = story.rows(&of_objects);
    assert_eq!(before.len(), 5);
    assert_eq!(
        story.rows(
            "select name, object_id from sys.check_constraints union all select name, object_id from sys.default_constraints \
             union all select name, object_id from sys.key_constraints where parent_object_id = object_id('t') \
             union all select name, object_id from sys.foreign_keys order by name"
        ),
        before
    );
    story.run("create index i on t (c)");
    story.run("truncate table t alter table t add n int null");
    story.again(Again::StopStart, "d");
    story.run("use d");
    assert_eq!(story.rows(&of_objects), before);
    story.run("alter table t drop constraint ck alter table t add constraint ck check (c > 1)");
    let after = story.rows(&of_objects);
    assert_eq!(
        before.iter().filter(|row| !after.contains(row)).count(),
        1,
        "{before:?} {after:?}"
    );
}
