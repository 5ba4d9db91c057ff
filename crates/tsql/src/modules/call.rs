//! A call of a function of the user, and who carries it out.

use std::fmt;
use std::sync::Arc;

use engine::database::Database;
use engine::error::Result;
use engine::types::Value;

use super::compile::Module;
use crate::session::SessionState;

/// The function that a plan calls.
#[derive(Clone)]
pub struct ModuleCall {
    /// It.
    pub module: Arc<Module>,
    /// The database it is in, where the names in it are looked up.
    pub database: Arc<Database>,
}

impl ModuleCall {
    /// Whether both call the same function.
    pub fn is_same(&self, other: &ModuleCall) -> bool {
        Arc::ptr_eq(&self.module, &other.module)
    }
}

impl fmt::Debug for ModuleCall {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.module.name)
    }
}

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
}
