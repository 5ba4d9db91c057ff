//! Jobs of msdb: stored, listed, dropped, and not run. Expected answers are those of SQL Server's documentation ("sp_add_job" and its kin,
//! "Database engine errors").
#![allow(clippy::unwrap_used)]

use crate::answers::{answers, rows, run};
use crate::transcript;

use tsql::session::Session;

fn refusal(session: &mut Session, batch: &str) -> String {
    let answers = answers(session, batch);
    let first = answers.errors.first();
    let (number, _, text) = first.unwrap_or_else(|| panic!("{batch} answered {:?}", answers.rows));
    format!("{number} {text}")
}

/// What SQL Server Management Studio scripts of a job, and what maintenance scripts do.
#[test]
fn a_job_is_stored_with_its_steps_and_schedules() {
    let mut session = transcript::session(&transcript::instance());
    run(
        &mut session,
        &["declare @id uniqueidentifier, @status int, @schedule int \
           if not exists (select name from msdb.dbo.syscategories where name = N'Nightly' and category_class = 1) \
             exec @status = msdb.dbo.sp_add_category @class = N'JOB', @type = N'LOCAL', @name = N'Nightly' \
           exec @status = msdb.dbo.sp_add_job @job_name = N'Backup', @enabled = 1, @category_name = N'Nightly', @owner_login_name = N'sa', \
             @job_id = @id output \
           if @id is null or @status <> 0 raiserror('no id', 16, 1) \
           exec @status = msdb.dbo.sp_add_jobstep @job_id = @id, @step_name = N'one', @subsystem = N'TSQL', @command = N'select ''1''', \
             @database_name = N'master' \
           exec @status = msdb.dbo.sp_add_jobstep @job_id = @id, @step_name = N'first', @step_id = 1, @subsystem = N'CmdExec', @command = N'dir' \
           exec @status = msdb.dbo.sp_add_jobschedule @job_id = @id, @name = N'daily', @freq_type = 4, @freq_interval = 1, \
             @active_start_time = 10000, @schedule_id = @schedule output \
           if @schedule <> 1 raiserror('no schedule', 16, 1) \
           exec @status = msdb.dbo.sp_add_jobserver @job_id = @id, @server_name = N'(local)'"],
    );
    assert_eq!(
        rows(
            &mut session,
            "select j.name, j.enabled, c.name, c.category_id, j.description from msdb.dbo.sysjobs j join msdb.dbo.syscategories c \
             on c.category_id = j.category_id"
        ),
        "Backup 1 Nightly 100 No description available."
    );
    assert_eq!(
        rows(
            &mut session,
            "select step_id, step_name, subsystem, command, database_name from msdb.dbo.sysjobsteps order by step_id"
        ),
        "1 first CmdExec dir master|2 one TSQL select '1' master"
    );
    assert_eq!(
        rows(
            &mut session,
            "select s.name, s.freq_type, s.active_start_time from msdb.dbo.sysjobschedules b join msdb.dbo.sysschedules s on s.schedule_id = b.schedule_id"
        ),
        "daily 4 10000"
    );
    assert_eq!(
        refusal(&mut session, "exec msdb.dbo.sp_start_job N'Backup'"),
        "22022 SQLServerAgent is not currently running so it cannot be notified of this action."
    );
    run(&mut session, &["exec msdb.dbo.sp_delete_job @job_name = N'Backup'"]);
    for table in [
        "sysjobs",
        "sysjobsteps",
        "sysjobschedules",
        "sysschedules",
        "sysjobservers",
    ] {
        assert_eq!(
            rows(&mut session, &format!("select count(*) from msdb.dbo.{table}")),
            "0",
            "{table}"
        );
    }
}

#[test]
fn what_is_not_there_or_there_already_is_told() {
    let mut session = transcript::session(&transcript::instance());
    run(
        &mut session,
        &[
            "exec msdb.dbo.sp_add_job @job_name = 'j', @category_name = 'Database Maintenance'",
            "exec msdb.dbo.sp_add_jobstep @job_name = 'j', @step_name = 's'",
        ],
    );
    for (statement, expected) in [
        (
            "exec msdb.dbo.sp_add_job @job_name = 'j'",
            "14261 The specified @name ('j') already exists.",
        ),
        (
            "exec msdb.dbo.sp_add_job @job_name = 'k', @category_name = 'none'",
            "14262 The specified @category_name ('none') does not exist.",
        ),
        (
            "exec msdb.dbo.sp_add_jobstep @job_name = 'none', @step_name = 's'",
            "14262 The specified @job_name ('none') does not exist.",
        ),
        (
            "exec msdb.dbo.sp_add_jobstep @step_name = 's'",
            "14294 Supply either @job_id or @job_name to identify the job.",
        ),
        (
            "exec msdb.dbo.sp_add_jobstep @job_name = 'j', @step_name = 's'",
            "14261 The specified @step_name ('s') already exists.",
        ),
        (
            "exec msdb.dbo.sp_add_category @name = 'Database Maintenance'",
            "14261 The specified @name ('Database Maintenance') already exists.",
        ),
        (
            "exec msdb.dbo.sp_add_jobserver @job_name = 'j', @server_name = 'elsewhere'",
            "14262 The specified @server_name ('elsewhere') does not exist.",
        ),
        (
            "exec msdb.dbo.sp_delete_job @job_name = 'none'",
            "14262 The specified @job_name ('none') does not exist.",
        ),
    ] {
        assert_eq!(refusal(&mut session, statement), expected, "{statement}");
    }
    run(
        &mut session,
        &["begin tran exec msdb.dbo.sp_add_job @job_name = 'gone' rollback"],
    );
    assert_eq!(
        rows(&mut session, "select name, category_id from msdb.dbo.sysjobs"),
        "j 3"
    );
}

/// `sp_update_job` changes what it is given and nothing else.
#[test]
fn a_job_is_changed_by_what_is_given() {
    let mut session = transcript::session(&transcript::instance());
    run(
        &mut session,
        &[
            "exec msdb.dbo.sp_add_job @job_name = N'one', @description = N'first' exec msdb.dbo.sp_add_job @job_name = N'two'",
        ],
    );
    let shown = "select j.name, j.enabled, j.description, c.name, j.start_step_id, j.notify_level_eventlog, j.delete_level, j.version_number \
        from msdb.dbo.sysjobs j join msdb.dbo.syscategories c on c.category_id = j.category_id order by j.name";
    assert_eq!(
        rows(&mut session, shown),
        "one 1 first [Uncategorized (Local)] 1 2 0 1|two 1 No description available. [Uncategorized (Local)] 1 2 0 1"
    );
    run(
        &mut session,
        &["exec msdb.dbo.sp_update_job @job_name = N'one', @enabled = 0"],
    );
    run(
        &mut session,
        &[
            "declare @id uniqueidentifier = (select job_id from msdb.dbo.sysjobs where name = 'two') \
           exec msdb.dbo.sp_update_job @job_id = @id, @new_name = N'three', @description = N'it''s', @category_name = N'Database Maintenance', \
             @start_step_id = 2, @notify_level_eventlog = 3, @delete_level = 1, @owner_login_name = N'sa'",
        ],
    );
    assert_eq!(
        rows(&mut session, shown),
        "one 0 first [Uncategorized (Local)] 1 2 0 2|three 1 it's Database Maintenance 2 3 1 2"
    );
    for (call, number) in [
        ("@job_name = N'two', @enabled = 1", "14262"),
        ("@enabled = 1", "14294"),
        ("@job_name = N'one', @new_name = N'three'", "14261"),
        ("@job_name = N'one', @owner_login_name = N'nobody'", "14234"),
        ("@job_name = N'one', @category_name = N'none'", "14262"),
        ("@job_name = N'one', @notify_email_operator_name = N'none'", "14262"),
    ] {
        let told = refusal(&mut session, &format!("exec msdb.dbo.sp_update_job {call}"));
        assert!(told.starts_with(number), "{call}: {told}");
    }
    assert!(
        rows(&mut session, shown).starts_with("one 0 first"),
        "nothing has changed"
    );
    // Management Studio's scripts name every operator, mostly as an empty text: they were 14262.
    run(
        &mut session,
        &[
            "exec msdb.dbo.sp_update_job @job_name = N'one', @enabled = 1, @notify_email_operator_name = N'', \
           @notify_netsend_operator_name = N'', @notify_page_operator_name = N''",
        ],
    );
    assert!(rows(&mut session, shown).starts_with("one 1 first"));
}

/// Calls that are refused, with their numbers.
const REFUSED: [(&str, i32); 5] = [
    ("sp_help_job @job_name = 'third'", 14262),
    ("sp_help_job @job_name = 'first', @job_aspect = 'PARTS'", 14266),
    ("sp_help_job @date_comparator = '<>'", 14266),
    ("sp_help_jobstep", 14294),
    (
        "sp_help_jobschedule @job_name = 'first', @include_description = 1",
        40517,
    ),
];

/// `sp_help_job` and its kin: all jobs by what is asked of them, one with its steps, schedules and targets ("sp_help_job",
/// "sp_help_jobstep", "sp_help_jobschedule").
#[test]
fn jobs_are_shown_in_the_columns_of_their_documentation() {
    let mut session = transcript::session(&transcript::instance());
    run(
        &mut session,
        &["use msdb \
           exec sp_add_job 'first', @description = N'of two' exec sp_add_job 'second', @enabled = 0 \
           exec sp_add_jobstep @job_name = 'first', @step_name = 'one', @command = 'select 1' \
           exec sp_add_jobstep @job_name = 'first', @step_name = 'two', @command = 'select 2', @database_name = 'tempdb' \
           exec sp_add_jobschedule @job_name = 'first', @name = 'daily', @freq_type = 4, @freq_interval = 1, @active_start_time = 10000 \
           exec sp_add_jobserver @job_name = 'first'"],
    );
    let names = "create table #j (job_id uniqueidentifier, originating_server nvarchar(30), name sysname, enabled tinyint, \
        description nvarchar(512), start_step_id int, category sysname, owner sysname, el int, em int, en int, ep int, oe sysname, \
        o2 sysname, o3 sysname, delete_level int, created datetime, modified datetime, version_number int, lrd int, lrt int, lro int, \
        nrd int, nrt int, nrs int, current_execution_status int, current_execution_step sysname, retry int, has_step int, \
        has_schedule int, has_target int, type int) insert #j exec msdb.dbo.sp_help_job CALL \
        select name, enabled, description, category, owner, current_execution_status, has_step, has_schedule, has_target from #j drop table #j";
    let shown = |session: &mut Session, call: &str| rows(session, &names.replace("CALL", call));
    let first = "first 1 of two [Uncategorized (Local)] sa 4 2 1 1";
    let second = "second 0 No description available. [Uncategorized (Local)] sa 4 0 0 0";
    assert_eq!(shown(&mut session, ""), format!("{first}|{second}"));
    for call in [
        "@enabled = 1",
        "@description = 'of%'",
        "@subsystem = 'TSQL'",
        "@job_name = 'first', @job_aspect = 'JOB'",
        "@execution_status = 4, @enabled = 1",
        "@date_comparator = '>', @date_created = '2001-01-01', @enabled = 1",
    ] {
        assert_eq!(shown(&mut session, call), first, "{call}");
    }
    for call in [
        "@execution_status = 1",
        "@owner_login_name = 'nobody'",
        "@category_name = 'x'",
        "@job_type = 'MULTI-SERVER'",
    ] {
        assert_eq!(shown(&mut session, call), "", "{call}");
    }
    let steps = rows(
        &mut session,
        "exec msdb.dbo.sp_help_jobstep @job_name = 'first', @step_id = 2",
    );
    assert!(
        steps.starts_with("2 two TSQL select 2 0 0 1 0 2 0 NULL tempdb NULL 0 0 0 NULL 0"),
        "{steps}"
    );
    let schedules = rows(&mut session, "exec msdb.dbo.sp_help_jobschedule @job_name = 'first'");
    assert!(schedules.starts_with("1 daily 1 4 1 0 0 0 0 "), "{schedules}");
    // One job: itself, two steps, a schedule, a target.
    assert_eq!(
        answers(&mut session, "exec msdb.dbo.sp_help_job @job_name = 'first'")
            .rows
            .len(),
        5
    );
    for (call, number) in REFUSED {
        assert!(
            refusal(&mut session, &format!("exec msdb.dbo.{call}")).starts_with(&number.to_string()),
            "{call}"
        );
    }
}

/// Glenn Berry's queries read the view, which was not there (208).
#[test]
fn the_view_of_jobs_has_them_with_the_name_of_their_server() {
    let mut session = transcript::session(&transcript::instance());
    run(&mut session, &["exec msdb.dbo.sp_add_job @job_name = N'Backup'"]);
    assert_eq!(
        rows(
            &mut session,
            "select j.name, case when v.originating_server = @@servername then 'here' end, v.master_server, v.originating_server_id \
             from msdb.dbo.sysjobs_view v join msdb.dbo.sysjobs j on j.job_id = v.job_id"
        ),
        "Backup here 0 0"
    );
    assert_eq!(
        rows(
            &mut session,
            "select o.type, count(*) from msdb.sys.objects o join msdb.sys.columns c on c.object_id = o.object_id \
             where o.name = 'sysjobs_view' group by o.type"
        ),
        "V  21"
    );
}
