//! XQuery as the methods of the type xml take it (sql-docs, "XQuery language reference"): paths, comparisons, functions, `for` and `if`.
//!
//! ```text
//! document.rs   the text as a tree                     parser.rs, constructor.rs, dml.rs   the query as a tree (tree.rs)
//! evaluate.rs   what the query finds in the document   construct.rs                        the nodes it makes
//! modify.rs     the document with a change of XML DML
//! ```
//! Bounds: a query nests at most [`parser::DEPTH_MAX`] deep, a document 128; each node that is looked at is a step of time.

mod construct;
mod constructor;
mod dml;
mod document;
mod evaluate;
mod modify;
mod parser;
#[cfg(test)]
mod tests;
mod tree;

pub use construct::{is_node, push_item};
pub use document::{Document, NodeId};
pub use evaluate::{Item, atom_text, evaluate};
pub use modify::{Bound, modify};
pub use parser::{parse, parse_modification};
pub use tree::{Axis, Change, Expression, External, Modification, Query};

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
