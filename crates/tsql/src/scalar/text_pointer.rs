//! Text pointers: what TEXTPTR answers and READTEXT, WRITETEXT and UPDATETEXT take (sql-docs, "TEXTPTR"). They name a column of a table and a
//! row, by the row's locator, so they stay valid as long as the row keeps its key. A row of a heap that is deleted leaves its place, and so what
//! points to it, to a later row.
//!
//! ```text
//! 0          length of the locator, or 255 for a locator that is too long
//! 1 .. 3     the first three bytes of a SHA-256 of the table's object id (four bytes, lowest first) and the column's place (two bytes)
//! 4 .. 15    the locator, filled up with zeros; or the first twelve bytes of its SHA-256
//! ```
//! The locator of a row of a heap is its place in the files, eight bytes; that of a row of a clustered index its key.

use std::borrow::Cow;

use engine::types::{SqlType, Value};
use sha2::{Digest, Sha256};

/// Bytes of a pointer.
pub const TEXT_POINTER_BYTES: usize = 16;
/// The type of what TEXTPTR answers.
pub const TEXT_POINTER: SqlType = SqlType::VarBinary(engine::types::Length::Limited(TEXT_POINTER_BYTES as u16));

/// Bytes of a locator, or of its digest, in a pointer.
const LOCATOR_BYTES: usize = 12;
/// The length of a locator of which a pointer has the digest.
const DIGESTED: u8 = u8::MAX;

/// A column of a table, as pointers name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextColumn([u8; 3]);

impl TextColumn {
    /// The column at a place of a table.
    pub fn new(object_id: u32, place: usize) -> TextColumn {
        let mut digest = Sha256::new();
        digest.update(object_id.to_le_bytes());
        digest.update((place as u16).to_le_bytes());
        let [first, second, third, ..] = <[u8; 32]>::from(digest.finalize());
        TextColumn([first, second, third])
    }

    /// As an argument of a function.
    pub fn value(self) -> Value {
        Value::binary(self.0.to_vec())
    }

    /// The column that [`TextColumn::value`] has made a value of.
    pub fn of_value(value: &Value) -> Option<TextColumn> {
        match value {
            Value::Binary(bytes) => <[u8; 3]>::try_from(&bytes[..]).ok().map(TextColumn),
            _ => None,
        }
    }
}

/// The locator of a row, as pointers name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PointedRow {
    /// The whole of it.
    Locator(Vec<u8>),
    /// The first bytes of its SHA-256.
    Digest([u8; LOCATOR_BYTES]),
}

/// The pointer to a column of a row with a locator.
pub fn text_pointer(column: TextColumn, locator: &[u8]) -> Vec<u8> {
    let mut pointer = Vec::with_capacity(TEXT_POINTER_BYTES);
    let length = u8::try_from(locator.len()).unwrap_or(DIGESTED);
    match locator.len() <= LOCATOR_BYTES {
        true => {
            pointer.push(length);
            pointer.extend(column.0);
            pointer.extend(locator);
        }
        false => {
            pointer.push(DIGESTED);
            pointer.extend(column.0);
            pointer.extend(digest_of(locator));
        }
    }
    pointer.resize(TEXT_POINTER_BYTES, 0);
    pointer
}

/// The row that a pointer names, if it names that column. Bytes behind the sixteenth do not count.
pub fn pointed_row(column: TextColumn, pointer: &[u8]) -> Option<PointedRow> {
    let (&length, rest) = pointer.split_first()?;
    let (own, rest) = rest.split_at_checked(column.0.len())?;
    let named = rest.first_chunk::<LOCATOR_BYTES>()?;
    if own != column.0 {
        return None;
    }
    match length {
        DIGESTED => Some(PointedRow::Digest(*named)),
        _ => {
            let (locator, padding) = named.split_at_checked(usize::from(length))?;
            let is_whole = padding.iter().all(|byte| *byte == 0);
            is_whole.then(|| PointedRow::Locator(locator.to_vec()))
        }
    }
}

impl PointedRow {
    /// Whether it names the row with a locator.
    pub fn is(&self, locator: &[u8]) -> bool {
        match self {
            PointedRow::Locator(own) => own == locator,
            PointedRow::Digest(own) => locator.len() > LOCATOR_BYTES && *own == digest_of(locator),
        }
    }
}

/// The bytes of a locator, as the wide row has it: the number of a place in a heap, or a key. `None` where an outer join has found no row.
pub fn locator_bytes(locator: &Value) -> Option<Cow<'_, [u8]>> {
    match locator {
        Value::BigInt(place) => Some(Cow::Owned(place.to_le_bytes().to_vec())),
        Value::Binary(key) => Some(Cow::Borrowed(key)),
        _ => None,
    }
}

fn digest_of(locator: &[u8]) -> [u8; LOCATOR_BYTES] {
    let whole = <[u8; 32]>::from(Sha256::digest(locator));
    let mut digest = [0; LOCATOR_BYTES];
    digest.copy_from_slice(&whole[..LOCATOR_BYTES]);
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_names_the_row_that_it_was_made_of_and_no_other() {
        let columns = [
            TextColumn::new(1_000, 2),
            TextColumn::new(1_000, 3),
            TextColumn::new(1_001, 2),
        ];
        let locators: Vec<Vec<u8>> = (0..=40).map(|length| vec![7; length]).collect();
        for column in columns {
            assert_eq!(TextColumn::of_value(&column.value()), Some(column));
            for locator in &locators {
                let pointer = text_pointer(column, locator);
                assert_eq!(pointer.len(), TEXT_POINTER_BYTES);
                for other in columns {
                    let named = pointed_row(other, &pointer);
                    assert_eq!(named.is_some(), other == column);
                    for another in &locators {
                        let is_it = named.as_ref().is_some_and(|named| named.is(another));
                        assert_eq!(is_it, other == column && another == locator, "{locator:?} {another:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn bytes_that_are_no_pointer_name_nothing() {
        let column = TextColumn::new(1_000, 2);
        let mut pointer = text_pointer(column, &[1, 2, 3]);
        for length in 0..TEXT_POINTER_BYTES {
            assert_eq!(pointed_row(column, &pointer[..length]), None);
        }
        pointer.push(9);
        assert!(
            pointed_row(column, &pointer).is_some(),
            "the seventeenth byte does not count"
        );
        pointer[15] = 1;
        assert_eq!(
            pointed_row(column, &pointer),
            None,
            "behind the locator there are zeros"
        );
        pointer[0] = 13;
        assert_eq!(pointed_row(column, &pointer), None, "a locator of 13 bytes has no room");
    }
}
