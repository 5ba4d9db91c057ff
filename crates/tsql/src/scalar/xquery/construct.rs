//! Builds nodes from constructors. A constructed node is only its text: it belongs to no document, and paths do not lead into it.

use std::collections::BTreeSet;

use engine::error::{Error, Result};

use super::document::{Document, NodeKind};
use super::evaluate::{Evaluator, Focus, Item, atom_text};
use super::tree::{Constructor, Expression, Part};
use crate::scalar::xml_text::{push_attribute, push_text};

/// A node that was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Fragment {
    /// Never a document.
    pub kind: NodeKind,
    /// Of an element or attribute, as it is written.
    pub name: String,
    /// Of an element, comment or instruction: its markup. Of an attribute or text: its value.
    pub text: String,
    /// What the function `string` answers of it.
    pub value: String,
}

impl Fragment {
    /// The node as markup, where it stands between tags.
    pub fn push(&self, output: &mut String) {
        match self.kind {
            NodeKind::Text | NodeKind::Attribute => push_text(output, &self.text),
            _ => output.push_str(&self.text),
        }
    }
}

/// What an element consists of so far.
#[derive(Default)]
struct Made {
    attributes: Vec<(String, String)>,
    /// Markup between the tags.
    content: String,
    value: String,
}

impl<'e> Evaluator<'e> {
    pub(super) fn constructed(&mut self, constructor: &'e Constructor, focus: &Focus) -> Result<Fragment> {
        let (kind, name, text, value) = match constructor {
            Constructor::Element {
                name,
                declared,
                attributes,
                content,
            } => return self.element(name, declared, attributes, content, focus),
            Constructor::Attribute(name, value) => {
                let value = self.joined(value, focus)?;
                (NodeKind::Attribute, name.clone(), value.clone(), value)
            }
            Constructor::Text(value) => {
                let value = self.joined(value, focus)?;
                (NodeKind::Text, String::new(), value.clone(), value)
            }
            Constructor::Comment(text) => (NodeKind::Comment, String::new(), format!("<!--{text}-->"), text.clone()),
            Constructor::Instruction(text) => (
                NodeKind::Instruction,
                String::new(),
                format!("<?{text}?>"),
                text.clone(),
            ),
        };
        Ok(Fragment {
            kind,
            name,
            text,
            value,
        })
    }

    fn element(
        &mut self,
        name: &str,
        declared: &[(String, String)],
        attributes: &'e [(String, Vec<Part>)],
        content: &'e [Part],
        focus: &Focus,
    ) -> Result<Fragment> {
        let mut made = Made::default();
        for (name, parts) in attributes {
            let mut value = String::new();
            for part in parts {
                match part {
                    Part::Text(text) => value.push_str(text),
                    Part::Value(expression) => value.push_str(&self.joined(expression, focus)?),
                }
            }
            made.attributes.push((name.clone(), value));
        }
        for part in content {
            match part {
                Part::Text(text) => {
                    push_text(&mut made.content, text);
                    made.value.push_str(text);
                }
                Part::Value(expression) => self.add_items(&mut made, expression, focus)?,
            }
            self.hold_text(&made.content)?;
        }
        let mut names = BTreeSet::new();
        if let Some((name, _)) = made.attributes.iter().find(|(name, _)| !names.insert(name.as_str())) {
            return Err(duplicate_attribute(name));
        }
        let mut text = format!("<{name}");
        for (prefix, address) in declared {
            text.push_str(if prefix.is_empty() { " xmlns" } else { " xmlns:" });
            text.push_str(prefix);
            text.push_str("=\"");
            push_attribute(&mut text, address);
            text.push('"');
        }
        for (name, value) in &made.attributes {
            text.push_str(&format!(" {name}=\""));
            push_attribute(&mut text, value);
            text.push('"');
        }
        match made.content.is_empty() {
            true => text.push_str("/>"),
            false => text.push_str(&format!(">{}</{name}>", made.content)),
        }
        Ok(Fragment {
            kind: NodeKind::Element,
            name: name.to_owned(),
            text,
            value: made.value,
        })
    }

    /// The items of a value as content: nodes are copied, values between two of them have a blank.
    fn add_items(&mut self, made: &mut Made, expression: &'e Expression, focus: &Focus) -> Result<()> {
        let document = self.document;
        let mut was_atom = false;
        for item in self.of(expression, focus)? {
            let is_atom = !matches!(item, Item::Node(_) | Item::Fragment(_));
            match &item {
                Item::Node(id) if document.node(*id).kind == NodeKind::Attribute => {
                    let node = document.node(*id);
                    made.attributes.push((node.name.clone(), node.value.clone()));
                }
                Item::Node(id) => {
                    document.push_alone(&mut made.content, *id)?;
                    made.value.push_str(&document.string(*id));
                }
                Item::Fragment(fragment) if fragment.kind == NodeKind::Attribute => {
                    made.attributes.push((fragment.name.clone(), fragment.text.clone()));
                }
                Item::Fragment(fragment) => {
                    fragment.push(&mut made.content);
                    made.value.push_str(&fragment.value);
                }
                atom => {
                    let text = atom_text(document, atom);
                    if was_atom {
                        made.content.push(' ');
                        made.value.push(' ');
                    }
                    push_text(&mut made.content, &text);
                    made.value.push_str(&text);
                }
            }
            self.hold_text(&made.content)?;
            was_atom = is_atom;
        }
        Ok(())
    }

    /// The values of the items, a blank between two.
    pub(super) fn joined(&mut self, expression: &'e Expression, focus: &Focus) -> Result<String> {
        let mut joined = String::new();
        for (index, item) in self.of(expression, focus)?.iter().enumerate() {
            if index > 0 {
                joined.push(' ');
            }
            joined.push_str(&atom_text(self.document, item));
            self.hold_text(&joined)?;
        }
        Ok(joined)
    }
}

/// 6308: an attribute twice in what a query makes.
pub fn duplicate_attribute(name: &str) -> Error {
    let text = format!(
        "XML well-formedness check: Duplicate attribute '{name}'. Rewrite your XQuery so it returns well-formed XML."
    );
    Error::new(6308, 16, 1, text)
}

/// Whether an item is a node.
pub fn is_node(item: &Item) -> bool {
    matches!(item, Item::Node(_) | Item::Fragment(_))
}

/// The item as markup between tags, and whether it is a node.
pub fn push_item(output: &mut String, document: &Document, item: &Item) -> Result<bool> {
    match item {
        Item::Node(id) => document.push_alone(output, *id)?,
        Item::Fragment(fragment) => fragment.push(output),
        atom => push_text(output, &atom_text(document, atom)),
    }
    Ok(is_node(item))
}
