//! OPENJSON (sql-docs, page of that name): a row for each member of an object or element of an array, with the default columns or those of
//! WITH.

use engine::error::Result;
use engine::types::{Collation, Length, SqlType, Text, Value, string_room};

use super::super::table_valued::check_count;
use super::JSON;
use super::path::{Path, member, path_of};
use super::reader::{Child, Found, Kind, Reader, child_behind, find, unescaped};
use crate::messages;
use crate::plan::{Expr, FunctionRows, Label, RowCall, RowSource};
use crate::sink::ResultColumn;

/// What a column of WITH is of the value that its path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonValueKind {
    /// The value of a text, number or truth.
    Scalar,
    /// An object or array, as text: `AS JSON`.
    Fragment,
    /// The bytes that a text says in base64.
    Base64,
}

/// A column of WITH.
#[derive(Clone, Copy, Debug)]
pub struct JsonColumn<'c> {
    pub name: &'c str,
    /// Without one, the member of the column's name.
    pub path: Option<&'c str>,
    pub kind: JsonValueKind,
}

/// The text and its path, in the types of the function.
fn converted(arguments: Vec<Expr>) -> Result<Vec<Expr>> {
    check_count("openjson", arguments.len(), 1, 2)?;
    let convert = |(index, argument): (usize, Expr)| {
        let own = argument.sql_type;
        let is_text = own.is_character() && !own.is_large_object();
        match is_text || argument.is_null_constant() {
            // It is a text already.
            _ if own == SqlType::Json && index == 0 => Ok(argument),
            true => Ok(argument.converted(JSON)),
            false => Err(messages::invalid_argument_type(own.name(), index + 1, "openjson")),
        }
    };
    arguments.into_iter().enumerate().map(convert).collect()
}

/// Without WITH: `key`, `value` and `type`.
pub(in crate::functions) fn open_json(arguments: Vec<Expr>) -> Result<RowCall> {
    let key = ResultColumn {
        label: Label::Implicit(Collation::Bin2),
        ..ResultColumn::new("key", SqlType::NVarChar(Length::Limited(4_000)))
    };
    Ok(RowCall {
        name: "openjson",
        implementation: RowSource::Called(entries),
        arguments: converted(arguments)?,
        columns: vec![
            key,
            ResultColumn::new("value", JSON),
            ResultColumn::new("type", SqlType::TinyInt),
        ],
    })
}

/// With the columns of WITH, as text, or as bytes where it is base64.
///
/// # Errors
/// 13607 for a malformed path of a column.
pub fn open_json_columns(arguments: Vec<Expr>, wanted: &[JsonColumn<'_>]) -> Result<RowCall> {
    let mut arguments = converted(arguments)?;
    if arguments.len() == 1 {
        arguments.push(Expr::constant(Value::from("$"), JSON));
    }
    let mut columns = Vec::with_capacity(wanted.len());
    for column in wanted {
        if let Some(path) = column.path {
            path_of(path)?;
        }
        let sql_type = match column.kind {
            JsonValueKind::Base64 => SqlType::VarBinary(Length::Max),
            JsonValueKind::Scalar | JsonValueKind::Fragment => JSON,
        };
        columns.push(ResultColumn::new(column.name, sql_type));
        let path = column.path.map_or(Value::Null, Value::from);
        arguments.push(Expr::constant(Value::from(column.name), JSON));
        arguments.push(Expr::constant(path, JSON));
        arguments.push(Expr::constant(Value::TinyInt(column.kind as u8), SqlType::TinyInt));
    }
    Ok(RowCall {
        name: "openjson",
        implementation: RowSource::Called(columns_of_entries),
        arguments,
        columns,
    })
}

/// The object or array that is opened; nothing if it is missing and the path is lax.
fn opened(arguments: &[Value]) -> Result<Option<(Text, Found)>> {
    let Some(Value::Text(text)) = arguments.first() else {
        return Ok(None);
    };
    let path = match arguments.get(1) {
        None => path_of("$")?,
        Some(Value::Text(path)) => path_of(path)?,
        Some(_) => return Ok(None),
    };
    match find(text, &path)? {
        Some(found @ (Kind::Object | Kind::Array, _)) => Ok(Some((text.clone(), found))),
        None if path.strict => Err(messages::no_json_property()),
        Some(_) if path.strict => Err(messages::json_not_openable()),
        _ => Ok(None),
    }
}

/// What is left of an object or array.
struct Entries {
    text: Text,
    is_object: bool,
    /// Where the next entry begins, or the comma before it.
    at: usize,
    /// The place of the next element.
    index: u64,
}

impl Entries {
    fn of(text: Text, (kind, place): Found) -> Entries {
        Entries {
            text,
            is_object: kind == Kind::Object,
            at: place.start + 1,
            index: 0,
        }
    }

    fn take(&mut self) -> Option<Child> {
        let child = child_behind(&self.text, self.at, self.is_object)?;
        self.at = child.place.end;
        Some(child)
    }
}

fn text_value(text: &str) -> Result<Value> {
    engine::cancel::spend_bytes(text.len())?;
    let charge = string_room(text.len())?;
    Ok(Value::Text(Text::charged(text.to_owned(), charge)))
}

/// No rows.
struct Nothing;

impl FunctionRows for Nothing {
    fn next(&mut self) -> Result<Option<Vec<Value>>> {
        Ok(None)
    }
}

fn entries(arguments: &[Value]) -> Result<Box<dyn FunctionRows>> {
    Ok(match opened(arguments)? {
        Some((text, found)) => Box::new(Entries::of(text, found)),
        None => Box::new(Nothing),
    })
}

impl FunctionRows for Entries {
    fn next(&mut self) -> Result<Option<Vec<Value>>> {
        let Some(child) = self.take() else { return Ok(None) };
        let written = self.text.get(child.place.clone()).unwrap_or_default();
        // The numbers are those of the page's table of types.
        let (number, value) = match child.kind {
            Kind::Null => (0, Value::Null),
            Kind::Text => (1, text_value(&unescaped(written))?),
            Kind::Number => (2, text_value(written)?),
            Kind::Truth => (3, text_value(written)?),
            Kind::Array => (4, text_value(written)?),
            Kind::Object => (5, text_value(written)?),
        };
        let key = child.name.unwrap_or_else(|| self.index.to_string());
        self.index += 1;
        let key = Value::from(key).collated(Collation::Bin2);
        Ok(Some(vec![key, value, Value::TinyInt(number)]))
    }
}

/// The entries of an array, or an object, with the values that paths lead to in each.
struct Records {
    text: Text,
    /// The entries of an array that are left.
    entries: Option<Entries>,
    /// The object that is the only row.
    object: Option<std::ops::Range<usize>>,
    columns: Vec<(Path, u8)>,
}

fn columns_of_entries(arguments: &[Value]) -> Result<Box<dyn FunctionRows>> {
    let Some((text, (kind, place))) = opened(arguments)? else {
        return Ok(Box::new(Nothing));
    };
    let mut columns = Vec::new();
    for column in arguments.get(2..).unwrap_or_default().chunks_exact(3) {
        let path = match column[1].as_str() {
            Some(path) => path_of(path)?,
            None => member(column[0].as_str().unwrap_or_default()),
        };
        columns.push((path, column[2].as_i64().map_or(0, |kind| kind as u8)));
    }
    let is_object = kind == Kind::Object;
    Ok(Box::new(Records {
        entries: (!is_object).then(|| Entries::of(text.clone(), (kind, place.clone()))),
        object: is_object.then_some(place),
        text,
        columns,
    }))
}

impl FunctionRows for Records {
    fn next(&mut self) -> Result<Option<Vec<Value>>> {
        let place = match &mut self.entries {
            Some(entries) => entries.take().map(|child| child.place),
            None => self.object.take(),
        };
        let Some(place) = place else { return Ok(None) };
        let record = self.text.get(place).unwrap_or_default();
        let columns = self.columns.iter();
        let values = columns.map(|(path, kind)| column_value(record, path, *kind));
        values.collect::<Result<Vec<_>>>().map(Some)
    }
}

fn column_value(record: &str, path: &Path, kind: u8) -> Result<Value> {
    engine::cancel::spend_bytes(record.len())?;
    let found = Reader::new(record).whole(&path.steps).ok().flatten();
    let Some((found, place)) = found else {
        return match path.strict {
            true => Err(messages::no_json_property()),
            false => Ok(Value::Null),
        };
    };
    let written = record.get(place).unwrap_or_default();
    let is_fragment = kind == JsonValueKind::Fragment as u8;
    match found {
        Kind::Null => Ok(Value::Null),
        Kind::Object | Kind::Array if is_fragment => text_value(written),
        Kind::Object | Kind::Array if path.strict => Err(messages::no_json_scalar()),
        Kind::Object | Kind::Array => Ok(Value::Null),
        _ if is_fragment && path.strict => Err(messages::no_json_object()),
        _ if is_fragment => Ok(Value::Null),
        Kind::Text if kind == JsonValueKind::Base64 as u8 => crate::scalar::base64::decoded(&unescaped(written)),
        Kind::Text => text_value(&unescaped(written)),
        Kind::Number | Kind::Truth => text_value(written),
    }
}
