//! Reads a JSON text from its beginning: the value at a path is kept as a position in the text.

use std::ops::Range;

use engine::cancel;
use engine::error::Result;

use super::path::{Path, Step};
use crate::messages;

/// Objects and arrays within each other (sql-docs, "JSON data in SQL Server").
const DEPTH_MAX: usize = 128;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Number,
    Truth,
    Null,
    Object,
    Array,
}

/// A value and where it stands.
pub(super) type Found = (Kind, Range<usize>);

/// The byte at which a text is not what it should be.
pub(super) struct Malformed(usize);

/// The value that a path leads to in a text.
///
/// # Errors
/// 13609 for a text that is not JSON.
pub(super) fn find(text: &str, path: &Path) -> Result<Option<Found>> {
    cancel::spend_bytes(text.len())?;
    Reader::new(text).whole(&path.steps).map_err(|Malformed(at)| {
        let (position, character) = place_of(text, at);
        messages::malformed_json(character, position)
    })
}

/// The character at a byte, and how many stand before it; a full stop behind the end, as SQL Server says it.
pub(super) fn place_of(text: &str, at: usize) -> (usize, char) {
    let position = text.char_indices().take_while(|(place, _)| *place < at).count();
    (
        position,
        text.get(at..).and_then(|rest| rest.chars().next()).unwrap_or('.'),
    )
}

/// A string without its quotation marks and escapes. Half a pair of surrogates becomes U+FFFD.
pub(super) fn unescaped(written: &str) -> String {
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

/// A member of an object, or an element of an array.
#[derive(Clone, Debug)]
pub(super) struct Child {
    /// Where it begins: a member at its name.
    pub(super) begin: usize,
    /// The name of a member.
    pub(super) name: Option<String>,
    pub(super) kind: Kind,
    pub(super) place: Range<usize>,
}

/// The child that begins behind a place of an object or array: behind its opening, or behind the child before. The text is known to be
/// JSON.
pub(super) fn child_behind(text: &str, at: usize, is_object: bool) -> Option<Child> {
    let mut reader = Reader::new(text);
    reader.at = at;
    reader.eat(b',');
    reader.skip_space();
    if matches!(reader.peek(), None | Some(b'}' | b']')) {
        return None;
    }
    let begin = reader.at;
    let mut name = None;
    if is_object {
        reader.string().ok()?;
        name = text.get(begin..reader.at).map(unescaped);
        reader.expect(b':').ok()?;
    }
    let (kind, place) = reader.value(Some(&[]), 0).ok()??;
    Some(Child {
        begin,
        name,
        kind,
        place,
    })
}

/// Reads a text from its beginning.
pub(super) struct Reader<'t> {
    bytes: &'t [u8],
    pub(super) at: usize,
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str) -> Reader<'t> {
        Reader {
            bytes: text.as_bytes(),
            at: 0,
        }
    }

    /// The one value that a text is.
    pub(super) fn whole(&mut self, steps: &[Step]) -> std::result::Result<Option<Found>, Malformed> {
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

    pub(super) fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Whether the next byte that is not a space is this one; it is read then.
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        self.skip_space();
        let is_it = self.peek() == Some(byte);
        self.at += usize::from(is_it);
        is_it
    }

    pub(super) fn expect(&mut self, byte: u8) -> std::result::Result<(), Malformed> {
        match self.eat(byte) {
            true => Ok(()),
            false => Err(Malformed(self.at)),
        }
    }

    /// Reads a value; answers what the steps lead to in it. Without steps nothing is looked for.
    pub(super) fn value(
        &mut self,
        steps: Option<&[Step]>,
        depth: usize,
    ) -> std::result::Result<Option<Found>, Malformed> {
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

    pub(super) fn string(&mut self) -> std::result::Result<(), Malformed> {
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
