//! Identity values and TRUNCATE TABLE, through rollbacks, power cuts and the end of bigint: only truncation restarts the
//! numbering.
#![allow(clippy::unwrap_used)]

use crate::story;

use disk::sim::CutPolicy;
use engine::catalog::ObjectDefinition;
use story::{Again, Story, told};

const DATABASE: &str = "create database d";
const ROWS: &str = "use d create table t (number int identity(10, 5) not null primary key, id int not null)
    insert t (id) values (1), (2), (3)";

fn filled() -> Story {
    let mut story = Story::begin();
    story.run(DATABASE);
    story.run(ROWS);
    story
}

/// A truncation that was rolled back, whole or to a savepoint or with other changes of the table around it, left the
/// counter at its seed: the next row got the number of one that is there.
#[test]
fn a_truncation_rolled_back_leaves_the_numbers_where_they_were() {
    for rolled_back in [
        "begin tran truncate table t rollback",
        "begin tran save tran s truncate table t insert t (id) values (7) truncate table t rollback tran s commit",
        "begin tran create index i on t (id) truncate table t insert t (id) values (7), (8) drop index i on t rollback",
    ] {
        let mut story = filled();
        story.run(&format!("use d {rolled_back}"));
        story.run("use d insert t (id) values (4)");
        assert_eq!(
            story.rows("select number, id from t"),
            ["10 1", "15 2", "20 3", "25 4"],
            "{rolled_back}"
        );
        assert_eq!(story.rows("select ident_current('t')"), ["25"], "{rolled_back}");
    }
}

#[test]
fn a_truncation_lets_numbering_begin_anew() {
    for again in Again::ALL {
        let mut story = filled();
        story.run("use d truncate table t");
        story.run("insert t (id) values (4)");
        assert_eq!(story.rows("select number, id from t"), ["10 4"]);
        story.again(again, "d");
        story.run("use d insert t (id) values (5)");
        let numbers = story.rows("select count(distinct number), count(*) from t");
        assert_eq!(numbers, ["2 2"], "{again:?}: no number is given twice");
        if again != Again::Kill {
            assert_eq!(
                story.rows("select number from t where id = 5"),
                ["15"],
                "{again:?}: none is skipped"
            );
        }
    }
}

/// The power goes while the truncation is not committed: its rows come back, and so must what was promised of their numbers.
#[test]
fn a_truncation_that_a_power_cut_takes_back_gives_no_number_again() {
    for policy in [CutPolicy::AllKept, CutPolicy::AllLost] {
        let mut story = filled();
        story.run("use d begin tran truncate table t insert t (id) values (7) checkpoint");
        let disk = story.disk.after_power_cut(policy, 1);
        story.start_on(disk);
        story.run("use d insert t (id) values (4)");
        assert_eq!(
            story.rows("select count(distinct number), count(*) from t"),
            ["4 4"],
            "{policy:?}"
        );
        assert_eq!(story.rows("select min(number), max(id) from t"), ["10 4"], "{policy:?}");
    }
}

/// Numbers after a truncation do not meet what the catalog promised exactly: the promise is renewed all the same.
#[test]
fn promises_are_kept_when_numbering_steps_over_them() {
    let mut story = filled();
    story.run("set identity_insert t on insert t (number, id) values (13, 9) set identity_insert t off");
    story.run("use d truncate table t");
    story.run("declare @i int = 0 while @i < 1500 begin insert t (id) values (@i) set @i += 1 end");
    story.again(Again::Kill, "d");
    story.run("use d insert t (id) values (5)");
    assert_eq!(
        story.rows("select count(distinct number), count(*) from t"),
        ["1501 1501"]
    );
}

/// The catalog's row of a promise stayed locked until the end of the transaction that had made it. The next promise waited for it with
/// the mutex of the table's numbers held, and when the first transaction wanted another number, both waited forever.
#[test]
fn a_promise_is_no_part_of_the_transaction_that_needs_it() {
    let mut story = filled();
    let mut other = story.beside();
    story.run("use d begin tran insert t (id) values (7)");
    for _ in 0..3 {
        let mut answer = told(
            &mut other,
            "use d set nocount on set lock_timeout 0 begin tran declare @i int = 0 \
             while @i < 1500 begin insert t (id) values (@i) set @i += 1 end",
        );
        assert!(!answer.contains("Msg"), "{answer}");
        answer = told(&mut other, "rollback");
        assert!(!answer.contains("Msg"), "{answer}");
    }
    story.run("declare @i int = 0 while @i < 1500 begin insert t (id) values (@i) set @i += 1 end commit");
    assert_eq!(
        story.rows("select count(distinct number), count(*) from t"),
        ["1504 1504"]
    );
}

/// The last numbers of bigint can be used, one by one and many at once; then 8115, whatever comes between.
#[test]
fn numbers_reach_the_end_of_bigint() {
    for (seed, step, numbers) in [
        ("9223372036854775800", "1", 8),
        ("9223372036854775800", "3", 3),
        ("-9223372036854775805", "-1", 4),
        ("-9223372036854775805", "-2", 2),
    ] {
        for again in Again::ALL {
            let mut story = Story::begin();
            story.run(DATABASE);
            story.run(&format!(
                "use d create table n (id bigint identity({seed}, {step}), v int)"
            ));
            for left in (0..numbers).rev() {
                story.run("use d insert n (v) values (1)");
                if left == 2 && again != Again::Kill {
                    story.again(again, "d");
                }
            }
            let distinct = format!("{numbers} {numbers}");
            assert_eq!(
                story.rows("select count(distinct id), count(*) from d.dbo.n"),
                std::slice::from_ref(&distinct)
            );
            assert_eq!(story.errors("use d insert n (v) values (1)"), [8115], "{seed}, {step}");
            assert_eq!(story.errors("insert n (v) select 1 from n"), [8115], "{seed}, {step}");
            story.again(again, "d");
            assert_eq!(
                story.errors("use d insert n (v) values (1)"),
                [8115],
                "{seed}, {step}, {again:?}"
            );
            assert_eq!(
                story.rows("select count(distinct id), count(*) from d.dbo.n"),
                [distinct]
            );
        }
    }
}

/// What was promised for a table that is gone goes with the next clean stop: else the catalog would keep a row for each such table.
#[test]
fn promises_of_dropped_tables_do_not_stay() {
    let mut story = filled();
    story.run("use d create table gone (id int identity, v int) insert gone (v) values (1) drop table gone");
    story.again(Again::StopStart, "d");
    let database = story.instance.database("d").unwrap();
    let promises = database.catalog.objects(0).into_iter();
    let promises = promises.filter(|object| matches!(object.definition, ObjectDefinition::IdentityReserve { .. }));
    assert_eq!(promises.count(), 1);
}

/// What CHECKIDENT says in front of its closing message.
fn check_identity(story: &mut Story, arguments: &str) -> String {
    let mut session = story.beside();
    let answer = told(&mut session, &format!("use d dbcc checkident ('t'{arguments})"));
    let line = answer.lines().find(|line| line.contains("Msg")).unwrap_or_default();
    match line.split_once("current identity value ") {
        Some((_, told)) => told.to_owned(),
        None => line.trim().to_owned(),
    }
}

/// sql-docs, DBCC CHECKIDENT: NORESEED changes nothing; without a value the current identity value becomes the column's largest if it is
/// less; with a value that value is the current one, and the next row gets the one after it, but for the first row after the table was made or
/// truncated, which gets the value itself. The value was lost, and NULL said in its place, when there had been rows.
#[test]
fn checkident_says_what_there_is_and_sets_what_comes() {
    let mut story = Story::begin();
    story.run(DATABASE);
    story.run("use d create table t (n int identity(5, 5), v int)");
    assert_eq!(check_identity(&mut story, ""), "'NULL', current column value 'NULL'.");
    assert_eq!(check_identity(&mut story, ", reseed, 20"), "'NULL'.");
    assert_eq!(
        check_identity(&mut story, ", noreseed"),
        "'NULL', current column value 'NULL'."
    );
    story.run("insert t (v) values (1), (2)");
    assert_eq!(story.rows("select n from t"), ["20", "25"]);
    assert_eq!(check_identity(&mut story, ", reseed, 10"), "'25'.");
    assert_eq!(
        check_identity(&mut story, ", noreseed"),
        "'10', current column value '25'."
    );
    assert_eq!(story.rows("select ident_current('t')"), ["10"]);
    assert_eq!(
        check_identity(&mut story, ", reseed"),
        "'10', current column value '25'."
    );
    assert_eq!(check_identity(&mut story, ""), "'25', current column value '25'.");
    story.run("insert t (v) values (3)");
    assert_eq!(story.rows("select max(n) from t"), ["30"]);
    story.run("delete t");
    assert_eq!(check_identity(&mut story, ", reseed, 0"), "'30'.");
    story.run("insert t (v) values (4)");
    assert_eq!(story.rows("select n from t"), ["5"], "rows were deleted, not truncated");
    story.run("truncate table t");
    assert_eq!(check_identity(&mut story, ", reseed, 7"), "'NULL'.");
    story.run("insert t (v) values (5)");
    assert_eq!(story.rows("select n from t"), ["7"]);
    for (arguments, number) in [
        (", noreseed, 5", "Msg 2560"),
        (", reseed, null", "Msg 2560"),
        (", reseed, 'x'", "Msg 2560"),
        (", reseed, 1, 1", "Msg 2583"),
    ] {
        let told = check_identity(&mut story, arguments);
        assert!(told.starts_with(number), "{arguments}: {told}");
    }
}
