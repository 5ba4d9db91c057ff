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
