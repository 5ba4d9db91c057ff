//! The parser of [`syntax`] with this server's limits: time, the thread's stack, the instance's memory.

use engine::cancel;
use engine::memory::Charge;
use syntax::ast::{DataType, Expression, Parameter, Statement};
use syntax::error::Parsed;
use syntax::parser;
use syntax::resources::Resources;

/// The accountants, with what was granted for one tree.
#[derive(Default)]
struct Accountants {
    tree: Charge,
}

impl Resources for Accountants {
    fn spend_step(&mut self) -> bool {
        cancel::spend(1).is_ok()
    }

    fn has_stack(&self) -> bool {
        crate::stack::has_room()
    }

    fn grow_tree(&mut self, bytes: u64) -> bool {
        self.tree.grow_to(bytes).is_ok()
    }
}

/// A parsed batch with the memory of its tree.
pub(crate) struct ParsedBatch {
    pub(crate) statements: Vec<Statement>,
    /// What the tree takes, in bytes, estimated.
    pub(crate) bytes: u64,
    /// What was granted for it.
    pub(crate) charge: Charge,
}

/// Parses a batch that is kept; `quoted_identifier` is the session's setting at its start.
pub(crate) fn parse_to_keep(text: &str, quoted_identifier: bool) -> Parsed<ParsedBatch> {
    let mut accountants = Accountants::default();
    let parsed = parser::parse_batch(text, quoted_identifier, &mut accountants)?;
    Ok(ParsedBatch {
        statements: parsed.statements,
        bytes: parsed.bytes,
        charge: accountants.tree,
    })
}

/// Parses a batch with QUOTED_IDENTIFIER on.
///
/// # Errors
/// The first error of the text.
pub fn parse_batch(text: &str) -> Parsed<Vec<Statement>> {
    parse_batch_with(text, true)
}

/// As [`parse_batch`], with QUOTED_IDENTIFIER as it is said.
///
/// # Errors
/// As [`parse_batch`].
pub fn parse_batch_with(text: &str, quoted_identifier: bool) -> Parsed<Vec<Statement>> {
    parse_to_keep(text, quoted_identifier).map(|parsed| parsed.statements)
}

/// Parses a scalar expression alone, such as a stored DEFAULT.
///
/// # Errors
/// As [`parse_batch`].
pub fn parse_expression(text: &str) -> Parsed<Expression> {
    parser::parse_expression(text, &mut Accountants::default())
}

/// Parses a condition alone, such as a stored CHECK.
///
/// # Errors
/// As [`parse_batch`].
pub fn parse_condition(text: &str) -> Parsed<Expression> {
    parser::parse_condition(text, &mut Accountants::default())
}

/// Parses a data type alone.
///
/// # Errors
/// As [`parse_batch`].
pub fn parse_data_type(text: &str) -> Parsed<DataType> {
    parser::parse_data_type(text, &mut Accountants::default())
}

/// Parses a list of parameters, such as the second argument of `sp_executesql`; the empty text is the empty list.
///
/// # Errors
/// As [`parse_batch`].
pub fn parse_parameters(text: &str) -> Parsed<Vec<Parameter>> {
    parser::parse_parameters(text, &mut Accountants::default())
}

#[cfg(test)]
mod tests {
    use engine::error::Error;
    use syntax::error::ParseError;

    /// The syntax knows nothing of the engine, so it says the engine's error in words of its own.
    #[test]
    fn a_text_that_is_cancelled_while_it_is_parsed_fails_as_a_statement_does() {
        assert_eq!(
            crate::messages::syntax(ParseError::cancelled(7)).to_string(),
            Error::cancelled().to_string()
        );
    }
}
