//! Searches for a text in a text in linear time: CHARINDEX, REPLACE, and the fixed parts of LIKE patterns.
//!
//! Both texts are converted to the search bytes of their collation ([`Collation::push_search_form`]) and searched with `memchr::memmem`,
//! which takes linear time (Two-Way). A match counts only if it begins and ends at a character: `e` is not found in `æ`, whose search form
//! is `ae` where the two are equal.

use std::borrow::Cow;

use engine::cancel;
use engine::error::Result;
use engine::memory::Charge;
use engine::types::Collation;
use memchr::memmem::Finder;

/// Bytes searched between two looks: a millisecond or less.
const BLOCK_BYTES: usize = 1 << 20;
/// Characters, or bytes, of a text whose forms are made between two looks.
pub(super) const BLOCK_CHARACTERS: usize = 4_096;
/// The longest form of a character: four elements of four bytes with a byte for the case.
const FORM_BYTES_MAX: usize = 20;

/// A text as the bytes it is searched by.
pub(super) struct Form<'t> {
    pub(super) bytes: Cow<'t, [u8]>,
    _charge: Charge,
}

impl<'t> Form<'t> {
    /// # Errors
    /// 701 without memory for it, 3617 when the request is to stop.
    pub(super) fn of(text: &'t str, collation: Collation) -> Result<Form<'t>> {
        let mut charge = Charge::default();
        if collation.is_searched_as_written() {
            return Ok(Form {
                bytes: Cow::Borrowed(text.as_bytes()),
                _charge: charge,
            });
        }
        // What a byte of the text becomes at most; a character that is not ASCII has two or more.
        let factor = match (collation.has_expansions(), text.is_ascii()) {
            (false, true) => 1,
            (false, false) | (true, true) => 2,
            (true, false) => FORM_BYTES_MAX / 2,
        };
        let mut bytes = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let mut end = rest.len().min(BLOCK_CHARACTERS);
            while !rest.is_char_boundary(end) {
                end -= 1;
            }
            let (block, behind) = rest.split_at(end);
            cancel::spend_bytes(block.len())?;
            let wanted = bytes.len() + block.len() * factor;
            if wanted > bytes.capacity() {
                // Room for all of a text that is ASCII; else doubled, so that the bytes before are seldom moved.
                let room = match text.is_ascii() {
                    true => text.len() * factor,
                    false => wanted.max(2 * bytes.capacity()),
                };
                charge.grow_to(room as u64)?;
                bytes.reserve_exact(room - bytes.len());
            }
            collation.push_search_forms(block, &mut bytes);
            rest = behind;
        }
        Ok(Form {
            bytes: Cow::Owned(bytes),
            _charge: charge,
        })
    }
}

/// Where bytes begin in others, at or behind `from`.
///
/// # Errors
/// 3617 when the request is to stop.
pub(super) fn find_bytes(finder: &Finder<'_>, bytes: &[u8], from: usize) -> Result<Option<usize>> {
    let wanted = finder.needle().len();
    let step = BLOCK_BYTES.max(wanted);
    let mut at = from;
    loop {
        let end = bytes.len().min(at.saturating_add(step + wanted));
        let Some(block) = bytes.get(at..end) else {
            return Ok(None);
        };
        cancel::spend_bytes(block.len())?;
        if let Some(found) = finder.find(block) {
            return Ok(Some(at + found));
        }
        if end == bytes.len() {
            return Ok(None);
        }
        at += step;
    }
}

/// What is searched for.
pub struct Wanted {
    finder: Finder<'static>,
    collation: Collation,
    _charge: Charge,
}

impl Wanted {
    /// Prepares the search for a text under a collation.
    ///
    /// # Errors
    /// 701 without memory for it, 3617 when the request is to stop.
    pub fn new(text: &str, collation: Collation) -> Result<Wanted> {
        let form = Form::of(text, collation)?;
        let charge = Charge::of_large(form.bytes.len())?;
        Ok(Wanted {
            finder: Finder::new(&form.bytes).into_owned(),
            collation,
            _charge: charge,
        })
    }
}

impl Wanted {
    /// Characters that an occurrence has at most: each has a byte of the form at least.
    pub fn characters_max(&self) -> usize {
        self.finder.needle().len()
    }
}

/// A place between two characters of a text.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// Bytes of the text before it.
    text: usize,
    /// Bytes of the form before it.
    form: usize,
    /// Characters before it.
    characters: usize,
}

/// What was found: bytes of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    pub start: usize,
    pub end: usize,
    /// Characters of the text before it.
    pub characters_before: usize,
}

/// A text that is searched from its beginning to its end.
pub struct Searched<'t> {
    text: &'t str,
    form: Form<'t>,
    collation: Collation,
    /// Nothing is looked for before it.
    place: Place,
    /// For the forms of single characters.
    scratch: Vec<u8>,
}

impl<'t> Searched<'t> {
    /// Prepares the search in a text, from a character on.
    ///
    /// # Errors
    /// 701 without memory for it, 3617 when the request is to stop.
    pub fn new(text: &'t str, first_character: usize, collation: Collation) -> Result<Searched<'t>> {
        let mut searched = Searched {
            text,
            form: Form::of(text, collation)?,
            collation,
            place: Place::default(),
            scratch: Vec::new(),
        };
        while searched.place.characters < first_character {
            let Some(next) = searched.behind(searched.place)? else {
                break;
            };
            searched.place = next;
        }
        Ok(searched)
    }

    /// Looks from the text's beginning on again.
    pub fn begin_again(&mut self) {
        self.place = Place::default();
    }

    /// The place behind the next character; `None` at the end.
    fn behind(&mut self, place: Place) -> Result<Option<Place>> {
        let Some(character) = self.text.get(place.text..).and_then(|rest| rest.chars().next()) else {
            return Ok(None);
        };
        if place.characters.is_multiple_of(BLOCK_CHARACTERS) {
            cancel::spend_bytes(BLOCK_CHARACTERS)?;
        }
        self.scratch.clear();
        self.collation.push_search_form(character, &mut self.scratch);
        Ok(Some(Place {
            text: place.text + character.len_utf8(),
            form: place.form + self.scratch.len(),
            characters: place.characters + 1,
        }))
    }

    /// The last place with so many bytes of the form before it, or the first one with more. Characters without weights belong to the
    /// one before them.
    fn at_form(&mut self, mut place: Place, form: usize) -> Result<Place> {
        while let Some(next) = self.behind(place)? {
            if place.form > form || place.form == form && next.form > form {
                break;
            }
            place = next;
        }
        Ok(place)
    }

    /// What is found next; what is found then begins behind it.
    ///
    /// # Errors
    /// 3617 when the request is to stop.
    pub fn next(&mut self, wanted: &Wanted) -> Result<Option<Found>> {
        debug_assert_eq!(self.collation, wanted.collation);
        let length = wanted.finder.needle().len();
        if length == 0 {
            return Ok(None);
        }
        let mut from = self.place.form;
        while let Some(found) = find_bytes(&wanted.finder, &self.form.bytes, from)? {
            self.place = self.at_form(self.place, found)?;
            let start = self.place;
            if start.form == found {
                let end = self.at_form(start, found + length)?;
                if end.form == found + length {
                    self.place = end;
                    return Ok(Some(Found {
                        start: start.text,
                        end: end.text,
                        characters_before: start.characters,
                    }));
                }
                cancel::spend_bytes(length)?;
            }
            from = found + 1;
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// All that is found, as (characters before, what of the text).
    fn all<'t>(wanted: &str, text: &'t str, collation: Collation) -> Vec<(usize, &'t str)> {
        let wanted = Wanted::new(wanted, collation).unwrap();
        let mut searched = Searched::new(text, 0, collation).unwrap();
        let mut all = Vec::new();
        while let Some(found) = searched.next(&wanted).unwrap() {
            all.push((found.characters_before, &text[found.start..found.end]));
        }
        all
    }

    #[test]
    fn what_is_found_is_what_the_collation_has_equal() {
        let default = Collation::default();
        assert_eq!(all("aa", "AaaaA", default), [(0, "Aa"), (2, "aa")]);
        assert_eq!(all("é", "eÉΩé", default), [(1, "É"), (3, "é")]);
        assert_eq!(all("ω", "xΩ", default), [(1, "Ω")]);
        assert_eq!(all("a", "aA", Collation::Bin2), [(0, "a")]);
        assert_eq!(all("", "a", default), []);
        assert_eq!(all("ab", "a", default), []);
        assert_eq!(all("b  ", "ab   ", default), [(1, "b  ")]);
        // One character for two, two for one; not half of one.
        assert_eq!(all("ae", "xÆæae", Collation::CiAs), [(1, "Æ"), (2, "æ"), (3, "ae")]);
        assert_eq!(all("æ", "AEæ", Collation::CiAi), [(0, "AE"), (2, "æ")]);
        assert_eq!(all("e", "æe", Collation::CiAs), [(1, "e")]);
        assert_eq!(all("a", "æa", Collation::CiAs), [(1, "a")]);
        assert_eq!(all("ss", "Straße", Collation::CsAs), [(4, "ß")]);
        assert_eq!(all("æ", "ae", default), []);
        // An accent belongs to its letter, written as one character or two.
        assert_eq!(all("é", "xe\u{301}", Collation::CiAs), [(1, "e\u{301}")]);
        assert_eq!(all("e", "xé", Collation::CiAs), []);
        assert_eq!(
            all("e", "xée\u{301}e", Collation::CiAi),
            [(1, "é"), (2, "e\u{301}"), (4, "e")]
        );
        assert_eq!(all("E", "e", Collation::CsAi), []);
    }

    /// What lies across the end of a block is found, and nothing is found twice.
    #[test]
    fn blocks_overlap() {
        for before in [BLOCK_BYTES - 2, BLOCK_BYTES - 1, BLOCK_BYTES, 2 * BLOCK_BYTES + 1] {
            let text = format!("{}xyzxyz", "x".repeat(before));
            assert_eq!(
                all("xyz", &text, Collation::default()),
                [(before, "xyz"), (before + 3, "xyz")]
            );
        }
    }

    /// 8,000 characters in ten million took 15 s by comparing them at each place; and a request to stop is obeyed.
    #[test]
    fn a_long_text_is_searched_once() {
        let flag = cancel::Flag::default();
        let _serving = cancel::serve(Some(flag.clone()));
        let text = "a".repeat(10_000_000);
        let wanted = Wanted::new(&format!("{}b", "a".repeat(7_999)), Collation::default()).unwrap();
        let mut searched = Searched::new(&text, 0, Collation::default()).unwrap();
        assert_eq!(searched.next(&wanted).unwrap(), None);
        flag.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(searched.next(&wanted).unwrap_err().number, 3617);
        assert!(Form::of(&text, Collation::default()).is_err());
    }
}
