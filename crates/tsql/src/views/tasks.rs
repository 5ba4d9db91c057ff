//! Requests as tasks, and the threads that serve them: `sys.dm_os_tasks`, `sys.dm_os_workers`, `sys.dm_os_threads`; the waits of sessions,
//! `sys.dm_exec_session_wait_stats`; their pages of tempdb (sql-docs, the pages of the views).
//!
//! A request has one task, one worker and one thread, each named by the number of its session; the operating system schedules them. Figures
//! that are not counted are NULL: context switches, processor time, pages of tempdb.

use engine::types::{Length, SqlType, Value};
use engine::waits::WaitRow;

use super::sessions::{ListedSession, listed_sessions};
use super::values::big;
use super::{BIGINT, BIT, DATETIME, INT, SMALLINT, SystemView, all, nvarchar, system_row, view};
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[
    view::<Task>("sys", "dm_os_tasks", |context, _| all(requests(context).map(Task))),
    view::<Worker>("sys", "dm_os_workers", |context, _| all(requests(context).map(Worker))),
    view::<Thread>("sys", "dm_os_threads", |context, _| all(requests(context).map(Thread))),
    view::<SessionWait>("sys", "dm_exec_session_wait_stats", |context, _| all(waits(context))),
    view::<TaskSpace>("sys", "dm_db_task_space_usage", |context, _| {
        all(requests(context).map(TaskSpace))
    }),
    view::<SessionSpace>("sys", "dm_db_session_space_usage", |context, _| {
        all(listed_sessions(context).into_iter().map(SessionSpace))
    }),
];

const DESCRIPTION: SqlType = nvarchar(60);
const ADDRESS: SqlType = SqlType::VarBinary(Length::Limited(8));

/// What stands for a worker's address; a task's is that of `sys.dm_os_waiting_tasks`.
const WORKER: u8 = 1;
const THREAD: u8 = 2;

fn requests(context: &SystemContext<'_>) -> impl Iterator<Item = ListedSession> {
    listed_sessions(context).into_iter().filter(ListedSession::is_request)
}

fn task_address(listed: &ListedSession) -> Value {
    Value::binary(&listed.session.id.to_be_bytes()[..])
}

fn address(kind: u8, listed: &ListedSession) -> Value {
    let [high, low] = listed.session.id.to_be_bytes();
    Value::binary(&[kind, high, low][..])
}

fn session_id(listed: &ListedSession) -> Value {
    Value::SmallInt(i16::try_from(listed.session.id).unwrap_or(i16::MAX))
}

fn state(listed: &ListedSession) -> Value {
    match listed.lock_wait {
        Some(_) => "SUSPENDED",
        None => "RUNNING",
    }
    .into()
}

struct Task(ListedSession);

system_row!(Task {
    "task_address" ADDRESS => |row| task_address(&row.0);
    "task_state" DESCRIPTION => |row| state(&row.0);
    "context_switches_count" INT => |_| Value::Null;
    "pending_io_count" INT => |_| Value::Null;
    "pending_io_byte_count" BIGINT => |_| Value::Null;
    "pending_io_byte_average" INT => |_| Value::Null;
    "scheduler_id" INT => |_| Value::Null;
    "session_id" SMALLINT => |row| session_id(&row.0);
    "exec_context_id" INT => |_| 0.into();
    "request_id" INT => |_| 0.into();
    "worker_address" ADDRESS => |row| address(WORKER, &row.0);
    "host_address" ADDRESS => |_| Value::binary(&[0][..]);
    "parent_task_address" ADDRESS => |_| Value::Null;
});

struct Worker(ListedSession);

system_row!(Worker {
    "worker_address" ADDRESS => |row| address(WORKER, &row.0);
    "status" INT => |_| Value::Null;
    "is_preemptive" BIT => |_| true.into();
    "is_fiber" BIT => |_| false.into();
    "is_sick" BIT => |_| false.into();
    "is_in_cc_exception" BIT => |_| false.into();
    "is_fatal_exception" BIT => |_| false.into();
    "is_inside_catch" BIT => |_| Value::Null;
    "is_in_polling_io_completion_routine" BIT => |_| false.into();
    "context_switch_count" INT => |_| Value::Null;
    "pending_io_count" INT => |_| Value::Null;
    "pending_io_byte_count" BIGINT => |_| Value::Null;
    "pending_io_byte_average" INT => |_| Value::Null;
    "wait_started_ms_ticks" BIGINT => |_| Value::Null;
    "wait_resumed_ms_ticks" BIGINT => |_| Value::Null;
    "task_bound_ms_ticks" BIGINT => |row| big(row.0.session.request_started_micros / 1000);
    "worker_created_ms_ticks" BIGINT => |_| Value::Null;
    "exception_num" INT => |_| Value::Null;
    "exception_severity" INT => |_| Value::Null;
    "exception_address" ADDRESS => |_| Value::Null;
    "affinity" BIGINT => |_| Value::Null;
    "state" DESCRIPTION => |row| state(&row.0);
    "start_quantum" BIGINT => |_| Value::Null;
    "end_quantum" BIGINT => |_| Value::Null;
    "last_wait_type" DESCRIPTION => |row| row.0.lock_wait.as_deref().into();
    "return_code" INT => |_| Value::Null;
    "quantum_used" BIGINT => |_| Value::Null;
    "max_quantum" BIGINT => |_| Value::Null;
    "boost_count" INT => |_| Value::Null;
    "tasks_processed_count" INT => |_| Value::Null;
    "fiber_address" ADDRESS => |_| Value::Null;
    "task_address" ADDRESS => |row| task_address(&row.0);
    "memory_object_address" ADDRESS => |_| Value::Null;
    "thread_address" ADDRESS => |row| address(THREAD, &row.0);
    "signal_worker_address" ADDRESS => |_| Value::Null;
    "scheduler_address" ADDRESS => |_| Value::Null;
    "processor_group" SMALLINT => |_| Value::SmallInt(0);
});

struct Thread(ListedSession);

system_row!(Thread {
    "thread_address" ADDRESS => |row| address(THREAD, &row.0);
    "started_by_sqlservr" BIT => |_| true.into();
    "os_thread_id" INT => |_| Value::Null;
    "status" INT => |_| Value::Null;
    "instruction_address" ADDRESS => |_| Value::Null;
    "creation_time" DATETIME => |_| Value::Null;
    "kernel_time" BIGINT => |_| Value::Null;
    "usermode_time" BIGINT => |_| Value::Null;
    "stack_base_address" ADDRESS => |_| Value::Null;
    "stack_end_address" ADDRESS => |_| Value::Null;
    "stack_bytes_committed" INT => |_| Value::Null;
    "stack_bytes_used" INT => |_| Value::Null;
    "affinity" BIGINT => |_| Value::Null;
    "priority" INT => |_| Value::Null;
    "locale" INT => |_| Value::Null;
    "token" ADDRESS => |_| Value::Null;
    "is_impersonating" INT => |_| 0.into();
    "is_waiting_on_loader_lock" INT => |_| Value::Null;
    "fiber_data" ADDRESS => |_| Value::Null;
    "thread_handle" ADDRESS => |_| Value::Null;
    "event_handle" ADDRESS => |_| Value::Null;
    "scheduler_address" ADDRESS => |_| Value::Null;
    "worker_address" ADDRESS => |row| address(WORKER, &row.0);
    "fiber_context_address" ADDRESS => |_| Value::Null;
    "self_address" ADDRESS => |_| Value::Null;
    "processor_group" SMALLINT => |_| Value::SmallInt(0);
});

/// What a session has waited for.
struct SessionWait {
    session: Value,
    row: WaitRow,
}

system_row!(SessionWait {
    "session_id" SMALLINT => |row| row.session.clone();
    "wait_type" DESCRIPTION => |row| row.row.wait_type.name().into();
    "waiting_tasks_count" BIGINT => |row| big(row.row.waiting_tasks);
    "wait_time_ms" BIGINT => |row| big(row.row.wait_micros / 1000);
    "max_wait_time_ms" BIGINT => |row| big(row.row.wait_micros_max / 1000);
    "signal_wait_time_ms" BIGINT => |row| big(row.row.signal_micros / 1000);
});

/// Kinds of waits that a session has not met have no row.
fn waits(context: &SystemContext<'_>) -> Vec<SessionWait> {
    let mut rows = Vec::new();
    for listed in listed_sessions(context) {
        let Some(description) = context.instance.session_description(listed.session.id) else {
            continue;
        };
        let met = description.waits().rows().into_iter();
        rows.extend(met.filter(|row| row.waiting_tasks > 0).map(|row| SessionWait {
            session: session_id(&listed),
            row,
        }));
    }
    rows
}

/// The database whose pages both views count: "This view is applicable only to the tempdb database" (sql-docs).
const TEMPDB: i16 = 2;

struct TaskSpace(ListedSession);

system_row!(TaskSpace {
    "task_address" ADDRESS => |row| task_address(&row.0);
    "is_remote_task" BIT => |_| false.into();
    "session_id" SMALLINT => |row| session_id(&row.0);
    "request_id" INT => |_| 0.into();
    "exec_context_id" INT => |_| 0.into();
    "database_id" INT => |_| i32::from(TEMPDB).into();
    "user_objects_alloc_page_count" BIGINT => |_| Value::Null;
    "user_objects_dealloc_page_count" BIGINT => |_| Value::Null;
    "internal_objects_alloc_page_count" BIGINT => |_| Value::Null;
    "internal_objects_dealloc_page_count" BIGINT => |_| Value::Null;
});

struct SessionSpace(ListedSession);

system_row!(SessionSpace {
    "session_id" SMALLINT => |row| session_id(&row.0);
    "database_id" SMALLINT => |_| Value::SmallInt(TEMPDB);
    "user_objects_alloc_page_count" BIGINT => |_| Value::Null;
    "user_objects_dealloc_page_count" BIGINT => |_| Value::Null;
    "internal_objects_alloc_page_count" BIGINT => |_| Value::Null;
    "internal_objects_dealloc_page_count" BIGINT => |_| Value::Null;
    "user_objects_deferred_dealloc_page_count" BIGINT => |_| Value::Null;
});
