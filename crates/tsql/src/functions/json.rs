//! JSON_VALUE, JSON_QUERY and ISJSON (sql-docs, "JSON functions"; paths: "JSON path expressions").
//!
//! A text is read once, from its beginning to its end, and what the path leads to is kept as its place in the text: nothing is made
//! of values that nobody asked for. Numbers come out as they are written.

use std::ops::Range;

use engine::cancel;
use engine::error::{Error, Result};
use engine::types::{Length, SqlType, Value};

use super::Answer::Fixed;
use super::Parameter::Text;
use super::{Call, INT, Signature, signature};
use crate::messages;

pub(super) const FUNCTIONS: &[Signature] = &[
    signature(
        "json_value",
        2,
        &[Text, Text],
        Fixed(SqlType::NVarChar(Length::Limited(VALUE_CHARACTERS_MAX as u16))),
        json_value,
    )
    .told("json, path: the scalar value at a path"),
    signature(
        "json_query",
        1,
        &[Text, Text],
        Fixed(SqlType::NVarChar(Length::Max)),
        json_query,
    )
    .told("json, path: the object or array at a path"),
    signature("isjson", 1, &[Text], INT, isjson).told("text: 1 if the text is a JSON object or array"),
];

/// What JSON_VALUE answers is nvarchar(4000).
const VALUE_CHARACTERS_MAX: usize = 4000;
/// Objects and arrays within each other (sql-docs, "JSON data in SQL Server").
const DEPTH_MAX: usize = 128;
/// Bytes read in the time of a step.
const BYTES_PER_STEP: usize = 64;

/// A step of a path.
#[derive(Debug, PartialEq)]
enum Step {
    Member(String),
    Element(usize),
}

/// `[lax | strict] $.a."b c"[0]`
#[derive(Debug, PartialEq)]
struct Path {
    /// What is not there is an error.
    strict: bool,
    steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Truth,
    Null,
    Object,
    Array,
}

/// A value and where it stands.
type Found = (Kind, Range<usize>);

/// The byte at which a text is not what it should be.
struct Malformed(usize);

fn json_value(call: &Call<'_>) -> Result<Value> {
    let (Some(text), Some(path)) = (call.text(0), call.text(1)) else {
        return Ok(Value::Null);
    };
    let path = path_of(path)?;
    let strictly = |error: fn() -> Error| if path.strict { Err(error()) } else { Ok(Value::Null) };
    let Some((kind, place)) = find(text, &path)? else {
        return strictly(messages::no_json_property);
    };
    let written = &text[place];
    let value = match kind {
        Kind::Null => return Ok(Value::Null),
        Kind::Object | Kind::Array => return strictly(messages::no_json_scalar),
        Kind::Number | Kind::Truth => written.to_owned(),
        Kind::Text => unescaped(written),
    };
    match value.encode_utf16().count() > VALUE_CHARACTERS_MAX {
        true => strictly(messages::json_value_too_long),
        false => Ok(value.into()),
    }
}

fn json_query(call: &Call<'_>) -> Result<Value> {
    let Some(text) = call.text(0) else {
        return Ok(Value::Null);
    };
    let path = match (call.values.len(), call.text(1)) {
        (1, _) => path_of("$")?,
        (_, Some(path)) => path_of(path)?,
        (_, None) => return Ok(Value::Null),
    };
    match find(text, &path)? {
        Some((Kind::Object | Kind::Array, place)) => Ok(text[place].into()),
        None if path.strict => Err(messages::no_json_property()),
        Some(_) if path.strict => Err(messages::no_json_object()),
        _ => Ok(Value::Null),
    }
}

/// Whether a text is an object or an array.
fn isjson(call: &Call<'_>) -> Result<Value> {
    let Some(text) = call.text(0) else {
        return Ok(Value::Null);
    };
    cancel::spend(text.len() / BYTES_PER_STEP)?;
    let read = Reader::new(text).whole(&[]);
    Ok(Value::Int(i32::from(matches!(
        read,
        Ok(Some((Kind::Object | Kind::Array, _)))
    ))))
}

/// The value that a path leads to in a text.
///
/// # Errors
/// 13609 for a text that is not JSON.
fn find(text: &str, path: &Path) -> Result<Option<Found>> {
    cancel::spend(text.len() / BYTES_PER_STEP)?;
    Reader::new(text).whole(&path.steps).map_err(|Malformed(at)| {
        let (position, character) = place_of(text, at);
        messages::malformed_json(character, position)
    })
}

/// The character at a byte, and how many stand before it; a full stop behind the end, as SQL Server says it.
fn place_of(text: &str, at: usize) -> (usize, char) {
    let position = text.char_indices().take_while(|(place, _)| *place < at).count();
    (
        position,
        text.get(at..).and_then(|rest| rest.chars().next()).unwrap_or('.'),
    )
}

/// # Errors
/// 13607 for a malformed path.
fn path_of(text: &str) -> Result<Path> {
    let malformed = |at: usize| {
        let (position, character) = place_of(text, at);
        messages::malformed_json_path(character, position)
    };
    let mut rest = text.trim_start();
    let strict = rest.starts_with("strict");
    for mode in ["strict", "lax"] {
        rest = rest.strip_prefix(mode).map_or(rest, str::trim_start);
    }
    let at = |rest: &str| text.len() - rest.len();
    rest = rest.strip_prefix('$').ok_or_else(|| malformed(at(rest)))?;
    let mut steps = Vec::new();
    while !rest.trim_end().is_empty() {
        let (step, behind) = step_of(rest).ok_or_else(|| malformed(at(rest)))?;
        steps.push(step);
        rest = behind;
    }
    Ok(Path { strict, steps })
}

/// The step at the beginning of a path, and what follows it.
fn step_of(text: &str) -> Option<(Step, &str)> {
    if let Some(number) = text.strip_prefix('[') {
        let (digits, behind) = number.split_once(']')?;
        return Some((Step::Element(digits.trim().parse().ok()?), behind));
    }
    let name = text.strip_prefix('.')?;
    if name.starts_with('"') {
        let mut reader = Reader::new(name);
        reader.string().ok()?;
        return Some((Step::Member(unescaped(&name[..reader.at])), &name[reader.at..]));
    }
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let length = name.find(|letter| !is_part(letter)).unwrap_or(name.len());
    let is_name = length > 0 && !name.starts_with(|letter: char| letter.is_ascii_digit());
    is_name.then(|| (Step::Member(name[..length].to_owned()), &name[length..]))
}

/// A string without its quotation marks and escapes. Half a pair of surrogates becomes U+FFFD.
fn unescaped(written: &str) -> String {
    let inner = written
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .unwrap_or(written);
    if !inner.contains('\\') {
        return inner.to_owned();
    }
    let mut units = Vec::with_capacity(inner.len());
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        let meant = match (letter, letter == '\\') {
            (plain, false) => plain,
            _ => match letters.next() {
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some('u') => {
                    let digits: String = letters.by_ref().take(4).collect();
                    units.push(u16::from_str_radix(&digits, 16).unwrap_or(0xFFFD));
                    continue;
                }
                Some(other) => other,
                None => continue,
            },
        };
        units.extend_from_slice(meant.encode_utf16(&mut [0; 2]));
    }
    String::from_utf16_lossy(&units)
}

/// Reads a text from its beginning.
struct Reader<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Reader<'t> {
        Reader {
            bytes: text.as_bytes(),
            at: 0,
        }
    }

    /// The one value that a text is.
    fn whole(&mut self, steps: &[Step]) -> std::result::Result<Option<Found>, Malformed> {
        let found = self.value(Some(steps), 0)?;
        self.skip_space();
        match self.at == self.bytes.len() {
            true => Ok(found),
            false => Err(Malformed(self.at)),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Whether the next byte that is not a space is this one; it is read then.
    fn eat(&mut self, byte: u8) -> bool {
        self.skip_space();
        let is_it = self.peek() == Some(byte);
        self.at += usize::from(is_it);
        is_it
    }

    fn expect(&mut self, byte: u8) -> std::result::Result<(), Malformed> {
        match self.eat(byte) {
            true => Ok(()),
            false => Err(Malformed(self.at)),
        }
    }

    /// Reads a value; answers what the steps lead to in it. Without steps nothing is looked for.
    fn value(&mut self, steps: Option<&[Step]>, depth: usize) -> std::result::Result<Option<Found>, Malformed> {
        self.skip_space();
        let begin = self.at;
        if depth > DEPTH_MAX {
            return Err(Malformed(begin));
        }
        let (kind, within) = match self.peek() {
            Some(b'{') => (Kind::Object, self.object(steps, depth)?),
            Some(b'[') => (Kind::Array, self.array(steps, depth)?),
            Some(b'"') => (Kind::Text, self.string().map(|()| None)?),
            Some(b't') => (Kind::Truth, self.word(b"true").map(|()| None)?),
            Some(b'f') => (Kind::Truth, self.word(b"false").map(|()| None)?),
            Some(b'n') => (Kind::Null, self.word(b"null").map(|()| None)?),
            _ => (Kind::Number, self.number().map(|()| None)?),
        };
        Ok(match steps {
            Some([]) => Some((kind, begin..self.at)),
            _ => within,
        })
    }

    /// The first member of a name is the one that is meant.
    fn object(&mut self, steps: Option<&[Step]>, depth: usize) -> std::result::Result<Option<Found>, Malformed> {
        self.expect(b'{')?;
        let mut wanted = match steps {
            Some([Step::Member(name), rest @ ..]) => Some((name, rest)),
            _ => None,
        };
        let mut found = None;
        if self.eat(b'}') {
            return Ok(None);
        }
        loop {
            self.skip_space();
            let begin = self.at;
            self.string()?;
            let is_it = wanted.is_some_and(|(name, _)| self.is_named(begin..self.at, name));
            let rest = if is_it {
                wanted.take().map(|(_, rest)| rest)
            } else {
                None
            };
            self.expect(b':')?;
            let value = self.value(rest, depth + 1)?;
            found = found.or(value);
            if !self.eat(b',') {
                return self.expect(b'}').map(|()| found);
            }
        }
    }

    fn is_named(&self, place: Range<usize>, name: &str) -> bool {
        let written = std::str::from_utf8(&self.bytes[place]);
        written.is_ok_and(|written| unescaped(written) == name)
    }

    fn array(&mut self, steps: Option<&[Step]>, depth: usize) -> std::result::Result<Option<Found>, Malformed> {
        self.expect(b'[')?;
        let wanted = match steps {
            Some([Step::Element(place), rest @ ..]) => Some((*place, rest)),
            _ => None,
        };
        let mut found = None;
        if self.eat(b']') {
            return Ok(None);
        }
        for place in 0.. {
            let rest = wanted.filter(|(meant, _)| *meant == place).map(|(_, rest)| rest);
            let value = self.value(rest, depth + 1)?;
            found = found.or(value);
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b']').map(|()| found)
    }

    fn word(&mut self, word: &[u8]) -> std::result::Result<(), Malformed> {
        for byte in word {
            if self.peek() != Some(*byte) {
                return Err(Malformed(self.at));
            }
            self.at += 1;
        }
        Ok(())
    }

    fn string(&mut self) -> std::result::Result<(), Malformed> {
        self.word(b"\"")?;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                Some(0x20..) => self.at += 1,
                _ => return Err(Malformed(self.at)),
            }
        }
    }

    fn escape(&mut self) -> std::result::Result<(), Malformed> {
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                for _ in 0..4 {
                    self.at += 1;
                    if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                        return Err(Malformed(self.at));
                    }
                }
                self.at += 1;
            }
            _ => return Err(Malformed(self.at)),
        }
        Ok(())
    }

    /// `-?(0|[1-9]d*)(.d+)?([eE][+-]?d+)?`
    fn number(&mut self) -> std::result::Result<(), Malformed> {
        self.at += usize::from(self.peek() == Some(b'-'));
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> std::result::Result<(), Malformed> {
        let begin = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        match self.at > begin {
            true => Ok(()),
            false => Err(Malformed(begin)),
        }
    }
}
