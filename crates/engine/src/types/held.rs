//! Values that stay in place: long strings on pages or in a file, read in parts as needed.
//!
//! ```text
//! Value::Held   Arc<HeldValue>   bytes of the whole | form of the bytes | collation | where they are ([`HeldSource`])
//! form          Binary           the bytes themselves
//!               CodePage         characters of code page 1252, one byte each
//!               Utf16            characters of UTF-16, little-endian, two or four bytes each
//! ```
//! Invariant: only code that asked for held values gets them. A held value is passed only to receivers that accept one; all others get
//! [`Value::whole`], which reads it into memory requested first.
//!
//! Invariant: the data of a value on pages stay until the statement that received it ends, so such a value reaches no variable. One in the file of a
//! message owns the file, and a variable may have it.

use super::joined::Joined;
use super::{Bytes, Collation, LARGE_BYTES_MIN, SqlType, Text, Value, cp1252, string_room};
use crate::error::{Error, Result};
use std::fmt;
use std::sync::Arc;

/// Values of so many bytes and more are held. Shorter ones are cheaper to read at once.
pub const HELD_BYTES_MIN: u64 = 16 * LARGE_BYTES_MIN as u64;

/// Bytes of a text that are read at once where its characters are counted.
const CHARACTERS_READ_BYTES: usize = 64 << 10;

/// Where the bytes of a value are.
pub trait HeldSource: fmt::Debug + Send + Sync {
    /// Fills `into` with the bytes of the value from `at` on; all of them are there.
    ///
    /// # Errors
    /// 823 and 824 when they cannot be read; 3617 when the request is to stop.
    fn read(&self, at: u64, into: &mut [u8]) -> Result<()>;

    /// What it consists of, if it is made of others.
    fn pieces(&self) -> Option<&Joined> {
        None
    }
}

/// How the bytes of a held value are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldForm {
    Binary,
    CodePage,
    Utf16,
}

impl HeldForm {
    /// The form of the stored bytes of a type; `None` for types whose values are never held.
    pub fn of(sql_type: SqlType, collation: Collation) -> Option<HeldForm> {
        match sql_type {
            SqlType::VarBinary(_) => Some(HeldForm::Binary),
            SqlType::NVarChar(_) => Some(HeldForm::Utf16),
            SqlType::VarChar(_) if !collation.is_utf8() => Some(HeldForm::CodePage),
            _ => None,
        }
    }

    /// Bytes of what SUBSTRING counts as one.
    pub fn unit_bytes(self) -> u64 {
        match self {
            HeldForm::Binary | HeldForm::CodePage => 1,
            HeldForm::Utf16 => 2,
        }
    }
}

/// A value that is read in parts.
#[derive(Clone, Debug)]
pub struct HeldValue {
    source: Arc<dyn HeldSource>,
    bytes: u64,
    form: HeldForm,
    collation: Collation,
}

impl HeldValue {
    pub fn new(source: Arc<dyn HeldSource>, bytes: u64, form: HeldForm, collation: Collation) -> HeldValue {
        HeldValue {
            source,
            bytes,
            form,
            collation,
        }
    }

    /// Bytes of the whole value, in its form.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn form(&self) -> HeldForm {
        self.form
    }

    /// What its characters compare by.
    pub fn collation(&self) -> Collation {
        self.collation
    }

    /// Bytes without the blanks at its end, which are read from behind.
    ///
    /// # Errors
    /// Those of [`HeldSource::read`].
    pub fn bytes_without_blanks(&self) -> Result<u64> {
        let blank: &[u8] = match self.form {
            HeldForm::Utf16 => &[b' ', 0],
            HeldForm::Binary | HeldForm::CodePage => b" ",
        };
        let (mut end, mut piece) = (self.bytes, Vec::new());
        while end > 0 {
            let start = (end - 1) / CHARACTERS_READ_BYTES as u64 * CHARACTERS_READ_BYTES as u64;
            self.read(start, usize::try_from(end - start).unwrap_or(usize::MAX), &mut piece)?;
            let units = piece.chunks_exact(blank.len()).rev();
            let blanks = units.take_while(|unit| *unit == blank).count() * blank.len();
            end -= blanks as u64;
            if blanks < piece.len() {
                break;
            }
        }
        Ok(end)
    }

    /// Its first bytes, as many as a limit allows, without a part of a unit.
    #[must_use]
    pub fn cut(&self, bytes_max: u64) -> HeldValue {
        let bytes = self.bytes.min(bytes_max);
        HeldValue {
            bytes: bytes - bytes % self.form.unit_bytes(),
            ..self.clone()
        }
    }

    pub(super) fn source(&self) -> &dyn HeldSource {
        self.source.as_ref()
    }

    /// Fills `into` with the bytes from `at` on; all of them are there.
    ///
    /// # Errors
    /// Those of [`HeldSource::read`].
    pub fn read_into(&self, at: u64, into: &mut [u8]) -> Result<()> {
        self.source.read(at, into)
    }

    /// Replaces the content of `into` by the bytes from `at` on, at most `count` and fewer at the end.
    ///
    /// # Errors
    /// Those of [`HeldSource::read`].
    pub fn read(&self, at: u64, count: usize, into: &mut Vec<u8>) -> Result<()> {
        let left = self.bytes.saturating_sub(at);
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(count);
        into.clear();
        into.resize(count, 0);
        self.source.read(at, into)
    }

    /// The units from `start` to `end` as a value in memory, which is asked for first.
    ///
    /// # Errors
    /// 701 when there is no memory for them; those of [`HeldSource::read`].
    pub fn part(&self, start: u64, end: u64) -> Result<Value> {
        let unit = self.form.unit_bytes();
        let end = end.saturating_mul(unit).min(self.bytes);
        let start = start.saturating_mul(unit).min(end);
        let count = usize::try_from(end - start).map_err(|_| Error::string_too_long())?;
        let room = string_room(count)?;
        let mut bytes = Vec::new();
        self.read(start, count, &mut bytes)?;
        // A text is longer than its bytes here, and is there beside them for a while.
        Ok(match self.form {
            HeldForm::Binary => Value::Binary(Bytes::charged(bytes, room)),
            HeldForm::CodePage => {
                let room = string_room(cp1252::decoded_bytes(&bytes))?;
                self.text(cp1252::decode(&bytes), room)
            }
            HeldForm::Utf16 => {
                let room = string_room(decoded(&bytes).map(char::len_utf8).sum())?;
                self.text(decoded(&bytes).collect(), room)
            }
        })
    }

    /// The characters from `start` to `end`, as a text in memory counts them: one of two units of UTF-16 is one, and is not cut. A text of such units
    /// is read from its begin, since nothing says where its characters are.
    ///
    /// # Errors
    /// 701 when there is no memory for them; those of [`HeldSource::read`].
    pub fn characters(&self, start: u64, end: u64) -> Result<Value> {
        if self.form != HeldForm::Utf16 {
            return self.part(start, end);
        }
        let wanted = end.saturating_sub(start).saturating_mul(4);
        let longest = wanted.min(self.bytes.saturating_add(self.bytes / 2));
        let room = string_room(usize::try_from(longest).map_err(|_| Error::string_too_long())?)?;
        let (mut text, mut passed) = (String::new(), 0u64);
        let (mut piece, mut at) = (Vec::new(), 0u64);
        while at < self.bytes && passed < end {
            self.read(at, CHARACTERS_READ_BYTES, &mut piece)?;
            at += piece.len() as u64;
            let is_cut = at < self.bytes && piece.last().is_some_and(|high| matches!(high, 0xD8..=0xDB));
            if is_cut {
                piece.truncate(piece.len() - 2);
                at -= 2;
            }
            for character in decoded(&piece) {
                if (start..end).contains(&passed) {
                    text.push(character);
                }
                passed += 1;
            }
        }
        Ok(self.text(text, room))
    }

    fn text(&self, text: String, room: crate::memory::Charge) -> Value {
        Value::Text(Text::charged(text, room).collated(self.collation))
    }
}

/// The characters of UTF-16, little-endian; half a pair is U+FFFD.
fn decoded(bytes: &[u8]) -> impl Iterator<Item = char> + '_ {
    let (units, _) = bytes.as_chunks::<2>();
    let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
    char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
}

impl PartialEq for HeldValue {
    /// Two are equal when they are the same bytes at the same place.
    fn eq(&self, other: &HeldValue) -> bool {
        Arc::ptr_eq(&self.source, &other.source) && self.bytes == other.bytes && self.form == other.form
    }
}

impl Value {
    /// Whether it is a held value whose bytes are those of values of a type: it may be converted to the type unread.
    pub fn is_held_as(&self, sql_type: SqlType) -> bool {
        let form = HeldForm::of(sql_type, Collation::default());
        matches!(self, Value::Held(held) if sql_type.is_max() && form == Some(held.form()))
    }

    /// The value in memory: a held one is read, all others are as they are.
    ///
    /// # Errors
    /// 701 when there is no memory for it; those of [`HeldSource::read`].
    pub fn whole(self) -> Result<Value> {
        match &self {
            Value::Held(held) => held.part(0, u64::MAX),
            _ => Ok(self),
        }
    }
}
