//! Random changes of three tables in a chain of foreign keys, with every combination of ON DELETE and ON UPDATE, against a
//! model in memory. Counts are printed.
//!
//! ```text
//! p (id primary key, n)  <-  c (pid unique, references p (id), n)  <-  g (cid, references c (pid), n)
//! ```
//! The key that `g` refers to is the foreign key of `c`, so what happens to `p` goes on to `g`. The model carries out a statement, then
//! the actions, and then looks whether what is left satisfies every constraint.
//!
//! Depth: 20 statements on each pair of actions; deep: 400.
#![allow(clippy::unwrap_used)]

use crate::answers;
use crate::story;

use answers::answers;
use story::{Again, Story, told};
use tsql::session::Session;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Action {
    Refuse,
    Cascade,
    SetNull,
    SetDefault,
}

use Action::{Cascade, Refuse, SetDefault, SetNull};

const ACTIONS: [Action; 4] = [Refuse, Cascade, SetNull, SetDefault];
/// What `pid` and `cid` are by default.
const DEFAULT: i32 = 1;
const KEYS: i32 = 7;
const NONE: [i32; 0] = [];

impl Action {
    fn words(self) -> &'static str {
        match self {
            Refuse => "no action",
            Cascade => "cascade",
            SetNull => "set null",
            SetDefault => "set default",
        }
    }
}

/// Rows of a table: the key that others refer to or that refers to others, and a number that tells rows apart.
type Rows = Vec<(Option<i32>, i32)>;

#[derive(Clone, Debug, PartialEq)]
struct Model {
    p: Rows,
    c: Rows,
    g: Rows,
    /// On delete and on update, of `c` and of `g`.
    actions: [[Action; 2]; 2],
}

/// What became of the keys of a table's rows: those that went, and the others.
type Became = Vec<(i32, Option<Option<i32>>)>;

impl Model {
    /// Carries out what follows for the rows of `c` (0) or `g` (1).
    fn follow(&mut self, level: usize, became: &Became) {
        let actions = self.actions[level];
        let rows = if level == 0 { &mut self.c } else { &mut self.g };
        let (mut left, mut next) = (Rows::new(), Became::new());
        for (key, n) in std::mem::take(rows) {
            let change = became
                .iter()
                .find(|(old, new)| Some(*old) == key && *new != Some(Some(*old)));
            let Some((old, new)) = change else {
                left.push((key, n));
                continue;
            };
            let action = actions[usize::from(new.is_some())];
            let new_key = match (action, new) {
                (Refuse, _) => key,
                (Cascade, None) => {
                    next.push((*old, None));
                    continue;
                }
                (Cascade, Some(new)) => *new,
                (SetNull, _) => None,
                (SetDefault, _) => Some(DEFAULT),
            };
            next.push((*old, Some(new_key)));
            left.push((new_key, n));
        }
        *rows = left;
        if level == 0 {
            self.follow(1, &next);
        }
    }

    fn is_sound(&self) -> bool {
        let is_unique = |rows: &Rows| {
            let mut keys: Vec<_> = rows.iter().map(|(key, _)| *key).collect();
            keys.sort_unstable();
            keys.windows(2).all(|pair| pair[0] != pair[1])
        };
        let finds = |rows: &Rows, others: &Rows| {
            rows.iter()
                .all(|(key, _)| key.is_none() || others.iter().any(|(other, _)| other == key))
        };
        self.p.iter().all(|(key, _)| key.is_some())
            && is_unique(&self.p)
            && is_unique(&self.c)
            && finds(&self.c, &self.p)
            && finds(&self.g, &self.c)
    }

    /// The table, and the level below it whose foreign key refers to it.
    fn table(&mut self, name: char) -> (&mut Rows, Option<usize>) {
        match name {
            'p' => (&mut self.p, Some(0)),
            'c' => (&mut self.c, Some(1)),
            _ => (&mut self.g, None),
        }
    }

    fn delete(&mut self, name: char, is_meant: &dyn Fn(Option<i32>, i32) -> bool) {
        let (rows, below) = self.table(name);
        let gone = rows.iter().filter(|(key, n)| is_meant(*key, *n));
        let became: Became = gone.filter_map(|(key, _)| Some(((*key)?, None))).collect();
        rows.retain(|(key, n)| !is_meant(*key, *n));
        if let Some(below) = below {
            self.follow(below, &became);
        }
    }

    fn update(
        &mut self,
        name: char,
        is_meant: &dyn Fn(Option<i32>, i32) -> bool,
        new: &dyn Fn(Option<i32>) -> Option<i32>,
    ) {
        let (rows, below) = self.table(name);
        let mut became = Became::new();
        for (key, n) in rows.iter_mut() {
            if is_meant(*key, *n) {
                let changed = new(*key);
                if let Some(key) = *key {
                    became.push((key, Some(changed)));
                }
                *key = changed;
            }
        }
        if let Some(below) = below {
            self.follow(below, &became);
        }
    }
}

/// A small generator: the same seed makes the same statements.
struct Random(u64);

impl Random {
    fn below(&mut self, end: i32) -> i32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % end as u64) as i32
    }
}

fn key_name(table: char) -> &'static str {
    match table {
        'p' => "id",
        'c' => "pid",
        _ => "cid",
    }
}

/// A random statement, and what the model makes of it.
fn statement(random: &mut Random, model: &Model, number: i32) -> (String, Model) {
    let mut next = model.clone();
    let table = ['p', 'p', 'c', 'g'][random.below(4) as usize];
    let column = key_name(table);
    let (key, other) = (random.below(KEYS), random.below(KEYS));
    let text = match random.below(if table == 'p' { 6 } else { 5 }) {
        0 | 1 => {
            let key = (table == 'p' || random.below(5) > 0).then_some(key);
            next.table(table).0.push((key, number));
            let written = key.map_or("null".to_owned(), |key| key.to_string());
            format!("insert {table} ({column}, n) values ({written}, {number})")
        }
        2 => {
            next.delete(table, &|own, _| own == Some(key));
            format!("delete {table} where {column} = {key}")
        }
        3 => {
            next.delete(table, &|own, _| own.is_some_and(|own| own > key));
            format!("delete {table} where {column} > {key}")
        }
        4 => {
            next.update(table, &|own, _| own == Some(key), &|_| Some(other));
            format!("update {table} set {column} = {other} where {column} = {key}")
        }
        // Every row takes the key that another had.
        _ => {
            next.update(table, &|_, _| true, &|own| own.map(|own| (own + 1) % KEYS));
            format!("update {table} set {column} = ({column} + 1) % {KEYS}")
        }
    };
    (text, next)
}

fn stored(session: &mut Session, table: char) -> Rows {
    let text = format!(
        "select isnull({}, -1) * 1000 + n from {table} order by n",
        key_name(table)
    );
    let rows = answers(session, &text).rows;
    let numbers = rows.iter().map(|row| row.parse::<i32>().unwrap());
    let parted = numbers.map(|number| (number.div_euclid(1_000), number.rem_euclid(1_000)));
    parted.map(|(key, n)| ((key >= 0).then_some(key), n)).collect()
}

/// The numbers of the errors of a batch.
fn errors(session: &mut Session, batch: &str) -> Vec<i32> {
    let errors = answers(session, batch).errors;
    errors.into_iter().map(|(number, ..)| number).collect()
}

fn sorted(rows: &Rows) -> Rows {
    let mut rows = rows.clone();
    rows.sort_by_key(|(_, n)| *n);
    rows
}

fn run(actions: [[Action; 2]; 2], shape: usize, seed: u64, statements: i32) -> (u32, u32) {
    let story = Story::begin();
    let mut session = story.beside();
    // With an index on the last key or without one, over heaps or clustered tables.
    let (primary, index) = [("primary key", ""), ("primary key nonclustered", " unique")][shape % 2];
    let key = |level: usize| {
        let [on_delete, on_update] = actions[level];
        format!("on delete {} on update {}", on_delete.words(), on_update.words())
    };
    let text = format!(
        "create table p (id int not null {primary}, n int) \
         create table c (pid int default {DEFAULT} unique references p {}, n int) \
         create table g (cid int default {DEFAULT} references c (pid) {}, n int{index})",
        key(0),
        key(1)
    );
    assert_eq!(errors(&mut session, &text), NONE, "{text}");
    if shape / 2 == 1 {
        assert_eq!(errors(&mut session, "create index i on g (cid desc, n)"), NONE);
    }
    let mut model = Model {
        p: Rows::new(),
        c: Rows::new(),
        g: Rows::new(),
        actions,
    };
    let mut random = Random(seed);
    let (mut done, mut refused) = (0, 0);
    for number in 0..statements {
        let (text, next) = statement(&mut random, &model, number);
        let told = errors(&mut session, &text);
        let context = format!("{actions:?}, shape {shape}, seed {seed}: {text} on {model:?}");
        if next.is_sound() {
            assert_eq!(told, NONE, "{context}");
            model = next;
            done += 1;
        } else {
            assert!(matches!(told.as_slice(), [515 | 547 | 2627]), "{context}: {told:?}");
            refused += 1;
        }
        assert_eq!(stored(&mut session, 'p'), sorted(&model.p), "{context}");
        assert_eq!(stored(&mut session, 'c'), sorted(&model.c), "{context}");
        assert_eq!(stored(&mut session, 'g'), sorted(&model.g), "{context}");
    }
    (done, refused)
}

#[test]
fn every_pair_of_actions_does_what_the_model_does() {
    let depth = workbench::depth("statements on each pair of actions", 20, 400);
    let mut totals = (0u64, 0u64);
    let mut seed = 1;
    for on_delete in ACTIONS {
        for on_update in ACTIONS {
            for below_delete in ACTIONS {
                for below_update in ACTIONS {
                    let actions = [[on_delete, on_update], [below_delete, below_update]];
                    let (done, refused) = run(actions, seed as usize % 4, seed, depth.units as i32);
                    totals = (totals.0 + u64::from(done), totals.1 + u64::from(refused));
                    seed += 1;
                }
            }
        }
    }
    println!("{} statements done, {} refused", totals.0, totals.1);
    assert!(totals.0 > 75 * depth.units && totals.1 > 15 * depth.units, "{totals:?}");
    depth.count();
}

/// A key that became NULL was taken for a key of a deleted row, and an UPDATE judges those of updated rows alone: rows that referred to it
/// stayed behind. The deep run of the model found it.
#[test]
fn a_referenced_key_that_becomes_null_is_judged() {
    let story = Story::begin();
    let mut session = story.beside();
    let setup = "create table p (id int primary key) insert p values (2) \
                 create table c (pid int unique references p on delete set null on update set default, n int) insert c values (2, 75) \
                 create table g (cid int references c (pid)) insert g values (2)";
    assert_eq!(errors(&mut session, setup), NONE);
    for change in [
        "update c set pid = null",
        "update c set pid = nullif(pid, 2), n = 1 where n = 75",
        "update p set id = 3",
        "delete p",
        "merge p using (values (2)) v (id) on p.id = v.id when matched then delete;",
        "merge c using (values (2)) v (id) on c.pid = v.id when matched then update set pid = null;",
    ] {
        assert_eq!(errors(&mut session, change), [547], "{change}");
        assert_eq!(stored(&mut session, 'c'), [(Some(2), 75)], "{change}");
    }
    let freed = "delete g update p set id = 3";
    assert_eq!(errors(&mut session, freed), NONE);
    assert_eq!(stored(&mut session, 'c'), [(None, 75)]);
}

/// What would meet a table twice, and what its columns do not take (sql-docs, errors 1785, 1761, 1762, 1788).
#[test]
fn what_cannot_be_followed_is_refused() {
    let story = Story::begin();
    let mut session = story.beside();
    let made = "create table p (id int primary key, u int unique) create table o (id int primary key) \
                create table a (id int primary key references p on delete cascade on update cascade) \
                create table b (id int primary key references p on delete set null on update no action)";
    // A primary key takes no NULL.
    assert_eq!(errors(&mut session, made), [1761, 1750]);
    let made = "create table b (id int unique references p on delete set null on update no action)";
    assert_eq!(errors(&mut session, made), NONE);
    for (text, expected) in [
        (
            "create table x (a int references p on delete cascade, b int references p on delete set null)",
            1785,
        ),
        (
            "create table x (a int references p on delete cascade, b int references p)",
            0,
        ),
        (
            "create table y (a int references p on delete cascade, b int references o on delete cascade)",
            0,
        ),
        (
            "create table z (a int primary key, b int references z on delete cascade)",
            1785,
        ),
        (
            "create table z (a int references a on delete cascade, b int references p on delete cascade)",
            1785,
        ),
        // What SET NULL does to `b` is an update, which goes on from there only by ON UPDATE.
        (
            "create table z (a int references a on delete cascade, b int references b (id) on delete cascade)",
            0,
        ),
        (
            "create table w (a int references a on delete cascade, b int references b (id) on update cascade)",
            1785,
        ),
        ("alter table p add foreign key (u) references a on update cascade", 1785),
        ("alter table p add foreign key (u) references a", 0),
        ("create table v (a int not null references p on update set null)", 1761),
        (
            "create table v (a int not null references p on delete set default)",
            1762,
        ),
        ("create table v (a int identity references p on update cascade)", 1788),
        ("create table v (a int identity references o on delete cascade)", 0),
    ] {
        // 1750 is said behind each of them.
        let expected: &[i32] = if expected == 0 { &[] } else { &[expected, 1750] };
        assert_eq!(errors(&mut session, text), expected, "{text}");
    }
    let shown = "select name, delete_referential_action, delete_referential_action_desc, update_referential_action, \
                 update_referential_action_desc from sys.foreign_keys where parent_object_id in (object_id('a'), object_id('b')) order by 2";
    let actions: Vec<String> = answers(&mut session, shown).rows;
    let actions: Vec<&str> = actions
        .iter()
        .filter_map(|row| row.split_once(' '))
        .map(|(_, rest)| rest)
        .collect();
    assert_eq!(actions, ["1 CASCADE 1 CASCADE", "2 SET_NULL 0 NO_ACTION"]);
}

#[test]
fn actions_last_and_are_taken_back() {
    for again in Again::ALL {
        let mut story = Story::begin();
        story.run("create database d");
        story.run(
            "use d create table p (id int primary key) insert p values (1), (2), (3) \
             create table c (id int, pid int references p on delete cascade on update set null) \
             insert c values (10, 1), (20, 2), (30, 3), (31, 3)",
        );
        story.run("backup database d to disk = 'd.bak'");
        story.again(again, "d");
        for _ in 0..2 {
            story.run("use d begin tran delete p update p set id = 7 rollback");
            assert_eq!(
                story.rows("select id, pid from c order by id"),
                ["10 1", "20 2", "30 3", "31 3"]
            );
            story.run("delete p where id = 3 update p set id = 9 where id = 2");
            assert_eq!(
                story.rows("select id, pid from c order by id"),
                ["10 1", "20 NULL"],
                "{again:?}"
            );
            story.run("use master restore database d from disk = 'd.bak' with replace");
        }
    }
}

/// A session that refers to a row being deleted waits for the delete to end, and a delete waits for a session that has
/// begun to refer to the row.
#[test]
fn a_row_that_goes_and_a_row_that_refers_to_it_wait_for_each_other() {
    let mut story = Story::begin();
    story.run("create database d");
    story.run(
        "use d create table p (id int primary key) insert p values (1), (2) \
         create table c (id int, pid int references p on delete cascade) insert c values (10, 1)",
    );
    let mut other = story.beside();
    story.run("begin tran delete p where id = 1");
    let waits = told(&mut other, "use d set lock_timeout 0 insert c values (11, 1)");
    assert!(waits.contains("Msg 1222"), "{waits}");
    story.run("rollback");
    let answer = told(&mut other, "begin tran insert c values (12, 2)");
    assert!(!answer.contains("Msg"), "{answer}");
    let mut third = story.beside();
    let waits = told(&mut third, "use d set lock_timeout 0 delete p where id = 2");
    assert!(waits.contains("Msg 1222"), "{waits}");
    told(&mut other, "commit");
    let answer = told(&mut third, "delete p where id = 2");
    assert!(!answer.contains("Msg"), "{answer}");
    assert_eq!(story.rows("select id, pid from c"), ["10 1"]);
}
