//! Jobs of msdb: `sp_add_job` and related procedures store, change and drop them. Nothing runs them: there is no Agent, as in SQL Server
//! Express, and `sp_start_job` says so (sql-docs, the pages of the procedures; "SQL Server Agent").

use engine::error::{Error, Result};
use engine::types::{Length, SqlType, Value};

use super::super::{Host, SystemContext};
use super::{INT, NAME, SystemProcedure, integer, text};
use crate::scalar::convert::convert;

const GUID: SqlType = SqlType::UniqueIdentifier;
const SYSNAME: SqlType = SqlType::SYSNAME;
const TINYINT: SqlType = SqlType::TinyInt;
const COMMAND: SqlType = SqlType::NVarChar(Length::Max);
const DESCRIPTION: SqlType = SqlType::NVarChar(Length::Limited(512));
const FILE: SqlType = SqlType::NVarChar(Length::Limited(200));

pub(super) const PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure {
        name: "sp_add_category",
        parameters: &[
            ("@class", SqlType::VarChar(Length::Limited(8)), false),
            ("@type", SqlType::VarChar(Length::Limited(12)), false),
            ("@name", SYSNAME, true),
        ],
        run: add_category,
    },
    SystemProcedure {
        name: "sp_add_job",
        parameters: &[
            ("@job_name", SYSNAME, true),
            ("@enabled", TINYINT, false),
            ("@description", DESCRIPTION, false),
            ("@start_step_id", INT, false),
            ("@category_name", SYSNAME, false),
            ("@category_id", INT, false),
            ("@owner_login_name", SYSNAME, false),
            ("@notify_level_eventlog", INT, false),
            ("@notify_level_email", INT, false),
            ("@notify_level_netsend", INT, false),
            ("@notify_level_page", INT, false),
            ("@delete_level", INT, false),
            ("@job_id", GUID, false),
        ],
        run: add_job,
    },
    SystemProcedure {
        name: "sp_update_job",
        parameters: &[
            ("@job_id", GUID, false),
            ("@job_name", SYSNAME, false),
            ("@new_name", SYSNAME, false),
            ("@enabled", TINYINT, false),
            ("@description", DESCRIPTION, false),
            ("@start_step_id", INT, false),
            ("@category_name", SYSNAME, false),
            ("@owner_login_name", SYSNAME, false),
            ("@notify_level_eventlog", INT, false),
            ("@notify_level_email", INT, false),
            ("@notify_level_netsend", INT, false),
            ("@notify_level_page", INT, false),
            ("@notify_email_operator_name", SYSNAME, false),
            ("@notify_netsend_operator_name", SYSNAME, false),
            ("@notify_page_operator_name", SYSNAME, false),
            ("@delete_level", INT, false),
        ],
        run: update_job,
    },
    SystemProcedure {
        name: "sp_add_jobstep",
        parameters: &[
            ("@job_id", GUID, false),
            ("@job_name", SYSNAME, false),
            ("@step_id", INT, false),
            ("@step_name", SYSNAME, true),
            ("@subsystem", SqlType::NVarChar(Length::Limited(40)), false),
            ("@command", COMMAND, false),
            ("@additional_parameters", COMMAND, false),
            ("@cmdexec_success_code", INT, false),
            ("@on_success_action", TINYINT, false),
            ("@on_success_step_id", INT, false),
            ("@on_fail_action", TINYINT, false),
            ("@on_fail_step_id", INT, false),
            ("@server", SYSNAME, false),
            ("@database_name", SYSNAME, false),
            ("@database_user_name", SYSNAME, false),
            ("@retry_attempts", INT, false),
            ("@retry_interval", INT, false),
            ("@os_run_priority", INT, false),
            ("@output_file_name", FILE, false),
            ("@flags", INT, false),
        ],
        run: add_job_step,
    },
    SystemProcedure {
        name: "sp_add_jobserver",
        parameters: &[
            ("@job_id", GUID, false),
            ("@job_name", SYSNAME, false),
            ("@server_name", SYSNAME, false),
        ],
        run: add_job_server,
    },
    SystemProcedure {
        name: "sp_add_jobschedule",
        parameters: &[
            ("@job_id", GUID, false),
            ("@job_name", SYSNAME, false),
            ("@name", SYSNAME, true),
            ("@enabled", TINYINT, false),
            ("@freq_type", INT, false),
            ("@freq_interval", INT, false),
            ("@freq_subday_type", INT, false),
            ("@freq_subday_interval", INT, false),
            ("@freq_relative_interval", INT, false),
            ("@freq_recurrence_factor", INT, false),
            ("@active_start_date", INT, false),
            ("@active_end_date", INT, false),
            ("@active_start_time", INT, false),
            ("@active_end_time", INT, false),
            ("@schedule_id", INT, false),
        ],
        run: add_job_schedule,
    },
    SystemProcedure {
        name: "sp_delete_job",
        parameters: &[("@job_id", GUID, false), ("@job_name", SYSNAME, false)],
        run: delete_job,
    },
    SystemProcedure {
        name: "sp_start_job",
        parameters: &[
            ("@job_name", SYSNAME, false),
            ("@job_id", GUID, false),
            ("@step_name", NAME, false),
        ],
        run: start_job,
    },
];

/// The categories that every server has, by their ids from 0 (sql-docs, "sp_add_category", and `msdb.dbo.syscategories` as it is shipped).
const CATEGORIES: [&str; 16] = [
    "[Uncategorized (Local)]",
    "Jobs from MSX",
    "[Uncategorized (Multi-Server)]",
    "Database Maintenance",
    "Full-Text",
    "Log Shipping",
    "REPL-Distribution",
    "REPL-Distribution Cleanup",
    "REPL-History Cleanup",
    "REPL-LogReader",
    "REPL-Merge",
    "REPL-Snapshot",
    "REPL-Checkup",
    "REPL-Subscription Cleanup",
    "REPL-Alert Response",
    "REPL-QueueReader",
];
/// The ids of other categories are from here on.
const CATEGORY_ID_FIRST: i64 = 100;
/// CmdExec is run by the operating system, TSQL in a session: how a step does its work.
const SUBSYSTEMS: [&str; 12] = [
    "TSQL",
    "ActiveScripting",
    "CmdExec",
    "Snapshot",
    "LogReader",
    "Distribution",
    "Merge",
    "QueueReader",
    "ANALYSISQUERY",
    "ANALYSISCOMMAND",
    "SSIS",
    "PowerShell",
];

fn exists_already(parameter: &str, name: &str) -> Error {
    Error::new(
        14261,
        16,
        1,
        format!("The specified {parameter} ('{name}') already exists."),
    )
}

fn does_not_exist(parameter: &str, name: &str) -> Error {
    Error::new(
        14262,
        16,
        1,
        format!("The specified {parameter} ('{name}') does not exist."),
    )
}

/// A string as T-SQL.
pub(super) fn quoted(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}

/// An argument as T-SQL, or what is said for one that is not given.
fn written(arguments: &[Value], place: usize, default: &str) -> String {
    match arguments.get(place) {
        None | Some(Value::Null) => default.to_owned(),
        Some(value) => match value.as_i64() {
            Some(number) => number.to_string(),
            None => quoted(value.as_str().unwrap_or_default()),
        },
    }
}

/// An id as text.
fn id_text(id: &Value) -> Result<String> {
    let text = convert(id, GUID, SqlType::VarChar(Length::Limited(36)), None)?;
    Ok(text.as_str().unwrap_or_default().to_owned())
}

/// The id of a job, by its id or its name.
///
/// # Errors
/// 14294 when neither or both are given, 14262 when there is none.
pub(super) fn job_of(host: &mut dyn Host, (id, name): (&Value, Option<&str>)) -> Result<String> {
    let (condition, parameter, said) = match (id, name) {
        (Value::Null, Some(name)) => (format!("name = {}", quoted(name)), "@job_name", name.to_owned()),
        (id, None) if !id.is_null() => (format!("job_id = '{}'", id_text(id)?), "@job_id", id_text(id)?),
        _ => {
            let text = "Supply either @job_id or @job_name to identify the job.";
            return Err(Error::new(14294, 16, 1, text));
        }
    };
    let found = host.value_of(&format!("(select job_id from msdb.dbo.sysjobs where {condition})"))?;
    match found.is_null() {
        true => Err(does_not_exist(parameter, &said)),
        false => id_text(&found),
    }
}

pub(super) fn argument(arguments: &[Value], place: usize) -> &Value {
    arguments.get(place).unwrap_or(&Value::Null)
}

/// The id of a category of jobs, whose row is made when it is a server's own and is used first.
fn category_of(host: &mut dyn Host, name: &str) -> Result<i64> {
    let query = format!(
        "(select category_id from msdb.dbo.syscategories where category_class = 1 and name = {})",
        quoted(name)
    );
    if let Some(id) = host.value_of(&query)?.as_i64() {
        return Ok(id);
    }
    let own = CATEGORIES.iter().position(|own| own.eq_ignore_ascii_case(name));
    let id = own.ok_or_else(|| does_not_exist("@category_name", name))?;
    let row = format!(
        "insert msdb.dbo.syscategories (category_id, category_class, category_type, name) values ({id}, 1, 1, {})",
        quoted(CATEGORIES[id])
    );
    host.execute(&row)?;
    i64::try_from(id).map_err(|_| does_not_exist("@category_name", name))
}

fn add_category(_context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let class = text(arguments, 0).unwrap_or("JOB").to_uppercase();
    let kind = text(arguments, 1).unwrap_or("LOCAL").to_uppercase();
    let name = text(arguments, 2).unwrap_or_default();
    let invalid = |parameter: &str, values: &str| {
        let text = format!("The specified '{parameter}' is invalid (valid values are: {values}).");
        Error::new(14266, 16, 1, text)
    };
    let class = match class.as_str() {
        "JOB" => 1,
        "ALERT" => 2,
        "OPERATOR" => 3,
        _ => return Err(invalid("@class", "JOB, ALERT, OPERATOR")),
    };
    let kind = match (class, kind.as_str()) {
        (1, "LOCAL") => 1,
        (1, "MULTI-SERVER") => 2,
        (2 | 3, "NONE" | "LOCAL") => 3,
        _ => return Err(invalid("@type", "LOCAL, MULTI-SERVER, NONE")),
    };
    let is_own = class == 1 && CATEGORIES.iter().any(|own| own.eq_ignore_ascii_case(name));
    let known = format!(
        "(select count(*) from msdb.dbo.syscategories where category_class = {class} and name = {})",
        quoted(name)
    );
    if is_own || host.value_of(&known)?.as_i64() != Some(0) {
        return Err(exists_already("@name", name));
    }
    host.execute(&format!(
        "insert msdb.dbo.syscategories (category_id, category_class, category_type, name) \
         select isnull(max(category_id) + 1, {CATEGORY_ID_FIRST}), {class}, {kind}, {} from msdb.dbo.syscategories \
         where category_id >= {CATEGORY_ID_FIRST}",
        quoted(name)
    ))?;
    Ok(0)
}

/// 14234 for an owner that the server does not know.
fn check_owner(host: &mut dyn Host, owner: Option<&str>) -> Result<()> {
    match owner {
        Some(owner) if host.value_of(&format!("suser_sid({})", quoted(owner)))?.is_null() => Err(Error::new(
            14234,
            16,
            1,
            "The specified '@owner_login_name' is invalid (valid values are returned by sp_helplogins [excluding Windows NT groups]).",
        )),
        _ => Ok(()),
    }
}

/// Columns of `sysjobs` that `sp_update_job` sets as they are given, by the places of their parameters.
const UPDATED: [(usize, &str); 9] = [
    (2, "name"),
    (3, "enabled"),
    (4, "description"),
    (5, "start_step_id"),
    (8, "notify_level_eventlog"),
    (9, "notify_level_email"),
    (10, "notify_level_netsend"),
    (11, "notify_level_page"),
    (15, "delete_level"),
];

/// Changes what is given of a job; its version counts up (sql-docs, "sp_update_job"). There are no operators to notify.
fn update_job(_context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let job = job_of(host, (argument(arguments, 0), text(arguments, 1)))?;
    if let Some(name) = text(arguments, 2) {
        let others = format!(
            "(select count(*) from msdb.dbo.sysjobs where name = {} and job_id <> '{job}')",
            quoted(name)
        );
        if host.value_of(&others)?.as_i64() != Some(0) {
            return Err(exists_already("@new_name", name));
        }
    }
    check_owner(host, text(arguments, 7))?;
    let operators = [
        "@notify_email_operator_name",
        "@notify_netsend_operator_name",
        "@notify_page_operator_name",
    ];
    for (parameter, place) in operators.into_iter().zip(12..) {
        // An empty name takes the operator away, and there is none (scripts of Management Studio name every operator so).
        if let Some(operator) = text(arguments, place).filter(|name| !name.is_empty()) {
            return Err(does_not_exist(parameter, operator));
        }
    }
    let mut set = String::new();
    if let Some(category) = text(arguments, 6) {
        set = format!("category_id = {}, ", category_of(host, category)?);
    }
    for (place, column) in UPDATED {
        if !argument(arguments, place).is_null() {
            set += &format!("{column} = {}, ", written(arguments, place, "NULL"));
        }
    }
    host.execute(&format!(
        "update msdb.dbo.sysjobs set {set}date_modified = getdate(), version_number = version_number + 1 where job_id = '{job}'"
    ))?;
    Ok(0)
}

fn add_job(_context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let name = text(arguments, 0).unwrap_or_default();
    let known = format!("(select count(*) from msdb.dbo.sysjobs where name = {})", quoted(name));
    if host.value_of(&known)?.as_i64() != Some(0) {
        return Err(exists_already("@name", name));
    }
    check_owner(host, text(arguments, 6))?;
    let category = match (text(arguments, 4), integer(arguments, 5)) {
        (Some(category), _) => category_of(host, category)?,
        (None, Some(id)) => id,
        (None, None) => category_of(host, CATEGORIES[0])?,
    };
    let id = host.value_of("newid()")?;
    let job = id_text(&id)?;
    host.execute(&format!(
        "insert msdb.dbo.sysjobs (job_id, originating_server_id, name, enabled, description, start_step_id, category_id, owner_sid, \
         notify_level_eventlog, notify_level_email, notify_level_netsend, notify_level_page, notify_email_operator_id, \
         notify_netsend_operator_id, notify_page_operator_id, delete_level, date_created, date_modified, version_number) \
         values ('{job}', 0, {}, {}, {}, {}, {category}, 0x01, {}, {}, {}, {}, 0, 0, 0, {}, getdate(), getdate(), 1)",
        quoted(name),
        written(arguments, 1, "1"),
        written(arguments, 2, "N'No description available.'"),
        written(arguments, 3, "1"),
        written(arguments, 7, "2"),
        written(arguments, 8, "0"),
        written(arguments, 9, "0"),
        written(arguments, 10, "0"),
        written(arguments, 11, "0"),
    ))?;
    host.output(12, id);
    Ok(0)
}

/// A step goes behind the others, or moves those from its place on.
fn add_job_step(_context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let job = job_of(host, (argument(arguments, 0), text(arguments, 1)))?;
    let name = text(arguments, 3).unwrap_or_default();
    let subsystem = text(arguments, 4).unwrap_or(SUBSYSTEMS[0]);
    if !SUBSYSTEMS.iter().any(|known| known.eq_ignore_ascii_case(subsystem)) {
        let text = "The specified '@subsystem' is invalid (valid values are returned by sp_enum_sqlagent_subsystems).";
        return Err(Error::new(14234, 16, 1, text));
    }
    let of_job = format!("from msdb.dbo.sysjobsteps where job_id = '{job}'");
    let named = format!("(select count(*) {of_job} and step_name = {})", quoted(name));
    if host.value_of(&named)?.as_i64() != Some(0) {
        return Err(exists_already("@step_name", name));
    }
    let next = host.value_of(&format!("(select isnull(max(step_id), 0) + 1 {of_job})"))?;
    let next = next.as_i64().unwrap_or(1);
    let place = integer(arguments, 2).unwrap_or(next);
    if !(1..=next).contains(&place) {
        let text = format!("The specified '@step_id' is invalid (valid values are: 1..{next}).");
        return Err(Error::new(14266, 16, 1, text));
    }
    host.execute(&format!(
        "update msdb.dbo.sysjobsteps set step_id = step_id + 1 where job_id = '{job}' and step_id >= {place}"
    ))?;
    host.execute(&format!(
        "insert msdb.dbo.sysjobsteps (job_id, step_id, step_name, subsystem, command, flags, additional_parameters, cmdexec_success_code, \
         on_success_action, on_success_step_id, on_fail_action, on_fail_step_id, server, database_name, database_user_name, \
         retry_attempts, retry_interval, os_run_priority, output_file_name, last_run_outcome, last_run_duration, last_run_retries, \
         last_run_date, last_run_time, step_uid) \
         values ('{job}', {place}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, 0, 0, 0, 0, 0, newid())",
        quoted(name),
        quoted(subsystem),
        written(arguments, 5, "NULL"),
        written(arguments, 19, "0"),
        written(arguments, 6, "NULL"),
        written(arguments, 7, "0"),
        written(arguments, 8, "1"),
        written(arguments, 9, "0"),
        written(arguments, 10, "2"),
        written(arguments, 11, "0"),
        written(arguments, 12, "NULL"),
        written(arguments, 13, "N'master'"),
        written(arguments, 14, "NULL"),
        written(arguments, 15, "0"),
        written(arguments, 16, "0"),
        written(arguments, 17, "0"),
        written(arguments, 18, "NULL"),
    ))?;
    Ok(0)
}

fn add_job_server(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let job = job_of(host, (argument(arguments, 0), text(arguments, 1)))?;
    let server = text(arguments, 2).unwrap_or("(LOCAL)");
    let own = &context.instance.options.server_name;
    if !server.eq_ignore_ascii_case("(LOCAL)") && !server.eq_ignore_ascii_case(own) {
        return Err(does_not_exist("@server_name", server));
    }
    let known = format!("(select count(*) from msdb.dbo.sysjobservers where job_id = '{job}')");
    if host.value_of(&known)?.as_i64() != Some(0) {
        let text = format!("Job '{job}' is already targeted at server '{own}'.");
        return Err(Error::new(14269, 16, 1, text));
    }
    host.execute(&format!(
        "insert msdb.dbo.sysjobservers (job_id, server_id, last_run_outcome, last_run_date, last_run_time, last_run_duration) \
         values ('{job}', 0, 5, 0, 0, 0)"
    ))?;
    Ok(0)
}

fn add_job_schedule(_context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let job = job_of(host, (argument(arguments, 0), text(arguments, 1)))?;
    let name = text(arguments, 2).unwrap_or_default();
    let next = host.value_of("(select isnull(max(schedule_id), 0) + 1 from msdb.dbo.sysschedules)")?;
    let id = next.as_i64().unwrap_or(1);
    host.execute(&format!(
        "insert msdb.dbo.sysschedules (schedule_id, schedule_uid, originating_server_id, name, owner_sid, enabled, freq_type, freq_interval, \
         freq_subday_type, freq_subday_interval, freq_relative_interval, freq_recurrence_factor, active_start_date, active_end_date, \
         active_start_time, active_end_time, date_created, date_modified, version_number) \
         values ({id}, newid(), 0, {}, 0x01, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, getdate(), getdate(), 1)",
        quoted(name),
        written(arguments, 3, "1"),
        written(arguments, 4, "1"),
        written(arguments, 5, "0"),
        written(arguments, 6, "0"),
        written(arguments, 7, "0"),
        written(arguments, 8, "0"),
        written(arguments, 9, "0"),
        written(arguments, 10, "convert(int, convert(char(8), getdate(), 112))"),
        written(arguments, 11, "99991231"),
        written(arguments, 12, "0"),
        written(arguments, 13, "235959"),
    ))?;
    host.execute(&format!(
        "insert msdb.dbo.sysjobschedules (schedule_id, job_id, next_run_date, next_run_time) values ({id}, '{job}', 0, 0)"
    ))?;
    host.output(14, next);
    Ok(0)
}

/// A job goes with its steps, its schedules and its history.
fn delete_job(_context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let job = job_of(host, (argument(arguments, 0), text(arguments, 1)))?;
    host.execute(&format!(
        "delete msdb.dbo.sysschedules where schedule_id in (select schedule_id from msdb.dbo.sysjobschedules where job_id = '{job}')"
    ))?;
    for table in [
        "sysjobschedules",
        "sysjobservers",
        "sysjobsteps",
        "sysjobhistory",
        "sysjobactivity",
        "sysjobs",
    ] {
        host.execute(&format!("delete msdb.dbo.{table} where job_id = '{job}'"))?;
    }
    Ok(0)
}

fn start_job(_context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    job_of(host, (argument(arguments, 1), text(arguments, 0)))?;
    let text = "SQLServerAgent is not currently running so it cannot be notified of this action.";
    Err(Error::new(22022, 16, 1, text))
}

/// Those that change msdb without telling how many rows.
pub(crate) const WITHOUT_COUNTS: [&str; 8] = [
    "sp_add_category",
    "sp_add_job",
    "sp_update_job",
    "sp_add_jobstep",
    "sp_add_jobserver",
    "sp_add_jobschedule",
    "sp_delete_job",
    "sp_start_job",
];
