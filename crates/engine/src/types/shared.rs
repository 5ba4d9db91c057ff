//! Strings in memory, shared by all copies of a value.
//!
//! ```text
//! Shared  up to SHORT_BYTES_MAX | the content itself
//!         up to LARGE_BYTES_MIN | Arc<content>
//!         beyond                | Arc<content, charge>
//! ```
//! Most strings in tables are short: reading one in a scan allocates nothing, and copying it touches no shared counter. A row holds at most
//! 8,060 bytes, so most strings from tables are small. Larger strings are off-row, computed, or sent by a client. They can be gigabytes,
//! and are charged to the instance's memory ([`crate::memory`]) until the last copy is dropped.
//!
//! Character strings carry their collation, which costs no extra space. It matters only for SQL comparisons ([`crate::types::collation`]),
//! not for equality of contents.

use super::Collation;
use crate::error::{Error, Result};
use crate::memory::{self, Charge};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Strings of so many bytes and more carry a charge.
pub const LARGE_BYTES_MIN: usize = 16 << 10;

/// Longest string of any type, in bytes of its own encoding (sql-docs, "Maximum capacity specifications": 2^31-1).
pub const STRING_BYTES_MAX: usize = i32::MAX as usize;

/// Asks for the memory of a string that is about to be made; nothing for a small one.
///
/// # Errors
/// 7119 when it is longer than any string can be; 701 when there is no memory for it.
pub fn string_room(bytes: usize) -> Result<Charge> {
    match bytes {
        _ if bytes < LARGE_BYTES_MIN => Ok(Charge::default()),
        _ if bytes > STRING_BYTES_MAX => Err(Error::string_too_long()),
        _ => memory::require(bytes),
    }
}

/// Strings up to so many bytes lie in the value itself: as much as it has room for.
const SHORT_BYTES_MAX: usize = 21;

/// The content of a short string.
#[derive(Clone, Copy)]
struct Short {
    length: u8,
    bytes: [u8; SHORT_BYTES_MAX],
}

impl Short {
    fn new(content: &[u8]) -> Option<Short> {
        let mut bytes = [0; SHORT_BYTES_MAX];
        bytes.get_mut(..content.len())?.copy_from_slice(content);
        Some(Short {
            length: content.len() as u8,
            bytes,
        })
    }

    #[inline]
    fn content(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }
}

/// Content that carries its charge.
struct Large<T: ?Sized> {
    content: Box<T>,
    _charge: Charge,
}

enum Kept<T: ?Sized + Content> {
    Short(Short, T::Label),
    Small(Arc<T>, T::Label),
    Large(Arc<Large<T>>, T::Label),
}

/// What is shared, and what each copy says about it.
pub trait Content {
    /// Characters have a collation, bytes have none.
    type Label: Copy + Default;

    /// The content that these bytes are; they were made of such.
    fn of_bytes(bytes: &[u8]) -> &Self;
}

impl Content for str {
    type Label = Collation;

    #[inline]
    fn of_bytes(bytes: &[u8]) -> &str {
        std::str::from_utf8(bytes).expect("the bytes of a whole string")
    }
}

impl Content for [u8] {
    type Label = ();

    #[inline]
    fn of_bytes(bytes: &[u8]) -> &[u8] {
        bytes
    }
}

/// Characters or bytes, shared.
pub struct Shared<T: ?Sized + Content>(Kept<T>);

/// Characters, shared.
pub type Text = Shared<str>;
pub type Bytes = Shared<[u8]>;

impl<T: ?Sized + Content> Shared<T> {
    fn short(content: &[u8]) -> Option<Shared<T>> {
        Short::new(content).map(|short| Shared(Kept::Short(short, T::Label::default())))
    }

    fn small(content: Arc<T>) -> Shared<T> {
        Shared(Kept::Small(content, T::Label::default()))
    }

    fn large(content: Box<T>, charge: Charge) -> Shared<T> {
        let large = Large {
            content,
            _charge: charge,
        };
        Shared(Kept::Large(Arc::new(large), T::Label::default()))
    }
}

impl Text {
    /// A string whose memory was granted before it was made.
    pub fn charged(text: String, charge: Charge) -> Text {
        if text.len() < LARGE_BYTES_MIN {
            return Shared::short(text.as_bytes()).unwrap_or_else(|| Shared::small(text.into()));
        }
        Shared::large(text.into_boxed_str(), charge)
    }

    /// Whether its memory is charged by itself.
    pub fn is_charged(&self) -> bool {
        matches!(self.0, Kept::Large(..))
    }

    /// The collation it compares by: the default one, unless it was given another.
    pub fn collation(&self) -> Collation {
        match self.0 {
            Kept::Short(_, collation) | Kept::Small(_, collation) | Kept::Large(_, collation) => collation,
        }
    }

    /// The same characters, to be compared by another collation.
    #[must_use]
    pub fn collated(mut self, wanted: Collation) -> Text {
        match &mut self.0 {
            Kept::Short(_, collation) | Kept::Small(_, collation) | Kept::Large(_, collation) => *collation = wanted,
        }
        self
    }
}

impl Bytes {
    /// Bytes whose memory was granted before they were made.
    pub fn charged(bytes: Vec<u8>, charge: Charge) -> Bytes {
        if bytes.len() < LARGE_BYTES_MIN {
            return Shared::short(&bytes).unwrap_or_else(|| Shared::small(bytes.into()));
        }
        Shared::large(bytes.into_boxed_slice(), charge)
    }

    /// Whether its memory is charged by itself.
    pub fn is_charged(&self) -> bool {
        matches!(self.0, Kept::Large(..))
    }

    /// The bytes as an `Arc`.
    pub fn to_arc(&self) -> Arc<[u8]> {
        match &self.0 {
            Kept::Short(short, ()) => Arc::from(short.content()),
            Kept::Small(bytes, ()) => bytes.clone(),
            Kept::Large(large, ()) => Arc::from(&*large.content),
        }
    }
}

impl From<Arc<[u8]>> for Bytes {
    fn from(bytes: Arc<[u8]>) -> Bytes {
        if bytes.len() < LARGE_BYTES_MIN {
            return Shared::small(bytes);
        }
        Bytes::from(&*bytes)
    }
}

impl<T: ?Sized + Content> Deref for Shared<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match &self.0 {
            Kept::Short(short, _) => T::of_bytes(short.content()),
            Kept::Small(content, _) => content,
            Kept::Large(large, _) => &large.content,
        }
    }
}

impl<T: ?Sized + Content> AsRef<T> for Shared<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized + Content> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Shared(match &self.0 {
            Kept::Short(short, label) => Kept::Short(*short, *label),
            Kept::Small(content, label) => Kept::Small(content.clone(), *label),
            Kept::Large(large, label) => Kept::Large(large.clone(), *label),
        })
    }
}

impl<T: ?Sized + Content + PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: ?Sized + Content + fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}

impl Default for Text {
    fn default() -> Text {
        Text::from("")
    }
}

impl fmt::Display for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self)
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        if text.len() < LARGE_BYTES_MIN {
            return Shared::short(text.as_bytes()).unwrap_or_else(|| Shared::small(text.into()));
        }
        let charge = Charge::of_made(text.len());
        Shared::large(text.into(), charge)
    }
}

impl From<Arc<str>> for Text {
    fn from(text: Arc<str>) -> Text {
        if text.len() < LARGE_BYTES_MIN {
            return Shared::small(text);
        }
        Text::from(&*text)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        if text.len() < LARGE_BYTES_MIN {
            return Shared::short(text.as_bytes()).unwrap_or_else(|| Shared::small(text.into()));
        }
        let charge = Charge::of_made(text.len());
        Shared::large(text.into_boxed_str(), charge)
    }
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Bytes {
        if bytes.len() < LARGE_BYTES_MIN {
            return Shared::short(bytes).unwrap_or_else(|| Shared::small(bytes.into()));
        }
        let charge = Charge::of_made(bytes.len());
        Shared::large(bytes.into(), charge)
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Bytes {
        if bytes.len() < LARGE_BYTES_MIN {
            return Shared::short(&bytes).unwrap_or_else(|| Shared::small(bytes.into()));
        }
        let charge = Charge::of_made(bytes.len());
        Shared::large(bytes.into_boxed_slice(), charge)
    }
}

impl<const N: usize> From<[u8; N]> for Bytes {
    fn from(bytes: [u8; N]) -> Bytes {
        Bytes::from(bytes.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_strings_are_the_same_to_their_readers() {
        let (short, large) = (SHORT_BYTES_MAX, LARGE_BYTES_MIN);
        for length in [0, 1, short, short + 1, large - 1, large, 3 * large] {
            let text = Text::from("x".repeat(length));
            assert_eq!((text.len(), text.is_charged()), (length, length >= LARGE_BYTES_MIN));
            assert_eq!(text, Text::from("x".repeat(length).as_str()));
            assert_eq!(text, Text::charged("x".repeat(length), Charge::default()).clone());
            let bytes = Bytes::from(vec![7; length]);
            assert_eq!(bytes, Bytes::from(vec![7; length].as_slice()));
            assert_eq!(bytes.is_charged(), length >= LARGE_BYTES_MIN);
            assert_eq!(&*bytes.to_arc(), &*bytes.clone());
        }
        assert!(size_of::<Text>() <= 24 && size_of::<Bytes>() <= 24);
        // Characters are bytes of their own, whatever they are.
        assert_eq!(&*Text::from("Größe 漢字"), "Größe 漢字");
    }

    #[test]
    fn copies_keep_the_collation_and_contents_are_equal_whatever_it_is() {
        for length in [1, SHORT_BYTES_MAX + 1, LARGE_BYTES_MIN] {
            let plain = Text::from("x".repeat(length));
            let collated = plain.clone().collated(Collation::Bin2);
            let copies = (plain.collation(), collated.clone().collation());
            assert_eq!(copies, (Collation::default(), Collation::Bin2));
            assert_eq!(plain, collated);
        }
    }
}
