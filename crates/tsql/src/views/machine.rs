//! The machine and the process: operating system, memory, nodes, schedulers, drives, services (sql-docs, "SQL Server operating system
//! related dynamic management views").
//!
//! The machine's total resources are not read: memory figures are the instance's limit and use.

use std::collections::BTreeSet;
use std::path::Path;

use disk::FileKind;
use engine::page::PAGE_BYTES;
use engine::seams::DateTimeTicks;
use engine::types::{Length, SqlType, Value};

use super::server::SystemInformation;
use super::sessions::{ListedSession, listed_sessions};
use super::values::{big, datetime};
use super::{
    BIGINT, BIT, DATETIME, INT, Rows, SMALLINT, SystemView, TINYINT, all, function, nvarchar, system_row, view,
};
use crate::plan_cache::{PlanCache, PlanKind};
use crate::views::SystemContext;

const DESCRIPTION: SqlType = nvarchar(60);

pub(super) const VIEWS: &[SystemView] = &[
    view::<Host>("sys", "dm_os_host_info", |_, _| all([Host])),
    view::<Windows>(
        "sys",
        "dm_os_windows_info",
        |_, _| all(cfg!(windows).then_some(Windows)),
    ),
    view::<BufferPoolExtension>("sys", "dm_os_buffer_pool_extension_configuration", |_, _| {
        all([BufferPoolExtension])
    }),
    view::<Listener>("sys", "dm_tcp_listener_states", |context, _| all(listeners(context))),
    view::<SystemMemory>("sys", "dm_os_sys_memory", |context, _| {
        all([SystemMemory(SystemInformation::of(context))])
    }),
    view::<ProcessMemory>("sys", "dm_os_process_memory", |context, _| {
        all([ProcessMemory(SystemInformation::of(context))])
    }),
    view::<Node>("sys", "dm_os_nodes", |context, _| {
        all([Node(SystemInformation::of(context).processors)])
    }),
    view::<MemoryNode>("sys", "dm_os_memory_nodes", |context, _| {
        all([MemoryNode(SystemInformation::of(context))])
    }),
    view::<MemoryClerk>("sys", "dm_os_memory_clerks", |context, _| all(clerks(context))),
    view::<Scheduler>("sys", "dm_os_schedulers", |context, _| {
        all((0..SystemInformation::of(context).processors).map(Scheduler))
    }),
    view::<Drive>("sys", "dm_os_enumerate_fixed_drives", |context, _| {
        let free_bytes = context.instance.env.disk.available_bytes(context.instance.folder());
        all([Drive(free_bytes.unwrap_or(0))])
    }),
    function::<PathFacts>("dm_os_file_exists", &[nvarchar(256)], 1, file_exists),
    view::<Service>("sys", "dm_server_services", services),
    view::<WaitingTask>("sys", "dm_os_waiting_tasks", |context, _| {
        let waiting = listed_sessions(context)
            .into_iter()
            .filter(|listed| listed.lock_wait.is_some());
        all(waiting.map(WaitingTask))
    }),
];

struct Host;

system_row!(Host {
    "host_platform" nvarchar(256) => |_| if cfg!(windows) { "Windows" } else { "Linux" }.into();
    "host_distribution" nvarchar(256) => |_| match disk::host().distribution.as_str() {
        "" => std::env::consts::OS,
        distribution => distribution,
    }.into();
    "host_release" nvarchar(256) => |_| disk::host().release.as_str().into();
    "host_service_pack_level" nvarchar(256) => |_| "".into();
    "host_sku" INT => |_| Value::Null;
    "os_language_version" INT => |_| 0.into();
    "host_architecture" nvarchar(256) => |_| std::env::consts::ARCH.into();
});

/// Windows, where the server runs on it; its release is not asked for.
struct Windows;

system_row!(Windows {
    "windows_release" nvarchar(256) => |_| "".into();
    "windows_service_pack_level" nvarchar(256) => |_| "".into();
    "windows_sku" INT => |_| Value::Null;
    "os_language_version" INT => |_| 0.into();
});

/// The extension of the buffer pool on fast disks, which there is not (sql-docs, "sys.dm_os_buffer_pool_extension_configuration").
struct BufferPoolExtension;

system_row!(BufferPoolExtension {
    "path" nvarchar(256) => |_| Value::Null;
    "file_id" INT => |_| Value::Null;
    "state" INT => |_| 0.into();
    "state_description" DESCRIPTION => |_| "BUFFER POOL EXTENSION DISABLED".into();
    "current_size_in_kb" BIGINT => |_| 0_i64.into();
});

/// An address and port that sessions are connected to (sql-docs, "sys.dm_tcp_listener_states"). A listener without a session is not among
/// them, because sockets belong to the server around the instance.
struct Listener {
    number: i32,
    address: String,
    port: u16,
    started: DateTimeTicks,
}

system_row!(Listener {
    "listener_id" INT => |row| row.number.into();
    "ip_address" nvarchar(48) => |row| row.address.as_str().into();
    "is_ipv4" BIT => |row| (!row.address.contains(':')).into();
    "port" INT => |row| i32::from(row.port).into();
    "type" TINYINT => |_| Value::TinyInt(0);
    "type_desc" nvarchar(20) => |_| "TSQL".into();
    "state" TINYINT => |_| Value::TinyInt(0);
    "state_desc" nvarchar(16) => |_| "ONLINE".into();
    "start_time" DATETIME => |row| datetime(row.started);
});

fn listeners(context: &SystemContext<'_>) -> Vec<Listener> {
    let local = listed_sessions(context)
        .into_iter()
        .map(|listed| listed.session.connection.local.clone())
        .filter(|(_, port)| *port != 0);
    let distinct: BTreeSet<(String, u16)> = local.collect();
    let row = |(number, (address, port))| Listener {
        number,
        address,
        port,
        started: context.instance.started,
    };
    (1..).zip(distinct).map(row).collect()
}

struct SystemMemory(SystemInformation);

impl SystemMemory {
    fn available_kb(&self) -> u64 {
        self.0.memory_kb.saturating_sub(self.0.committed_kb)
    }
}

system_row!(SystemMemory {
    "total_physical_memory_kb" BIGINT => |row| big(row.0.memory_kb);
    "available_physical_memory_kb" BIGINT => |row| big(row.available_kb());
    "total_page_file_kb" BIGINT => |row| big(row.0.memory_kb);
    "available_page_file_kb" BIGINT => |row| big(row.available_kb());
    "system_cache_kb" BIGINT => |_| 0_i64.into();
    "kernel_paged_pool_kb" BIGINT => |_| 0_i64.into();
    "kernel_nonpaged_pool_kb" BIGINT => |_| 0_i64.into();
    "system_high_memory_signal_state" BIT => |row| (row.available_kb() > 0).into();
    "system_low_memory_signal_state" BIT => |row| (row.available_kb() == 0).into();
    "system_memory_state_desc" nvarchar(256) => |row| match row.available_kb() {
        0 => "Available physical memory is low",
        _ => "Available physical memory is high",
    }.into();
});

struct ProcessMemory(SystemInformation);

system_row!(ProcessMemory {
    "physical_memory_in_use_kb" BIGINT => |row| big(row.0.committed_kb);
    "large_page_allocations_kb" BIGINT => |_| 0_i64.into();
    "locked_page_allocations_kb" BIGINT => |_| 0_i64.into();
    "total_virtual_address_space_kb" BIGINT => |row| big(row.0.memory_kb);
    "virtual_address_space_reserved_kb" BIGINT => |row| big(row.0.target_kb);
    "virtual_address_space_committed_kb" BIGINT => |row| big(row.0.committed_kb);
    "virtual_address_space_available_kb" BIGINT => |row| big(row.0.memory_kb.saturating_sub(row.0.target_kb));
    "page_fault_count" BIGINT => |_| 0_i64.into();
    "memory_utilization_percentage" INT => |row| {
        i32::try_from(row.0.committed_kb * 100 / row.0.target_kb.max(1)).unwrap_or(100).min(100).into()
    };
    "available_commit_limit_kb" BIGINT => |row| big(row.0.memory_kb.saturating_sub(row.0.committed_kb));
    "process_physical_memory_low" BIT => |_| false.into();
    "process_virtual_memory_low" BIT => |_| false.into();
});

/// The one node, with all processors.
struct Node(i32);

system_row!(Node {
    "node_id" SMALLINT => |_| Value::SmallInt(0);
    "node_state_desc" nvarchar(256) => |_| "ONLINE".into();
    "memory_object_address" SqlType::VarBinary(Length::Limited(8)) => |_| Value::Null;
    "memory_clerk_address" SqlType::VarBinary(Length::Limited(8)) => |_| Value::Null;
    "io_completion_worker_address" SqlType::VarBinary(Length::Limited(8)) => |_| Value::Null;
    "memory_node_id" SMALLINT => |_| Value::SmallInt(0);
    "cpu_affinity_mask" BIGINT => |row| (1_i64.checked_shl(row.0 as u32).unwrap_or(0) - 1).into();
    "online_scheduler_count" SMALLINT => |row| Value::SmallInt(row.0 as i16);
    "idle_scheduler_count" SMALLINT => |_| Value::SmallInt(0);
    "active_worker_count" INT => |_| 0.into();
    "avg_load_balance" INT => |_| 0.into();
    "timer_task_affinity_mask" BIGINT => |_| 0_i64.into();
    "permanent_task_affinity_mask" BIGINT => |_| 0_i64.into();
    "resource_monitor_state" BIT => |_| false.into();
    "online_scheduler_mask" BIGINT => |row| (1_i64.checked_shl(row.0 as u32).unwrap_or(0) - 1).into();
    "processor_group" SMALLINT => |_| Value::SmallInt(0);
    "cpu_count" INT => |row| row.0.into();
});

/// The one node, with all memory.
struct MemoryNode(SystemInformation);

system_row!(MemoryNode {
    "memory_node_id" SMALLINT => |_| Value::SmallInt(0);
    "virtual_address_space_reserved_kb" BIGINT => |row| big(row.0.target_kb);
    "virtual_address_space_committed_kb" BIGINT => |row| big(row.0.committed_kb);
    "locked_page_allocations_kb" BIGINT => |_| 0_i64.into();
    "pages_kb" BIGINT => |row| big(row.0.committed_kb);
    "shared_memory_reserved_kb" BIGINT => |_| 0_i64.into();
    "shared_memory_committed_kb" BIGINT => |_| 0_i64.into();
    "cpu_affinity_mask" BIGINT => |row| (1_i64.checked_shl(row.0.processors as u32).unwrap_or(0) - 1).into();
    "online_scheduler_mask" BIGINT => |row| (1_i64.checked_shl(row.0.processors as u32).unwrap_or(0) - 1).into();
    "processor_group" SMALLINT => |_| Value::SmallInt(0);
    "foreign_committed_kb" BIGINT => |_| 0_i64.into();
    "target_kb" BIGINT => |row| big(row.0.target_kb);
});

/// What holds the memory that the instance accounts for: pages, plans, and whatever else sessions asked for.
struct MemoryClerk {
    number: u64,
    kind: &'static str,
    name: &'static str,
    kb: u64,
}

system_row!(MemoryClerk {
    "memory_clerk_address" SqlType::VarBinary(Length::Limited(8)) => |row| Value::binary(&row.number.to_be_bytes()[..]);
    "type" DESCRIPTION => |row| row.kind.into();
    "name" nvarchar(256) => |row| row.name.into();
    "memory_node_id" SMALLINT => |_| Value::SmallInt(0);
    "pages_kb" BIGINT => |row| big(row.kb);
    "virtual_memory_reserved_kb" BIGINT => |_| 0_i64.into();
    "virtual_memory_committed_kb" BIGINT => |_| 0_i64.into();
    "awe_allocated_kb" BIGINT => |_| 0_i64.into();
    "shared_memory_reserved_kb" BIGINT => |_| 0_i64.into();
    "shared_memory_committed_kb" BIGINT => |_| 0_i64.into();
    "page_size_in_bytes" BIGINT => |_| 8_192_i64.into();
    "page_allocator_address" SqlType::VarBinary(Length::Limited(8)) => |_| Value::Null;
    "host_address" SqlType::VarBinary(Length::Limited(8)) => |_| Value::Null;
});

fn clerks(context: &SystemContext<'_>) -> Vec<MemoryClerk> {
    let plans = PlanCache::of(context.instance).all();
    let bytes_of = |is_module: bool| -> u64 {
        let kept = plans
            .iter()
            .filter(|plan| (plan.kind() == PlanKind::Module) == is_module);
        kept.map(|plan| plan.bytes()).sum()
    };
    let (texts, modules) = (bytes_of(false), bytes_of(true));
    let pages = context.instance.pool.counters().frames_used as u64 * PAGE_BYTES as u64;
    // Plans are asked for from the same account as the rest.
    let others = context.instance.workspace.used_bytes().saturating_sub(texts + modules);
    let clerks = [
        ("MEMORYCLERK_SQLBUFFERPOOL", "Default", pages),
        ("CACHESTORE_SQLCP", "SQL Plans", texts),
        ("CACHESTORE_OBJCP", "Object Plans", modules),
        ("MEMORYCLERK_SQLQUERYEXEC", "Default", others),
    ];
    let numbered = clerks.into_iter().zip(1..);
    let row = |((kind, name, bytes), number): ((&'static str, &'static str, u64), u64)| MemoryClerk {
        number,
        kind,
        name,
        kb: bytes.div_ceil(1024),
    };
    numbered.map(row).collect()
}

/// A processor. The operating system schedules: nothing waits here.
struct Scheduler(i32);

system_row!(Scheduler {
    "scheduler_address" SqlType::VarBinary(Length::Limited(8)) => |row| Value::binary(&row.0.to_be_bytes()[..]);
    "parent_node_id" INT => |_| 0.into();
    "scheduler_id" INT => |row| row.0.into();
    "cpu_id" SMALLINT => |row| Value::SmallInt(row.0 as i16);
    "status" DESCRIPTION => |_| "VISIBLE ONLINE".into();
    "is_online" BIT => |_| true.into();
    "is_idle" BIT => |_| false.into();
    "preemptive_switches_count" INT => |_| 0.into();
    "context_switches_count" INT => |_| 0.into();
    "idle_switches_count" INT => |_| 0.into();
    "current_tasks_count" INT => |_| 0.into();
    "runnable_tasks_count" INT => |_| 0.into();
    "current_workers_count" INT => |_| 0.into();
    "active_workers_count" INT => |_| 0.into();
    "work_queue_count" BIGINT => |_| 0_i64.into();
    "pending_disk_io_count" INT => |_| 0.into();
    "load_factor" INT => |_| 0.into();
    "yield_count" INT => |_| 0.into();
    "failed_to_create_worker" BIT => |_| false.into();
});

/// Bytes free where the instance's folder is.
struct Drive(u64);

system_row!(Drive {
    "fixed_drive_path" nvarchar(256) => |_| "/".into();
    "drive_type" INT => |_| 3.into();
    "drive_type_desc" nvarchar(512) => |_| "DRIVE_FIXED".into();
    "free_space_in_bytes" BIGINT => |row| big(row.0);
});

struct Service {
    started: engine::seams::DateTimeTicks,
}

system_row!(Service {
    "servicename" nvarchar(256) => |_| "SQL Server (MSSQLSERVER)".into();
    "startup_type" INT => |_| 3.into();
    "startup_type_desc" nvarchar(256) => |_| "Manual".into();
    "status" INT => |_| 4.into();
    "status_desc" nvarchar(256) => |_| "Running".into();
    "process_id" INT => |_| i32::try_from(std::process::id()).unwrap_or(0).into();
    "last_startup_time" DATETIME => |row| datetime(row.started);
    "service_account" nvarchar(256) => |_| Value::Null;
    "filename" nvarchar(256) => |_| Value::Null;
    "is_clustered" nvarchar(1) => |_| "N".into();
    "cluster_nodename" nvarchar(256) => |_| Value::Null;
    "instant_file_initialization_enabled" nvarchar(1) => |_| "Y".into();
});

fn services(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    all([Service {
        started: context.instance.started,
    }])
}

struct WaitingTask(ListedSession);

system_row!(WaitingTask {
    "waiting_task_address" SqlType::VarBinary(Length::Limited(8)) => |row| Value::binary(&row.0.session.id.to_be_bytes()[..]);
    "session_id" SMALLINT => |row| Value::SmallInt(row.0.session.id as i16);
    "exec_context_id" INT => |_| 0.into();
    "wait_duration_ms" BIGINT => |_| Value::Null;
    "wait_type" DESCRIPTION => |row| row.0.lock_wait.as_deref().into();
    "resource_address" SqlType::VarBinary(Length::Limited(8)) => |row| row.0.lock_address.clone().unwrap_or(Value::Null);
    "blocking_task_address" SqlType::VarBinary(Length::Limited(8)) => |_| Value::Null;
    "blocking_session_id" SMALLINT => |row| match row.0.blocked_by {
        0 => Value::Null,
        holder => Value::SmallInt(holder as i16),
    };
    "blocking_exec_context_id" INT => |_| Value::Null;
    "resource_description" nvarchar(3072) => |_| Value::Null;
});

/// What is known of a path.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PathFacts {
    pub(crate) is_file: bool,
    pub(crate) is_folder: bool,
    /// Whether the folder exists that it lies in, or would lie in.
    pub(crate) has_parent: bool,
}

impl PathFacts {
    /// Looks at the path of a script. Paths that no statement may use do not exist.
    pub(crate) fn of(context: &SystemContext<'_>, name: &str) -> PathFacts {
        let Ok(path) = context.instance.resolve_folder(name) else {
            return PathFacts::default();
        };
        let disk = &context.instance.env.disk;
        let kind_of = |path: &Path| disk.look(path).ok().flatten().map(|found| found.kind);
        let found = kind_of(&path);
        let parent = || path.parent().and_then(kind_of);
        PathFacts {
            is_file: found == Some(FileKind::Regular),
            is_folder: found == Some(FileKind::Directory),
            has_parent: found.is_some() || parent() == Some(FileKind::Directory),
        }
    }
}

system_row!(PathFacts {
    "file_exists" INT => |row| i32::from(row.is_file).into();
    "file_is_a_directory" INT => |row| i32::from(row.is_folder).into();
    "parent_directory_exists" INT => |row| i32::from(row.has_parent).into();
});

/// One row, as of `xp_fileexist`; nothing is there outside of the folders that the server may use.
fn file_exists(context: &SystemContext<'_>, arguments: &[Value]) -> Rows {
    let name = arguments.first().and_then(Value::as_str).unwrap_or_default();
    all([PathFacts::of(context, name)])
}
