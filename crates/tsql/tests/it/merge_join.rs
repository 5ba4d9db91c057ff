//! Merge joins against loops and hash joins: the same rows for every kind of join, NULLs, duplicates and collations; which
//! sorts are needed; how plans show them.
#![allow(clippy::unwrap_used)]

use crate::answers;
use crate::transcript;

use answers::{error, rows, run};
use transcript::{instance, session};
use tsql::session::Session;

/// The plan of a query, as text.
fn plan(session: &mut Session, query: &str) -> String {
    run(session, &["set showplan_text on"]);
    let shown = rows(session, query);
    run(session, &["set showplan_text off"]);
    shown
}

/// Numbers that look like chance and are the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// A value of `end`, or NULL.
    fn or_null(&mut self, end: u64) -> String {
        match self.below(6) {
            0 => "null".to_owned(),
            _ => self.below(end).to_string(),
        }
    }

    /// A word in one case or the other, with blanks at its end at times, or NULL.
    fn word(&mut self) -> String {
        let words = ["a", "A", "b ", "B", "ab", "Ab", "äb", "", "z"];
        match self.below(10) {
            9 => "null".to_owned(),
            word => format!("'{}'", words[word as usize]),
        }
    }
}

/// Two tables of as many rows, the one clustered by what is not unique, the other a heap with an index in either direction; a third is unique.
fn tables(seed: u64, count: u64) -> Vec<String> {
    let mut numbers = Numbers(seed);
    let mut batches = vec![
        "create table l (id int not null, a int null, b smallint null, w varchar(10) collate Latin1_General_CI_AS null, x varbinary(4) null);
         create clustered index l_a on l (a, b)"
            .to_owned(),
        "create table r (id int not null, a int null, b int null, w varchar(10) collate Latin1_General_CI_AS null, x varbinary(4) null);
         create index r_a on r (a) include (b, id); create index r_down on r (b desc); create index r_w on r (w, a)"
            .to_owned(),
        "create table u (a int not null primary key, b int not null unique, w varchar(10) collate Latin1_General_CI_AS null)".to_owned(),
    ];
    for table in ["l", "r"] {
        for id in 0..count {
            let (a, b, w) = (numbers.or_null(count / 4 + 1), numbers.or_null(5), numbers.word());
            let x = ["0x01", "0x0100", "0x0101", "0x", "null"][numbers.below(5) as usize];
            batches.push(format!("insert {table} values ({id}, {a}, {b}, {w}, {x})"));
        }
    }
    for a in (0..count).step_by(2) {
        batches.push(format!("insert u values ({a}, {}, {})", count - a, numbers.word()));
    }
    batches
}

fn started(seed: u64, count: u64) -> Session {
    let mut one = session(&instance());
    let batches = tables(seed, count);
    let batches: Vec<&str> = batches.iter().map(String::as_str).collect();
    run(&mut one, &batches);
    one
}

/// What pairs are joined by.
const CONDITIONS: &[&str] = &[
    "l.a = r.a",
    "l.a = r.a and l.b = r.b",
    "l.b = r.b and l.id < r.id",
    "l.w = r.w",
    "l.w = r.w and l.a = r.a and l.id <> r.id",
    "l.a + 1 = r.b",
    "l.a = r.a and l.a = r.b",
    "l.x = r.x and l.a = r.a",
    "l.a = r.a and l.a = 2",
];

/// The sum of all that is joined, however it is ordered.
const SHOWN: &str =
    "count(*), count(l.id), count(r.id), sum(l.id * 7 + r.id), sum(l.id), sum(r.id), max(upper(l.w)), min(upper(r.w))";

#[test]
fn every_kind_of_join_gives_the_rows_that_other_methods_give() {
    for (seed, count) in [(1, 40), (7, 90), (23, 7), (5, 0)] {
        let mut one = started(seed, count);
        for on in CONDITIONS {
            for kind in ["join", "left join", "right join", "full join"] {
                let query = format!("select {SHOWN} from l {kind} r on {on}");
                let wanted = rows(&mut one, &format!("{query} option (hash join)"));
                if kind == "join" || kind == "left join" {
                    assert_eq!(
                        rows(&mut one, &format!("{query} option (loop join)")),
                        wanted,
                        "{query}"
                    );
                }
                for way in ["", "option (merge join)", "option (merge join, force order)"] {
                    assert_eq!(
                        rows(&mut one, &format!("{query} {way}")),
                        wanted,
                        "{seed}: {query} {way}"
                    );
                }
            }
            for not in ["", "not "] {
                for (one_side, other) in [("l", "r"), ("r", "l")] {
                    let query = format!(
                        "select count(*), sum(id), max(upper(w)) from {one_side} where {not}exists (select * from {other} where {on})"
                    );
                    let wanted = rows(&mut one, &format!("{query} option (hash join)"));
                    for way in [
                        "",
                        "option (merge join)",
                        "option (loop join)",
                        "option (merge join, force order)",
                    ] {
                        assert_eq!(
                            rows(&mut one, &format!("{query} {way}")),
                            wanted,
                            "{seed}: {query} {way}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn joins_of_three_follow_one_order() {
    for (seed, count) in [(3, 60), (11, 25)] {
        let mut one = started(seed, count);
        for from in [
            "l join r on l.a = r.a join u on u.a = r.a",
            "u join l on l.a = u.a left join r on r.a = u.a and r.b > 1",
            "u join r on r.b = u.b join l on l.a = u.a and l.b = r.b",
            "u left join l on l.a = u.a full join r on r.a = u.a",
            "l join r on l.w = r.w join u on u.w = l.w",
            "u join r on r.a = u.b full join l on l.a = u.b and l.id = r.id",
        ] {
            let query = format!("select {SHOWN}, sum(u.b), count(u.a) from {from}");
            let wanted = rows(&mut one, &format!("{query} option (hash join)"));
            for way in [
                "",
                "option (merge join)",
                "option (merge join, force order)",
                "option (merge join, loop join, hash join)",
            ] {
                assert_eq!(
                    rows(&mut one, &format!("{query} {way}")),
                    wanted,
                    "{seed}: {query} {way}"
                );
            }
        }
    }
}

const TWO: &[&str] = &[
    "create table orders (o int not null constraint pk_orders primary key, day int not null)",
    "create table lines (o int not null, n int not null, amount int not null, constraint pk_lines primary key (o, n))",
    "declare @i int = 0 while @i < 800 begin
       insert orders values (@i, @i % 40)
       if @i % 3 > 0 insert lines values (@i, 1, @i % 7), (@i, 2, @i % 11)
       set @i += 1
     end",
];

#[test]
fn clustered_keys_are_merged_and_nothing_is_sorted_or_kept() {
    let mut one = session(&instance());
    run(&mut one, TWO);
    let query = "select count(*), sum(l.amount) from lines l join orders o on o.o = l.o";
    let shown = plan(&mut one, query);
    let mark = "Merge Join(Inner Join, MERGE:([master].[dbo].[orders].[o])=([master].[dbo].[lines].[o]), RESIDUAL:([master].[dbo].[orders].[o]=[master].[dbo].[lines].[o]))";
    assert!(shown.contains(mark) && !shown.contains("Sort("), "{shown}");
    assert_eq!(
        rows(&mut one, query),
        rows(&mut one, &format!("{query} option (hash join)"))
    );
    // Each line has one order at most, so lines are read beside orders; written the other way they stay on the left, and a group is kept.
    let shown = plan(&mut one, &format!("{query} option (merge join, force order)"));
    assert!(
        shown.contains("MANY-TO-MANY MERGE:([master].[dbo].[lines].[o])=([master].[dbo].[orders].[o])"),
        "{shown}"
    );
    // A second join goes by the order of the first.
    let three = "select count(*) from lines l join orders o on o.o = l.o join orders p on p.o = l.o";
    let shown = plan(&mut one, three);
    assert_eq!(shown.matches("Merge Join(").count(), 2, "{shown}");
    assert!(!shown.contains("Sort("), "{shown}");
    // What comes in another order is sorted only where a hint asks for it.
    let other = "select count(*) from lines l join orders o on o.day = l.amount";
    assert!(plan(&mut one, other).contains("Hash Match("));
    let shown = plan(&mut one, &format!("{other} option (merge join)"));
    assert_eq!(shown.matches("Sort(ORDER BY:(").count(), 2, "{shown}");
    let full = "select count(*) from lines l full join orders o on o.day > l.amount option (merge join)";
    let by_hash = rows(&mut one, &full.replace("merge join", "recompile"));
    assert_eq!(rows(&mut one, full), by_hash);
}

#[test]
fn plans_in_xml_say_which_side_is_which() {
    let mut one = session(&instance());
    run(&mut one, TWO);
    run(&mut one, &["set showplan_xml on"]);
    let shown = rows(
        &mut one,
        "select sum(o.day) from lines l left join orders o on o.o = l.o and o.day > l.n",
    );
    run(&mut one, &["set showplan_xml off"]);
    for mark in [
        "PhysicalOp=\"Merge Join\" LogicalOp=\"Right Outer Join\"",
        "<Merge ManyToMany=\"0\">",
        "<InnerSideJoinColumns><ColumnReference",
        "<OuterSideJoinColumns><ColumnReference",
        "<Residual><ScalarOperator",
    ] {
        assert!(shown.contains(mark), "{mark}: {shown}");
    }
}

#[test]
fn a_rule_that_is_off_is_no_hint() {
    let mut one = session(&instance());
    run(&mut one, TWO);
    run(&mut one, &["dbcc ruleoff ('MergeJoin')"]);
    let query = "select count(*) from lines l join orders o on o.o = l.o";
    assert!(!plan(&mut one, query).contains("Merge Join"));
    assert!(plan(&mut one, &format!("{query} option (merge join)")).contains("Merge Join"));
    assert!(plan(&mut one, &query.replace(" join", " inner merge join")).contains("Merge Join"));
    // Without an equality there is nothing to merge by.
    assert_eq!(
        error(&mut one, "select 1 from lines l inner merge join orders o on o.o > l.o"),
        8622
    );
}
