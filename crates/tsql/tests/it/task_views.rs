//! Requests as tasks, what sessions have waited for, indexes' operational figures, and whether files exist: the views that administrators'
//! scripts join to sessions and indexes.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use engine::types::{Length, SqlType, Value};
use transcript::{Transcript, Whole, instance, session};
use tsql::session::{Reset, Session};
use tsql::sink::Parameter;

fn run(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute(batch, &mut transcript);
    transcript.text
}

/// The first column of the rows.
fn values(session: &mut Session, query: &str) -> Vec<String> {
    let mut whole = Whole::default();
    session.execute(query, &mut whole);
    whole.0
}

/// The request that asks is there, with its worker and its thread, and joins to sys.dm_exec_requests as scripts join it.
#[test]
fn the_request_that_asks_is_a_task_with_its_worker_and_thread() {
    let instance = instance();
    let (mut one, _idle) = (session(&instance), session(&instance));
    let chain = "select concat(t.session_id - @@spid, ' ', t.task_state, ' ', w.state, ' ', h.started_by_sqlservr, ' ', u.database_id) \
        from sys.dm_exec_requests r join sys.dm_os_tasks t on t.session_id = r.session_id and t.request_id = r.request_id \
        join sys.dm_os_workers w on w.worker_address = t.worker_address and w.task_address = t.task_address \
        join sys.dm_os_threads h on h.thread_address = w.thread_address and h.worker_address = w.worker_address \
        join sys.dm_db_task_space_usage u on u.task_address = t.task_address";
    assert_eq!(values(&mut one, chain), ["0 RUNNING RUNNING 1 2"]);
    let sessions = "select concat(count(*) - (select count(*) from sys.dm_exec_sessions where is_user_process = 1), '') \
        from sys.dm_db_session_space_usage where session_id > 50";
    assert_eq!(values(&mut one, sessions), ["0"]);
}

/// A session's waits are its own, the instance's are everybody's; a connection that goes back to its pool begins anew.
#[test]
fn a_sessions_waits_are_its_own() {
    let instance = instance();
    let (mut one, mut other) = (session(&instance), session(&instance));
    assert_eq!(run(&mut one, "waitfor delay '00:00:02'"), "");
    let waited = "select concat(wait_type, ' ', waiting_tasks_count, ' ', wait_time_ms, ' ', max_wait_time_ms, ' ', signal_wait_time_ms) \
        from sys.dm_exec_session_wait_stats where session_id = @@spid and wait_type = 'WAITFOR'";
    assert_eq!(values(&mut one, waited), ["WAITFOR 1 2000 2000 0"]);
    assert_eq!(values(&mut other, waited), Vec::<String>::new());
    let all =
        "select concat(count(*), '') from sys.dm_os_wait_stats where wait_type = 'WAITFOR' and waiting_tasks_count = 1";
    assert_eq!(values(&mut other, all), ["1"]);
    let by_others =
        "select concat(count(distinct session_id), '') from sys.dm_exec_session_wait_stats where wait_type = 'WAITFOR'";
    assert_eq!(values(&mut other, by_others), ["1"]);
    one.reset(Reset::default());
    assert_eq!(values(&mut one, waited), Vec::<String>::new());
    assert_eq!(values(&mut other, all), ["1"]);
}

/// One row for a heap and for each index, chosen by the arguments; what is not counted is NULL and not 0.
#[test]
fn every_heap_and_index_has_operational_figures() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, "create database d");
    run(
        &mut one,
        "use d create table t (a int primary key, b int index ib) create table h (a int)",
    );
    let rows = |arguments: &str| {
        format!(
            "select concat(object_name(object_id, database_id), ' ', index_id, ' ', partition_number, ' ', isnull(leaf_insert_count, -1), \
             ' ', page_compression_attempt_count) from sys.dm_db_index_operational_stats({arguments}) \
             where object_id > 100 and database_id = db_id() order by object_id, index_id"
        )
    };
    let t = ["t 1 1 -1 0", "t 2 1 -1 0"];
    assert_eq!(
        values(&mut one, &rows("db_id(), null, null, null")),
        [t[0], t[1], "h 0 1 -1 0"]
    );
    assert_eq!(values(&mut one, &rows("db_id('d'), object_id('t'), null, null")), t);
    assert_eq!(values(&mut one, &rows("db_id('d'), object_id('t'), 2, null")), [t[1]]);
    assert_eq!(values(&mut one, &rows("null, null, null, null")).len(), 3);
}

/// As xp_fileexist: a file, a folder, a folder above; and nothing where the server may not look.
#[test]
fn files_exist_or_not() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, "create database d");
    let found = |path: &str| {
        format!(
            "select concat(file_exists, file_is_a_directory, parent_directory_exists) from sys.dm_os_file_exists({path})"
        )
    };
    run(&mut one, "use d");
    let asked = "declare @p nvarchar(256) = (select physical_name from sys.database_files where file_id = 1) ";
    let of_file = format!("{asked}{}", found("@p"));
    assert_eq!(values(&mut one, &of_file), ["101"]);
    let beside = format!("{asked}set @p = @p + '.none' {}", found("@p"));
    assert_eq!(values(&mut one, &beside), ["001"]);
    assert_eq!(values(&mut one, &found("'/no/such/folder/x'")), ["000"]);
    assert_eq!(values(&mut one, &found("null")).len(), 1);
}

/// A scoped configuration is there if ALTER DATABASE takes it, with the value that it takes; any other value is refused.
#[test]
fn scoped_configurations_are_those_that_alter_database_takes() {
    let instance = instance();
    let mut one = session(&instance);
    let listed = values(
        &mut one,
        "select concat(name, ' = ', convert(int, value)) from sys.database_scoped_configurations",
    );
    let places = syntax::grammar::SCOPED_CONFIGURATIONS.words;
    for word in places.iter().filter(|word| word.name != "CLEAR PROCEDURE_CACHE") {
        let found = listed
            .iter()
            .find(|line| line.starts_with(&format!("{} = ", word.name)));
        let set = |value: &str| format!("alter database scoped configuration set {} = {value}", word.name);
        let Some(found) = found else {
            assert!(run(&mut one, &set("1")).contains("Msg 40517"), "{}", word.name);
            continue;
        };
        let value = found.rsplit(' ').next().unwrap();
        let words = match (word.name, value) {
            ("MAXDOP", _) => ["0", "4"],
            (_, "1") => ["on", "off"],
            _ => ["off", "on"],
        };
        assert_eq!(run(&mut one, &set(words[0])), "", "{found}");
        assert!(run(&mut one, &set(words[1])).contains("Msg 40517"), "{found}");
    }
    assert_eq!(listed.len(), places.len() - 2);
}

/// What the server does not have says so: no query store, one pool that nothing limits, no ring buffers.
#[test]
fn what_is_not_there_says_so() {
    let instance = instance();
    let mut one = session(&instance);
    let query_store = "select concat(actual_state_desc, ' ', desired_state_desc, ' ', d.is_query_store_on, max_storage_size_mb) \
        from sys.database_query_store_options cross join sys.databases d where d.database_id = db_id()";
    assert_eq!(values(&mut one, query_store), ["OFF OFF 0"]);
    let pool = "select concat(name, ' ', max_memory_percent, ' ', case when used_memory_kb between 1 and max_memory_kb then 'fits' end) \
        from sys.dm_resource_governor_resource_pools";
    assert_eq!(values(&mut one, pool), ["default 100 fits"]);
    assert_eq!(
        values(&mut one, "select concat(count(*), '') from sys.dm_os_ring_buffers"),
        ["0"]
    );
}

/// Administrators' scripts count what memory grants, audits and columnstore indexes take, and find nothing, by the columns that they name.
#[test]
fn features_that_are_not_there_take_nothing() {
    let instance = instance();
    let mut one = session(&instance);
    let taken = "select concat((select count(*) from sys.dm_exec_query_memory_grants where grant_time is null and is_small = 0), \
        (select count(*) from sys.dm_server_audit_status where status_desc = 'STARTED'), \
        (select sum(on_disk_size) from sys.column_store_dictionaries where partition_id = 1), \
        (select sum(on_disk_size) from sys.column_store_segments where segment_id = 1), \
        (select count(*) from sys.column_store_row_groups g join sys.dm_db_column_store_row_group_physical_stats p \
            on p.object_id = g.object_id and p.row_group_id = g.row_group_id and p.trim_reason_desc = g.state_description))";
    assert_eq!(values(&mut one, taken), ["000"]);
}

/// sysprocesses joins to the text of what runs, and names no resource of a session that waits for nothing; of one that waits for a lock,
/// the resource is unknown here and not blank.
#[test]
fn old_views_of_processes_and_logins_have_the_columns_that_scripts_name() {
    let instance = instance();
    let mut one = session(&instance);
    let own = "select concat(case when waitresource = '' then 'none' end, nt_domain, nt_username, ' ', stmt_start, ' ', stmt_end, ' ', \
        case when t.text like '%own batch%' then 'text' end) from sys.sysprocesses p \
        cross apply sys.dm_exec_sql_text(p.sql_handle) t where spid = @@spid /* own batch */";
    assert_eq!(values(&mut one, own), ["none 0 -1 text"]);
    let logins = "select concat(l.name, ' ', l.loginname, ' ', sysadmin, securityadmin, denylogin, hasaccess, ' ', p.type_desc) \
        from master..syslogins l join sys.server_principals p on p.sid = l.sid";
    assert_eq!(values(&mut one, logins), ["sa sa 1001 SQL_LOGIN"]);
}

/// `create_date` was no column of the principals: Glenn Berry's scripts for 2005 to 2008 R2 ask it when the server was installed.
#[test]
fn principals_are_as_old_as_their_database_and_roles_have_owners() {
    let instance = instance();
    let mut one = session(&instance);
    let installed = "select concat(p.name, ' ', p.owning_principal_id) from sys.server_principals p \
        join sys.databases d on d.name = 'master' and d.create_date = p.create_date and d.create_date = p.modify_date \
        where p.principal_id in (1, 2, 3) order by p.principal_id";
    assert_eq!(values(&mut one, installed), ["sa ", "public 1", "sysadmin 1"]);
    let logins = "select l.name from sys.sql_logins l join sys.server_principals p on p.sid = l.sid and p.create_date = l.create_date";
    assert_eq!(values(&mut one, logins), ["sa"]);
    let users = "select concat(p.name, ' ', p.authentication_type, ' ', p.authentication_type_desc, ' ', p.owning_principal_id) \
        from sys.database_principals p join sys.databases d on d.database_id = db_id() and d.create_date = p.create_date \
        where p.name in ('dbo', 'guest', 'db_owner') order by p.principal_id";
    let expected = ["dbo 1 INSTANCE ", "guest 0 NONE ", "db_owner 0 NONE 1"];
    assert_eq!(values(&mut one, users), expected);
    assert_eq!(run(&mut one, "create database later"), "");
    assert!(!run(&mut one, "use later").contains("Msg"));
    assert_eq!(values(&mut one, users), expected);
}

/// `EXECUTE other.sys.sp_executesql` runs its text in that database, as scripts do that visit every database. The caller goes on in its
/// own, even where the text has failed or has gone on to a third one, and the database is in use meanwhile and not afterwards.
#[test]
fn sp_executesql_of_another_database_runs_there() {
    let instance = instance();
    let mut one = session(&instance);
    assert_eq!(run(&mut one, "create database other; create database third"), "");
    assert_eq!(run(&mut one, "create table here (a int)"), "");
    let within = "exec other.sys.sp_executesql N'create table there (a int); insert there values (7)'";
    assert!(!run(&mut one, within).contains("Msg"));
    let home = values(&mut one, "select db_name()");
    let visits = [
        "exec other.sys.sp_executesql N'select concat(db_name(), @@nestlevel, a) from there'",
        "exec other..sp_executesql @stmt = N'select concat(db_name(), @@nestlevel, a) from there'",
        "declare @p nvarchar(200) = '[other].sys.sp_executesql' \
         exec @p @stmt = N'select concat(db_name(), @@nestlevel, a) from there where a = @a', @params = N'@a int', @a = 7",
        "declare @p nvarchar(200) = '[other].sys.sp_executesql', @t table (v varchar(50)) \
         insert @t exec @p N'select concat(db_name(), @@nestlevel, a) from there' select v from @t",
    ];
    for visit in visits {
        assert_eq!(values(&mut one, visit), ["other17"], "{visit}");
        assert_eq!(values(&mut one, "select db_name()"), home, "{visit}");
    }
    let output = "declare @n int exec other.sys.sp_executesql N'select @m = max(a) from there', N'@m int output', @n output select concat(@n, '')";
    assert_eq!(values(&mut one, output), ["7"]);
    let failing = [
        ("exec other.sys.sp_executesql N'select * from here'", "208"),
        ("exec third.sys.sp_executesql N'use other select 1/0'", "8134"),
        ("exec missing.sys.sp_executesql N'select 1'", "911"),
    ];
    for (batch, number) in failing {
        assert!(run(&mut one, batch).contains(number), "{batch}");
        assert_eq!(values(&mut one, "select db_name()"), home, "{batch}");
    }
    let in_use = run(
        &mut one,
        "exec other.sys.sp_executesql N'exec(''drop database other'')'",
    );
    assert!(in_use.contains("3702"), "{in_use}");
    assert_eq!(run(&mut one, "drop database other; drop database third"), "");
}

/// A client that calls it by such a name is answered in the same way.
#[test]
fn clients_call_sp_executesql_of_another_database() {
    let instance = instance();
    let mut one = session(&instance);
    assert_eq!(run(&mut one, "create database other"), "");
    let text = Parameter {
        name: String::new(),
        sql_type: SqlType::NVarChar(Length::Max),
        value: "select db_name()".into(),
        output: false,
        is_default: false,
        table: None,
    };
    let mut whole = Whole::default();
    one.execute_procedure("other.sys.sp_executesql", &[text], &mut whole);
    assert_eq!(whole.0, ["other"]);
    assert_ne!(values(&mut one, "select db_name()"), ["other"]);
}

/// A session in a database of its own, with two others beside it, and what `db_name()` says there.
fn beside_another_database() -> (Session, Vec<String>) {
    let instance = instance();
    let mut one = session(&instance);
    assert_eq!(run(&mut one, "create database other; create database third"), "");
    let there = "create table there (a int primary key, b varchar(9)); insert there values (7, ''seven''); create sequence numbers as int";
    assert!(!run(&mut one, &format!("exec other.sys.sp_executesql N'{there}'")).contains("Msg"));
    let module = "exec other.sys.sp_executesql N'create procedure shown as select 1'";
    assert_eq!(run(&mut one, module), "");
    let home = values(&mut one, "select db_name()");
    (one, home)
}

/// Procedures of the system that read a text, a name or a handle do so in the database that the call names: each finds there what the
/// caller's own database has not. The caller goes on in its own.
/// What is called in another database gave up the lock on the caller's: under SINGLE_USER another session could get in meanwhile, and the batch went
/// on in the wrong database.
#[test]
fn the_callers_database_stays_locked_while_another_is_worked_in() {
    let (mut one, _) = beside_another_database();
    let own =
        "select count(*) from sys.dm_tran_locks where resource_type = ''DATABASE'' and request_session_id = @@spid";
    let plain = own.replace("''", "'");
    let count = |session: &mut Session, batch: &str| -> String {
        let answer = run(session, batch);
        let numbers = answer.lines().filter(|line| line.trim().parse::<u32>().is_ok());
        numbers.map(|line| line.trim().to_owned()).collect::<Vec<_>>().join(" ")
    };
    run(&mut one, "use other");
    for (batch, counts) in [
        (format!("exec master.sys.sp_executesql N'{own}'"), "2"),
        (format!("exec('use master {own}')"), "2"),
        // A transaction that ends inside gives back its own locks alone; to and fro adds no depth.
        (format!("exec master.sys.sp_executesql N'begin tran commit {own}'"), "2"),
        (format!("exec('use master use other use tempdb {own}')"), "2"),
        (plain.clone(), "1"),
    ] {
        assert_eq!(count(&mut one, &batch), counts, "{batch}");
    }
    // What the caller goes back to cannot be closed meanwhile.
    let refused = run(
        &mut one,
        "exec master.sys.sp_executesql N'alter database other set offline' select 17",
    );
    assert!(refused.contains("Msg 5061") && refused.contains("17"), "{refused}");
    assert_eq!(count(&mut one, &plain), "1");
    assert!(run(&mut one, "select db_name()").contains("other"));
}

#[test]
fn every_procedure_of_the_system_works_in_the_database_that_its_name_says() {
    let (mut one, home) = beside_another_database();
    let calls = [
        ("sp_describe_first_result_set N'select a from there'", "a"),
        (
            "sp_describe_undeclared_parameters N'select * from there where a = @p'",
            "@p",
        ),
        ("sp_columns N'there'", "there"),
        ("sp_pkeys N'there'", "there"),
        ("sp_tables N'there'", "there"),
        ("sp_help N'there'", "there"),
        ("sp_helptext N'shown'", "create procedure shown"),
        ("sp_helpindex N'there'", "clustered"),
        ("sp_spaceused N'there'", "there"),
        ("sp_statistics N'there'", "there"),
        ("sp_stored_procedures N'shown'", "shown"),
        ("sp_helpfile", "other"),
        ("sp_rename N'there.b', N'renamed', N'COLUMN'", "15477"),
        ("sp_columns N'there', @column_name = N'renamed'", "renamed"),
    ];
    for (call, told) in calls {
        for place in ["other.sys", "[other]."] {
            if place == "[other]." && call.starts_with("sp_rename") {
                continue;
            }
            let call = format!("exec {place}.{call}");
            let answer = run(&mut one, &call);
            assert!(
                !answer.contains("Level 16") && answer.contains(told),
                "{call}: {answer}"
            );
            assert_eq!(values(&mut one, "select db_name()"), home, "{call}");
        }
    }
}

/// The same for procedures that keep handles and cursors, and for databases that are missing or renamed.
#[test]
fn handles_and_cursors_are_of_the_database_that_the_call_names() {
    let (mut one, home) = beside_another_database();
    let handles = [
        (
            "declare @h int exec other.sys.sp_prepexec @h output, N'@a int', N'select concat(db_name(), a) from there where a = @a', 7",
            "other7",
        ),
        (
            "declare @h int exec other.sys.sp_prepare @h output, N'', N'select concat(db_name(), a) from there' \
             exec other.sys.sp_execute @h exec other.sys.sp_unprepare @h",
            "other7",
        ),
        (
            "declare @c int, @s int = 8, @o int = 1, @n int \
             exec other.sys.sp_cursoropen @c output, N'select concat(db_name(), a) from there', @s output, @o output, @n output \
             exec other.sys.sp_cursorfetch @c, 2, 0, 10 exec sp_cursorclose @c",
            "other7",
        ),
        (
            "declare @v sql_variant exec other.sys.sp_sequence_get_range N'numbers', 3, @v output select concat(cast(@v as int), '')",
            "-2147483648",
        ),
    ];
    for (batch, last) in handles {
        assert_eq!(
            values(&mut one, batch).last().map(String::as_str),
            Some(last),
            "{batch}"
        );
        assert_eq!(values(&mut one, "select db_name()"), home, "{batch}");
    }
    let unknown = run(
        &mut one,
        "exec third.sys.sp_describe_first_result_set N'select a from there'",
    );
    assert!(unknown.contains("208"), "{unknown}");
    assert!(run(&mut one, "exec missing.sys.sp_help").contains("911"));
    assert!(!run(&mut one, "use third exec master..sp_renamedb 'third', 'fourth'").contains("Level 16"));
    assert_eq!(values(&mut one, "select db_name()"), ["fourth"]);
}

/// A client prepares and runs a text in the database that the call names.
#[test]
fn clients_prepare_in_the_database_that_the_call_names() {
    let instance = instance();
    let mut one = session(&instance);
    assert_eq!(run(&mut one, "create database other"), "");
    let given = |value: Value, sql_type, output| Parameter {
        name: String::new(),
        sql_type,
        value,
        output,
        is_default: false,
        table: None,
    };
    let text = SqlType::NVarChar(Length::Max);
    let parameters = [
        given(Value::Null, SqlType::Int, true),
        given(Value::Null, text, false),
        given("select db_name()".into(), text, false),
    ];
    let mut whole = Whole::default();
    one.execute_procedure("other.sys.sp_prepexec", &parameters, &mut whole);
    assert_eq!(whole.0, ["other"]);
    assert_ne!(values(&mut one, "select db_name()"), ["other"]);
}

/// A script finds its own text, as sp_WhoIsActive finds its help: a procedure's request has the procedure's handle, and a batch has its own.
#[test]
fn the_handle_of_a_request_is_that_of_the_procedure_under_way() {
    let instance = instance();
    let mut one = session(&instance);
    let text = "select text from sys.dm_exec_requests r cross apply sys.dm_exec_sql_text(r.sql_handle) where session_id = @@spid";
    let inner = format!("create procedure inner_one as /* inner */ {text}");
    let outer = format!("create procedure outer_one as exec inner_one /* outer */ {text}");
    for create in [&inner, &outer] {
        assert_eq!(run(&mut one, create), "");
    }
    let batch = format!("exec outer_one {text}");
    assert_eq!(values(&mut one, &batch), [inner, outer, batch.clone()]);
    let failing = "create procedure failing as select 1/0 select * from no_such_table";
    assert_eq!(run(&mut one, failing), "");
    assert!(run(&mut one, "exec failing").contains("208"));
    assert_eq!(values(&mut one, text), [text], "an error ends what is told as well");
}

/// What a request shows of the session's options, as sp_WhoIsActive reads it.
#[test]
fn requests_and_sessions_show_their_options() {
    let instance = instance();
    let mut one = session(&instance);
    let options = "concat(text_size, ' ', language, ' ', date_format, ' ', date_first, ' ', quoted_identifier, arithabort, ansi_null_dflt_on, \
         ansi_defaults, ansi_warnings, ansi_padding, ansi_nulls, concat_null_yields_null, ' ', group_id)";
    let both = format!(
        "select {options} from sys.dm_exec_requests where session_id = @@spid union all select {options} from sys.dm_exec_sessions where session_id = @@spid"
    );
    assert_eq!(values(&mut one, &both), ["2147483647 us_english mdy 7 11101111 2"; 2]);
    let set = "set quoted_identifier, arithabort, ansi_warnings, ansi_padding, ansi_nulls, concat_null_yields_null off set datefirst 1 \
        set dateformat ymd set textsize 100 set ansi_null_dflt_on off";
    assert_eq!(run(&mut one, set), "");
    assert_eq!(values(&mut one, &both), ["100 us_english ymd 1 00000000 2"; 2]);
    assert_eq!(run(&mut one, "set ansi_defaults on"), "");
}
