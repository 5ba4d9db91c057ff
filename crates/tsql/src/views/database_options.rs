//! Database settings outside sys.databases: `sys.database_scoped_configurations`, `sys.database_query_store_options` (sql-docs, the pages
//! of the views; numbers of configurations as SQL Server 2022 lists them).
//!
//! A configuration is listed if ALTER DATABASE SCOPED CONFIGURATION accepts it, with its only accepted value, which describes how this
//! engine works.

use engine::types::{SqlType, Value};

use crate::scalar::convert::convert;

use super::{BIGINT, BIT, INT, SMALLINT, SystemView, all, nvarchar, system_row, view};

pub(super) const VIEWS: &[SystemView] = &[
    view::<Configuration>("sys", "database_scoped_configurations", |_, _| {
        all(CONFIGURATIONS.iter().map(Configuration))
    }),
    view::<QueryStore>("sys", "database_query_store_options", |_, _| all([QueryStore])),
];

/// Number, name and value. A test compares them with what the grammar takes.
const CONFIGURATIONS: &[(i32, &str, i32)] = &[
    (1, "MAXDOP", 0),
    (2, "LEGACY_CARDINALITY_ESTIMATION", 0),
    (3, "PARAMETER_SNIFFING", 1),
    (4, "QUERY_OPTIMIZER_HOTFIXES", 0),
    (6, "IDENTITY_CACHE", 1),
    (7, "INTERLEAVED_EXECUTION_TVF", 1),
    (8, "BATCH_MODE_MEMORY_GRANT_FEEDBACK", 1),
    (9, "BATCH_MODE_ADAPTIVE_JOINS", 1),
    (10, "TSQL_SCALAR_UDF_INLINING", 1),
    (11, "ELEVATE_ONLINE", 0),
    (12, "ELEVATE_RESUMABLE", 0),
    (13, "OPTIMIZE_FOR_AD_HOC_WORKLOADS", 0),
    (14, "XTP_PROCEDURE_EXECUTION_STATISTICS", 0),
    (15, "XTP_QUERY_EXECUTION_STATISTICS", 0),
    (16, "ROW_MODE_MEMORY_GRANT_FEEDBACK", 1),
    (17, "ISOLATE_SECURITY_POLICY_CARDINALITY", 0),
    (18, "BATCH_MODE_ON_ROWSTORE", 1),
    (19, "DEFERRED_COMPILATION_TV", 1),
    (20, "ACCELERATED_PLAN_FORCING", 1),
    (21, "GLOBAL_TEMPORARY_TABLE_AUTO_DROP", 1),
    (22, "LIGHTWEIGHT_QUERY_PROFILING", 1),
    (23, "VERBOSE_TRUNCATION_WARNINGS", 1),
    (24, "LAST_QUERY_PLAN_STATS", 0),
    (37, "DOP_FEEDBACK", 0),
];

struct Configuration(&'static (i32, &'static str, i32));

system_row!(Configuration {
    "configuration_id" INT => |row| row.0.0.into();
    "name" nvarchar(60) => |row| row.0.1.into();
    "value" SqlType::SqlVariant => |row| {
        convert(&row.0.2.into(), SqlType::Int, SqlType::SqlVariant, None).expect("any whole number can be a variant")
    };
    "value_for_secondary" SqlType::SqlVariant => |_| Value::Null;
    "is_value_default" BIT => |_| true.into();
});

/// There is no query store: it is off, and what it would be set to is not known.
struct QueryStore;

system_row!(QueryStore {
    "desired_state" SMALLINT => |_| Value::SmallInt(0);
    "desired_state_desc" nvarchar(60) => |_| "OFF".into();
    "actual_state" SMALLINT => |_| Value::SmallInt(0);
    "actual_state_desc" nvarchar(60) => |_| "OFF".into();
    "readonly_reason" INT => |_| 0.into();
    "current_storage_size_mb" BIGINT => |_| 0_i64.into();
    "flush_interval_seconds" BIGINT => |_| Value::Null;
    "interval_length_minutes" BIGINT => |_| Value::Null;
    "max_storage_size_mb" BIGINT => |_| Value::Null;
    "stale_query_threshold_days" BIGINT => |_| Value::Null;
    "max_plans_per_query" BIGINT => |_| Value::Null;
    "query_capture_mode" SMALLINT => |_| Value::Null;
    "query_capture_mode_desc" nvarchar(60) => |_| Value::Null;
    "capture_policy_execution_count" INT => |_| Value::Null;
    "capture_policy_total_compile_cpu_time_ms" BIGINT => |_| Value::Null;
    "capture_policy_total_execution_cpu_time_ms" BIGINT => |_| Value::Null;
    "capture_policy_stale_threshold_hours" INT => |_| Value::Null;
    "size_based_cleanup_mode" SMALLINT => |_| Value::Null;
    "size_based_cleanup_mode_desc" nvarchar(60) => |_| Value::Null;
    "wait_stats_capture_mode" SMALLINT => |_| Value::Null;
    "wait_stats_capture_mode_desc" nvarchar(60) => |_| Value::Null;
    "actual_state_additional_info" nvarchar(4000) => |_| Value::Null;
});
