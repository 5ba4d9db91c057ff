//! The messages this crate raises itself, one function per number, sorted by number; texts are SQL Server's (SQL Server
//! docs: Database Engine events and errors), shortened only where a clause has nothing to say here.

use crate::backend::Notice;

fn notice(number: i32, severity: u8, state: u8, text: impl Into<String>) -> Notice {
    Notice {
        number,
        severity,
        state,
        text: text.into(),
        procedure: String::new(),
        line: 1,
    }
}

/// What an error of the engine is to a client.
pub(crate) fn of_error(error: &engine::error::Error) -> Notice {
    notice(error.number, error.severity, error.state, error.message.clone())
}

/// 201: a procedure lacks an argument.
pub(crate) fn parameter_missing(procedure: &str, parameter: &str) -> Notice {
    let text = format!("Procedure or function '{procedure}' expects parameter '{parameter}', which was not supplied.");
    Notice {
        procedure: procedure.to_owned(),
        ..notice(201, 16, 4, text)
    }
}

/// 214: an argument of a system procedure has the wrong type.
pub(crate) fn parameter_type(procedure: &str, parameter: &str, expected: &str) -> Notice {
    let text = format!("Procedure expects parameter '{parameter}' of type '{expected}'.");
    Notice {
        procedure: procedure.to_owned(),
        ..notice(214, 16, 2, text)
    }
}

/// 8023: a parameter, counted from 1, whose value is none of its type.
pub(crate) fn parameter_invalid(number: usize, name: &str, type_name: &str) -> Notice {
    let text = format!(
        "{RPC_INCORRECT} Parameter {number} (\"{name}\"): The supplied value is not a valid instance of data type {type_name}. {CHECK_SOURCE}"
    );
    notice(8023, 16, 1, text)
}

/// 8043: the same of a value in a table.
pub(crate) fn table_value_invalid(
    (number, name): (usize, &str),
    (row, column): (u64, usize),
    type_name: &str,
) -> Notice {
    let text = format!(
        "{RPC_INCORRECT} Table-valued parameter {number} (\"{name}\"), row {row}, column {column}: The supplied value is not a valid instance of data type {type_name}. {CHECK_SOURCE}"
    );
    notice(8043, 16, 1, text)
}

/// 7339: the same of a value in a bulk load, by the name of its column.
pub(crate) fn bulk_value_invalid(column: &str) -> Notice {
    let text = format!(
        "OLE DB provider 'STREAM' for linked server '(null)' returned invalid data for column '[!BulkInsert].{column}'."
    );
    notice(7339, 16, 1, text)
}

const RPC_INCORRECT: &str =
    "The incoming tabular data stream (TDS) remote procedure call (RPC) protocol stream is incorrect.";
const CHECK_SOURCE: &str = "Check the source data for invalid values. An example of an invalid value is data of numeric type with scale \
                            greater than precision.";

/// 701: no memory for a message.
pub(crate) fn insufficient_memory() -> Notice {
    let text = "There is insufficient system memory in resource pool 'default' to run this query.";
    notice(701, 17, 123, text)
}

/// 3624: a panic while serving a request.
pub(crate) fn assertion_failed() -> Notice {
    notice(
        3624,
        20,
        1,
        "A system assertion check has failed. Check the SQL Server error log for details. Typically, an assertion \
         failure is caused by a software bug or data corruption. To check for database corruption, consider running DBCC \
         CHECKDB.",
    )
}

/// 4804: the rows of a bulk load cannot be read. The documentation lists it with severity 21; one that the table's columns cause has
/// been seen with 16 (`tsql`'s INSERT BULK), and a number has one severity here.
pub(crate) fn bulk_stream() -> Notice {
    let text = "While reading current row from host, a premature end-of-message was encountered--an incoming data stream was \
                interrupted when the server expected to see more data. The host program may have terminated. Ensure that you \
                are using a supported client application programming interface (API).";
    notice(4804, 16, 1, text)
}

/// 5701: the database context changed; state 2 at login, 1 by USE.
pub(crate) fn database_context(database: &str, state: u8) -> Notice {
    notice(5701, 0, state, format!("Changed database context to '{database}'."))
}

/// 5703: the language.
pub(crate) fn language_setting(language: &str) -> Notice {
    notice(5703, 0, 1, format!("Changed language setting to {language}."))
}

/// 8009: the RPC stream cannot be understood.
pub(crate) fn rpc_stream(reason: &dyn std::fmt::Display) -> Notice {
    let text = format!(
        "The incoming tabular data stream (TDS) remote procedure call (RPC) protocol stream is incorrect: {reason}."
    );
    notice(8009, 16, 1, text)
}

/// 8179: no such prepared statement.
pub(crate) fn prepared_statement_unknown(handle: i64) -> Notice {
    notice(
        8179,
        16,
        2,
        format!("Could not find prepared statement with handle {handle}."),
    )
}

/// 17809: the connection limit.
pub(crate) fn connection_limit(maximum: usize) -> Notice {
    let text = format!(
        "Could not connect because the maximum number of '{maximum}' user connections has already been reached. The \
         system administrator can use sp_configure to increase the maximum value. The connection has been closed."
    );
    notice(17809, 20, 1, text)
}

/// 17835: a client of TDS 7 where only TDS 8.0 is let in; what it lacks is the encryption of that protocol.
pub(crate) fn encryption_required() -> Notice {
    let text = "Encryption is required to connect to this server but the client library does not support encryption; the \
                connection has been closed. Please upgrade your client library.";
    notice(17835, 20, 1, text)
}

/// 18452: integrated authentication is not served.
pub(crate) fn untrusted_domain() -> Notice {
    let text = "Login failed. The login is from an untrusted domain and cannot be used with Integrated authentication.";
    notice(18452, 14, 1, text)
}

/// 18456: the login failed. Clients always see state 1, so that they cannot probe for names; the error log has the
/// state that tells why.
pub(crate) fn login_failed(login: &str) -> Notice {
    notice(18456, 14, 1, format!("Login failed for user '{login}'."))
}

/// A row that does not match the columns announced; a fault of ours, so the number is our own.
pub(crate) fn row_mismatch(reason: &dyn std::fmt::Display) -> Notice {
    notice(
        50_010,
        16,
        1,
        format!("A row of the result does not match its columns: {reason}."),
    )
}

/// A request type that is not served on this connection.
pub(crate) fn request_not_served(reason: &dyn std::fmt::Display) -> Notice {
    notice(50_011, 16, 1, format!("The request is not served here: {reason}."))
}
