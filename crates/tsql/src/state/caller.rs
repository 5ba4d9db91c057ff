//! How plans call user-defined functions: a trait, implemented by the rooms above.

use engine::error::Result;
use engine::types::Value;

use super::SessionState;
use crate::modules::ModuleCall;

/// Runs the statements of functions for the plans that call them.
pub(crate) trait ModuleCaller {
    /// The value of a scalar function; `values` are those of its parameters, in their types.
    ///
    /// # Errors
    /// Those of its statements; 217 beyond 32 levels of modules.
    fn scalar(&self, session: &SessionState, call: &ModuleCall, values: Vec<Value>) -> Result<Value>;

    /// The rows of a multi-statement table-valued function, handed to `each` one by one.
    ///
    /// # Errors
    /// As [`ModuleCaller::scalar`], and those of `each`.
    fn rows(
        &self,
        session: &SessionState,
        call: &ModuleCall,
        values: Vec<Value>,
        each: &mut dyn FnMut(Vec<Value>) -> Result<()>,
    ) -> Result<()>;

    /// The description of the columns of the first result that a text with its declarations can have, without executing it. `browse`
    /// adds where they come from.
    ///
    /// # Errors
    /// Why they cannot be described.
    fn first_result(&self, session: &SessionState, text: (&str, &str), browse: bool) -> Result<Vec<Vec<Value>>>;
}
