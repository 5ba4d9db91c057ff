//! Parses XML DML (`insert`, `delete`, `replace value of`) and reports errors before any document is read (sql-docs, "XML Data Modification
//! Language (XML DML)").
//!
//! The order of the checks and their messages are those of SQL Server 2025, according to public probes.

use engine::error::{Error, Result};

use super::document::NodeKind;
use super::parser::Parser;
use super::tree::{Axis, Change, Constructor, Expression, Place, Test};

/// The document itself as a type.
const DOCUMENT: &str = "document { (element(*,xdt:untyped) ? & text ? & comment ? & processing-instruction ?) * }";

impl Parser<'_> {
    pub(super) fn change(&mut self) -> Result<Change> {
        let change = match self.peek_name()? {
            "insert" => {
                self.eat_word("insert")?;
                self.insertion()?
            }
            "delete" => {
                self.eat_word("delete")?;
                Change::Delete(self.single()?)
            }
            "replace" => {
                self.eat_word("replace")?;
                if !self.eat_word("value")? || !self.eat_word("of")? {
                    return Err(self.unexpected());
                }
                let target = self.single()?;
                if !self.eat_word("with")? {
                    return Err(error(2205, "\"with\" was expected."));
                }
                let value = self.single()?;
                Change::Replace { target, value }
            }
            _ => {
                self.sequence()?;
                let text = "XQuery data manipulation expression required in XML data type method.";
                return Err(Error::new(6305, 16, 1, text));
            }
        };
        check(&change)?;
        Ok(change)
    }

    fn insertion(&mut self) -> Result<Change> {
        let content = self.single()?;
        let place = if self.eat_word("as")? {
            let place = match self.take_name()? {
                "first" => Place::First,
                "last" => Place::Last,
                _ => return Err(error(2351, "Expected 'first' or 'last'")),
            };
            if !self.eat_word("into")? {
                return Err(self.unexpected());
            }
            place
        } else if self.eat_word("into")? {
            Place::Last
        } else if self.eat_word("before")? {
            Place::Before
        } else if self.eat_word("after")? {
            Place::After
        } else {
            let near: String = self.rest().chars().take(16).collect();
            let near = if near.is_empty() { "<eof>" } else { near.trim_end() };
            let text = format!("Syntax error near '{near}', expected 'as', 'into', 'before' or 'after'.");
            return Err(error(2248, &text));
        };
        let target = self.single()?;
        Ok(Change::Insert { content, place, target })
    }
}

/// An error of `modify()`.
pub(super) fn error(number: i32, text: &str) -> Error {
    Error::new(number, 16, 1, format!("XQuery [modify()]: {text}"))
}

fn check(change: &Change) -> Result<()> {
    match change {
        Change::Insert { content, place, target } => {
            if !target.is_singleton() {
                return Err(insert_target(target));
            }
            check_content(content)?;
            let attribute = attribute_of(content);
            let kind = kind_of(target);
            let is_beside = matches!(place, Place::Before | Place::After);
            if let (true, Some(name)) = (is_beside, attribute) {
                let text = format!(
                    "The position may not be specified when inserting an attribute node, found 'attribute({name},xdt:untypedAtomic)'"
                );
                return Err(error(2258, &text));
            }
            match kind {
                Some(NodeKind::Attribute | NodeKind::Document) if is_beside => Err(beside_target(&type_of(target))),
                Some(NodeKind::Attribute | NodeKind::Text | NodeKind::Comment | NodeKind::Instruction)
                    if !is_beside =>
                {
                    Err(into_target(&type_of(target)))
                }
                _ => Ok(()),
            }
        }
        Change::Delete(target) => match target {
            Expression::Context | Expression::Root | Expression::Text(_) | Expression::Number(_) => {
                Err(delete_target(&type_of(target)))
            }
            _ => Ok(()),
        },
        Change::Replace { target, value } => {
            if !target.is_singleton() {
                let text = format!(
                    "The target of 'replace' must be at most one node, found '{}'",
                    type_of(target)
                );
                return Err(error(2337, &text));
            }
            if matches!(kind_of(target), Some(NodeKind::Element | NodeKind::Document)) {
                return Err(replace_target(&type_of(target)));
            }
            match value.any(&|part| matches!(part, Expression::Constructor(_))) {
                true => Err(error(
                    9310,
                    "The 'with' clause of 'replace value of' cannot contain constructed XML.",
                )),
                false => Ok(()),
            }
        }
    }
}

/// 2226.
fn insert_target(target: &Expression) -> Error {
    let text = format!(
        "The target of 'insert' must be a single node, found '{}'",
        type_of(target)
    );
    error(2226, &text)
}

/// 2207.
pub(super) fn inserted_value(found: &str) -> Error {
    error(
        2207,
        &format!("Only non-document nodes can be inserted. Found \"{found}\"."),
    )
}

/// 2240.
pub(super) fn into_target(found: &str) -> Error {
    error(
        2240,
        &format!("The target of 'insert into' must be an element/document node, found '{found}'"),
    )
}

/// 2249.
pub(super) fn beside_target(found: &str) -> Error {
    let text = format!("The target of 'insert before/after' must be an element/PI/comment/text node, found '{found}'");
    error(2249, &text)
}

/// 2264.
pub(super) fn delete_target(found: &str) -> Error {
    error(
        2264,
        &format!("Only non-document nodes may be deleted, found '{found}'"),
    )
}

/// 2356.
pub(super) fn replace_target(found: &str) -> Error {
    let text = format!(
        "The target of 'replace value of' must be a non-metadata attribute or an element with simple typed content, found '{found}'"
    );
    error(2356, &text)
}

/// # Errors
/// 2207 for values among what is inserted.
fn check_content(content: &Expression) -> Result<()> {
    match content {
        Expression::Sequence(items) => items.iter().try_for_each(check_content),
        Expression::Text(_) => Err(inserted_value("xs:string")),
        Expression::Number(number) if number.fract() == 0.0 => Err(inserted_value("xs:integer")),
        Expression::Number(_) => Err(inserted_value("xs:decimal")),
        _ => Ok(()),
    }
}

/// The name of an attribute that is inserted.
fn attribute_of(content: &Expression) -> Option<&str> {
    match content {
        Expression::Sequence(items) => items.iter().find_map(attribute_of),
        Expression::Constructor(constructor) => match &**constructor {
            Constructor::Attribute(name, _) => Some(name),
            _ => None,
        },
        _ => None,
    }
}

/// The step that a path ends in.
fn last_step(path: &Expression) -> &Expression {
    match path {
        Expression::Filter(operand, _) => last_step(operand),
        Expression::Sequence(items) => match items.as_slice() {
            [only] => last_step(only),
            _ => path,
        },
        _ => path,
    }
}

/// The kind of nodes that a path leads to, as far as its text says.
fn kind_of(path: &Expression) -> Option<NodeKind> {
    match last_step(path) {
        Expression::Context | Expression::Root => Some(NodeKind::Document),
        Expression::Step(_, step) => match (&step.test, step.axis) {
            (Test::Text, _) => Some(NodeKind::Text),
            (Test::Comment, _) => Some(NodeKind::Comment),
            (Test::Instruction, _) => Some(NodeKind::Instruction),
            (Test::Node, _) => None,
            (_, Axis::Attribute) => Some(NodeKind::Attribute),
            _ => Some(NodeKind::Element),
        },
        _ => None,
    }
}

/// The type of a path as the messages write it.
fn type_of(path: &Expression) -> String {
    let step = match last_step(path) {
        Expression::Context | Expression::Root => return DOCUMENT.to_owned(),
        Expression::Text(_) => return "xs:string".to_owned(),
        Expression::Number(_) => return "xs:decimal".to_owned(),
        Expression::Step(_, step) => step,
        _ => return "item() *".to_owned(),
    };
    let name = match &step.test {
        Test::Name { local, .. } | Test::AnyNamespace(local) => local,
        _ => "*",
    };
    let kind = match (&step.test, step.axis) {
        (Test::Text, _) => "text".to_owned(),
        (Test::Comment, _) => "comment".to_owned(),
        (Test::Instruction, _) => "processing-instruction".to_owned(),
        (Test::Node, _) => "node()".to_owned(),
        (_, Axis::Attribute) => format!("attribute({name},xdt:untypedAtomic)"),
        _ => format!("element({name},xdt:untyped)"),
    };
    format!("{kind} {}", if path.is_singleton() { '?' } else { '*' })
}
