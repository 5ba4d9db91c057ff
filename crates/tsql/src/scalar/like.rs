//! LIKE and PATINDEX: `%`, `_`, `[set]`, `[^set]`, ESCAPE.

use std::cmp::Ordering;

use engine::types::collation::{compare_characters, equal_characters};

/// One element of a pattern.
#[derive(Clone, Debug, PartialEq)]
enum Element {
    /// `%`
    AnyString,
    /// `_`
    AnyCharacter,
    /// One character.
    Literal(char),
    /// `[a-z]`: ranges, single characters being ranges of one.
    Set { negated: bool, ranges: Vec<(char, char)> },
}

/// A pattern, taken apart once and matched often.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    elements: Vec<Element>,
}

impl Pattern {
    /// Takes a pattern apart.
    pub fn new(pattern: &str, escape: Option<char>) -> Pattern {
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
                    None => Element::Literal('['),
                },
                other => Element::Literal(other),
            };
            // Two percent signs match what one does.
            if !(element == Element::AnyString && elements.last() == Some(&Element::AnyString)) {
                elements.push(element);
            }
        }
        Pattern { elements }
    }

    /// Whether the whole text matches. Trailing blanks of the text may be left over; those of the pattern count.
    pub fn matches(&self, text: &str) -> bool {
        let characters: Vec<char> = text.chars().collect();
        match_at(&self.elements, &characters, |rest| {
            rest.iter().all(|&character| character == ' ')
        })
    }

    /// The position (from 1) where the pattern first matches, for PATINDEX; 0 when it does not.
    pub fn position(&self, text: &str) -> usize {
        let characters: Vec<char> = text.chars().collect();
        let (leading, inner) = match self.elements.split_first() {
            Some((Element::AnyString, inner)) => (true, inner),
            _ => (false, self.elements.as_slice()),
        };
        if inner.is_empty() && leading {
            return 1;
        }
        let last = if leading { characters.len() } else { 0 };
        (0..=last)
            .find(|&start| match_at(inner, &characters[start..], <[char]>::is_empty))
            .map_or(0, |start| start + 1)
    }
}

/// Reads a set from after its opening bracket.
fn read_set(characters: &[char], start: usize, escape: Option<char>) -> Option<(Element, usize)> {
    let mut at = start;
    let negated = characters.get(at) == Some(&'^');
    at += usize::from(negated);
    let mut ranges = Vec::new();
    let first = at;
    loop {
        let mut character = *characters.get(at)?;
        if character == ']' && at > first {
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

fn matches_one(element: &Element, character: char) -> bool {
    match element {
        Element::AnyString => false,
        Element::AnyCharacter => true,
        Element::Literal(literal) => equal_characters(*literal, character),
        Element::Set { negated, ranges } => {
            let inside = ranges.iter().any(|&(low, high)| {
                compare_characters(low, character) != Ordering::Greater
                    && compare_characters(character, high) != Ordering::Greater
            });
            inside != *negated
        }
    }
}

/// Matches with one point to go back to, the last `%`: linear in practice, and never worse than pattern times text.
fn match_at(elements: &[Element], text: &[char], end: impl Fn(&[char]) -> bool) -> bool {
    let (mut element, mut at) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match elements.get(element) {
            Some(Element::AnyString) => {
                if element + 1 == elements.len() {
                    return true;
                }
                retry = Some((element + 1, at));
                element += 1;
                continue;
            }
            Some(wanted) if text.get(at).is_some_and(|&character| matches_one(wanted, character)) => {
                element += 1;
                at += 1;
                continue;
            }
            None if end(&text[at.min(text.len())..]) => return true,
            _ => {}
        }
        match retry {
            Some((next, start)) if start < text.len() => {
                retry = Some((next, start + 1));
                element = next;
                at = start + 1;
            }
            _ => return false,
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
            ("a]c", "a[]]c", true),
            ("a-c", "a[-x]c", true),
            ("aXbXc", "%X%X%", true),
            ("aXb", "%X%X%", false),
            ("[x", "[x", true),
            ("mississippi", "%iss%ip%i", true),
            ("é", "e", false),
            ("x%y", "x%%y", true),
        ];
        for (text, pattern, expected) in cases {
            assert_eq!(
                Pattern::new(pattern, None).matches(text),
                expected,
                "{text:?} LIKE {pattern:?}"
            );
        }
        assert!(Pattern::new("50!%", Some('!')).matches("50%"));
        assert!(!Pattern::new("50!%", Some('!')).matches("501"));
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
        ];
        for (pattern, text, position) in cases {
            assert_eq!(
                Pattern::new(pattern, None).position(text),
                position,
                "{pattern} in {text}"
            );
        }
    }
}
