//! LIKE and PATINDEX: `%`, `_`, `[set]`, `[^set]`, ESCAPE.

use std::cell::RefCell;
use std::cmp::Ordering;

use engine::cancel;
use engine::error::Result;
use engine::types::{Collation, HeldValue, Value};

use super::windows::Windows;

mod forms;

/// One element of a pattern.
#[derive(Clone, Debug, PartialEq)]
enum Element {
    AnyString,
    AnyCharacter,
    /// One character.
    Literal(char),
    /// `[a-z]`: ranges, single characters being ranges of one.
    Set {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
    /// A bracket that is not closed: no text matches.
    Nothing,
}

/// What trailing blanks of a text are to a pattern (sql-docs, "LIKE": "when you use Unicode data with LIKE, trailing blanks are
/// significant", those of single-byte data are not).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blanks {
    /// They may be left over.
    LeftOver,
    /// They count.
    Count,
}

/// A pattern, taken apart once and matched often.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    elements: Vec<Element>,
    collation: Collation,
    is_ascii: bool,
}

/// Characters that are equal to one at most: its form has four elements of five bytes, and each character has a byte at least.
const CHARACTERS_PER_ELEMENT_MAX: usize = 20;

/// Comparisons up to which trying each place is quicker than making the form of a text.
const COMPARISONS_MAX: usize = 1 << 15;

impl Pattern {
    /// Takes a pattern apart; texts will be compared by the collation, character by character.
    pub fn new(pattern: &str, escape: Option<char>, collation: Collation) -> Pattern {
        let characters: Vec<char> = pattern.chars().collect();
        let mut elements = Vec::with_capacity(characters.len());
        let mut at = 0;
        while let Some(&character) = characters.get(at) {
            at += 1;
            let element = match character {
                _ if Some(character) == escape => {
                    at += 1;
                    Element::Literal(characters.get(at - 1).copied().unwrap_or(character))
                }
                '%' => Element::AnyString,
                '_' => Element::AnyCharacter,
                '[' => match read_set(&characters, at, escape) {
                    Some((set, next)) => {
                        at = next;
                        set
                    }
                    None => {
                        at = characters.len();
                        Element::Nothing
                    }
                },
                other => Element::Literal(other),
            };
            // Two percent signs match what one does.
            if !(element == Element::AnyString && elements.last() == Some(&Element::AnyString)) {
                elements.push(element);
            }
        }
        Pattern {
            elements,
            collation,
            is_ascii: pattern.is_ascii(),
        }
    }

    /// Whether a text is compared by its form: where one character may be equal to several, and where there is much to compare.
    fn goes_by_form(&self, text: &str) -> bool {
        let has_expansions = self.collation.has_expansions() && !(self.is_ascii && text.is_ascii());
        has_expansions || text.len().saturating_mul(self.elements.len()) > COMPARISONS_MAX
    }

    /// The characters that every text which matches begins with.
    pub fn prefix(&self) -> String {
        let literals = self.elements.iter().map_while(|element| match element {
            Element::Literal(literal) => Some(*literal),
            _ => None,
        });
        literals.collect()
    }

    /// What a text has somewhere that matches: of `%x%` the elements of `x`, if none of them is `%`.
    fn within(&self) -> Option<usize> {
        let inner = match self.elements.as_slice() {
            [Element::AnyString, inner @ .., Element::AnyString] => inner,
            _ => return None,
        };
        let is_fixed = |element: &Element| !matches!(element, Element::AnyString | Element::Nothing);
        (!inner.is_empty() && inner.iter().all(is_fixed)).then_some(inner.len())
    }

    /// Where a held text begins to match, in characters from 1; 0 when it does not. For `%x%` it is read in parts, else whole.
    ///
    /// # Errors
    /// Those of reading it; 701; 3617 when the request is to stop.
    pub fn position_held(&self, held: &HeldValue) -> Result<usize> {
        let Some(elements) = self.within() else {
            return match held.part(0, u64::MAX)? {
                Value::Text(text) => self.position(&text),
                _ => Ok(0),
            };
        };
        let mut windows = Windows::new(held, elements * CHARACTERS_PER_ELEMENT_MAX, self.collation);
        while let Some(window) = windows.next_window()? {
            let place = self.position(&window.text)?;
            if place > 0 {
                return Ok(window.characters_before + place);
            }
        }
        Ok(0)
    }

    /// Whether a held text matches: as [`Pattern::matches`]. For `%x%` it is read in parts, else whole.
    ///
    /// # Errors
    /// As [`Pattern::position_held`].
    pub fn matches_held(&self, held: &HeldValue, blanks: Blanks) -> Result<bool> {
        match self.within() {
            Some(_) => Ok(self.position_held(held)? > 0),
            None => match held.part(0, u64::MAX)? {
                Value::Text(text) => self.matches(&text, blanks),
                _ => Ok(false),
            },
        }
    }

    /// Whether the whole text matches. Trailing blanks of the text may be left over where `blanks` says so; those of the pattern count.
    ///
    /// # Errors
    /// 3617 when the request is to stop: a long pattern and a long text take long.
    pub fn matches(&self, text: &str, blanks: Blanks) -> Result<bool> {
        let may_be_left = blanks == Blanks::LeftOver;
        if self.goes_by_form(text) {
            return Ok(forms::position(&self.elements, text, self.collation, may_be_left)?.is_some());
        }
        if text.is_ascii() {
            let is_over = |rest: &[u8]| rest.is_empty() || may_be_left && rest.iter().all(|byte| *byte == b' ');
            return match_at(&self.elements, text.as_bytes(), self.collation, is_over);
        }
        let characters: Vec<char> = text.chars().collect();
        let is_over = |rest: &[char]| rest.is_empty() || may_be_left && rest.iter().all(|character| *character == ' ');
        match_at(&self.elements, &characters, self.collation, is_over)
    }

    /// Whether a text matches a pattern that many texts are compared with: it is taken apart once, and kept for the next.
    ///
    /// # Errors
    /// As [`Pattern::matches`].
    pub fn matches_again(
        (pattern, escape): (&str, Option<char>),
        collation: Collation,
        text: &str,
        blanks: Blanks,
    ) -> Result<bool> {
        if pattern.len() > KEPT_BYTES_MAX {
            return Pattern::new(pattern, escape, collation).matches(text, blanks);
        }
        LATEST.with_borrow_mut(|latest| {
            let is_it = |kept: &Kept| kept.0 == pattern && kept.1 == escape && kept.2.collation == collation;
            let place = latest.iter().position(is_it).unwrap_or_else(|| {
                latest.truncate(KEPT_MAX - 1);
                let made = Pattern::new(pattern, escape, collation);
                latest.insert(0, (pattern.to_owned(), escape, made));
                0
            });
            latest.get(place).map_or(Ok(false), |kept| kept.2.matches(text, blanks))
        })
    }

    /// The position (from 1) where the pattern first matches, for PATINDEX; 0 when it does not. Takes no longer than the text times
    /// the pattern.
    ///
    /// # Errors
    /// As [`Pattern::matches`].
    pub fn position(&self, text: &str) -> Result<usize> {
        if self.goes_by_form(text) {
            let found = forms::position(&self.elements, text, self.collation, false)?;
            return Ok(found.map_or(0, |start| start + 1));
        }
        self.position_by_characters(text)
    }

    /// [`Pattern::position`] by trying each place.
    fn position_by_characters(&self, text: &str) -> Result<usize> {
        let characters: Vec<char> = text.chars().collect();
        let (leading, inner) = match self.elements.split_first() {
            Some((Element::AnyString, inner)) => (true, inner),
            _ => (false, self.elements.as_slice()),
        };
        if !leading {
            return Ok(usize::from(match_at(
                inner,
                &characters,
                self.collation,
                <[char]>::is_empty,
            )?));
        }
        if inner.is_empty() {
            return Ok(1);
        }
        // What comes before the second `%` has a fixed length.
        let split = inner.iter().position(|element| *element == Element::AnyString);
        let (head, rest) = inner.split_at(split.unwrap_or(inner.len()));
        let Some(last) = characters.len().checked_sub(head.len()) else {
            return Ok(0);
        };
        let first = if rest.is_empty() { last } else { 0 };
        for start in first..=last {
            cancel::spend(1)?;
            if match_at(
                head,
                &characters[start..start + head.len()],
                self.collation,
                <[char]>::is_empty,
            )? {
                // What does not follow the first match of the head follows none of the later ones, which have less text behind them.
                let follows = match_at(
                    rest,
                    &characters[start + head.len()..],
                    self.collation,
                    <[char]>::is_empty,
                )?;
                return Ok(if follows { start + 1 } else { 0 });
            }
        }
        Ok(0)
    }
}

/// Longer patterns are taken apart each time.
const KEPT_BYTES_MAX: usize = 256;
/// Patterns that a thread keeps: those of a condition with several.
const KEPT_MAX: usize = 8;

/// A pattern as it is written, with its escape character.
type Kept = (String, Option<char>, Pattern);

thread_local! {
    /// Those taken apart last, the last one first.
    static LATEST: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

/// Characters compared in the time of a step.
const CHARACTERS_PER_STEP: usize = 64;

/// Reads a set from after its opening bracket. The first `]` ends it, so that `[]` has no character and none matches it.
fn read_set(characters: &[char], start: usize, escape: Option<char>) -> Option<(Element, usize)> {
    let mut at = start;
    let negated = characters.get(at) == Some(&'^');
    at += usize::from(negated);
    let mut ranges = Vec::new();
    loop {
        let mut character = *characters.get(at)?;
        if character == ']' {
            return Some((Element::Set { negated, ranges }, at + 1));
        }
        if Some(character) == escape {
            at += 1;
            character = *characters.get(at)?;
        }
        let end = match (characters.get(at + 1), characters.get(at + 2)) {
            (Some('-'), Some(&end)) if end != ']' => {
                at += 2;
                end
            }
            _ => character,
        };
        ranges.push((character, end));
        at += 1;
    }
}

fn matches_one(element: &Element, character: char, collation: Collation) -> bool {
    match element {
        Element::AnyString | Element::Nothing => false,
        Element::AnyCharacter => true,
        Element::Literal(literal) => collation.equal_characters(*literal, character),
        Element::Set { negated, ranges } => {
            let inside = ranges.iter().any(|&(low, high)| {
                collation.compare_characters(low, character) != Ordering::Greater
                    && collation.compare_characters(character, high) != Ordering::Greater
            });
            inside != *negated
        }
    }
}

/// Matches with one point to go back to, the last `%`: linear in practice, and never worse than pattern times text.
fn match_at<C: Copy + Into<char>>(
    elements: &[Element],
    text: &[C],
    collation: Collation,
    end: impl Fn(&[C]) -> bool,
) -> Result<bool> {
    let (mut element, mut at) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    let mut compared = 0;
    loop {
        compared += 1;
        if compared == CHARACTERS_PER_STEP {
            compared = 0;
            cancel::spend(1)?;
        }
        match elements.get(element) {
            Some(Element::AnyString) => {
                if element + 1 == elements.len() {
                    return Ok(true);
                }
                retry = Some((element + 1, at));
                element += 1;
                continue;
            }
            Some(wanted)
                if text
                    .get(at)
                    .is_some_and(|&character| matches_one(wanted, character.into(), collation)) =>
            {
                element += 1;
                at += 1;
                continue;
            }
            None if end(&text[at.min(text.len())..]) => return Ok(true),
            _ => {}
        }
        match retry {
            Some((next, start)) if start < text.len() => {
                retry = Some((next, start + 1));
                element = next;
                at = start + 1;
            }
            _ => return Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn patterns_match_as_sql_server_matches() {
        let cases = [
            ("abc", "a%", true),
            ("abc", "ABC", true),
            ("abc", "b%", false),
            ("abc", "%b%", true),
            ("abc", "a_c", true),
            ("abc", "a[a-c]c", true),
            ("abc", "a[^b]c", false),
            ("", "%", true),
            ("", "_", false),
            ("a", "", false),
            ("abc   ", "abc", true),
            ("abc", "abc ", false),
            ("50%", "50[%]", true),
            ("a]c", "a[]]c", false),
            ("a]c", "a]c", true),
            ("a-c", "a[-x]c", true),
            ("aXbXc", "%X%X%", true),
            ("aXb", "%X%X%", false),
            ("[x", "[x", false),
            ("a[b", "%[%", false),
            ("a[b", "%[[]%", true),
            ("mississippi", "%iss%ip%i", true),
            ("é", "e", false),
            ("x%y", "x%%y", true),
        ];
        for (text, pattern, expected) in cases {
            assert_eq!(
                Pattern::new(pattern, None, Collation::default())
                    .matches(text, Blanks::LeftOver)
                    .unwrap(),
                expected,
                "{text:?} LIKE {pattern:?}"
            );
        }
        // More patterns than are kept, each asked for twice, and texts of which a character is more than a byte.
        for (text, pattern, expected) in cases.into_iter().chain(cases) {
            let again = |text: &str, pattern: &str| {
                Pattern::matches_again((pattern, None), Collation::default(), text, Blanks::LeftOver).unwrap()
            };
            assert_eq!(again(text, pattern), expected, "{text:?} LIKE {pattern:?}");
            let (text, pattern) = (format!("Ω{text}"), format!("Ω{pattern}"));
            assert_eq!(again(&text, &pattern), expected, "{text:?} LIKE {pattern:?}");
        }
        assert!(Pattern::matches_again(("50!%", Some('!')), Collation::default(), "50%", Blanks::LeftOver).unwrap());
        assert!(!Pattern::matches_again(("50!%", None), Collation::default(), "50%", Blanks::LeftOver).unwrap());
        assert!(!Pattern::matches_again(("A%", None), Collation::Bin2, "abc", Blanks::LeftOver).unwrap());
        assert!(Pattern::matches_again(("A%", None), Collation::default(), "abc", Blanks::LeftOver).unwrap());
        assert!(
            Pattern::new("50!%", Some('!'), Collation::default())
                .matches("50%", Blanks::LeftOver)
                .unwrap()
        );
        assert!(
            !Pattern::new("50!%", Some('!'), Collation::default())
                .matches("501", Blanks::LeftOver)
                .unwrap()
        );
    }

    #[test]
    fn trailing_blanks_of_unicode_text_count() {
        let pattern = Pattern::new("abc", None, Collation::default());
        for text in ["abc   ", "abc"] {
            assert!(pattern.matches(text, Blanks::LeftOver).unwrap());
            assert_eq!(pattern.matches(text, Blanks::Count).unwrap(), text == "abc");
        }
        let pattern = Pattern::new("Ωbc", None, Collation::default());
        assert!(!pattern.matches("Ωbc ", Blanks::Count).unwrap());
    }

    #[test]
    fn the_first_match_is_found() {
        let cases = [
            ("%ter%", "interesting data", 3),
            ("ter%", "interesting", 0),
            ("%x%", "abc", 0),
            ("%c", "abc", 3),
            ("%[0-9]%", "ab1c2", 3),
            ("abc", "abc", 1),
            ("%", "", 1),
            ("%abc", "ab", 0),
            ("%a%c", "xabc", 2),
            ("%ab%ab", "abxab", 1),
            ("%ab%ab", "xxab", 0),
            ("%a_%c%", "aaxcx", 1),
            ("%aa%b%", "aaab", 1),
        ];
        for (pattern, text, position) in cases {
            assert_eq!(
                Pattern::new(pattern, None, Collation::default())
                    .position(text)
                    .unwrap(),
                position,
                "{pattern} in {text}"
            );
        }
    }

    /// The two ways of comparing answer alike, where both can answer.
    #[test]
    fn forms_match_as_characters_do() {
        let patterns = [
            "", "%", "a", "a%", "%a", "%a%", "a_", "_a%", "%a_", "%a_b%", "%ab%ab", "ab%ab%", "%[ab]b%", "%b[^a]",
            "a b%", "% ", "%b  ", "%aab", "a%b%a", "%é%", "%é", "É_%",
        ];
        let letters = ['a', 'B', ' ', 'é'];
        for collation in [Collation::default(), Collation::Bin2, Collation::CiAs, Collation::CsAi] {
            for number in 0..4_usize.pow(5) {
                let count = number % 6;
                let text: String = (0..count as u32)
                    .map(|place| letters[number / 4_usize.pow(place) % 4])
                    .collect();
                for pattern in patterns {
                    let pattern = Pattern::new(pattern, None, collation);
                    let characters: Vec<char> = text.chars().collect();
                    let is_over = |rest: &[char]| rest.iter().all(|character| *character == ' ');
                    let matches = match_at(&pattern.elements, &characters, collation, is_over).unwrap();
                    let by_form = forms::position(&pattern.elements, &text, collation, true).unwrap();
                    assert_eq!(by_form.is_some(), matches, "{text:?} LIKE {pattern:?}");
                    let position = pattern.position_by_characters(&text).unwrap();
                    let by_form = forms::position(&pattern.elements, &text, collation, false).unwrap();
                    assert_eq!(
                        by_form.map_or(0, |at| at + 1),
                        position,
                        "PATINDEX of {pattern:?} in {text:?}"
                    );
                }
            }
        }
    }

    /// Where a collation has a ligature equal to its letters, patterns find one by the other. (Babelfish's tests have 9 for the first.)
    #[test]
    fn ligatures_are_found_by_their_letters() {
        let position =
            |pattern: &str, text: &str, collation| Pattern::new(pattern, None, collation).position(text).unwrap();
        assert_eq!(position("%Æ%", "Encyclopaedia", Collation::CiAi), 9);
        assert_eq!(position("%ae%", "encyclopædia", Collation::CiAs), 9);
        assert_eq!(position("%e%", "æe", Collation::CiAs), 2);
        assert_eq!(position("%_ss_", "Straße!", Collation::CiAs), 0);
        assert_eq!(position("%_ss_", "Straße", Collation::CiAs), 4);
        assert_eq!(position("%Æ%", "Encyclopaedia", Collation::default()), 0);
        assert_eq!(position("%é%", "cafe", Collation::CiAi), 4);
        assert!(
            Pattern::new("%ss_", None, Collation::CiAs)
                .matches("Straße  ", Blanks::LeftOver)
                .unwrap()
        );
    }

    /// A fixed piece is found without comparing it at each place: 8,000 characters in ten million.
    #[test]
    fn a_fixed_piece_is_searched_once() {
        let text = "a".repeat(10_000_000);
        let wanted = format!("%{}b%", "a".repeat(7_000));
        let pattern = Pattern::new(&wanted, None, Collation::default());
        assert_eq!(pattern.position(&text).unwrap(), 0);
        assert!(!pattern.matches(&text, Blanks::LeftOver).unwrap());
        let behind = format!("{text}b");
        assert_eq!(pattern.position(&behind).unwrap(), 10_000_000 - 7_000 + 1);
    }

    /// `%a%a%a%a%a%a%a%b%` in 100,000 characters tried every place for each `%` again: minutes, which nothing could stop.
    #[test]
    fn many_percent_signs_take_no_longer_than_pattern_times_text() {
        let flag = cancel::Flag::default();
        let _serving = cancel::serve(Some(flag.clone()));
        let text = "a".repeat(1_000_000);
        let pattern = Pattern::new("%a%a%a%a%a%a%a%b%", None, Collation::default());
        assert_eq!(pattern.position(&text).unwrap(), 0);
        assert!(!pattern.matches(&text, Blanks::LeftOver).unwrap());
        flag.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(pattern.position(&text).unwrap_err().number, 3617);
        assert_eq!(pattern.matches(&text, Blanks::LeftOver).unwrap_err().number, 3617);
    }
}
