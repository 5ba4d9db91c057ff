//! EXECUTE ... WITH RESULT SETS: names, types, collations and NULL as described, NONE, several sets, AS OBJECT and AS TYPE, and each error with
//! what leads to it.
#![allow(clippy::unwrap_used)]

use crate::story;

use disk::sim::SimDisk;
use engine::log::LogPolicy;
use story::{Story, numbers};

fn begin() -> Story {
    let mut story = Story::on(SimDisk::new(7), LogPolicy::native());
    story.run("create database d");
    story.run("use d");
    story.run(
        "create table t (id int not null primary key, name varchar(20) null) insert t values (1, 'one'), (2, null)",
    );
    story.run("create procedure two as set nocount on select id, name from t order by id select count(*) from t");
    story.run("create procedure one as set nocount on select id, name from t order by id");
    story.run("create procedure silent as set nocount on declare @x int = 1");
    story.run("create type pairs as table (a bigint not null, b nvarchar(10) null)");
    story
}

/// The columns and rows that the client sees.
#[test]
fn result_sets_look_as_they_are_described() {
    let mut story = begin();
    let cases: &[(&str, &[&str])] = &[
        (
            "exec one with result sets ((a bigint not null, b nvarchar(10) null))",
            &["[a bigint | b nvarchar(10)]", "1 | one", "2 | NULL"],
        ),
        (
            "exec two with result sets ((a decimal(9, 2), b varchar(3)), (n varchar(10) collate Latin1_General_BIN2))",
            &[
                "[a decimal(9,2) | b varchar(3)]",
                "1.00 | one",
                "2.00 | NULL",
                "[n varchar(10)]",
                "2",
            ],
        ),
        (
            "exec one with recompile, result sets ((a int, b varchar(20)))",
            &["[a int | b varchar(20)]", "1 | one", "2 | NULL"],
        ),
        (
            "exec one with result sets (as object t)",
            &["[id int | name varchar(20)]", "1 | one", "2 | NULL"],
        ),
        (
            "exec one with result sets (as object dbo.[t])",
            &["[id int | name varchar(20)]", "1 | one", "2 | NULL"],
        ),
        (
            "exec one with result sets (as type pairs)",
            &["[a bigint | b nvarchar(10)]", "1 | one", "2 | NULL"],
        ),
        (
            "exec one with result sets undefined",
            &["[id int | name varchar(20)]", "1 | one", "2 | NULL"],
        ),
        ("exec silent with result sets none", &[]),
        (
            "exec ('select 7') with result sets ((x smallint))",
            &["[x smallint]", "7"],
        ),
        (
            "declare @r int exec @r = silent with result sets none select @r as r",
            &["[r int]", "0"],
        ),
    ];
    for (batch, expected) in cases {
        let text = story.answer(batch);
        assert!(numbers(&text).is_empty(), "{batch}: {text}");
        let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('('));
        assert_eq!(lines.collect::<Vec<_>>(), *expected, "{batch}");
    }
}

/// What is sent otherwise than described ends the EXECUTE, inside of TRY blocks of what is called too; the batch goes on.
#[test]
fn what_is_not_as_described_is_an_error() {
    let mut story = begin();
    story.run("create procedure caught as begin try select id from t end try begin catch select 1, 2 end catch");
    story.run("create procedure kept as insert t values (9, 'nine') select id, name from t");
    let cases: &[(&str, &[i32])] = &[
        ("exec one with result sets none", &[11535]),
        ("exec two with result sets ((a int, b varchar(20)))", &[11535]),
        ("exec one with result sets ((a int, b varchar(20)), (c int))", &[11536]),
        ("exec silent with result sets ((a int))", &[11536]),
        ("exec one with result sets ((a int))", &[11537]),
        ("exec caught with result sets ((a int, b int))", &[11537]),
        ("exec one with result sets ((a date, b varchar(20)))", &[11538]),
        ("exec one with result sets ((a int, b varchar(20) not null))", &[11553]),
        ("exec ('select ''x''') with result sets ((a int))", &[245]),
        ("exec ('select 70000') with result sets ((a smallint))", &[220]),
        ("exec one with result sets ((a nowhere, b int))", &[2715]),
        (
            "exec one with result sets ((a int collate Latin1_General_BIN2, b int))",
            &[447],
        ),
        ("exec one with result sets (as object nowhere)", &[208]),
        ("exec one with result sets (as type int)", &[2715]),
        ("exec one with result sets ((a int, b varchar(20)) ", &[156]),
        ("insert t exec one with result sets ((a int, b varchar(20)))", &[40517]),
    ];
    for (batch, expected) in cases {
        let text = story.answer(&format!("{batch} print 'on'"));
        assert_eq!(numbers(&text), *expected, "{batch}: {text}");
    }
    let text = story.answer("exec one with result sets ((a int)) print 'on'");
    assert!(text.contains("on"), "{text}");
    // What the procedure has done before stays.
    assert_eq!(story.errors("exec kept with result sets ((a int))"), [11537]);
    assert_eq!(story.rows("select count(*) from t where id = 9"), ["1"]);
}
