//! Reads an experiment's file and collects all its mistakes of form: missing, unknown or wrongly typed keys are recorded and replaced by
//! harmless values, and reading continues.
//!
//! The types of [`super`] are the only description of the form: each mistake is an error of their deserialization, and the document is
//! mended until there are no more errors. Substituted values are marked as [`MADE_UP`] and not checked further.

use super::document::{self, Document, Part, Path};
use super::{Experiment, Fault, Step};
use crate::catalogue;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer, ValueDeserializer};

/// Stands where a text was missing or was none.
pub(super) const MADE_UP: &str = "\u{FFFD}";
/// Subject of what is said of no line in particular.
pub(super) const WHOLE_FILE: &str = "the file";
/// More mistakes than anybody reads; also what ends a file that cannot be mended.
const ATTEMPTS_MAX: usize = 500;

/// Notes every mistake of form; answers the experiment if something like one came of it.
pub(super) fn read(document: &mut Document<'_>, faults: &mut Vec<Fault>) -> Option<Experiment> {
    let mut mender = Mender {
        made_up: Vec::new(),
        faults,
    };
    mender.mend_steps(document);
    for _ in 0..ATTEMPTS_MAX {
        let error = match Experiment::deserialize(Deserializer::from(document.root())) {
            Ok(experiment) => return Some(experiment),
            Err(error) => error,
        };
        let place = error.span().map(|span| document.find(&span)).unwrap_or_default();
        if !mender.mend(document, &place, error.message()) {
            let line = document.line(&place);
            mender.faults.push(Fault::at(line, error.message().to_string()));
            return None;
        }
    }
    None
}

struct Mender<'f> {
    /// Where something was put in.
    made_up: Vec<Path>,
    faults: &'f mut Vec<Fault>,
}

impl Mender<'_> {
    /// Steps one by one: the kind of a step decides on its keys, and what is said of a key's type does not say which key.
    fn mend_steps(&mut self, document: &mut Document<'_>) {
        let count = document
            .value(&document::place_of!["step"])
            .and_then(|steps| steps.get_ref().as_array())
            .map_or(0, |steps| steps.len());
        for index in 0..count {
            let place = document::place_of!["step", index];
            self.mend_keys_of_step(document, &place);
            for _ in 0..ATTEMPTS_MAX {
                let Some(step) = document.value(&place).cloned() else {
                    break;
                };
                let Err(error) = Step::deserialize(ValueDeserializer::from(step)) else {
                    break;
                };
                if !self.mend(document, &place, error.message()) {
                    break;
                }
            }
        }
    }

    /// Looks at each key alone with the kind.
    fn mend_keys_of_step(&mut self, document: &mut Document<'_>, place: &Path) {
        let Some(table) = document.table_mut(place) else { return };
        let Some((do_key, kind)) = table
            .get_key_value("do")
            .map(|(key, value)| (key.clone(), value.clone()))
        else {
            return;
        };
        let keys: Vec<String> = table.keys().map(|key| key.get_ref().to_string()).collect();
        for key in keys.iter().filter(|key| *key != "do") {
            let whole = document
                .table_mut(place)
                .and_then(|table| table.get_key_value(key.as_str()));
            let Some((spanned_key, value)) = whole.map(|(key, value)| (key.clone(), value.clone())) else {
                continue;
            };
            let mut alone = DeTable::new();
            alone.insert(do_key.clone(), kind.clone());
            alone.insert(spanned_key, value);
            let alone = Spanned::new(0..0, DeValue::Table(alone));
            let Err(error) = Step::deserialize(ValueDeserializer::from(alone)) else {
                continue;
            };
            if error.message().starts_with("invalid") {
                let at_key = [place.as_slice(), &[Part::Key(key.clone())]].concat();
                self.mend(document, &at_key, error.message());
            }
        }
    }

    /// Notes one mistake and puts something in its place; false when that cannot be done.
    fn mend(&mut self, document: &mut Document<'_>, place: &Path, message: &str) -> bool {
        if let Some(key) = quoted_after(message, "unknown field ") {
            return self.remove_unknown(document, place, key, &expected_names(message));
        }
        if let Some(key) = quoted_after(message, "missing field ") {
            return self.add_missing(document, place, key);
        }
        if let Some(given) = quoted_after(message, "unknown variant ") {
            return self.replace_variant(document, place, given, &expected_names(message));
        }
        self.replace_wrong_type(document, place, message)
    }

    /// `place` is the key, or the table it is in.
    fn remove_unknown(&mut self, document: &mut Document<'_>, place: &Path, key: &str, known: &[&str]) -> bool {
        let mut table_place = place.clone();
        if place.last() == Some(&Part::Key(key.to_string())) {
            table_place.pop();
        }
        let at_key = [table_place.as_slice(), &[Part::Key(key.to_string())]].concat();
        let text = format!(
            "unknown key `{}`; {}",
            document::name(&at_key),
            catalogue::remedy(key, known)
        );
        self.faults.push(Fault::at(document.line(&at_key), text));
        document
            .table_mut(&table_place)
            .and_then(|table| table.remove(key))
            .is_some()
    }

    fn add_missing(&mut self, document: &mut Document<'_>, place: &Path, key: &str) -> bool {
        let at_key = [place.as_slice(), &[Part::Key(key.to_string())]].concat();
        if !self.is_made_up(place) {
            let within = if place.is_empty() {
                WHOLE_FILE.into()
            } else {
                format!("`{}`", document::name(place))
            };
            let line = document.line(place);
            self.faults
                .push(Fault::at(line, format!("{within} has no `{key}`; add it")));
        }
        let Some(made_up) = self.make_up(MADE_UP_TEXT, at_key) else {
            return false;
        };
        let key = Spanned::new(0..0, key.to_string().into());
        let Some(table) = document.table_mut(place) else {
            return false;
        };
        table.insert(key, made_up).is_none()
    }

    /// `place` is the value, or the table whose `do` it is.
    fn replace_variant(&mut self, document: &mut Document<'_>, place: &Path, given: &str, known: &[&str]) -> bool {
        let is_step = document.value(place).is_some_and(|value| value.get_ref().is_table());
        let at_key = if is_step {
            [place.as_slice(), &[Part::from("do")]].concat()
        } else {
            place.clone()
        };
        if !self.is_made_up(&at_key) {
            let text = format!(
                "`{}` cannot be {given:?}; {}",
                document::name(&at_key),
                catalogue::remedy(given, known)
            );
            self.faults.push(Fault::at(document.line(&at_key), text));
        }
        let Some(first) = known.first() else { return false };
        if is_step {
            // A step without anything to get wrong; its place in the list stays taken.
            let Some(step) = self.make_up("{ do = 'kill' }", place.clone()) else {
                return false;
            };
            return document.value_mut(place).map(|value| *value = step).is_some();
        }
        let Some(made_up) = self.make_up(&format!("'{first}'"), at_key.clone()) else {
            return false;
        };
        document.value_mut(&at_key).map(|value| *value = made_up).is_some()
    }

    fn replace_wrong_type(&mut self, document: &mut Document<'_>, place: &Path, message: &str) -> bool {
        let Some((_, expected)) = message.split_once("expected ") else {
            return false;
        };
        // A step that lacks a number got a text, and what is said of that text does not say which key it is under.
        let made_up_in = |path: &&Path| path.len() > place.len() && path.starts_with(place);
        let inner = self.made_up.iter().rev().find(made_up_in).cloned();
        let is_table = document.value(place).is_some_and(|value| value.get_ref().is_table());
        let place = match inner {
            Some(inner) if is_table => inner,
            _ if place.is_empty() => match culprit(document) {
                Some(key) => vec![Part::Key(key)],
                None => return false,
            },
            _ => place.clone(),
        };
        let (replacement, remedy) = stand_in(expected);
        if !self.is_made_up(&place) {
            let kind = document
                .value(&place)
                .map_or("missing", |value| kind_of(value.get_ref()));
            let text = format!("`{}` is {kind}; {remedy}", document::name(&place));
            self.faults.push(Fault::at(document.line(&place), text));
        }
        let Some(made_up) = self.make_up(replacement, place.clone()) else {
            return false;
        };
        document.value_mut(&place).map(|value| *value = made_up).is_some()
    }

    /// A value of that TOML text for that place, at bytes behind any file's end, where nothing else is.
    fn make_up<'t>(&mut self, text: &str, place: Path) -> Option<Spanned<DeValue<'t>>> {
        let mut value = DeValue::parse(text).ok()?.into_inner();
        value.make_owned();
        self.made_up.push(place);
        let byte = usize::MAX / 2 + 2 * self.made_up.len();
        Some(Spanned::new(byte..byte + 1, owned(value)))
    }

    fn is_made_up(&self, place: &Path) -> bool {
        self.made_up.iter().any(|path| place.starts_with(path))
    }
}

/// The key at the top whose value is of the wrong type: it is refused also when it is alone.
fn culprit(document: &mut Document<'_>) -> Option<String> {
    let root = document.root();
    let refused = root.get_ref().iter().find(|(key, value)| {
        let mut alone = DeTable::new();
        alone.insert((*key).clone(), (*value).clone());
        let outcome = Experiment::deserialize(Deserializer::from(Spanned::new(0..0, alone)));
        outcome.is_err_and(|error| error.message().starts_with("invalid"))
    });
    refused.map(|(key, _)| key.get_ref().to_string())
}

/// [`MADE_UP`] as TOML.
const MADE_UP_TEXT: &str = "'\u{FFFD}'";

/// A value that borrows nothing, for a document that lives longer than the text it was parsed from.
fn owned<'t>(value: DeValue<'_>) -> DeValue<'t> {
    match value {
        DeValue::String(text) => DeValue::String(text.into_owned().into()),
        DeValue::Boolean(value) => DeValue::Boolean(value),
        DeValue::Array(_) => DeValue::Array(toml::de::DeArray::new()),
        DeValue::Table(table) => {
            let entries = table.into_iter().map(|(key, value)| {
                let key = Spanned::new(0..0, key.into_inner().into_owned().into());
                (key, Spanned::new(0..0, owned(value.into_inner())))
            });
            DeValue::Table(entries.collect())
        }
        // Numbers know no owner of their own; the only one ever made up is 1.
        _ => DeValue::parse("1").map_or(DeValue::Boolean(true), Spanned::into_inner),
    }
}

/// What to put where `expected` belongs, as TOML, and the hint for anything else.
fn stand_in(expected: &str) -> (&'static str, &'static str) {
    let is = |names: &[&str]| names.iter().any(|name| expected.starts_with(name));
    if is(&["a boolean"]) {
        ("true", "write true or false")
    } else if is(&[
        "usize",
        "isize",
        "u8",
        "u16",
        "u32",
        "u64",
        "i8",
        "i16",
        "i32",
        "i64",
        "an integer",
    ]) {
        ("1", "write a whole number, not negative, without quotes")
    } else if is(&["f32", "f64", "a float", "floating"]) {
        ("1", "write a number without quotes")
    } else if is(&["a sequence"]) {
        ("[]", "write a list: [ ... ]")
    } else if is(&["a map", "struct", "internally tagged"]) {
        ("{}", "write a table: { ... }")
    } else {
        (MADE_UP_TEXT, "write a text in quotes")
    }
}

fn kind_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// The name in backquotes right after `before`.
fn quoted_after<'m>(message: &'m str, before: &str) -> Option<&'m str> {
    let (name, _) = message.strip_prefix(before)?.strip_prefix('`')?.split_once('`')?;
    Some(name)
}

/// The names in backquotes behind "expected".
fn expected_names(message: &str) -> Vec<&str> {
    let Some((_, list)) = message.split_once("expected") else {
        return Vec::new();
    };
    list.split('`').skip(1).step_by(2).collect()
}
