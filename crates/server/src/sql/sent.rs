//! Long values of a spooled message, for the engine: read in parts from the message's file.

use std::sync::Arc;

use engine::error::{Error, Result};
use engine::memory::Charge;
use engine::types::{Collation, HeldForm, HeldSource, HeldValue, STRING_BYTES_MAX, Text, Value, string_room};
use tds::{DecodeError, LongForm, LongValue};
use tsql::scalar::convert::text_of_statements;

use crate::notices;

/// A value in its message.
#[derive(Debug)]
struct Sent(Arc<LongValue>);

impl HeldSource for Sent {
    fn read(&self, at: u64, into: &mut [u8]) -> Result<()> {
        self.0.read(at, into).map_err(failed)
    }
}

fn failed(problem: DecodeError) -> Error {
    match problem {
        DecodeError::Stopped => Error::cancelled(),
        other => notices::message_unreadable(&other.to_string()),
    }
}

/// A long value, held. One in UTF-8 is read: no string of the engine's is held in it.
///
/// # Errors
/// 7119 when it is longer than any string can be; 701 and 823 of reading.
pub(super) fn held(long: &Arc<LongValue>) -> Result<Value> {
    if long.bytes() > STRING_BYTES_MAX as u64 {
        return Err(Error::string_too_long());
    }
    let form = match long.form() {
        LongForm::Binary => HeldForm::Binary,
        LongForm::CodePage => HeldForm::CodePage,
        LongForm::Utf16 => HeldForm::Utf16,
        LongForm::Utf8 => return read_text(long),
    };
    let source = Arc::new(Sent(long.clone()));
    let held = HeldValue::new(source, long.bytes(), form, Collation::default());
    Ok(Value::Held(Arc::new(held)))
}

fn read_text(long: &LongValue) -> Result<Value> {
    let count = long.bytes() as usize;
    let room = string_room(count)?;
    let mut bytes = vec![0; count];
    long.read(0, &mut bytes).map_err(failed)?;
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    };
    Ok(Value::Text(Text::charged(text, room)))
}

/// All characters of a text of statements, with their charge if the text is long; `None` when it is not a string.
///
/// # Errors
/// 40517 when it is longer than a batch can be; 701 when there is no memory for it; 823.
pub fn whole_text(value: &tds::Value) -> Result<Option<Text>> {
    let tds::Value::Long(long) = value else {
        return Ok(value.text().map(|text| Text::charged(text, Charge::default())));
    };
    match text_of_statements(&held(long)?)? {
        Value::Text(text) => Ok(Some(text)),
        _ => Ok(None),
    }
}
