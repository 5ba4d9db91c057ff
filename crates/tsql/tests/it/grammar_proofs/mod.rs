//! What shows that an obeyed word has its effect.

mod files;
mod kept;

pub use files::FILE_PROOFS;
pub use kept::KEPT_PROOFS;

/// An obeyed word, and a test that shows its effect: its file and its name.
pub enum Proof {
    /// The batch answers this, and something else without the option.
    Answers(&'static str, &'static str),
    /// A test in another file.
    Test(&'static str, &'static str),
}

use self::Proof::{Answers, Test};

/// The effects of obeyed words: place, word, proof.
pub const PROOFS: &[(&str, &str, Proof)] = &[
    (
        "ALTER DATABASE SET",
        "AUTO_UPDATE_STATISTICS_ASYNC",
        Test(
            "statistics",
            "a_plan_does_not_wait_for_statistics_that_are_updated_asynchronously",
        ),
    ),
    (
        "OPTION",
        "FAST",
        Test("plan_cache", "first_rows_come_from_an_index_where_fast_asks_for_them"),
    ),
    (
        "OPTION",
        "OPTIMIZE FOR",
        Test("plan_cache", "optimize_for_says_which_values_a_plan_is_made_for"),
    ),
    (
        "OPTION",
        "OPTIMIZE FOR UNKNOWN",
        Test("plan_cache", "optimize_for_says_which_values_a_plan_is_made_for"),
    ),
    (
        "OPTION",
        "RECOMPILE",
        Test("plan_cache", "variables_are_not_looked_at_but_under_recompile"),
    ),
    (
        "USE HINT",
        "DISABLE_OPTIMIZER_ROWGOAL",
        Test("plan_cache", "first_rows_come_from_an_index_where_fast_asks_for_them"),
    ),
    (
        "USE HINT",
        "DISABLE_PARAMETER_SNIFFING",
        Test("plan_cache", "optimize_for_says_which_values_a_plan_is_made_for"),
    ),
    (
        "ALTER DATABASE SCOPED CONFIGURATION",
        "CLEAR PROCEDURE_CACHE",
        Test(
            "plan_cache",
            "a_plan_is_made_anew_when_a_definition_changes_and_when_an_administrator_says_so",
        ),
    ),
    (
        "CREATE PROCEDURE WITH",
        "RECOMPILE",
        Test("plan_cache", "procedures_with_recompile_are_planned_at_each_call"),
    ),
    (
        "DBCC",
        "FREEPROCCACHE",
        Test(
            "plan_cache",
            "a_plan_is_made_anew_when_a_definition_changes_and_when_an_administrator_says_so",
        ),
    ),
    (
        "DBCC",
        "FREESYSTEMCACHE",
        Test(
            "plan_cache",
            "a_plan_is_made_anew_when_a_definition_changes_and_when_an_administrator_says_so",
        ),
    ),
    (
        "CREATE STATISTICS WITH",
        "FULLSCAN",
        Test("statistics", "with_says_what_is_counted_and_how"),
    ),
    (
        "CREATE STATISTICS WITH",
        "NORECOMPUTE",
        Test("statistics", "with_says_what_is_counted_and_how"),
    ),
    (
        "CREATE STATISTICS WITH",
        "SAMPLE",
        Test("statistics", "with_says_what_is_counted_and_how"),
    ),
    (
        "UPDATE STATISTICS WITH",
        "ALL",
        Test("statistics", "with_says_what_is_counted_and_how"),
    ),
    (
        "UPDATE STATISTICS WITH",
        "COLUMNS",
        Test("statistics", "with_says_what_is_counted_and_how"),
    ),
    (
        "UPDATE STATISTICS WITH",
        "FULLSCAN",
        Test("statistics", "with_says_what_is_counted_and_how"),
    ),
    (
        "UPDATE STATISTICS WITH",
        "INDEX",
        Test("statistics", "with_says_what_is_counted_and_how"),
    ),
    (
        "UPDATE STATISTICS WITH",
        "NORECOMPUTE",
        Test("statistics", "with_says_what_is_counted_and_how"),
    ),
    (
        "UPDATE STATISTICS WITH",
        "RESAMPLE",
        Test("statistics", "with_says_what_is_counted_and_how"),
    ),
    (
        "UPDATE STATISTICS WITH",
        "SAMPLE",
        Test("statistics", "with_says_what_is_counted_and_how"),
    ),
    (
        "DBCC WITH",
        "DENSITY_VECTOR",
        Test("statistics", "a_histogram_says_what_is_there"),
    ),
    (
        "DBCC WITH",
        "HISTOGRAM",
        Test("statistics", "a_histogram_says_what_is_there"),
    ),
    (
        "DBCC WITH",
        "STAT_HEADER",
        Test("statistics", "a_histogram_says_what_is_there"),
    ),
    (
        "DBCC",
        "SHOW_STATISTICS",
        Test("statistics", "a_histogram_says_what_is_there"),
    ),
    (
        "ALTER DATABASE SET",
        "AUTO_CREATE_STATISTICS",
        Test("statistics", "plans_make_and_update_the_statistics_they_want"),
    ),
    (
        "ALTER DATABASE SET",
        "AUTO_UPDATE_STATISTICS",
        Test("statistics", "plans_make_and_update_the_statistics_they_want"),
    ),
    (
        "ALTER DATABASE SET",
        "PARAMETERIZATION",
        Test(
            "parameterization",
            "forced_parameterization_takes_what_simple_leaves_and_is_stored",
        ),
    ),
    (
        "OPTION",
        "QUERYTRACEON",
        Test("plan_trees", "flags_ask_for_the_trees_of_a_plan_and_where_they_go"),
    ),
    (
        "DBCC TRACEON",
        "3604",
        Test("plan_trees", "flags_ask_for_the_trees_of_a_plan_and_where_they_go"),
    ),
    (
        "DBCC TRACEON",
        "8605",
        Test("plan_trees", "flags_ask_for_the_trees_of_a_plan_and_where_they_go"),
    ),
    (
        "DBCC TRACEON",
        "8606",
        Test("plan_trees", "flags_ask_for_the_trees_of_a_plan_and_where_they_go"),
    ),
    (
        "DBCC TRACEON",
        "8607",
        Test("plan_trees", "flags_ask_for_the_trees_of_a_plan_and_where_they_go"),
    ),
    (
        "DBCC TRACEON",
        "8619",
        Test("plan_trees", "rules_are_told_by_name_wherever_a_statement_stands"),
    ),
    (
        "DBCC TRACEON",
        "8621",
        Test("rules", "each_rule_tells_what_it_has_changed_where_trace_flags_ask"),
    ),
    (
        "SET",
        "ANSI_DEFAULTS",
        Test("set_options", "ansi_defaults_sets_seven_options"),
    ),
    (
        "SET",
        "ANSI_NULLS",
        Answers("set ansi_nulls off select sessionproperty('ansi_nulls')", "\n  0\n"),
    ),
    (
        "SET",
        "ANSI_NULL_DFLT_OFF",
        Test("set_options", "nullability_that_is_not_said_follows_the_session"),
    ),
    (
        "SET",
        "ANSI_NULL_DFLT_ON",
        Test("set_options", "nullability_that_is_not_said_follows_the_session"),
    ),
    (
        "SET",
        "ANSI_PADDING",
        Test(
            "set_options",
            "ansi_padding_off_lets_no_column_be_made_that_would_need_it",
        ),
    ),
    (
        "SET",
        "CONCAT_NULL_YIELDS_NULL",
        Answers(
            "set concat_null_yields_null off select sessionproperty('concat_null_yields_null')",
            "\n  0\n",
        ),
    ),
    (
        "SET",
        "CURSOR_CLOSE_ON_COMMIT",
        Test(
            "set_options",
            "cursor_close_on_commit_closes_cursors_at_the_end_of_a_transaction",
        ),
    ),
    (
        "SET",
        "FMTONLY",
        Test("set_options", "fmtonly_tells_columns_and_no_rows"),
    ),
    (
        "SET",
        "FORCEPLAN",
        Test("join_hints", "force_order_and_forceplan_keep_what_is_written"),
    ),
    (
        "SET",
        "IMPLICIT_TRANSACTIONS",
        Answers(
            "set implicit_transactions on select a from t select @@trancount",
            "\n  1\n",
        ),
    ),
    (
        "SET",
        "NOCOUNT",
        Answers("set nocount off update t set b = 'x'", "(2 rows, Update)"),
    ),
    (
        "SET",
        "NOEXEC",
        Test("set_options", "noexec_binds_and_ends_with_its_own_off"),
    ),
    (
        "SET",
        "PARSEONLY",
        Test("set_options", "parseonly_counts_from_the_parsing_of_its_batch"),
    ),
    (
        "SET",
        "QUOTED_IDENTIFIER",
        Answers("set quoted_identifier off select \"text\"", "\n  text\n"),
    ),
    (
        "SET",
        "SHOWPLAN_ALL",
        Test("set_options", "nothing_is_changed_while_statements_are_not_executed"),
    ),
    (
        "SET",
        "SHOWPLAN_TEXT",
        Test("set_options", "showplan_shows_what_is_not_executed"),
    ),
    (
        "SET",
        "SHOWPLAN_XML",
        Test("set_options", "nothing_is_changed_while_statements_are_not_executed"),
    ),
    (
        "SET STATISTICS",
        "IO",
        Test("figures", "statistics_io_tells_of_each_table_once"),
    ),
    (
        "SET STATISTICS",
        "PROFILE",
        Test(
            "figures",
            "statistics_profile_has_rows_and_executes_before_the_columns_of_showplan_all",
        ),
    ),
    (
        "SET STATISTICS",
        "TIME",
        Test("figures", "statistics_time_tells_of_parsing_planning_and_running"),
    ),
    (
        "SET STATISTICS",
        "XML",
        Test("figures", "statistics_xml_has_what_the_operators_came_to"),
    ),
    (
        "SET",
        "XACT_ABORT",
        Answers(
            "set xact_abort on begin tran insert t values (1, 'again') select 5",
            "Msg 2627",
        ),
    ),
    (
        "SET with a value",
        "CONTEXT_INFO",
        Answers(
            "set context_info 0x0102 select convert(varchar(6), context_info(), 1)",
            "0x0102",
        ),
    ),
    (
        "SET with a value",
        "DATEFIRST",
        Test("set_options", "datefirst_moves_weeks_and_not_names"),
    ),
    (
        "SET with a value",
        "DEADLOCK_PRIORITY",
        Test("set_options", "others_see_the_options_of_a_session"),
    ),
    (
        "SET with a value",
        "LOCK_TIMEOUT",
        Answers("set lock_timeout 5 select @@lock_timeout", "\n  5\n"),
    ),
    (
        "SET with a value",
        "ROWCOUNT",
        Answers(
            "set nocount off set rowcount 1 update t set b = 'x'",
            "(1 rows, Update)",
        ),
    ),
    (
        "SET with a value",
        "TEXTSIZE",
        Test("set_options", "textsize_cuts_what_is_shown_and_nothing_that_is_kept"),
    ),
    (
        "OPTION",
        "FORCE ORDER",
        Test("join_hints", "force_order_and_forceplan_keep_what_is_written"),
    ),
    (
        "OPTION",
        "KEEP PLAN",
        Test("plan_cache", "hints_say_how_soon_a_plan_is_out_of_date"),
    ),
    (
        "OPTION",
        "KEEPFIXED PLAN",
        Test("plan_cache", "hints_say_how_soon_a_plan_is_out_of_date"),
    ),
    (
        "OPTION",
        "HASH GROUP",
        Test("stream_groups", "hints_say_how_groups_are_made"),
    ),
    (
        "OPTION",
        "ORDER GROUP",
        Test("stream_groups", "hints_say_how_groups_are_made"),
    ),
    (
        "OPTION",
        "HASH JOIN",
        Test("join_hints", "option_leaves_the_methods_it_names"),
    ),
    (
        "OPTION",
        "LOOP JOIN",
        Test("join_hints", "option_leaves_the_methods_it_names"),
    ),
    (
        "OPTION",
        "MERGE JOIN",
        Test("join_hints", "option_leaves_the_methods_it_names"),
    ),
    (
        "OPTION",
        "MAXDOP",
        Test("bulk", "every_shape_fills_the_same_rows_serial_parallel_and_row_by_row"),
    ),
    (
        "OPTION",
        "MAXRECURSION",
        Answers(
            "with n as (select 1 as a union all select a + 1 from n where a < 9) select max(a) from n option (maxrecursion 3)",
            "Msg 530",
        ),
    ),
    (
        "OPTION",
        "USE HINT",
        Answers("select a from t option (use hint ('banana'))", "Msg 10715"),
    ),
    (
        "WITH of a table",
        "FORCESCAN",
        Test("hints", "what_a_hint_cannot_do_is_refused_by_name"),
    ),
    (
        "WITH of a table",
        "FORCESEEK",
        Test("hints", "what_a_hint_cannot_do_is_refused_by_name"),
    ),
    (
        "WITH of a table",
        "HOLDLOCK",
        Test("hints", "hints_take_the_locks_they_name_and_keep_them_to_the_end"),
    ),
    (
        "WITH of a table",
        "IGNORE_CONSTRAINTS",
        Answers("insert t with (ignore_constraints) values (5, 'x')", "Msg 8171"),
    ),
    (
        "WITH of a table",
        "IGNORE_TRIGGERS",
        Answers("insert t with (ignore_triggers) values (5, 'x')", "Msg 8171"),
    ),
    (
        "WITH of a table",
        "INDEX",
        Test("hints", "what_a_hint_cannot_do_is_refused_by_name"),
    ),
    (
        "WITH of a table",
        "KEEPDEFAULTS",
        Answers("insert t with (keepdefaults) values (5, 'x')", "Msg 8171"),
    ),
    (
        "WITH of a table",
        "KEEPIDENTITY",
        Test("hints", "what_a_hint_cannot_do_is_refused_by_name"),
    ),
    (
        "WITH of a table",
        "NOEXPAND",
        Test(
            "indexed_views",
            "it_is_read_with_noexpand_and_by_its_definition_without",
        ),
    ),
    (
        "WITH of a table",
        "NOLOCK",
        Test("hints", "hints_take_the_locks_they_name_and_keep_them_to_the_end"),
    ),
    (
        "WITH of a table",
        "NOWAIT",
        Test("hints", "nowait_waits_for_nobody_and_for_its_own_table_only"),
    ),
    (
        "WITH of a table",
        "READCOMMITTED",
        Test("hints", "hints_take_the_locks_they_name_and_keep_them_to_the_end"),
    ),
    (
        "WITH of a table",
        "READCOMMITTEDLOCK",
        Test("hints", "hints_take_the_locks_they_name_and_keep_them_to_the_end"),
    ),
    (
        "WITH of a table",
        "READPAST",
        Test("hints", "readpast_takes_what_nobody_else_has"),
    ),
    (
        "WITH of a table",
        "READUNCOMMITTED",
        Test("hints", "hints_take_the_locks_they_name_and_keep_them_to_the_end"),
    ),
    (
        "WITH of a table",
        "REPEATABLEREAD",
        Test("hints", "hints_take_the_locks_they_name_and_keep_them_to_the_end"),
    ),
    (
        "WITH of a table",
        "ROWLOCK",
        Test("hints", "hints_take_the_locks_they_name_and_keep_them_to_the_end"),
    ),
    (
        "WITH of a table",
        "SERIALIZABLE",
        Test("hints", "hints_take_the_locks_they_name_and_keep_them_to_the_end"),
    ),
    (
        "WITH of a table",
        "TABLOCK",
        Test("hints", "hints_take_the_locks_they_name_and_keep_them_to_the_end"),
    ),
    (
        "WITH of a table",
        "TABLOCKX",
        Test("hints", "hints_take_the_locks_they_name_and_keep_them_to_the_end"),
    ),
    (
        "WITH of a table",
        "UPDLOCK",
        Test("hints", "hints_take_the_locks_they_name_and_keep_them_to_the_end"),
    ),
    (
        "WITH of a table",
        "XLOCK",
        Test("hints", "hints_take_the_locks_they_name_and_keep_them_to_the_end"),
    ),
    (
        "ALTER DATABASE SET",
        "ALLOW_SNAPSHOT_ISOLATION",
        Answers(
            "alter database x set allow_snapshot_isolation on select snapshot_isolation_state_desc from sys.databases where name = 'x'",
            "\n  ON\n",
        ),
    ),
    (
        "ALTER DATABASE SET",
        "COMPATIBILITY_LEVEL",
        Test("system_statements", "options_are_obeyed_or_refused"),
    ),
    (
        "ALTER DATABASE SET",
        "EMERGENCY",
        Answers("alter database x set emergency use x select 1 a into n", "Msg 3908"),
    ),
    (
        "ALTER DATABASE SET",
        "ENCRYPTION",
        Answers("alter database x set encryption on", "Msg 5058"),
    ),
    (
        "ALTER DATABASE SET",
        "HADR",
        Answers("alter database x set hadr suspend", "Msg 5058"),
    ),
    (
        "ALTER DATABASE SET",
        "MULTI_USER",
        Answers(
            "alter database x set single_user alter database x set multi_user select user_access_desc from sys.databases where name = 'x'",
            "MULTI_USER",
        ),
    ),
    (
        "ALTER DATABASE SET",
        "OFFLINE",
        Test("system_statements", "options_are_obeyed_or_refused"),
    ),
    (
        "ALTER DATABASE SET",
        "ONLINE",
        Test("system_statements", "options_are_obeyed_or_refused"),
    ),
    (
        "ALTER DATABASE SET",
        "READ_COMMITTED_SNAPSHOT",
        Test("versions", "read_committed_snapshot_is_set_shown_and_kept"),
    ),
    (
        "ALTER DATABASE SET",
        "READ_ONLY",
        Answers("alter database x set read_only use x select 1 a into n", "Msg 3906"),
    ),
    (
        "ALTER DATABASE SET",
        "READ_WRITE",
        Answers(
            "alter database x set read_write use x select 1 a into n select a from n",
            "\n  1\n",
        ),
    ),
    (
        "ALTER DATABASE SET",
        "RECOVERY",
        Answers(
            "alter database x set recovery bulk_logged select recovery_model_desc from sys.databases where name = 'x'",
            "BULK_LOGGED",
        ),
    ),
    (
        "ALTER DATABASE SET",
        "RESTRICTED_USER",
        Answers(
            "alter database x set restricted_user select user_access_desc from sys.databases where name = 'x'",
            "RESTRICTED_USER",
        ),
    ),
    (
        "ALTER DATABASE SET",
        "SINGLE_USER",
        Answers(
            "alter database x set single_user select user_access_desc from sys.databases where name = 'x'",
            "SINGLE_USER",
        ),
    ),
    (
        "ALTER DATABASE SET",
        "TARGET_RECOVERY_TIME",
        Answers("alter database x set target_recovery_time = 7 seconds", "Msg 5058"),
    ),
    (
        "BACKUP WITH",
        "CHECKSUM",
        Answers(
            "backup database x to disk = 'n.bak' with checksum restore headeronly from disk = 'n.bak'",
            "| VLFLAB | 16 |",
        ),
    ),
    (
        "BACKUP WITH",
        "COMPRESSION",
        Answers(
            "backup database x to disk = 'n.bak' with compression restore headeronly from disk = 'n.bak'",
            "NULL | NULL | 1 | NULL | 1 |",
        ),
    ),
    (
        "BACKUP WITH",
        "COPY_ONLY",
        Answers(
            "backup database x to disk = 'n.bak' with copy_only restore headeronly from disk = 'n.bak'",
            "| VLFLAB | 512 |",
        ),
    ),
    (
        "BACKUP WITH",
        "DESCRIPTION",
        Answers(
            "backup database x to disk = 'n.bak' with description = 'mine' restore headeronly from disk = 'n.bak'",
            "NULL | mine |",
        ),
    ),
    (
        "BACKUP WITH",
        "FORMAT",
        Answers(
            "backup database x to disk = 'x.bak' with format restore database x from disk = 'x.bak' with replace, file = 2",
            "Msg 3013",
        ),
    ),
    (
        "BACKUP WITH",
        "INIT",
        Answers(
            "backup database x to disk = 'x.bak' with init restore database x from disk = 'x.bak' with replace, file = 2",
            "Msg 3013",
        ),
    ),
    (
        "BACKUP WITH",
        "MEDIANAME",
        Answers(
            "backup database x to disk = 'n.bak' with medianame = 'tape' restore labelonly from disk = 'n.bak'",
            "tape",
        ),
    ),
    (
        "BACKUP WITH",
        "NAME",
        Answers(
            "backup database x to disk = 'n.bak' with name = 'mine' restore headeronly from disk = 'n.bak'",
            "mine | NULL |",
        ),
    ),
    (
        "BACKUP WITH",
        "NORECOVERY",
        Answers(
            "use master backup log x to disk = 'l.bak' with norecovery select state_desc from sys.databases where name = 'x'",
            "RESTORING",
        ),
    ),
    (
        "BACKUP WITH",
        "NO_COMPRESSION",
        Answers(
            "backup database x to disk = 'n.bak' with compression, no_compression restore headeronly from disk = 'n.bak'",
            "NULL | NULL | 1 | NULL | 0 |",
        ),
    ),
    (
        "BACKUP WITH",
        "NO_TRUNCATE",
        Answers("backup database x to disk = 'n.bak' with no_truncate", "Msg 3032"),
    ),
    (
        "BACKUP WITH",
        "STATS",
        Answers(
            "backup database x to disk = 'n.bak' with stats = 100",
            "100 percent processed",
        ),
    ),
    (
        "RESTORE WITH",
        "CHECKSUM",
        Answers(
            "restore database x from disk = 'x.bak' with replace, checksum",
            "Msg 3187",
        ),
    ),
    (
        "RESTORE WITH",
        "FILE",
        Answers(
            "restore database x from disk = 'x.bak' with replace, file = 7",
            "Msg 3013",
        ),
    ),
    (
        "RESTORE WITH",
        "NORECOVERY",
        Answers(
            "restore database x from disk = 'x.bak' with replace, norecovery select state_desc from sys.databases where name = 'x'",
            "RESTORING",
        ),
    ),
    (
        "RESTORE WITH",
        "RECOVERY",
        Answers(
            "restore database x from disk = 'x.bak' with replace, recovery select state_desc from sys.databases where name = 'x'",
            "ONLINE",
        ),
    ),
    (
        "RESTORE WITH",
        "REPLACE",
        Answers(
            "restore database x from disk = 'x.bak' with replace",
            "RESTORE DATABASE successfully",
        ),
    ),
    (
        "RESTORE WITH",
        "STANDBY",
        Test("system_statements", "a_standby_database_is_read_only_and_says_so"),
    ),
    (
        "RESTORE WITH",
        "STATS",
        Answers(
            "restore database x from disk = 'x.bak' with replace, stats = 100",
            "100 percent processed",
        ),
    ),
    (
        "RESTORE WITH",
        "STOPAT",
        Answers(
            "restore database x from disk = 'x.bak' with replace, stopat = 'nonsense'",
            "Msg 241",
        ),
    ),
    (
        "RESTORE WITH",
        "STOPATMARK",
        Test("log_marks", "a_restore_stops_at_a_mark_or_before_it"),
    ),
    (
        "RESTORE WITH",
        "STOPBEFOREMARK",
        Test("log_marks", "a_restore_stops_at_a_mark_or_before_it"),
    ),
    ("DBCC", "CHECKALLOC", Answers("dbcc checkalloc", "CHECKALLOC found 0")),
    (
        "DBCC",
        "CHECKCATALOG",
        Answers("dbcc checkcatalog (nothing)", "Msg 2520"),
    ),
    (
        "DBCC",
        "CHECKDB",
        Test("system_statements", "a_check_finds_a_sound_database_sound"),
    ),
    ("DBCC", "CHECKIDENT", Answers("dbcc checkident ('t')", "Msg 7997")),
    (
        "DBCC",
        "CHECKTABLE",
        Answers("dbcc checktable ('t')", "There are 2 rows"),
    ),
    (
        "DBCC",
        "DROPCLEANBUFFERS",
        Test("system_statements", "dbcc_commands_answer_as_they_do"),
    ),
    ("DBCC", "ERRORLOG", Test("system_statements", "the_error_log_is_cycled")),
    (
        "DBCC",
        "RULEOFF",
        Test("rules", "each_rule_makes_its_plan_and_no_answer"),
    ),
    (
        "DBCC",
        "RULEON",
        Test("rules", "each_rule_makes_its_plan_and_no_answer"),
    ),
    (
        "DBCC",
        "SHOWOFFRULES",
        Answers("dbcc ruleoff ('indexJOIN') dbcc showoffrules", "IndexJoin"),
    ),
    ("DBCC", "SHOWONRULES", Answers("dbcc showonrules", "IndexJoin")),
    ("DBCC", "INPUTBUFFER", Answers("dbcc inputbuffer (9999)", "Msg 7955")),
    ("DBCC", "LOGINFO", Answers("dbcc loginfo", "RecoveryUnitId")),
    (
        "DBCC",
        "OPENTRAN",
        Test("system_statements", "dbcc_commands_answer_as_they_do"),
    ),
    (
        "DBCC",
        "SHRINKDATABASE",
        Answers("dbcc shrinkdatabase (master)", "EstimatedPages"),
    ),
    (
        "DBCC",
        "SHRINKFILE",
        Test("system_statements", "logs_shrink_by_free_vlfs_at_their_end"),
    ),
    (
        "DBCC",
        "SQLPERF",
        Test("system_statements", "dbcc_commands_answer_as_they_do"),
    ),
    (
        "DBCC",
        "TRACEOFF",
        Test("system_statements", "dbcc_commands_answer_as_they_do"),
    ),
    (
        "DBCC",
        "TRACEON",
        Test(
            "system_statements",
            "trace_flags_let_the_error_log_tell_of_zeroing_and_backups",
        ),
    ),
    (
        "DBCC",
        "TRACESTATUS",
        Test("system_statements", "dbcc_commands_answer_as_they_do"),
    ),
    (
        "DBCC",
        "USEROPTIONS",
        Test("set_options", "options_are_told_as_they_are"),
    ),
    (
        "DBCC WITH",
        "NO_INFOMSGS",
        Test("system_statements", "a_check_finds_a_sound_database_sound"),
    ),
    (
        "DBCC WITH",
        "TABLERESULTS",
        Answers("dbcc checkdb (x) with tableresults", "Msg 40517"),
    ),
    (
        "DBCC TRACEON",
        "3004",
        Test(
            "system_statements",
            "trace_flags_let_the_error_log_tell_of_zeroing_and_backups",
        ),
    ),
    (
        "DBCC TRACEON",
        "3605",
        Test(
            "system_statements",
            "trace_flags_let_the_error_log_tell_of_zeroing_and_backups",
        ),
    ),
    (
        "CREATE FUNCTION WITH",
        "RETURNS NULL ON NULL INPUT",
        Test("user_functions", "a_scalar_function_stands_wherever_an_expression_does"),
    ),
    (
        "CREATE FUNCTION WITH",
        "SCHEMABINDING",
        Test("user_functions", "checks_and_defaults_call_functions_and_keep_them"),
    ),
    (
        "CREATE VIEW WITH",
        "SCHEMABINDING",
        Answers(
            "exec ('create view dbo.v with schemabinding as select a from dbo.t') drop table t",
            "Msg 3729",
        ),
    ),
    (
        "DECLARE CURSOR",
        "FAST_FORWARD",
        Answers(
            "declare k cursor fast_forward for select a from t open k fetch prior from k",
            "Msg 16911",
        ),
    ),
    (
        "DECLARE CURSOR",
        "FORWARD_ONLY",
        Answers(
            "declare k cursor forward_only for select a from t open k fetch last from k",
            "Msg 16911",
        ),
    ),
    (
        "DECLARE CURSOR",
        "LOCAL",
        Answers(
            "exec ('declare k cursor local for select a from t') select cursor_status('local', 'k'), cursor_status('global', 'k')",
            "-3 | -3",
        ),
    ),
    (
        "DECLARE CURSOR",
        "SCROLL",
        Answers(
            "declare k cursor scroll for select a from t order by a open k fetch last from k",
            "\n  2\n",
        ),
    ),
    (
        "DECLARE CURSOR",
        "STATIC",
        Answers(
            "declare k cursor static for select a from t order by a open k delete t fetch last from k",
            "\n  2\n",
        ),
    ),
];
