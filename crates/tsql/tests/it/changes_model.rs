//! Random changes of two tables with every kind of constraint, against a model in memory: the rows that a statement leaves,
//! and which statements fail as a whole.
//!
//! The model carries out a statement on copies of its tables and then looks whether they satisfy the constraints: uniqueness and foreign
//! keys are judged at the end of the statement, by definition. Which of several violated constraints is reported is not prescribed.
//!
//! Depth: 700 statements a script; deep: 20,000.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use engine::types::Value;
use tsql::session::{DoneKind, Message, ResultColumn, ResultSink, Session, SinkClosed};

const SCRIPT_STATEMENTS: u64 = 700;
const SCRIPT_STATEMENTS_DEEP: u64 = 20_000;

/// `p (id, u, n)`: id is the primary key, u unique, n has a default and a CHECK.
#[derive(Clone, Debug, PartialEq)]
struct Parent {
    id: i32,
    u: Option<i32>,
    n: i32,
}

/// `c (id, pid, pu, boss, no)`: references to p (id), p (u) and c (id); no is an identity.
#[derive(Clone, Debug, PartialEq)]
struct Child {
    id: i32,
    pid: Option<i32>,
    pu: Option<i32>,
    boss: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    p: Vec<Parent>,
    c: Vec<Child>,
    /// A statement tried to put NULL into a column that has none.
    has_null: bool,
}

impl Model {
    /// The numbers of the errors that this state gives reason for.
    fn violations(&self) -> BTreeSet<i32> {
        let mut found = BTreeSet::new();
        let distinct = |keys: Vec<Option<i32>>| keys.iter().collect::<BTreeSet<_>>().len() == keys.len();
        if self.has_null {
            found.insert(515);
        }
        if !distinct(self.p.iter().map(|p| Some(p.id)).collect())
            || !distinct(self.p.iter().map(|p| p.u).collect())
            || !distinct(self.c.iter().map(|c| Some(c.id)).collect())
        {
            found.insert(2627);
        }
        let has = |value: Option<i32>, keys: &BTreeSet<i32>| value.is_none_or(|value| keys.contains(&value));
        let ids: BTreeSet<i32> = self.p.iter().map(|p| p.id).collect();
        let us: BTreeSet<i32> = self.p.iter().filter_map(|p| p.u).collect();
        let bosses: BTreeSet<i32> = self.c.iter().map(|c| c.id).collect();
        let refers = |c: &Child| has(c.pid, &ids) && has(c.pu, &us) && has(c.boss, &bosses);
        if !self.c.iter().all(refers) || self.p.iter().any(|p| p.n < 0) {
            found.insert(547);
        }
        found
    }
}

/// xorshift64*
struct Random(u64);

impl Random {
    fn below(&mut self, limit: i32) -> i32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as i32 % limit
    }

    fn maybe(&mut self, limit: i32) -> Option<i32> {
        match self.below(3) {
            0 => None,
            _ => Some(self.below(limit)),
        }
    }
}

fn shown(value: Option<i32>) -> String {
    value.map_or_else(|| "null".to_owned(), |value| value.to_string())
}

/// Ids are drawn from these, so that statements meet each other's rows.
const IDS: i32 = 24;

/// A random statement, as text, and as what it makes of the model.
fn statement(random: &mut Random, model: &mut Model) -> String {
    match random.below(13) {
        0 | 1 => insert_parents(random, model),
        2 | 3 => insert_children(random, model),
        4..8 => update_keys(random, model),
        _ => change_rows(random, model),
    }
}

/// Rows whose ids lie in a random range: which they are, and how a statement says so.
fn some_rows(random: &mut Random) -> (impl Fn(i32) -> bool + use<>, String) {
    let (low, width) = (random.below(IDS), 1 + random.below(6));
    let is_met = move |id: i32| id >= low && id < low + width;
    (is_met, format!("where id >= {low} and id < {}", low + width))
}

fn update_keys(random: &mut Random, model: &mut Model) -> String {
    let (is_met, met) = some_rows(random);
    match random.below(4) {
        0 => {
            let by = random.below(7) - 3;
            model.p.iter_mut().filter(|p| is_met(p.id)).for_each(|p| p.id += by);
            format!("update p set id = id + {by} {met}")
        }
        1 => {
            // Two keys change places, the others keep theirs.
            let (a, b) = (random.below(IDS), random.below(IDS));
            for p in &mut model.p {
                p.id = if p.id == a {
                    b
                } else if p.id == b {
                    a
                } else {
                    p.id
                };
            }
            format!("update p set id = case id when {a} then {b} when {b} then {a} else id end")
        }
        2 => {
            let by = random.below(5) - 2;
            for p in model.p.iter_mut().filter(|p| is_met(p.id)) {
                p.u = p.u.map(|u| u + by);
                p.n -= 1;
            }
            format!("update p set u = u + {by}, n = n - 1 {met}")
        }
        _ => {
            let by = random.below(5) - 2;
            for c in model.c.iter_mut().filter(|c| is_met(c.id)) {
                (c.id, c.boss) = (c.id + by, c.boss.map(|boss| boss + by));
            }
            format!("update c set id = id + {by}, boss = boss + {by} {met}")
        }
    }
}

fn change_rows(random: &mut Random, model: &mut Model) -> String {
    let (is_met, met) = some_rows(random);
    match random.below(5) {
        0 => {
            let (pid, pu) = (random.maybe(IDS), random.maybe(IDS));
            for c in model.c.iter_mut().filter(|c| is_met(c.id)) {
                (c.pid, c.pu) = (pid, pu);
            }
            format!("update c set pid = {}, pu = {} {met}", shown(pid), shown(pu))
        }
        1 => {
            model.p.retain(|p| !is_met(p.id));
            format!("delete p {met}")
        }
        2 => {
            model.c.retain(|c| !is_met(c.id));
            format!("delete c {met}")
        }
        3 => {
            // Every row of p gets one of c, through a query; joins and TOP are other tests' work.
            let by = 10 + random.below(IDS);
            let new: Vec<Child> = model
                .p
                .iter()
                .filter(|p| is_met(p.id))
                .map(|p| Child {
                    id: p.id + by,
                    pid: Some(p.id),
                    pu: p.u,
                    boss: None,
                })
                .collect();
            model.c.extend(new);
            format!("insert c (id, pid, pu) select id + {by}, id, u from p {met}")
        }
        _ => {
            let ids: Vec<i32> = model
                .c
                .iter()
                .filter(|c| c.boss.is_none())
                .filter_map(|c| c.pid)
                .collect();
            for p in model.p.iter_mut().filter(|p| ids.contains(&p.id)) {
                p.n += 2;
            }
            "update p set n = p.n + 2 from p join c on c.pid = p.id where c.boss is null".to_owned()
        }
    }
}

fn insert_parents(random: &mut Random, model: &mut Model) -> String {
    let mut text = "insert p (id, u, n) values ".to_owned();
    for row in 0..=random.below(3) {
        let (id, u) = (random.below(IDS), random.maybe(IDS));
        let (n, written) = match random.below(6) {
            0 => (7, "default".to_owned()),
            1 if random.below(2) == 0 => {
                model.has_null = true;
                (0, "null".to_owned())
            }
            _ => {
                let n = random.below(12) - 1;
                (n, n.to_string())
            }
        };
        model.p.push(Parent { id, u, n });
        let comma = if row > 0 { ", " } else { "" };
        write!(text, "{comma}({id}, {}, {written})", shown(u)).unwrap();
    }
    text
}

fn insert_children(random: &mut Random, model: &mut Model) -> String {
    let mut text = "insert c (id, pid, pu, boss) values ".to_owned();
    for row in 0..=random.below(3) {
        let child = Child {
            id: random.below(IDS),
            pid: random.maybe(IDS),
            pu: random.maybe(2).map(|_| random.below(IDS)),
            boss: random.maybe(IDS),
        };
        let comma = if row > 0 { ", " } else { "" };
        let (pid, pu, boss) = (shown(child.pid), shown(child.pu), shown(child.boss));
        write!(text, "{comma}({}, {pid}, {pu}, {boss})", child.id).unwrap();
        model.c.push(child);
    }
    text
}

/// What a batch answered.
#[derive(Default)]
struct Answer {
    rows: Vec<Vec<Option<i32>>>,
    errors: Vec<i32>,
}

impl ResultSink for Answer {
    fn columns(&mut self, _: &[ResultColumn]) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> Result<(), SinkClosed> {
        self.rows.push(
            row.iter()
                .map(|value| value.as_i64().map(|number| number as i32))
                .collect(),
        );
        Ok(())
    }

    fn done(&mut self, _: Option<u64>, _: DoneKind) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn message(&mut self, message: &Message) -> Result<(), SinkClosed> {
        if message.severity > 10 {
            self.errors.push(message.number);
        }
        Ok(())
    }

    fn database_changed(&mut self, _: &str, _: &str) {}
}

fn answer(session: &mut Session, text: &str) -> Answer {
    let mut answer = Answer::default();
    session.execute(text, &mut answer);
    answer
}

fn stored(session: &mut Session) -> Model {
    let p = answer(session, "select id, u, n from p").rows.into_iter();
    let p = p.map(|row| Parent {
        id: row[0].unwrap(),
        u: row[1],
        n: row[2].unwrap(),
    });
    let c = answer(session, "select id, pid, pu, boss from c").rows.into_iter();
    let c = c.map(|row| Child {
        id: row[0].unwrap(),
        pid: row[1],
        pu: row[2],
        boss: row[3],
    });
    let mut stored = Model {
        p: p.collect(),
        c: c.collect(),
        has_null: false,
    };
    sort(&mut stored);
    stored
}

fn sort(model: &mut Model) {
    model.p.sort_by_key(|p| p.id);
    model.c.sort_by_key(|c| c.id);
}

/// Tables of one shape: where rows lie, and which indexes foreign keys find.
const SHAPES: [&str; 4] = [
    "create table p (id int not null primary key, u int null constraint uq unique, n int not null default 7 check (n >= 0))
     create table c (no int identity, id int not null primary key, pid int null references p, pu int null references p (u),
         boss int null references c (id))",
    "create table p (id int not null primary key nonclustered, u int null constraint uq unique clustered, n int not null default 7 check (n >= 0))
     create table c (no int identity, id int not null primary key nonclustered, pid int null references p,
         pu int null references p (u), boss int null references c (id), index by_pid (pid), index by_boss (boss, id))",
    "create table p (id int not null primary key nonclustered, u int null, n int not null default 7 check (n >= 0))
     create unique index uq on p (u desc)
     create table c (no int identity, id int not null unique, pid int null, pu int null, boss int null)
     create clustered index by_pu on c (pu)
     alter table c add constraint a foreign key (pid) references p (id), constraint b foreign key (pu) references p (u)
     alter table c add foreign key (boss) references c (id)",
    "create table p (id int not null primary key, u int null unique nonclustered, n int not null constraint d default 7)
     alter table p add constraint k check (n >= 0)
     create table c (no int identity primary key, id int not null unique, pid int null, pu int null, boss int null, index by_pid (pid desc))
     alter table c add foreign key (pid) references p, foreign key (pu) references p (u), foreign key (boss) references c (id)",
];

#[test]
fn random_changes_leave_what_the_model_says_and_fail_as_a_whole() {
    let depth = workbench::depth(
        "changes against a model, a script",
        SCRIPT_STATEMENTS,
        SCRIPT_STATEMENTS_DEEP,
    );
    let mut seen: BTreeMap<i32, usize> = BTreeMap::new();
    for (number, shape) in SHAPES.iter().enumerate() {
        let instance = transcript::instance();
        let mut session = transcript::session(&instance);
        for text in ["create database d", "use d", *shape] {
            assert!(answer(&mut session, text).errors.is_empty(), "{text}");
        }
        let mut random = Random(0x9E37_79B9_7F4A_7C15 + number as u64);
        let mut model = Model::default();
        let mut before_transaction = None;
        for step in 0..depth.units {
            if random.below(12) == 0 {
                before_transaction = end_or_begin(&mut session, &mut random, &mut model, before_transaction);
            }
            let mut after = model.clone();
            let text = statement(&mut random, &mut after);
            let expected = after.violations();
            let found = answer(&mut session, &text).errors;
            // A violation of a unique index is 2601, one of a constraint 2627.
            let found: Vec<i32> = found
                .iter()
                .map(|&error| if error == 2601 { 2627 } else { error })
                .collect();
            let told = format!("shape {number}, step {step}: {text}\n{model:?}");
            match found.as_slice() {
                [] => {
                    assert_eq!(expected, BTreeSet::new(), "{told}");
                    model = after;
                    sort(&mut model);
                }
                [error] => assert!(expected.contains(error), "{error}, not {expected:?}: {told}"),
                _ => panic!("{found:?}: {told}"),
            }
            *seen.entry(found.first().copied().unwrap_or(0)).or_default() += 1;
            assert_eq!(stored(&mut session), model, "{told}");
        }
        let checked = answer(&mut session, "dbcc checkdb (d) with no_infomsgs").errors;
        assert!(checked.is_empty(), "{shape}: {checked:?}");
    }
    println!("statements by their error: {seen:?}");
    for error in [0, 515, 547, 2627] {
        assert!(seen.get(&error).is_some_and(|&count| count >= 20), "{error}: {seen:?}");
    }
    depth.count();
}

/// Begins a transaction, or commits or rolls back the one under way.
fn end_or_begin(session: &mut Session, random: &mut Random, model: &mut Model, before: Option<Model>) -> Option<Model> {
    match before {
        None => {
            assert!(answer(session, "begin transaction").errors.is_empty());
            Some(model.clone())
        }
        Some(before) if random.below(2) == 0 => {
            assert!(answer(session, "rollback").errors.is_empty());
            *model = before;
            None
        }
        Some(_) => {
            assert!(answer(session, "commit").errors.is_empty());
            None
        }
    }
}

/// More keys than a statement collects before it looks for them, the wrong one first, in the middle and last; with an index at the other
/// end and without.
#[test]
fn of_very_many_keys_the_one_that_is_wrong_is_found() {
    // A statement collects 16,384.
    const MANY: i32 = 20_000;
    for index in ["", "create index i on c (pid)"] {
        let instance = transcript::instance();
        let mut session = transcript::session(&instance);
        for text in [
            "create database d",
            "use d",
            "create table p (id int not null primary key) create table c (pid int references p)",
            "create table numbers (n int not null primary key)",
            "insert numbers select top (200) n from (select row_number() over (order by x.object_id) - 1 n from sys.all_objects x cross join sys.all_objects y) q order by n",
            "insert p select a.n * 200 + b.n from numbers a cross join numbers b where a.n < 100",
            index,
        ] {
            let errors = answer(&mut session, text).errors;
            assert!(errors.is_empty(), "{text}: {errors:?}");
        }
        for wrong in [0, MANY / 2, MANY - 1] {
            let missing = format!("insert c select case id when {wrong} then -1 else id end from p");
            assert_eq!(answer(&mut session, &missing).errors, vec![547], "{missing}");
            for (text, expected) in [
                (format!("insert c values ({wrong})"), vec![]),
                ("delete p".to_owned(), vec![547]),
                (format!("delete p where id <> {wrong}"), vec![]),
                ("delete c".to_owned(), vec![]),
                (
                    format!(
                        "insert p select a.n * 200 + b.n from numbers a cross join numbers b where a.n < 100 and a.n * 200 + b.n <> {wrong}"
                    ),
                    vec![],
                ),
                ("insert c select id from p".to_owned(), vec![]),
                ("delete c".to_owned(), vec![]),
            ] {
                assert_eq!(answer(&mut session, &text).errors, expected, "{text}");
            }
            let count = answer(&mut session, "select count(*) from p").rows;
            assert_eq!(count, vec![vec![Some(MANY)]]);
        }
    }
}
