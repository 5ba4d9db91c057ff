//! Plans that the instance keeps, and what they have cost (sql-docs, `sys.dm_exec_cached_plans`, `sys.dm_exec_query_stats`).

use std::sync::Arc;

use engine::seams::DateTimeTicks;
use engine::types::{Length, SqlType, Value};

use super::values::{big, datetime};
use super::{BIGINT, DATETIME, INT, Rows, SystemView, all, nvarchar, system_row, view};
use crate::plan_cache::{CachedPlan, PlanCache, Totals};
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[
    view::<PlanRow>("sys", "dm_exec_cached_plans", |context, _| plans(context)),
    view::<StatisticsRow>("sys", "dm_exec_query_stats", |context, _| statistics(context)),
];

const HANDLE: SqlType = SqlType::VarBinary(Length::Limited(64));

struct PlanRow(Arc<CachedPlan>);

system_row!(PlanRow {
    "bucketid" INT => |_| 0.into();
    "refcounts" INT => |row| i32::try_from(Arc::strong_count(&row.0)).unwrap_or(i32::MAX).into();
    "usecounts" INT => |row| i32::try_from(row.0.uses()).unwrap_or(i32::MAX).into();
    "size_in_bytes" INT => |row| i32::try_from(row.0.bytes()).unwrap_or(i32::MAX).into();
    "memory_object_address" SqlType::VarBinary(Length::Limited(8)) => |_| Value::Null;
    "cacheobjtype" nvarchar(34) => |_| "Compiled Plan".into();
    "objtype" nvarchar(16) => |row| row.0.kind().name().into();
    "plan_handle" HANDLE => |row| Value::binary(&row.0.plan_handle().0[..]);
    "pool_id" INT => |_| 2.into();
});

fn plans(context: &SystemContext<'_>) -> Rows {
    all(PlanCache::of(context.instance).all().into_iter().map(PlanRow))
}

struct StatisticsRow {
    plan: Arc<CachedPlan>,
    totals: Totals,
}

system_row!(StatisticsRow {
    "sql_handle" HANDLE => |row| Value::binary(&row.plan.sql_handle().0[..]);
    "plan_generation_num" BIGINT => |row| big(row.totals.plans);
    "plan_handle" HANDLE => |row| Value::binary(&row.plan.plan_handle().0[..]);
    "creation_time" DATETIME => |row| datetime(DateTimeTicks::from_unix_micros(row.totals.planned_unix_micros));
    "last_execution_time" DATETIME => |row| datetime(DateTimeTicks::from_unix_micros(row.totals.last_unix_micros));
    "execution_count" BIGINT => |row| big(row.totals.executions);
    "total_elapsed_time" BIGINT => |row| big(row.totals.elapsed_micros.total);
    "last_elapsed_time" BIGINT => |row| big(row.totals.elapsed_micros.last);
    "min_elapsed_time" BIGINT => |row| big(row.totals.elapsed_micros.min);
    "max_elapsed_time" BIGINT => |row| big(row.totals.elapsed_micros.max);
    "total_rows" BIGINT => |row| big(row.totals.rows.total);
    "last_rows" BIGINT => |row| big(row.totals.rows.last);
    "min_rows" BIGINT => |row| big(row.totals.rows.min);
    "max_rows" BIGINT => |row| big(row.totals.rows.max);
});

/// A row for each statement that was executed at least once.
fn statistics(context: &SystemContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for plan in PlanCache::of(context.instance).all() {
        for totals in plan.statistics().iter().map(|one| one.totals()) {
            if totals.executions > 0 {
                let plan = plan.clone();
                rows.push(StatisticsRow { plan, totals });
            }
        }
    }
    all(rows)
}
