//! Values of the type `json` (sql-docs, "JSON data type").
//!
//! A value is the text of its object or array as SQL Server prints it: without spaces, with the first of several members of one name, its
//! strings escaped where they must be, its numbers as `decimal` writes them. SQL Server keeps bytes of its own instead; what it prints of
//! them, its limits and its error numbers are those that public projects note of SQL Server 2025.
//!
//! ```text
//! Writer   reads a text once, from beginning to end, and appends what is kept of it
//! ```
//! Invariant: a value of type `json` in the engine is what [`json_of`] answered for some text; reading it again answers the same.

use std::collections::HashSet;

use engine::cancel;
use engine::error::{Error, Result};
use engine::memory::Charge;
use engine::types::{Collation, Length, SqlType, Text, Value, cp1252, string_room};

use super::convert::convert;
use crate::messages;

/// Objects and arrays within each other.
const DEPTH_MAX: usize = 128;
/// Members of an object, elements of an array (sql-docs, "JSON data type": "Size limit for items in one object/array").
const ITEMS_MAX: usize = 65_535;
/// Names of members that a document has.
const NAMES_MAX: usize = 32_768;
/// Digits of a number that stays as it is written.
const DIGITS_MAX: usize = 38;
/// Digits after the point of a number that is written with an exponent.
const FRACTION_DIGITS: usize = 10;
/// Bytes of a number that its error shows.
const SHOWN_BYTES_MAX: usize = 128;
/// After so many bytes it is asked whether the statement goes on.
const SPENT_BYTES: usize = 65_536;
/// What a name takes beside its characters: its places in two sets.
const NAME_BYTES: usize = 64;

/// A text as json.
///
/// # Errors
/// 13609 for a text that is not an object or array; 13645, 13647, 13649 for one beyond the limits; 1007 for a number; 701.
pub fn json_of(text: &str) -> Result<Value> {
    let mut writer = Writer {
        text,
        at: 0,
        spent_to: 0,
        room: string_room(text.len())?,
        names_bytes: 0,
        written: String::with_capacity(text.len()),
        names: HashSet::new(),
    };
    writer.skip_space();
    if !matches!(writer.peek(), Some(b'{' | b'[')) {
        return Err(writer.malformed(writer.at));
    }
    writer.value(0)?;
    writer.skip_space();
    if writer.at < text.len() {
        return Err(writer.malformed(writer.at));
    }
    drop(writer.room);
    let charge = string_room(writer.written.len())?;
    Ok(Value::Text(Text::charged(writer.written, charge)))
}

/// A json as a string of its value's collation, which is never cut.
///
/// # Errors
/// 13640 when code page 1252 lacks a character, 13639 when the string is too short.
pub fn json_text(value: &Value, to: SqlType) -> Result<Value> {
    let text = value.as_str().unwrap_or_default();
    let collation = match value {
        Value::Text(text) => text.collation(),
        _ => Collation::default(),
    };
    if !to.is_unicode() && !collation.is_utf8() && !cp1252::holds(text) {
        return Err(messages::json_target_code_page());
    }
    let units = match () {
        () if to.is_unicode() => text.encode_utf16().count(),
        () if collation.is_utf8() => text.len(),
        () => text.chars().count(),
    };
    if units > super::data_type::byte_length(to).units_max() {
        return Err(messages::json_target_too_small());
    }
    convert(value, SqlType::NVarChar(Length::Max), to, None)
}

/// 13609 at a byte, which is shown as a character of its own; a full stop behind the end.
fn malformed_at(text: &str, at: usize) -> Error {
    let byte = text.as_bytes().get(at).copied();
    messages::malformed_json_value(byte.map_or('.', char::from), at)
}

/// Reads a text from its beginning, and writes what is kept.
struct Writer<'t> {
    text: &'t str,
    at: usize,
    /// How much of the text the cancellation of the statement has been asked for.
    spent_to: usize,
    /// The charge for what is written and for the names.
    room: Charge,
    names_bytes: usize,
    written: String,
    /// Names of members of the whole document.
    names: HashSet<String>,
}

impl Writer<'_> {
    fn malformed(&self, at: usize) -> Error {
        malformed_at(self.text, at)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Whether the next byte that is not a space is this one; it is read and written then.
    fn take(&mut self, byte: u8) -> bool {
        self.skip_space();
        let is_it = self.peek() == Some(byte);
        if is_it {
            self.at += 1;
            self.written.push(char::from(byte));
        }
        is_it
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        match self.take(byte) {
            true => Ok(()),
            false => Err(self.malformed(self.at)),
        }
    }

    fn value(&mut self, depth: usize) -> Result<()> {
        self.skip_space();
        if self.at - self.spent_to >= SPENT_BYTES {
            cancel::spend_bytes(self.at - self.spent_to)?;
            self.spent_to = self.at;
        }
        match self.peek() {
            Some(b'{' | b'[') if depth == DEPTH_MAX => Err(messages::json_too_deep()),
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'"') => {
                let meant = self.string()?;
                push_string(&mut self.written, &meant);
                Ok(())
            }
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            _ => self.number(),
        }
    }

    /// Charges what is written, which is longer than its text where numbers have an exponent (5 characters become up to 40), and names.
    ///
    /// # Errors
    /// 701
    fn make_room(&mut self) -> Result<()> {
        self.room.grow_to((self.written.len() + self.names_bytes) as u64)
    }

    /// The first member of a name stays.
    fn object(&mut self, depth: usize) -> Result<()> {
        self.expect(b'{')?;
        if self.take(b'}') {
            return Ok(());
        }
        let (mut own, mut items) = (HashSet::new(), 0);
        loop {
            self.skip_space();
            let begin = self.written.len();
            let name = self.string()?;
            push_string(&mut self.written, &name);
            self.expect(b':')?;
            self.value(depth)?;
            items += 1;
            self.note(&name, items)?;
            if !own.insert(name) {
                // The comma before it goes as well.
                self.written.truncate(begin.saturating_sub(1));
            }
            if !self.take(b',') {
                return self.expect(b'}');
            }
        }
    }

    /// Counts a member.
    fn note(&mut self, name: &str, items: usize) -> Result<()> {
        if items > ITEMS_MAX {
            return Err(messages::json_too_many_items());
        }
        if !self.names.contains(name) {
            self.names.insert(name.to_owned());
            // It is in the set of its object, too.
            self.names_bytes += 2 * name.len() + NAME_BYTES;
            self.make_room()?;
        }
        match self.names.len() > NAMES_MAX {
            true => Err(messages::json_too_many_keys()),
            false => Ok(()),
        }
    }

    fn array(&mut self, depth: usize) -> Result<()> {
        self.expect(b'[')?;
        if self.take(b']') {
            return Ok(());
        }
        for items in 1.. {
            if items > ITEMS_MAX {
                return Err(messages::json_too_many_items());
            }
            self.value(depth)?;
            if !self.take(b',') {
                break;
            }
        }
        self.expect(b']')
    }

    fn word(&mut self, word: &'static str) -> Result<()> {
        let is_it = self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word));
        if !is_it {
            return Err(self.malformed(self.at));
        }
        self.at += word.len();
        self.written.push_str(word);
        Ok(())
    }

    /// What a string means. What is wrong in it is reported at its opening.
    fn string(&mut self) -> Result<String> {
        let (text, begin) = (self.text, self.at);
        let malformed = || malformed_at(text, begin);
        let mut letters = text.get(begin..).unwrap_or_default().char_indices();
        if letters.next().is_none_or(|(_, first)| first != '"') {
            return Err(malformed());
        }
        let mut units: Vec<u16> = Vec::new();
        while let Some((place, letter)) = letters.next() {
            let meant = match letter {
                '"' => {
                    self.at = begin + place + 1;
                    return Ok(String::from_utf16_lossy(&units));
                }
                '\\' => match letters.next().map(|(_, escaped)| escaped) {
                    Some(plain @ ('"' | '\\' | '/')) => plain,
                    Some('b') => '\u{8}',
                    Some('f') => '\u{c}',
                    Some('n') => '\n',
                    Some('r') => '\r',
                    Some('t') => '\t',
                    Some('u') => {
                        let digits: String = letters.by_ref().take(4).map(|(_, digit)| digit).collect();
                        let is_hex = digits.len() == 4 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
                        let unit = is_hex.then(|| u16::from_str_radix(&digits, 16).ok()).flatten();
                        units.push(unit.ok_or_else(malformed)?);
                        continue;
                    }
                    _ => return Err(malformed()),
                },
                control if u32::from(control) < 0x20 => return Err(malformed()),
                other => other,
            };
            units.extend_from_slice(meant.encode_utf16(&mut [0; 2]));
        }
        Err(malformed())
    }

    /// `-?(0|[1-9]d*)(.d+)?([eE][+-]?d+)?`, and no digit, letter or point behind it.
    fn number(&mut self) -> Result<()> {
        let begin = self.at;
        let rest = self.text.get(begin..).unwrap_or_default();
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        let length = rest.bytes().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        let written = rest.get(..length).unwrap_or_default();
        let kept = match Number::of(written) {
            Some(number) => number.kept(written)?,
            None => return Err(self.malformed(begin)),
        };
        self.written.push_str(&kept);
        self.at = begin + length;
        self.make_room()
    }
}

/// The parts of a number.
struct Number<'t> {
    is_negative: bool,
    whole: &'t str,
    fraction: &'t str,
    has_exponent: bool,
}

impl Number<'_> {
    fn of(written: &str) -> Option<Number<'_>> {
        let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let unsigned = written.strip_prefix('-').unwrap_or(written);
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
            None => (unsigned, None),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (mantissa, None),
        };
        let is_whole = is_digits(whole) && (whole.len() == 1 || !whole.starts_with('0'));
        let is_one = is_whole && fraction.is_none_or(is_digits) && exponent.is_none_or(is_digits);
        is_one.then_some(Number {
            is_negative: unsigned.len() < written.len(),
            whole,
            fraction: fraction.unwrap_or_default(),
            has_exponent: exponent.is_some(),
        })
    }

    /// How it is kept: as it is written if a `decimal` holds its digits, else as a float with ten digits after the point.
    fn kept(&self, written: &str) -> Result<String> {
        let out_of_range = |state| Error {
            state,
            ..messages::json_number_out_of_range(written.get(..SHOWN_BYTES_MAX).unwrap_or(written))
        };
        let digits = self.whole.trim_start_matches('0').len() + self.fraction.len();
        if !self.has_exponent && digits <= DIGITS_MAX {
            let is_zero = [self.whole, self.fraction]
                .iter()
                .all(|part| part.bytes().all(|digit| digit == b'0'));
            let unsigned = written.trim_start_matches('-');
            return Ok(if is_zero { unsigned } else { written }.to_owned());
        }
        if !self.has_exponent && self.fraction.is_empty() {
            return Err(out_of_range(3));
        }
        let number: f64 = written.parse().map_err(|_| out_of_range(5))?;
        if !number.is_finite() || number.abs() >= 1e28_f64.next_up() {
            return Err(out_of_range(5));
        }
        let fixed = format!("{:.FRACTION_DIGITS$}", number.abs());
        let is_zero = fixed.bytes().all(|byte| matches!(byte, b'0' | b'.'));
        let sign = if self.is_negative && !is_zero { "-" } else { "" };
        Ok(format!("{sign}{fixed}"))
    }
}

/// A string between quotation marks, with the escapes that it must have.
fn push_string(output: &mut String, text: &str) {
    output.push('"');
    for character in text.chars() {
        match character {
            '"' => output.push_str("\\\""),
            '\\' => output.push_str("\\\\"),
            '\u{8}' => output.push_str("\\b"),
            '\u{c}' => output.push_str("\\f"),
            '\n' => output.push_str("\\n"),
            '\r' => output.push_str("\\r"),
            '\t' => output.push_str("\\t"),
            control if u32::from(control) < 0x20 => output.push_str(&format!("\\u{:04X}", u32::from(control))),
            other => output.push(other),
        }
    }
    output.push('"');
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn kept(text: &str) -> std::result::Result<String, (i32, u8, String)> {
        match json_of(text) {
            Ok(value) => {
                let own = value.as_str().unwrap().to_owned();
                assert_eq!(json_of(&own).unwrap().as_str(), Some(own.as_str()), "{text}");
                Ok(own)
            }
            Err(error) => Err((error.number, error.state, error.message.to_string())),
        }
    }

    #[test]
    fn what_is_kept_of_a_text_is_printed_without_spaces_and_with_the_first_of_equal_names() {
        for (text, expected) in [
            (" { \"b\" : 1 , \"a\" : [ ] } ", r#"{"b":1,"a":[]}"#),
            (r#"{"dup":1,"x":2,"dup":{"y":3}}"#, r#"{"dup":1,"x":2}"#),
            (r#"{"a":1,"a":2,"A":3}"#, r#"{"a":1,"A":3}"#),
            (
                r#"["\/","\u0041\ud83d\ude00","\u0001\t\"\\"]"#,
                "[\"/\",\"A😀\",\"\\u0001\\t\\\"\\\\\"]",
            ),
            (r#"["\ud83d"]"#, "[\"\u{FFFD}\"]"),
            ("[1.50,-0,-0.0,0.00,-1]", "[1.50,0,0.0,0.00,-1]"),
            (
                "[1e2,1e28,1e-11,-1e-11]",
                "[100.0000000000,9999999999999999583119736832.0000000000,0.0000000000,0.0000000000]",
            ),
            ("[true,false,null]", "[true,false,null]"),
        ] {
            assert_eq!(kept(text).as_deref(), Ok(expected), "{text}");
        }
    }

    /// Grants everything, and notes how much was asked for each time.
    #[derive(Default)]
    struct Asked(std::sync::Mutex<Vec<u64>>);

    impl engine::memory::Accountant for Asked {
        fn take(&self, bytes: u64) -> bool {
            self.0.lock().unwrap().push(bytes);
            true
        }

        fn take_beyond(&self, _: u64) {}

        fn give_back(&self, _: u64) {}
    }

    /// Numbers with exponents are eight times as long when they are kept, and nothing was asked for until all of them were written.
    #[test]
    fn what_becomes_longer_than_its_text_is_charged_while_it_does() {
        let text = format!("[{}]", vec!["1e27"; 60_000].join(","));
        let asked = std::sync::Arc::new(Asked::default());
        let working = engine::memory::enter(asked.clone());
        let bytes = json_of(&text).unwrap().as_str().unwrap().len() as u64;
        drop(working);
        assert!(bytes > 7 * text.len() as u64, "{bytes}");
        let steps = asked
            .0
            .lock()
            .unwrap()
            .iter()
            .filter(|bytes| **bytes == engine::memory::STEP_BYTES)
            .count() as u64;
        assert!(steps >= bytes / engine::memory::STEP_BYTES - 1, "{steps} for {bytes}");
    }

    #[test]
    fn a_mistake_is_reported_at_its_byte() {
        for (text, character, position) in [
            ("1", '1', 0),
            ("", '.', 0),
            ("[1", '.', 2),
            ("{\"a\":tru}", 't', 5),
            ("[01]", '0', 1),
            ("[1.]", '1', 1),
            ("[-]", '-', 1),
            ("[\"ab]", '"', 1),
            ("[\"\\x\"]", '"', 1),
            ("{} x", 'x', 3),
            ("[é]", 'Ã', 1),
            ("[1,]", ']', 3),
        ] {
            let words = format!("Unexpected character '{character}' is found at position {position}.");
            let (number, state, message) = kept(text).unwrap_err();
            assert_eq!((number, state), (13609, 9), "{text}");
            assert!(message.ends_with(&words), "{text}: {message}");
        }
    }

    #[test]
    fn the_limits_are_those_of_the_type() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(kept(&nested(128)).is_ok());
        assert_eq!(kept(&nested(129)).unwrap_err().0, 13645);
        let items = |count: usize| format!("[{}]", vec!["1"; count].join(","));
        assert!(kept(&items(65_535)).is_ok());
        assert_eq!(kept(&items(65_536)).unwrap_err().0, 13647);
        let names: Vec<String> = (0..32_769).map(|number| format!("\"n{number}\":1")).collect();
        assert!(kept(&format!("{{{}}}", names[..32_768].join(","))).is_ok());
        assert_eq!(kept(&format!("{{{}}}", names.join(","))).unwrap_err().0, 13649);
        let digits = "1".repeat(38);
        assert_eq!(kept(&format!("[{digits}]")), Ok(format!("[{digits}]")));
        let state = |text: &str| kept(text).map_err(|(number, state, _)| (number, state));
        assert_eq!(state(&format!("[{digits}1]")), Err((1007, 3)));
        assert_eq!(state("[1e29]"), Err((1007, 5)));
        assert_eq!(state("[1e400]"), Err((1007, 5)));
    }
}
