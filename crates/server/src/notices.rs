//! The errors and messages that this crate raises itself, sorted by number; texts are SQL Server's (SQL Server docs: Database Engine events
//! and errors), shortened only where a clause does not apply here.

/// The number of [`parameter_missing`].
pub(crate) const PARAMETER_MISSING: i32 = 201;
/// The number of [`parameter_type`].
pub(crate) const PARAMETER_TYPE: i32 = 214;

engine::messages! { pub(crate) fn;
    /// 201: a procedure lacks an argument.
    parameter_missing(procedure: &str, parameter: &str) = 201, 16, 4, "Procedure or function '{procedure}' expects parameter '{parameter}', which was not supplied.";
    /// 214: an argument of a system procedure has the wrong type.
    parameter_type(parameter: &str, expected: &str) = 214, 16, 2, "Procedure expects parameter '{parameter}' of type '{expected}'.";
    /// 596: KILL, while a request is read.
    session_killed() = 596, 21, 1, "Cannot continue the execution because the session is in the kill state.";
    /// 701: no memory for a message.
    insufficient_memory() = 701, 17, 123, "There is insufficient system memory in resource pool 'default' to run this query.";
    /// 823: a message that was put into a file cannot be read from there.
    message_unreadable(reason: &str) = 823, 24, 2, "The operating system returned an error to SQL Server during a read of a file beside tempdb: {reason}. Additional messages in the SQL Server error log and operating system error log may provide more detail.";
    /// 3624: a panic while serving a request.
    assertion_failed() = 3624, 20, 1, "A system assertion check has failed. Check the SQL Server error log for details. Typically, an assertion failure is caused by a software bug or data corruption. To check for database corruption, consider running DBCC CHECKDB.";
    /// 4804: the rows of a bulk load cannot be read. The documentation lists it with severity 21; one that the table's columns cause has
    /// been seen with 16 (`tsql`'s INSERT BULK), and a number has one severity here.
    bulk_stream() = 4804, 16, 1, "While reading current row from host, a premature end-of-message was encountered--an incoming data stream was interrupted when the server expected to see more data. The host program may have terminated. Ensure that you are using a supported client application programming interface (API).";
    /// 5701 of a login, which has state 2.
    database_context(database: &str) = 5701, 10, 2, "Changed database context to '{database}'.";
    /// 5703: the language.
    language_setting(language: &str) = 5703, 10, 1, "Changed language setting to {language}.";
    /// 7339: a value of a bulk load, by the name of its column, that is none of its type.
    bulk_value_invalid(column: &str) = 7339, 16, 1, "OLE DB provider 'STREAM' for linked server '(null)' returned invalid data for column '[!BulkInsert].{column}'.";
    /// 8009: the RPC stream cannot be understood.
    rpc_stream(reason: &str) = 8009, 16, 1, "The incoming tabular data stream (TDS) remote procedure call (RPC) protocol stream is incorrect: {reason}.";
    /// 8023: a parameter, counted from 1, whose value is none of its type.
    parameter_invalid(number: usize, name: &str, type_name: &str) = 8023, 16, 1, "The incoming tabular data stream (TDS) remote procedure call (RPC) protocol stream is incorrect. Parameter {number} (\"{name}\"): The supplied value is not a valid instance of data type {type_name}. Check the source data for invalid values. An example of an invalid value is data of numeric type with scale greater than precision.";
    /// 8043: the same of a value in a table.
    table_value_invalid(number: usize, name: &str, row: u64, column: usize, type_name: &str) = 8043, 16, 1, "The incoming tabular data stream (TDS) remote procedure call (RPC) protocol stream is incorrect. Table-valued parameter {number} (\"{name}\"), row {row}, column {column}: The supplied value is not a valid instance of data type {type_name}. Check the source data for invalid values. An example of an invalid value is data of numeric type with scale greater than precision.";
    /// 8179: no such prepared statement.
    prepared_statement_unknown(handle: i64) = 8179, 16, 2, "Could not find prepared statement with handle {handle}.";
    /// 17809: the connection limit.
    connection_limit(maximum: usize) = 17809, 20, 1, "Could not connect because the maximum number of '{maximum}' user connections has already been reached. The system administrator can use sp_configure to increase the maximum value. The connection has been closed.";
    /// 17835: a client of TDS 7 where only TDS 8.0 is let in; what it lacks is the encryption of that protocol.
    encryption_required() = 17835, 20, 1, "Encryption is required to connect to this server but the client library does not support encryption; the connection has been closed. Please upgrade your client library.";
    /// 18452: integrated authentication is not served.
    untrusted_domain() = 18452, 14, 1, "Login failed. The login is from an untrusted domain and cannot be used with Integrated authentication.";
    /// 18456: the login failed. Clients always see state 1, so that they cannot probe for names; the error log has the state that tells why.
    login_failed(login: &str) = 18456, 14, 1, "Login failed for user '{login}'.";
    /// 40517 of xml that a client sends in the form of [MS-BINXML].
    binary_xml() = 40517, 16, 1, "Keyword or statement option 'binary XML' is not supported in this version of vlflab.";
    /// A row that does not match the columns announced; a fault of ours, so the number is our own.
    row_mismatch(reason: &str) = 50_010, 16, 1, "A row of the result does not match its columns: {reason}.";
    /// A request type that is not served on this connection.
    request_not_served(reason: &str) = 50_011, 16, 1, "The request is not served here: {reason}.";
}
