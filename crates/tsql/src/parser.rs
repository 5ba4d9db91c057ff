//! The parser of [`syntax`] with this server's limits: time, the thread's stack, the instance's memory.

use engine::cancel;
use engine::memory::Charge;
use std::sync::Arc;

use syntax::ast::{
    DataType, ExecuteModule, Expression, Parameter, Query, QueryBody, Statement, StatementFamily, StatementKind,
};
use syntax::error::{ParseError, Parsed};
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
    /// The text, if a statement in it may change definitions, whose triggers see the statement; else empty.
    pub(crate) text: Arc<str>,
}

/// Parses a batch that is kept; `quoted_identifier` is the session's setting at its start.
pub(crate) fn parse_to_keep(text: &str, quoted_identifier: bool) -> Parsed<ParsedBatch> {
    let mut accountants = Accountants::default();
    let parsed = parser::parse_batch(text, quoted_identifier, &mut accountants)?;
    let text = text_of_definitions(&parsed.statements, text);
    let bytes = parsed.bytes + text.len() as u64;
    if !accountants.grow_tree(bytes) {
        return Err(ParseError::insufficient_memory(1));
    }
    Ok(ParsedBatch {
        statements: parsed.statements,
        bytes,
        charge: accountants.tree,
        text,
    })
}

/// Procedures of the system that change definitions, and fire triggers for it.
pub(crate) const DEFINING_PROCEDURES: [&str; 9] = [
    "sp_addextendedproperty",
    "sp_addtype",
    "sp_bindefault",
    "sp_bindrule",
    "sp_dropextendedproperty",
    "sp_rename",
    "sp_unbindefault",
    "sp_unbindrule",
    "sp_updateextendedproperty",
];

/// Whether a query makes a table: its first SELECT says so.
fn has_into(query: &Query) -> bool {
    let mut body = &query.body;
    loop {
        body = match body {
            QueryBody::Select(select) => return select.into.is_some(),
            QueryBody::Ordered(query) => &query.body,
            QueryBody::SetOperations { first, .. } => first,
        };
    }
}

/// The text in which statements stand, if one of them may change definitions; else the empty one.
pub(crate) fn text_of_definitions(statements: &[Statement], text: &str) -> Arc<str> {
    let mut defines = false;
    syntax::grammar::walk(statements, &mut |statement| {
        defines |= match &statement.kind {
            StatementKind::Select(query) => has_into(query),
            StatementKind::Execute(execute) => match &execute.module {
                ExecuteModule::Procedure(name) => DEFINING_PROCEDURES
                    .iter()
                    .any(|procedure| name.object().eq_ignore_ascii_case(procedure)),
                ExecuteModule::Variable(_) | ExecuteModule::Text(_) => false,
            },
            kind => kind.facts().family == StatementFamily::Definitions,
        };
    });
    match defines {
        true => text.into(),
        false => Arc::default(),
    }
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
