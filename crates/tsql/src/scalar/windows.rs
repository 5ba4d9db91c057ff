//! A held text as overlapping windows: what is shorter than the overlap lies whole in one of them, so a text of gigabytes is searched without
//! being in memory.
//!
//! ```text
//! |----------- step -----------|- overlap -|
//!                              |----------- step -----------|- overlap -|
//! ```
//! A window begins and ends between characters. Where accents do not count, any number of marks may stand between two letters of an occurrence:
//! such a text is one window.

use engine::error::Result;
use engine::types::{Collation, HeldForm, HeldValue, Text, Value};

/// Units of a step: bytes, or byte pairs of UTF-16.
const STEP_UNITS: u64 = 1 << 20;

/// The bit of a collation's style for which accents do not count.
const IGNORE_ACCENT: u32 = 2;

/// The windows of a text.
pub struct Windows<'h> {
    held: &'h HeldValue,
    step_units: u64,
    overlap_units: u64,
    /// Where the next window begins.
    start: u64,
    /// Characters before it.
    characters: usize,
}

/// A part of a text.
pub struct Window {
    pub text: Text,
    /// Characters of the whole text before it.
    pub characters_before: usize,
}

impl<'h> Windows<'h> {
    /// Windows that have so many characters in common, each of which has a weight in the collation.
    pub fn new(held: &'h HeldValue, overlap_characters: usize, collation: Collation) -> Windows<'h> {
        let has_weightless = collation.comparison_style() & IGNORE_ACCENT != 0;
        Windows {
            held,
            step_units: if has_weightless { u64::MAX / 4 } else { STEP_UNITS },
            // A character has two units of UTF-16 at most.
            overlap_units: 2 * overlap_characters as u64,
            start: 0,
            characters: 0,
        }
    }

    /// The next window; `None` behind the last.
    ///
    /// # Errors
    /// Those of reading the text; 701.
    pub fn next_window(&mut self) -> Result<Option<Window>> {
        let total = self.held.bytes() / self.held.form().unit_bytes();
        let (start, before) = (self.start, self.characters);
        if start >= total && start > 0 {
            return Ok(None);
        }
        let step_end = self.between_characters(start + self.step_units, total)?;
        let end = self.between_characters(step_end + self.overlap_units, total)?;
        let text = match self.held.part(start, end)? {
            Value::Text(text) => text,
            _ => Text::from(""),
        };
        let is_last = end == total;
        (self.start, self.characters) = match is_last {
            true => (total.max(1), before),
            false => (step_end, before + self.characters_within(&text, step_end - start)),
        };
        Ok(Some(Window {
            text,
            characters_before: before,
        }))
    }

    /// Characters of the first units of a text.
    fn characters_within(&self, text: &str, units: u64) -> usize {
        if self.held.form() != HeldForm::Utf16 {
            return usize::try_from(units).unwrap_or(usize::MAX);
        }
        let mut left = units;
        let within = text.chars().take_while(|character| {
            let own = character.len_utf16() as u64;
            let is_within = own <= left;
            left = left.saturating_sub(own);
            is_within
        });
        within.count()
    }

    /// A place, or the one behind it where it would part the two units of a character.
    fn between_characters(&self, place: u64, total: u64) -> Result<u64> {
        if place >= total {
            return Ok(total);
        }
        if self.held.form() != HeldForm::Utf16 || place == 0 {
            return Ok(place);
        }
        let mut unit = Vec::new();
        self.held.read((place - 1) * 2, 2, &mut unit)?;
        let is_first_half = matches!(unit.as_slice(), [_, high] if (0xD8..0xDC).contains(high));
        Ok((place + u64::from(is_first_half)).min(total))
    }
}
