//! How many log records INSERT ... SELECT writes, by log policy, recovery model, TABLOCK and target.
//!
//! ```text
//!                                       classic                              native
//! FULL                                  one for each row and index           one for each page
//! SIMPLE, BULK_LOGGED without TABLOCK   one for each row and index           one for each page
//!   with TABLOCK, heap                  one for each page                    one for each page
//!   with TABLOCK, empty clustered index one for each page                    one for each page
//!   with TABLOCK, filled one            one for each row and index           one for each page
//!   a nonclustered index beside it      one for each row and index           one for each row and index
//! ```
//! (sql-docs, "Prerequisites for minimal logging in bulk import", and INSERT, "Best practices".)
#![allow(clippy::unwrap_used)]

use crate::transcript;

use std::sync::Arc;

use engine::database::Database;
use engine::log::{LogPolicy, RecordKind};
use transcript::Transcript;
use tsql::session::Session;

const ROWS: usize = 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Into {
    Heap,
    EmptyTree,
    FilledTree,
    HeapWithIndex,
}

fn run(session: &mut Session, text: &str) {
    let mut transcript = Transcript::default();
    session.execute(text, &mut transcript);
    assert!(!transcript.text.contains("Msg "), "{text}: {}", transcript.text);
}

/// Records of changes that a statement writes.
fn records(session: &mut Session, database: &Database, text: &str) -> usize {
    let log = &database.storage.log;
    let from = log.end();
    run(session, text);
    let mut scan = log.scan(from).unwrap();
    let mut count = 0;
    while let Some(record) = scan.next().unwrap() {
        count += usize::from(record.header.kind == RecordKind::Change);
    }
    count
}

#[test]
fn every_combination_logs_rows_or_pages_as_the_table_says() {
    let mut walked = 0;
    for policy in [LogPolicy::classic(), LogPolicy::native()] {
        let instance = transcript::instance();
        let mut session = transcript::session(&instance);
        run(&mut session, "create database d");
        run(
            &mut session,
            "use d create table source (a int not null primary key, b char(100) not null)",
        );
        run(
            &mut session,
            "insert source select top (1000) row_number() over (order by x.object_id), 'b' from sys.all_objects x cross join sys.all_objects y",
        );
        let database: Arc<Database> = instance.database("d").unwrap();
        database.storage.log.set_policy(policy);
        for model in ["full", "bulk_logged", "simple"] {
            run(&mut session, &format!("alter database d set recovery {model}"));
            for tablock in [false, true] {
                for into in [Into::Heap, Into::EmptyTree, Into::FilledTree, Into::HeapWithIndex] {
                    // Through a query that hands bytes on, and through one whose rows become values.
                    for condition in ["", " where a > (select 0)"] {
                        make(&mut session, into);
                        let hint = if tablock { "with (tablock) " } else { "" };
                        let text = format!("insert t {hint}select a, b from source{condition}");
                        let count = records(&mut session, &database, &text);
                        let is_minimal = tablock && model != "full" && matches!(into, Into::Heap | Into::EmptyTree);
                        let by_page = policy == LogPolicy::native() && into != Into::HeapWithIndex || is_minimal;
                        let indexes = 1 + usize::from(into == Into::HeapWithIndex);
                        let told = format!("{policy} {model} {text} {into:?}: {count} records");
                        match by_page {
                            true => assert!(count < ROWS / 2, "{told}"),
                            false => assert!(count >= ROWS * indexes, "{told}"),
                        }
                        walked += 1;
                    }
                }
            }
        }
    }
    assert_eq!(walked, 2 * 3 * 2 * 4 * 2);
}

fn make(session: &mut Session, into: Into) {
    run(session, "drop table if exists t");
    let shape = match into {
        Into::Heap => "(a int not null, b char(100) not null)",
        Into::EmptyTree | Into::FilledTree => "(a int not null primary key, b char(100) not null)",
        Into::HeapWithIndex => "(a int not null, b char(100) not null, index i (a))",
    };
    run(session, &format!("create table t {shape}"));
    if into == Into::FilledTree {
        run(session, "insert t values (0, 'x')");
    }
}
