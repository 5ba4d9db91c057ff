//! The server as a whole: waits, memory and processors, the list of messages.

use engine::types::{Length, SqlType, Value};
use engine::waits::WaitRow;

use super::values::{big, datetime};
use super::{BIGINT, BIT, DATETIME, INT, NAME, SMALLINT, SystemView, TINYINT, all, nvarchar, system_row, view};
use crate::scalar::language::{LANGUAGES, Language};
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[
    view::<WaitRow>("sys", "dm_os_wait_stats", |context, _| {
        all(context.instance.env.waits.rows())
    }),
    view::<SystemInformation>("sys", "dm_os_sys_info", |context, _| {
        all([SystemInformation::of(context)])
    }),
    view::<ServerRow>("sys", "servers", |context, _| {
        all([ServerRow(context.instance.options.server_name.clone())])
    }),
    view::<LanguageRow>("sys", "syslanguages", |_, _| all(LANGUAGES.iter().map(LanguageRow))),
    view::<MessageRow>("sys", "messages", |_, _| all(MESSAGES.iter().map(MessageRow))),
];

system_row!(WaitRow {
    "wait_type" nvarchar(60) => |row| row.wait_type.name().into();
    "waiting_tasks_count" BIGINT => |row| big(row.waiting_tasks);
    "wait_time_ms" BIGINT => |row| big(row.wait_micros / 1000);
    "max_wait_time_ms" BIGINT => |row| big(row.wait_micros_max / 1000);
    "signal_wait_time_ms" BIGINT => |row| big(row.signal_micros / 1000);
});

pub(super) struct SystemInformation {
    pub(super) started: engine::seams::DateTimeTicks,
    up_ms: u64,
    ticks_ms: u64,
    /// What the instance may have at most.
    pub(super) memory_kb: u64,
    pub(super) committed_kb: u64,
    pub(super) target_kb: u64,
    pub(super) processors: i32,
}

impl SystemInformation {
    pub(super) fn of(context: &SystemContext<'_>) -> SystemInformation {
        let instance = context.instance;
        let up_micros = instance
            .env
            .clock
            .unix_micros()
            .saturating_sub(instance.started.unix_micros());
        SystemInformation {
            started: instance.started,
            up_ms: up_micros / 1000,
            ticks_ms: instance.env.clock.now_micros() / 1000,
            memory_kb: instance.options.max_server_memory_bytes >> 10,
            committed_kb: instance.server_memory_used_bytes() >> 10,
            target_kb: instance.server_memory_bytes() >> 10,
            processors: std::thread::available_parallelism().map_or(1, |count| count.get() as i32),
        }
    }
}

system_row!(SystemInformation {
    "cpu_ticks" BIGINT => |row| big(row.ticks_ms * 1_000_000);
    "ms_ticks" BIGINT => |row| big(row.ticks_ms);
    "cpu_count" INT => |row| row.processors.into();
    "hyperthread_ratio" INT => |_| 1.into();
    "physical_memory_kb" BIGINT => |row| big(row.memory_kb);
    "virtual_memory_kb" BIGINT => |row| big(row.memory_kb);
    "committed_kb" BIGINT => |row| big(row.committed_kb);
    "committed_target_kb" BIGINT => |row| big(row.target_kb);
    "max_workers_count" INT => |_| 512.into();
    "scheduler_count" INT => |row| row.processors.into();
    "scheduler_total_count" INT => |row| row.processors.into();
    "sqlserver_start_time_ms_ticks" BIGINT => |row| big(row.ticks_ms.saturating_sub(row.up_ms));
    "sqlserver_start_time" DATETIME => |row| datetime(row.started);
    "affinity_type" INT => |_| 2.into();
    "affinity_type_desc" nvarchar(60) => |_| "AUTO".into();
    "virtual_machine_type" INT => |_| 0.into();
    "virtual_machine_type_desc" nvarchar(60) => |_| "NONE".into();
    "softnuma_configuration" INT => |_| 0.into();
    "softnuma_configuration_desc" nvarchar(60) => |_| "OFF".into();
    "process_physical_affinity" nvarchar(3072) => |_| Value::Null;
    "sql_memory_model" INT => |_| 1.into();
    "sql_memory_model_desc" nvarchar(60) => |_| "CONVENTIONAL".into();
    "container_type" INT => |_| 0.into();
    "container_type_desc" nvarchar(60) => |_| "NONE".into();
    "socket_count" INT => |_| 1.into();
    "cores_per_socket" INT => |row| row.processors.into();
    "numa_node_count" INT => |_| 1.into();
});

struct ServerRow(String);

system_row!(ServerRow {
    "server_id" INT => |_| 0.into();
    "name" NAME => |row| row.0.as_str().into();
    "product" NAME => |_| "SQL Server".into();
    "provider" NAME => |_| "SQLNCLI".into();
    "data_source" nvarchar(4000) => |row| row.0.as_str().into();
    "location" nvarchar(4000) => |_| Value::Null;
    "provider_string" nvarchar(4000) => |_| Value::Null;
    "catalog" NAME => |_| Value::Null;
    "is_linked" BIT => |_| false.into();
    "is_remote_login_enabled" BIT => |_| false.into();
    "is_data_access_enabled" BIT => |_| false.into();
});

struct LanguageRow(&'static Language);

system_row!(LanguageRow {
    "langid" SMALLINT => |row| Value::SmallInt(i16::from(row.0.id));
    "dateformat" SqlType::NChar(3) => |row| row.0.order.name().into();
    "datefirst" TINYINT => |row| Value::TinyInt(row.0.date_first);
    "upgrade" INT => |_| 0.into();
    "name" NAME => |row| row.0.name.into();
    "alias" NAME => |row| row.0.alias.into();
    "months" nvarchar(372) => |row| row.0.months.into();
    "shortmonths" nvarchar(132) => |row| row.0.short_months.into();
    "days" nvarchar(217) => |row| row.0.days.into();
    "lcid" INT => |row| row.0.lcid.into();
    "msglangid" SMALLINT => |row| Value::SmallInt(row.0.message_language);
});

/// Messages that monitoring asks for by number: id, severity, whether it goes to the error log, text (sql-docs, "Database
/// Engine events and errors").
const MESSAGES: [(i32, u8, bool, &str); 12] = [
    (
        823,
        24,
        true,
        "The operating system returned error %ls to SQL Server during a %S_MSG at offset %#016I64x in file '%ls'.",
    ),
    (
        824,
        24,
        true,
        "SQL Server detected a logical consistency-based I/O error: %ls.",
    ),
    (
        911,
        16,
        false,
        "Database '%.*ls' does not exist. Make sure that the name is entered correctly.",
    ),
    (
        1205,
        13,
        false,
        "Transaction (Process ID %d) was deadlocked on %.*ls resources with another process and has been chosen as the deadlock victim. Rerun the transaction.",
    ),
    (1222, 16, false, "Lock request time out period exceeded."),
    (3013, 16, false, "%hs is terminating abnormally."),
    (
        5145,
        10,
        true,
        "Autogrow of file '%.*ls' in database '%.*ls' took %d milliseconds.  Consider using ALTER DATABASE to set a smaller FILEGROWTH for this file.",
    ),
    (9001, 21, true, "The log for database '%.*ls' is not available."),
    (
        9002,
        17,
        true,
        "The transaction log for database '%ls' is full due to '%ls'.",
    ),
    (
        9008,
        10,
        false,
        "Cannot shrink log file %d (%s) because the logical log file located at the end of the file is in use.",
    ),
    (
        9017,
        10,
        true,
        "Database %ls has more than %d virtual log files which is excessive. Too many virtual log files can cause long startup and backup times. Consider shrinking the log and using a different growth increment to reduce the number of virtual log files.",
    ),
    (17063, 16, true, "Error: %d Severity: %d State: %d %s"),
];

struct MessageRow(&'static (i32, u8, bool, &'static str));

system_row!(MessageRow {
    "message_id" INT => |row| row.0.0.into();
    "language_id" SMALLINT => |_| Value::SmallInt(1033);
    "severity" TINYINT => |row| Value::TinyInt(row.0.1);
    "is_event_logged" BIT => |row| row.0.2.into();
    "text" SqlType::NVarChar(Length::Limited(2048)) => |row| row.0.3.into();
});
