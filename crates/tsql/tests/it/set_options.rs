//! SET: the effect of each option, its bad values, and that nothing is executed under PARSEONLY, NOEXEC, FMTONLY and
//! SHOWPLAN.
//!
//! Numbers, states and words are SQL Server's: sql-docs, "SET statements" and "Database Engine events and errors".
#![allow(clippy::unwrap_used)]

use crate::transcript;

use std::sync::Arc;

use engine::instance::Instance;
use transcript::{Transcript, instance, session};
use tsql::session::Session;

fn run(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute(batch, &mut transcript);
    transcript.text
}

fn started() -> (Arc<Instance>, Session) {
    let instance = instance();
    let mut one = session(&instance);
    run(
        &mut one,
        "set nocount on create table t (a int not null primary key, b varchar(max)) insert t values (1, 'one'), (2, 'two')",
    );
    (instance, one)
}

/// The value of a query of one row and column.
fn value(session: &mut Session, query: &str) -> String {
    let answer = run(session, query);
    answer.lines().nth(1).unwrap_or(&answer).trim().to_owned()
}

/// Statement, and the error it answers: number, severity, state and words.
const REFUSALS: [(&str, &str); 31] = [
    (
        "set lock_timeout -2",
        "102, Level 15, State 3, Line 1: Incorrect syntax near 'LOCK_TIMEOUT'.",
    ),
    (
        "set lock_timeout '10'",
        "102, Level 15, State 3, Line 1: Incorrect syntax near 'LOCK_TIMEOUT'.",
    ),
    (
        "set lock_timeout 2147483648",
        "102, Level 15, State 3, Line 1: Incorrect syntax near 'LOCK_TIMEOUT'.",
    ),
    (
        "set rowcount -1",
        "102, Level 15, State 1, Line 1: Incorrect syntax near '-'.",
    ),
    (
        "set rowcount 2.5",
        "1080, Level 15, State 1, Line 1: The integer value 2.5 is out of range.",
    ),
    (
        "declare @n int set rowcount @n",
        "507, Level 16, State 2, Line 1: Invalid argument for SET ROWCOUNT. Must be a non-null non-negative integer.",
    ),
    (
        "declare @n int = -3 set rowcount @n",
        "507, Level 16, State 2, Line 1: Invalid argument for SET ROWCOUNT. Must be a non-null non-negative integer.",
    ),
    (
        "declare @n varchar(5) = '4' set rowcount @n",
        "507, Level 16, State 2, Line 1: Invalid argument for SET ROWCOUNT. Must be a non-null non-negative integer.",
    ),
    (
        "set deadlock_priority 11",
        "2755, Level 16, State 1, Line 1: SET DEADLOCK_PRIORITY option is invalid. Valid options are {HIGH | NORMAL | LOW | [-10 ... 10] of type integer}.",
    ),
    (
        "set deadlock_priority '5'",
        "2755, Level 16, State 1, Line 1: SET DEADLOCK_PRIORITY option is invalid. Valid options are {HIGH | NORMAL | LOW | [-10 ... 10] of type integer}.",
    ),
    (
        "set datefirst 8",
        "2742, Level 16, State 1, Line 1: SET DATEFIRST 8 is out of range.",
    ),
    (
        "set datefirst '3'",
        "2743, Level 16, State 3, Line 1: SET DATEFIRST option requires integer parameter.",
    ),
    (
        "set dateformat xyz",
        "2741, Level 16, State 1, Line 1: SET DATEFORMAT date order 'xyz' is invalid.",
    ),
    (
        "set dateformat 1",
        "2743, Level 16, State 2, Line 1: SET DATEFORMAT option requires character string parameter.",
    ),
    (
        "set language klingon",
        "2740, Level 16, State 1, Line 1: SET LANGUAGE failed because 'klingon' is not an official language name or a language alias on this SQL Server.",
    ),
    (
        "set context_info 'ab'",
        "2743, Level 16, State 1, Line 1: SET CONTEXT_INFO option requires varbinary (128) NOT NULL parameter.",
    ),
    (
        "set context_info null",
        "2743, Level 16, State 1, Line 1: SET CONTEXT_INFO option requires varbinary (128) NOT NULL parameter.",
    ),
    (
        "set textsize 'x'",
        "102, Level 15, State 1, Line 1: Incorrect syntax near 'x'.",
    ),
    (
        "set query_governor_cost_limit 'x'",
        "102, Level 15, State 3, Line 1: Incorrect syntax near 'QUERY_GOVERNOR_COST_LIMIT'.",
    ),
    (
        "set query_governor_cost_limit 5",
        "40517, Level 16, State 1, Line 1: Keyword or statement option 'QUERY_GOVERNOR_COST_LIMIT 5' is not supported in this version of vlflab.",
    ),
    (
        "set fips_flagger 'nope'",
        "102, Level 15, State 3, Line 1: Incorrect syntax near 'nope'.",
    ),
    (
        "set fips_flagger 'full'",
        "40517, Level 16, State 1, Line 1: Keyword or statement option 'FIPS_FLAGGER FULL' is not supported in this version of vlflab.",
    ),
    (
        "set banana on",
        "195, Level 15, State 5, Line 1: 'banana' is not a recognized SET option.",
    ),
    (
        "set nocount, banana on",
        "195, Level 15, State 5, Line 1: 'banana' is not a recognized SET option.",
    ),
    (
        "set banana 5",
        "195, Level 15, State 7, Line 1: 'banana' is not a recognized SET option.",
    ),
    (
        "set banana",
        "102, Level 15, State 1, Line 1: Incorrect syntax near 'banana'.",
    ),
    (
        "set nocount maybe",
        "102, Level 15, State 4, Line 1: Incorrect syntax near 'nocount'.",
    ),
    (
        "set statistics banana on",
        "102, Level 15, State 1, Line 1: Incorrect syntax near 'BANANA'.",
    ),
    (
        "set offsets select, from on",
        "40517, Level 16, State 1, Line 1: Keyword or statement option 'OFFSETS' is not supported in this version of vlflab.",
    ),
    (
        "select 1 set showplan_text on",
        "1067, Level 15, State 2, Line 1: The SET SHOWPLAN statements must be the only statements in the batch.",
    ),
    (
        "if 1 = 1 set showplan_text on",
        "1067, Level 15, State 1, Line 1: The SET SHOWPLAN statements must be the only statements in the batch.",
    ),
];

#[test]
fn what_is_not_done_is_refused_by_number_and_changes_nothing() {
    let (_instance, mut one) = started();
    run(
        &mut one,
        "set lock_timeout 77 set rowcount 5 set textsize 9999 set context_info 0x07",
    );
    let state = "select concat(@@options, ' ', @@lock_timeout, ' ', @@datefirst, ' ', @@textsize, ' ', @@language, ' ', \
                 convert(varchar(4), context_info(), 1))";
    let before = value(&mut one, state);
    for (statement, error) in REFUSALS {
        let answer = run(&mut one, statement);
        assert_eq!(answer.trim(), format!("Msg {error}"), "{statement}");
        assert_eq!(value(&mut one, state), before, "after {statement}");
    }
}

/// A refused option that is seen before the batch runs lets nothing of the batch run.
#[test]
fn a_refused_option_does_not_leave_half_a_batch_done() {
    let (_instance, mut one) = started();
    for refused in [
        "set offsets select on",
        "set no_browsetable on",
        "create login l with password = 'x'",
    ] {
        run(&mut one, &format!("delete t {refused} delete t"));
        assert_eq!(value(&mut one, "select count(*) from t"), "2", "{refused}");
    }
}

/// What clients send when they log in (pymssql, tedious, jTDS, SMO, EF Core): all of it is taken, without a message.
#[test]
fn what_clients_send_at_login_is_taken() {
    let (_instance, mut one) = started();
    let logins = [
        "SET ARITHABORT ON; SET CONCAT_NULL_YIELDS_NULL ON; SET ANSI_NULLS ON; SET ANSI_NULL_DFLT_ON ON; SET ANSI_PADDING ON; \
         SET ANSI_WARNINGS ON; SET CURSOR_CLOSE_ON_COMMIT ON; SET QUOTED_IDENTIFIER ON; SET TEXTSIZE 2147483647;",
        "set ansi_nulls on set ansi_null_dflt_on on set ansi_padding on set ansi_warnings on set arithabort on \
         set concat_null_yields_null on set cursor_close_on_commit off set datefirst 7 set dateformat mdy \
         set implicit_transactions off set numeric_roundabort off set quoted_identifier on \
         set textsize 2147483647 set transaction isolation level read committed",
        "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET IMPLICIT_TRANSACTIONS OFF; SET QUOTED_IDENTIFIER ON; SET TEXTSIZE 2147483647;",
        "SET ROWCOUNT 0 SET TEXTSIZE 2147483647 SET NOCOUNT ON SET CONCAT_NULL_YIELDS_NULL ON SET ARITHABORT ON SET LOCK_TIMEOUT -1 \
         SET QUERY_GOVERNOR_COST_LIMIT 0 SET DEADLOCK_PRIORITY NORMAL SET TRANSACTION ISOLATION LEVEL READ COMMITTED \
         SET ANSI_NULLS ON SET ANSI_NULL_DFLT_ON ON SET ANSI_PADDING ON SET ANSI_WARNINGS ON SET CURSOR_CLOSE_ON_COMMIT OFF \
         SET IMPLICIT_TRANSACTIONS OFF SET QUOTED_IDENTIFIER ON",
        "SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL, QUOTED_IDENTIFIER ON; SET NUMERIC_ROUNDABORT OFF;",
        "SET PARSEONLY OFF SET NOEXEC OFF SET FMTONLY OFF SET SHOWPLAN_TEXT OFF SET STATISTICS IO, TIME OFF SET FORCEPLAN OFF",
    ];
    for login in logins {
        assert_eq!(run(&mut one, login), "", "{login}");
    }
    assert_eq!(
        run(&mut one, "set language us_english").trim(),
        "Msg 5703, Level 10, State 1, Line 1: Changed language setting to us_english."
    );
}

/// Every way to have nothing executed, and a DELETE behind it in the same batch, in the next one, in a procedure and in a text.
#[test]
fn nothing_is_changed_while_statements_are_not_executed() {
    for option in [
        "parseonly",
        "noexec",
        "fmtonly",
        "showplan_text",
        "showplan_all",
        "showplan_xml",
    ] {
        let (_instance, mut one) = started();
        run(&mut one, "create procedure p as delete t");
        let deletions = [
            "delete t",
            "exec p",
            "exec ('delete t')",
            "exec sp_executesql N'delete t'",
            "if 1 = 1 delete t else delete t",
            "begin try delete t end try begin catch delete t end catch",
            "while 1 = 1 begin delete t break end",
            "insert t values (9, 'nine')",
            "update t set b = 'none'",
            "truncate table t",
            "drop table t",
            "merge_is_none: delete t",
            "create table made (a int)",
            "exec sp_rename 't', 'renamed'",
            "begin tran delete t",
        ];
        if !option.starts_with("showplan") {
            run(&mut one, &format!("set {option} on delete t"));
        }
        run(&mut one, &format!("set {option} on"));
        for deletion in deletions {
            run(&mut one, deletion);
        }
        assert_eq!(run(&mut one, &format!("set {option} off")), "", "{option}");
        let left = "select concat(count(*), ' ', min(b), ' ', max(b), ' ', @@trancount, ' ', isnull(object_id('made'), 0)) from t";
        assert_eq!(value(&mut one, left), "2 one two 0 0", "{option}");
    }
}

#[test]
fn showplan_shows_what_is_not_executed() {
    let (_instance, mut one) = started();
    assert_eq!(run(&mut one, "set showplan_text on"), "");
    for batch in [
        "exec sp_who",
        "set nocount off",
        "declare @n int set @n = 5",
        "if 1 = 0 delete t else delete t",
    ] {
        let answer = run(&mut one, batch);
        assert!(answer.contains("StmtText"), "{batch}: {answer}");
    }
    let answer = run(&mut one, "select a from absent");
    assert!(answer.contains("Msg 208"), "names are looked for: {answer}");
    run(&mut one, "set showplan_text off");
    assert_eq!(value(&mut one, "select 1"), "1");
}

#[test]
fn noexec_binds_and_ends_with_its_own_off() {
    let (_instance, mut one) = started();
    let answer = run(
        &mut one,
        "set noexec on select c from t select a from absent print 'x' set noexec off print 'y'",
    );
    assert_eq!(
        answer.trim(),
        "Msg 207, Level 16, State 1, Line 1: Invalid column name 'c'."
    );
    run(&mut one, "set noexec off");
    assert_eq!(
        run(&mut one, "set noexec on print 'x' set noexec off print 'y'").trim(),
        "y"
    );
    assert_eq!(run(&mut one, "set noexec, nocount on select 1 set noexec off"), "");
    assert_eq!(value(&mut one, "select @@options & 512"), "512");
}

#[test]
fn parseonly_counts_from_the_parsing_of_its_batch() {
    let (_instance, mut one) = started();
    assert_eq!(run(&mut one, "print 'x' if 1 = 0 set parseonly on"), "");
    assert_eq!(run(&mut one, "print 'x'"), "");
    assert!(run(&mut one, "select from").contains("Msg 156"), "syntax is looked at");
    assert_eq!(run(&mut one, "select a from absent"), "", "names are not");
    assert_eq!(run(&mut one, "set parseonly off print 'y'").trim(), "y");
}

#[test]
fn fmtonly_tells_columns_and_no_rows() {
    let (_instance, mut one) = started();
    run(
        &mut one,
        "create procedure q as begin select a from t delete t select b from t end",
    );
    let answer = run(&mut one, "set fmtonly on select * from t set fmtonly off");
    assert_eq!(answer, "  [a int | b varchar(max)]\n");
    let answer = run(
        &mut one,
        "set fmtonly on exec q if 1 = 0 select 1 as x else select 2 as y set fmtonly off",
    );
    let heads: Vec<&str> = answer
        .lines()
        .filter(|line| line.contains('['))
        .map(str::trim)
        .collect();
    assert_eq!(heads, ["[a int]", "[b varchar(max)]", "[x int]", "[y int]"]);
    assert_eq!(value(&mut one, "select count(*) from t"), "2");
}

#[test]
fn datefirst_moves_weeks_and_not_names() {
    let (_instance, mut one) = started();
    // 2024-01-07 is a Sunday.
    let query = "select concat(@@datefirst, ' ', datepart(dw, '20240107'), ' ', datepart(week, '20240107'), ' ', \
                 datename(dw, '20240107'), ' ', datediff(week, '20240106', '20240107'), ' ', \
                 convert(varchar(10), datetrunc(week, cast('20240110' as date)), 120))";
    let wanted = [
        (7, "7 1 2 Sunday 1 2024-01-07"),
        (1, "1 7 1 Sunday 1 2024-01-08"),
        (3, "3 5 2 Sunday 1 2024-01-10"),
    ];
    for (first, answer) in wanted {
        assert_eq!(value(&mut one, &format!("set datefirst {first} {query}")), answer);
    }
}

/// What SET DATEFIRST and SET DATEFORMAT had said was lost at the next SET LANGUAGE: tedious sends one behind both for every connection.
#[test]
fn a_language_leaves_the_first_day_and_the_order_of_dates_that_were_said() {
    let (_instance, mut one) = started();
    let state = "select concat(@@datefirst, ' ', convert(varchar(10), cast('01/02/2024' as datetime), 120))";
    assert_eq!(value(&mut one, state), "7 2024-01-02");
    run(&mut one, "set language german");
    assert_eq!(value(&mut one, state), "1 2024-02-01");
    run(&mut one, "set datefirst 3");
    run(&mut one, "set language us_english");
    assert_eq!(value(&mut one, state), "3 2024-01-02");
    run(&mut one, "set dateformat dmy");
    run(&mut one, "set language us_english");
    assert_eq!(value(&mut one, state), "3 2024-02-01");
}

#[test]
fn textsize_cuts_what_is_shown_and_nothing_that_is_kept() {
    let (_instance, mut one) = started();
    run(&mut one, "set textsize 4");
    let query = "select cast('abcdef' as varchar(max)), cast(N'abcdef' as nvarchar(max)), cast(0x010203040506 as varbinary(max)), 'abcdef'";
    assert_eq!(value(&mut one, query), "abcd | ab | 0x01020304 | abcdef");
    run(&mut one, "update t set b = replicate('x', 10)");
    assert_eq!(value(&mut one, "select max(len(b)) from t"), "10");
    assert_eq!(value(&mut one, "set textsize 0 select @@textsize"), "4096");
    assert_eq!(value(&mut one, "set textsize -1 select @@textsize"), "-1");
}

#[test]
fn nullability_that_is_not_said_follows_the_session() {
    let (_instance, mut one) = started();
    let cases = [
        ("set ansi_null_dflt_on on", "1"),
        ("set ansi_null_dflt_on off", "0"),
        ("set ansi_null_dflt_off on", "0"),
        ("set ansi_null_dflt_on on", "1"),
        ("set ansi_null_dflt_off off", "1"),
    ];
    for (option, nullable) in cases {
        run(
            &mut one,
            &format!("{option} create table n (a int, b int null, c int not null)"),
        );
        let query =
            "select string_agg(cast(is_nullable as varchar(1)), '') from sys.columns where object_id = object_id('n')";
        assert_eq!(value(&mut one, query), format!("{nullable}10"), "{option}");
        run(&mut one, "drop table n");
    }
}

#[test]
fn ansi_padding_off_lets_no_column_be_made_that_would_need_it() {
    let (_instance, mut one) = started();
    run(&mut one, "set ansi_padding off");
    for create in [
        "create table n (a varchar(5))",
        "alter table t add c varbinary(5)",
        "create table n (a char(5))",
    ] {
        assert!(
            run(&mut one, create).contains("'ANSI_PADDING OFF' is not supported"),
            "{create}"
        );
    }
    assert_eq!(run(&mut one, "create table n (a int)"), "");
}

#[test]
fn a_module_puts_its_options_back() {
    let (_instance, mut one) = started();
    run(&mut one, "create table i (id int identity, x int)");
    run(
        &mut one,
        "create procedure s as begin set lock_timeout 5 set rowcount 1 set datefirst 3 set deadlock_priority high \
         set textsize 10 set xact_abort on set language us_english set transaction isolation level serializable \
         set identity_insert i on set context_info 0x09 set fmtonly on end",
    );
    let state = "select concat(@@options, ' ', @@lock_timeout, ' ', @@datefirst, ' ', @@textsize, ' ', \
                 (select count(*) from t), ' ', transaction_isolation_level) from sys.dm_exec_sessions where session_id = @@spid";
    let before = value(&mut one, state);
    let texts = [
        "exec s",
        "exec ('set lock_timeout 5 set rowcount 1 set datefirst 3 set identity_insert i on')",
        "exec sp_executesql N'set lock_timeout 5 set rowcount 1 set xact_abort on set identity_insert i on'",
    ];
    for text in texts {
        assert_eq!(run(&mut one, text), "", "{text}");
        assert_eq!(value(&mut one, state), before, "{text}");
        assert!(
            run(&mut one, "insert i (id, x) values (5, 5)").contains("Msg 544"),
            "{text}"
        );
    }
    assert_eq!(
        value(&mut one, "select convert(varchar(4), context_info(), 1)"),
        "0x09",
        "a value of the session"
    );
}

/// A batch that was bound while IDENTITY_INSERT was ON was kept with its plan and gave values of its own afterwards as well.
#[test]
fn a_kept_plan_does_not_outlive_identity_insert() {
    let (_instance, mut one) = started();
    run(&mut one, "create table i (id int identity, x int)");
    let insert = "insert i (id, x) values (5, 5)";
    assert!(run(&mut one, insert).contains("Msg 544"));
    run(&mut one, "set identity_insert i on");
    assert_eq!(run(&mut one, insert), "");
    run(&mut one, "set identity_insert i off");
    assert!(run(&mut one, insert).contains("Msg 544"));
}

#[test]
fn cursor_close_on_commit_closes_cursors_at_the_end_of_a_transaction() {
    let (_instance, mut one) = started();
    run(&mut one, "declare c cursor static for select a from t");
    let state = "select cursor_status('global', 'c')";
    for (option, end, status) in [
        ("off", "commit", "1"),
        ("on", "commit", "-1"),
        ("on", "rollback", "-1"),
        ("off", "rollback", "1"),
    ] {
        run(
            &mut one,
            &format!("set cursor_close_on_commit {option} open c begin tran {end}"),
        );
        assert_eq!(value(&mut one, state), status, "{option} {end}");
        run(&mut one, "close c");
    }
}

#[test]
fn ansi_defaults_sets_seven_options() {
    let (_instance, mut one) = started();
    run(&mut one, "set implicit_transactions off set cursor_close_on_commit off");
    assert_eq!(value(&mut one, "set ansi_defaults on select @@options & 0x536"), "1334");
    run(&mut one, "if @@trancount > 0 rollback set implicit_transactions off");
    assert_eq!(value(&mut one, "select @@options & 2"), "0");
}

/// `dbcc useroptions` and `@@options` tell what is so.
#[test]
fn options_are_told_as_they_are() {
    let (_instance, mut one) = started();
    run(
        &mut one,
        "set datefirst 2 set textsize 5000 set lock_timeout 3 set arithabort off set cursor_close_on_commit on",
    );
    let answer = run(&mut one, "dbcc useroptions");
    for line in [
        "datefirst | 2",
        "textsize | 5000",
        "lock_timeout | 3",
        "cursor_close_on_commit | SET",
    ] {
        assert!(answer.contains(line), "{line}: {answer}");
    }
    assert!(!answer.contains("arithabort"), "{answer}");
    assert_eq!(value(&mut one, "select @@options & 68"), "4");
}

/// Others see a session's options as they were when its last request ended (sql-docs, `sys.dm_exec_sessions`).
#[test]
fn others_see_the_options_of_a_session() {
    let (instance, mut one) = started();
    let mut other = session(&instance);
    let state = format!(
        "select concat(text_size, ' ', date_first, ' ', lock_timeout, ' ', deadlock_priority) from sys.dm_exec_sessions where session_id = {}",
        one.id()
    );
    assert_eq!(value(&mut other, &state), "2147483647 7 -1 0");
    let priorities = [("low", -5), ("normal", 0), ("high", 5), ("-10", -10), ("7", 7)];
    for (written, priority) in priorities {
        run(
            &mut one,
            &format!("set textsize 5000 set datefirst 3 set lock_timeout 9 set deadlock_priority {written}"),
        );
        assert_eq!(value(&mut other, &state), format!("5000 3 9 {priority}"), "{written}");
    }
}

/// `SET DATEFORMAT dmy` answered 40517. A year of four digits that stands first follows the order for datetime and not for the newer types
/// (sql-docs, "SET DATEFORMAT", "date").
#[test]
fn dateformat_says_how_strings_are_read_as_dates() {
    let (_instance, mut one) = started();
    let read = [
        ("mdy", "01/02/03", "datetime", "2003-01-02"),
        ("dmy", "01/02/03", "datetime", "2003-02-01"),
        ("ymd", "01/02/03", "date", "2001-02-03"),
        ("ydm", "01/02/03", "datetime", "2001-03-02"),
        ("myd", "01/02/03", "datetime", "2002-01-03"),
        ("dym", "01/02/03", "datetime", "2002-03-01"),
        ("dmy", "2003-02-01", "datetime", "2003-01-02"),
        ("dmy", "2003-02-01", "date", "2003-02-01"),
        ("dmy", "2003-02-01", "datetime2", "2003-02-01"),
        ("dmy", "20030201", "datetime", "2003-02-01"),
        ("dmy", "2003-02-01T00:00:00", "datetime", "2003-02-01"),
    ];
    for (order, text, sql_type, wanted) in read {
        // As a constant, which is converted when the plan is made, and as a value.
        let batch = format!(
            "set dateformat {order} declare @s varchar(30) = '{text}' \
             select concat(convert(char(10), cast('{text}' as {sql_type}), 126), ' ', convert(char(10), cast(@s as {sql_type}), 126))"
        );
        assert_eq!(
            value(&mut one, &batch),
            format!("{wanted} {wanted}"),
            "{text} as {sql_type} under {order}"
        );
    }
    run(&mut one, "set dateformat dmy");
    assert!(run(&mut one, "select cast('12/31/2003' as datetime)").contains("Msg 242"));
    // A style says more than the session.
    assert_eq!(
        value(
            &mut one,
            "select convert(char(10), convert(datetime, '12/31/2003', 101), 126)"
        ),
        "2003-12-31"
    );
    let shown = "select concat(date_format, ' ', language, ' ', date_first) from sys.dm_exec_sessions where session_id = @@spid";
    assert_eq!(value(&mut one, shown), "dmy us_english 7");
    assert!(run(&mut one, "set dateformat xyz").contains("Msg 2741"));
}

#[test]
fn a_kept_plan_is_not_used_under_another_dateformat() {
    let (instance, mut one) = started();
    let query = "select month(cast('01/02/2003' as datetime))";
    for (order, wanted) in [("mdy", "1"), ("dmy", "2"), ("mdy", "1")] {
        run(&mut one, &format!("set dateformat {order}"));
        assert_eq!(value(&mut one, query), wanted, "{order}");
    }
    run(&mut one, "set dateformat mdy exec ('set dateformat dmy')");
    assert_eq!(value(&mut one, query), "1", "a text's order ends with it");
    let mut other = session(&instance);
    run(&mut one, "set dateformat dmy");
    assert_eq!(value(&mut other, query), "1", "another session's order is its own");
    assert_eq!(value(&mut one, query), "2");
}

#[test]
fn a_language_has_its_names_its_order_and_its_first_day() {
    let (_instance, mut one) = started();
    let state = "select concat(@@language, ' ', @@langid, ' ', @@datefirst, ' ', datename(month, '20030301'), ' ', \
                 datename(weekday, '20030301'), ' ', convert(varchar(11), cast('20030301' as datetime), 100), ' ', \
                 month(cast('01/02/2003' as datetime)))";
    let languages = [
        ("us_english", "us_english 0 7 March Saturday Mar  1 2003 1"),
        ("Deutsch", "Deutsch 1 1 März Samstag Mär  1 2003 2"),
        ("french", "Français 2 1 mars samedi mars  1 200 2"),
        ("British English", "British 23 1 March Saturday Mar  1 2003 2"),
        ("Brazilian", "Português (Brasil) 27 7 Março sábado Mar  1 2003 2"),
    ];
    for (language, wanted) in languages {
        let changed = run(&mut one, &format!("set language [{language}]"));
        assert!(changed.contains("Msg 5703"), "{changed}");
        assert_eq!(value(&mut one, state), wanted, "{language}");
    }
    run(&mut one, "set language German");
    assert_eq!(value(&mut one, "select month(cast('7 Dezember 2003' as date))"), "12");
    assert!(run(&mut one, "select cast('7 December 2003' as date)").contains("Msg 241"));
    assert!(run(&mut one, "set language Klingon").contains("Msg 2740"));
    assert_eq!(value(&mut one, "select count(*) from sys.syslanguages"), "34");
}

/// What `sp_configure` says of sessions holds for those that begin afterwards.
#[test]
fn a_session_begins_as_it_is_configured() {
    let (instance, mut one) = started();
    run(
        &mut one,
        "exec sp_configure 'show advanced options', 1 reconfigure exec sp_configure 'default language', 1 \
         exec sp_configure 'user options', 16384 exec sp_configure 'two digit year cutoff', 2020 reconfigure",
    );
    let mut other = session(&instance);
    let state = "select concat(@@language, ' ', @@options & 16384, ' ', year(cast('010121' as datetime)), ' ', year(cast('210101' as datetime)))";
    assert_eq!(value(&mut other, state), "Deutsch 16384 2001 1921");
    assert_eq!(
        value(&mut one, state),
        "us_english 0 2001 2021",
        "a session that is there stays as it is"
    );
}

/// `15123`, the answer for an option that does not exist, met scripts that set any other than nine.
#[test]
fn options_that_change_no_answer_are_kept_and_shown() {
    let (_instance, mut one) = started();
    let changed = run(
        &mut one,
        "exec sp_configure 'show advanced options', 1 reconfigure exec sp_configure 'optimize for ad hoc workloads', 1 \
         exec sp_configure 'priority boost', 1 reconfigure",
    );
    assert!(!changed.contains("15123"), "{changed}");
    let shown = |one: &mut Session, name: &str| {
        value(
            one,
            &format!(
                "select concat(cast(value as int), ' ', cast(value_in_use as int), ' ', is_dynamic) from sys.configurations where name = '{name}'"
            ),
        )
    };
    assert_eq!(shown(&mut one, "optimize for ad hoc workloads"), "1 1 1");
    assert_eq!(shown(&mut one, "priority boost"), "1 0 0", "not before the next start");
    assert!(run(&mut one, "exec sp_configure 'query governor cost limit', 5").contains("Msg 40517"));
    assert!(run(&mut one, "exec sp_configure 'no such option', 5").contains("Msg 15123"));
}

/// `SET ANSI_WARNINGS OFF` answered 40517. (SQL Server docs, SET ANSI_WARNINGS, SET ARITHABORT, SET ARITHIGNORE.)
#[test]
fn what_ansi_warnings_and_its_kin_make_of_errors() {
    let (_instance, mut one) = started();
    run(&mut one, "create table c (s varchar(3), b varbinary(2), n tinyint)");
    let quotient = "declare @zero int = 0 select 1 / @zero";
    assert!(run(&mut one, quotient).contains("Msg 8134"));
    assert!(run(&mut one, "set arithabort off declare @zero int = 0 select 1 / @zero").contains("Msg 8134"));
    assert!(run(&mut one, "insert c (s) values ('long one')").contains("Msg 2628"));
    run(&mut one, "set ansi_warnings off");
    let told = run(&mut one, quotient);
    assert!(
        told.contains("NULL") && told.contains("Msg 3607, Level 10") && !told.contains("8134"),
        "{told}"
    );
    let told = run(
        &mut one,
        "declare @large bigint = 5000000000 select cast(@large as int)",
    );
    assert!(told.contains("NULL") && told.contains("Msg 3606, Level 10"), "{told}");
    // A constant is like any other value, and a plan that was made under other options is not used.
    assert!(run(&mut one, "select 1 / 0").contains("Msg 3607"));
    assert_eq!(run(&mut one, "insert c (s, b) values ('long one', 0x010203)"), "");
    assert_eq!(
        value(&mut one, "select concat(s, ' ', convert(varchar(9), b, 1)) from c"),
        "lon 0x0102"
    );
    run(&mut one, "set arithignore on");
    let silent = run(&mut one, quotient);
    assert!(silent.contains("NULL") && !silent.contains("Msg"), "{silent}");
    run(&mut one, "set arithignore off set arithabort on");
    let ended = run(&mut one, "declare @zero int = 0 select 1 / @zero select 'behind it'");
    assert!(
        ended.contains("Msg 8134") && !ended.contains("behind it"),
        "the batch ends: {ended}"
    );
    run(&mut one, "set ansi_warnings on");
    assert!(run(&mut one, "insert c (s) values ('long one')").contains("Msg 2628"));
    assert!(run(&mut one, "select 1 / 0").contains("Msg 8134"));
}

/// Digits that a result loses are an error under NUMERIC_ROUNDABORT, wherever they are lost; without ARITHABORT and ANSI_WARNINGS the result is
/// NULL, with a warning (sql-docs, "SET NUMERIC_ROUNDABORT", whose example this is).
#[test]
fn digits_are_not_lost_under_numeric_roundabort() {
    let (_instance, mut one) = started();
    let lossy =
        "declare @r decimal(5, 2), @a decimal(5, 4) = 1.1234, @b decimal(5, 4) = 1.1234 select @r = @a + @b select @r";
    let lost =
        "Msg 8115, Level 16, State 7, Line 1: Arithmetic overflow error converting numeric to data type numeric.";
    assert_eq!(value(&mut one, lossy), "2.25");
    run(&mut one, "set numeric_roundabort on");
    assert_eq!(value(&mut one, "select @@options & 8192"), "8192");
    assert_eq!(value(&mut one, "select sessionproperty('numeric_roundabort')"), "1");
    for statement in [
        lossy,
        "declare @t table (x numeric(6, 2)) insert @t values (1234.567)",
        "select cast(cast(1.23456 as decimal(9, 5)) as money)",
        "select 1.0 / 3",
        "select cast(1.11111111111111111111 as decimal(38, 20)) * cast(1.11111111111111111111 as decimal(38, 20))",
    ] {
        let answer = run(&mut one, statement);
        assert!(answer.trim().starts_with(lost), "{statement}: {answer}");
    }
    for (statement, kept) in [
        ("select cast(1.500 as decimal(5, 1))", "1.5"),
        ("select 1.0 / 4", "0.250000"),
        (
            "select cast(2 as decimal(38, 20)) * cast(3 as decimal(38, 20))",
            "6.000000",
        ),
        ("select cast(0.1e0 as decimal(5, 2))", "0.10"),
    ] {
        assert_eq!(value(&mut one, statement), kept, "{statement}");
    }
    run(&mut one, "set ansi_warnings off set arithabort off");
    let answer = run(&mut one, lossy);
    assert!(
        answer.contains("NULL") && answer.contains("Arithmetic overflow occurred."),
        "{answer}"
    );
    run(&mut one, "set numeric_roundabort off");
    assert_eq!(value(&mut one, lossy), "2.25");
}
