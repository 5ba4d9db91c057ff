//! What can be called with arguments: a stored procedure, or a text with declared parameters; with the session's plans of its
//! statements.

use std::rc::Rc;
use std::sync::Arc;

use engine::error::{Error, Result};

use super::batch::{CompiledBatch, compile};
use super::error::Failure;
use crate::messages;
use crate::modules::{Module, ModuleParameter, declared};
use crate::session::SessionState;

/// A procedure or a text, ready to be called. Its parameters are its first variables.
pub struct Callable {
    /// Its statements.
    pub batch: Rc<CompiledBatch>,
    /// Its parameters in order.
    pub parameters: Arc<[ModuleParameter]>,
}

impl Callable {
    /// A text with the parameters that `declarations` name.
    ///
    /// # Errors
    /// Syntax errors of either.
    pub fn text(
        statement: &str,
        declarations: &str,
        quoted_identifier: bool,
    ) -> std::result::Result<Callable, Box<Failure>> {
        let parameters = crate::parser::parse_parameters(declarations).map_err(|error| {
            let line = error.line;
            Failure::new(messages::syntax(error), line, "")
        })?;
        let (scope, parameters) = declared(parameters).map_err(|error| Failure::new(error, 1, ""))?;
        let batch = compile(statement, quoted_identifier, scope)?;
        Ok(Callable {
            batch: Rc::new(batch),
            parameters,
        })
    }
}

impl SessionState {
    /// A text ready to be executed: as it was kept, or compiled now.
    ///
    /// # Errors
    /// Syntax errors.
    pub(crate) fn text(&self, declarations: &str, text: &str) -> std::result::Result<Rc<Callable>, Box<Failure>> {
        let quoted_identifier = self.options().quoted_identifier;
        let kept = self.statements.borrow_mut().text(quoted_identifier, declarations, text);
        if let Some(kept) = kept {
            return Ok(kept);
        }
        let callable = Rc::new(Callable::text(text, declarations, quoted_identifier)?);
        let mut statements = self.statements.borrow_mut();
        statements.keep_text(quoted_identifier, declarations, text, callable.clone());
        Ok(callable)
    }

    /// A module with statements, ready to be called by this session.
    ///
    /// # Errors
    /// When it has no statements.
    pub(crate) fn callable(&self, module: &Arc<Module>) -> Result<Callable> {
        let batch = self.statements.borrow_mut().module(module);
        Ok(Callable {
            batch: batch.ok_or_else(|| Error::assertion("a module without statements is called"))?,
            parameters: module.parameters.clone(),
        })
    }
}
