//! Commit records as bytes, and the marks that they carry.
//!
//! ```text
//! 0    i32  days, u32 1/300 seconds: when the transaction committed
//!           in a marked transaction's, behind that:
//! 8    u8   bytes of the name
//! 9    name, UTF-8 | description, UTF-8, to the end of the payload
//! ```
//! `BEGIN TRANSACTION name WITH MARK 'description'` marks a transaction in every log that it writes to. The mark is a part of the Commit record:
//! it is there if, and only if, the transaction has committed, redo and undo need nothing for it, and a RESTORE that stops at the mark finds
//! the mark and the place in one record (SQL Server docs, "Recovery of Related Databases That Contain Marked Transaction": marks "are inserted
//! only if their associated transaction commits"). A record without a mark is as long as the time, as releases without marks wrote it.
//! The boot record names marks as a feature in use before the first one is written.

use crate::seams::DateTimeTicks;

/// Bytes of the time that every Commit record begins with.
const TIME_BYTES: usize = 8;
/// Characters of a mark's name: a transaction has no longer one.
const NAME_CHARACTERS_MAX: usize = 32;
/// Characters of a description that are kept (SQL Server docs, BEGIN TRANSACTION: "A description longer than 128 characters is truncated to 128
/// characters").
pub const MARK_DESCRIPTION_CHARACTERS_MAX: usize = 128;

/// The mark of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogMark {
    name: String,
    description: String,
}

impl LogMark {
    /// A mark with the name of its transaction. A name and a description that are too long are cut.
    pub fn new(name: &str, description: &str) -> LogMark {
        LogMark {
            name: name.chars().take(NAME_CHARACTERS_MAX).collect(),
            description: description.chars().take(MARK_DESCRIPTION_CHARACTERS_MAX).collect(),
        }
    }

    /// What RESTORE looks for.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A text for people; may be empty.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The mark as it lies behind the time of a Commit record.
    pub fn encode(&self) -> Vec<u8> {
        let length = self.name.len() as u8; // 32 characters have at most 128 bytes
        let mut bytes = Vec::with_capacity(1 + self.name.len() + self.description.len());
        bytes.push(length);
        bytes.extend_from_slice(self.name.as_bytes());
        bytes.extend_from_slice(self.description.as_bytes());
        bytes
    }

    /// The mark in the payload of a Commit record; `None` for one without, or whose bytes are none.
    pub fn of_commit(payload: &[u8]) -> Option<LogMark> {
        let (length, rest) = payload.get(TIME_BYTES..)?.split_first()?;
        let (name, description) = rest.split_at_checked(usize::from(*length))?;
        let name = std::str::from_utf8(name).ok()?;
        let description = std::str::from_utf8(description).ok()?;
        Some(LogMark::new(name, description))
    }
}

/// When the transaction of a Commit or Abort record ended; `None` for a payload that is too short.
pub fn end_time(payload: &[u8]) -> Option<DateTimeTicks> {
    let (days, rest) = payload.split_first_chunk::<4>()?;
    Some(DateTimeTicks {
        days: i32::from_le_bytes(*days),
        ticks: u32::from_le_bytes(*rest.first_chunk()?),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn payload(mark: &[u8]) -> Vec<u8> {
        [&46_000_i32.to_le_bytes()[..], &7_u32.to_le_bytes(), mark].concat()
    }

    #[test]
    fn a_mark_comes_back_from_its_commit_and_a_commit_without_has_none() {
        for (name, description) in [
            ("m", ""),
            ("Tx1", "not the mark name, just a description"),
            ("\u{1F600}", "\u{e9}"),
        ] {
            let mark = LogMark::new(name, description);
            let bytes = payload(&mark.encode());
            assert_eq!(LogMark::of_commit(&bytes), Some(mark));
            assert_eq!(end_time(&bytes), Some(DateTimeTicks { days: 46_000, ticks: 7 }));
        }
        assert_eq!(LogMark::of_commit(&payload(&[])), None);
        assert_eq!(end_time(&[1, 2, 3]), None);
    }

    #[test]
    fn the_longest_mark_fits_and_what_is_longer_is_cut() {
        let mark = LogMark::new(&"\u{1F600}".repeat(40), &"\u{1F600}".repeat(200));
        assert_eq!(mark.name().chars().count(), NAME_CHARACTERS_MAX);
        assert_eq!(mark.description().chars().count(), MARK_DESCRIPTION_CHARACTERS_MAX);
        assert_eq!(LogMark::of_commit(&payload(&mark.encode())), Some(mark));
    }

    /// Bytes that no release wrote are no mark, and no panic.
    #[test]
    fn damaged_marks_are_none() {
        assert_eq!(LogMark::of_commit(&payload(&[5, b'a'])), None);
        assert_eq!(LogMark::of_commit(&payload(&[1, 0xFF])), None);
        assert_eq!(LogMark::of_commit(&payload(&[1, b'a', 0xFF])), None);
    }
}
