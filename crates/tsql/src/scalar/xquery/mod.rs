//! XQuery as the methods of the type xml take it (sql-docs, "XQuery language reference"): paths, comparisons, functions, `for` and `if`.
//!
//! ```text
//! document.rs   the text as a tree        parser.rs     the query as a tree (tree.rs)
//! evaluate.rs   what the query finds in the document
//! ```
//! Bounds: a query nests at most [`parser::DEPTH_MAX`] deep, a document 128; each node that is looked at is a step of time. Constructors of
//! elements, `order by` and quantifiers are refused by name.

mod document;
mod evaluate;
mod parser;
#[cfg(test)]
mod tests;
mod tree;

pub use document::{Document, NodeId};
pub use evaluate::{Item, evaluate};
pub use parser::parse;
pub use tree::{Axis, Expression, External, Query};

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
