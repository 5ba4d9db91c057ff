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
}
