//! The values that a path with subscripts of several elements leads to, in a document of type json (sql-docs, "JSON path expressions",
//! "Array wildcard and range support").
//!
//! | subscript | elements |
//! |---|---|
//! | `[*]` | all |
//! | `[last]` | the last |
//! | `[1 to 3]` | the second to the fourth: those that are there |
//! | `[last, 0]`, `[0, 2 to 3]` | those of each part, in the order in which the parts are written; one that is named twice comes twice |
//!
//! JSON_QUERY, JSON_PATH_EXISTS and JSON_CONTAINS take such paths, and only of the type json: elsewhere they are malformed (13607).

use std::ops::Range;

use engine::cancel;
use engine::error::Result;

use super::path::{Place, Selector, Step};
use super::reader::{Child, Found, Kind, child_behind};

/// The value that the whole of a text of type json is.
pub(super) fn root_of(text: &str) -> Found {
    let kind = match text.as_bytes().first() {
        Some(b'{') => Kind::Object,
        Some(b'[') => Kind::Array,
        Some(b'"') => Kind::Text,
        Some(b't' | b'f') => Kind::Truth,
        Some(b'n') => Kind::Null,
        _ => Kind::Number,
    };
    (kind, 0..text.len())
}

/// Passes each value that the steps lead to from one, until `visit` answers true; whether it did. Each step goes a level down in the
/// document, which has 128.
///
/// # Errors
/// Those of `visit`; 3617 when the statement is to stop.
pub(super) fn visit_selected(
    text: &str,
    (kind, place): Found,
    selectors: &[Selector],
    visit: &mut dyn FnMut(Found) -> Result<bool>,
) -> Result<bool> {
    let Some((first, rest)) = selectors.split_first() else {
        return visit((kind, place));
    };
    let mut walk = |wanted: Range<usize>| {
        visit_elements(text, &place, wanted, &mut |child: Child| {
            visit_selected(text, (child.kind, child.place), rest, visit)
        })
    };
    match (first, kind) {
        (Selector::One(Step::Element(number)), Kind::Array) => walk(*number..number.saturating_add(1)),
        (Selector::Every, Kind::Array) => walk(0..usize::MAX),
        (Selector::Ranges(ranges), Kind::Array) => {
            let needs_last = ranges.iter().any(|(from, to)| [from, to].contains(&&Place::Last));
            let count = if needs_last { count_of(text, &place)? } else { 0 };
            for (from, to) in ranges {
                if let (Some(from), Some(to)) = (from.number(count), to.number(count))
                    && walk(from..to.saturating_add(1))?
                {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        (Selector::One(Step::Member(name)), Kind::Object) => {
            let mut at = place.start + 1;
            while let Some(child) = child_behind(text, at, true) {
                at = child.place.end;
                cancel::spend_bytes(child.place.len())?;
                // The first member of a name is the one that is meant.
                if child.name.as_ref() == Some(name) {
                    return visit_selected(text, (child.kind, child.place), rest, visit);
                }
            }
            Ok(false)
        }
        _ => Ok(false),
    }
}

/// Passes the elements of an array whose numbers are wanted, until `visit` answers true; whether it did.
fn visit_elements(
    text: &str,
    array: &Range<usize>,
    wanted: Range<usize>,
    visit: &mut dyn FnMut(Child) -> Result<bool>,
) -> Result<bool> {
    let mut at = array.start + 1;
    for number in 0..wanted.end {
        let Some(child) = child_behind(text, at, false) else {
            break;
        };
        at = child.place.end;
        cancel::spend(1)?;
        cancel::spend_bytes(child.place.len())?;
        if number >= wanted.start && visit(child)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn count_of(text: &str, array: &Range<usize>) -> Result<usize> {
    let mut count = 0;
    visit_elements(text, array, 0..usize::MAX, &mut |_| {
        count += 1;
        Ok(false)
    })?;
    Ok(count)
}
