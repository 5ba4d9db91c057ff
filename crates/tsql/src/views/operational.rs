//! Activity on indexes and heaps: `sys.dm_db_index_operational_stats` (sql-docs, "sys.dm_db_index_operational_stats").
//!
//! Each heap and index has a row. Work on single pages and rows is not counted by index, so its columns are NULL; what never happens is 0:
//! pages are not compressed. A statement's use of an index is counted in `sys.dm_db_index_usage_stats`.

use engine::catalog::StorageRoot;
use engine::types::Value;

use super::indexes::hobt_id;
use super::objects::table_of;
use super::physical::{Chosen, databases_of, roots_of, tables_of};
use super::{BIGINT, INT, Rows, SMALLINT, SystemView, all, function, system_row};
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[function::<Operational>(
    "dm_db_index_operational_stats",
    &[SMALLINT, INT, INT, INT],
    4,
    operational,
)];

struct Operational {
    database_id: u16,
    table: u32,
    index_id: u32,
    partition: i32,
    root: StorageRoot,
}

macro_rules! operational_row {
    ($($counter:literal)+) => {
        system_row!(Operational {
            "database_id" SMALLINT => |row| Value::SmallInt(i16::try_from(row.database_id).unwrap_or(i16::MAX));
            "object_id" INT => |row| (row.table as i32).into();
            "index_id" INT => |row| (row.index_id as i32).into();
            "partition_number" INT => |row| row.partition.into();
            "hobt_id" BIGINT => |row| hobt_id(row.root).into();
            $($counter BIGINT => |_| Value::Null;)+
            "page_compression_attempt_count" BIGINT => |_| 0_i64.into();
            "page_compression_success_count" BIGINT => |_| 0_i64.into();
        });
    };
}

operational_row! {
    "leaf_insert_count" "leaf_delete_count" "leaf_update_count" "leaf_ghost_count" "nonleaf_insert_count"
    "nonleaf_delete_count" "nonleaf_update_count" "leaf_allocation_count" "nonleaf_allocation_count"
    "leaf_page_merge_count" "nonleaf_page_merge_count" "range_scan_count" "singleton_lookup_count"
    "forwarded_fetch_count" "lob_fetch_in_pages" "lob_fetch_in_bytes" "lob_orphan_create_count"
    "lob_orphan_insert_count" "row_overflow_fetch_in_pages" "row_overflow_fetch_in_bytes"
    "column_value_push_off_row_count" "column_value_pull_in_row_count" "row_lock_count" "row_lock_wait_count"
    "row_lock_wait_in_ms" "page_lock_count" "page_lock_wait_count" "page_lock_wait_in_ms"
    "index_lock_promotion_attempt_count" "index_lock_promotion_count" "page_latch_wait_count" "page_latch_wait_in_ms"
    "page_io_latch_wait_count" "page_io_latch_wait_in_ms" "tree_page_latch_wait_count" "tree_page_latch_wait_in_ms"
    "tree_page_io_latch_wait_count" "tree_page_io_latch_wait_in_ms"
}

/// # Errors
/// As for `sys.dm_db_index_physical_stats`.
fn operational(context: &SystemContext<'_>, arguments: &[Value]) -> Rows {
    let mut rows = Vec::new();
    if let Some(chosen) = Chosen::of(arguments)? {
        for database in databases_of(context, &chosen)? {
            for id in tables_of(context, &database, &chosen)? {
                let object = database.catalog.by_id(id, context.session_id);
                let Some(table) = object.as_deref().and_then(table_of) else {
                    continue;
                };
                rows.extend(roots_of(table, &chosen).map(|(index_id, partition, root)| Operational {
                    database_id: database.id,
                    table: id,
                    index_id,
                    partition,
                    root,
                }));
            }
        }
    }
    all(rows)
}
