//! Versions of rows: `sys.dm_tran_version_store_space_usage`, `sys.dm_tran_active_snapshot_database_transactions` and
//! `sys.dm_tran_current_snapshot`.

use std::collections::BTreeMap;

use engine::types::Value;

use super::listed::ListedDatabase;
use super::values::big;
use super::{BIGINT, INT, REAL, SystemView, all, system_row, view};
use crate::views::SystemContext;

/// What pages of SQL Server's version store would take is counted in pages of this size.
const PAGE_BYTES: usize = 8_192;

pub(super) const VIEWS: &[SystemView] = &[
    view::<SpaceUsage>("sys", "dm_tran_version_store_space_usage", |context, _| {
        let databases = ListedDatabase::every(context).into_iter();
        all(databases.filter_map(|listed| {
            let database = listed.database?;
            Some(SpaceUsage {
                database_id: database.id,
                pages: database.storage.versions.bytes().div_ceil(PAGE_BYTES),
            })
        }))
    }),
    view::<Transaction>("sys", "dm_tran_active_snapshot_database_transactions", |context, _| {
        all(transactions(context))
    }),
    view::<CurrentSnapshot>("sys", "dm_tran_current_snapshot", |context, _| {
        let snapshot = context.engine.borrow().snapshot();
        let store = &context.instance.versions;
        let numbers = snapshot
            .map(|snapshot| store.writers_before(snapshot))
            .unwrap_or_default();
        all(numbers.into_iter().map(CurrentSnapshot))
    }),
];

struct SpaceUsage {
    database_id: u16,
    pages: usize,
}

system_row!(SpaceUsage {
    "database_id" INT => |row| i32::from(row.database_id).into();
    "reserved_page_count" BIGINT => |row| big(row.pages as u64);
    "reserved_space_kb" BIGINT => |row| big((row.pages * PAGE_BYTES / 1_024) as u64);
});

/// A transaction that keeps versions or reads them.
struct Transaction {
    number: u64,
    session: u16,
    begun_micros: u64,
    now_micros: u64,
    /// The place of its snapshot in the sequence of ends.
    snapshot: Option<u64>,
    is_snapshot: bool,
}

fn transactions(context: &SystemContext<'_>) -> Vec<Transaction> {
    let store = &context.instance.versions;
    let now_micros = context.instance.env.clock.now_micros();
    let mut by_number = BTreeMap::new();
    for writer in store.writers() {
        let transaction = Transaction {
            number: writer.transaction,
            session: writer.session,
            begun_micros: writer.begun_micros,
            now_micros,
            snapshot: None,
            is_snapshot: false,
        };
        by_number.insert(writer.transaction, transaction);
    }
    for snapshot in store.snapshots() {
        let transaction = by_number.entry(snapshot.transaction).or_insert(Transaction {
            number: snapshot.transaction,
            session: snapshot.session,
            begun_micros: snapshot.begun_micros,
            now_micros,
            snapshot: None,
            is_snapshot: false,
        });
        transaction.begun_micros = transaction.begun_micros.min(snapshot.begun_micros);
        transaction.snapshot.get_or_insert(snapshot.at);
        transaction.is_snapshot |= snapshot.is_of_transaction;
    }
    by_number.into_values().collect()
}

system_row!(Transaction {
    "transaction_id" BIGINT => |row| big(row.number);
    "transaction_sequence_num" BIGINT => |row| big(row.number);
    // It is under way.
    "commit_sequence_num" BIGINT => |_| Value::Null;
    "is_snapshot" INT => |row| i32::from(row.is_snapshot).into();
    "session_id" INT => |row| i32::from(row.session).into();
    "first_snapshot_sequence_num" BIGINT => |row| row.snapshot.map(|at| at as i64).into();
    // Chains are not counted as they are walked.
    "max_version_chain_traversed" INT => |_| Value::Null;
    "average_version_chain_traversed" REAL => |_| Value::Null;
    "elapsed_time_seconds" BIGINT => |row| big(row.now_micros.saturating_sub(row.begun_micros) / 1_000_000);
});

/// A transaction that was under way when the session's snapshot was taken.
struct CurrentSnapshot(u64);

system_row!(CurrentSnapshot {
    "transaction_sequence_num" BIGINT => |row| big(row.0);
});
