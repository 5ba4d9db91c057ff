//! `sp_help_job`, `sp_help_jobstep` and `sp_help_jobschedule`: jobs of msdb in the columns of SQL Server's documentation (sql-docs, the
//! pages of the procedures). There is no Agent, so no job has run, is running or is due.

use engine::error::{Error, Result};
use engine::types::{SqlType, Value};

use super::super::{Host, SystemContext};
use super::jobs::{argument, job_of, quoted};
use super::{INT, NAME, SystemProcedure, integer, text};

const GUID: SqlType = SqlType::UniqueIdentifier;
const SYSNAME: SqlType = SqlType::SYSNAME;

pub(super) const PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure {
        name: "sp_help_job",
        parameters: &[
            ("@job_id", GUID, false),
            ("@job_name", SYSNAME, false),
            ("@job_aspect", NAME, false),
            ("@job_type", NAME, false),
            ("@owner_login_name", SYSNAME, false),
            ("@subsystem", NAME, false),
            ("@category_name", SYSNAME, false),
            ("@enabled", SqlType::TinyInt, false),
            ("@execution_status", INT, false),
            ("@date_comparator", NAME, false),
            ("@date_created", SqlType::DateTime, false),
            ("@date_last_modified", SqlType::DateTime, false),
            ("@description", NAME, false),
        ],
        run: help_job,
    },
    SystemProcedure {
        name: "sp_help_jobstep",
        parameters: &[
            ("@job_id", GUID, false),
            ("@job_name", SYSNAME, false),
            ("@step_id", INT, false),
            ("@step_name", SYSNAME, false),
            ("@suffix", SqlType::Bit, false),
        ],
        run: help_job_step,
    },
    SystemProcedure {
        name: "sp_help_jobschedule",
        parameters: &[
            ("@job_id", GUID, false),
            ("@job_name", SYSNAME, false),
            ("@schedule_name", SYSNAME, false),
            ("@schedule_id", INT, false),
            ("@include_description", SqlType::Bit, false),
        ],
        run: help_job_schedule,
    },
];

/// Idle: what every job is that nothing runs.
const IDLE: i64 = 4;

/// The columns of a job, from `sysjobs` as `j`.
const JOB_COLUMNS: &str = "j.job_id, @@servername as originating_server, j.name, j.enabled, j.description, j.start_step_id, \
    c.name as category, suser_sname(j.owner_sid) as owner, j.notify_level_eventlog, j.notify_level_email, j.notify_level_netsend, \
    j.notify_level_page, N'(unknown)' as notify_email_operator, N'(unknown)' as notify_netsend_operator, \
    N'(unknown)' as notify_page_operator, j.delete_level, j.date_created, j.date_modified, j.version_number, 0 as last_run_date, \
    0 as last_run_time, 5 as last_run_outcome, 0 as next_run_date, 0 as next_run_time, 0 as next_run_schedule_id, \
    4 as current_execution_status, N'0 (unknown)' as current_execution_step, 0 as current_retry_attempt, \
    (select count(*) from msdb.dbo.sysjobsteps s where s.job_id = j.job_id) as has_step, \
    (select count(*) from msdb.dbo.sysjobschedules s where s.job_id = j.job_id) as has_schedule, \
    (select count(*) from msdb.dbo.sysjobservers s where s.job_id = j.job_id) as has_target, \
    case when exists (select * from msdb.dbo.sysjobservers s where s.job_id = j.job_id) then 1 else 0 end as type";

/// 14266, for a word that a parameter does not take.
fn invalid(parameter: &str, values: &str) -> Error {
    let text = format!("The specified '{parameter}' is invalid (valid values are: {values}).");
    Error::new(14266, 16, 1, text)
}

/// What is asked of all jobs, as a condition over `j` and `c`.
fn conditions(arguments: &[Value]) -> Result<String> {
    let mut condition = "1 = 1".to_owned();
    if let Some(kind) = text(arguments, 3) {
        condition += match kind.to_uppercase().as_str() {
            "LOCAL" => " and c.category_type <> 2",
            "MULTI-SERVER" => " and c.category_type = 2",
            _ => return Err(invalid("@job_type", "LOCAL, MULTI-SERVER")),
        };
    }
    if let Some(owner) = text(arguments, 4) {
        condition += &format!(" and suser_sname(j.owner_sid) = {}", quoted(owner));
    }
    if let Some(subsystem) = text(arguments, 5) {
        let steps = "select * from msdb.dbo.sysjobsteps s where s.job_id = j.job_id";
        condition += &format!(" and exists ({steps} and s.subsystem = {})", quoted(subsystem));
    }
    if let Some(category) = text(arguments, 6) {
        condition += &format!(" and c.name = {}", quoted(category));
    }
    if let Some(enabled) = integer(arguments, 7) {
        condition += &format!(" and j.enabled = {enabled}");
    }
    // 0: all that are not idle or suspended.
    if integer(arguments, 8).is_some_and(|status| status != IDLE) {
        condition += " and 1 = 0";
    }
    let comparator = match text(arguments, 9) {
        None => "=",
        Some(comparator @ ("=" | "<" | ">")) => comparator,
        Some(_) => return Err(invalid("@date_comparator", "=, <, >")),
    };
    for (place, column) in [(10, "date_created"), (11, "date_modified")] {
        if let Some(Value::DateTime { days, ticks }) = arguments.get(place) {
            let thousandths = u64::from(*ticks) * 10 / 3;
            condition += &format!(
                " and j.{column} {comparator} dateadd(millisecond, {thousandths}, dateadd(day, {days}, convert(datetime, 0)))"
            );
        }
    }
    if let Some(pattern) = text(arguments, 12) {
        condition += &format!(" and j.description like {}", quoted(pattern));
    }
    Ok(condition)
}

/// All jobs that are asked for; or one with its steps, schedules and targets, or with one of these aspects.
fn help_job(_context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let jobs = "from msdb.dbo.sysjobs j left join msdb.dbo.syscategories c on c.category_id = j.category_id";
    let is_one = !argument(arguments, 0).is_null() || text(arguments, 1).is_some();
    if !is_one {
        let condition = conditions(arguments)?;
        host.execute(&format!(
            "select {JOB_COLUMNS} {jobs} where {condition} order by j.name"
        ))?;
        return Ok(0);
    }
    let job = job_of(host, (argument(arguments, 0), text(arguments, 1)))?;
    let aspect = text(arguments, 2).unwrap_or("ALL").to_uppercase();
    let is_asked = |own: &str| aspect == "ALL" || aspect == own;
    if !["ALL", "JOB", "STEPS", "SCHEDULES", "TARGETS"].contains(&aspect.as_str()) {
        return Err(invalid("@job_aspect", "ALL, JOB, STEPS, SCHEDULES, TARGETS"));
    }
    if is_asked("JOB") {
        host.execute(&format!("select {JOB_COLUMNS} {jobs} where j.job_id = '{job}'"))?;
    }
    if is_asked("STEPS") {
        host.execute(&steps(&job, ""))?;
    }
    if is_asked("SCHEDULES") {
        host.execute(&schedules(&job, ""))?;
    }
    if is_asked("TARGETS") {
        host.execute(&format!(
            "select server_id, @@servername as server_name, convert(datetime, null) as enlist_date, \
             convert(datetime, null) as last_poll_date, last_run_date, last_run_time, last_run_duration, last_run_outcome, \
             last_outcome_message from msdb.dbo.sysjobservers where job_id = '{job}'"
        ))?;
    }
    Ok(0)
}

fn steps(job: &str, condition: &str) -> String {
    format!(
        "select step_id, step_name, subsystem, command, flags, cmdexec_success_code, on_success_action, on_success_step_id, \
         on_fail_action, on_fail_step_id, server, database_name, database_user_name, retry_attempts, retry_interval, os_run_priority, \
         output_file_name, last_run_outcome, last_run_duration, last_run_retries, last_run_date, last_run_time, proxy_id \
         from msdb.dbo.sysjobsteps where job_id = '{job}'{condition} order by step_id"
    )
}

fn schedules(job: &str, condition: &str) -> String {
    format!(
        "select s.schedule_id, s.name as schedule_name, s.enabled, s.freq_type, s.freq_interval, s.freq_subday_type, \
         s.freq_subday_interval, s.freq_relative_interval, s.freq_recurrence_factor, s.active_start_date, s.active_end_date, \
         s.active_start_time, s.active_end_time, s.date_created, N'(Description not requested)' as schedule_description, \
         b.next_run_date, b.next_run_time, s.schedule_uid, \
         (select count(*) from msdb.dbo.sysjobschedules a where a.schedule_id = s.schedule_id) as job_count \
         from msdb.dbo.sysjobschedules b join msdb.dbo.sysschedules s on s.schedule_id = b.schedule_id \
         where b.job_id = '{job}'{condition} order by s.schedule_id"
    )
}

fn help_job_step(_context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let job = job_of(host, (argument(arguments, 0), text(arguments, 1)))?;
    let mut condition = String::new();
    if let Some(step) = integer(arguments, 2) {
        condition += &format!(" and step_id = {step}");
    }
    if let Some(step) = text(arguments, 3) {
        condition += &format!(" and step_name = {}", quoted(step));
    }
    host.execute(&steps(&job, &condition)).map(|()| 0)
}

fn help_job_schedule(_context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let job = job_of(host, (argument(arguments, 0), text(arguments, 1)))?;
    if integer(arguments, 4).is_some_and(|described| described != 0) {
        return Err(crate::messages::not_supported("@include_description"));
    }
    let mut condition = String::new();
    if let Some(schedule) = text(arguments, 2) {
        condition += &format!(" and s.name = {}", quoted(schedule));
    }
    if let Some(schedule) = integer(arguments, 3) {
        condition += &format!(" and s.schedule_id = {schedule}");
    }
    host.execute(&schedules(&job, &condition)).map(|()| 0)
}
