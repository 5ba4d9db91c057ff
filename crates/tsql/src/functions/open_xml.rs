//! OPENXML (sql-docs, "OPENXML", "Examples: Using OPENXML", "Specify metaproperties in OPENXML"): a row for each node of a prepared document
//! that a pattern leads to, or the edge table of those nodes.
//!
//! ```text
//! arguments   the text of the document | the prefixes of patterns | the pattern of rows | flags | a name, a pattern and a kind for each column
//! flags       1   columns without a pattern are attributes        2   they are elements        3   attributes, and what is none elements
//!             8   `@mp:xmltext` leaves out what other columns have shown
//! ```
//! Columns come as text. Their patterns begin at the row's node; of several nodes the first counts, and none is NULL.

use std::collections::BTreeSet;

use engine::error::{Error, Result};
use engine::memory::Charge;
use engine::types::{Length, SqlType, Text, Value, string_room};

use crate::messages;
use crate::plan::{Call, Expr, ExprKind, FunctionRows, RowCall, RowSource};
use crate::scalar::xml::Roots;
use crate::scalar::xquery::{Document, Edge, EdgeOf, Edges, Edit, Item, NodeId, NodeKind, Query, evaluate, parse};
use crate::sink::ResultColumn;

/// The address of metaproperties.
const METAPROPERTIES: &str = "urn:schemas-microsoft-com:xml-metaprop";
/// The prefix that always stands for it.
const METAPROPERTY_PREFIX: &str = "mp";
const LONG: SqlType = SqlType::NVarChar(Length::Max);

/// Columns without a pattern are attributes.
const ATTRIBUTES: i64 = 1;
/// Columns without a pattern are elements.
const ELEMENTS: i64 = 2;
/// What other columns show is left out of the overflow.
const NO_COPY: i64 = 8;

/// A column of WITH.
#[derive(Clone, Debug)]
pub struct XmlColumn {
    pub name: String,
    pub pattern: Option<String>,
    /// Whether it shows markup: its type is xml.
    pub is_markup: bool,
}

/// The call: a handle, the pattern of rows, flags.
pub fn open_xml(handle: Expr, pattern: Expr, flags: Expr, columns: &[XmlColumn]) -> RowCall {
    let mut arguments = vec![
        of_session("xml_document", prepared_text, handle.clone()),
        of_session("xml_prefixes", prepared_prefixes, handle),
        pattern,
        flags,
    ];
    if columns.is_empty() {
        return RowCall {
            name: "openxml",
            implementation: RowSource::Called(edge_rows),
            arguments,
            columns: edge_columns(),
        };
    }
    let text = |text: &str| Expr::constant(Value::from(text), LONG);
    for column in columns {
        arguments.push(text(&column.name));
        let pattern = column.pattern.as_deref();
        arguments.push(pattern.map_or_else(|| Expr::constant(Value::Null, LONG), text));
        arguments.push(Expr::constant(Value::Bit(column.is_markup), SqlType::Bit));
    }
    let shown = columns.iter().map(|column| ResultColumn::new(&column.name, LONG));
    RowCall {
        name: "openxml",
        implementation: RowSource::Called(schema_rows),
        arguments,
        columns: shown.collect(),
    }
}

/// A call that answers something of the session's prepared documents.
fn of_session(name: &'static str, implementation: crate::plan::Implementation, handle: Expr) -> Expr {
    let kind = ExprKind::Function {
        name,
        implementation,
        arguments: vec![handle],
    };
    Expr::new(kind, LONG)
}

fn handle_of(call: &Call<'_>) -> i32 {
    call.integer(0)
        .and_then(|handle| i32::try_from(handle).ok())
        .unwrap_or(0)
}

fn prepared_text(call: &Call<'_>) -> Result<Value> {
    call.context.session.xml_document(handle_of(call)).map(|(text, _)| text)
}

fn prepared_prefixes(call: &Call<'_>) -> Result<Value> {
    call.context
        .session
        .xml_document(handle_of(call))
        .map(|(_, prefixes)| prefixes)
}

fn edge_columns() -> Vec<ResultColumn> {
    let columns = [
        ("id", SqlType::BigInt),
        ("parentid", SqlType::BigInt),
        ("nodetype", SqlType::Int),
        ("localname", LONG),
        ("prefix", LONG),
        ("namespaceuri", LONG),
        ("datatype", LONG),
        ("prev", SqlType::BigInt),
        ("text", SqlType::NVarChar(Length::LargeObject)),
    ];
    columns.map(|(name, sql_type)| ResultColumn::new(name, sql_type)).into()
}

/// A document with its numbers, and the nodes that are rows.
struct Opened {
    document: Document,
    edges: Edges,
    prefixes: Vec<(String, String)>,
    rows: std::vec::IntoIter<NodeId>,
    _charge: Charge,
}

fn opened(values: &[Value]) -> Result<Opened> {
    let text = |place: usize| values.get(place).and_then(Value::as_str);
    let document = Document::read(text(0).unwrap_or_default())?;
    let mut prefixes: Vec<(String, String)> = vec![(METAPROPERTY_PREFIX.to_owned(), METAPROPERTIES.to_owned())];
    let mut declared = text(1).unwrap_or_default().split('\0');
    while let (Some(prefix), Some(address)) = (declared.next(), declared.next()) {
        prefixes.push((prefix.to_owned(), address.to_owned()));
    }
    let (rows, charge) = match text(2) {
        Some(pattern) => nodes_at(&document, &query_of(pattern, &prefixes)?, 0)?,
        None => (Vec::new(), Charge::default()),
    };
    Ok(Opened {
        edges: Edges::of(&document)?,
        document,
        prefixes,
        rows: rows.into_iter(),
        _charge: charge,
    })
}

/// A pattern, read.
///
/// # Errors
/// 6603 for what is none.
fn query_of(pattern: &str, prefixes: &[(String, String)]) -> Result<Query> {
    // The document itself, which a path of no step is.
    let written = if pattern.trim().is_empty() { "." } else { pattern };
    parse("openxml", written, prefixes).map_err(|error| match error.number {
        40_517 | 701 | 3_617 | 8_631 => error,
        _ => messages::xml_pattern(&error.message, pattern),
    })
}

/// The nodes that a pattern leads to from a node.
fn nodes_at(document: &Document, query: &Query, from: NodeId) -> Result<(Vec<NodeId>, Charge)> {
    let (items, charge) = evaluate(document, &query.body, from, &[])?;
    let nodes = items.into_iter().map(|item| match item {
        Item::Node(node) => Ok(node),
        _ => Err(messages::xml_pattern(
            "the pattern leads to a value that is no node",
            "",
        )),
    });
    Ok((nodes.collect::<Result<Vec<_>>>()?, charge))
}

fn text_value(text: &str) -> Result<Value> {
    engine::cancel::spend_bytes(text.len())?;
    let charge = string_room(text.len())?;
    Ok(Value::Text(Text::charged(text.to_owned(), charge)))
}

fn optional(text: &str) -> Result<Value> {
    match text.is_empty() {
        true => Ok(Value::Null),
        false => text_value(text),
    }
}

/// How a node is called: local name, prefix and address.
fn names_of(document: &Document, of: EdgeOf) -> (String, String, String) {
    match of {
        EdgeOf::Declaration(node, index) => {
            let declared = document.declared(node).get(index);
            let prefix = declared.map_or("", |(prefix, _)| prefix.as_str());
            let local = if prefix.is_empty() { "xmlns" } else { prefix };
            (local.to_owned(), "xmlns".to_owned(), String::new())
        }
        EdgeOf::Node(node) => {
            let own = document.node(node);
            let prefix = own.name.split_once(':').map_or("", |(prefix, _)| prefix);
            let local = match own.kind {
                NodeKind::Text => "#text",
                NodeKind::Comment => "#comment",
                NodeKind::Instruction => own.value.split_whitespace().next().unwrap_or_default(),
                NodeKind::Document => "#document",
                NodeKind::Element | NodeKind::Attribute => own.local_name(),
            };
            (local.to_owned(), prefix.to_owned(), own.namespace.clone())
        }
    }
}

/// The rows of an edge table that are left.
struct EdgeRows {
    opened: Opened,
    /// Places of edges; each attribute is followed by its text.
    places: std::collections::btree_set::IntoIter<usize>,
    /// The attribute whose text comes next.
    text_of: Option<Edge>,
}

fn edge_rows(values: &[Value]) -> Result<Box<dyn FunctionRows>> {
    let opened = opened(values)?;
    let mut places = BTreeSet::new();
    let mut charge = Charge::default();
    for row in opened.rows.clone() {
        let all = 0..opened.edges.all().len();
        let below = opened
            .edges
            .place_of(row)
            .map_or(all, |place| opened.edges.below(place));
        for place in below {
            engine::cancel::spend(1)?;
            places.insert(place);
            charge.grow_to(places.len() as u64 * 32)?;
        }
    }
    Ok(Box::new(EdgeRows {
        places: places.into_iter(),
        opened,
        text_of: None,
    }))
}

impl FunctionRows for EdgeRows {
    fn next(&mut self) -> Result<Option<Vec<Value>>> {
        let document = &self.opened.document;
        if let Some(attribute) = self.text_of.take() {
            let text = text_of_edge(document, attribute.of).unwrap_or_default();
            return text_row(attribute.text_id.unwrap_or_default(), Some(attribute.id), None, &text).map(Some);
        }
        let Some(edge) = self
            .places
            .next()
            .and_then(|place| self.opened.edges.all().get(place).copied())
        else {
            return Ok(None);
        };
        let parent = edge.parent.and_then(|place| self.opened.edges.all().get(place));
        let parent = parent.map(|edge| edge.id);
        let kind = match edge.of {
            EdgeOf::Declaration(..) => NodeKind::Attribute,
            EdgeOf::Node(node) => document.node(node).kind,
        };
        if kind == NodeKind::Text {
            let text = text_of_edge(document, edge.of).unwrap_or_default();
            return text_row(edge.id, parent, edge.previous, &text).map(Some);
        }
        let number = match kind {
            NodeKind::Element => 1,
            NodeKind::Attribute => 2,
            NodeKind::Text => 3,
            NodeKind::Instruction => 7,
            NodeKind::Comment => 8,
            NodeKind::Document => 9,
        };
        let (local, prefix, namespace) = names_of(document, edge.of);
        if kind == NodeKind::Attribute {
            self.text_of = Some(edge);
        }
        let text = match kind {
            NodeKind::Comment | NodeKind::Instruction => text_of_edge(document, edge.of),
            NodeKind::Element | NodeKind::Attribute | NodeKind::Text | NodeKind::Document => None,
        };
        Ok(Some(vec![
            Value::BigInt(edge.id),
            parent.map_or(Value::Null, Value::BigInt),
            Value::Int(number),
            text_value(&local)?,
            optional(&prefix)?,
            optional(&namespace)?,
            Value::Null,
            edge.previous.map_or(Value::Null, Value::BigInt),
            text.map_or(Ok(Value::Null), |text| text_value(&text))?,
        ]))
    }
}

fn text_row(id: i64, parent: Option<i64>, previous: Option<i64>, text: &str) -> Result<Vec<Value>> {
    Ok(vec![
        Value::BigInt(id),
        parent.map_or(Value::Null, Value::BigInt),
        Value::Int(3),
        Value::from("#text"),
        Value::Null,
        Value::Null,
        Value::Null,
        previous.map_or(Value::Null, Value::BigInt),
        text_value(text)?,
    ])
}

/// The text of an attribute, a text, a comment or an instruction.
fn text_of_edge(document: &Document, of: EdgeOf) -> Option<String> {
    match of {
        EdgeOf::Declaration(node, index) => document.declared(node).get(index).map(|(_, address)| address.clone()),
        EdgeOf::Node(node) => Some(document.node(node).value.clone()),
    }
}

/// Where a column's value comes from.
enum Source {
    /// The attribute or element of the column's name.
    Named(String),
    Pattern(Query),
    Metaproperty(Metaproperty),
}

/// What metaproperties tell of a node.
#[derive(Clone, Copy)]
enum Metaproperty {
    Id,
    LocalName,
    NamespaceUri,
    Prefix,
    Previous,
    /// The node as markup.
    XmlText,
    /// Another one, of the node above.
    Parent(Told),
}

/// What metaproperties tell of the node above.
#[derive(Clone, Copy)]
enum Told {
    Id,
    LocalName,
    NamespaceUri,
    Prefix,
}

/// The metaproperty that a pattern names.
///
/// # Errors
/// 6603 for a name that none has.
fn metaproperty(pattern: &str, prefixes: &[(String, String)]) -> Result<Option<Metaproperty>> {
    let named = pattern.trim().strip_prefix('@').and_then(|name| name.split_once(':'));
    let Some((prefix, name)) = named else { return Ok(None) };
    let mut known = prefixes.iter();
    if !known.any(|(own, address)| own == prefix && address == METAPROPERTIES) {
        return Ok(None);
    }
    Ok(Some(match name {
        "id" => Metaproperty::Id,
        "localname" => Metaproperty::LocalName,
        "namespaceuri" => Metaproperty::NamespaceUri,
        "prefix" => Metaproperty::Prefix,
        "prev" => Metaproperty::Previous,
        "xmltext" => Metaproperty::XmlText,
        "parentid" => Metaproperty::Parent(Told::Id),
        "parentlocalname" => Metaproperty::Parent(Told::LocalName),
        "parentnamespaceuri" => Metaproperty::Parent(Told::NamespaceUri),
        "parentprefix" => Metaproperty::Parent(Told::Prefix),
        _ => return Err(messages::xml_pattern("there is no such metaproperty", pattern)),
    }))
}

struct Column {
    source: Source,
    is_markup: bool,
}

/// The rows with columns that are left.
struct SchemaRows {
    opened: Opened,
    flags: i64,
    columns: Vec<Column>,
}

fn schema_rows(values: &[Value]) -> Result<Box<dyn FunctionRows>> {
    let opened = opened(values)?;
    let mut columns = Vec::new();
    for column in values.get(4..).unwrap_or_default().chunks_exact(3) {
        let source = match column[1].as_str() {
            None => Source::Named(column[0].as_str().unwrap_or_default().to_owned()),
            Some(pattern) => match metaproperty(pattern, &opened.prefixes)? {
                Some(property) => Source::Metaproperty(property),
                None => Source::Pattern(query_of(pattern, &opened.prefixes)?),
            },
        };
        columns.push(Column {
            source,
            is_markup: column[2].as_i64() == Some(1),
        });
    }
    let flags = values.get(3).and_then(Value::as_i64).unwrap_or(0);
    Ok(Box::new(SchemaRows { opened, flags, columns }))
}

impl SchemaRows {
    /// The attribute or element of that name at a node, by the flags.
    fn named(&self, row: NodeId, name: &str) -> Result<Option<NodeId>> {
        let document = &self.opened.document;
        let kinds = self.flags & (ATTRIBUTES | ELEMENTS);
        let is_it = |node: &NodeId| document.node(*node).name == name;
        let attribute = || document.attributes(row).find(is_it);
        let element = || {
            let mut children = document.children(row);
            engine::cancel::spend(children.len())?;
            children.retain(|node| document.node(*node).kind == NodeKind::Element && is_it(node));
            Ok(children.first().copied())
        };
        match kinds {
            ELEMENTS => element(),
            0 | ATTRIBUTES => Ok(attribute()),
            _ => attribute().map_or_else(element, |found| Ok(Some(found))),
        }
    }

    /// The node that a column shows; a metaproperty shows no node of its own.
    fn shown(&self, row: NodeId, column: &Column) -> Result<Option<NodeId>> {
        match &column.source {
            Source::Named(name) => self.named(row, name),
            Source::Pattern(query) => {
                let (nodes, _charge) = nodes_at(&self.opened.document, query, row)?;
                Ok(nodes.first().copied())
            }
            Source::Metaproperty(_) => Ok(None),
        }
    }

    fn told(&self, node: NodeId, property: Metaproperty, shown: &BTreeSet<NodeId>) -> Result<Value> {
        let (document, edges) = (&self.opened.document, &self.opened.edges);
        let edge = edges.place_of(node).and_then(|place| edges.all().get(place));
        let number = |id: Option<i64>| id.map_or(Ok(Value::Null), |id| text_value(&id.to_string()));
        let (local, prefix, namespace) = names_of(document, EdgeOf::Node(node));
        match property {
            Metaproperty::Id => number(edge.map(|edge| edge.id)),
            Metaproperty::LocalName => text_value(&local),
            Metaproperty::NamespaceUri => optional(&namespace),
            Metaproperty::Prefix => optional(&prefix),
            Metaproperty::Previous => number(edge.and_then(|edge| edge.previous)),
            Metaproperty::XmlText => self.overflow(node, shown),
            Metaproperty::Parent(told) => {
                let Some(parent) = edge
                    .and_then(|edge| edge.parent)
                    .and_then(|place| edges.all().get(place))
                else {
                    return Ok(Value::Null);
                };
                let (local, prefix, namespace) = names_of(document, parent.of);
                match told {
                    Told::Id => number(Some(parent.id)),
                    Told::LocalName => text_value(&local),
                    Told::NamespaceUri => optional(&namespace),
                    Told::Prefix => optional(&prefix),
                }
            }
        }
    }

    /// The markup of a node, with or without what other columns show.
    fn overflow(&self, node: NodeId, shown: &BTreeSet<NodeId>) -> Result<Value> {
        let mut markup = String::new();
        match self.flags & NO_COPY {
            0 => self.opened.document.push_alone(&mut markup, node)?,
            _ => {
                let edit = Edit::Delete(shown.clone());
                self.opened.document.push_edited(&mut markup, node, &edit)?;
            }
        }
        optional(&markup)
    }

    fn value(&self, node: NodeId, column: &Column) -> Result<Value> {
        let document = &self.opened.document;
        match column.is_markup {
            false => text_value(&document.string(node)),
            true => {
                let mut markup = String::new();
                document.push_alone(&mut markup, node)?;
                text_value(&markup)
            }
        }
    }
}

impl FunctionRows for SchemaRows {
    fn next(&mut self) -> Result<Option<Vec<Value>>> {
        let Some(row) = self.opened.rows.next() else {
            return Ok(None);
        };
        let nodes = self.columns.iter().map(|column| self.shown(row, column));
        let nodes = nodes.collect::<Result<Vec<_>>>()?;
        let shown: BTreeSet<NodeId> = nodes.iter().flatten().copied().collect();
        let values = self
            .columns
            .iter()
            .zip(&nodes)
            .map(|(column, node)| match (&column.source, node) {
                (Source::Metaproperty(property), _) => self.told(row, *property, &shown),
                (_, Some(node)) => self.value(*node, column),
                (_, None) => Ok(Value::Null),
            });
        values.collect::<Result<Vec<_>>>().map(Some)
    }
}

/// The prefixes that the outermost element of a text declares, one after the other with its address, as the session keeps them.
///
/// # Errors
/// Those of reading the text.
pub(crate) fn declared_prefixes(text: &str) -> Result<String> {
    let document = Document::read(text)?;
    let roots = document.children(0).into_iter();
    let root = roots
        .into_iter()
        .find(|node| document.node(*node).kind == NodeKind::Element);
    let declared = root.map_or(&[][..], |root| document.declared(root));
    let parts = declared
        .iter()
        .flat_map(|(prefix, address)| [prefix.as_str(), address.as_str()]);
    Ok(parts.collect::<Vec<_>>().join("\0"))
}

/// A text as a document, which `sp_xml_preparedocument` keeps.
///
/// # Errors
/// 6602 for what is not well formed, or has not one root.
pub(crate) fn check_document(text: &str) -> Result<()> {
    let roots = crate::scalar::xml::check(text, true).map_err(|error| match error.number {
        701 | 3_617 => error,
        _ => not_well_formed(&error),
    })?;
    match roots {
        _ if text.trim().is_empty() => Ok(()),
        Roots::One => Ok(()),
        Roots::Several => Err(messages::xml_document(
            "Only one top level element is allowed in an XML document.",
        )),
        Roots::Text => Err(messages::xml_document("Invalid at the top level of the document.")),
        Roots::None => Err(messages::xml_document("XML document must have a top level element.")),
    }
}

fn not_well_formed(error: &Error) -> Error {
    let (_, words) = error.message.split_once(", ").unwrap_or(("", &error.message));
    messages::xml_document(words)
}
