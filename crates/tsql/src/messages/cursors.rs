//! The errors of cursors, and of WITH RESULT SETS. Words and severities are those of sql-docs, "Database Engine events and errors"; the states, and
//! which of them comes when, are as the SqlServerSimulator project has probed them on SQL Server 2025 (its notes on "Cursors").

use engine::error::Error;

engine::messages! { pub(crate) fn;
    /// 154: a cursor's query that makes a table.
    into_in_cursor() = 154, 15, 3, "an INTO clause is not allowed in a cursor declaration.";
    /// 16902: an argument of a procedure or function that tells of cursors.
    cursor_parameter_invalid(procedure: &str, parameter: &str, state: u8) = 16902, 16, state, "{procedure}: The value of the parameter '{parameter}' is invalid.";
    /// 16905: OPEN of an open cursor.
    cursor_is_open() = 16905, 16, 1, "The cursor is already open.";
    /// 16911: FETCH of another row than the next one.
    forward_only_cursor(direction: &str) = 16911, 16, 1, "fetch: The fetch type {direction} cannot be used with forward only cursors.";
    /// 16915: DECLARE of a name that is taken.
    cursor_exists(name: &str) = 16915, 16, 1, "A cursor with the name '{name}' already exists.";
    /// 16916: no cursor has the name.
    cursor_not_found(name: &str, state: u8) = 16916, 16, state, "A cursor with the name '{name}' does not exist.";
    /// 16917: a closed cursor where an open one is needed.
    cursor_not_open(state: u8) = 16917, 16, state, "Cursor is not open.";
    /// 16924: FETCH INTO another number of variables.
    cursor_variable_count() = 16924, 16, 1, "Cursorfetch: The number of variables declared in the INTO list must match that of selected columns.";
    /// 16925: FETCH ABSOLUTE of a dynamic cursor.
    dynamic_cursor(direction: &str) = 16925, 16, 1, "The fetch type {direction} cannot be used with dynamic cursors.";
    /// 16929: a change through a cursor that only reads.
    cursor_is_read_only() = 16929, 16, 1, "The cursor is READ ONLY.";
    /// 16931: a change through a cursor that is at no row.
    no_row_in_fetch_buffer() = 16931, 16, 1, "There are no rows in the current fetch buffer.";
    /// 16932: a change of a column that FOR UPDATE OF leaves out.
    column_not_for_update() = 16932, 16, 1, "The cursor has a FOR UPDATE list and the requested column to be updated is not in this list.";
    /// 16933: a change of a table that the cursor does not read.
    table_not_in_cursor() = 16933, 16, 1, "The cursor does not include the table being modified or the table is not updatable through the cursor.";
    /// 16934: what follows 16947 if the row has changed since it was fetched.
    optimistic_check_failed() = 16934, 10, 1, "Optimistic concurrency check failed. The row was modified outside of this cursor.";
    /// 16941: a change through a cursor over a table that is read uncommitted.
    cursor_reads_uncommitted() = 16941, 16, 1, "Cursor updates are not allowed on tables opened with the NOLOCK option.";
    /// 16943: a table has been redefined since the cursor was opened.
    cursor_table_redefined() = 16943, 16, 4, "Could not complete cursor operation because the table schema changed after the cursor was declared.";
    /// 16946: OPEN of a cursor over table variables of a batch that has ended.
    cursor_table_out_of_scope() = 16946, 16, 1, "Could not open the cursor because one or more of its tables have gone out of scope.";
    /// 16947: a change through a cursor whose row is gone.
    no_row_changed() = 16947, 16, 1, "No rows were updated or deleted.";
    /// 16948: a variable of another kind in place of a cursor variable.
    not_a_cursor_variable(name: &str) = 16948, 16, 4, "The variable '{name}' is not a cursor variable, but it is used in a place where a cursor variable is expected.";
    /// 16949: a cursor variable in place of a value.
    cursor_variable_as_value(name: &str) = 16949, 16, 1, "The variable '{name}' is a cursor variable, but it is used in a place where a cursor variable is not valid.";
    /// 16950: a cursor variable that refers to no cursor.
    no_cursor_allocated(name: &str) = 16950, 16, 2, "The variable '{name}' does not currently have a cursor allocated to it.";
    /// 16951: a cursor variable that has a cursor, for a parameter that is to give it one.
    cursor_argument_allocated(name: &str) = 16951, 16, 1, "The variable '{name}' cannot be used as a parameter because a CURSOR OUTPUT parameter must not have a cursor allocated to it before execution of the procedure.";
    /// 16956: what TYPE_WARNING warns of.
    cursor_of_another_type() = 16956, 10, 1, "The created cursor is not of the requested type.";
    /// 16957: FOR UPDATE of a query whose rows are not to be changed.
    for_update_of_read_only() = 16957, 16, 4, "FOR UPDATE cannot be specified on a READ ONLY cursor.";
    /// 16961: a table that the cursor reads more than once.
    first_instance_changed() = 16961, 10, 1, "One or more FOR UPDATE columns have been adjusted to the first instance of their table in the query.";
}

/// The error of a change through a cursor whose row was changed or deleted since it was fetched.
pub(crate) fn changed_outside_cursor() -> Error {
    Error {
        after: Some(Box::new(optimistic_check_failed())),
        ..no_row_changed()
    }
}

engine::messages! { pub(crate) fn;
    /// 11535: a result set more than were described.
    more_result_sets(described: usize) = 11535, 16, 1, "EXECUTE statement failed because its WITH RESULT SETS clause specified {described} result set(s), and the statement tried to send more result sets than this.";
    /// 11536: fewer result sets than were described.
    fewer_result_sets(described: usize, sent: usize) = 11536, 16, 1, "EXECUTE statement failed because its WITH RESULT SETS clause specified {described} result set(s), but the statement only sent {sent} result set(s) at run time.";
    /// 11537: another number of columns.
    result_set_columns(described: usize, number: usize, sent: usize) = 11537, 16, 1, "EXECUTE statement failed because its WITH RESULT SETS clause specified {described} column(s) for result set number {number}, but the statement sent {sent} column(s) at run time.";
    /// 11538: a type that does not convert to the one described.
    result_set_type(described: &str, column: usize, number: usize, sent: &str) = 11538, 16, 1, "EXECUTE statement failed because its WITH RESULT SETS clause specified type '{described}' for column #{column} in result set #{number}, and the corresponding type sent at run time was '{sent}'; there is no conversion between the two types.";
    /// 11553: NULL where none was to be.
    result_set_null(column: usize, number: usize) = 11553, 16, 1, "EXECUTE statement failed because its WITH RESULT SETS clause specified a non-nullable type for column #{column} in result set #{number}, and the corresponding value sent at run time was null.";
}
