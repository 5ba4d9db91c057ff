//! No statement of the reference is a syntax error: a form of each that its table of contents and the pages of its clauses name (sql-docs,
//! "Transact-SQL reference") runs, or is refused by a number that says what is not done.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use transcript::{Transcript, instance, session};
use tsql::session::Session;

/// A statement in each line.
const STATEMENTS: &str = include_str!("contents/statements.txt");

/// The numbers of a text that is not T-SQL.
const SYNTAX: [&str; 5] = ["Msg 102,", "Msg 156,", "Msg 170,", "Msg 319,", "Msg 195,"];

fn run(session: &mut Session, batch: &str) -> String {
    let mut answer = Transcript::default();
    session.execute(batch, &mut answer);
    answer.text
}

#[test]
fn no_statement_of_the_reference_is_a_syntax_error() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, "create table t (a int) create table u (a int)");
    let (mut wrong, mut refused, mut all) = (Vec::new(), 0, 0);
    for statement in STATEMENTS.lines().filter(|line| !line.is_empty()) {
        let answer = run(&mut one, statement);
        all += 1;
        refused += usize::from(answer.contains("Msg 40517,"));
        if SYNTAX.iter().any(|number| answer.contains(number)) {
            wrong.push(format!("{statement}: {answer}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(refused < all, "{refused} of {all}");
    println!("{all} statements, {refused} refused by name");
}

/// Scripts ask whether full-text search is installed and go on without it: the statements behind the question are read, and fail if they run.
#[test]
fn full_text_statements_are_read_and_fail_when_they_run() {
    let instance = instance();
    let mut one = session(&instance);
    run(
        &mut one,
        "create table t (a int constraint k primary key, b nvarchar(20), c varbinary(max), d varchar(9))",
    );
    let asked = "if fulltextserviceproperty('IsFullTextInstalled') = 1 begin create fulltext catalog x as default \
        create fulltext index on t (b) key index k end print 'behind it'";
    assert_eq!(run(&mut one, asked), "  behind it\n");
    for statement in [
        "create fulltext catalog x on filegroup [primary] in path 'c:\\x' with accent_sensitivity = off as default authorization dbo",
        "create fulltext index on dbo.t (b language 1033 statistical_semantics, c type column d language 'English') key index k \
         on (x, filegroup [primary]) with (change_tracking = off, no population, stoplist = system)",
        "create fulltext index on t key index k on x with change_tracking auto, search property list = p",
        "drop fulltext index on t",
        "drop fulltext catalog x",
    ] {
        let answer = run(&mut one, statement);
        assert!(
            answer.contains("Msg 7609, Level 17, State 5") && answer.contains("Full-Text Search is not installed"),
            "{statement}: {answer}"
        );
    }
    for statement in [
        "create fulltext index on t (b)",
        "create fulltext index on t (b) key index k with stoplist",
        "create fulltext catalog x with accent_sensitivity = 1",
    ] {
        assert!(run(&mut one, statement).contains("Msg 102,"), "{statement}");
    }
}
