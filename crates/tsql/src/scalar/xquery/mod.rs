//! XQuery for the methods of the type xml (sql-docs, "XQuery language reference"): paths, comparisons, functions, `for` and `if`.
//!
//! ```text
//! document.rs   the text as a tree                     parser.rs, constructor.rs, dml.rs   the query as a tree (tree.rs)
//! evaluate.rs   evaluates the query on the document    construct.rs                        constructed nodes
//! modify.rs     the document with a change of XML DML  edges.rs                            the nodes as OPENXML numbers them
//! ```
//! Limits: a query nests at most [`parser::DEPTH_MAX`] levels, a document 128; each visited node counts as a step.

mod construct;
mod constructor;
mod dml;
mod document;
mod edges;
mod evaluate;
mod modify;
mod parser;
#[cfg(test)]
mod tests;
mod tree;

pub use construct::{is_node, push_item};
pub use document::{Document, Edit, NodeId, NodeKind};
pub use edges::{Edge, EdgeOf, Edges};
pub use evaluate::{Item, atom_bytes, atom_text, evaluate};
pub use modify::{Bound, modify};
pub use parser::{parse, parse_modification};
pub use tree::{Axis, BinaryForm, Change, Expression, External, Modification, Query};

use engine::error::Error;

/// 2209: a text that is not XQuery.
pub fn syntax_error(method: &str, near: &str) -> Error {
    let text = format!("XQuery [{method}()]: Syntax error near '{near}'");
    Error::new(2209, 16, 1, text)
}

/// 40517 for what the language has and is not done.
pub fn not_done(what: &str) -> Error {
    crate::messages::not_supported(&format!("XQuery {what}"))
}
