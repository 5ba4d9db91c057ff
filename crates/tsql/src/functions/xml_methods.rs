//! The methods of the type xml (sql-docs, "xml data type methods"): `value`, `query`, `exist`, `modify`, and the rows of `nodes`.
//!
//! The type is stored as `nvarchar(max)`. A row of `nodes` holds only the text of its node, as `ntext`. No other xml value has that type,
//! so a method knows that its context is the node and not a document. After it come the document, shared by all rows, as `text`, and the
//! node's position in it. A path that leads out of the node (`/`, `//`, `..`) is evaluated on these.
//!
//! Arguments: the xml, the text of the query, the number of declared prefixes, each with its address, then the values that the query takes
//! from the statement. If the xml is the document around a node, the node's position comes last.

use engine::error::Result;
use engine::memory::Charge;
use engine::types::{Length, SqlType, Text, Value, string_room};

use super::Call;
use crate::messages;
use crate::plan::FunctionRows;
use crate::scalar::json::plain;
use crate::scalar::xml::check;
use crate::scalar::xquery::{
    BinaryForm, Bound, Document, Item, NodeId, Query, atom_bytes, atom_text, evaluate, is_node, parse,
    parse_modification, push_item,
};

/// The type of a row of `nodes`.
pub(crate) const NODE: SqlType = SqlType::NVarChar(Length::LargeObject);

/// The type of the document around a row of `nodes`.
pub(crate) const AROUND: SqlType = SqlType::VarChar(Length::LargeObject);

/// A node, the document around it, its place there.
pub(crate) const NODE_COLUMNS: usize = 3;

/// Where a query begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begins {
    /// At the document, above its outermost element.
    Document,
    /// At the node that is all of the text.
    Node,
    /// At the node of the document whose place is the last argument.
    Within,
}

impl Begins {
    fn of(sql_type: SqlType) -> Begins {
        match sql_type {
            NODE => Begins::Node,
            AROUND => Begins::Within,
            _ => Begins::Document,
        }
    }
}

fn place_of(value: &Value) -> Option<NodeId> {
    value.as_i64().and_then(|place| NodeId::try_from(place).ok())
}

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
fn asked(method: &'static str, values: &[Value], types: &[SqlType], begins: Begins) -> Result<Option<Asked>> {
    let (values, place) = match values.split_last() {
        Some((place, values)) if begins == Begins::Within => (values, place_of(place)),
        _ => (values, None),
    };
    let (Some(text), Some(query)) = (
        values.first().and_then(Value::as_str),
        values.get(1).and_then(Value::as_str),
    ) else {
        return Ok(None);
    };
    let (namespaces, externals) = declared(values);
    let query = parse(method, query, &namespaces)?;
    let document = Document::read(text)?;
    let context = match begins {
        Begins::Document => 0,
        Begins::Node => document.children(0).first().copied().unwrap_or_default(),
        Begins::Within => place.unwrap_or_default(),
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
        Value::Binary(bytes) => Some(Item::Bytes(bytes.clone(), BinaryForm::Base64)),
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
    asked(method, call.values, &types, Begins::of(call.argument_type(0)))
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

/// The bytes of the one item, to be converted; NULL without one, and where it has none.
pub(crate) fn value_bytes(call: &Call<'_>) -> Result<Value> {
    let Some(asked) = asked_by("value", call)? else {
        return Ok(Value::Null);
    };
    let (items, _charge) = asked.items()?;
    let bytes = match items.first() {
        Some(item) => atom_bytes(&asked.document, item)?,
        None => None,
    };
    Ok(bytes.map_or(Value::Null, Value::Binary))
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
            is_xml: sql_type == SqlType::XML,
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
    /// The text of the document around all of them.
    around: Value,
    /// The place there of the first node of `document`.
    first: Option<NodeId>,
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
        // Nodes are numbered in the order of the text, the document itself first; declared prefixes are not among them.
        let place = self
            .first
            .and_then(|first| i32::try_from((first + id).saturating_sub(1)).ok());
        let place = place.map_or(Value::Null, Value::Int);
        Ok(Some(vec![text_value(text)?, self.around.clone(), place]))
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
    let around = values.first().cloned().unwrap_or(Value::Null);
    rows(values, Begins::Document, around, Some(1))
}

/// The rows of `nodes` of the document around a row of `nodes`, from the place of that on.
pub(crate) fn nodes_around(values: &[Value]) -> Result<Box<dyn FunctionRows>> {
    let around = values.first().cloned().unwrap_or(Value::Null);
    rows(values, Begins::Within, around, Some(1))
}

/// The rows of `nodes` of a row of `nodes`; the last two arguments are the document around it and its place there.
pub(crate) fn nodes_of_node(values: &[Value]) -> Result<Box<dyn FunctionRows>> {
    let (values, around) = values.split_at(values.len().saturating_sub(2));
    let place = around.last().and_then(place_of);
    let around = around.first().cloned().unwrap_or(Value::Null);
    rows(values, Begins::Node, around, place)
}

fn rows(values: &[Value], begins: Begins, around: Value, first: Option<NodeId>) -> Result<Box<dyn FunctionRows>> {
    Ok(match asked("nodes", values, &[], begins)? {
        Some(asked) => {
            let (items, charge) = asked.items()?;
            Box::new(Nodes {
                document: asked.document,
                items: items.into_iter(),
                around,
                first,
                _charge: charge,
            })
        }
        None => Box::new(Nothing),
    })
}
