//! `sys.dm_resource_governor_resource_pools`, `sys.resource_governor_resource_pools`, `sys.resource_governor_workload_groups`,
//! `sys.resource_governor_configuration` and the state of the latter two (sql-docs, the pages of the views): the one pool and the one group
//! that every request runs in. There is no resource governor, so nothing is limited, and nothing counted but memory and optimizations.

use engine::types::{SqlType, Value};

use super::server::SystemInformation;
use super::values::{big, datetime};
use super::{BIGINT, BIT, DATETIME, FLOAT, INT, NAME, SystemView, all, system_row, view};
use crate::plan_cache::PlanCache;

pub(super) const VIEWS: &[SystemView] = &[
    view::<Pool>("sys", "dm_resource_governor_resource_pools", |context, _| {
        all([Pool(SystemInformation::of(context))])
    }),
    view::<StoredPool>("sys", "resource_governor_resource_pools", |_, _| all([StoredPool])),
    view::<Group>("sys", "resource_governor_workload_groups", |_, _| all([Group])),
    view::<Governor>("sys", "resource_governor_configuration", |_, _| all([Governor])),
    view::<GovernorState>("sys", "dm_resource_governor_configuration", |_, _| all([GovernorState])),
    view::<GroupState>("sys", "dm_resource_governor_workload_groups", |context, _| {
        let so_far = PlanCache::of(context.instance).optimizations().so_far();
        all([GroupState {
            system: SystemInformation::of(context),
            optimizations: so_far.count,
        }])
    }),
];

/// The number of the pool and of the group `default`.
pub(super) const DEFAULT: i32 = 2;

struct Pool(SystemInformation);

macro_rules! pool_row {
    ($($counter:literal $sql_type:expr,)+) => {
        system_row!(Pool {
            "pool_id" INT => |_| DEFAULT.into();
            "name" NAME => |_| "default".into();
            "statistics_start_time" DATETIME => |row| datetime(row.0.started);
            "max_memory_kb" BIGINT => |row| big(row.0.target_kb);
            "used_memory_kb" BIGINT => |row| big(row.0.committed_kb);
            "target_memory_kb" BIGINT => |row| big(row.0.target_kb);
            "min_cpu_percent" INT => |_| 0.into();
            "max_cpu_percent" INT => |_| 100.into();
            "min_memory_percent" INT => |_| 0.into();
            "max_memory_percent" INT => |_| 100.into();
            "cap_cpu_percent" INT => |_| 100.into();
            "min_iops_per_volume" INT => |_| 0.into();
            "max_iops_per_volume" INT => |_| 0.into();
            $($counter $sql_type => |_| Value::Null;)+
        });
    };
}

pool_row! {
    "total_cpu_usage_ms" BIGINT, "cache_memory_kb" BIGINT, "compile_memory_kb" BIGINT, "used_memgrant_kb" BIGINT,
    "total_memgrant_count" BIGINT, "total_memgrant_timeout_count" BIGINT, "active_memgrant_count" INT, "active_memgrant_kb" BIGINT,
    "memgrant_waiter_count" INT, "out_of_memory_count" BIGINT, "read_io_queued_total" INT, "read_io_issued_total" INT,
    "read_io_completed_total" INT, "read_io_throttled_total" INT, "read_bytes_total" BIGINT, "read_io_stall_total_ms" BIGINT,
    "read_io_stall_queued_ms" BIGINT, "write_io_queued_total" INT, "write_io_issued_total" INT, "write_io_completed_total" INT,
    "write_io_throttled_total" INT, "write_bytes_total" BIGINT, "write_io_stall_total_ms" BIGINT, "write_io_stall_queued_ms" BIGINT,
    "io_issue_violations_total" BIGINT, "io_issue_delay_total_ms" BIGINT, "total_cpu_active_ms" BIGINT,
    "total_cpu_delayed_ms" BIGINT, "total_cpu_violation_delay_ms" BIGINT, "total_cpu_violation_sec" BIGINT,
    "total_cpu_usage_preemptive_ms" BIGINT, "io_issue_ahead_total_ms" BIGINT, "reserved_io_limited_by_volume_total" BIGINT,
    "io_issue_delay_non_throttled_total_ms" BIGINT, "total_cpu_usage_actual_ms" BIGINT,
    "max_vcores" SqlType::Decimal { precision: 5, scale: 2 },
}

/// The pool `default` as it is stored.
struct StoredPool;

system_row!(StoredPool {
    "pool_id" INT => |_| DEFAULT.into();
    "name" NAME => |_| "default".into();
    "min_cpu_percent" INT => |_| 0.into();
    "max_cpu_percent" INT => |_| 100.into();
    "min_memory_percent" INT => |_| 0.into();
    "max_memory_percent" INT => |_| 100.into();
    "cap_cpu_percent" INT => |_| 100.into();
    "min_iops_per_volume" INT => |_| 0.into();
    "max_iops_per_volume" INT => |_| 0.into();
});

/// The resource governor, which is off.
struct Governor;

system_row!(Governor {
    "classifier_function_id" INT => |_| 0.into();
    "is_enabled" BIT => |_| false.into();
    "max_outstanding_io_per_volume" INT => |_| 0.into();
});

/// The group `default`: a limit of 0 is none.
struct Group;

system_row!(Group {
    "group_id" INT => |_| DEFAULT.into();
    "name" NAME => |_| "default".into();
    "importance" NAME => |_| "Medium".into();
    "request_max_memory_grant_percent" INT => |_| 100.into();
    "request_max_cpu_time_sec" INT => |_| 0.into();
    "request_memory_grant_timeout_sec" INT => |_| 0.into();
    "max_dop" INT => |_| 0.into();
    "group_max_requests" INT => |_| 0.into();
    "pool_id" INT => |_| DEFAULT.into();
    "external_pool_id" INT => |_| Value::Null;
    "request_max_memory_grant_percent_numeric" FLOAT => |_| Value::Float(100.0);
});

/// What of the governor is in effect.
struct GovernorState;

system_row!(GovernorState {
    "classifier_function_id" INT => |_| 0.into();
    "is_reconfiguration_pending" BIT => |_| false.into();
    "max_outstanding_io_per_volume" INT => |_| 0.into();
});

/// The group `default` and what it has done.
struct GroupState {
    system: SystemInformation,
    optimizations: u64,
}

system_row!(GroupState {
    "group_id" INT => |_| DEFAULT.into();
    "name" NAME => |_| "default".into();
    "pool_id" INT => |_| DEFAULT.into();
    "external_pool_id" INT => |_| Value::Null;
    "statistics_start_time" DATETIME => |row| datetime(row.system.started);
    "total_request_count" BIGINT => |_| Value::Null;
    "total_queued_request_count" BIGINT => |_| 0_i64.into();
    "active_request_count" INT => |_| Value::Null;
    "queued_request_count" INT => |_| 0.into();
    "total_cpu_limit_violation_count" BIGINT => |_| 0_i64.into();
    "total_cpu_usage_ms" BIGINT => |_| Value::Null;
    "max_request_cpu_time_ms" BIGINT => |_| Value::Null;
    "blocked_task_count" INT => |_| Value::Null;
    "total_lock_wait_count" BIGINT => |_| Value::Null;
    "total_lock_wait_time_ms" BIGINT => |_| Value::Null;
    "total_query_optimization_count" BIGINT => |row| big(row.optimizations);
    "total_suboptimal_plan_generation_count" BIGINT => |_| 0_i64.into();
    "total_reduced_memgrant_count" BIGINT => |_| 0_i64.into();
    "max_request_grant_memory_kb" BIGINT => |_| Value::Null;
    "active_parallel_thread_count" BIGINT => |_| Value::Null;
    "importance" NAME => |_| "Medium".into();
    "request_max_memory_grant_percent" INT => |_| 100.into();
    "request_max_cpu_time_sec" INT => |_| 0.into();
    "request_memory_grant_timeout_sec" INT => |_| 0.into();
    "group_max_requests" INT => |_| 0.into();
    "max_dop" INT => |_| 0.into();
    "effective_max_dop" INT => |_| 0.into();
});
