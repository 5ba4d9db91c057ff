//! The names in a procedure's body, checked when the procedure is created.
//!
//! Only tables, views, procedures and functions may be missing then: a statement that refers to a missing one is not checked (sql-docs,
//! "Deferred name resolution": "if a table that is referenced does not exist ... deferred name resolution can only be used when you
//! reference nonexistent table objects. All other objects must exist"). Every other binding error is an error of CREATE PROCEDURE: unknown
//! columns (207) and variables (137), columns without a name (8155), incompatible types.

use std::cell::Cell;

use engine::error::{Error, Result};

use super::bound_parts::PartBinder;
use super::executor::BINDINGS_MAX;
use crate::ast::{Execute, ExecuteModule, ExpressionKind, Statement};
use crate::bind::{Binder, VariableScope};
use crate::messages;
use crate::state::SessionState;

/// Errors that say nothing about the text: an object that may be there when the procedure runs (208, 2812, 4121), and what an option says
/// by then (IDENTITY_INSERT: 544, 545, 8101).
const DEFERRED: [i32; 6] = [208, 544, 545, 2812, 4121, 8101];

/// Binds the statements of a body.
pub(super) struct BodyCheck<'w> {
    pub(super) session: &'w SessionState,
    pub(super) scope: &'w VariableScope,
    /// The line of the statement that is looked at.
    pub(super) line: &'w Cell<u32>,
}

impl<'w> PartBinder<'w> for BodyCheck<'w> {
    /// Names of objects that are not there end nothing: the statement is left for when it runs.
    fn bind<T>(&self, bind: impl Fn(&mut Binder<'w>) -> Result<T>) -> Result<()> {
        for _ in 0..BINDINGS_MAX {
            self.session.take_dependencies();
            let mut binder = Binder::new(self.session, self.scope);
            match bind(&mut binder) {
                Err(error) if error.number == Error::DEFINITION_CHANGED => {}
                Err(error) if DEFERRED.contains(&error.number) => return Ok(()),
                outcome => return outcome.map(drop),
            }
        }
        Err(Error::definition_changed("CREATE PROCEDURE"))
    }

    fn begin(&self, statement: &'w Statement) -> Result<()> {
        self.line.set(statement.line);
        Ok(())
    }

    /// The procedure may be missing, the variables may not.
    fn execute(&self, execute: &'w Execute) -> Result<()> {
        if let ExecuteModule::Text(text) = &execute.module {
            return self.bind(|binder| binder.scalar(text));
        }
        let arguments = execute
            .arguments
            .iter()
            .filter_map(|argument| match &argument.value.kind {
                ExpressionKind::Variable(name) => Some(name),
                _ => None,
            });
        let mut named = arguments.chain(&execute.return_variable);
        let is_unknown = |name: &&String| {
            let scope = self.scope;
            scope.scalar(name).is_none() && scope.table(name).is_none() && !scope.is_cursor(name)
        };
        match named.find(is_unknown) {
            Some(name) => Err(messages::variable_not_declared(name)),
            None => Ok(()),
        }
    }
}
