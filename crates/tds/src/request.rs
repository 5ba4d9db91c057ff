//! SQL batches and transaction manager requests.
//!
//! ```text
//! from 7.2 on, first of all: ALL_HEADERS = total u32 | (length u32 | type u16 | data)*
//! SQLBatch: UTF-16 text to the end
//! transaction: request u16 | 5: isolation u8, name | 7, 8: name, flags u8 [isolation u8, name] | 9: name
//! name = u8 length in bytes | UTF-16
//! ```

use crate::cursor::{Cursor, DecodeError, utf16_text};
use crate::version::TdsVersion;

/// What precedes the requests of TDS 7.2 and later.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestHeaders {
    /// The transaction the client believes to be in; 0 for none.
    pub transaction: u64,
    /// Requests outstanding; 1 without MARS.
    pub outstanding: u32,
}

impl RequestHeaders {
    /// Reads ALL_HEADERS, which is empty below 7.2.
    pub fn parse(cursor: &mut Cursor<'_>, version: TdsVersion) -> Result<Self, DecodeError> {
        let mut headers = Self::default();
        if !version.is_2005_or_later() {
            return Ok(headers);
        }
        let total = cursor.u32("ALL_HEADERS")?;
        let body = total
            .checked_sub(4)
            .and_then(|bytes| usize::try_from(bytes).ok())
            .ok_or(DecodeError::Invalid("ALL_HEADERS length", u64::from(total)))?;
        let mut block = Cursor::new(cursor.bytes(body, "ALL_HEADERS")?);
        while !block.is_empty() {
            let length = block.u32("request header")?;
            let kind = block.u16("request header")?;
            let body = length
                .checked_sub(6)
                .and_then(|bytes| usize::try_from(bytes).ok())
                .ok_or(DecodeError::Invalid("request header length", u64::from(length)))?;
            let mut data = Cursor::new(block.bytes(body, "request header")?);
            if kind == 2 {
                headers.transaction = data.u64("transaction descriptor")?;
                headers.outstanding = data.u32("outstanding requests")?;
            }
        }
        Ok(headers)
    }
}

/// A batch of SQL text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlBatch {
    pub headers: RequestHeaders,
    pub text: String,
}

impl SqlBatch {
    /// Parses the payload of a SQLBatch message.
    pub fn parse(payload: &[u8], version: TdsVersion) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(payload);
        let headers = RequestHeaders::parse(&mut cursor, version)?;
        let text = cursor.rest();
        if !text.len().is_multiple_of(2) {
            return Err(DecodeError::Invalid("SQL text length", text.len() as u64));
        }
        Ok(Self {
            headers,
            text: utf16_text(text),
        })
    }
}

/// An isolation level as a transaction request carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsolationLevel {
    /// Keep the session's.
    Unchanged,
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
    Snapshot,
}

impl IsolationLevel {
    fn from_byte(byte: u8) -> Result<Self, DecodeError> {
        Ok(match byte {
            0 => Self::Unchanged,
            1 => Self::ReadUncommitted,
            2 => Self::ReadCommitted,
            3 => Self::RepeatableRead,
            4 => Self::Serializable,
            5 => Self::Snapshot,
            other => return Err(DecodeError::Invalid("isolation level", u64::from(other))),
        })
    }
}

/// A new transaction to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTransaction {
    pub isolation: IsolationLevel,
    /// Its name, or empty.
    pub name: String,
}

/// What the client wants of its transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransactionRequest {
    Begin(NewTransaction),
    /// Commit, and perhaps begin the next at once.
    Commit {
        /// The name given, or empty.
        name: String,
        /// The transaction to begin afterwards.
        then_begin: Option<NewTransaction>,
    },
    /// Roll back (to a savepoint if the name is one), and perhaps begin the next at once.
    Rollback {
        /// The name given, or empty.
        name: String,
        /// The transaction to begin afterwards.
        then_begin: Option<NewTransaction>,
    },
    Save {
        name: String,
    },
}

impl TransactionRequest {
    /// Parses the payload of a transaction manager message.
    pub fn parse(payload: &[u8], version: TdsVersion) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(payload);
        RequestHeaders::parse(&mut cursor, version)?;
        match cursor.u16("transaction request")? {
            5 => Ok(Self::Begin(new_transaction(&mut cursor)?)),
            7 => Ok(Self::Commit {
                name: name(&mut cursor)?,
                then_begin: next_transaction(&mut cursor)?,
            }),
            8 => Ok(Self::Rollback {
                name: name(&mut cursor)?,
                then_begin: next_transaction(&mut cursor)?,
            }),
            9 => Ok(Self::Save {
                name: name(&mut cursor)?,
            }),
            other => Err(DecodeError::Unsupported("transaction request", u64::from(other))),
        }
    }
}

fn name(cursor: &mut Cursor<'_>) -> Result<String, DecodeError> {
    let bytes = cursor.u8("transaction name")?;
    Ok(utf16_text(cursor.bytes(usize::from(bytes), "transaction name")?))
}

fn new_transaction(cursor: &mut Cursor<'_>) -> Result<NewTransaction, DecodeError> {
    let isolation = IsolationLevel::from_byte(cursor.u8("isolation level")?)?;
    // Some drivers leave an empty name out.
    let name = if cursor.is_empty() {
        String::new()
    } else {
        name(cursor)?
    };
    Ok(NewTransaction { isolation, name })
}

fn next_transaction(cursor: &mut Cursor<'_>) -> Result<Option<NewTransaction>, DecodeError> {
    let begins = !cursor.is_empty() && cursor.u8("transaction flags")? & 1 != 0;
    begins.then(|| new_transaction(cursor)).transpose()
}
