//! A checked reader over received bytes: if the bytes run out, the error says what was being read.

use std::fmt;

/// Why received bytes are not the message they claim to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecodeError {
    /// The bytes ended before this part was complete.
    Truncated(&'static str),
    /// A field holds a value the protocol does not allow there.
    Invalid(&'static str, u64),
    /// Allowed by the protocol, but not served here.
    Unsupported(&'static str, u64),
    /// Longer than the protocol allows; so many units.
    TooLong(&'static str, u64),
    /// The message lies elsewhere and cannot be read, for this reason.
    Unreadable(String),
    /// A part of a message that lies elsewhere finds no memory.
    NoMemory,
    /// Nobody waits for the rest any more.
    Stopped,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated(what) => write!(f, "the message ends inside its {what}"),
            Self::Invalid(what, value) => write!(f, "invalid {what} ({value:#x})"),
            Self::Unsupported(what, value) => write!(f, "unsupported {what} ({value:#x})"),
            Self::TooLong(what, units) => write!(f, "the {what} is too long ({units})"),
            Self::Unreadable(reason) => write!(f, "the message cannot be read: {reason}"),
            Self::NoMemory => f.write_str("there is no memory for a part of the message"),
            Self::Stopped => f.write_str("the request was cancelled"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// A position in a byte slice; all integers are little-endian unless said otherwise.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Bytes not read yet.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// True at the end.
    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// The next byte without consuming it.
    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Everything not read yet.
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at = self.bytes.len();
        rest
    }

    /// The next `count` bytes.
    pub fn bytes(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], DecodeError> {
        let end = self.at.checked_add(count).ok_or(DecodeError::Truncated(what))?;
        let slice = self.bytes.get(self.at..end).ok_or(DecodeError::Truncated(what))?;
        self.at = end;
        Ok(slice)
    }

    /// The next `N` bytes as an array.
    pub fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(N, what)?);
        Ok(array)
    }

    /// One byte.
    pub fn u8(&mut self, what: &'static str) -> Result<u8, DecodeError> {
        Ok(u8::from_le_bytes(self.array(what)?))
    }

    /// Two bytes.
    pub fn u16(&mut self, what: &'static str) -> Result<u16, DecodeError> {
        Ok(u16::from_le_bytes(self.array(what)?))
    }

    /// Four bytes.
    pub fn u32(&mut self, what: &'static str) -> Result<u32, DecodeError> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    /// Eight bytes.
    pub fn u64(&mut self, what: &'static str) -> Result<u64, DecodeError> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// `units` UTF-16 code units as text; broken surrogates become U+FFFD.
    pub fn utf16(&mut self, units: usize, what: &'static str) -> Result<String, DecodeError> {
        let count = units.checked_mul(2).ok_or(DecodeError::Truncated(what))?;
        Ok(utf16_text(self.bytes(count, what)?))
    }

    /// B_VARCHAR: one byte of length in code units, then UTF-16.
    pub fn b_varchar(&mut self, what: &'static str) -> Result<String, DecodeError> {
        let units = self.u8(what)?;
        self.utf16(usize::from(units), what)
    }

    /// US_VARCHAR: two bytes of length in code units, then UTF-16.
    pub fn us_varchar(&mut self, what: &'static str) -> Result<String, DecodeError> {
        let units = self.u16(what)?;
        self.utf16(usize::from(units), what)
    }
}

/// UTF-16LE bytes as text; broken surrogates become U+FFFD and an odd last byte is dropped.
pub fn utf16_text(bytes: &[u8]) -> String {
    let (units, _) = bytes.as_chunks::<2>();
    let mut text = String::with_capacity(units.len());
    // Names and statements are ASCII, most of them to the end.
    let ascii = units.iter().take_while(|unit| unit[1] == 0 && unit[0].is_ascii());
    text.extend(ascii.map(|unit| char::from(unit[0])));
    let rest = units.iter().skip(text.len()).map(|unit| u16::from_le_bytes(*unit));
    text.extend(char::decode_utf16(rest).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)));
    text
}

/// Appends `text` as UTF-16LE.
pub fn put_utf16(out: &mut Vec<u8>, text: &str) {
    out.reserve(text.len() * 2);
    if text.is_ascii() {
        for &byte in text.as_bytes() {
            out.extend_from_slice(&[byte, 0]);
        }
        return;
    }
    for unit in text.encode_utf16() {
        out.extend_from_slice(&unit.to_le_bytes());
    }
}
