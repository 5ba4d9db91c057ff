//! Applies XML DML to a document. The changed text is rewritten: white space between markup, xml declarations and CDATA are dropped, and
//! empty elements become self-closing (as in SQL Server; an unchanged value stays as written).

use std::collections::BTreeSet;

use engine::error::Result;
use engine::memory::Charge;

use super::construct::duplicate_attribute;
use super::dml::{beside_target, delete_target, error, inserted_value, into_target, replace_target};
use super::document::{Document, Edit, NodeId, NodeKind};
use super::evaluate::{Item, atom_text, evaluate};
use super::tree::{Change, Expression, Modification, Place};
use crate::scalar::xml_text::push_text;

/// A value of the statement around, and whether it is of type xml.
pub struct Bound {
    pub item: Option<Item>,
    pub is_xml: bool,
}

/// The nodes to insert, as the target gets them.
#[derive(Default)]
struct Inserted {
    attributes: Vec<(String, String)>,
    markup: String,
    charge: Charge,
}

/// The text of a document with a change.
///
/// # Errors
/// 2207, 2240, 2249, 2264 and 2356 for nodes of another kind than the change is for, 6308 for an attribute twice; those of [`evaluate`].
pub fn modify(document: &Document, modification: &Modification, bound: &[Bound]) -> Result<String> {
    let externals: Vec<Option<Item>> = bound.iter().map(|bound| bound.item.clone()).collect();
    let find = |path: &Expression| evaluate(document, path, 0, &externals);
    let edit = match &modification.change {
        Change::Delete(path) => Edit::Delete(deleted(document, find(path)?.0)?),
        Change::Replace { target, value } => {
            let (items, _charge) = find(target)?;
            let Some(target) = one(&items, "replace")? else {
                return document.text();
            };
            if matches!(document.node(target).kind, NodeKind::Element | NodeKind::Document) {
                return Err(replace_target("element(*,xdt:untyped) ?"));
            }
            let (values, _charge) = find(value)?;
            let texts: Vec<String> = values.iter().map(|item| atom_text(document, item)).collect();
            Edit::Value(target, texts.join(" "))
        }
        Change::Insert { content, place, target } => {
            let (items, _charge) = find(target)?;
            let Some(target) = one(&items, "insert")? else {
                return document.text();
            };
            check_target(document, target, *place)?;
            let within = match place {
                Place::First | Place::Last => target,
                Place::Before | Place::After => document.node(target).parent,
            };
            let mut inserted = Inserted::default();
            insert(document, content, bound, &externals, within, &mut inserted)?;
            if let (Place::Before | Place::After, Some((name, _))) = (place, inserted.attributes.first()) {
                let text = format!(
                    "The position may not be specified when inserting an attribute node, found 'attribute({name},xdt:untypedAtomic)'"
                );
                return Err(error(2258, &text));
            }
            check_attributes(document, target, &inserted.attributes)?;
            let Inserted { attributes, markup, .. } = inserted;
            match place {
                Place::First => Edit::First(target, attributes, markup),
                Place::Last => Edit::Last(target, attributes, markup),
                Place::Before => Edit::Before(target, markup),
                Place::After => Edit::After(target, markup),
            }
        }
    };
    let mut text = String::new();
    document.push_edited(&mut text, 0, &edit)?;
    Ok(text)
}

/// The one node of a target; `None` for nothing, which leaves the document as it is.
fn one(items: &[Item], what: &str) -> Result<Option<NodeId>> {
    match items {
        [] => Ok(None),
        [Item::Node(id)] => Ok(Some(*id)),
        _ => Err(error(
            2359,
            &format!("The target of '{what}' may not be a constructed node"),
        )),
    }
}

fn deleted(document: &Document, items: Vec<Item>) -> Result<BTreeSet<NodeId>> {
    let node = |item| match item {
        Item::Node(id) if document.node(id).kind != NodeKind::Document => Ok(id),
        Item::Node(_) => Err(delete_target("document")),
        Item::Fragment(_) => Err(error(2359, "The target of 'delete' may not be a constructed node")),
        _ => Err(delete_target("xs:anyAtomicType")),
    };
    items.into_iter().map(node).collect()
}

fn check_target(document: &Document, target: NodeId, place: Place) -> Result<()> {
    let kind = document.node(target).kind;
    let found = match kind {
        NodeKind::Document => "document",
        NodeKind::Element => "element(*,xdt:untyped) ?",
        NodeKind::Attribute => "attribute(*,xdt:untypedAtomic) ?",
        NodeKind::Text => "text ?",
        NodeKind::Comment => "comment ?",
        NodeKind::Instruction => "processing-instruction ?",
    };
    match (place, kind) {
        (Place::First | Place::Last, NodeKind::Element | NodeKind::Document) => Ok(()),
        (Place::First | Place::Last, _) => Err(into_target(found)),
        (Place::Before | Place::After, NodeKind::Attribute | NodeKind::Document) => Err(beside_target(found)),
        (Place::Before | Place::After, _) => Ok(()),
    }
}

/// # Errors
/// 6308 for an attribute that the element has, or that comes twice; 2240 for one of the document.
fn check_attributes(document: &Document, target: NodeId, attributes: &[(String, String)]) -> Result<()> {
    if attributes.is_empty() {
        return Ok(());
    }
    if document.node(target).kind != NodeKind::Element {
        return Err(into_target("document"));
    }
    let own = document.attributes(target).map(|id| document.node(id).name.as_str());
    let mut names: BTreeSet<&str> = own.collect();
    match attributes.iter().find(|(name, _)| !names.insert(name)) {
        Some((name, _)) => Err(duplicate_attribute(name)),
        None => Ok(()),
    }
}

/// Adds what an expression finds or makes, to stand in a node of the document.
fn insert(
    document: &Document,
    content: &Expression,
    bound: &[Bound],
    externals: &[Option<Item>],
    within: NodeId,
    inserted: &mut Inserted,
) -> Result<()> {
    match content {
        Expression::Sequence(parts) => {
            for part in parts {
                insert(document, part, bound, externals, within, inserted)?;
            }
            return Ok(());
        }
        Expression::External(place) => {
            let Some(Bound {
                item: Some(item),
                is_xml,
            }) = bound.get(*place)
            else {
                return Ok(());
            };
            return match (item, is_xml) {
                (Item::Text(text), true) => document.push_within(&mut inserted.markup, within, text),
                (Item::Text(_), false) => Err(inserted_value("xs:string ?")),
                _ => Err(inserted_value("xs:decimal ?")),
            };
        }
        _ => {}
    }
    let (items, _charge) = evaluate(document, content, 0, externals)?;
    for item in items {
        match &item {
            Item::Node(id) if document.node(*id).kind == NodeKind::Attribute => {
                let node = document.node(*id);
                inserted.attributes.push((node.name.clone(), node.value.clone()));
            }
            Item::Node(id) => {
                let mut markup = String::new();
                document.push_alone(&mut markup, *id)?;
                document.push_within(&mut inserted.markup, within, &markup)?;
            }
            Item::Fragment(fragment) => match fragment.kind {
                NodeKind::Attribute => inserted.attributes.push((fragment.name.clone(), fragment.text.clone())),
                NodeKind::Text => push_text(&mut inserted.markup, &fragment.text),
                _ => document.push_within(&mut inserted.markup, within, &fragment.text)?,
            },
            _ => return Err(inserted_value("xs:anyAtomicType")),
        }
        inserted.charge.grow_to(inserted.markup.len() as u64)?;
    }
    Ok(())
}
