//! The parser of T-SQL batches: recursive descent for statements, operator precedence for expressions.
//!
//! Contract:
//! - A batch parses as a whole or not at all; the first error is the one reported.
//! - Statements need no semicolon between them. They start at reserved words, which are never taken for names or aliases.
//! - Nesting is limited (error 191), for recursion here and for the height of the tree, so neither parsing nor walking
//!   nor dropping a tree can exhaust the stack.
//! - Time, stack and memory are asked of the caller's [`Resources`].
//! - Time and memory are linear in the length of the batch: no token list is kept and lookahead is bounded.

mod administration;
mod core;
mod database;
mod definition;
mod execute;
mod expression;
mod flow;
mod foreign;
mod full_text;
mod manipulation;
mod merge;
mod module;
mod namespaces;
mod nested_change;
mod odbc;
mod options;
mod partition;
mod predicate;
mod primary;
mod principal;
mod query;
mod schema;
mod sequence;
mod serialized;
mod session;
mod source;
mod standalone;
mod statement;
mod statistics;
mod table;
mod text;

pub use core::Parser;

use crate::ast::{DataType, Expression, Parameter, Statement};
pub(crate) use crate::error::Parsed;
use crate::resources::Resources;

pub struct ParsedBatch {
    pub statements: Vec<Statement>,
    /// What the tree takes, in bytes, estimated.
    pub bytes: u64,
}

/// Parses a batch; `quoted_identifier` is the session's setting at its start.
///
/// # Errors
/// The first error of the text, or 701, 191, 3617 when `resources` refuse.
pub fn parse_batch(text: &str, quoted_identifier: bool, resources: &mut dyn Resources) -> Parsed<ParsedBatch> {
    let mut parser = Parser::new(text, quoted_identifier, resources)?;
    let statements = parser.batch()?;
    let bytes = parser.tree_bytes();
    Ok(ParsedBatch { statements, bytes })
}

/// Parses a scalar expression alone, such as a stored DEFAULT.
///
/// # Errors
/// As [`parse_batch`].
pub fn parse_expression(text: &str, resources: &mut dyn Resources) -> Parsed<Expression> {
    parse_alone(text, resources, Parser::expression)
}

/// Parses a condition alone, such as a stored CHECK.
///
/// # Errors
/// As [`parse_batch`].
pub fn parse_condition(text: &str, resources: &mut dyn Resources) -> Parsed<Expression> {
    parse_alone(text, resources, Parser::condition)
}

/// Parses a data type alone.
///
/// # Errors
/// As [`parse_batch`].
pub fn parse_data_type(text: &str, resources: &mut dyn Resources) -> Parsed<DataType> {
    parse_alone(text, resources, Parser::data_type)
}

/// Parses a list of parameters, such as the second argument of `sp_executesql`; the empty text is the empty list.
///
/// # Errors
/// As [`parse_batch`].
pub fn parse_parameters(text: &str, resources: &mut dyn Resources) -> Parsed<Vec<Parameter>> {
    parse_alone(text, resources, |parser| match parser.at_end() {
        true => Ok(Vec::new()),
        false => parser.parameter_list(),
    })
}

/// Parses a text that is one thing and nothing else.
fn parse_alone<'t, T>(
    text: &'t str,
    resources: &'t mut dyn Resources,
    parse: impl FnOnce(&mut Parser<'t>) -> Parsed<T>,
) -> Parsed<T> {
    let mut parser = Parser::new(text, true, resources)?;
    let parsed = parse(&mut parser)?;
    parser.expect_end()?;
    Ok(parsed)
}
