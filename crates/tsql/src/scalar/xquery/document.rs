//! An xml text as a tree: nodes in document order, so the descendants of a node are the nodes after it up to its end.

use std::collections::BTreeSet;

use engine::cancel;
use engine::error::Result;
use engine::memory::Charge;
use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::{BytesStart, Event};

use crate::scalar::xml::check;
use crate::scalar::xml_text::{push_attribute, push_text};

/// What a node takes beside its text, in bytes.
const NODE_BYTES: u64 = 160;

/// A node by its place; 0 is the document.
pub type NodeId = usize;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    Document,
    Element,
    Attribute,
    Text,
    Comment,
    Instruction,
}

#[derive(Debug)]
pub struct Node {
    pub kind: NodeKind,
    pub parent: NodeId,
    /// The first place that is not below it. Attributes stand right behind their element.
    pub end: NodeId,
    /// The name as it is written.
    pub name: String,
    /// The address that its prefix stands for; empty without one.
    pub namespace: String,
    /// Of everything but elements.
    pub value: String,
    /// Of an element: its declarations, prefix and address.
    declared: Vec<(String, String)>,
}

impl Node {
    /// The name without its prefix.
    pub fn local_name(&self) -> &str {
        self.name.rsplit(':').next().unwrap_or_default()
    }
}

/// A document, or a fragment of several elements and texts.
pub struct Document {
    nodes: Vec<Node>,
    _charge: Charge,
}

impl Document {
    /// Reads a text.
    ///
    /// # Errors
    /// Those of [`check`]; 701.
    pub fn read(text: &str) -> Result<Document> {
        Document::read_in(text, true)
    }

    /// Reads a text that is UTF-16 to SQL Server, or is in the code page of its collation: which encodings it may declare.
    ///
    /// # Errors
    /// Those of [`check`]; 701.
    pub fn read_in(text: &str, is_unicode: bool) -> Result<Document> {
        check(text, is_unicode)?;
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        let mut builder = Builder {
            nodes: vec![Node {
                kind: NodeKind::Document,
                parent: 0,
                end: 1,
                name: String::new(),
                namespace: String::new(),
                value: String::new(),
                declared: Vec::new(),
            }],
            open: vec![0],
            text: String::new(),
        };
        let mut charge = Charge::default();
        let mut reader = Reader::from_str(text);
        loop {
            cancel::spend(1)?;
            charge.grow_to(text.len() as u64 + builder.nodes.len() as u64 * NODE_BYTES)?;
            // The text is known to be well formed.
            match reader.read_event() {
                Ok(Event::Eof) | Err(_) => break,
                Ok(event) => builder.take(&event),
            }
        }
        builder.flush(true);
        let count = builder.nodes.len();
        builder.nodes[0].end = count;
        Ok(Document {
            nodes: builder.nodes,
            _charge: charge,
        })
    }

    pub fn node(&self, id: NodeId) -> &Node {
        // Every identifier is one that this document gave.
        &self.nodes[id.min(self.nodes.len() - 1)]
    }

    /// How many nodes there are, the document itself among them.
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// The prefixes that an element declares, each with its address.
    pub fn declared(&self, id: NodeId) -> &[(String, String)] {
        &self.node(id).declared
    }

    /// The attributes of an element.
    pub fn attributes(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let end = self.node(id).end;
        (id + 1..end).take_while(move |other| {
            let other = self.node(*other);
            other.kind == NodeKind::Attribute && other.parent == id
        })
    }

    /// What stands directly below a node, attributes left out.
    pub fn children(&self, id: NodeId) -> Vec<NodeId> {
        let mut children = Vec::new();
        let end = self.node(id).end;
        let mut next = id + 1;
        while next < end {
            let node = self.node(next);
            if node.kind != NodeKind::Attribute {
                children.push(next);
            }
            next = node.end.max(next + 1);
        }
        children
    }

    /// Everything below a node, attributes left out.
    pub fn descendants(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let end = self.node(id).end;
        (id + 1..end).filter(|other| self.node(*other).kind != NodeKind::Attribute)
    }

    /// The text of a node: of an element, all texts below it.
    pub fn string(&self, id: NodeId) -> String {
        match self.node(id).kind {
            NodeKind::Document | NodeKind::Element => {
                let texts = self.descendants(id).map(|other| self.node(other));
                let texts = texts.filter(|other| other.kind == NodeKind::Text);
                texts.map(|other| other.value.as_str()).collect()
            }
            _ => self.node(id).value.clone(),
        }
    }

    /// The addresses of prefixes at a node, nearest first.
    fn declarations(&self, id: NodeId) -> Vec<(&str, &str)> {
        let mut found: Vec<(&str, &str)> = Vec::new();
        let mut at = id;
        while at != 0 {
            for (prefix, address) in &self.node(at).declared {
                if !found.iter().any(|(known, _)| known == prefix) {
                    found.push((prefix, address));
                }
            }
            at = self.node(at).parent;
        }
        found
    }

    /// A node as text that stands for itself: with the declarations of the prefixes around it.
    pub fn push_alone(&self, output: &mut String, id: NodeId) -> Result<()> {
        match self.node(id).kind {
            NodeKind::Attribute => push_text(output, &self.node(id).value),
            NodeKind::Document => {
                for child in self.children(id) {
                    self.push(output, child, &[])?;
                }
            }
            _ => {
                let own = &self.node(id).declared;
                let around = self.declarations(id).into_iter();
                let around = around.filter(|(prefix, _)| !own.iter().any(|(known, _)| known == prefix));
                self.push(output, id, &around.collect::<Vec<_>>())?;
            }
        }
        Ok(())
    }

    fn push(&self, output: &mut String, id: NodeId, around: &[(&str, &str)]) -> Result<()> {
        self.push_with(output, id, around, None)
    }

    /// Local name and address of each element that stands in no other.
    pub fn roots(&self) -> Vec<(String, String)> {
        let nodes = self.children(0).into_iter().map(|id| self.node(id));
        let elements = nodes.filter(|node| node.kind == NodeKind::Element);
        let named = elements.map(|node| (node.local_name().to_owned(), node.namespace.clone()));
        named.collect()
    }

    /// The values of an attribute of the elements that stand in no other.
    pub fn of_roots(&self, attribute: &str) -> Vec<String> {
        let roots = self.children(0).into_iter();
        let attributes = roots.flat_map(|root| self.attributes(root));
        let named = attributes.map(|id| self.node(id)).filter(|node| node.name == attribute);
        named.map(|node| node.value.clone()).collect()
    }

    /// The whole document as text.
    pub fn text(&self) -> Result<String> {
        let mut text = String::new();
        self.push_alone(&mut text, 0)?;
        Ok(text)
    }

    /// A node as text, with a change in it.
    pub fn push_edited(&self, output: &mut String, id: NodeId, edit: &Edit) -> Result<()> {
        self.push_with(output, id, &[], Some(edit))
    }

    /// Markup from elsewhere as it is written within a node: without the declarations that hold there, and with one where the default does
    /// not hold for it.
    ///
    /// # Errors
    /// Those of [`Document::read`].
    pub fn push_within(&self, output: &mut String, within: NodeId, markup: &str) -> Result<()> {
        let inserted = Document::read(markup)?;
        let scope = self.declarations(within);
        let default = scope.iter().find(|(prefix, _)| prefix.is_empty());
        let has_default = default.is_some_and(|(_, address)| !address.is_empty());
        for child in inserted.children(0) {
            let node = inserted.node(child);
            let is_bare = node.kind == NodeKind::Element && node.namespace.is_empty() && !node.name.contains(':');
            let mut declared: Vec<(&str, &str)> = Vec::new();
            for (prefix, address) in &node.declared {
                if !scope.contains(&(prefix.as_str(), address.as_str())) {
                    declared.push((prefix, address));
                }
            }
            if is_bare && has_default && declared.iter().all(|(prefix, _)| !prefix.is_empty()) {
                declared.push(("", ""));
            }
            match node.kind {
                NodeKind::Element => inserted.push_element(output, child, &declared, None)?,
                _ => inserted.push(output, child, &[])?,
            }
        }
        Ok(())
    }

    fn push_with(&self, output: &mut String, id: NodeId, around: &[(&str, &str)], edit: Option<&Edit>) -> Result<()> {
        cancel::spend(1)?;
        let node = self.node(id);
        if let Some(edit) = edit {
            match edit {
                Edit::Delete(deleted) if deleted.contains(&id) => return Ok(()),
                Edit::Before(target, markup) if *target == id => output.push_str(markup),
                _ => {}
            }
        }
        let value = match edit {
            Some(Edit::Value(target, value)) if *target == id => value,
            _ => &node.value,
        };
        match node.kind {
            NodeKind::Text => push_text(output, value),
            NodeKind::Comment => output.push_str(&format!("<!--{value}-->")),
            NodeKind::Instruction => output.push_str(&format!("<?{value}?>")),
            NodeKind::Attribute => {}
            NodeKind::Document => self.push_content(output, id, edit)?,
            NodeKind::Element => {
                let own = node.declared.iter();
                let own = own.map(|(prefix, address)| (prefix.as_str(), address.as_str()));
                let declared: Vec<(&str, &str)> = own.chain(around.iter().copied()).collect();
                self.push_element(output, id, &declared, edit)?;
            }
        }
        if let Some(Edit::After(target, markup)) = edit
            && *target == id
        {
            output.push_str(markup);
        }
        Ok(())
    }

    fn push_element(
        &self,
        output: &mut String,
        id: NodeId,
        declared: &[(&str, &str)],
        edit: Option<&Edit>,
    ) -> Result<()> {
        let node = self.node(id);
        output.push('<');
        output.push_str(&node.name);
        for (prefix, address) in declared {
            match prefix.is_empty() {
                true => output.push_str(" xmlns=\""),
                false => output.push_str(&format!(" xmlns:{prefix}=\"")),
            }
            push_attribute(output, address);
            output.push('"');
        }
        let mut push_pair = |name: &str, value: &str| {
            output.push_str(&format!(" {name}=\""));
            push_attribute(output, value);
            output.push('"');
        };
        for attribute in self.attributes(id) {
            let own = self.node(attribute);
            match edit {
                Some(Edit::Delete(deleted)) if deleted.contains(&attribute) => {}
                Some(Edit::Value(target, value)) if *target == attribute => push_pair(&own.name, value),
                _ => push_pair(&own.name, &own.value),
            }
        }
        if let Some(Edit::First(target, attributes, _) | Edit::Last(target, attributes, _)) = edit
            && *target == id
        {
            attributes.iter().for_each(|(name, value)| push_pair(name, value));
        }
        output.push('>');
        let start = output.len();
        self.push_content(output, id, edit)?;
        match output.len() == start {
            true => {
                output.pop();
                output.push_str("/>");
            }
            false => output.push_str(&format!("</{}>", node.name)),
        }
        Ok(())
    }

    /// What stands between the tags of an element. Elements are at most 128 deep.
    fn push_content(&self, output: &mut String, id: NodeId, edit: Option<&Edit>) -> Result<()> {
        if let Some(Edit::First(target, _, markup)) = edit
            && *target == id
        {
            output.push_str(markup);
        }
        for child in self.children(id) {
            self.push_with(output, child, &[], edit)?;
        }
        if let Some(Edit::Last(target, _, markup)) = edit
            && *target == id
        {
            output.push_str(markup);
        }
        Ok(())
    }
}

/// A change of a document, by the nodes it is for; new nodes as markup.
pub enum Edit {
    Delete(BTreeSet<NodeId>),
    /// The value of an attribute, text, comment or instruction.
    Value(NodeId, String),
    Before(NodeId, String),
    After(NodeId, String),
    /// Attributes, and what comes before all content of an element.
    First(NodeId, Vec<(String, String)>, String),
    /// Attributes, and what comes behind all content of an element.
    Last(NodeId, Vec<(String, String)>, String),
}

struct Builder {
    nodes: Vec<Node>,
    /// The document and the elements that are open.
    open: Vec<NodeId>,
    /// Text that goes on.
    text: String,
}

impl Builder {
    fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(tag) => self.element(tag, true),
            Event::Empty(tag) => self.element(tag, false),
            Event::End(_) => {
                self.flush(true);
                if self.open.len() > 1
                    && let Some(id) = self.open.pop()
                {
                    let end = self.nodes.len();
                    self.nodes[id].end = end;
                }
            }
            Event::Text(part) => self.text.push_str(part),
            Event::CData(part) => self.text.push_str(part),
            Event::GeneralRef(name) => {
                let written = format!("&{};", &**name);
                self.text.push_str(&unescape(&written).unwrap_or_default());
            }
            Event::Comment(part) => self.apart(NodeKind::Comment, "", part),
            Event::PI(part) => {
                let whole: &str = part;
                let target = whole.split_whitespace().next().unwrap_or_default().to_owned();
                self.apart(NodeKind::Instruction, &target, whole);
            }
            Event::Decl(_) | Event::DocType(_) | Event::Eof => {}
        }
    }

    fn parent(&self) -> NodeId {
        self.open.last().copied().unwrap_or_default()
    }

    fn add(&mut self, kind: NodeKind, name: &str, value: String) -> NodeId {
        let id = self.nodes.len();
        self.nodes.push(Node {
            kind,
            parent: self.parent(),
            end: id + 1,
            name: name.to_owned(),
            namespace: String::new(),
            value,
            declared: Vec::new(),
        });
        id
    }

    /// Ends a text. White space alone between markup is left out, as the type xml does (sql-docs, "Create instances of XML data").
    fn flush(&mut self, is_at_markup: bool) {
        let text = std::mem::take(&mut self.text);
        let is_blank = text
            .chars()
            .all(|character| matches!(character, ' ' | '\t' | '\r' | '\n'));
        if text.is_empty() || is_blank && is_at_markup {
            return;
        }
        self.add(NodeKind::Text, "", text);
    }

    fn apart(&mut self, kind: NodeKind, name: &str, value: &str) {
        self.flush(true);
        self.add(kind, name, value.to_owned());
    }

    fn element(&mut self, tag: &BytesStart<'_>, has_content: bool) {
        self.flush(true);
        let name: String = tag.name().as_ref().to_owned();
        let id = self.add(NodeKind::Element, &name, String::new());
        self.open.push(id);
        let mut attributes = Vec::new();
        for attribute in tag.attributes().with_checks(false).flatten() {
            let name: &str = attribute.key.as_ref();
            let value =
                unescape(&attribute.value).map_or_else(|_| attribute.value.to_string(), |text| text.into_owned());
            match name.strip_prefix("xmlns") {
                Some("") => self.nodes[id].declared.push((String::new(), value)),
                Some(prefix) if prefix.starts_with(':') => {
                    self.nodes[id].declared.push((prefix[1..].to_owned(), value));
                }
                _ => attributes.push((name.to_owned(), value)),
            }
        }
        self.nodes[id].namespace = self.address_of(&name, true);
        for (name, value) in attributes {
            let place = self.add(NodeKind::Attribute, &name, value);
            self.nodes[place].namespace = self.address_of(&name, false);
        }
        if !has_content {
            self.open.pop();
            let end = self.nodes.len();
            self.nodes[id].end = end;
        }
    }

    /// The address of a name's prefix; elements without one have the default.
    fn address_of(&self, name: &str, takes_default: bool) -> String {
        let prefix = match name.split_once(':') {
            Some((prefix, _)) => prefix,
            None if takes_default => "",
            None => return String::new(),
        };
        let open = self.open.iter().rev().map(|id| &self.nodes[*id]);
        let mut declared = open.flat_map(|node| node.declared.iter().rev());
        let found = declared.find(|(known, _)| known == prefix);
        found.map(|(_, address)| address.clone()).unwrap_or_default()
    }
}
