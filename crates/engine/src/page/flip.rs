//! Rows that change in one and the same bit of many bytes, as UPPER and LOWER change letters: one bit of log per byte instead of
//! the bytes before and after. Flipping twice is not flipping at all, so the operation takes itself back.

use super::Damage;

/// For each byte value, its bits spread over eight bytes, lowest bit first.
const SPREAD: [[u8; 8]; 256] = spread();

const fn spread() -> [[u8; 8]; 256] {
    let mut table = [[0; 8]; 256];
    let mut value = 0;
    while value < 256 {
        let mut bit = 0;
        while bit < 8 {
            table[value][bit] = (value >> bit & 1) as u8;
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
    bitmap.clear();
    bitmap.extend(before.chunks(8).zip(after.chunks(8)).map(|(old, new)| {
        let bits = old.iter().zip(new).enumerate();
        bits.fold(0u8, |bits, (place, (old, new))| {
            bits | ((old ^ new) >> shift & 1) << place
        })
    }));
    Some(differences)
}

/// Flips `bit` in the bytes of `row` from `offset` on that the bitmap names.
///
/// # Errors
/// The bitmap names bytes that the row does not have; nothing is flipped then.
pub(super) fn flip(row: &mut [u8], offset: usize, bit: u8, bitmap: &[u8]) -> Result<(), Damage> {
    let damage = Damage("bits are flipped beyond the end of a row");
    let reached = match bitmap.iter().rposition(|bits| *bits != 0) {
        None => return Ok(()),
        Some(last) => 8 * last + 8 - bitmap[last].leading_zeros() as usize,
    };
    let bytes = row
        .get_mut(offset..)
        .filter(|bytes| bytes.len() >= reached)
        .ok_or(damage)?;
    for (chunk, bits) in bytes.chunks_mut(8).zip(bitmap) {
        for (byte, flips) in chunk.iter_mut().zip(SPREAD[usize::from(*bits)]) {
            *byte ^= flips * bit;
        }
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
    fn other_differences_are_refused() {
        let mut bitmap = Vec::new();
        for (before, after) in [("abc", "abc"), ("abc", "abd!"), ("abc", "xyz"), ("", "")] {
            assert_eq!(flipped_bit(before.as_bytes(), after.as_bytes(), &mut bitmap), None);
        }
        assert_eq!(flipped_bit(b"a1b", b"A1B", &mut bitmap), Some(0x20));
        assert_eq!(bitmap, [0b101]);
    }
}
