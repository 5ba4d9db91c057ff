//! A call of a user-defined function.

use std::fmt;
use std::sync::Arc;

use engine::database::Database;

use super::compile::{Module, ModuleBody};

/// The function that a plan calls.
#[derive(Clone)]
pub struct ModuleCall {
    pub module: Arc<Module>,
    /// The database it is in, where the names in it are looked up.
    pub database: Arc<Database>,
    /// The caller's tables that its parameters get; a parameter that is not among them is empty.
    pub tables: Vec<LentTable>,
}

/// A table variable of a caller, lent to a parameter for the time of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LentTable {
    /// Slot of the parameter among the callee's table variables.
    pub parameter: usize,
    /// Slot of the variable among the caller's.
    pub variable: usize,
}

impl ModuleCall {
    /// Whether both call the same function with the same tables.
    pub fn is_same(&self, other: &ModuleCall) -> bool {
        Arc::ptr_eq(&self.module, &other.module) && self.tables == other.tables
    }

    /// Number of columns of a multi-statement table-valued function.
    pub fn columns(&self) -> usize {
        match &self.module.body {
            ModuleBody::Table { shape, .. } => shape.columns.len(),
            _ => 0,
        }
    }
}

impl fmt::Debug for ModuleCall {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.module.name)
    }
}
