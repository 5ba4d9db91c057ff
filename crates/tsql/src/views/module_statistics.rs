//! Execution statistics of whole modules: `sys.dm_exec_procedure_stats`, `sys.dm_exec_trigger_stats`, `sys.dm_exec_function_stats`.
//!
//! A row belongs to a module with cached plans, and disappears with them (sql-docs, "sys.dm_exec_procedure_stats"). Only executions that
//! have ended are counted. Functions are scalar ones ("doesn't return information about table-valued functions", sql-docs,
//! "sys.dm_exec_function_stats").

use std::sync::Arc;

use engine::seams::DateTimeTicks;
use engine::types::{Length, SqlType, Value};

use super::values::{big, datetime};
use super::{BIGINT, DATETIME, INT, Rows, SystemView, all, nvarchar, system_row, view};
use crate::modules::ModuleBody;
use crate::plan_cache::{CachedPlan, PlanCache, Totals};
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[
    view::<ModuleRow>("sys", "dm_exec_procedure_stats", |context, _| {
        executed(context, |body| matches!(body, ModuleBody::Procedure(_)))
    }),
    view::<ModuleRow>("sys", "dm_exec_trigger_stats", |context, _| {
        executed(context, |body| matches!(body, ModuleBody::Trigger(_)))
    }),
    view::<ModuleRow>("sys", "dm_exec_function_stats", |context, _| {
        executed(context, |body| matches!(body, ModuleBody::Scalar { .. }))
    }),
];

const HANDLE: SqlType = SqlType::VarBinary(Length::Limited(64));

struct ModuleRow {
    plan: Arc<CachedPlan>,
    /// `type` and `type_desc`.
    kind: (&'static str, &'static str),
    totals: Totals,
}

/// `type` and `type_desc` of a module whose executions are counted.
fn kind_of(body: &ModuleBody) -> (&'static str, &'static str) {
    match body {
        ModuleBody::Scalar { .. } => ("FN", "SQL_SCALAR_FUNCTION"),
        ModuleBody::Trigger(_) => ("TR", "SQL_TRIGGER"),
        _ => ("P ", "SQL_STORED_PROCEDURE"),
    }
}

system_row!(ModuleRow {
    "database_id" INT => |row| i32::from(row.plan.database_id()).into();
    "object_id" INT => |row| row.plan.object_id().map_or(Value::Null, |object| (object as i32).into());
    "type" SqlType::Char(2) => |row| row.kind.0.into();
    "type_desc" nvarchar(60) => |row| row.kind.1.into();
    "sql_handle" HANDLE => |row| Value::binary(&row.plan.sql_handle().0[..]);
    "plan_handle" HANDLE => |row| Value::binary(&row.plan.plan_handle().0[..]);
    "cached_time" DATETIME => |row| datetime(DateTimeTicks::from_unix_micros(row.totals.planned_unix_micros));
    "last_execution_time" DATETIME => |row| datetime(DateTimeTicks::from_unix_micros(row.totals.last_unix_micros));
    "execution_count" BIGINT => |row| big(row.totals.executions);
    "total_worker_time" BIGINT => |row| big(row.totals.worker_micros.total);
    "last_worker_time" BIGINT => |row| big(row.totals.worker_micros.last);
    "min_worker_time" BIGINT => |row| big(row.totals.worker_micros.min);
    "max_worker_time" BIGINT => |row| big(row.totals.worker_micros.max);
    "total_physical_reads" BIGINT => |row| big(row.totals.physical_reads.total);
    "last_physical_reads" BIGINT => |row| big(row.totals.physical_reads.last);
    "min_physical_reads" BIGINT => |row| big(row.totals.physical_reads.min);
    "max_physical_reads" BIGINT => |row| big(row.totals.physical_reads.max);
    "total_logical_writes" BIGINT => |row| big(row.totals.logical_writes.total);
    "last_logical_writes" BIGINT => |row| big(row.totals.logical_writes.last);
    "min_logical_writes" BIGINT => |row| big(row.totals.logical_writes.min);
    "max_logical_writes" BIGINT => |row| big(row.totals.logical_writes.max);
    "total_logical_reads" BIGINT => |row| big(row.totals.logical_reads.total);
    "last_logical_reads" BIGINT => |row| big(row.totals.logical_reads.last);
    "min_logical_reads" BIGINT => |row| big(row.totals.logical_reads.min);
    "max_logical_reads" BIGINT => |row| big(row.totals.logical_reads.max);
    "total_elapsed_time" BIGINT => |row| big(row.totals.elapsed_micros.total);
    "last_elapsed_time" BIGINT => |row| big(row.totals.elapsed_micros.last);
    "min_elapsed_time" BIGINT => |row| big(row.totals.elapsed_micros.min);
    "max_elapsed_time" BIGINT => |row| big(row.totals.elapsed_micros.max);
});

/// A row for each module of a kind that was executed to its end at least once.
fn executed(context: &SystemContext<'_>, is_wanted: fn(&ModuleBody) -> bool) -> Rows {
    let kept = PlanCache::of(context.instance).all().into_iter();
    all(kept.filter_map(|plan| {
        let body = &plan.module()?.body;
        let (is_meant, kind) = (is_wanted(body), kind_of(body));
        let totals = plan.whole();
        (is_meant && totals.executions > 0).then_some(ModuleRow { plan, kind, totals })
    }))
}
