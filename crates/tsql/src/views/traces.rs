//! `sys.fn_trace_gettable`: events out of a file of a trace (sql-docs, "sys.fn_trace_gettable"; columns of "sp_trace_setevent"). There are no
//! traces, so no file is one.

use engine::types::{Length, SqlType, Value};

use super::{BIGINT, DATETIME, GUID, INT, Rows, Source, SystemView, nvarchar};
use crate::messages;
use crate::views::SystemContext;

const LONG: SqlType = SqlType::NVarChar(Length::Max);
const BYTES: SqlType = SqlType::VarBinary(Length::Max);
const WORDS: SqlType = nvarchar(256);

pub(super) const VIEWS: &[SystemView] = &[SystemView {
    schema: "sys",
    name: "fn_trace_gettable",
    columns: COLUMNS,
    is_function: true,
    parameters: &[WORDS, INT],
    required: 1,
    rows: Source::Whole(events),
}];

const COLUMNS: &[(&str, SqlType)] = &[
    ("TextData", LONG),
    ("BinaryData", BYTES),
    ("DatabaseID", INT),
    ("TransactionID", BIGINT),
    ("LineNumber", INT),
    ("NTUserName", WORDS),
    ("NTDomainName", WORDS),
    ("HostName", WORDS),
    ("ClientProcessID", INT),
    ("ApplicationName", WORDS),
    ("LoginName", WORDS),
    ("SPID", INT),
    ("Duration", BIGINT),
    ("StartTime", DATETIME),
    ("EndTime", DATETIME),
    ("Reads", BIGINT),
    ("Writes", BIGINT),
    ("CPU", INT),
    ("Permissions", BIGINT),
    ("Severity", INT),
    ("EventSubClass", INT),
    ("ObjectID", INT),
    ("Success", INT),
    ("IndexID", INT),
    ("IntegerData", INT),
    ("ServerName", WORDS),
    ("EventClass", INT),
    ("ObjectType", INT),
    ("NestLevel", INT),
    ("State", INT),
    ("Error", INT),
    ("Mode", INT),
    ("Handle", INT),
    ("ObjectName", WORDS),
    ("DatabaseName", WORDS),
    ("FileName", WORDS),
    ("OwnerName", WORDS),
    ("RoleName", WORDS),
    ("TargetUserName", WORDS),
    ("DBUserName", WORDS),
    ("LoginSid", BYTES),
    ("TargetLoginName", WORDS),
    ("TargetLoginSid", BYTES),
    ("ColumnPermissions", INT),
    ("LinkedServerName", WORDS),
    ("ProviderName", WORDS),
    ("MethodName", WORDS),
    ("RowCounts", BIGINT),
    ("RequestID", INT),
    ("XactSequence", BIGINT),
    ("EventSequence", BIGINT),
    ("BigintData1", BIGINT),
    ("BigintData2", BIGINT),
    ("GUID", GUID),
    ("IntegerData2", INT),
    ("ObjectID2", BIGINT),
    ("Type", INT),
    ("OwnerID", INT),
    ("ParentName", WORDS),
    ("IsSystem", INT),
    ("Offset", INT),
    ("SourceDatabaseID", INT),
    ("SqlHandle", BYTES),
    ("SessionLoginName", WORDS),
    ("PlanHandle", BYTES),
    ("GroupID", INT),
];

/// No rows for NULL, as scripts ask that found no trace to read.
///
/// # Errors
/// 567 for every file.
fn events(_: &SystemContext<'_>, arguments: &[Value]) -> Rows {
    match arguments.first().and_then(Value::as_str) {
        Some(path) => Err(messages::not_a_trace(path)),
        None => Ok(Vec::new()),
    }
}
