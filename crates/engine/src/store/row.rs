//! Rows as the store keeps them: locators, status bytes, the heap's forwarding fields.
//!
//! A heap row shorter than a forwarding stub is padded, so that a row which outgrows its page can always leave a stub. Status bit 8 marks
//! the padding, and the last byte of the row is its length, including that byte.
//!
//! ```text
//! status byte   1 ghost | 2 stub | 4 forwarded | 8 padded | 16 ends with a version pointer | 32, 64, 128 free
//! version pointer, reserved:    ... row | u64 place of the previous version | 6 bytes: its writer |   14 bytes, the last ones
//! ```
//! Bits 16 to 128 are not in use, and a row that has one is damaged. A database whose rows use them must have a feature bit in its boot
//! record. SQL Server adds 14 bytes to a row for its versions (SQL Server docs, "Row versioning-based isolation levels"). A heap's longest
//! row leaves that room on its page. In a tree, a key and row of more than 8,075 bytes together do not.

use crate::page::{PageId, PageKind};
use std::fmt;
use std::sync::Arc;

/// Status bit: the row is deleted, and kept until nobody can undo the deletion.
pub const GHOST: u8 = 1;
/// Status bit: the row has moved; a RID follows that says where.
pub const STUB: u8 = 2;
/// Status bit: the row was moved here; a RID follows that says where its stub is.
pub const FORWARDED: u8 = 4;
/// Status bit: the row is padded; its last byte counts the padding bytes, itself included.
pub const PADDED: u8 = 8;

/// Status bits that mean nothing to this version.
const UNKNOWN: u8 = !(GHOST | STUB | FORWARDED | PADDED);

/// Bytes of an encoded [`Rid`].
pub const RID_BYTES: usize = 8;
/// Bytes of a forwarding stub, and so the least a heap row takes.
pub const STUB_BYTES: usize = 1 + RID_BYTES;
/// The longest payload of a row: SQL Server's 8,060 bytes.
pub const PAYLOAD_BYTES_MAX: usize = 8060;

/// Where a heap row is, for as long as it lives: SQL Server's row identifier `file:page:slot`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rid {
    pub page: PageId,
    /// The slot in the page, counted from 0.
    pub slot: u16,
}

impl Rid {
    /// The encoded form: page u32, file u16, slot u16, little-endian.
    pub fn to_bytes(self) -> [u8; RID_BYTES] {
        let mut bytes = [0; RID_BYTES];
        bytes[..4].copy_from_slice(&self.page.page.to_le_bytes());
        bytes[4..6].copy_from_slice(&self.page.file.to_le_bytes());
        bytes[6..].copy_from_slice(&self.slot.to_le_bytes());
        bytes
    }

    /// Reads the first eight of `bytes`; `None` when there are fewer.
    pub fn from_bytes(bytes: &[u8]) -> Option<Rid> {
        let [a, b, c, d, e, f, g, h] = *bytes.first_chunk::<RID_BYTES>()?;
        let page = PageId {
            file: u16::from_le_bytes([e, f]),
            page: u32::from_le_bytes([a, b, c, d]),
        };
        let slot = u16::from_le_bytes([g, h]);
        Some(Rid { page, slot })
    }

    /// One number that tells this row from every other of its database: file, page and slot.
    pub fn to_u64(self) -> u64 {
        u64::from(self.page.file) << 48 | u64::from(self.page.page) << 16 | u64::from(self.slot)
    }
}

impl fmt::Display for Rid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}:{}", self.page.file, self.page.page, self.slot)
    }
}

/// How an index or a plan finds a row again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowLocator {
    /// A row of a heap.
    Rid(Rid),
    /// A row of a clustered index. Shared, as the plan hands it on.
    Key(Arc<[u8]>),
}

/// What a heap row's bytes say.
#[derive(Debug, PartialEq, Eq)]
pub enum HeapRow<'a> {
    /// The row is here.
    Plain(&'a [u8]),
    /// The row is elsewhere.
    Stub(Rid),
    /// The row is here, its stub is elsewhere.
    Forwarded(Rid, &'a [u8]),
}

/// A row as it lies on a page, taken apart: for those who show pages.
#[derive(Debug, PartialEq, Eq)]
pub enum StoredRow<'a> {
    /// A row of a heap.
    Heap(&'a [u8]),
    /// A row of a heap that is elsewhere.
    Stub(Rid),
    /// A row of a heap whose stub is elsewhere.
    Forwarded(Rid, &'a [u8]),
    /// A row of a tree: key, and payload or child.
    Tree(&'a [u8], &'a [u8]),
}

impl<'a> StoredRow<'a> {
    /// A row of a page of this kind; `None` when its bytes contradict themselves, and for kinds whose rows have no such parts.
    pub fn parse(kind: PageKind, row: &'a [u8]) -> Option<StoredRow<'a>> {
        match kind {
            PageKind::Heap => Some(match parse_heap_row(row)? {
                HeapRow::Plain(payload) => StoredRow::Heap(payload),
                HeapRow::Stub(target) => StoredRow::Stub(target),
                HeapRow::Forwarded(stub, payload) => StoredRow::Forwarded(stub, payload),
            }),
            PageKind::TreeBranch | PageKind::TreeLeaf => {
                parse_tree_row(row).map(|(key, payload)| StoredRow::Tree(key, payload))
            }
            _ => None,
        }
    }
}

/// True when the row is deleted.
pub fn is_ghost(row: &[u8]) -> bool {
    row.first().is_some_and(|status| status & GHOST != 0)
}

/// Takes a heap row apart, whether deleted or not; `None` when its bytes contradict themselves.
pub fn parse_heap_row(row: &[u8]) -> Option<HeapRow<'_>> {
    let (&status, mut rest) = row.split_first()?;
    if status & UNKNOWN != 0 {
        return None;
    }
    if status & STUB != 0 {
        return Rid::from_bytes(rest).map(HeapRow::Stub);
    }
    if status & PADDED != 0 {
        let padding = usize::from(*rest.last()?);
        rest = rest.get(..rest.len().checked_sub(padding)?)?;
    }
    if status & FORWARDED != 0 {
        let stub = Rid::from_bytes(rest)?;
        return Some(HeapRow::Forwarded(stub, rest.get(RID_BYTES..)?));
    }
    Some(HeapRow::Plain(rest))
}

/// Writes a plain heap row into `out`, padded when it must be.
pub fn encode_heap_row(payload: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let padding = STUB_BYTES.saturating_sub(1 + payload.len());
    out.push(if padding > 0 { PADDED } else { 0 });
    out.extend_from_slice(payload);
    if padding > 0 {
        out.resize(STUB_BYTES - 1, 0);
        out.push(padding as u8);
    }
}

/// Writes a forwarded heap row into `out`.
pub fn encode_forwarded_row(stub: Rid, payload: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.push(FORWARDED);
    out.extend_from_slice(&stub.to_bytes());
    out.extend_from_slice(payload);
}

/// A forwarding stub.
pub fn encode_stub(target: Rid) -> [u8; STUB_BYTES] {
    let mut bytes = [STUB; STUB_BYTES];
    bytes[1..].copy_from_slice(&target.to_bytes());
    bytes
}

/// Writes a tree row (leaf: payload; branch: child) into `out`. Keys are at most 64 KB; the tree checks shorter limits.
pub fn encode_tree_row(key: &[u8], payload: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.push(0);
    out.extend_from_slice(&(key.len() as u16).to_le_bytes());
    out.extend_from_slice(key);
    out.extend_from_slice(payload);
}

/// Key and payload of a tree row; `None` when the key is longer than the row.
#[inline]
pub fn parse_tree_row(row: &[u8]) -> Option<(&[u8], &[u8])> {
    let [status, low, high] = *row.first_chunk::<3>()?;
    if status & UNKNOWN != 0 {
        return None;
    }
    let key_bytes = usize::from(u16::from_le_bytes([low, high]));
    row.get(3..)?.split_at_checked(key_bytes)
}

/// The bytes in which two images of a row differ: what to keep at the front, what the middle was and is.
pub struct Splice<'a> {
    /// Bytes at the front that both have.
    pub offset: usize,
    /// The middle before.
    pub before: &'a [u8],
    /// The middle after.
    pub after: &'a [u8],
}

/// How many bytes two texts have in common at the front; eight are compared at a time.
fn same_at_front(before: &[u8], after: &[u8]) -> usize {
    let (words, _) = before.as_chunks::<8>();
    let (others, _) = after.as_chunks::<8>();
    for (index, (word, other)) in words.iter().zip(others).enumerate() {
        let different = u64::from_le_bytes(*word) ^ u64::from_le_bytes(*other);
        if different != 0 {
            return index * 8 + (different.trailing_zeros() / 8) as usize;
        }
    }
    let compared = words.len().min(others.len()) * 8;
    let rest = before[compared..].iter().zip(&after[compared..]);
    compared + rest.take_while(|(a, b)| a == b).count()
}

/// The same at the back.
fn same_at_back(before: &[u8], after: &[u8]) -> usize {
    let (_, words) = before.as_rchunks::<8>();
    let (_, others) = after.as_rchunks::<8>();
    for (index, (word, other)) in words.iter().rev().zip(others.iter().rev()).enumerate() {
        let different = u64::from_le_bytes(*word) ^ u64::from_le_bytes(*other);
        if different != 0 {
            return index * 8 + (different.leading_zeros() / 8) as usize;
        }
    }
    let compared = words.len().min(others.len()) * 8;
    let (before, after) = (&before[..before.len() - compared], &after[..after.len() - compared]);
    let rest = before.iter().rev().zip(after.iter().rev());
    compared + rest.take_while(|(a, b)| a == b).count()
}

/// Finds the smallest middle that turns `before` into `after`; `None` when they are equal.
pub fn splice<'a>(before: &'a [u8], after: &'a [u8]) -> Option<Splice<'a>> {
    let shorter = before.len().min(after.len());
    let front = same_at_front(before, after);
    if front == shorter && before.len() == after.len() {
        return None;
    }
    let back = same_at_back(&before[front..], &after[front..]);
    Some(Splice {
        offset: front,
        before: &before[front..before.len() - back],
        after: &after[front..after.len() - back],
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn rid(page: u32, slot: u16) -> Rid {
        Rid {
            page: PageId { file: 3, page },
            slot,
        }
    }

    #[test]
    fn every_length_of_a_heap_row_comes_back() {
        let mut out = Vec::new();
        for length in 0..30u8 {
            let payload: Vec<u8> = (0..length).collect();
            encode_heap_row(&payload, &mut out);
            assert!(out.len() >= STUB_BYTES);
            assert_eq!(parse_heap_row(&out), Some(HeapRow::Plain(&payload)));
        }
    }

    #[test]
    fn stub_and_forwarded_row_point_at_each_other() {
        let mut out = Vec::new();
        encode_forwarded_row(rid(7, 1), b"abc", &mut out);
        assert_eq!(parse_heap_row(&out), Some(HeapRow::Forwarded(rid(7, 1), b"abc")));
        assert_eq!(parse_heap_row(&encode_stub(rid(9, 2))), Some(HeapRow::Stub(rid(9, 2))));
    }

    #[test]
    fn damaged_rows_are_refused() {
        for bytes in [&[][..], &[STUB, 1, 2], &[PADDED], &[PADDED, 9], &[FORWARDED, 0, 0]] {
            assert_eq!(parse_heap_row(bytes), None, "{bytes:?}");
        }
        assert_eq!(parse_tree_row(&[0, 5, 0, 1, 2]), None);
        for bit in [16, 32, 64, 128] {
            assert_eq!(parse_heap_row(&[bit, 0, 0, 0, 0, 0, 0, 0, 0]), None);
            assert_eq!(parse_tree_row(&[bit, 0, 0]), None);
        }
    }

    /// Every length around the words that are compared at once, with one or two bytes changed, and bytes taken away in the middle.
    #[test]
    fn the_middle_of_a_splice_is_the_smallest() {
        let smallest = |before: &[u8], after: &[u8]| {
            let shorter = before.len().min(after.len());
            let front = (0..shorter).take_while(|&at| before[at] == after[at]).count();
            let same = |at: &usize| before[before.len() - 1 - at] == after[after.len() - 1 - at];
            let back = (0..shorter - front).take_while(same).count();
            (front, before.len() - back, after.len() - back)
        };
        let check = |before: &[u8], after: &[u8]| {
            let found = splice(before, after).unwrap();
            let ends = [found.before, found.after].map(|middle| found.offset + middle.len());
            assert_eq!(
                (found.offset, ends[0], ends[1]),
                smallest(before, after),
                "{before:?} {after:?}"
            );
        };
        for length in 1..28 {
            let before: Vec<u8> = (0..length).map(|at| at as u8 % 3).collect();
            for first in 0..length {
                for last in first..length {
                    let mut after = before.clone();
                    after[first] ^= 8;
                    after[last] |= 128;
                    check(&before, &after);
                    check(&before, &[&before[..first], &before[last + 1..]].concat());
                    check(&[&before[..first], &before[last + 1..]].concat(), &before);
                }
            }
            assert!(splice(&before, &before).is_none());
        }
    }

    #[test]
    fn a_splice_rebuilds_the_row() {
        let texts: [&[u8]; 7] = [b"", b"a", b"aa", b"aaa", b"abca", b"axca", b"abcabca"];
        for before in texts {
            for after in texts {
                let Some(found) = splice(before, after) else {
                    assert_eq!(before, after);
                    continue;
                };
                let mut rebuilt = before[..found.offset].to_vec();
                rebuilt.extend_from_slice(found.after);
                rebuilt.extend_from_slice(&before[found.offset + found.before.len()..]);
                assert_eq!(rebuilt, after);
                assert_eq!(&before[found.offset..][..found.before.len()], found.before);
            }
        }
    }
}
