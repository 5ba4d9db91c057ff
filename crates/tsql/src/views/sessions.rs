//! Sessions, their requests and their locks (sql-docs, `sys.dm_exec_sessions`, `sys.dm_exec_requests`,
//! `sys.dm_exec_connections`, `sys.dm_tran_locks`).

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use engine::activity::Work;
use engine::instance::{DatabaseSlot, SessionInformation, USER_SESSION_FIRST};
use engine::lock::{Account, LockRow, Resource};
use engine::seams::WorkKind;
use engine::types::{Length, SqlType, Text, Value};

use super::indexes::{RowHolder, RowHolders};
use super::values::{big, datetime};
use super::{
    BIGINT, BIT, DATETIME, GUID, INT, NAME, REAL, Rows, SID, SMALLINT, SystemView, all, nvarchar, system_row, varchar,
    view,
};
use crate::plan_cache::{CachedPlan, PlanCache};
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[
    view::<SessionRow>("sys", "dm_exec_sessions", |context, _| {
        all(listed_sessions(context).into_iter().map(SessionRow))
    }),
    view::<RequestRow>("sys", "dm_exec_requests", |context, _| {
        let own = background(context);
        let requests = listed_sessions(context).into_iter().filter(ListedSession::is_request);
        let plans = PlanCache::of(context.instance).all();
        all(own.into_iter().chain(requests).map(move |listed| RequestRow {
            plan: plan_of(&listed.session, &plans),
            listed,
        }))
    }),
    view::<ConnectionRow>("sys", "dm_exec_connections", |context, _| {
        all(listed_sessions(context).into_iter().map(ConnectionRow))
    }),
    view::<ProcessRow>("sys", "sysprocesses", |context, _| {
        all(listed_sessions(context).into_iter().map(ProcessRow))
    }),
    view::<LockLine>("sys", "dm_tran_locks", |context, _| locks(context)),
    super::function::<TextRow>(
        "dm_exec_sql_text",
        &[SqlType::VarBinary(Length::Limited(64))],
        1,
        sql_text,
    ),
    super::function::<BufferRow>("dm_exec_input_buffer", &[SMALLINT, INT], 1, input_buffer),
];

/// A session and whom it waits for.
pub(crate) struct ListedSession {
    pub(crate) session: SessionInformation,
    /// The session that holds what it waits for; 0 for none.
    pub(crate) blocked_by: u16,
    /// The wait type of the lock it waits for.
    pub(crate) lock_wait: Option<String>,
    /// The address of that lock.
    pub(crate) lock_address: Option<Value>,
    elapsed_ms: u64,
    /// The long work of its request, and what that consists of at the moment.
    work: Option<(Arc<Work>, Arc<Work>)>,
    work_left_ms: u64,
}

/// Every session. A session that has described itself no further is the one that asks, or one just begun.
pub(crate) fn listed_sessions(context: &SystemContext<'_>) -> Vec<ListedSession> {
    let rows = context.instance.locks.rows();
    let sessions = context.instance.sessions();
    let now = context.instance.env.clock.now_micros();
    let works = context.instance.env.activity.works();
    let session_of = |owner: u64| {
        sessions
            .iter()
            .find(|session| session.lock_owner == owner)
            .map_or(0, |session| session.id)
    };
    let listed = sessions.iter().map(|session| {
        let waiting = rows.iter().find(|row| row.owner == session.lock_owner && !row.granted);
        let holder = waiting.and_then(|waiting| {
            rows.iter()
                .find(|row| row.granted && row.resource == waiting.resource && row.owner != waiting.owner)
        });
        let mut session = session.clone();
        if session.id == context.session_id {
            session.running = true;
            session.host = context.host.to_owned();
            session.application = context.application.to_owned();
        }
        let work = outer_and_inner(&works, |work| work.session == Some(session.id));
        ListedSession {
            work_left_ms: left_ms(&work, now),
            work,
            blocked_by: holder.map_or(0, |row| session_of(row.owner)),
            lock_wait: waiting.map(|row| format!("LCK_M_{}", row.mode.name().to_uppercase().replace('-', "_"))),
            lock_address: waiting.map(lock_address),
            elapsed_ms: now.saturating_sub(session.request_started_micros) / 1000,
            session,
        }
    });
    listed.collect()
}

/// Where the engine's own requests are numbered from; users' begin at 51.
const BACKGROUND_SESSION_FIRST: u16 = 8;

/// What the engine does by itself: one request for each database for which it is at work.
fn background(context: &SystemContext<'_>) -> Vec<ListedSession> {
    let instance = context.instance;
    let now = instance.env.clock.now_micros();
    let works = instance.env.activity.works();
    let at_work = |slot: Arc<DatabaseSlot>| {
        let entry = slot.entry();
        let work = outer_and_inner(&works, |work| work.session.is_none() && work.database == entry.name)?;
        let session = SessionInformation {
            id: BACKGROUND_SESSION_FIRST + entry.database_id,
            login: context.login.to_owned(),
            original_login: context.login.to_owned(),
            database_id: entry.database_id,
            running: true,
            command: work.0.kind.background_command().to_owned(),
            request_started_micros: work.0.started_micros,
            request_started: instance.env.clock.wall_ticks(),
            isolation_level: 2,
            ..SessionInformation::default()
        };
        let work = Some(work);
        Some(ListedSession {
            blocked_by: 0,
            lock_wait: None,
            lock_address: None,
            elapsed_ms: now.saturating_sub(session.request_started_micros) / 1000,
            work_left_ms: left_ms(&work, now),
            work,
            session,
        })
    };
    instance.slots().into_iter().filter_map(at_work).collect()
}

fn outer_and_inner(works: &[Arc<Work>], is_meant: impl Fn(&Work) -> bool) -> Option<(Arc<Work>, Arc<Work>)> {
    let mut meant = works.iter().filter(|work| is_meant(work));
    let outer = meant.next()?;
    Some((outer.clone(), meant.next_back().unwrap_or(outer).clone()))
}

fn left_ms(work: &Option<(Arc<Work>, Arc<Work>)>, now: u64) -> u64 {
    work.as_ref().map_or(0, |(_, inner)| inner.milliseconds_left(now))
}

impl ListedSession {
    pub(crate) fn is_request(&self) -> bool {
        self.session.running || self.work.is_some()
    }

    /// A session that was ended rolls back after its last request.
    fn command(&self) -> &str {
        match &self.work {
            Some((outer, _)) if outer.kind == WorkKind::Rollback && self.session.running => "ROLLBACK TRANSACTION",
            Some((outer, _)) if outer.kind == WorkKind::Rollback => "KILLED/ROLLBACK",
            Some((outer, _)) => outer.kind.command().unwrap_or(&self.session.command),
            None => &self.session.command,
        }
    }

    fn percent_complete(&self) -> f32 {
        self.work.as_ref().map_or(0.0, |(_, inner)| inner.percent())
    }

    fn wait_type(&self) -> Option<&str> {
        let of_work = || self.work.as_ref().and_then(|(_, inner)| inner.kind.wait_type());
        self.lock_wait.as_deref().or_else(of_work)
    }

    /// `sleeping`, `running` or `suspended`.
    pub(crate) fn status(&self) -> &'static str {
        match (self.is_request(), &self.lock_wait) {
            _ if self.session.id < USER_SESSION_FIRST => "background",
            (false, _) => "sleeping",
            (true, None) => "running",
            (true, Some(_)) => "suspended",
        }
    }

    /// The number of the version of TDS: 4 for 7.1 to 7 for 7.4 (sql-docs, "sys.dm_exec_sessions", has 4 for SQL Server 2000's
    /// clients, 5 and 6 for those of 2005 and 2008).
    fn client_version(&self) -> i32 {
        match self.session.connection.protocol_version >> 24 {
            0x07 | 0x71 => 4,
            0x72 => 5,
            0x73 => 6,
            _ => 7,
        }
    }

    fn connection_id(&self) -> Value {
        let mut guid = [0; 16];
        guid[..2].copy_from_slice(&self.session.id.to_le_bytes());
        Value::UniqueIdentifier(guid)
    }
}

struct SessionRow(ListedSession);

fn id(id: u16) -> Value {
    Value::SmallInt(i16::try_from(id).unwrap_or(i16::MAX))
}

system_row!(SessionRow {
    "session_id" SMALLINT => |row| id(row.0.session.id);
    "login_time" DATETIME => |row| datetime(row.0.session.login_time);
    "host_name" NAME => |row| row.0.session.host.as_str().into();
    "program_name" NAME => |row| row.0.session.application.as_str().into();
    "host_process_id" INT => |row| (row.0.session.connection.process_id as i32).into();
    "client_version" INT => |row| row.0.client_version().into();
    "client_interface_name" nvarchar(32) => |row| row.0.session.connection.library.as_str().into();
    "security_id" SID => |_| Value::binary(&[1][..]);
    "login_name" NAME => |row| row.0.session.login.as_str().into();
    "nt_domain" NAME => |_| Value::Null;
    "nt_user_name" NAME => |_| Value::Null;
    "status" nvarchar(30) => |row| if row.0.session.running { "running" } else { "sleeping" }.into();
    "context_info" SqlType::VarBinary(Length::Limited(128)) => |_| Value::Null;
    "cpu_time" INT => |_| 0.into();
    "memory_usage" INT => |_| 4.into();
    "total_scheduled_time" INT => |_| 0.into();
    "total_elapsed_time" INT => |row| i32::try_from(row.0.elapsed_ms).unwrap_or(i32::MAX).into();
    "endpoint_id" INT => |_| 4.into();
    "last_request_start_time" DATETIME => |row| datetime(row.0.session.request_started);
    "last_request_end_time" DATETIME => |row| datetime(row.0.session.request_ended);
    "reads" BIGINT => |row| big(row.0.session.pages.physical + row.0.session.pages.read_ahead);
    "writes" BIGINT => |row| big(row.0.session.pages.dirtied);
    "logical_reads" BIGINT => |row| big(row.0.session.pages.logical);
    "is_user_process" BIT => |_| true.into();
    "text_size" INT => |row| row.0.session.options.text_size_bytes.into();
    "language" NAME => |row| row.0.session.options.language.into();
    "date_format" nvarchar(3) => |row| row.0.session.options.date_format.into();
    "date_first" SMALLINT => |row| Value::SmallInt(i16::from(row.0.session.options.date_first));
    "quoted_identifier" BIT => |row| row.0.session.options.quoted_identifier.into();
    "arithabort" BIT => |row| row.0.session.options.arithabort.into();
    "ansi_null_dflt_on" BIT => |row| row.0.session.options.ansi_null_dflt_on.into();
    "ansi_defaults" BIT => |row| row.0.session.options.ansi_defaults.into();
    "ansi_warnings" BIT => |row| row.0.session.options.ansi_warnings.into();
    "ansi_padding" BIT => |row| row.0.session.options.ansi_padding.into();
    "ansi_nulls" BIT => |row| row.0.session.options.ansi_nulls.into();
    "concat_null_yields_null" BIT => |row| row.0.session.options.concat_null_yields_null.into();
    "transaction_isolation_level" SMALLINT => |row| Value::SmallInt(i16::from(row.0.session.isolation_level));
    "lock_timeout" INT => |row| row.0.session.options.lock_timeout_ms.into();
    "deadlock_priority" INT => |row| i32::from(row.0.session.options.deadlock_priority).into();
    "row_count" BIGINT => |row| row.0.session.row_count.into();
    "prev_error" INT => |_| 0.into();
    "original_security_id" SID => |_| Value::binary(&[1][..]);
    "original_login_name" NAME => |row| row.0.session.original_login.as_str().into();
    "database_id" SMALLINT => |row| id(row.0.session.database_id);
    "authenticating_database_id" INT => |_| 1.into();
    "open_transaction_count" INT => |row| (row.0.session.open_transactions as i32).into();
    "contained_availability_group_id" GUID => |_| Value::Null;
    "group_id" INT => |_| super::resource_pools::DEFAULT.into();
    "page_server_reads" BIGINT => |_| 0_i64.into();
});

struct RequestRow {
    listed: ListedSession,
    /// What the instance keeps of its text.
    plan: Option<Arc<CachedPlan>>,
}

/// Hashes, and places of pages.
const HASH: SqlType = SqlType::Binary(8);

/// The plan that is kept of the procedure, or the text, that a session executes (sql-docs, "sys.dm_exec_requests": `sql_handle` identifies
/// "the batch or stored procedure that the query is part of").
fn plan_of(session: &SessionInformation, plans: &[Arc<CachedPlan>]) -> Option<Arc<CachedPlan>> {
    let is_its = |plan: &&Arc<CachedPlan>| match session.module {
        Some((database_id, object_id)) => plan.database_id() == database_id && plan.object_id() == Some(object_id),
        None => {
            plan.database_id() == session.database_id && plan.object_id().is_none() && **plan.text() == *session.text
        }
    };
    plans.iter().find(is_its).cloned()
}

/// `sql_handle` and the like: what names a session's text here.
const HANDLE: SqlType = SqlType::VarBinary(Length::Limited(64));

fn handle(session: u16) -> Value {
    let mut bytes = [0_u8; 20];
    bytes[0] = 2;
    bytes[1..3].copy_from_slice(&session.to_be_bytes());
    Value::binary(&bytes[..])
}

fn session_of_handle(value: &Value) -> Option<u16> {
    match value {
        Value::Binary(bytes) => Some(u16::from_be_bytes([*bytes.get(1)?, *bytes.get(2)?])),
        _ => None,
    }
}

system_row!(RequestRow {
    "session_id" SMALLINT => |row| id(row.listed.session.id);
    "request_id" INT => |_| 0.into();
    "start_time" DATETIME => |row| datetime(row.listed.session.request_started);
    "status" nvarchar(30) => |row| row.listed.status().into();
    "command" nvarchar(32) => |row| row.listed.command().into();
    "sql_handle" HANDLE => |row| match &row.plan {
        Some(plan) => Value::binary(&plan.sql_handle().0[..]),
        None => handle(row.listed.session.id),
    };
    "statement_start_offset" INT => |_| 0.into();
    "statement_end_offset" INT => |_| (-1).into();
    "plan_handle" HANDLE => |row| match &row.plan {
        Some(plan) => Value::binary(&plan.plan_handle().0[..]),
        None => Value::Null,
    };
    "database_id" SMALLINT => |row| id(row.listed.session.database_id);
    "user_id" INT => |_| 1.into();
    "connection_id" GUID => |row| row.listed.connection_id();
    "blocking_session_id" SMALLINT => |row| id(row.listed.blocked_by);
    "wait_type" nvarchar(60) => |row| row.listed.wait_type().into();
    "wait_time" INT => |_| 0.into();
    "last_wait_type" nvarchar(60) => |row| row.listed.wait_type().unwrap_or("MISCELLANEOUS").into();
    "wait_resource" nvarchar(256) => |_| "".into();
    "open_transaction_count" INT => |row| (row.listed.session.open_transactions as i32).into();
    "open_resultset_count" INT => |_| 1.into();
    "transaction_id" BIGINT => |_| 0_i64.into();
    "context_info" SqlType::VarBinary(Length::Limited(128)) => |_| Value::Null;
    "percent_complete" REAL => |row| Value::Real(row.listed.percent_complete());
    "estimated_completion_time" BIGINT => |row| big(row.listed.work_left_ms);
    "cpu_time" INT => |_| 0.into();
    "total_elapsed_time" INT => |row| i32::try_from(row.listed.elapsed_ms).unwrap_or(i32::MAX).into();
    "scheduler_id" INT => |_| 0.into();
    "reads" BIGINT => |_| 0_i64.into();
    "writes" BIGINT => |_| 0_i64.into();
    "logical_reads" BIGINT => |_| 0_i64.into();
    "text_size" INT => |row| row.listed.session.options.text_size_bytes.into();
    "language" NAME => |row| row.listed.session.options.language.into();
    "date_format" nvarchar(3) => |row| row.listed.session.options.date_format.into();
    "date_first" SMALLINT => |row| Value::SmallInt(i16::from(row.listed.session.options.date_first));
    "quoted_identifier" BIT => |row| row.listed.session.options.quoted_identifier.into();
    "arithabort" BIT => |row| row.listed.session.options.arithabort.into();
    "ansi_null_dflt_on" BIT => |row| row.listed.session.options.ansi_null_dflt_on.into();
    "ansi_defaults" BIT => |row| row.listed.session.options.ansi_defaults.into();
    "ansi_warnings" BIT => |row| row.listed.session.options.ansi_warnings.into();
    "ansi_padding" BIT => |row| row.listed.session.options.ansi_padding.into();
    "ansi_nulls" BIT => |row| row.listed.session.options.ansi_nulls.into();
    "concat_null_yields_null" BIT => |row| row.listed.session.options.concat_null_yields_null.into();
    "transaction_isolation_level" SMALLINT => |row| Value::SmallInt(i16::from(row.listed.session.isolation_level));
    "lock_timeout" INT => |row| row.listed.session.options.lock_timeout_ms.into();
    "deadlock_priority" INT => |row| i32::from(row.listed.session.options.deadlock_priority).into();
    "row_count" BIGINT => |row| row.listed.session.row_count.into();
    "prev_error" INT => |_| 0.into();
    "nest_level" INT => |_| 0.into();
    "granted_query_memory" INT => |_| 0.into();
    "executing_managed_code" BIT => |_| false.into();
    "group_id" INT => |_| super::resource_pools::DEFAULT.into();
    "query_hash" HASH => |_| Value::Null;
    "query_plan_hash" HASH => |_| Value::Null;
    "statement_sql_handle" HANDLE => |_| Value::Null;
    "statement_context_id" BIGINT => |_| Value::Null;
    "dop" INT => |_| Value::Null;
    "parallel_worker_count" INT => |_| Value::Null;
    "external_script_request_id" GUID => |_| Value::Null;
    "is_resumable" BIT => |_| false.into();
    "page_resource" HASH => |_| Value::Null;
    "page_server_reads" BIGINT => |_| 0_i64.into();
});

struct ConnectionRow(ListedSession);

system_row!(ConnectionRow {
    "session_id" INT => |row| i32::from(row.0.session.id).into();
    "most_recent_session_id" INT => |row| i32::from(row.0.session.id).into();
    "connect_time" DATETIME => |row| datetime(row.0.session.login_time);
    "net_transport" nvarchar(40) => |row| if row.0.session.connection.port == 0 { "Shared memory" } else { "TCP" }.into();
    "protocol_type" nvarchar(40) => |_| "TSQL".into();
    "protocol_version" INT => |row| (row.0.session.connection.protocol_version as i32).into();
    "endpoint_id" INT => |_| 4.into();
    "encrypt_option" nvarchar(40) => |row| if row.0.session.connection.encrypted { "TRUE" } else { "FALSE" }.into();
    "auth_scheme" nvarchar(40) => |_| "SQL".into();
    "node_affinity" SMALLINT => |_| Value::SmallInt(0);
    "num_reads" INT => |_| 0.into();
    "num_writes" INT => |_| 0.into();
    "last_read" DATETIME => |row| datetime(row.0.session.request_started);
    "last_write" DATETIME => |row| datetime(row.0.session.request_ended);
    "net_packet_size" INT => |row| (row.0.session.connection.packet_bytes as i32).into();
    "client_net_address" varchar(48) => |row| match row.0.session.connection.address.as_str() {
        "" => "<local machine>".into(),
        address => address.into(),
    };
    "client_tcp_port" INT => |row| match row.0.session.connection.port {
        0 => Value::Null,
        port => i32::from(port).into(),
    };
    "local_net_address" varchar(48) => |row| match row.0.session.connection.local.0.as_str() {
        "" => Value::Null,
        address => address.into(),
    };
    "local_tcp_port" INT => |row| match row.0.session.connection.local.1 {
        0 => Value::Null,
        port => i32::from(port).into(),
    };
    "connection_id" GUID => |row| row.0.connection_id();
    "parent_connection_id" GUID => |_| Value::Null;
    "most_recent_sql_handle" HANDLE => |row| handle(row.0.session.id);
});

struct ProcessRow(ListedSession);

system_row!(ProcessRow {
    "spid" SMALLINT => |row| id(row.0.session.id);
    "kpid" SMALLINT => |_| Value::SmallInt(0);
    "blocked" SMALLINT => |row| id(row.0.blocked_by);
    "waittime" BIGINT => |_| 0_i64.into();
    "lastwaittype" SqlType::NChar(32) => |row| {
        format!("{:<32}", row.0.lock_wait.as_deref().unwrap_or("MISCELLANEOUS")).into()
    };
    // What a lock is on, sys.dm_tran_locks tells.
    "waitresource" SqlType::NChar(256) => |row| match row.0.lock_wait {
        Some(_) => Value::Null,
        None => " ".repeat(256).into(),
    };
    "dbid" SMALLINT => |row| id(row.0.session.database_id);
    "uid" SMALLINT => |_| Value::SmallInt(1);
    "cpu" INT => |_| 0.into();
    "physical_io" BIGINT => |_| 0_i64.into();
    "memusage" INT => |_| 4.into();
    "login_time" DATETIME => |row| datetime(row.0.session.login_time);
    "last_batch" DATETIME => |row| datetime(row.0.session.request_started);
    "ecid" SMALLINT => |_| Value::SmallInt(0);
    "open_tran" SMALLINT => |row| Value::SmallInt(row.0.session.open_transactions as i16);
    "status" SqlType::NChar(30) => |row| format!("{:<30}", row.0.status()).into();
    "hostname" SqlType::NVarChar(Length::Limited(128)) => |row| row.0.session.host.as_str().into();
    "program_name" SqlType::NVarChar(Length::Limited(128)) => |row| row.0.session.application.as_str().into();
    "hostprocess" SqlType::NVarChar(Length::Limited(10)) => |_| "".into();
    "cmd" SqlType::NVarChar(Length::Limited(26)) => |row| row.0.session.command.as_str().into();
    "nt_domain" SqlType::NChar(128) => |_| Value::Null;
    "nt_username" SqlType::NChar(128) => |_| Value::Null;
    "loginame" NAME => |row| row.0.session.login.as_str().into();
    "sql_handle" SqlType::Binary(20) => |row| handle(row.0.session.id);
    // The handle's text is the batch.
    "stmt_start" INT => |_| 0.into();
    "stmt_end" INT => |_| (-1).into();
    "request_id" INT => |_| 0.into();
});

/// `file:page:slot` of a heap row; six bytes of the hash of a key, which for the end of an index are `(ffffffffffff)`.
pub(crate) fn row_description(row: u64, holder: Option<RowHolder>) -> String {
    // Of what the session does not see, the number tells: files are few.
    let is_key = holder.map_or(!(1..64).contains(&(row >> 48)), |holder| holder.index_id > 0);
    match is_key {
        true => format!("({:012x})", row & 0xFFFF_FFFF_FFFF),
        false => format!("{}:{}:{}", row >> 48, row >> 16 & 0xFFFF_FFFF, row & 0xFFFF),
    }
}

struct LockLine {
    row: LockRow,
    session: u16,
    /// Of a row: what holds it.
    holder: Option<RowHolder>,
}

impl LockLine {
    fn database(&self) -> u16 {
        self.row.resource.database()
    }

    /// `KEY` for rows of an index.
    fn type_name(&self) -> &'static str {
        match &self.holder {
            Some(holder) if holder.index_id > 0 => "KEY",
            _ => self.row.resource.type_name(),
        }
    }

    /// The object, or of a row the heap or index ("object ID, Hobt ID or an Allocation Unit ID", sql-docs, `sys.dm_tran_locks`).
    fn entity(&self) -> i64 {
        match (self.row.resource, &self.holder) {
            (Resource::Row(..), Some(holder)) => holder.hobt_id,
            (Resource::Object(_, object), _) => i64::from(object),
            _ => 0,
        }
    }

    fn description(&self) -> String {
        match self.row.resource {
            Resource::Row(_, _, row) => row_description(row, self.holder),
            Resource::Name(_, hash) => format!("name_hash = {hash:#x}"),
            Resource::Application(..) => {
                let known = self.row.application.as_ref();
                known.map_or_else(String::new, |application| application.description.clone())
            }
            _ => String::new(),
        }
    }
}

system_row!(LockLine {
    "resource_type" nvarchar(60) => |row| row.type_name().into();
    "resource_subtype" nvarchar(60) => |_| "".into();
    "resource_database_id" INT => |row| i32::from(row.database()).into();
    "resource_description" nvarchar(256) => |row| row.description().into();
    "resource_associated_entity_id" BIGINT => |row| row.entity().into();
    "resource_lock_partition" INT => |_| 0.into();
    "request_mode" nvarchar(60) => |row| row.row.mode.name().into();
    "request_type" nvarchar(60) => |_| "LOCK".into();
    "request_status" nvarchar(60) => |row| if row.row.granted { "GRANT" } else { "WAIT" }.into();
    "request_reference_count" SMALLINT => |_| Value::SmallInt(1);
    "request_session_id" INT => |row| i32::from(row.session).into();
    "request_exec_context_id" INT => |_| 0.into();
    "request_request_id" INT => |_| 0.into();
    "request_owner_type" nvarchar(60) => |row| match (row.row.resource, &row.row.application) {
        (Resource::Database(_), _) => "SHARED_TRANSACTION_WORKSPACE",
        (_, Some(application)) if application.account == Account::Session => "SESSION",
        _ => "TRANSACTION",
    }.into();
    "request_owner_id" BIGINT => |row| big(row.row.owner);
    "request_owner_guid" GUID => |_| Value::Null;
    "request_owner_lockspace_id" nvarchar(32) => |_| Value::Null;
    "lock_owner_address" SqlType::VarBinary(Length::Limited(8)) => |row| lock_address(&row.row);
});

/// What stands for a request of a lock: `resource_address` of the task that waits for it, `lock_owner_address` of the lock.
fn lock_address(row: &LockRow) -> Value {
    let mut hasher = DefaultHasher::new();
    (row.owner, row.resource).hash(&mut hasher);
    Value::binary(&hasher.finish().to_be_bytes()[..])
}

fn locks(context: &SystemContext<'_>) -> Rows {
    let sessions = context.instance.sessions();
    let rows = context.instance.locks.rows();
    let holders = RowHolders::of(context, &rows);
    all(rows.into_iter().map(|row| LockLine {
        session: sessions
            .iter()
            .find(|session| session.lock_owner == row.owner)
            .map_or(0, |session| session.id),
        holder: holders.holder(&row.resource),
        row,
    }))
}

/// A text that a handle leads to.
struct TextRow {
    database_id: u16,
    object_id: Option<u32>,
    text: Text,
}

system_row!(TextRow {
    "dbid" SMALLINT => |row| id(row.database_id);
    "objectid" INT => |row| row.object_id.map_or(Value::Null, |object| (object as i32).into());
    "number" SMALLINT => |_| Value::Null;
    "encrypted" BIT => |_| false.into();
    "text" SqlType::NVarChar(Length::Max) => |row| Value::Text(row.text.clone());
});

/// The text of a session's request, or of a plan that is kept.
fn sql_text(context: &SystemContext<'_>, arguments: &[Value]) -> Rows {
    let Some(Value::Binary(handle)) = arguments.first() else {
        return all(Vec::<TextRow>::new());
    };
    let kept = PlanCache::of(context.instance).all();
    let kept = kept.into_iter().find(|plan| plan.has_handle(handle));
    if let Some(plan) = kept {
        return all([TextRow {
            database_id: plan.database_id(),
            object_id: plan.object_id(),
            text: Text::from(&**plan.text()),
        }]);
    }
    let wanted = arguments.first().and_then(session_of_handle);
    let sessions = context.instance.sessions().into_iter();
    all(sessions
        .filter(|session| Some(session.id) == wanted)
        .map(|session| TextRow {
            database_id: session.database_id,
            object_id: None,
            text: session.text,
        }))
}

struct BufferRow(SessionInformation);

system_row!(BufferRow {
    "event_type" nvarchar(256) => |_| "Language Event".into();
    "parameters" SMALLINT => |_| Value::SmallInt(0);
    "event_info" SqlType::NVarChar(Length::Max) => |row| Value::Text(row.0.text.clone());
});

fn input_buffer(context: &SystemContext<'_>, arguments: &[Value]) -> Rows {
    let wanted = arguments.first().and_then(Value::as_i64);
    let sessions = context.instance.sessions().into_iter();
    all(sessions
        .filter(|session| Some(i64::from(session.id)) == wanted)
        .map(BufferRow))
}
