//! What accelerated database recovery has left to do: `sys.dm_tran_aborted_transactions` and `sys.dm_tran_persistent_version_store_stats`
//! (sql-docs, of these names).
//!
//! There is no version store in the database: the log has what a rolled back transaction needs. So its size is the log that the oldest of them holds,
//! and what SQL Server counts of the store's pages is 0.

use engine::log::{TransactionId, Undoing};
use engine::seams::DateTimeTicks;
use engine::types::{SqlType, Value};
use vlf::Lsn;

use super::listed::ListedDatabase;
use super::transactions::shown_id;
use super::values::{big, datetime, lsn_number};
use super::{BIGINT, BIT, DATETIME, INT, LSN, SMALLINT, SystemView, all, system_row, view};
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[
    view::<Aborted>("sys", "dm_tran_aborted_transactions", |context, _| {
        all(aborted(context))
    }),
    view::<Store>("sys", "dm_tran_persistent_version_store_stats", |context, _| {
        all(stores(context))
    }),
];

/// A transaction that is rolled back, and whose changes are still on some pages.
struct Aborted {
    id: TransactionId,
    database_id: u16,
    first: Lsn,
    last: Lsn,
    begun: DateTimeTicks,
}

fn aborted(context: &SystemContext<'_>) -> Vec<Aborted> {
    let mut rows = Vec::new();
    for listed in ListedDatabase::every(context) {
        let Some(database) = &listed.database else { continue };
        rows.extend(database.transactions.snapshot().into_iter().filter_map(|(id, active)| {
            let last = active.end.under_way()?;
            (active.end.undoing() == Undoing::Marked).then_some(Aborted {
                id,
                database_id: database.id,
                first: active.first,
                last,
                begun: active.begun,
            })
        }));
    }
    rows
}

system_row!(Aborted {
    // The documentation has int; the views to which it is joined have bigint.
    "transaction_id" BIGINT => |row| shown_id(row.database_id, row.id).into();
    "database_id" INT => |row| i32::from(row.database_id).into();
    "begin_xact_lsn" LSN => |row| lsn_number(row.first);
    "end_xact_lsn" LSN => |row| lsn_number(row.last);
    "begin_time" DATETIME => |row| datetime(row.begun);
    // Rollbacks to savepoints are over when they return.
    "nest_aborted" BIT => |_| false.into();
});

/// A database with ACCELERATED_DATABASE_RECOVERY.
struct Store {
    database_id: u16,
    held_bytes: u64,
    aborted: u64,
    oldest_active: i64,
    oldest_aborted: i64,
}

fn stores(context: &SystemContext<'_>) -> Vec<Store> {
    let mut rows = Vec::new();
    for listed in ListedDatabase::every(context) {
        let Some(database) = &listed.database else { continue };
        if !database.is_recovery_accelerated() {
            continue;
        }
        let under_way = database.transactions.snapshot();
        let is_aborted = |undoing: Undoing| undoing == Undoing::Marked;
        let (aborted, active): (Vec<_>, Vec<_>) = under_way
            .iter()
            .partition(|(_, transaction)| is_aborted(transaction.end.undoing()));
        let oldest = aborted.iter().map(|(_, transaction)| transaction.first).min();
        let id =
            |transaction: Option<&&(TransactionId, _)>| transaction.map_or(0, |(id, _)| shown_id(database.id, *id));
        rows.push(Store {
            database_id: database.id,
            held_bytes: oldest.map_or(0, |first| database.storage.log.used_since(first)),
            aborted: aborted.len() as u64,
            oldest_active: id(active.first()),
            oldest_aborted: id(aborted.first()),
        });
    }
    rows
}

system_row!(Store {
    "database_id" INT => |row| i32::from(row.database_id).into();
    "pvs_filegroup_id" SMALLINT => |_| Value::SmallInt(1);
    "persistent_version_store_size_kb" BIGINT => |row| big(row.held_bytes / 1_024);
    "online_index_version_store_size_kb" BIGINT => |_| big(0);
    "current_aborted_transaction_count" BIGINT => |row| big(row.aborted);
    "oldest_active_transaction_id" BIGINT => |row| row.oldest_active.into();
    "oldest_aborted_transaction_id" BIGINT => |row| row.oldest_aborted.into();
    "min_transaction_timestamp" BIGINT => |_| Value::Null;
    "online_index_min_transaction_timestamp" BIGINT => |_| Value::Null;
    "secondary_low_water_mark" BIGINT => |_| Value::Null;
    "offrow_version_cleaner_start_time" SqlType::DateTime2 { scale: 7 } => |_| Value::Null;
    "offrow_version_cleaner_end_time" SqlType::DateTime2 { scale: 7 } => |_| Value::Null;
    "aborted_version_cleaner_start_time" SqlType::DateTime2 { scale: 7 } => |_| Value::Null;
    "aborted_version_cleaner_end_time" SqlType::DateTime2 { scale: 7 } => |_| Value::Null;
    "pvs_off_row_page_skipped_low_water_mark" BIGINT => |_| big(0);
    "pvs_off_row_page_skipped_transaction_not_cleaned" BIGINT => |_| big(0);
    "pvs_off_row_page_skipped_oldest_active_xdesid" BIGINT => |_| big(0);
    "pvs_off_row_page_skipped_min_useful_xts" BIGINT => |_| big(0);
    "pvs_off_row_page_skipped_oldest_snapshot" BIGINT => |_| big(0);
});
