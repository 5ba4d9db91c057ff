//! The methods of the type xml (sql-docs, "xml data type methods"): `value`, `query`, `exist`, `modify`, and the rows of `nodes`.
//!
//! The type is kept as `nvarchar(max)`. A row of `nodes` is the text of its node alone, as `ntext`, which nothing else makes of xml: by that
//! a method knows that its context is the node and not a document around it.
//!
//! Arguments: the xml, the text of the query, how many prefixes are declared, each with its address, then what the query asks of the
//! statement around it.

use engine::error::Result;
use engine::memory::Charge;
use engine::types::{Length, SqlType, Text, Value, string_room};

use super::Call;
use crate::messages;
use crate::plan::FunctionRows;
use crate::scalar::json::plain;
use crate::scalar::xml::check;
use crate::scalar::xquery::{
    Bound, Document, Item, NodeId, Query, atom_text, evaluate, is_node, parse, parse_modification, push_item,
};

/// The type of a row of `nodes`.
pub(crate) const NODE: SqlType = SqlType::NVarChar(Length::LargeObject);

/// A document with a query about it, and where the query begins.
struct Asked {
    document: Document,
    query: Query,
    context: NodeId,
    externals: Vec<Option<Item>>,
}

impl Asked {
    /// With the charge that covers them.
    fn items(&self) -> Result<(Vec<Item>, Charge)> {
        evaluate(&self.document, &self.query.body, self.context, &self.externals)
    }
}

/// The prefixes and addresses among the arguments, and what follows them.
fn declared(values: &[Value]) -> (Vec<(String, String)>, &[Value]) {
    let count = values
        .get(2)
        .and_then(Value::as_i64)
        .and_then(|count| usize::try_from(count).ok());
    let rest = values.get(3..).unwrap_or_default();
    let (pairs, externals) = rest.split_at(rest.len().min(count.unwrap_or_default() * 2));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let pairs = pairs.chunks_exact(2).map(|pair| (text(&pair[0]), text(&pair[1])));
    (pairs.collect(), externals)
}

/// `None` for NULL.
fn asked(method: &'static str, values: &[Value], types: &[SqlType], is_node: bool) -> Result<Option<Asked>> {
    let (Some(text), Some(query)) = (
        values.first().and_then(Value::as_str),
        values.get(1).and_then(Value::as_str),
    ) else {
        return Ok(None);
    };
    let (namespaces, externals) = declared(values);
    let query = parse(method, query, &namespaces)?;
    let document = Document::read(text)?;
    let context = match is_node {
        true => document.children(0).first().copied().unwrap_or_default(),
        false => 0,
    };
    let first = values.len() - externals.len();
    let externals = externals.iter().enumerate();
    let externals = externals.map(|(index, value)| external(value, types.get(first + index).copied()));
    Ok(Some(Asked {
        externals: externals.collect::<Result<Vec<_>>>()?,
        document,
        query,
        context,
    }))
}

/// A value of the statement as an item.
fn external(value: &Value, sql_type: Option<SqlType>) -> Result<Option<Item>> {
    Ok(match value {
        Value::Null => None,
        Value::Text(text) => Some(Item::Text(text.to_string())),
        Value::Bit(bit) => Some(Item::Truth(*bit)),
        other => {
            let text = plain(other, sql_type.unwrap_or(SqlType::Int))?;
            let number = sql_type
                .is_some_and(SqlType::is_numeric)
                .then(|| text.parse().ok())
                .flatten();
            Some(number.map_or(Item::Text(text), Item::Number))
        }
    })
}

fn asked_by(method: &'static str, call: &Call<'_>) -> Result<Option<Asked>> {
    let types: Vec<SqlType> = (0..call.values.len()).map(|index| call.argument_type(index)).collect();
    asked(method, call.values, &types, call.argument_type(0) == NODE)
}

fn text_value(text: String) -> Result<Value> {
    let charge = string_room(text.len())?;
    Ok(Value::Text(Text::charged(text, charge)))
}

/// The text of the one item, to be converted; NULL without one.
pub(crate) fn value(call: &Call<'_>) -> Result<Value> {
    let Some(asked) = asked_by("value", call)? else {
        return Ok(Value::Null);
    };
    let (items, _charge) = asked.items()?;
    match items.first() {
        Some(item) => text_value(atom_text(&asked.document, item)),
        None => Ok(Value::Null),
    }
}

/// The items as xml.
pub(crate) fn query(call: &Call<'_>) -> Result<Value> {
    let Some(asked) = asked_by("query", call)? else {
        return Ok(Value::Null);
    };
    let (items, _charge) = asked.items()?;
    let mut written = Charge::default();
    let mut text = String::new();
    let mut was_atom = false;
    for item in items {
        // "A sequence of atomic values is converted to text with a blank between" (XQuery 1.0, 3.7.1.3).
        let is_atom = !is_node(&item);
        if was_atom && is_atom {
            text.push(' ');
        }
        push_item(&mut text, &asked.document, &item)?;
        written.grow_to(text.len() as u64)?;
        was_atom = is_atom;
    }
    text_value(text)
}

/// The xml with a change; the last argument is what it is called.
///
/// # Errors
/// 5302 for NULL; those of `xquery::modify` and of a result that is not well formed.
pub(crate) fn modify(call: &Call<'_>) -> Result<Value> {
    let (Some((name, values)), Some(text)) = (call.values.split_last(), call.text(0)) else {
        let name = call.values.last().and_then(Value::as_str).unwrap_or_default();
        return Err(messages::mutator_of_null("modify()", name));
    };
    let query = values.get(1).and_then(Value::as_str);
    let query = query.ok_or_else(|| messages::mutator_of_null("modify()", name.as_str().unwrap_or_default()))?;
    let (namespaces, externals) = declared(values);
    let modification = parse_modification(query, &namespaces)?;
    let document = Document::read(text)?;
    let first = values.len() - externals.len();
    let mut bound = Vec::with_capacity(externals.len());
    for (index, value) in externals.iter().enumerate() {
        let sql_type = call.argument_type(first + index);
        bound.push(Bound {
            item: external(value, Some(sql_type))?,
            is_xml: sql_type == SqlType::NVarChar(Length::Max),
        });
    }
    let changed = crate::scalar::xquery::modify(&document, &modification, &bound)?;
    check(&changed, true)?;
    text_value(changed)
}

/// Whether there is an item.
pub(crate) fn exist(call: &Call<'_>) -> Result<Value> {
    Ok(match asked_by("exist", call)? {
        Some(asked) => Value::Bit(!asked.items()?.0.is_empty()),
        None => Value::Null,
    })
}

/// The nodes that are left.
struct Nodes {
    document: Document,
    items: std::vec::IntoIter<Item>,
    _charge: Charge,
}

impl FunctionRows for Nodes {
    fn next(&mut self) -> Result<Option<Vec<Value>>> {
        let Some(item) = self.items.next() else { return Ok(None) };
        let Item::Node(id) = item else {
            return Err(messages::nodes_of_values());
        };
        let mut text = String::new();
        self.document.push_alone(&mut text, id)?;
        text_value(text).map(|value| Some(vec![value]))
    }
}

struct Nothing;

impl FunctionRows for Nothing {
    fn next(&mut self) -> Result<Option<Vec<Value>>> {
        Ok(None)
    }
}

/// The rows of `nodes` of a document.
pub(crate) fn nodes(values: &[Value]) -> Result<Box<dyn FunctionRows>> {
    rows(values, false)
}

/// The rows of `nodes` of a row of `nodes`.
pub(crate) fn nodes_of_node(values: &[Value]) -> Result<Box<dyn FunctionRows>> {
    rows(values, true)
}

fn rows(values: &[Value], is_node: bool) -> Result<Box<dyn FunctionRows>> {
    Ok(match asked("nodes", values, &[], is_node)? {
        Some(asked) => {
            let (items, charge) = asked.items()?;
            Box::new(Nodes {
                document: asked.document,
                items: items.into_iter(),
                _charge: charge,
            })
        }
        None => Box::new(Nothing),
    })
}
