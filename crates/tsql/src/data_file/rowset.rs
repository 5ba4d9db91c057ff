//! What OPENROWSET(BULK ...) makes of a file: rows as a format file says, or the whole file as one value.
//!
//! ```text
//! SINGLE_BLOB    the bytes                       varbinary(max)
//! SINGLE_CLOB    characters of the database's    varchar(max)      4806 for a file of UTF-16
//! SINGLE_NCLOB   characters of UTF-16            nvarchar(max)     4809 for a file that does not begin with its mark
//! ```

use engine::cancel;
use engine::error::Result;
use engine::types::{Bytes, Collation, Text, Value, cp1252, string_room};

use super::layout::{Destination, Layout};
use super::options::{Options, Single};
use super::source::FileBytes;
use crate::messages;

/// Bytes that are read between two looks for cancellation.
const PIECE_BYTES: usize = 1 << 20;

/// A file in FROM.
#[derive(Clone, Debug)]
pub struct FileRowset {
    /// As the statement names it.
    pub file: String,
    pub content: RowsetContent,
}

/// What a file in FROM shows.
#[derive(Clone, Debug)]
pub enum RowsetContent {
    /// One row with one value; characters that are not UTF-16 have this collation.
    Value(Single, Collation),
    /// Rows as a format file says.
    Rows(Box<FormattedRows>),
}

/// The rows of a file in FROM.
#[derive(Clone, Debug)]
pub struct FormattedRows {
    pub layout: Layout,
    /// The columns, in the order of the format file.
    pub destinations: Vec<Destination>,
    pub options: Options,
}

/// A whole file as one value, in memory that was asked for first.
///
/// # Errors
/// 4806 and 4809 for the other kind of characters; 4862; 701; 7119 for more than 2 GB; 3617.
pub fn whole_value(file: &dyn FileBytes, single: Single, collation: Collation) -> Result<Value> {
    let length = usize::try_from(file.bytes()).unwrap_or(usize::MAX);
    let charge = string_room(length)?;
    let mut bytes = vec![0; length];
    let mut at = 0;
    for piece in bytes.chunks_mut(PIECE_BYTES) {
        cancel::look()?;
        file.read_at(at, piece)?;
        at += piece.len() as u64;
    }
    match single {
        Single::Blob => Ok(Value::Binary(Bytes::charged(bytes, charge))),
        Single::Clob if bytes.starts_with(&[0xFF, 0xFE]) => Err(messages::single_clob_is_wide()),
        Single::Clob => {
            let is_text = bytes.is_ascii() || collation.is_utf8() && std::str::from_utf8(&bytes).is_ok();
            if is_text {
                let text = String::from_utf8(bytes).expect("it was found to be UTF-8");
                return Ok(Value::Text(Text::charged(text, charge).collated(collation)));
            }
            let room = string_room(cp1252::decoded_bytes(&bytes))?;
            Ok(Value::Text(
                Text::charged(cp1252::decode(&bytes), room).collated(collation),
            ))
        }
        Single::NClob => {
            let units = bytes.strip_prefix(&[0xFF, 0xFE]);
            let units = units.ok_or_else(messages::single_nclob_is_char)?;
            // A unit of two bytes takes three at most.
            let room = string_room(units.len() / 2 * 3)?;
            let mut text = String::with_capacity(units.len() / 2 * 3);
            let units = units.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
            text.extend(char::decode_utf16(units).map(|unit| unit.unwrap_or('\u{FFFD}')));
            Ok(Value::Text(Text::charged(text, room).collated(collation)))
        }
    }
}
