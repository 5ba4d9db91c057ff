//! A TOML text with its places: which line a key is on, and which key a byte belongs to.
//!
//! Invariant: a path found here stays valid while values are replaced; only removing a key ends the paths through it.

use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// One step on the way from the root to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// A key of a table.
    Key(String),
    /// A place in a list.
    Index(usize),
}

/// The way from the root to a value.
pub(super) type Path = Vec<Part>;

/// A path from its parts: `place_of!["step", 3, "file"]`.
macro_rules! place_of {
    ($($part:expr),* $(,)?) => { Vec::from([$($crate::experiment::document::Part::from($part)),*]) };
}
pub(super) use place_of;

impl From<&str> for Part {
    fn from(key: &str) -> Part {
        Part::Key(key.to_string())
    }
}

impl From<usize> for Part {
    fn from(index: usize) -> Part {
        Part::Index(index)
    }
}

/// The keys of a path as a person writes them: `configuration.log.start`.
pub(super) fn name(path: &[Part]) -> String {
    let keys = path.iter().filter_map(|part| match part {
        Part::Key(key) => Some(key.as_str()),
        Part::Index(_) => None,
    });
    keys.collect::<Vec<_>>().join(".")
}

#[derive(Clone)]
pub(super) struct Document<'t> {
    text: &'t str,
    root: Spanned<DeTable<'t>>,
}

impl<'t> Document<'t> {
    /// Parses as much as can be understood; with the byte and the words of every mistake.
    pub(super) fn parse(text: &'t str) -> (Document<'t>, Vec<(usize, String)>) {
        let (root, errors) = DeTable::parse_recoverable(text);
        let place = |error: &toml::de::Error| error.span().map_or(0, |span| span.start);
        let errors = errors.iter().map(|error| (place(error), error.message().to_string()));
        (Document { text, root }, errors.collect())
    }

    /// The whole, to be deserialized.
    pub(super) fn root(&self) -> Spanned<DeTable<'t>> {
        self.root.clone()
    }

    /// Line of a byte, from 1.
    pub(super) fn line_of_byte(&self, byte: usize) -> usize {
        line_of_byte(self.text, byte)
    }

    /// Line of the last part of the path that is there: of the key, or of a list's element.
    pub(super) fn line(&self, path: &[Part]) -> usize {
        let mut byte = 0;
        let mut here = None;
        for part in path {
            let next = match part {
                Part::Key(key) => table_of(self.root.get_ref(), here)
                    .and_then(|table| table.get_key_value(key.as_str()))
                    .map(|(key, value)| (key.span().start, value)),
                Part::Index(index) => here
                    .and_then(DeValue::as_array)
                    .and_then(|array| array.get(*index))
                    .map(|value| (value.span().start, value)),
            };
            let Some((start, value)) = next else { break };
            byte = start;
            here = Some(value.get_ref());
        }
        self.line_of_byte(byte)
    }

    /// The value at a path.
    pub(super) fn value(&self, path: &[Part]) -> Option<&Spanned<DeValue<'t>>> {
        let mut here: Option<&Spanned<DeValue<'t>>> = None;
        for part in path {
            here = Some(match part {
                Part::Key(key) => table_of(self.root.get_ref(), here.map(Spanned::get_ref))?.get(key.as_str())?,
                Part::Index(index) => here?.get_ref().as_array()?.get(*index)?,
            });
        }
        here
    }

    /// The table at a path; the root at an empty one.
    pub(super) fn table_mut(&mut self, path: &[Part]) -> Option<&mut DeTable<'t>> {
        if path.is_empty() {
            return Some(self.root.get_mut());
        }
        match self.value_mut(path)?.get_mut() {
            DeValue::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The value at a path.
    pub(super) fn value_mut(&mut self, path: &[Part]) -> Option<&mut Spanned<DeValue<'t>>> {
        let (last, before) = path.split_last()?;
        match last {
            Part::Key(key) => self.table_mut(before)?.get_mut(key.as_str()),
            Part::Index(index) => match self.value_mut(before)?.get_mut() {
                DeValue::Array(array) => array.get_mut(*index),
                _ => None,
            },
        }
    }

    /// The innermost value that lies at these bytes, or whose key does; the root when there is none. The root itself, and
    /// what was put in by hand, lies at no bytes.
    pub(super) fn find(&self, bytes: &Range<usize>) -> Path {
        if bytes.is_empty() {
            return Path::new();
        }
        find_in_table(self.root.get_ref(), bytes).unwrap_or_default()
    }
}

/// Line of a byte of a text, from 1.
pub(super) fn line_of_byte(text: &str, byte: usize) -> usize {
    let before = text.as_bytes().get(..byte.min(text.len())).unwrap_or_default();
    1 + before.iter().filter(|each| **each == b'\n').count()
}

fn table_of<'d, 't>(root: &'d DeTable<'t>, here: Option<&'d DeValue<'t>>) -> Option<&'d DeTable<'t>> {
    here.map_or(Some(root), DeValue::as_table)
}

fn find_in_table(table: &DeTable<'_>, bytes: &Range<usize>) -> Option<Path> {
    table.iter().find_map(|(key, value)| {
        let inner = find_in_value(value, bytes).or_else(|| (key.span() == *bytes).then(Path::new))?;
        Some([vec![Part::Key(key.get_ref().to_string())], inner].concat())
    })
}

fn find_in_value(value: &Spanned<DeValue<'_>>, bytes: &Range<usize>) -> Option<Path> {
    let inner = match value.get_ref() {
        DeValue::Table(table) => find_in_table(table, bytes),
        DeValue::Array(array) => array.iter().enumerate().find_map(|(index, each)| {
            let inner = find_in_value(each, bytes)?;
            Some([vec![Part::Index(index)], inner].concat())
        }),
        _ => None,
    };
    inner.or_else(|| (value.span() == *bytes).then(Path::new))
}
