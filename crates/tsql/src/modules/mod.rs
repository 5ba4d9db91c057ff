//! Compiled modules: procedures, views, functions and triggers, parsed once for the instance and shared by its sessions.
//!
//! ```text
//! catalog:   name -> CatalogObject (immutable, with the text)          found again at every use, so it is the one that counts
//! instance:  CatalogObject -> Module: tree, parameters, variables      ModuleCache, here; ages by bytes
//! instance:  Module -> plans of its statements, by node number         plan_cache; a plan knows what it was bound against
//! ```
//! A module is found by the *identity* of its definition in the catalog. ALTER, a rollback, RESTORE and opening a database create new
//! definitions, so a module is never out of date: entries of old definitions are never found, and age out. The cache holds the definition,
//! so its address is not reused in the meantime.
//!
//! Parse trees are shared, and so are plans ([`crate::plan_cache`]), except plans that depend on a session's own uncommitted changes or
//! temporary tables. Nodes have numbers ([`crate::ast::NodeNumber`]), by which plans are found.
//!
//! Execution calls modules through [`crate::state::ModuleCaller`], a trait that `statements` implements and passes to the session's state.
//! A bound call holds the module it calls. So operators and expressions can run user-defined functions without knowing statements.
//!
//! ```text
//! bind   --makes-->  ModuleCall { module, database }           in an expression, or as a source of FROM
//! exec   --calls-->  ModuleCaller::scalar | rows               the trait
//! statements         runs the module's statements              the implementation
//! ```
//! Invariant: this room imports neither session, binder, operators nor statements.
//!
//! Views and inline functions are bound when they are created, so the names in them exist. Procedures resolve names when they run. The
//! catalog keeps the columns of a view or table-valued function from its creation, but only for `sys.columns`; queries bind the text.
//!
//! Invariant: a module is read and bound under the ANSI_NULLS and QUOTED_IDENTIFIER of its creation, for every caller.

mod aging;
mod cache;
mod call;
mod compile;
mod dependents;
mod names;
mod reference_cache;
mod references;
mod regenerate;
mod rules;
mod usage;
mod user_types;
mod variables;

pub(crate) use aging::{AgingCache, Footprint};
pub(crate) use cache::ModuleCache;
pub use call::{LentTable, ModuleCall};
pub use compile::{Code, Module, ModuleBody, ModuleParameter, ModuleSettings};
pub(crate) use compile::{check_returned, declared, runs_as_owner};
pub(crate) use dependents::{
    ColumnChange, computed_of_column, dependent_on_column, dependent_on_object, object_of_schema,
};
pub(crate) use names::{function_kind, has_name, has_word, names_in, one_part_source};
pub(crate) use reference_cache::ReferenceCache;
pub(crate) use references::{NamedReference, ReferenceUse, references_in};
pub(crate) use regenerate::{condition_text, default_text, filter_text};
pub(crate) use rules::check_function;
pub(crate) use usage::{ObjectUse, Usage, uses_of_module};
pub(crate) use user_types::{Declared, UserTypes, require_unbound};
pub(crate) use variables::{TABLE_COLUMNS_MAX, ignores_duplicates};
pub use variables::{TableTypeId, TableVariableShape, VariableColumn, VariableScope};
