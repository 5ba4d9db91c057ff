//! The bytes of a message for decoders: from memory, or from the file that a long message was spooled to.
//!
//! ```text
//! in memory   | whole message |                      one cursor reads it
//! spooled     | .. | window | ..........             a window is read, parsed and moved; it grows if a part does not fit
//!                       | value of 256 KB and more |  is skipped and returned as a [`LongValue`], the places of its chunks
//! ```
//! Invariant: of a spooled message no more is in memory than the window, the short values and tables of the call or row under way, and 40 bytes for
//! each 32 KB of its long values. The window is asked for before it grows ([`Spooled::require`]), a value when it has been read: none has more than
//! 256 KB. A part that has to be parsed in one piece, such as a table, has at most 256 MB.

use std::fmt;
use std::sync::Arc;

use crate::column::{ColumnType, Layout, WireType};
use crate::cursor::{Cursor, DecodeError};
use crate::packet::MESSAGE_BYTES_MAX_DEFAULT;
use crate::value::Value;

/// Bytes of the window at first, and read at once where long values are gone through.
const WINDOW_BYTES: usize = 64 << 10;

/// Values of a spooled message that have so many bytes and more stay where they are.
pub const LONG_BYTES_MIN: u64 = 256 << 10;

/// Chunks of so many bytes and more are found one by one; shorter ones in stretches of at least so many.
const STRETCH_BYTES: u64 = 32 << 10;

/// What a short value takes of memory, in the bytes that were sent: itself, and three bytes for each of a character that has one on the wire.
const VALUE_COPIES: usize = 4;

/// A message that lies elsewhere than in memory.
pub trait Spooled: fmt::Debug + Send + Sync {
    /// Bytes of the message.
    fn bytes(&self) -> u64;

    /// Fills `into` with what begins at a place of the message; all of it is there.
    ///
    /// # Errors
    /// [`DecodeError::Unreadable`] when it cannot be read, [`DecodeError::Stopped`] when nobody waits for it any more.
    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), DecodeError>;

    /// Asks for memory of so many bytes in all, held until the message is dropped.
    ///
    /// # Errors
    /// [`DecodeError::NoMemory`] when there is none.
    fn require(&self, bytes: usize) -> Result<(), DecodeError>;
}

/// What a message consists of.
#[derive(Debug, Clone)]
pub enum Payload<'a> {
    Memory(&'a [u8]),
    Spool(Arc<dyn Spooled>),
}

impl<'a> From<&'a [u8]> for Payload<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Memory(bytes)
    }
}

impl<'a> From<&'a Vec<u8>> for Payload<'a> {
    fn from(bytes: &'a Vec<u8>) -> Self {
        Self::Memory(bytes)
    }
}

/// A position in a message.
#[derive(Debug, Clone)]
pub(crate) struct Feed<'a> {
    payload: Payload<'a>,
    /// Of a spooled message.
    window: Vec<u8>,
    window_at: u64,
    at: u64,
    /// Memory of what was made of a spooled message since [`Feed::begin`].
    made_bytes: usize,
}

impl<'a> Feed<'a> {
    pub(crate) fn new(payload: Payload<'a>) -> Self {
        Self {
            payload,
            window: Vec::new(),
            window_at: 0,
            at: 0,
            made_bytes: 0,
        }
    }

    /// A call or a row begins; what was made of the one before is gone.
    pub(crate) fn begin(&mut self) {
        self.made_bytes = 0;
    }

    /// Asks for the memory of what was made of a spooled message.
    ///
    /// # Errors
    /// [`DecodeError::NoMemory`] when there is none.
    fn made(&mut self, bytes: usize) -> Result<(), DecodeError> {
        let Payload::Spool(spool) = &self.payload else {
            return Ok(());
        };
        self.made_bytes = self.made_bytes.saturating_add(bytes);
        match self.made_bytes > WINDOW_BYTES {
            true => spool.require(self.made_bytes.saturating_add(self.window.len())),
            false => Ok(()),
        }
    }

    /// The same as [`Feed::take`] for what keeps a copy of its bytes.
    pub(crate) fn take_copied<T>(
        &mut self,
        parse: impl Fn(&mut Cursor<'_>) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        let before = self.at;
        let parsed = self.take(parse)?;
        self.made((self.at - before) as usize)?;
        Ok(parsed)
    }

    /// Bytes not read yet.
    fn remaining(&self) -> u64 {
        let bytes = match &self.payload {
            Payload::Memory(bytes) => bytes.len() as u64,
            Payload::Spool(spool) => spool.bytes(),
        };
        bytes.saturating_sub(self.at)
    }

    /// True at the end.
    pub(crate) fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// The next byte without consuming it.
    pub(crate) fn peek(&mut self) -> Result<Option<u8>, DecodeError> {
        if self.is_empty() {
            return Ok(None);
        }
        let at = self.at;
        let next = self.take(|cursor| cursor.u8("message"))?;
        self.at = at;
        Ok(Some(next))
    }

    /// Parses the next part, of which so much is brought into memory as it takes.
    pub(crate) fn take<T>(
        &mut self,
        parse: impl Fn(&mut Cursor<'_>) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        if let Payload::Memory(bytes) = &self.payload {
            let mut cursor = Cursor::new(bytes.get(self.at as usize..).unwrap_or_default());
            let before = cursor.remaining();
            let parsed = parse(&mut cursor);
            self.at += (before - cursor.remaining()) as u64;
            return parsed;
        }
        let mut wanted = 0;
        loop {
            let is_all = self.fill(wanted)?;
            let start = (self.at - self.window_at) as usize;
            let mut cursor = Cursor::new(self.window.get(start..).unwrap_or_default());
            let before = cursor.remaining();
            match parse(&mut cursor) {
                Err(DecodeError::Truncated(_)) if !is_all => wanted = (before * 2).max(WINDOW_BYTES),
                parsed => {
                    self.at += (before - cursor.remaining()) as u64;
                    return parsed;
                }
            }
        }
    }

    /// Has the window reach so many bytes beyond the position; true when it reaches to the message's end.
    fn fill(&mut self, wanted: usize) -> Result<bool, DecodeError> {
        let Payload::Spool(spool) = &self.payload else {
            return Ok(true);
        };
        let left = spool.bytes() - self.at;
        let is_inside = self.at >= self.window_at && self.at - self.window_at <= self.window.len() as u64;
        let there = match is_inside {
            true => self.window.len() as u64 - (self.at - self.window_at),
            false => 0,
        };
        if there >= left.min(wanted as u64) && there > 0 {
            return Ok(there == left);
        }
        let bytes = usize::try_from(left.min(wanted.max(WINDOW_BYTES) as u64)).map_err(|_| DecodeError::NoMemory)?;
        if bytes > MESSAGE_BYTES_MAX_DEFAULT {
            return Err(DecodeError::NoMemory);
        }
        if bytes > WINDOW_BYTES {
            // What is parsed may keep a copy.
            spool.require(self.made_bytes.saturating_add(2 * bytes))?;
        }
        self.window.clear();
        self.window.resize(bytes, 0);
        self.window_at = self.at;
        spool.read(self.at, &mut self.window)?;
        Ok(bytes as u64 == left)
    }

    /// Reads a value: of a parameter, or of a row's column.
    pub(crate) fn value(&mut self, wire: &WireType, is_in_row: bool) -> Result<Value, DecodeError> {
        let before = self.at;
        let value = self.read_value(wire, is_in_row)?;
        if !matches!(value, Value::Long(_)) {
            self.made((self.at - before) as usize * VALUE_COPIES)?;
        }
        Ok(value)
    }

    fn read_value(&mut self, wire: &WireType, is_in_row: bool) -> Result<Value, DecodeError> {
        let parse = |cursor: &mut Cursor<'_>| Value::parse(cursor, wire, is_in_row);
        let spool = match &self.payload {
            Payload::Spool(spool) => spool.clone(),
            Payload::Memory(_) => return self.take(parse),
        };
        let mut parts = Parts::default();
        match wire.layout {
            Layout::Chunks => {
                if self.take(|cursor| cursor.u64("chunked length"))? == u64::MAX {
                    return Ok(Value::Null);
                }
                loop {
                    let at = self.at;
                    let length = self.take(|cursor| cursor.u32("chunk length"))?;
                    if length == 0 {
                        break;
                    }
                    self.skip(u64::from(length))?;
                    parts.chunk(at, length);
                }
            }
            Layout::Long => {
                let length = self.take(|cursor| Value::long_length(cursor, is_in_row))?;
                let Some(length) = length else { return Ok(Value::Null) };
                parts.stretch(self.at, length);
                self.skip(u64::from(length))?;
            }
            _ => return self.take(parse),
        }
        let long = LongValue {
            spool,
            bytes: parts.bytes,
            parts: parts.list,
            form: LongForm::of(wire),
        };
        if long.form == LongForm::Utf16 && !long.bytes.is_multiple_of(2) {
            return Err(DecodeError::Invalid("UTF-16 length", long.bytes));
        }
        if long.bytes >= LONG_BYTES_MIN {
            return Ok(Value::Long(Arc::new(long)));
        }
        let mut bytes = vec![0; long.bytes as usize];
        long.read(0, &mut bytes)?;
        Value::interpret(wire, Some(bytes.into()))
    }

    fn skip(&mut self, bytes: u64) -> Result<(), DecodeError> {
        if bytes > self.remaining() {
            return Err(DecodeError::Truncated("value"));
        }
        self.at += bytes;
        Ok(())
    }
}

/// What the bytes of a long value are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LongForm {
    Binary,
    /// Characters of code page 1252.
    CodePage,
    Utf16,
    Utf8,
}

impl LongForm {
    fn of(wire: &WireType) -> LongForm {
        match wire.column {
            ColumnType::NChar(_) | ColumnType::NVarChar(_) | ColumnType::NVarCharMax | ColumnType::NText => {
                LongForm::Utf16
            }
            ColumnType::Binary(_)
            | ColumnType::VarBinary(_)
            | ColumnType::VarBinaryMax
            | ColumnType::Image
            | ColumnType::HierarchyId
            | ColumnType::Geometry
            | ColumnType::Geography
            | ColumnType::Xml => LongForm::Binary,
            _ if wire.collation.is_some_and(|collation| collation.is_utf8()) => LongForm::Utf8,
            _ => LongForm::CodePage,
        }
    }
}

/// A stretch of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    /// Bytes of the value before it.
    value_at: u64,
    /// Where it begins in the message.
    at: u64,
    /// Its length in the message.
    span: u64,
    /// It has the lengths of its chunks between them.
    has_lengths: bool,
}

#[derive(Debug, Default)]
struct Parts {
    list: Vec<Part>,
    bytes: u64,
}

impl Parts {
    fn stretch(&mut self, at: u64, length: u32) {
        let (value_at, span) = (self.bytes, u64::from(length));
        self.list.push(Part {
            value_at,
            at,
            span,
            has_lengths: false,
        });
        self.bytes += span;
    }

    /// A chunk whose length stands at a place of the message.
    fn chunk(&mut self, at: u64, length: u32) {
        if u64::from(length) >= STRETCH_BYTES {
            return self.stretch(at + 4, length);
        }
        let span = u64::from(length) + 4;
        match self.list.last_mut() {
            Some(last) if last.has_lengths && last.span < STRETCH_BYTES => last.span += span,
            _ => self.list.push(Part {
                value_at: self.bytes,
                at,
                span,
                has_lengths: true,
            }),
        }
        self.bytes += u64::from(length);
    }
}

/// A value that stays in its message.
#[derive(Debug)]
pub struct LongValue {
    spool: Arc<dyn Spooled>,
    parts: Vec<Part>,
    bytes: u64,
    form: LongForm,
}

impl PartialEq for LongValue {
    /// Two are equal when they are the same stretches of the same message.
    fn eq(&self, other: &LongValue) -> bool {
        Arc::ptr_eq(&self.spool, &other.spool) && self.parts == other.parts
    }
}

impl LongValue {
    /// Bytes of the value, at least [`LONG_BYTES_MIN`].
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn form(&self) -> LongForm {
        self.form
    }

    /// Fills `into` with the bytes from `at` on; all of them are there.
    ///
    /// # Errors
    /// Those of [`Spooled::read`].
    pub fn read(&self, at: u64, into: &mut [u8]) -> Result<(), DecodeError> {
        let (mut at, mut left) = (at, into);
        let mut next = self.parts.partition_point(|part| part.value_at <= at);
        while !left.is_empty() {
            let index = next.checked_sub(1).ok_or(DecodeError::Truncated("value"))?;
            let part = self.parts.get(index).ok_or(DecodeError::Truncated("value"))?;
            let end = self.parts.get(next).map_or(self.bytes, |part| part.value_at);
            let count = usize::try_from(end.saturating_sub(at))
                .unwrap_or(usize::MAX)
                .min(left.len());
            if count == 0 {
                return Err(DecodeError::Truncated("value"));
            }
            let (now, rest) = left.split_at_mut(count);
            match part.has_lengths {
                false => self.spool.read(part.at + (at - part.value_at), now)?,
                true => self.read_chunks(part, at - part.value_at, now)?,
            }
            at += count as u64;
            left = rest;
            next += 1;
        }
        Ok(())
    }

    /// Reads from a stretch with lengths in it, behind so many bytes of its chunks.
    fn read_chunks(&self, part: &Part, behind: u64, mut into: &mut [u8]) -> Result<(), DecodeError> {
        let mut span = vec![0; part.span as usize];
        self.spool.read(part.at, &mut span)?;
        let mut cursor = Cursor::new(&span);
        let mut behind = behind as usize;
        while !into.is_empty() {
            let length = cursor.u32("chunk length")? as usize;
            let chunk = cursor.bytes(length, "value")?;
            let chunk = chunk.get(behind..).unwrap_or_default();
            behind = behind.saturating_sub(length);
            let count = chunk.len().min(into.len());
            let (now, rest) = into.split_at_mut(count);
            now.copy_from_slice(&chunk[..count]);
            into = rest;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::rpc::RpcBatch;
    use crate::version::TdsVersion;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A message that is read as from a file; the longest read, and whether memory is granted.
    #[derive(Debug, Default)]
    struct Elsewhere {
        bytes: Vec<u8>,
        longest: AtomicUsize,
        asked: AtomicUsize,
        is_full: bool,
    }

    impl Spooled for Elsewhere {
        fn bytes(&self) -> u64 {
            self.bytes.len() as u64
        }

        fn read(&self, at: u64, into: &mut [u8]) -> Result<(), DecodeError> {
            self.longest.fetch_max(into.len(), Ordering::Relaxed);
            let at = at as usize;
            into.copy_from_slice(&self.bytes[at..at + into.len()]);
            Ok(())
        }

        fn require(&self, bytes: usize) -> Result<(), DecodeError> {
            self.asked.fetch_max(bytes, Ordering::Relaxed);
            match self.is_full {
                true => Err(DecodeError::NoMemory),
                false => Ok(()),
            }
        }
    }

    fn pattern(count: usize) -> Vec<u8> {
        (0..count).map(|place| (place * 7 + place / 251) as u8).collect()
    }

    /// A parameter of `max` length in chunks of these lengths, again and again.
    fn chunked(out: &mut Vec<u8>, value: &[u8], lengths: &[usize]) {
        out.extend([0, 0, 0xA5, 0xFF, 0xFF]);
        out.extend((u64::MAX - 1).to_le_bytes());
        let (mut left, mut lengths) = (value, lengths.iter().cycle());
        while !left.is_empty() {
            let (chunk, rest) = left.split_at((*lengths.next().unwrap()).min(left.len()));
            out.extend((chunk.len() as u32).to_le_bytes());
            out.extend(chunk);
            left = rest;
        }
        out.extend([0; 4]);
    }

    /// A call with long and short values of all forms, and the bytes of the long ones.
    fn call() -> (Vec<u8>, Vec<Vec<u8>>) {
        let mut bytes = vec![22, 0, 0, 0, 18, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0];
        bytes.extend([1, 0, b'p', 0, 0, 0]);
        let long = [pattern(700_001), pattern(262_144), pattern(300_000)];
        chunked(&mut bytes, &long[0], &[1, 7, 40_000, 5_000, 4_096, 32_768, 31_999, 3]);
        bytes.extend([0, 0, 0x26, 4, 4, 1, 2, 3, 4]);
        chunked(&mut bytes, &pattern(10_000), &[100]);
        chunked(&mut bytes, &long[1], &[999_999]);
        bytes.extend([0, 0, 0x22, 0xFF, 0xFF, 0xFF, 0x7F]);
        bytes.extend((long[2].len() as u32).to_le_bytes());
        bytes.extend(&long[2]);
        chunked(&mut bytes, &[], &[1]);
        (bytes, long.to_vec())
    }

    fn values(payload: Payload<'_>) -> Result<Vec<Value>, DecodeError> {
        let mut batch = RpcBatch::parse(payload, TdsVersion::V7_4)?;
        let request = batch.next_request()?.ok_or(DecodeError::Truncated("call"))?;
        Ok(request
            .parameters
            .into_iter()
            .map(|parameter| parameter.value)
            .collect())
    }

    #[test]
    fn a_message_says_the_same_wherever_it_lies_and_long_values_are_read_from_any_place() {
        let (bytes, long) = call();
        let spool = Arc::new(Elsewhere {
            bytes: bytes.clone(),
            ..Elsewhere::default()
        });
        let here = values(Payload::from(&bytes)).unwrap();
        let there = values(Payload::Spool(spool.clone())).unwrap();
        assert_eq!(here.len(), there.len());
        let mut met = 0;
        for (here, there) in here.iter().zip(&there) {
            let Value::Long(value) = there else {
                assert_eq!(here, there);
                continue;
            };
            let Value::Binary(whole) = here else { panic!("{here:?}") };
            assert!(*whole == long[met] && value.bytes() == whole.len() as u64);
            for (at, count) in [(0, 1), (0, 60_000), (7, 2), (39_999, 50_000), (whole.len() - 1, 1)] {
                let count = count.min(whole.len() - at);
                let mut part = vec![0; count];
                value.read(at as u64, &mut part).unwrap();
                assert!(part == whole[at..at + count], "value {met} at {at}");
            }
            let mut all = vec![0; whole.len()];
            value.read(0, &mut all).unwrap();
            assert!(all == *whole);
            assert!(value.read(whole.len() as u64, &mut [0]).is_err());
            met += 1;
        }
        assert_eq!(met, 3);
    }

    #[test]
    fn no_more_than_a_window_is_read_at_once_and_a_larger_one_is_asked_for() {
        let spool = |bytes: Vec<u8>, is_full| {
            Arc::new(Elsewhere {
                bytes,
                is_full,
                ..Elsewhere::default()
            })
        };
        let long = spool(call().0, true);
        values(Payload::Spool(long.clone())).unwrap();
        assert!(long.longest.load(Ordering::Relaxed) <= WINDOW_BYTES);
        // A value of a type that has no parts is parsed in one piece.
        let mut bytes = vec![
            22, 0, 0, 0, 18, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, b'p', 0, 0, 0,
        ];
        bytes.extend([0, 0, 0x62, 0x49, 0x1F, 0, 0]);
        bytes.extend(100_002u32.to_le_bytes());
        bytes.extend([0x24, 0]);
        bytes.extend(pattern(100_000));
        let wide = values(Payload::Spool(spool(bytes.clone(), true)));
        assert_eq!(wide, Err(DecodeError::NoMemory));
        assert_eq!(
            values(Payload::Spool(spool(bytes.clone(), false))),
            values(Payload::from(&bytes))
        );
    }

    /// Values shorter than long ones, and tables, took memory that nobody was asked for: 2,100 of them half a gigabyte.
    #[test]
    fn short_values_and_tables_of_a_call_are_asked_for_and_given_back_with_it() {
        let head = [22, 0, 0, 0, 18, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0];
        let name = [1, 0, b'p', 0, 0, 0];
        let asked = |bytes: Vec<u8>| {
            let spool = Arc::new(Elsewhere {
                bytes,
                ..Elsewhere::default()
            });
            let mut batch = RpcBatch::parse(Payload::Spool(spool.clone()), TdsVersion::V7_4).unwrap();
            while batch.next_request().unwrap().is_some() {}
            spool.asked.load(Ordering::Relaxed)
        };
        let mut one = name.to_vec();
        (0..10).for_each(|_| chunked(&mut one, &pattern(200_000), &[8_000]));
        let once = asked([&head[..], &one].concat());
        assert!((8_000_000..9_000_000).contains(&once), "{once}");
        let twice = asked([&head[..], &one, &[0xFF], &one].concat());
        assert!((8_000_000..9_000_000).contains(&twice), "{twice}");
        let mut table = name.to_vec();
        table.extend([0, 0, 0xF3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xA5, 0x40, 0x1F, 0, 0]);
        let row = [&[1, 0x40, 0x1F][..], &pattern(8_000)].concat();
        (0..250).for_each(|_| table.extend(&row));
        table.push(0);
        let bytes = asked([&head[..], &table].concat());
        assert!(bytes > 4_000_000, "the window and the copy of 2 MB: {bytes}");
    }

    #[test]
    fn a_message_that_ends_early_is_refused_wherever_it_lies() {
        let (bytes, _) = call();
        let step = bytes.len() / 97;
        for cut in (1..bytes.len()).step_by(step).chain(bytes.len() - 20..bytes.len()) {
            let cut = bytes[..cut].to_vec();
            let here = values(Payload::from(&cut));
            let spool = Elsewhere {
                bytes: cut.clone(),
                ..Elsewhere::default()
            };
            let there = values(Payload::Spool(Arc::new(spool)));
            assert_eq!(here.is_err(), there.is_err(), "{}", cut.len());
        }
    }
}
