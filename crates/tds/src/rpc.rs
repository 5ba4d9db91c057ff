//! Remote procedure calls, one or several in a message.
//!
//! ```text
//! ALL_HEADERS, then per call: name length u16 | name UTF-16   or   FFFF | id u16
//!   options u16 | parameters: (name B_VARCHAR | status u8 | TYPE_INFO | value, or F3 and a table)*
//! between calls: FF (80 below 7.2), or FE "do not execute"
//! ```

use std::sync::Arc;

use crate::column::{ColumnType, WireType};
use crate::cursor::{Cursor, DecodeError};
use crate::feed::{Feed, Payload};
use crate::request::RequestHeaders;
use crate::table::{TABLE, TableValue};
use crate::value::Value;
use crate::version::TdsVersion;

/// What is called: a name, or one of the procedures that have numbers on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Procedure {
    /// sp_cursor
    Cursor,
    /// sp_cursoropen
    CursorOpen,
    /// sp_cursorprepare
    CursorPrepare,
    /// sp_cursorexecute
    CursorExecute,
    /// sp_cursorprepexec
    CursorPrepExec,
    /// sp_cursorunprepare
    CursorUnprepare,
    /// sp_cursorfetch
    CursorFetch,
    /// sp_cursoroption
    CursorOption,
    /// sp_cursorclose
    CursorClose,
    /// sp_executesql
    ExecuteSql,
    /// sp_prepare
    Prepare,
    /// sp_execute
    Execute,
    /// sp_prepexec
    PrepExec,
    /// sp_prepexecrpc
    PrepExecRpc,
    /// sp_unprepare
    Unprepare,
    /// Any other, by its name.
    Named(String),
}

impl Procedure {
    fn from_id(id: u16) -> Result<Self, DecodeError> {
        Ok(match id {
            1 => Self::Cursor,
            2 => Self::CursorOpen,
            3 => Self::CursorPrepare,
            4 => Self::CursorExecute,
            5 => Self::CursorPrepExec,
            6 => Self::CursorUnprepare,
            7 => Self::CursorFetch,
            8 => Self::CursorOption,
            9 => Self::CursorClose,
            10 => Self::ExecuteSql,
            11 => Self::Prepare,
            12 => Self::Execute,
            13 => Self::PrepExec,
            14 => Self::PrepExecRpc,
            15 => Self::Unprepare,
            other => return Err(DecodeError::Invalid("procedure id", u64::from(other))),
        })
    }

    /// Clients may also call the numbered procedures by name, with or without `sys.`.
    fn from_name(name: String) -> Self {
        let lower = name.to_ascii_lowercase();
        let bare = lower.rsplit('.').next().unwrap_or_default();
        match bare.trim_matches(['[', ']', '"']) {
            "sp_cursor" => Self::Cursor,
            "sp_cursoropen" => Self::CursorOpen,
            "sp_cursorprepare" => Self::CursorPrepare,
            "sp_cursorexecute" => Self::CursorExecute,
            "sp_cursorprepexec" => Self::CursorPrepExec,
            "sp_cursorunprepare" => Self::CursorUnprepare,
            "sp_cursorfetch" => Self::CursorFetch,
            "sp_cursoroption" => Self::CursorOption,
            "sp_cursorclose" => Self::CursorClose,
            "sp_executesql" => Self::ExecuteSql,
            "sp_prepare" => Self::Prepare,
            "sp_execute" => Self::Execute,
            "sp_prepexec" => Self::PrepExec,
            "sp_prepexecrpc" => Self::PrepExecRpc,
            "sp_unprepare" => Self::Unprepare,
            _ => Self::Named(name),
        }
    }

    pub fn name(&self) -> &str {
        match self {
            Self::Cursor => "sp_cursor",
            Self::CursorOpen => "sp_cursoropen",
            Self::CursorPrepare => "sp_cursorprepare",
            Self::CursorExecute => "sp_cursorexecute",
            Self::CursorPrepExec => "sp_cursorprepexec",
            Self::CursorUnprepare => "sp_cursorunprepare",
            Self::CursorFetch => "sp_cursorfetch",
            Self::CursorOption => "sp_cursoroption",
            Self::CursorClose => "sp_cursorclose",
            Self::ExecuteSql => "sp_executesql",
            Self::Prepare => "sp_prepare",
            Self::Execute => "sp_execute",
            Self::PrepExec => "sp_prepexec",
            Self::PrepExecRpc => "sp_prepexecrpc",
            Self::Unprepare => "sp_unprepare",
            Self::Named(name) => name,
        }
    }
}

/// A parameter of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcParameter {
    /// Its name with the `@`, or empty when passed by position.
    pub name: String,
    /// The client wants its value back.
    pub output: bool,
    /// The procedure's default is to be used.
    pub default: bool,
    /// The type the client declared; of no meaning for a table.
    pub column_type: ColumnType,
    /// Its value; NULL for a table.
    pub value: Value,
    /// The table, in place of a value.
    pub table: Option<Arc<TableValue>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RpcRequest {
    pub procedure: Procedure,
    /// Compile again.
    pub recompile: bool,
    /// Leave COLMETADATA out of the answer.
    pub no_metadata: bool,
    /// The parameters, as sent.
    pub parameters: Vec<RpcParameter>,
    /// False: check only (the separator after it was FE).
    pub execute: bool,
}

/// The most parameters a call may have (SQL Server docs: maximum capacity specifications).
pub const PARAMETERS_MAX: usize = 2100;

/// Room for the parameters of most calls.
const PARAMETERS_FEW: usize = 4;

/// The calls of a message, decoded one at a time: a message may hold very many.
#[derive(Debug, Clone)]
pub struct RpcBatch<'a> {
    pub headers: RequestHeaders,
    feed: Feed<'a>,
    version: TdsVersion,
}

/// What stands between two calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Separator {
    Next,
    NoExecute,
}

fn separator(byte: u8, version: TdsVersion) -> Option<Separator> {
    match byte {
        0xFF if version.is_2005_or_later() => Some(Separator::Next),
        0x80 if !version.is_2005_or_later() => Some(Separator::Next),
        0xFE if version.is_2005_or_later() => Some(Separator::NoExecute),
        _ => None,
    }
}

impl<'a> RpcBatch<'a> {
    /// Reads the headers at the front of an RPC message's payload.
    pub fn parse(payload: impl Into<Payload<'a>>, version: TdsVersion) -> Result<Self, DecodeError> {
        let mut feed = Feed::new(payload.into());
        Ok(Self {
            headers: feed.take(|cursor| RequestHeaders::parse(cursor, version))?,
            feed,
            version,
        })
    }

    /// True when another call follows.
    pub fn has_more(&self) -> bool {
        !self.feed.is_empty()
    }

    /// Decodes the next call; None after the last.
    pub fn next_request(&mut self) -> Result<Option<RpcRequest>, DecodeError> {
        if self.feed.is_empty() {
            return Ok(None);
        }
        request(&mut self.feed, self.version).map(Some)
    }
}

fn request(feed: &mut Feed<'_>, version: TdsVersion) -> Result<RpcRequest, DecodeError> {
    feed.begin();
    let (procedure, options) = feed.take(|cursor| Ok((procedure(cursor)?, cursor.u16("procedure options")?)))?;
    let mut call = RpcRequest {
        procedure,
        recompile: options & 1 != 0,
        no_metadata: options & 2 != 0,
        parameters: Vec::with_capacity(PARAMETERS_FEW),
        execute: true,
    };
    while let Some(byte) = feed.peek()? {
        if let Some(found) = separator(byte, version) {
            feed.take(|cursor| cursor.u8("separator"))?;
            call.execute = found == Separator::Next;
            break;
        }
        if call.parameters.len() == PARAMETERS_MAX {
            let count = call.parameters.len() as u64 + 1;
            return Err(DecodeError::Invalid("number of parameters", count));
        }
        call.parameters.push(parameter(feed)?);
    }
    Ok(call)
}

fn procedure(cursor: &mut Cursor<'_>) -> Result<Procedure, DecodeError> {
    Ok(match cursor.u16("procedure name")? {
        0xFFFF => Procedure::from_id(cursor.u16("procedure id")?)?,
        units => Procedure::from_name(cursor.utf16(usize::from(units), "procedure name")?),
    })
}

fn parameter(feed: &mut Feed<'_>) -> Result<RpcParameter, DecodeError> {
    let (mut parameter, wire) = feed.take_copied(declared)?;
    if let Some(wire) = wire {
        parameter.value = feed.value(&wire, false)?;
    }
    Ok(parameter)
}

/// A parameter with its type, whose value follows; a table whole.
fn declared(cursor: &mut Cursor<'_>) -> Result<(RpcParameter, Option<WireType>), DecodeError> {
    let name = cursor.b_varchar("parameter name")?;
    let status = cursor.u8("parameter status")?;
    if status & 0x08 != 0 {
        return Err(DecodeError::Unsupported("encrypted parameter", u64::from(status)));
    }
    let mut parameter = RpcParameter {
        name,
        output: status & 1 != 0,
        default: status & 2 != 0,
        column_type: ColumnType::Bit,
        value: Value::Null,
        table: None,
    };
    if cursor.peek() == Some(TABLE) {
        cursor.u8("type")?;
        parameter.table = Some(Arc::new(TableValue::parse(cursor)?));
        return Ok((parameter, None));
    }
    let wire = WireType::parse(cursor)?;
    parameter.column_type = wire.column;
    Ok((parameter, Some(wire)))
}
