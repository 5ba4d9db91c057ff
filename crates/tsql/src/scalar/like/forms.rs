//! Matches a pattern against the bytes that the collation searches by: for long texts, where what is fixed between two `%` is found in
//! linear time, and for characters that are equal to several (`Straße` is like `%ss%`, PATINDEX finds `æ` in `ae`).
//!
//! The pattern is split at each `%` into *pieces*. The first must match at the text's beginning, the last at its end, and each of the
//! others at its first occurrence after the previous piece; a later occurrence would never be better. Within a piece, characters that stand
//! side by side are compared by their form as one, `_` and sets take one character.

use engine::cancel;
use engine::error::Result;
use engine::memory::Charge;
use engine::types::Collation;
use memchr::memmem::Finder;

use super::{Element, matches_one};
use crate::scalar::search::{BLOCK_CHARACTERS, Form, find_bytes};

/// A part of a piece.
enum Part<'p> {
    /// The form of characters side by side.
    Run(Vec<u8>),
    /// `_` or a set.
    One(&'p Element),
}

/// What stands between two `%`.
struct Piece<'p> {
    parts: Vec<Part<'p>>,
    collation: Collation,
}

impl<'p> Piece<'p> {
    fn new(elements: &'p [Element], collation: Collation) -> Piece<'p> {
        let mut parts = Vec::new();
        for element in elements {
            match (element, parts.last_mut()) {
                (Element::Literal(literal), Some(Part::Run(run))) => collation.push_search_form(*literal, run),
                (Element::Literal(literal), _) => {
                    let mut run = Vec::new();
                    collation.push_search_form(*literal, &mut run);
                    parts.push(Part::Run(run));
                }
                _ => parts.push(Part::One(element)),
            }
        }
        Piece { parts, collation }
    }

    /// Where it ends when it begins at a character; `None` when it does not match there.
    fn end_at(&self, text: &Text<'_>, start: usize) -> Option<usize> {
        let mut at = start;
        for part in &self.parts {
            at = match part {
                Part::Run(run) => text.behind_run(at, run)?,
                Part::One(element) => {
                    let character = text.character(at)?;
                    matches_one(element, character, self.collation).then_some(at + 1)?
                }
            };
        }
        Some(at)
    }

    /// The first place at or behind a character where it matches and `is_end` agrees with its end: beginning and end.
    fn find(
        &self,
        text: &Text<'_>,
        from: usize,
        is_end: impl Fn(&Text<'_>, usize) -> bool,
    ) -> Result<Option<(usize, usize)>> {
        let finder = match self.parts.first() {
            Some(Part::Run(run)) if !run.is_empty() => Some(Finder::new(run)),
            _ => None,
        };
        let mut start = from;
        while start <= text.count {
            if let Some(finder) = &finder {
                let Some(found) = find_bytes(finder, &text.form.bytes, text.start(start))? else {
                    return Ok(None);
                };
                start = text.character_at(found).max(start);
            }
            cancel::spend(1 + self.parts.len())?;
            if let Some(end) = self.end_at(text, start).filter(|end| is_end(text, *end)) {
                return Ok(Some((start, end)));
            }
            start += 1;
        }
        Ok(None)
    }

    /// Bytes of the form that it matches, where they are known.
    fn length(&self) -> Option<usize> {
        let parts = self.parts.iter().map(|part| match part {
            Part::Run(run) => Some(run.len()),
            Part::One(_) => None,
        });
        parts.sum()
    }
}

/// A text with its form.
struct Text<'t> {
    text: &'t str,
    count: usize,
    /// Its characters, unless each is a byte.
    characters: Option<Vec<char>>,
    /// Where the form of each character begins, and where the last one ends, unless each form is a byte.
    starts: Option<Vec<usize>>,
    form: Form<'t>,
    _charge: Charge,
}

impl<'t> Text<'t> {
    fn new(text: &'t str, collation: Collation) -> Result<Text<'t>> {
        let form = Form::of(text, collation)?;
        let count = if text.is_ascii() {
            text.len()
        } else {
            text.chars().count()
        };
        let is_wide = count < text.len();
        // Without expansions a form has a byte at least.
        let has_starts = collation.has_expansions() || form.bytes.len() > count;
        let room = usize::from(is_wide) * size_of::<char>() + usize::from(has_starts) * size_of::<usize>();
        let charge = Charge::of_large(count.saturating_mul(room))?;
        Ok(Text {
            text,
            count,
            characters: is_wide.then(|| text.chars().collect()),
            starts: match has_starts {
                true => Some(starts_of(text, count, collation)?),
                false => None,
            },
            form,
            _charge: charge,
        })
    }

    fn character(&self, at: usize) -> Option<char> {
        match &self.characters {
            Some(characters) => characters.get(at).copied(),
            None => self.text.as_bytes().get(at).copied().map(char::from),
        }
    }

    /// Where the form of a character begins; behind the last one, where its form ends.
    fn start(&self, at: usize) -> usize {
        match &self.starts {
            Some(starts) => starts.get(at).copied().unwrap_or(self.form.bytes.len()),
            None => at,
        }
    }

    /// The last character whose form begins at or before a byte of the form.
    fn character_at(&self, byte: usize) -> usize {
        match &self.starts {
            Some(starts) => starts.partition_point(|start| *start <= byte).saturating_sub(1),
            None => byte,
        }
    }

    /// The character behind a run that begins at a character.
    fn behind_run(&self, start: usize, run: &[u8]) -> Option<usize> {
        let from = self.start(start);
        let end = from + run.len();
        if self.form.bytes.get(from..end) != Some(run) {
            return None;
        }
        let behind = self.character_at(end);
        (self.start(behind) == end).then_some(behind)
    }

    /// Characters up to the last one that is not a blank.
    fn without_blanks(&self) -> usize {
        self.count - (self.text.len() - self.text.trim_end_matches(' ').len())
    }
}

fn starts_of(text: &str, count: usize, collation: Collation) -> Result<Vec<usize>> {
    let mut starts = Vec::with_capacity(count + 1);
    let (mut at, mut own) = (0, Vec::new());
    for (number, character) in text.chars().enumerate() {
        if number.is_multiple_of(BLOCK_CHARACTERS) {
            cancel::spend_bytes(BLOCK_CHARACTERS)?;
        }
        starts.push(at);
        own.clear();
        collation.push_search_form(character, &mut own);
        at += own.len();
    }
    starts.push(at);
    Ok(starts)
}

/// The character where what follows a leading `%` begins, or 0; `None` when the pattern does not match. With `may_end_in_blanks`,
/// blanks at the end of the text may be left over.
///
/// # Errors
/// 701 without memory for the text's form, 3617 when the request is to stop.
pub(super) fn position(
    elements: &[Element],
    text: &str,
    collation: Collation,
    may_end_in_blanks: bool,
) -> Result<Option<usize>> {
    let text = Text::new(text, collation)?;
    let end_min = match may_end_in_blanks {
        true => text.without_blanks(),
        false => text.count,
    };
    let is_over = |_: &Text<'_>, end: usize| end >= end_min;
    let mut pieces = elements.split(|element| *element == Element::AnyString);
    let first = Piece::new(pieces.next().unwrap_or_default(), collation);
    let Some(mut at) = first.end_at(&text, 0) else {
        return Ok(None);
    };
    let mut begin = (!first.parts.is_empty()).then_some(0);
    let pieces: Vec<Piece<'_>> = pieces.map(|piece| Piece::new(piece, collation)).collect();
    let Some((last, middle)) = pieces.split_last() else {
        return Ok(is_over(&text, at).then_some(0));
    };
    for piece in middle {
        let Some((start, end)) = piece.find(&text, at, |_, _| true)? else {
            return Ok(None);
        };
        begin = begin.or(Some(start));
        at = end;
    }
    if last.parts.is_empty() {
        return Ok(begin.or(Some(0)));
    }
    // A piece whose length is known ends behind `end_min` nowhere before this place.
    let from = last.length().map_or(0, |length| {
        text.character_at(text.start(end_min).saturating_sub(length))
    });
    let found = last.find(&text, at.max(from), is_over)?;
    Ok(found.map(|(start, _)| begin.unwrap_or(start)))
}
