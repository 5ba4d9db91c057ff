//! Rows that come, go and change their lengths, at random, in three shapes of table against a model: a heap with two indexes, a tree with an
//! index, and a tree whose key moves and whose rows have columns outside of them.
//!
//! Each statement is one operation. They run in transactions with savepoints, most of which commit; after each round of a few transactions the
//! rows are the model's, by each index, and DBCC CHECKDB finds nothing. Between rounds the file is shrunk, the table truncated (and that rolled
//! back), ghosts are cleaned, and the instance stops or is killed. At the end, when the rows are deleted, their pages are free.
//!
//! Depth: 1,200 operations a shape; deep: 670,000.
#![allow(clippy::unwrap_used)]

use crate::story;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use disk::sim::SimDisk;
use engine::log::LogPolicy;
use engine::types::Value;
use story::{Again, Story};
use tsql::session::{DoneKind, Message, ResultColumn, ResultSink, SinkClosed};

const OPERATIONS: u64 = 1_200;
const OPERATIONS_DEEP: u64 = 670_000;
/// Ids are drawn below this: new rows go to the middle of trees as well as to their ends.
const IDS: u64 = 3_000;
/// A table of more rows loses a range of them.
const ROWS_MAX: usize = 500;
const TRANSACTIONS_OF_A_ROUND: u64 = 6;
const STATEMENTS_OF_A_TRANSACTION: u64 = 60;

struct Shape {
    name: &'static str,
    table: &'static str,
    /// The indexes that the rows are read by.
    indexes: &'static [&'static str],
    /// Whether the table has the column `h`, whose text follows from that of `f`.
    has_second_text: bool,
    /// The longest text, and the longest of one row in twenty.
    length_max: u64,
    length_max_of_few: u64,
}

const HEAP: Shape = Shape {
    name: "heap",
    table: "create table t (id int not null, n int not null, f varchar(8000) not null)
            create unique index by_id on t (id) create index by_n on t (n)",
    indexes: &["0", "by_id", "by_n"],
    has_second_text: false,
    length_max: 1_200,
    length_max_of_few: 7_900,
};

const TREE: Shape = Shape {
    name: "tree",
    table: "create table t (id int not null primary key, n int not null, f varchar(8000) not null)
            create index by_n on t (n) include (f)",
    indexes: &["1", "by_n"],
    has_second_text: false,
    length_max: 1_200,
    length_max_of_few: 7_900,
};

const LARGE: Shape = Shape {
    name: "tree with large values",
    table: "create table t (id int not null unique, n int not null, f varchar(max) not null, h varchar(6000) not null)
            create clustered index by_n on t (n)",
    indexes: &["1", "2"],
    has_second_text: true,
    length_max: 3_000,
    length_max_of_few: 60_000,
};

/// xorshift64*
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % limit
    }

    /// A length of any magnitude up to `max`: short ones are as likely as long ones.
    fn length(&mut self, max: u64) -> u32 {
        let magnitude = self.below(u64::from(u64::BITS - max.leading_zeros()) + 1);
        self.below((1 << magnitude).min(max) + 1) as u32
    }
}

/// A row but for its id: `f` is one letter again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    n: i32,
    letter: char,
    length: u32,
}

type Model = BTreeMap<i32, Row>;

impl Shape {
    fn text(&self, random: &mut Random) -> (char, u32) {
        let max = match random.below(20) {
            0 => self.length_max_of_few,
            _ => self.length_max,
        };
        (char::from(b'a' + random.below(26) as u8), random.length(max))
    }

    fn row(&self, random: &mut Random) -> Row {
        let (letter, length) = self.text(random);
        let n = random.below(40) as i32;
        Row { n, letter, length }
    }

    /// One statement, and what it does to the model.
    fn statement(&self, random: &mut Random, model: &mut Model) -> String {
        let first = random.below(IDS) as i32;
        let drawn = model.range(first..).next().map_or(first, |(id, _)| *id);
        match random.below(100) {
            _ if model.len() > ROWS_MAX => delete(model, first, first + (IDS / 3) as i32),
            0..=44 => self.insert(random, model, first),
            45..=69 => self.update(random, model, drawn, drawn),
            70..=74 => {
                let last = first + random.below(200) as i32;
                self.update(random, model, first, last)
            }
            75..=79 => add_to_n(model, drawn, drawn + random.below(60) as i32),
            80..=95 => delete(model, drawn, drawn),
            96..=98 => delete(model, drawn, drawn + random.below(120) as i32),
            _ => delete_by_n(model, random.below(40) as i32),
        }
    }

    fn insert(&self, random: &mut Random, model: &mut Model, first: i32) -> String {
        let count = if random.below(10) == 0 {
            1 + random.below(20) as i32
        } else {
            1
        };
        let ids: Vec<i32> = (first..first + count).filter(|id| !model.contains_key(id)).collect();
        if ids.is_empty() {
            return delete(model, first, first);
        }
        let mut text = format!("insert t ({}) values ", self.columns());
        for (place, id) in ids.into_iter().enumerate() {
            let row = self.row(random);
            let comma = if place == 0 { "" } else { ", " };
            write!(text, "{comma}({id}, {}, {}", row.n, text_of(row.letter, row.length)).unwrap();
            if self.has_second_text {
                write!(text, ", {}", text_of(row.letter, second_length(row.length))).unwrap();
            }
            text.push(')');
            model.insert(id, row);
        }
        text
    }

    fn update(&self, random: &mut Random, model: &mut Model, first: i32, last: i32) -> String {
        let (letter, length) = self.text(random);
        for row in model.range_mut(first..=last).map(|(_, row)| row) {
            (row.letter, row.length) = (letter, length);
        }
        let mut values = format!("f = {}", text_of(letter, length));
        if self.has_second_text {
            write!(values, ", h = {}", text_of(letter, second_length(length))).unwrap();
        }
        format!("update t set {values} where id between {first} and {last}")
    }

    fn columns(&self) -> &'static str {
        match self.has_second_text {
            true => "id, n, f, h",
            false => "id, n, f",
        }
    }
}

/// Of `h`: short beside long texts and long beside short ones, so that now one column leaves its row, now the other.
fn second_length(length: u32) -> u32 {
    length * 7 % 5_501
}

fn text_of(letter: char, length: u32) -> String {
    if length <= 8_000 {
        return format!("replicate('{letter}', {length})");
    }
    format!("replicate(cast('{letter}' as varchar(max)), {length})")
}

/// Moves rows in the indexes that have `n` as their key.
fn add_to_n(model: &mut Model, first: i32, last: i32) -> String {
    for row in model.range_mut(first..=last).map(|(_, row)| row) {
        row.n += 7;
    }
    format!("update t set n += 7 where id between {first} and {last}")
}

fn delete(model: &mut Model, first: i32, last: i32) -> String {
    model.retain(|id, _| !(first..=last).contains(id));
    format!("delete t where id between {first} and {last}")
}

fn delete_by_n(model: &mut Model, n: i32) -> String {
    model.retain(|_, row| row.n != n);
    format!("delete t where n = {n}")
}

/// The rows of a query of a shape's columns.
#[derive(Default)]
struct Rows(Model);

impl ResultSink for Rows {
    fn columns(&mut self, _: &[ResultColumn]) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> Result<(), SinkClosed> {
        let [id, n, f, h @ ..] = row else {
            panic!("{} columns", row.len())
        };
        let text = f.as_str().unwrap();
        let letter = text.chars().next().unwrap_or('a');
        assert!(
            text.bytes().all(|byte| char::from(byte) == letter),
            "letters of other rows in {id:?}"
        );
        if let [h] = h {
            let length = second_length(text.len() as u32) as usize;
            assert_eq!(h.as_str().unwrap(), letter.to_string().repeat(length), "h of {id:?}");
        }
        let row = Row {
            n: n.as_i64().unwrap() as i32,
            letter,
            length: text.len() as u32,
        };
        let id = id.as_i64().unwrap() as i32;
        assert!(self.0.insert(id, row).is_none(), "{id} is met twice");
        Ok(())
    }

    fn done(&mut self, _: Option<u64>, _: DoneKind) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn message(&mut self, message: &Message) -> Result<(), SinkClosed> {
        assert!(message.severity <= 10, "{}: {}", message.number, message.text);
        Ok(())
    }

    fn database_changed(&mut self, _: &str, _: &str) {}
}

/// The model as a query tells it: the letter of an empty text is none of the table's business.
fn told(model: &Model) -> Model {
    let one = |(id, row): (&i32, &Row)| match row.length {
        0 => (*id, Row { letter: 'a', ..*row }),
        _ => (*id, *row),
    };
    model.iter().map(one).collect()
}

/// A table under way.
struct Life {
    shape: &'static Shape,
    story: Story,
    random: Random,
    model: Model,
    operations: u64,
}

impl Life {
    fn begin(shape: &'static Shape, policy: LogPolicy) -> Life {
        let mut story = Story::on(SimDisk::new(7), policy);
        story.run("create database d alter database d set recovery simple");
        story.run(&format!("use d {}", shape.table));
        let (random, model) = (Random(0x9E37_79B9_7F4A_7C15), Model::new());
        Life {
            shape,
            story,
            random,
            model,
            operations: 0,
        }
    }

    /// The statements of one transaction in one batch, a savepoint among them perhaps.
    fn transaction(&mut self) {
        let before = self.model.clone();
        let mut at_savepoint: Option<Model> = None;
        let mut batch = String::from("set nocount on set xact_abort on use d begin transaction\n");
        for _ in 0..1 + self.random.below(STATEMENTS_OF_A_TRANSACTION) {
            let statement = self.shape.statement(&mut self.random, &mut self.model);
            writeln!(batch, "{statement}").unwrap();
            self.operations += 1;
            match (self.random.below(40), &at_savepoint) {
                (0, _) => {
                    batch += "save transaction a\n";
                    at_savepoint = Some(self.model.clone());
                }
                (1, Some(_)) => {
                    batch += "rollback transaction a\n";
                    self.model = at_savepoint.take().unwrap_or_default();
                }
                _ => {}
            }
        }
        if self.random.below(4) == 0 {
            batch += "rollback";
            self.model = before;
        } else {
            batch += "commit";
        }
        self.story.run(&batch);
    }

    /// Something that moves or frees pages, or opens the database again.
    fn between(&mut self) {
        match self.random.below(24) {
            0 => self.story.run("use d dbcc shrinkfile (d, 1) with no_infomsgs"),
            1 => self.story.run("use d dbcc shrinkdatabase (d, 10) with no_infomsgs"),
            2 => self.story.run("use d begin transaction truncate table t rollback"),
            3 => {
                self.story.run("use d truncate table t");
                self.model.clear();
            }
            4 => self.story.run("use d alter index all on t rebuild"),
            // Seldom, since what an instance leaves behind stays in memory.
            5 if self.random.below(6) == 0 => self.story.again(Again::Kill, "d"),
            6 if self.random.below(6) == 0 => self.story.again(Again::StopStart, "d"),
            7 => {
                self.story.run("use d delete t");
                self.model.clear();
            }
            8..=15 => self.story.instance.run_due_checkpoints(),
            _ => {}
        }
    }

    fn is_the_models(&mut self) {
        let expected = told(&self.model);
        for index in self.shape.indexes {
            let mut rows = Rows::default();
            let mut session = self.story.beside();
            session.execute(
                &format!("select {} from d.dbo.t with (index ({index}))", self.shape.columns()),
                &mut rows,
            );
            assert_eq!(
                rows.0, expected,
                "{} by {index} behind {} operations",
                self.shape.name, self.operations
            );
        }
        self.story.is_sound("d");
    }

    /// Deletes what is left, and counts the pages that stay.
    fn pages_at_the_end(&mut self) -> u64 {
        self.story.run("use d delete t");
        self.model.clear();
        for _ in 0..3 {
            self.story.instance.run_due_checkpoints();
        }
        self.is_the_models();
        let used =
            "select sum(used_page_count) from d.sys.dm_db_partition_stats where object_id = object_id('d.dbo.t')";
        self.story.rows(used)[0].parse().unwrap()
    }
}

fn live(shape: &'static Shape) {
    let depth = workbench::depth(
        "row changes of random lengths against a model, a shape of table",
        OPERATIONS,
        OPERATIONS_DEEP,
    );
    let policies = [LogPolicy::native(), LogPolicy::classic()];
    for policy in policies {
        let mut life = Life::begin(shape, policy);
        let (mut rounds, mut rows_max) = (0, 0);
        while life.operations < depth.units / 2 {
            for _ in 0..TRANSACTIONS_OF_A_ROUND {
                life.transaction();
            }
            life.is_the_models();
            rows_max = rows_max.max(life.model.len());
            life.between();
            rounds += 1;
        }
        let pages = life.pages_at_the_end();
        println!(
            "{}: {} operations in {rounds} rounds, at most {rows_max} rows, {pages} pages at the end",
            shape.name, life.operations
        );
        assert!(rows_max > 100 && pages < 40, "{rows_max} rows, {pages} pages");
    }
    depth.count();
}

#[test]
fn a_heap_has_the_models_rows_and_gives_its_pages_back() {
    live(&HEAP);
}

#[test]
fn a_tree_has_the_models_rows_and_gives_its_pages_back() {
    live(&TREE);
}

#[test]
fn a_tree_with_large_values_has_the_models_rows_and_gives_its_pages_back() {
    live(&LARGE);
}
