//! The uses of indexes by plans: `sys.dm_db_index_usage_stats`, for all open databases.

use std::sync::Arc;

use engine::catalog::TableDefinition;
use engine::database::{IndexUseKind, IndexUses};
use engine::seams::DateTimeTicks;
use engine::types::Value;

use super::listed::ListedDatabase;
use super::objects::table_of;
use super::values::{big, datetime};
use super::{BIGINT, DATETIME, INT, Rows, SMALLINT, SystemView, all, system_row, view};
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[view::<UsedIndex>("sys", "dm_db_index_usage_stats", |context, _| {
    used_indexes(context)
})];

/// Of the uses that are no statement's, only the passes over a whole index for statistics are known to be made.
struct UsedIndex {
    database_id: u16,
    table: u32,
    index_id: u32,
    uses: Arc<IndexUses>,
}

impl UsedIndex {
    fn count(&self, kind: IndexUseKind) -> Value {
        big(self.uses.count(kind))
    }

    fn last(&self, kind: IndexUseKind) -> Value {
        let last = self.uses.last_unix_micros(kind);
        last.map_or(Value::Null, |micros| datetime(DateTimeTicks::from_unix_micros(micros)))
    }
}

system_row!(UsedIndex {
    "database_id" SMALLINT => |row| Value::SmallInt(i16::try_from(row.database_id).unwrap_or(i16::MAX));
    "object_id" INT => |row| (row.table as i32).into();
    "index_id" INT => |row| (row.index_id as i32).into();
    "user_seeks" BIGINT => |row| row.count(IndexUseKind::Seek);
    "user_scans" BIGINT => |row| row.count(IndexUseKind::Scan);
    "user_lookups" BIGINT => |row| row.count(IndexUseKind::Lookup);
    "user_updates" BIGINT => |row| row.count(IndexUseKind::Update);
    "last_user_seek" DATETIME => |row| row.last(IndexUseKind::Seek);
    "last_user_scan" DATETIME => |row| row.last(IndexUseKind::Scan);
    "last_user_lookup" DATETIME => |row| row.last(IndexUseKind::Lookup);
    "last_user_update" DATETIME => |row| row.last(IndexUseKind::Update);
    "system_seeks" BIGINT => |_| 0_i64.into();
    "system_scans" BIGINT => |row| row.count(IndexUseKind::SystemScan);
    "system_lookups" BIGINT => |_| 0_i64.into();
    "system_updates" BIGINT => |_| 0_i64.into();
    "last_system_seek" DATETIME => |_| Value::Null;
    "last_system_scan" DATETIME => |row| row.last(IndexUseKind::SystemScan);
    "last_system_lookup" DATETIME => |_| Value::Null;
    "last_system_update" DATETIME => |_| Value::Null;
});

/// Indexes that were used and are there, as far as the session sees their tables.
fn used_indexes(context: &SystemContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for listed in ListedDatabase::every(context) {
        let Some(database) = listed.database else { continue };
        for (table, index_id, uses) in database.all_index_uses() {
            let object = database.catalog.by_id(table, context.session_id);
            let has_index = |table: &TableDefinition| match index_id {
                0 => table.heap.is_some(),
                _ => table.indexes.iter().any(|index| index.index_id == index_id),
            };
            if was_used(&uses) && object.as_deref().and_then(table_of).is_some_and(has_index) {
                rows.push(UsedIndex {
                    database_id: database.id,
                    table,
                    index_id,
                    uses,
                });
            }
        }
    }
    all(rows)
}

/// A plan that was made and never executed uses nothing.
fn was_used(uses: &IndexUses) -> bool {
    use IndexUseKind::{Lookup, Scan, Seek, SystemScan, Update};
    [Seek, Scan, Lookup, Update, SystemScan]
        .into_iter()
        .any(|kind| uses.count(kind) > 0)
}
