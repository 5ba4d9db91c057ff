//! The errors of system-versioned temporal tables (sql-docs, "Database Engine events and errors (13000 to 13999)").

engine::messages! { pub(crate) fn;
    /// 13501: a period column of another type than datetime2.
    period_type(column: &str) = 13501, 16, 2, "Temporal generated always column '{column}' has invalid data type.";
    /// 13502: two columns AS ROW START.
    several_row_starts() = 13502, 16, 1, "System-versioned table cannot have more than one 'GENERATED ALWAYS AS ROW START' column.";
    /// 13503: two columns AS ROW END.
    several_row_ends() = 13503, 16, 1, "System-versioned table cannot have more than one 'GENERATED ALWAYS AS ROW END' column.";
    /// 13504: a period without its start.
    row_start_missing() = 13504, 16, 1, "Temporal 'GENERATED ALWAYS AS ROW START' column definition missing.";
    /// 13505: a period without its end.
    row_end_missing() = 13505, 16, 1, "Temporal 'GENERATED ALWAYS AS ROW END' column definition missing.";
    /// 13506: PERIOD names another column as its start.
    row_start_named_otherwise() = 13506, 16, 1, "System-versioned table SYSTEM_TIME period definition start column name not matching 'GENERATED ALWAYS AS ROW START' column name.";
    /// 13507: PERIOD names another column as its end.
    row_end_named_otherwise() = 13507, 16, 1, "System-versioned table SYSTEM_TIME period definition end column name not matching 'GENERATED ALWAYS AS ROW END' column name.";
    /// 13508: two periods.
    several_periods() = 13508, 16, 1, "System-versioned table cannot have more than one SYSTEM_TIME period definition.";
    /// 13509: generated columns without a period.
    generated_without_period() = 13509, 16, 1, "Cannot create generated always column when SYSTEM_TIME period is not defined.";
    /// 13510: versioning without a period.
    versioning_without_period() = 13510, 16, 1, "Cannot set SYSTEM_VERSIONING to ON when SYSTEM_TIME period is not defined and the LEDGER=ON option is not specified.";
    /// 13511: a view or the like as history.
    not_a_history_table(name: &str) = 13511, 16, 1, "Specified object '{name}' cannot be used as history table.";
    /// 13513: the ends of the period differ in precision.
    period_precisions_differ() = 13513, 16, 1, "SYSTEM_TIME period columns cannot have different datatype precision.";
    /// 13514: the history table of another table.
    history_in_use(history: &str) = 13514, 16, 1, "History table '{history}' is already in use.";
    /// 13515: a unique key of the history table.
    history_has_unique_keys(history: &str) = 13515, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because history table '{history}' has custom unique keys defined. Consider dropping all unique keys and trying again.";
    /// 13516: a foreign key of the history table.
    history_has_foreign_keys(history: &str) = 13516, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because history table '{history}' has foreign keys defined. Consider dropping all foreign keys and trying again.";
    /// 13517: a constraint of the history table.
    history_has_constraints(history: &str) = 13517, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because history table '{history}' has table or column constraints defined. Consider dropping all table and column constraints and trying again.";
    /// 13518: an identity column of the history table.
    history_has_identity(history: &str) = 13518, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because history table '{history}' has IDENTITY column specification. Consider dropping all IDENTITY column specifications and trying again.";
    /// 13519: a computed column of the history table.
    history_has_computed(history: &str) = 13519, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because history table '{history}' has computed column specification. Consider dropping all computed column specifications and trying again.";
    /// 13522: a trigger of the history table.
    history_has_triggers(history: &str) = 13522, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because history table '{history}' has triggers defined. Consider dropping all triggers and trying again.";
    /// 13523: tables of different width.
    history_width(table: &str, columns: usize, history: &str, others: usize) = 13523, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because table '{table}' has {columns} columns and table '{history}' has {others} columns.";
    /// 13524: a column of another name.
    history_column_name(column: &str, ordinal: usize, history: &str, own: &str, table: &str) = 13524, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because column '{column}' at ordinal {ordinal} in history table '{history}' has a different name than the column '{own}' at the same ordinal in table '{table}'.";
    /// 13525: a column of another type.
    history_column_type(column: &str, other: &str, history: &str, own: &str, table: &str) = 13525, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because column '{column}' has data type {other} in history table '{history}' which is different from corresponding column type {own} in table '{table}'.";
    /// 13526: a column of another collation.
    history_column_collation(column: &str, table: &str, history: &str) = 13526, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because column '{column}' does not have the same collation in tables '{table}' and '{history}'.";
    /// 13529: a column of another schema collection.
    history_column_collection(column: &str, table: &str, history: &str) = 13529, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because column '{column}' does not have the same XML Schema Collection in tables '{table}' and '{history}'.";
    /// 13530: a period column of the history table that takes NULL.
    history_period_nullable(column: &str, history: &str, table: &str) = 13530, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because system column '{column}' in history table '{history}' corresponds to a period column in table '{table}' and cannot be nullable.";
    /// 13531: a column that takes NULL in one of the tables.
    history_column_nullability(column: &str, table: &str, history: &str) = 13531, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because column '{column}' does not have the same nullability attribute in tables '{table}' and '{history}'.";
    /// 13535: a row that is younger than the transaction.
    row_is_of_later_time(table: &str) = 13535, 16, 1, "Data modification failed on system-versioned table '{table}' because transaction time was earlier than period start time for affected records.";
    /// 13536: INSERT of a period column.
    generated_insert(table: &str) = 13536, 16, 1, "Cannot insert an explicit value into a GENERATED ALWAYS column in table '{table}'. Use INSERT with a column list to exclude the GENERATED ALWAYS column, or insert a DEFAULT into GENERATED ALWAYS column.";
    /// 13537: UPDATE of a period column.
    generated_update(table: &str) = 13537, 16, 1, "Cannot update GENERATED ALWAYS columns in table '{table}'.";
    /// 13539: a history table without its schema.
    history_not_two_parts(history: &str) = 13539, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because history table '{history}' is not specified in two-part name format.";
    /// 13541: former rows that end before they begin.
    history_ends_before_start(history: &str) = 13541, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because history table '{history}' contains invalid records with end of period set before start.";
    /// 13542: rows that begin in the future.
    period_starts_in_future(table: &str) = 13542, 16, 1, "ADD PERIOD FOR SYSTEM_TIME on table '{table}' failed because there are open records with start of period set to a value in the future.";
    /// 13543: former rows that end in the future.
    history_ends_in_future(history: &str) = 13543, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because history table '{history}' contains invalid records with end of period set to a value in the future.";
    /// 13544: FOR SYSTEM_TIME of another table.
    not_system_versioned(table: &str) = 13544, 16, 1, "Temporal FOR SYSTEM_TIME clause can only be used with system-versioned tables. '{table}' is not a system-versioned table.";
    /// 13545: TRUNCATE.
    truncate_of_versioned(table: &str) = 13545, 16, 1, "Truncate failed on table '{table}' because it is not a supported operation on system-versioned tables.";
    /// 13548: ALTER COLUMN of a history table.
    alter_column_of_history(column: &str, table: &str) = 13548, 16, 1, "Cannot alter column '{column}' on table '{table}' because it is not a supported operation on system-versioned temporal or ledger tables.";
    /// 13550: ADD of a column to a history table.
    add_column_to_history(table: &str) = 13550, 16, 1, "Add column operation failed on table '{table}' because it is not a supported operation on system-versioned temporal tables.";
    /// 13551: DROP COLUMN of a history table.
    drop_column_of_history(table: &str) = 13551, 16, 1, "Drop column operation failed on table '{table}' because it is not a supported operation on system-versioned temporal tables.";
    /// 13552: DROP TABLE.
    drop_of_versioned(table: &str) = 13552, 16, 1, "Drop table operation failed on table '{table}' because it is not a supported operation on system-versioned temporal tables.";
    /// 13553: a temporal table without a primary key.
    versioned_without_key(table: &str) = 13553, 16, 1, "System versioned temporal table '{table}' must have primary key defined.";
    /// 13557: DROP of the primary key.
    drop_key_of_versioned(table: &str) = 13557, 16, 1, "Cannot drop PRIMARY KEY constraint from a system-versioned temporal table '{table}'.";
    /// 13558
    primary_key_of_history(table: &str) = 13558, 16, 1, "Cannot add PRIMARY KEY constraint to a temporal history table '{table}'.";
    /// 13559
    insert_into_history(table: &str) = 13559, 16, 1, "Cannot insert rows in a temporal history table '{table}'.";
    /// 13560
    delete_from_history(table: &str) = 13560, 16, 1, "Cannot delete rows from a temporal history table '{table}'.";
    /// 13561
    update_of_history(table: &str) = 13561, 16, 1, "Cannot update rows in a temporal history table '{table}'.";
    /// 13562
    merge_into_history(table: &str) = 13562, 16, 1, "Cannot perform MERGE operation on temporal history table '{table}'.";
    /// 13564
    check_of_history(table: &str) = 13564, 16, 1, "Adding CHECK constraint to a temporal history table '{table}' is not allowed.";
    /// 13565
    foreign_key_of_history(key: &str) = 13565, 16, 1, "Foreign key '{key}' is not valid. A temporal history table cannot be used in a foreign key definition.";
    /// 13566: a temporal table as the history table of another.
    temporal_in_use(table: &str) = 13566, 16, 1, "Temporal table '{table}' is already in use.";
    /// 13568
    versioned_in_tempdb(table: &str) = 13568, 16, 1, "System-versioned temporal table '{table}' cannot be created in a 'tempdb' database.";
    /// 13569: a trigger of a history table, or INSTEAD OF of a temporal one.
    trigger_of_versioned(table: &str) = 13569, 16, 1, "Cannot create a trigger on a system-versioned temporal table '{table}'.";
    /// 13572
    period_of_variable() = 13572, 16, 1, "Creating table variables containing PERIOD is not allowed.";
    /// 13573: former versions of one row at one time.
    history_overlaps(history: &str) = 13573, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because history table '{history}' contains overlapping records.";
    /// 13574: the history table has a period.
    history_has_period(history: &str) = 13574, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because temporal history table '{history}' contains SYSTEM_TIME period.";
    /// 13575: rows that have an end.
    period_end_not_max(table: &str) = 13575, 16, 1, "ADD PERIOD FOR SYSTEM_TIME failed because table '{table}' contains records where end of period is not equal to MAX datetime.";
    /// 13580: ROWGUIDCOL of the history table.
    history_has_row_guid(history: &str) = 13580, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because history table '{history}' has ROWGUID column specification. Consider dropping all ROWGUID column specifications and trying again.";
    /// 13583
    unique_key_of_history(table: &str) = 13583, 16, 1, "Cannot add UNIQUE KEY constraint to a temporal history table '{table}'.";
    /// 13587: a period column that takes NULL.
    period_column_nullable(column: &str) = 13587, 16, 1, "Period column '{column}' in a system-versioned temporal table cannot be nullable.";
    /// 13588: DROP of a period column.
    period_column_dropped(column: &str, table: &str) = 13588, 16, 1, "Column '{column}' in table '{table}' cannot be dropped because it is a part of period definition.";
    /// 13590: FOR SYSTEM_TIME at a view whose text has it.
    several_system_times(table: &str) = 13590, 16, 1, "Temporal FOR SYSTEM_TIME clause can only be set once per temporal table. '{table}' has more than one temporal FOR SYSTEM_TIME clause.";
    /// 13591: OFF where it is off.
    versioning_not_on(table: &str) = 13591, 16, 1, "SYSTEM_VERSIONING is not turned ON for table '{table}'.";
    /// 13592: DROP PERIOD of a versioned table.
    period_of_versioned(table: &str) = 13592, 16, 1, "Cannot drop SYSTEM_TIME period from table '{table}' when SYSTEM_VERSIONING is ON.";
    /// 13593: DROP PERIOD of a table without a period.
    no_period(table: &str) = 13593, 16, 1, "SYSTEM_TIME period cannot be dropped from table '{table}', because SYSTEM_TIME period does not exist.";
    /// 13596: ON where it is on.
    versioning_already_on(table: &str) = 13596, 16, 1, "SYSTEM_VERSIONING is already turned ON for table '{table}'.";
    /// 13597: ADD PERIOD where there is one.
    period_exists(table: &str) = 13597, 16, 1, "Temporal SYSTEM_TIME period is already defined on table '{table}'.";
    /// 13598: ADD PERIOD of a history table.
    period_of_history(table: &str) = 13598, 16, 1, "Temporal SYSTEM_TIME period cannot be defined on history table '{table}'.";
    /// 13599: ALTER COLUMN of a period column.
    period_column_altered(column: &str) = 13599, 16, 1, "Period column '{column}' in a system-versioned temporal table cannot be altered.";
    /// 13724: a computed column added to a versioned table.
    computed_added_to_versioned() = 13724, 16, 1, "System-versioned table schema modification failed because adding computed column while system-versioning is ON is not supported.";
    /// 13735: HIDDEN of another column.
    hidden_not_generated(column: &str, table: &str) = 13735, 16, 1, "Cannot alter HIDDEN attribute on column '{column}' in table '{table}' because this column is not a generated always column.";
    /// 13741
    unique_index_of_history(table: &str) = 13741, 16, 1, "Cannot create UNIQUE index on temporal history table '{table}'.";
    /// 13743: a retention of nothing.
    retention_count(count: i64) = 13743, 16, 1, "{count} is not a valid value for system versioning history retention period.";
    /// 13744: a unit that there is not.
    retention_unit(unit: &str) = 13744, 16, 1, "'{unit}' is not a valid history retention period unit for system versioning.";
    /// 13746: clean-up of a table without history.
    cleanup_of_other_table(table: &str) = 13746, 16, 1, "'{table}' is not a system versioned temporal table.";
    /// 13747: clean-up of history that is kept for ever.
    cleanup_without_retention(table: &str) = 13747, 16, 1, "Cannot apply history cleanup on table '{table}' because it has infinite retention period.";
    /// 13757: another history table.
    history_already_defined(table: &str) = 13757, 16, 1, "Temporal table '{table}' already has history table defined. Consider dropping system_versioning first if you want to use different history table.";
    /// 13759: a column of a history table.
    rename_of_history(table: &str) = 13759, 16, 1, "Renaming a column failed on history table '{table}' because it is not a supported operation on system-versioned tables. Consider setting SYSTEM_VERSIONING to OFF and trying again.";
    /// 13776: clean-up of what is not there.
    cleanup_of_no_table(table: &str) = 13776, 16, 1, "Table '{table}' does not exist or you do not have the required permissions to complete the operation.";
    /// 13765: a history table that aged rows are not found in by an index.
    retention_without_index(table: &str, history: &str) = 13765, 16, 1, "Setting finite retention period failed on system-versioned temporal table '{table}' because the history table '{history}' does not contain required clustered index. Consider creating a clustered columnstore or B-tree index starting with the column that matches end of SYSTEM_TIME period, on the history table.";
    /// 13766: DROP of the index that aged rows are found in.
    retention_index_dropped(index: &str) = 13766, 16, 1, "Cannot drop the clustered index '{index}' because it is being used for automatic cleanup of aged data. Consider setting HISTORY_RETENTION_PERIOD to INFINITE on the corresponding system-versioned temporal table if you need to drop this index.";
    /// 13774: INSTEAD OF triggers of the table.
    versioned_has_instead_of(table: &str) = 13774, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because table '{table}' has INSTEAD OF triggers defined. Consider dropping INSTEAD OF triggers and trying again.";
}
