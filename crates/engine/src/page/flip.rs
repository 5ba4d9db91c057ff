//! Rows in which the same bit of many bytes changes, as when UPPER and LOWER change letters: one bit of log per byte instead of the old and
//! the new bytes. Flipping twice restores the row, so the operation is its own undo.

use super::Damage;

/// Bytes taken at once: those that one byte of a bitmap speaks of.
const LANES: usize = 8;
/// The lowest bit of every lane.
const LOWEST_BITS: u64 = 0x0101_0101_0101_0101;
/// Brings the lowest bits of eight lanes together in the highest byte of the product: that of lane n, at 8n, times the bit at
/// 56 - 7n is 56 + n, and no two products meet anywhere.
const COLLECT: u64 = 0x0102_0408_1020_4080;

/// For each byte value, its bits spread over eight lanes, lowest bit first.
const SPREAD: [u64; 256] = spread();

const fn spread() -> [u64; 256] {
    let mut table = [0; 256];
    let mut value = 0;
    while value < 256 {
        let mut bit = 0;
        while bit < LANES {
            table[value] |= (value as u64 >> bit & 1) << (8 * bit);
            bit += 1;
        }
        value += 1;
    }
    table
}

/// The one bit in which two runs of bytes of one length differ, with `bitmap` saying in which bytes; `None` when they differ in
/// no bit or in several.
pub fn flipped_bit(before: &[u8], after: &[u8], bitmap: &mut Vec<u8>) -> Option<u8> {
    let differences = before.iter().zip(after).fold(0, |all, (old, new)| all | (old ^ new));
    if before.len() != after.len() || !differences.is_power_of_two() {
        return None;
    }
    let shift = differences.trailing_zeros();
    let collect = |old: &[u8; LANES], new: &[u8; LANES]| {
        let changed = (u64::from_le_bytes(*old) ^ u64::from_le_bytes(*new)) >> shift & LOWEST_BITS;
        (changed.wrapping_mul(COLLECT) >> 56) as u8
    };
    let ((old, old_rest), (new, new_rest)) = (before.as_chunks::<LANES>(), after.as_chunks::<LANES>());
    bitmap.clear();
    bitmap.extend(old.iter().zip(new).map(|(old, new)| collect(old, new)));
    if !old_rest.is_empty() {
        bitmap.push(collect(&padded(old_rest), &padded(new_rest)));
    }
    Some(differences)
}

/// Fewer bytes than lanes, with zeros behind them.
fn padded(rest: &[u8]) -> [u8; LANES] {
    let mut lanes = [0; LANES];
    lanes.iter_mut().zip(rest).for_each(|(lane, byte)| *lane = *byte);
    lanes
}

/// Flips `bit` in the bytes of `row` from `offset` on that the bitmap names.
///
/// # Errors
/// The bitmap names bytes that the row does not have; nothing is flipped then.
pub(super) fn flip(row: &mut [u8], offset: usize, bit: u8, bitmap: &[u8]) -> Result<(), Damage> {
    let damage = Damage("bits are flipped beyond the end of a row");
    let reached = match bitmap.iter().rposition(|bits| *bits != 0) {
        None => return Ok(()),
        Some(last) => LANES * last + LANES - bitmap[last].leading_zeros() as usize,
    };
    let bytes = row
        .get_mut(offset..)
        .filter(|bytes| bytes.len() >= reached)
        .ok_or(damage)?;
    let flips = |bits: u8| SPREAD[usize::from(bits)] * u64::from(bit);
    let (chunks, rest) = bytes.as_chunks_mut::<LANES>();
    for (chunk, bits) in chunks.iter_mut().zip(bitmap) {
        *chunk = (u64::from_le_bytes(*chunk) ^ flips(*bits)).to_le_bytes();
    }
    let last = bitmap.get(chunks.len()).copied().unwrap_or(0);
    for (byte, flip) in rest.iter_mut().zip(flips(last).to_le_bytes()) {
        *byte ^= flip;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_flip_makes_the_one_of_the_other_and_back() {
        let mut bitmap = Vec::new();
        for length in 1..70 {
            let before: Vec<u8> = (0..length).map(|number| b'a' + number % 26).collect();
            let after: Vec<u8> = before.iter().map(u8::to_ascii_uppercase).collect();
            let bit = flipped_bit(&before, &after, &mut bitmap).unwrap();
            let mut row = [b"head", &before[..]].concat();
            flip(&mut row, 4, bit, &bitmap).unwrap();
            assert_eq!(&row[4..], after);
            flip(&mut row, 4, bit, &bitmap).unwrap();
            assert_eq!(&row[4..], before);
            assert!(flip(&mut row, 5, bit, &bitmap).is_err(), "beyond the end");
        }
    }

    #[test]
    fn every_byte_has_its_bit_in_the_bitmap() {
        let mut bitmap = Vec::new();
        for (length, bit) in (1..40).zip((0..8).cycle()) {
            let before: Vec<u8> = (0..length).map(|place: u8| place.wrapping_mul(37)).collect();
            let flips = |place: usize| place.is_multiple_of(3) || place % 7 == 5;
            let mut after = before.clone();
            let flipped = after.iter_mut().enumerate().filter(|(place, _)| flips(*place));
            flipped.for_each(|(_, byte)| *byte ^= 1 << bit);
            assert_eq!(flipped_bit(&before, &after, &mut bitmap), Some(1 << bit));
            assert_eq!(bitmap.len(), before.len().div_ceil(8));
            let named = (0..8 * bitmap.len()).filter(|place| bitmap[place / 8] >> (place % 8) & 1 == 1);
            assert!(
                named.eq((0..before.len()).filter(|place| flips(*place))),
                "length {length}"
            );
        }
    }

    #[test]
    fn other_differences_are_refused() {
        let mut bitmap = Vec::new();
        for (before, after) in [("abc", "abc"), ("abc", "abd!"), ("abc", "xyz"), ("", "")] {
            assert_eq!(flipped_bit(before.as_bytes(), after.as_bytes(), &mut bitmap), None);
        }
        assert_eq!(flipped_bit(b"a1b", b"A1B", &mut bitmap), Some(0x20));
        assert_eq!(bitmap, [0b101]);
    }
}
