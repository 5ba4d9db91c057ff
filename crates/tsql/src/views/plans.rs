//! Cached plans, their properties and execution statistics (sql-docs, `sys.dm_exec_cached_plans`, `sys.dm_exec_query_stats`,
//! `sys.dm_exec_query_plan`).

use std::sync::Arc;

use engine::cancel;
use engine::seams::DateTimeTicks;
use engine::types::{Length, SqlType, Value, Variant};

use super::query_hash;
use super::values::{big, datetime};
use super::{
    BIGINT, BIT, DATETIME, FLOAT, INT, Rows, SMALLINT, SystemRow, SystemView, all, function, nvarchar, system_row, view,
};
use crate::plan_cache::{CachedPlan, PlanCache, Totals};
use crate::showplan::document;
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[
    view::<PlanRow>("sys", "dm_exec_cached_plans", |context, _| plans(context)),
    view::<StatisticsRow>("sys", "dm_exec_query_stats", |context, _| statistics(context)),
    view::<OptimizationRow>("sys", "dm_exec_query_optimizer_info", |context, _| {
        optimizations(context)
    }),
    function::<AttributeRow>("dm_exec_plan_attributes", &[HANDLE], 1, attributes),
    function::<ShownRow>("dm_exec_query_plan", &[HANDLE], 1, shown),
    function::<ShownRow>("dm_exec_text_query_plan", &[HANDLE, INT, INT], 1, shown),
    function::<ShownRow>("dm_exec_query_plan_stats", &[HANDLE], 1, last_actual),
];

const HANDLE: SqlType = SqlType::VarBinary(Length::Limited(64));
const HASH: SqlType = SqlType::Binary(8);

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
    "parent_plan_handle" HANDLE => |_| Value::Null;
});

fn plans(context: &SystemContext<'_>) -> Rows {
    all(PlanCache::of(context.instance).all().into_iter().map(PlanRow))
}

struct StatisticsRow {
    plan: Arc<CachedPlan>,
    totals: Totals,
}

impl StatisticsRow {
    /// The statement's plan, if it has one that sessions share.
    fn element(&self) -> Option<String> {
        let begin = self.plan.offsets(self.totals.line).0;
        self.plan.elements(|offset| offset == begin).into_iter().next()
    }
}

system_row!(StatisticsRow {
    "sql_handle" HANDLE => |row| Value::binary(&row.plan.sql_handle().0[..]);
    "statement_start_offset" INT => |row| row.plan.offsets(row.totals.line).0.into();
    "statement_end_offset" INT => |row| row.plan.offsets(row.totals.line).1.into();
    "plan_generation_num" BIGINT => |row| big(row.totals.plans);
    "plan_handle" HANDLE => |row| Value::binary(&row.plan.plan_handle().0[..]);
    "creation_time" DATETIME => |row| datetime(DateTimeTicks::from_unix_micros(row.totals.planned_unix_micros));
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
    // Nothing runs in a common language runtime.
    "total_clr_time" BIGINT => |_| 0_i64.into();
    "last_clr_time" BIGINT => |_| 0_i64.into();
    "min_clr_time" BIGINT => |_| 0_i64.into();
    "max_clr_time" BIGINT => |_| 0_i64.into();
    "total_elapsed_time" BIGINT => |row| big(row.totals.elapsed_micros.total);
    "last_elapsed_time" BIGINT => |row| big(row.totals.elapsed_micros.last);
    "min_elapsed_time" BIGINT => |row| big(row.totals.elapsed_micros.min);
    "max_elapsed_time" BIGINT => |row| big(row.totals.elapsed_micros.max);
    "query_hash" HASH => |row| Value::binary(&query_hash::of_query(row.plan.statement_text(row.totals.line))[..]);
    "query_plan_hash" HASH => |row| Value::binary(&query_hash::of_plan(row.element().as_ref())[..]);
    "total_rows" BIGINT => |row| big(row.totals.rows.total);
    "last_rows" BIGINT => |row| big(row.totals.rows.last);
    "min_rows" BIGINT => |row| big(row.totals.rows.min);
    "max_rows" BIGINT => |row| big(row.totals.rows.max);
    // There is no Query Store, whose name for the text this is.
    "statement_sql_handle" HANDLE => |_| Value::Null;
    "statement_context_id" BIGINT => |_| Value::Null;
    "total_dop" BIGINT => |row| big(row.totals.degree.total);
    "last_dop" BIGINT => |row| big(row.totals.degree.last);
    "min_dop" BIGINT => |row| big(row.totals.degree.min);
    "max_dop" BIGINT => |row| big(row.totals.degree.max);
    // Memory is asked for when it is needed: no query is granted any before it starts.
    "total_grant_kb" BIGINT => |_| 0_i64.into();
    "last_grant_kb" BIGINT => |_| 0_i64.into();
    "min_grant_kb" BIGINT => |_| 0_i64.into();
    "max_grant_kb" BIGINT => |_| 0_i64.into();
    "total_used_grant_kb" BIGINT => |_| 0_i64.into();
    "last_used_grant_kb" BIGINT => |_| 0_i64.into();
    "min_used_grant_kb" BIGINT => |_| 0_i64.into();
    "max_used_grant_kb" BIGINT => |_| 0_i64.into();
    "total_ideal_grant_kb" BIGINT => |_| 0_i64.into();
    "last_ideal_grant_kb" BIGINT => |_| 0_i64.into();
    "min_ideal_grant_kb" BIGINT => |_| 0_i64.into();
    "max_ideal_grant_kb" BIGINT => |_| 0_i64.into();
    "total_reserved_threads" BIGINT => |row| big(row.totals.threads.total);
    "last_reserved_threads" BIGINT => |row| big(row.totals.threads.last);
    "min_reserved_threads" BIGINT => |row| big(row.totals.threads.min);
    "max_reserved_threads" BIGINT => |row| big(row.totals.threads.max);
    "total_used_threads" BIGINT => |row| big(row.totals.threads.total);
    "last_used_threads" BIGINT => |row| big(row.totals.threads.last);
    "min_used_threads" BIGINT => |row| big(row.totals.threads.min);
    "max_used_threads" BIGINT => |row| big(row.totals.threads.max);
});

/// A row for each statement that was executed at least once.
fn statistics(context: &SystemContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for plan in PlanCache::of(context.instance).all() {
        for totals in plan.statistics().iter().map(|one| one.totals()) {
            if totals.executions > 0 {
                // Its plan is written and hashed.
                cancel::look()?;
                let plan = plan.clone();
                rows.push(StatisticsRow { plan, totals }.values());
            }
        }
    }
    Ok(rows)
}

/// A counter of the optimizer (sql-docs, "sys.dm_exec_query_optimizer_info"). The counters "for internal use" are left out, and those of
/// what is not counted here.
struct OptimizationRow {
    counter: &'static str,
    occurrence: u64,
    /// For each occurrence, on average.
    value: Option<f64>,
}

system_row!(OptimizationRow {
    "counter" nvarchar(4000) => |row| row.counter.into();
    "occurrence" BIGINT => |row| big(row.occurrence);
    "value" FLOAT => |row| row.value.map_or(Value::Null, Value::Float);
});

fn optimizations(context: &SystemContext<'_>) -> Rows {
    let so_far = PlanCache::of(context.instance).optimizations().so_far();
    let of = |counter, occurrence: u64, value: f64| OptimizationRow {
        counter,
        occurrence,
        value: (occurrence > 0).then_some(value),
    };
    let seconds = so_far.elapsed_micros as f64 / 1e6 / (so_far.count.max(1) as f64);
    all([
        of("optimizations", so_far.count, 1.0),
        of("elapsed time", so_far.count, seconds),
        of("insert stmt", so_far.inserts, 1.0),
        of("delete stmt", so_far.deletes, 1.0),
        of("update stmt", so_far.updates, 1.0),
        of("hints", so_far.hints, 1.0),
        of("order hint", so_far.order_hints, 1.0),
        of("join hint", so_far.join_hints, 1.0),
        of("merge stmt", so_far.merges, 1.0),
    ])
}

/// What a plan is kept under.
struct AttributeRow {
    name: &'static str,
    value: Value,
    is_cache_key: bool,
}

system_row!(AttributeRow {
    "attribute" SqlType::VarChar(Length::Limited(128)) => |row| row.name.into();
    "value" SqlType::SqlVariant => |row| row.value.clone();
    "is_cache_key" BIT => |row| row.is_cache_key.into();
});

fn variant(value: Value, sql_type: SqlType) -> Value {
    Value::Variant(Arc::new(Variant { sql_type, value }))
}

/// The attributes of a plan of a handle: the text or module, and the database that its names are looked up in (sql-docs,
/// `sys.dm_exec_plan_attributes`).
fn attributes(context: &SystemContext<'_>, arguments: &[Value]) -> Rows {
    let Some(Value::Binary(handle)) = arguments.first() else {
        return all(Vec::<AttributeRow>::new());
    };
    let kept = PlanCache::of(context.instance).all().into_iter();
    let mut rows = Vec::new();
    for plan in kept.filter(|plan| plan.plan_handle().0[..] == handle[..]) {
        let database = i32::from(plan.database_id());
        let attributes = [
            (
                "objectid",
                variant(Value::Int(plan.object_id().unwrap_or(0) as i32), SqlType::Int),
                true,
            ),
            ("dbid", variant(Value::Int(database), SqlType::Int), true),
            ("dbid_execute", variant(Value::Int(database), SqlType::Int), true),
            (
                "sql_handle",
                variant(Value::binary(&plan.sql_handle().0[..]), HANDLE),
                false,
            ),
        ];
        rows.extend(attributes.map(|(name, value, is_cache_key)| AttributeRow {
            name,
            value,
            is_cache_key,
        }));
    }
    all(rows)
}

/// A plan as a document in XML.
struct ShownRow {
    plan: Arc<CachedPlan>,
    document: Option<String>,
}

system_row!(ShownRow {
    "dbid" SMALLINT => |row| Value::SmallInt(i16::try_from(row.plan.database_id()).unwrap_or(i16::MAX));
    "objectid" INT => |row| row.plan.object_id().map_or(Value::Null, |object| (object as i32).into());
    "number" SMALLINT => |row| row.plan.object_id().map_or(Value::Null, |_| Value::SmallInt(1));
    "encrypted" BIT => |_| false.into();
    // The type xml is not supported.
    "query_plan" SqlType::NVarChar(Length::Max) => |row| row.document.as_deref().into();
});

/// The last actual plan of a handle. None is kept, as where LAST_QUERY_PLAN_STATS is off (sql-docs, `sys.dm_exec_query_plan_stats`).
fn last_actual(context: &SystemContext<'_>, arguments: &[Value]) -> Rows {
    let Some(Value::Binary(handle)) = arguments.first() else {
        return all(Vec::<ShownRow>::new());
    };
    let kept = PlanCache::of(context.instance).all().into_iter();
    let meant = kept.filter(|plan| plan.plan_handle().0[..] == handle[..]);
    all(meant.map(|plan| ShownRow { plan, document: None }))
}

/// The plan of a handle: all its statements, or the one that begins at an offset (sql-docs, `sys.dm_exec_query_plan`,
/// `sys.dm_exec_text_query_plan`). A handle of a plan that is not kept has no row; one whose statements are not planned has no document.
fn shown(context: &SystemContext<'_>, arguments: &[Value]) -> Rows {
    let Some(Value::Binary(handle)) = arguments.first() else {
        return all(Vec::<ShownRow>::new());
    };
    let begin = arguments.get(1).and_then(Value::as_i64).filter(|offset| *offset > 0);
    let kept = PlanCache::of(context.instance).all().into_iter();
    all(kept.filter(|plan| plan.plan_handle().0[..] == handle[..]).map(|plan| {
        let elements = plan.elements(|offset| begin.is_none_or(|begin| begin == i64::from(offset)));
        let document = (!elements.is_empty()).then(|| document(context.instance.options.version, &elements));
        ShownRow { plan, document }
    }))
}
