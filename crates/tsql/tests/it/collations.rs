//! Every collation from the statement to the tree and back: searches, sorts, groups and unique keys agree with the collation
//! for each pair of strings, also after a crash.
#![allow(clippy::unwrap_used)]

use crate::story;

use engine::types::Collation;
use std::cmp::Ordering;
use story::{Again, Story};

/// What is equal under some collations and not under others, with the letters around it.
const STRINGS: [&str; 36] = [
    "a", "A", "á", "Á", "ä", "ab", "aB", "AB", "a-b", "a'b", "a b", "a_b", "b", "B", "co-op", "coop", "co_op",
    "resume", "résumé", "Resume", "ss", "ß", "SS", "sst", "æ", "ae", "1", "½", "²", "2", "é", "e", "z", "ÿ", "", "!",
];

fn quoted(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}

/// The numbers of the strings that stand so to a string.
fn numbers(collation: Collation, accepted: &[Ordering], than: &str) -> Vec<String> {
    let all = STRINGS.iter().enumerate();
    let found = all.filter(|(_, text)| accepted.contains(&collation.compare(text, than)));
    found.map(|(number, _)| number.to_string()).collect()
}

fn fill(story: &mut Story, collation: Collation) {
    let (name, number) = (collation.name(), collation as u8);
    let columns =
        format!("(id int not null, v varchar(20) collate {name} not null, w nvarchar(20) collate {name} not null)");
    for (table, indexes) in [
        ("heap", ""),
        (
            "tree",
            "create clustered index c on {} (v desc) create index i on {} (w)",
        ),
    ] {
        let table = format!("{table}{number}");
        story.run(&format!(
            "create table {table} {columns} {}",
            indexes.replace("{}", &table)
        ));
        for (id, text) in STRINGS.iter().enumerate() {
            story.run(&format!("insert {table} values ({id}, {0}, {0})", quoted(text)));
        }
    }
}

fn searches_agree(story: &mut Story, collation: Collation) {
    use Ordering::{Equal, Greater, Less};
    let number = collation as u8;
    for text in STRINGS {
        let operators: [(&str, &[Ordering]); 4] = [
            ("=", &[Equal]),
            ("<", &[Less]),
            (">=", &[Greater, Equal]),
            ("<>", &[Less, Greater]),
        ];
        for (operator, accepted) in operators {
            let expected = numbers(collation, accepted, text);
            for (table, column) in [("heap", "v"), ("heap", "w"), ("tree", "v"), ("tree", "w")] {
                let query = format!(
                    "select id from {table}{number} where {column} {operator} {} order by id",
                    quoted(text)
                );
                assert_eq!(story.rows(&query), expected, "{query} under {}", collation.name());
            }
        }
    }
}

fn sorts_and_groups_agree(story: &mut Story, collation: Collation) {
    let number = collation as u8;
    let mut ordered: Vec<(usize, &str)> = STRINGS.into_iter().enumerate().collect();
    ordered.sort_by(|left, right| collation.compare(left.1, right.1).then(left.0.cmp(&right.0)));
    let expected: Vec<String> = ordered.iter().map(|(id, _)| id.to_string()).collect();
    let classes = 1 + ordered
        .windows(2)
        .filter(|pair| collation.compare(pair[0].1, pair[1].1) != Ordering::Equal)
        .count();
    let pairs: usize = STRINGS
        .iter()
        .map(|text| numbers(collation, &[Ordering::Equal], text).len())
        .sum();
    for (table, column) in [("heap", "v"), ("tree", "v"), ("tree", "w")] {
        let table = format!("{table}{number}");
        assert_eq!(
            story.rows(&format!("select id from {table} order by {column}, id")),
            expected,
            "{}",
            collation.name()
        );
        for (query, count) in [
            (format!("select count(distinct {column}) from {table}"), classes),
            (
                format!("select count(*) from (select {column} from {table} group by {column}) t"),
                classes,
            ),
            (
                format!(
                    "select count(*) from (select {column} from {table} union select {column} from heap{number}) t"
                ),
                classes,
            ),
            (
                format!("select count(*) from {table} x join heap{number} y on x.{column} = y.{column}"),
                pairs,
            ),
            (
                format!(
                    "select count(*) from {table} x where {column} in (select {column} from heap{number} y where y.id <> x.id)"
                ),
                {
                    let all = STRINGS.iter();
                    all.filter(|text| numbers(collation, &[Ordering::Equal], text).len() > 1)
                        .count()
                },
            ),
        ] {
            assert_eq!(
                story.rows(&query),
                [count.to_string()],
                "{query} under {}",
                collation.name()
            );
        }
    }
}

/// A unique key takes a string exactly when it has none that is equal.
fn unique_keys_agree(story: &mut Story, collation: Collation) {
    let (name, number) = (collation.name(), collation as u8);
    story.run(&format!(
        "create table unique{number} (v varchar(20) collate {name} not null, unique (v))"
    ));
    let mut kept: Vec<&str> = Vec::new();
    for text in STRINGS {
        let is_new = !kept.iter().any(|other| collation.equal(other, text));
        let expected: &[i32] = if is_new { &[] } else { &[2627] };
        assert_eq!(
            story.errors(&format!("insert unique{number} values ({})", quoted(text))),
            expected,
            "{text} under {name}"
        );
        if is_new {
            kept.push(text);
        }
    }
    assert_eq!(
        story.rows(&format!("select count(*) from unique{number}")),
        [kept.len().to_string()]
    );
}

#[test]
fn searches_sorts_groups_and_unique_keys_are_the_collations() {
    let mut story = Story::begin();
    story.run("create database d");
    story.run("use d");
    for collation in Collation::ALL {
        fill(&mut story, collation);
        searches_agree(&mut story, collation);
        sorts_and_groups_agree(&mut story, collation);
        unique_keys_agree(&mut story, collation);
    }
    story.is_sound("d");
    story.again(Again::Kill, "d");
    story.run("use d");
    for collation in Collation::ALL {
        searches_agree(&mut story, collation);
    }
    story.is_sound("d");
}

/// A database without other collations does not say that it has them, and is what former versions read; the first column of another
/// says so for good.
#[test]
fn the_boot_record_says_that_there_are_collations() {
    let mut story = Story::begin();
    story.run("create database d");
    story.run("use d create table t (s varchar(10) collate SQL_Latin1_General_CP1_CI_AS primary key)");
    let has_collations = |story: &Story| story.instance.database("d").unwrap().boot().has_collations;
    assert!(!has_collations(&story));
    story.run("alter table t add b varchar(10) collate Latin1_General_BIN");
    assert!(has_collations(&story));
    story.run("drop table t");
    story.again(Again::StopStart, "d");
    assert!(has_collations(&story));
}
