//! Random tables, indexes and conditions: each query by an index, as the optimizer chooses and with FORCESCAN. All find the
//! same rows, in the order that a sort gives.
//!
//! Depth: 2 tables with 150 queries each; deep: 200 tables with 400.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use std::fmt::Write as _;

use engine::seams::SystemClock;
use std::sync::Arc;
use transcript::{Transcript, instance_with, session};
use tsql::session::Session;

const TABLES: u64 = 2;
const TABLES_DEEP: u64 = 200;
const QUERIES: usize = 150;
const QUERIES_DEEP: usize = 400;
const ROWS: u64 = 350;

fn run(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute(batch, &mut transcript);
    transcript.text
}

/// A small generator of numbers: the same draws for the same seed (Marsaglia's xorshift).
struct Draw(u64);

impl Draw {
    fn below(&mut self, count: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % count
    }

    fn one<'c, T: ?Sized>(&mut self, choices: &[&'c T]) -> &'c T {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

const COLUMNS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const WORDS: [&str; 14] = [
    "", "a", "A", "ab", "aB", "abc", "ab c", "ab-c", "b", "ba", "é", "e", "Z", "z z",
];

/// A value of a column, as a literal.
fn literal(draw: &mut Draw, column: &str) -> String {
    match column {
        "id" => draw.below(ROWS).to_string(),
        "a" => draw.below(12).to_string(),
        "b" => (draw.below(60) as i64 - 20).to_string(),
        "c" => format!("'{}'", draw.one(&WORDS)),
        "d" => format!("N'{}'", draw.one(&WORDS)),
        "e" => format!("{}.{}", draw.below(9), draw.below(3)),
        _ => format!("'2020-01-{:02}'", 1 + draw.below(25)),
    }
}

fn create(draw: &mut Draw) -> (String, Vec<String>) {
    let collations = [
        "SQL_Latin1_General_CP1_CI_AS",
        "Latin1_General_CS_AS",
        "Latin1_General_BIN2",
        "Latin1_General_CI_AI",
    ];
    let (first, second) = (draw.one(&collations), draw.one(&collations));
    let key = draw.one(&[
        "id int not null primary key",
        "id int not null primary key nonclustered",
        "id int not null",
    ]);
    let mut batch = format!(
        "create table t ({key}, a int, b bigint, c varchar(12) collate {first}, d nvarchar(12) collate {second}, \
         e decimal(9, 2), f datetime, pad char(300))\n"
    );
    let mut names = Vec::new();
    for number in 0..2 + draw.below(4) {
        let mut columns = Vec::new();
        for _ in 0..1 + draw.below(3) {
            let column = draw.one(&COLUMNS);
            if !columns.iter().any(|other: &String| other.starts_with(column)) {
                columns.push(format!("{column}{}", draw.one(&["", " desc"])));
            }
        }
        let is_unique = draw.chance(30);
        if is_unique {
            columns.push("id".to_owned());
        }
        let clustered = number == 0 && !key.ends_with("primary key") && draw.chance(50);
        let mut include = String::new();
        if !clustered && draw.chance(40) {
            let free = COLUMNS
                .iter()
                .find(|column| !columns.iter().any(|key| key.starts_with(**column)));
            include = free.map_or_else(String::new, |column| format!(" include ({column})"));
        }
        let kind = if clustered { "clustered " } else { "" };
        let unique = if is_unique { "unique " } else { "" };
        writeln!(
            batch,
            "create {unique}{kind}index i{number} on t ({}){include}",
            columns.join(", ")
        )
        .unwrap();
        names.push(format!("i{number}"));
    }
    (batch, names)
}

fn fill(draw: &mut Draw) -> String {
    let mut batch = String::new();
    for id in 0..ROWS {
        let values: Vec<String> = COLUMNS
            .iter()
            .map(|column| match draw.chance(12) {
                true => "null".to_owned(),
                false => literal(draw, column),
            })
            .collect();
        writeln!(batch, "insert t values ({id}, {}, 'p')", values.join(", ")).unwrap();
    }
    batch
}

fn condition(draw: &mut Draw, depth: u32) -> String {
    let column = draw.one(&["id", "a", "a", "b", "c", "d", "e", "f"]);
    let operator = draw.one(&["=", "=", "<", "<=", ">", ">=", "<>"]);
    match draw.below(10) {
        0..=3 => format!("{column} {operator} {}", literal(draw, column)),
        4 => {
            let list: Vec<String> = (0..1 + draw.below(5)).map(|_| literal(draw, column)).collect();
            let null = if draw.chance(20) { ", null" } else { "" };
            format!("{column} in ({}{null})", list.join(", "))
        }
        5 => format!("{column} is {}null", draw.one(&["", "not "])),
        6 => format!(
            "{column} between {} and {}",
            literal(draw, column),
            literal(draw, column)
        ),
        7 => {
            let text = draw.one(&["c", "d"]);
            format!(
                "{text} like '{}{}'",
                draw.one(&WORDS),
                draw.one(&["%", "", "_%", "[a-c]%"])
            )
        }
        8 if depth > 0 => {
            let negated = draw.one(&["", "", "", "not "]);
            format!("{negated}({} or {})", all_of(draw, depth - 1), all_of(draw, depth - 1))
        }
        _ => format!("{} {operator} {column}", literal(draw, column)),
    }
}

fn all_of(draw: &mut Draw, depth: u32) -> String {
    let parts: Vec<String> = (0..1 + draw.below(3)).map(|_| condition(draw, depth)).collect();
    parts.join(" and ")
}

/// A query with `@HINT` behind its table. Its rows come in one order only.
fn query(draw: &mut Draw) -> String {
    let filter = all_of(draw, 2);
    let (one, two) = (draw.one(&COLUMNS), draw.one(&COLUMNS));
    // Strings that are equal are not the same, and the least of them is any of them.
    let (least, greatest) = (draw.one(&["a", "b", "e", "f"]), draw.one(&["a", "b", "e", "f", "id"]));
    let directions = [draw.one(&["", " desc"]), draw.one(&["", " desc"])];
    let order = match one == two {
        true => format!("{one}{}, id", directions[0]),
        false => format!("{one}{}, {two}{}, id", directions[0], directions[1]),
    };
    match draw.below(9) {
        0 => format!("select id from t @HINT where {filter} order by id{}", directions[0]),
        1 => format!("select count(*), min({least}), max({least}), min({greatest}) from t @HINT where {filter}"),
        2 => format!("select min({least}), max({greatest}) from t @HINT"),
        3 => format!(
            "select top {} id, {one} from t @HINT where {filter} order by {order}",
            draw.below(20)
        ),
        4 => format!(
            "select {one}, id from t @HINT order by {order} offset {} rows fetch next {} rows only",
            draw.below(9),
            1 + draw.below(30)
        ),
        5 => format!("select {one} as x, {two} as y, id from t @HINT where {filter} order by {order}"),
        6 => format!(
            "select top {} with ties {one} from t @HINT where {filter} order by id",
            1 + draw.below(5)
        ),
        7 => format!(
            "begin transaction update x set a = isnull(a, 0) + 1, b = -b, d = d + N'x' from t x @HINT where {filter} \
             select count(*), sum(a), sum(b), sum(len(d)) from t with (forcescan) \
             delete x from t x @HINT where {filter} select count(*), sum(id) from t with (forcescan) rollback"
        ),
        _ => format!(
            "select x.n, id, {one} from (values (1), (3), (null), (7)) x (n) join t @HINT on a = n and {filter} order by n, id"
        ),
    }
}

#[test]
fn every_way_to_the_rows_finds_what_a_scan_finds() {
    let (mut asked, mut refused) = (0, 0);
    let depth = workbench::depth("tables asked by every way", TABLES, TABLES_DEEP);
    let queries = if depth.is_deep { QUERIES_DEEP } else { QUERIES };
    for seed in depth.seeds() {
        let mut draw = Draw(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let instance = instance_with(Arc::new(SystemClock::new()));
        let mut session = session(&instance);
        let (create, indexes) = create(&mut draw);
        let made = run(&mut session, &create);
        assert!(!made.contains("Msg"), "{create}{made}");
        let rows = fill(&mut draw);
        run(&mut session, &format!("set nocount on {rows}"));
        for _ in 0..queries {
            let query = query(&mut draw);
            let expected = run(&mut session, &query.replace("@HINT", "with (forcescan)"));
            assert!(!expected.contains("Msg"), "{query}\n{expected}");
            let index = format!("with (index ({}))", indexes[draw.below(indexes.len() as u64) as usize]);
            for hint in ["", &index, "with (forceseek)"] {
                let answer = run(&mut session, &query.replace("@HINT", hint));
                asked += 1;
                // A search that the conditions do not allow.
                if answer.contains("Msg 8622") && hint.contains("forceseek") {
                    refused += 1;
                    run(&mut session, "if @@trancount > 0 rollback");
                    continue;
                }
                assert_eq!(answer, expected, "seed {seed}, {hint}\n{create}{query}");
            }
        }
        let checked = run(&mut session, "dbcc checkdb with no_infomsgs");
        assert!(!checked.contains("Msg"), "{checked}");
    }
    assert!(refused * 4 < asked, "{refused} of {asked} were refused");
    depth.count();
}

/// An INSERT that reads its own table by an index meets none of the rows that it adds, and an UPDATE by the key that it changes meets each
/// row once: searches go on to where their range ends, whatever comes into it meanwhile.
#[test]
fn a_statement_that_moves_what_it_searches_meets_each_row_once() {
    let instance = instance_with(Arc::new(SystemClock::new()));
    let mut session = session(&instance);
    for shape in [
        "create table t (id int identity primary key, k int)",
        "create table t (id int identity, k int) create index ik on t (k)",
        "create table t (id int identity primary key, k int) create index ik on t (k desc)",
    ] {
        let name = if shape.contains("ik") { "ik" } else { "1" };
        let batch = format!(
            "set nocount on drop table if exists t {shape} declare @i int = 0 \
             while @i < 600 begin insert t (k) values (@i) set @i += 1 end"
        );
        run(&mut session, &batch);
        let hint = format!("with (index ({name}))");
        let condition = if name == "1" { "id > 0" } else { "k >= 0" };
        let answer = run(
            &mut session,
            &format!("insert t (k) select k from t {hint} where {condition} select count(*) from t"),
        );
        assert!(answer.contains("\n  1200\n"), "{shape}: {answer}");
        let moved = format!("update x set k = k + 1000 from t x {hint} where {condition} select sum(k), max(k) from t");
        let answer = run(&mut session, &moved);
        assert!(answer.contains("\n  1559400 | 1599\n"), "{shape}: {answer}");
    }
}

/// A value is looked for where the table has no other row, too: the plan is kept while rows come, and a scan for an UPDATE would lock those of
/// everybody else to the end of its transaction. The kill test stood still when sessions began on an empty table.
#[test]
fn a_plan_that_was_made_for_one_row_locks_one_of_many() {
    let instance = instance_with(Arc::new(SystemClock::new()));
    let mut one = session(&instance);
    for shape in [
        "create table t (id int not null primary key, value int not null)",
        "create table t (id int, value int) create index i on t (id)",
    ] {
        run(&mut one, &format!("drop table if exists t {shape}"));
        let change = "update t set value = value + 1 where id = 7";
        for rows in ["", "insert t values (7, 0)", "insert t values (1, 0), (2, 0), (3, 0)"] {
            run(&mut one, rows);
            run(&mut one, change);
            run(&mut one, "set showplan_text on");
            let plan = run(&mut one, change);
            run(&mut one, "set showplan_text off");
            assert!(plan.contains("Index Seek"), "{shape}, after {rows}: {plan}");
        }
        let count = "select count(*) from sys.dm_tran_locks where resource_type in ('KEY', 'RID')";
        let answer = run(&mut one, &format!("begin tran {change} {count} rollback"));
        assert!(answer.contains("\n  1\n"), "{shape}: {answer}");
    }
}
