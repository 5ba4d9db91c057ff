//! No valid statement is a syntax error: each statement of the T-SQL reference's table of contents (sql-docs, "Transact-SQL statements",
//! "Data definition", "Security", "Service Broker" and the other parts), in its forms and in words of our own, parses, or is refused by
//! 40517 that names a word of it.
//!
//! `statement_heads.sql` has a statement on each line. They are parsed and not run: what they are about is not there.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use transcript::{Transcript, instance, session};
use tsql::session::Session;

const STATEMENTS: &str = include_str!("statement_heads.sql");

/// The answer to a batch that is parsed alone.
fn parsed(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute(batch, &mut transcript);
    transcript.text
}

/// Why the answer is not one that a valid statement may have.
fn fault(statement: &str, answer: &str) -> Option<String> {
    if answer.is_empty() {
        return None;
    }
    let named = answer.split('\'').nth(1).unwrap_or_default();
    let word = named.split([' ', '(', '.']).next().unwrap_or_default();
    let is_named = !word.is_empty() && statement.to_uppercase().contains(&word.to_uppercase());
    match answer.contains("Msg 40517,") && is_named {
        true => None,
        false => Some(format!("{statement}\n    {answer}")),
    }
}

#[test]
fn no_statement_of_the_reference_is_a_syntax_error() {
    let instance = instance();
    let mut session = session(&instance);
    assert_eq!(parsed(&mut session, "set parseonly on"), "");
    let statements: Vec<&str> = STATEMENTS.lines().filter(|line| !line.is_empty()).collect();
    assert!(statements.len() > 350, "{} statements", statements.len());
    let faults: Vec<String> = statements
        .iter()
        .filter_map(|statement| fault(statement, &parsed(&mut session, statement)))
        .collect();
    assert!(
        faults.is_empty(),
        "{} of {}:\n{}",
        faults.len(),
        statements.len(),
        faults.join("\n")
    );
    // A text that SQL Server refuses is a syntax error all the same, and the walk sees it.
    for wrong in [
        "create nonsense n",
        "alter table t alter column",
        "grant select on to u",
        "drop index",
    ] {
        assert!(fault(wrong, &parsed(&mut session, wrong)).is_some(), "{wrong}");
    }
}
