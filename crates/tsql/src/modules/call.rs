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
}

impl ModuleCall {
    /// Whether both call the same function.
    pub fn is_same(&self, other: &ModuleCall) -> bool {
        Arc::ptr_eq(&self.module, &other.module)
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
