//! Versions of rows: the options that turn them on, what keeps them, what they cost, and readers beside writers.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use std::sync::Arc;

use engine::seams::SystemClock;
use transcript::{Transcript, instance_with, session};
use tsql::session::Session;

fn run(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    let outcome = session.execute(batch, &mut transcript);
    format!("{}{outcome:?}", transcript.text)
}

/// What Entity Framework Core sends for each database that it makes.
#[test]
fn read_committed_snapshot_is_set_shown_and_kept() {
    let instance = instance_with(Arc::new(SystemClock::new()));
    let mut one = session(&instance);
    let made = run(
        &mut one,
        "create database app \
         if serverproperty('EngineEdition') <> 5 begin alter database app set read_committed_snapshot on end",
    );
    assert!(made.ends_with("Completed") && !made.contains("Msg"), "{made}");
    let shown = "select cast(is_read_committed_snapshot_on as int), snapshot_isolation_state_desc from sys.databases where name = 'app'";
    let answer = run(&mut one, shown);
    assert!(answer.contains("1 | OFF"), "{answer}");
    let answer = run(&mut one, "use app dbcc useroptions");
    assert!(answer.contains("read committed snapshot"), "{answer}");
}
