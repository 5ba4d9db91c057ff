//! Proofs of the options of bulk loads, of files of rows, BULK INSERT and OPENROWSET(BULK ...), and of filegroups.

use super::Proof;
use super::Proof::Test;

const BATCHES: Proof = Test("bulk_insert", "a_failed_batch_leaves_the_batches_before_it");
const AS_BULK_LOADS: Proof = Test(
    "bulk_insert",
    "constraints_triggers_locks_and_orders_are_those_of_bulk_loads",
);
const NATIVE: Proof = Test("bulk_insert", "native_files_hold_every_type");
const FAULTS: Proof = Test("bulk_insert", "rows_with_errors_are_left_out_up_to_a_number");
const QUOTED: Proof = Test("bulk_insert", "quoted_fields_hold_terminators_and_quotes");
const TERMINATORS: Proof = Test("bulk_insert", "fields_end_at_their_terminators");
const NUMBERED: Proof = Test("bulk_insert", "the_first_and_the_last_row_are_said_by_number");
const FORMATTED: Proof = Test("bulk_insert", "a_format_file_says_which_field_goes_where");
const DEFAULTS: Proof = Test(
    "bulk_insert",
    "defaults_identities_and_computed_columns_are_as_the_options_say",
);
const ONE_VALUE: Proof = Test("bulk_insert", "a_file_is_one_value");

/// The effects of obeyed words: place, word, proof.
pub const FILE_PROOFS: &[(&str, &str, Proof)] = &[
    (
        "INSERT BULK",
        "CHECK_CONSTRAINTS",
        Test(
            "bulk_load",
            "constraints_are_judged_if_asked_for_and_else_no_longer_trusted",
        ),
    ),
    (
        "INSERT BULK",
        "KEEP_NULLS",
        Test(
            "bulk_load",
            "a_null_becomes_the_default_of_its_column_unless_nulls_are_kept",
        ),
    ),
    (
        "INSERT BULK",
        "ORDER",
        Test(
            "bulk_load",
            "rows_that_do_not_come_in_the_order_they_are_said_to_are_refused",
        ),
    ),
    (
        "INSERT BULK",
        "TABLOCK",
        Test("bulk_load", "the_table_is_locked_whole_if_asked_for"),
    ),
    ("BULK INSERT WITH", "BATCHSIZE", BATCHES),
    ("BULK INSERT WITH", "CHECK_CONSTRAINTS", AS_BULK_LOADS),
    ("BULK INSERT WITH", "DATAFILETYPE", NATIVE),
    ("BULK INSERT WITH", "ERRORFILE", FAULTS),
    ("BULK INSERT WITH", "FIELDQUOTE", QUOTED),
    ("BULK INSERT WITH", "FIELDTERMINATOR", TERMINATORS),
    ("BULK INSERT WITH", "FIRE_TRIGGERS", AS_BULK_LOADS),
    ("BULK INSERT WITH", "FIRSTROW", NUMBERED),
    ("BULK INSERT WITH", "FORMATFILE", FORMATTED),
    ("BULK INSERT WITH", "KEEPIDENTITY", DEFAULTS),
    ("BULK INSERT WITH", "KEEPNULLS", DEFAULTS),
    ("BULK INSERT WITH", "LASTROW", NUMBERED),
    ("BULK INSERT WITH", "MAXERRORS", FAULTS),
    ("BULK INSERT WITH", "ORDER", AS_BULK_LOADS),
    ("BULK INSERT WITH", "ROWTERMINATOR", TERMINATORS),
    ("BULK INSERT WITH", "TABLOCK", AS_BULK_LOADS),
    ("OPENROWSET(BULK ...)", "FIRSTROW", FORMATTED),
    ("OPENROWSET(BULK ...)", "FORMATFILE", FORMATTED),
    ("OPENROWSET(BULK ...)", "LASTROW", FORMATTED),
    ("OPENROWSET(BULK ...)", "SINGLE_BLOB", ONE_VALUE),
    ("OPENROWSET(BULK ...)", "SINGLE_CLOB", ONE_VALUE),
    ("OPENROWSET(BULK ...)", "SINGLE_NCLOB", ONE_VALUE),
    (
        "DBCC",
        "CHECKFILEGROUP",
        Test("filegroups", "dbcc_checkfilegroup_looks_at_what_is_there"),
    ),
    (
        "CREATE INDEX WITH",
        "DROP_EXISTING",
        Test("filegroups", "drop_existing_moves_an_index"),
    ),
];
