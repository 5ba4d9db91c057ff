//! The Windows collations of Latin1_General: weights in levels, as Windows sorts words.
//!
//! A string becomes a sequence of elements. A letter, digit or symbol has a *primary* weight; a mark (accent) belongs to the element
//! before it; a hyphen, an apostrophe or a control character is *special*: it counts last of all.
//!
//! ```text
//! key      primaries 01 | marks 01 | cases 01 | specials 01       marks only where accents count, cases only where case counts
//! primary  02 .. DF                a character of the table below
//!          SYMBOL code point (3)   another symbol
//!          E0 + plane, code (2)    every other character, by code point: letters of other scripts, ideographs
//! marks    02 for each element, then the weights of its marks; 02 at the end left out
//! cases    02 small, 0A superscript or subscript, 12 capital; 02 at the end left out
//! special  02 | elements before it u32 | weight
//! ```
//! Two strings compare level by level: so `cars` < `car's` < `car-s` < `carsa` (Microsoft, KB 305704, "Windows Collations Ignore Single
//! Quote and Hyphen When Ordering"), and case decides only between strings that are equal otherwise, small before capital.
//! Trailing blanks do not count, and blank has the smallest primary, so a shorter string compares as if padded.
//!
//! The sources of the weights (Microsoft's own table of weights is not used):
//! * the levels and how a key is built: \[MS-UCODEREF\] 3.1.5.2.3;
//! * the order of symbols: "Sort data in a range or table" of Excel, which sorts as Windows does; white space before all;
//! * which characters are letters with marks, wide, narrow or raised forms of others, or capitals: Unicode 3.2, in `letters.txt`;
//! * that raised forms differ from plain ones as capitals from small letters, that katakana and hiragana, wide and narrow are equal
//!   unless KS and WS say otherwise: sql-docs, "Collation and Unicode support"; that `[0-9]` holds ¼ ½ ¾: "Why are non-digits LIKE
//!   \[0-9\]?", dba.stackexchange.com 34730;
//! * that ß is `ss` (documented in questions about it: dba.stackexchange.com 335859), and likewise æ, œ, þ and ligatures.
//!
//! Doubtful points: the order of symbols beyond ASCII, of all but the common marks, and of the letters of other scripts, which here follow
//! their code points. Characters to which Windows gives no weight at all (most of those after Unicode 3.2, control characters) have one
//! here. The same weights serve the versions 80 and 100 of the tables.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::Hasher;
use std::sync::LazyLock;

/// Which levels beyond the first count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Levels {
    pub(super) accents: bool,
    pub(super) case: bool,
}

/// Ends each level; below every weight.
const END: u8 = 1;
/// An element without marks, a small letter, and what introduces a special.
const PLAIN: u8 = 2;
const RAISED: u8 = 0x0A;
const CAPITAL: u8 = 0x12;

/// Characters with a primary of one byte, in order. After the symbols come other symbols, then digits and letters.
const SYMBOLS: &str =
    " \u{A0}\t\n\u{B}\u{C}\r!\"#$%&(),*./:;?@[\\]^_`{|}~¡¦¨¯´¸¿ˆ˜‘’‚“”„‹›…·«»+<=>±×÷¬¢£¤¥€§©®°µ¶™†‡•‰";
const DIGITS_AND_LETTERS: &str = "0¼½¾123456789abcdðefƒghijklmnopqrstuvwxyz";
/// The first byte of a symbol that is not in the table.
const OTHER_SYMBOL: u8 = 0x70;
const FIRST_DIGIT: u8 = 0x71;
/// Base of the first byte of all other characters; the number of the plane (0 to 16) is added.
const OTHER: u32 = 0xE0;

/// Weights of the common marks; others follow by code point.
const MARKS: [(char, u8); 14] = [
    ('\u{301}', 0x0E),
    ('\u{300}', 0x0F),
    ('\u{307}', 0x10),
    ('\u{302}', 0x12),
    ('\u{308}', 0x13),
    ('\u{30C}', 0x14),
    ('\u{306}', 0x15),
    ('\u{304}', 0x17),
    ('\u{303}', 0x19),
    ('\u{30A}', 0x1A),
    ('\u{328}', 0x1B),
    ('\u{327}', 0x1C),
    ('\u{30B}', 0x1D),
    ('\u{338}', 0x2F),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    /// Primary weight, left-aligned in its bytes, and case.
    Base {
        primary: u32,
        case: u8,
    },
    Mark(u8),
    Special(u8),
}

/// What one character becomes: a base with three marks at most, or three letters.
#[derive(Clone, Copy, Debug)]
struct Expansion {
    elements: [Element; 4],
    count: usize,
}

impl Expansion {
    fn of(elements: &[Element]) -> Expansion {
        let mut expansion = Expansion {
            elements: [Element::Special(0); 4],
            count: elements.len().min(4),
        };
        expansion.elements[..expansion.count].copy_from_slice(&elements[..expansion.count]);
        expansion
    }
}

struct Table {
    ascii: [Expansion; 128],
    others: HashMap<char, Expansion>,
}

static TABLE: LazyLock<Table> = LazyLock::new(build_table);

fn build_table() -> Table {
    let one_byte: HashMap<char, u8> = SYMBOLS
        .chars()
        .zip(PLAIN..)
        .chain(DIGITS_AND_LETTERS.chars().zip(FIRST_DIGIT..))
        .collect();
    let lines = include_str!("letters.txt")
        .lines()
        .filter(|line| !line.starts_with('#'));
    let rows: Vec<(&str, char, Vec<char>)> = lines.filter_map(read_line).collect();
    let mut small: HashMap<char, char> = ('A'..='Z')
        .map(|capital| (capital, capital.to_ascii_lowercase()))
        .collect();
    for (kind, character, sequence) in &rows {
        if let ("U", [lower]) = (*kind, sequence.as_slice()) {
            small.insert(*character, *lower);
        }
    }
    let element = |character: char, case: u8| match small.get(&character) {
        Some(&lower) => element_of(lower, CAPITAL, &one_byte),
        None => element_of(character, case, &one_byte),
    };
    let mut others = HashMap::new();
    for (kind, character, sequence) in &rows {
        let elements: Vec<Element> = match *kind {
            "U" => vec![element(*character, PLAIN)],
            "s" => sequence.iter().map(|&part| element(part, RAISED)).collect(),
            _ => sequence.iter().map(|&part| element(part, PLAIN)).collect(),
        };
        others.insert(*character, Expansion::of(&elements));
    }
    for (&character, _) in one_byte.iter().filter(|(character, _)| !character.is_ascii()) {
        others
            .entry(character)
            .or_insert_with(|| Expansion::of(&[element(character, PLAIN)]));
    }
    let mut ascii = [Expansion::of(&[]); 128];
    for (code, slot) in (0u8..).zip(&mut ascii) {
        *slot = Expansion::of(&[element(char::from(code), PLAIN)]);
    }
    Table { ascii, others }
}

/// `kind CHARACTER SEQUENCE`, code points in hexadecimal.
fn read_line(line: &'static str) -> Option<(&'static str, char, Vec<char>)> {
    let mut words = line.split(' ');
    let kind = words.next()?;
    let mut characters = words.filter_map(|word| char::from_u32(u32::from_str_radix(word, 16).ok()?));
    Some((kind, characters.next()?, characters.collect()))
}

/// The element of a character that is neither a capital nor made of others.
fn element_of(character: char, case: u8, one_byte: &HashMap<char, u8>) -> Element {
    let code = u32::from(character);
    if let Some(&weight) = one_byte.get(&character) {
        let primary = u32::from(weight) << 24;
        return Element::Base { primary, case };
    }
    if let Some(weight) = special_weight(character) {
        return Element::Special(weight);
    }
    if let Some(weight) = mark_weight(character) {
        return Element::Mark(weight);
    }
    let primary = if is_symbol(code) {
        u32::from(OTHER_SYMBOL) << 24 | code
    } else {
        // Katakana weighs as the hiragana of the same sound.
        let code = if (0x30A1..=0x30F6).contains(&code) {
            code - 0x60
        } else {
            code
        };
        (OTHER << 24) + (code << 8)
    };
    Element::Base { primary, case }
}

/// Control characters first, then apostrophe, hyphen, dashes and what formats invisibly.
fn special_weight(character: char) -> Option<u8> {
    let code = u32::from(character);
    let weight = match code {
        0..=0x1F => code + 3,
        0x7F..=0x9F => code - 0x7F + 0x23,
        0x27 => 0x80,
        0x2D => 0x81,
        0xAD => 0x82,
        0x2010..=0x2015 => code - 0x2010 + 0x83,
        0x200B..=0x200F => code - 0x200B + 0x90,
        0x2028..=0x202E => code - 0x2028 + 0x98,
        0xFEFF => 0xA0,
        _ => return None,
    };
    u8::try_from(weight).ok()
}

fn mark_weight(character: char) -> Option<u8> {
    if let Some(&(_, weight)) = MARKS.iter().find(|(mark, _)| *mark == character) {
        return Some(weight);
    }
    let weight = match u32::from(character) {
        // The short stroke of đ and ħ is that of ø.
        0x335 => 0x2F,
        code @ 0x300..=0x36F => code - 0x300 + 0x80,
        code @ (0x3099 | 0x309A) => code - 0x3099 + 0xF0,
        _ => return None,
    };
    u8::try_from(weight).ok()
}

/// Punctuation and symbols outside the table: blocks of Unicode that hold nothing else.
fn is_symbol(code: u32) -> bool {
    matches!(code, 0xA1..=0xBF | 0x2000..=0x2BFF | 0x3000..=0x3004 | 0x3007..=0x3020 | 0xFE10..=0xFE6F | 0x1F000..=0x1FAFF)
}

fn expand(table: &Table, character: char) -> Expansion {
    if character.is_ascii() {
        return table.ascii[character as usize];
    }
    table
        .others
        .get(&character)
        .copied()
        .unwrap_or_else(|| Expansion::of(&[element_of(character, PLAIN, &NO_ONE_BYTE)]))
}

/// What is not in the table has no weight of one byte.
static NO_ONE_BYTE: LazyLock<HashMap<char, u8>> = LazyLock::new(HashMap::new);

fn elements(text: &str) -> impl Iterator<Item = Element> + '_ {
    let table = &*TABLE;
    text.trim_end_matches(' ').chars().flat_map(move |character| {
        let Expansion { elements, count } = expand(table, character);
        elements.into_iter().take(count)
    })
}

fn primaries(text: &str) -> impl Iterator<Item = u32> + '_ {
    elements(text).filter_map(|element| match element {
        Element::Base { primary, .. } => Some(primary),
        _ => None,
    })
}

fn marks(text: &str) -> impl Iterator<Item = u8> + '_ {
    elements(text).filter_map(|element| match element {
        Element::Base { .. } => Some(PLAIN),
        Element::Mark(weight) => Some(weight),
        Element::Special(_) => None,
    })
}

fn cases(text: &str) -> impl Iterator<Item = u8> + '_ {
    elements(text).filter_map(|element| match element {
        Element::Base { case, .. } => Some(case),
        _ => None,
    })
}

/// Elements before each special, and its weight.
fn specials(text: &str) -> impl Iterator<Item = (u32, u8)> + '_ {
    let mut before = 0u32;
    elements(text).filter_map(move |element| match element {
        Element::Base { .. } => {
            before = before.saturating_add(1);
            None
        }
        Element::Mark(_) => None,
        Element::Special(weight) => Some((before, weight)),
    })
}

pub(super) fn compare(left: &str, right: &str, levels: Levels) -> Ordering {
    if left == right {
        return Ordering::Equal;
    }
    let mut order = primaries(left).cmp(primaries(right));
    if levels.accents {
        order = order.then_with(|| marks(left).cmp(marks(right)));
    }
    if levels.case {
        order = order.then_with(|| cases(left).cmp(cases(right)));
    }
    order.then_with(|| specials(left).cmp(specials(right)))
}

/// Appends the key of a string; its unsigned order is that of [`compare`].
pub(super) fn push_key(text: &str, levels: Levels, output: &mut Vec<u8>) {
    push_prefix(text, output);
    output.push(END);
    if levels.accents {
        push_level(marks(text), output);
    }
    if levels.case {
        push_level(cases(text), output);
    }
    for (before, weight) in specials(text) {
        output.push(PLAIN);
        output.extend_from_slice(&before.to_be_bytes());
        output.push(weight);
    }
    output.push(END);
}

/// Appends what a character is searched by: its elements, those of no level that counts left out. No element begins another: a base
/// begins with its primary (02 and above), a mark with 01, a special with 00.
pub(super) fn push_search_form(character: char, levels: Levels, output: &mut Vec<u8>) {
    let Expansion { elements, count } = expand(&TABLE, character);
    for element in elements.into_iter().take(count) {
        match element {
            Element::Base { primary, case } => {
                push_primary(primary, output);
                if levels.case {
                    output.push(case);
                }
            }
            Element::Mark(weight) if levels.accents => output.extend_from_slice(&[1, weight]),
            Element::Mark(_) => {}
            Element::Special(weight) => output.extend_from_slice(&[0, weight]),
        }
    }
}

/// Appends the bytes of a primary weight.
fn push_primary(primary: u32, output: &mut Vec<u8>) {
    let bytes = primary.to_be_bytes();
    let count = match bytes[0] {
        OTHER_SYMBOL => 4,
        first if u32::from(first) >= OTHER => 3,
        _ => 1,
    };
    output.extend_from_slice(&bytes[..count]);
}

/// Appends the primary weights of a string: what the key of every string begins with whose first characters are these.
pub(super) fn push_prefix(text: &str, output: &mut Vec<u8>) {
    for primary in primaries(text) {
        push_primary(primary, output);
    }
}

/// The strings that get here have equally many elements, so the plain ones at the end need not be there.
fn push_level(weights: impl Iterator<Item = u8>, output: &mut Vec<u8>) {
    let start = output.len();
    output.extend(weights);
    while output.len() > start && output.last() == Some(&PLAIN) {
        output.pop();
    }
    output.push(END);
}

/// Feeds a hasher so that equal strings hash alike.
pub(super) fn hash(text: &str, levels: Levels, hasher: &mut impl Hasher) {
    primaries(text).for_each(|primary| hasher.write_u32(primary));
    if levels.accents {
        marks(text).for_each(|weight| hasher.write_u8(weight));
    }
    if levels.case {
        cases(text).for_each(|weight| hasher.write_u8(weight));
    }
    specials(text).for_each(|(before, weight)| hasher.write_u32(before ^ u32::from(weight) << 24));
    hasher.write_u8(END);
}

/// Compares two characters; blanks count.
pub(super) fn compare_characters(left: char, right: char, levels: Levels) -> Ordering {
    let (mut left_bytes, mut right_bytes) = ([0; 4], [0; 4]);
    compare(
        left.encode_utf8(&mut left_bytes),
        right.encode_utf8(&mut right_bytes),
        levels,
    )
}
