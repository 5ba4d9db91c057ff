//! Statements built to break a server, on the stack of a server's thread and with little memory: each gets its result or SQL
//! Server's number, the session goes on, and all memory is freed.
//!
//! Two outcomes only are failures: the end of the process, which ends this test with it, and an answer that is not in the table.
#![allow(clippy::unwrap_used)]

use crate::hostile_cases;
use crate::transcript;

use hostile_cases::{Answer, Case};
use transcript::{Transcript, instance, on_a_sessions_stack, session};

/// The numbers of the errors in an answer.
fn numbers(answer: &str) -> Vec<i32> {
    let errors = answer.split("Msg ").skip(1);
    errors.filter_map(|text| text.split(',').next()?.parse().ok()).collect()
}

fn is_right(answer: &str, wanted: Answer) -> bool {
    let found = numbers(answer);
    match wanted {
        Answer::Has(text) => found.is_empty() && answer.contains(text),
        Answer::Refused(allowed) => !found.is_empty() && found.iter().all(|number| allowed.contains(number)),
        Answer::Either(allowed) => found.iter().all(|number| allowed.contains(number)),
    }
}

fn run_all(cases: Vec<Case>) {
    let instance = instance();
    let mut client = session(&instance);
    let mut wrong = Vec::new();
    for (name, batch, wanted) in cases {
        let mut transcript = Transcript::default();
        client.execute(&batch, &mut transcript);
        if !is_right(&transcript.text, wanted) {
            wrong.push(format!("{name:.80}: {wanted:?}, but {:.300}", transcript.text));
        }
        let mut after = Transcript::default();
        client.execute("select 'still here'", &mut after);
        assert!(after.text.contains("still here"), "after {name}: {}", after.text);
    }
    // What the instance keeps of texts is kept beyond the session.
    client.execute("dbcc freeproccache", &mut Transcript::default());
    drop(client);
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(instance.workspace.used_bytes(), 0, "all memory comes back");
}

#[test]
fn deep_expressions_are_answered() {
    on_a_sessions_stack(|| run_all(hostile_cases::deep_expressions()));
}

#[test]
fn deep_queries_are_answered() {
    on_a_sessions_stack(|| run_all(hostile_cases::deep_queries()));
}

#[test]
fn deep_blocks_and_long_batches_are_answered() {
    on_a_sessions_stack(|| run_all(hostile_cases::deep_blocks()));
}

#[test]
fn wide_statements_are_answered() {
    on_a_sessions_stack(|| run_all(hostile_cases::wide_statements()));
}

#[test]
fn long_strings_are_answered_and_none_is_short_without_a_word() {
    on_a_sessions_stack(|| run_all(hostile_cases::long_strings()));
}

#[test]
fn odd_arguments_are_answered() {
    on_a_sessions_stack(|| run_all(hostile_cases::odd_arguments()));
}
