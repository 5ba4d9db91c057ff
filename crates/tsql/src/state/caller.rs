//! How plans call user-defined functions: a trait, implemented by the rooms above.

use engine::error::Result;
use engine::types::Value;

use super::SessionState;
use crate::grant::Grant;
use crate::modules::ModuleCall;

/// The table variables of a caller, whose rows a function has for the time of its call.
pub(crate) trait TableLender {
    /// Swaps the rows of a table variable, with the memory that was asked for them, for others.
    fn swap_rows(&self, slot: usize, rows: &mut Vec<Option<Vec<Value>>>, grant: &mut Option<Grant>);
}

/// Runs the statements of functions for the plans that call them.
pub(crate) trait ModuleCaller {
    /// The value of a scalar function; `values` are those of its parameters, in their types, and `caller` has the tables that are lent to it.
    ///
    /// # Errors
    /// Those of its statements; 217 beyond 32 levels of modules.
    fn scalar(
        &self,
        session: &SessionState,
        call: &ModuleCall,
        values: Vec<Value>,
        caller: &dyn TableLender,
    ) -> Result<Value>;

    /// The rows of a multi-statement table-valued function, handed to `each` one by one.
    ///
    /// # Errors
    /// As [`ModuleCaller::scalar`], and those of `each`.
    fn rows(
        &self,
        session: &SessionState,
        call: &ModuleCall,
        arguments: (Vec<Value>, &dyn TableLender),
        each: &mut dyn FnMut(Vec<Value>) -> Result<()>,
    ) -> Result<()>;

    /// The description of the columns of the first result that a text with its declarations can have, without executing it. `browse`
    /// adds where they come from.
    ///
    /// # Errors
    /// Why they cannot be described.
    fn first_result(&self, session: &SessionState, text: (&str, &str), browse: bool) -> Result<Vec<Vec<Value>>>;
}
