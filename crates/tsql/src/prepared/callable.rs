//! Callable units: a stored procedure, or a text with declared parameters, with the session's plans of its statements.

use std::rc::Rc;
use std::sync::Arc;

use super::batch::{CompiledBatch, compile};
use crate::failure::Failure;
use crate::messages;
use crate::modules::{ModuleParameter, UserTypes, declared};
use crate::plan_cache::{CachedPlan, PlanCache, PlanKey};

/// A procedure or a text, ready to be called. Its parameters are its first variables.
pub struct Callable {
    pub batch: Rc<CompiledBatch>,
    /// Its parameters in order.
    pub parameters: Arc<[ModuleParameter]>,
}

impl Callable {
    /// A text with the parameters that `declarations` name: of the instance's plan cache, if it is kept there under this key. One that
    /// is not to be kept has none. One with types of the user is not kept: they may mean others the next time.
    ///
    /// # Errors
    /// Syntax errors of either.
    pub(crate) fn text(
        statement: &str,
        declarations: &str,
        quoted_identifier: bool,
        types: UserTypes<'_>,
        kept: Option<(&Arc<PlanCache>, PlanKey)>,
    ) -> std::result::Result<Callable, Box<Failure>> {
        let parameters = crate::parser::parse_parameters(declarations).map_err(|error| {
            let line = error.line;
            Failure::new(messages::syntax(error), line, "")
        })?;
        let (scope, parameters) = declared(parameters, types).map_err(|error| Failure::new(error, 1, ""))?;
        let batch = match kept {
            None => compile(statement, quoted_identifier, scope, types)?,
            Some((cache, key)) => {
                let entry = match cache.find(&key) {
                    Some(entry) => entry,
                    None => {
                        let compiled = compile(statement, quoted_identifier, scope, types)?;
                        let code = compiled.code().clone();
                        if !code.scope.user_types().is_empty() {
                            return Ok(Callable {
                                batch: Rc::new(compiled),
                                parameters,
                            });
                        }
                        cache.enter(&key, |number| CachedPlan::of_text(number, key.clone(), code))
                    }
                };
                CompiledBatch::of_text(entry.code().clone()).entered(cache, entry)
            }
        };
        Ok(Callable {
            batch: Rc::new(batch),
            parameters,
        })
    }
}
