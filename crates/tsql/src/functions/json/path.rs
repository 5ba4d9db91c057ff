//! Paths of JSON: `[lax | strict] $.a."b c"[0]` (sql-docs, "JSON path expressions").

use engine::error::Result;

use super::reader::{Reader, place_of, unescaped};
use crate::messages;

/// A step of a path.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    Member(String),
    Element(usize),
}

/// A step of a path that may lead to several values.
#[derive(Debug, PartialEq)]
pub(super) enum Selector {
    One(Step),
    /// `[*]`: the elements of an array.
    Every,
    /// `[last]`, `[1 to 3]`, `[0, last]`: elements of an array, from each first place to the last.
    Ranges(Vec<(Place, Place)>),
}

/// A place in an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Number(usize),
    Last,
}

impl Place {
    /// Its number in an array of so many elements; none for the last of none.
    pub(super) fn number(self, count: usize) -> Option<usize> {
        match self {
            Place::Number(number) => Some(number),
            Place::Last => count.checked_sub(1),
        }
    }
}

/// `[lax | strict] $.a."b c"[0]`
#[derive(Debug, PartialEq)]
pub(super) struct Path {
    /// `append`, which JSON_MODIFY alone takes.
    pub(super) appends: bool,
    /// What is not there is an error.
    pub(super) strict: bool,
    pub(super) steps: Vec<Step>,
}

/// The path of a member.
pub(super) fn member(name: &str) -> Path {
    Path {
        appends: false,
        strict: false,
        steps: vec![Step::Member(name.to_owned())],
    }
}

/// # Errors
/// 13607 for a malformed path.
pub(super) fn path_of(text: &str) -> Result<Path> {
    let path = any_path_of(text)?;
    if path.appends {
        let position = text.find('a').unwrap_or_default();
        return Err(messages::malformed_json_path('a', position));
    }
    Ok(path)
}

/// A path that may begin with `append`.
///
/// # Errors
/// 13607 for a malformed path.
pub(super) fn any_path_of(text: &str) -> Result<Path> {
    let (appends, strict, steps) = parsed(text, step_of)?;
    Ok(Path { appends, strict, steps })
}

/// A path whose steps may lead to several values.
#[derive(Debug, PartialEq)]
pub(super) struct Selection {
    /// What is not there is an error.
    pub(super) strict: bool,
    pub(super) selectors: Vec<Selector>,
}

/// A path that may have the subscripts of several elements.
///
/// # Errors
/// 13607 for a malformed path.
pub(super) fn selection_of(text: &str) -> Result<Selection> {
    let (appends, strict, selectors) = parsed(text, selector_of)?;
    match appends {
        true => Err(messages::malformed_json_path('a', text.find('a').unwrap_or_default())),
        false => Ok(Selection { strict, selectors }),
    }
}

/// The selector at the beginning of a path, and what follows it.
fn selector_of(text: &str) -> Option<(Selector, &str)> {
    if let Some((step, behind)) = step_of(text) {
        return Some((Selector::One(step), behind));
    }
    let (inner, behind) = text.strip_prefix('[')?.split_once(']')?;
    if inner.trim() == "*" {
        return Some((Selector::Every, behind));
    }
    let ranges: Option<Vec<(Place, Place)>> = inner.split(',').map(range_of).collect();
    Some((Selector::Ranges(ranges?), behind))
}

/// `last`, `3`, `1 to 3`.
fn range_of(text: &str) -> Option<(Place, Place)> {
    let mut words = text.split_ascii_whitespace();
    let place = |word: &str| match word {
        "last" => Some(Place::Last),
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok().map(Place::Number),
        _ => None,
    };
    let from = place(words.next()?)?;
    let to = match (words.next(), words.next()) {
        (None, _) => from,
        (Some("to"), Some(to)) => place(to)?,
        _ => return None,
    };
    words.next().is_none().then_some((from, to))
}

/// Whether a path begins with `append`, whether it is strict, and its steps.
fn parsed<'t, S>(text: &'t str, step_of: impl Fn(&'t str) -> Option<(S, &'t str)>) -> Result<(bool, bool, Vec<S>)> {
    let malformed = |at: usize| {
        let (position, character) = place_of(text, at);
        messages::malformed_json_path(character, position)
    };
    let mut rest = text.trim_start();
    let appends = rest.starts_with("append");
    rest = rest.strip_prefix("append").map_or(rest, str::trim_start);
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
    Ok((appends, strict, steps))
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
