//! Proofs of words that are kept and shown, of those about dates and arithmetic, and of those that show log and pages.

use super::Proof;
use super::Proof::{Answers, Test};

const DUPLICATES: Proof = Test("ignored_duplicates", "an_insert_leaves_out_duplicates");
const ALTERED_DUPLICATES: Proof = Test("ignored_duplicates", "where_it_cannot_be_said");
const DIFFERENTIAL: Proof = Test("backup_history", "a_differential_backup_is_told_by_its_base_everywhere");
const DIGITS: Proof = Test("set_options", "digits_are_not_lost_under_numeric_roundabort");
const INDEX: Proof = Test("index_options", "options_of_an_index_are_kept_and_shown");
const RECOMPUTE: Proof = Test("statistics", "an_index_may_say_that_its_statistics_stay_as_they_are");
const ESCALATION: Proof = Test(
    "index_options",
    "row_locks_of_a_table_that_does_not_escalate_stay_row_locks",
);
const DATES: Proof = Test("set_options", "dateformat_says_how_strings_are_read_as_dates");
const LANGUAGE: Proof = Test("set_options", "a_language_has_its_names_its_order_and_its_first_day");
const FIRED: Proof = Test("bulk_load", "triggers_fire_for_all_rows_at_once_if_asked_for");
const RECURSED: Proof = Test("triggers", "triggers_nest_and_recurse_as_the_option_says");
const ERRORS: Proof = Test("set_options", "what_ansi_warnings_and_its_kin_make_of_errors");
const BELIEVED: Proof = Test("statistics", "a_table_is_taken_for_as_large_as_it_is_said_to_be");
const CHECKED: Proof = Test("good_checks", "a_database_remembers_its_last_good_check");
const PAGES: Proof = Test("log_records", "the_pages_of_a_table_are_listed_and_each_can_be_shown");
const RECORDS: Proof = Test("log_records", "dbcc_log_shows_more_columns_at_each_level");
const HISTORY: Proof = Test("temporal", "changes_leave_the_rows_as_they_were");
const VERSIONED: Proof = Test("temporal", "a_table_that_is_there_becomes_a_temporal_one");
const CONSISTENT: Proof = Test("temporal", "history_that_is_there_is_looked_at");
const RETAINED: Proof = Test("temporal", "history_is_shown_as_long_as_it_is_retained");
const FORMER_LOG: Proof = Test(
    "log_records",
    "log_that_is_no_longer_needed_is_shown_under_a_trace_flag_alone",
);

/// The effects of obeyed words: place, word, proof.
pub const KEPT_PROOFS: &[(&str, &str, Proof)] = &[
    ("BACKUP WITH", "DIFFERENTIAL", DIFFERENTIAL),
    ("DBCC", "DBINFO", CHECKED),
    ("DBCC", "IND", PAGES),
    ("DBCC", "LOG", RECORDS),
    ("DBCC", "PAGE", PAGES),
    ("DBCC TRACEON", "2536", FORMER_LOG),
    ("DBCC TRACEON", "2537", FORMER_LOG),
    ("INSERT BULK", "FIRE_TRIGGERS", FIRED),
    ("ALTER DATABASE SET", "RECURSIVE_TRIGGERS", RECURSED),
    ("CREATE INDEX WITH", "ALLOW_PAGE_LOCKS", INDEX),
    ("CREATE INDEX WITH", "ALLOW_ROW_LOCKS", INDEX),
    ("CREATE INDEX WITH", "FILLFACTOR", INDEX),
    ("CREATE INDEX WITH", "PAD_INDEX", INDEX),
    ("CREATE INDEX WITH", "IGNORE_DUP_KEY", DUPLICATES),
    ("REBUILD WITH", "IGNORE_DUP_KEY", ALTERED_DUPLICATES),
    ("ALTER INDEX SET", "IGNORE_DUP_KEY", ALTERED_DUPLICATES),
    ("SET", "NUMERIC_ROUNDABORT", DIGITS),
    ("CREATE INDEX WITH", "OPTIMIZE_FOR_SEQUENTIAL_KEY", INDEX),
    ("REBUILD WITH", "ALLOW_PAGE_LOCKS", INDEX),
    ("REBUILD WITH", "ALLOW_ROW_LOCKS", INDEX),
    ("REBUILD WITH", "FILLFACTOR", INDEX),
    ("REBUILD WITH", "PAD_INDEX", INDEX),
    ("ALTER INDEX SET", "ALLOW_PAGE_LOCKS", INDEX),
    ("ALTER INDEX SET", "ALLOW_ROW_LOCKS", INDEX),
    ("ALTER INDEX SET", "OPTIMIZE_FOR_SEQUENTIAL_KEY", INDEX),
    ("CREATE INDEX WITH", "STATISTICS_NORECOMPUTE", RECOMPUTE),
    ("REBUILD WITH", "STATISTICS_NORECOMPUTE", RECOMPUTE),
    ("ALTER INDEX SET", "STATISTICS_NORECOMPUTE", RECOMPUTE),
    ("ALTER TABLE SET", "LOCK_ESCALATION", ESCALATION),
    ("ALTER TABLE SET", "SYSTEM_VERSIONING", VERSIONED),
    ("CREATE TABLE WITH", "SYSTEM_VERSIONING", HISTORY),
    ("SYSTEM_VERSIONING = ON", "HISTORY_TABLE", HISTORY),
    ("SYSTEM_VERSIONING = ON", "DATA_CONSISTENCY_CHECK", CONSISTENT),
    ("SYSTEM_VERSIONING = ON", "HISTORY_RETENTION_PERIOD", RETAINED),
    ("SET with a value", "DATEFORMAT", DATES),
    ("SET with a value", "LANGUAGE", LANGUAGE),
    ("SET", "ANSI_WARNINGS", ERRORS),
    ("SET", "ARITHABORT", ERRORS),
    ("SET", "ARITHIGNORE", ERRORS),
    ("UPDATE STATISTICS WITH", "PAGECOUNT", BELIEVED),
    ("UPDATE STATISTICS WITH", "ROWCOUNT", BELIEVED),
    (
        "DECLARE CURSOR",
        "DYNAMIC",
        Test("cursors", "a_dynamic_cursor_sees_what_comes_and_goes"),
    ),
    (
        "DECLARE CURSOR",
        "KEYSET",
        Test("cursors", "a_keyset_keeps_its_members"),
    ),
    (
        "DECLARE CURSOR",
        "OPTIMISTIC",
        Test("cursors", "an_optimistic_cursor_refuses_a_row_that_has_changed"),
    ),
    (
        "DECLARE CURSOR",
        "READ_ONLY",
        Answers(
            "declare k cursor read_only for select a from t open k fetch k delete t where current of k",
            "Msg 16929",
        ),
    ),
    (
        "DECLARE CURSOR",
        "SCROLL_LOCKS",
        Test("cursors", "scroll_locks_keep_others_off_the_row"),
    ),
    (
        "DECLARE CURSOR",
        "TYPE_WARNING",
        Test("cursors", "a_cursor_becomes_what_its_query_allows"),
    ),
    (
        "DBCC",
        "CLONEDATABASE",
        Test("clones", "a_clone_has_the_schema_and_the_statistics_and_no_rows"),
    ),
    (
        "DBCC WITH",
        "BACKUP_CLONEDB",
        Test("clones", "a_verified_clone_says_so_and_is_backed_up"),
    ),
    (
        "DBCC WITH",
        "NO_STATISTICS",
        Test("clones", "a_clone_without_statistics_has_their_names"),
    ),
    (
        "DBCC WITH",
        "VERIFY_CLONEDB",
        Test("clones", "a_verified_clone_says_so_and_is_backed_up"),
    ),
    (
        "DBCC WITH",
        "NO_QUERYSTORE",
        Test("clones", "a_clone_without_statistics_has_their_names"),
    ),
    (
        "DBCC WITH",
        "SERVICEBROKER",
        Test("clones", "a_clone_without_statistics_has_their_names"),
    ),
    (
        "ALTER DATABASE SET",
        "ACCELERATED_DATABASE_RECOVERY",
        Answers(
            "alter database x set accelerated_database_recovery = on \
             select is_accelerated_database_recovery_on from sys.databases where name = 'x'",
            "\n  1\n",
        ),
    ),
];
