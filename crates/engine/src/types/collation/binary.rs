//! The binary collations: strings in the order of their UTF-16 units.
//!
//! BIN2 compares unit by unit. BIN, the older one, compares the first unit and then the bytes of the others as they are stored, low
//! byte first (sql-docs, "Collation and Unicode support": "the first character as WCHAR, followed by a byte-by-byte comparison").
//! Trailing blanks do not count in comparisons under these collations either (sql-docs, "LEN", "= (Equals)": padding is the same for
//! every collation), so the end of a string ranks just below blank.
//!
//! ```text
//! key   each unit 2 bytes, high byte first (BIN: low byte first from the second on) ... end
//!       a unit whose bytes begin as the end does is followed by one byte more, 00
//! end   BIN2 and the first unit of BIN: 00 1F 01       BIN, later: 1F FF 01
//! ```
//! A doubtful point: SQL Server compares `char` and `varchar` by the bytes of their code page, this module by UTF-16. For code page 1252
//! they differ only in the 27 characters of the bytes 80 to 9F, which come before those of A0 to FF there, and after them here.

use std::cmp::Ordering;

/// The end of a string among the numbers of [`ranks`]: twice blank, where a unit is twice itself and one.
const END: u32 = 0x40;
const SWAPPED_END: u32 = 0x4000;

/// A number for each unit, in the order of the collation; `first_only` is BIN.
fn ranks(text: &str, first_only: bool) -> impl Iterator<Item = u32> + '_ {
    let units = text.trim_end_matches(' ').encode_utf16().enumerate();
    units.map(move |(place, unit)| {
        let ordered = if first_only && place > 0 {
            unit.swap_bytes()
        } else {
            unit
        };
        u32::from(ordered) * 2 + 1
    })
}

fn end_at(place: usize, first_only: bool) -> u32 {
    if first_only && place > 0 { SWAPPED_END } else { END }
}

pub(super) fn compare(left: &str, right: &str, first_only: bool) -> Ordering {
    let (mut left, mut right) = (ranks(left, first_only), ranks(right, first_only));
    let mut place = 0;
    loop {
        let pair = (left.next(), right.next());
        if pair == (None, None) {
            return Ordering::Equal;
        }
        let end = end_at(place, first_only);
        let order = pair.0.unwrap_or(end).cmp(&pair.1.unwrap_or(end));
        if order != Ordering::Equal {
            return order;
        }
        place += 1;
    }
}

/// Appends the key of a string; its unsigned order is that of [`compare`].
pub(super) fn push_key(text: &str, first_only: bool, output: &mut Vec<u8>) {
    let count = push_units(text, first_only, output);
    output.extend_from_slice(&last_below_blank(count, first_only).to_be_bytes());
    output.push(1);
}

/// Appends what the key of a string begins with whose first characters are these.
pub(super) fn push_prefix(text: &str, first_only: bool, output: &mut Vec<u8>) {
    push_units(text, first_only, output);
}

/// Appends the units of a string; answers how many.
fn push_units(text: &str, first_only: bool, output: &mut Vec<u8>) -> usize {
    let mut count = 0;
    for (place, rank) in ranks(text, first_only).enumerate() {
        // Below 2^17, halved below 2^16.
        let unit = (rank / 2) as u16;
        output.extend_from_slice(&unit.to_be_bytes());
        if unit == last_below_blank(place, first_only) {
            output.push(0);
        }
        count = place + 1;
    }
    count
}

/// The unit just below blank where it stands: 1F, or with its bytes swapped whatever comes before 20 00.
fn last_below_blank(place: usize, first_only: bool) -> u16 {
    if first_only && place > 0 { 0x1FFF } else { 0x1F }
}

/// Compares two characters, by their first units.
pub(super) fn compare_characters(left: char, right: char) -> Ordering {
    let (mut left_units, mut right_units) = ([0; 2], [0; 2]);
    let (left, right) = (left.encode_utf16(&mut left_units), right.encode_utf16(&mut right_units));
    left.cmp(&right)
}
