//! The names of our own log records: one table for the engine, for `fn_dblog` and for the inspector.
//!
//! ```text
//! 0    u16  length of the whole record
//! 2    u8   kind
//! 3    u8   what follows the payload: 1 = lock information, 2 = links of pages, 3 = both, in this order
//! 22        payload; of a compensation at 32
//! ```
//! The payload of a change or a compensation lists pages and the operation on each:
//!
//! ```text
//! u32 object | u8 undo kind | u16 key length, key | steps to the end: u32 page, u16 file, u8 code, fields of the code
//! ```
//! Both parts behind the payload end with their length (two bytes, themselves included). Links lead along the changes of each page, as SQL Server's
//! `Previous Page LSN` does: one LSN (10 bytes) for each page of the payload, that of the page's change before this one. In a compensation
//! the LSN of the change that it undoes stands before them.
//!
//! Everything is little-endian. One of our records may cover work for which SQL Server writes several. It has the name of its first step
//! ([`Step::operation`]), in SQL Server's terms: a page that moves its upper rows to a new page is `LOP_DELETE_SPLIT`, as there. Operations
//! without an equivalent in SQL Server are named `LOP_VLFLAB_*`.

use std::borrow::Cow;

use crate::bytes::{array_at, u16_at, u32_at};

/// Kinds of records by their numbers, with the names of those that have no steps. Numbers are SQL Server's where the meaning is, and
/// otherwise some that it does not use: of its own, 240 is the highest known.
const KINDS: [(u8, &str); 16] = [
    (CHANGE, "LOP_VLFLAB_CHANGE"),
    (COMPENSATION, "LOP_VLFLAB_COMPENSATION"),
    (128, "LOP_BEGIN_XACT"),
    (129, "LOP_COMMIT_XACT"),
    (130, "LOP_ABORT_XACT"),
    (150, "LOP_BEGIN_CKPT"),
    (152, "LOP_XACT_CKPT"),
    (153, "LOP_END_CKPT"),
    (211, "LOP_SHRINK_NOOP"),
    (CHECKPOINT_LOCKS, "LOP_VLFLAB_LOCKS_CKPT"),
    (ID_RANGE, "LOP_VLFLAB_ID_RANGE"),
    (CARRIED, "LOP_VLFLAB_CARRY"),
    (CARRIED_END, "LOP_VLFLAB_CARRY_END"),
    (CHECKPOINT_CARRIED, "LOP_VLFLAB_CARRY_CKPT"),
    (MARKED, "LOP_VLFLAB_MARK_XACT"),
    (CHECKPOINT_MARKED, "LOP_VLFLAB_MARK_CKPT"),
];

/// Pages changed.
pub const CHANGE: u8 = 1;
/// One change undone.
pub const COMPENSATION: u8 = 2;
/// Which transactions alive at a checkpoint are taken back page by page, or could be.
pub const CHECKPOINT_MARKED: u8 = 248;
/// A transaction is rolled back: its changes are taken back page by page from here on.
pub const MARKED: u8 = 249;
/// What a transaction alive at a checkpoint has locked for writing.
pub const CHECKPOINT_LOCKS: u8 = 250;
/// Ids are promised.
pub const ID_RANGE: u8 = 251;
/// A change of an open transaction, written once more so that the log of the first can be reused.
pub const CARRIED: u8 = 252;
/// All that a transaction's rollback needs lies before this record.
pub const CARRIED_END: u8 = 253;
/// From where on a transaction alive at a checkpoint needs the log.
pub const CHECKPOINT_CARRIED: u8 = 254;
/// The number that these two have in the logs of earlier releases. SQL Server's operations of these numbers are others.
const FORMERLY: [(u8, u8); 2] = [(160, CHECKPOINT_LOCKS), (161, ID_RANGE)];

const LENGTH_AT: usize = 0;
const KIND_AT: usize = 2;
const TAIL_AT: usize = 3;
/// Flags of what follows a record's payload.
pub const HAS_LOCKS: u8 = 1;
pub const HAS_LINKS: u8 = 2;
const PAYLOAD_AT: usize = 22;
const COMPENSATION_PAYLOAD_AT: usize = 32;
/// Bytes of a change before its key.
const CHANGE_HEAD_BYTES: usize = 7;
/// Bytes of a step's page and code.
const STEP_HEAD_BYTES: usize = 7;
/// Object, next and previous page of the steps that make a page.
const OWNER_BYTES: usize = 16;
/// Offsets of a page's links to its neighbours, the next and the previous.
const LINKS: std::ops::Range<u16> = 36..48;
const GHOST: u8 = 1;

/// The number of a kind that is stored as `number`.
pub fn kind_of(number: u8) -> u8 {
    let former = FORMERLY.iter().find(|(former, _)| *former == number);
    former.map_or(number, |(_, kind)| *kind)
}

/// The name of a kind of record; of a change, one without steps.
pub fn kind_name(number: u8) -> Option<&'static str> {
    let kind = kind_of(number);
    KINDS.iter().find(|(known, _)| *known == kind).map(|(_, name)| *name)
}

/// The number of a record's kind; `None` when the bytes are no record.
pub fn number_of(record: &[u8]) -> Option<u8> {
    let length = u16_at(record, LENGTH_AT)?;
    let number = record.get(KIND_AT).copied()?;
    (usize::from(length) == record.len()).then_some(kind_of(number))
}

/// The name of a record of ours, as `fn_dblog` and the inspector show it. `None` when the bytes are no record.
pub fn operation_name(record: &[u8]) -> Option<Cow<'static, str>> {
    let number = number_of(record)?;
    let of_steps = operation_of(Steps::of(record));
    let name = of_steps.or_else(|| kind_name(number));
    Some(name.map_or_else(|| Cow::Owned(format!("LOP_VLFLAB_{number}")), Cow::Borrowed))
}

/// The name of what the steps of one record do; `None` when there is none.
pub fn operation_of(mut steps: Steps<'_>) -> Option<&'static str> {
    let first = steps.next()?;
    let is_split = first.code == Code::Image
        && steps.next().is_some_and(|second| second.code == Code::Image)
        && steps.last().is_some_and(|last| last.code == Code::InsertShift);
    Some(if is_split {
        "LOP_DELETE_SPLIT"
    } else {
        first.operation()
    })
}

/// What happens to a page in one step of a record; numbers as they are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// The page is made an empty one.
    Format,
    /// A row comes into a slot of a heap page.
    InsertAt,
    /// A row comes between others of a tree's page.
    InsertShift,
    /// A slot of a heap page is emptied.
    RemoveAt,
    /// A row and its slot go from a tree's page.
    RemoveShift,
    /// The status bits of a row change.
    SetStatus,
    /// A row becomes another.
    ReplaceRow,
    /// Some bytes of a row become others.
    PatchRow,
    /// A page is made one with rows.
    Fill,
    /// A page becomes what another was.
    Image,
    /// Bytes of a page without rows, or links to neighbours, become others.
    SetBytes,
    /// Deleted rows go from a page.
    PurgeGhosts,
    /// One bit flips in some bytes of a row.
    FlipBits,
}

impl Code {
    /// Every code, by the number that is stored, from 1.
    const ALL: [Code; 13] = [
        Code::Format,
        Code::InsertAt,
        Code::InsertShift,
        Code::RemoveAt,
        Code::RemoveShift,
        Code::SetStatus,
        Code::ReplaceRow,
        Code::PatchRow,
        Code::Fill,
        Code::Image,
        Code::SetBytes,
        Code::PurgeGhosts,
        Code::FlipBits,
    ];
}

/// One step of a change: what happens to one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Page number in its file.
    pub page: u32,
    /// File number.
    pub file: u16,
    pub code: Code,
    /// Slot of the row, for steps on one row.
    pub slot: Option<u16>,
    /// The first byte of a row as it was and as it becomes, where that is all the step says.
    pub statuses: Option<(u8, u8)>,
    /// Where bytes of the page become others.
    offset: u16,
}

impl Step {
    /// SQL Server's operation of the same meaning.
    pub fn operation(&self) -> &'static str {
        match self.code {
            Code::Format | Code::Fill | Code::Image => "LOP_FORMAT_PAGE",
            Code::InsertAt | Code::InsertShift => "LOP_INSERT_ROWS",
            Code::RemoveAt | Code::RemoveShift => "LOP_DELETE_ROWS",
            Code::SetStatus if self.marks_ghost() => "LOP_DELETE_ROWS",
            Code::SetStatus if self.revives_ghost() => "LOP_INSERT_ROWS",
            Code::SetStatus | Code::ReplaceRow | Code::PatchRow | Code::FlipBits => "LOP_MODIFY_ROW",
            Code::SetBytes if self.sets_link() => "LOP_MODIFY_HEADER",
            Code::SetBytes => "LOP_SET_BITS",
            Code::PurgeGhosts => "LOP_EXPUNGE_ROWS",
        }
    }

    /// A row is deleted and stays on its page as a ghost.
    pub fn marks_ghost(&self) -> bool {
        matches!(self.statuses, Some((before, after)) if before & GHOST == 0 && after & GHOST != 0)
    }

    /// A row that was a ghost is one again.
    pub fn revives_ghost(&self) -> bool {
        matches!(self.statuses, Some((before, after)) if before & GHOST != 0 && after & GHOST == 0)
    }

    /// The page gets another neighbour.
    pub fn sets_link(&self) -> bool {
        self.code == Code::SetBytes && LINKS.contains(&self.offset)
    }
}

/// Walks the steps of a record; ends at the first that contradicts itself.
#[derive(Clone, Debug)]
pub struct Steps<'a> {
    bytes: &'a [u8],
}

impl<'a> Steps<'a> {
    /// The steps of a whole record; none of one that changes no page.
    pub fn of(record: &'a [u8]) -> Steps<'a> {
        let steps = payload_of(record).and_then(|payload| {
            let key_bytes = usize::from(u16_at(payload, CHANGE_HEAD_BYTES - 2)?);
            payload.get(CHANGE_HEAD_BYTES + key_bytes..)
        });
        Steps {
            bytes: steps.unwrap_or_default(),
        }
    }

    fn read(&self) -> Option<(Step, usize)> {
        let bytes = self.bytes;
        let number = usize::from(*bytes.get(STEP_HEAD_BYTES - 1)?);
        let code = *Code::ALL.get(number.checked_sub(1)?)?;
        let fields = bytes.get(STEP_HEAD_BYTES..)?;
        // Every code but those that make or clean a page begins with a slot, or with an offset in its place.
        let place = u16_at(fields, 0);
        let (slot, end) = match code {
            Code::Format => (None, 2 + OWNER_BYTES),
            Code::Fill => (None, string_end(fields, 1 + OWNER_BYTES)?),
            Code::Image => (None, string_end(fields, 0)?),
            Code::PurgeGhosts => (None, 0),
            Code::SetBytes => (None, string_end(fields, string_end(fields, 2)?)?),
            Code::InsertAt | Code::InsertShift | Code::RemoveAt | Code::RemoveShift => (place, string_end(fields, 2)?),
            Code::SetStatus => (place, 4),
            Code::ReplaceRow => (place, string_end(fields, string_end(fields, 2)?)?),
            Code::PatchRow => (place, string_end(fields, string_end(fields, 4)?)?),
            Code::FlipBits => (place, string_end(fields, 5)?),
        };
        let statuses = match code {
            Code::SetStatus => array_at::<2>(fields, 2).map(|[before, after]| (before, after)),
            _ => None,
        };
        fields.get(..end)?;
        let step = Step {
            page: u32_at(bytes, 0)?,
            file: u16_at(bytes, 4)?,
            code,
            slot,
            statuses,
            offset: if code == Code::SetBytes { place? } else { 0 },
        };
        Some((step, STEP_HEAD_BYTES + end))
    }
}

/// The payload of a change or compensation, without what is behind it.
fn payload_of(record: &[u8]) -> Option<&[u8]> {
    let start = match number_of(record)? {
        CHANGE => PAYLOAD_AT,
        COMPENSATION => COMPENSATION_PAYLOAD_AT,
        _ => return None,
    };
    let tail = *record.get(TAIL_AT)?;
    let with_locks = before_part(record, tail & HAS_LINKS != 0)?;
    before_part(with_locks, tail & HAS_LOCKS != 0)?.get(start..)
}

/// What stands before a part that ends with its own length, if there is one.
fn before_part(bytes: &[u8], has_part: bool) -> Option<&[u8]> {
    let part_bytes = match has_part {
        false => 0,
        true => usize::from(u16::from_le_bytes(*bytes.last_chunk()?)),
    };
    bytes.get(..bytes.len().checked_sub(part_bytes)?)
}

/// Where a string ends that begins with its length at `offset`.
fn string_end(bytes: &[u8], offset: usize) -> Option<usize> {
    let length = usize::from(u16_at(bytes, offset)?);
    Some(offset + 2 + length)
}

impl Iterator for Steps<'_> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let read = self.read();
        self.bytes = match &read {
            Some((_, length)) => self.bytes.get(*length..).unwrap_or_default(),
            None => &[],
        };
        read.map(|(step, _)| step)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn record(kind: u8, payload: &[u8]) -> Vec<u8> {
        let head = if kind == COMPENSATION {
            COMPENSATION_PAYLOAD_AT
        } else {
            PAYLOAD_AT
        };
        let mut record = vec![0; head];
        record.extend_from_slice(payload);
        let length = record.len() as u16;
        record[..2].copy_from_slice(&length.to_le_bytes());
        record[KIND_AT] = kind;
        record
    }

    /// Object 7, no undo, no key, then steps on page 1:9.
    fn change(steps: &[&[u8]]) -> Vec<u8> {
        let mut payload = vec![7, 0, 0, 0, 0, 0, 0];
        for step in steps {
            payload.extend_from_slice(&[9, 0, 0, 0, 1, 0]);
            payload.extend_from_slice(step);
        }
        payload
    }

    #[test]
    fn kinds_without_steps_have_names_and_former_numbers_too() {
        let name = |kind| operation_name(&record(kind, &[])).unwrap();
        assert_eq!(name(128), "LOP_BEGIN_XACT");
        assert_eq!(name(CHECKPOINT_LOCKS), "LOP_VLFLAB_LOCKS_CKPT");
        assert_eq!(name(160), "LOP_VLFLAB_LOCKS_CKPT");
        assert_eq!(name(161), "LOP_VLFLAB_ID_RANGE");
        assert_eq!(name(3), "LOP_VLFLAB_3");
        assert_eq!(name(CHANGE), "LOP_VLFLAB_CHANGE");
        assert_eq!(operation_name(&[4, 0, 128]), None);
    }

    #[test]
    fn none_of_our_own_numbers_is_one_of_sql_servers() {
        use crate::record::Operation;
        for (number, name) in KINDS {
            let is_ours = name.starts_with("LOP_VLFLAB_");
            match (is_ours, Operation(number).name()) {
                (false, theirs) => assert_eq!(theirs, Some(name)),
                // Told apart by the format of the block: they are a frame for steps, not an operation.
                (true, Some(_)) => assert!([CHANGE, COMPENSATION].contains(&number), "{name}"),
                (true, None) => {}
            }
        }
    }

    #[test]
    fn a_change_is_named_by_its_first_step() {
        let named = |steps: &[&[u8]]| operation_name(&record(CHANGE, &change(steps))).unwrap();
        assert_eq!(named(&[&[2, 0, 0, 1, 0, 5]]), "LOP_INSERT_ROWS");
        assert_eq!(named(&[&[6, 0, 0, 0, 1]]), "LOP_DELETE_ROWS");
        assert_eq!(named(&[&[6, 0, 0, 1, 0]]), "LOP_INSERT_ROWS");
        assert_eq!(named(&[&[11, 36, 0, 0, 0, 1, 0, 5]]), "LOP_MODIFY_HEADER");
        assert_eq!(named(&[&[11, 96, 0, 0, 0, 1, 0, 5]]), "LOP_SET_BITS");
        assert_eq!(named(&[&[12], &[2, 0, 0, 1, 0, 5]]), "LOP_EXPUNGE_ROWS");
        let image: &[u8] = &[10, 2, 0, 8, 8];
        assert_eq!(named(&[image, image]), "LOP_FORMAT_PAGE");
        assert_eq!(named(&[image, image, &[3, 1, 0, 1, 0, 5]]), "LOP_DELETE_SPLIT");
        let undone = record(COMPENSATION, &change(&[&[4, 0, 0, 0, 0]]));
        assert_eq!(operation_name(&undone).unwrap(), "LOP_DELETE_ROWS");
    }

    #[test]
    fn a_record_cut_anywhere_ends_its_steps() {
        let whole = change(&[&[8, 2, 0, 4, 0, 1, 0, 5, 1, 0, 6], &[2, 0, 0, 1, 0, 5]]);
        assert_eq!(Steps::of(&record(CHANGE, &whole)).count(), 2);
        for length in 0..whole.len() {
            assert!(
                Steps::of(&record(CHANGE, &whole[..length])).count() < 2,
                "cut to {length}"
            );
        }
    }
}
