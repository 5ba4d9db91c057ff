//! A held value joined from others without reading them: the result of `+` and `.WRITE` on long strings.
//!
//! ```text
//! value   | piece of a held value | bytes in memory | piece of a held value |
//! ends                            ^                 ^                       ^    the piece of any byte is found by its end
//! ```
//! Invariant: a piece never has pieces: joining a joined value takes over its pieces. Adjacent bytes in memory are one piece up to
//! [`MERGED_BYTES_MAX`], so a value that grows by short strings has few pieces.

use super::held::{HELD_BYTES_MIN, HeldForm, HeldSource, HeldValue};
use super::{Collation, STRING_BYTES_MAX, Value, cp1252};
use crate::error::{Error, Result};
use crate::memory::{self, Charge};
use std::sync::Arc;

/// Bytes in memory that are copied to be one piece.
const MERGED_BYTES_MAX: usize = 64 << 10;
/// What a piece takes beside its bytes.
const PIECE_BYTES: usize = 64;

/// A piece: where it ends in the value, and what it is.
#[derive(Clone, Debug)]
struct Piece {
    end: u64,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    /// From a place of a value on.
    Held(HeldValue, u64),
    Memory(Arc<InMemory>),
}

#[derive(Debug)]
struct InMemory {
    bytes: Vec<u8>,
    _room: Charge,
}

/// Pieces put together.
#[derive(Debug, Default)]
pub struct Joined {
    pieces: Vec<Piece>,
    /// Of the list of pieces.
    room: Charge,
}

impl HeldSource for Joined {
    fn read(&self, at: u64, into: &mut [u8]) -> Result<()> {
        let mut index = self.pieces.partition_point(|piece| piece.end <= at);
        let (mut at, mut left) = (at, into);
        while !left.is_empty() {
            let piece = self.pieces.get(index).ok_or_else(ends_early)?;
            let begin = index.checked_sub(1).map_or(0, |before| self.pieces[before].end);
            let count = usize::try_from(piece.end - at).unwrap_or(usize::MAX).min(left.len());
            let (now, rest) = left.split_at_mut(count);
            let inside = at - begin;
            match &piece.what {
                What::Held(value, from) => value.read_into(from + inside, now)?,
                What::Memory(memory) => {
                    let start = inside as usize;
                    let part = memory.bytes.get(start..start + count).ok_or_else(ends_early)?;
                    now.copy_from_slice(part);
                }
            }
            at += count as u64;
            left = rest;
            index += 1;
        }
        Ok(())
    }

    fn pieces(&self) -> Option<&Joined> {
        Some(self)
    }
}

fn ends_early() -> Error {
    Error::assertion("a value ends before its pieces do")
}

impl Joined {
    fn bytes(&self) -> u64 {
        self.pieces.last().map_or(0, |piece| piece.end)
    }

    /// Appends the bytes from `start` to `end` of a value that is not NULL: held, or a string in memory, whose bytes are made in a form.
    ///
    /// # Errors
    /// 701 when there is no memory for it.
    pub fn push(&mut self, value: &Value, form: HeldForm, start: u64, end: u64) -> Result<()> {
        match value {
            Value::Held(held) => self.push_held(held, start, end.min(held.bytes())),
            other => {
                let bytes = bytes_of(other, form)?;
                let end = usize::try_from(end).unwrap_or(usize::MAX).min(bytes.len());
                self.push_bytes(bytes.get(start as usize..end).unwrap_or_default())
            }
        }
    }

    fn push_held(&mut self, held: &HeldValue, start: u64, end: u64) -> Result<()> {
        let Some(joined) = held.source().pieces() else {
            return match start < end {
                true => self.add(end - start, What::Held(held.clone(), start)),
                false => Ok(()),
            };
        };
        let mut begin = 0;
        for piece in &joined.pieces {
            let (from, to) = (begin.max(start), piece.end.min(end));
            if from < to {
                match &piece.what {
                    What::Held(value, at) => self.add(to - from, What::Held(value.clone(), at + (from - begin)))?,
                    What::Memory(memory) if to - from == memory.bytes.len() as u64 => {
                        self.add(to - from, What::Memory(memory.clone()))?;
                    }
                    What::Memory(memory) => {
                        let part = memory.bytes.get((from - begin) as usize..(to - begin) as usize);
                        self.push_bytes(part.unwrap_or_default())?;
                    }
                }
            }
            begin = piece.end;
        }
        Ok(())
    }

    fn push_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let last = match self.pieces.last().map(|piece| &piece.what) {
            Some(What::Memory(last)) if last.bytes.len() + bytes.len() <= MERGED_BYTES_MAX => Some(last.clone()),
            _ => None,
        };
        let before = last.as_ref().map_or(&[][..], |last| &last.bytes);
        let room = memory::require(before.len() + bytes.len())?;
        let merged = InMemory {
            bytes: [before, bytes].concat(),
            _room: room,
        };
        if bytes.is_empty() {
            return Ok(());
        }
        if last.is_some() {
            self.pieces.pop();
        }
        self.add(merged.bytes.len() as u64, What::Memory(Arc::new(merged)))
    }

    fn add(&mut self, bytes: u64, what: What) -> Result<()> {
        self.room.grow_to(((self.pieces.len() + 1) * PIECE_BYTES) as u64)?;
        let end = self.bytes() + bytes;
        self.pieces.push(Piece { end, what });
        Ok(())
    }

    /// The value: held, or in memory if it is short.
    ///
    /// # Errors
    /// 7119 when it is longer than any string can be; those of reading a short one.
    pub fn value(self, form: HeldForm, collation: Collation) -> Result<Value> {
        let bytes = self.bytes();
        if bytes > STRING_BYTES_MAX as u64 {
            return Err(Error::string_too_long());
        }
        let held = Value::Held(Arc::new(HeldValue::new(Arc::new(self), bytes, form, collation)));
        match bytes < HELD_BYTES_MIN {
            true => held.whole(),
            false => Ok(held),
        }
    }
}

/// The bytes of a string in memory as values of a form have them.
fn bytes_of(value: &Value, form: HeldForm) -> Result<Vec<u8>> {
    Ok(match (value, form) {
        (Value::Text(text), HeldForm::Utf16) => {
            let _room = memory::require(text.len() * 2)?;
            text.encode_utf16().flat_map(u16::to_le_bytes).collect()
        }
        (Value::Text(text), _) => {
            let _room = memory::require(text.len())?;
            let mut bytes = Vec::with_capacity(text.len());
            cp1252::encode_into(text, &mut bytes);
            bytes
        }
        (Value::Binary(bytes), _) => bytes.to_vec(),
        _ => return Err(Error::assertion("a value without bytes in a string")),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Elsewhere(Vec<u8>);

    impl HeldSource for Elsewhere {
        fn read(&self, at: u64, into: &mut [u8]) -> Result<()> {
            let at = at as usize;
            into.copy_from_slice(&self.0[at..at + into.len()]);
            Ok(())
        }
    }

    fn pattern(count: usize, seed: usize) -> Vec<u8> {
        (0..count).map(|place| (place * 3 + place / 255 + seed) as u8).collect()
    }

    fn held(bytes: &[u8]) -> Value {
        let source = Arc::new(Elsewhere(bytes.to_vec()));
        Value::Held(Arc::new(HeldValue::new(
            source,
            bytes.len() as u64,
            HeldForm::Binary,
            Collation::default(),
        )))
    }

    fn all_of(value: &Value) -> Vec<u8> {
        match value.clone().whole().unwrap() {
            Value::Binary(bytes) => bytes.to_vec(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn pieces_of_pieces_read_as_one_value_from_any_place() {
        let (first, second) = (pattern(500_000, 1), pattern(300_000, 90));
        let mut joined = Joined::default();
        joined.push(&held(&first), HeldForm::Binary, 100, 400_000).unwrap();
        joined
            .push(&Value::binary(&b"between"[..]), HeldForm::Binary, 0, u64::MAX)
            .unwrap();
        joined.push(&held(&second), HeldForm::Binary, 7, u64::MAX).unwrap();
        let value = joined.value(HeldForm::Binary, Collation::default()).unwrap();
        let expected = [&first[100..400_000], b"between", &second[7..]].concat();
        assert_eq!(all_of(&value), expected);
        // Cut inside of each piece and joined again, its pieces are those of the first.
        let mut again = Joined::default();
        again.push(&value, HeldForm::Binary, 399_900 - 100, 399_903).unwrap();
        again.push(&value, HeldForm::Binary, 50, 690_000).unwrap();
        let expected = [&expected[399_800..399_903], &expected[50..690_000]].concat();
        assert_eq!(again.pieces.len(), 5);
        let again = again.value(HeldForm::Binary, Collation::default()).unwrap();
        assert_eq!(all_of(&again), expected);
        let Value::Held(held) = &again else { panic!("{again:?}") };
        for at in [0u64, 99, 100, 103, 104, 400_050, expected.len() as u64 - 9] {
            let mut part = [0; 9];
            held.read_into(at, &mut part).unwrap();
            assert_eq!(part, expected[at as usize..at as usize + 9], "{at}");
        }
    }

    #[test]
    fn a_value_that_grows_by_short_strings_has_few_pieces() {
        let mut value = held(&pattern(300_000, 4));
        let mut expected = all_of(&value);
        for step in 0..500 {
            let more = pattern(700, step);
            let mut joined = Joined::default();
            joined.push(&value, HeldForm::Binary, 0, u64::MAX).unwrap();
            joined
                .push(&Value::binary(&more[..]), HeldForm::Binary, 0, u64::MAX)
                .unwrap();
            assert!(joined.pieces.len() <= 8, "{} pieces after {step}", joined.pieces.len());
            value = joined.value(HeldForm::Binary, Collation::default()).unwrap();
            expected.extend(more);
        }
        assert_eq!(all_of(&value), expected);
    }

    #[test]
    fn a_string_of_2_gb_is_the_longest() {
        let mut joined = Joined::default();
        let long = held(&pattern(400_000, 2));
        for _ in 0..5_368 {
            joined.push(&long, HeldForm::Binary, 0, u64::MAX).unwrap();
        }
        joined.push(&long, HeldForm::Binary, 0, 283_647).unwrap();
        assert_eq!(joined.bytes(), STRING_BYTES_MAX as u64);
        let mut longer = Joined::default();
        let longest = joined.value(HeldForm::Binary, Collation::default()).unwrap();
        longer.push(&longest, HeldForm::Binary, 0, u64::MAX).unwrap();
        longer
            .push(&Value::binary(&b"x"[..]), HeldForm::Binary, 0, u64::MAX)
            .unwrap();
        let refused = longer.value(HeldForm::Binary, Collation::default()).unwrap_err();
        assert_eq!(refused.number, 7119);
    }
}
