//! The parser of T-SQL batches: recursive descent for statements, operator precedence for expressions.
//!
//! Contract:
//! - A batch parses as a whole or not at all; the first error is the one reported.
//! - Statements need no semicolon between them. They start at reserved words, which are never taken for names or aliases.
//! - Nesting is limited (error 191), for recursion here and for the height of the tree, so neither parsing nor walking
//!   nor dropping a tree can exhaust the stack.
//! - Time and memory are linear in the length of the batch: no token list is kept and lookahead is bounded.

mod administration;
mod core;
mod database;
mod definition;
mod execute;
mod expression;
mod flow;
mod manipulation;
mod module;
mod options;
mod predicate;
mod primary;
mod query;
mod session;
mod source;
mod statement;
mod table;

pub use core::Parser;

use crate::ast::{DataType, Expression, Parameter, Statement};
use crate::error::ParseError;
use engine::memory::Charge;

/// What every parsing step returns.
pub(crate) type Parsed<T> = Result<T, ParseError>;

/// Parses a batch with QUOTED_IDENTIFIER on.
pub fn parse_batch(text: &str) -> Result<Vec<Statement>, ParseError> {
    parse_batch_with(text, true)
}

/// Parses a batch; `quoted_identifier` is the session's setting at its start.
pub fn parse_batch_with(text: &str, quoted_identifier: bool) -> Result<Vec<Statement>, ParseError> {
    let mut parser = Parser::new(text, quoted_identifier)?;
    parser.batch()
}

/// A parsed batch with the memory of its tree.
pub(crate) struct ParsedBatch {
    /// Its statements.
    pub(crate) statements: Vec<Statement>,
    /// What the tree takes, in bytes, estimated.
    pub(crate) bytes: u64,
    /// What was asked for it.
    pub(crate) charge: Charge,
}

/// Parses a batch that is kept.
pub(crate) fn parse_to_keep(text: &str, quoted_identifier: bool) -> Result<ParsedBatch, ParseError> {
    let mut parser = Parser::new(text, quoted_identifier)?;
    let statements = parser.batch()?;
    let (bytes, charge) = parser.take_tree();
    Ok(ParsedBatch {
        statements,
        bytes,
        charge,
    })
}

/// Parses a scalar expression alone, such as a stored DEFAULT.
pub fn parse_expression(text: &str) -> Result<Expression, ParseError> {
    let mut parser = Parser::new(text, true)?;
    let expression = parser.expression()?;
    parser.expect_end()?;
    Ok(expression)
}

/// Parses a condition alone, such as a stored CHECK.
pub fn parse_condition(text: &str) -> Result<Expression, ParseError> {
    let mut parser = Parser::new(text, true)?;
    let condition = parser.condition()?;
    parser.expect_end()?;
    Ok(condition)
}

/// Parses a data type alone.
pub fn parse_data_type(text: &str) -> Result<DataType, ParseError> {
    let mut parser = Parser::new(text, true)?;
    let data_type = parser.data_type()?;
    parser.expect_end()?;
    Ok(data_type)
}

/// Parses a list of parameters, such as the second argument of `sp_executesql`; the empty text is the empty list.
pub fn parse_parameters(text: &str) -> Result<Vec<Parameter>, ParseError> {
    let mut parser = Parser::new(text, true)?;
    let parameters = if parser.at_end() {
        Vec::new()
    } else {
        parser.parameter_list()?
    };
    parser.expect_end()?;
    Ok(parameters)
}
