//! SQL_Latin1_General_CP1_CI_AS and its case-sensitive sister: the sort orders 52 and 51 of SQL Server, character by character.
//!
//! Every character of code page 1252 has a weight of one byte: control characters, blank, punctuation, digits, letters, in
//! this order; a letter and its other case share a weight, an accented letter has its own, after its base letter. Characters
//! outside the page follow all others by their lower-cased code point. (SQL Server's sort order 52 ranks a few punctuation
//! characters otherwise; equality, which is what keys and searches need, is the same.) The order stands for `nchar` and `nvarchar`, too,
//! where SQL Server takes the rules of Windows.
//!
//! Case-sensitive, two strings that are equal but for case order by their first difference, capital before small; the key is that of
//! the insensitive order and then, for each character of the page, 1 for a capital and 2 for every other, and the three bytes of the
//! code point for each character outside the page.
//!
//! Trailing blanks do not count: `'a' = 'a  '`, as the SQL standard's padding rule has it.

use std::cmp::Ordering;
use std::hash::Hasher;

use crate::types::cp1252;

/// Ends a string inside a key: above control characters and below blank, because a shorter string compares as if padded.
const TERMINATOR: u8 = 0x21;
/// Marks a character outside the code page; three bytes of code point follow.
const OTHER: u8 = 0xFF;

/// The letters in order: each entry is one weight, upper and lower case together.
const LETTERS: [&str; 62] = [
    "aA", "áÁ", "àÀ", "âÂ", "äÄ", "ãÃ", "åÅ", "æÆ", "bB", "cC", "çÇ", "dD", "ðÐ", "eE", "éÉ", "èÈ", "êÊ", "ëË", "fF",
    "ƒ", "gG", "hH", "iI", "íÍ", "ìÌ", "îÎ", "ïÏ", "jJ", "kK", "lL", "mM", "nN", "ñÑ", "oO", "óÓ", "òÒ", "ôÔ", "öÖ",
    "õÕ", "øØ", "œŒ", "pP", "qQ", "rR", "sS", "šŠ", "ß", "tT", "uU", "úÚ", "ùÙ", "ûÛ", "üÜ", "vV", "wW", "xX", "yY",
    "ýÝ", "ÿŸ", "zZ", "žŽ", "þÞ",
];

/// The weight of each byte of code page 1252. Zero stays free: it marks NULL in keys.
static WEIGHTS: std::sync::LazyLock<[u8; 256]> = std::sync::LazyLock::new(build_weights);

fn build_weights() -> [u8; 256] {
    let mut weights = [0u8; 256];
    // Control characters take 1 to 32, the terminator 33, blank 34.
    for code in 0..32u8 {
        weights[usize::from(code)] = code + 1;
    }
    let mut next = TERMINATOR;
    let mut take = || {
        next += 1;
        next
    };
    weights[usize::from(b' ')] = take();
    let is_letter = |character: char| LETTERS.iter().any(|letters| letters.contains(character));
    for byte in 33..=255u8 {
        let character = cp1252::decode_byte(byte);
        if !character.is_ascii_digit() && !is_letter(character) {
            weights[usize::from(byte)] = take();
        }
    }
    for digit in b'0'..=b'9' {
        weights[usize::from(digit)] = take();
    }
    for letters in LETTERS {
        let weight = take();
        for byte in letters.chars().filter_map(cp1252::encode_char) {
            weights[usize::from(byte)] = weight;
        }
    }
    weights
}

/// Appends the weights of one character.
pub(super) fn push_weight(character: char, output: &mut Vec<u8>) {
    match cp1252::encode_char(character) {
        Some(byte) => output.push(WEIGHTS[usize::from(byte)]),
        None => {
            let [_, high, middle, low] = u32::from(fold(character)).to_be_bytes();
            output.extend_from_slice(&[OTHER, high, middle, low]);
        }
    }
}

/// One number per character, ordered like the weights.
fn rank(character: char) -> u32 {
    match cp1252::encode_char(character) {
        Some(byte) => u32::from(WEIGHTS[usize::from(byte)]),
        None => (u32::from(OTHER) << 24) | u32::from(fold(character)),
    }
}

/// The lower case of a character outside the code page.
fn fold(character: char) -> char {
    let mut lower = character.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(single), None) => single,
        _ => character,
    }
}

/// What tells characters of one weight apart, ordered capital first.
fn case_of(character: char) -> u32 {
    match cp1252::encode_char(character) {
        Some(_) if character.is_uppercase() => 1,
        Some(_) => 2,
        None => u32::from(character),
    }
}

fn cases(text: &str) -> impl Iterator<Item = u32> + '_ {
    text.trim_end_matches(' ').chars().map(case_of)
}

/// Compares two strings case-sensitively.
pub(super) fn compare_cased(left: &str, right: &str) -> Ordering {
    compare(left, right).then_with(|| cases(left).cmp(cases(right)))
}

/// Appends the case-sensitive key. Strings of one insensitive key have equally many characters, so the cases need no end.
pub(super) fn push_cased_key(text: &str, output: &mut Vec<u8>) {
    push_key(text, output);
    for (character, case) in text.chars().zip(cases(text)) {
        let bytes = case.to_be_bytes();
        let is_of_page = cp1252::encode_char(character).is_some();
        output.extend_from_slice(if is_of_page { &bytes[3..] } else { &bytes[1..] });
    }
}

/// Compares two characters case-sensitively.
pub(super) fn compare_cased_characters(left: char, right: char) -> Ordering {
    compare_characters(left, right).then_with(|| case_of(left).cmp(&case_of(right)))
}

pub(super) fn compare(left: &str, right: &str) -> Ordering {
    let (left, right) = (left.trim_end_matches(' '), right.trim_end_matches(' '));
    if left == right {
        return Ordering::Equal;
    }
    // As far as both are ASCII, which nearly all are to their ends, a byte is a character.
    let weights = &*WEIGHTS;
    let mut at = 0;
    for (left, right) in left.bytes().zip(right.bytes()) {
        if !(left | right).is_ascii() {
            break;
        }
        let order = weights[usize::from(left)].cmp(&weights[usize::from(right)]);
        if order != Ordering::Equal {
            return order;
        }
        at += 1;
    }
    let end = u32::from(TERMINATOR);
    let mut left = left.get(at..).unwrap_or_default().chars();
    let mut right = right.get(at..).unwrap_or_default().chars();
    loop {
        let pair = (left.next(), right.next());
        if pair == (None, None) {
            return Ordering::Equal;
        }
        let order = pair.0.map_or(end, rank).cmp(&pair.1.map_or(end, rank));
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// Whether two characters are equal: what LIKE and the searching functions compare by.
pub(super) fn equal_characters(left: char, right: char) -> bool {
    left == right || rank(left) == rank(right)
}

/// Compares two characters: what a range in a LIKE pattern needs.
pub(super) fn compare_characters(left: char, right: char) -> Ordering {
    rank(left).cmp(&rank(right))
}

/// Appends the weights of a string and its end. Unsigned byte order of the result is the order of the strings.
pub(super) fn push_key(text: &str, output: &mut Vec<u8>) {
    push_prefix(text.trim_end_matches(' '), output);
    output.push(TERMINATOR);
}

/// Appends the weights that the key of a string begins with whose first characters are these.
pub(super) fn push_prefix(text: &str, output: &mut Vec<u8>) {
    if text.is_ascii() {
        let weights = &*WEIGHTS;
        let start = output.len();
        output.resize(start + text.len(), 0);
        for (weight, byte) in output[start..].iter_mut().zip(text.as_bytes()) {
            *weight = weights[usize::from(*byte)];
        }
        return;
    }
    text.chars().for_each(|character| push_weight(character, output));
}

/// Feeds a hasher so that equal strings hash alike.
pub(super) fn hash(text: &str, hasher: &mut impl Hasher) {
    for character in text.trim_end_matches(' ').chars() {
        hasher.write_u32(rank(character));
    }
    hasher.write_u8(TERMINATOR);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_byte_has_a_weight_and_only_cases_share_one() {
        for byte in 0..=255u8 {
            let weight = WEIGHTS[usize::from(byte)];
            assert!(weight != 0 && weight != TERMINATOR && weight != OTHER, "byte {byte}");
            for other in 0..byte {
                let same = fold(cp1252::decode_byte(byte)) == fold(cp1252::decode_byte(other));
                assert_eq!(weight == WEIGHTS[usize::from(other)], same, "bytes {other} and {byte}");
            }
        }
    }

    #[test]
    fn comparison_and_keys_agree() {
        let strings = [
            "", "  ", "\t", "a", "A", "a ", "a b", "A\t", "ab", "á", "b", "Z", "0", "_", "ж", "Ж", "漢", "aж",
        ];
        for left in strings {
            for right in strings {
                let (mut left_key, mut right_key) = (Vec::new(), Vec::new());
                push_key(left, &mut left_key);
                push_key(right, &mut right_key);
                assert_eq!(compare(left, right), left_key.cmp(&right_key), "{left:?} and {right:?}");
            }
        }
        assert_eq!(compare("Straße", "STRAßE  "), Ordering::Equal);
        assert_ne!(compare("resume", "résumé"), Ordering::Equal);
        assert_eq!(compare("a\t", "a"), Ordering::Less);
        assert_eq!(compare("_", "0"), Ordering::Less);
        assert_eq!(compare("9", "a"), Ordering::Less);
    }
}
