//! SET PARSEONLY in a batch: it takes effect while the batch is parsed, wherever it is.

use crate::ast::{SetOption, Statement, StatementKind};

/// What the SET PARSEONLY statements of a batch say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ParseOnly {
    /// ON at some place: nothing of the batch is executed.
    pub(crate) was_on: bool,
    /// After the last.
    pub(crate) at_end: bool,
}

/// Looks for SET PARSEONLY, which control of flow does not reach around.
pub(super) fn parseonly_of(statements: &[Statement]) -> Option<ParseOnly> {
    let mut found: Option<ParseOnly> = None;
    crate::grammar::walk(statements, &mut |statement| {
        if let StatementKind::SetOption(SetOption::Switch { options, on }) = &statement.kind
            && options.iter().any(|option| option == "PARSEONLY")
        {
            let was_on = *on || found.is_some_and(|switch| switch.was_on);
            found = Some(ParseOnly { was_on, at_end: *on });
        }
    });
    found
}
