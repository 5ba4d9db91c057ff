//! The nodes of a document as OPENXML numbers and lists them: its *edge table* (sql-docs, "OPENXML").
//!
//! ```text
//! <root>t1<b i="7"/></root>
//!
//! id   parentid   nodetype         localname   prev   text
//!  0   NULL       1 element        root
//!  2   0          1                b           3             a text that is the first child of its element changes
//!  3   0          3 text           #text              t1     places with the node behind it
//!  4   2          2 attribute      i
//!  5   4          3                #text              7      values of attributes come last
//! ```
//! The outermost element is 0, and 1 is left out; what stands before it is numbered from 1. Declarations of prefixes are attributes with the
//! prefix `xmlns`. The order of the numbers is as the SqlServerSimulator project has probed it on SQL Server 2025 (its notes on OPENXML);
//! the page "Specify metaproperties in OPENXML" has the same ones.

use std::collections::BTreeMap;

use engine::cancel;
use engine::error::Result;
use engine::memory::Charge;

use super::document::{Document, NodeId, NodeKind};

/// What an edge takes, in bytes.
const EDGE_BYTES: u64 = 64;

/// What an edge is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeOf {
    Node(NodeId),
    /// A declaration of an element, by its place.
    Declaration(NodeId, usize),
}

/// A row of an edge table.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    pub of: EdgeOf,
    /// Its number in the edge table.
    pub id: i64,
    /// The edge above it, by its place; `None` at the top.
    pub parent: Option<usize>,
    /// The number of the node before it below the same node.
    pub previous: Option<i64>,
    /// The number of the text of an attribute.
    pub text_id: Option<i64>,
    /// Edges up to this place are below it.
    end: usize,
}

/// The edges of a document, in the order of the text.
pub struct Edges {
    all: Vec<Edge>,
    /// The edge of each node, by the node's place; none of the document itself.
    places: Vec<Option<usize>>,
    _charge: Charge,
}

impl Edges {
    /// Numbers the nodes of a document.
    ///
    /// # Errors
    /// 701; 3617 when the request is to stop.
    pub fn of(document: &Document) -> Result<Edges> {
        let mut charge = Charge::default();
        charge.grow_to(document.count() as u64 * EDGE_BYTES)?;
        let mut edges = Edges {
            all: Vec::new(),
            places: vec![None; document.count()],
            _charge: Charge::default(),
        };
        let mut node = 1;
        while node < document.count() {
            cancel::spend(1)?;
            charge.grow_to((document.count() + edges.all.len()) as u64 * EDGE_BYTES)?;
            edges.push(document, node);
            node += 1;
        }
        edges.close(document);
        edges.number(document);
        edges.link(document);
        edges._charge = charge;
        Ok(edges)
    }

    pub fn all(&self) -> &[Edge] {
        &self.all
    }

    /// The edge of a node; `None` of the document itself.
    pub fn place_of(&self, node: NodeId) -> Option<usize> {
        self.places.get(node).copied().flatten()
    }

    /// The places of an edge and of all below it.
    pub fn below(&self, place: usize) -> std::ops::Range<usize> {
        place..self.all.get(place).map_or(place, |edge| edge.end)
    }

    fn push(&mut self, document: &Document, node: NodeId) {
        let parent = self.place_of(document.node(node).parent);
        let place = self.all.len();
        if let Some(own) = self.places.get_mut(node) {
            *own = Some(place);
        }
        let edge = |of, parent| Edge {
            of,
            id: 0,
            parent,
            previous: None,
            text_id: None,
            end: 0,
        };
        self.all.push(edge(EdgeOf::Node(node), parent));
        let declarations = 0..document.declared(node).len();
        self.all
            .extend(declarations.map(|index| edge(EdgeOf::Declaration(node, index), Some(place))));
    }

    /// Finds where the edges below each end.
    fn close(&mut self, document: &Document) {
        let count = self.all.len();
        for place in 0..count {
            self.all[place].end = match self.all[place].of {
                EdgeOf::Declaration(..) => place + 1,
                EdgeOf::Node(node) => self.place_of(document.node(node).end).unwrap_or(count),
            };
        }
    }

    fn is_attribute(&self, document: &Document, place: usize) -> bool {
        match self.all[place].of {
            EdgeOf::Declaration(..) => true,
            EdgeOf::Node(node) => document.node(node).kind == NodeKind::Attribute,
        }
    }

    fn number(&mut self, document: &Document) {
        let mut order: Vec<usize> = (0..self.all.len()).collect();
        for at in 1..order.len().saturating_sub(1) {
            let (before, own) = (order[at - 1], order[at]);
            let is_text = matches!(self.all[own].of, EdgeOf::Node(node) if document.node(node).kind == NodeKind::Text);
            if is_text && self.all[own].parent == Some(before) {
                order.swap(at, at + 1);
            }
        }
        let is_root = |edge: &Edge| {
            edge.parent.is_none()
                && matches!(edge.of, EdgeOf::Node(node) if document.node(node).kind == NodeKind::Element)
        };
        let mut next = 1;
        for place in order {
            let is_root = is_root(&self.all[place]);
            self.all[place].id = if is_root { 0 } else { next };
            next += 1;
        }
        for place in 0..self.all.len() {
            if self.is_attribute(document, place) {
                self.all[place].text_id = Some(next);
                next += 1;
            }
        }
    }

    /// Finds what comes before each below the same node. Attributes have no order.
    fn link(&mut self, document: &Document) {
        let mut last: BTreeMap<Option<usize>, i64> = BTreeMap::new();
        for place in 0..self.all.len() {
            if self.is_attribute(document, place) {
                continue;
            }
            let (parent, id) = (self.all[place].parent, self.all[place].id);
            self.all[place].previous = last.insert(parent, id);
        }
    }
}
